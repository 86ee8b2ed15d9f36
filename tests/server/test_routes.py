"""Every route of the wire, once as it is meant, with and without its version."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx
import pytest

from reasonblocks import __version__
from server.house import House

MONITORS = {
    "claim_contradiction",
    "semantic_loop",
    "verification_skip",
    "cyclic_compression",
    "late_sprawl",
    "silent_topic_drift",
}
LOOP = {"thought": "I will run the tests again.", "action": "run", "action_input": "pytest", "observation": "1 failed"}
E1_FIELDS = {
    "observation": "The fixtures are generated.",
    "recommended_action": "Change the generator.",
    "task_context_embedding_text": "A test fails after somebody edited a generated fixture by hand.",
}
PATIENCE_SECONDS = 20
VERSIONS = pytest.mark.parametrize("version", ["/v1", ""])


async def until(
    ask: Callable[[], Awaitable[httpx.Response]], good: Callable[[httpx.Response], object]
) -> httpx.Response:
    """Ask until the answer is as it should be: the index follows what is stored a moment later."""
    with anyio.fail_after(PATIENCE_SECONDS):
        while not good(answer := await ask()):  # noqa: ASYNC110  it is the server that has to get there
            await anyio.sleep(0.05)
    return answer


@VERSIONS
async def test_health_needs_no_key_and_lists_what_it_can_do(stranger: httpx.AsyncClient, version: str) -> None:
    """Liveness, version and the additions."""
    answer = await stranger.get(f"{version}/health")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ok",
        "version": __version__,
        "capabilities": ["events", "incremental", "interrupts", "losses", "near_misses", "patterns", "task"],
    }


@VERSIONS
async def test_ready_says_which_parts_work(stranger: httpx.AsyncClient, version: str) -> None:
    """Readiness of database, index and embedder."""
    answer = await until(lambda: stranger.get(f"{version}/ready"), lambda answer: answer.status_code == 200)
    assert answer.json() == {"status": "ready", "database": "ok", "index": "ok", "embedder": "ok"}


@VERSIONS
async def test_retrieve_gives_patterns(acme: httpx.AsyncClient, version: str) -> None:
    """All standing rules of E3, in the shape of the wire; `level` is as good as `tier`."""
    answer = await acme.post(f"{version}/traces/retrieve", json={"context": "", "level": "e3", "top_k": 50})
    assert answer.status_code == 200
    traces = answer.json()["traces"]
    assert traces
    wanted = {"tier", "level", "pattern_id", "similarity", "failure_type", "fields", "model_family", "source_trace_id"}
    assert all(wanted <= set(trace) and trace["tier"] == trace["level"] == "e3" for trace in traces)


async def test_no_match_is_an_empty_list(acme: httpx.AsyncClient) -> None:
    """Nothing that fits is no error."""
    answer = await acme.post("/v1/traces/retrieve", json={"context": "Boil the potatoes.", "tier": "e1"})
    assert (answer.status_code, answer.json()) == (200, {"traces": []})


@VERSIONS
async def test_evaluate_scores_a_trace(acme: httpx.AsyncClient, version: str) -> None:
    """The six monitors, in the shape of the wire."""
    answer = await acme.post(f"{version}/monitors/evaluate", json={"steps": [LOOP] * 6, "task_profile": "coding"})
    assert answer.status_code == 200
    evaluation = answer.json()
    assert set(evaluation["scores"]) == MONITORS
    assert "semantic_loop" in evaluation["fired"]
    wanted = {"inject", "intervention_text", "failure_type", "injection_path", "intervention_source", "pattern_id"}
    assert wanted <= set(evaluation)


async def test_evaluate_continues_where_it_left_off(acme: httpx.AsyncClient) -> None:
    """The answer equals that of the whole trace; another prefix is a conflict that says what is held."""
    steps = [dict(LOOP, thought=f"Thought {number}") for number in range(5)]
    whole = await acme.post("/v1/monitors/evaluate", json={"steps": steps})
    first = await acme.post("/v1/monitors/evaluate", json={"run_id": "inc", "offset": 0, "steps": steps[:3]})
    rest = await acme.post("/v1/monitors/evaluate", json={"run_id": "inc", "offset": 3, "steps": steps[3:]})
    assert (first.status_code, rest.status_code) == (200, 200)
    assert rest.json() == whole.json()
    for nothing in ({}, {"steps": None}, {"steps": []}):
        again = await acme.post("/v1/monitors/evaluate", json={"run_id": "inc", "offset": 5} | nothing)
        assert again.json() == whole.json()
    ahead = await acme.post("/v1/monitors/evaluate", json={"run_id": "inc", "offset": 9, "steps": steps[:1]})
    assert ahead.status_code == 409
    assert ahead.json()["have"] == 5
    assert isinstance(ahead.json()["detail"], str)


@VERSIONS
async def test_score_is_between_0_and_1(acme: httpx.AsyncClient, version: str) -> None:
    """A hesitant thought is harder than a plain one; a long one is scored as well."""
    scores = []
    for text in ("I read the file.", "Hmm, maybe the error is a bug. Not sure. Perhaps it failed.", "wait " * 12_000):
        answer = await acme.post(f"{version}/score", json={"text": text, "context": "anything"})
        scores.append(answer.json()["difficulty"])
    assert 0 <= scores[0] < scores[1] <= 1
    assert 0 <= scores[2] <= 1


@VERSIONS
async def test_a_run_from_start_to_finish(acme: httpx.AsyncClient, version: str) -> None:
    """Started with 201, its steps scored, finished, listed and shown."""
    run_id = f"whole{version.replace('/', '-')}"
    body = {"run_id": run_id, "agent_name": "fixer", "task": "Fix it", "model": "m", "metadata": {"ticket": 7}}
    started = await acme.post(f"{version}/monitor/runs", json=body)
    assert started.status_code == 201
    assert started.json()["status"] == "running"
    step: dict[str, Any] = {"step_index": 0, "thought": "I look.", "action": "read", "tokens": 12, "is_error": False}
    scored = await acme.post(f"{version}/monitor/runs/{run_id}/steps", json=step)
    assert scored.status_code == 200
    assert set(scored.json()["scores"]) == MONITORS
    assert set(scored.json()) == {"scores", "total_score", "fired"}
    again = await acme.post(f"{version}/monitor/runs/{run_id}/steps", json=step)
    assert again.json() == scored.json()
    finished = await acme.post(f"{version}/monitor/runs/{run_id}/finish", json={"outcome": "success"})
    assert (finished.status_code, finished.json()["outcome"]) == (200, "success")
    listed = await acme.get(f"{version}/monitor/runs", params={"limit": 1})
    assert [run["run_id"] for run in listed.json()] == [run_id]
    shown = (await acme.get(f"{version}/monitor/runs/{run_id}")).json()
    assert shown["metadata"] == {"ticket": 7}
    assert [(step["step_index"], step["thought"]) for step in shown["steps"]] == [(0, "I look.")]
    assert set(shown["steps"][0]["scores"]) == MONITORS


@VERSIONS
async def test_events_are_applied_in_order_and_a_bad_one_spoils_no_other(acme: httpx.AsyncClient, version: str) -> None:
    """Accepted ones are counted, rejected ones named."""
    run_id = f"batch{version.replace('/', '-')}"
    events = [
        {"type": "run_start", "run_id": run_id},
        {"type": "step", "run_id": run_id, "step_index": 0, "thought": "one"},
        {"type": "step", "run_id": run_id, "step_index": -1},
        {"type": "nonsense"},
        "not even an object",
        {"type": "step", "run_id": run_id, "step_index": 1, "thought": "two"},
        {"type": "run_finish", "run_id": run_id, "outcome": "success"},
    ]
    answer = await acme.post(f"{version}/monitor/events", json={"events": events})
    assert answer.status_code == 200
    assert answer.json()["accepted"] == 4
    assert [rejected["index"] for rejected in answer.json()["rejected"]] == [2, 3, 4]
    shown = (await acme.get(f"{version}/monitor/runs/{run_id}")).json()
    assert ([step["thought"] for step in shown["steps"]], shown["outcome"]) == (["one", "two"], "success")


async def test_me_is_the_identity_behind_the_key(acme: httpx.AsyncClient, admin: httpx.AsyncClient) -> None:
    """An organisation's key has one, an admin's has none."""
    assert (await acme.get("/v1/monitor/me")).json()["org_id"] == "acme"
    mine = (await admin.get("/monitor/me")).json()
    assert (mine["org_id"], mine["is_admin"]) == (None, True)


@VERSIONS
async def test_the_health_summary_counts(acme: httpx.AsyncClient, version: str) -> None:
    """Runs, outcomes and firing rates of one's own."""
    answer = await acme.get(f"{version}/monitor/health-summary")
    assert answer.status_code == 200
    assert {"runs", "outcomes", "firing_rates"} <= set(answer.json())


@VERSIONS
async def test_the_scorers_are_the_six_monitors(acme: httpx.AsyncClient, version: str) -> None:
    """With the default weights of the contract."""
    answer = await acme.get(f"{version}/monitor/scorers")
    assert {scorer["name"] for scorer in answer.json()} == MONITORS
    assert sum(scorer["default_weight"] for scorer in answer.json()) == pytest.approx(1.0)


@VERSIONS
async def test_a_profile_of_ones_own(acme: httpx.AsyncClient, version: str) -> None:
    """Created, listed beside the built-in ones, changed, deleted."""
    made = await acme.post(
        f"{version}/monitor/profiles", json={"name": f"careful{len(version)}", "weights": {"semantic_loop": 0.5}}
    )
    assert made.status_code == 201
    path = f"{version}/monitor/profiles/{made.json()['id']}"
    listed = (await acme.get(f"{version}/monitor/profiles")).json()
    assert {"coding", "pr_review", "qa", made.json()["name"]} <= {profile["name"] for profile in listed}
    changed = await acme.patch(path, json={"weights": {"semantic_loop": 0.9}})
    assert changed.json()["weights"]["semantic_loop"] == 0.9
    assert (await acme.get(path)).json() == changed.json()
    assert (await acme.delete(path)).status_code == 200
    assert (await acme.get(path)).status_code == 404


async def test_a_built_in_profile_is_read_only(acme: httpx.AsyncClient) -> None:
    """403, and it says why."""
    built_in = next(profile for profile in (await acme.get("/v1/monitor/profiles")).json() if profile["built_in"])
    for answer in (
        await acme.patch(f"/v1/monitor/profiles/{built_in['id']}", json={"weights": {}}),
        await acme.delete(f"/v1/monitor/profiles/{built_in['id']}"),
    ):
        assert answer.status_code == 403
        assert isinstance(answer.json()["detail"], str)


@VERSIONS
async def test_traces_are_stored_in_either_form(acme: httpx.AsyncClient, version: str) -> None:
    """200 for a trace with steps, 202 for a manifest with calls."""
    steps = [{"step_index": 0, "thought": "hm", "difficulty": 0.2, "state": "NORMAL", "tokens_used": 5}]
    trace = await acme.post(f"{version}/traces", json={"trace_id": "t1", "steps": steps, "outcome": "success"})
    assert (trace.status_code, trace.json()["trace_id"]) == (200, "t1")
    manifest = await acme.post(f"{version}/traces", json={"manifest": {"model": "m"}, "calls": [{"input": "x"}]})
    assert manifest.status_code == 202


@VERSIONS
async def test_a_pattern_of_ones_own(acme: httpx.AsyncClient, version: str) -> None:
    """Added, listed, changed, deleted; its structure stays."""
    made = await acme.post(f"{version}/library/patterns", json={"tier": "e1", "fields": E1_FIELDS})
    assert made.status_code == 201
    pattern_id = made.json()["pattern_id"]
    path = f"{version}/library/patterns/e1/{pattern_id}"
    listed = (await acme.get(f"{version}/library/patterns", params={"tier": "e1"})).json()
    assert [pattern["pattern_id"] for pattern in listed] == [pattern_id]
    changed = await acme.patch(path, json={"fields": {"recommended_action": "Run make fixtures."}})
    assert changed.json()["fields"]["recommended_action"] == "Run make fixtures."
    assert changed.json()["fields"]["observation"] == E1_FIELDS["observation"]
    echoed = {"pattern_id": pattern_id, "tier": "e1", "customer_id": "acme"}
    assert (await acme.patch(path, json={"fields": changed.json()["fields"] | echoed})).json() == changed.json()
    assert (await acme.patch(path, json=changed.json())).json() == changed.json()
    assert (await acme.patch(path, json={"fields": echoed | {"customer_id": "rival"}})).status_code == 422
    assert (await acme.delete(path)).status_code == 200
    assert (await acme.delete(path)).status_code == 404


@pytest.mark.parametrize("path", ["/v1/monitor/runs", "/v1/library/patterns"])
async def test_a_list_is_never_longer_than_it_may_be(house: House, path: str) -> None:
    """Whoever asks for more gets the most there is; less than one makes no sense."""
    async with house.client((await house.engine.keys.create("busy"))[1]) as client:
        for start in (0, 300):
            events = [{"type": "run_start", "run_id": f"r{number}"} for number in range(start, start + 300)]
            await client.post("/v1/monitor/events", json={"events": events})
        for limit in (501, 1_001, 10**30):
            answer = await client.get(path, params={"limit": limit})
            assert answer.status_code == 200
            assert len(answer.json()) == 500 or "library" in path
        for limit in (0, -1):
            assert (await client.get(path, params={"limit": limit})).status_code == 422


async def test_shared_patterns_are_for_admins_to_change(acme: httpx.AsyncClient, admin: httpx.AsyncClient) -> None:
    """Everybody sees them; 403 for whoever else tries to change one."""
    shared = (await acme.get("/v1/library/patterns", params={"tier": "e3"})).json()
    assert shared
    path = f"/v1/library/patterns/e3/{shared[0]['pattern_id']}"
    assert (await acme.patch(path, json={"fields": {}})).status_code == 403
    assert (await acme.post("/v1/library/patterns", json={"tier": "e2", "fields": {}})).status_code == 403
    assert (await admin.patch(path, json={"status": "live"})).status_code == 200


@VERSIONS
async def test_findings_about_a_codebase(acme: httpx.AsyncClient, version: str) -> None:
    """Stored, found by meaning, changed, invalidated with their file, and cleared."""
    codebase = f"{version}/findings/shop{len(version)}"
    stored = await acme.post(codebase, json={"content": "The cart total is rounded down.", "file_path": "src/cart.py"})
    assert stored.status_code == 200
    assert stored.json()["stored"] is True
    await acme.post(codebase, json={"content": "Logs go to stderr.", "file_path": "src/log.py"})
    question = {"query": "how is the total of the cart rounded?"}
    found = await until(lambda: acme.post(f"{codebase}/search", json=question), lambda found: found.json()["results"])
    assert found.json()["results"][0]["content"] == "The cart total is rounded down."
    assert {"content", "file_path", "finding_type", "score"} <= set(found.json()["results"][0])
    path = f"{codebase}/{stored.json()['finding_id']}"
    changed = await acme.patch(path, json={"content": "The cart total is rounded half up."})
    assert (changed.status_code, changed.json()["content"]) == (200, "The cart total is rounded half up.")
    assert (await acme.get(codebase)).json()["count"] == 2
    gone = await acme.post(f"{codebase}/invalidate", json={"file_paths": ["src/cart.py"]})
    assert gone.json() == {"invalidated": 1}
    cleared = await acme.delete(codebase)
    assert (cleared.status_code, cleared.json()) == (200, {"status": "cleared"})
    assert (await acme.get(codebase)).json() == {"findings": [], "count": 0}


async def test_c25_the_org_of_the_key_counts_not_that_of_the_request(
    acme: httpx.AsyncClient, rival: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    """Only an admin may name an organisation; whoever else does is not heard."""
    mine = await acme.post("/v1/monitor/runs", json={"run_id": "mine", "org_id": "rival"})
    assert mine.json()["org_id"] == "acme"
    assert (await rival.get("/v1/monitor/runs/mine")).status_code == 404
    assert (await rival.get("/v1/monitor/runs/mine", params={"org_id": "acme"})).status_code == 404
    assert (await admin.get("/v1/monitor/runs/mine", params={"org_id": "acme"})).status_code == 200
    assert "mine" not in {run["run_id"] for run in (await rival.get("/v1/monitor/runs?org_id=acme")).json()}


async def test_unknown_and_anothers_look_the_same(acme: httpx.AsyncClient, rival: httpx.AsyncClient) -> None:
    """404 with the same body, so that nobody can find out what others have."""
    await acme.post("/v1/monitor/runs", json={"run_id": "secret-run"})
    anothers = await rival.get("/v1/monitor/runs/secret-run")
    unknown = await rival.get("/v1/monitor/runs/no-such-run")
    assert (anothers.status_code, anothers.content) == (unknown.status_code, unknown.content)
    assert unknown.status_code == 404
