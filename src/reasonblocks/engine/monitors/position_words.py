"""The matters on which a statement takes one side or the other, and the everyday words for either side.

One matter a line. Before `=` are the words for the one side, after it those for the other; a negation changes sides.
"""

from .opposites import NEGATES

_MATTERS = """
need: need needs needed necessary required requires require mandatory obligatory compulsory indispensable vital
 imperative prerequisite
 = optional unnecessary unneeded needless superfluous dispensable pointless overkill unrequired
duty: must should ought shall supposed
 =
leave: may can allowed permitted permissible possible acceptable eligible entitled feasible viable welcome permits
 refundable changeable cancellable returnable exchangeable modifiable transferable upgradable
 permit allows tolerated
 = cannot forbidden nonrefundable nonchangeable nonreturnable nontransferable prohibited disallowed barred impossible
 unacceptable ineligible prohibits forbids banned infeasible
 impermissible unfeasible inadmissible
advice: advisable sensible preferable wise recommended reasonable
 = inadvisable misguided unwise
right: fine correct right sound accurate proper flawless valid correctly properly
 = wrong incorrect broken flawed faulty buggy defective inaccurate improper invalid erroneous mistaken wrongly
 incorrectly
blame: guilty culprit responsible cause causes caused causing triggers triggered produces introduces introduced
 = innocent blameless uninvolved
safe: safe harmless secure riskless innocuous safely
 = unsafe risky dangerous harmful insecure hazardous
compatible: compatible
 = incompatible
bears: affects affect affecting affected impacts impact impacted influences influence influenced concerns matters
 matter relevant
 involves involved dependent depends depend hinges
 = unaffected irrelevant unimpacted independent unrelated immaterial untouched
scope: inscope
 = outscope
stock: instock
 = outstock
fresh: uptodate
 = outdated stale
standing: goodstanding
 = arrears overdue
there: exists exist existing existed present available has have had contains contain includes include included defines
 provides offers carries
 = lacks lack missing absent nonexistent unavailable omits
told: says say states state mentions mention specifies specify documents documented tells describes names explains
 = undocumented unmentioned unspecified silent
used: used uses use called calls referenced imported consumed
 = unused uncalled unreferenced dead
support: supports support supported accepts accept accepted handles handle handled understands recognises recognizes
 copes honours honors respects
 = unsupported rejects reject rejected ignores ignored refuses refused disregards
passes: pass passes passed passing succeeds succeeded succeed succeeding green works
 = fail fails failed failing failure failures red crashes crashed
happens: happens happen occurs occur arises arise happening reproducible
 =
trust: reliable trustworthy authoritative credible dependable
 = unreliable untrustworthy dubious doubtful
enough: enough sufficient suffices adequate
 = insufficient inadequate
known: known certain established settled proven
 = unknown uncertain undecided unproven unsettled
same: same identical equal equals matches agrees equivalent
 = different differs differ unequal deviates disagrees distinct
complete: complete finished exhaustive full entire whole
 = incomplete unfinished partial fragmentary
narrow: small local limited contained minimal narrow confined localised localized isolated tiny
 = large wide broad sweeping extensive global massive widespread
lasting: permanent lasting
 = temporary provisional
public: public exported
 = private
new: new recent
 = old preexisting longstanding
on: enabled active activated
 = disabled inactive deactivated suspended blocked
open: open unlocked unresolved
 = closed locked resolved
covered: covered insured
 = uncovered uninsured
free: free gratis complimentary
 = chargeable
paid: paid billed charged settled
 = unpaid outstanding
deprecated: deprecated obsolete
 = maintained
lazy: lazy lazily
 = eager eagerly
sync: synchronous
 = asynchronous async
ordered: sorted ordered
 = unsorted unordered
mutable: mutable
 = immutable
manual: manual manually
 = automatic automatically
inner: internal
 = external
direct: direct nonstop
 = indirect
simple: simple easy trivial straightforward
 = complex complicated difficult hard
unique: unique
 = duplicate duplicated repeated
"""
RELATES = frozenset("bears same support there told used".split())
"""Matters between one thing and another: both have to be the same."""
QUALITIES = frozenset(
    "complete covered deprecated direct enough free inner known lasting lazy manual mutable narrow new open ordered "
    "passes public right safe same simple sync trust unique".split()
)
"""What is said of a thing by `is`; before a noun it tells one thing from another."""
TRIED = frozenset("happens passes right".split())
"""What is found out again by whatever is run."""
LASTS = frozenset(
    "norm year leave advice told trust narrow done compatible new lasting blame simple safe order".split()
)
"""What is held on these matters does not change with what is done to the thing."""
SIDES: dict[str, tuple[str, int]] = {}
"""By word the matter, and the side."""
for _line in _MATTERS.strip().replace("\n ", " ").splitlines():
    _matter, _, _words = _line.partition(": ")
    for _side, _part in zip((1, -1), _words.split("="), strict=True):
        for _word in _part.split():
            SIDES.setdefault(_word, (_matter, _side))
APPEARS = frozenset(
    "appeared came dated dates date founded issued launched opened printed published publication released release "
    "written".split()
)
"""With these a year tells when a thing came to be."""
FIRST = {"before": True, "precedes": True, "after": False, "follows": False}
"""Whether what stands before such a word comes first."""
DENIALS = NEGATES | frozenset("lack lacks mustn needn nobody shouldn zero".split())
"""Words that deny."""
QUANTITIES = {
    **dict.fromkeys("one only single sole".split(), 1),
    **dict.fromkeys(
        "countless dozens hundreds many multiple numerous plenty several thousands two three four five six seven eight "
        "nine ten various".split(),
        -1,
    ),
}
"""Words for one, and for more than that."""
ORDER = "order"
"""The matter of which of two things comes first."""
NORM = "norm"
"""The matter of whatever is to be, or may be."""
DEMANDED, ALLOWED, FORBIDDEN, SPARED = 1, 2, -1, -2
NORMS = {
    "need": {1: DEMANDED, -1: SPARED, 0: 0},
    "duty": {1: DEMANDED, -1: FORBIDDEN, 0: 0},
    "leave": {1: ALLOWED, -1: FORBIDDEN, 0: 0},
}
"""What is said on matters that are one in the end: what must not be is neither needed nor allowed."""
EXCLUDING_NORMS = frozenset(
    {frozenset((DEMANDED, SPARED)), frozenset((DEMANDED, FORBIDDEN)), frozenset((ALLOWED, FORBIDDEN))}
)
EXAMINES = {
    form: verb
    for verb, forms in {
        "reproduce": "reproduce reproduced",
        "check": "check checked",
        "verify": "verify verified confirm confirmed",
        "test": "test tested",
        "run": "run ran",
        "read": "read",
        "open": "open opened",
        "look": "look looked inspect inspected examine examined",
        "ask": "ask asked",
        "contact": "contact contacted",
        "visit": "visit visited",
        "see": "see saw seen",
    }.items()
    for form in forms.split()
}
"""What somebody did once, and has done ever since."""
GUESSES = frozenset(
    "assume assuming expect guess hope imagine likely may maybe might perhaps possibly presumably probably seem seemed "
    "seems suspect suspects think unclear unsure wonder".split()
)
UNREAL = frozenset("could couldn d ll will won would wouldn".split())
TELL_OF_CHANGE = frozenset("anymore yet now instead previously formerly originally used".split())
"""With one of these a clause tells of a change, or of an order of things."""
DEGREES = frozenset(
    "always completely entirely exactly fully just merely much necessarily only quite really so".split()
)
"""A negation before one of these denies the degree."""
REPORTS = frozenset(
    "claim claimed claims mentions read reads reported reports said say says stated states suggests".split()
)
"""What follows is what somebody else says."""
DENIED_AFTER = frozenset(
    "accepts affects calls concerns contains covers defines describes documents exists explains handles has have "
    "includes matters mentions needs offers provides requires says states supports tells uses".split()
)
"""After these it may be denied what they speak of: `handles no lists`."""
OVER = frozenset("a an as by from in into it on only the them through to".split())
"""What is passed to something does not pass."""
HANDS = frozenset("pass passed passes passing".split())
HELPS = frozenset("had has have".split())
NO_COUNT = frozenset("another any each every last next no other that the this which".split())
IN_BEFORE = frozenset(
    "along base beginning before clean had has original outset pre preexisting prior pristine start unmodified "
    "untouched was without".split()
)
EMPTY = frozenset("already also clearly doing done even every everything indeed itself note thing way".split())
