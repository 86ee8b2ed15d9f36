"""Where the ids in a run's calls come from, where a person is served.

Whatever names one thing there (an order, an account, an address) was said by the person, or stood in a result before it
is used. An id that comes from nowhere, and that is answered with a record in which nothing is known either, belongs to
somebody else. What the record brings is foreign as well, until the person speaks of it.
"""

import re
from functools import lru_cache
from itertools import filterfalse

import msgspec

from .words import WordSet

_SHORTEST, _LONGEST = 5, 64
_MOST_READ = 16_000
"""Characters of a text that are searched for ids."""
_MOST_KEPT = 5_000
"""With more ids than this nothing is said, for no more are kept."""
_MOST_GIVEN = 40
"""Values of a call that are looked at."""
STEPS_TO_WAIT = 6
"""If nobody has answered by then, nobody is served."""
_OWN_SHARE = 0.25
"""A record of which more is known than this is about what the run is about."""
_FEWEST_IN_RECORD = 2
_NEW_WORDS = 0.15
"""With a lower share of new words a result is about the same kind of thing as those before."""
_SOMETHING_ELSE = re.compile(
    r"\b(?:another|different|new|more|other|separate)\s+(?:\w+\s+)?"
    r"(?:issue|matter|point|problem|question|request|subject|task|thing|topic)s?\b"
    r"|\bsomething\s+(?:\w+\s+)?(?:different|else|new|other)\b(?!\s+(?:comes?|happen\w*|goes|occurs?|went)\b)"
    r"|\bby the way\b|\bunrelated\b",
    re.IGNORECASE,
)
_IN_SOMETHING_ELSE = (
    *"issue matter point problem question request subject task thing topic unrelated".split(),
    "by the way",
)
"""One of these is in whatever matches: to look for a text is many times as fast as to match."""
_BLANKS = bytes(code if (chr(code).isalnum() and code < 128) or chr(code) in "_@.+-" else 32 for code in range(256))
_AROUND = b".+-_@"
_LETTERS = b"abcdefghijklmnopqrstuvwxyz_-"
_MOST_LETTERS, _LONG_NUMBER = 4, 5

Ids = frozenset[bytes]
_NONE: Ids = frozenset()


class Origin(msgspec.Struct, frozen=True, gc=False):
    """What the ids of one step say."""

    fresh: int = 0
    """How many come from nowhere..."""
    given: int = 0
    """...of so many."""
    record: bool = False
    """Whether they are answered with somebody else's record."""
    tied: bool = False
    """Whether the step goes on with what came from nowhere."""
    settled: bool = False
    """Whether it was known before the step whom the run is about: a call had used an id that was given."""
    strange: bool = False
    """Whether the answer has an id at least, and none of those it has is known."""


NO_IDS = Origin()
_NO_IDS_SETTLED = Origin(settled=True)


class Provenance:
    """The ids that a run may use."""

    __slots__ = ("_answered", "_asked", "_foreign", "_full", "_known", "_settled", "_steps", "_words")

    def __init__(self, task: str) -> None:
        self._known: set[bytes] = set(ids_in(task[:_MOST_READ]))
        self._foreign: set[bytes] = set()
        self._answered = False
        self._asked = False
        self._full = False
        self._steps = 0
        self._words: WordSet = 0
        self._settled = False

    @property
    def _is_over(self) -> bool:
        """Whether nothing can be told of this run any more."""
        return self._full or (self._steps > STEPS_TO_WAIT and not self._answered)

    def listen(self, thought: str, answer: str) -> Origin:
        """Take in a step without a call, and what somebody answered."""
        self._steps += 1
        settled = self._settled
        if self._is_over:
            return _NO_IDS_SETTLED if settled else NO_IDS
        said = ids_in(thought) if self._foreign else _NONE
        tied = not self._foreign.isdisjoint(said) and self._known.isdisjoint(said)
        if answer:
            self._answered = True
            heard = ids_in(answer[:_MOST_READ])
            if not self._foreign.isdisjoint(heard):  # it is theirs, then
                self._learn(frozenset(self._foreign))
                self._foreign.clear()
                tied = False
            self._learn(heard)
            self._asked = turns_to_something_else(answer[:_MOST_READ])
        return Origin(tied=tied, settled=settled)

    def watch(self, arguments: str, result: str, words: WordSet, failed: bool = False) -> Origin:
        """Take in a call and its result, whose words are known already: where its ids come from."""
        self._steps += 1
        settled = self._settled
        if self._is_over:
            return _NO_IDS_SETTLED if settled else NO_IDS
        given = _given(arguments)
        brought = ids_in(result[:_MOST_READ]) - given
        fresh = frozenset([one for one in given - self._known - self._foreign if not self._is_derived(one)])
        tied = not self._foreign.isdisjoint(given | brought if fresh else given)
        # Whatever has been foreign stays so, however much the next answer about it is like others.
        strange = len(brought & self._known) <= _OWN_SHARE * len(brought) and (tied or not self._is_same_kind(words))
        if failed and fresh:  # nobody has such a thing
            self._words |= words
            return Origin(len(fresh), len(given), False, tied, settled)
        if (fresh or tied) and strange and settled and not self._asked:
            self._foreign |= fresh
            self._foreign |= brought - self._known
        else:
            self._settled = settled or (bool(given) and not fresh)
            self._learn(given | brought)
            fresh = _NONE if self._asked else fresh
        off = strange and bool(fresh or tied)
        self._words |= words
        record = off and len(brought) >= _FEWEST_IN_RECORD
        return Origin(len(fresh), len(given), record, tied, settled, off and bool(brought))

    def _is_derived(self, one: bytes) -> bool:
        """Whether an id is what the person said with a letter or two put in front of its number."""
        digits = one.lstrip(_LETTERS)
        return 0 < len(one) - len(digits) <= _MOST_LETTERS and len(digits) >= _LONG_NUMBER and digits in self._known

    def _is_same_kind(self, words: WordSet) -> bool:
        """Whether the result has the words of earlier ones: the next item of many, whatever its number."""
        return words != 0 and (words & ~self._words).bit_count() < _NEW_WORDS * words.bit_count()

    def _learn(self, ids: Ids) -> None:
        self._known |= ids
        self._foreign -= ids
        self._full = len(self._known) + len(self._foreign) > _MOST_KEPT


@lru_cache(maxsize=4)
def turns_to_something_else(text: str) -> bool:
    """Whether a person speaks of something else: they may mean anything by it, so that what follows is theirs."""
    return any(map(text.lower().__contains__, _IN_SOMETHING_ELSE)) and _SOMETHING_ELSE.search(text) is not None


@lru_cache(maxsize=8)
def ids_in(text: str) -> Ids:
    """Whatever in a text looks like an id: letters and digits in one, a long number, an e-mail address."""
    tokens = set(text.encode("ascii", "replace").translate(_BLANKS).split())
    return frozenset(filter(None, map(_as_id, filterfalse(bytes.isalpha, tokens))))


@lru_cache(maxsize=16_384)
def _as_id(word: bytes) -> bytes:
    """An id as it is compared; nothing for what is none."""
    token = word.strip(_AROUND)
    return token.lower() if _is_id(token) else b""


def _given(arguments: str) -> Ids:
    """The ids among the values of a call: those that are a value of their own."""
    values = arguments[:_MOST_READ].split("\n")[:_MOST_GIVEN]
    return frozenset([one for value in values if len(value) <= _LONGEST and " " not in value for one in ids_in(value)])


def _is_id(token: bytes) -> bool:
    if not _SHORTEST <= len(token) <= _LONGEST:
        return False
    if b"@" in token:
        return True
    digits = len(token) - len(token.translate(None, b"0123456789"))
    if digits == 0 or (digits == 1 and token.islower()):  # `address1` is the name of a field
        return False
    return digits == len(token) or token.translate(None, b".-+0123456789") != b""  # no date, no sum
