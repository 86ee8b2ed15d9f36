"""What a run has said lately, and where it says the opposite of it, in whatever words.

Most sentences have nothing to do with each other. Which two may exclude each other is told by what is known of their
words: one of them turns round an idea that the other has, or both may give a value, and they name the same thing. Only
then are they taken apart (`counterpoints.py`). Whatever has changed the thing since, or told of it, excuses.
"""

from collections import deque
from collections.abc import Iterator
from itertools import chain, filterfalse, islice

from .all_along import is_all_along
from .claim_words import FILLS
from .counterpoints import Counterpoint, counterpoint
from .marks import NAMELESS, read_marks
from .points import FILE
from .remarks import Remark
from .signed_words import DEED
from .standing import Event, Opposite, tells
from .wordings import UNREAD, Wording
from .words import WordSet, is_small, split, word_set

DONE = "done"
"""The question of what somebody has done."""
_MOST_STEPS = 12
_MOST_KEPT = 40
_MOST_LOOKS = 4
"""Pairs of sentences that are taken apart after a step."""
_TELLS = 3
"""With so many words of a sentence a person has spoken of it."""
_AROUND = ".,;:!?()\"'*"


class Disputes:
    """What was said in the last steps."""

    __slots__ = ("_events", "_plain", "_turning", "_valued")

    def __init__(self) -> None:
        self._plain: deque[Remark] = deque(maxlen=_MOST_KEPT)
        self._turning: deque[Remark] = deque(maxlen=_MOST_KEPT)
        self._valued: deque[Remark] = deque(maxlen=_MOST_KEPT)
        self._events: deque[Event] = deque(maxlen=_MOST_STEPS)

    def next(self, event: Event, remarks: list[Remark]) -> list[Opposite]:
        """Take the next step in: what it says against earlier ones."""
        found: list[Opposite] = []
        said = [remark for remark in remarks if remark.said.may_state]
        if said:
            self._forget()
            pairs = ((past, now) for now in said for past in self._may_exclude(now))
            found += filter(None, [self._excluded(*pair) for pair in islice(pairs, _MOST_LOOKS)])
            for now in said:
                (self._turning if now.said.turned else self._plain).append(now)
                if now.said.kinds:
                    self._valued.append(now)
        self._events.append(event)
        return found

    def _forget(self) -> None:
        """Let go of what was said before the last steps."""
        since = self._events[0].at if self._events else 0
        for kept in (self._turning, self._plain, self._valued):
            while kept and kept[0].index < since:
                kept.popleft()

    def _may_exclude(self, now: Remark) -> Iterator[Remark]:
        """The sentences of the last steps that may say otherwise, the latest first."""
        said = now.said
        ideas, turned, kinds, marks = said.ideas, said.turned, said.kinds, said.marks
        for past in chain(reversed(self._turning), reversed(self._plain)) if turned else reversed(self._turning):
            theirs = past.said
            if not (theirs.turned & ideas or theirs.ideas & turned):
                continue
            # They have more in common than a word, or speak of something that has a number.
            common = theirs.ideas & ideas
            if (common & (common - 1) or theirs.marks & marks & NAMELESS) and _same_names(theirs, said):
                yield past
        for past in reversed(self._valued) if kinds else ():
            theirs = past.said
            if theirs.kinds & kinds and theirs.ideas & ideas and _same_names(theirs, said):
                yield past

    def _excluded(self, past: Remark, now: Remark) -> Opposite | None:
        earlier, text = past.said.text, now.said.text
        found = counterpoint(earlier, text, valued=past.said.kinds & now.said.kinds != 0)
        if found is None or any(event.at >= past.index and _excuses(event, found, now) for event in self._events):
            return None
        return Opposite(DONE if found.idea == DEED else "", past.index, earlier, text)


def _same_names(one: Wording, other: Wording) -> bool:
    """Whether one of two sentences names what the other speaks of, or both may do without a name."""
    names = one.may_name if one.may_name != UNREAD else _read_names(one)
    known = other.may_name if other.may_name != UNREAD else _read_names(other)
    if not names and not known:
        return one.marks & other.marks & NAMELESS != 0
    return names & other.ideas != 0 or known & one.ideas != 0


def _read_names(said: Wording) -> WordSet:
    said.may_name = _names(said.text)
    return said.may_name


def _names(text: str) -> WordSet:
    """The ideas of the words in whatever may be a name: rather too much than too little."""
    # Most tokens are plain words, of which it is told faster that they are.
    tokens = (
        filterfalse(str.isalpha, text.split())
        if is_small(text)
        else [token for token in text.split() if not (token.isalpha() and token.islower())]
    )
    named = [bare.rpartition("/")[2] for token in tokens if not _is_plain(bare := token.strip(_AROUND))]
    last = [name if FILE.search(name) else name.rpartition(".")[2] for name in named if len(name) > 2]
    return read_marks(split(" ".join(last)))[0] & ~FILLS if last else 0


def _is_plain(token: str) -> bool:
    return token.isalpha() and token[1:].islower()


def _excuses(event: Event, found: Counterpoint, remark: Remark) -> bool:
    """Whether a step may have changed what two sentences are about, or told of it."""
    if event.answered and (event.told(valued=found.value != "") & remark.bits).bit_count() >= _TELLS:
        return True
    if event.changed and not found.is_norm and not is_all_along(remark.said.text):
        certain = found.ids or any(map(FILE.search, found.names))
        if not certain or any(not event.given.isdisjoint(split(name)) for name in found.names):
            return True
    if event.answered or found.is_norm or found.idea == DEED:
        return False  # no look at a thing tells what was asked for, or what the agent did
    result = event.result.lower()
    told = tells(result, found.value) if found.value else event.heard & word_set((found.idea,)) != 0
    return told and all(name.rpartition(".")[2] in result for name in found.names)
