"""Which embedder a setting means, and any LangChain `Embeddings` as one."""

import math
import sys
import types
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from reasonblocks.engine.embedding.adapter import LONGEST_TEXT, LangChainEmbedder, resolve_embedder
from reasonblocks.engine.embedding.base import EmbedderProblem
from reasonblocks.engine.embedding.minilm import MiniLM
from reasonblocks.errors import SettingsError


class Own(Embeddings):
    """An `Embeddings` of a user's own, which gives what it is told to."""

    model = "mine"

    def __init__(self, give: Callable[[list[str]], object] | None = None) -> None:
        self.give = give or (lambda texts: [[3.0, 4.0] for _ in texts])
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Whatever it was told to give."""
        self.asked += texts
        return self.give(texts)  # type: ignore[return-value]  # some of it is wrong on purpose

    def embed_query(self, text: str) -> list[float]:
        """As a document."""
        return self.embed_documents([text])[0]


@pytest.fixture
def module() -> Iterator[types.ModuleType]:
    """A module of a user's own."""
    made = types.ModuleType("users_own_embeddings")
    made.instance = Own()  # type: ignore[attr-defined]
    made.factory = lambda: Own()  # type: ignore[attr-defined]
    made.kind = Own  # type: ignore[attr-defined]
    made.number = 7  # type: ignore[attr-defined]
    made.broken = lambda: 1 / 0  # type: ignore[attr-defined]
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


@pytest.mark.parametrize("setting", [None, "minilm"])
def test_the_default_is_offline(setting: str | None) -> None:
    """Nothing set means MiniLM."""
    assert isinstance(resolve_embedder(setting), MiniLM)


def test_an_embedder_is_taken_as_it_is() -> None:
    """Whoever has made an embedder can hand it over."""
    model = MiniLM()
    assert resolve_embedder(model) is model


def test_any_embeddings_is_an_embedder() -> None:
    """Its vectors are brought to length 1, and its dimension is found by asking."""
    embedder = resolve_embedder(DeterministicFakeEmbedding(size=12))
    assert embedder.dimension == 12
    vectors = embedder.embed(["one", "two", "one"])
    assert vectors.shape == (3, 12)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert np.array_equal(vectors[0], vectors[2])
    assert embedder.embed([]).shape == (0, 12)


def test_the_name_tells_models_apart() -> None:
    """Vectors are kept by it, so it holds the model; without one, the class."""
    other = Own()
    other.model = "theirs"
    assert LangChainEmbedder(Own()).name == "Own:mine"
    assert LangChainEmbedder(other).name == "Own:theirs"
    assert LangChainEmbedder(DeterministicFakeEmbedding(size=2)).name.endswith("DeterministicFakeEmbedding")


@pytest.mark.parametrize("attribute", ["instance", "factory", "kind"])
def test_a_setting_can_lead_to_a_users_own(attribute: str, module: types.ModuleType) -> None:
    """An object, a function that makes one and a class all do."""
    embedder = resolve_embedder(f"{module.__name__}:{attribute}")
    assert embedder.name == "Own:mine"
    assert np.allclose(embedder.embed(["text"]), [[0.6, 0.8]])


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("nonsense", "embeddings is 'nonsense'; expected 'minilm'"),
        (":", "expected 'minilm'"),
        ("no.such.module:thing", "'no.such.module' cannot be imported"),
        ("users_own_embeddings:nothing", "has no 'nothing'"),
        ("users_own_embeddings:number", "leads to 7; expected"),
        ("users_own_embeddings:broken", "calling that failed: ZeroDivisionError"),
        ("openai:text-embedding-3-small", "LangChain cannot make.*pip install"),
        (7, "embeddings is 7; expected"),
    ],
)
def test_a_setting_that_means_nothing_is_explained(setting: object, complaint: str, module: types.ModuleType) -> None:
    """The error says what was given, what was expected and what to do."""
    with pytest.raises(SettingsError, match=complaint):
        resolve_embedder(setting)  # type: ignore[arg-type]


def test_an_embedder_that_does_not_embed_is_refused_at_once() -> None:
    """A wrong key shows when the engine is opened, not at the first lookup."""

    def refuse(texts: list[str]) -> object:
        raise PermissionError("invalid key")

    with pytest.raises(SettingsError, match=r"'Own:mine' does not embed: PermissionError: invalid key.*Check its key"):
        resolve_embedder(Own(refuse))


@pytest.mark.parametrize(
    "given",
    [
        [[math.nan, 1.0]],
        [[math.inf, 1.0]],
        [[0.0, 0.0]],
        [[1.0, 2.0], [1.0, 2.0]],
        [],
        [[]],
        [["a", "b"]],
        None,
        [1.0, 2.0],
    ],
)
def test_what_is_no_vector_is_refused(given: object) -> None:
    """Numbers that are not finite, no direction, a wrong number of vectors, no numbers at all."""
    with pytest.raises(EmbedderProblem, match="the embedder 'Own:mine' gave"):
        LangChainEmbedder(Own(lambda texts: given)).embed(["text"])


def test_vectors_of_different_lengths_are_refused() -> None:
    """In one answer, and from one answer to the next."""
    with pytest.raises(EmbedderProblem, match="of one length"):
        LangChainEmbedder(Own(lambda texts: [[1.0], [1.0, 2.0]])).embed(["one", "two"])
    answers = iter([[[1.0, 2.0]], [[1.0, 2.0, 3.0]]])
    changing = LangChainEmbedder(Own(lambda texts: next(answers)))
    changing.embed(["one"])
    with pytest.raises(EmbedderProblem, match="gave vectors of 3 numbers; expected 2, as it did before"):
        changing.embed(["two"])


def test_a_provider_is_sent_the_end_of_a_long_text() -> None:
    """Providers refuse what is longer than their models read."""
    own = Own()
    LangChainEmbedder(own).embed(["word " * 12_800 + "newest"])
    assert len(own.asked[0]) <= LONGEST_TEXT
    assert own.asked[0].endswith("newest")
