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
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

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
    def question(self) -> str:
        """What is asked."""

    @property
    def blocking(self) -> bool:
        """Whether performing it blocks its thread."""

    def refusal(self) -> str | None:
        """Why performing it would fail right now, if that is known."""

    def perform(self) -> Any:
        """The answer, or an awaitable of it."""


Cause = Literal["late", "refused", "failed"]


class Performed(NamedTuple):
    """An effect as it went, for those who show it; times are nanoseconds since 1970."""

    question: str
    name: str
    began: int
    ended: int
    cause: Cause | None = None
    """Why there was no answer."""
    problem: str | None = None


Journal = list[Performed]


class Late(Unavailable):
    """The budget of the step was used up before the answer came."""


class Refused(Unavailable):
    """It was known beforehand that there would be no answer."""


async def drive(plan: Plan[Result], budget: StepBudget, journal: Journal | None = None) -> Result:
    """Run a plan on the current event loop."""
    deadline = time.monotonic() + budget.allowance()
    answers: Sequence[Any] | None = None
    while True:
        try:
            effects = next(plan) if answers is None else plan.send(answers)
        except StopIteration as finished:
            return finished.value  # type: ignore[no-any-return]
        began, ended = time.time_ns(), [0] * len(effects)
        answers = _refused(effects) or await _perform_all(effects, deadline, budget, ended)
        if journal is not None:
            _note(journal, effects, answers, began, ended)


def drive_sync(plan: Plan[Result], budget: StepBudget, journal: Journal | None = None) -> Result:
    """Run a plan for a caller that has no event loop; the effects run on the runtime's."""
    deadline = time.monotonic() + budget.allowance()
    answers: Sequence[Any] | None = None
    while True:
        try:
            effects = next(plan) if answers is None else plan.send(answers)
        except StopIteration as finished:
            return finished.value  # type: ignore[no-any-return]
        began, ended = time.time_ns(), [0] * len(effects)
        answers = _refused(effects) or _perform_elsewhere(effects, deadline, budget, ended)
        if journal is not None:
            _note(journal, effects, answers, began, ended)


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
    refusals: list[Unavailable] = []
    for effect in effects:
        refusal = effect.refusal()
        if refusal is None:
            return None
        refusals.append(Refused(refusal))
    return refusals


def _note(journal: Journal, effects: Sequence[Effect], answers: Sequence[Any], began: int, ended: list[int]) -> None:
    """Write down how each effect went; one that never ended has ended now."""
    now = time.time_ns()
    for effect, answer, end in zip(effects, answers, ended, strict=True):
        cause: Cause | None = None
        if isinstance(answer, Unavailable):
            cause = "late" if isinstance(answer, Late) else "refused" if isinstance(answer, Refused) else "failed"
        problem = answer.reason if isinstance(answer, Unavailable) else None
        journal.append(Performed(effect.question, effect.name, began, end or now, cause, problem))


def _perform_elsewhere(
    effects: Sequence[Effect], deadline: float, budget: StepBudget, ended: list[int]
) -> Sequence[Any]:
    future = runtime.submit(_perform_all(effects, deadline, budget, ended))
    try:
        return future.result(max(0.0, deadline - time.monotonic()) + GRACE_SECONDS)
    except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
        future.cancel()
        return [Late("the runtime did not answer in time")] * len(effects)


async def _perform_all(
    effects: Sequence[Effect], deadline: float, budget: StepBudget, ended: list[int]
) -> Sequence[Any]:
    answers: list[Any] = [None] * len(effects)
    remaining = deadline - time.monotonic()
    with anyio.move_on_after(remaining) as scope:
        if len(effects) == 1:
            await _perform_into(effects[0], answers, ended, 0)
        else:
            async with anyio.create_task_group() as tasks:
                for position, effect in enumerate(effects):
                    tasks.start_soon(_perform_into, effect, answers, ended, position)
    late = scope.cancelled_caught
    if late:
        missed = Late(f"late: the step's budget of {budget.seconds:g} s was used up")
        for position, effect in enumerate(effects):
            if answers[position] is None:
                incidents.note(effect.name, missed)
                answers[position] = missed
    budget.settle(used_up=late, answered=not all(map(_is_missing, answers)))
    return answers


def _is_missing(answer: object) -> bool:
    return isinstance(answer, Unavailable)


async def _perform_into(effect: Effect, answers: list[Any], ended: list[int], position: int) -> None:
    """One answer; whatever goes wrong becomes the reason why there is none."""
    try:
        if effect.blocking:
            answer = await anyio.to_thread.run_sync(effect.perform, abandon_on_cancel=True)
        else:
            answer = effect.perform()
        answers[position] = await answer if inspect.isawaitable(answer) else answer
    except Unavailable as unavailable:
        incidents.note(effect.name, unavailable)
        answers[position] = unavailable
    except Exception as error:
        answers[position] = Unavailable(incidents.note(effect.name, error))
    ended[position] = time.time_ns()


def on_event_loop() -> bool:
    """Whether the current thread is running an event loop, which a sync hook then blocks."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
