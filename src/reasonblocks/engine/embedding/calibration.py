"""What a cosine means: similarity is the chance that two texts are about the same situation.

Cosines of different models cannot be compared, nor can a gate of 0.7 or 0.8 be applied to them: for two texts that say
the same in other words, all-MiniLM-L6-v2 gives 0.7 or so. So each model has a map, monotone and fitted on pairs of
thoughts and descriptions (`benchmarks/calibration`):

    similarity = 1 / (1 + exp(-(slope * cosine + offset)))

is the share of right ones among pairs of that cosine, where a text is paired with every description of a library of 80:
one is right for it, three are about the same subject but another problem, the rest is about something else. Hence 0.7
means "fits": of pairs that only just pass seven in ten are right, of all that pass nine in ten; and 0.8 "a very close
match". How precise that was on pairs which had no part in the fit is in `calibration.json`, beside the numbers.
"""

import functools
import logging
import math
from dataclasses import dataclass
from importlib import resources
from typing import Any

import msgspec

FILE = "calibration.json"
_FIT = "python benchmarks/calibration/fit.py --write --embeddings SETTING"
logger = logging.getLogger("reasonblocks")


@dataclass(frozen=True, slots=True)
class Calibration:
    """The map of one model. Without numbers of its own the cosine is taken as it is, from 0 on."""

    model: str
    slope: float | None = None
    offset: float = 0.0

    def similarity(self, cosine: float) -> float:
        """The similarity of a cosine, from 0 to 1; a cosine that is no number has none."""
        if math.isnan(cosine):
            return 0.0
        if self.slope is None:
            return min(1.0, max(0.0, cosine))
        return 1.0 / (1.0 + math.exp(-(self.slope * min(1.0, max(-1.0, cosine)) + self.offset)))

    def cosine_for(self, similarity: float) -> float:
        """The least cosine that has a similarity; one beyond 1 or -1 says that every or no pair has it."""
        if self.slope is None:
            return similarity
        if similarity <= 0.0:
            return -math.inf
        if similarity >= 1.0:
            return math.inf
        return (math.log(similarity / (1.0 - similarity)) - self.offset) / self.slope


class Fitted(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What the file says about one model."""

    slope: float
    offset: float
    fitted: dict[str, Any]
    """When, by what and on what; nothing is calculated with it."""
    held_out: dict[str, Any]
    """How it did on pairs that had no part in the fit."""
    untouched: dict[str, Any]
    """And on pairs that had no part in any other choice either."""


SHIPPED = msgspec.json.decode((resources.files(__package__) / FILE).read_bytes(), type=dict[str, Fitted])
"""The models that come with a calibration. Read with the module: later on there may be an event loop to block."""


@functools.cache
def calibration_for(model: str) -> Calibration:
    """The calibration of a model by its embedder's name; one that has none is told of once."""
    found = SHIPPED.get(model)
    if found is not None:
        return Calibration(model, found.slope, found.offset)
    logger.warning(
        "there is no calibration for the embedder %r: its cosines are compared with the gates as they are, so that too "
        "few or too many patterns may pass; to fit one, run `%s` in the repository",
        model,
        _FIT,
    )
    return Calibration(model)
