"""Runs are listed newest first and summed up, each caller's own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.runs.house import ACME, ADMIN, OPS, RIVAL, WEB, House, finish, house_at, start, step
from reasonblocks.engine.errors import Invalid
from reasonblocks.engine.principal import LOCAL, Principal
from reasonblocks.engine.runs import reading as reading_module
from support.cluster import Place

LOOP = {
    "thought": "Run it again.",
    "action": "run",
    "action_input": "make",
    "observation": "failed: 1 error",
    "is_error": True,
}


async def ids(house: House, principal: Principal, *about: int | str | None) -> list[str]:
    return [run.run_id for run in await house.runs.list(principal, *about)]  # type: ignore[arg-type]


async def test_runs_are_listed_newest_first(house: House) -> None:
    """A page at a time; those of one batch in the order of the batch."""
    await house.events(start("a"), start("b"))
    await house.start("c")
    await house.finish("success", "a")
    assert await ids(house, LOCAL) == ["c", "b", "a"]
    assert await ids(house, LOCAL, 2, 0) == ["c", "b"]
    assert await ids(house, LOCAL, 2, 2) == ["a"]
    assert await ids(house, LOCAL, 2, 4) == []


async def test_c25_everybody_lists_what_is_theirs(house: House) -> None:
    """The key's org and project stand above what the request says; an admin sees all, or what it asks for."""
    await house.start("w", WEB)
    await house.start("o", OPS)
    await house.start("r", RIVAL, project_id="web")
    assert await ids(house, ACME) == await ids(house, ACME, 50, 0, "rival", None) == ["o", "w"]
    assert await ids(house, ACME, 50, 0, None, "web") == ["w"]
    assert await ids(house, WEB, 50, 0, None, "ops") == ["w"]
    assert await ids(house, RIVAL, 50, 0, "acme") == ["r"]
    assert await ids(house, ADMIN) == ["r", "o", "w"]
    assert await ids(house, ADMIN, 50, 0, "acme") == ["o", "w"]
    assert await ids(house, ADMIN, 50, 0, None, "web") == ["r", "w"]


@pytest.mark.parametrize(
    ("limit", "offset", "field"), [(0, 0, "limit"), (1001, 0, "limit"), (1, -1, "offset"), (1, 2**64, "offset")]
)
async def test_page_that_cannot_be_is_refused(house: House, limit: int, offset: int, field: str) -> None:
    """The error names the field and what was expected."""
    with pytest.raises(Invalid, match=rf"{field} is -?\d+; expected") as refusal:
        await house.runs.list(LOCAL, limit, offset)
    assert refusal.value.location == (field,)


async def test_long_run_is_shown_without_holding_up_others(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of steps are made ready a portion at a time, and others get their turn in between."""
    ready: list[int] = []
    original = reading_module._shown_step

    def counted(row: Any) -> Any:
        ready.append(1)
        return original(row)

    monkeypatch.setattr(reading_module, "_shown_step", counted)
    await house.events(start(), *(step(index, thought="x") for index in range(450)))
    showing = asyncio.create_task(house.show())
    most = seen = 0
    while not showing.done():
        await asyncio.sleep(0)
        most, seen = max(most, len(ready) - seen), len(ready)
    assert [one.step_index for one in (await showing).steps] == list(range(450))
    assert most <= reading_module.AT_ONCE


async def test_summary_of_nothing(house: House) -> None:
    """No runs, no rates, no error."""
    summary = await house.runs.summary(LOCAL)
    assert (summary.runs, summary.steps, summary.outcomes, summary.total_tokens) == (0, 0, {}, 0)
    assert set(summary.firing_rates.values()) == {0.0}


async def test_summary_counts_what_is_visible(place: Place) -> None:
    """Runs, steps, outcomes, tokens and how often each monitor fired, of one's own org only."""
    async with house_at(place, scoring=True) as house:
        await house.events(
            start("a"),
            *(step(index, "a", tokens=10, **LOOP) for index in range(8)),
            finish("success", "a"),
            start("b"),
            step(0, "b", tokens=5, injections=["Notice"], injection_sources=["E1Injection"]),
            finish("failure: X", "b"),
            start("c"),
            principal=ACME,
        )
        await house.events(start("a"), step(0, "a"), finish("success", "a"), principal=RIVAL)
        await house.runs.scorer.drained()
        fired = sum("semantic_loop" in (one.fired or []) for one in (await house.show("a", ACME)).steps)
        assert fired > 0
        summary = await house.runs.summary(ACME, "rival")
        assert (summary.runs, summary.open_runs, summary.steps, summary.scored_steps, summary.injected_steps) == (
            3,
            1,
            9,
            9,
            1,
        )
        assert summary.outcomes == {"success": 1, "failure: X": 1, "running": 1}
        assert summary.total_tokens == 85
        assert summary.firing_rates["semantic_loop"] == round(fired / 9, 4)
        assert list(summary.firing_rates) == [
            "claim_contradiction",
            "semantic_loop",
            "verification_skip",
            "cyclic_compression",
            "late_sprawl",
            "silent_topic_drift",
        ]
        assert (await house.runs.summary(ADMIN)).runs == 4
        assert (await house.runs.summary(ADMIN, "rival")).runs == 1
        assert (await house.runs.summary(ACME, None, "elsewhere")).runs == 0
