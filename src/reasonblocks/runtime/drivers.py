"""The drivers of a plan: asynchronous on the caller's loop, synchronous on the runtime's own, or with neither.

A plan is a generator of effects. A driver performs what it yields, all effects of one yield at once and
all of a step under one deadline, and sends the answers back. An answer that cannot be had is `Unavailable`.
The driver of a replay has no deadline and swallows nothing: what it asks answers on the spot, always the same.
"""

import asyncio
import concurrent.futures
import contextlib
import importlib
import inspect
import time
from collections.abc import Generator, Sequence
from typing import Any, Protocol, TypeVar

import anyio
import anyio.to_thread

from ..errors import Unavailable
from .contain import incidents
from .deadline import StepBudget
from .supervisor import runtime

# anyio loads its backend on first use: 30 ms of imports that must not happen on an agent's event loop.
with contextlib.suppress(ImportError):
    importlib.import_module("anyio._backends._asyncio")

Result = TypeVar("Result")
Plan = Generator[tuple[Any, ...], Sequence[Any], Result]
GRACE_SECONDS = 0.05
"""How much longer than the deadline a sync caller waits for the runtime to say that it has passed."""


class Effect(Protocol):
    """Something that has to be asked of the world outside."""

    @property
    def name(self) -> str:
        """Who is asked."""

    @property
    def blocking(self) -> bool:
        """Whether performing it blocks its thread."""

    def refusal(self) -> str | None:
        """Why performing it would fail right now, if that is known."""

    def perform(self) -> Any:
        """The answer, or an awaitable of it."""


async def drive(plan: Plan[Result], budget: StepBudget) -> Result:
    """Run a plan on the current event loop."""
    deadline = time.monotonic() + budget.allowance()
    answers: Sequence[Any] | None = None
    while True:
        try:
            effects = next(plan) if answers is None else plan.send(answers)
        except StopIteration as finished:
            return finished.value  # type: ignore[no-any-return]
        refused = _refused(effects)
        answers = refused if refused else await _perform_all(effects, deadline, budget)


def drive_sync(plan: Plan[Result], budget: StepBudget) -> Result:
    """Run a plan for a caller that has no event loop; the effects run on the runtime's."""
    deadline = time.monotonic() + budget.allowance()
    answers: Sequence[Any] | None = None
    while True:
        try:
            effects = next(plan) if answers is None else plan.send(answers)
        except StopIteration as finished:
            return finished.value  # type: ignore[no-any-return]
        refused = _refused(effects)
        answers = refused if refused else _perform_elsewhere(effects, deadline, budget)


def drive_in_place(plan: Plan[Result]) -> Result:
    """Run a plan whose questions are answered without waiting: no loop, no thread, no clock. An error is raised."""
    answers: Sequence[Any] | None = None
    while True:
        try:
            effects = next(plan) if answers is None else plan.send(answers)
        except StopIteration as finished:
            return finished.value  # type: ignore[no-any-return]
        answers = [_answer_in_place(effect) for effect in effects]


def _answer_in_place(effect: Effect) -> Any:
    answer = effect.perform()
    if not inspect.iscoroutine(answer):
        return answer
    try:
        answer.send(None)
    except StopIteration as finished:
        return finished.value
    answer.close()
    raise RuntimeError(f"{effect.name} waits for something, and here nobody can: ask it on an event loop")


def _refused(effects: Sequence[Effect]) -> list[Unavailable] | None:
    """The answers, if it is known that none can be had: no task, no thread, no scope is spent on them."""
    refusals = [effect.refusal() for effect in effects]
    if any(refusal is None for refusal in refusals):
        return None
    return [Unavailable(refusal or "") for refusal in refusals]


def _perform_elsewhere(effects: Sequence[Effect], deadline: float, budget: StepBudget) -> Sequence[Any]:
    future = runtime.submit(_perform_all(effects, deadline, budget))
    try:
        return future.result(max(0.0, deadline - time.monotonic()) + GRACE_SECONDS)
    except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
        future.cancel()
        return [Unavailable("the runtime did not answer in time")] * len(effects)


async def _perform_all(effects: Sequence[Effect], deadline: float, budget: StepBudget) -> Sequence[Any]:
    answers: list[Any] = [None] * len(effects)
    remaining = deadline - time.monotonic()
    with anyio.move_on_after(remaining) as scope:
        if len(effects) == 1:
            answers[0] = await _perform(effects[0])
        else:
            async with anyio.create_task_group() as tasks:
                for position, effect in enumerate(effects):
                    tasks.start_soon(_perform_into, effect, answers, position)
    late = scope.cancelled_caught
    if late:
        missed = Unavailable(f"late: the step's budget of {budget.seconds:g} s was used up")
        for position, effect in enumerate(effects):
            if answers[position] is None:
                incidents.note(effect.name, missed)
                answers[position] = missed
    budget.settle(used_up=late, answered=any(not isinstance(answer, Unavailable) for answer in answers))
    return answers


async def _perform_into(effect: Effect, answers: list[Any], position: int) -> None:
    answers[position] = await _perform(effect)


async def _perform(effect: Effect) -> Any:
    """One answer; whatever goes wrong becomes the reason why there is none."""
    try:
        if effect.blocking:
            answer = await anyio.to_thread.run_sync(effect.perform, abandon_on_cancel=True)
        else:
            answer = effect.perform()
        return await answer if inspect.isawaitable(answer) else answer
    except Unavailable as unavailable:
        incidents.note(effect.name, unavailable)
        return unavailable
    except Exception as error:
        return Unavailable(incidents.note(effect.name, error))


def on_event_loop() -> bool:
    """Whether the current thread is running an event loop, which a sync hook then blocks."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
