"""The two sets of wordings: as rich as each other, and with no phrase in common."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import pytest

from reasonblocks.testing.wordings import Wordings, wordings_of


def phrases(value: Any) -> Iterator[str]:
    """The phrases of a field, whichever way it holds them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from phrases(inner)
    else:
        for inner in value:
            yield from phrases(inner)


@pytest.mark.parametrize("name", [field.name for field in fields(Wordings) if field.name not in {"claims"}])
def test_no_phrase_is_in_both_sets(name: str) -> None:
    """Held-out phrases do not occur among those that monitors are developed with."""
    one, other = (
        {phrase.lower() for phrase in phrases(getattr(wordings_of(wording), name)) if phrase not in ("", "{a}", "{b}")}
        for wording in ("development", "held_out")
    )
    assert one & other == set()


def test_no_claim_is_in_both_sets() -> None:
    """The statements that are turned round differ, too."""
    one, other = (
        {text for claim in wordings_of(wording).claims for text in (claim.first, claim.later)}
        for wording in ("development", "held_out")
    )
    assert one & other == set()


@pytest.mark.parametrize("wording", ["development", "held_out"])
@pytest.mark.parametrize("name", [field.name for field in fields(Wordings)])
def test_there_is_more_than_one_way_to_say_it(name: str, wording: Any) -> None:
    """No phrase of a set gives a mode away."""
    value = getattr(wordings_of(wording), name)
    assert len(value) >= 3
    assert len(set(value)) == len(value)
