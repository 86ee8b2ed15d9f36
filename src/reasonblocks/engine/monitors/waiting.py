"""Whether a step looks after something that takes its time elsewhere: how long that is cannot be known."""

import re
from collections.abc import Collection

from .features import StepFeatures
from .results import UNFINISHED
from .words import split

_STATE = re.compile(r"\b(?:phase|stage|state|status)\W{1,6}([\w -]{1,30})", re.IGNORECASE)
"""A field of a record that says how far something is."""
_IN_STATE = "stage", "state", "status", "phase"
_ON_ITS_WAY = UNFINISHED | frozenset(
    "accepted await awaiting backlog begun delayed eta initiated launched left line percent position "
    "queue received remaining requested resuming shortly soon started transit underway unconfirmed warming "
    "working".split()
)
"""What is said of something that has begun and not come to its end."""
_ENDED = frozenset(
    "aborted cancelled canceled closed complete completed deleted delivered disconnected done ended error exited "
    "failed failure finished killed ok passed processed ready refunded rejected resolved stopped succeeded success "
    "successful terminated unknown".split()
)
_WAITS_FOR = UNFINISHED | frozenset(
    "arrive arrived complete completed done finish finished poll polling ready through until".split()
)
_SPEAKS_OF_WAITING = re.compile(
    r"\b(?:wait\w*|poll\w*|patien\w+|progress\w*|(?:more|some|its|enough|another) (?:time|moment|minutes?|seconds?)"
    r"|an? (?:while|moment|bit|minute|second)|how far|far along|so far|not yet|yet|under ?way"
    r"|still (?:not|no|going|busy|at it|there)|(?:is|has|be|been|it|are) (?:\w+ )?(?:done|finished|complete|ready"
    r"|come|arrived|landed|(?:over|through)(?! \w)))\b",
    re.IGNORECASE,
)
_OF_WAITING = frozenset(
    "along arrived bit come complete done far finished landed minute minutes moment over ready second seconds still "
    "through time under underway while yet".split()
)
_BEGIN_WAITING = "wait", "poll", "patien", "progress"
"""One of these words is in whatever matches, or one that begins like these."""
_BEING_DONE = re.compile(
    r"\b(?:is|are|still|currently|now) (?:being )?(?!missing|existing|nothing)\w+ing\b|\bbeing \w+(?:ed|en|t)\b"
    r"|\b(?:hold on|not (?:yet|finished|done|complete|through)|no change)\b",
    re.IGNORECASE,
)
_OF_BEING_DONE = frozenset("are being change currently hold is not now still".split())
"""One of these words is in whatever matches."""
_SHARE = re.compile(r"\d\s?%|\b\d+ ?(?:/|of|out of) ?\d+\b")
"""How much of something is done."""
_FILE_NAME = re.compile(r"[\w-]+\.[a-z]\w{0,5}\b")
"""`queue.py` is in a list of files, and says nothing of how far something is."""
_FIELDS = re.compile(r"[|\n;,]")
_MOST_FIELDS = 2
"""A share that stands among more than so many things is only one of the things that are told."""
_FEW_WORDS = 3
_LONGEST_REMARK = 16
"""Words of a thought that only says what it waits for."""
_SHORT_STATUS = 90
_STATUS = 200
"""Characters of a result that says no more than how far something is."""


def waits(step: StepFeatures, moves: bool = False) -> bool:
    """Whether it waits, or looks at something that is under way; `moves` if the same look had shown something else."""
    role = step.role
    if role.changes or (role.notes and not step.speaks_only):
        return False
    if role.waits:
        return True
    if step.speaks_only:
        return step.unfinished
    return _looks_at_progress(step, moves)


def _looks_at_progress(step: StepFeatures, moves: bool) -> bool:
    words = step.said
    if len(words) <= _LONGEST_REMARK and _may_speak_of_waiting(step) and _SPEAKS_OF_WAITING.search(step.thought):
        return True
    record = step.result_excerpt
    if step.result_size <= _STATUS and (step.unfinished or (not step.failed and _is_status(record, step.heard))):
        return True
    return (len(words) <= _FEW_WORDS or not _WAITS_FOR.isdisjoint(words)) and _is_under_way(record, moves)


def is_under_way(record: str) -> bool:
    """Whether a result says that something was begun and is not at its end."""
    return _is_status(record, split(record)) or _is_under_way(record, moves=False)


def _may_speak_of_waiting(step: StepFeatures) -> bool:
    """Whether it is not out of the question; most thoughts have no word of it."""
    thought = step.thought
    if not (_OF_WAITING.isdisjoint(step.said) and thought.isascii()):
        return True
    return any(map(thought.lower().__contains__, _BEGIN_WAITING))


def _is_status(record: str, heard: Collection[str]) -> bool:
    """Whether a short result, whose words these are, says no more than that something has begun."""
    if len(record) > _SHORT_STATUS:
        return False
    words = split(_FILE_NAME.sub(" ", record)) if "." in record else heard
    if not _ENDED.isdisjoint(words):
        return False
    if not _ON_ITS_WAY.isdisjoint(words):
        return True
    shares = "%" in record or "/" in record or "of" in record
    if shares and _SHARE.search(record) and len(_FIELDS.split(record)) <= _MOST_FIELDS:
        return True
    if record.isascii() and _OF_BEING_DONE.isdisjoint(heard):
        return False
    return _BEING_DONE.search(record) is not None


def _is_under_way(record: str, moves: bool) -> bool:
    lowered = record.lower()
    if "sta" not in lowered and "phase" not in lowered:
        return False
    if record.isascii() and not any(map(lowered.__contains__, _IN_STATE)):
        return False
    states = [set(split(state)) for state in _STATE.findall(record)]
    if any(not UNFINISHED.isdisjoint(state) for state in states):
        return True
    return moves and any(not _ON_ITS_WAY.isdisjoint(state) for state in states)
