"""Whatever is reported in whatever order, alone or in batches: the tables say what a simple model says."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.runs.house import House, finish, house_at, start, step
from reasonblocks.engine.errors import EngineError
from reasonblocks.engine.principal import Principal
from reasonblocks.engine.runs.upkeep import Upkeep
from support.cluster import Place

T = TypeVar("T")
NUMBERS = itertools.count(1)
ORGS = ("a", "b", "default")


@dataclass
class ModelRun:
    """A run, as one would explain it."""

    project: str
    task: str = ""
    outcome: str | None = None
    interrupted: bool = False
    steps: dict[int, tuple[str, int]] = field(default_factory=dict)

    def alive(self) -> None:
        self.interrupted = False
        if self.outcome == "abandoned":
            self.outcome = None


class Model:
    """All runs, by org and id."""

    def __init__(self) -> None:
        self.runs: dict[tuple[str, str], ModelRun] = {}

    def visible(self, principal: Principal, run_id: str) -> list[ModelRun]:
        """Those of an id that somebody can see, that of the default org first."""
        found = [
            (org != "default", run)
            for (org, known), run in self.runs.items()
            if known == run_id
            and (principal.org_id is None or org == principal.org_id)
            and principal.project_id in (None, run.project)
        ]
        return [run for _, run in sorted(found, key=lambda one: one[0])]

    def meant(self, principal: Principal, run_id: str) -> ModelRun | None:
        """The run that is meant, if there is one that can be."""
        found = self.visible(principal, run_id)
        if len(found) > 1 and ("default", run_id) not in self.runs:
            return None
        return found[0] if found else None

    def apply(self, principal: Principal, event: dict[str, Any]) -> bool:
        """Whether an event is accepted."""
        if event["type"] == "run_start":
            return self.start(principal, event)
        run = self.meant(principal, event["run_id"])
        if run is None:
            return False
        if event["type"] == "step":
            run.alive()
            run.steps.setdefault(event["step_index"], (event["thought"], event["tokens"]))
        elif event["type"] == "run_interrupt":
            run.alive()
            run.interrupted = True
        elif event["outcome"] != "abandoned" or run.outcome is None:
            run.alive()
            run.outcome = event["outcome"]
        return True

    def start(self, principal: Principal, event: dict[str, Any]) -> bool:
        key = (principal.org(event["org_id"]), event["run_id"])
        run = self.runs.get(key)
        if run is None:
            run = self.runs[key] = ModelRun(principal.project(event["project_id"]))
        elif principal.project_id not in (None, run.project):
            return False
        run.alive()
        run.task = run.task or event["task"]
        return True


class Background:
    """One house for all examples, on an event loop that lives as long; each example has ids of its own."""

    def __init__(self, place: Place) -> None:
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self.keeps_zeros = not isinstance(place, str)
        """PostgreSQL has another character in the place of U+0000."""
        self.house: House = self.run(self._stack.enter_async_context(house_at(place)))
        self.upkeep = Upkeep(self.house.store.database, self.house.store.transactions, stale_after=60.0)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def close(self) -> None:
        self.run(self._stack.aclose())
        self._runner.close()


run_names = st.sampled_from(["x", "y"])
callers = st.sampled_from(["a", "a", "b", "a/web", "admin"])
orgs = st.sampled_from([None, *ORGS])


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    """Any event about one of two runs."""
    run_id = draw(run_names)
    kind = draw(st.sampled_from(["start", "start", "step", "step", "step", "finish", "interrupt"]))
    if kind == "start":
        return start(
            run_id,
            task=draw(st.sampled_from(["", "mend", "break"])),
            org_id=draw(orgs),
            project_id=draw(st.sampled_from([None, "web"])),
        )
    if kind == "step":
        thought, tokens = draw(st.text(max_size=3)), draw(st.integers(0, 9))
        return step(draw(st.integers(0, 4)), run_id, thought=thought, tokens=tokens)
    if kind == "interrupt":
        return {"type": "run_interrupt", "run_id": run_id}
    return finish(draw(st.sampled_from(["success", "failure: X", "abandoned"])), run_id)


class Reporting(RuleBasedStateMachine):
    """Callers of two orgs, one of them limited to a project, and an admin report about the same run ids."""

    background: Background

    @initialize()
    def begin(self) -> None:
        self.mark = f"{next(NUMBERS)}-"
        self.model = Model()

    def caller(self, name: str) -> Principal:
        if name == "admin":
            return Principal("admin")
        org, _, project = name.partition("/")
        return Principal(name, self.mark + org, project or None)

    def own(self, event: dict[str, Any]) -> dict[str, Any]:
        """The event with ids that no other example has; the default org is shared, but its run ids are not."""
        own = {**event, "run_id": self.mark + event["run_id"]}
        if event.get("org_id") in ("a", "b"):
            own["org_id"] = self.mark + event["org_id"]
        return own

    @rule(name=callers, event=events())
    def send_alone(self, name: str, event: dict[str, Any]) -> None:
        """By its single route."""
        event, principal = self.own(event), self.caller(name)
        expected = self.model.apply(principal, event)
        try:
            self.background.run(self._alone(principal, event))
            accepted = True
        except EngineError:
            accepted = False
        assert accepted == expected

    async def _alone(self, principal: Principal, event: dict[str, Any]) -> None:
        house = self.background.house
        fields = {name: value for name, value in event.items() if name not in ("type", "run_id")}
        if event["type"] == "run_start":
            await house.start(event["run_id"], principal, **fields)
        elif event["type"] == "step":
            await house.step(fields.pop("step_index"), event["run_id"], principal, **fields)
        elif event["type"] == "run_interrupt":
            await house.runs.interrupt(principal, event["run_id"])
        else:
            await house.finish(event["outcome"], event["run_id"], principal)

    @rule(name=callers, batch=st.lists(events() | st.just({"type": "nonsense", "run_id": "x"}), max_size=12))
    def send_batch(self, name: str, batch: list[dict[str, Any]]) -> None:
        """Together with others, some of which may be nonsense."""
        principal = self.caller(name)
        sent = [self.own(event) for event in batch]
        expected = [event["type"] != "nonsense" and self.model.apply(principal, event) for event in sent]
        receipt = self.background.run(self.background.house.events(*sent, principal=principal))
        assert receipt.accepted == sum(expected)
        assert [refused.index for refused in receipt.rejected] == [
            index for index, accepted in enumerate(expected) if not accepted
        ]

    @rule(run_id=run_names)
    def fall_silent(self, run_id: str) -> None:
        """All runs of an id are silent for long, and the sweeper comes by."""
        house = self.background.house
        self.background.run(
            house.store.execute("UPDATE runs SET last_seen_at = 1 WHERE run_id = :run", run=self.mark + run_id)
        )
        self.background.run(self.background.upkeep.sweep())
        for (_, known), run in self.model.runs.items():
            if known == self.mark + run_id and run.outcome is None and not run.interrupted:
                run.outcome = "abandoned"

    @invariant()
    def the_tables_say_the_same(self) -> None:
        if not hasattr(self, "model"):
            return
        rows = self.background.run(
            self.background.house.store.query(
                "SELECT org_id, run_id, project_id, task, outcome, interrupted_at IS NOT NULL, "
                "step_count, total_tokens FROM runs WHERE run_id LIKE :mark",
                mark=self.mark + "%",
            )
        )
        assert {row[:2]: row[2:] for row in rows} == {
            key: (
                run.project,
                run.task,
                run.outcome,
                run.interrupted,
                len(run.steps),
                sum(tokens for _, tokens in run.steps.values()),
            )
            for key, run in self.model.runs.items()
        }

    def teardown(self) -> None:
        """Everybody sees exactly what is theirs, with all its steps."""
        if hasattr(self, "model"):
            for name in ("a", "b", "a/web", "admin"):
                self.background.run(self._check_views(self.caller(name)))

    async def _check_views(self, principal: Principal) -> None:
        house = self.background.house
        for run_id in (self.mark + "x", self.mark + "y"):
            expected = self.model.meant(principal, run_id)
            try:
                shown = await house.show(run_id, principal)
            except EngineError:
                assert expected is None
                continue
            assert expected is not None
            steps = {one.step_index: (one.thought, one.tokens) for one in shown.steps}
            kept = str if self.background.keeps_zeros else _without_zeros
            assert steps == {index: (kept(thought), tokens) for index, (thought, tokens) in expected.steps.items()}
            assert list(steps) == sorted(steps)


def _without_zeros(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def test_reports_in_any_order_agree_with_a_simple_model(place: Place) -> None:
    """Starts, steps, ends, batches, repetitions, silence, by callers who may or may not: always the same story."""
    background = Background(place)

    class Machine(Reporting):
        pass

    Machine.background = background
    Machine.TestCase.settings = settings(max_examples=20, stateful_step_count=12, deadline=None)
    try:
        Machine.TestCase("runTest").runTest()
    finally:
        background.close()
