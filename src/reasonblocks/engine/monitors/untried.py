"""The other side says that it has not tried something yet, and is told that it works."""

import re

from .conclusions import called_done
from .dismissals import all_well
from .troubles import owns_trouble
from .waivers import plain

_TRIAL = (
    r"(?:attempt|call|check|connect|dial|do\b(?! next| now)|dr(?:ive|iven|ove)|execut|got(?:ten)? (?:a )?round"
    r"|have|had a chance|install|launch|log"
    r"|look|ma[dk]e|open|plug|power|print|reboot|receiv|reload|restart|run|s[ae]nt|scan|send|sign|start|stream|submit|surf|switch"
    r"|test|touch|tr(?:y|ied)|turn|us(?:e|ed)|verif|watch)\w*"
)
_UNTRIED = re.compile(
    rf"\b(?:haven't|have not|hasn't|didn't|did not|not|never) (?:actually |been able to |even |really |yet )*{_TRIAL}\b"
    r"(?=[^.?!\n]{0,60}\b(?:any|anything|so far|since|still|though|yet)\b|[^.?!\n]{0,40}[.!])"
    rf"|\byet to (?:\w+ )?{_TRIAL}|\bbefore (?:i|we) (?:\w+ )?{_TRIAL}"
    rf"|\b(?:i'll|i will|i'm going to|i can|i'd|we'll|we will|going to|(?<!what )shall i|(?<!what )should i"
    rf"|let me) (?:have to |then |just |now |only )*"
    rf"{_TRIAL}[^.?!\n]{{0,40}}\b(?:afterwards?|after|as soon as|in a (?:bit|minute|moment|sec\w*|while)|later"
    rf"|next|now|once|soon"
    r"|then|this evening|tomorrow|tonight|when)\b"
    r"|\b(?:can't|cannot|couldn't|unable to) (?:\w+ )?(?:check|confirm|see|tell|test|try"
    r"|verify)[^.?!\n]{0,40}\b(?:now|right now|until|yet)\b"
    r"|\b(?:still|currently) (?:\w+ ){0,2}?(?:a draft|as a draft|installing|loading|off|rebooting|restarting"
    r"|starting up|switched off|updating)\b"
)
_WORKS = re.compile(
    r"\b(?:back (?:in action|in service|on|online|to normal|up)|cured|fixed|functioning|go(?:es|ing)? through"
    r"|running (?:fine|normally|smoothly|well)|solved|(?:is|are|'s|it's) (?:all )?(?:restored|resolved|working)|works?"
    r"|up and running|was the (?:cause|culprit|problem)|were the (?:cause|culprit|problem)|did the (?:job|trick)"
    r"|that (?:was|did) it|(?:is|are|'s|'re) (?:\w+ ){1,3}again)\b"
)
_NOT_SO = re.compile(
    r"\b(?:after|as soon as|could|hope\w*|if|might|may|not|once|should|shall|to see|unless|until|when|whether|will"
    r"|would)\b|n't\b|'ll\b|\?"
)
_SENTENCES = re.compile(r"(?<=[.!?;])\s|\n")


def is_untried(answer: str) -> bool:
    """Whether an answer says that something is still to be tried."""
    return _UNTRIED.search(plain(answer)) is not None


def calls_proven(text: str) -> bool:
    """Whether a message says that something works, or is solved."""
    if owns_trouble(text):
        return False
    said = plain(text)
    parts = [part for part in _SENTENCES.split(said) if _NOT_SO.search(part) is None]
    return any(_WORKS.search(part) or called_done(part) or all_well(part) for part in parts)
