"""Phrases that say as much as a word does, and by which words a sentence may take a side on which matter."""

import re
from collections import defaultdict
from collections.abc import Set

from .position_words import APPEARS, EXAMINES, FIRST, NORM, NORMS, ORDER, QUANTITIES, SIDES

_TROUBLE = "|".join(
    "behaviour behavior bug cause crash culprit delay discrepancy exception leak outage slowness timeout "
    "warning defect error failure fault issue mistake problem regression trouble".split()
)
_PHRASES = r"""
DENIED must should shall ought may can mustn shouldn > forbidden:
 (?:must|should|shall|may|can|ought to) (?:not|never)|(?:mustn|shouldn|can) t
DENIED needn > unnecessary: needn t
far anything means > not: far from|anything but|by no means|in no way
fix change correction patch repair remedy > advisable: (?:fix|change|correction|patch|repair|remedy)
 (?:belongs?|goes|(?:must|has to|needs? to|should|ought to|is to) (?:be (?:made|done|placed|applied)|go|happen))
 (?=(?:in|inside|into|within|at)\b)
there > exists: there (?:is|are|was|were)(?= )
has have had having > needs: (?:has|have|had|having) to
without > unnecessary: (?:can|could|may) (?:\w+ )?do without
dropped dispensed left omitted skipped spared > unnecessary:
 (?:can|could|may) (?:\w+ )?be (?:dispensed with|dropped|left out|omitted|skipped|spared)
DENIED called worth > not required: (?:isn t|is not|are not|aren t|not)
 (?:called for|worth (?:it|having|keeping|the \w+))
DENIED benefit call point reason sense use value > unnecessary:
 no (?:benefit|call|point|reason|sense|use|value) (?:for|in|to)
DENIED must necessity need requirement > unnecessary: (?:not|no) (?:a |any )?(?:must|necessity|need|requirement)\b
DENIED nobody nothing one > unnecessary: (?:nobody|no one|nothing) (?:asked for|asks for|calls for|needs|requires|wants)
called asked > required: (?:called|asked) for
must necessity requirement optional > required: a (?:must|necessity|requirement)\b|not optional
without > required: (?:cannot|can t|can not) do without
free liberty > allowed: free to|at liberty to
policy rules > allowed: (?:within|in line with|covered by) (?:our |the )?(?:policy|rules)
qualify qualifies > eligible: qualif(?:y|ies) for
option limits table bounds question ruled go taboo > forbidden:
 not an option|off limits|off the table|out of bounds|out of the question|ruled out|no go|taboo
policy policies rules > forbidden: (?:against|violates?|violating) (?:our |the )?(?:policy|policies|rules)
should designed expected intended > correctly: as (?:(?:it|they) should|designed|expected|intended)
order > fine: in order(?! to)
job part work > correct: (?:does|do) (?:its|their) (?:job|part|work)
approach call choice fix idea layer level move option path place solution spot thing way > advisable:
 (?:right|proper|best|correct|natural|obvious|cleanest|better|good|sound|clean)
 (?:approach|call|choice|fix|idea|layer|level|move|option|path|place|solution|spot|thing|way)
way sense > advisable: way to go|makes? sense
approach call choice idea layer level move option path place solution spot thing way > inadvisable:
 (?:wrong|bad|poor|terrible|worst|improper)
 (?:approach|call|choice|idea|layer|level|move|option|path|place|solution|spot|thing|way)
blunder hack mistake > inadvisable: (?:be|is|are) (?:a |an )?(?:big |grave |real )?(?:blunder|hack|mistake)
TROUBLE > guilty:
 (?:TROUBLE) (?:is|was|lies|lay|lives|resides|sits)(?: (?:actually|clearly|really|indeed))?
 (?=(?:in|inside|within|with)\b)
DENIED TROUBLE > not guilty:
 (?:TROUBLE) (?:(?:isn|wasn) t|(?:is|was) (?:not|never)|(?:does not|doesn t) (?:lie|live|reside|sit))
 (?=(?:in|inside|within|with)\b)
blame blamed origin reason root source behind fault > guilty: at fault|to (?:blame|be blamed)
 |the (?:origin|reason|root|source)(?= (?:for|of|why)\b)|behind (?=(?:all|our|the|this|that|it)\b)
TROUBLE slow slowness slowdown > guilty:
 (?:TROUBLE|slow\w*)(?: \w+){0,4} (?:arises?|comes?|originates?|results?|stems?) (?=from\b)
do part role > guilty: (?:everything|something|a lot) to do with|(?:has|plays) (?:a|its) (?:part|role) in
DENIED do part role hand share involved factor > innocent: nothing (?:at all )?to do with
 |no (?:part|role|hand|share) in|not (?:involved|a factor)
hook suspicion > innocent: off the hook|(?:beyond|above) suspicion
bearing effect impact influence difference > affects: (?:an|any|some|direct|real|strong)
 (?:bearing|effect|impact|influence)|makes? a difference
DENIED bearing effect impact influence difference consequence consequences > unaffected:
 (?:no|without|without any) (?:bearing|consequences?|effect|impact|influence)|makes? no difference
DENIED nothing nobody none no > unaffected: (?:affects?|changes?|touche?s?|impacts?) (?:no|nothing|none|nobody)\b
alone intact untouched > unaffected: leaves? (?:\w+ ){1,4}(?:alone|intact|untouched)
breaks breaking break > incompatible:
 (?:breaks?|breaking) (?:\w+ ){0,3}(?:api|callers|change|clients|code|compatibility)
breaks breaking broken > compatible: (?:non|not|no) breaking|breaks (?:nothing|nobody|no)|nothing (?:is broken|breaks)
compatibility > compatible: (?:keeps|preserves|retains) (?:\w+ ){0,2}compatibility
DENIED nothing word > silent:
 (?:contains?|gives?|has|lists?|mentions?|offers?|reveals?|says?|shows?|states?|tells?)
 (?:us |me |you )?(?:nothing|no word)
DENIED details detail information mention trace silent > silent:
 no (?:details?|information|mention|trace) (?:about|of|on)|silent (?:about|on)
spells spelled speaks > states: spell(?:s|ed) out|speaks? of
complaint complaints error errors failure failures hitch issue issues problem problems > succeeds:
 (?:without|no) (?:a |any |one |a single )?(?:complaints?|errors?|failures?|hitch|issues?|problems?)
through clean cleanly > succeeds: (?:goes|went|gets|got) through|runs? clean(?:ly)?|comes? out clean
DENIED work > fails: (?:does|do|did|doesn|don|didn) (?:not|t) work
blows blew errors errored falls goes > fails: (?:blows|blew|errors|errored) (?:out|up)|falls over|goes red
there mine > preexisting: (?:was|were|is|are) (?:already )?there (?:already|before)|not (?:mine|ours|my doing)
scope task ticket request > outscope: (?:out of|outside|beyond)(?: of)? (?:the )?scope
 |(?:no|not) (?:a )?part of (?:the|this|our) (?:task|ticket|issue|request)
scope task ticket request > inscope: (?:in|within) (?:the )?scope
 |part of (?:the|this|our) (?:task|ticket|issue|request)
stock sold > instock: (?:in|on) stock
stock sold > outstock: out of stock|sold out
date > uptodate: up to date
date > outdated: out of date
standing > goodstanding: in good standing
on > enabled: (?:is|are|was|were|left|stays?|switched|turned) on(?= by default| *$)
off > disabled: (?:is|are|was|were|left|stays?|switched|turned) off(?= by default| *$)
DENIED different same common alike > same: no different|one and the same
DENIED common alike > different: nothing in common|not alike
reaching > large: far reaching
charge cost charges fee fees costs > free: free of charge
 |(?:at|for)? ?no (?:additional |extra )?(?:charge|cost|fee)s?|costs? (?:you )?nothing
 |without (?:a |any )?(?:charge|cost|fee)
charge cost fee pay > chargeable:
 (?:there is|carries|comes with|incurs) an? (?:\w+ ){0,2}(?:charge|cost|fee)|(?:have to|must|need to) pay
trick job > enough: does the (?:job|trick)
short few little > insufficient: (?:falls|fall|fell) short|too (?:few|little)
"""
"""Phrases that say as much as a word does: by which words they are known, the word, the pattern. With `DENIED` there is
a negation in them."""
_END = r"(?!\w)"
PHRASES: list[tuple[frozenset[str], bool, str, re.Pattern[str]]] = []
"""By which words they are known, whether a negation is in them, the word, the pattern."""
for _entry in _PHRASES.strip().replace("\n |", "|").replace("\n ", " ").splitlines():
    _known, _, _rest = _entry.partition(" > ")
    _word, _, _pattern = _rest.partition(": ")
    _knowns = _known.replace("TROUBLE", _TROUBLE.replace("|", " ")).split()
    _compiled = re.compile(rf"\b(?:{_pattern.replace('TROUBLE', _TROUBLE)}){'' if '(?=' in _pattern else _END}")
    PHRASES.append((frozenset(_knowns) - {"DENIED"}, "DENIED" in _knowns, _word, _compiled))
_BY_WORD: dict[str, list[int]] = {}
"""The places of the phrases that a word may be a part of."""
for _place, _phrase in enumerate(PHRASES):
    for _part in _phrase[0]:
        _BY_WORD.setdefault(_part, []).append(_place)
_places: dict[str, int] = {}
_ALL = 64
"""Matters are not more than that."""
MATTER_BITS = 2 * _ALL
"""Of all matters, with both sides of each."""


def _bit(matter: str, side: int) -> int:
    """The bit of a matter: below for the one side of it, above for the other."""
    place = _places.setdefault(NORM if matter in NORMS else matter, len(_places))
    return 1 << place if side > 0 else 1 << (place + _ALL)


def reversed_sides(matters: int) -> int:
    """The same matters, each on the other side."""
    return matters >> _ALL | (matters & (1 << _ALL) - 1) << _ALL


MATTERS: dict[str, int] = defaultdict(int)
"""By word the matters on which it may take a side."""
DENIED_MATTERS: dict[str, int] = defaultdict(int)
"""By word the matters on which it may take a side next to a negation."""
for _word, (_matter, _side) in SIDES.items():
    MATTERS[_word] |= _bit(_matter, _side)
for _found, _denies, _word, _compiled in PHRASES:
    for _word_of in _found if _word != "not" else ():
        _matter, _side = SIDES[_word.removeprefix("not ")]
        (DENIED_MATTERS if _denies else MATTERS)[_word_of] |= _bit(_matter, _side)
for _word, _side in QUANTITIES.items():
    MATTERS[_word] |= _bit("count", _side)
for _word in FIRST:
    MATTERS[_word] |= _bit(ORDER, 1) | _bit(ORDER, -1)
for _word in APPEARS:
    MATTERS[_word] |= _bit("year", 1) | _bit("year", -1)
for _word in EXAMINES:
    MATTERS[_word] |= _bit("did", 1)
DONE_BY_US = _bit("did", 1) | _bit("did", -1)
NORM_BITS = _bit(NORM, 1) | _bit(NORM, -1)


_ON_BOTH_SIDES = frozenset((NORM, ORDER, "year"))
"""Matters with more than two sides, or where the side does not tell what is excluded."""


def matter_bits(matter: str, side: int) -> int:
    """The bits of a position: those of its matter and side, or of both sides where there are more than these two."""
    matter = matter.partition(" ")[0]  # `count files`
    return _bit(matter, 1) | _bit(matter, -1) if matter in _ON_BOTH_SIDES else _bit(matter, side)


def phrases_for(words: Set[str], *, denied: bool) -> tuple[int, ...]:
    """The places of the phrases that a sentence with these words may have."""
    telling = _BY_WORD.keys() & words
    if not telling:
        return ()
    places = sorted({place for word in telling for place in _BY_WORD[word]})
    return tuple([place for place in places if denied or not PHRASES[place][1]])
