"""semantic_loop: one thing is asked of a person again and again, in other words; and what only looks like it."""

from collections.abc import Sequence

import pytest

from reasonblocks.engine.monitors.cyclic_compression import CyclicCompression
from reasonblocks.engine.monitors.features import ObservedStep, read_step
from reasonblocks.engine.monitors.semantic_loop import SemanticLoop
from reasonblocks.engine.monitors.suite import MonitorSuite

Talk = Sequence[tuple[str, str]]
DEVICE = ObservedStep("", "get_boiler", '{"model": "VK 24"}', '{"model": "VK 24", "bar": 1.4, "burner": "off"}')

ASKED: dict[str, Talk] = {
    "a look at one thing": (
        ("Please look at the panel. Does the flame symbol blink?", "It does not blink, it's just off."),
        ("Can you tell me whether the symbol of the flame is blinking at the moment?", "No, it's off."),
        ("I'd need to know if there's a blinking flame on your panel, please.", "There isn't. It's off."),
        ("Would you look once more for the flame on the panel and say if it blinks?", "Still off. What else?"),
    ),
    "what somebody does not have": (
        ("Could you give me the contract number?", "I don't have it with me."),
        ("I need the number of your contract to go on. What is it?", "As I said, I don't have it here."),
        ("Please provide the contract number so that I can continue.", "I can't, I'm not at home."),
        ("To proceed I require your contract number, please.", "I really don't have it."),
    ),
    "a command to run": (
        ("Please run `reset_burner()` and tell me what happens.", "Nothing happens."),
        ("Could you execute `reset_burner()` on the panel?", "I did, nothing happened."),
        ("Let's give `reset_burner()` another go, please.", "Same. Nothing."),
        ("Please try `reset_burner()` again and let me know.", "Nothing again."),
    ),
    "consent that was given": (
        ("Shall I send a technician on Monday between 8 and 10?", "Yes please."),
        ("Before I book it, may I have your consent to the visit of the technician?", "Of course, go ahead."),
        ("I'd like to be certain you agree with a technician coming on Monday.", "I do. Please book it."),
        ("Kindly confirm the technician on Monday once more.", "Already confirmed!"),
    ),
}
OTHERS: dict[str, Talk] = {
    "one check after the other": (
        ("Is the flame symbol on?", "No."),
        ("Is the tap below the boiler open?", "Yes."),
        ("Is the thermostat above 20?", "Yes."),
        ("Is there a sound when you turn the knob?", "No, nothing."),
        ("Does water come out of the small hose?", "No."),
    ),
    "again after a repair": (
        ("Please run `reset_burner()` and tell me what happens.", "Nothing happens."),
        ("Then please open the gas tap below it.", "It was closed! It's open now."),
        ("Please run `reset_burner()` once more.", "Nothing happens."),
        ("Would you set the thermostat to 25?", "Done."),
        ("And `reset_burner()` again, please?", "It hums now."),
    ),
    "closer and closer": (
        ("What does the panel show?", "Some code."),
        ("Which code does the panel show?", "F something."),
        ("Which figures come after the F on the panel?", "28."),
        ("Is F28 on the panel steady or does it blink?", "It blinks."),
    ),
    "a form": (
        ("What is your street?", "Elm Street."),
        ("And the house number, please?", "12."),
        ("Which town is that in?", "Leeds."),
        ("What is the postcode?", "LS1."),
    ),
    "answers that tell more each time": (
        ("What does the noise sound like, please?", "Like a kettle."),
        ("Could you say more about the noise?", "It begins in the morning when the pump starts."),
        ("Please tell me more about that noise.", "It stops once the radiators upstairs are warm."),
        ("Anything else about the noise?", "My neighbour hears it through the wall."),
    ),
}


def steps_of(talk: Talk) -> list[ObservedStep]:
    """The messages, each with its answer."""
    return [DEVICE, *[ObservedStep(text, observation=answer) for text, answer in talk]]


def scores(talk: Talk) -> list[float]:
    """What the monitor itself has to show after each step."""
    state = SemanticLoop().start("My heating does not work.")
    return [state.observe(read_step(index, step)).score for index, step in enumerate(steps_of(talk))]


@pytest.mark.parametrize("talk", ASKED.values(), ids=ASKED)
def test_the_same_question_in_other_words_is_a_loop(talk: Talk) -> None:
    """By the fourth time at the latest; to ask twice may be caution."""
    assert max(scores(talk[:2])) < 0.6
    assert scores(talk)[-1] >= 0.6


@pytest.mark.parametrize("talk", OTHERS.values(), ids=OTHERS)
def test_questions_that_get_on_are_none(talk: Talk) -> None:
    """Another thing is asked, something was done in between, or the answer tells more."""
    assert max(scores(talk)) < 0.6


def test_to_ask_for_consent_again_is_called_a_loop_alone(suite: MonitorSuite) -> None:
    """What the questions say again is what is to be agreed to."""
    trajectory = suite.start("My heating does not work.")
    last = [trajectory.observe(step) for step in steps_of(ASKED["consent that was given"])][-1]
    assert last.fired == ["semantic_loop"]


def test_who_is_tired_of_statements_is_tired_of_churn() -> None:
    """The same remark on a question is one on a loop."""
    told = (
        ("The boiler VK 24 stands at 1.4 bar.", "You told me that."),
        ("Its burner is off, by the way it looks.", "As I said. I'm waiting."),
    )
    state = CyclicCompression().start("My heating does not work.")
    assert [state.observe(read_step(index, step)).score for index, step in enumerate(steps_of(told))][-1] >= 0.6
    assert max(scores(told)) < 0.6
