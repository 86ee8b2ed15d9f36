"""Whoever has agreed need not be asked a third time; other questions may all be answered by a yes."""

from collections.abc import Callable, Sequence

import pytest

from reasonblocks.engine.answers import Evidence
from reasonblocks.engine.monitors.asking import told_again
from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.suite import SuiteReading
from reasonblocks.engine.monitors.words import word_set

NAME = "semantic_loop"
Readings = Callable[[Sequence[ObservedStep]], list[SuiteReading]]
Why = Callable[[str, Sequence[ObservedStep]], Evidence]


def say(text: str, answer: str) -> ObservedStep:
    """A message, and what the other side answers."""
    return ObservedStep(text, "", "", answer)


BEFORE = [
    say("What can I do for you?", "Please move my subscription L4410 to the small plan."),
    ObservedStep("", "get_subscription", '{"id": "L4410"}', '{"id": "L4410", "plan": "large", "monthly": 30}'),
]
MOVE = ObservedStep("", "change_plan", '{"id": "L4410", "plan": "small"}', '{"id": "L4410", "plan": "small"}')
ASKED_AGAIN = {
    "in other words": [
        say("Shall I move L4410 to the small plan?", "Yes, please."),
        say("To be on the safe side: do you approve of the small plan?", "Absolutely."),
        say("And I have your go-ahead for the small plan?", "Sure, go ahead."),
    ],
    "about it and the change": [
        say("Would you like me to make this change?", "Okay."),
        say("Are you certain that you want it?", "Mm, yes, certain."),
        say("May I carry it out then?", "Right, do it."),
    ],
    "with more said": [
        say("Great. Is it okay if I proceed with subscription L4410?", "Yes, that is fine."),
        say("Thank you. Before I begin, please say whether you agree. Do you?", "Agreed!"),
        say("Noted. One last time: should I go ahead with L4410?", "Yes, as said before."),
    ],
}
FINE = {
    "asked twice": [*ASKED_AGAIN["in other words"][:2], MOVE, say("Your plan is the small one now.", "Thanks.")],
    "done in between": [*ASKED_AGAIN["in other words"][:2], MOVE, ASKED_AGAIN["in other words"][2]],
    "one thing after the other": [
        say("Shall I move L4410 to the small plan?", "Yes."),
        say("Should I send the invoice by post from then on?", "Yes."),
        say("Would you like me to remove the second phone number as well?", "Yes, please."),
    ],
    "one number after the other": [
        say("Shall I cancel voucher 7781?", "Yes."),
        say("Shall I cancel voucher 7782?", "Yes."),
        say("Shall I cancel voucher 7783?", "Yes."),
    ],
    "one of a list after the other": [
        ObservedStep("", "get_orders", "{}", '["lamp 7781", "desk 7782", "chair 7783"]'),
        say("Shall I cancel the lamp 7781?", "Yes."),
        say("Shall I cancel the desk 7782?", "Yes."),
        say("Shall I cancel the chair 7783?", "Yes."),
    ],
    "one name after the other": [
        ObservedStep("", "get_orders", "{}", '["lamp", "desk", "chair"]'),
        say("Would you like me to cancel the lamp?", "Yes."),
        say("Would you like me to cancel the desk?", "Yes."),
        say("Would you like me to cancel the chair?", "Yes."),
    ],
    "what is seen": [
        say("Is the lamp green?", "Yes."),
        say("Is the cable plugged in?", "Yes, it is."),
        say("Does it hum?", "Yes."),
    ],
    "not agreed": [
        say("Shall I move L4410 to the small plan?", "Not yet, what does it cost?"),
        say("Nothing. Shall I go ahead?", "No, wait."),
        say("Should I proceed now?", "Yes."),
    ],
    "something told": [
        say("Shall I move L4410 to the small plan?", "Yes, from Monday on."),
        say("Shall I proceed with Monday?", "Yes, and keep the old invoice address in Leeds."),
        say("Do you want the change with that address?", "Yes, please."),
    ],
}


@pytest.mark.parametrize("steps", ASKED_AGAIN.values(), ids=ASKED_AGAIN)
def test_consent_that_is_asked_for_a_third_time_is_a_loop(steps: list[ObservedStep], readings: Readings) -> None:
    """It fires at the third question, and not before."""
    fired = [place for place, reading in enumerate(readings([*BEFORE, *steps])) if NAME in reading.fired]
    assert fired == [len(BEFORE) + 2]


@pytest.mark.parametrize("steps", FINE.values(), ids=FINE)
def test_questions_that_get_on_are_none(steps: list[ObservedStep], readings: Readings) -> None:
    """About another thing, with something done in between, or not agreed to."""
    assert not any(NAME in reading.fired for reading in readings([*BEFORE, *steps]))


def test_the_evidence_quotes_the_first_and_the_last_question(evidence: Why) -> None:
    """With all the steps that asked."""
    found = evidence(NAME, [*BEFORE, *ASKED_AGAIN["in other words"]])
    assert found.steps == [2, 3, 4]
    assert found.quotes == [step.thought for step in ASKED_AGAIN["in other words"][::2]]


def test_an_answer_that_is_part_of_an_earlier_one_tells_the_same() -> None:
    """The first may have told more besides; one that adds to it tells something."""
    first, part, more = (word_set(text.split()) for text in ("kettle copper large", "kettle", "kettle steel small"))
    assert told_again(first, part)
    assert not told_again(first, more)


def test_what_is_told_again_with_nothing_else_is_no_denial(readings: Readings) -> None:
    """`Nothing else` is no refusal to tell."""
    steps = [
        say("Which locker is it about?", "Marigold. It is the one beside the stairs."),
        say("What is the name of the locker, please?", "Marigold, nothing else."),
        say("I'd be glad to help. Could you give me the locker's name?", "It's Marigold."),
        say("And how is the locker called?", "Marigold."),
    ]
    assert NAME in readings([*BEFORE, *steps])[-1].fired
