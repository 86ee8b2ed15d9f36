"""Odds: how many failures over one event cannot be chance, by how all others went."""

from __future__ import annotations

import random

import pytest

from reasonblocks.telemetry.odds import Odds


def needed(odds: Odds) -> int:
    """After how many failures an event is known to be a bad one."""
    return next(failures for failures in range(1, 1_000) if odds.rule_out(failures))


@pytest.mark.parametrize(("share", "fewest", "most"), [(0.0, 3, 5), (0.3, 8, 20), (0.6, 18, 60)])
def test_the_more_a_server_fails_anyway_the_more_it_takes(share: float, fewest: int, most: int) -> None:
    """A few failures tell where all others arrive; where many fail, that one does so often says little."""
    odds, chance = Odds(), random.Random(1)
    for _ in range(500):
        odds.note(failed=chance.random() < share)
    assert fewest <= needed(odds) <= most


def test_nothing_is_known_at_first() -> None:
    """Before anything was tried, failures may well be the server's own."""
    assert needed(Odds()) >= 15


def test_what_was_long_ago_is_forgotten() -> None:
    """After an outage a server that takes everything is soon trusted again."""
    odds = Odds()
    for failed, times in ((True, 1_000), (False, 150)):
        for _ in range(times):
            odds.note(failed=failed)
    assert needed(odds) <= 10
