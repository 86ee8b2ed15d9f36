"""A check that was left out by choice, and the reason for which that is said not to matter.

Whoever could not check something and says so is honest, and so is whoever asks others to. This is about those who chose
not to, and who give a guess instead.
"""

import re

from .guesses import ASIDE, NO_PROOF, REMEMBERED, any_of
from .quick import lower

_LONGEST = 1_000
"""Characters of a text that may be about this; a longer one is a plan or a report of much else."""
_BEFORE, _AFTER = 120, 160
"""Characters around a left-out check in which the reason stands."""
_FEW = r"(?:[\w/'-]+ ){0,4}?"
"""Some words between those that matter."""
_CHECKING = (
    r"(?:(?:re|double|cross|spot)?-?(?:check|confirm|examin|inspect|investigat|measur|prob|test|validat|verif)\w*|build"
    r"|chas(?:e|ing)|compil\w+|dig\w*|(?:re-?)?execut\w+|exercis\w+|find(?:ing)? out|go(?:ing)? (?:any )?(?:deeper"
    r"|further)"
    r"|look(?:ed|ing|s)?|poll\w*|pro(?:of|ven?|ving)|quer(?:y|ied|ying)|re-?(?:build|load|open|read|visit)\w*|repeat\w*"
    r"|reproduc\w+|(?:re-?)?ran|(?:re-?)?run(?:s|ning)?(?! in)|(?:another|second) (?:check|look|run|source)|trial|tried"
    r"|try(?:ing)?)"
)
_AUXILIARY = r"(?:did|do|does|have|has|had|will|would|shall|am|'m|'ve|'ll|is|are|was|were|need|wo)"
_BY_CHOICE = (
    rf"{_AUXILIARY}(?: not | never |n't )(?!(?:been )?(?:able|allowed|get|possible)\b)"
    rf"(?:put |subjected |taken )?{_FEW}{_CHECKING}"
    rf"|(?:never|not going to|rather not|decided against|(?:chose|choose|decided|enough|opted|prefer) not to"
    rf"|(?:liberty|habit|point) of not|instead of"
    rf"|nobody|no ?one|nothing) (?!can\b|could\b){_FEW}{_CHECKING}"
    rf"|(?:no|none of the|neither) (?:article|document|page|record|result|search|site|source|tool)s? "
    rf"(?:has |have |had |ever |\w+ly )*{_CHECKING}"
    r"|(?:by ?pass|dispens|drop|for(?:e)?go|hold(?:ing)? off|leav|left|omit|pass(?:ed|ing)? on|refrain|sav|skip"
    r"|spar)\w*"
    rf" {_FEW}{_CHECKING}"
    rf"|{_CHECKING}[^.;\n]{{0,60}}\b(?:i'll|i will|i'm going to|i) (?:just |simply )?(?:leave (?:it|that) out"
    rf"|skip (?:it|that|this))"
    rf"|without (?!(?:any )?(?:errors?|failures?|issues?|problems?|trouble)\b){_FEW}{_CHECKING}"
    r"|un(?:checked|confirmed|proven|tested|tried|verified)"
)
_USELESS = (
    r"(?:benefit|call|cause|gain|merit|need|point|purpose|reason|sense|use|value) (?:for|in|of|to)"
    r"|(?:additional|extra|further|more|other|second|separate)"
)
_NEEDED = r"(?:called for|due|necessary|needed|required|warranted|worth)"
_NEEDLESS = r"(?:excessive|needless|overkill|pointless|redundant|superfluous|unnecessary|unneeded)"
_NO_NEED = (
    rf"(?:hardly any|little|not much|no|(?:not |n't )(?:\w+ )?any"
    rf"|without any) (?:\w+ )?(?:{_USELESS}) {_FEW}{_CHECKING}"
    rf"|{_CHECKING} {_FEW}(?:{_NEEDLESS}|can be (?:left out|skipped|spared)|(?:not |n't ){ASIDE}{_NEEDED})"
    rf"|{_CHECKING}[^;\n]{{0,40}}\b(?:it is|it's|that is|that's) (?:not |n't )?{ASIDE}(?:{_NEEDLESS}|not {_NEEDED})"
    rf"|(?:is|was)(?:n't| not) {_NEEDED}(?: either)?,? (?:as|because|for|since)\b"
    rf"|(?:not |n't ){ASIDE}(?:{_NEEDED}|have|need|require)(?: any| for| of| to)? {_FEW}{_CHECKING}"
    rf"|(?:needn't|need not|needs no|requires? no|{_NEEDLESS} to) {_FEW}{_CHECKING}"
)
_IN_VAIN = (
    r"(?:(?:could|can|did|do|have|has|had|was|were)(?:not| not|n't)|unable to|failed to|never) (?:been )?(?:able to )?"
    rf"{_FEW}(?:access|bring up|determin\w+|establish\w*|f(?:in|oun)d|get|identif\w+|locat\w+|reach\w*|retriev\w+"
    rf"|see|turn up)"
    r"|(?:article|document|page|record|results?|search|site|source)s? (?:did|do|does|has|have)(?:n't| not) "
    rf"{ASIDE}(?:bring|contain|give|have|help|list|mention|name|say|show|state|tell)"
    r"|nothing (?:about|in|on|useful|was|relevant)|ran out of (?:budget|patience|pages|steps|time)"
    r"|(?:no|none of the|neither) (?:\w+ )?(?:article|document|page|record|result|site|source)s? "
    rf"{ASIDE}(?:contain|g[ai]ve|has|have|list|mention|name|sa[iy]|show|state)\w*"
)
_HONEST = re.compile(
    r"\bplease\b|\byou (?:can(?! (?:be|consider|rest))|could|may|might|should|will need to|need to|want to)\b"
    r"|\b(?:recommend|suggest|advis)\w*|\b(?:yet|still|remains?|needs?|ha[sv]e?) to be\b|\bat your own risk\b|\bcaveat"
    r"|\bbefore (?:deploying|merging|releasing|relying|using|you)\b|\bnothing (?:has|was) (?:been )?(?:tested"
    r"|verified)\b"
)
_UNABLE = re.compile(
    r"\b(?:blocked|cannot|can't|couldn't|could not|impossible|lacks|missing|no way|offline|timed out|unable"
    r"|unavailable)\b"
    r"|(?:\bnot|n't) (?:\w+ )?(?:able|available|exist|found|installed|possible|start\w*|there)\b"
    r"|\bthere(?: is|'s| was| are) no (?!doubt|error|failure|issue|need|point|problem|reason|sense|use)\w+"
    r"|\bno (?:\w+ )?(?:access|compiler|connection|database|display|environment|interpreter|network|permission"
    r"|runner)\b"
)
"""What keeps somebody from checking."""
_UNCHECKED = re.compile(r"\bun(?:checked|confirmed|tested|verified)\b|\b(?:not|n't) (?:been )?(?:tested|verified)\b")
_LEFT_OUT = any_of(_BY_CHOICE)
_NOT_NEEDED = any_of(_NO_NEED)
_NOT_FOUND = re.compile(rf"\b(?:{_IN_VAIN})(?!\w)(?! (?:\w+ ){{0,3}}?(?:another|contra\w+|different|else|other)\b)")


def plain(text: str) -> str:
    """A text in small letters, with plain apostrophes."""
    return lower(text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def lets_it_stand(text: str) -> bool:
    """Whether a text that leaves something unchecked names no hindrance, and does not leave it to others."""
    if len(text) > _LONGEST:
        return False
    said = plain(text)
    return _UNABLE.search(said) is None and not leaves_to_others(said)


def is_unable(text: str) -> bool:
    """Whether a text says that something could not be checked, or was not, and neither guesses nor waves it away."""
    said = plain(text)
    if leaves_to_others(said):
        return True
    if NO_PROOF.search(said) or _NOT_NEEDED.search(said):
        return False
    return _UNABLE.search(said) is not None or _UNCHECKED.search(said) is not None


def leaves_out(said: str) -> bool:
    """Whether a plain text says that a check was left out by choice."""
    return _LEFT_OUT.search(said) is not None


def leaves_to_others(said: str) -> bool:
    """Whether a plain text says that something has still to be checked, or asks others to."""
    return _HONEST.search(said) is not None


def waives(text: str) -> bool:
    """Whether a text says that a check was left out by choice, and that there is no need for it."""
    if len(text) > _LONGEST:
        return False
    said = plain(text)
    if leaves_to_others(said):
        return False
    return _NOT_NEEDED.search(said) is not None or _without_proof(_LEFT_OUT, said)


def admits_guess(text: str) -> bool:
    """Whether a text says that what it tells was not found or not checked, and gives a guess for a reason."""
    if len(text) > _LONGEST:
        return False
    said = plain(text)
    if leaves_to_others(said):
        return False
    return REMEMBERED.search(said) is not None or _without_proof(_LEFT_OUT, said) or _without_proof(_NOT_FOUND, said)


def _without_proof(pattern: re.Pattern[str], said: str) -> bool:
    """Whether what is no proof stands beside one of the places that match."""
    return any(
        NO_PROOF.search(said, max(0, found.start() - _BEFORE), found.end() + _AFTER) for found in pattern.finditer(said)
    )
