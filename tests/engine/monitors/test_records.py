"""claim_contradiction: what a record is said to have, whatever that is, it has once."""

from collections.abc import Callable, Sequence

import pytest

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.particulars import particulars_in
from reasonblocks.engine.monitors.suite import SuiteReading

NAME = "claim_contradiction"
Readings = Callable[[Sequence[ObservedStep]], list[SuiteReading]]


def says(thought: str, answer: str = "All right.") -> ObservedStep:
    """A message, and what a person says to it."""
    return ObservedStep(thought, "", "", answer)


def call(tool: str, record: str, result: str) -> ObservedStep:
    """A call about a record."""
    return ObservedStep("", tool, f'{{"record": "{record}"}}', result)


OPPOSED = {
    "a word": ("The pickup station on KD71PX is Bergen.", "Your file gives Tromso as the pickup station on KD71PX."),
    "a label": ("Meal on KD71PX: vegan", "As your file shows, the meal on KD71PX is kosher."),
    "in brackets": ("(The warranty on #W4410027: expired.)", "The warranty on #W4410027 is not expired."),
    "an amount": ("The deposit for booking 4TQ81Z comes to $120.00.", "With the deposit for 4TQ81Z being $95, go on."),
    "a date": ("The due date of TK-4471 is 2024-03-02.", "I see that the due date of TK-4471 is 2024-03-20."),
    "a code": ("The locker for KD71PX is B12.", "KD71PX's locker is C7, so bring the key."),
    "a count in words": ("The number of wheels in #W4410027 is four.", "The number of wheels in #W4410027 is 6."),
    "what it has": ("KD71PX has a mileage of 900.", "KD71PX has a mileage of 400."),
    "named in front": ("For KD71PX, the courier is Postnord.", "The courier for KD71PX is Bring."),
    "its own": ("You have KD71PX, and its courier is Postnord.", "The courier for KD71PX is Bring."),
    "what will be found": ("The courier for KD71PX is Postnord.", "You will find Bring as the courier for KD71PX."),
}


@pytest.mark.parametrize(("earlier", "later"), OPPOSED.values(), ids=OPPOSED)
def test_c14_another_value_of_what_a_record_has_fires(earlier: str, later: str, readings: Readings) -> None:
    """Neither what a record has nor its value has to be in any table."""
    found = readings([says(earlier), says("Thank you."), says(later)])
    assert NAME in found[-1].fired
    assert found[-1].evidence[NAME].steps == [0, 2]


UNOPPOSED = {
    "another record": ("The courier for KD71PX is Postnord.", "The courier for KD71PY is Bring."),
    "something else it has": ("The courier for KD71PX is Postnord.", "The sender of KD71PX is Bring."),
    "more closely": ("The station on KD71PX is Bergen.", "The station on KD71PX is Bergen West."),
    "the same amount": ("The deposit for KD71PX is $1,200.00.", "The deposit for KD71PX is $1200."),
    "then and now": ("The courier for KD71PX was Postnord.", "The courier for KD71PX is Bring."),
    "a condition": ("The courier for KD71PX is Postnord.", "If the courier for KD71PX is Bring, call them."),
    "what will be": ("The courier for KD71PX is Postnord.", "The courier for KD71PX will be Bring."),
    "a question": ("The courier for KD71PX is Postnord.", "So the courier for KD71PX is Bring?"),
    "several problems": ("The problem on KD71PX is fatigue.", "The problem on KD71PX is rust."),
    "owned up to": ("The courier for KD71PX is Postnord.", "Sorry, I misread: the courier for KD71PX is Bring."),
}


@pytest.mark.parametrize(("earlier", "later"), UNOPPOSED.values(), ids=UNOPPOSED)
def test_c14_what_is_of_something_else_does_not_fire(earlier: str, later: str, readings: Readings) -> None:
    """Another record, another time, another case, or the same in other words."""
    assert not any(NAME in reading.fired for reading in readings([says(earlier), says("Thank you."), says(later)]))


EARLIER, LATER = says("The courier for KD71PX is Postnord."), says("The courier for KD71PX is Bring.")
EXCUSES = {
    "a result tells": call("get_parcel", "KD71PX", '{"id": "KD71PX", "courier": "Bring"}'),
    "it was changed": call("update_parcel", "KD71PX", "ok"),
    "it was changed to that": call("update_parcel", "KD71PX", "KD71PX moved from Postnord to Bring"),
    "a person tells": says("Who brings it?", "Bring does."),
    "a person asks for it": says("Anything else?", "Please take another courier for it."),
}
NO_EXCUSES = {
    "it was looked at": call("get_parcel", "KD71PX", '{"id": "KD71PX", "courier": "Postnord"}'),
    "something else was changed": call("update_parcel", "QX55RT", "ok"),
    "something else of it was changed": call("update_parcel", "KD71PX", '{"courier": "Postnord", "open": false}'),
    "the change was refused": ObservedStep("", "update_parcel", '{"record": "KD71PX"}', "Error: closed", is_error=True),
}


@pytest.mark.parametrize("between", EXCUSES.values(), ids=EXCUSES)
def test_c14_what_may_have_changed_a_record_or_told_of_it_excuses(between: ObservedStep, readings: Readings) -> None:
    """After that another value is news."""
    assert NAME not in readings([EARLIER, between, LATER])[-1].fired


@pytest.mark.parametrize("between", NO_EXCUSES.values(), ids=NO_EXCUSES)
def test_c14_what_left_it_as_it_was_does_not_excuse(between: ObservedStep, readings: Readings) -> None:
    """A record that is seen to have what it had, or was not touched, has it still."""
    assert NAME in readings([EARLIER, between, LATER])[-1].fired


def test_c14_two_values_in_one_step_are_of_two_things(readings: Readings) -> None:
    """Whoever says both at once knows of both."""
    both = says("The courier for KD71PX is Postnord. The courier for KD71PX is Bring.")
    assert not any(NAME in reading.fired for reading in readings([both, LATER, EARLIER]))


@pytest.mark.parametrize(
    "sentence",
    [
        "Look at KD71PX.",
        "The courier for KD71PX is the one that we always take for parcels like it.",
        "KD71PX is late.",
        "The cost of changing KD71PX is $20.",
        "The new price of the lamp in #W4410027 is $5.",
        "The price of the item in #W4410027 is $5.",
        "The weight of KD71PX is about 22 kg.",
    ],
)
def test_what_gives_a_record_nothing_is_no_particular(sentence: str) -> None:
    """A sentence that only names a record, or speaks of one thing of several, is left to others."""
    assert not particulars_in(sentence)
