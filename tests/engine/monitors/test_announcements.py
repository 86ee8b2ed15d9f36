"""Accounts that are announced as such, one after the other, are churn also where each picks other facts."""

import json
from collections.abc import Callable

import pytest

from reasonblocks.engine.monitors.announcements import announces
from reasonblocks.engine.monitors.cyclic_compression import CyclicCompression
from reasonblocks.engine.monitors.features import ObservedStep, read_step

RECORD = ObservedStep(
    "",
    "get_membership",
    '{"id": "M30441"}',
    '{"id": "M30441", "holder": "Ines Okafor", "club": "Riverside", "plan": "family", "locker": "B17", '
    '"trainer": "Noah Lind", "card": "blue", "renewal": "2025-09-01", "children": ["Ada", "Tom"], "paid": "invoice"}',
)
FACTS = (
    "M30441 is held by Ines Okafor at Riverside, with the family plan.",
    "Locker B17 goes with it, the trainer is Noah Lind, and the card is blue.",
    "The renewal is on 2025-09-01, for the children Ada and Tom, and it is paid by invoice.",
)
OPENINGS = ("To sum up:", "So, where things stand.", "In short, this is what I know.")
ANNOUNCED = [f"{opening} {fact}" for opening, fact in zip(OPENINGS, FACTS, strict=True)]


def scores(*steps: ObservedStep) -> list[float]:
    """What the monitor itself has to show after each step."""
    state = CyclicCompression().start("Move my membership to another club.")
    return [state.observe(read_step(index, step)).score for index, step in enumerate(steps)]


def told(text: str) -> ObservedStep:
    """A message to somebody who nods."""
    return ObservedStep(text, "", "", "Okay.")


def noted(text: str) -> ObservedStep:
    """A thought that is written down by a tool."""
    return ObservedStep("", "think", json.dumps({"thought": text}), "")


def listed(opening: str, fact: str) -> str:
    """The same as a list of short lines."""
    parts = fact.removesuffix(".").split(", ")
    return "\n".join([opening, "", *[f"- {part}" for part in parts], "", "On we go.", "Ready."])


@pytest.mark.parametrize("say", [told, noted])
def test_announced_accounts_in_a_row_are_churn(say: Callable[[str], ObservedStep]) -> None:
    """The third one fires, though none says what the others say."""
    assert scores(RECORD, *map(say, ANNOUNCED))[-1] >= 0.6
    lists = [listed(opening, fact) for opening, fact in zip(OPENINGS, FACTS, strict=True)]
    assert scores(RECORD, *map(say, lists))[-1] >= 0.6


@pytest.mark.parametrize("say", [told, noted])
def test_facts_that_are_told_one_after_the_other_are_none(say: Callable[[str], ObservedStep]) -> None:
    """Whoever reads out what was looked up says each of it for the first time."""
    assert max(scores(RECORD, *map(say, FACTS))) < 0.6


def test_what_was_learnt_in_between_may_be_summed_up() -> None:
    """An account after each new result is none too many."""
    clubs = [
        ObservedStep(
            "", "get_club", f'{{"name": "{name}"}}', f'{{"name": "{name}", "street": "{street}", "seats": {seats}}}'
        )
        for name, street, seats in (("Hilltop", "Cedar Row", 120), ("Quayside", "Anchor Lane", 85), ("Park", "Elm", 60))
    ]
    steps = [step for club, text in zip(clubs, ANNOUNCED, strict=True) for step in (club, told(text))]
    assert max(scores(RECORD, *steps)) < 0.6


@pytest.mark.parametrize(
    "text",
    [
        "Summary of what we have: the door is open.",
        "Let me pull all of this together before we go on.",
        "Let me run through the facts: two doors, one key.",
        "What I\u2019ve gathered is that the key fits.",
        "Going over what we found again, the key fits.",
        "All in all, the key fits.",
        "Just to recapitulate, the key fits.",
        "Boiled down: one key, two doors.",
        "All things considered, the key fits.",
        "Here are the findings once more: the key fits.",
        "My understanding is this: the key fits.",
        "Just so we are on the same page, the key fits.",
        "Long story short, the key fits.",
        "Let me lay out what we have: one key.",
        "In a few plain words, the key fits.",
        "Putting the findings in order: the key fits.",
        "What it comes down to is one key.",
        "To wrap this up, the key fits both doors.",
    ],
)
def test_a_summary_is_announced_in_many_words(text: str) -> None:
    """Whatever it is called."""
    assert announces(text)


@pytest.mark.parametrize(
    "text",
    [
        "The lamp is out of stock, and so is the shade.",
        "Next I look at the pieces of the parser.",
        "The door opens with the second key.",
        "I will check the other file now.",
        "Let me review the details of the lock first.",
        "I'll put the keys in order for you.",
        "As I said, I will open the door right away.",
        "In order to proceed I need the number of the key.",
    ],
)
def test_other_beginnings_announce_nothing(text: str) -> None:
    """Stock, pieces and plans are no summaries."""
    assert not announces(text)
