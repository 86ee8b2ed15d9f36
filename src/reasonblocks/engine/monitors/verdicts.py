"""What came back of a call, beyond a plain failure: a verdict against it, a mere receipt, or nothing new.

Only short results are read for a verdict: in a long one, words of failure may be about anything.
"""

import re

from .commands import looks_as_well
from .features import StepFeatures
from .quick import beginnings, lower, parted, quick_pattern
from .words import covered, pieces, split, token_set, word_set

_LONGEST_VERDICT = 400
_LONGEST_RECEIPT = 400
_LONGEST_CALL = 2_000
_LITTLE = 200
"""Characters of a result that hold hardly more than a value."""
_ECHO = 0.8
"""So much of a result was in the call, and it only says it again."""

_NOT_SO = (
    r"[^.\n]{0,20}\b(?:agree|allowed|applied|as expected|available|cancell?ed|changed|confirmed|connect\w*|correct"
    r"|correspond|equal|exist|found|match\w*|ok|pass\w*|permitted|possible|processed|reach\w*|respond\w*|saved|send"
    r"|succeed\w*|the same|updated|valid|verified|work\w*|activated|completed|created|delivered|enabled"
    r"|granted|installed|issued|opened|restored|sent|set|started)"
)
_SAYS_AGAINST = (
    r"aborted|conflict\w*|contradict\w*|declined|denied|differs?|disagree\w*|discrepanc\w*|errors?|fail|failed"
    r"|failing|fails"
    r"|failures?|inconsistent|incorrect|mismatch\w*|refused|rejected|rolled back|timed out|timeout|unable|unequal"
    r"|unexpected|unsuccessful\w*|violat\w+|wrong|expected\b[^\n]{0,60}\b(?:actual|but|found|got|received|was)"
    rf"|not\b{_NOT_SO}|cannot\b{_NOT_SO}|never\b{_NOT_SO}"
    r"|no (?:\w+ ){0,2}(?:agreement|connection|match\w*|response|result\w*|service|signal)|nothing (?:has|is|was|were)"
    r"|ok[\"']?\s?[:=]\s?(?:false|0)|success[\"']?\s?[:=]\s?(?:false|0)|valid[\"']?\s?[:=]\s?(?:false|0)"
    r"|code\b\W{0,4}[45]\d\d\b(?!\.\d)|http\b\W{0,4}[45]\d\d\b(?!\.\d)|status\b\W{0,4}[45]\d\d\b(?!\.\d)"
)
_AGAINST = quick_pattern(
    _SAYS_AGAINST,
    # Not at the beginning of a word, and one at the beginning of a line.
    rf"n['\u2019]t\b{_NOT_SO}\b|[45](?<!.[45])\d\d\b(?!\.\d)",
)
_IN_AGAINST = (*beginnings(parted(_SAYS_AGAINST)), "n't", "n\u2019t", "\n4", "\n5")
"""One of these is in whatever matches, with a line break before it: to look for a text is many times as fast."""
_A_NO = frozenset(("false", "no", "ko"))
_SIGNS = " \t\r\"'.,:;!()[]{}<>*`-"
_CRASH = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception)\b"
    r"|(?i:\b(?:abort|core dumped|killed|panick?ed|segmentation fault|undefined|unresolved)\b)"
)
_IN_CRASH = ("error", "exception", "abort", "dumped", "killed", "panic", "fault", "undefined", "unresolved")
"""One of these is in whatever matches and is written in ASCII."""
_MEANT = re.compile(r"\b(?:as expected|caught|correctly|ok|pass\w*|success\w*)\b", re.IGNORECASE)
"""With these a failure was what was wanted."""
_NOT_FOUND = re.compile(
    r"\b(?:0|no|zero) (?:\w+ ){0,2}(?:answers?|documents?|entries|entry|hits?|match(?:es)?|pages?|records?|results?)\b"
    r"|\bnothing (?:\w+ )?found\b|\bnot (?:be )?found\b|\b(?:not|n't) exist\b",
    re.IGNORECASE,
)
_SUCCEEDED = re.compile(r"\W{0,3}(?:return ?code|exit ?code|exit ?status)\W{1,3}0\b", re.IGNORECASE)
_NONE_OF_IT = re.compile(
    r"\b(?:0|any|expected|fixed|formerly|handled|no|none|not|previously|resolved|without"
    r"|zero)\W{1,3}(?:\w+\W{1,2}){0,2}$",
    re.IGNORECASE,
)
_COUNTS_NONE = re.compile(
    r"[\"']?\s?[:=]?\s?(?:0\b|-?\d{1,9}\.\d|(?:false|nil|none|null)\b|\[\]|\"\"|no(?=\s?(?:[,;}\n]|\Z)))", re.IGNORECASE
)
"""After a word of failure: there was none, or it is a figure that is called so."""
_BEFORE = 40
_OPEN = re.compile(
    r"\b(?:await\w*|deferred|on hold|outstanding|provisional\w*|so far|tentative\w*|unchanged|unconfirmed|unknown"
    r"|unverified|(?:not|no|n't)\b[^.\n]{0,30}\b(?:applied|clear|commit\w*|complete\w*|confirm\w*|effective|final\w*"
    r"|finished|guarantee\w*|known|process\w*|ready|visible|yet))\b",
    re.IGNORECASE,
)
_RECEIPT = re.compile(
    r"\b(?:accepted|async\w*|delayed|later|(?:may|might) (?:\w+ )?(?:be|fail|have|not|still|take)|partial\w*"
    r"|received|shortly|soon|unclear|(?:to|will) be \w+ed"
    r"|(?:in|under|for|manual) (?:progress|review|processing|approval))\b",
    re.IGNORECASE,
)
_SUCCESS = re.compile(r"\b(?:complete\w*|done|now|ok|success\w*|true)\b", re.IGNORECASE)
_REMARK = re.compile(r"#[^\n]*")
_RAN_NOTHING = re.compile(
    r"\b(?:collected|executed|found|ran|running|selected) (?:0|no|zero) (?:\w+ )?(?:cases?|examples?|items?|scenarios?"
    r"|specs?|suites?|tests?)\b"
    r"|\bno (?:\w+ )?(?:cases?|examples|scenarios|specs?|tests?)(?: (?:cases?|files?|suites?))? "
    r"(?:(?:was|were|to|are|is) )?"
    r"(?:available|be run|collected|defined|discovered|executed|found|in|matched|matching|present|ran|run|selected)\b"
    r"|\b(?:0|no|zero) (?:cases?|examples|scenarios?|specs?|tests?)"
    r"(?:,| (?:collected|executed|found|matched|passed|ran|run|selected)\b)"
    r"|\b0 (?:passed|passing)\b(?![^\n]{0,80}\b[1-9]\d* (?:errors?|failed|failing))"
    r"|\bno test (?:files?|modules?|targets?|suites?)\b|\b(?:tests?|total tests|tests run|executed)\s?: {0,4}0\b"
    r"|\b[1-9]\d* (?:deselected|filtered out) in \d",
    re.IGNORECASE,
)
_RAN_SOMETHING = re.compile(
    r"\b[1-9]\d*(?: \w+)? (?:passed|passing|succeeded|ok)\b|\b(?:ran|run|running|total|executed)\W{1,4}[1-9]\d* "
    r"?(?:assertions?|cases?|examples?|items?|scenarios?|specs?|tests?)\b|\btests run: [1-9]",
    re.IGNORECASE,
)
"""A runner that goes from place to place finds nothing to run in some of them."""
_NO_RUNNER = re.compile(
    r"(?:^|\n)\s*\S+: no module named \S+\s*(?:$|\n)"
    r"|\b(?:command not found|is not recognized as|missing script|unknown command)\b"
    r"|(?:^|\n)\S*sh: (?:\d+: |line \d+: )?\S+: not found\s*(?:$|\n)",
    re.IGNORECASE,
)
"""What is said where the program that should run is not there."""
_NONE_AT_ALL = (" 0 ", "\n0 ", "(0 ", ": 0", " no ", "\nno ", "[no ", "zero ", "deselected", "filtered out")
_IN_RAN_NOTHING = (
    "test",
    "item",
    "case",
    "example",
    "spec",
    "suite",
    "scenario",
    "executed",
    "deselected",
    "passing",
    "passed",
)
"""One of these and one of those are in whatever matches."""
_SAYS_NOTHING = frozenset(("", "null", "none", "{}", "[]", '""', "''", "n/a", "undefined"))


def speaks_against(step: StepFeatures) -> bool:
    """Whether the result of a call says that what was tried does not hold."""
    if step.failed:
        return True
    if not step.result_size or step.result_size > _LONGEST_VERDICT:
        return False
    text = step.result_excerpt
    if _SUCCEEDED.match(text):
        return False  # whatever it goes on to speak of
    return tells_of_failure(text) or (_crashed(text) and _MEANT.search(text) is None)


def _crashed(text: str) -> bool:
    if text.isascii() and not any(map(text.lower().__contains__, _IN_CRASH)):
        return False
    return _CRASH.search(text) is not None


def tells_of_failure(text: str) -> bool:
    """Whether a short text says that something failed or does not hold."""
    lowered = lower(text)
    may_be = any(map(f"\n{lowered}".__contains__, _IN_AGAINST))
    for match in _AGAINST.finditer(lowered) if may_be else ():
        if _NONE_OF_IT.search(text[max(0, match.start() - _BEFORE) : match.start()]):
            continue
        if not _COUNTS_NONE.match(text, match.end()):
            return True
    return any(line.strip(_SIGNS) in _A_NO for line in lowered.split("\n"))


def may_show(step: StepFeatures) -> bool:
    """Whether a long result may be a look at the work; what an installation prints is none."""
    return not step.role.changes or looks_as_well(step.arguments)


def has_no_runner(step: StepFeatures) -> bool:
    """Whether the result of a run says that there is nothing to run it with."""
    return step.result_size <= _LITTLE and _NO_RUNNER.search(step.result_excerpt) is not None


def ran_nothing(step: StepFeatures) -> bool:
    """Whether the result of a run says that there was nothing to run."""
    text = step.result_excerpt
    lowered = text.lower()
    if not (any(map(lowered.__contains__, _NONE_AT_ALL)) and any(map(lowered.__contains__, _IN_RAN_NOTHING))):
        return False
    return _RAN_NOTHING.search(text) is not None and _RAN_SOMETHING.search(text) is None


def shows_fault(step: StepFeatures) -> bool:
    """Whether a look shows that something does not work; that there is none of it may be just what was wanted."""
    return speaks_against(step) and _NOT_FOUND.search(step.result_excerpt) is None


def only_receipt(step: StepFeatures) -> bool:
    """Whether the result of a change says that it is open whether anything was changed."""
    if step.result_size > _LONGEST_RECEIPT or not step.result_size:
        return False
    text = step.result_excerpt
    if _OPEN.search(text):
        return True
    if _names_the_deed(step, text):
        return False
    return step.unfinished or _RECEIPT.search(text) is not None


def is_bare(step: StepFeatures) -> bool:
    """Whether the result of a change shows nothing of it: many a tool never says more, so that is hardly a sign."""
    if step.result_size > _LONGEST_RECEIPT:
        return False
    return step.result_excerpt.strip().lower() in _SAYS_NOTHING or _shows_nothing(step)


def _names_the_deed(step: StepFeatures, text: str) -> bool:
    """Whether a result says in so many words that what the tool is named after was done."""
    deed = pieces(step.action)
    return any(word.endswith("ed") and word_set([word]) & deed for word in split(text))


def _shows_nothing(step: StepFeatures) -> bool:
    """Whether a result neither names what was done, nor what it was done to, nor says that it was done."""
    if len(step.result_excerpt.split()) == 1:
        return False  # the number of what there is now
    if step.result_words & (pieces(step.action) | step.call_words) or _SUCCESS.search(step.result_excerpt):
        return False
    return not token_set(split(step.result_excerpt)) & token_set(split(step.arguments[:_LONGEST_CALL]))


def brought_nothing(step: StepFeatures) -> bool:
    """Whether a call brought nothing that its caller had not put into it."""
    if step.failed or step.result_excerpt.strip().lower() in _SAYS_NOTHING:
        return True
    if covered(step.result_words, step.call_words) >= _ECHO:
        return True
    return step.result_size < _LITTLE and (_NOT_FOUND.search(step.result_excerpt) is not None or _repeats_a_value(step))


def _repeats_a_value(step: StepFeatures) -> bool:
    """Whether a line of a short result is a value of the call as it stands there."""
    given = _REMARK.sub("", step.arguments)
    lines = [line.strip() for line in step.result_excerpt.split("\n")]
    return any(f"'{line}'" in given or f'"{line}"' in given for line in lines if line)
