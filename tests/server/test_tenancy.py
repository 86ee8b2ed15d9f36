"""Tenancy: nothing of one organisation is ever visible, countable or changeable by another, over every route."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasonblocks.server.document import build
from server.acts import CASES, KEYS, OWNERS, READS, SHARED, STREAM, Act, look, path_parts, possible, tier_of, tour
from server.worlds import Worlds, worlds_in

SAME_FOR_ALL = {"GET /v1/health", "GET /v1/ready", "GET /v1/monitor/scorers"}
"""What shows nothing that anybody made."""
WRITES = [route for route in CASES if route not in READS]
LOOK = [act for caller in KEYS for act in look(caller)]
acts = st.builds(
    Act,
    st.sampled_from([*KEYS, *KEYS, *OWNERS]),
    st.sampled_from([*WRITES, *CASES]),
    st.integers(0, 5),
    st.booleans(),
    st.booleans(),
).filter(possible)


@pytest.fixture(scope="module")
async def worlds(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worlds]:
    """Servers for all stories of this file; every story has organisations of its own."""
    async with worlds_in(tmp_path_factory.mktemp("worlds")) as worlds:
        yield worlds


def test_c25_every_route_has_a_tenancy_case() -> None:
    """A route that is added to the server, and not to these cases, fails here; one that reads is in every story."""
    paths = build()["paths"]
    routes = {f"{method.upper()} {path}" for path, operations in paths.items() for method in operations}
    assert routes == {*CASES, STREAM}
    assert {route for route in routes if route.startswith("GET")} <= {*READS, STREAM} | SAME_FOR_ALL


@settings(max_examples=8)
@given(told=st.lists(acts, min_size=2, max_size=14))
async def test_c25_whatever_others_do_nobody_notices(worlds: Worlds, told: list[Act]) -> None:
    """All that an organisation sees is what it would see if the other one had never been there."""
    await worlds.check([*told, *LOOK])


@pytest.mark.slow
@settings(max_examples=300)
@given(told=st.lists(acts, min_size=2, max_size=40))
async def test_c25_whatever_others_do_nobody_notices_at_length(worlds: Worlds, told: list[Act]) -> None:
    """The same, with more and longer stories."""
    await worlds.check([*told, *LOOK])


async def test_c25_on_a_tour_of_all_routes_nobody_notices_the_other(worlds: Worlds) -> None:
    """Everybody makes everything under the same names, then tries all routes on what the other one made."""
    told = [*tour(), *LOOK]
    seen = await worlds.check(told)
    statuses = {(act.route, act.foreign, seen[place].status) for place, act in enumerate(told) if act.caller in KEYS}
    for route in CASES:
        assert any((route, False, status) in statuses for status in (200, 201, 202)), f"{route} was never used well"
        if {"profile_id", "finding_id", "pattern_id"} & set(path_parts(Act("acme", route))):
            assert (route, True, 404) in statuses, f"{route} was never tried on what is the other's"
    for route, sign in SIGNS.items():
        shown = [seen[place].body for place, act in enumerate(told) if (act.caller, act.route) == ("rival", route)]
        assert any(sign in body for body in shown), f"{route} never showed {sign}"


SIGNS = {
    "GET /v1/monitor/runs": '"of":"rival"',
    "GET /v1/monitor/runs/{run_id}": "Next I look at part 0 of rival.",
    "GET /v1/monitor/health-summary": '"failure: Lost":1',
    "GET /v1/monitor/profiles": "<rival's 0",
    "GET /v1/monitor/profiles/{profile_id}": "<rival's 0",
    "GET /v1/library/patterns": "<rival's 0",
    "GET /v1/findings": '"shop"',
    "GET /v1/findings/{codebase_id}": '"of":"rival"',
    "POST /v1/findings/{codebase_id}/search": '"of":"rival"',
    "POST /v1/traces/retrieve": "<rival's 1",
    "POST /v1/monitors/evaluate": '"have":3',
}
"""What `rival` sees of its own on the tour: worlds in which nothing can be seen are alike, too."""


async def test_c25_what_all_share_is_read_only_for_all_but_admins(worlds: Worlds) -> None:
    """An organisation's key gets 403 for E2 and E3, and nothing changes."""
    made = [Act("admin", "POST /v1/library/patterns", pick) for pick in range(4)]
    changes = [route for route in CASES if "/library/patterns" in route and not route.startswith("GET")]
    tries = [Act(caller, route, pick) for caller in KEYS for route in changes for pick in (2, 3, 6, 7)]
    looks = [Act("admin", "GET /v1/library/patterns", pick) for pick in range(2)]
    seen = list((await worlds.check([*made, *tries, *looks])).values())
    assert {tier_of(act) for act in tries} == {"e2", "e3"}
    assert {answer.status for answer in seen[len(made) : -len(looks)]} == {403}
    shared = [pattern for answer in seen[-len(looks) :] for pattern in json.loads(answer.body)]
    versions = [one["version"] for one in shared if one["pattern_id"].startswith(f"<{SHARED}'s")]
    assert versions == [1, 1, 1, 1]


async def test_c25_a_key_of_one_project_sees_no_run_or_finding_of_another(worlds: Worlds) -> None:
    """What its organisation does elsewhere is not shown, not counted and not found; what it does itself is."""
    elsewhere = [Act("acme", "POST /v1/monitor/events", 1), Act("acme", "POST /v1/findings/{codebase_id}", 1)]
    here = [Act("acme/left", "POST /v1/monitor/events", 2), Act("acme/left", "POST /v1/findings/{codebase_id}", 0)]
    told = [*elsewhere, *here, *look("acme/left"), *look("acme")]
    seen = await worlds.check(told)

    def shown(caller: str, route: str, pick: int = 0) -> str:
        return seen[told.index(Act(caller, route, pick, claims=True))].body

    projects = {
        caller: [run["project_id"] for run in json.loads(shown(caller, "GET /v1/monitor/runs"))]
        for caller in ("acme", "acme/left")
    }
    assert projects == {"acme": ["left", "right"], "acme/left": ["left"]}
    assert '"steps":3,' in shown("acme/left", "GET /v1/monitor/health-summary")
    assert '"steps":6,' in shown("acme", "GET /v1/monitor/health-summary")
    assert shown("acme/left", "GET /v1/findings") == '{"codebases":["shop"]}'
    assert shown("acme/left", "GET /v1/findings/{codebase_id}", 1) == '{"findings":[],"count":0}'
    assert shown("acme/left", "POST /v1/findings/{codebase_id}/search", 1) == '{"results":[]}'
    assert seen[told.index(Act("acme/left", "GET /v1/monitor/runs/{run_id}", 1, claims=True))].status == 404
