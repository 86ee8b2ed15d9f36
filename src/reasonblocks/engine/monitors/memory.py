"""A memory of words that neither fills up nor grows.

A set of words has so many bits. Once too many are set, every text would look familiar; so what is old goes, not at once
but a generation at a time.
"""

from .words import WordSet, size

_FULL = 400
"""Words of a generation."""


class Remembered:
    """The words of the last one or two generations."""

    __slots__ = ("_before", "_now", "words")

    def __init__(self) -> None:
        self._before: WordSet = 0
        self._now: WordSet = 0
        self.words: WordSet = 0
        """All that is remembered."""

    def add(self, words: WordSet) -> None:
        """Take in more words, and forget the oldest generation if the newest is full."""
        self._now |= words
        if size(self._now) > _FULL:
            self._before, self._now = self._now, 0
        self.words = self._before | self._now
