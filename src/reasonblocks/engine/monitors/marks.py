"""What a sentence may be and what it is about, told from its words: each is looked up once, for all who ask.

A word is known as one integer: a mark for every class of words that anybody asks about, and above all marks the bit of
its idea. The integers of the words of a sentence, put together, say what is in it and what cannot be, so
that most questions about most sentences are answered before any of them is read.
"""

import re
from collections.abc import Iterable

from .appeals import APPEALING
from .claim_words import ATTRIBUTES, CONDITIONS, GUESSES, HOW_MANY, NOT_A_CLAIM, RANKS, STATES, UNIQUE
from .clause_values import WORDS_BY_KIND
from .lexicon import PerWord, token_bit, united, word_bits
from .opposites import DENIES, EXCLUSIVE, SAME
from .position_phrases import DENIED_MATTERS, MATTER_BITS, MATTERS
from .signed_words import LINES, NEGATES, PROOF, THERE, says_opposite
from .stance_words import ANSWERS, ASKED, DENYING, QUESTION_BITS, VALUED
from .turns import TURNING
from .words import WordSet

TURNS, VALUE, ONLY, VERB, NO_CLAIM, DIGIT, CONDITION, GUESS, OPPOSES, ANSWER, STATE, SPEAKER, APPEALS = (
    1 << place for place in range(13)
)
COUNTERS, NAMELESS, CHANGE, SIDED = 1 << 13, 1 << 14, 1 << 15, 1 << 16
"""A word that turns a sentence round, gives a value, tells of the only one, is a verb, makes it no claim, has a digit;
one of a condition or a guess; one that opposes, or gives an answer, or a state; who speaks; one of an appeal to
what was said before; one that says the opposite of another, or tells without a name what is spoken of; one that tells
of a change; one that takes a side on some matter."""
_KINDS_FROM = 17
"""From here on a mark for each kind of value that a word may give."""
KINDS = ((1 << len(WORDS_BY_KIND)) - 1) << _KINDS_FROM
_NUMBER = 1 << _KINDS_FROM
_ASKED_FROM = _KINDS_FROM + len(WORDS_BY_KIND)
"""From here on a mark for each question that a word may answer."""
_QUESTIONS = 2 * max(QUESTION_BITS.values()) - 1
_MATTERS_FROM = _ASKED_FROM + _QUESTIONS.bit_length()
"""From here on the matters on which a word may take a side, and those on which it may next to a negation."""
_DENIED_FROM = _MATTERS_FROM + MATTER_BITS
_IDEAS_FROM = _DENIED_FROM + MATTER_BITS
_MARKS = (1 << _MATTERS_FROM) - 1
_MATTERS = (1 << MATTER_BITS) - 1
SPEAKERS = frozenset("i s we".split())

_VALUES = EXCLUSIVE.keys() | HOW_MANY.keys() | ATTRIBUTES | {"after", "before", "than"}
_ONLY = UNIQUE | {"arrive", "arrives", "belongs", "default", "departs", "located", "matters", "owned", "owner"}
_TURNING = re.compile(r"un(?!der|til|i)|non|dis|mis|(?:in|im|ir|il)\w+[ai]ble")
_FIRST_OF_TURNING = "undmi"
_SHORTEST_TURNING = 7
_SHORTEST_NAME = 3
_PERSON = word_bits["person"]
_CLASSES = (
    (_VALUES, VALUE),
    (_ONLY, ONLY),
    (NOT_A_CLAIM, NO_CLAIM),
    (CONDITIONS, NO_CLAIM | CONDITION),
    (GUESSES, GUESS),
    (DENYING, OPPOSES),
    (ANSWERS, ANSWER),
    (VALUED, STATE),
    (SPEAKERS, SPEAKER),
    (APPEALING, APPEALS),
    (NEGATES, COUNTERS),
    (RANKS | set(LINES[PROOF]) | THERE, NAMELESS),
    (TURNING, CHANGE),
    (MATTERS.keys() | DENIED_MATTERS.keys(), SIDED),
    *((words, _NUMBER << place) for place, words in enumerate(WORDS_BY_KIND)),
)


_MARKS_OF: dict[str, int] = {}
"""By word, the marks of all classes that it is in."""
for _words, _mark in _CLASSES:
    for _word in _words:
        _MARKS_OF[_word] = _MARKS_OF.get(_word, 0) | _mark


def read_marks(words: Iterable[str]) -> tuple[WordSet, int]:
    """The ideas of some words, and their marks."""
    together = united(words, _known)
    return together >> _IDEAS_FROM, together & _MARKS


def read_matters(words: Iterable[str]) -> tuple[WordSet, int, int, int]:
    """The same, the matters on which they may take a side, and those on which they may next to a negation."""
    together = united(words, _known)
    return (
        together >> _IDEAS_FROM,
        together & _MARKS,
        together >> _MATTERS_FROM & _MATTERS,
        together >> _DENIED_FROM & _MATTERS,
    )


def questions(marks: int) -> int:
    """The questions that words with these marks may answer, a bit for each."""
    return marks >> _ASKED_FROM


def _read(word: str) -> int:
    """The marks that a word gives its sentence, and above all of those the bit of its idea."""
    sided = MATTERS.get(word, 0) << _MATTERS_FROM | DENIED_MATTERS.get(word, 0) << _DENIED_FROM
    if word.isdigit():  # of a long number it can be told what it names
        named = token_bit(word) if len(word) >= _SHORTEST_NAME else 0
        return named << _IDEAS_FROM | sided | VALUE | DIGIT | _NUMBER | NAMELESS
    marks = (ASKED.get(word, 0) & _QUESTIONS) << _ASKED_FROM | _MARKS_OF.get(word, 0)
    if not word.isalpha():
        marks |= VALUE | DIGIT | _NUMBER | NAMELESS if any(map(str.isdigit, word)) else VALUE
    if word in DENIES or (len(word) >= _SHORTEST_TURNING and word[0] in _FIRST_OF_TURNING and _TURNING.match(word)):
        marks |= TURNS
    if says_opposite(word):
        marks |= COUNTERS
    if word in STATES or word.endswith(("ed", "s")):
        marks |= VERB
    idea = word_bits[EXCLUSIVE.get(word) or SAME.get(word, word)]
    if word in RANKS:  # whoever has a rank is not named with it
        idea |= _PERSON
    return idea << _IDEAS_FROM | sided | marks


_known = PerWord(_read)
