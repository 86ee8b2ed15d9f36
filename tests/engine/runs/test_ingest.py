"""What agents report is stored once, in order, whoever sends it how often."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from engine.runs.house import ACME, ADMIN, OPS, RIVAL, WEB, House, finish, start, step
from reasonblocks.engine.errors import Invalid, NotFound
from reasonblocks.engine.principal import LOCAL
from reasonblocks.limits import MAX_EVENTS

FACTS = {
    "agent_name": "mender",
    "task": "Mend the build.",
    "model": "small",
    "framework": "langchain",
    "codebase_id": "shop",
    "org_id": "acme",
    "project_id": "web",
    "task_profile": "qa",
    "metadata": {"ticket": 7, "nested": {"list": [1, 2.5, None, "ü"]}},
}
STEP = {
    "action": "read_file",
    "action_input": '{"path": "a.py"}',
    "thought": "Look at the file.",
    "observation": "def a(): ...",
    "is_error": True,
    "tokens": 30,
    "input_tokens": 20,
    "output_tokens": 10,
    "cache_read_tokens": 5,
    "step_model": "small",
    "injections": ["Notice"],
    "injection_sources": ["E3Injection"],
    "intervention_texts": ["Notice the loop."],
    "monitors_fired": ["semantic_loop"],
    "failure_type": "loop",
    "metadata": {"reasonblocks": {"composite": 0.2, "errors": ["é"]}},
}


def fields_of(answer: msgspec.Struct, names: dict[str, Any]) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in names}


# -- one event ---------------------------------------------------------------------------------------------


async def test_c02_run_start_keeps_every_field(house: House) -> None:
    """A run has all that its start says."""
    run = await house.start(principal=ADMIN, **FACTS)
    assert fields_of(run, FACTS) == FACTS
    assert (run.status, run.outcome, run.finished_at, run.step_count, run.total_tokens) == ("running", None, None, 0, 0)
    shown = await house.show(principal=ADMIN)
    assert fields_of(shown, FACTS) == FACTS


async def test_run_start_has_the_defaults_of_the_wire(house: House) -> None:
    """What is left out, or null, is empty or the default."""
    run = await house.start(agent_name=None, metadata=None)
    assert (run.agent_name, run.org_id, run.project_id, run.task_profile, run.metadata) == (
        "",
        "default",
        "default",
        "coding",
        {},
    )


async def test_c34_step_keeps_every_field(house: House) -> None:
    """A step is shown as it was sent."""
    await house.start()
    await house.step(0, **STEP)
    run = await house.show()
    assert fields_of(run.steps[0], STEP) == STEP
    assert (run.step_count, run.total_tokens) == (1, 30)


async def test_run_start_again_changes_nothing_that_was_said(house: House) -> None:
    """A second start fills in what was open, and is no new run."""
    first = await house.start(task="Mend it.")
    second = await house.start(task="Break it.", agent_name="mender", metadata={"a": 1})
    assert (second.task, second.agent_name, second.metadata) == ("Mend it.", "mender", {"a": 1})
    third = await house.start(agent_name="breaker", metadata={"b": 2})
    assert (third.agent_name, third.metadata) == ("mender", {"a": 1})
    assert first.started_at == third.started_at
    assert len(await house.runs.list(LOCAL)) == 1


async def test_steps_are_idempotent_and_the_first_one_wins(house: House) -> None:
    """A step that is sent again changes nothing and is answered as the first time."""
    await house.start()
    scores = await house.step(0, thought="first", tokens=5)
    assert await house.step(0, thought="second", tokens=7) == scores
    run = await house.show()
    assert [shown.thought for shown in run.steps] == ["first"]
    assert (run.step_count, run.total_tokens) == (1, 5)


async def test_tokens_are_those_in_and_out_where_no_sum_is_given(house: House) -> None:
    """The total of a run counts steps that only have the parts."""
    await house.start()
    await house.step(0, input_tokens=20, output_tokens=3)
    assert (await house.show()).total_tokens == 23


async def test_absurd_numbers_of_tokens_are_kept_within_bounds(house: House) -> None:
    """No sum grows beyond what a database or JSON can hold."""
    await house.start()
    receipt = await house.events(*(step(index, tokens=2**53) for index in range(500)))
    again = await house.events(*(step(index, tokens=2**53) for index in range(250, 750)))
    assert (receipt.accepted, again.accepted) == (500, 500)
    run = await house.show()
    assert (run.step_count, run.total_tokens) == (750, 2**53)
    assert (await house.runs.summary(LOCAL)).total_tokens == 2**53


async def test_event_of_an_unknown_run_is_refused(house: House) -> None:
    """The error names the run and what to do."""
    for attempt in (lambda: house.step(0, "ghost"), lambda: house.finish("success", "ghost"), lambda: house.show("x")):
        with pytest.raises(NotFound, match=r"unknown run '(ghost|x)'; send its run_start first"):
            await attempt()


async def test_c05_the_last_finish_counts(house: House) -> None:
    """An outcome is replaced by one that is told later."""
    await house.start()
    run = await house.finish("success")
    assert (run.status, run.outcome) == ("finished", "success")
    assert run.finished_at is not None
    assert (await house.finish("failure: ValueError")).outcome == "failure: ValueError"
    assert (await house.show()).outcome == "failure: ValueError"


async def test_c06_abandoned_never_replaces_an_outcome(house: House) -> None:
    """Whoever says that a finished run was abandoned changes nothing."""
    await house.start()
    before = await house.finish("success")
    after = await house.finish("abandoned")
    assert (after.outcome, after.finished_at) == ("success", before.finished_at)
    await house.events(finish("abandoned"))
    assert (await house.show()).outcome == "success"


async def test_c06_an_outcome_replaces_abandoned(house: House) -> None:
    """A run that was given up and ends after all has the outcome it ended with."""
    await house.start()
    assert (await house.finish("abandoned")).outcome == "abandoned"
    assert (await house.finish("success")).outcome == "success"


async def test_c06_a_sign_of_life_lifts_abandoned_and_nothing_else(house: House) -> None:
    """A step of a run that was given up opens it again; one that comes after the end does not."""
    await house.start()
    await house.finish("abandoned")
    await house.step(0)
    assert (await house.show()).status == "running"
    await house.finish("success")
    await house.step(1)
    run = await house.show()
    assert (run.status, run.outcome, run.step_count) == ("finished", "success", 2)


# -- many events -------------------------------------------------------------------------------------------


async def test_batch_is_applied_in_order(house: House) -> None:
    """Start, steps and finish of several runs in one batch are what they are one by one."""
    receipt = await house.events(
        start("a", task="A"),
        step(0, "a", thought="first"),
        start("b"),
        step(0, "b"),
        finish("failure: X", "a"),
        step(1, "a"),
        finish("success", "a"),
        step(0, "a", thought="second"),
    )
    assert (receipt.accepted, receipt.rejected) == (8, [])
    run = await house.show("a")
    assert (run.outcome, [shown.thought for shown in run.steps]) == ("success", ["first", ""])
    assert (await house.show("b")).step_count == 1


async def test_event_before_its_run_start_is_refused(house: House) -> None:
    """Order counts: a step before the start of its run is not applied, one after it is."""
    receipt = await house.events(step(0), finish("success"), start(), step(1))
    assert receipt.accepted == 2
    assert [(refused.index, "unknown run 'r'" in refused.detail) for refused in receipt.rejected] == [
        (0, True),
        (1, True),
    ]
    run = await house.show()
    assert (run.outcome, [shown.step_index for shown in run.steps]) == (None, [1])


BAD = {
    "no object": (b"5", "Expected `object`"),
    "no JSON": (b"{", "truncated"),
    "no type": (b'{"run_id":"r"}', "`type`"),
    "unknown type": (b'{"type":"run_begin","run_id":"r"}', "'run_begin' - at `$.type`"),
    "no run": (b'{"type":"step","step_index":0}', "`run_id`"),
    "run of the wrong form": (b'{"type":"run_start","run_id":"a b"}', "`$.run_id`"),
    "step of the wrong type": (b'{"type":"step","run_id":"r","step_index":"0"}', "`$.step_index`"),
    "step out of range": (b'{"type":"step","run_id":"r","step_index":10001}', "`$.step_index`"),
    "negative tokens": (b'{"type":"step","run_id":"r","step_index":5,"tokens":-1}', "`$.tokens`"),
    "metadata that is a list": (b'{"type":"step","run_id":"r","step_index":5,"metadata":[1]}', "`$.metadata`"),
    "broken metadata": (b'{"type":"step","run_id":"r","step_index":5,"metadata":{"a":"\xff"}}', "metadata"),
    "broken text": (b'{"type":"step","run_id":"r","step_index":5,"thought":"\xff"}', "utf-8"),
    "long text": (b'{"type":"step","run_id":"r","step_index":5,"thought":"' + b"a" * 64_001 + b'"}', "`$.thought`"),
    "long outcome": (b'{"type":"run_finish","run_id":"r","outcome":"' + b"a" * 65 + b'"}', "`$.outcome`"),
    "deep metadata": (
        b'{"type":"step","run_id":"r","step_index":5,"metadata":{"a":' + b"[" * 150 + b"]" * 150 + b"}}",
        "nested deeper than 100",
    ),
    "deep start": (
        b'{"type":"run_start","run_id":"r","metadata":{"a":' + b"[" * 150 + b"]" * 150 + b"}}",
        "nested deeper than 100",
    ),
    "bottomless": (b'{"type":"step","run_id":"r","metadata":' + b"[" * 100_000, "nested too deeply"),
}


NO_JSON = {"no JSON", "bottomless"}
"""A body with one of these in it is none."""


@pytest.mark.parametrize(("bad", "named"), BAD.values(), ids=BAD)
async def test_bad_event_is_named_and_spoils_no_other(house: House, bad: bytes, named: str) -> None:
    """Its neighbours are stored, and the detail says what is wrong with which field."""
    events = [msgspec.json.encode(event) for event in (start(), step(0), step(1))]
    receipt = await house.runs.events(LOCAL, [*events[:2], bad, *events[2:]])
    assert receipt.accepted == 3
    assert [refused.index for refused in receipt.rejected] == [2]
    assert named in receipt.rejected[0].detail
    assert [shown.step_index for shown in (await house.show()).steps] == [0, 1]


@pytest.mark.parametrize("kind", sorted(BAD.keys() - NO_JSON))
async def test_bad_event_in_a_body_is_refused_in_the_same_words(house: House, kind: str) -> None:
    """The two ways in differ in nothing but speed."""
    events = [msgspec.json.encode(start()), BAD[kind][0], msgspec.json.encode(step(0))]
    by_list = await house.runs.events(LOCAL, events)
    assert await house.runs.events_in(LOCAL, b'{"events":[' + b",".join(events) + b"]}") == by_list
    assert by_list.accepted == 2


async def test_whole_body_is_the_same_as_its_events(house: House) -> None:
    """The quicker way in stores the same."""
    events = [start(**{**FACTS, "org_id": None}), step(0, **STEP), finish("success")]
    receipt = await house.runs.events_in(LOCAL, msgspec.json.encode({"events": events}))
    assert (receipt.accepted, receipt.rejected) == (3, [])
    run = await house.show()
    assert fields_of(run.steps[0], STEP) == STEP
    assert (run.task, run.outcome) == (FACTS["task"], "success")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"events":5}', b'{"events":[{}', b"\xff"])
async def test_body_that_is_none_is_refused(house: House, body: bytes) -> None:
    """What is no object with events in it is the caller's error, in the decoder's words."""
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)):
        await house.runs.events_in(LOCAL, body)


async def test_body_without_a_bottom_is_refused(house: House) -> None:
    """Valid JSON that nobody can decode is the caller's error as well, unless it is only in an event."""
    deep = b"[" * 10_000 + b"]" * 10_000
    with pytest.raises(RecursionError):
        await house.runs.events_in(LOCAL, b'{"events":[],"more":' + deep + b"}")
    receipt = await house.runs.events_in(LOCAL, b'{"events":[' + deep + b"]}")
    assert (receipt.accepted, [one.index for one in receipt.rejected]) == (0, [0])


async def test_batch_is_bounded(house: House) -> None:
    """More than 500 events are refused as a whole, none at all are fine."""
    events = [msgspec.json.encode(start(f"r{number}")) for number in range(MAX_EVENTS + 1)]
    with pytest.raises(Invalid, match="501 events at once; expected at most 500"):
        await house.runs.events(LOCAL, events)
    with pytest.raises(msgspec.ValidationError):
        await house.runs.events_in(LOCAL, b'{"events":[' + b",".join(events) + b"]}")
    assert (await house.events()).accepted == 0
    assert await house.runs.list(LOCAL) == []


async def test_metadata_of_a_step_is_kept_as_it_came(house: House) -> None:
    """Whatever JSON it is: large numbers, odd keys, nothing."""
    odd = {"": {"a\u0000b": [2**80, 1e-300, True, None, {}, "\U0001f600"]}}
    await house.events(start(), step(0, metadata=odd), step(1, metadata=None), step(2))
    assert [shown.metadata for shown in (await house.show()).steps] == [odd, {}, {}]


@pytest.mark.parametrize("key", ["a", "interrupted"])
async def test_number_of_any_length_spoils_no_other_event(house: House, key: str) -> None:
    """Whatever becomes of the events it is in, their neighbours are stored and the run can be shown."""
    metadata = f'{{"{key}": {"9" * 5_000}}}'.encode()
    told = [
        b'{"type": "run_start", "run_id": "r"}',
        b'{"type": "step", "run_id": "r", "step_index": 0, "metadata": %s}' % metadata,
        b'{"type": "run_start", "run_id": "other", "metadata": %s}' % metadata,
        b'{"type": "step", "run_id": "r", "step_index": 1}',
    ]
    for receipt in (
        await house.runs.events(LOCAL, told),
        await house.runs.events_in(LOCAL, b'{"events": [%s]}' % b", ".join(told)),
    ):
        assert {one.index for one in receipt.rejected} <= {1, 2}
    run = await house.show()
    assert run.steps[-1].step_index == 1
    assert msgspec.json.encode(run)


async def test_number_of_any_length_that_is_stored_can_be_shown(house: House) -> None:
    """Where it got into the tables it is read as a number beyond all floats."""
    await house.events(start(), step(0))
    await house.store.execute("UPDATE steps SET metadata = :text", text=f'{{"a": {"9" * 5_000}}}')
    run = await house.show()
    assert run.steps[0].metadata == {"a": float("inf")}
    assert msgspec.json.encode(run)


async def test_one_step_that_came_before_sends_no_other_run_behind(house: House) -> None:
    """Of a batch only the runs with repeated steps are looked up in the tables again."""
    await house.events(start("a"), start("b"), step(0, "a"), step(0, "b"))
    house.runs.scorer._waiting.clear()
    await house.events(step(0, "a"), step(1, "a"), step(1, "b"), step(2, "b"))
    assert [run.run_id for run in house.runs.scorer._waiting] == ["b"]
    assert [run.run_id for run in house.runs.scorer._behind] == ["a"]
    assert [(await house.show(run)).step_count for run in ("a", "b")] == [2, 3]


async def test_number_beyond_all_floats_does_not_spoil_a_run(house: House) -> None:
    """It is refused in the words of the single route: nothing turns into null unseen."""
    receipt = await house.runs.events(
        LOCAL,
        [msgspec.json.encode(start()), b'{"type":"step","run_id":"r","step_index":0,"metadata":{"a":1e999}}'],
    )
    assert receipt.accepted == 1
    assert "Number out of range - at `$.metadata[...]`" in receipt.rejected[0].detail
    assert (await house.show()).steps == []


async def test_batch_sent_again_changes_nothing(house: House) -> None:
    """A batch whose answer got lost may be sent again, and one that overlaps it."""
    batch = [start(), *(step(index, thought=f"thought {index}", tokens=2) for index in range(20)), finish("success")]
    await house.events(*batch)
    before = await house.show()
    receipt = await house.events(*batch)
    after = await house.show()
    assert receipt.accepted == len(batch)
    assert (after.steps, after.step_count, after.total_tokens) == (before.steps, 20, 40)
    await house.events(*(step(index, thought="later", tokens=2) for index in range(10, 30)))
    run = await house.show()
    assert (run.step_count, run.total_tokens) == (30, 60)
    assert [shown.thought for shown in run.steps][8:12] == ["thought 8", "thought 9", "thought 10", "thought 11"]


# -- whose run it is ---------------------------------------------------------------------------------------


async def test_c25_run_ids_of_two_orgs_do_not_meet(house: House) -> None:
    """The same run id is two runs in two orgs, whatever org the requests name."""
    await house.start(principal=ACME, org_id="rival", task="ours")
    await house.start(principal=RIVAL, task="theirs")
    await house.step(0, principal=RIVAL, org_id="acme", thought="theirs")
    await house.finish("success", principal=RIVAL, org_id="acme")
    ours, theirs = await house.show(principal=ACME, org_id="rival"), await house.show(principal=RIVAL)
    assert (ours.org_id, ours.task, ours.outcome, ours.step_count) == ("acme", "ours", None, 0)
    assert (theirs.org_id, theirs.task, theirs.outcome, theirs.step_count) == ("rival", "theirs", "success", 1)


async def test_c25_run_of_another_org_is_unknown(house: House) -> None:
    """The answer is the same as for a run that does not exist."""
    await house.start("real", principal=ACME)
    for attempt in (
        lambda run_id: house.show(run_id, RIVAL),
        lambda run_id: house.step(0, run_id, RIVAL, "acme"),
        lambda run_id: house.finish("success", run_id, RIVAL, "acme"),
    ):
        with pytest.raises(NotFound) as real:
            await attempt("real")
        with pytest.raises(NotFound) as ghost:
            await attempt("ghost")
        assert str(real.value) == str(ghost.value).replace("ghost", "real")
    receipt = await house.events(step(0, "real"), finish("x", "real"), principal=RIVAL)
    assert receipt.accepted == 0
    assert (await house.show("real", ACME)).step_count == 0


async def test_admin_finds_the_only_run_of_an_id(house: House) -> None:
    """Where one org has a run of that id, an admin need not say which."""
    await house.start(principal=ACME)
    await house.step(0, principal=ADMIN)
    assert (await house.events(step(1), finish("success"), principal=ADMIN)).accepted == 2
    run = await house.show(principal=ADMIN)
    assert (run.org_id, run.step_count, run.outcome) == ("acme", 2, "success")


async def test_admin_means_the_default_org_where_several_have_the_id(house: House) -> None:
    """Else an admin has to say which, and is told so."""
    await house.start(principal=ACME)
    await house.start(principal=RIVAL)
    for attempt in (lambda: house.show(principal=ADMIN), lambda: house.step(0, principal=ADMIN)):
        with pytest.raises(Invalid, match="several organisations have a run 'r'; say which one is meant with org_id"):
            await attempt()
    receipt = await house.events(step(0), principal=ADMIN)
    assert "org_id" in receipt.rejected[0].detail
    await house.step(0, principal=ADMIN, org_id="rival")
    assert (await house.show(principal=RIVAL)).step_count == 1
    await house.start(principal=ADMIN)
    assert (await house.show(principal=ADMIN)).org_id == "default"


async def test_admin_is_understood_in_a_batch_as_one_by_one(house: House) -> None:
    """Which run an event means is decided when its turn comes."""
    receipt = await house.events(
        start(org_id="acme"), step(0), start(org_id="rival"), step(1), start(), step(2), principal=ADMIN
    )
    assert [refused.index for refused in receipt.rejected] == [3]
    counts = {run.org_id: run.step_count for run in await house.runs.list(ADMIN)}
    assert counts == {"acme": 1, "rival": 0, "default": 1}


async def test_key_of_a_project_writes_there_and_sees_nothing_else(house: House) -> None:
    """Whatever project it names, and also for runs of its own org."""
    run = await house.start("mine", WEB, project_id="ops")
    assert run.project_id == "web"
    await house.start("theirs", OPS)
    assert [listed.run_id for listed in await house.runs.list(WEB, project_id="ops")] == ["mine"]
    for attempt in (
        lambda: house.show("theirs", WEB),
        lambda: house.step(0, "theirs", WEB),
        lambda: house.finish("success", "theirs", WEB),
        lambda: house.start("theirs", WEB),
    ):
        with pytest.raises(NotFound, match="unknown run 'theirs'"):
            await attempt()
    assert {listed.run_id for listed in await house.runs.list(ACME)} == {"mine", "theirs"}


async def test_org_and_project_come_into_being_with_their_first_run(house: House) -> None:
    """They are there to be listed, once each."""
    await house.events(start("a", project_id="web"), start("b", project_id="web"), principal=ACME)
    await house.start("c", RIVAL)
    assert await house.store.query("SELECT org_id, project_id FROM projects ORDER BY 1, 2") == [
        ("acme", "web"),
        ("rival", "default"),
    ]
