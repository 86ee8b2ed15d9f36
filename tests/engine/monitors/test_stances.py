"""claim_contradiction: what is held of a thing in one set of words and denied in another is found, and only that."""

from collections.abc import Callable, Sequence

import pytest

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.stances import held_in
from reasonblocks.engine.monitors.suite import SuiteReading

NAME = "claim_contradiction"
Readings = Callable[[Sequence[ObservedStep]], list[SuiteReading]]


def look(thought: str, result: str = "a b c", path: str = "notes.txt") -> ObservedStep:
    """A step that reads something else."""
    return ObservedStep(thought, "read_file", f'{{"path": "{path}"}}', result)


def hears(thought: str, answer: str) -> ObservedStep:
    """A message, and what a person says to it."""
    return ObservedStep(thought, "", "", answer)


OPPOSED = {
    "used": ("`render` never consults `theme`.", "Because `render` respects `theme`, the colours come from there."),
    "there": ("`Basket` does not define `__len__`.", "Since `__len__` is present on `Basket`, only a test is left."),
    "a test that exists": ("There is no test for `fold_rows`.", "The tests that exist for `fold_rows` will catch it."),
    "to blame": ("The culprit is `merge_rows`.", "As established, `merge_rows` works correctly."),
    "nothing to do with it": ("The bug sits in `Router.find`.", "The bug has nothing to do with `Router.find`."),
    "done": ("I haven't touched `scale_axis` yet.", "`scale_axis` was rewritten by me, so that part is over."),
    "still to be done": ("I have already updated `limits.cfg`.", "`limits.cfg` still has to be updated."),
    "a state": ("Order #W4410027 shows as delivered.", "Since #W4410027 counts as pending, other rules apply."),
    "a denied state": (
        "Order #W4410027 has been delivered.",
        "#W4410027 hasn't been delivered, so nothing can be sent back.",
    ),
    "a rank": ("Membership level on the profile: regular.", "As a gold member the customer gets two bags."),
    "a label": ("Travel insurance on KD71PX: included.", "KD71PX is uninsured, which settles it."),
    "a count": ("KD71PX is made up of 2 flight segments.", "We have 4 segments under KD71PX to look at."),
    "a place": ("KD71PX goes to Lisbon.", "The trip under KD71PX ends in Oslo, as seen above."),
    "a date": ("The departure of KD71PX is on May 12.", "KD71PX departs on May 19, as noted."),
    "allowed": ("Reservation KD71PX is refundable.", "KD71PX can't be refunded, so a voucher is all there is."),
    "a person": ("Ingrid's identity is confirmed.", "So far Ingrid hasn't been verified, and nothing may be said."),
    "a requirement": (
        "Callers should see `BadRow` for `load_rows`, never a `KeyError`.",
        "For `load_rows` the report wants a `KeyError` to reach the callers.",
    ),
    "an appeal": ("The profile lists no gift card.", "As noted the customer has a gift card on file."),
}


@pytest.mark.parametrize(("first", "second"), OPPOSED.values(), ids=OPPOSED)
def test_c14_the_opposite_in_other_words_fires(first: str, second: str, readings: Readings) -> None:
    """Two answers to the same question about the same thing exclude each other, whatever words they are in."""
    assert NAME in readings([look(first), look("Go on."), look(second)])[-1].fired


EXCUSED = {
    "two things": [look("`Bag` has no `title`."), look("`Box` has a `title`.")],
    "two objects": [look("`Bag` has no `title`."), look("`Bag` has an `owner` and an `index`.")],
    "two deeds": [look("KD71PX can be cancelled."), look("KD71PX cannot be changed.")],
    "a condition": [look("`render` never consults `theme`."), look("If `render` respects `theme`, we are done.")],
    "a plan": [look("`render` never consults `theme`."), look("I'll make sure that `render` respects `theme`.")],
    "a question": [look("`render` never consults `theme`."), look("So `render` respects `theme`?")],
    "a report": [look("`render` respects `theme`."), look("The docstring says that `render` ignores `theme`.")],
    "owned up to": [look("The culprit is `merge_rows`."), look("I was wrong: `merge_rows` works correctly.")],
    "no longer": [look("`render` ignores `theme`."), look("`render` no longer ignores `theme`.")],
    "a change": [
        look("`render` ignores `theme`."),
        ObservedStep("Fix it.", "edit_file", '{"path": "render.py", "text": "x"}', "ok"),
        look("`render` respects `theme`."),
    ],
    "news": [
        look("Order #W4410027 shows as pending.", result='{"order": "#W4410027", "status": "delivered"}'),
        look("Order #W4410027 shows as delivered."),
    ],
    "what a person tells": [
        hears("KD71PX goes to Lisbon.", "No, KD71PX ends in Oslo, that is my trip."),
        hears("The trip under KD71PX ends in Oslo.", "Yes."),
    ],
    "a call about it": [
        look("Order #W4410027 shows as pending."),
        ObservedStep("", "cancel_order", '{"order_id": "#W4410027"}', "ok"),
        look("Order #W4410027 is cancelled."),
    ],
    "so many each": [look("KD71PX comes with 2 bags per passenger."), look("KD71PX comes with a total of 4 bags.")],
    "two who do something": [
        look("The crawler reads the stale header after the error in src/net/fetch.py."),
        look("The scheduler skips the free slot after the error in src/net/fetch.py."),
    ],
    "what would be in another case": [
        look("As a regular member, you pay for the second suitcase."),
        look("As a platinum member, you would pay for none of them."),
    ],
    "a case, shortened": [
        look("With your bronze membership, the lounge is closed to you."),
        look("With a silver membership, you'd find it open."),
    ],
    "a guess": [look("I am not sure, but `render` respects `theme`."), look("`render` ignores `theme`.")],
    "code": [look("`mode` is enabled."), look("mode = False if disabled else `mode`")],
    "no name, no appeal": [look("The profile lists no gift card."), look("The other profile has a gift card.")],
    "the same place after both, and nothing else": [
        look("The session store reads the old schema after the error in src/app/core.py."),
        look("The migration script drops the last field after the error in src/app/core.py."),
    ],
    "the same one does two things": [
        look("The session store reads the old schema after the error in src/app/core.py."),
        look("The session store ignores the timeout after the error in src/app/core.py."),
    ],
    "the same reason for both": [
        look("The parser handles the header, given the problem in lib/io/reader.py."),
        look("The worker pool skips the empty batch given the problem in lib/io/reader.py."),
    ],
}


@pytest.mark.parametrize("steps", EXCUSED.values(), ids=EXCUSED)
def test_c14_what_only_sounds_opposite_does_not_fire(steps: list[ObservedStep], readings: Readings) -> None:
    """Another thing, another case, news, a change or a word about it: none of these is a contradiction."""
    assert not any(NAME in reading.fired for reading in readings(steps))


def test_a_sentence_is_taken_apart_into_answers() -> None:
    """Each part of a sentence answers for the things that it names itself."""
    held = held_in("`merge_rows` works correctly, so the broken table comes out of `split_rows`.")
    answers = {(stance.question, stance.answer, *sorted(stance.names)) for stance in held.stances}
    assert ("blame", "!yes", "merge_rows") in answers
    assert ("blame", "yes", "split_rows") in answers
