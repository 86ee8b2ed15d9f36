"""Where a run has left its topic, quietly and in few words, and where it only seems to have."""

import pytest

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.late_sprawl import LateSprawl
from reasonblocks.engine.monitors.silent_topic_drift import SilentTopicDrift

from .departures import ON_TASK, TASK, read, step

FIRES = 0.6
RENTAL = "I want to change the car of my booking."
RENTER = [
    step("What is your booking number?", observation="It's 70435518."),
    step("", "get_booking", '{"booking": "RB70435518", "car": "van", "driver": "D4418"}', booking="70435518"),
    step("You have booked a van. Which car would you like?", observation="A small one, with a tow bar."),
    step("", "list_cars", '{"small": ["mini", "micro"]}', kind="small"),
    step("There are two small cars. Shall I look for a tow bar?", observation="Yes, please."),
]


def _drift(steps: list[ObservedStep], task: str = TASK) -> float:
    return max(reading.score for reading in read(SilentTopicDrift(), steps, task=task))


def _sprawl(steps: list[ObservedStep], task: str = TASK) -> float:
    return max(reading.score for reading in read(LateSprawl(), steps, task=task))


def test_c14_three_calls_about_somebody_else_are_enough_where_little_comes_back() -> None:
    """The answers have one id between them, and otherwise no more than what was asked with."""
    others = [
        step("", "get_booking", '{"driver_id": "D9917", "name": "Hedda Falk"}', booking="RB55120093"),
        step("", "set_child_seats", '{"booking": "RB55120093", "seats": 2}', booking="RB55120093", seats=2),
        step("", "set_return", '{"booking": "RB55120093", "day": "Sunday"}', booking="RB55120093", day="Sunday"),
    ]
    assert _drift([*RENTER, *others[:2]], RENTAL) < FIRES
    assert _drift([*RENTER, *others], RENTAL) >= FIRES


def test_c14_an_id_is_known_with_a_sign_in_front_of_its_number() -> None:
    """The person has given the number, the service writes letters before it, and so it is theirs."""
    steps = [
        step("And the number of your voucher?", observation="4402717."),
        step("", "get_voucher", '{"holder": "H88120", "issuer": "N10034"}', voucher="VC4402717"),
        step("", "use_voucher", '{"holder": "H88120", "receipt": "Q55019"}', voucher="VC4402717"),
        step("", "get_receipt", '{"holder": "H88120", "receipt": "Q55019"}', receipt="Q55019"),
    ]
    assert _drift([*RENTER, *steps], RENTAL) < FIRES


def test_c14_an_id_that_does_not_exist_is_nobody_elses() -> None:
    """A slip in a number is answered by an error, and the next try is none of another person's affairs."""
    steps = [
        step("", "set_tow_bar", "Error: booking not found", booking="RB70435581"),
        step("", "set_tow_bar", "Error: booking not found", booking="RB70453518"),
        step("", "set_tow_bar", '{"booking": "RB70435518", "case": "K1140", "tow": "T2209"}', booking="RB70435518"),
    ]
    assert _drift([*RENTER, *steps], RENTAL) < FIRES


QUIET = [
    step("", "run", "mixer.py\nqueue.py", command="ls audio/jingles"),
    step("", "run", "VOLUME = 3", command="cat audio/jingles/mixer.py"),
    step("", "run", "", command="sed -i 's/VOLUME = 3/VOLUME = 7/' audio/jingles/mixer.py"),
    step("", "run", "rendered 12 jingles", command="python audio/jingles/queue.py --render"),
    step("", "run", "12", command="ls audio/jingles/out | wc -l"),
]


def test_c14_work_without_a_word_is_seen_by_its_places() -> None:
    """Nothing is said of it: a place that nobody has named is looked at, changed and tried out."""
    assert _drift([*ON_TASK, *QUIET]) >= FIRES
    assert _drift([*ON_TASK, *QUIET[:2], *ON_TASK[4:]]) < FIRES


def test_c14_another_matter_in_the_same_file_is_drift() -> None:
    """The file is that of the task; no word of what is said about it has been said before."""
    said = [
        "Umbrella Trust owns this copyright nowadays, not the foundation.",
        "Which licence does Umbrella Trust grant to the public?",
        "Copyright notice: Umbrella Trust, dual licence, no warranty.",
        "The dual licence wants a trademark clause beside the warranty.",
        "Lawyers of Umbrella Trust prefer the warranty in capitals.",
    ]
    steps = [step(one, "run", "#", command=f"sed -n {n}p writer.py") for n, one in enumerate(said, 1)]
    assert _drift([*ON_TASK, *steps]) >= FIRES


def test_c14_what_stood_in_the_midst_of_a_long_result_is_known() -> None:
    """Only head and tail of a long result are looked at at once; what is said of the rest is no other topic."""
    said = [
        "The tariff table feeds the surcharge.",
        "Surcharge and tariff meet in the invoice.",
        "Invoice rounds tariff.",
    ]
    middle = " ".join(said) + " surcharge_rounding tariff_table invoice"
    text = "\n".join(["cache lock entries store workers"] * 60 + [middle] + ["cache lock entries store workers"] * 60)
    talk = [step(one, "note", "ok", text=one) for one in [*said, *said[:1]]]
    seen = step("The cache and the store share a lock for entries of workers.", "read_file", text, path="store.py")
    short = step(seen.thought, "read_file", "cache lock entries store workers", path="store.py")
    assert _drift([*ON_TASK, short, *ON_TASK[:1], *talk]) >= FIRES
    assert _drift([*ON_TASK, seen, *ON_TASK[:1], *talk]) < FIRES


@pytest.mark.parametrize(
    "answer", ["Show me another one.", "Too small. Anything else?", "What other options are there?"]
)
def test_c14_a_person_who_wants_to_see_the_next_has_asked_for_it(answer: str) -> None:
    """The words of each offer are new, and each is asked for."""
    offers = [
        "The Falcon seats two.",
        "The Heron has a sunroof.",
        "The Osprey runs on gas.",
        "The Kestrel is electric.",
    ]
    shown = [step(offer, observation=answer) for offer in offers]
    nodded = [step(offer, observation="Hm.") for offer in offers]
    assert _drift([*RENTER, *nodded], RENTAL) >= FIRES > _drift([*RENTER, *shown], RENTAL)


HOPS = [
    step("Windmills have a history of their own.", "web_search", "sails, millers, grain", query="windmills history"),
    step("Grain was traded in Odessa.", "open_page", "harbour, stairs, opera", url="https://a.example/grain_odessa"),
    step("The opera burnt down once.", "open_page", "fire, Viennese architects", url="https://a.example/opera_blaze"),
    step("Viennese architects built spas.", "open_page", "spa, thermal springs", url="https://a.example/viennese_spas"),
    step("Thermal springs feed geysers.", "open_page", "geysers of Iceland", url="https://a.example/thermal_geysers"),
]


def test_c14_hopping_from_one_thing_to_the_next_is_sprawl_and_no_drift() -> None:
    """Each hop was led to by the last result, and nothing is ever come back to."""
    assert _sprawl([*ON_TASK, *HOPS]) >= FIRES > _drift([*ON_TASK, *HOPS])


def test_c14_the_same_done_to_the_next_item_is_no_hop() -> None:
    """Records of a list, looked at without a word, are one piece of work."""
    records = [step("", "open_page", f"{name}, listed", url=f"https://a.example/{name}") for name in "abcdefg"]
    lookups = [
        step("", "get_part", f'{{"part": "P{n}7731", "next": "P{n + 1}7731"}}', part=f"P{n}7731") for n in range(1, 8)
    ]
    assert _sprawl([*ON_TASK, *records]) < FIRES
    assert _sprawl([*ON_TASK, *lookups]) < FIRES


def test_c14_poking_about_in_the_machine_is_sprawl_without_a_word() -> None:
    """Each is a program that tells how the machine is; after a failure that may be what is needed."""
    commands = ["df -h", "ps", "id", "uptime", "free -m"]
    steps = [step("", "run", "ok", command=command) for command in commands]
    failed = [step("", "run", "Error: exit code 1", command=command) for command in commands]
    assert _sprawl([*ON_TASK, *steps]) >= FIRES
    assert _sprawl([*ON_TASK[:-1], step("", "run", "Error: no space left", command="make"), *failed]) < FIRES


def test_c14_what_describes_a_command_does_not_make_it_the_next_of_a_kind() -> None:
    """The descriptions are alike, and what is searched for has nothing in common."""
    steps = [
        step("", "run", "./setup.cfg", command="grep -rn docopt .", description="Search in files"),
        step("", "run", "./deploy.ini:3", command="grep -rn gunicorn .", description="Search in files"),
        step("", "run", "(no output)", command="grep -rn favicon .", description="Search in files"),
        step("", "run", "Copyright", command="grep -rn trademark .", description="Search in files"),
    ]
    assert _sprawl([*ON_TASK, *steps]) >= FIRES


def test_c14_owning_up_to_a_slip_is_no_drift() -> None:
    """To speak of what was said wrong brings up nothing else."""
    steps = [
        step("I apologize, I misread that before: it is a van, as you realized.", observation="No problem."),
        step("Sorry, another mistake of mine, I overlooked the tow bar earlier.", observation="Okay."),
        step("I admit that this was confusing, and regret the misunderstanding.", observation="Go on."),
    ]
    assert max(reading.score for reading in read(SilentTopicDrift(), [*RENTER, *steps], task=RENTAL)[:-1]) < FIRES


def test_c14_a_remark_about_money_that_goes_back_is_no_complaint() -> None:
    """To go back to something is a wish to return only where somebody is asked to."""
    talk = [
        step("The Falcon seats two.", observation="How much of it will go back to me?"),
        step("The Heron has a sunroof.", observation="And how much will go back to my wife?"),
    ]
    assert _drift([*RENTER, *talk], RENTAL) < FIRES


def test_c14_the_same_edit_made_to_one_file_after_the_other_is_work_on_many() -> None:
    """None of the files is the task's, but nothing else is made of them than what was made of the first one."""
    line = "# -*- coding: utf-8 -*-"
    edits = [
        step(f"Adding the first line to {name}.py.", "bash", command=f"sed -i '1i {line}' bin/{name}.py")
        for name in "archive cleanup mirror publish".split()
    ]
    assert _drift([*ON_TASK, *edits]) < FIRES
