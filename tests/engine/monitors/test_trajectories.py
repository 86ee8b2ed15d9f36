"""Incremental state: however a trace is cut into calls, the answer is that of the whole."""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasonblocks.engine.errors import Conflict
from reasonblocks.engine.monitors.base import MonitorState, Reading
from reasonblocks.engine.monitors.features import ObservedStep, StepFeatures
from reasonblocks.engine.monitors.suite import MonitorSuite, SuiteReading
from reasonblocks.engine.monitors.trajectories import Observed, Trajectories

some_step = st.builds(
    ObservedStep,
    st.sampled_from(
        ["", "The cache is shared by threads.", "The cache is not shared by threads.", "The task is done."]
    ),
    st.sampled_from(["", "search", "edit_file", "bash"]),
    st.sampled_from(["", '{"query": "session timeout"}', '{"query": "session expiry"}', '{"command": "pytest"}']),
    st.sampled_from(["", "ok", "No results found.", "1 failed"]),
    st.booleans(),
)


def numbered(count: int) -> list[ObservedStep]:
    """So many steps, each unlike the others."""
    return [ObservedStep(f"thought {n}", "read", f"file{n}.py", f"content {n}") for n in range(count)]


def whole(suite: MonitorSuite, steps: list[ObservedStep]) -> Observed:
    """The answer of a store that has seen nothing before."""
    return asyncio.run(Trajectories(suite).whole_trace("acme", steps))


@settings(max_examples=60)
@given(st.lists(some_step, max_size=16), st.lists(st.integers(0, 16), max_size=6))
def test_c19_any_split_into_calls_gives_the_answer_of_the_whole(
    suite: MonitorSuite, steps: list[ObservedStep], cuts: list[int]
) -> None:
    """Continued by offset, or sent whole each time: reading and thoughts are the same as in one go."""
    places = sorted({min(cut, len(steps)) for cut in cuts} | {0, len(steps)})

    async def in_parts() -> tuple[Observed, Observed]:
        held = Trajectories(suite)
        answer = await held.continue_run("acme", "run", 0, [])
        resent = await held.whole_trace("acme", [])
        for start, end in itertools.pairwise(places):
            answer = await held.continue_run("acme", "run", start, steps[start:end])
            resent = await held.whole_trace("acme", steps[:end])
        return answer, resent

    expected = whole(suite, steps)
    assert asyncio.run(in_parts()) == (expected, expected)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.lists(some_step, max_size=5), st.integers(0, 6)), min_size=1, max_size=6))
def test_traces_that_share_a_beginning_are_not_mixed_up(
    suite: MonitorSuite, traces: list[tuple[list[ObservedStep], int]]
) -> None:
    """Traces that fork from each other are answered as if each was the only one."""

    async def one_after_the_other() -> None:
        held = Trajectories(suite)
        trace: list[ObservedStep] = []
        for more, kept in traces:
            trace = [*trace[:kept], *more]
            answers.append(((await held.whole_trace("acme", trace)), trace))

    answers: list[tuple[Observed, list[ObservedStep]]] = []
    asyncio.run(one_after_the_other())
    for answer, trace in answers:
        assert answer == whole(suite, trace)


async def test_incremental_an_offset_that_is_not_held_is_a_conflict(suite: MonitorSuite) -> None:
    """The answer to a wrong offset is how many steps are held, and nothing changes."""
    held = Trajectories(suite)
    with pytest.raises(Conflict) as unknown:
        await held.continue_run("acme", "run", 3, numbered(1))
    assert unknown.value.have == 0
    await held.continue_run("acme", "run", 0, numbered(4))
    for wrong in (2, 9):
        with pytest.raises(Conflict) as conflict:
            await held.continue_run("acme", "run", wrong, numbered(1))
        assert conflict.value.have == 4
    assert (await held.continue_run("acme", "run", 4, [])).thoughts[-1] == "thought 3"


async def test_incremental_a_lost_answer_can_be_asked_for_again(suite: MonitorSuite) -> None:
    """The same call once more is a conflict that says how much is held; no steps from there give the answer."""
    held = Trajectories(suite)
    await held.continue_run("acme", "run", 0, numbered(2))
    answer = await held.continue_run("acme", "run", 2, numbered(4)[2:])
    with pytest.raises(Conflict) as conflict:
        await held.continue_run("acme", "run", 2, numbered(4)[2:])
    assert conflict.value.have == 4
    assert await held.continue_run("acme", "run", 4, []) == answer


async def test_incremental_offset_0_starts_anew(suite: MonitorSuite) -> None:
    """A client that sends everything gets the answer for just that."""
    held = Trajectories(suite)
    await held.continue_run("acme", "run", 0, [ObservedStep("x", "search", "a", "nothing")] * 5)
    assert not (await held.continue_run("acme", "run", 0, numbered(1))).reading.fired


async def test_c25_runs_of_two_orgs_are_apart(suite: MonitorSuite) -> None:
    """The same run id in another organisation is another run, for evaluations and for steps."""
    held = Trajectories(suite)
    await held.continue_run("acme", "run", 0, numbered(2))
    with pytest.raises(Conflict) as conflict:
        await held.continue_run("other", "run", 2, [])
    assert conflict.value.have == 0
    assert held.known_reading("other", "run", 1, numbered(2)[1].digest()) is None
    held.observe_step("acme", "ingested", 0, numbered(1)[0])
    assert held.observe_step("other", "ingested", 1, numbered(2)[1]) is None


async def test_what_was_not_asked_for_longest_goes_first(suite: MonitorSuite) -> None:
    """The number of runs is bounded, and so is the number of steps held."""
    few_runs = Trajectories(suite, most_runs=3)
    for name in ("a", "b", "c"):
        await few_runs.continue_run("acme", name, 0, numbered(2))
    await few_runs.continue_run("acme", "a", 2, [])
    await few_runs.continue_run("acme", "d", 0, numbered(2))
    assert len(few_runs) == 3
    await few_runs.continue_run("acme", "a", 2, [])
    with pytest.raises(Conflict):
        await few_runs.continue_run("acme", "b", 2, [])
    few_steps = Trajectories(suite, most_steps=5)
    for name in ("a", "b", "c"):
        await few_steps.continue_run("acme", name, 0, numbered(2))
    assert len(few_steps) == 2


async def test_a_run_that_is_forgotten_is_gone(suite: MonitorSuite) -> None:
    """What is held of a finished run can be let go."""
    held = Trajectories(suite)
    await held.continue_run("acme", "run", 0, numbered(2))
    held.observe_step("acme", "run", 0, numbered(1)[0])
    held.forget("acme", "run")
    assert len(held) == 0


async def test_a_reading_is_known_for_the_very_step_only(suite: MonitorSuite) -> None:
    """Ingestion may take an evaluation over if run, place and step are the same, and it was a recent one."""
    held = Trajectories(suite)
    steps = [ObservedStep("x", "search", "a", "nothing")] * 3
    answer = await held.continue_run("acme", "run", 0, steps)
    digest = steps[-1].digest()
    assert held.known_reading("acme", "run", 2, digest) == answer.reading
    assert held.known_reading("acme", "run", 3, digest) is None
    assert held.known_reading("acme", "run", 2, ObservedStep("y", "search", "a", "nothing").digest()) is None
    await held.continue_run("acme", "run", 3, numbered(40))
    assert held.known_reading("acme", "run", 2, digest) is None


def test_a_reading_is_known_while_its_run_goes_on() -> None:
    """Ingestion looks a step up at whatever moment the agent's next one is evaluated, and finds its own reading."""
    looked: list[SuiteReading | None] = []

    class Onlooker:
        """A monitor that asks in the middle of step 2 what is known of step 1."""

        name, failure_type, description = "onlooker", "looking", "Looks."

        def start(self, task: str) -> MonitorState:
            return self

        def observe(self, step: StepFeatures) -> Reading:
            if step.index == 2:
                looked.append(held.known_reading("acme", "run", 1, steps[1].digest()))
            return Reading(step.index / 10)

    steps = numbered(4)
    held = Trajectories(MonitorSuite([Onlooker()]))

    async def go_on() -> SuiteReading:
        answer = await held.continue_run("acme", "run", 0, steps[:2])
        await held.continue_run("acme", "run", 2, steps[2:])
        return answer.reading

    reading = asyncio.run(go_on())
    assert [known and known.scores for known in looked] == [reading.scores]


def test_a_reading_that_is_looked_up_by_another_thread_is_that_of_its_step(suite: MonitorSuite) -> None:
    """One thread goes on with a run, another looks up its newest steps meanwhile: whatever it finds is right."""
    steps = numbered(300)
    trajectory = suite.start()
    expected = [trajectory.observe(step).scores for step in steps]
    held = Trajectories(suite)
    done = threading.Event()
    wrong: list[int] = []
    found = newest = 0

    def look() -> None:
        nonlocal found
        last = False
        while not last:
            last = done.is_set()
            at = newest
            reading = held.known_reading("acme", "run", at, steps[at].digest())
            if reading is not None:
                found += 1
                wrong.extend([at] if reading.scores != expected[at] else [])

    async def go_on() -> None:
        nonlocal newest
        for place, step in enumerate(steps):
            await held.continue_run("acme", "run", place, [step])
            newest = place

    looking = threading.Thread(target=look)
    looking.start()
    try:
        asyncio.run(go_on())
    finally:
        done.set()
        looking.join()
    assert found
    assert not wrong


async def test_steps_without_an_evaluation_are_observed_in_order(suite: MonitorSuite) -> None:
    """In order each gets its reading, a repeated one the same again; what is missing asks for a rebuild."""
    held = Trajectories(suite)
    steps = [ObservedStep("x", "search", "a", "nothing")] * 4
    found = [held.observe_step("acme", "run", place, step) for place, step in enumerate(steps)]
    assert held.observe_step("acme", "run", 3, steps[3]) == found[3]
    assert held.observe_step("acme", "run", 3, numbered(1)[0]) is None
    assert held.observe_step("acme", "run", 9, steps[0]) is None
    assert held.observe_step("acme", "late", 1, steps[0]) is None

    async def portions() -> AsyncIterator[list[ObservedStep]]:
        yield steps[:3]
        yield steps[3:]

    assert [each async for each in held.rebuild("acme", "late", portions())] == [found[:3], found[3:]]
    assert held.observe_step("acme", "late", 4, steps[0]) == held.observe_step("acme", "run", 4, steps[0])


async def test_observing_does_not_disturb_evaluating(suite: MonitorSuite) -> None:
    """A run that is evaluated by its client and ingested as well keeps two memories."""
    held = Trajectories(suite)
    await held.continue_run("acme", "run", 0, numbered(3))
    held.observe_step("acme", "run", 0, numbered(1)[0])
    assert (await held.continue_run("acme", "run", 3, [])).thoughts[-1] == "thought 2"


async def test_a_long_trace_lets_others_have_their_turn(suite: MonitorSuite) -> None:
    """Many steps at once do not hold the event loop."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(others())
    await Trajectories(suite).whole_trace("acme", numbered(1_000))
    other.cancel()
    assert turns >= 3


async def test_a_few_heavy_steps_let_others_have_their_turn(suite: MonitorSuite) -> None:
    """It is the work that counts and not the number of steps: a few long texts do not hold the event loop either."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    steps = [ObservedStep("word " * 12_800, "bash", "ls " * 20_000, f"{place} " * 30_000) for place in range(40)]
    other = asyncio.create_task(others())
    await Trajectories(suite).continue_run("acme", "run", 0, steps)
    other.cancel()
    assert turns >= 3


async def test_a_cancelled_evaluation_leaves_a_true_prefix(suite: MonitorSuite) -> None:
    """What was observed before the cancellation is held, and can be continued from there."""
    held = Trajectories(suite)
    steps = numbered(1_000)
    task = asyncio.create_task(held.continue_run("acme", "run", 0, steps))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(Conflict) as conflict:
        await held.continue_run("acme", "run", len(steps), [])
    have = conflict.value.have
    assert have is not None
    assert 0 < have < len(steps)
    answer = await held.continue_run("acme", "run", have, steps[have:])
    assert answer == await Trajectories(suite).whole_trace("acme", steps)


def test_c19_many_threads_share_one_store(suite: MonitorSuite) -> None:
    """Runs on event loops of their own get the answers they would get alone."""
    held = Trajectories(suite, most_runs=50)

    async def one_run(number: int) -> Observed:
        steps = numbered(30)[number % 7 :]
        answer = await held.continue_run("acme", f"run{number}", 0, steps[:1])
        for place in range(1, len(steps)):
            answer = await held.continue_run("acme", f"run{number}", place, steps[place : place + 1])
            held.known_reading("acme", f"run{(number + 1) % 16}", place, b"")
        return answer

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: asyncio.run(one_run(number)), range(16)))
    assert answers == [whole(suite, numbered(30)[number % 7 :]) for number in range(16)]
