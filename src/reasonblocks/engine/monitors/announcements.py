"""Words that announce a summary, before it says anything.

They prove nothing: whoever has read something new may well sum it up. But an account that is announced as one is meant
to be one, also where it picks other facts than the account before it.
"""

from .quick import lower, quick
from .words import word_set

_BEGINNING = 110
"""Characters in which a summary is announced."""
_KNOW = (
    r"(?:collected|confirmed|established|figured out|found(?: out)?|gathered|got|have|know|known|learn(?:ed|t)|seen)"
)
_ANNOUNCES = quick(
    r"all in all|altogether|as (?:it|matters|things) stands?|at this (?:moment|point|stage)|condens\w+|digest|gist"
    r"|everything (?:so far|together)|over (?:the|what|all|it|this|everything)\b[^.:\n]{0,40}\b(?:again|once more)"
    r"|(?:in|to put it) brief(?:ly)?|in (?:a nutshell|a word|essence|outline|short|sum)|key (?:facts|points|takeaways)"
    r"|(?:in|to put it in) (?:a (?:couple of|few)|fewer|one|other|plain|simpler|two) (?:\w+ )?"
    r"(?:lines?|sentences?|terms|words)"
    r"|at a glance|boil\w* (?:\w+ )?down|bottom line|bird's.eye view|consolidat\w+|to distill?|interim|snapshot"
    r"|(?:the|these|those) (?:bare |basic )?(?:basics|essentials|facts) (?:again|are|at hand|here|in|of|once|so)"
    r"|(?:put|putting|set|setting) [^.:\n]{1,40} (?:differently|in order|in perspective|straight)"
    r"|looking back|look(?:s|ing)? at (?:everything|it all|the whole)|wrap(?:ping)? (?:[^.:\n]{1,20} )?up"
    r"|(?:how|what) (?:everything|it all|it|the \w+|things) (?:looks?|comes? down to|amounts? to|adds? up to)"
    r"|(?:main|essential) points|on record|overall|overview|the (?:basics|essentials)"
    r"|(?:full|overall|the|whole) picture|reiterat\w+|recap\w*|recollect\w*|rephras\w+|restat(?:e|ed|ing)|rundown"
    r"|run(?:ning)? through|side by side"
    r"|(?:current|present|the|our|my) (?:position|situation|status)|so far|state of (?:affairs|play|things)"
    r"|tak(?:e|ing) stock|sum(?:ming)? (?:\w+ )?up|summar\w+|thus far|to (?:date|repeat|review)"
    r"|(?:draw|bring|pull|putt?|tie|tying)(?:ing)? [^.:\n]{1,30} together|(?:un)?til now|up to (?:now|this point)"
    r"|where (?:i|matters|things|we) (?:am|are|stand|stands)"
    rf"|what (?:i|is|we)(?:'ve)? (?:\w+ )?{_KNOW}|what's (?:\w+ )?known"
)
ABOUT_SAYING = word_set(
    "account again already altogether arrive background basic basically brief briefly bring case clear clearly collect "
    "conclude conclusion condense confirm consider context current currently detail digest established essence "
    "essentially everything fact far finally finding follow found gather gathered gist go going ground hold key know "
    "known knowledge learn learned learnt list main mean mention mentioned moment note noted overall overview "
    "paragraph part picture piece point position present progress put question quick quickly read reading "
    "recall recap recapitulate refresh relevant remain remember repeat rephrase report restate result review run say "
    "short simply situation stand standing state stated status step stock sum summarise summarize summary summing "
    "take tell terms thing thus time together total understand understanding understood whole word work write".split()
)
"""Words about saying, which say nothing themselves."""


def announces(text: str) -> bool:
    """Whether a text begins as a summary."""
    beginning = lower(text[:_BEGINNING]).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return _ANNOUNCES.are_in(beginning)
