"""What can be held of a thing so that its opposite excludes it, as words: one question a line.

Before `=` are the words that answer yes, after it those that answer no. A negation turns either round.
"""

from .claim_words import HOW_MANY
from .opposites import EXCLUSIVE, NEGATES
from .words import word_set

_QUESTIONS = """
blame: culprit culprits bug bugs buggy fault faulty defect defective broken wrong incorrect bad blame blamed guilty
 offender offending misbehaves breaks mishandles miscalculates miscomputes overflows overflow exceeds corrupts flawed
 leaks leak leaking mistake mistaken responsible misfires wrongly
 = fine correct correctly harmless innocent blameless sound innocuous flawless properly
there: exist exists existing existed defines define defined contains contain has have had includes include included
 offers carries lists list provides implements implemented holds covers covered present available there finds stored
 ships comes declares declared found
 = missing lacks lack lacking absent nowhere misses omits nonexistent undefined without uncovered
heeds: uses use used honours honors honoured honored respects respected considers considered reads consults
 applies checks obeys heeds handles handled evaluates inspects looks calls invokes supports supported accepts accepted
 forwards propagates catches catch caught validates observes follows follow recognises recognizes
 = ignores ignored ignoring disregards disregarded skips skipped bypasses bypassed overlooks neglects drops dropped
 discards unused unsupported rejects rejected refuses swallows unhandled uncaught
runs: called invoked executed reached reach reaches triggered runs evaluated
 = uncalled unreachable unreached
done: changed altered edited modified touched updated fixed adjusted patched implemented rewritten cast converted
 reworked
 = untouched unchanged unmodified unedited unaltered
proved: confirmed verified authenticated validated proven identified
 = unconfirmed unverified unauthenticated unproven unidentified
wanted: must required requires require requirement requested wants wanted asks demands demanded expects expected
 mandatory obligatory necessary should supposed insists specifies needs needed
 = optional unnecessary unwanted needless forbidden prohibited superfluous
allowed: can may allowed allows permitted permits possible eligible qualifies qualify refundable changeable cancellable
 returnable exchangeable entitled modifiable
 = cannot impossible ineligible disqualified nonrefundable nonchangeable barred
insured: insured insurance = uninsured
true: true = false
active: active enabled = inactive disabled deactivated
safe: safe secure = unsafe insecure
paid: paid charged billed = unpaid
kept: caches cached memoises memoizes = recomputes recomputed recalculates uncached
alters: mutates modifies alters overwrites = preserves
same: same identical shared = fresh separate distinct
direct: direct nonstop = connecting layover layovers stopover stopovers indirect
running: running ongoing unfinished = finished stopped completed
open: open unresolved = closed resolved
equal: equal equals matches match = differs differ unequal mismatch
"""
_KINDS = frozenset("cabin order tier".split())
QUESTIONS: dict[str, tuple[str, bool]] = {}
"""By word the question that it answers, and how."""
for _entry in _QUESTIONS.strip().replace("\n ", " ").splitlines():
    _name, _, _words = _entry.partition(": ")
    _yes, _, _no = _words.partition(" = ")
    QUESTIONS |= {word: (_name, True) for word in _yes.split() if word not in QUESTIONS}
    QUESTIONS |= {word: (_name, False) for word in _no.split() if word not in QUESTIONS}
DEEDS = frozenset(
    "added booked cancelled canceled committed completed deleted deployed exchanged installed issued merged refunded "
    "removed returned saved sent submitted transferred upgraded written".split()
)
"""What is done or not done yet, each a question of its own."""
STATUSES = {word: kind for word, kind in EXCLUSIVE.items() if kind in _KINDS}
"""By word the kind of state that it is one of, for kinds of which a thing is in one at a time."""
REACHED = frozenset("cancelled canceled refunded returned".split())
"""States that a thing comes to by what is done about it."""
NEGATIONS = NEGATES | frozenset("mustn needn shouldn zero".split())
NEEDED = {
    "active": 1,
    "alters": 2,
    "allowed": 1,
    "blame": 1,
    "count": 1,
    "date": 1,
    "direct": 1,
    "done": 1,
    "equal": 3,
    "from": 1,
    "heeds": 2,
    "insured": 1,
    "kept": 1,
    "open": 1,
    "number": 1,
    "paid": 2,
    "proved": 1,
    "running": 1,
    "runs": 2,
    "safe": 2,
    "same": 3,
    "status": 1,
    "there": 2,
    "to": 1,
    "true": 2,
    "wanted": 2,
}
"""By question how much two sentences must have in common, names and ideas, for it to be asked of the same thing."""
OF_TWO = frozenset("allowed equal heeds runs same there wanted".split())
"""Questions about one thing and another: all that is named has to be the same."""
OF_SOMETHING = frozenset("equal heeds runs same".split())
"""Questions about what somebody or something does: the same names beside it do not make it the same doing."""
WITH_AN_OBJECT = frozenset("allowed there".split())
"""Questions that are only the same if what is allowed, or there, is."""
OF_A_PERSON = "status tier"
"""Whoever has such a state is the one that is spoken with."""
TOLD_BY_NOTHING = frozenset("did done wanted".split())
"""No look at a thing tells whether the agent itself did something, or what was asked for."""
TO_A_PLACE = frozenset(
    "arrives bound destination ending ends flies flying goes going heading heads lands travels".split()
)
FROM_A_PLACE = frozenset("departs departing leaves originates origin starting starts".split())
_TELLING_PHRASES = frozenset(
    "account alone designed effect impact influence intended off original progress ruled state table unrelated".split()
)
"""With one of these a phrase may answer any question."""
DENYING = (
    NEGATIONS
    | {"down", "remains", "still", "t", "yet"}
    | {word for word, (_, yes) in QUESTIONS.items() if not yes}
    | _TELLING_PHRASES
)
"""Without one of these a sentence denies nothing."""
VALUED = STATUSES.keys() | (HOW_MANY.keys() - {"one"}) | TO_A_PLACE | FROM_A_PLACE
ANSWERS = QUESTIONS.keys() | STATUSES.keys() | DEEDS | _TELLING_PHRASES | {"down", "up"}
ANSWERING = word_set(QUESTIONS) | word_set(STATUSES) | word_set(DEEDS)
TRANSITIVE = frozenset(
    "carries contain contains covers define defines finds had has have holds implements include includes lack lacks "
    "lacking list lists misses offers omits provides without".split()
)
"""Of these it is what follows that is there or not; of the other words it may stand on either side."""
NOTHING_OF_IT = frozenset("neither no none nothing zero".split())
"""After a verb these deny it."""
TROUBLE = frozenset(
    "breakage bug crash crashes defect error errors exception fail failing fails failure fault issue leak mismatch "
    "overflow problem regression symptom trouble wrong".split()
)
"""What comes from somewhere, and puts the blame on it."""
_IS_SWITCHED = "(?:is|are|was|were|left|leaves|stays?|switched|turned)"
_IS_UP = r"(?:is|are|was|were|been|stayed|stays)(?: already| back| still)?"
PHRASES: tuple[tuple[str, str, str], ...] = (
    ("t", r"\bcan['\u2019]t\b", "cannot"),
    ("account", r"\btak(?:es?|ing) (?:\S+ ){0,4}into account\b", "considers"),
    ("bearing effect impact influence", r"\b(?:no|without(?: any)?) (?:bearing|effect|impact|influence)\b", "ignored"),
    ("alone", r"\bleaves? (?:\S+ ){1,3}alone\b", "preserves"),
    ("original", r"\bin (?:its|their) original (?:form|state)\b", "unchanged"),
    ("designed expected intended should", r"\bas (?:(?:it|they) should|designed|expected|intended)\b", "correctly"),
    ("do unrelated", r"\b(?:ha[ds]|have) nothing to do with\b|\bunrelated to\b", "blameless"),
    ("job part", r"\bdoes (?:all )?(?:its|the|their) (?:job|part|work)\b", "correctly"),
    ("right", r"\b(?:is|are|was) (?:all |quite )?right\b(?! (?:after|before|here|now|there))", "is correct"),
    ("blame fault involved", r"\bnot (?:at fault|involved|to blame)\b", "blameless"),
    ("question ruled table", r"\b(?:off the table|out of the question|ruled out)\b", "unwanted"),
    ("have need needs", r"\bd(?:id|o|oes) not (?:have|need) to\b|\b(?:needs? no|no need|need not)\b", "not required"),
    ("still yet", r"\b(?:still|yet) (?:has|have|needs?) to be\b|\b(?:still|yet) to be\b", "not"),
    ("on", rf"\b{_IS_SWITCHED} (?:\S+ )?on(?= by default|[,.;]|$)", "enabled"),
    ("off", rf"\b{_IS_SWITCHED} (?:\S+ )?off(?= by default|[,.;]|$)", "disabled"),
    (
        "up",
        rf"\b{_IS_UP} up(?= and running| (?:again|all|during|now|since|the whole|throughout)\b|[,.;]|\s*$)",
        "running",
    ),
    ("down", rf"\b{_IS_UP} down(?= (?:again|all|during|now|since|the whole|throughout)\b|[,.;]|\s*$)", "stopped"),
    ("progress underway", r"\b(?:in progress|underway)\b", "running"),
    ("file place", r"\b(?:in place|on file)\b", "present"),
)
"""Words of which one is in a phrase, the pattern of it, and a word that says the same."""
QUESTION_BITS = {
    question: 2 << place
    for place, question in enumerate(["did", "status", *sorted({name for name, _ in QUESTIONS.values()})])
}
QUESTION_BITS["status"] |= 1  # of which one excludes the other as numbers do
OF_MANY = sum(bit for question, bit in QUESTION_BITS.items() if NEEDED.get(question, 1) > 1)
"""Those that two sentences must have more in common for than one thing."""
_ANY = -2
"""A phrase may answer any question."""
ASKED: dict[str, int] = {
    **{word: QUESTION_BITS[question] for word, (question, _) in QUESTIONS.items()},
    **dict.fromkeys(DEEDS | STATUSES.keys(), QUESTION_BITS["did"] | QUESTION_BITS["status"]),
    **dict.fromkeys(_TELLING_PHRASES, _ANY),
    **dict.fromkeys(TROUBLE - QUESTIONS.keys(), QUESTION_BITS["blame"]),
    "no": QUESTION_BITS["there"],
    **dict.fromkeys(("down", "up"), QUESTION_BITS["running"]),
}
"""By word the questions that it may answer, a bit for each."""
