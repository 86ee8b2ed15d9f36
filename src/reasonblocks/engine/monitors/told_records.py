"""A change was made to one of several things, and the message after it tells of another one that stands beside it.

Results list things by their ids, each with a name and with what it is like. So whoever was told of can be compared with
whatever the call was given: the ids of the call lead to their records, and the words of the message to others.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from ..answers import Evidence
from .base import Reading
from .conclusions import asks, denies, goes_on, opening, states_fact
from .features import StepFeatures, quote
from .verdicts import tells_of_failure

_NAME = "verification_skip"
_OF_ANOTHER = 0.7
_MOST_KEPT, _LONGEST_RESULT, _LONGEST_TEXT = 24, 12_000, 1_500
_MOST_RECORDS, _MOST_VALUES, _DEEPEST = 200, 24, 5
_ENOUGH = 2
"""So much of another record is told by its name, or by two of its values."""
_ID = re.compile(r"(?=[^\s]*\d)[#\w-]{5,40}")
_PLAIN = re.compile(r"[^a-z0-9]+")
_NAMES = frozenset(("name", "title", "label", "model", "service", "product", "description"))
_COUNTED = re.compile(
    r"\b(?:added|adds|booked|has been set to|have|has|include[sd]?|includes|increased to|now"
    r"|raised to|reduced to|removed"
    r"|set to|updated to|with)(?: a total of| to)? (\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten)"
    r"((?: [a-z-]{3,20}){1,3})\b"
)
_NUMBERS = dict(zip("one two three four five six seven eight nine ten".split(), range(1, 11), strict=True))
_SAME_WORD = 3
"""Letters at the beginning of a word that make it another form of the same: bags, baggage."""
_ALL_OF_THEM = re.compile(
    r"\b(?:all|both) (?:(?:of|the|your|these|those) )*(?:(\w+) )?(?:[a-z-]+ ){0,2}?(?:is|are|have|has|were|was)\b"
    r"|\b(?:is|are) (?:all|both)\b"
)
_IN_GENERAL = re.compile(
    r"\b(?:all|both|each|every) (?:\w+ ){0,3}?(?:items?|of (?:it|them)|products?|things?)\b|\beverything\b"
)
_STAYS = re.compile(
    r"\b(?:cannot|instead|keep|kept|leave|left|never|no|not|other|remain\w*|rather|separate\w*"
    r"|stays?|still|unchanged|untouched)\b|n't\b|\?"
)
"""With one of these a sentence may be about what was not changed."""
_RECORD_ID = re.compile(r"#?(?=[A-Z]*-?\d)(?=[A-Z\d-]*\d)[A-Z]{1,5}-?\d[A-Z\d]{3,14}\b|(?<!\w)#\d{4,16}\b")
_SENTENCES = re.compile(r"(?<=[.!?])\s|\n")


class _Record(msgspec.Struct):
    """One of several things that stand beside each other."""

    key: str
    beside: list["_Record"]
    """All that were listed with it: these can be taken for each other."""
    texts: list[tuple[str, str]]
    """The texts of its fields with their names, until somebody asks what they say: that is seldom."""
    told: tuple[frozenset[str], frozenset[str]] | None = None

    @property
    def names(self) -> frozenset[str]:
        """What it is called."""
        return self._read()[0]

    @property
    def values(self) -> frozenset[str]:
        """What it is like, with its names."""
        return self._read()[1]

    def _read(self) -> tuple[frozenset[str], frozenset[str]]:
        if self.told is None:
            names: set[str] = set()
            values: set[str] = set()
            for key, text in self.texts:
                if len(values) >= _MOST_VALUES:
                    break
                plain = _plain(text)
                if len(plain) > 1:
                    values.add(plain)
                    if key in _NAMES:
                        names.add(plain)
            self.told, self.texts = (frozenset(names), frozenset(values)), []
        return self.told


class ToldRecords:
    """The things that results have listed, and those that were changed."""

    __slots__ = ("_change", "_changed", "_counts", "_records", "_unread")

    def __init__(self) -> None:
        self._unread: deque[str] = deque(maxlen=_MOST_KEPT)
        """Results that list things; only read where a change is told of."""
        self._records: dict[str, _Record] = {}
        self._change: StepFeatures | None = None
        """The newest change since somebody answered."""
        self._changed: dict[str, None] = {}
        """The ids that the latest changes were given."""
        self._counts: dict[str, set[int]] = {}
        """What the records that were changed say there is how many of."""

    def take(self, step: StepFeatures) -> None:
        """Take a call in."""
        role = step.role
        if role.runs or role.writes or role.notes or step.failed:
            return
        text = step.observation
        if step.result_size <= _LONGEST_RESULT and text.lstrip()[:1] in ("{", "["):
            self._unread.append(text)
        if role.changes:
            self._change = step
            for one in _ID.findall(step.arguments[:_LONGEST_TEXT]):
                self._changed[one] = None
            while len(self._changed) > _MOST_RECORDS:
                del self._changed[next(iter(self._changed))]

    def forget(self) -> None:
        """Somebody has answered."""
        self._change = None

    def compare(self, step: StepFeatures) -> Reading | None:
        """What is wrong with a message after a change."""
        change = self._change
        if change is None or not step.thought:
            return None
        lead = opening(step.thought)
        if not (states_fact(lead) or _ALL_OF_THEM.search(lead.lower())) or asks(step.thought) or goes_on(step.thought):
            return None
        if denies(lead) or tells_of_failure(lead):
            return None
        self._read_all()
        return self._compare_thing(step, change) or self._compare_count(step, change) or self._compare_all(step, change)

    def _compare_thing(self, step: StepFeatures, change: StepFeatures) -> Reading | None:
        called = [self._records[one] for one in sorted(self._changed) if one in self._records]
        text = step.thought[:_LONGEST_TEXT]
        if not called or _IN_GENERAL.search(text.lower()):
            return None
        parts = [part for part in _SENTENCES.split(text) if not _STAYS.search(part.lower())]
        said = f" {_plain(' '.join(parts))} "
        ours = {value for record in called for value in record.values}
        for one in _ID.findall(change.arguments[:_LONGEST_TEXT]):
            record = self._records.get(one)
            if record is None:
                continue
            rest = {value for other in called if other.key != one for value in other.values}
            if any(
                _tells(said, other, record, ours, rest) for other in record.beside if other.key not in self._changed
            ):
                reason = "What is reported of one thing was done to another."
                quotes = [quote(opening(step.thought)), change.call_quote()]
                return Reading(_OF_ANOTHER, Evidence(_NAME, reason, [change.index, step.index], quotes))
        return None

    def _compare_count(self, step: StepFeatures, change: StepFeatures) -> Reading | None:
        """What is wrong with a number of things that is told, where the changed record says how many there are."""
        for part in _SENTENCES.split(step.thought[:_LONGEST_TEXT]):
            for number, things in _COUNTED.findall(part.lower()):
                value = _NUMBERS.get(number) or int(number)
                held = self._held({word[:_SAME_WORD] for word in things.split()})
                differences = {abs(one - other) for one in held for other in held}
                if not held or value in held | differences or str(value) in change.given or number in change.given:
                    continue
                reason = "The number that is told is not the one that the change was made with."
                evidence = Evidence(_NAME, reason, [change.index, step.index], [quote(part), change.call_quote()])
                return Reading(_OF_ANOTHER, evidence)
        return None

    def _held(self, beginnings: set[str]) -> set[int]:
        """How many there are of what is called like this, as far as changed records say."""
        return {
            count
            for name, counts in self._counts.items()
            if name.rpartition("_")[2][:_SAME_WORD] in beginnings
            for count in counts
        }

    def _compare_all(self, step: StepFeatures, change: StepFeatures) -> Reading | None:
        """What is wrong with a message that tells of all of them, though one was only looked at."""
        lead = opening(step.thought)
        if not _ALL_OF_THEM.search(lead.lower()):
            return None
        ours = set(_RECORD_ID.findall(change.arguments[:_LONGEST_TEXT]))
        for part in _SENTENCES.split(lead):
            for told in _RECORD_ID.findall(part):
                if not ours or told in self._changed or _shape(told) not in set(map(_shape, ours)):
                    continue
                reason = "All of it is reported as done, but no call has changed what is named besides."
                evidence = Evidence(_NAME, reason, [change.index, step.index], [quote(part), change.call_quote()])
                return Reading(_OF_ANOTHER, evidence)
        return None

    def _read_all(self) -> None:
        while self._unread:
            try:
                value = msgspec.json.decode(self._unread.popleft())
            except (msgspec.DecodeError, RecursionError):
                continue
            if isinstance(value, dict):
                self._count(value)
            for record in _records_in(value, 0) if isinstance(value, dict | list) else ():
                if len(self._records) >= _MOST_RECORDS and record.key not in self._records:
                    del self._records[next(iter(self._records))]
                if record.key not in self._records or len(record.beside) >= len(self._records[record.key].beside):
                    self._records[record.key] = record

    def _count(self, value: dict[str, Any]) -> None:
        if not any(isinstance(one, str) and one in self._changed for one in value.values()):
            return
        for name, count in value.items():
            if type(count) is int and 0 <= count < 1_000 and len(self._counts) < _MOST_VALUES:
                self._counts.setdefault(name, set()).add(count)


def _records_in(value: Any, depth: int) -> Iterator[_Record]:
    """The things a result lists, by their ids."""
    if depth > _DEEPEST:
        return
    named = value.items() if isinstance(value, dict) else [("", one) for one in value]
    beside: list[_Record] = []
    for name, one in named:
        if not isinstance(one, dict | list):
            continue
        if isinstance(one, dict) and (record := _record(name, one, beside)):
            beside.append(record)
        yield from _records_in(one, depth + 1)
    if len(beside) > 1:
        yield from beside


def _record(name: str, value: dict[str, Any], beside: list[_Record]) -> _Record | None:
    ids = [one for key, one in value.items() if key.endswith("id") and isinstance(one, str)]
    own = name if _ID.fullmatch(name) else ids[-1] if ids else ""
    if not _ID.fullmatch(own):
        return None
    texts = [
        (key, one)
        for part in (value, *[one for one in value.values() if isinstance(one, dict)])
        for key, one in part.items()
        if isinstance(one, str) and not key.endswith("id")
    ]
    return _Record(own, beside, texts) if any(len(_plain(text)) > 1 for _, text in texts) else None


def _tells(said: str, other: _Record, record: _Record, ours: set[str], rest: set[str]) -> bool:
    """Whether a plain text tells of another record, and of nothing that only the right one is or has."""
    told = {value for value in other.values - record.values if f" {value} " in said}
    if told <= ours:
        return False
    if sum(_ENOUGH if value in other.names else 1 for value in told) < _ENOUGH:
        return False
    own = (record.values - other.values - rest) | (record.names - other.names)
    return bool(own) and not any(f" {value} " in said for value in own)


def _plain(text: str) -> str:
    return _PLAIN.sub(" ", text.lower()).strip()


def _shape(word: str) -> str:
    return "".join("9" if sign.isdigit() else "a" for sign in word)
