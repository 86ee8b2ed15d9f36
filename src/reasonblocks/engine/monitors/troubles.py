"""Whether a text owns that something went wrong with what was just tried, rather than speaking of errors in general.

`TypeError is still caught` is about a program, `it failed before the fix` about what was: neither says that the last
trial came to nothing.
"""

import re
from functools import lru_cache
from itertools import islice

from .quick import parted, quick
from .waivers import plain

_MOST_MATCHES = 32
_BEFORE, _AFTER = 60, 40
_LONGEST = 4_000

_WENT_WRONG = re.compile(
    r"(?<![\w`'\"./])(?:abort(?:ed|s)?|broken?|breaks|crash(?:es|ed|ing)?|died|errors?|errored|exceptions?"
    r"|fail(?:s|ed|ing|ures?)?|hangs?|hung|killed|mismatch\w*|refused|rejected|stuck|time[ds] out|timeouts?"
    r"|timing out|tracebacks?|warnings?)(?![\w(]|\.\w)"
)
_IN_WENT_WRONG = (
    "abort", "brok", "break", "crash", "died", "error", "except", "fail", "hang", "hung", "kill", "mismatch", "refus",
    "reject", "stuck", "time", "timing", "traceback", "warning",
)  # fmt: skip
"""A word of failure that is not part of a name."""
_IS_GONE = re.compile(
    r"\b(?:no|without|zero|0|free of|any|fix\w*|resolv\w*|address\w*|handl\w*|prevent\w*|avoid\w*|eliminat\w*"
    r"|correct\w*|rais\w*|throw\w*|remov\w*|solv\w*|reproduc\w*|repair\w*|proper|never|not|n't)\b[^.;\n]{0,50}$"
)
"""In front of it: there is none, or the work was about it."""
_WAS_BEFORE = re.compile(
    r"\W{0,3}(?:(?:\w+\W{1,2}){0,3}?(?:before|earlier|initially|originally|previously|prior|until)|neither|no|none|nothing)\b"
)
"""After it: it was so once, or of nothing."""
_NOT = (
    "cannot|can't|could(?: not|n't)|did(?: not|n't)|does(?: not|n't)|don't|do not|is(?: not|n't)|was(?: not|n't)"
    "|were(?: not|n't)|won't"
)
_DONE = (
    r" (?:(?!affect|alter|break|chang|disturb|harm|hurt|introduc|touch)\w+ )?"
    r"(?:able|apply|appear|available|build|built|come|compile|complete|exist(?!ing)|find|finish|found|get|hold"
    r"|installed|let|like"
    r"|load|match|open|pass|possible|related|respond|run|seem|start|succeed|supported|there|true|understand|work)\w*"
)
_SOLVED = r"(?! (?:\w+ )?(?:behind|closed|fixed|gone|history|over|resolved|settled|solved|sorted))"
_A_PROBLEM = rf" (?:\w+ )?(?:issue|problem|trouble)s? (?:with|in|here|remains?|(?:is|are){_SOLVED})"
_HINDERED = quick(
    "|".join([f"{word}{_DONE}" for word in parted(_NOT)])
    + "".join([rf"|{word}{_A_PROBLEM}" for word in "an? one some the this another two few".split()])
    + "".join([rf"|{word} (?:\w+ )?wrong" for word in "went goes gone is are was something looks?".split()])
    + "".join(
        [
            rf"|{word} (?:\w+ ){{0,2}}(?:blank|empty)"
            for word in "appears? are came comes is looks? seems? was were".split()
        ]
    )
    + "".join([rf"|{word} missing" for word in "are be is was were".split()])
    + r"|apologi[sz]\w*|sorry|my bad|my mistake|made an? (?:\w+ )?(?:error|mistake)|unable|unavailable|unrelated"
    r"|unexpected\w*|unfortunately|unsuccessful\w*|incompatib\w*|pre-?exist\w*|pre-?dat\w*|missing (?:from|in)|oops|hmm"
    r"|flaky|expected to fail|no such|no tests?|no \w+ installed|no \w+ found|apart from|aside from|except(?: for)?"
    r"|other than|despite|even though|although|however|ignor\w*|never mind|regardless|due to|caused by"
    r"|known (?:issue|limitation|problem)s?|no output"
    r"|nothing (?:has been |is |was )?(?:collected|executed|found|matched|ran|run|selected)"
    r"|still (?:an? |the |to )?(?:fail|error|broken|open|red|wrong|not|need|remain|there)\w*"
)
"""Something could not be done, or has nothing to do with the work."""


@lru_cache(maxsize=16)
def owns_trouble(text: str) -> bool:
    """Whether a text says that something went wrong."""
    said = plain(text[:_LONGEST])
    if _HINDERED.are_in(said):
        return True
    if not any(map(said.__contains__, _IN_WENT_WRONG)):
        return False
    for match in islice(_WENT_WRONG.finditer(said), _MOST_MATCHES):
        before = said[max(0, match.start() - _BEFORE) : match.start()]
        if not _IS_GONE.search(before) and not _WAS_BEFORE.match(said[match.end() : match.end() + _AFTER]):
            return True
    return False
