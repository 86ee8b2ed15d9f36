"""What a thought claims: sentences that state a fact, with the words they are about and whether they deny it."""

import re

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
    "another assume before can could ensure ensures ensuring expect few going guess hope if let many may maybe might "
    "most must often once one perhaps plan please probably seems several should some sometimes suggests suppose think "
    "unless until usually want wants when whether will would".split()
)
"""Plans, conditions and guesses, and what is said of some things only."""
_POINTS_BACK = frozenset("he here it she that there these they this those to".split())
"""A sentence that begins so is about whatever was at hand, or is a plan."""
_ANY_ONE = frozenset(
    "account article class customer document entry file function item method order output page product record response "
    "result row site test ticket user website".split()
)
"""`The order is ...` is about another order after every lookup."""
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
_SAME = dict.fromkeys(_DENIES, "") | _OPPOSITES | {"passed": "pass", "passing": "pass", "passes": "pass"}
_SAME |= dict.fromkeys("clearly definitely evidently indeed really".split(), "")
_TELLS_APART = frozenset(
    "all any both current each eight every fifth first five former four fourth last latter left next nine old only "
    "other previous remaining rest right same second seven six ten third three two".split()
)
_TELLS_NOTHING = frozenset(
    "a am an as at be by d do go he hi i if in is it ll m me my no of on or re s so t to up us ve we".split()
)
_LETTER = re.compile(r"(?<=[^\w'])A\b")
"""As in `option A`; an article at the start of a sentence is none."""
_SHORTEST_NAME = 3


class Claim(msgspec.Struct, frozen=True, gc=False):
    """One stated fact."""

    words: WordSet
    """What it is about, without the words that deny."""
    names: str
    """What tells its subject from others of the kind: numbers, ids, letters, ordinals."""
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
    if words[0] in _POINTS_BACK or (words[0] == "the" and words[1] in _ANY_ONE and words[2] in _STATES):
        return None
    denials = 0 if distinct.isdisjoint(_DENIES) else sum([word in _DENIES for word in words])
    if not distinct.isdisjoint(_SAME):
        about = word_set([_SAME.get(word, word) for word in words])
    if size(about) < _FEWEST_WORDS:
        return None
    return Claim(about, _names(sentence, distinct), denials % 2 == 1, sentence[:_LONGEST_TEXT])


def exclude_each_other(one: Claim, other: Claim) -> bool:
    """Whether one claim denies what the other states of exactly the same thing: any word more may tell them apart."""
    return one.denied != other.denied and one.words == other.words and one.names == other.names


def _names(sentence: str, distinct: set[str]) -> str:
    names = [word for word in distinct if word in _TELLS_APART or _is_name(word)]
    if _LETTER.search(sentence):
        names.append("a")
    return " ".join(sorted(names))[:_LONGEST_TEXT]


def _is_name(word: str) -> bool:
    return (len(word) < _SHORTEST_NAME and word not in _TELLS_NOTHING) or not word.isalpha()
