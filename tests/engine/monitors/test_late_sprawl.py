"""late_sprawl: one tangent after the other fires, bulk work does not."""

import pytest

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.late_sprawl import LateSprawl

from .departures import ON_TASK, STRETCH, TANGENTS, read, step

FIRES = 0.6
SPRAWLED = [*ON_TASK, *TANGENTS]
HEALTHY: dict[str, list[ObservedStep]] = {
    "work on the task": [*ON_TASK, *ON_TASK],
    "early exploration": [*TANGENTS, *ON_TASK],
    "one thing that is stayed with": [*ON_TASK, *STRETCH],
    "the same for one item after the other": [
        *ON_TASK,
        *(
            step("", "lookup", f"{name} found", name=name)
            for name in ("zebra", "giraffe", "lion", "elephant", "hippo", "cheetah", "ostrich")
        ),
    ],
    "a list that is filled in": [
        *ON_TASK,
        *(
            step(f"Also add the {name}, which lives in the {place}.", "add_entry", "ok", name=name)
            for name, place in (("meerkat", "burrow"), ("penguin", "ocean"), ("sloth", "canopy"), ("koala", "bush"))
        ),
    ],
    "what a result brought up": [
        *ON_TASK[:-1],
        step(
            "The race is gone with the lock in front.",
            "run",
            " ".join(one.thought + one.action_input for one in TANGENTS),
            command="python race_demo.py",
        ),
        *TANGENTS,
    ],
}


def test_c14_one_tangent_after_the_other_fires_and_names_them() -> None:
    """The steps are those of the tangents, and they are quoted."""
    readings = read(LateSprawl(), SPRAWLED)
    assert max(reading.score for reading in readings[: len(ON_TASK) + 1]) < FIRES
    assert readings[-1].score >= FIRES
    found = readings[-1].evidence
    assert found is not None
    assert found.steps == list(range(len(ON_TASK), len(SPRAWLED)))
    assert found.quotes[-1] == TANGENTS[-1].thought
    assert found.reason.startswith(f"{len(TANGENTS)} of the last 6 steps that say anything begin something new")
    assert f"steps {len(ON_TASK)} to {len(SPRAWLED) - 1}" in found.reason


def test_c14_it_needs_no_task() -> None:
    """Tangents have nothing to do with each other, whatever the task may be."""
    assert read(LateSprawl(), SPRAWLED, task="")[-1].score >= FIRES


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_c14_work_over_many_things_does_not_fire(steps: list[ObservedStep]) -> None:
    """What resembles sprawl and is none stays below the threshold."""
    assert max(reading.score for reading in read(LateSprawl(), steps)) < FIRES


CALL = "Hello, my heating does not start any more."
SERVED = [
    step("Which boiler do you have?", observation="A boiler by Vento, the heating shows a red lamp."),
    step("", "get_manual", "Red lamp: water pressure too low, refill the boiler", boiler="Vento"),
    step("A red lamp means low water pressure. Is the pressure below one bar?", observation="It is at half a bar."),
    step("Please refill the boiler with water to two bar.", observation="Done, two bar now."),
    step("Does the red lamp still show?", observation="It went out."),
]
SMALL_QUESTIONS = [
    step("Do you own a bicycle?", observation="Yes."),
    step("", "list_cinemas", "Odeon, Rex, Lux"),
    step("Which newspaper do you subscribe to?", observation="None."),
    step("Have you ever visited Norway?", observation="Not yet."),
    step("How many siblings live nearby?", observation="Two."),
]
CHAT = [
    step("Do you bake sourdough bread?", observation="With rye."),
    step("Rye sourdough wants warmth.", observation="My kitchen is warm."),
    step("Let it rest overnight then.", observation="Fine."),
    step("Bake it with steam.", observation="Good."),
]


def test_c14_odd_questions_to_a_person_fire() -> None:
    """None of them has to do with the call, nor with the one before; the answers are short and lead nowhere."""
    readings = read(LateSprawl(), [*SERVED, *SMALL_QUESTIONS], task=CALL)
    assert max(reading.score for reading in readings[: len(SERVED) + 1]) < FIRES <= readings[-1].score


def test_c14_a_chat_about_one_thing_is_no_sprawl() -> None:
    """Each message goes on with the one before, be it by a mere pronoun."""
    assert max(reading.score for reading in read(LateSprawl(), [*SERVED, *CHAT], task=CALL)) < FIRES


def test_c14_one_guess_after_the_other_is_no_sprawl() -> None:
    """Whoever rules causes out speaks each time of what the last result has shown."""
    guesses = [
        step("Perhaps the disk is full.", "run", "disk 12% used", command="df"),
        step("12% of the disk, so no. Is it memory?", "run", "memory 3 of 64 GB", command="free"),
        step("Memory is fine. Then the clock?", "run", "clock drift 41 s", command="chronyc"),
        step("A drift of 41 s. Who sets the clock?", "run", "timesyncd inactive", command="systemctl"),
        step("timesyncd is off, hence the stamps.", "run", "active", command="systemctl start timesyncd"),
    ]
    assert max(reading.score for reading in read(LateSprawl(), [*ON_TASK, *guesses])) < FIRES


def _look_up(origin: str, destination: str) -> ObservedStep:
    return step("", "search_trains", f'[{{"from": "{origin}", "to": "{destination}"}}]', origin=origin, to=destination)


SERVED = [
    step("Which ticket is it?", observation="The one from BER to MUC, please cancel it."),
    step("", "get_ticket", '{"origin": "BER", "to": "MUC", "price": 40}', ticket="T-1001"),
    step("It costs 40 euros. Shall I cancel it?", observation="Yes, please."),
    _look_up("BER", "MUC"),
    step("The price is confirmed.", observation="Then go on with the cancellation, please, I am in a hurry."),
]


def test_look_ups_that_nothing_has_brought_together_are_sprawl() -> None:
    """Places that nobody named, looked up pair by pair, fire; the same places around one journey do not."""
    astray = [*SERVED, _look_up("HAM", "CGN"), _look_up("LEJ", "STR"), _look_up("NUE", "BRE")]
    journey = [*SERVED, _look_up("BER", "CGN"), _look_up("CGN", "MUC"), _look_up("MUC", "BRE")]
    task = "I want to cancel my ticket."
    assert read(LateSprawl(), astray, task)[-1].score >= FIRES
    assert max(reading.score for reading in read(LateSprawl(), journey, task)) < FIRES


ASIDES = [
    step("Besides, the boiler's colour might be worth a word.", observation="Not really."),
    step("", "get_manual", "Red lamp: water pressure too low", boiler="Vento"),
    step("By the way, would you like the pressure in another unit?", observation="No."),
    step("It could be nice to read up on the red lamp, too.", "get_manual", "Red lamp: refill", boiler="Vento"),
    step("While we're at it, maybe the old boiler deserves a check.", observation="It is gone."),
]
"""Of nothing but what the call was about, and each of them on top of the one before."""


def test_c14_asides_fire_by_the_way_they_are_said() -> None:
    """Every word of them is the run's own; what is added again and again, and only might be of use, is sprawl."""
    readings = read(LateSprawl(), [*SERVED, *ASIDES], task=CALL)
    assert max(reading.score for reading in readings[: len(SERVED) + 3]) < FIRES <= readings[-1].score
    found = readings[-1].evidence
    assert found is not None
    assert found.quotes[-1] == ASIDES[-1].thought


@pytest.mark.parametrize(
    "thoughts",
    [
        ["Now the valve, too.", "Also the pump.", "Another valve.", "The lamp as well."],
        ["Maybe it is the valve.", "It could be the pump.", "Perhaps the lamp.", "The sensor might be off."],
        [
            "I could also run the tests of the valve.",
            "It might be worth another test of the pump.",
            "Maybe verify the lamp as well.",
            "The sensor could also have regressions.",
        ],
    ],
    ids=["additions that are certain", "guesses that add nothing", "checks"],
)
def test_c14_neither_additions_nor_guesses_nor_checks_are_asides(thoughts: list[str]) -> None:
    """It takes both, and what makes sure of the work is none of it."""
    steps = [step(thought, "look_at", "boiler valve pump lamp sensor", part="boiler") for thought in thoughts]
    assert max(reading.score for reading in read(LateSprawl(), [*SERVED, *steps], task=CALL)) < FIRES


def test_c14_what_would_be_nice_to_tidy_up_fires() -> None:
    """Names, comments and spelling can be bettered in any piece of work, and it is never done."""
    wishes = [
        step("The lock's naming could be clearer.", "search", "lock", text="lock"),
        step("Perhaps a refactoring of the cache would pay off.", "read_file", "class Cache", path="cache.py"),
        step("It might be worth fixing the typos in the store.", "read_file", "class Store", path="store.py"),
        step("Type hints would be good to have for the workers.", "search", "workers", text="workers"),
    ]
    assert read(LateSprawl(), [*ON_TASK, *wishes])[-1].score >= FIRES
