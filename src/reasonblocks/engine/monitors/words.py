"""Texts as sets of word stems, small and quick to compare.

A set of words is one integer with a bit for each stem (`WordSet`). Two stems may share a bit; that is rare, and it only
ever makes two texts look a little more alike.
"""

import re
from collections.abc import Iterable
from itertools import filterfalse

from .lexicon import token_bits, united, word_bits
from .quick import AnyCase, phrase_patterns

WordSet = int
"""Stems, one bit each; 0 is the empty set."""
Sentence = tuple[str, list[str]]
"""As it is written, and its words."""

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d[\d.,:]*")
_PARTS_NO_WORDS = re.compile(r"[^\W_]|\n")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_ASCII = bytes(range(128))
_ASCII_BLANKS = bytes(code if _PARTS_NO_WORDS.match(chr(code)) else 32 for code in range(256))
"""Whatever parts words but the line break, as a table over bytes: many times as fast as matching."""
_ASCII_WORDS = _ASCII_BLANKS.lower()
"""The same, with small letters for capitals."""
_ASCII_NUMBERS = bytes(48 if 48 <= code <= 57 else 46 if chr(code) in ".,:" else 32 for code in range(256))
"""The same for numbers: all digits are 0, and what may stand between them is a point."""


def split(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    if text.isascii():
        return text.encode().translate(_ASCII_WORDS).decode().split()
    lowered = text.lower()
    return _blanked(lowered).split() if _is_plain(lowered) else _words_in(lowered)


def _words_in(lowered: str) -> list[str]:
    """The words of a text in small letters, of whatever script."""
    words: list[str] = _WORD.findall(lowered.replace("_", " "))
    return words


def split_sentences(text: str) -> list[Sentence]:
    """The sentences of a text, each with its words."""
    lines = text.replace(". ", ".\n").replace("? ", "?\n").replace("! ", "!\n")
    if lines.isascii():
        blanked = lines.encode().translate(_ASCII_WORDS).decode()
        return list(zip(lines.split("\n"), map(str.split, blanked.split("\n")), strict=True))
    lowered = lines.lower()
    read = zip(lines.split("\n"), map(str.split, _blanked(lowered).split("\n")), strict=True)
    if _is_plain(lowered):
        return list(read)
    # Where some letters are foreign ones, most sentences have none of them.
    return [
        (sentence, words if _is_plain(line) else _words_in(line))
        for (sentence, words), line in zip(read, lowered.split("\n"), strict=True)
    ]


def count_numbers(text: str) -> int:
    """How many numbers a text has; one may have points, commas and colons within."""
    if not _is_plain(text):
        return len(_NUMBER.findall(text))
    return len([run for run in text.encode("ascii", "replace").translate(_ASCII_NUMBERS).split() if b"0" in run])


def is_small(text: str) -> bool:
    """Whether a sentence has no capital letter but that of its first word, `I` aside: then its words name nothing."""
    return text.isascii() and text[1:].replace(" I ", " ").islower()


def _is_plain(text: str) -> bool:
    """Whether all its letters and digits are ASCII; signs of other kinds only ever part words."""
    if text.isascii():
        return True
    foreign = text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
    return not any(map(str.isalnum, foreign))


def _blanked(text: str) -> str:
    """Plain text with a blank for whatever parts words, but for line breaks."""
    return text.encode("ascii", "replace").translate(_ASCII_BLANKS).decode()


def word_set(words: Iterable[str]) -> WordSet:
    """The stems of those words that say something."""
    return united(words, word_bits)


def number_set(words: Iterable[str]) -> WordSet:
    """Those of these words that name a certain thing: numbers and ids, but for the digits of a list."""
    return token_set([word for word in filterfalse(str.isalpha, words) if len(word) > 1])


def token_set(words: Iterable[str]) -> WordSet:
    """All of these words as they are written, the short and the common ones too."""
    return united(words, token_bits)


def pieces(text: str) -> WordSet:
    """The stems of a text whose names are taken apart: `read_header` like `ReadHeader`."""
    return word_set([piece.lower() for piece in _PIECE.findall(text)])


def phrases(*lists: str) -> re.Pattern[str]:
    """A pattern for any of the phrases in these lists, which commas part; `*` stands for the rest of a word."""
    return re.compile(rf"\b(?:{'|'.join(phrase_patterns(*lists))})\b", re.IGNORECASE)


class Phrases:
    """Phrases that are looked for in most texts and found in few."""

    __slots__ = ("_beginnings", "_pattern", "_words")

    def __init__(self, *lists: str) -> None:
        self._pattern = AnyCase(phrase_patterns(*lists))
        telling = [max(split(phrase), key=len) + "*" * ("*" in phrase) for line in lists for phrase in line.split(",")]
        self._words = frozenset(word for word in telling if not word.endswith("*"))
        self._beginnings = tuple(word.rstrip("*") for word in telling if word.endswith("*"))
        """Without one of these words, or a word that begins so, there is none of the phrases."""

    def are_in(self, text: str, words: Iterable[str]) -> bool:
        """Whether one of them is in a text, given its words."""
        return self.may_be_in(text, words) and self.found_in(text)

    def may_be_in(self, text: str, words: Iterable[str]) -> bool:
        """Whether it is not out of the question; quickly said of most texts that it is."""
        if not text.isascii() or not self._words.isdisjoint(words):
            return True
        # Without any of the words it can only be one of the few that end in any way.
        return any(map(text.lower().__contains__, self._beginnings)) if self._beginnings else False

    def found_in(self, text: str) -> bool:
        """Whether one of them is in a text."""
        return self._pattern.are_in(text)


def size(words: WordSet) -> int:
    """How many stems a set holds."""
    return words.bit_count()


def alike(one: WordSet, other: WordSet) -> float:
    """The share of common stems among all of both (Jaccard); 0 where one of them is empty."""
    common = (one & other).bit_count()
    return common / (one | other).bit_count() if common else 0.0


def overlap(one: WordSet, other: WordSet) -> float:
    """The share of common stems in the smaller one of both."""
    common = (one & other).bit_count()
    return common / min(one.bit_count(), other.bit_count()) if common else 0.0


def covered(words: WordSet, by: WordSet) -> float:
    """The share of `words` that `by` holds as well; 1 for no words at all."""
    return (words & by).bit_count() / words.bit_count() if words else 1.0
