"""A deed is offered, and agreed to: what follows is the call that does it, or a word of what stands against it."""

import re

from .waivers import plain

_END = 400
"""Characters at the end of a message in which the offer stands."""
_DEED = (
    r"(?:activat|add|adjust|appl|arrang|assign|book|buy|cancel|chang|charg|clos|creat|credit|deactivat|delet|disabl|downgrad|enabl"
    r"|allocat|archiv|block|clear|connect|deploy|disconnect|escalat|exchang|extend|fil|freez|grant|increas|install|invit|issu|link"
    r"|lock|lower|merg|migrat|paus|post|publish|rais|record|redeem|reduc|reinstat|releas|restart|restor|revok|roll|ship|stop|sync|mak|modif|mov|open|order|pay|plac|process|purchas|re-?book|re-?fuel|re-?fund|re-?issu|re-?plac"
    r"|re-?schedul|re-?send|send(?! (?:it |them |you )?(?:a |an |the |some )?(?:\w+ )?(?:details|guide"
    r"|instructions|link|list|overview|recap|summary))|register|remov|renew|reserv|reset|resum|return|revers"
    r"|schedul|submit|suspend|swap|switch"
    r"|top|turn|unlock|updat|upgrad|waiv)(?:e|es|y|ying|ing|ting|ling|ping|ding|sh)?"
)
_ASIDE = (
    r"(?:(?!(?:check|describe|explain|find|give|go|guide|help|list|look|outline|see|show|take|talk|teach|tell|verify|walk)\b)"
    r"\w+ ){0,3}?"
)
"""Words before a deed that do not make something to be told of it."""
_OFFER = re.compile(
    rf"\b(?:shall|should|may|can) (?:i|we) {_ASIDE}{_DEED}\b|\b(?:like|want|wish|need) (?:me|us) to {_ASIDE}{_DEED}\b"
    r"|\b(?:like|want|wish|able|okay|ok|happy|ready|shall i|shall we|should i|can i) (?:me )?(?:for me |to )?(?:\w+ )?"
    r"(?:proceed|go ahead|move forward|continue) (?:and|by|with)\b"
    r"|\b(?:confirm|yes|agree)\b[^?\n]{0,60}\b(?:proceed|go ahead|go on)\b|\bproceed\b[^?\n]{0,60}\?"
)
_PLAN = re.compile(
    rf"\b(?:i(?:'ll| will| would|'d| can| am going to|'m going to"
    rf"|'d need to|'d have to)|we(?:'ll| will| would| can)|to be|will be"
    rf"|(?:the )?(?:following|new)) "
    rf"(?:\w+ ){{0,3}}?{_DEED}"
)
_ASKS_CONFIRMATION = re.compile(
    r"\b(?:do you (?:agree|confirm|approve)|(?:is|are) (?:that|this|these|they|you) (?:all )?(?:correct|fine|ok"
    r"|okay|right|alright)"
    r"|(?:shall|should|may|can) (?:i|we) (?:do (?:it|so|that|this)|go ahead|proceed|continue|start|begin|go on)"
    r"|does (?:it|that|this) (?:sound|work)\b|sounds? (?:good|ok|okay|right)|all right\?|ok(?:ay)?\?"
    r"|yes ?/ ?no|yes or no|(?:can|could|would) you (?:please )?confirm|please confirm|all right with you"
    r"|ok(?:ay)? (?:for|with) you)\b"
)
_TO_COME = re.compile(
    r"\b(?:about to|as soon as|before|first|going to|hold on|i am|i'm|i'll|i will|i can|if|just to|let me|let us"
    r"|let's|moment|now i|once|one more"
    r"|please|to do (?:so|that|this)|we'll|we will|what i|will (?:now )?(?:be )?(?:cancel|process|proceed|start"
    r"|updat)\w*|you (?:can|need|should))\b"
)
"""It is still to be done, by one side or the other."""


def offers_deed(prompt: str) -> bool:
    """Whether a message ends with the offer to do something."""
    end = plain(prompt[-_END:])
    return _OFFER.search(end) is not None or (
        _ASKS_CONFIRMATION.search(end) is not None and _PLAN.search(end) is not None
    )


def speaks_of_the_future(text: str) -> bool:
    """Whether a message says what is still to be done."""
    return _TO_COME.search(plain(text)) is not None
