"""What a thought claims: sentences that state a fact, with the words they are about and whether they deny it."""

import msgspec

from .words import WordSet, size, word_set

_LONGEST = 40
"""Words of a sentence; in longer ones a single word of denial says little about the rest."""
_FEWEST_WORDS = 3
_LONGEST_TEXT = 160
_STATES = frozenset(
    "accepts allows are calls contains cover covers defines does do exist exists fail fails failed handles had has "
    "have holds includes is lacks matches means needs pass passed passes raises remains requires returns shows "
    "supports uses was were work works".split()
)
_NOT_A_CLAIM = frozenset(
    "assume can could expect guess hope if let maybe may might perhaps plan please probably seems should suggests "
    "suppose think unless whether will would".split()
)
_OPPOSITES = {
    "absent": "exists",
    "missing": "exists",
    "broken": "works",
    "fail": "pass",
    "failed": "pass",
    "failing": "pass",
    "fails": "pass",
    "disabled": "enabled",
    "impossible": "possible",
    "incorrect": "correct",
    "wrong": "correct",
    "invalid": "valid",
    "unavailable": "available",
    "unsupported": "supported",
    "lack": "has",
    "lacks": "has",
}
"""Words that deny, as what they deny: `is missing` is `not exists`."""
_DENIES = frozenset("aren cannot didn doesn don hasn haven isn never no not wasn weren without".split()) | set(
    _OPPOSITES
)
_SAME = _OPPOSITES | {"passed": "pass", "passing": "pass", "passes": "pass"}


class Claim(msgspec.Struct, frozen=True, gc=False):
    """One stated fact."""

    words: WordSet
    """What it is about, without the words that deny."""
    denied: bool
    text: str
    """As it was said, or the beginning of it."""


def claim_of(sentence: str, words: list[str], about: WordSet) -> Claim | None:
    """What a sentence claims, given its words and their set; `None` for plans, questions, guesses and fragments."""
    if not _FEWEST_WORDS < len(words) <= _LONGEST:
        return None
    distinct = set(words)
    if distinct.isdisjoint(_STATES) or not distinct.isdisjoint(_NOT_A_CLAIM) or sentence.endswith(("?", ":")):
        return None
    denials = 0 if distinct.isdisjoint(_DENIES) else sum([word in _DENIES for word in words])
    if not distinct.isdisjoint(_SAME):
        about = word_set([_SAME.get(word, word) for word in words])
    if size(about) < _FEWEST_WORDS:
        return None
    return Claim(about, denials % 2 == 1, sentence[:_LONGEST_TEXT])
