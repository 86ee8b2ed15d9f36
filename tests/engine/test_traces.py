"""Traces: both forms are kept, the newest of an id counts, and each org has its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from engine.store.opened import Store, opened
from reasonblocks.engine.errors import Invalid
from reasonblocks.engine.principal import LOCAL, Principal
from reasonblocks.engine.requests import TraceUpload
from reasonblocks.engine.store.values import load
from reasonblocks.engine.traces import Traces
from support.cluster import Place

ACME, RIVAL, ADMIN = Principal("1", "acme"), Principal("2", "rival"), Principal("3")


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    async with opened(place) as store:
        yield store


@pytest.fixture
def traces(store: Store) -> Traces:
    return Traces(store.transactions)


def upload(**fields: Any) -> TraceUpload:
    return msgspec.convert(fields, TraceUpload)


async def kept(store: Store) -> list[tuple[Any, ...]]:
    return await store.query("SELECT org_id, trace_id, outcome, step_count FROM traces ORDER BY id")


async def test_trace_with_steps(traces: Traces, store: Store) -> None:
    """What was sent is kept whole."""
    step = {"step_index": 0, "thought": "Look.", "difficulty": 0.5, "state": "NORMAL", "tokens_used": 12}
    receipt = await traces.store(ACME, upload(trace_id="t", steps=[step], outcome="success"))
    assert (receipt.trace_id, receipt.stored, receipt.steps) == ("t", True, 1)
    assert await kept(store) == [("acme", "t", "success", 1)]
    body = load((await store.query("SELECT body FROM traces"))[0][0])
    assert {name: value for name, value in body["steps"][0].items() if value is not None} == step


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [({"trace_id": "t", "run_id": "r"}, "t"), ({"run_id": "r"}, "r"), ({"trace_id": "", "run_id": "r"}, "r")],
)
async def test_manifest_names_its_trace(traces: Traces, manifest: dict[str, str], expected: str) -> None:
    """The id of a manifest is its trace_id, else its run_id."""
    receipt = await traces.store(LOCAL, upload(manifest=manifest, calls=[{"a": 1}, {}]))
    assert (receipt.trace_id, receipt.steps) == (expected, 2)


async def test_manifest_without_an_id_gets_one(traces: Traces) -> None:
    """Two of them are two traces."""
    first = await traces.store(LOCAL, upload(manifest={}, calls=[]))
    second = await traces.store(LOCAL, upload(manifest={}, calls=[]))
    assert first.trace_id != second.trace_id


async def test_newest_of_an_id_counts(traces: Traces, store: Store) -> None:
    """What is sent again replaces what was there, in the same org only."""
    for principal in (ACME, RIVAL):
        await traces.store(principal, upload(trace_id="t", steps=[]))
    await traces.store(ACME, upload(trace_id="t", steps=[{"step_index": 0}], outcome="failure: x"))
    assert await kept(store) == [("acme", "t", "failure: x", 1), ("rival", "t", None, 0)]


async def test_c25_only_an_admin_names_the_org(traces: Traces, store: Store) -> None:
    """The org of a key stands above what the request says."""
    await traces.store(ACME, upload(trace_id="a", steps=[], org_id="rival"))
    await traces.store(ADMIN, upload(trace_id="b", steps=[], org_id="rival"))
    await traces.store(ADMIN, upload(trace_id="c", steps=[]))
    assert [row[:2] for row in await kept(store)] == [("acme", "a"), ("rival", "b"), ("default", "c")]


@pytest.mark.parametrize(
    ("fields", "location"),
    [
        ({}, ("steps",)),
        ({"trace_id": "t", "calls": []}, ("steps",)),
        ({"steps": []}, ("trace_id",)),
        ({"manifest": {"trace_id": 5}}, ("manifest", "trace_id")),
        ({"manifest": {"run_id": "a b"}}, ("manifest", "run_id")),
        ({"manifest": {"a": [[[]] * 2] * 2, "run_id": "x" * 257}}, ("manifest", "run_id")),
    ],
)
async def test_trace_that_makes_no_sense_is_refused(
    traces: Traces, store: Store, fields: dict[str, Any], location: tuple[str, ...]
) -> None:
    """The error names the field."""
    with pytest.raises(Invalid) as refusal:
        await traces.store(LOCAL, upload(**fields))
    assert refusal.value.location == location
    assert await kept(store) == []


async def test_manifest_that_is_nested_too_deeply_is_refused(traces: Traces) -> None:
    """What could not be read again is not stored."""
    nested: list[Any] = []
    for _ in range(500):
        nested = [nested]
    with pytest.raises(Invalid, match="nested deeper"):
        await traces.store(LOCAL, upload(manifest={"nested": nested}))
