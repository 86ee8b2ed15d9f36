"""`reasonblocks explain`, lookups: what was found, given and rejected at a step, as it was stored when it happened."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent

from commands.conftest import Server
from commands.story import AGAIN, QUESTION, command, printed, read
from reasonblocks import ReasonBlocks
from reasonblocks.api.backend import Retrieved
from reasonblocks.api.wire import decode_retrieval
from reasonblocks.commands.explaining.explain import explained
from reasonblocks.commands.explaining.lines import explanation_lines
from reasonblocks.engine.answers import RunWithSteps, StoredStepAnswer
from reasonblocks.injections.base import NEAR_MISSES
from reasonblocks.telemetry.lookups import account
from reasonblocks.types import Lookup
from support.agents import ScriptedModel, call, lookup, say, script
from support.standin import Fault, Standin, inject, pattern

LOOP = [say(AGAIN, call("lookup", key="timeout"))] * 4 + ["It is 42."]


def run(rb: ReasonBlocks, run_id: str, replies: list[Any] = LOOP, org_id: str = "default") -> None:
    """A real agent, until all that it reports has arrived."""
    middleware = rb.middleware(run_id=run_id, org_id=org_id)
    create_agent(ScriptedModel(replies), [lookup], middleware=[middleware]).invoke(QUESTION)
    middleware.close()


def step(run_id: str, number: int, *where: object, **environment: str) -> Any:
    """The explanation of one step, as scripts get it."""
    (found,) = read("explain", run_id, number, *where, **environment)["steps"]
    return found


def words(*arguments: object, **environment: str) -> str:
    """What is printed, without its lines."""
    return " ".join(printed("explain", *arguments, **environment).split())


def test_what_was_rejected_is_stored_with_similarity_gate_and_reason(told: Path) -> None:
    """The nearest three, each below its gate, and as similar as a comparison with the same patterns finds them."""
    shown = step("fix-timeout", 3, "--data-dir", told, "--lookup")
    own, shared = shown["lookups"]
    assert (own["source"], own["tier"], own["query"]) == ("E1Injection", "e1", "by the last 3 thoughts")
    assert (shared["tier"], shared["query"]) == ("e2", "by the last 5 thoughts, among patterns about loop")
    assert (own["told"], own["not_compared"], own["rejected"]) == (True, None, [])
    assert len(shared["rejected"]) == NEAR_MISSES
    compared = {one["pattern_id"]: one["similarity"] for one in shown["now"]}
    for one in shared["rejected"]:
        assert (one["gate"], one["given"], one["verdict"]) == (0.7, False, "below the gate of 0.7")
        assert one["title"]
        assert compared.get(one["pattern_id"], one["similarity"]) == one["similarity"] < 0.7
    assert {one["pattern_id"] for one in shared["rejected"]} & compared.keys()
    (given_,) = [one for one in shown["candidates"] if one["tier"] == "e1"]
    assert (given_["gate"], given_["given"], given_["verdict"]) == (0.8, True, "given")


def test_what_the_guardrails_held_back_is_shown_with_the_reason(told: Path) -> None:
    """The monitors' text came back at the next step, too; it was not given, for the cool-down."""
    (held,) = step("fix-timeout", 4, "--data-dir", told)["candidates"]
    assert held["source"] == "MonitorSteeringInjection"
    assert (held["given"], held["verdict"]) == (False, "not given: monitor cool-down: 1 of 3 steps in NORMAL")


def test_where_the_words_kept_it_from_being_compared_exactly_that_is_said(told: Path) -> None:
    """A healthy step has nothing rejected: nothing was compared."""
    (made,) = step("fix-timeout", 1, "--data-dir", told)["lookups"]
    assert (made["tier"], made["rejected"], made["told"]) == ("e2", [], True)
    assert made["not_compared"] == "the thoughts have too few words in common with any pattern"
    shown = words("fix-timeout", 1, "--data-dir", told)
    assert "by the last 5 thoughts; not compared: the thoughts have too few words in common with any pattern" in shown
    assert "E3Injection was given at step 0" in shown


def test_by_a_server_the_same_is_stored(told: Path, server: Server) -> None:
    """Once it has said what it can do, an agent on a server has the lookups of one with an engine of its own."""
    key = server.admin["REASONBLOCKS_API_KEY"]
    with ReasonBlocks(key, base_url=server.url, step_timeout=30, allow_insecure_http=True) as rb:
        run(rb, "warming-up", script(1), "visitor")
        run(rb, "served", org_id="visitor")  # stored apart from the story; an admin looks up among the default's own
    served = step("served", 3, "--org", "visitor", **server.admin)
    local = step("fix-timeout", 3, "--data-dir", told)
    assert served["lookups"] == local["lookups"]
    assert served["candidates"] == local["candidates"]
    assert served["lookups"][1]["rejected"]


@pytest.fixture
def rejecting() -> Iterator[Standin]:
    """A server that tells of what it rejects, and finds nothing."""
    with Standin(capabilities=("near_misses",)) as server:
        server.evaluate = lambda steps, body: inject("Stop.", composite=0.7)
        server.patterns = {"e3": []}
        yield server


def replayed(standin: Standin, server: Server, run_id: str) -> dict[str, str]:
    """Send what a stand-in was told of a run to a real server, and say by which variables it is found there."""
    headers = {"authorization": f"Bearer {server.admin['REASONBLOCKS_API_KEY']}"}
    params = {"org_id": "replayed"}
    with httpx.Client(base_url=f"{server.url}/v1/monitor/", headers=headers, params=params) as client:
        client.post("runs", json={"run_id": run_id}).raise_for_status()
        for body in standin.runs[run_id].steps.values():
            client.post(f"runs/{run_id}/steps", json=body).raise_for_status()
    return server.admin


def test_a_server_that_knows_no_near_misses_is_asked_for_none(standin: Standin, server: Server) -> None:
    """Its answers are used as ever, and it is said that what it rejected is not known."""
    standin.evaluate = lambda steps, body: inject("Stop.", composite=0.7)
    standin.patterns = {"e1": [pattern("e1")], "e2": [], "e3": []}
    with ReasonBlocks(standin.key, base_url=standin.url, allow_insecure_http=True) as rb:
        run(rb, "foreign-server")
    assert standin.retrievals("e2")
    assert all("near_misses" not in body for body in standin.retrievals())
    assert (standin.unknown_fields, standin.violations) == (set(), [])
    found = step("foreign-server", 1, "--org", "replayed", **replayed(standin, server, "foreign-server"))
    assert [one["pattern_id"] for one in found["candidates"] if one["tier"] == "e1" and one["given"]]
    assert {(one["tier"], one["told"]) for one in found["lookups"]} == {("e1", False), ("e2", False), ("e3", False)}
    assert [one["rejected"] for one in found["lookups"]] == [[], [], []]
    shown = words("foreign-server", 1, "--org", "replayed", **server.admin)
    assert shown.count("what was rejected is not recorded: the server did not tell") == 2


def test_a_lookup_without_an_answer_is_not_taken_for_one_that_found_nothing(rejecting: Standin, server: Server) -> None:
    """The error is shown, and that there was no answer."""
    rejecting.fault("retrieve", Fault(garbage=True))
    with ReasonBlocks(rejecting.key, base_url=rejecting.url, allow_insecure_http=True) as rb:
        run(rb, "no-answer")
    found = step("no-answer", 1, "--org", "replayed", **replayed(rejecting, server, "no-answer"))
    assert (found["asked"], found["lookups"]) == (["E1Injection", "E2Injection", "E3Injection"], [])
    assert "E2Injection no answer" in words("no-answer", 1, "--org", "replayed", **server.admin)


def test_what_a_server_says_too_much_of_is_cut(rejecting: Standin) -> None:
    """However many and however long, a step holds three short ones for each lookup."""
    long = {"pattern_id": "p" * 9_000, "title": "t" * 9_000, "reason": "r" * 9_000, "failure_type": "f" * 9_000}
    missed = [{**long, "similarity": 0.5, "gate": 0.7}] * 40
    rejecting.near_misses = {"near_misses": missed, "not_compared": "n" * 9_000}
    with ReasonBlocks(rejecting.key, base_url=rejecting.url, allow_insecure_http=True) as rb:
        run(rb, "warming-up", script(1))
        run(rb, "talkative")
    made = rejecting.runs["talkative"].steps[1]["metadata"]["reasonblocks"]["lookups"]
    assert [one["tier"] for one in made] == ["e1", "e2", "e3"]
    assert all(len(one["near_misses"]) == NEAR_MISSES for one in made)
    assert len(json.dumps(made)) < 5_000


def test_what_a_server_gives_beyond_what_was_wanted_is_not_used_and_shown_as_such(
    rejecting: Standin, server: Server
) -> None:
    """E1 takes one; those that come with it are among the rejected, before what the server itself rejected."""
    given_ = [pattern("e1", pattern_id=f"e1-{number}") for number in range(3)]
    missed = [{"pattern_id": "far", "similarity": 0.3, "gate": 0.7, "reason": "too far away for us"}] * 2
    rejecting.near_misses = {"traces": given_, "near_misses": missed}
    with ReasonBlocks(rejecting.key, base_url=rejecting.url, allow_insecure_http=True) as rb:
        run(rb, "warming-up", script(1))
        run(rb, "generous")
    found = step("generous", 1, "--org", "replayed", **replayed(rejecting, server, "generous"))
    own = next(one for one in found["lookups"] if one["tier"] == "e1")
    assert [(one["pattern_id"], one["verdict"]) for one in own["rejected"]] == [
        ("e1-1", "enough others came before it"),
        ("e1-2", "enough others came before it"),
        ("far", "too far away for us"),
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=5,
)
NAMES = st.sampled_from("source tier pattern_id title similarity gate reason failure_type told near_misses".split())
ODD = st.dictionaries(NAMES | st.text(max_size=5), JSON, max_size=8)


@settings(max_examples=40)
@given(missed=JSON | st.lists(ODD, max_size=5), not_compared=JSON | st.text())
def test_whatever_a_server_adds_its_patterns_are_understood_and_the_account_is_small(
    missed: Any, not_compared: Any
) -> None:
    """An addition that is not ours, or broken, spoils nothing, and what is kept of it is bounded."""
    found = pattern("e2")
    answer = {"traces": [found], "near_misses": missed, "not_compared": not_compared}
    retrieved: Retrieved = decode_retrieval(json.dumps(answer).encode(), "e2")
    assert [trace.pattern_id for trace in retrieved.traces] == [found["pattern_id"]]
    kept = retrieved.near_misses[:NEAR_MISSES]
    made = Lookup("E2Injection", "e2", 5, None, kept, retrieved.told, retrieved.not_compared)
    assert len(json.dumps(account(made), ensure_ascii=False)) < 3_000


@settings(max_examples=40)
@given(candidates=JSON | st.lists(ODD, max_size=3), lookups=JSON | st.lists(ODD, max_size=3))
def test_whatever_a_client_or_a_redaction_stored_is_explained_as_far_as_it_goes(candidates: Any, lookups: Any) -> None:
    """What has not our shape is passed over; nothing raises, and nothing reaches the terminal unprinted."""
    facts: dict[str, Any] = dict.fromkeys(RunWithSteps.__struct_fields__, "")
    stored: dict[str, Any] = dict.fromkeys(StoredStepAnswer.__struct_fields__)
    stored |= {"step_index": 0, "thought": "", "is_error": False, "intervention_texts": [], "injection_sources": []}
    stored |= {"monitors_fired": [], "tokens": 0}
    stored["metadata"] = {"reasonblocks": {"asked": ["E2Injection"], "candidates": candidates, "lookups": lookups}}
    one = RunWithSteps(**{**facts, "metadata": {}, "step_count": 1, "steps": [StoredStepAnswer(**stored)]})
    shown = "\n".join(explanation_lines(explained(one), 80))
    assert "asked     E2Injection" in shown
    assert "\x1b]" not in shown


def test_of_an_older_run_it_is_said_that_nothing_is_recorded(data_dir: Path) -> None:
    """A run that was stored before lookups were: what was found is shown, what was rejected is not known."""
    with sqlite3.connect(next(data_dir.glob("*.db"))) as database:
        database.execute("UPDATE steps SET metadata = json_remove(metadata, '$.reasonblocks.lookups')")
    database.close()
    found = step("fix-timeout", 3, "--data-dir", data_dir)
    assert found["lookups"] is None
    assert [one["verdict"] for one in found["candidates"]] == ["given", "given"]
    shown = words("fix-timeout", 3, "--data-dir", data_dir)
    assert "E1Injection 0.9985 timeout-is-in-config given, the gate is 0.8" in shown
    assert "rejected not recorded" in shown


def test_a_redaction_decides_over_the_lookups_too(data_dir: Path) -> None:
    """It sees them as plain values, and what it takes away is not stored."""
    seen: list[Any] = []

    def redact(event: dict[str, Any]) -> dict[str, Any]:
        if event["type"] == "step":
            seen.append(event["metadata"]["reasonblocks"].pop("lookups", None))
        return event

    with ReasonBlocks(data_dir=data_dir, step_timeout=30, redact=redact) as rb:
        run(rb, "redacted")
    assert json.loads(json.dumps(seen)) == seen
    assert seen[3][1]["near_misses"]
    assert step("redacted", 3, "--data-dir", data_dir)["lookups"] is None


def test_a_backup_has_the_lookups(told: Path, tmp_path: Path) -> None:
    """What is explained before is explained alike from what was restored elsewhere."""
    assert command("backup", tmp_path / "all.rb", "--data-dir", told).exit_code == 0
    assert command("restore", tmp_path / "all.rb", "--data-dir", tmp_path / "restored").exit_code == 0
    restored = words("fix-timeout", 3, "--data-dir", tmp_path / "restored")
    assert restored == words("fix-timeout", 3, "--data-dir", told)
    assert "below the gate of 0.7" in restored
