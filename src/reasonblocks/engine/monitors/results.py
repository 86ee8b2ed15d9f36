"""What a result says, read off its text alone: one that comes again, in whatever run, need not be read again."""

import re
from functools import lru_cache

import msgspec

from .topics import TopicSet, topic_of_result
from .words import WordSet, number_set, split, word_set

_MOST_REMEMBERED = 256
"""Results of which is remembered what was read; an excerpt is short."""

_FAILURE_WORDS = frozenset(
    "cannot command could denied error errors exception exit exitcode fail failed failure fatal file invalid "
    "permission returncode traceback unable".split()
)
"""Without one of these no result says that something failed; most results are done with that."""
_COUNTS_SOMETHING = (
    r"(?![\"']?\s{0,2}[:=]?\s{0,2}(?:0\b(?!\.\d)|\[\]|\{\}|\"\"|''"
    r"|(?:false|nil|no|none|null)(?=\s{0,2}(?:[,;}\n]|\Z))))"
)
"""After a word of failure: what follows does not say that there was none."""
_SUCCEEDS_AT_START = re.compile(r"\W{0,3}(?:return ?code|exit ?code|exit ?status)\W{1,3}0\b", re.IGNORECASE)
_FAILS_AT_START = re.compile(
    r"\W{0,3}(?:error|exception|fatal|failed|failure|traceback|invalid|unable to|cannot|could not|permission denied)\b"
    + _COUNTS_SOMETHING
    + r"|\W{0,3}(?:return ?code|exit ?code|exit ?status)\W{1,3}[1-9]",
    re.IGNORECASE,
)
_FAILURES = ("Exception: ", "Traceback (most recent call last)", "No such file or directory", ": command not found")
_ERROR = re.compile(r"Error: (?:(?<=\wError: )|(?!-?\d{0,9}\.\d|0\b|(?:[Ff]alse|nil|None|none|null)(?:[,;}\n]|\Z)))")
"""The name of a kind of error, or any error; but not a figure that is called so, as a mean error is."""
_FAILS = re.compile(
    rf"\b[1-9]\d* failed\b|^(?:FAIL|FAILED|ERROR)\b(?i:{_COUNTS_SOMETHING})"
    + r"|\bexit(?:ed with)? (?:code|status):? [1-9]",
    re.MULTILINE,
)
_IN_FAILS = ("failed", "FAIL", "ERROR", "exit")
"""One of these is in whatever matches: to look for a text is many times as fast as to match."""
UNFINISHED = frozenset(
    "background building creating deploying downloading enqueued executing inprogress initialising initializing "
    "installing launching loading ongoing pending preparing processing progress provisioning queued rebooting "
    "restarting running scheduled starting stopping submitted still syncing unfinished updating uploading wait "
    "waiting yet containercreating".split()
)
_UNDER_WAY = re.compile(
    r"(?:phase|stage|state|status)[\"']?\W{1,4}[\w-]{0,30}(?<!miss)(?<!fail)(?<!exist)(?<!warn)ing\b", re.IGNORECASE
)
"""A state in -ing that is none to stay in."""
_LONGEST_STATUS = 400
"""A longer result is not a mere report of how far something is."""
_CHANGING = re.compile(r"[\da-f](?:(?<=0)x[0-9a-f]+|(?<=[0-9a-f])(?<!\w.)[0-9a-f]{7,}\b|(?<=\d)\d*(?:[.,:]\d+)*)")
"""What differs between two results of the same shape, besides blanks: numbers, addresses, hashes."""


class ResultRead(msgspec.Struct, frozen=True, gc=False):
    """What the excerpt of a result says; not to be changed, for others may have the same."""

    heard: set[str]
    """Its words."""
    words: WordSet
    numbers: WordSet
    failed: bool
    unfinished: bool
    topic: TopicSet
    topic_size: int


@lru_cache(maxsize=_MOST_REMEMBERED)
def read_result(excerpt: str) -> ResultRead:
    """What a result says, given the head and the tail of it."""
    heard = set(split(excerpt))
    return ResultRead(
        heard,
        word_set(heard),
        number_set(heard),
        not heard.isdisjoint(_FAILURE_WORDS) and _says_failed(excerpt),
        len(excerpt) <= _LONGEST_STATUS and _says_unfinished(excerpt, heard),
        *topic_of_result(excerpt, heard),
    )


def _says_failed(result: str) -> bool:
    if _SUCCEEDS_AT_START.match(result):
        return False  # whatever error it goes on to speak of
    if _FAILS_AT_START.match(result) or any(map(result.__contains__, _FAILURES)):
        return True
    if "Error: " in result and _ERROR.search(result):
        return True
    return any(map(result.__contains__, _IN_FAILS)) and _FAILS.search(result) is not None


def shape_of(result: str) -> str:
    """A result with one blank for whatever changes from one time to the next."""
    line = " ".join(result.lower().split())
    if not line:
        return result and " "
    start, end = " " if result[0].isspace() else "", " " if result[-1].isspace() else ""
    return _CHANGING.sub(" ", f"{start}{line}{end}")


def _says_unfinished(result: str, words: set[str]) -> bool:
    if not words.isdisjoint(UNFINISHED) or words >= {"no", "new"}:
        return True
    if "ready" in words and not words.isdisjoint(("not", "false")):
        return True
    lowered = result.lower()
    return "ing" in lowered and ("sta" in lowered or "phase" in lowered) and _UNDER_WAY.search(result) is not None
