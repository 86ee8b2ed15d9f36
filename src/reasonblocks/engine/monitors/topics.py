"""What a step is about: the words that are peculiar to it, without those that any agent uses for any task.

The sets are wider than those of `words`, for they are compared with all that a long run has said. Names, paths and ids
are taken apart into their words, and kept whole as well.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Set
from functools import lru_cache, reduce
from itertools import filterfalse
from operator import or_

import msgspec

from .lexicon import NOWHERE, TOPIC_BITS, PerWord, place, topic_places
from .words import split

TopicSet = int
"""Stems, one bit each; 0 is the empty set."""

_IN_BYTE = tuple(1 << place for place in range(8))
_FEW = 6
"""So many words are put together one by one; of more it is quicker to write down their bits."""
_MOST_TASK = 8_000
_NAMES_IN_THOUGHT, _NAMES_IN_ARGUMENTS = 1_000, 400
"""Characters that are searched for names."""
_SHORTEST_NAME, _LONGEST_NAME = 7, 120
_HOST = re.compile(r"\b[a-z]{2,10}://[^\s/\"']{1,200}", re.IGNORECASE)
_AROUND_NAMES = "\"'`,;:.!?()[]{}<>*#=|&$"


class StepTopic(msgspec.Struct, frozen=True, gc=False):
    """What one step is about; the words are counted once, for to count the bits of a wide set takes its time."""

    said: TopicSet
    """By its thought."""
    called: TopicSet
    """By the arguments of its call."""
    coded: TopicSet
    """By the numbers and codes in its thought and the ids in its call: what stands for one thing alone."""
    spoken: TopicSet
    """All of these."""
    brought: TopicSet
    """By its result."""
    named: TopicSet
    """The files, symbols and ids that thought and call name, each as a whole."""
    said_size: int
    called_size: int
    coded_size: int
    brought_size: int


class TopicPart(msgspec.Struct, frozen=True, gc=False):
    """What a thought or a call is about."""

    words: TopicSet
    size: int
    """How many they are."""
    coded: set[int]
    """The places of what stands for one thing alone."""
    named: TopicSet


def topic_set(words: Iterable[str]) -> TopicSet:
    """The stems of those words that are peculiar to something."""
    return _united(_places_of(words, topic_places))


def _places_of(words: Iterable[str], known: Mapping[str, int]) -> set[int]:
    """The places of those words that have one."""
    places = set(map(known.__getitem__, words))
    places.discard(NOWHERE)
    return places


def _united(places: Collection[int]) -> TopicSet:
    """A set with the bits at these places, each of which is given once."""
    if not places:
        return 0
    if len(places) < _FEW:
        return reduce(or_, map(_ONE.__lshift__, places), 0)
    written = bytearray(TOPIC_BITS // 8)
    for one in places:
        written[one >> 3] |= _IN_BYTE[one & 7]
    return int.from_bytes(written, "little")


@lru_cache(maxsize=4)
def topic_of_task(task: str) -> tuple[TopicSet, TopicSet]:
    """What a task is about, and the files, symbols and ids that it names."""
    text = task[:_MOST_TASK]
    return _united(_places_of(split(text), topic_places) | _ids(text)), _united(_names(text))


def topic_of_thought(thought: str, words: Set[str], codes: Collection[str]) -> TopicPart:
    """What a thought is about, given its words; `codes` are those that are no words proper."""
    said = _places_of(words - set(codes) if codes else words, topic_places)
    names = _names(thought[:_NAMES_IN_THOUGHT])
    return TopicPart(_united(said), len(said), _places_of(codes, topic_places), _united(names))


def topic_of_call(given: str, words: Set[str]) -> TopicPart:
    """What a call is about, by what it is given, and the words of that."""
    # Where something is read says little about what.
    called = _places_of(split(_HOST.sub(" ", given)) if "://" in given else words, topic_places)
    return TopicPart(_united(called), len(called), _ids(given), _united(_names(given[:_NAMES_IN_ARGUMENTS])))


def topic_of_result(result: str, words: Set[str]) -> tuple[TopicSet, int]:
    """What a result is about, given its words, and how many of them tell."""
    brought = _places_of(words, topic_places) | _ids(result)
    return _united(brought), len(brought)


def topic_of_step(thought: TopicPart, call: TopicPart, brought: TopicSet, brought_size: int) -> StepTopic:
    """What a step is about: what it says, does and brings."""
    coded = thought.coded | call.coded
    coded_set = _united(coded)
    return StepTopic(
        thought.words,
        call.words,
        coded_set,
        thought.words | call.words | coded_set,
        brought,
        thought.named | call.named,
        thought.size,
        call.size,
        len(coded),
        brought_size,
    )


def _names(text: str) -> set[int]:
    """Whatever has a dot or an underscore within: a path by its last part, wherever it was seen from."""
    # A dot at the end is that of a sentence; most texts have no others.
    if "_" not in text and text.count(".") == text.count(". ") + text.count(".\n") + text.endswith("."):
        return set()
    return _places_of([token for token in _marked(text) if "_" in token or "." in token[:-1]], _name_places)


def _ids(text: str) -> set[int]:
    """The ids that are put together with underscores, each as a whole: its parts may belong to others as well."""
    return _places_of([token for token in _marked(text) if "_" in token], _id_places) if "_" in text else set()


def _marked(text: str) -> Iterable[str]:
    """Those parts of a text that are more than letters and digits: quickly said of most that they are not."""
    return filterfalse(str.isalnum, text.split())


def _name_place(token: str) -> int:
    name = token.strip(_AROUND_NAMES).rsplit("/", 1)[-1].lower()
    long_enough = _SHORTEST_NAME <= len(name) <= _LONGEST_NAME
    return place(name, TOPIC_BITS) if long_enough and ("_" in name or "." in name) else NOWHERE


def _id_place(token: str) -> int:
    name = token.strip(_AROUND_NAMES)
    return place(name.lower(), TOPIC_BITS) if name[-1:].isdigit() and len(name) <= _LONGEST_NAME else NOWHERE


_ONE = 1
_name_places = PerWord(_name_place)
_id_places = PerWord(_id_place)
