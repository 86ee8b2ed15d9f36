"""How a trial came out, where it did not come out well: it failed, was cut off, or had nothing to run."""

import re
from functools import lru_cache
from typing import NamedTuple

from .features import StepFeatures
from .verdicts import ran_nothing, speaks_against

_TAIL = 700
"""Characters at the end of a result, where a runner sums up."""
_LONGEST_COMMAND = 2_000
# What stands before the first sign is looked at from behind it: that way one sign after the other is skipped.
_TESTS_FAILED = re.compile(
    r"[1-9](?<![\w.][1-9])\d*(?: (?:tests? |specs? |examples? )?(?:failed|failing|failures?)\b| errors? (?:in \d"
    r"|during collection))"
    r"|F(?<!\wF)AILED \((?:errors|failures)=|F(?<![^\n]F)AIL(?:ED [\w./-]+::|(?:ED|URE)?: (?! {0,3}0\b))"
    r"|-(?<![^\n]-)-- FAIL\b|n(?<![^\n]n)ot ok \d"
    r"|t(?<!\wt)est result: FAILED|B(?<!\wB)UILD (?:FAILED|FAILURE)\b|m(?<![^\n]m)ake(?:\[\d+\])?: \*\*\* "
)
"""What a runner says at its end, also where a pipe hides its exit code."""
_IN_TESTS_FAILED = ("fail", "not ok", ": *** ", " error")
_IN_CUT_OFF = ("abort", "killed", "terminated", "fault", "bus error", "out of memory", "timed", "time out", "timeout")
"""One of these is in whatever matches, in small letters."""
_CUT_OFF = re.compile(
    r"^\W{0,4}(?:\S{1,60}: )?(?:line \d+: +\d+ )?(?:aborted|killed|terminated|segmentation fault|bus error"
    r"|out of memory"
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
_RUNNERS = frozenset(
    "behave bats ctest gotestsum jest karma mocha nose nosetests nox phpunit playwright pytest rspec runtests tox "
    "unittest vitest".split()
)
_RUNS_TESTS = re.compile(
    r"\b(?:cargo|dotnet|go|mix|mvn|npm|pnpm|swift|yarn) (?:run )?test\b"
    r"|\b(?:gradlew?|make|rails) (?:\w+ )?(?:check|test)\b"
)
"""Who runs tests, by its name."""
_ONLY_LISTS = re.compile(r"\s--(?:co|collect-only|collectonly|dry-?run|list(?:-?tests)?|listTests|no-run|just-print)\b")
"""With one of these options nothing is run."""
_SHOWS_THE_HEAD = re.compile(r"\|&?\s{0,4}(?:head\b|sed\s{1,4}-n\b)")
_VERDICT = re.compile(
    r"\b(?:\d+ (?:passed|passing|failed|failing|skipped|ok)|all (?:\w+ )?pass\w*|ok|fail\w*|pass(?:ed)?|errors?"
    r"|success\w*|traceback)\b|100%|[\u2713\u2714\u2717\u2718]",
    re.IGNORECASE,
)
"""How tests came out, in whatever words."""
_ERROR_NAMES = re.compile(r"\b[A-Z]\w{2,40}(?:Error|Exception)\b")


_NO_NAMES: frozenset[str] = frozenset()


class Outcome(NamedTuple):
    """A trial that did not pass."""

    at: int
    quote: str
    what: str
    """In words."""
    of_several: bool
    """Whether it was a number of tests, of which some may have passed."""
    failed: bool
    """Otherwise there was only nothing to run."""
    all_skipped: bool
    came_to_nothing: bool
    """Whether it ran nothing, or was cut off."""
    result: str
    given: set[str]
    """The words of the call."""

    @property
    def plain_to_see(self) -> bool:
        """Whether nothing of it worked: a program that ends with a number may have done what it should."""
        return self.came_to_nothing or self.of_several or _CAME_TO_NOTHING.search(self.result[-_TAIL:]) is not None

    def is_named_in(self, text: str) -> bool:
        """Whether a text speaks of the very error."""
        return any(name in text for name in errors_named_in(self.result))


class _Ending(NamedTuple):
    """What a result says at its end."""

    tests_failed: bool
    cut_off: bool


@lru_cache(maxsize=16)
def errors_named_in(result: str) -> frozenset[str]:
    """The kinds of errors that a result names."""
    return frozenset(_ERROR_NAMES.findall(result)) if "Error" in result or "Exception" in result else _NO_NAMES


def _ending(result: str) -> _Ending:
    tail = result[-_TAIL:]
    lowered = tail.lower()
    return _Ending(
        any(map(lowered.__contains__, _IN_TESTS_FAILED)) and _TESTS_FAILED.search(tail) is not None,
        any(map(lowered.__contains__, _IN_CUT_OFF)) and _CUT_OFF.search(tail) is not None,
    )


def outcome_of(step: StepFeatures) -> Outcome | None:
    """How a run did not pass; `None` if it did."""
    text = step.result_excerpt
    tests_failed, cut_off = _ending(text)
    failed = tests_failed or cut_off or speaks_against(step)
    nothing = ran_nothing(step)
    skipped = not nothing and "skipped in" in text and _ALL_SKIPPED.search(text[-_TAIL:]) is not None
    if not (nothing or skipped or failed):
        return _unseen(step)
    what = "it had failed"
    if nothing or skipped:
        what = "nothing was run by it"
    elif cut_off:
        what = "it was cut off before its end"
    return Outcome(
        step.index,
        step.result_quote(),
        what,
        tests_failed and not nothing,
        failed,
        skipped,
        nothing or cut_off,
        text,
        step.given,
    )


def _unseen(step: StepFeatures) -> Outcome | None:
    """A run of tests of which nobody has seen how it came out: they were only listed, or the end was cut off."""
    command = step.command[:_LONGEST_COMMAND]
    lists = "--" in command and _ONLY_LISTS.search(command) is not None
    if not (lists or ("|" in command and _SHOWS_THE_HEAD.search(command))):
        return None
    if not runs_tests(step):
        return None
    if _VERDICT.search(step.result_excerpt[-_TAIL:] if lists else step.result_excerpt):
        return None
    what = "it only listed what there is to run" if lists else "how it came out was cut off"
    return Outcome(step.index, step.result_quote(), what, False, False, False, True, step.result_excerpt, step.given)


def runs_tests(step: StepFeatures) -> bool:
    """Whether a call runs tests, by the name of what it runs them with."""
    return not _RUNNERS.isdisjoint(step.given) or _RUNS_TESTS.search(step.command[:_LONGEST_COMMAND]) is not None
