"""Whether a step looks after something that takes its time elsewhere: how long that is cannot be known."""

import re

from .features import UNFINISHED, StepFeatures
from .words import split

_STATE = re.compile(r"\b(?:phase|stage|state|status)\W{1,6}([\w -]{1,30})", re.IGNORECASE)
"""A field of a record that says how far something is."""
_WAITS_FOR = UNFINISHED | frozenset(
    "arrive arrived complete completed done finish finished poll polling ready through until".split()
)
_FEW_WORDS = 3


def waits(step: StepFeatures) -> bool:
    """Whether it waits, or looks at something that is still under way."""
    if step.role.changes or (step.role.notes and not step.speaks_only):
        return False
    return step.role.waits or step.unfinished or (_is_under_way(step.result_excerpt) and _may_wait(step.thought))


def _is_under_way(record: str) -> bool:
    return any(not UNFINISHED.isdisjoint(split(state)) for state in _STATE.findall(record))


def _may_wait(thought: str) -> bool:
    """Whether it says that it waits, or says nothing: whoever wants to read a record again gives another reason."""
    words = split(thought)
    return len(words) <= _FEW_WORDS or not _WAITS_FOR.isdisjoint(words)
