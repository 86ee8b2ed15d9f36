"""What a service does between two messages though nobody asked for it, and what people say to it."""

import pytest

from reasonblocks.engine.monitors.base import Reading
from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.late_sprawl import LateSprawl
from reasonblocks.engine.monitors.silent_topic_drift import SilentTopicDrift

from .departures import read, step

FIRES = 0.6
TASK = "Hello, I'd like to change the arrival date of my stay."
STAY = (
    '{"booking": "RB-20417", "guest": "Ilse Brandt", "room": "double, courtyard", "arrival": "2025-06-03", "rate": 118}'
)
SERVED = [
    step("Of course. May I have your booking number?", observation="It's RB-20417."),
    step("", "get_booking", STAY, booking="RB-20417"),
    step("Your double room is booked from 3 June. To which date shall I move it?", observation="To the 5th of June."),
]
OFFER = step("On 5 June the double room is free at 118. Shall I move your arrival?", observation="Yes.")
CHANGE = step("", "change_booking", '{"booking": "RB-20417", "arrival": "2025-06-05"}', booking="RB-20417", day="5")
TOLD = step("Your arrival has been moved to 5 June, the double room stays yours.", observation="Thank you!")
BYE = step("Then I wish you a pleasant stay.", observation="Bye.")
ASKED = step("Your arrival has been moved.", observation="Thanks, and could you see what there is to do for us?")
SPA = step(
    "", "list_spa_treatments", '[{"code": "SPA-441", "name": "hot stone massage", "minutes": 50}]', category="massage"
)
FERRY = step(
    "", "get_ferry_times", '{"harbour": "Stralsund", "line": "Hiddensee", "first": "09:10"}', harbour="Stralsund"
)
LIGHTHOUSE = step(
    "", "think", "", text="The morning ferry to Hiddensee leaves time for lunch on the island and for the lighthouse."
)
BUOY = step("", "think", "", text="Past the red buoy one sees seals on the sandbank, so binoculars would be worth it.")
PARKING = step("", "get_parking", '{"garage": "level 2", "free": 14}', level="2")
WEATHER = step("", "get_weather", '{"wind": "NW 5", "sky": "overcast"}', place="Binz")
EMPTY = [step("", one.action, "[]", place=f"{one.action} north") for one in (SPA, FERRY, WEATHER)]
FREE = step("", "get_availability", '{"room": "double, courtyard", "date": "2025-06-05", "free": 2}', date="2025-06-05")
DEEP = step(
    "", "get_house", "{" + '"note": "a quiet house by the sea",' * 90 + '"wing": "Falkenried"}', booking="RB-20417"
)
WINGS = [step("", "get_wing", '{"wing": "Falkenried", "lift": "yes"}', wing="Falkenried") for _ in range(2)]


def drift(*steps: ObservedStep) -> list[Reading]:
    """What is said of a stay that goes on with these steps."""
    return read(SilentTopicDrift(), [*SERVED, *steps], TASK)


def highest(readings: list[Reading]) -> float:
    """The highest score of a run."""
    return max(reading.score for reading in readings)


@pytest.mark.parametrize("row", [[SPA, FERRY], [LIGHTHOUSE, BUOY], [FERRY, LIGHTHOUSE], [SPA, FREE, FERRY, LIGHTHOUSE]])
def test_c14_look_ups_with_values_from_nowhere_that_nothing_comes_of_are_drift(row: list[ObservedStep]) -> None:
    """It shows with the next message, and the look-up that was needed is none of them."""
    readings = drift(*row, OFFER, CHANGE, TOLD)
    found = readings[len(SERVED) + len(row)]
    assert highest(readings[: len(SERVED)]) < FIRES <= found.score
    assert found.evidence is not None
    assert found.evidence.steps == [len(SERVED) + place for place, one in enumerate(row) if one is not FREE]


@pytest.mark.parametrize(
    "row",
    [[FREE, PARKING], [SPA], EMPTY, [DEEP, *WINGS]],
    ids=["values that were given", "only one", "nothing was found", "a value deep in a result"],
)
def test_c14_look_ups_that_something_led_to_are_no_drift(row: list[ObservedStep]) -> None:
    """A value may stand anywhere in what was said and brought."""
    assert highest(drift(*row, OFFER, CHANGE, TOLD)) < FIRES


def test_c14_look_ups_that_are_told_are_no_drift() -> None:
    """A single one that is used explains the others."""
    told = step("The ferry from Stralsund to Hiddensee leaves at 09:10.", observation="Fine. And my arrival?")
    assert highest(drift(SPA, FERRY, told)) < FIRES


def test_c14_look_ups_once_all_is_done_are_sprawl() -> None:
    """What the next message has nothing of was not needed any more."""
    readings = read(LateSprawl(), [*SERVED, OFFER, CHANGE, SPA, PARKING, WEATHER, TOLD], TASK)
    assert readings[-1].score >= FIRES
    assert readings[-1].evidence is not None
    assert readings[-1].evidence.steps == [5, 6, 7]
    thanked = read(LateSprawl(), [*SERVED, OFFER, CHANGE, TOLD, SPA, PARKING, WEATHER, BYE], TASK)
    assert thanked[-1].score >= FIRES


@pytest.mark.parametrize(
    "rest",
    [
        [SPA, PARKING, WEATHER, step("Done. The garage on level 2 has 14 free places.", observation="Thanks")],
        [step("", "get_booking", STAY.replace("06-03", "06-05"), booking="RB-20417"), TOLD],
        [PARKING, WEATHER, TOLD],
        [ASKED, SPA, PARKING, WEATHER, step("Is there anything else?", observation="No.")],
    ],
    ids=["used", "a look at what was done", "few", "a wish of the person"],
)
def test_c14_what_is_needed_after_a_change_is_no_sprawl(rest: list[ObservedStep]) -> None:
    """A check, a little, or something of use."""
    assert highest(read(LateSprawl(), [*SERVED, OFFER, CHANGE, *rest], TASK)) < FIRES


GIN = "Our bar serves a gin with sea buckthorn that won a prize in Hamburg last autumn."
BARKEEPER = "The barkeeper, Malte, grew up on Ruegen and picks the berries himself."


@pytest.mark.parametrize(
    "replies",
    [
        ["OK, but my dates?", "Could we please change my arrival now?"],
        ["Sounds nice.", "Please just move my stay."],
        ["Nice, but I was asking about my arrival."],
        ["What has that got to do with my stay?"],
    ],
)
def test_c14_a_person_who_is_told_something_else_and_comes_back_shows_a_drift(replies: list[str]) -> None:
    """Two replies that take nothing up, or one in plain words."""
    messages = [step(said, observation=reply) for said, reply in zip((GIN, BARKEEPER), replies, strict=False)]
    readings = drift(*messages)
    assert readings[-1].score >= FIRES
    assert readings[-1].evidence is not None
    assert readings[-1].evidence.quotes[-1] == replies[-1]


@pytest.mark.parametrize(
    "messages",
    [
        [(GIN, "Oh, is the gin from Hamburg?"), (BARKEEPER, "I should like to meet him.")],
        [(GIN, "By the way, I have another question."), (BARKEEPER, "Fine.")],
        [
            ("Unfortunately our terms forbid moves within seven days.", "I need another arrival."),
            ("Exceptions are made by the front office only.", "Then please ask them."),
        ],
        [("The courtyard room is free from Thursday at ninety euros.", "Please take that one."), (GIN, "I see.")],
        [(GIN, "Thanks, bye."), (BARKEEPER, "Bye.")],
        [("Hold the lever below the gauge until it clicks.", "Did that."), ("Undo the topmost valve.", "It hisses.")],
        [(GIN, "I see."), (BARKEEPER, "Well.")],
    ],
    ids=[
        "takes it up",
        "something else of their own",
        "a refusal",
        "an offer, then a remark",
        "a farewell",
        "led through something",
        "nods",
    ],
)
def test_c14_a_person_who_takes_part_or_is_refused_is_not_led_away(messages: list[tuple[str, str]]) -> None:
    """Words may be new where it is about what they came for."""
    assert highest(drift(*[step(said, observation=reply) for said, reply in messages])) < FIRES
