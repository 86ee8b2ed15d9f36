"""`reasonblocks explain`: what is stored is shown, what follows from it calculated again, and nothing is guessed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent

from commands.conftest import Server
from commands.story import AGAIN, QUESTION, command, complaint, printed, read
from reasonblocks import ReasonBlocks
from reasonblocks.commands.explaining.explain import explained
from reasonblocks.commands.explaining.lines import explanation_lines
from reasonblocks.engine.answers import RunWithSteps, StoredStepAnswer
from support.agents import ScriptedModel, call, lookup, say, script


def step(told: Path, run: str, number: int, *more: object) -> Any:
    """The explanation of one step, as scripts get it."""
    (found,) = read("explain", run, number, *more, "--data-dir", told)["steps"]
    return found


def test_the_score_is_taken_apart_into_the_words_of_the_thought(told: Path) -> None:
    """Features, raw sum and squashed score belong together, and are those of the thought before."""
    score = step(told, "fix-timeout", 3)["score"]
    reasons = score["reasons"]
    assert (score["of_step"], score["agrees"]) == (2, True)
    assert (reasons["hedges"], reasons["errors"], reasons["entities"]) == (
        ["maybe"],
        ["timeout", "wrong"],
        ["src/app/config.py"],
    )
    assert reasons["words"] == len(AGAIN.split())
    assert reasons["difficulty"] == score["stored"] == pytest.approx(ReasonBlocks.score_step(AGAIN))
    weights = {"hedging": 0.30, "length": 0.25, "errors": 0.25, "entities": 0.20}
    assert reasons["raw"] == pytest.approx(sum(weight * reasons["features"][name] for name, weight in weights.items()))


def test_the_first_call_has_nothing_to_explain_but_its_rules(told: Path) -> None:
    """No thought, no monitors, no edge; the standing rules are what was injected."""
    first = step(told, "fix-timeout", 0)
    assert (first["score"], first["monitors"], first["state"]["edge"]) == (None, None, None)
    assert first["asked"] == ["E3Injection"]
    assert {candidate["verdict"] for candidate in first["candidates"]} == {"given"}
    assert first["injected"]["sources"] == ["E3Injection"]


def test_monitors_come_with_their_evidence(told: Path) -> None:
    """The one that fired says why, with the steps and the words it saw; it is the evaluation that was acted on."""
    monitors = step(told, "fix-timeout", 3)["monitors"]
    fired, *others = monitors["findings"]
    assert (fired["monitor"], fired["fired"], fired["steps"]) == ("semantic_loop", True, [0, 1, 2])
    assert fired["quotes"] == ["lookup timeout", "record timeout: value=42"]
    assert (monitors["agrees"], monitors["injection_path"], monitors["intervention_source"]) == (
        True,
        "strong",
        "template",
    )
    assert not any(one["fired"] for one in others)


def test_the_gate_says_what_it_was_about(told: Path) -> None:
    """Closed for want of a signal, open when something fired, and who was asked then."""
    closed, opened, spent = (step(told, "fix-timeout", number)["gate"] for number in (1, 3, 4))
    assert (closed["allowed"], closed["asked"], closed["reason"]) == (False, False, "no monitor signal")
    assert "the gate opens above 0.15" in closed["because"]
    assert (opened["allowed"], opened["asked"], opened["because"]) == (
        True,
        True,
        "semantic_loop fired before this call",
    )
    assert (spent["allowed"], spent["asked"]) == (True, False)
    assert spent["not_asked_because"] == "it was given at step 3, and is once in a run"


def test_the_injected_block_is_the_one_the_model_read(data_dir: Path) -> None:
    """To the byte: what the model got as its last system block is what is shown, with its length and digest."""
    model = ScriptedModel([say(AGAIN, call("lookup", key="timeout"))] * 4 + ["It is 42."])
    with ReasonBlocks(data_dir=data_dir, step_timeout=30) as rb:
        create_agent(model, [lookup], middleware=[rb.middleware(run_id="mine")]).invoke(QUESTION)
    blocks = [
        one["injected"] and one["injected"]["block"] for one in read("explain", "mine", "--data-dir", data_dir)["steps"]
    ]
    assert blocks == model.blocks
    assert blocks[3] is not None
    injected = step(data_dir, "mine", 3)["injected"]
    encoded = blocks[3].encode()
    assert (injected["bytes"], injected["sha256"]) == (len(encoded), hashlib.sha256(encoded).hexdigest())
    shown = printed("explain", "mine", 3, "--data-dir", data_dir)
    assert [line for line in blocks[3].splitlines() if f"| {line}".rstrip() not in shown] == []


def test_a_run_that_only_observes_is_said_to(data_dir: Path) -> None:
    """What would have been injected is shown as such."""
    with ReasonBlocks(data_dir=data_dir, step_timeout=30, steer=False) as rb:
        agent = create_agent(ScriptedModel(script(1)), [lookup], middleware=[rb.middleware(run_id="mine")])
        agent.invoke(QUESTION)
    assert step(data_dir, "mine", 0)["injected"]["applied"] is False
    assert "only would have been" in " ".join(printed("explain", "mine", 0, "--data-dir", data_dir).split())


def test_redacted_text_and_other_thresholds_are_noticed(data_dir: Path) -> None:
    """The stored text no longer gives the stored score, and the default thresholds not the stored state."""

    def redact(event: dict[str, Any]) -> dict[str, Any]:
        return {**event, "thought": "-"} if event["type"] == "step" else event

    thresholds = {"slow_threshold": 0.25, "slow_window": 1}
    with ReasonBlocks(data_dir=data_dir, step_timeout=30, redact=redact, fsm_thresholds=thresholds) as rb:
        agent = create_agent(ScriptedModel(script(3)), [lookup], middleware=[rb.middleware(run_id="mine")])
        agent.invoke(QUESTION)
    second = step(data_dir, "mine", 2)
    assert (second["score"]["agrees"], second["state"]["agrees"]) == (False, False)
    assert (second["state"]["before"], second["state"]["after"]) == ("NORMAL", "SLOW")
    shown = " ".join(printed("explain", "mine", 2, "--data-dir", data_dir).split())
    assert "the text was redacted or cut on its way" in shown
    assert "the run had others, which are not stored" in shown


def test_what_another_client_reported_is_explained_as_far_as_it_goes(server: Server) -> None:
    """No decisions are stored, so none are shown; what follows from the texts is."""
    import httpx

    headers = {"authorization": f"Bearer {server.admin['REASONBLOCKS_API_KEY']}"}
    elsewhere = {"org_id": "elsewhere"}
    with httpx.Client(base_url=f"{server.url}/v1/monitor/", headers=headers, params=elsewhere) as client:
        client.post("runs", json={"run_id": "foreign"}).raise_for_status()
        for number in range(2):
            client.post("runs/foreign/steps", json={"step_index": number, "thought": AGAIN}).raise_for_status()
    (second,) = read("explain", "foreign", 1, "--org", "elsewhere", **server.admin)["steps"]
    assert second["ours"] is False
    assert (second["score"]["stored"], second["score"]["reasons"]["hedges"]) == (None, ["maybe"])
    assert (second["state"]["after"], second["gate"]["reason"], second["asked"]) == (None, None, None)
    assert second["monitors"]["findings"]
    shown = printed("explain", "foreign", 1, **server.admin)
    assert "reported by another client" in shown
    assert shown.count("not stored") == 4  # the score, the state, the gate, who was asked


def test_lookup_shows_what_passes_and_what_is_rejected(told: Path) -> None:
    """With similarities and the reason; the pattern that was given passes again."""
    now = step(told, "fix-timeout", 3, "--lookup")["now"]
    (own,) = [one for one in now if one["tier"] == "e1"]
    assert (own["pattern_id"], own["verdict"]) == ("timeout-is-in-config", "passes")
    (stored,) = [one for one in step(told, "fix-timeout", 3)["candidates"] if one["tier"] == "e1"]
    assert own["similarity"] == stored["similarity"] >= 0.8
    rejected = [one for one in now if one["tier"] == "e2"]
    assert len(rejected) == 5
    assert all("below the gate of 0.7" in one["verdict"] or "not loop" in one["verdict"] for one in rejected)
    assert [one["similarity"] for one in rejected] == sorted((one["similarity"] for one in rejected), reverse=True)
    assert "compared again, with the patterns of now" in printed(
        "explain", "fix-timeout", 3, "--lookup", "--data-dir", told
    )


def test_a_whole_run_is_explained_step_by_step(told: Path, server: Server) -> None:
    """One part for each step, alike from a directory and a server; nothing but the block is wider than the terminal."""
    shown = printed("explain", "fix-timeout", "--data-dir", told)
    assert [line for line in shown.splitlines() if line.startswith("step ")] == [
        f"step {number}" for number in range(6)
    ]
    assert [line for line in shown.splitlines() if len(line) > 80 and "            | " not in line] == []
    assert shown == printed("explain", "fix-timeout", **server.member)


def test_what_cannot_be_explained_is_told(told: Path, server: Server) -> None:
    """An unknown run, a step it does not have, a lookup where there are no vectors, a number that is none."""
    assert "steps 0 to 5" in complaint("explain", "fix-timeout", 6, "--data-dir", told)
    assert "no run 'nobody'" in complaint("explain", "nobody", "--data-dir", told)
    assert "data directory" in complaint("explain", "fix-timeout", "--lookup", code=2, **server.member)
    assert command("explain", "fix-timeout", "x", "--data-dir", told).exit_code == 2


def test_control_characters_of_an_agent_do_nothing_to_the_terminal() -> None:
    """What a tool gave back may hold escape sequences; they are shown as dots."""
    evil = "\x1b[2J\x1b]0;owned\x07"
    facts: dict[str, Any] = dict.fromkeys(RunWithSteps.__struct_fields__, evil)
    stored: dict[str, Any] = dict.fromkeys(StoredStepAnswer.__struct_fields__)
    stored |= {"step_index": 0, "thought": evil, "action": evil, "observation": evil, "metadata": {}, "is_error": False}
    stored |= {"intervention_texts": [evil], "injection_sources": ["E3Injection"], "monitors_fired": [], "tokens": 0}
    second = {
        **stored,
        "step_index": 1,
        "metadata": {"reasonblocks": {"gate": evil, "errors": [evil], "asked": [evil]}},
    }
    run = RunWithSteps(
        **{**facts, "metadata": {}, "step_count": 2, "steps": [StoredStepAnswer(**one) for one in (stored, second)]}
    )
    shown = "\n".join(explanation_lines(explained(run), 80))
    assert "\x1b[2J" not in shown
    assert "\x07" not in shown
    assert json.dumps(evil) not in shown
