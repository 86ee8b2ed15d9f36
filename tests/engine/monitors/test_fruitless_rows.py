"""semantic_loop: steps in a row that serve one thing and bring nothing new, whatever they are written like."""

from collections.abc import Sequence

import pytest

from reasonblocks.engine.monitors.features import ObservedStep, read_step
from reasonblocks.engine.monitors.semantic_loop import SemanticLoop

Steps = Sequence[ObservedStep]
NO_ROUTE = "connect: no route to the printer server, giving up"
NOT_COVERED = "The plan does not cover readings of that meter"
PAGE = "Blocked. You have been sent to the start page: News, Weather, Travel, Sports, Letters, Archive, Imprint, Jobs"
RECORD = "[pump]\nspeed = 40\nsensor = flow\npressure = 120\nfilter = coarse\n[valve]\nside = left\nalarm = quiet"


def talk(*turns: tuple[str, str]) -> Steps:
    """Messages, each with its answer."""
    return [ObservedStep(text, observation=answer) for text, answer in turns]


def calls(tool: str, outcome: str, *given: str, fails: bool = False) -> Steps:
    """Calls that all come to the same."""
    return [ObservedStep("", tool, text, outcome, fails) for text in given]


def thoughts(*texts: str) -> Steps:
    """Thoughts in steps that do nothing."""
    return [ObservedStep(text) for text in texts]


def edits(*swaps: tuple[str, str]) -> Steps:
    """Edits of one file."""
    return [
        ObservedStep("", "edit_file", f'{{"path": "oven.toml", "old": "{old}", "new": "{new}"}}', "Saved oven.toml.")
        for old, new in swaps
    ]


LOOPS: dict[str, Steps] = {
    "an instruction that does not help": talk(
        ("Take the battery out of the lamp and put it back after a minute.", "Did it. The lamp stays dark."),
        ("Please remove the battery from the lamp, wait, and insert it again.", "I did. It stays dark."),
        ("The lamp needs its battery taken out for a minute: could you do that?", "Same, dark."),
        ("Let us try the battery of the lamp once more: out for a minute, then back.", "Still dark."),
        ("Would you pull the battery from the lamp for a minute?", "No change, it is dark."),
    ),
    "an offer that was declined": talk(
        ("The seat cannot be moved to the front. Would a meal voucher be all right?", "No voucher, I want the seat."),
        ("I am not able to move the seat. Shall I send you a meal voucher?", "No. I want the seat in front."),
        ("Unfortunately that seat stays. May I make up for it by a meal voucher?", "No voucher. The seat, please."),
        ("A front seat is not possible, but can I offer a voucher for a meal?", "I said no. The seat."),
        ("Would you accept the meal voucher in place of the front seat?", "No."),
    ),
    "a confirmation in a record": talk(
        ('{"ask": "Shall I move the crate 88-31 to bay four?"}', "Yes."),
        ('{"next_step": "Please approve that the crate 88-31 goes to bay four."}', "Yes, approved."),
        ('{"state": "waiting", "note": "Your consent to bay four for the crate is needed."}', "yes!"),
        ('{"question": "Do you agree that crate 88-31 is put in bay four?"}', "Yes, yes."),
        ('{"confirm": "Crate 88-31 to bay four, is that right?"}', "Yes."),
    ),
    "nothing but patience asked for": talk(
        ("One moment, please.", "Of course."),
        ("I am on it, only a little longer.", "All right, but tell me then how much is left on the card."),
        ("Thanks for holding, it will not take long.", "Fine. Do let me know as soon as you have it."),
        ("It will be taken care of in no time.", "Okay."),
    ),
    "one call in many spellings": calls(
        "bash",
        NO_ROUTE,
        '{"command": "lpq -P attic"}',
        '{"command": "lpq -l -P attic"}',
        '{"command": "cd /tmp && lpq -P attic"}',
        '{"command": "sudo lpq -P attic 2>&1"}',
        fails=True,
    ),
    "one address in many spellings": calls(
        "open_page",
        PAGE,
        '{"url": "https://www.herald.example/2019/tide-4410"}',
        '{"url": "http://herald.example/2019/tide-4410"}',
        '{"url": "https://m.herald.example/2019/tide-4410?print=1"}',
        '{"url": "https://herald.example/amp/2019/tide-4410"}',
    ),
    "one meter asked in other terms": calls(
        "get_reading",
        NOT_COVERED,
        '{"meter": "GX-7", "kind": "daily"}',
        '{"meter": "GX-7", "kind": "hourly"}',
        '{"meter": "gx-7", "kind": "total"}',
        '{"meter": "GX-7", "kind": "latest"}',
        fails=True,
    ),
    "one file by many tools": [
        ObservedStep("", "read_file", '{"path": "pump.ini"}', RECORD),
        ObservedStep("", "view_file", '{"path": "./pump.ini"}', RECORD),
        ObservedStep("", "read_file", '{"path": "pump.ini", "limit": 90}', RECORD),
        ObservedStep("", "open_file", '{"path": "pump.ini"}', RECORD),
    ],
    "one note to a colleague": calls(
        "post_message",
        "posted",
        '{"room": "K-12", "text": "The heater of the greenhouse is being checked."}',
        '{"room": "K-12", "text": "We are checking the greenhouse heater."}',
        '{"room": "K-12", "text": "A check of the heater in the greenhouse is under way."}',
        '{"room": "K-12", "text": "The heater in the greenhouse still has its check."}',
    ),
    "one question in thought": thoughts(
        "Should the parcel go by rail or by road? Rail is slow, and the parcel is urgent.",
        "Rail or road for the parcel: since it is urgent, perhaps road, though rail is slow but safe.",
        "The parcel is urgent. I wonder whether rail is too slow or whether road would do.",
    ),
    "an edit to and fro": edits(
        ("heat = 180", "heat = 200"),
        ("  heat = 200 # fan", "  heat = 180 # fan"),
        ("heat = 180 # fan", "heat = 200 # fan"),
        ("[bake]\\nheat = 200", "[bake]\\nheat = 180"),
    ),
    "a stream edit to and fro": calls(
        "bash",
        "",
        """{"command": "sed -i 's/lights: on/lights: off/' stage.yml"}""",
        """{"command": "sed -i 's/: off/: on/' stage.yml"}""",
        """{"command": "sed -i '4s/lights: on$/lights: off/' stage.yml"}""",
        """{"command": "sed -i 's/off/on/' stage.yml"}""",
    ),
}
OTHERS: dict[str, Steps] = {
    "one remedy after the other": talk(
        ("Please check that the battery sits firmly.", "It does."),
        ("Then clean the contacts with a dry cloth.", "Done, it stays dark."),
        ("Could you screw the bulb out and in again?", "I did. No light."),
        ("Please try the bulb in another socket.", "There it shines."),
    ),
    "consent to one thing after the other": talk(
        ("Shall I move crate 88-31 to bay four?", "Yes."),
        ("Shall I move crate 90-02 to bay six?", "Yes."),
        ("And crate 71-15 to the cold room?", "Yes please."),
        ("Do you want the list of all crates by mail?", "Yes."),
    ),
    "one meter after the other": calls(
        "get_file",
        "There is no such file in the archive of readings",
        *[f'{{"path": "readings/{name}.csv"}}' for name in ("north", "south", "attic", "cellar", "yard")],
        fails=True,
    ),
    "one mirror after the other": calls(
        "bash",
        "curl: could not resolve the name of the machine",
        *[
            f'{{"command": "curl -sS https://{host}/map.zip"}}'
            for host in ("one.maps.example", "cdn.terra.example", "eu.globe.example", "files.atlas.example")
        ],
        fails=True,
    ),
    "one film after the other": [
        ObservedStep("", "open_page", f'{{"url": "https://films.example/watch?v={name}"}}', f"{name}\n{PAGE}")
        for name in ("3hqZpLw0", "7hqZpLw0", "5hqZpLw0", "8hqZpLw0", "2hqZpLw0")
    ],
    "one guest after the other": [
        ObservedStep("", "get_guest", f'{{"guest": "{name}", "house": "H2"}}', RECORD)
        for name in ("ana_lund_4410", "ana_lund_5120", "ana_lund_7231", "ana_lund_8016", "ana_lund_9377")
    ],
    "one year after the other": [
        ObservedStep("", "find_page", f'{{"words": "tide tables herald {year}"}}', f"Found for {year}\n{PAGE}")
        for year in (2011, 2013, 2014, 2017, 2019)
    ],
    "three attempts and a remedy": [
        *calls(
            "bash",
            NO_ROUTE,
            '{"command": "lpq -P attic"}',
            '{"command": "lpq -l -P attic"}',
            '{"command": "sudo lpq -P attic"}',
            fails=True,
        ),
        ObservedStep("", "bash", '{"command": "ip route add 10.2.0.0/16 dev eth1"}', "ok"),
        ObservedStep("", "bash", '{"command": "lpq -a -P attic"}', "attic is ready"),
    ],
    "notes that tell what was found": calls(
        "post_message",
        "posted",
        '{"room": "K-12", "text": "The heater of the greenhouse is being checked."}',
        '{"room": "K-12", "text": "Its fuse had blown during the storm on Sunday."}',
        '{"room": "K-12", "text": "A new fuse holds; plants on the left bench suffered."}',
        '{"room": "K-12", "text": "Nineteen degrees reached, closing the ticket."}',
    ),
    "one note to many": calls(
        "post_message",
        "posted",
        *[
            f'{{"room": "K-{room}", "text": "The heater of the greenhouse is being checked."}}'
            for room in (12, 14, 17, 21, 30)
        ],
    ),
    "thoughts that get on": thoughts(
        "Should the parcel go by rail or by road? It is urgent.",
        "Road takes nine hours, the depot closes at six, so a van would have to leave before nine.",
        "Perhaps a courier on a motorbike could make it: forty euros, four hours.",
        "Budget allows fifty, hence the courier; which company answers the phone at night?",
    ),
    "one setting after the other": edits(
        ("heat = 180", "heat = 200"),
        ("fan = 1", "fan = 2"),
        ("door = open", "door = shut"),
        ("lamp = on", "lamp = off"),
    ),
}


def scores(steps: Steps) -> list[float]:
    """What the monitor itself has to show after each step."""
    state = SemanticLoop().start("Help with what comes up.")
    return [state.observe(read_step(index, step)).score for index, step in enumerate(steps)]


@pytest.mark.parametrize("steps", LOOPS.values(), ids=LOOPS)
def test_steps_for_one_thing_that_bring_nothing_new_are_a_loop(steps: Steps) -> None:
    """Twice is nothing; in the end it is too much."""
    assert max(scores(steps[:2])) < 0.6
    assert scores(steps)[-1] >= 0.6


@pytest.mark.parametrize("steps", OTHERS.values(), ids=OTHERS)
def test_steps_for_many_things_or_with_news_are_none(steps: Steps) -> None:
    """Other ids, places and words, or an answer that tells something."""
    assert max(scores(steps)) < 0.6


@pytest.mark.parametrize("name", ["one call in many spellings", "an instruction that does not help"])
def test_the_evidence_names_the_steps_of_the_row(name: str) -> None:
    """All of them, in their order, with what was said first and last."""
    state = SemanticLoop().start("Help with what comes up.")
    readings = [state.observe(read_step(index, step)) for index, step in enumerate(LOOPS[name])]
    evidence = readings[-1].evidence
    assert evidence is not None
    assert evidence.steps == list(range(len(LOOPS[name])))[-len(evidence.steps) :]
    assert len(evidence.steps) >= 4
    assert evidence.quotes
