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
    r"|(?:all things|(?:given|considering|taking|weighing) (?:all|everything)(?: \w+){0,3}) (?:above|account"
    r"|considered|said|together)"
    r"|considering (?:all (?:this|that|of)|everything)|all (?:i|we) (?:have|know)|everything (?:i|we) (?:have|know)"
    r"|as (?:i|we) (?:see|understand) (?:it|things|this)"
    r"|(?:collect|gather|order|organi[sz]|sort)(?:e|ing)? (?:my|our) thoughts|getting (?:my|our) bearings"
    r"|conclud\w+ what|in conclusion|on the whole|seen as a whole|put differently|from the top"
    r"|for (?:the record|clarity)"
    r"|(?:again|once (?:again|more)),? (?:here|the|this|what|where)\b"
    r"|(?:case|data|details|facts|findings|information|matter|numbers|points|story|things) (?:again"
    r"|once (?:again|more))"
    r"|(?:collected|known|established|key|main|relevant|gathered) (?:\w+ )?(?:data|details|facts|findings"
    r"|information|takeaways)"
    r"|(?:compact|concise|condensed|full|long|short|shorter) (?:form|story|version)|in one place|on the same page"
    r"|(?:go(?:ing)?|walk(?:ing)?|step(?:ping)?) (?:back )?(?:over|through) (?:it|my|our|the|this|what"
    r"|your)[^.:\n]{0,30} (?:again|once)"
    r"|(?:lay|laying|set|setting|spell|spelling) (?:it|the|this|that|what)[^.:\n]{0,30} out"
    r"|lay(?:ing)? out (?:the|what)"
    r"|(?:frame|phrase|put|repeat|say|state|word)(?:ing)? (?:it|myself|that|this)(?: all)? (?:again"
    r"|another way|differently|once)"
    r"|let me repeat|my (?:own )?(?:understanding|reading) (?:is|of|so)|(?:progress|situation|status) (?:report|update)"
    r"|reviewing (?:all|everything|the (?:data|details|facts|information|situation)|what)|revisit\w* (?:the|what)"
    r"|so,? what do (?:i|we) (?:have|know)|that(?:'s| is) (?:how|the state|where)|to make (?:it|this|things) clear"
    r"|what (?:matters|counts) (?:here )?is|where (?:it|the (?:case|matter|work)|things|this) (?:is|are)(?: at)?"
    r"|at a glance|boil\w* (?:\w+ )?down|bottom line|bird's.eye view|consolidat\w+|to distill?|interim|snapshot"
    r"|(?:the|these|those) (?:bare |basic )?(?:basics|essentials|facts) (?:again|are|at hand|here|in|of|once|so)"
    r"|(?:to put|putting|to set|setting) [^.:\n]{1,40} (?:differently|in order|in perspective|straight)"
    r"|looking back|looking at (?:everything|it all|the whole)|(?:to wrap|wrapping) (?:[^.:\n]{1,20} )?up"
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
WORDS_ABOUT_SAYING = (
    "account again already altogether arrive background basic basically brief briefly bring case clear clearly collect "
    "conclude conclusion condense confirm consider context current currently detail digest established essence "
    "essentially everything fact far finally finding follow found gather gathered gist go going ground hold key know "
    "known knowledge learn learned learnt list main mean mention mentioned moment note noted overall overview "
    "paragraph part picture piece point position present progress put question quick quickly read reading "
    "recall recap recapitulate refresh relevant remain remember repeat rephrase report restate result review run say "
    "short simply situation stand standing state stated status step stock sum summarise summarize summary summing "
    "take tell terms thing thus time together total understand understanding understood whole word work write".split()
)
ABOUT_SAYING = word_set(WORDS_ABOUT_SAYING)
"""Words about saying, which say nothing themselves."""


def announces(text: str) -> bool:
    """Whether a text begins as a summary."""
    beginning = lower(text[:_BEGINNING]).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return _ANNOUNCES.are_in(beginning)
