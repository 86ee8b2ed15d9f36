"""Appeals to what was said before: `as noted`, `we already established that`.

Whoever appeals to an earlier statement says that this is the same; what follows had better be.
"""

import re

_KNOWN = (
    r"(?:agreed|concluded|confirmed|decided|described|determined|discussed|established|explained|found|learned|mentioned"
    r"|noted|observed|pointed out|recorded|said|saw|seen|settled|shown|stated|told|verified|written)"
)
APPEAL = re.compile(
    r"\b(?:as|like) (?:(?:already|been|before|earlier|ha[ds]|have|i|is|it|just|previously|was|we|you) ){0,4}"
    rf"{_KNOWN}\b"
    rf"(?: (?:above|before|earlier|already|previously))?"
    rf"|\b(?:i|we)(?:'ve| have)? (?:already )?{_KNOWN} (?:it |so |that |this )?(?:above|already|before|earlier)\b"
    rf"|\b(?:as|like) (?:above|before)\b|\b(?:recall|remember) that\b|\bas (?:i|we) know\b|\bwe(?: already)? know\b"
    rf"|\b(?:already|previously) {_KNOWN}\b",
    re.IGNORECASE,
)

APPEALING = frozenset("above already as before earlier know like previously recall remember".split())
"""Without one of these words there is no appeal in a text that is written in ASCII."""


_WARNING = re.compile(r"\b(?:be|is) (?:an? )?(?:\w+ )?mistake\b", re.IGNORECASE)
"""What would be a mistake is none that was made."""


def without_appeal(text: str) -> str:
    """A sentence without its appeals and warnings, so that these are not taken for a change of mind."""
    text = APPEAL.sub("", text)
    return _WARNING.sub("", text) if "mistake" in text else text
