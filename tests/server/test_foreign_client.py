"""A client that was written from the wire contract alone: every route in the old protocol, by a real socket.

Nothing of the package is used here but the command that starts the server: no types, no limits, no additions.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from server.process import ServerProcess, running

ADMIN = "foreign-admin-key"
MONITORS = (
    "claim_contradiction",
    "semantic_loop",
    "verification_skip",
    "cyclic_compression",
    "late_sprawl",
    "silent_topic_drift",
)
FAILURES = {"contradiction", "loop", "unverified", "churn", "sprawl", "drift"}
NUMBER = (int, float)
PATIENCE_SECONDS = 30.0

TRACE = {"tier": str, "level": str, "pattern_id": str, "similarity": NUMBER, "failure_type": (str, type(None))}
TRACE |= {"fields": dict, "model_family": str, "source_trace_id": (str, type(None))}
EVALUATION = {"inject": bool, "intervention_text": (str, type(None)), "failure_type": (str, type(None))}
EVALUATION |= {"injection_path": (str, type(None)), "intervention_source": (str, type(None)), "fired": list}
EVALUATION |= {"pattern_id": (str, type(None)), "scores": dict, "composite": NUMBER}
RUN = {"run_id": str, "agent_name": str, "task": str, "model": str, "framework": str, "codebase_id": str}
RUN |= {"org_id": str, "project_id": str, "task_profile": str, "metadata": dict, "outcome": (str, type(None))}
STEP = {"step_index": int, "action": (str, type(None)), "action_input": (str, type(None)), "thought": str}
STEP |= {"observation": (str, type(None)), "is_error": bool, "tokens": int, "input_tokens": int, "output_tokens": int}
STEP |= {"cache_read_tokens": int, "step_model": str, "injections": list, "injection_sources": list}
STEP |= {"intervention_texts": list, "monitors_fired": list, "failure_type": (str, type(None)), "metadata": dict}
SCORES = {"scores": dict, "total_score": NUMBER, "fired": list}
FINDING = {"content": str, "file_path": str, "finding_type": str}


def shaped(value: Any, shape: dict[str, Any]) -> Any:
    """The value, which has at least these fields of these types."""
    assert isinstance(value, dict), value
    for name, kind in shape.items():
        assert name in value, f"{name} is missing in {value}"
        assert isinstance(value[name], kind), f"{name} is {value[name]!r}"
    return value


def rated(scores: dict[str, float]) -> None:
    """All six monitors have a score."""
    assert set(scores) == set(MONITORS)
    assert all(0 <= score <= 1 for score in scores.values())


def refused(answer: httpx.Response, status: int) -> Any:
    """What is wrong, in the one shape of all errors."""
    assert (answer.status_code, set(answer.json())) == (status, {"detail"}), answer.text
    return answer.json()["detail"]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server keeps everything."""
    return tmp_path_factory.mktemp("foreign")


@pytest.fixture(scope="module")
def server(data_dir: Path) -> Iterator[ServerProcess]:
    """A server as people run it."""
    with running(data_dir, KEYS=ADMIN) as server:
        yield server


@pytest.fixture(scope="module")
def key(data_dir: Path, server: ServerProcess) -> str:
    """A key for an organisation, issued while the server runs."""
    assert server.url
    command = [sys.executable, "-m", "reasonblocks", "keys", "create", "--org", "acme", "--data-dir", str(data_dir)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


@pytest.fixture(params=["/v1", ""])
def version(request: pytest.FixtureRequest) -> str:
    """Every route exists with its version and without."""
    return str(request.param)


@pytest.fixture
def name(version: str) -> str:
    """A part of ids, so that the two versions do not meet."""
    return version.strip("/") or "plain"


@pytest.fixture
def rb(server: ServerProcess, key: str, version: str) -> Iterator[httpx.Client]:
    """A client with an issued key."""
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=server.url + version, headers=headers, timeout=PATIENCE_SECONDS) as client:
        yield client


@pytest.fixture
def admin(server: ServerProcess, version: str) -> Iterator[httpx.Client]:
    """A client with a static key."""
    headers = {"Authorization": f"Bearer {ADMIN}"}
    with httpx.Client(base_url=server.url + version, headers=headers, timeout=PATIENCE_SECONDS) as client:
        yield client


# -- health and keys -------------------------------------------------------------------------------


def test_health_needs_no_key(server: ServerProcess, version: str) -> None:
    """`{"status": "ok", "version": ...}` for anybody."""
    answer = httpx.get(f"{server.url}{version}/health")
    assert answer.status_code == 200
    assert shaped(answer.json(), {"status": str, "version": str})["status"] == "ok"


def test_everything_else_needs_one(server: ServerProcess, version: str) -> None:
    """401 without a key, with a made-up one and with one that is not sent as a bearer's."""
    for headers in ({}, {"Authorization": "Bearer rb_live_made_up"}, {"Authorization": "Basic x"}):
        refused(httpx.get(f"{server.url}{version}/monitor/me", headers=headers), 401)


def test_the_callers_identity(rb: httpx.Client, admin: httpx.Client) -> None:
    """An issued key is bound to an organisation, a static one to none."""
    assert rb.get("/monitor/me").json()["org_id"] == "acme"
    assert admin.get("/monitor/me").json()["org_id"] is None


# -- what an agent asks ----------------------------------------------------------------------------


@pytest.mark.parametrize("naming", [{"tier": "e3"}, {"level": "e3"}, {"tier": "e3", "level": "e3"}])
def test_retrieve_standing_rules(rb: httpx.Client, naming: dict[str, str]) -> None:
    """By either name of the tier; all of them, up to `top_k`."""
    answer = rb.post("/traces/retrieve", json={"context": "anything", "top_k": 50, "model": "gpt-5", **naming})
    assert answer.status_code == 200
    traces = [shaped(trace, TRACE) for trace in answer.json()["traces"]]
    assert len(traces) >= 10
    assert {(trace["tier"], trace["level"]) for trace in traces} == {("e3", "e3")}
    few = rb.post("/traces/retrieve", json={"context": "anything", "top_k": 2, **naming})
    assert len(few.json()["traces"]) == 2


def test_retrieve_by_similarity(rb: httpx.Client, admin: httpx.Client) -> None:
    """A shared pattern is found by the words of its own situation; no match is an empty list."""
    shared = admin.get("/library/patterns", params={"tier": "e2"}).json()
    wanted = next(one for one in shared if "trajectory_description" in one["fields"].get("trigger_state", {}))
    context = wanted["fields"]["trigger_state"]["trajectory_description"]
    asked = {"context": context, "tier": "e2", "level": "e2", "top_k": 2, "failure_type": wanted["failure_type"]}
    (first, *_) = rb.post("/traces/retrieve", json=asked).json()["traces"]
    assert shaped(first, TRACE)["similarity"] >= 0.7
    assert first["failure_type"] == wanted["failure_type"]
    for tier in ("e1", "e2"):
        none = rb.post("/traces/retrieve", json={"context": "Boil the potatoes for 20 minutes.", "tier": tier})
        assert none.json() == {"traces": []}


def test_evaluate_a_growing_trace(rb: httpx.Client) -> None:
    """The whole trace every time, as old clients send it, until a monitor has something to say."""
    step = {"thought": "I run the tests again.", "action": "run", "action_input": "pytest", "observation": "1 failed"}
    answers = []
    for length in range(1, 9):
        body = {"steps": [{**step, "observation_is_error": True}] * length, "model": "gpt-5", "task_profile": "coding"}
        answer = rb.post(
            "/monitors/evaluate", json={**body, "weights": {}, "org_id": "default", "project_id": "default"}
        )
        assert answer.status_code == 200
        answers.append(shaped(answer.json(), EVALUATION))
        rated(answers[-1]["scores"])
    assert not answers[0]["inject"]
    last = answers[-1]
    assert (last["inject"], last["failure_type"], "semantic_loop" in last["fired"]) == (True, "loop", True)
    assert last["intervention_text"]
    assert last["injection_path"] in {"strong", "composite", "fallback"}
    assert last["intervention_source"] in {"template", "e2", "judge"}


def test_evaluate_takes_nulls_and_weights(rb: httpx.Client) -> None:
    """A step may say nothing; a weight of nothing silences a monitor in the composite."""
    bare = {"thought": None, "action": None, "action_input": None, "observation": None, "observation_is_error": None}
    answer = rb.post("/monitors/evaluate", json={"steps": [bare], "model": None, "weights": None, "unheard_of": 1})
    assert shaped(answer.json(), EVALUATION)["composite"] < 0.01
    looping = {
        "steps": [{"thought": "I run the tests again.", "action": "run"}] * 6,
        "weights": dict.fromkeys(MONITORS, 0),
    }
    assert rb.post("/monitors/evaluate", json=looping).json()["composite"] == 0


def test_score(rb: httpx.Client) -> None:
    """A number from 0 to 1."""
    answer = rb.post("/score", json={"text": "Hmm, maybe this is the wrong file.", "context": ""})
    assert 0 < shaped(answer.json(), {"difficulty": float})["difficulty"] < 1


# -- runs ------------------------------------------------------------------------------------------


def test_a_run_from_its_start_to_its_end(rb: httpx.Client, name: str) -> None:
    """Started, stepped, finished, listed and shown, under an id that has to be encoded in a path."""
    run_id = f"team/fix:{name}@1"
    path = f"/monitor/runs/{quote(run_id, safe='')}"
    body = {"run_id": run_id, "agent_name": "fixer", "task": "Fix it.", "model": "gpt-5", "framework": "langchain"}
    body |= {"codebase_id": "shop", "org_id": "default", "project_id": "web", "task_profile": "qa"}
    started = rb.post("/monitor/runs", json={**body, "metadata": {"ticket": 7}})
    assert started.status_code == 201
    run = shaped(started.json(), RUN)
    assert (run["run_id"], run["org_id"], run["project_id"], run["task_profile"]) == (run_id, "acme", "web", "qa")
    for index in range(3):
        said = {"thought": f"I read file {index}.", "action": "read", "action_input": f"{index}.py", "tokens": 12}
        said |= {"observation": "text", "is_error": False, "input_tokens": 10, "output_tokens": 2}
        said |= {"cache_read_tokens": 4, "step_model": "gpt-5", "injections": ["Stop"], "injection_sources": ["E2"]}
        said |= {"intervention_texts": ["Stop."], "monitors_fired": [], "failure_type": None, "metadata": {"n": index}}
        scored = rb.post(f"{path}/steps", json={"step_index": index, **said})
        assert scored.status_code == 200
        rated(shaped(scored.json(), SCORES)["scores"])
        again = rb.post(f"{path}/steps", json={"step_index": index, **said, "thought": "Something else."})
        assert (again.status_code, again.json()) == (200, scored.json())
    finished = rb.post(f"{path}/finish", json={"outcome": "success"})
    assert shaped(finished.json(), RUN)["outcome"] == "success"
    assert rb.post(f"{path}/finish", json={"outcome": "failure: Late"}).json()["outcome"] == "failure: Late"
    shown = rb.get(path).json()
    assert shaped(shown, RUN)["metadata"] == {"ticket": 7}
    steps = [shaped(step, STEP) for step in shown["steps"]]
    assert [(step["step_index"], step["thought"]) for step in steps] == [(n, f"I read file {n}.") for n in range(3)]
    assert [step["metadata"] for step in steps] == [{"n": index} for index in range(3)]
    for step in steps:
        rated(step["scores"])


def test_a_run_with_only_what_is_needed(admin: httpx.Client, name: str) -> None:
    """The rest has its defaults; an admin's `org_id` counts."""
    run = admin.post("/monitor/runs", json={"run_id": f"bare-{name}"}).json()
    assert (run["org_id"], run["project_id"], run["task_profile"]) == ("default", "default", "coding")
    assert admin.post(f"/monitor/runs/bare-{name}/steps", json={"step_index": 10_000}).status_code == 200
    elsewhere = admin.post("/monitor/runs", json={"run_id": f"bare-{name}", "org_id": f"org-{name}"}).json()
    assert elsewhere["org_id"] == f"org-{name}"


def test_runs_newest_first(rb: httpx.Client, name: str) -> None:
    """With limit, offset and project."""
    for number in range(3):
        rb.post("/monitor/runs", json={"run_id": f"listed-{name}-{number}", "project_id": f"list-{name}"})
    ids = [f"listed-{name}-{number}" for number in (2, 1, 0)]
    mine = {"project_id": f"list-{name}"}
    assert [run["run_id"] for run in rb.get("/monitor/runs", params=mine).json()] == ids
    assert [run["run_id"] for run in rb.get("/monitor/runs", params={**mine, "limit": 1, "offset": 1}).json()] == ids[
        1:2
    ]


def test_the_health_summary(rb: httpx.Client, name: str) -> None:
    """Counts, outcomes and firing rates."""
    rb.post("/monitor/runs", json={"run_id": f"summed-{name}", "project_id": f"sum-{name}"})
    rb.post(f"/monitor/runs/summed-{name}/steps", json={"step_index": 0, "thought": "Hm."})
    rb.post(f"/monitor/runs/summed-{name}/finish", json={"outcome": "success"})
    told = rb.get("/monitor/health-summary", params={"org_id": "acme", "project_id": f"sum-{name}"}).json()
    shaped(told, {"runs": int, "steps": int, "outcomes": dict, "firing_rates": dict})
    assert (told["runs"], told["steps"], told["outcomes"]) == (1, 1, {"success": 1})


def test_the_stream(rb: httpx.Client, name: str) -> None:
    """Server-sent events: `ready`, then a `step` for each step."""
    rb.post("/monitor/runs", json={"run_id": f"watched-{name}", "project_id": f"watch-{name}"})

    def report() -> None:
        rb.post(f"/monitor/runs/watched-{name}/steps", json={"step_index": 4, "thought": "Hm."})

    reporting = threading.Thread(target=report)
    seen: list[tuple[str, Any]] = []
    with rb.stream("GET", "/monitor/stream", params={"project_id": f"watch-{name}"}) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for line in stream.iter_lines():
            if line.startswith("event: "):
                event = line.removeprefix("event: ")
            elif line.startswith("data: "):
                seen.append((event, json.loads(line.removeprefix("data: "))))
                if event == "ready":
                    reporting.start()
                else:
                    break
    reporting.join(PATIENCE_SECONDS)
    assert [event for event, _ in seen] == ["ready", "step"]
    step = shaped(seen[1][1], {"run_id": str, "step_index": int, "org_id": str, "project_id": str, "fired": list})
    assert (step["run_id"], step["step_index"], step["org_id"]) == (f"watched-{name}", 4, "acme")
    assert isinstance(step["total_score"], NUMBER)


# -- monitors and profiles -------------------------------------------------------------------------


def test_the_scorers(rb: httpx.Client) -> None:
    """The six monitors with their default weights, which are those of `coding`."""
    weights = {one["name"]: one["default_weight"] for one in rb.get("/monitor/scorers").json()}
    assert weights == dict(zip(MONITORS, (0.30, 0.25, 0.15, 0.10, 0.10, 0.10), strict=True))


def test_profiles(rb: httpx.Client, name: str) -> None:
    """One's own can be made, seen, changed and deleted; those built in can only be seen."""
    made = rb.post("/monitor/profiles", json={"name": f"mine-{name}", "weights": {"semantic_loop": 0.5}})
    assert made.status_code == 201
    profile = shaped(made.json(), {"id": str, "name": str, "weights": dict})
    path = f"/monitor/profiles/{profile['id']}"
    assert rb.get(path).json() == profile
    assert rb.patch(path, json={"weights": {"semantic_loop": 0.7}}).json()["weights"]["semantic_loop"] == 0.7
    listed = {one["name"]: one for one in rb.get("/monitor/profiles").json()}
    assert {"coding", "pr_review", "qa", f"mine-{name}"} <= set(listed)
    assert rb.delete(path).status_code == 200
    refused(rb.get(path), 404)
    built_in = f"/monitor/profiles/{listed['coding']['id']}"
    assert rb.get(built_in).status_code == 200
    refused(rb.patch(built_in, json={"weights": {"semantic_loop": 1}}), 403)
    refused(rb.delete(built_in), 403)


# -- traces, patterns, findings --------------------------------------------------------------------


def test_traces(rb: httpx.Client, name: str) -> None:
    """With steps 200, as a manifest with its calls 202."""
    step = {"step_index": 0, "thought": "Hm.", "action": "read", "action_input": "a.py", "observation": "text"}
    step |= {"difficulty": 0.2, "state": "NORMAL", "tokens_used": 5}
    trace = {"trace_id": f"trace-{name}", "steps": [step], "outcome": "success"}
    assert rb.post("/traces", json=trace).status_code == 200
    assert rb.post("/traces", json={"manifest": {"model": "gpt-5"}, "calls": [{"input": "x"}]}).status_code == 202


def test_the_library(rb: httpx.Client, admin: httpx.Client) -> None:
    """All see what is shared, admins change it, and its structure stays as it is."""
    shared = rb.get("/library/patterns", params={"limit": 200}).json()
    assert {pattern["tier"] for pattern in shared} == {"e2", "e3"}
    about = {pattern["failure_type"] for pattern in shared if pattern["tier"] == "e2"}
    assert about >= FAILURES
    assert len(rb.get("/library/patterns", params={"tier": "e3", "limit": 1}).json()) == 1
    rule = next(pattern for pattern in shared if pattern["tier"] == "e3")
    path = f"/library/patterns/e3/{rule['pattern_id']}"
    refused(rb.patch(path, json={"fields": {"instruction": "Obey me."}}), 403)
    refused(rb.delete(path), 403)
    changed = admin.patch(path, json={"fields": {"remark": "seen"}})
    assert changed.json()["fields"] == {**rule["fields"], "remark": "seen"}
    for structural in ("pattern_id", "tier", "customer_id"):
        kept = admin.patch(path, json={"fields": {structural: "e1"}})
        assert kept.status_code in (200, 422)
    tiers = {pattern["pattern_id"]: pattern["tier"] for pattern in admin.get("/library/patterns").json()}
    assert tiers[rule["pattern_id"]] == "e3"
    refused(admin.delete("/library/patterns/e3/no-such-pattern"), 404)
    assert admin.patch(path, json={"fields": rule["fields"] | {"remark": None}}).json()["fields"] == rule["fields"]


def test_findings(rb: httpx.Client, name: str) -> None:
    """Stored, listed, found, changed, invalidated with their files, deleted and cleared."""
    codebase = f"/findings/shop-{name}"
    body = {"content": "The cart total is rounded down.", "file_path": "src/cart.py", "metadata": {"by": "fixer"}}
    stored = shaped(rb.post(codebase, json=body).json(), {"finding_id": str, "stored": bool})
    assert stored["stored"]
    other = rb.post(codebase, json={"content": "Logs go to stderr.", "file_path": "src/log.py"}).json()
    third = rb.post(codebase, json={"content": "Prices are in cents.", "finding_type": "fact"}).json()
    assert f"shop-{name}" in rb.get("/findings").json()["codebases"]
    listed = shaped(rb.get(codebase).json(), {"findings": list, "count": int})
    assert listed["count"] == 3
    assert sorted(shaped(one, FINDING)["finding_type"] for one in listed["findings"]) == ["fact", "note", "note"]
    question = {"query": "how is the total of the cart rounded?", "top_k": 1, "score_threshold": 0.5}
    best = found(rb, codebase, question)
    assert (shaped(best, FINDING | {"score": float})["content"], best["score"] >= 0.5) == (body["content"], True)
    changed = rb.patch(f"{codebase}/{third['finding_id']}", json={"content": "Prices are in euros."})
    assert changed.json()["content"] == "Prices are in euros."
    assert rb.delete(f"{codebase}/{other['finding_id']}").status_code == 200
    refused(rb.delete(f"{codebase}/{other['finding_id']}"), 404)
    gone = rb.post(f"{codebase}/invalidate", json={"file_paths": ["src/cart.py", "src/none.py"]})
    assert gone.json() == {"invalidated": 1}
    assert rb.delete(codebase).json() == {"status": "cleared"}
    assert rb.get(codebase).json() == {"findings": [], "count": 0}


def found(rb: httpx.Client, codebase: str, question: dict[str, Any]) -> Any:
    """The best answer to a question, a moment after it was stored."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (results := rb.post(f"{codebase}/search", json=question).json()["results"]):
        assert time.monotonic() < deadline, "nothing is found"
        time.sleep(0.05)
    return results[0]


# -- errors ----------------------------------------------------------------------------------------


def test_errors_have_one_shape(rb: httpx.Client) -> None:
    """`{"detail": ...}` with the status that the contract names."""
    refused(rb.post("/score", content=b"{"), 400)
    refused(rb.get("/monitor/runs/nobody-knows-it"), 404)
    refused(rb.get("/no/such/route"), 404)
    refused(rb.post("/monitor/runs/nobody-knows-it/steps", json={"step_index": 0}), 404)
    refused(rb.post("/monitors/evaluate", content=b" " * 6_000_000), 413)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/traces/retrieve", {"context": "x" * 64_001, "tier": "e1"}, "context"),
        ("/traces/retrieve", {"context": "x", "tier": "e9"}, "tier"),
        ("/traces/retrieve", {"context": "x", "tier": "e1", "top_k": 51}, "top_k"),
        ("/monitors/evaluate", {"steps": [{}] * 2_001}, "steps"),
        ("/monitor/runs", {"run_id": "no spaces"}, "run_id"),
        ("/monitor/runs", {"run_id": "x" * 257}, "run_id"),
        ("/monitor/runs", {"run_id": "x", "task": "x" * 4_001}, "task"),
        ("/monitor/runs/any/steps", {"step_index": 10_001}, "step_index"),
        ("/monitor/runs/any/finish", {"outcome": "x" * 65}, "outcome"),
        ("/findings/shop", {"content": ""}, "content"),
        ("/findings/shop", {"content": "x" * 8_001}, "content"),
        ("/findings/shop/search", {"query": "x", "score_threshold": 1.5}, "score_threshold"),
        ("/findings/shop/invalidate", {"file_paths": ["x"] * 1_025}, "file_paths"),
    ],
)
def test_a_field_that_does_not_fit_is_named(rb: httpx.Client, path: str, body: dict[str, Any], field: str) -> None:
    """422 with the field's location, for each limit of the contract."""
    problems = refused(rb.post(path, json=body), 422)
    assert field in problems[0]["loc"]
