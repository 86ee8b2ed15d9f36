"""The words a run has used, and whether it keeps to them.

A run that brings new words with every step has no vocabulary to leave: a trip with flights, a room and a dinner, a list
that is filled in item by item, or a language whose words are seldom written twice the same way.
"""

from .words import WordSet, covered, size

_FEWEST_WORDS = 5
_KEPT = 0.5
"""At this share of known words a step keeps to the vocabulary."""
_FEWEST_STEPS = 6
_MOSTLY = 0.75


class Vocabulary:
    """What a run has been about so far."""

    __slots__ = ("_judged", "_kept", "known")

    def __init__(self) -> None:
        self.known: WordSet = 0
        self._judged = 0
        self._kept = 0

    @property
    def settled(self) -> bool:
        """Whether the run has shown that it keeps to its words, so that leaving them means something."""
        return self._kept >= _FEWEST_STEPS and self._kept >= _MOSTLY * self._judged

    def share_known(self, words: WordSet) -> float:
        """The share of these words that the run had used."""
        return covered(words, self.known)

    def take_in(self, words: WordSet, brought: WordSet) -> None:
        """A step was about `words`, and its result brought more of them."""
        if self.known and size(words) >= _FEWEST_WORDS:
            self._judged += 1
            self._kept += covered(words, self.known) >= _KEPT
        self.known |= words | brought
