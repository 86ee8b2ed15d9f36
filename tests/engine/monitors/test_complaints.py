"""What people say about it, and attempts that never differ: a loop or a drift is seen by these too."""

from collections.abc import Callable, Sequence

import pytest

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.suite import MonitorSuite, SuiteReading

Readings = Callable[[Sequence[ObservedStep]], list[SuiteReading]]
TASK = "Hi, I would like to change the delivery address of my bookshelf order, please."


def says(message: str, answer: str) -> ObservedStep:
    """A message, and what a person says to it."""
    return ObservedStep(message, "", "", answer)


def shell(command: str, result: str, thought: str = "") -> ObservedStep:
    """A command, and what it prints."""
    return ObservedStep(thought, "bash", f'{{"command": "{command}"}}', result, "error" in result)


ASKED_AGAIN = [
    says("May I ask what brings you here?", "My address is wrong."),
    says("What made you write to us?", "I already told you, the address."),
    says("And the occasion for your message would be?", "Same as before. Please just do it."),
]


def test_c14_somebody_who_was_asked_already_says_so_and_it_fires(readings: Readings) -> None:
    """Two remarks within a few messages that this was asked already are a loop, quoted as they were made."""
    last = readings(ASKED_AGAIN)[-1]
    assert "semantic_loop" in last.fired
    assert "I already told you, the address." in last.evidence["semantic_loop"].quotes


def test_c14_one_such_remark_is_not_enough(readings: Readings) -> None:
    """A person who says so once, or after something was done, is not in a loop."""
    done = ObservedStep("", "set_address", '{"order_id": "W1"}', "ok")
    assert not any(reading.fired for reading in readings(ASKED_AGAIN[:2]))
    assert not any(reading.fired for reading in readings([*ASKED_AGAIN[:2], done, ASKED_AGAIN[2]]))


def test_c14_somebody_who_is_led_astray_says_so_and_it_fires(suite: MonitorSuite) -> None:
    """A stretch about something else, and a person who wants to get back, are a drift."""
    trajectory = suite.start(TASK)
    steps = [
        says("I can change the address of the bookshelf order. Which order is it?", "Order #W5512034, the bookshelf."),
        says("The bookshelf order #W5512034 is pending, so its address can be changed.", "Great, please do."),
        says("Roses want pruning in late winter, above an outward bud.", "Sorry?"),
        says("Thyme and sage hardly need water on a balcony.", "I don't see how that matters."),
        says("Mint takes over every pot it grows in.", "What about my address?"),
    ]
    readings = [trajectory.observe(step) for step in steps]
    assert not readings[1].fired
    assert "silent_topic_drift" in readings[-1].fired


def test_c14_wanting_money_back_is_no_complaint_about_the_topic(suite: MonitorSuite) -> None:
    """Somebody who is told what they do not like is still at what they came for."""
    trajectory = suite.start("I want to return a tablet, please.")
    steps = [
        says("The tablet can be returned. The refund goes to your gift card.", "Can it go back to my credit card?"),
        says("The refund goes to the gift card that paid for the tablet.", "What?! I want it back on my credit card!"),
    ]
    assert not any(trajectory.observe(step).fired for step in steps)


FLAGS = ["git apply fix.patch", "git apply ./fix.patch", "git apply -p1 fix.patch", "git apply --verbose fix.patch"]
REFUSED = "error: patch failed: core/frame.py:214, patch does not apply"
WORDS = ["shuffling each", "random permutation", "randomised order", "randomly reordered", "mixing the"]


def test_c14_the_same_attempt_with_another_flag_fires(readings: Readings) -> None:
    """Calls that hardly differ and fail with the very same words are a loop at the fourth time."""
    read = readings([shell(command, REFUSED) for command in FLAGS])
    assert "semantic_loop" in read[-1].fired
    assert "semantic_loop" not in read[-2].fired


def test_c14_a_search_in_one_place_for_one_thing_in_other_words_fires(readings: Readings) -> None:
    """A search that finds nothing five times over, in the same place, is a loop."""
    read = readings([shell(f"grep -rn '{word}' docs/guide.rst", "") for word in WORDS])
    assert "semantic_loop" in read[-1].fired


PROGRESS = {
    "fewer failures each time": [
        shell(f"patch -p1 < p{8 - count}.patch && pytest tests/test_frame.py", f"error: {count} tests failed here")
        for count in (7, 5, 4, 2, 1)
    ],
    "one day after the other": [
        ObservedStep("", "search_trains", f'{{"from": "OSL", "date": "2031-05-{day:02}"}}', "[]") for day in range(1, 8)
    ],
    "something else in between": [
        step for command in FLAGS for step in (shell(command, REFUSED), shell("ls", command))
    ],
    "another thing each time": [
        shell(f"python tools/{name}.py --input {name}.csv", "error: no such file")
        for name in ("sift", "fold", "mill", "comb")
    ],
}


@pytest.mark.parametrize("steps", PROGRESS.values(), ids=PROGRESS)
def test_c14_attempts_that_differ_or_get_on_do_not_fire(steps: list[ObservedStep], readings: Readings) -> None:
    """What comes to something else, or asks for something else, is no loop."""
    assert not any("semantic_loop" in reading.fired for reading in readings(steps))


@pytest.mark.parametrize(
    ("conclusion", "fires"),
    [
        ("The parser handles tabs now, and all tests pass. Submitting.", True),
        ("The fix is in place, fully tested.", True),
        ("The fix is in place, I could not run the tests here.", False),
    ],
)
def test_c14_a_check_that_was_never_made_fires(conclusion: str, fires: bool, readings: Readings) -> None:
    """Whoever says that it was tested, though after the last change it was only looked at, says too much."""
    steps = [
        ObservedStep("Change it.", "edit_file", '{"path": "parser.py", "text": "x"}', "ok"),
        ObservedStep("Look at it.", "read_file", '{"path": "parser.py"}', "def parse(line): ..."),
        ObservedStep(conclusion, "submit", "{}", ""),
    ]
    assert ("verification_skip" in readings(steps)[-1].fired) is fires
