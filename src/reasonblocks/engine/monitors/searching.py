"""Whether two questions ask for the same, in whatever words."""

import re
from functools import lru_cache

from .doings import COMPARABLE, DENIES, Done
from .features import StepFeatures
from .words import WordSet, alike, covered, overlap, pieces, size, split

_REWORDED = 0.5
"""Of the words of the shorter search, where both found the same about what they have in common."""
_SAME_QUESTION = 0.6
"""Of all words of both, where the result is one that different questions may well have in common."""
_TELLS_MUCH = 20
"""Characters of a result that hardly comes up twice by chance."""
_REFUSAL = 120
"""Characters at the start of a result that say whether anything was found."""
_FINDS_NOTHING = DENIES | frozenset("sold sorry stock unavailable unfortunately".split())
_PERHAPS_KNOWN = 0.5
"""Of the words of a result, the echo of the question among them."""
_SAME_FINDS, _KNOWN_FINDS, _KNOWN_NUMBERS = 0.75, 0.85, 0.6
"""Of all words that two searches found, and of those and of the numbers of the later one, without any echo."""
_PLACE = re.compile(r"/|\d|\w\.[a-z]{1,5}$")
"""A path, a number or the name of a file."""


def searched_again(earlier: str, now: str, step: StepFeatures) -> bool:
    """Whether two searches with the same result are one."""
    (one, places), (other, other_places) = _question(earlier), _question(now)
    if places - other_places and other_places - places:
        return False  # somewhere else, or for another number
    if not _finds_something(step):
        return is_narrower(one, other)
    return overlap(one, other) >= _REWORDED and one & other & pieces(step.result_excerpt) != 0


def found_again(earlier: Done, now: Done, step: StepFeatures) -> bool:
    """Whether a search in other words found what the last one had found; what was asked for is often echoed."""
    if not (now.comparable and now.searches and now.tool == earlier.tool):
        return False
    if covered(now.result_words, earlier.result_words) < _PERHAPS_KNOWN or not _finds_something(step):
        return False
    (one, places), (other, other_places) = _question(earlier.said), _question(now.said)
    if not one & other or (places - other_places and other_places - places):
        return False
    before, found = earlier.result_words & ~(one | other), now.result_words & ~(one | other)
    if size(found) < COMPARABLE or covered(now.result_numbers, earlier.result_numbers) < _KNOWN_NUMBERS:
        return False
    return alike(before, found) >= _SAME_FINDS or covered(found, before) >= _KNOWN_FINDS


def asks_alike(earlier: str, now: str, exactly: bool = False) -> bool:
    """Whether two calls are about the same places in much the same words; `exactly`, in nothing but other words."""
    (one, places), (other, other_places) = _question(earlier), _question(now)
    if exactly:
        return places == other_places and alike(one, other) >= _SAME_QUESTION
    if places - other_places and other_places - places:
        return False
    return overlap(one, other) >= _REWORDED


@lru_cache(maxsize=512)
def _question(asked: str) -> tuple[WordSet, frozenset[str]]:
    """The words of a search with its names taken apart, and the paths and numbers in it."""
    words: list[str] = []
    places: set[str] = set()
    for token in asked.split():
        (places.add if _PLACE.search(token) else words.append)(token)
    return pieces(" ".join(words)), frozenset(places)


def is_narrower(earlier: WordSet, now: WordSet) -> bool:
    """Whether one question asks for what the other asks for, and for more."""
    # A word in place of another one asks for another thing: the blue shirt is out of stock like the red one.
    return earlier & now in (earlier, now) and alike(earlier, now) >= _SAME_QUESTION


def _finds_something(step: StepFeatures) -> bool:
    if step.failed or step.result_size < _TELLS_MUCH:
        return False
    return _FINDS_NOTHING.isdisjoint(split(step.result_excerpt[:_REFUSAL]))
