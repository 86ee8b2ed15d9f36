"""A replayed run: what is decided after each step, by the same code as for a live agent."""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from reasonblocks.fsm import DifficultyFSM
from reasonblocks.injections import BaseInjection
from reasonblocks.recordings import RecordedRun
from reasonblocks.replay.entries import ReplayedRun, encode_line
from reasonblocks.replay.monitors import ReplayedMonitors
from reasonblocks.replay.player import Player
from reasonblocks.run import Outlets, Run
from reasonblocks.runtime.drivers import drive_in_place
from reasonblocks.steering.compose import compose
from reasonblocks.steering.plan import Policy, prepare
from reasonblocks.steering.scoring import score_step
from reasonblocks.types import PendingInjection, TraceState
from support.recorded import OBEDIENT_SUITE, healthy, looping, run, step

SHIPPED = Player()
OBEDIENT = Player(suite=OBEDIENT_SUITE)


def recorded(given: dict[str, Any]) -> RecordedRun:
    return msgspec.convert(given, RecordedRun)


def spoken(*thoughts: str) -> RecordedRun:
    return recorded(run("r", [step(thought) for thought in thoughts]))


def bothered(number: int) -> str:
    """A thought that is neither easy nor hard, with an alarm in it, and like no other."""
    return f"Maybe there is an error, or a problem, in harbour {number}: alarm 9"


def injected(replayed: ReplayedRun) -> list[int]:
    return [index for index, entry in enumerate(replayed.steps) if entry.inject]


# -- what an entry says ----------------------------------------------------------------------------


def test_c14_a_loop_is_told_from_steady_work() -> None:
    """The monitors as they are shipped: one fires, with evidence and words; over healthy work nobody does."""
    entries = SHIPPED.replay(recorded(looping("r"))).steps
    told = next(entry for entry in entries if entry.inject)
    assert "semantic_loop" in told.fired
    assert told.failure_type == "loop"
    assert any(one.monitor == "semantic_loop" and one.quotes for one in told.evidence)
    assert "loop" in str(told.intervention_text)
    quiet = SHIPPED.replay(recorded(healthy("h"))).steps
    assert not any(entry.fired or entry.inject_requested for entry in quiet)


def test_an_entry_has_what_the_step_led_to() -> None:
    """Scores, difficulty and state are those after the step, as a live agent's next call would have them."""
    thoughts = ["I look.", "Maybe it fails, I am not sure: alarm 9"]
    first, second = OBEDIENT.replay(spoken(*thoughts)).steps
    assert [first.difficulty, second.difficulty] == [round(score_step(thought), 6) for thought in thoughts]
    assert (first.fsm_state, first.scores, first.composite) == ("NORMAL", {"obedient": 0.0}, 0.0)
    assert (second.scores, second.composite, second.fired) == ({"obedient": 0.9}, 0.9, ["obedient"])
    assert (second.inject, second.inject_requested, second.failure_type) == (True, True, "disobedience")
    assert [one.steps for one in second.evidence] == [[1]]


def test_a_text_is_only_there_where_it_was_said() -> None:
    """In the file as well: the key is left out elsewhere."""
    line = msgspec.json.decode(encode_line(OBEDIENT.replay(spoken("I look.", "alarm 9"))))
    assert line["run_id"] == "r"
    assert ["intervention_text" in entry for entry in line["steps"]] == [False, True]
    needed = {"composite", "scores", "fired", "inject", "inject_requested", "failure_type", "evidence"}
    assert all(entry.keys() >= needed | {"difficulty", "fsm_state"} for entry in line["steps"])


def test_c15_the_profile_weighs_the_scores() -> None:
    """The same run, other weights, another composite; the scores stay."""
    loop = recorded(looping("r"))
    coding, reviewing = SHIPPED.replay(loop).steps[-1], Player("pr_review").replay(loop).steps[-1]
    assert coding.scores == reviewing.scores
    assert coding.composite < reviewing.composite


# -- guardrails ------------------------------------------------------------------------------------


def test_c16_guardrails_come_after_the_gate() -> None:
    """In NORMAL three steps lie between two injections, and what was said last is not said again."""
    replayed = OBEDIENT.replay(spoken(*[bothered(index) for index in range(8)]))
    assert {entry.fsm_state for entry in replayed.steps} == {"NORMAL"}
    assert all(entry.inject_requested for entry in replayed.steps)
    assert injected(replayed) == [0, 3, 6]
    assert injected(OBEDIENT.replay(spoken(*[bothered(1)] * 8))) == [0]


def test_c16_no_more_than_five_in_a_run() -> None:
    """However long it is."""
    replayed = OBEDIENT.replay(spoken(*[bothered(index) for index in range(40)]))
    assert injected(replayed) == [0, 3, 6, 9, 12]


def test_c17_fast_work_is_watched_with_a_longer_cool_down() -> None:
    """Easy thoughts lead to FAST, where five steps lie between two injections."""
    replayed = OBEDIENT.replay(spoken(*[f"So {'x' * index} alarm 9" for index in range(20)]))
    assert replayed.steps[-1].fsm_state == "FAST"
    late = [index for index in injected(replayed) if index > 8]
    assert len(late) > 1
    assert all(second - first >= 5 for first, second in pairwise(late))


def test_a_live_run_is_decided_the_same_way() -> None:
    """The bookkeeping of a live run, with the same monitors, gives the entries of the replay."""
    thoughts = [f"Maybe {'alarm 9 ' if index % 2 else ''}error number {index}" for index in range(15)]
    live = Run("r", Outlets(), {"task": "Task of r"})
    monitors = ReplayedMonitors(OBEDIENT_SUITE, {"obedient": 1.0}, "Task of r")
    policy = Policy(DifficultyFSM(), monitors, ())
    decided = []
    for thought in [*thoughts, "the end"]:
        prepared = drive_in_place(prepare(live.situation(0.15), policy))
        live.accept(prepared, monitored=True)
        composed = compose(prepared, "You are a sailor.", model_id="m", cache=True)
        live.spend(composed)
        decided.append((prepared.state.value, prepared.difficulty, composed.texts))
        live.record(AIMessage(content=thought), composed, "", 0.0)
        live.complete_step([])
    replayed = [
        (entry.fsm_state, entry.difficulty, (entry.intervention_text,) if entry.inject else ())
        for entry in OBEDIENT.replay(spoken(*thoughts)).steps
    ]
    assert [(state, round(difficulty or 0, 6), texts) for state, difficulty, texts in decided[1:]] == replayed
    assert any(texts for *_, texts in replayed)


# -- any run ---------------------------------------------------------------------------------------

TEXT = st.sampled_from(
    ["", "I look.", "alarm 9", "alarm 7 again", "Maybe it fails with an error.", "Done.", "ü\x00\u202e<b>"]
)
STEPS = st.fixed_dictionaries(
    {
        "thought": st.one_of(st.none(), TEXT),
        "action": st.sampled_from([None, "", "shell", "edit_file", "search"]),
        "action_input": st.sampled_from([None, "", "make test", '{"path":"a.py","text":"x = 1"}', "["]),
        "observation": st.one_of(st.none(), TEXT, st.just("3 failed, 2 passed"), st.just("x" * 70_000)),
        "observation_is_error": st.sampled_from([None, False, True]),
    }
)


@settings(max_examples=60)
@given(
    steps=st.lists(STEPS, min_size=1, max_size=24),
    length=st.integers(1, 24),
    player=st.sampled_from([SHIPPED, OBEDIENT]),
    task=st.sampled_from([None, "", "Mend the failing test in a.py"]),
)
def test_the_replay_of_a_truncated_run_is_the_prefix_of_the_whole(
    steps: list[dict[str, Any]], length: int, player: Player, task: str | None
) -> None:
    """An entry depends on the steps up to its own alone, whatever happens later; and playing twice gives the same."""
    whole = recorded(run("r", steps, task=task))
    entries = player.replay(whole).steps
    assert len(entries) == len(steps)
    assert player.replay(recorded(run("r", steps[:length], task=task))).steps == entries[:length]
    assert encode_line(player.replay(whole)) == encode_line(ReplayedRun("r", entries))


@settings(max_examples=30)
@given(st.lists(STEPS, min_size=1, max_size=24))
def test_what_is_said_was_asked_for(steps: list[dict[str, Any]]) -> None:
    """Nothing is injected that the gate did not want, nothing without words, and nothing wanted without a failure."""
    for entry in OBEDIENT.replay(recorded(run("r", steps))).steps:
        assert entry.inject <= entry.inject_requested
        assert entry.inject == (entry.intervention_text is not msgspec.UNSET)
        assert entry.inject_requested == (entry.failure_type is not None)


# -- the driver ------------------------------------------------------------------------------------


class Pause:
    """Something to wait for."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Waiting(BaseInjection):
    """One that cannot answer on the spot."""

    on_first_call = True

    async def retrieve(self, state: TraceState) -> list[PendingInjection]:
        """Let others go first."""
        await Pause()
        return []


def test_the_driver_of_a_replay_does_not_wait() -> None:
    """What would have to is an error that names it; an error of the asked one is raised, not swallowed."""
    run = Run("r", Outlets(), {})
    with pytest.raises(RuntimeError, match="Waiting waits"):
        drive_in_place(prepare(run.situation(0.15), Policy(DifficultyFSM(), None, (Waiting(),))))

    class Broken(BaseInjection):
        on_first_call = True

        def retrieve(self, state: TraceState) -> list[PendingInjection]:
            raise ZeroDivisionError("broken")

    with pytest.raises(ZeroDivisionError):
        drive_in_place(prepare(run.situation(0.15), Policy(DifficultyFSM(), None, (Broken(),))))
