"""Weight profiles: an organisation's own beside the built-in ones, at hand for every evaluation."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator

import pytest

from engine.store.opened import Store, opened
from reasonblocks.engine import profiles as profiles_module
from reasonblocks.engine.errors import Conflict, Forbidden, Invalid, NotFound
from reasonblocks.engine.monitors.profiles import BUILT_IN_PROFILES
from reasonblocks.engine.monitors.registry import BUILT_IN
from reasonblocks.engine.monitors.suite import MonitorSuite
from reasonblocks.engine.principal import Principal
from reasonblocks.engine.profiles import Profiles
from reasonblocks.engine.requests import ProfileChange, ProfileCreate
from support.cluster import Place

ACME, RIVAL, ADMIN = Principal("1", "acme"), Principal("2", "rival"), Principal("3")


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    async with opened(place) as store:
        yield store


@pytest.fixture
def notified() -> list[str]:
    """One entry for every time that the follower was told to look."""
    return []


@pytest.fixture
def profiles(store: Store, notified: list[str]) -> Profiles:
    return Profiles(store.database, store.transactions, MonitorSuite(BUILT_IN), lambda: notified.append("look"))


def mine(name: str = "mine", **weights: float) -> ProfileCreate:
    return ProfileCreate(name, weights or {"semantic_loop": 0.9})


async def test_c15_built_in_profiles_come_first(profiles: Profiles) -> None:
    """Everybody has them, with the weights of the contract; their id is their name."""
    listed = await profiles.list(ACME)
    assert [(profile.id, profile.built_in) for profile in listed] == [
        ("coding", True),
        ("pr_review", True),
        ("qa", True),
    ]
    assert list(listed[0].weights.values()) == [0.30, 0.25, 0.15, 0.10, 0.10, 0.10]
    assert await profiles.show(RIVAL, "qa") == listed[2]


async def test_own_profile_from_beginning_to_end(profiles: Profiles, store: Store, notified: list[str]) -> None:
    """It is made, at hand for evaluations, changed, and gone; each time the others are told."""
    made = await profiles.create(ACME, mine(semantic_loop=0.9, late_sprawl=0))
    assert (made.org_id, made.name, made.weights, made.built_in) == (
        "acme",
        "mine",
        {"semantic_loop": 0.9, "late_sprawl": 0.0},
        False,
    )
    assert profiles.custom("acme", "mine") == {"semantic_loop": 0.9, "late_sprawl": 0.0}
    assert await profiles.show(ACME, made.id) == made == (await profiles.list(ACME))[-1]

    changed = await profiles.change(ACME, made.id, ProfileChange(weights={"late_sprawl": 1.0}))
    assert (changed.weights, changed.description) == ({"late_sprawl": 1.0}, "")
    changed = await profiles.change(ACME, made.id, ProfileChange(description="For tests."))
    assert (changed.weights, changed.description) == ({"late_sprawl": 1.0}, "For tests.")
    assert profiles.custom("acme", "mine") == {"late_sprawl": 1.0}

    await profiles.delete(ACME, made.id)
    assert profiles.custom("acme", "mine") is None
    with pytest.raises(NotFound):
        await profiles.show(ACME, made.id)
    assert await store.changes() == [("profile", made.id)] * 4
    assert notified == ["look"] * 4


async def test_c25_profiles_of_another_org_do_not_exist(profiles: Profiles) -> None:
    """Another org can neither see, change, delete nor use a profile; an admin can, and may say whose it means."""
    made = await profiles.create(ACME, mine())
    for attempt in (
        lambda: profiles.show(RIVAL, made.id),
        lambda: profiles.show(RIVAL, made.id, "acme"),
        lambda: profiles.change(RIVAL, made.id, ProfileChange(description="x")),
        lambda: profiles.delete(RIVAL, made.id),
        lambda: profiles.show(ADMIN, made.id, "rival"),
    ):
        with pytest.raises(NotFound, match="unknown profile"):
            await attempt()
    assert profiles.custom("rival", "mine") is None
    assert len(await profiles.list(RIVAL, "acme")) == len(BUILT_IN_PROFILES)
    assert (await profiles.list(ADMIN))[-1] == await profiles.show(ADMIN, made.id) == made
    theirs = await profiles.create(ADMIN, ProfileCreate("mine", {"semantic_loop": 0.1}, org_id="rival"))
    assert theirs.org_id == "rival"
    assert profiles.custom("acme", "mine") == {"semantic_loop": 0.9}


async def test_built_in_profiles_are_read_only(profiles: Profiles) -> None:
    """Nobody changes them, deletes them or takes their names, an admin neither."""
    for attempt in (
        lambda: profiles.change(ADMIN, "coding", ProfileChange(description="x")),
        lambda: profiles.delete(ADMIN, "qa"),
        lambda: profiles.create(ACME, mine("pr_review")),
    ):
        with pytest.raises(Forbidden, match="built in"):
            await attempt()


@pytest.mark.parametrize(
    ("weights", "stored"),
    [
        ({}, {}),
        ({"unheard_of": 0.5}, {}),
        ({"semantic_loop": -0.1}, {"semantic_loop": 0.0}),
        ({"semantic_loop": 1.1, "late_sprawl": 0.5}, {"semantic_loop": 1.0, "late_sprawl": 0.5}),
        ({"semantic_loop": math.nan}, {}),
        ({"semantic_loop": math.inf}, {"semantic_loop": 1.0}),
    ],
)
async def test_c15_a_profile_is_stored_as_it_counts(
    profiles: Profiles, weights: dict[str, float], stored: dict[str, float]
) -> None:
    """Unknown names are dropped and weights brought within their bounds, and the answer shows what is left."""
    made = await profiles.create(ACME, ProfileCreate("other", weights))
    assert made.weights == stored
    assert (await profiles.change(ACME, made.id, ProfileChange(weights=weights))).weights == stored
    assert profiles.custom("acme", "other") == stored


async def test_name_is_taken_once_per_org(profiles: Profiles) -> None:
    """A second profile of the same name is refused in its org, and no other."""
    await profiles.create(ACME, mine())
    await profiles.create(RIVAL, mine())
    with pytest.raises(Conflict, match="there is a profile 'mine' already"):
        await profiles.create(ACME, mine())


async def test_an_org_has_a_bounded_number_of_profiles(profiles: Profiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """All profiles are held in memory, so nobody can make any number of them."""
    monkeypatch.setattr(profiles_module, "MOST_PER_ORG", 2)
    for name in ("a", "b"):
        await profiles.create(ACME, mine(name))
    with pytest.raises(Invalid, match="2 profiles already"):
        await profiles.create(ACME, mine("c"))
    await profiles.create(RIVAL, mine("c"))


async def test_profile_of_another_process_is_at_hand_after_a_refresh(place: Place) -> None:
    """What is at hand follows the tables, whoever wrote them."""
    suite = MonitorSuite(BUILT_IN)
    async with opened(place) as here, opened(place) as there:
        ours, theirs = (Profiles(store.database, store.transactions, suite) for store in (here, there))
        await ours.create(ACME, mine())
        assert theirs.custom("acme", "mine") is None
        await theirs.refresh()
        assert theirs.custom("acme", "mine") == {"semantic_loop": 0.9}


async def test_c14_scorers(profiles: Profiles) -> None:
    """The six monitors with their failure types, weights and threshold."""
    scorers = profiles.scorers()
    assert {scorer.name: scorer.failure_type for scorer in scorers} == {
        "claim_contradiction": "contradiction",
        "semantic_loop": "loop",
        "verification_skip": "unverified",
        "cyclic_compression": "churn",
        "late_sprawl": "sprawl",
        "silent_topic_drift": "drift",
    }
    assert {scorer.name: scorer.default_weight for scorer in scorers} == BUILT_IN_PROFILES["coding"].weights
    assert {scorer.fire_threshold for scorer in scorers} == {0.6}
