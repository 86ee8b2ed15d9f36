"""What a step is about: the words that are peculiar to it, without those that any agent uses for any task.

The sets are wider than those of `words`, for they are compared with all that a long run has said. Names, paths and ids
are taken apart into their words, and kept whole as well.
"""

import re
from collections.abc import Collection, Iterable, Set
from functools import lru_cache
from itertools import filterfalse

import msgspec

from .words import LONGEST_WORD, Bits, place, says_something, split, stem

TopicSet = int
"""Stems, one bit each; 0 is the empty set."""

BITS = 8_192
_BIT = tuple(1 << place for place in range(BITS))
_MOST_TASK = 8_000
_NAMES_IN_THOUGHT, _NAMES_IN_ARGUMENTS = 1_000, 400
"""Characters that are searched for names."""
_SHORTEST_NAME, _LONGEST_NAME = 7, 120
_LONG_NUMBER = 5
"""With this many digits a number names something."""
_HOST = re.compile(r"\b[a-z]{2,10}://[^\s/\"']{1,200}", re.IGNORECASE)
_AROUND_NAMES = "\"'`,;:.!?()[]{}<>*#=|&$"

_OF_ANY_TASK = (
    "able above access accuracy accurate action actually add added additional address agent allow already alternative "
    "analysis analyze another answer anything app appears approach appropriate apt args around ask assume attempt "
    "automatic available avoid awk back base bash basic begin behavior behaviour better bin bit block branch break "
    "bring bug build call careful case cat cause cfg change check chmod class clean clear code com command commit "
    "common compare complete concern condition confirm consider consistent contain content context continue correct "
    "count create cross curl current cut data date deal debug def default define definition depend derive describe "
    "description detail determine dev diff different direct directory document done double download echo either empty "
    "end ensure entire entry eof error etc even everything exact examine example excellent executable execute exist "
    "expect explain explicit explore extra extract fact fail false far field figure file final find fine fix focus "
    "follow form format found full fully function gather general generate git goal good great grep handle happen head "
    "help history hold however html http https idea identify implement implementation import include indeed indicate "
    "individual info information init initial input inspect install instance instead instruction interest involve "
    "ipython issue item json keep key kind known kwargs lack later lead least leave let lib line link list little "
    "load locate location long lot main manage manual mark match mean meet mention merge message method miss missing "
    "mkdir model modify module move multiple name necessary new nice none note notice null number object obtain "
    "obvious old open option order org original output package page part pass path pattern per perfect perform "
    "permission piece pip place plan point possible potential prepare present previous primary print problem proceed "
    "process produce progress project proper provide pull push pwd pytest python python3 query question quick quite "
    "raise ran rather raw reach read ready reason receive recent refer reference regard relate relevant remain remove "
    "replace report repository reproduce reproduction request require resolve response rest result retrieve return "
    "review right run save scan scenario script search second section sed seem select self separate set setup several "
    "shell short simple simply single size small solution solve soon sort source specific src standard start state "
    "statement status step stop string structure submit success sudo suggest summary support suppose switch system "
    "tail tar tarball target task team tell test tests text thank thorough thought three thus time title tmp together "
    "tool total touch tree true turn txt type typical understand unittest unless unzip update url usage user usr "
    "usual valid value variable various verification verify version via view wait web website wget which whole wish "
    "wonder word work worth write wrong www xargs zip"
)


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


_any_task = frozenset(map(stem, _OF_ANY_TASK.split()))


def topic_set(words: Iterable[str]) -> TopicSet:
    """The stems of those words that are peculiar to something."""
    return _bits.united(words)


@lru_cache(maxsize=4)
def topic_of_task(task: str) -> tuple[TopicSet, TopicSet]:
    """What a task is about, and the files, symbols and ids that it names."""
    text = task[:_MOST_TASK]
    return topic_set(set(split(text))) | _ids(text), _names(text)


def read_topic(
    thought: str,
    words: Set[str],
    codes: Collection[str],
    given: str,
    given_words: Set[str],
    result: str,
    heard: Set[str],
) -> StepTopic:
    """What a step is about: what it says, is given and brings, each with its words; `codes` are no words proper."""
    said = topic_set(words - set(codes) if codes else words)
    # Where something is read says little about what.
    called = topic_set(set(split(_HOST.sub(" ", given))) if "://" in given else given_words)
    coded = topic_set(codes) | _ids(given)
    brought = topic_set(heard) | _ids(result)
    return StepTopic(
        said,
        called,
        coded,
        said | called | coded,
        brought,
        _names(f"{thought[:_NAMES_IN_THOUGHT]} {given[:_NAMES_IN_ARGUMENTS]}"),
        said.bit_count(),
        called.bit_count(),
        coded.bit_count(),
        brought.bit_count(),
    )


def _names(text: str) -> TopicSet:
    """Whatever has a dot or an underscore within: a path by its last part, wherever it was seen from."""
    return _name_bits.united([token for token in _marked(text) if "_" in token or "." in token])


def _ids(text: str) -> TopicSet:
    """The ids that are put together with underscores, each as a whole: its parts may belong to others as well."""
    return _id_bits.united([token for token in _marked(text) if "_" in token]) if "_" in text else 0


def _marked(text: str) -> Iterable[str]:
    """Those parts of a text that are more than letters and digits: quickly said of most that they are not."""
    return filterfalse(str.isalnum, text.split())


def _bit(word: str) -> TopicSet:
    # A range of lines ends in a letter, and is a number all the same.
    if len(word) > LONGEST_WORD or (len(word) < _LONG_NUMBER if word[:-1].isdigit() else not says_something(word)):
        return 0
    root = stem(word)
    return 0 if root in _any_task else _BIT[place(root, BITS)]


def _name_bit(token: str) -> TopicSet:
    name = token.strip(_AROUND_NAMES).rsplit("/", 1)[-1].lower()
    long_enough = _SHORTEST_NAME <= len(name) <= _LONGEST_NAME
    return _BIT[place(name, BITS)] if long_enough and ("_" in name or "." in name) else 0


def _id_bit(token: str) -> TopicSet:
    name = token.strip(_AROUND_NAMES)
    return _BIT[place(name.lower(), BITS)] if name[-1:].isdigit() and len(name) <= _LONGEST_NAME else 0


_bits = Bits(_bit)
_name_bits = Bits(_name_bit)
_id_bits = Bits(_id_bit)
