"""Where clauses end: at certain signs, and at words that join them.

One pattern for all of them would say the same. But it would be tried at every letter, for clauses are parted by blanks
too, and joined by words of any first letter; so signs and words are looked for one after the other, and only those that
are there.
"""

import re
from collections.abc import Iterable

_SIGNS = r"[;:,]\s|\s[-\u2013\u2014]\s|\s\(|(?<!\()\)|\u2014"
_FEW_SIGNS = re.compile(r"[;:,]\s")
_ALL_SIGNS = re.compile(r"[;:,\s)](?:(?<=[;:,])\s|(?<=\s)(?:-\s|\()|(?<=\))(?<!\(\)))")
"""All that may part a text in ASCII, as a pattern that begins with one of a few signs."""
_DOTS = re.compile(r"\.{3}")


class Parting:
    """Parts a sentence at signs, and at words that are given, whatever letters they are in.

    `any_case=False` leaves alone those with a capital letter that is not the first.
    """

    __slots__ = ("_dots", "_joined", "_joins", "_parted", "_patterns")

    def __init__(self, joins: Iterable[str], *, any_case: bool = True, dots: bool = False) -> None:
        words = sorted(joins)
        signs = rf"{_SIGNS}|\.{{3}}" if dots else _SIGNS
        written = words if any_case else [*words, *map(str.title, words)]
        self._dots = dots
        self._parted = re.compile(signs)
        self._joined = re.compile(rf"{signs}|\b(?:{'|'.join(written)})\b", re.IGNORECASE if any_case else 0)
        self._joins = frozenset(words)
        letters = {word: _both(word) if any_case else _both(word[0]) + word[1:] for word in words}
        self._patterns = {word: re.compile(rf"{either}(?<!\w{either})\b") for word, either in letters.items()}

    def parts(self, sentence: str, words: Iterable[str], *, joined: bool = False) -> list[str]:
        """The parts of a sentence, given its words; `joined` if one of the words may be there in other letters."""
        joins = self._joins.intersection(words)
        if not sentence.isascii():
            return (self._joined if joins or joined else self._parted).split(sentence)
        parts = self._at_signs(sentence)
        for join in joins:
            split = self._patterns[join].split
            parts = [piece for part in parts for piece in split(part)]
        return parts

    def _at_signs(self, sentence: str) -> list[str]:
        if "-" in sentence or "(" in sentence or ")" in sentence:
            parts = _ALL_SIGNS.split(sentence)
        else:
            parts = _FEW_SIGNS.split(sentence)
        if self._dots and "..." in sentence:
            return [piece for part in parts for piece in _DOTS.split(part)]
        return parts


def _both(letters: str) -> str:
    """A pattern for these letters, small or capital; one that begins with one of two is found many times as fast."""
    return "".join([f"[{letter}{letter.upper()}]" for letter in letters])
