"""Which embedder a setting means, and LangChain's `Embeddings` as an embedder."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from langchain_core.embeddings import Embeddings

from ...errors import SettingsError
from ...runtime.contain import describe
from .base import Embedder, EmbedderProblem, Vectors, normalised
from .context import ending
from .minilm import MiniLM

DEFAULT = "minilm"
LONGEST_TEXT = 8_000
"""Characters that a provider is sent of one text; most of them refuse what is much longer."""
_PROBE = "How many numbers does a vector have?"
_FORMS = (
    "expected 'minilm' (the offline default), 'provider:model' as LangChain's init_embeddings takes it (for example "
    "'openai:text-embedding-3-small'), 'package.module:attribute' that leads to an Embeddings or to a function that "
    "makes one, or such an object itself"
)


class LangChainEmbedder:
    """Any `Embeddings`. Texts and queries go the same way, `embed_documents`: what is compared is of one kind."""

    def __init__(self, embeddings: Embeddings, name: str | None = None) -> None:
        self._embeddings = embeddings
        self._dimension: int | None = None
        self.name = name or _name_of(embeddings)

    @property
    def dimension(self) -> int:
        """How many numbers a vector has; asks the embedder the first time, so not on an event loop."""
        if self._dimension is None:
            self.embed([_PROBE])
        assert self._dimension is not None
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of length 1 for each text, by the end of it if it is very long."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        given = self._embeddings.embed_documents([ending(text, LONGEST_TEXT) for text in texts])
        try:
            vectors = np.asarray(given, np.float64)
        except (TypeError, ValueError):
            self._refuse(
                f"gave {_shape_of(given)} for {len(texts)} texts", "as many lists of numbers, all of one length"
            )
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
            self._refuse(f"gave {vectors.shape} numbers for {len(texts)} texts", "one list of numbers for each text")
        if vectors.shape[1] != (self._dimension or vectors.shape[1]):
            self._refuse(f"gave vectors of {vectors.shape[1]} numbers", f"{self._dimension}, as it did before")
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            self._refuse("gave a vector that is zero or has a number that is not finite", "one that has a direction")
        self._dimension = vectors.shape[1]
        return normalised(vectors)

    def _refuse(self, found: str, expected: str) -> NoReturn:
        raise EmbedderProblem(f"the embedder {self.name!r} {found}; expected {expected}: use another model")


def resolve_embedder(setting: "str | Embeddings | Embedder | None" = None) -> Embedder:
    """The embedder that a setting means. Imports modules and asks the embedder a probe, so not on an event loop."""
    if setting is None or setting == DEFAULT:
        return MiniLM()
    embedder = (
        _from_text(setting) if isinstance(setting, str) else _from_object(setting, f"embeddings is {setting!r:.80}")
    )
    try:
        dimension = embedder.dimension
    except Exception as error:
        raise SettingsError(
            f"the embedder {embedder.name!r} does not embed: {describe(error)}. "
            "Check its key, its address and the name of its model"
        ) from error
    assert dimension > 0
    return embedder


def _from_text(setting: str) -> Embedder:
    left, _, right = setting.strip().partition(":")
    if not left or not right:
        raise SettingsError(f"embeddings is {setting!r}; {_FORMS}")
    # LangChain's names of providers have no dot, and a path to a module of one's own has one, as a rule.
    if names_provider(setting):
        return LangChainEmbedder(_from_provider(setting), setting.strip())
    try:
        module = importlib.import_module(left)
    except ImportError as error:
        raise SettingsError(f"embeddings is {setting!r}, but {left!r} cannot be imported ({error}); {_FORMS}") from None
    try:
        found = getattr(module, right)
    except AttributeError:
        raise SettingsError(f"embeddings is {setting!r}, but {left!r} has no {right!r}; {_FORMS}") from None
    if callable(found) and (isinstance(found, type) or not isinstance(found, Embeddings | Embedder)):
        found = _made_by(found, setting)
    return _from_object(found, f"embeddings is {setting!r}, which leads to {found!r:.80}")


def _made_by(factory: Callable[[], object], setting: str) -> object:
    try:
        return factory()
    except Exception as error:
        raise SettingsError(f"embeddings is {setting!r}, and calling that failed: {describe(error)}") from error


def names_provider(setting: str) -> bool:
    """Whether a setting is a provider of LangChain's with a model; not on an event loop, since it imports LangChain."""
    provider, _, model = setting.strip().partition(":")
    return bool(model) and "." not in provider and provider in _providers()


def _providers() -> frozenset[str]:
    from langchain.embeddings import base

    # Not public; without it a provider would have to be told from a module by trying.
    return frozenset(getattr(base, "_BUILTIN_PROVIDERS", ("openai", "ollama", "huggingface", "cohere", "mistralai")))


def _from_provider(setting: str) -> Embeddings:
    from langchain.embeddings import init_embeddings

    try:
        made: Any = init_embeddings(setting.strip())
    except Exception as error:
        raise SettingsError(f"embeddings is {setting!r}, which LangChain cannot make: {describe(error)}") from error
    if not isinstance(made, Embeddings):
        raise SettingsError(f"embeddings is {setting!r}, of which LangChain made a {type(made).__name__}; {_FORMS}")
    return made


def _from_object(found: object, given: str) -> Embedder:
    if isinstance(found, Embeddings):
        return LangChainEmbedder(found)
    if not isinstance(found, type) and isinstance(found, Embedder):
        return found
    raise SettingsError(f"{given}; {_FORMS}")


def _name_of(embeddings: Embeddings) -> str:
    """A name that another model does not have: the class, and what it calls its model."""
    for attribute in ("model", "model_name", "model_id", "deployment"):
        model = getattr(embeddings, attribute, None)
        if isinstance(model, str) and model:
            return f"{type(embeddings).__name__}:{model}"
    return f"{type(embeddings).__module__}.{type(embeddings).__qualname__}"


def _shape_of(given: object) -> str:
    return f"{len(given)} rows of different lengths" if isinstance(given, list) else f"a {type(given).__name__}"
