"""How a trial came out, where it did not come out well: it failed, was cut off, or had nothing to run."""

import re
from typing import NamedTuple

from .features import StepFeatures
from .verdicts import ran_nothing, speaks_against

_TAIL = 700
"""Characters at the end of a result, where a runner sums up."""
_TESTS_FAILED = re.compile(
    r"\b[1-9]\d* (?:tests? |specs? |examples? )?(?:failed|failing|failures?)\b"
    r"|\bFAILED \((?:errors|failures)=|^--- FAIL\b|^not ok \d|\btest result: FAILED|\bBUILD (?:FAILED|FAILURE)\b"
    r"|^make(?:\[\d+\])?: \*\*\* |^FAILED [\w./-]+::|\b[1-9]\d* errors? (?:in \d|during collection)",
    re.MULTILINE,
)
"""What a runner says at its end, also where a pipe hides its exit code."""
_CUT_OFF = re.compile(
    r"^\W{0,4}(?:\S{1,60}: )?(?:line \d+: +\d+ )?(?:aborted|killed|terminated|segmentation fault|bus error|out of memory"
    r"|timed? ?out)\b[^\n]{0,80}\W*\Z|\btimed out and has been killed\b|\bcommand timed out\b",
    re.IGNORECASE | re.MULTILINE,
)
_ALL_SKIPPED = re.compile(r"(?<!passed, )(?<!passed; )\b[1-9]\d* skipped in \d")
_CAME_TO_NOTHING = re.compile(
    r"\berror while loading\b|\b[Ss]egmentation fault\b|\bcore dumped\b|\bpanicked at\b|\bcommand not found\b"
    r"|\bNo module named \S+\W*\Z|^(?:error|fatal|Error)(?:\[\w+\])?: |: error: "
    r"|^[\w.]*(?:Error|Exception)\b[^\n]*\s*(?:</\w+>\s*)?\Z",
    re.MULTILINE,
)
"""A crash at the end, or an error that lets nothing begin."""
_ERROR_NAMES = re.compile(r"\b[A-Z]\w{2,40}(?:Error|Exception)\b")


_NO_NAMES: frozenset[str] = frozenset()


class Outcome(NamedTuple):
    """A trial that did not pass."""

    index: int
    quote: str
    what: str
    """In words."""
    plain_to_see: bool
    """Whether nothing of it worked: a program that ends with a number may have done what it should."""
    of_several: bool
    """Whether it was a number of tests, of which some may have passed."""
    given: set[str]
    """The words of the call."""
    names: frozenset[str]
    """The errors that it names."""
    counts: bool = True

    def is_named_in(self, text: str) -> bool:
        """Whether a text speaks of the very error."""
        return any(name in text for name in self.names)


def errors_named_in(result: str) -> frozenset[str]:
    """The kinds of errors that a result names."""
    return frozenset(_ERROR_NAMES.findall(result)) if "Error" in result or "Exception" in result else _NO_NAMES


def hides_failure(step: StepFeatures) -> bool:
    """Whether a run ended well by its exit code, and did not by what it says at its end."""
    tail = step.result_excerpt[-_TAIL:]
    return _TESTS_FAILED.search(tail) is not None or _CUT_OFF.search(tail) is not None


def outcome_of(step: StepFeatures) -> Outcome | None:
    """How a run did not pass; `None` if it did."""
    text = step.result_excerpt
    tail = text[-_TAIL:]
    nothing = ran_nothing(step)
    skipped = not nothing and _ALL_SKIPPED.search(tail) is not None
    tests_failed = not nothing and _TESTS_FAILED.search(tail) is not None
    cut_off = _CUT_OFF.search(tail) is not None
    if not (nothing or skipped or tests_failed or cut_off or speaks_against(step)):
        return None
    what = "it had failed"
    if nothing or skipped:
        what = "nothing was run by it"
    elif cut_off:
        what = "it was cut off before its end"
    return Outcome(
        step.index,
        step.result_quote(),
        what,
        nothing or tests_failed or cut_off or _CAME_TO_NOTHING.search(tail) is not None,
        tests_failed,
        step.given,
        errors_named_in(text),
    )
