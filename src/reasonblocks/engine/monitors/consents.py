"""Somebody who has agreed is asked to agree again, and again.

To ask twice may be caution: first whether, then with all the figures. Whoever asks a third time, with nothing done in
between and nothing in the question that was not known, does not get on with it. Questions that are merely answered by
a yes are another thing: what is green, plugged in or switched on has to be asked one after the other.
"""

import re
from collections import deque
from functools import reduce
from itertools import chain
from operator import or_

from ..answers import Evidence
from .base import Reading
from .features import StepFeatures, quote
from .words import WordSet, covered, phrases, size, split, word_set

_MONITOR = "semantic_loop"
_FEWEST = 3
"""So many questions are too many."""
_SCORES = (0.75, 0.85, 0.92)
_MOST_KEPT = 8
_RECENT = 24
"""Steps of which it is known what was said and read."""
_MOST_ASKED = 24
"""Words of a question that is no more than one."""
_LONGEST_ANSWER = 120
_MOST_TOLD = 2
"""Words of an answer, besides those of agreement, that may tell something after all."""
_MOST_NEW = 2
"""Words of a question that had not been said or read, besides those that anybody asks for consent with."""
_SAME = 0.6
"""Of what a question is about, that the ones before it were about."""
_CONSENT = phrases(
    "agree, agreed, agreement, all right, alright, approv*, authori*, certain, comfortable, confirm*, consent",
    "go ahead, go-ahead, good to go, green light, happy for, happy with, like me to, may i, okay, ok, permission",
    "permit, proceed, ready, right, shall i, shall we, should i, should we, should the, should this, sure",
    "want me to, want this, want that, want it, would you like, do you want, you do want, you want",
    "your blessing, your word, your yes",
)
_WISHES = re.compile(
    r"\b(?:i(?:'d| would)? (?:like|need|require|still need|want)|kindly|please|let me know|tell me)\b", re.IGNORECASE
)
"""With which consent is asked for without a question."""
_AGREES = re.compile(
    r"\W*(?:(?:mm+|mhm|uh|um|well|oh|i|i've|again|already|as (?:i )?(?:said|before)|have|just|still|said)\W+)*"
    r"(?:absolutely|affirmative|agree|agreed|all right|alright|approved|by all means|certainly|confirm|confirmed"
    r"|correct|definitely|did|do|do it|do that|exactly|fine|go ahead|go for it|go on|granted|indeed"
    r"|no (?:objections?|problem)|of course|ok|okay|please|proceed|right|said (?:so|yes)"
    r"|sounds (?:fine|good|great|right)|sure"
    r"|(?:it|that)(?:'s| is|s)? (?:right|correct|fine|good|okay|ok|works?|does)|works for me|yeah|yep|yes|yup"
    r"|you (?:can|may|have my (?:consent|ok|okay|permission|word|yes)))\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:but|cannot|instead|never|no|not)\b|n['\u2019]t\b", re.IGNORECASE)
WORDS_SAYS_YES = (
    "absolutely affirmative again agree agreed ahead already alright applied apply approve approved asked before "
    "certain certainly change changed confirm confirmed consent correct definitely exactly fine goes going good "
    "granted great indeed just okay perfect please proceed really right said same sounds still sure thank thanks "
    "that told want wanted yeah yep yes yup".split()
)
SAYS_YES = word_set(WORDS_SAYS_YES)
"""Of which a yes is made, in whatever length."""
WORDS_ASKS_FOR_IT = (
    "absolutely act action agree agreed agreement ahead alright applied apply approval approve authorise "
    "authorization authorize before begin bless blessing carried carry certain change comfortable complete "
    "confirm confirmation consent continue correct done double explicit explicitly final finalise finalize formal "
    "go good happy indeed just know last made make misunderstanding moment move moving need noted now official "
    "okay order perfect perform permission please press proceed process quick quickly ready really reassure "
    "record request right safe sake say start started step submit sure thank thanks think through understand "
    "understood update verify want whole wish word yes".split()
)
ASKS_FOR_IT = word_set(WORDS_ASKS_FOR_IT)
"""Of which a question for consent is made, whatever it is about."""


class Consents:
    """The questions for consent in a row, each of which was answered by a yes."""

    __slots__ = ("_about", "_numbers", "_recent", "_row")

    def __init__(self) -> None:
        self._row: list[tuple[int, str]] = []
        self._about: WordSet = 0
        """What these questions are about..."""
        self._numbers: WordSet = 0
        """...and the numbers and ids of it."""
        self._recent: deque[tuple[WordSet, ...]] = deque(maxlen=_RECENT)
        """What was said and read; put together only where it is asked for, for that is seldom."""

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if it is one question too many."""
        if _is_given(step):
            about, numbers = step.thought_words & ~ASKS_FOR_IT, step.thought_numbers
            if not self._is_of_the_same(about, numbers):
                self._forget()
            self._about |= about
            self._numbers |= numbers
            self._row = [*self._row[-_MOST_KEPT:], (step.index, step.thought)]
        elif self._row:
            self._forget()
        self._recent.append(
            (step.thought_words, step.thought_numbers, step.call_words, step.result_words, step.result_numbers)
        )
        return self._found() if len(self._row) >= _FEWEST else None

    def _forget(self) -> None:
        self._row, self._about, self._numbers = [], 0, 0

    def _is_of_the_same(self, about: WordSet, numbers: WordSet) -> bool:
        """Whether a question may be about what the others in the row are about: each puts it in other words."""
        known = reduce(or_, chain.from_iterable(self._recent), 0)
        if numbers & ~(self._numbers or known) or size(about & ~known) > _MOST_NEW:
            return False
        # Another thing that is known is another thing; a word that nobody has used yet is one more for the same.
        other = about & known & ~self._about
        return not self._about or not other or covered(about, self._about) >= _SAME

    def _found(self) -> Reading:
        reason = f"{len(self._row)} questions in a row ask for consent that was given each time, and nothing was done."
        quotes = [quote(self._row[0][1]), quote(self._row[-1][1])]
        score = _SCORES[min(len(self._row) - _FEWEST, len(_SCORES) - 1)]
        return Reading(score, Evidence(_MONITOR, reason, [index for index, _ in self._row], quotes))


def _is_given(step: StepFeatures) -> bool:
    """Whether a step asks for consent, no more, and gets it."""
    if not step.speaks_only or not 0 < step.result_size <= _LONGEST_ANSWER:
        return False
    if size(step.thought_words) > _MOST_ASKED or not ("?" in step.thought or _WISHES.search(step.thought)):
        return False
    answer = step.result_excerpt.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if "?" in answer or not _AGREES.match(answer) or _DENIES.search(answer) or _CONSENT.search(step.thought) is None:
        return False
    told = word_set(split(answer)) & ~(SAYS_YES | step.thought_words)
    return size(told) <= _MOST_TOLD
