"""Steps in a row that do nothing but tell what is known, whatever words they tell it in.

A thought that a tool takes down, a note that is written or read back, a message that nobody answers, a statement to a
person who only waits for what comes next: each may be needed once or twice. Where a third one follows, with nothing
done in between and no figure, name or answer that is new, the run stands still.
"""

import re

from ..answers import Evidence
from .accounts import NAMES
from .announcements import ABOUT_SAYING, announces
from .asking import ABOUT_TELLING
from .base import Reading
from .features import StepFeatures, quote
from .notebooks import lists
from .partaking import wants_more
from .promises import promises
from .quick import lower, quick
from .words import WordSet, covered, number_set, size, split, word_set

_FEWEST = 3
"""Steps in a row at which it is too much."""
_SCORES = (0.75, 0.85, 0.92, 0.95)
_MOST, _MOST_TEXTS = 8, 64
_LONGEST = 1_500
"""Characters of a text that are looked at."""
_FEWEST_WORDS = 4
_MOST_NEW = 0.6
"""Of the words of a text, beyond which it goes on to something else."""
_WORKED_OUT = 1
"""Figures and names of a row that may have been worked out from others."""
_IN_COMMON = 2
"""Words that a statement to a person has from those before it; a thought has one at least."""
_FEWEST_BESIDE_A_LOOK, _BESIDE = 8, 2
"""Words of a thought that is more than what a look is for, and the names in it that the look has nothing to do with."""
_GLANCE, _SHOWN, _MOST_RESULTS = 300, 2, 16
"""Characters of what a look shows, the words of it that may be new, and how many results are known."""
_NO_NEWS, _LONGEST_ANSWER = 3, 18
"""Words in an answer that the run did not have, and all words of it."""
_URGES = frozenset("ahead can go hurry just next now please proceed waiting".split())
"""One of these is in what somebody says who waits for something to be done."""
_READ_BACK = 0.8
"""Of the words that a look shows, where it shows what was written down."""
_UNHEARD, _FEWEST_CALLS = 2, 2
"""Messages without an answer, after which that is the way of this run; and calls before which nothing is known."""
_NAMED_IN_A_PROMISE = 2
_SPECIFIC = 2
"""Statements to a person that name certain things."""
_ASKS = quick(
    "can you|could you|give me|have you|indicate|kindly|let me know|please|provide|send me|specify|tell me"
    "|what is your|would you|you (?:can|may|need to|should|will need to)"
)
"""Whoever asks for something, or says what is to be done, goes on."""
_REFUSES = quick(
    "afraid|apologi[sz]e|can ?not|can't|couldn't|not (?:able|allowed|possible|permitted)|regret|sorry|unable"
    "|unfortunately|won't be able"
)
"""Whoever cannot do what is asked for may have to say so more than once."""
TAKES_LEAVE = quick(
    "anything else|bye|farewell|feel free|glad|good (?:day|luck|night)|goodbye|happy to (?:help|hear)"
    "|have an? (?:\\w+ )?(?:day|evening|flight|night|one|time|trip|weekend)|take care|welcome"
)
_WRITTEN_TO = re.compile(r">+\s{0,3}\S+|<<-?\s{0,3}\S+|^\S*/\S*$", re.MULTILINE)
"""The file that a note goes to, and what ends it."""


class _Row:
    """The steps in a row, and what was told in them."""

    __slots__ = (
        "answered",
        "awaited",
        "derived",
        "length",
        "quote",
        "specific",
        "steps",
        "texts",
        "told",
        "unheard",
        "written",
    )

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.quote = ""
        """The beginning of the first text."""
        self.length = 0
        self.texts: set[int] = set()
        self.told: WordSet = 0
        self.written: WordSet = 0
        """Those of these words that no person was told."""
        self.derived = 0
        """Figures and names that were worked out."""
        self.answered, self.unheard = 0, 0
        """Messages with an answer, and without one."""
        self.awaited = False
        """Whether the last answer asks for something, so that whoever goes on telling leaves somebody waiting."""
        self.specific = 0
        """Those of them that name certain things."""

    def take(self, step: StepFeatures, text: str, told: WordSet) -> None:
        """One more."""
        self.quote = self.quote or quote(text)
        self.steps = [*self.steps[1 - _MOST :], step.index]
        self.length += 1
        if len(self.texts) < _MOST_TEXTS:
            self.texts.add(hash(text))
        self.told |= told
        if not step.speaks_only:
            self.written |= told
        if step.speaks_only:
            self.answered += bool(step.observation)
            self.unheard += not step.observation
            self.awaited = "?" in step.observation or not _URGES.isdisjoint(step.heard)
            self.specific += NAMES.search(text) is not None

    @property
    def counted(self) -> int:
        """How many steps count."""
        if self.answered and self.specific < _SPECIFIC:
            return 0  # what tells nobody anything may be mere politeness
        return self.length - (self.unheard == 1)  # the only message that nobody answers may be the last word


class Standstill:
    """The steps in a row that tell what is known."""

    __slots__ = ("_calls", "_monitor", "_results", "_row", "_unheard")

    def __init__(self, monitor: str) -> None:
        self._monitor = monitor
        self._calls = 0
        self._results: dict[bytes, tuple[WordSet, WordSet]] = {}
        """Words and numbers of what the last calls showed, since something was changed."""
        self._unheard = 0
        """Messages without an answer before this row."""
        self._row = _Row()

    def observe(self, step: StepFeatures, tells: bool, known: WordSet) -> Reading | None:
        """Take the next step in, given all words that the run had before it; `tells` if its call does nothing else."""
        reads_back = not tells and self._reads_back(step)
        if not (reads_back or self._stands_still(step, tells, known)):
            self._forget()
            self._remember(step)
            self._unheard += step.speaks_only and not step.observation
            return None
        text = _text(step, tells)
        words = split(text)
        numbers = number_set(words)
        told = (word_set(words) | numbers) & ~ABOUT_SAYING
        if hash(text) in self._row.texts:
            return None  # word for word, it is for another monitor to see
        if not reads_back:
            if size(told) < _FEWEST_WORDS or (
                tells and not step.speaks_only and lists(step) and not NAMES.search(text)
            ):
                return None  # to tick off is not to tell
            if not self._is_known(text, told, numbers, known):
                self._forget()
                return None
        self._row.take(step, text, told)
        over = self._row.counted - _FEWEST
        if over < 0:
            return None
        steps = self._row.steps
        reason = f"{self._row.length} steps in a row only tell what is known, and nothing was done or learnt meanwhile."
        evidence = Evidence(self._monitor, reason, list(steps), [self._row.quote, quote(text)])
        return Reading(_SCORES[min(over, len(_SCORES) - 1)], evidence)

    def _stands_still(self, step: StepFeatures, tells: bool, known: WordSet) -> bool:
        """Whether a step has no effect but that something is said, and nobody answers with anything new."""
        if step.speaks_only:
            if not step.observation.strip():
                return self._unheard < _UNHEARD and self._calls >= _FEWEST_CALLS and not _promises(step)
            return _tells_no_news(step, known) and states(step)
        return tells or ((self._is_made_again(step) or _glances(step, known)) and _tells_of_more(step))

    def _is_made_again(self, step: StepFeatures) -> bool:
        """Whether the same call had the same result before, but for how long it took, and nothing was changed since."""
        before = self._results.get(step.call)
        if before is None:
            return False
        return size(before[0] ^ step.result_words) + size(before[1] ^ step.result_numbers) <= _SHOWN

    def _remember(self, step: StepFeatures) -> None:
        if step.speaks_only:
            return
        self._calls += 1
        if step.role.may_change and not step.role.runs:
            self._results.clear()
        elif step.role.runs or step.role.looks:
            self._results[step.call] = step.result_words, step.result_numbers
            if len(self._results) > _MOST_RESULTS:
                del self._results[next(iter(self._results))]

    def _reads_back(self, step: StepFeatures) -> bool:
        """Whether a look shows what was written down in this row."""
        if not self._row.written or not step.role.looks or not step.result_words:
            return False
        return covered(step.result_words, self._row.written) >= _READ_BACK

    def _is_known(self, text: str, told: WordSet, numbers: WordSet, known: WordSet) -> bool:
        self._row.derived += size((numbers | _named(text)) & ~known)
        if self._row.derived > _WORKED_OUT or size(told & ~known) > _MOST_NEW * size(told):
            return False
        if not self._row.steps or self._row.awaited or announces(text):
            return True
        # Whoever reads out one thing after the other tells each of them for the first time.
        return size(told & self._row.told) >= (_IN_COMMON if self._row.answered else 1)

    def _forget(self) -> None:
        if self._row.steps or self._row.derived:
            self._unheard += self._row.unheard
            self._row = _Row()


def states(step: StepFeatures) -> bool:
    """Whether a person is told something, and neither asked nor bidden to do anything, nor put off."""
    if "?" in step.thought:
        return False
    text = lower(step.thought).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return not (_ASKS.are_in(text) or _REFUSES.are_in(text) or TAKES_LEAVE.are_in(text) or _promises(step))


def _promises(step: StepFeatures) -> bool:
    """Whether something is going to be done; whoever names this and that tells how things are, whatever comes next."""
    return promises(step) and len(NAMES.findall(step.thought)) <= _NAMED_IN_A_PROMISE


def _glances(step: StepFeatures, known: WordSet) -> bool:
    """Whether a call does no more than look, and shows nothing that was not known."""
    role = step.role
    if not role.looks or role.searches or role.changes or role.runs or role.waits:
        return False  # that a search finds nothing is news
    if step.failed or step.unfinished or step.result_size > _GLANCE:
        return False
    shown = step.result_words | step.result_numbers
    return size(shown & ~(known | step.given_words)) <= _SHOWN


def _tells_of_more(step: StepFeatures) -> bool:
    """Whether the thought beside a call tells of what that has nothing to do with."""
    if size(step.thought_words) < _FEWEST_BESIDE_A_LOOK:
        return False
    arguments = step.arguments.lower()
    return len([name for name in NAMES.findall(step.thought) if name.strip("`.,:").lower() not in arguments]) >= _BESIDE


def _tells_no_news(step: StepFeatures, known: WordSet) -> bool:
    if len(step.heard) > _LONGEST_ANSWER or step.result_numbers & ~known:
        return False
    if size(step.result_words & ~(known | ABOUT_TELLING | ABOUT_SAYING)) > _NO_NEWS:
        return False
    return not (_named(step.result_excerpt) & ~known or wants_more(step.observation, step.heard))


def _named(text: str) -> WordSet:
    """The words of the certain things that a text names."""
    return word_set(split(" ".join(NAMES.findall(text))))


def _text(step: StepFeatures, tells: bool) -> str:
    """What a step tells: its thought, and what it writes down where that is no list of tasks."""
    thought = step.thought[:_LONGEST]
    if not tells or step.speaks_only or lists(step):
        return thought
    return f"{thought}\n{_WRITTEN_TO.sub(' ', step.command[:_LONGEST])}"
