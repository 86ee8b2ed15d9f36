"""How the end of a piece of work is put into words: that it is done, that it was never tried, that something failed.

People and models say so in many ways. What is looked for here are the few words that turn a sentence one way or the
other; whether a step ends the work at all is told first by what it does (`verification_skip`).
"""

import re
from functools import lru_cache
from itertools import islice

from .deeds import reported_deeds
from .features import quote
from .quick import lower, quick, quick_pattern, quick_phrases
from .words import phrases

_MOST_MATCHES = 32
_MOST_REMEMBERED = 16
"""Texts of which is remembered what they say: one message is asked about by several."""
_FEW_WORDS = 2
_BEFORE = 120
"""Characters in front of a word that say what it is about."""
_END = 240
"""Characters at the end of a message that say whether the work goes on."""

_FINISHED = quick(
    r"accomplished|added|addressed|all set|applied|complete|completed|corrected|created|done|final answer|finished"
    r"|fixed|implemented|in place|patched|ready|resolved|solved|sorted|taken care of|updated|works|working|wrapped up"
    r"|good to go|should do it|should be (?:fine|good|it|enough)|that'?s (?:it|all|everything)"
)
_RESOLVES = re.compile(
    r"\b(?:change|code|commit|fix|it|patch|that|this)\b[^.\n]{0,30}\b(?:addresses|completes|concludes|fixes|resolves"
    r"|solves"
    r"|takes care of|wraps up)\b",
    re.IGNORECASE,
)
_IN_RESOLVES = ("addresses", "completes", "concludes", "fixes", "solves", "takes care of", "wraps up")
"""One of these is in whatever matches."""
_BY_ITSELF = frozenset(
    ("all set", "final answer", "good to go", "should do it", "taken care of", "wrapped up", "that's it", "that's all")
)
_OF_THE_WORK = re.compile(
    r"(?:\b(?:task|issue|problem|bug|fix|feature|implementation|work|everything|it|this|that|solution|patch|change|code"
    r"|job|request|tasks|steps|requirements|changes|issues|bugs|fixes)\b[^.\n]{0,60}\b(?:is|are|has been|have been|was"
    r"|were|'s)\b|\bI(?:['\u2019]ve| have| am|['\u2019]m)?|\bwe(?:['\u2019]re| are|['\u2019]ve| have)|\bnow"
    r"|successfully)"
    r"[^.\n]{0,25}$",
    re.IGNORECASE,
)
_ALONE = re.compile(r"(?:^|[.!\n])\W{0,8}(?:all |and |we're |i'm |now |everything )?$", re.IGNORECASE)
"""A word of completion right after this is a sentence of its own: `Done.`"""
_STILL_TO_COME = quick_phrases(
    "after, almost, before, can be, could be, if, must be, nearly, need*, not, once, partially, partly, should be",
    "should have been, to be, unless, until, when, whether, will be, would be",
)
_ENDS_HERE = (
    r" (?:also |just |now |simply )?(?:assume|call|conclude|consider|end|finish|go with|hand|leave|n[o']t|settle"
    r"|skip|spare"
    r"|stop|submit|wrap)\b"
)
"""What somebody will do who does no more."""
_GOES_ON = re.compile(
    r"\b(?:before (?:i|we)|going to|i (?:need|shall|should|still|want|will)"
    rf"(?!{_ENDS_HERE})|i['\u2019]ll(?!{_ENDS_HERE})|let me(?! know)|let us"
    r"|let['\u2019]s|(?<!the )(?<!your )(?<!our )next|now to|then i|wait|we (?:need|should|will))\b",
    re.IGNORECASE,
)
_AFTER_A_QUESTION = " \n\t\"'*)}]"

_TRIAL = (
    r"[^.\n]{0,60}\b(?:test|tests|tested|testing|run(?! into)|ran|running|verif\w+|try|tried|check\w*"
    r"|execut(?:e|ed|es|ing|ion)|confirm\w*|validat\w+|reproduc\w+|compil\w+|environment|sandbox|access)"
)
_FLAWS = r"(?! (?:any )?(?:errors?|failures?|issues?|problems?|warnings?)\b)"
_TRY_IT = r" (?:now |then )?(?:run|test|tested|verify|verified|check|checked|try|tried)"
_NEVER_TRIED = quick_pattern(
    rf"un(?:tested|verified|checked|able)|not\b{_TRIAL}|never\b{_TRIAL}|cannot\b{_TRIAL}|hard\b{_TRIAL}"
    rf"|impossible\b{_TRIAL}|nor\b{_TRIAL}|no\b{_FLAWS}{_TRIAL}|without\b{_FLAWS}{_TRIAL}"
    rf"|please{_TRY_IT}|you (?:can|could|may|might|should|will need to|need to){_TRY_IT}|remains to be{_TRY_IT}"
    rf"|yet to be{_TRY_IT}|still (?:needs?|has) to be{_TRY_IT}|revert(?:ed|ing)?"
    r"|no (?:code )?changes? (?:was|were|is|are|needed|required)",
    rf"n['\u2019]t\b{_TRIAL}\b",
)
"""A gap that is admitted is no conclusion without proof."""
_WAVED_AWAY = re.compile(
    r"\b(?:no (?:need|reason|point)|not (?:necessary|needed|required|worth)|unnecessary|need ?n['\u2019]t"
    r"|(?:do|does|did)(?:n['\u2019]t| not) (?:need|require|bother)|skip(?:ped|ping)?"
    r"|without (?:bothering|running|testing))\b"
    r"[^.\n]{0,50}\b(?:test\w*|run\w*|re-?run\w*|verif\w+|check\w*|validat\w+|confirm\w*|double-check\w*)\b",
    re.IGNORECASE,
)

_FAILURE_WORDS = re.compile(r"(?:fail\w*|errors?|exceptions?|traceback|crash\w*|broken|warnings?)\b")
"""For text in small letters, and whatever stands before them."""
_NO_FAILURE = re.compile(
    r"\b(?:no|without|zero|0|free of|any|fix\w*|resolv\w*|address\w*|handl\w*|prevent\w*|avoid\w*|eliminat\w*"
    r"|correct\w*|remov\w*|solv\w*|repair\w*|rais\w*|proper)\b[^.\n]{0,60}$",
    re.IGNORECASE,
)
_OWNS_FAILURE = quick_phrases(
    "although, apart from, aside from, because, broke, cannot, can't, caused by, couldn't, could not, despite",
    "didn't, did not, does not, doesn't, due to, environment, even though, even without, except, expected to fail",
    "fails even, flaky, however, ignor*, is not, isn't, known, limitation*, missing, network access",
    "network connect*, network error*, network is blocked, network is disabled, network is down, network issue*",
    "network problem*, network restrict*, nonetheless",
    "not able, not available, not found, not installed, other than, pre-existing, preexisting, regardless, remain*",
    "no network, sandbox, still, timed out, timeout, unable, unavailable, unfortunately, unrelated, was not, wasn't",
    "warning, without network, wrong",
)

_OPENING = 400
_KEY = re.compile(r"[{}]\s*|\"\w{1,60}\"\s*:\s*\"?")
"""What a message in JSON has around its text."""
_PARTS = re.compile(r"(?<=[.!?])\s|\n|\\n")
_CONDITION = re.compile(r"\W{0,6}(?:if|in case|once|should|when|whenever|unless)\b", re.IGNORECASE)
_REQUEST = re.compile(
    r"\bplease (?:\w+ly )?(?:choose|clarify|confirm|give|indicate|pick|provide|reply|respond|select|share|specify"
    r"|tell)\b|\b(?:could|can|would|will) you\b|\b(?:shall|should|may) (?:i|we)\b|\bdo you\b",
    re.IGNORECASE,
)
_ANYTHING_ELSE = re.compile(r"\b(?:additional|else|further|(?<!once )more|other)\b", re.IGNORECASE)
_OPEN = phrases(
    "accepted, as soon as, await*, being, check back, expect*, going through, in progress, in the queue, is pending",
    "are pending, still pending, now pending, pending approval, pending confirmation, pending review, processing",
    "queue*, received, requested, soon, shortly, submitted, under review, underway, under way, wait*, yet, once, until",
)
_FACT = re.compile(
    r"(?:\b(?:am|are|been|has|have|is|was|were)|(?<!\blet)['\u2019](?:s|re|ve|m)) "
    r"(?:(?:all|both|just|now|been|\w+ly) ){0,3}(?:(?!need|proceed|indeed)\w+ed|active|carried out|complete|done|good"
    r"|in (?:effect|place)|live|made|ready|sent|set|through)\b|\bsuccess(?:ful|fully)?\b"
    r"|\b(?:now that|with) [^.,;\n?]{1,60} (?:all|both|now) (?!need)\w{3,}ed\b",
    re.IGNORECASE,
)
"""A state that something is said to have reached."""
_CHANGED = re.compile(
    r"(?:\b(?:been|has|have|was|were|(?:are|is) now)|['\u2019]ve) (?:(?:all|both|just|now|been|\w+ly) ){0,3}"
    r"(?:(?!need|proceed|indeed)\w+ed|carried out|done|made|sent|set)\b"
    r"|\b(?:are|is) now\b|['\u2019](?:re|s) [^.,\n]{0,40}\bnow\b|\byou['\u2019]re (?:all )?\w+ed\b"
    r"|^\W{0,4}\w{3,}ed[.!]",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"(?:\b(?:cannot|never|no|none|not|nothing)\b|n['\u2019]t\b)"
    r"(?! (?:additional|extra|further|(?:have|need) to|hesitate|problem|worr))"
    r"|(?<!without )(?<!no )(?<!any )(?<!the )\b(?:appears?(?! (?:as|at|in|on|under|with)\b)"
    r"|difficulties|issues?|looks? like|problems?|seems?"
    r"|trouble)\b",
    re.IGNORECASE,
)
_FIRST = 160
"""Characters in which a message says whether something was done at all."""
_ANSWER = re.compile(r"\b(?:answer|conclusion|result|solution)\b\W{0,4}(?::|=|\bis\b)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?\n]|\\n")
_CLAUSE_END = re.compile(r"[.!?;\n]|\\n|\b(?:although|but|though|whereas|while|yet)\b")


@lru_cache(maxsize=_MOST_REMEMBERED)
def called_done(text: str) -> str | None:
    """The words that call the work done, or `None`."""
    # From each word that ends something back to its subject: the other way round, crafted text costs far more.
    lowered = lower(text)
    for start, end in islice(_FINISHED.places(lowered), _MOST_MATCHES):
        before = text[max(0, start - _BEFORE) : start]
        sentence = _SENTENCE_END.split(before)[-1]
        if _STILL_TO_COME.are_in(lower(sentence)):
            continue
        word = text[start:end]
        if lowered[start:end] in _BY_ITSELF or _ALONE.search(before[-20:]):
            return quote(f"{sentence}{word}")
        if _OF_THE_WORK.search(sentence) or _is_all(sentence, text[end : end + 1]):
            return quote(f"{sentence}{word}")
    resolves = _RESOLVES.search(text) if any(map(lowered.__contains__, _IN_RESOLVES)) else None
    return quote(resolves.group()) if resolves else None


def _is_all(before: str, after: str) -> bool:
    """Whether a word ends a sentence of two or three words: `Task finished.`"""
    return after in (".", "!", "") and len(before.split()) <= _FEW_WORDS


@lru_cache(maxsize=_MOST_REMEMBERED)
def goes_on(text: str) -> bool:
    """Whether a message ends with a question, other than for more to do, or with what comes next."""
    end = text[-_END:]
    mark = len(end.rstrip(_AFTER_A_QUESTION)) - 1
    if mark >= 0 and end[mark] == "?" and not _for_more(end, mark):
        return True
    return _GOES_ON.search(end) is not None


def admits_no_trial(text: str) -> bool:
    """Whether it says itself that nothing was tried; that nothing has to be is no such thing."""
    return _NEVER_TRIED.search(lower(text)) is not None and _WAVED_AWAY.search(text) is None


def owns_failure(text: str) -> bool:
    """Whether a text speaks about a failure, rather than of one that is gone."""
    if not text:
        return False
    lowered = lower(text)
    if _OWNS_FAILURE.are_in(lowered):
        return True
    for match in islice(_FAILURE_WORDS.finditer(lowered), _MOST_MATCHES):
        before = _CLAUSE_END.split(lowered[max(0, match.start() - _BEFORE) : match.start()])[-1]
        if not _NO_FAILURE.search(before):
            return True
    return False


@lru_cache(maxsize=_MOST_REMEMBERED)
def opening(text: str) -> str:
    """The first sentences of a message, without those about what may be: there it says how things are."""
    said = _KEY.sub("", text[:_OPENING])
    return " ".join([part for part in _PARTS.split(said) if part.strip() and not _CONDITION.match(part)])


@lru_cache(maxsize=_MOST_REMEMBERED)
def asks(text: str) -> bool:
    """Whether a message asks for something, other than whether there is anything else."""
    request = _REQUEST.search(text)
    if request and not _ANYTHING_ELSE.search(text, request.end(), request.end() + _BEFORE):
        return True
    mark = text.find("?")
    for _ in range(_MOST_MATCHES):
        if mark < 0:
            return False
        if not _for_more(text, mark):
            return True
        mark = text.find("?", mark + 1)
    return False


def _for_more(text: str, mark: int) -> bool:
    """Whether the question that ends here only asks whether there is anything else."""
    return _ANYTHING_ELSE.search(_SENTENCE_END.split(text[max(0, mark - _BEFORE) : mark])[-1]) is not None


def leaves_open(text: str) -> bool:
    """Whether a text says that something is not settled yet."""
    return _OPEN.search(text) is not None or owns_failure(text)


def gives_answer(text: str) -> bool:
    """Whether a text states what the answer is."""
    return _ANSWER.search(text) is not None


@lru_cache(maxsize=_MOST_REMEMBERED)
def states_fact(text: str) -> bool:
    """Whether a text says of something that it has come to be."""
    return _FACT.search(text) is not None or called_done(text) is not None or bool(reported_deeds(text))


@lru_cache(maxsize=_MOST_REMEMBERED)
def reports_change(text: str) -> bool:
    """Whether a text says that something was done, or is another now."""
    return _CHANGED.search(text) is not None or called_done(text) is not None


@lru_cache(maxsize=_MOST_REMEMBERED)
def denies(text: str) -> bool:
    """Whether a text begins with what is not, or was not done."""
    return _DENIAL.search(text, 0, _FIRST) is not None


_TRIED = phrases(
    "all green, checked against, checked it, checked that, checked the, checked with, checks out, confirmed by running",
    "fully checked, fully tested, i checked, i made sure, i ran, i tested, i verified, made sure, no regression*",
    "suite is green, suite passes, test pass*, test suite, tested, tests are green, tests pass*, tests run",
    "tests still",
    "thoroughly tested, tried it, verified against, verified by, verified that, verified with, was verified",
    "were verified, without regression*",
)
"""Words of somebody who says that it was tried."""


def claims_trial(text: str) -> bool:
    """Whether a text says that the work was tried or checked."""
    return _TRIED.search(text) is not None
