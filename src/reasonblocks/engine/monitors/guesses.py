"""Words that stand where a proof should be: a guess, a feeling, what is usual, how small it is, what is remembered."""

import re

ASIDE = r"(?:\w+ ){0,2}?"
"""Up to two words in passing."""
GUESSES = (
    r"apparently|appears?|as (?:a rule|far as i can tell)|assum\w+|believe|bet|by now|certainly|chances are"
    r"|could (?:well )?(?:be|have)|doubtless|evidently|expect|feels? like|feeling|figured?|generally|guess\w*|gut"
    r"|hopefully|hunch|imagine"
    r"|in (?:all (?:likelihood|probability)|most cases|my experience|practice|principle|theory)|(?:i|we) put|likely"
    r"|looks? like|may (?:well )?(?:be|have)|maybe|might (?:well )?(?:be|have)|most of the time|must (?:be|have)"
    r"|no doubt"
    r"|normally|obviously|often|ought to|perhaps|possibly|presum\w+|probabl[ey]|reckon|rule of thumb|seems?"
    r"|should (?:all |also |just |now |still )?(?:be|behave|do|have|hold|matter|work)|smells? like|suppos\w+"
    r"|surely"
    r"|suspect|take (?:it|that|this)|(?:will|'ll) (?:\w+ )?have|tends? to|think|trust|typical(?:ly)?|usually|(?:i'd"
    r"|would) say"
)
_SMALL = (
    r"cosmetic|harmless|innocuous|isolated|little|local|mechanical|minimal|minor|obvious|one-?liner?|one-word|safe"
    r"|self-?(?:evident|explanatory)|simple|single-line|slight|small|straightforward|tiny|trivial"
)
_FINE = r"acceptable|all right|alright|clear|correct|fine|good|ok|okay|plausible|right|sane|sensible|solid|sound|well"
_CONTENT = (
    rf"{_SMALL}|(?:be|is|are|it's|that's|looks?|reads?|seems?|sounds?) {ASIDE}(?:{_FINE})|(?:good |close )?enough"
    rf"|suffic\w+"
    r"|will do|certain|confident|convinced|sure|count on|rely on|by (?:construction|design|eye|inspection)|on paper"
    rf"|(?:judging|looking|going) (?:at|by|from) {ASIDE}(?:code|diff|logic|source|text)"
    r"|read(?:ing)? (?:it|over|that|the|through)|makes sense|the logic is|common knowledge|well[- ]known"
    r"|(?:cannot|can't|couldn't|could not|won't|not going to|hardly|unlikely to|nothing {ASIDE}(?:can|could|will"
    r"|would))"
    r" (?:\w+ )?(?:affect|alter|break|change|fail|go wrong|harm|hurt|matter)|(?:barely|hardly|scarcely) matters"
    r"|no more than|same pattern|only (?:a|an|one|two)|(?:green|passed|passing|worked) (?:before|earlier|so far)"
    r"|(?:earlier|last|old|previous) (?:\w+ )?(?:run|state|version)s? (?:had |was |were )?(?:fine|green|ok|pass\w*"
    r"|work\w*)"
).replace("{ASIDE}", ASIDE)
_SURE = (
    r"assum\w+|certain|clearly|confident|convinced|doubtless|no doubt|obvious(?:ly)?|positive|presum\w+|suppos\w+|sure"
    rf"|surely|take it|trust|(?:judging|looking|going) (?:at|by|from) {ASIDE}(?:code|diff|logic|source|text)"
    r"|(?:by|from) (?:inspection|looking|reading)|read(?:ing)? (?:the|through) |must (?:be|have)"
)
_REMEMBERED = (
    r"(?:background|my|our|own|prior) (?:\w+ )?(?:knowledge|memory|recollection|training)|from memory"
    r"|off the top of my head|i (?:happen to know|recall|remember|seem to (?:recall|remember))"
    r"|if (?:i|my memory) (?:\w+ )?(?:recall|remember|serves?)\w*"
    r"|(?:based|building|going|judging|rel(?:y|ying)) (?:by|from|on) (?:an? |the |my |what (?:i|is) )?"
    rf"{ASIDE}(?:assumptions?|estimates?|expectations?|guess|known|recollection|typical|usual)"
    r"|(?:best|educated|informed|lucky|plausible|reasonable|rough|wild) (?:assumption|estimate|guess)"
    r"|i(?:'ll| will| shall)? (?:just |simply )?(?:assume|go with|guess|settle (?:for|on))"
)


def any_of(*alternatives: str) -> re.Pattern[str]:
    """A pattern for any of these as whole words, in a text in small letters."""
    return re.compile(rf"\b(?:{'|'.join(alternatives)})(?!\w)")


NO_PROOF = any_of(GUESSES, _CONTENT)
"""A guess, or a reason to be content."""
SURE = any_of(_SURE)
"""Somebody is sure of something, or takes it for granted."""
REMEMBERED = any_of(_REMEMBERED)
"""An answer comes from memory, or is a guess."""
