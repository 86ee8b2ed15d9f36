"""What a step is about: the words that are peculiar to it, without those that any agent uses for any task.

The sets are wider than those of `words`, for they are compared with all that a long run has said. Names, paths and ids
are taken apart into their words, and kept whole as well.
"""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from zlib import crc32

import msgspec

from .words import says_something, split, stem

TopicSet = int
"""Stems, one bit each; 0 is the empty set."""

BITS = 8_192
_LONGEST_WORD = 64
_MOST_WORDS = 20_000
"""Words whose bit is remembered; hostile text must not fill the memory."""
_MOST_ARGUMENTS = 2_000
"""Characters of the arguments that are looked at."""
_MOST_TASK = 8_000
_NAMES_IN_THOUGHT, _NAMES_IN_ARGUMENTS = 1_000, 400
"""Characters that are searched for names."""
_SHORTEST_NAME, _LONGEST_NAME = 7, 120
_LONG_NUMBER = 5
"""With this many digits a number names something."""
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
    """What one step is about."""

    said: TopicSet = 0
    """By its thought."""
    called: TopicSet = 0
    """By the arguments of its call."""
    brought: TopicSet = 0
    """By its result."""
    coded: TopicSet = 0
    """By the numbers and codes in its thought and the ids in its call: what stands for one thing alone."""
    named: TopicSet = 0
    """The files, symbols and ids that thought and call name, each as a whole."""


class _TopicBits(dict[str, TopicSet]):
    """The bit of each word, 0 for words that fit any task; filled as words turn up."""

    def __missing__(self, word: str) -> TopicSet:
        if len(word) > _LONGEST_WORD:
            return 0
        bit = _bit(word)
        if len(self) >= _MOST_WORDS:
            self.clear()
        self[word] = bit
        return bit


_bits = _TopicBits()
_any_task = frozenset(map(stem, _OF_ANY_TASK.split()))


def topic_set(words: Iterable[str]) -> TopicSet:
    """The stems of those words that are peculiar to something."""
    return reduce(or_, filter(None, map(_bits.__getitem__, set(words))), 0)


def topic_of_task(task: str) -> StepTopic:
    """What a task is about."""
    text = task[:_MOST_TASK]
    return StepTopic(said=topic_set(split(text)) | _ids(text), named=_names(text))


def read_topic(thought: str, arguments: str, result: str, result_words: Iterable[str]) -> StepTopic:
    """What a step is about; `result_words` are the words of `result`."""
    given = arguments[:_MOST_ARGUMENTS]
    words = set(split(thought))
    codes = {word for word in words if not word.isalpha()}
    return StepTopic(
        topic_set(words - codes),
        topic_set(split(given)),
        topic_set(result_words) | _ids(result),
        topic_set(codes) | _ids(given),
        _names(f"{thought[:_NAMES_IN_THOUGHT]} {arguments[:_NAMES_IN_ARGUMENTS]}"),
    )


def _names(text: str) -> TopicSet:
    """Whatever has a dot or an underscore within: a path by its last part, wherever it was seen from."""
    found = 0
    for token in text.split():
        if "_" in token or "." in token[:-1]:
            name = token.strip(_AROUND_NAMES).rsplit("/", 1)[-1].lower()
            if _SHORTEST_NAME <= len(name) <= _LONGEST_NAME and ("_" in name or "." in name):
                found |= 1 << crc32(name.encode("utf-8", "surrogatepass")) % BITS
    return found


def _ids(text: str) -> TopicSet:
    """The ids that are put together with underscores, each as a whole: its parts may belong to others as well."""
    found = 0
    if "_" in text:
        for token in text.split():
            if "_" in token:
                name = token.strip(_AROUND_NAMES)
                if name[-1:].isdigit() and len(name) <= _LONGEST_NAME:
                    found |= 1 << crc32(name.lower().encode("utf-8", "surrogatepass")) % BITS
    return found


def _bit(word: str) -> TopicSet:
    if len(word) < _LONG_NUMBER if word.isdigit() else not says_something(word):
        return 0
    root = stem(word)
    return 0 if root in _any_task else 1 << crc32(root.encode("utf-8", "surrogatepass")) % BITS
