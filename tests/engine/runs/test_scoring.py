"""Every stored step is scored: at once by its single route, soon after a batch, or after the next start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine.runs.house import ACME, WEB, House, finish, house_at, start, step
from reasonblocks.engine.monitors import trajectories as trajectories_module
from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.trajectories import Trajectories
from reasonblocks.engine.principal import LOCAL, Principal
from reasonblocks.engine.requests import EvaluateRequest, TraceStep
from reasonblocks.engine.runs import awaited as awaited_module
from reasonblocks.engine.runs import leftovers as leftovers_module
from reasonblocks.engine.runs import scorer as scorer_module
from reasonblocks.engine.runs import scoring as scoring_module
from reasonblocks.runtime.contain import incidents
from support.cluster import Place

LOOP = {
    "thought": "The test fails, so I will run the test again to see why it fails.",
    "action": "run",
    "action_input": '{"command": "make test"}',
    "observation": "1 failed: test_total expected 5, got 4",
    "is_error": True,
}
"""A step that, repeated, is a loop."""


@pytest.fixture
async def busy(place: Place) -> AsyncIterator[House]:
    """A house whose background works."""
    async with house_at(place, scoring=True) as house:
        yield house


def evaluation(steps: list[dict[str, Any]], **fields: Any) -> EvaluateRequest:
    """What our own client asks before it reports the same steps."""
    told = [
        TraceStep(one["thought"], one["action"], one["action_input"], one["observation"], one["is_error"])
        for one in steps
    ]
    return EvaluateRequest(told, **fields)


def words(index: int) -> dict[str, Any]:
    """A step unlike the others."""
    return {
        **LOOP,
        "thought": f"Look at part {index}.",
        "action_input": f"part {index}",
        "observation": f"it is {index}",
    }


async def scores_one_by_one(directory: Path, steps: list[dict[str, Any]]) -> list[Any]:
    """What the single route answers for a run of these steps."""
    async with house_at(directory) as house:
        await house.start()
        return [await house.step(index, **one) for index, one in enumerate(steps)]


# -- at once -----------------------------------------------------------------------------------------------


async def test_single_step_is_scored_before_it_is_answered(house: House) -> None:
    """A loop shows in the answers, and the run keeps scores and evidence."""
    await house.start()
    answers = [await house.step(index, **LOOP) for index in range(5)]
    assert answers[0].fired == []
    assert "semantic_loop" in answers[-1].fired
    assert answers[-1].total_score >= 0.25 * 0.6
    shown = (await house.show()).steps[-1]
    assert (shown.scores, shown.total_score, shown.fired) == (
        answers[-1].scores,
        answers[-1].total_score,
        answers[-1].fired,
    )
    assert shown.evidence is not None
    assert {one.monitor for one in shown.evidence} >= {"semantic_loop"}


async def test_c15_scores_are_weighed_by_the_profile_of_the_run(house: House) -> None:
    """The same steps count as the run's task profile says."""
    totals = {}
    for profile in ("coding", "qa"):
        await house.start(profile, task_profile=profile)
        for index in range(5):
            scores = await house.step(index, profile, **LOOP)
        totals[profile] = scores
    assert totals["coding"].scores == totals["qa"].scores
    assert totals["coding"].total_score > totals["qa"].total_score


async def test_repeated_step_is_answered_with_the_scores_it_has(house: House) -> None:
    """Also when it comes with other words than the first time, and out of order."""
    await house.start()
    answers = [await house.step(index, **LOOP) for index in range(5)]
    assert await house.step(4, thought="other words") == answers[4]
    assert await house.step(1, **LOOP) == answers[1]


async def test_step_that_came_in_a_batch_is_scored_when_it_is_asked_for(house: House, tmp_path: Path) -> None:
    """Its stored words are scored, not those that are sent now."""
    await house.events(start(), *(step(index, **LOOP) for index in range(5)))
    expected = await scores_one_by_one(tmp_path / "other", [LOOP] * 5)
    assert await house.step(4, thought="other words") == expected[4]


async def test_scores_that_cannot_be_had_do_not_lose_the_step(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is stored and acknowledged, without scores, and the error is on record."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("monitors are broken")

    monkeypatch.setattr(incidents, "counts", {})
    monkeypatch.setattr(Trajectories, "observe_step", broken)
    await house.start()
    answer = await house.step(0, **LOOP)
    assert (answer.scores, answer.fired) == ({}, [])
    shown = (await house.show()).steps[0]
    assert (shown.thought, shown.scores) == (LOOP["thought"], None)
    assert incidents.counts == {"scoring a step: ZeroDivisionError": 1}


# -- in the background -------------------------------------------------------------------------------------


async def test_steps_of_a_batch_are_scored_soon_after(busy: House, tmp_path: Path) -> None:
    """With the very scores that they get one by one."""
    steps = [*map(words, range(3)), *[LOOP] * 6, words(9)]
    await busy.events(start(), *(step(index, **one) for index, one in enumerate(steps)))
    await busy.runs.scorer.drained()
    expected = await scores_one_by_one(tmp_path / "other", steps)
    shown = (await busy.show()).steps
    assert [(one.scores, one.total_score, one.fired) for one in shown] == [
        (one.scores, one.total_score, one.fired) for one in expected
    ]


async def test_steps_in_any_order_over_many_batches(busy: House, tmp_path: Path) -> None:
    """Steps that come late or twice get scores, too; the last one those of the whole run."""
    order = [3, 0, 1, 1, 4, 2, 5]
    await busy.events(start())
    for index in order:
        await busy.events(step(index, **LOOP))
        await busy.runs.scorer.drained()
    shown = (await busy.show()).steps
    expected = await scores_one_by_one(tmp_path / "other", [LOOP] * 6)
    assert all(one.scores for one in shown)
    assert shown[-1].scores == expected[-1].scores


async def test_run_with_missing_steps_is_scored_as_what_is_there(busy: House, tmp_path: Path) -> None:
    """Lost steps leave a gap and nothing else; evidence names steps by their index."""
    indices = [0, 1, 5, 6, 7, 20]
    await busy.events(start(), *(step(index, **LOOP) for index in indices[:3]))
    await busy.runs.scorer.drained()
    for index in indices[3:]:
        await busy.events(step(index, **LOOP))
        await busy.runs.scorer.drained()
    shown = (await busy.show()).steps
    expected = await scores_one_by_one(tmp_path / "other", [LOOP] * 6)
    assert [one.scores for one in shown] == [one.scores for one in expected]
    named = {index for one in shown for evidence in one.evidence or [] for index in evidence.steps}
    assert named <= set(indices)
    assert max(named) == 20


async def test_step_that_comes_late_is_read_where_it_belongs(house: House, tmp_path: Path) -> None:
    """After it the run goes on from all that is stored, not from the late step."""
    await house.start()
    for index in (0, 5, 7, 3):
        await house.step(index, **LOOP)
        free_to_read_again(house)
    last = await house.step(8, **LOOP)
    assert last == (await scores_one_by_one(tmp_path / "other", [LOOP] * 5))[-1]


def free_to_read_again(house: House) -> None:
    """As if some time had passed."""
    house.runs.scorer._reader._due.clear()


async def test_long_run_is_read_again_in_pages(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run of any length only a few steps are in memory at once, and the scores are the same."""
    sizes: list[int] = []
    advance = trajectories_module._advance

    async def recorded(trajectory: Any, portion: Any, *rest: Any) -> Any:
        sizes.append(len(portion))
        return await advance(trajectory, portion, *rest)

    steps = [*map(words, range(3)), *[LOOP] * 6, words(9), LOOP]
    expected = await scores_one_by_one(tmp_path / "other", steps)
    monkeypatch.setattr(scoring_module, "PAGE", 4)
    monkeypatch.setattr(trajectories_module, "_advance", recorded)
    await house.events(start(), *(step(index, **one) for index, one in enumerate(steps[:-1])))
    assert await house.step(10, **steps[10]) == expected[10]
    assert sizes == [4, 4, 3]
    assert [one.scores for one in (await house.show()).steps] == [one.scores for one in expected]


async def test_run_is_not_read_again_for_every_step_out_of_order(busy: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that come soon after the last time wait for the next, and steps in order do not wait with them."""
    begun: list[str] = []
    rebuild = Trajectories.rebuild

    def counted(self: Trajectories, org_id: str, run_id: str, *about: Any) -> Any:
        begun.append(run_id)
        return rebuild(self, org_id, run_id, *about)

    monkeypatch.setattr(Trajectories, "rebuild", counted)
    monkeypatch.setattr(scoring_module, "PAUSE_PER_STEP", 1_000.0)
    await busy.start()
    assert (await busy.step(20, **LOOP)).scores
    for index in range(10):
        assert (await busy.step(index, **LOOP)).scores == {}
        await busy.events(step(index + 10, **LOOP))
    assert (await busy.step(21, **LOOP)).scores
    assert begun == ["r"]
    assert (await busy.show()).step_count == 22

    await busy.runs.aclose()  # nothing is put off any more

    assert begun == ["r", "r"]
    assert all(one.scores for one in (await busy.show()).steps)


async def test_run_that_was_put_off_is_taken_up_by_itself(busy: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """When its time has come, nobody has to ask."""
    monkeypatch.setattr(scoring_module, "PAUSE_PER_STEP", 0.1)
    await busy.start()
    await busy.step(3, **LOOP)
    assert (await busy.step(1, **LOOP)).scores == {}
    await busy.runs.scorer.drained()
    assert all(one.scores for one in (await busy.show()).steps)


@pytest.mark.parametrize("principal", [ACME, WEB], ids=["org", "project"])
async def test_evaluation_with_any_key_is_used_again(
    busy: House, monkeypatch: pytest.MonkeyPatch, principal: Principal
) -> None:
    """Whether the key is one of the org or of the project, its evaluation counts for the run and goes with it."""
    monkeypatch.setattr(Trajectories, "observe_step", lambda *_: pytest.fail("this step was read already"))
    await busy.events(start(project_id="web"), principal=principal)
    answer = await busy.evaluator.evaluate(principal, evaluation([LOOP] * 4, run_id="r", offset=0))
    await busy.events(*(step(index, **LOOP) for index in range(4)), finish("success"), principal=principal)
    await busy.runs.scorer.drained()
    assert (await busy.show(principal=principal)).steps[3].scores == answer.scores
    assert len(busy.evaluator.trajectories) == 0


async def test_evaluation_of_the_same_steps_is_used_again(busy: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own client asks the monitors first and reports the step then: nothing is computed twice."""

    def not_again(*_: object) -> None:
        raise AssertionError("this step was read already")

    await busy.events(start())
    monkeypatch.setattr(Trajectories, "observe_step", not_again)
    monkeypatch.setattr(Trajectories, "rebuild", not_again)
    for index in range(6):
        answer = await busy.evaluator.evaluate(LOCAL, evaluation([LOOP], run_id="r", offset=index))
        await busy.events(step(index, **LOOP))
        await busy.runs.scorer.drained()
        shown = (await busy.show()).steps[-1]
        assert (shown.scores, shown.total_score, shown.fired) == (answer.scores, answer.composite, answer.fired)
    await busy.events(step(6, **LOOP), finish("success"))  # nobody evaluates after the last step
    await busy.runs.scorer.drained()
    assert (await busy.show()).steps[6].scores is not None


def held_back(monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[str]:
    """The runs that steps are held back of, from now on."""
    runs: asyncio.Queue[str] = asyncio.Queue()
    hold = awaited_module.Awaited.hold

    def noted(self: awaited_module.Awaited, run: scoring_module.RunRef, steps: dict[int, ObservedStep]) -> bool:
        runs.put_nowait(run.run_id)
        return hold(self, run, steps)

    monkeypatch.setattr(awaited_module.Awaited, "hold", noted)
    return runs


async def test_step_that_comes_before_its_evaluation_waits_for_it(busy: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many agents that step at once report all of it before the first is evaluated: still nothing is read twice."""

    def not_again(*_: object) -> None:
        raise AssertionError("this step is about to be evaluated")

    runs = [f"r{number}" for number in range(5)]
    await busy.events(*map(start, runs))
    for run_id in runs:
        await busy.evaluator.evaluate(LOCAL, evaluation([LOOP], run_id=run_id, offset=0))
    held = held_back(monkeypatch)
    for method in ("_next", "read_again"):
        monkeypatch.setattr(scoring_module.StepReader, method, lambda *_: None)
    monkeypatch.setattr(scorer_module.Scorer, "_without_scores", not_again)
    await busy.events(*(step(index, run_id, **LOOP) for run_id in runs for index in range(2)))
    assert {await held.get() for _ in runs} == set(runs)
    answers = {
        run_id: await busy.evaluator.evaluate(LOCAL, evaluation([LOOP], run_id=run_id, offset=1)) for run_id in runs
    }
    await busy.runs.scorer.drained()
    for run_id in runs:
        assert (await busy.show(run_id)).steps[1].scores == answers[run_id].scores


@pytest.mark.parametrize("ends", ["patience", "close"])
async def test_step_whose_evaluation_does_not_come_is_scored_all_the_same(
    busy: House, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    """After a while, or when the engine closes, it is read from the tables."""
    held = held_back(monkeypatch)
    monkeypatch.setattr(awaited_module, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(awaited_module, "PATIENCE_SECONDS", 0.05 if ends == "patience" else 600.0)
    await busy.events(start())
    await busy.evaluator.evaluate(LOCAL, evaluation([LOOP], run_id="r", offset=0))
    await busy.events(step(0, **LOOP), step(1, **LOOP))
    if ends == "close":
        await held.get()
        await busy.runs.scorer.aclose()
    else:
        await busy.runs.scorer.drained()
    assert all(one.scores is not None for one in (await busy.show()).steps)


async def test_nothing_is_held_of_runs_that_are_over(busy: House) -> None:
    """The monitors' memory of a run goes with its end."""
    trajectories = busy.evaluator.trajectories
    await busy.events(start(), step(0, **LOOP), step(1, **LOOP))
    await busy.runs.scorer.drained()
    assert len(trajectories) == 1
    await busy.events(step(2, **LOOP), finish("success"))
    await busy.runs.scorer.drained()
    assert len(trajectories) == 0
    assert (await busy.show()).steps[2].scores is not None


async def test_more_steps_than_memory_is_meant_for(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit in the queue is read from the tables when its turn comes."""
    async with house_at(place) as house:
        monkeypatch.setattr(house.runs.scorer, "_most_waiting", 10)
        for run in range(6):
            await house.events(start(f"run{run}"), *(step(index, f"run{run}", **words(index)) for index in range(8)))
        assert house.runs.scorer._count <= 10
        house.runs.open()
        await house.runs.scorer.drained()
        assert await house.store.query("SELECT count(*) FROM evaluations") == [(48,)]


async def test_longer_steps_than_memory_is_meant_for(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only their number is bounded; and what was taken from the queue no longer counts."""
    monkeypatch.setattr(scorer_module, "MOST_CHARACTERS", 1_000)
    for run in range(4):
        await house.events(start(f"run{run}"), step(0, f"run{run}", thought="a" * 400))
    assert (house.runs.scorer._count, house.runs.scorer._characters) == (2, 800)
    house.runs.open()
    await house.runs.scorer.drained()
    assert (house.runs.scorer._count, house.runs.scorer._characters) == (0, 0)
    assert await house.store.query("SELECT count(*) FROM evaluations") == [(4,)]


async def test_steps_that_were_not_scored_before_the_end_are_after_the_next_start(place: Place, tmp_path: Path) -> None:
    """A process that dies between storing and scoring loses no scores."""
    async with house_at(place) as house:
        await house.events(start(), *(step(index, **LOOP) for index in range(3)))
        for index in (3, 4):
            await house.step(index, **LOOP)  # the first of them has all before it scored
        await house.events(*(step(index, **LOOP) for index in (5, 6)))
        assert await house.store.query("SELECT count(*) FROM evaluations") == [(5,)]
    async with house_at(place, scoring=True) as house:
        await house.runs.scorer.drained()
        expected = await scores_one_by_one(tmp_path / "other", [LOOP] * 7)
        assert [one.scores for one in (await house.show()).steps] == [one.scores for one in expected]


async def test_however_many_steps_were_left_all_are_scored(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs are looked through a few at a time, to the oldest; what is new is not kept waiting for that."""
    monkeypatch.setattr(leftovers_module, "LOOKED_THROUGH", 3)
    names = [f"run{number}" for number in range(11)]
    async with house_at(place) as house:
        for name in names:
            await house.events(start(name), step(0, name, **LOOP))
        await house.step(0, "run5", **LOOP)
        assert await house.store.query("SELECT count(*) FROM evaluations") == [(1,)]
    async with house_at(place, scoring=True) as house:
        await house.events(start("new"), step(0, "new", **LOOP))
        await house.runs.scorer.drained()
        assert await house.store.query("SELECT count(*) FROM evaluations") == [(12,)]


async def test_a_run_that_cannot_be_scored_does_not_keep_older_ones_from_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given up until the next start, and the rest is looked for."""
    original = Trajectories.observe_step

    def moody(self: Trajectories, org_id: str, run_id: str, *rest: Any) -> Any:
        if run_id == "cursed":
            raise ZeroDivisionError
        return original(self, org_id, run_id, *rest)

    monkeypatch.setattr(incidents, "counts", {})
    monkeypatch.setattr(leftovers_module, "LOOKED_THROUGH", 1)
    monkeypatch.setattr(scorer_module, "RETRY_SECONDS", 0.0)
    async with house_at(place) as house:
        for name in ("old", "cursed"):
            await house.events(start(name), step(0, name, **LOOP))
    monkeypatch.setattr(Trajectories, "observe_step", moody)
    async with house_at(place, scoring=True) as house:
        await house.runs.scorer.drained()
        assert await house.store.query("SELECT run_id FROM evaluations JOIN runs ON run = id") == [("old",)]
    assert incidents.counts == {"scoring: ZeroDivisionError": scorer_module.MOST_ATTEMPTS}


async def test_close_finishes_what_was_acknowledged(place: Place) -> None:
    """Steps that wait for their scores at the end still get them."""
    async with house_at(place, scoring=True) as house:
        await house.events(start(), *(step(index, **words(index)) for index in range(300)))
    async with house_at(place) as house:
        assert await house.store.query("SELECT count(*) FROM evaluations") == [(300,)]


async def test_background_survives_what_fails(busy: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that cannot be scored is given up after a few attempts; the others are scored."""
    original = Trajectories.observe_step

    def moody(self: Trajectories, org_id: str, run_id: str, *rest: Any) -> Any:
        if run_id == "cursed":
            raise ZeroDivisionError
        return original(self, org_id, run_id, *rest)

    monkeypatch.setattr(incidents, "counts", {})
    monkeypatch.setattr(scorer_module, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(Trajectories, "observe_step", moody)
    await busy.events(start("cursed"), step(0, "cursed"), start("fine"), step(0, "fine"))
    await busy.runs.scorer.drained()
    assert (await busy.show("cursed")).steps[0].scores is None
    assert (await busy.show("fine")).steps[0].scores is not None
    assert incidents.counts == {"scoring: ZeroDivisionError": 1 + scorer_module.MOST_ATTEMPTS}


async def test_run_deleted_before_it_was_scored(busy: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its scores go nowhere, and those of its neighbours are kept."""
    await busy.runs.scorer.aclose()
    await busy.events(start("old"), step(0, "old"), start("new"), step(0, "new"))
    await busy.store.execute("DELETE FROM runs WHERE run_id = 'old'")
    busy.runs.open()
    await busy.runs.scorer.drained()
    assert await busy.store.query("SELECT run_id FROM evaluations JOIN runs ON run = id") == [("new",)]


async def test_scoring_leaves_the_event_loop_to_others(busy: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """When its slice of time is used up, others on the loop get their turn before the next few steps."""
    read: list[int] = []
    original = Trajectories.observe_step

    def counted(self: Trajectories, *about: Any) -> Any:
        read.append(1)
        return original(self, *about)

    monkeypatch.setattr(Trajectories, "observe_step", counted)
    monkeypatch.setattr(scorer_module, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(scorer_module, "QUIET_SECONDS", 0.0)
    await busy.events(start(), *(step(index, **words(index)) for index in range(200)))
    most = seen = 0
    while len(read) < 200:
        await asyncio.sleep(0)
        most, seen = max(most, len(read) - seen), len(read)
    assert most <= 4


async def test_scoring_rests_while_events_are_stored(busy: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reports waits for an answer; the background takes long pauses as long as somebody does."""
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def recorded(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr(scorer_module, "SLICE_SECONDS", 0.0)
    with busy.runs.scorer.giving_way():
        monkeypatch.setattr(scorer_module.asyncio, "sleep", recorded)
        await busy.events(start(), *(step(index, **words(index)) for index in range(8)))
        await busy.runs.scorer.drained()
    assert pauses.count(scorer_module.QUIET_SECONDS) == 2 * scorer_module.MOST_PAUSES


async def test_watchers_are_told_of_scored_steps(busy: House) -> None:
    """By the single route as after a batch, with what the stream of the wire has."""
    async with busy.live.subscribe(ACME) as watcher:
        await busy.events(start(project_id="web"), step(0, **LOOP), principal=ACME)
        await busy.step(1, principal=ACME, **LOOP)
        await busy.runs.scorer.drained()
        told = sorted([await anext(watcher), await anext(watcher)], key=lambda one: one["step_index"])
    stored = (await busy.show(principal=ACME)).steps
    assert told == [
        {
            "run_id": "r",
            "step_index": index,
            "org_id": "acme",
            "project_id": "web",
            "total_score": stored[index].total_score,
            "fired": stored[index].fired,
        }
        for index in (0, 1)
    ]
