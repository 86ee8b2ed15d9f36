"""Commands in a row that show what was shown just before, whatever they are made of.

The same lines of a file can be had in many ways, the same listing in others, and one question to a program can be put
as a new line of code each time. To look again, or to make sure in another way, is care. Where a fourth call in a row
shows nothing that the ones before it had not shown, nothing comes of it.
"""

import re

from ..answers import Evidence
from .base import Reading
from .features import StepFeatures
from .lists import goes_through_a_list
from .roles import runs_commands
from .waiting import waits
from .words import WordSet, alike, covered, size, split, token_set, word_set

_AGAIN = 3
"""Calls after the first that show nothing new, at which it is too much."""
_SCORES = (0.66, 0.8, 0.9)
_LONGEST, _LONGEST_COMMAND = 2_500, 600
"""Characters of a result, and of a command, that are looked at."""
_PERHAPS, _MUCH_ALIKE = 0.8, 0.6
"""Of the words of two results that may be the same, and of all tokens of two that are."""
_SHORT = 400
"""Characters of a result that is wholly in a longer one when it shows the same in short."""
_MOST, _LARGER = 16, 6
_FEW = 3
"""Words and figures of a result that other questions have in common with it."""
_NEW = 1
"""Words that may be new in a result which shows nothing new."""
_SAME_CODE = 0.6
"""Of the names that two pieces of code use."""
_FEWEST_NAMES = 4
_NUMBERED = re.compile(r"^[ \t]*\d+[ \t]*(?:[:|\u2192-]|[ \t])[ \t]?", re.MULTILINE)
"""The number of a line, as tools put it before that line."""
_TOOK = re.compile(r"\bin \d[\d.]*\s?(?:s|ms|seconds?)\b")
_FILE = re.compile(r"(?<![\w./-])(?=[\w./-]*[a-zA-Z])[\w-]*[./][\w./-]*\w|(?<![\w./-])(?!python)[A-Za-z]{1,20}\d\w*")
"""A path, or an id."""
_STRING = re.compile(r"'[^'\n]{0,80}'|\"[^\"\n]{0,80}\"")
_NAME = re.compile(r"[A-Za-z_]\w+")
_CODE = re.compile(r"\bpython[\d.]*\s+-|\b(?:node|ruby|perl|php)\s+-(?:e|r)\b|\bimport\s")
_WORDS_AROUND = word_set("code exit output returncode stdout".split())
_AROUND_AN_OUTPUT = token_set("0 code exit output returncode stdout".split())
_ALL_IS_WELL = token_set("done ok pass passed success successful true yes".split())
_OTHERWISE = token_set("error exception fail failed false no none not null".split())
_MONITOR = "semantic_loop"


class ShownAgain:
    """The calls in a row that showed the same."""

    __slots__ = ("_again", "_all", "_commands", "_digits", "_files", "_first", "_last", "_tokens")

    def __init__(self) -> None:
        self._last: StepFeatures | None = None
        self._first: StepFeatures | None = None
        self._again: list[int] = []
        self._commands: list[str] = []
        self._tokens: WordSet = 0
        """Of the last result that was read..."""
        self._all: WordSet = 0
        """...and of all in the row."""
        self._files: frozenset[str] = frozenset()
        self._digits: WordSet = 0

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if it showed the same once too often."""
        if step.speaks_only and not step.observation:
            return None
        if not _shows(step):
            self._last = self._first = None
            return None
        last, self._last = self._last, step
        if last is None or not _may_be_alike(last, step) or waits(step):
            self._first = None
            return None
        files = _files(step.command)
        if self._first is None:
            self._files = _files(last.command)
        if not (files <= self._files or self._files <= files):
            self._first = None
            return None
        if self._first is None:
            self._begin(last)
        self._files |= files
        news = self._news(step)
        if news is None:
            self._first = None
            return None
        if not news and step.command not in self._commands:
            self._again = [*self._again[1 - _MOST :], step.index]  # the very same command may wait for something
        if len(self._commands) < _MOST and step.command not in self._commands:
            self._commands.append(step.command)
        over = len(self._again) - _AGAIN
        if over < 0 or self._again[-1] != step.index or self._first is None or goes_through_a_list(self._commands):
            return None
        reason = f"{len(self._again) + 1} commands in a row show the same, and nothing was changed in between."
        steps = [self._first.index, *self._again]
        evidence = Evidence(_MONITOR, reason, steps, [self._first.call_quote(), step.call_quote()])
        return Reading(_SCORES[min(over, len(_SCORES) - 1)], evidence)

    def _begin(self, first: StepFeatures) -> None:
        self._first, self._again, self._commands = first, [], [first.command]
        self._tokens = self._all = _tokens(first)
        self._digits = _figures(first.command)

    def _news(self, now: StepFeatures) -> bool | None:
        """Whether a result shows something new as well; `None` if it is about something else."""
        tokens = _tokens(now)
        if min(size(tokens), size(self._tokens)) < _FEW:
            if not self._asks_the_same(now, tokens):
                return None
        elif not _alike(tokens, self._tokens, now.result_size):
            return None
        news = size(tokens & ~self._all) > _NEW
        self._tokens, self._all = tokens, self._all | tokens
        return news

    def _asks_the_same(self, now: StepFeatures, tokens: WordSet) -> bool:
        """Whether short answers are those to one question in code: the same names are used, with no other figure."""
        first = self._first
        if first is None or not (_CODE.search(first.command) and _CODE.search(now.command)):
            return False
        if (tokens & _OTHERWISE) != (self._all & _OTHERWISE) or _figures(now.command) & ~(self._digits | self._all):
            return False
        if _without_texts(first.command) == _without_texts(now.command):
            return False  # what differs is what it is tried out on
        names, others = _names(first.command), _names(now.command)
        return size(names) >= _FEWEST_NAMES and alike(names, others) >= _SAME_CODE


def _shows(step: StepFeatures) -> bool:
    """Whether a call looks at something or tries it out, and does no more."""
    role = step.role
    if not runs_commands(step.action):
        return False  # a tool of its own is given what it is to show
    if role.changes or not (role.looks or role.runs) or step.unfinished or not step.result_size:
        return False
    if step.failed and step.result_size <= _SHORT:
        return False  # whatever fails for one cause says the same
    return len(step.command) <= _LONGEST_COMMAND


def _may_be_alike(one: StepFeatures, other: StepFeatures) -> bool:
    """Whether it is not out of the question that two results are one, which is quickly said."""
    if max(one.result_size, other.result_size) > _LARGER * min(one.result_size, other.result_size):
        return False
    words, others = one.result_words & ~_WORDS_AROUND, other.result_words & ~_WORDS_AROUND
    if min(size(words), size(others)) < _FEW:
        return _CODE.search(one.command) is not None and _CODE.search(other.command) is not None
    return max(covered(words, others), covered(others, words)) >= _PERHAPS


def _alike(one: WordSet, other: WordSet, length: int) -> bool:
    if alike(one, other) >= _MUCH_ALIKE:
        return True
    return length <= _SHORT and one & other in (one, other)


def _tokens(shown: StepFeatures) -> WordSet:
    """The words and figures of a result, without the numbers of lines, an echo and what frames it."""
    text = _TOOK.sub("", _NUMBERED.sub("", shown.observation[:_LONGEST]))
    tokens = token_set(split(text)) & ~(_AROUND_AN_OUTPUT | _ALL_IS_WELL)
    return tokens if size(tokens) > 2 * _FEW else tokens & ~(token_set(split(shown.command)) & ~_figures(shown.command))


def _files(command: str) -> frozenset[str]:
    """The files and ids that a command names."""
    return frozenset([name.removeprefix("./") for name in _FILE.findall(_STRING.sub(" ", command))])


def _figures(command: str) -> WordSet:
    return token_set([word for word in split(command) if word.isdigit()])


def _names(command: str) -> WordSet:
    """What a piece of code uses, without its texts."""
    return token_set(_NAME.findall(_without_texts(command)))


def _without_texts(command: str) -> str:
    """A piece of code, with a mark for each text in it."""
    return _STRING.sub("''", command.split("-c", 1)[-1].strip(" \"'"))
