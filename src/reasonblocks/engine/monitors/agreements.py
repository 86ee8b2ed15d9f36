"""What somebody answers who agrees to something, or asks for it in so many words."""

import re

from .words import phrases

_GOES_AHEAD = phrases(
    "agree, confirm, confirmed, do it, do that, fine, go ahead, okay, please, proceed, sounds good, sounds great",
    "sure, that works, yeah, yep, yes",
)
_ASKS_FOR_IT = phrases(
    "go ahead, please add, please apply, please book, please cancel, please change, please do, please exchange",
    "please make, please modify, please move, please proceed, please process, please refund, please remove",
    "please replace, please return, please switch, please update, please upgrade, proceed with",
)
_AGREES = phrases("agreed, confirm, confirmed, correct, do it, do that, go ahead, proceed, yeah, yep, yes")
_SAYS_YES = re.compile(
    r"\W*(?:(?:ah|great|hmm+|mm+|oh|okay|ok|perfect|thank you|thanks|well|wonderful)\W+)*(?:absolutely|agreed"
    r"|alright|all right"
    r"|by all means|certainly|confirmed|correct|definitely|do it|do that|fine|go ahead|go for it|i agree|i confirm|i do"
    r"|of course|ok|okay|please (?:do|go ahead|proceed)|proceed|sounds (?:good|great|fine|perfect)|sure"
    r"|that (?:sounds|works|would be)"
    r"|yeah|yep|yes|yup)\b",
    re.IGNORECASE,
)
_LONGEST_YES = 160
_BEGINNING = 400
_LAST_SENTENCE = re.compile(r"(?:^|(?<=[.!\n]))[^.!\n]*$")


def goes_ahead(said: str) -> bool:
    """Whether an answer may mean that it is to be done."""
    return _GOES_AHEAD.search(said, 0, _BEGINNING) is not None


def agrees(said: str) -> bool:
    """Whether an answer agrees before it asks anything."""
    told, mark, _ = said[:_BEGINNING].partition("?")
    if mark:
        told = _LAST_SENTENCE.sub("", told)
    return _AGREES.search(told) is not None and not (mark and "n't" in told)


def says_yes(said: str) -> bool:
    """Whether an answer is a yes, and hardly more."""
    return len(said) <= _LONGEST_YES and "?" not in said and _SAYS_YES.match(said) is not None


def asks_for_it(said: str) -> bool:
    """Whether an answer asks for something in so many words."""
    return _ASKS_FOR_IT.search(said, 0, _BEGINNING) is not None
