"""Whose data a request is about: an admin says so in the body, else in the query; any other key has its own org."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from reasonblocks.engine.store.schema import traces
from server.house import House

numbers = count()
Sees = Callable[[httpx.AsyncClient, str], Awaitable[bool]]
"""Whether an org's own key sees what was made under a name."""
RULE = {"observation": "fixtures are generated", "recommended_action": "run make", "task_context_embedding_text": ""}


async def sees_run(caller: httpx.AsyncClient, name: str) -> bool:
    """The run is there."""
    return (await caller.get(f"/v1/monitor/runs/{name}")).status_code == 200


async def sees_step(caller: httpx.AsyncClient, name: str) -> bool:
    """The run has a step."""
    return bool((await caller.get(f"/v1/monitor/runs/{name}")).json()["step_count"])


async def sees_end(caller: httpx.AsyncClient, name: str) -> bool:
    """The run has an outcome."""
    return (await caller.get(f"/v1/monitor/runs/{name}")).json()["outcome"] == "success"


async def sees_profile(caller: httpx.AsyncClient, name: str) -> bool:
    """The profile is listed."""
    return name in [profile["name"] for profile in (await caller.get("/v1/monitor/profiles")).json()]


async def sees_pattern(caller: httpx.AsyncClient, name: str) -> bool:
    """The pattern is listed."""
    listed = (await caller.get("/v1/library/patterns?tier=e1&limit=5000")).json()
    return name in [pattern["fields"]["task_context_embedding_text"] for pattern in listed]


async def sees_finding(caller: httpx.AsyncClient, name: str) -> bool:
    """Something was found about the codebase."""
    return bool((await caller.get(f"/v1/findings/{name}")).json()["count"])


async def sees_no_finding(caller: httpx.AsyncClient, name: str) -> bool:
    """What was found about the codebase is gone."""
    return not await sees_finding(caller, name)


async def sees_change(caller: httpx.AsyncClient, name: str) -> bool:
    """What was found says something else now."""
    return (await caller.get(f"/v1/findings/{name}")).json()["findings"][0]["content"] == "changed"


async def holds_trajectory(caller: httpx.AsyncClient, name: str) -> bool:
    """A run can be continued after two steps, without sending any."""
    answer = await caller.post("/v1/monitors/evaluate", json={"run_id": name, "offset": 2})
    return answer.status_code == 200


Write = tuple[str, str, Callable[[str], dict[str, Any]], Sees]
"""Method, path, body and what shows whose it became."""
STEP = {"type": "step", "step_index": 0}
WRITES: dict[str, Write] = {
    "start": ("POST", "/monitor/runs", lambda name: {"run_id": name}, sees_run),
    "evaluate": ("POST", "/monitors/evaluate", lambda name: {"run_id": name, "steps": [{}, {}]}, holds_trajectory),
    "profile": ("POST", "/monitor/profiles", lambda name: {"name": name, "weights": {}}, sees_profile),
    "pattern": (
        "POST",
        "/library/patterns",
        lambda name: {"tier": "e1", "fields": RULE | {"task_context_embedding_text": name}},
        sees_pattern,
    ),
    "finding": ("POST", "/findings/{name}", lambda _: {"content": "x"}, sees_finding),
}
ON_BOTH: dict[str, Write] = {
    "step": ("POST", "/monitor/runs/{name}/steps", lambda _: {"step_index": 0}, sees_step),
    "finish": ("POST", "/monitor/runs/{name}/finish", lambda _: {"outcome": "success"}, sees_end),
    "invalidate": ("POST", "/findings/{name}/invalidate", lambda _: {"file_paths": ["a.py"]}, sees_no_finding),
}
"""What is done to things of the same name that both orgs have."""
PLACES = {
    "in the body": ({"org_id": "acme"}, {}),
    "in the query": ({}, {"org_id": "acme"}),
    "in both": ({"org_id": "acme"}, {"org_id": "rival"}),
    "in the query, and the body says null": ({"org_id": None}, {"org_id": "acme"}),
}


async def furnish(*callers: httpx.AsyncClient) -> str:
    """A run and a finding of the same name for each; the name."""
    name = f"n{next(numbers)}"
    for caller in callers:
        await caller.post("/v1/monitor/runs", json={"run_id": name})
        await caller.post(f"/v1/findings/{name}", json={"content": "x", "file_path": "a.py"})
    return name


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("write", [*WRITES, *ON_BOTH])
async def test_an_admins_org_counts_wherever_it_is_named(
    admin: httpx.AsyncClient, acme: httpx.AsyncClient, rival: httpx.AsyncClient, write: str, place: str
) -> None:
    """The body goes before the query, and only the org that is meant sees anything of it."""
    method, path, body, sees = (WRITES | ON_BOTH)[write]
    name = await furnish(acme, rival) if write in ON_BOTH else f"n{next(numbers)}"
    said, asked = PLACES[place]
    answer = await admin.request(method, "/v1" + path.format(name=name), json=body(name) | said, params=asked)
    assert answer.is_success, answer.text
    assert (await sees(acme, name), await sees(rival, name)) == (True, False)


@pytest.mark.parametrize("write", [*WRITES, *ON_BOTH])
async def test_any_other_keys_org_is_its_own(acme: httpx.AsyncClient, rival: httpx.AsyncClient, write: str) -> None:
    """Whatever the request says."""
    method, path, body, sees = (WRITES | ON_BOTH)[write]
    name = await furnish(acme, rival) if write in ON_BOTH else f"n{next(numbers)}"
    named = {"org_id": "acme"}
    answer = await rival.request(method, "/v1" + path.format(name=name), json=body(name) | named, params=named)
    assert answer.is_success, answer.text
    assert (await sees(acme, name), await sees(rival, name)) == (False, True)


@pytest.mark.parametrize("place", PLACES)
async def test_events_of_an_admin_land_where_each_says(
    admin: httpx.AsyncClient, acme: httpx.AsyncClient, rival: httpx.AsyncClient, place: str
) -> None:
    """Also where the same run id is in two orgs; an event's own org goes before that of the query."""
    name = await furnish(acme, rival)
    said, asked = PLACES[place]
    events: list[dict[str, Any]] = [
        {"type": "run_start", "run_id": f"{name}-new"} | said,
        STEP | {"run_id": name} | said,
        {"type": "run_interrupt", "run_id": name} | said,
        {"type": "run_finish", "run_id": name, "outcome": "success"} | said,
        STEP | {"run_id": name, "step_index": 7, "org_id": "rival"},
    ]
    answer = await admin.post("/v1/monitor/events", json={"events": events}, params=asked)
    assert answer.json() == {"accepted": 5, "rejected": []}
    assert (await sees_run(acme, f"{name}-new"), await sees_run(rival, f"{name}-new")) == (True, False)
    assert (await sees_end(acme, name), await sees_end(rival, name)) == (True, False)
    indices = [
        [step["step_index"] for step in (await caller.get(f"/v1/monitor/runs/{name}")).json()["steps"]]
        for caller in (acme, rival)
    ]
    assert indices == [[0], [7]]


async def test_events_of_any_other_key_stay_in_its_org(acme: httpx.AsyncClient, rival: httpx.AsyncClient) -> None:
    """Whatever each of them says."""
    name = await furnish(acme, rival)
    event = STEP | {"run_id": name, "org_id": "acme"}
    await rival.post("/v1/monitor/events?org_id=acme", json={"events": [event]})
    assert (await sees_step(acme, name), await sees_step(rival, name)) == (False, True)


@pytest.mark.parametrize("place", PLACES)
async def test_what_is_changed_is_looked_for_in_the_org_that_is_named(
    admin: httpx.AsyncClient, acme: httpx.AsyncClient, rival: httpx.AsyncClient, place: str
) -> None:
    """Findings, profiles and E1 patterns of another one are unknown there."""
    said, asked = PLACES[place]
    for caller, found in ((acme, 200), (rival, 404)):
        name = await furnish(caller)
        (finding,) = (await caller.get(f"/v1/findings/{name}")).json()["findings"]
        profile = (await caller.post("/v1/monitor/profiles", json={"name": name, "weights": {}})).json()
        fields = RULE | {"task_context_embedding_text": name}
        pattern = (await caller.post("/v1/library/patterns", json={"tier": "e1", "fields": fields})).json()
        for path, body in (
            (f"/v1/findings/{name}/{finding['finding_id']}", {"content": "changed"}),
            (f"/v1/monitor/profiles/{profile['id']}", {"description": "changed"}),
            (f"/v1/library/patterns/e1/{pattern['pattern_id']}", {"fields": {"observation": "changed"}}),
        ):
            answer = await admin.patch(path, json=body | said, params=asked)
            assert answer.status_code == found, (path, answer.text)
            if "findings" not in path:
                gone = await admin.delete(path, params={"org_id": "acme"})
                assert gone.status_code == found, (path, gone.text)
        assert await sees_change(caller, name) == (found == 200)


@pytest.mark.parametrize("place", PLACES)
async def test_lookups_of_an_admin_are_in_the_org_that_is_named(
    house: House, admin: httpx.AsyncClient, acme: httpx.AsyncClient, place: str
) -> None:
    """E1 patterns and findings of that one are found, and of the default one there are none."""
    said, asked = PLACES[place]
    words = f"the parser of part {next(numbers)} rejects empty input after the fixtures were edited by hand"
    fields = RULE | {"task_context_embedding_text": words}
    pattern = (await acme.post("/v1/library/patterns", json={"tier": "e1", "fields": fields})).json()
    await acme.post("/v1/findings/lookups", json={"content": words})
    await house.engine._follower.refresh()
    await house.engine.index.settled()
    for named, query, sees in ((said, asked, True), ({}, {}, False)):
        answer = await admin.post(
            "/v1/traces/retrieve", json={"context": words, "tier": "e1", "top_k": 50} | named, params=query
        )
        assert (pattern["pattern_id"] in [trace["pattern_id"] for trace in answer.json()["traces"]]) is sees
        answer = await admin.post(
            "/v1/findings/lookups/search", json={"query": words, "top_k": 50} | named, params=query
        )
        assert (words in [found["content"] for found in answer.json()["results"]]) is sees


@pytest.mark.parametrize("place", PLACES)
async def test_a_trace_is_kept_for_the_org_that_is_named(house: House, admin: httpx.AsyncClient, place: str) -> None:
    """No route shows it, so the table has to."""
    said, asked = PLACES[place]
    name = f"n{next(numbers)}"
    await admin.post("/v1/traces", json={"trace_id": name, "steps": []} | said, params=asked)
    async with house.engine._database.reading() as connection:
        found = await connection.execute(select(traces.c.org_id).where(traces.c.trace_id == name))
    assert found.scalars().all() == ["acme"]
