"""What a person tells in a reply, apart from what they ask for.

A reply excuses another claim only if it brings news. A wish, a question, a word of thanks or of understanding takes up
the words of the agent, and tells nothing of the matter.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from .quick import any_case
from .words import WordSet, split, word_set

_LONGEST = 4_000
_CLAUSES = re.compile(r"(?<=[.!?;\n])\s+|\n+|,? (?=but |so )|, (?=and )")
_FILLS = r"(?:also |do |honestly |just |kindly |only |rather |really |still |would |'d )*"
_ASKS = any_case(
    r"please|(?:can|could|will|would) (?:i|we|you)|is there|are there|any (?:chance|way)|(?:how|what) about"
    r"|tell me|help me|let['\u2019]?s|go ahead|i['\u2019]d (?:like|love|rather|prefer)"
    rf"|i {_FILLS}(?:ask|demand|expect|hope|insist|like|love|must insist|need|prefer|want|wish)"
    r"|i (?:do not|don['\u2019]t) (?:want|need|wish|like)|i(?:['\u2019]m| am| was) (?:really )?(?:hoping|looking)"
    r"|i(?:['\u2019]ll| will)|let me|looking for(?:ward)?|thank you|thanks|appreciate"
)
_NODS = re.compile(
    r"\W*(?:but |so |and )?(?:(?:ok|okay|oh|ah|well|alright|all right|got it|great|perfect|sure|fine|hmm"
    r"|sounds good|that sounds \w+|wonderful|good|i see|bye)\b\W*)*(?:i (?:completely |do |fully |totally )?"
    r"(?:get it|understand)\b.*|this is (?:really |so |very )?\w+ing|)\W*",
    re.IGNORECASE | re.DOTALL,
)


class Told(NamedTuple):
    """What a reply tells."""

    words: WordSet
    """The stems of what is told; none if all of it is wishes."""
    is_short: bool
    """Whether something is told in so few words that what it is about is left to the question before it."""


_SHORT = 7
_DEEDS = any_case(r"i(?:['\u2019]ve| have| did| just)|done|now|tried|checked|restarted|it (?:did|does|is|was|works)")
"""Whoever reports what they did or see now may have changed anything."""


@lru_cache(maxsize=256)
def told_in(reply: str) -> Told:
    """What a reply tells."""
    clauses = [clause for clause in _CLAUSES.split(reply[:_LONGEST]) if clause and _tells(clause)]
    words = [split(clause) for clause in clauses]
    short = any(len(some) < _SHORT or _DEEDS.are_in(clause) for clause, some in zip(clauses, words, strict=True))
    return Told(word_set([word for some in words for word in some]), short)


def _tells(clause: str) -> bool:
    if clause.rstrip()[-1:] == "?" or clause.strip().startswith("###"):
        return False
    return _NODS.fullmatch(clause) is None and not _ASKS.are_in(clause)
