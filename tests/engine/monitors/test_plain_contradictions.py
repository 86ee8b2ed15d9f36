"""claim_contradiction: plain reversals are told though a wish stands between them or an envelope around them."""

from collections.abc import Callable, Sequence

import pytest

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.messages import message_in
from reasonblocks.engine.monitors.replies import told_in
from reasonblocks.engine.monitors.suite import SuiteReading
from reasonblocks.engine.monitors.words import split, word_set

NAME = "claim_contradiction"
Readings = Callable[[Sequence[ObservedStep]], list[SuiteReading]]


def say(thought: str, reply: str = "I see.") -> ObservedStep:
    """A message to a person, and the reply."""
    return ObservedStep(thought, "", "", reply)


def look(thought: str, result: str = "a b c", path: str = "notes.txt") -> ObservedStep:
    """A step that reads something else."""
    return ObservedStep(thought, "read_file", f'{{"path": "{path}"}}', result)


def run(command: str, result: str, thought: str = "Run it.") -> ObservedStep:
    """A step that runs something."""
    return ObservedStep(thought, "bash", f'{{"command": "{command}"}}', result)


def edit(path: str) -> ObservedStep:
    """A step that changes a file."""
    return ObservedStep("Change it.", "edit_file", f'{{"path": "{path}", "text": "x"}}', "ok")


FESTIVAL = "Festival passes cannot be transferred to another person."
REVERSED = "Festival passes can be transferred to another person, so I can put it in her name."

WISHES = {
    "a question": "Is there any way to get the festival pass transferred to my sister in this case?",
    "a wish": "I really need the festival pass transferred to another person, it is an emergency.",
    "a refusal and a request": "No, I don't want to wait. Could you please transfer the pass to the other person?",
    "understanding": "I understand the policy, but I'd like to have the pass transferred.",
    "thanks": "Thanks for checking. Let me think about it.",
}
NEWS = {
    "a fact": "The organiser told me that a festival pass can be transferred to any person since last week.",
    "a deed": "I just transferred the festival pass to another person online.",
}


@pytest.mark.parametrize("reply", WISHES.values(), ids=WISHES)
def test_a_reply_that_only_wishes_excuses_nothing(reply: str, readings: Readings) -> None:
    """The words of the claim come back in the reply, but nobody has told anything of it."""
    found = readings([say(FESTIVAL, reply), say(REVERSED, "Oh, good.")])
    assert NAME in found[-1].fired
    assert found[-1].evidence[NAME].steps == [0, 1]


@pytest.mark.parametrize("reply", NEWS.values(), ids=NEWS)
def test_a_reply_that_tells_something_excuses_another_claim(reply: str, readings: Readings) -> None:
    """Whoever is told otherwise may say otherwise."""
    assert NAME not in readings([say(FESTIVAL, reply), say(REVERSED, "Oh, good.")])[-1].fired


def test_a_wish_may_name_another_value(readings: Readings) -> None:
    """What a person wants to have is what is spoken of from then on."""
    steps = [
        say("Your booking KD71PX is in economy.", "I want the booking KD71PX in business instead, please."),
        say("The booking KD71PX is in business now.", "Fine."),
    ]
    assert NAME not in readings(steps)[-1].fired


def test_only_what_is_told_is_heard() -> None:
    """Questions, wishes and thanks are left out, the rest is kept."""
    told = told_in("Thank you! The parcel came on Monday, but I would like to keep it. Can you cancel the return?")
    assert told.words & word_set(split("parcel monday")) == word_set(split("parcel monday"))
    assert not told.words & word_set(split("cancel return keep"))


def test_what_is_still_not_there_is_not_there(readings: Readings) -> None:
    """Between `there are` and `no` may stand a word."""
    none = "There are no direct ferries from Malmo to Gdansk on June 2."
    assert NAME in readings([say(none), say("There are two direct ferries from Malmo to Gdansk on June 2.")])[-1].fired
    still = "Unfortunately, there are still no direct ferries available from Malmo to Gdansk on June 2."
    assert NAME not in readings([say(none), say(still)])[-1].fired


def test_two_denials_beside_each_other_do_not_undo_each_other(readings: Readings) -> None:
    """`Is not included and cannot be added` denies both."""
    first = "The warranty for the lamp cannot be added later."
    both = "The warranty for the lamp is not included and cannot be added later."
    assert NAME not in readings([say(first), say(both)])[-1].fired


def test_a_message_in_an_envelope_is_read_as_it_is_shown(readings: Readings) -> None:
    """The one text of a JSON object is what is said."""
    first, second = f'{{"reply": "{FESTIVAL}"}}', f'{{\n "reply": "{REVERSED}"\n}}'
    assert NAME in readings([say(first), say(second)])[-1].fired
    for other in ('{"a": 1}', '{"a": "one two three", "b": "four"}', "{not json at all}", '{"a": "one"}', "plain", ""):
        assert message_in(other) == other


TESTED = run("pytest tests/test_rows.py", "3 passed in 0.1s")
DENIED = {
    "an edit": (edit("/srv/app/rows.py"), "I have not edited `rows.py` yet."),
    "an edit, of the file": (edit("/srv/app/rows.py"), "The file rows.py has not been changed so far."),
    "a command that edits": (run("sed -i s/a/b/ app/rows.py", ""), "We haven't touched app/rows.py, so it is safe."),
    "a run of the tests": (TESTED, "The tests were not run, that is left to you."),
    "a run, by us": (TESTED, "Note that I did not run the existing tests."),
    "certain tests": (TESTED, "The rows tests have not been run."),
    "an order": (
        ObservedStep("", "cancel_ticket", '{"ticket": "TK4471"}', '{"ticket": "TK4471", "status": "cancelled"}'),
        "Ticket TK4471 has not been cancelled.",
    ),
}


@pytest.mark.parametrize(("done", "denial"), DENIED.values(), ids=DENIED)
def test_what_was_done_is_not_denied(done: ObservedStep, denial: str, readings: Readings) -> None:
    """The run shows that it was done."""
    found = readings([look("Let me see."), done, look(denial, path="other.txt")])
    assert NAME in found[-1].fired
    assert found[-1].evidence[NAME].steps == [1, 2]


NOT_DENIED = {
    "another file": [edit("/srv/app/rows.py"), look("I have not edited `cells.py` yet.")],
    "a part of the file": [edit("/srv/app/rows.py"), look("I have not changed the signature of `fold` in rows.py.")],
    "it was put back": [
        edit("/srv/app/rows.py"),
        run("git checkout app/rows.py", ""),
        look("The file rows.py has not been changed."),
    ],
    "other tests": [TESTED, look("The integration tests were not run.")],
    "the whole of them": [TESTED, look("I did not run the full test suite, only those of the rows.")],
    "not again": [TESTED, look("The tests were not run again after that.")],
    "they never started": [run("pytest tests", "pytest: command not found"), look("The tests were not run.")],
    "a question": [TESTED, look("Were the tests not run?")],
    "another order": [
        ObservedStep("", "cancel_ticket", '{"ticket": "TK4471"}', "ok"),
        look("Ticket TK9910 has not been cancelled."),
    ],
    "a look shows it": [
        ObservedStep("", "cancel_ticket", '{"ticket": "TK4471"}', "ok"),
        ObservedStep("", "get_ticket", '{"ticket": "TK4471"}', '{"ticket": "TK4471", "status": "open"}'),
        look("Ticket TK4471 has not been cancelled."),
    ],
}


@pytest.mark.parametrize("steps", NOT_DENIED.values(), ids=NOT_DENIED)
def test_what_was_not_done_may_be_said(steps: list[ObservedStep], readings: Readings) -> None:
    """Another thing, a part of it or a later doing is denied."""
    assert NAME not in readings(steps)[-1].fired


TAKES = {
    "a range and a day": (
        "Refunds to PayPal typically take 5 to 7 business days.",
        "A PayPal refund is completed within 2 days.",
    ),
    "what is paid": (
        "The deposit of $480.20 will be paid within 2 weeks.",
        "Your deposit of $480.20 will be back 3 days from now.",
    ),
    "a repair": ("The repair of the boiler takes 4 hours.", "The boiler repair needs 3 days, so book a room."),
}
MAY_TAKE = {
    "the same in other units": ("Boiler repairs take 7 days.", "A boiler repair takes one week, or 1 week and a day."),
    "another way": ("A PayPal refund takes 2 days.", "A refund to the credit card takes 5 to 7 days."),
    "something else": ("The boiler repair takes 4 hours.", "The warranty of the boiler lasts 30 days."),
    "a deadline": ("A PayPal refund takes 5 to 7 days.", "Cancel within 24 hours of booking for a PayPal refund."),
}


@pytest.mark.parametrize(("earlier", "later"), TAKES.values(), ids=TAKES)
def test_one_thing_takes_one_time(earlier: str, later: str, readings: Readings) -> None:
    """The times have nothing in common."""
    found = readings([say(earlier), say(later)])
    assert NAME in found[-1].fired
    assert found[-1].evidence[NAME].steps == [0, 1]


@pytest.mark.parametrize(("earlier", "later"), MAY_TAKE.values(), ids=MAY_TAKE)
def test_other_things_may_take_another_time(earlier: str, later: str, readings: Readings) -> None:
    """They are the same, or of another thing."""
    assert NAME not in readings([say(earlier), say(later)])[-1].fired


INNOCENT = "`test_fold_rows` fails even without our changes."
GUILTY = "`test_fold_rows` fails because of my change to the parser."


def test_a_failure_is_ours_or_not(readings: Readings) -> None:
    """Whose fault it is does not turn round by itself."""
    found = readings([look(INNOCENT), look("On.", path="b.txt"), look(GUILTY)])
    assert NAME in found[-1].fired
    assert found[-1].evidence[NAME].steps == [0, 2]
    other = "`test_wrap_lines` was broken by my change to the parser."
    unsure = "Maybe `test_fold_rows` fails because of my change to the parser."
    for now in (other, unsure, "`test_fold_rows` fails on the original code as well."):
        assert NAME not in readings([look(INNOCENT), look(now)])[-1].fired


def test_what_was_so_from_the_first_was_so_before_the_change(readings: Readings) -> None:
    """A change in between explains what is so now, and not what always was."""
    idle = look("The Redis server is not running, so `fetch.py` cannot connect.")
    start = run("touch fetch.log", "")
    assert NAME in readings([idle, start, look("The Redis server was up the whole time.")])[-1].fired
    assert NAME not in readings([idle, start, look("The Redis server is running.")])[-1].fired
