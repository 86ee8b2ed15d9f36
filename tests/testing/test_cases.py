"""The generator of cases: what it plants is where it says, and nothing else is touched."""

from collections import Counter
from collections.abc import Callable
from itertools import takewhile

import msgspec
import pytest

from reasonblocks.recordings import RecordedRun, RecordedStep
from reasonblocks.testing import CONTROL_MODES, MODES, MONITOR_OF, PLANTED_MODES, Case, Wording, cases, half_of

Runs = Callable[[Wording], list[RecordedRun]]


@pytest.fixture(scope="module")
def all_cases(coding_runs: Runs, service_runs: Runs, research_runs: Runs) -> list[Case]:
    """Some cases of each kind of run."""
    runs = [*coding_runs("development"), *service_runs("development"), *research_runs("development")]
    return [case for seed in range(3) for case in cases(runs, seed=seed, wording="development")]


def common_start(one: list[RecordedStep], other: list[RecordedStep]) -> int:
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


def of(found: list[Case], mode: str, dataset: str = "") -> list[Case]:
    return [case for case in found if case.mode == mode and case.run.dataset.startswith(dataset)]


def calls(case: Case) -> list[tuple[str | None, str | None]]:
    return [(step.action, step.action_input) for step in case.run.steps[case.start : case.stop]]


def test_the_same_seed_gives_the_same_cases(coding_runs: Runs) -> None:
    """Two generations with one seed are equal byte by byte; another seed gives others."""
    runs = coding_runs("development")
    first, again, other = (
        msgspec.json.encode(list(cases(runs, seed=seed, wording="development"))) for seed in (7, 7, 8)
    )
    assert first == again
    assert first != other


def test_a_case_does_not_depend_on_which_modes_are_asked_for(coding_runs: Runs) -> None:
    """A mode asked for alone gives what it gives among all."""
    runs = coding_runs("development")
    among_all = of(list(cases(runs, seed=1, wording="development")), "loop_failing")
    assert list(cases(runs, seed=1, wording="development", modes=["loop_failing"])) == among_all


def test_an_unknown_mode_is_named(coding_runs: Runs) -> None:
    """The error says which mode is unknown and which there are."""
    with pytest.raises(ValueError, match=r"loop_exakt.*expected some of.*loop_exact"):
        list(cases(coding_runs("development"), seed=1, wording="development", modes=["loop_exakt"]))


def test_an_unknown_wording_is_named(coding_runs: Runs) -> None:
    """The error says what was given and what is expected."""
    with pytest.raises(ValueError, match="'mine'; expected 'development' or 'held_out'"):
        list(cases(coding_runs("development"), seed=1, wording="mine"))  # type: ignore[arg-type]


def test_the_recorded_runs_are_not_changed(coding_runs: Runs, service_runs: Runs) -> None:
    """The twin of every case, and every run handed in, is as it was."""
    runs = [*coding_runs("development"), *service_runs("development")]
    before = msgspec.json.encode(runs)
    found = list(cases(runs, seed=3, wording="development"))
    assert msgspec.json.encode(runs) == before
    assert all(any(case.twin is run for run in runs) for case in found)


def test_only_successful_runs_of_the_half_are_used(coding_runs: Runs) -> None:
    """Failed runs and those of tasks of the other half give nothing."""
    held_out, failed = coding_runs("held_out"), coding_runs("development")
    for run in failed:
        run.outcome = "failure"
    assert list(cases([*held_out, *failed], seed=1, wording="development")) == []
    assert {half_of(case.twin) for case in cases(held_out, seed=1, wording="held_out")} == {"held_out"}


def test_every_run_gives_its_twin(all_cases: list[Case]) -> None:
    """A twin is the run itself, with nothing planted."""
    twins = of(all_cases, "twin")
    assert {case.twin.run_id for case in twins} == {case.twin.run_id for case in all_cases}
    assert all(case.run is case.twin and case.start == case.stop and case.monitor is None for case in twins)


@pytest.mark.parametrize("mode", MODES[1:])
def test_only_one_stretch_differs_from_the_twin(mode: str, all_cases: list[Case]) -> None:
    """Before the planted steps and after them the run is its twin's; the bounds are exact."""
    for case in of(all_cases, mode):
        steps, twin = list(case.run.steps), list(case.twin.steps)
        if case.groundwork is not None:
            assert case.groundwork < case.start
            steps[case.groundwork] = twin[case.groundwork]
        assert common_start(steps, twin) == case.start
        rest = steps[case.stop :]
        assert rest == twin[len(twin) - len(rest) :]
        assert case.stop > case.start
        assert steps[case.start] != (twin[case.start] if case.start < len(twin) else None)


@pytest.mark.parametrize("mode", PLANTED_MODES)
def test_planted_modes_name_their_monitor(mode: str, all_cases: list[Case]) -> None:
    """A planted case says which monitor should see it."""
    found = of(all_cases, mode)
    assert found
    assert {(case.kind, case.monitor) for case in found} == {("planted", MONITOR_OF[mode])}


@pytest.mark.parametrize("mode", CONTROL_MODES)
def test_controls_name_no_monitor(mode: str, all_cases: list[Case]) -> None:
    """In a control nothing should be seen."""
    found = of(all_cases, mode)
    assert found
    assert {(case.kind, case.monitor) for case in found} == {("control", None)}


@pytest.mark.parametrize("wording", ["development", "held_out"])
def test_every_mode_fits_a_coding_run(wording: Wording, coding_runs: Runs) -> None:
    """A coding run has room for all modes."""
    found = {case.mode for seed in range(3) for case in cases(coding_runs(wording), seed=seed, wording=wording)}
    assert found == set(MODES)


@pytest.mark.parametrize("wording", ["development", "held_out"])
def test_modes_of_a_dialogue(wording: Wording, service_runs: Runs) -> None:
    """A dialogue has room for all modes but paging, for nothing in it comes in pages."""
    found = {case.mode for seed in range(3) for case in cases(service_runs(wording), seed=seed, wording=wording)}
    assert found == set(MODES) - {"paging"}


def test_a_research_run_has_nothing_to_verify(research_runs: Runs) -> None:
    """Where nothing is changed, no check can be skipped."""
    found = {case.mode for case in cases(research_runs("development"), seed=1, wording="development")}
    assert "loop_reworded" in found
    assert not found & {"unverified_skipped", "unverified_failed", "retry_after_fix", "reread_after_edit"}


# -- what the planted modes contain --------------------------------------------------------------


def test_an_exact_loop_repeats_one_call_of_the_run(all_cases: list[Case]) -> None:
    """The call before the loop is made again three to six times."""
    for case in of(all_cases, "loop_exact"):
        before = case.run.steps[case.start - 1]
        assert set(calls(case)) == {(before.action, before.action_input)}
        assert 3 <= len(calls(case)) <= 6


def test_an_alternating_loop_has_two_calls(all_cases: list[Case]) -> None:
    """Two tools or targets take turns, with the same two results."""
    for case in of(all_cases, "loop_alternating"):
        planted = case.run.steps[case.start : case.stop]
        assert len({step.observation for step in planted[::2]}) == 1
        assert len({step.observation for step in planted[1::2]}) == 1
        assert planted[0].action_input != planted[1].action_input


def test_a_failing_loop_fails_every_time(all_cases: list[Case]) -> None:
    """All planted calls are the same, and all of them fail."""
    for case in of(all_cases, "loop_failing"):
        assert len(set(calls(case))) == 1
        assert all(step.observation_is_error for step in case.run.steps[case.start : case.stop])


def test_a_reworded_loop_is_in_other_words_each_time(all_cases: list[Case]) -> None:
    """No wording of the search or the question occurs twice."""
    for case in of(all_cases, "loop_reworded"):
        asked = [step.action_input or step.thought for step in case.run.steps[case.start : case.stop]]
        assert len(set(asked)) == len(asked) >= 3


def test_a_skipped_check_is_gone(all_cases: list[Case]) -> None:
    """Between the last change and the conclusion of a coding run nothing is run any more."""
    for case in of(all_cases, "unverified_skipped", "coding"):
        given = [step.action_input or "" for step in case.run.steps]
        change = max(at for at, text in enumerate(given) if "sed -i" in text)
        assert not [text for text in given[change + 1 :] if "pytest" in text or "python" in text]
        assert case.stop == len(case.run.steps)


def test_a_deed_that_was_left_out_is_reported(all_cases: list[Case]) -> None:
    """The customer is told, and the call that would have done it is not there."""
    found = of(all_cases, "unverified_skipped", "service")
    assert found
    for case in found:
        assert "cancel_order" not in [step.action for step in case.run.steps]
        assert case.run.steps[case.start].thought


def test_a_failed_check_is_followed_by_the_conclusion(all_cases: list[Case]) -> None:
    """The planted check fails, and the next step says that all is well."""
    for case in of(all_cases, "unverified_failed"):
        failed, concluded = case.run.steps[case.start : case.stop]
        assert failed.observation_is_error
        assert not concluded.observation_is_error


def test_tangents_come_late_and_are_new(all_cases: list[Case]) -> None:
    """Each of them is a call or a topic that the run did not have, in its last third."""
    for case in of(all_cases, "sprawl_tangents"):
        own = {(step.action, step.action_input) for step in case.twin.steps if step.action}
        assert not own & set(calls(case))
        assert case.start >= int(len(case.twin.steps) * 2 / 3)
        assert 4 <= case.stop - case.start <= 8


def test_a_stretch_off_the_task_is_of_another_run(all_cases: list[Case]) -> None:
    """What is done there was done in a run of the same set that had another task."""
    everywhere = {case.twin.run_id: case.twin for case in all_cases}
    for case in of(all_cases, "drift_stretch"):
        theirs = {
            (step.action, step.action_input)
            for run in everywhere.values()
            if run.dataset == case.run.dataset and run.task != case.run.task
            for step in run.steps
        }
        assert set(calls(case)) <= theirs


def test_summaries_say_the_same_again(all_cases: list[Case]) -> None:
    """Every summary shares most of its words with the first."""
    for case in of(all_cases, "churn_resummary"):
        said = [set((step.thought or "").lower().split()) for step in case.run.steps[case.start : case.stop]]
        long = [words for words in said if len(words) > 12]
        assert len(long) >= 2
        assert all(len(words & set().union(*long[:1])) >= 4 for words in long[1:])


# -- what the controls contain -------------------------------------------------------------------


def test_bulk_work_is_on_different_things(all_cases: list[Case]) -> None:
    """One tool, no call twice."""
    for case in of(all_cases, "bulk_work"):
        assert len(set(calls(case))) == len(calls(case)) >= 4
        assert len({action for action, _ in calls(case)}) == 1


def test_pages_are_different(all_cases: list[Case]) -> None:
    """Every page brings something new."""
    for case in of(all_cases, "paging"):
        seen = [step.observation for step in case.run.steps[case.start : case.stop]]
        assert len(set(seen)) == len(seen) >= 2


def test_polling_ends_with_another_state(all_cases: list[Case]) -> None:
    """The same question again and again, and the last answer is another."""
    for case in of(all_cases, "polling"):
        asked = case.run.steps[case.start : case.stop][-4:]
        assert len({(step.action, step.action_input) for step in asked}) == 1
        assert asked[-1].observation != asked[-2].observation


def test_a_retry_follows_a_change(all_cases: list[Case]) -> None:
    """The failing check is made again after an edit, and passes."""
    for case in of(all_cases, "retry_after_fix", "coding"):
        planted = case.run.steps[case.start : case.stop]
        assert planted[0].observation_is_error
        assert not planted[-1].observation_is_error
        assert planted[0].action_input == planted[-1].action_input != planted[1].action_input


def test_what_is_read_again_has_changed(all_cases: list[Case]) -> None:
    """The same call as before the change shows something else."""
    for case in of(all_cases, "reread_after_edit"):
        again = case.run.steps[case.start]
        earlier = [
            step.observation
            for step in case.run.steps[: case.start]
            if (step.action, step.action_input) == (again.action, again.action_input)
        ]
        assert earlier
        assert again.observation not in earlier


def test_steady_debugging_brings_news_every_time(all_cases: list[Case]) -> None:
    """No call has the same result twice but the edits, which have none."""
    for case in of(all_cases, "steady_debugging"):
        seen = Counter(
            (step.action_input, step.observation)
            for step in case.run.steps[case.start : case.stop]
            if step.action and "sed -i" not in (step.action_input or "")
        )
        assert max(seen.values()) == 1
