"""claim_contradiction: a statement takes one side on some matter, and later the other, in whatever words."""

from collections.abc import Callable, Sequence

import pytest

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.positions import positions_in
from reasonblocks.engine.monitors.suite import SuiteReading
from reasonblocks.engine.monitors.turnabouts import excludes

NAME = "claim_contradiction"
Readings = Callable[[Sequence[ObservedStep]], list[SuiteReading]]


def look(thought: str, result: str = "a b c", path: str = "notes.txt") -> ObservedStep:
    """A step that reads something else."""
    return ObservedStep(thought, "read_file", f'{{"path": "{path}"}}', result)


def edit(path: str) -> ObservedStep:
    """A step that changes a file."""
    return ObservedStep("", "write_file", f'{{"path": "{path}", "content": "x"}}', "ok")


TURNED = {
    "needed": ("A migration of the ledger is not needed.", "We have to add a migration of the ledger."),
    "asked for": ("Nobody asked for a second cache.", "A second cache is required."),
    "done without": ("We can do without a wrapper class.", "A wrapper class is indispensable."),
    "to be changed": ("`tariffs.toml` must not be edited.", "`tariffs.toml` has to be edited."),
    "allowed": ("You are entitled to exchange the lamp.", "Exchanging the lamp is out of the question."),
    "refundable": ("The ticket to Oslo is refundable.", "The ticket to Oslo cannot be refunded."),
    "the right place": ("The fix has to be made in `fold_rows`.", "Touching `fold_rows` would be a mistake."),
    "a bad idea": ("Doing it in `spool` is a sound solution.", "Doing it in `spool` is a bad idea."),
    "to blame": ("The fault lies in `fold_rows`.", "`fold_rows` has nothing to do with the trouble."),
    "the reason": ("The router is not the reason for the outage.", "The outage is caused by the router."),
    "one or many": ("`fold_rows` has a single caller.", "There are several callers of `fold_rows`."),
    "supported": ("Nested lists are handled by `fold_rows`.", "`fold_rows` does not support nested lists."),
    "affected": ("Older clients are not affected by the rename.", "The rename affects older clients."),
    "passing before": ("`test_spool` passed before my change.", "`test_spool` was failing before my change."),
    "done by us": ("I could reproduce the jitter of the clock.", "I never could reproduce the jitter of the clock."),
    "a source": ("The almanac is a reliable source.", "The almanac is unreliable as a source."),
    "what a page says": (
        "The almanac mentions the warden of the pier.",
        "The almanac is silent on the warden of the pier.",
    ),
    "a year": ("The study by Olin was published in 2009.", "The study by Olin came out in 2011."),
    "the order": ("`drain` is run before `seal`.", "`seal` comes before `drain`."),
    "a state": ("Your SIM is active.", "Your SIM has been deactivated."),
}


@pytest.mark.parametrize(("earlier", "later"), TURNED.values(), ids=TURNED)
def test_c14_who_changes_sides_without_a_word_contradicts_themselves(
    earlier: str, later: str, readings: Readings
) -> None:
    """One of two sides was taken before, and nothing was learned since."""
    found = readings([look(earlier), look("", path="other.txt"), look(later)])
    assert NAME in found[-1].fired
    assert found[-1].evidence[NAME].steps == [0, 2]


NOT_TURNED = {
    "a guess": ("Perhaps a second cache is required.", "A second cache is not required."),
    "a condition": ("If the load grows, a second cache is required.", "A second cache is not required."),
    "no more": ("A second cache is required.", "A second cache is no longer required."),
    "somebody else says so": ("The docs say that a second cache is required.", "A second cache is not required."),
    "another one": ("The first run is complete.", "The second run is not complete."),
    "a degree": ("`fold_rows` is correct.", "`fold_rows` is not always correct."),
    "neither nor": ("`fold_rows` is not simple.", "`fold_rows` is not complicated."),
    "of another thing": ("`Spool.fit` supports weights.", "`Curve.fit` does not support weights."),
    "two options": ("Option A needs a lock.", "Option B does not need a lock."),
    "the same in other words": ("The labels must be kept.", "The labels must not be dropped."),
    "done by now": ("I have not read the log of the pier.", "I have read the log of the pier."),
    "a plan": ("I need to check `fold_rows`.", "I do not need to check `fold_rows`."),
    "another time": ("`test_spool` passed before my change.", "`test_spool` fails."),
    "what is handed over": ("`marks` is passed to `fold_rows`.", "`fold_rows` fails on `marks`."),
    "in one case": ("When the disk is full, `spool` must stop.", "`spool` must not stop."),
    "told apart by what is done": ("`spool.mark` called here.", "`spool.mark` is not called."),
    "which one": ("The local copy is here.", "The global copy is there."),
}


@pytest.mark.parametrize(("earlier", "later"), NOT_TURNED.values(), ids=NOT_TURNED)
def test_c14_what_only_sounds_like_the_other_side_is_none(earlier: str, later: str) -> None:
    """Another thing, another time, a guess or a plan."""
    assert not any(excludes(one, other) for one in positions_in(earlier) for other in positions_in(later))


def test_c14_a_change_of_mind_that_is_owned_up_to_is_no_contradiction(readings: Readings) -> None:
    """Whoever says that they were wrong may change sides."""
    earlier, later = look("A second cache is required."), look("I was wrong: a second cache is not required.")
    assert NAME not in readings([earlier, look("", path="other.txt"), later])[-1].fired


def test_c14_a_state_may_be_another_after_a_change(readings: Readings) -> None:
    """What is so may change with what is done; what is needed does not."""
    earlier, later = look("`rates.csv` is not sorted."), look("`rates.csv` is sorted.")
    assert NAME in readings([earlier, look("", path="other.txt"), later])[-1].fired
    assert NAME not in readings([earlier, edit("rates.csv"), later])[-1].fired
    earlier, later = map(look, TURNED["to be changed"])
    assert NAME in readings([earlier, edit("other.csv"), later])[-1].fired


def test_c14_what_was_tried_or_told_in_between_excuses_the_other_side(readings: Readings) -> None:
    """A test that ran, or a person who says so, has taught it."""
    earlier, later = look("`test_spool` passes."), look("`test_spool` fails.")
    run = ObservedStep("", "bash", '{"command": "pytest test_other.py"}', "1 failed")
    assert NAME not in readings([earlier, run, later])[-1].fired
    earlier, later = map(look, TURNED["allowed"])
    told = ObservedStep("Anything else?", "", "", "They told me exchanging the lamp was out of the question.")
    assert NAME not in readings([earlier, told, later])[-1].fired


def test_c14_the_other_side_may_be_taken_much_later(readings: Readings) -> None:
    """As long as nothing bears on it, it does not matter how many steps lie between, up to a limit."""
    earlier, later = map(look, TURNED["needed"])
    between = [look("", path=f"part{number}.txt") for number in range(24)]
    assert NAME in readings([earlier, *between[:15], later])[-1].fired
    assert NAME not in readings([earlier, *between, later])[-1].fired


@pytest.mark.parametrize("text", ["Is a second cache needed?", "- a second cache is needed", "a = needs(cache)", ""])
def test_c14_questions_and_code_take_no_position(text: str) -> None:
    """Nobody holds what they ask, list or program."""
    assert positions_in(text) == ()
