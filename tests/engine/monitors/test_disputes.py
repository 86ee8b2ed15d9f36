"""claim_contradiction: any word may be denied of a thing and any value changed, as long as it is the same thing."""

import random
from collections.abc import Callable, Sequence

import pytest

from reasonblocks.engine.monitors.counterpoints import counterpoint
from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.points import NO_POINT, point_of
from reasonblocks.engine.monitors.suite import SuiteReading

NAME = "claim_contradiction"
Readings = Callable[[Sequence[ObservedStep]], list[SuiteReading]]


def look(thought: str, result: str = "a b c", path: str = "notes.txt") -> ObservedStep:
    """A step that reads something else."""
    return ObservedStep(thought, "read_file", f'{{"path": "{path}"}}', result)


OPPOSED = {
    "called or not": (
        "There's no call to `trim_rows` in Sheet.write.",
        "`trim_rows` is invoked by Sheet.write already.",
    ),
    "kept or lost": (
        "fold_header overwrites whatever label the caller passed.",
        "A label from the caller survives fold_header untouched.",
    ),
    "accepted or not": (
        "The constructor rejects repeated keys with is_loose set.",
        "Repeated keys are tolerated by the constructor with is_loose set.",
    ),
    "a thing that is missing": ("`Spool` lacks a drain method.", "drain() is declared on `Spool`, so it is reused."),
    "a literal": ("keep_blank in Reader.scan defaults to True.", "The default of keep_blank in Reader.scan is False."),
    "a type": ("`pick_unit` returns a tuple.", "Since `pick_unit` returns a dict, I can look it up by key."),
    "how many": ("`fold_rows` takes two arguments.", "All three arguments of `fold_rows` matter here."),
    "what was paid with": ("#W4410027 was paid with the credit card.", "#W4410027 had been settled by PayPal."),
    "a place": ("KD71PX goes to Seattle.", "KD71PX takes you to Denver, so I look at that arrival."),
    "a measure": ("You have used 3.2 GB on L1009.", "Your usage on L1009 stands at 5.6 GB."),
    "a switch": ("I see roaming is switched on for L1009.", "Roaming happens to be off on L1009."),
    "what was done": ("I haven't made any changes to KD71PX so far.", "The change on KD71PX was made earlier today."),
    "who somebody is": ("Thank you, you are verified.", "You are not verified as a customer."),
    "what the person has": ("There is no gift card among the payment methods.", "Ivana has a gift card on file."),
}


@pytest.mark.parametrize(("earlier", "later"), OPPOSED.values(), ids=OPPOSED)
def test_c14_what_is_denied_or_changed_in_other_words_fires(earlier: str, later: str, readings: Readings) -> None:
    """Two sentences about one thing exclude each other, and nothing between them tells of it."""
    found = readings([look(earlier), look("", path="other.txt"), look(later)])
    assert NAME in found[-1].fired
    assert found[-1].evidence[NAME].steps == [0, 2]


UNOPPOSED = {
    "another one of that name": ("`Lines._fit` has no local variable step.", "`Curves.fit` has a local variable step."),
    "both deny it": ("`float64` is not in `NAT_TYPES`.", "`NAT_TYPES` does not contain `float64`."),
    "a degree": ("`load_index` locks the store.", "`load_index` does not lock the store completely."),
    "a case of several": ("`flag` is set in the cache.", "In this case `flag` is not set in the cache."),
    "what ought to be": ("`load_index` rejects blanks.", "`load_index` should accept blanks."),
    "a condition": ("`load_index` rejects blanks.", "Without the check, `load_index` accepts blanks."),
    "a plan": ("`load_index` rejects blanks.", "The fix is to have `load_index` accept blanks."),
    "an order to oneself": ("`load_index` lacks a limit.", "Add a limit to `load_index`."),
    "somebody else": ("The pool skips the batch for `load_index`.", "The router reaches the batch for `load_index`."),
    "something else": ("`load_index` keeps the token.", "`load_index` overwrites the header."),
    "what cannot be done": ("Order #W4410027 cannot be modified.", "The change to #W4410027 was submitted by you."),
    "two prices": ("Order #W4410027 has a total of $90.10.", "The lamp in order #W4410027 costs $45.50."),
}


@pytest.mark.parametrize(("earlier", "later"), UNOPPOSED.values(), ids=UNOPPOSED)
def test_what_only_looks_opposed_is_no_counterpoint(earlier: str, later: str) -> None:
    """Another thing, another case, a plan or a degree excludes nothing."""
    assert counterpoint(earlier, later, valued=True) is None


EARLIER, LATER = map(look, OPPOSED["kept or lost"])


def test_c14_what_was_read_in_between_excuses(readings: Readings) -> None:
    """A result that speaks of the thing and of what was denied has taught it."""
    taught = look("", "def fold_header(label):\n    # keep whatever label the caller passed")
    assert NAME in readings([EARLIER, look(""), LATER])[-1].fired
    assert NAME not in readings([EARLIER, taught, LATER])[-1].fired


def test_c14_a_digit_within_a_name_tells_no_number(readings: Readings) -> None:
    """A short number is told where it stands by itself, not as a part of something else."""
    first, second = look("`fold_rows` takes two arguments."), look("`fold_rows` takes a single argument.")
    assert NAME in readings([first, look("", "fold_rows in part1.txt"), second])[-1].fired
    assert NAME not in readings([first, look("", "fold_rows: 1 argument"), second])[-1].fired


def test_c14_a_change_in_between_excuses(readings: Readings) -> None:
    """What was changed since may be otherwise now."""
    change = ObservedStep("", "write_file", '{"path": "fold.py", "text": "def fold_header"}', "ok")
    assert NAME not in readings([EARLIER, change, LATER])[-1].fired


def test_c14_a_change_of_mind_that_is_owned_up_to_is_none(readings: Readings) -> None:
    """Whoever says that they were wrong contradicts nobody."""
    assert NAME not in readings([EARLIER, look(f"I was wrong. {LATER.thought}")])[-1].fired


SUBJECTS = ("the worker pool", "the request router", "the retry policy", "the cache layer", "the session store")
DOINGS = ("reads", "skips", "ignores", "rejects", "accepts", "drops", "keeps", "handles", "never reaches", "overwrites")
OBJECTS = ("the old schema", "the empty batch", "the timeout", "a stale entry", "the second header", "the login token")
BESIDES = ("in `worker.py`", "for `load_index`", "according to `boot_log`", "as the text says 'missing key'")


def test_sentences_put_together_at_random_say_nothing_of_each_other() -> None:
    """Where subject and object differ, what stands beside them does not make two sentences exclude each other."""
    draw = random.Random(11)
    for _ in range(200):
        beside = draw.choice(BESIDES)
        pairs = zip(draw.sample(SUBJECTS, 2), draw.sample(OBJECTS, 2), strict=True)
        one, other = [f"{who.capitalize()} {draw.choice(DOINGS)} {what} {beside}." for who, what in pairs]
        assert counterpoint(one, other, valued=True) is None, (one, other)


@pytest.mark.parametrize(
    "sentence",
    ["Is `load_index` safe?", "If `load_index` is safe, fine.", "Run `load_index` again.", "    return load_index()"],
)
def test_what_states_nothing_makes_no_point(sentence: str) -> None:
    """Questions, conditions, orders and code hold nothing against anything."""
    point = point_of(sentence)
    assert point == NO_POINT or not point.clauses


def test_values_are_looked_at_only_where_asked() -> None:
    """Two values exclude each other where both sentences may give one, and are not read otherwise."""
    pair = ("`pick_unit` returns a tuple.", "`pick_unit` returns a dict.")
    found = counterpoint(*pair, valued=True)
    assert found is not None
    assert found.value == "dict"
    assert counterpoint(*pair, valued=False) is None
