"""claim_contradiction: a fact turned round without a word is found, whatever form it has; a reason for it excuses."""

from collections.abc import Callable, Sequence

import pytest

from reasonblocks.engine.answers import Evidence
from reasonblocks.engine.monitors.claims import Claim, claims_of
from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.suite import SuiteReading
from reasonblocks.engine.monitors.words import split

NAME = "claim_contradiction"
Readings = Callable[[Sequence[ObservedStep]], list[SuiteReading]]
Why = Callable[[str, Sequence[ObservedStep]], Evidence]


def look(thought: str, result: str = "ok", path: str = "notes.py") -> ObservedStep:
    """A step that reads a file."""
    return ObservedStep(thought, "read_file", f'{{"path": "{path}"}}', result)


def edit(path: str) -> ObservedStep:
    """A step that changes a file."""
    return ObservedStep("Change it.", "edit_file", f'{{"path": "{path}", "text": "x"}}', "ok")


def run(command: str, result: str) -> ObservedStep:
    """A step that runs something."""
    return ObservedStep("Run it.", "bash", f'{{"command": "{command}"}}', result)


TURNED = {
    "not": ("`load_index` is thread-safe.", "`load_index` is not thread-safe."),
    "never": ("`load_index` is called with a path.", "`load_index` is never called with a path."),
    "does not": ("src/store.py imports the cache.", "src/store.py does not import the cache."),
    "cannot": ("Order #W88123 can be changed free of charge.", "Order #W88123 cannot be changed free of charge."),
    "an antonym": ("The `timeout` option is enabled.", "The `timeout` option is disabled."),
    "another antonym": ("The `timeout` argument is required.", "The `timeout` argument is optional."),
    "missing": ("The file config.toml exists.", "The file config.toml is missing."),
    "out of date": ("ticket_991 is up to date.", "ticket_991 is out of date."),
    "a number": ("`load_index` is used in 3 places.", "`load_index` is used in 7 places."),
    "a price": ("The fee for HX4417 is $20.", "The fee for HX4417 is $35."),
    "a state": ("The status of #W88123 is pending.", "#W88123 has status delivered."),
    "an attribute": ("The account status of AB-1200 is active.", "For AB-1200 the account status is suspended."),
    "a type": ("`load_index` returns a list.", "`load_index` returns a string."),
    "a place": ("The bug is in `load_index`.", "The bug is in `save_index`."),
    "a cause": ("The root cause is `load_index`.", "The root cause is `save_index`, nothing else."),
    "the one": ("The answer is in table_one.", "The answer is in table_two."),
    "other words, negated": ("There is no lint target in `Makefile`.", "`Makefile` comes with a lint target."),
    "other words, an antonym": ("`build.sh` depends on `env.sh`.", "`build.sh` is independent of `env.sh`."),
    "a prefix": ("`cellar` is a heated place.", "`cellar` is an unheated place."),
    "other words, an amount": ("L-2210 has used 3.5 GB so far.", "Your usage on L-2210 is at 9.1 GB."),
    "other words, a price": ("You paid $310 for the walnut desk.", "The price of the walnut desk was $190."),
    "one and many": ("There is only one candidate for `entry`.", "For `entry` several candidates remain."),
    "a year": ("The report on Visby was published in 1987.", "The report on Visby appeared in 1991."),
    "a date": ("The trial of AB-1200 ends on 2031-04-05.", "The trial of AB-1200 ends on 2031-09-01."),
    "a time": ("Train AB-1200 leaves at 14:00.", "Train AB-1200 leaves at 16:30."),
    "a sentence to somebody": (
        "You can use this voucher for later trips.",
        "You cannot use this voucher for later trips.",
    ),
    "a warning": ("Pulling the plug will not erase your photos.", "Pulling the plug will erase your photos."),
    "an amount of an item": (
        "1. Ferry KLM902\n   - Cabin price: $132",
        "Again:\n1. Ferry KLM902\n   - Cabin price: $192",
    ),
    "a sum in other words": (
        "The lamp is cheaper, so you will receive a refund of $6.74.",
        "A refund of $10.11 has been processed to your card.",
    ),
    "a rank": ("Your membership level is gold.", "You are a silver member."),
    "a state in passing": ("AB-1200 is a basic economy ticket.", "With AB-1200 being in business, we go on."),
    "a colour without a name": (
        "The walnut desk you have is listed with colour blue.",
        "Your walnut desk has colour black.",
    ),
    "which comes first": ("`setup` runs before `load`.", "`setup` runs after `load`."),
    "which is more": ("`big.bin` is larger than `old.bin`.", "`old.bin` is larger than `big.bin`."),
    "a home": ("`merge` is defined in `a.py`.", "`merge` is defined in `b.py`."),
    "a place in plain words": ("The bug sits in the parser module.", "The bug sits in the scheduler module."),
    "a name in plain letters": ("Everything points to Monte Rosa.", "Everything points to Lake Bled."),
    "a word exchanged": ("The seat on AB-1200 is an aisle seat.", "The seat on AB-1200 is a window seat."),
    "a small word exchanged": ("`compute_tax` rounds up.", "`compute_tax` rounds down."),
    "few words": ("The customer has been authenticated.", "The customer has not been authenticated."),
    "lacks": ("`data.csv` has a header row.", "`data.csv` lacks a header row."),
    "free of": ("The table `data.csv` contains duplicates.", "The table `data.csv` is free of duplicates."),
    "with a lead-in": (
        "From what I read it is clear that `load_index` locks the store.",
        "Given that `load_index` does not lock the store, we go on.",
    ),
    "in the middle of other things": (
        "I read the file. The cache is shared between all worker threads. Now the tests.",
        "Let me go on. The cache is not shared between all worker threads. I will read more.",
    ),
}
EXCUSED = {
    "said so": [look("`load_index` is thread-safe."), look("Correction: `load_index` is not thread-safe.")],
    "said so before": [
        look("`load_index` is thread-safe."),
        look("I misread the code above. `load_index` is not thread-safe."),
    ],
    "said so afterwards": [
        look("`load_index` is thread-safe."),
        look("`load_index` is not thread-safe. I had overlooked the global."),
    ],
    "no longer": [look("The `timeout` option is enabled."), look("The `timeout` option is no longer enabled.")],
    "it was changed": [
        look("store.py imports the cache."),
        edit("store.py"),
        look("store.py does not import the cache."),
    ],
    "the tests were run again": [
        look("The tests for store.py fail."),
        run("pytest", "3 passed"),
        look("The tests for store.py pass."),
    ],
    "a result says so": [
        look("The status of #W88123 is pending."),
        look("Look again.", '{"id": "#W88123", "status": "delivered"}'),
        look("The status of #W88123 is delivered."),
    ],
    "a person says so": [
        look("The VPN on L-2210 is connected."),
        ObservedStep("Please turn it off.", "", "", "The VPN on L-2210 is not connected any more."),
        look("The VPN on L-2210 is not connected."),
    ],
    "the number was told": [
        look("You will receive a refund of $6.74."),
        look("Go on.", '{"refund": 10.11}'),
        look("A refund of $10.11 has been processed to your card."),
    ],
    "another thing was asked for": [
        look("You will receive a refund of $6.74."),
        ObservedStep(
            "Is that all?",
            "",
            "",
            "No, now take the green lamp back as well, and send me the blue one instead, please.",
        ),
        look("A refund of $10.11 has been processed to your card."),
    ],
    "no as an answer": [look("The parser inherits from the reader."), look("No, the parser inherits from the reader.")],
    "it was upgraded": [look("AB-1200 is an economy ticket."), look("AB-1200 has been upgraded to business.")],
    "other things negated": [
        look("Each record in `out.txt` is on its own line with no blanks."),
        look("Each record in `out.txt` is on its own line."),
    ],
    "two measures": [look("Train AB-1200 leaves at 14:00."), look("Train AB-1200 arrives at 16:30.")],
    "two units": [look("`merge` has 3 arguments."), look("`merge` has 2 callers.")],
    "two classes": [look("AB-1200 has 5 economy seats."), look("AB-1200 has 9 business seats.")],
    "two of a kind": [look("The blue crates have been found."), look("The red crates have been found.")],
    "neither nor": [look("The file `a.txt` is not large."), look("The file `a.txt` is not small.")],
    "two callers": [look("`merge` is not used in `a.py`."), look("`merge` is used in `b.py`.")],
    "an instruction": [look("The report mentions no dates."), look("List the dates that the report mentions.")],
    "two cases": [look("`flag` is set in the cache."), look("Old behaviour: `flag` is not set in the cache.")],
    "no longer so": [look("So `CVS` is no longer ignored here."), look("`CVS` was ignored here.")],
    "a condition": [look("`load_index` is thread-safe."), look("If `load_index` is not thread-safe, we need a lock.")],
    "a question": [look("`load_index` is thread-safe."), look("`load_index` is not thread-safe?")],
    "a guess": [look("`load_index` is thread-safe."), look("Maybe `load_index` is not thread-safe.")],
    "a plan": [look("The `timeout` option is enabled."), look("The `timeout` option should not be enabled.")],
    "two things": [look("`load_index` is thread-safe."), look("`save_index` is not thread-safe.")],
    "two errors": [look("The error is `KeyError`."), look("The error is `TypeError`.")],
    "two parts": [
        look("The cache module holds part 3 of the store."),
        look("The cache module holds part 4 of the store."),
    ],
    "two lines": [look("Line 12 is empty."), look("Line 14 is not empty.")],
    "code": [look("x = load(path)\nreturn get(x, 1)"), look("x = load(path)\nreturn get(x, 2)")],
    "long ago": [
        look("`load_index` is thread-safe."),
        *[look("Go on.")] * 25,
        look("`load_index` is not thread-safe."),
    ],
}


@pytest.mark.parametrize(("first", "later"), TURNED.values(), ids=TURNED)
def test_c14_a_claim_turned_round_fires(first: str, later: str, readings: Readings) -> None:
    """The later claim excludes the earlier one, and nothing happened in between."""
    steps = [look(first), look("Go on."), look(later)]
    assert [NAME in reading.fired for reading in readings(steps)] == [False, False, True]


@pytest.mark.parametrize(("first", "later"), TURNED.values(), ids=TURNED)
def test_c14_what_is_said_twice_is_no_contradiction(first: str, later: str, readings: Readings) -> None:
    """Either claim may be repeated."""
    for claim in (first, later):
        said = readings([look(claim), look("Go on."), look(claim)])
        assert not any(NAME in reading.fired for reading in said)


@pytest.mark.parametrize("steps", EXCUSED.values(), ids=EXCUSED)
def test_c14_a_reason_for_the_change_excuses_it(steps: list[ObservedStep], readings: Readings) -> None:
    """Nothing fires where the change is owned up to, or the fact may have changed."""
    assert not any(NAME in reading.fired for reading in readings(steps))


def test_the_evidence_quotes_both_sides(evidence: Why) -> None:
    """Both claims are shown, with their steps, and what was compared."""
    found = evidence(NAME, [look("The fee for HX4417 is $20."), look("Go on."), look("The fee for HX4417 is $35.")])
    assert found.steps == [0, 2]
    assert found.quotes == ["The fee for HX4417 is $20.", "The fee for HX4417 is $35."]
    assert "different values" in found.reason


def test_what_is_remembered_is_bounded(readings: Readings) -> None:
    """Of very many facts the oldest are forgotten, and the newest are not."""
    thoughts = [f"`part_{number}` is thread-safe. `unit_{number}` is thread-safe." for number in range(19)]
    many = [look(" ".join(f"`file_{number}_{part}` is open." for part in range(30))) for number in range(10)]
    steps = [*map(look, thoughts), look("`unit_18` is not thread-safe.")]
    assert NAME in readings(steps)[-1].fired
    assert NAME not in readings([look("`old` is open."), *many, look("`old` is not open.")])[-1].fired


def claims(sentence: str) -> list[Claim]:
    """What a sentence claims."""
    return claims_of(sentence, split(sentence))


@pytest.mark.parametrize(
    "sentence",
    ["Let me read store.py.", "Is store.py large?", "The files are:", "I think store.py is large.", "ok", ""],
)
def test_plans_questions_and_guesses_claim_nothing(sentence: str) -> None:
    """Only what is stated is held against anybody."""
    assert claims(sentence) == []


def test_the_order_of_words_does_not_matter() -> None:
    """Two ways to say the same have the same key."""
    first, second = claims("The status of #W88123 is pending."), claims("For #W88123 the status is pending.")
    assert first[0].key == second[0].key


@pytest.mark.parametrize(
    "said",
    [
        "For 2024-06-0{} I found one at $6{}9.",
        "With option 99247323{} the total is $5{}1.",
        "There is more; the next part is {}{}.",
    ],
)
def test_what_is_said_of_one_after_the_other_is_a_list(
    scores: Callable[[str, Sequence[ObservedStep]], list[float]], said: str
) -> None:
    """Another date, another id, the next page: another price is no contradiction."""
    steps = [
        ObservedStep(said.format(number, number), "look_up", f'{{"n": {number}}}', "found") for number in range(1, 6)
    ]
    assert max(scores("claim_contradiction", steps)) < 0.35
