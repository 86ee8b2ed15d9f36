"""Look-ups for nothing, and people who are led from one thing to another: late_sprawl sees them by what follows."""

import pytest

from reasonblocks.engine.monitors.features import ObservedStep, StepReader
from reasonblocks.engine.monitors.late_sprawl import LateSprawl
from reasonblocks.engine.monitors.untouched import Untouched

from .departures import read, step

FIRES = 0.6
TASK = "I would like to book a table for four on Friday evening."
SERVED = [
    step("Which restaurant may it be?", observation="The Lantern in Mill Street."),
    step("", "find_restaurant", '{"restaurant": "lantern", "street": "Mill Street"}', name="Lantern"),
    step("", "calculate", "8", expression="4 * 2"),
    step("At what time on Friday?", observation="At eight, please."),
    step("", "get_free_tables", '{"friday": ["19:00", "20:00"]}', restaurant="lantern"),
    step("There is a table at 20:00. Whose name is it for?", observation="Okafor."),
    step("Shall I book it for four people?", observation="Yes."),
    step("", "book_table", '{"booking": "B7781", "status": "booked"}', restaurant="lantern", people="4"),
    step("One moment, please.", observation="Sure."),
]
POKED = [
    step("", "list_events", '{"events": ["wine tasting", "jazz brunch", "quiz"]}'),
    step("", "get_parking_garage", '{"garage": "Harbour", "spaces": 212}', garage="harbour"),
    step("", "calculate", "1484", expression="212 * 7"),
    step("", "get_gift_card_design", '{"design": "peony", "colour": "teal"}', design="peony"),
]
BOOKED = step("Your table at the Lantern is booked for Friday at 20:00.", observation="Thank you.")
USED = step("The table is booked. There is a garage, the Harbour, with free spaces.", observation="Thank you.")
DOWN = [step("", one.action, "Error: service unavailable", name="lantern") for one in POKED]
OTHER_TOOLS = [one for one in POKED if one.action != "calculate"] + [step("", "read_meter", "7310 kWh", meter="north")]
ONE_TOOL = [
    step("", "get_event", f'{{"event": "{name}"}}', name=name) for name in ("tasting", "brunch", "quiz", "choir")
]


def served(*steps: ObservedStep) -> float:
    """The highest score of a service that goes on with these steps."""
    return max(reading.score for reading in read(LateSprawl(), [*SERVED, *steps], TASK))


def test_c14_look_ups_that_the_next_message_has_nothing_of_are_sprawl() -> None:
    """They are quoted once the message shows that they were for nothing."""
    last = read(LateSprawl(), [*SERVED, *POKED, BOOKED], TASK)[-1]
    assert last.score >= FIRES
    assert last.evidence is not None
    assert last.evidence.steps == [len(SERVED) + place for place in range(len(POKED))]


@pytest.mark.parametrize(
    "steps",
    [[*POKED, USED], [*DOWN, BOOKED], [*ONE_TOOL, BOOKED], [*OTHER_TOOLS, BOOKED], [*POKED[:3], BOOKED]],
    ids=["used", "failed", "of one kind", "of another business", "few"],
)
def test_c14_look_ups_that_are_used_or_could_not_be_are_none(steps: list[ObservedStep]) -> None:
    """One thing that is used explains why it was looked for."""
    reader, untouched = StepReader(TASK), Untouched(TASK)
    assert not any(untouched.observe(reader.read(one)) for one in [*SERVED, *steps])


def test_c14_once_it_is_done_there_is_nothing_left_to_look_up() -> None:
    """But a list may be gone through for the one thing that is told of it."""

    def found(*steps: ObservedStep) -> bool:
        reader, untouched = StepReader(TASK), Untouched(TASK)
        return any(untouched.observe(reader.read(one)) for one in [*SERVED[:-1], *steps, BOOKED])

    assert found(POKED[0], POKED[1], POKED[3])
    assert not found(*ONE_TOOL)


def test_c14_look_ups_that_a_person_asked_for_are_none() -> None:
    """Whoever wishes for something else has anything looked up."""
    wish = step("Your table is booked.", observation="By the way, I have another question, about your events.")
    assert served(wish, *POKED, BOOKED) < FIRES


QUESTION = "In which year did the ferry Estrid begin its service between Holm and Vester?"
SEARCHED = [
    step("I look for the ferry.", "web_search", "Estrid, ferry, Holm, Vester, built 1931", query="ferry Estrid Holm"),
    step("", "visit_page", "The ferry Estrid, by the yard of Holm", url="https://ferries.example/estrid"),
    step("", "web_search", "Estrid began its service in 1932", query="ferry Estrid service Vester year"),
    step("", "visit_page", "In 1932 the ferry Estrid began", url="https://ferries.example/vester"),
    step("It says 1932.", "find_in_page", "1932", text="service"),
    step("The service began in 1932."),
    step("Let me see the page once more.", "visit_page", "1932, Estrid", url="https://ferries.example/holm"),
    step("It is confirmed by two pages."),
]
BROWSED = [
    step("", "web_search", "sails, keels", query="Viking longship keel"),
    step("", "visit_page", "Puffins breed on cliffs", url="https://birds.example/Puffin"),
    step("", "web_search", "rye, caraway", query="caraway bread recipe"),
    step("", "visit_page", "Foghorns of the coast", url="https://coast.example/Foghorn"),
]
RETRIED = [
    step("", "web_search", "nothing", query="ferry Estrid maiden voyage"),
    step("", "web_search", "nothing", query="ferry Estrid maiden voyage newspaper"),
    step("", "web_search", "nothing", query="Vester Holm ferry newspaper archive"),
    step("", "web_search", "nothing", query="Estrid newspaper archive 1932"),
]
LISTED = [
    step("", "visit_page", f"The ship {name}", url=f"https://ships.example/list/{name}")
    for name in ("Astrid", "Birgit", "Carla", "Dagny")
]
ANSWER = step("", "final_answer", "ok", answer="The ferry Estrid began its service in 1932.")
WIDE = step(
    "", "final_answer", "ok", answer="1932; the longship, the puffin, the foghorn and caraway bread came later."
)


@pytest.mark.parametrize(
    ("steps", "fires"),
    [([*BROWSED, ANSWER], True), ([*BROWSED, WIDE], False), ([*RETRIED, ANSWER], False), ([*LISTED, ANSWER], False)],
    ids=["never used", "used", "one question in other words", "a list"],
)
def test_c14_pages_that_no_answer_needs_are_sprawl(steps: list[ObservedStep], fires: bool) -> None:
    """Searches each about another thing are for nothing if the answer has none of it."""
    scores = [reading.score for reading in read(LateSprawl(), [*SEARCHED, *steps], QUESTION)]
    assert (scores[-1] >= FIRES) is fires


LED = [
    step("Do you own a dog?", observation="A poodle. Could we get back to my booking?"),
    step("", "get_parking_garage", '{"garage": "Harbour"}', garage="harbour"),
    step("Which newsletter would suit you?", observation="Why does that matter?"),
]
STAYED = [
    step("Which seat at the table suits you, by the window?", observation="One thing at a time, please."),
    step("A table by the window is free. Shall I note the window?", observation="What about my booking?"),
]


def test_c14_a_person_who_wants_to_get_back_twice_is_led_from_thing_to_thing() -> None:
    """Two such remarks, each on another subject, fire; one alone, or two on one subject, do not."""
    last = read(LateSprawl(), [*SERVED, *LED], TASK)[-1]
    assert last.score >= FIRES
    assert last.evidence is not None
    assert last.evidence.quotes[-1] == "Why does that matter?"
    assert served(*LED[:2]) < FIRES
    assert served(*STAYED) < FIRES
