"""One thing that is called for in one spelling after the other, and each time comes to the same.

What the calls have in common is the thing, and what one has more than another is the way to it: an option, a folder, a
part of an address. So the shortest of them is in all the others; where each names something that no other does, they
are many things, however alike what comes of them. A result counts as the same if it is, but for an echo of the call.
"""

import re

import msgspec

from ..answers import Evidence
from .base import Reading
from .features import StepFeatures
from .lists import goes_through_a_list
from .roles import runs_commands
from .waiting import waits
from .words import WordSet, alike, number_set, size

_FEWEST, _FEWEST_IN_TURNS = 4, 5
"""Calls that are too many: one after the other, and with others in between."""
_SCORES = (0.68, 0.8, 0.9)
_MOST, _MOST_ROWS, _NEAR = 8, 3, 3
"""Calls that are shown, things that are kept in mind, and steps from one call to the next one for it."""
_LONGEST_COMMAND = 600
_SAYS_WHY, _SAYS_MUCH = 3, 8
"""Words of a result that says what is wrong, and of one that no two things have in common."""
_ALL_AS_IT_WAS = 8
"""Words of what a change shows, if it shows that it has changed nothing."""
_SAME_END = 0.85
"""Of the words of two results."""
_NEWS = 1
"""Words of a result that says nothing new."""
_THE_THING, _PART_OF_IT = 0.85, 0.5
"""Of the shortest call, what is in all of them; and where the result says much."""
_WITHOUT_OBJECT = re.compile(
    r"(?:^|[\s;&|(])(?:cd\s+\S+\s*(?:&&|;)|sudo|bash|sh|env|time)(?=\s)|\d?>&?\s?\S+|\s--?\w[\w-]*"
)
"""What says how something is run, and where from."""
_SCHEME = re.compile(r"\b[a-z]{2,10}://(?:www\.)?", re.IGNORECASE)
_HOST = re.compile(r"://([^\s/\"']{1,200})")
_PART = re.compile(r"(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{6,}|[a-z]{2,}|\d+|[^\W\d_a-z]+")
"""An id, a word, a number; one notation has a blank or a letter where another has none."""
_ID = re.compile(r"[A-Za-z][A-Za-z_.\-]*\d{3,}$")
"""Letters and a long number: what has another number is another thing."""
_ANY_ID = re.compile(r"(?=.*\d)(?=.*[A-Za-z])")
"""The same where a tool is given nothing but values: there is no telling an option by its looks, nor a version."""
_YEAR = 3
"""Digits of a number that makes another thing of it where the result has that number too; fewer are an amount."""
_TOKEN = re.compile(r"\w[\w.\-]*\w|\w")
_MONITOR = "semantic_loop"


class _Row(msgspec.Struct, gc=False):
    """Calls for one thing."""

    first: StepFeatures | None
    """The first one, as long as it has not been read."""
    tool: bytes
    steps: list[int]
    calls: list[str]
    """As they are written, no two the same."""
    core: frozenset[str]
    """What is in all the calls..."""
    shortest: frozenset[str]
    """...and the one that says least besides."""
    names: frozenset[str]
    """What of all of them names a certain thing: a file, an id, a number, whatever has a capital letter."""
    hosts: frozenset[str]
    """What names the machines that they ask."""
    end: WordSet
    """The words of what came of the last one..."""
    ends: WordSet
    """...and of all of them, with their figures."""
    failed: bool
    gaps: bool
    """Whether there was something else in between."""
    quote: str


class SameEnds:
    """The calls for one thing that came to the same, since something was changed."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: list[_Row] = []

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if it is one call too many."""
        role = step.role
        if step.speaks_only:
            if step.observation:
                self._rows = []
            return None
        if role.notes:
            return None
        changes = role.changes and not step.failed
        if (changes and (role.writes or runs_commands(step.action))) or role.waits:
            self._rows = []
            return None
        brief = size(step.result_words) < (_ALL_AS_IT_WAS if changes else _SAYS_WHY)
        brief = brief or len(step.command) > _LONGEST_COMMAND
        if brief and not self._rows:
            return None
        if not step.failed and waits(step):
            self._rows = []
            return None
        if brief:
            if changes:
                self._rows = []
            return None
        end = step.result_words & ~step.given_words
        figures: WordSet | None = None
        for row in self._rows:
            if step.index - row.steps[-1] > _NEAR or not _has_the_same_end(row, step, end):
                continue
            fresh = step.result_numbers & ~row.ends
            if fresh and not step.failed:
                if figures is None:
                    figures = number_set(step.given)
                if fresh & ~figures:
                    continue
            if self._goes_on(row, step, end):
                return _found(row, step)
        if changes:
            self._rows = []
        self._rows = [*self._rows[1 - _MOST_ROWS :], _begin(step, end)]
        return None

    def _goes_on(self, row: _Row, step: StepFeatures, end: WordSet) -> bool:
        """Whether a call is one more of a row, which takes it in then."""
        says_much = not step.failed and size(end | step.result_numbers) >= _SAYS_MUCH
        if step.tool != row.tool and not says_much:
            return False
        if row.first is not None:
            _read_first(row, row.first)
        tokens, names = _tokens(step)
        core = row.core & tokens
        shortest = tokens if len(tokens) < len(row.shortest) else row.shortest
        if says_much and _echoes_another(step, tokens - core):
            return False
        names |= row.names
        hosts = row.hosts | _hosts(step)
        if not _is_one_thing(core, shortest, names, hosts, says_much):
            return False
        row.gaps |= step.index > row.steps[-1] + 1
        row.steps = [*row.steps[1 - _MOST :], step.index]
        if len(row.calls) < _MOST and step.command not in row.calls:
            row.calls.append(step.command)
        row.core, row.shortest, row.names, row.hosts = core, shortest, names, hosts
        row.end = end
        row.ends |= end | step.result_numbers
        return True


def _echoes_another(step: StepFeatures, others: frozenset[str]) -> bool:
    """Whether a result has a number of a call that the calls before had not: it is of another thing, however alike."""
    # To a tool that is given nothing but values no number is an amount.
    shortest = _YEAR if runs_commands(step.action) else 1
    return any(token in step.heard for token in others if token.isdigit() and len(token) >= shortest)


def _has_the_same_end(row: _Row, step: StepFeatures, end: WordSet) -> bool:
    """Whether a call comes to the same as those of a row, but for its figures."""
    if step.failed is not row.failed:
        return False
    if end == row.end:
        return True
    if size(end & ~row.ends) > _NEWS:
        return False
    return alike(end | step.given_words, row.end | step.given_words) >= _SAME_END


def _begin(step: StepFeatures, end: WordSet) -> _Row:
    nothing: frozenset[str] = frozenset()
    return _Row(
        first=step,
        tool=step.tool,
        steps=[step.index],
        calls=[step.command],
        core=nothing,
        shortest=nothing,
        names=nothing,
        hosts=nothing,
        end=end,
        ends=end | step.result_numbers,
        failed=step.failed,
        gaps=False,
        quote="",
    )


def _read_first(row: _Row, first: StepFeatures) -> None:
    """Read the first call of a row, which is put off until another one may be like it: most rows have but one."""
    row.core, row.names = _tokens(first)
    row.shortest, row.hosts, row.quote, row.first = row.core, _hosts(first), first.call_quote(), None


def _is_one_thing(
    core: frozenset[str], shortest: frozenset[str], names: frozenset[str], hosts: frozenset[str], says_much: bool
) -> bool:
    if not core:
        return False
    named = not core.isdisjoint(names - hosts)
    others = names & (shortest - core)
    if says_much:
        # Where it was read, and how much of it, is of no account then.
        return all(map(str.isdigit, others - hosts)) and (named or len(core) >= _PART_OF_IT * len(shortest))
    if others:
        return False
    return len(core) >= (_PART_OF_IT if named else _THE_THING) * len(shortest)


def _tokens(step: StepFeatures) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a call in small letters, and those of them that name something."""
    text = _WITHOUT_OBJECT.sub(" ", _SCHEME.sub(" ", step.command)).replace("\\n", " ")
    tokens: list[str] = []
    names: list[str] = []
    identifies = (_ID if runs_commands(step.action) else _ANY_ID).match
    for token in _TOKEN.findall(text):
        parts = [token.lower()] if identifies(token) else _PART.findall(token.lower())
        tokens += parts
        if not token.isalpha() or not token.islower():
            names += parts
    return frozenset(tokens), frozenset(names)


def _hosts(step: StepFeatures) -> frozenset[str]:
    """The parts of the names of machines in a call."""
    if "://" not in step.command:
        return frozenset()
    return frozenset(_PART.findall(" ".join(_HOST.findall(step.command)).lower()))


def _found(row: _Row, step: StepFeatures) -> Reading | None:
    over = len(row.steps) - (_FEWEST_IN_TURNS if row.gaps else _FEWEST)
    if over < 0 or len(row.calls) < 2 or goes_through_a_list(row.calls):
        return None  # the very same call is for others to see, and may wait for something
    reason = f"The same was called for {len(row.steps)} times, spelt in other ways, and each time came to the same."
    quotes = [text for text in (row.quote, step.call_quote(), step.result_quote()) if text]
    return Reading(_SCORES[min(over, len(_SCORES) - 1)], Evidence(_MONITOR, reason, list(row.steps), quotes))
