"""Whether a text owns that something went wrong with what was just tried, rather than speaking of errors in general.

`TypeError is still caught` is about a program, `it failed before the fix` about what was: neither says that the last
trial came to nothing.
"""

import re
from itertools import islice

from .waivers import plain

_MOST_MATCHES = 32
_BEFORE, _AFTER = 60, 40
_LONGEST = 4_000

_WENT_WRONG = re.compile(
    r"(?<![\w`'\"./])(?:abort(?:ed|s)?|broken?|breaks|crash(?:es|ed|ing)?|died|errors?|errored|exceptions?"
    r"|fail(?:s|ed|ing|ures?)?|hangs?|hung|killed|mismatch\w*|refused|rejected|stuck|time[ds] out|timeouts?"
    r"|timing out|tracebacks?|warnings?)(?![\w(]|\.\w)"
)
"""A word of failure that is not part of a name."""
_IS_GONE = re.compile(
    r"\b(?:no|without|zero|0|free of|any|fix\w*|resolv\w*|address\w*|handl\w*|prevent\w*|avoid\w*|eliminat\w*"
    r"|correct\w*|rais\w*|throw\w*|remov\w*|solv\w*|reproduc\w*|repair\w*|proper|never|not|n't)\b[^.;\n]{0,50}$"
)
"""In front of it: there is none, or the work was about it."""
_WAS_BEFORE = re.compile(r"\W{0,3}(?:\w+\W{1,2}){0,3}?(?:before|earlier|initially|originally|previously|prior|until)\b")
"""After it: it was so once."""
_HINDERED = re.compile(
    r"\b(?:cannot|can't|could(?: not|n't)|did(?: not|n't)|does(?: not|n't)|don't|do not|is(?: not|n't)|never mind"
    r"|was(?: not|n't)|were(?: not|n't)|won't) (?:\w+ )?(?:able|apply|appear|available|build|come|compile|complete"
    r"|exist|find|finish|found|get|hold|installed|let|like|load|match|open|pass|possible|related|respond|run|seem"
    r"|start|succeed|supported|there|true|understand|work)\b"
    r"|\b(?:apologi[sz]\w*|sorry|my (?:bad|mistake)|made an? (?:\w+ )?(?:error|mistake)|unable|unavailable|unrelated|unexpected\w*|unfortunately|unsuccessful\w*|incompatib\w*|pre-?exist\w*"
    r"|pre-?dat\w*|(?:are|be|is|was|were) missing|missing (?:from|in)\b|oops|hmm|flaky|expected to fail|no (?:such|tests?|\w+ installed|\w+ found)|0 tests"
    r"|(?:apart|aside) from|except(?: for)?|other than|despite|even though|although|however|ignor\w+|regardless"
    r"|(?:went|goes|gone|is|are|was|something|looks?) (?:\w+ )?wrong|due to|caused by|known (?:issue|limitation|problem)"
    r"|(?:appears?|are|came back|is|looks?|seems?|was|were) (?:\w+ ){0,2}(?:blank|empty)|no output|nothing (?:has been |is |was )?(?:collected|executed|found|matched|ran|run|selected)"
    r"|(?:an?|one|some|the|this|another|two|few) (?:\w+ )?(?:issue|problem|trouble)s? (?:with|in|here|remains?"
    r"|(?:is|are)(?! (?:\w+ )?(?:behind|closed|fixed|gone|history|over|resolved|settled|solved|sorted)))"
    r"|still (?:a |an |the |to )?(?:fail|error|broken|open|red|wrong|not|need|remain|there))\w*"
)
"""Something could not be done, or has nothing to do with the work."""


def owns_trouble(text: str) -> bool:
    """Whether a text says that something went wrong."""
    said = plain(text[:_LONGEST])
    if _HINDERED.search(said):
        return True
    for match in islice(_WENT_WRONG.finditer(said), _MOST_MATCHES):
        before = said[max(0, match.start() - _BEFORE) : match.start()]
        if not _IS_GONE.search(before) and not _WAS_BEFORE.match(said[match.end() : match.end() + _AFTER]):
            return True
    return False
