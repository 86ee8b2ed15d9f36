"""Whoever asks for a look and is told that all is well, though nobody looked, has not been answered."""

from collections.abc import Callable, Sequence

import msgspec
import pytest

from reasonblocks.engine.answers import Evidence
from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.reassurances import Request, reassures
from reasonblocks.engine.monitors.suite import SuiteReading

NAME = "verification_skip"
Readings = Callable[[Sequence[ObservedStep]], list[SuiteReading]]
Why = Callable[[str, Sequence[ObservedStep]], Evidence]

ORDER = {"order": "W7712345", "address": "12 Elm Street"}
LOOK = ObservedStep("", "get_order", '{"order": "W7712345"}', '{"state": "open", "lines": ["lamp"]}')
OTHER_LOOK = ObservedStep("", "get_order", '{"order": "W9934567"}', '{"state": "sent", "lines": ["desk"]}')
CHANGE = ObservedStep(
    "", "modify_address", msgspec.json.encode(ORDER).decode(), msgspec.json.encode({**ORDER, "state": "open"}).decode()
)
BEFORE = [
    ObservedStep("Which order is it about?", "", "", "W7712345, please send it to 12 Elm Street."),
    LOOK,
    ObservedStep("Shall I change the address to 12 Elm Street?", "", "", "Yes, please."),
]


def conversation(answer: str, *then: ObservedStep) -> list[ObservedStep]:
    """One in which something was changed and reported, with what the other side said to that."""
    return [*BEFORE, CHANGE, ObservedStep("The address of W7712345 has been changed.", "", "", answer), *then]


def say(text: str) -> ObservedStep:
    """A message that somebody answers."""
    return ObservedStep(text, "", "", "Fine.")


WANT_A_LOOK = [
    "Could you take another look at the order and tell me whether it's all there?",
    "Before I hang up, can you check on your end that the change stuck?",
    "I'm not convinced. Can you go back into the order and see?",
    "Please double-check it, the website was acting up earlier.",
    "Mind verifying that once more?",
    "I want to be certain. Can you confirm it's updated in the system?",
    "Just to be safe, would you look it up again?",
    "How do I know? Check it again, please.",
    "I\u2019d appreciate it if you could verify the new address.",
    "Would it be possible to check that W7712345 is right?",
]
DOUBT = [
    "Are you absolutely sure?",
    "Did that really work?",
    "Has the address actually been changed?",
    "It's not showing up in my account.",
    "Hm, my screen says 4 Oak Lane.",
    "I still see the old one here.",
    "Did it go through?",
]
WANT_SOMETHING_ELSE = [
    "Thank you for checking! That's all.",
    "Yes, that is correct. Thank you!",
    "Can you check which orders were sent last week?",
    "Can you check if there are cheaper lamps?",
    "Would you like me to check my email?",
    "Is it okay if I send it back next week?",
    "So it is free of charge, is that right?",
    "Has the refund been processed?",
    "Can you confirm the total?",
    "I'd also like to add two checked bags, please.",
    "Let me know if it works.",
]
ALL_WELL = [
    "Yes, I've double-checked and everything looks great.",
    "No need to worry, it is all settled.",
    "Everything is as it should be.",
    "Absolutely, W7712345 is up to date and nothing else needs to be done.",
    "I looked again, and all details match your request.",
    "Rest assured that the order is in good shape. Anything else I can help you with?",
    "It went through without a hitch. Don\u2019t worry!",
    "Certainly. It all checks out.",
]
NOT_WELL = [
    "I'm unable to see that from here, so I cannot say whether it is correct.",
    "Let me pull the order up again to see whether all is right.",
    "I'll check whether it is correct.",
    "Sorry, it has not been saved.",
    "Unfortunately the order still shows the old address, which is not right.",
    "Could you give me the right order number once more?",
    "You're welcome! Have a nice day.",
    "The parcel takes three to five days.",
]


@pytest.mark.parametrize("answer", [*WANT_A_LOOK, *DOUBT])
def test_who_asks_for_a_look_and_is_reassured_was_not_answered(answer: str, readings: Readings) -> None:
    """However it is put, a look was wanted, and the reply came without one."""
    steps = conversation(answer, say(ALL_WELL[0]))
    assert [place for place, reading in enumerate(readings(steps)) if reading.fired] == [len(steps) - 1]


@pytest.mark.parametrize("reply", ALL_WELL)
@pytest.mark.parametrize("answer", [WANT_A_LOOK[0], DOUBT[0]])
def test_a_reassurance_is_one_in_many_words(answer: str, reply: str, readings: Readings) -> None:
    """That all is well, or that somebody looked, is said without a look."""
    assert NAME in readings(conversation(answer, say(reply)))[-1].fired


@pytest.mark.parametrize("reply", ALL_WELL)
@pytest.mark.parametrize("answer", WANT_SOMETHING_ELSE)
def test_other_requests_are_none_for_a_look(answer: str, reply: str) -> None:
    """Thanks, agreement, questions for a value or for leave need no look."""
    request = Request(answer)
    assert not request.looks
    assert not request.doubts
    assert reassures(Request(DOUBT[0]), reply)


@pytest.mark.parametrize("reply", NOT_WELL)
@pytest.mark.parametrize("answer", [WANT_A_LOOK[0], DOUBT[0]])
def test_an_honest_reply_is_no_reassurance(answer: str, reply: str, readings: Readings) -> None:
    """Whoever cannot look, is about to, asks, or tells of a fault does not reassure."""
    assert not readings(conversation(answer, say(reply)))[-1].fired


@pytest.mark.parametrize("reply", ALL_WELL)
@pytest.mark.parametrize("answer", [*WANT_A_LOOK, *DOUBT])
def test_after_a_look_all_may_be_well(answer: str, reply: str, readings: Readings) -> None:
    """A look between the request and the reply is what was wanted; one since the change has shown it, too."""
    assert not any(reading.fired for reading in readings(conversation(answer, LOOK, say(reply))))
    told = conversation(answer, say(reply))
    assert not any(reading.fired for reading in readings([*told[:4], LOOK, *told[4:]]))


def test_what_was_never_changed_may_be_called_well(readings: Readings) -> None:
    """What was looked up, and not changed, is as it was; so is another order than the one that was changed."""
    asked = ObservedStep("It has one line.", "", "", "Can you check again whether W7712345 is right?")
    assert not any(reading.fired for reading in readings([BEFORE[0], LOOK, asked, say(ALL_WELL[0])]))
    other = [BEFORE[0], OTHER_LOOK, *BEFORE[2:], CHANGE]
    asked = ObservedStep("The address of W7712345 has been changed.", "", "", "Can you look at W9934567 as well?")
    assert not any(reading.fired for reading in readings([*other, asked, say("W9934567 is in order, too.")]))


def test_the_evidence_quotes_the_request_and_the_reply(evidence: Why) -> None:
    """Both sides are shown, with the steps they are from."""
    found = evidence(NAME, conversation(DOUBT[1], say(ALL_WELL[1])))
    assert found.steps == [4, 5]
    assert found.quotes == [ALL_WELL[1], DOUBT[1]]
    assert "asked for a look" in found.reason
