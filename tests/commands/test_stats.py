"""`reasonblocks stats`: sums over all runs, and what came of guidance."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain.agents import create_agent

from commands.conftest import Server
from commands.story import AGAIN, QUESTION, printed, read
from reasonblocks import ReasonBlocks
from support.agents import ScriptedModel, call, lookup, say


def test_the_sums_are_those_of_the_runs(told: Path) -> None:
    """Runs, steps, tokens and outcomes agree with the listing; firing rates with the steps that fired."""
    summary, runs = read("stats", "--data-dir", told), read("runs", "--data-dir", told)
    assert (summary["runs"], summary["open_runs"]) == (5, 0)
    assert summary["steps"] == summary["scored_steps"] == sum(run["step_count"] for run in runs)
    assert summary["total_tokens"] == sum(run["total_tokens"] for run in runs)
    assert summary["outcomes"] == {"success": 4, "failure: RuntimeError": 1}
    assert summary["firing_rates"]["semantic_loop"] == pytest.approx(3 / summary["steps"], abs=1e-4)


def test_guidance_is_counted_by_source(told: Path) -> None:
    """A step with two sources counts for both; the standing rules alone make no run a guided one."""
    guidance = read("stats", "--data-dir", told)["guidance"]
    assert guidance["steps_by_source"] == {"E3Injection": 5, "E1Injection": 1, "MonitorSteeringInjection": 1}
    assert guidance["guided_outcomes"] == {"success": 1}
    assert guidance["unguided_outcomes"] == {"success": 3, "failure: RuntimeError": 1}


def test_whether_the_monitors_fell_silent_is_counted(data_dir: Path) -> None:
    """Once they went on, once the agent changed its course, and once the run was over too soon to know."""
    look = say(AGAIN, call("lookup", key="timeout"))
    other = [say(f"Now the record of part {part}.", call("lookup", key=f"part-{part}")) for part in range(3)]
    with ReasonBlocks(data_dir=data_dir, step_timeout=30, e_traces_enabled=False) as rb:
        for name, replies in {
            "turned": [look, look, look, *other, "Done."],
            "ended": [look, look, look, "Done."],
        }.items():
            agent = create_agent(ScriptedModel(replies), [lookup], middleware=[rb.middleware(run_id=name)])
            agent.invoke(QUESTION)
    guidance = read("stats", "--data-dir", data_dir)["guidance"]
    assert (guidance["fired_again"], guidance["fell_silent"], guidance["not_known"]) == (1, 1, 1)
    shown = printed("stats", "--data-dir", data_dir)
    assert "they fell silent for two steps in 1 of 2 cases (1 not known)" in " ".join(shown.split())


def test_a_server_sums_up_the_same(told: Path, server: Server) -> None:
    """By GET /monitor/health-summary; of one project only its runs."""
    assert read("stats", "--project", "web", **server.member) == read("stats", "--project", "web", "--data-dir", told)
    assert read("stats", "--project", "web", **server.member)["runs"] == 1


def test_nothing_to_sum_up_is_no_error(tmp_path: Path) -> None:
    """An empty directory has no runs, and that is all there is to say."""
    printed("patterns", "list", "--data-dir", tmp_path)
    assert printed("stats", "--data-dir", tmp_path).splitlines() == [
        str(tmp_path),
        "0 runs (0 open), 0 steps, 0 tokens",
    ]
