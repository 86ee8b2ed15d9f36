"""Somebody asks to look whether something has come through, and is told that all is well.

Three things are told apart: the request to look, the doubt whether it worked, and the words that all is in order. What
was called in between is for others to know.
"""

import re

from .conclusions import asks, denies, goes_on, opening, owns_failure, reports_change
from .quick import lower

_LONGEST_REPLY = 400
"""Characters of a reply that can hardly be an account of what is there."""

_LOOK = (
    r"(?:(?:re|double|cross|triple)?-?check(?:ed|ing)?(?!-?(?:in|out)\b| (?:in|out|bags?|baggage|luggage)\b)"
    r"|(?:re-?)?confirm(?:ed|ing)?(?=[^.?!\n]{0,40} (?:again|are|if|is|it|it's|that|was|were|whether)\b)"
    r"|find(?:ing)? out|inspect(?:ed|ing)?|look(?:ed|ing)?|(?:making|made|make) sure"
    r"|pull(?:ed|ing)? (?:it |that |this )?up|re-?open(?:ed|ing)?|refresh(?:ed|ing)?|review(?:ed|ing)?|see(?:ing)?"
    r"|validat(?:e|ed|ing)|(?:re-?)?verif(?:y|ied|ying)|(?:have|having|take|taking) (?:another|a) (?:\w+ )?look)"
)
_WHAT = r"(?! (?:\w+ ){0,2}(?:any|how|other|what|when|where|which|who|why)\b| (?:if|whether) (?:i|there|we|you)\b)"
"""Whoever asks for a value, or for what else there is, is told it."""
_REQUEST = re.compile(
    r"\b(?:(?:can|could|will|would) you|(?:if|want|like|need) you(?: to)?|please|mind|possible(?: for you)? to"
    rf"|able to|(?:can|could) (?:we|i have you))(?: (?!(?:like|me|want)\b)[#\w'-]+){{0,8}}? {_LOOK}\b{_WHAT}"
    rf"|(?:^|[.!?,;\n] ?)(?:just |then |and ){{0,2}}{_LOOK}\b{_WHAT}[^.?!\n]{{0,60}}\b(?:again|please)\b",
)
_IN_REQUEST = "check confirm find inspect look open pull refresh review see sure valid verif".split()
"""One of these is in whatever matches."""
_CAME_THROUGH = (
    r"(?:actually|definitely|go(?:ne)? through|went through|really|saved?|show(?:ing)?(?: up)?|stick|stuck|take effect"
    r"|taken effect|work(?:ed)?)"
)
_IS_SO = (
    r"(?:all (?:set|there)|applied|completed?|correct(?:ly)?|fine|in (?:effect|order|place)|ok(?:ay)?|processed"
    r"|properly|recorded|registered|right(?! now)|there|updated)"
)
_SUBJECT = r"(?!there\b)(?:[#\w'-]+ ){1,6}?"
_DOUBT = re.compile(
    r"\bare you (?:\w+ ){0,2}(?:certain|positive|sure)\b"
    rf"|\b(?:are|did|does|has|have|is|was|were) {_SUBJECT}{_CAME_THROUGH}\b[^.!\n]{{0,80}}\?"
    r"|\bstill (?:displays?|get|getting|lists?|says?|see|seeing|showing|shows?)\b|\bnot show(?:ing|n)?\b"
    r"|\b(?:account|app|browser|email|end|page|phone|screen|side|site|website) (?:now |just )?"
    r"(?:displays|lists|says|shows)\b"
)
_WHETHER = re.compile(rf"\b(?:if|that|whether) {_SUBJECT}(?:{_CAME_THROUGH}|{_IS_SO})\b")
"""With a request to look: it is to be looked whether it worked."""
_ALL_WELL = re.compile(
    r"\b(?:accurate(?:ly)?|active|all (?:good|set|there|well)|as (?:agreed|discussed|expected|intended|planned)"
    r"|as (?:requested|(?:it|they) should|you (?:asked|wanted))|(?:can|do|i|to|you) (?:\w+ )?assured?|checks? out"
    r"|closed|completed?|confirmed|correct(?:ly)?|done|(?:everything|it)(?:'s| is) (?:all |still )?(?:in )?there"
    r"|exactly|final(?:i[sz]ed)?|fine|finished|flawless(?:ly)?|(?:gone|went) through|good to go"
    r"|in (?:effect|order|place|good shape)|live|looks? (?:\w+ )?(?:good|great)|match(?:es)?|(?:need|reason) to worry"
    r"|no (?:issues?|problems?|worries)|nothing (?:\w+ )?to worry|ok(?:ay)?|perfect(?:ly)?|properly|rely on"
    r"|rest assured|right(?! (?:away|now))|saved|settled|shows? the (?:new|right)|sorted|success(?:ful|fully)?"
    r"|taken care of|(?:don't|not) (?:\w+ )?worry|up[ -]to[ -]date|without (?:a|any) (?:hitch|issues?|problems?)|works?"
    # A look that nobody took.
    r"|i(?:'ve| have)? (?:just |now |also )*(?:(?:double|re|cross)-?)?(?:checked|looked|reviewed|verified)"
    r"|i (?:can (?:confirm|see)|see (?:the new|everything|it)))\b"
)
_NOTHING_LEFT = re.compile(
    r"\bnothing (?:else|further|left|more)(?: \w+)? (?:to (?!offer|tell)\w+|(?:must|needs?|has) to)"
    r"|\bnothing (?:else|further|more) is (?:needed|required)|\bnothing (?:\w+ )?to worry|\bdon't (?:you )?worry"
)
"""Denials that say that all is well."""


class Request:
    """What the other side asks for, as far as it is about whether something has come through."""

    __slots__ = ("doubts", "looks")

    def __init__(self, said: str) -> None:
        lowered = _plain(said)
        self.looks = any(map(lowered.__contains__, _IN_REQUEST)) and _REQUEST.search(lowered) is not None
        """Whether it wants something looked at."""
        doubt = _DOUBT.search(lowered) or (self.looks and _WHETHER.search(lowered))
        self.doubts = bool(doubt)
        """Whether it doubts that something worked."""


def reassures(request: Request, text: str) -> bool:
    """Whether a reply to this says that all is well, and neither asks for anything nor announces a look."""
    if len(text) > _LONGEST_REPLY:
        return False
    lead = opening(text)
    lowered = _plain(lead)
    if _ALL_WELL.search(lowered) is None and not (request.doubts and reports_change(lead)):
        return False
    rest = _NOTHING_LEFT.sub("", lowered)
    return not (denies(rest) or owns_failure(rest) or asks(text) or goes_on(text))


def _plain(text: str) -> str:
    return lower(text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
