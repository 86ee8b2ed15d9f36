"""Near misses: what a lookup compared and did not give, for those who may know of it."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasonblocks.engine.answers import NearMiss, Retrieval
from reasonblocks.engine.index.opening import MakeIndex
from reasonblocks.engine.patterns.retrieval import GATES
from reasonblocks.engine.principal import Principal
from reasonblocks.engine.requests import PatternCreate, RetrieveRequest
from support.parts import Parts, WordEmbeddings, opened

ADMIN = Principal("admin")
RED = Principal("key-red", "red")
TEN = "pelican walnut tractor violin glacier pepper lantern saddle comet orchid".split()
CONTEXT = " ".join(TEN)


def sharing(number: int) -> str:
    """A text at a cosine of so many tenths to the context."""
    return " ".join(TEN[:number] + [f"{word}s" for word in TEN[number:]])


async def add(parts: Parts, tier: str, text: str, principal: Principal = ADMIN, **more: Any) -> str:
    """A pattern that is compared by a text."""
    key = {"e1": "task_context_embedding_text", "e2": "diagnosis", "e3": "instruction"}[tier]
    fields = {key: text, **more.pop("fields", {})} | ({"observation": "seen"} if tier == "e1" else {})
    request = PatternCreate(tier, fields, **more)  # type: ignore[arg-type]
    return (await parts.patterns.create(principal, request)).pattern_id


async def ask(parts: Parts, tier: str, context: str = CONTEXT, principal: Principal = RED, **more: Any) -> Retrieval:
    """What a lookup answers that asks for near misses."""
    request = RetrieveRequest(context, tier, **{"near_misses": 3} | more)  # type: ignore[arg-type]
    return await parts.retriever.retrieve(principal, request)


def missed(answer: Retrieval) -> list[tuple[str, float, float | None, str]]:
    """Id, similarity, gate and reason of each near miss."""
    assert isinstance(answer.near_misses, list)
    return [(one.pattern_id, one.similarity, one.gate, one.reason) for one in answer.near_misses]


@pytest.fixture
async def parts(tmp_path: Path, make_index: MakeIndex | None) -> AsyncIterator[Parts]:
    """An empty library, with an embedder whose cosines can be told beforehand; on either index."""
    async with opened(tmp_path, WordEmbeddings(), make_index=make_index) as parts:
        yield parts


async def test_what_is_rejected_says_why_the_nearest_first(parts: Parts) -> None:
    """Not among the first, silent until its failure is named, below its own gate, below that of its tier."""
    best = await add(parts, "e2", sharing(10), failure_type="loop")
    late = await add(parts, "e2", " ".join(reversed(TEN)), failure_type="loop", gate_threshold=0.1)
    waits = await add(parts, "e2", sharing(9), failure_type="loop", fields={"needs_failure_type": True})
    picky = await add(parts, "e2", sharing(8), gate_threshold=0.95, fields={"title": "Too\nproud " * 20})
    below = await add(parts, "e2", sharing(6))
    await parts.settle()

    answer = await ask(parts, "e2", top_k=1, near_misses=10)

    (given_,) = answer.traces
    (other,) = {best, late} - {given_.pattern_id}
    assert given_.gate == 0.7
    assert missed(answer) == [
        (other, 1.0, 0.7, "top_k"),
        (waits, 0.9, 0.7, "failure_type"),
        (picky, 0.8, 0.95, "own_gate"),
        (below, 0.6, 0.7, "gate"),
    ]
    assert isinstance(answer.near_misses, list)
    assert answer.near_misses[2].title == ("Too proud " * 20)[:80]
    assert (answer.near_misses[1].failure_type, answer.not_compared) == ("loop", None)
    assert missed(await ask(parts, "e2", top_k=1, near_misses=2)) == missed(answer)[:2]
    assert [reason for *_, reason in missed(await ask(parts, "e2", failure_type="loop"))] == []


async def test_who_does_not_ask_is_told_nothing(parts: Parts) -> None:
    """The answer to an older client has not a byte more than before."""
    await add(parts, "e2", sharing(10))
    await add(parts, "e2", sharing(6))
    await parts.settle()
    for near in (None, 0):
        shown = msgspec.to_builtins(await ask(parts, "e2", near_misses=near))
        assert shown.keys() == {"traces"}
        assert "gate" not in shown["traces"][0]
        nothing = msgspec.to_builtins(await ask(parts, "e1", near_misses=near))
        assert nothing == {"traces": []}


async def test_where_nothing_was_compared_that_is_said_and_true(tmp_path: Path) -> None:
    """No words, no patterns, or too few words in common: then nothing is embedded."""
    words = WordEmbeddings()
    async with opened(tmp_path, words) as parts:
        await add(parts, "e2", CONTEXT, failure_type="loop")
        await parts.settle()
        words.embedded.clear()
        for reason, tier, context, more in (
            ("no_context", "e2", " \n", {}),
            ("no_patterns", "e1", CONTEXT, {}),
            ("no_patterns", "e2", CONTEXT, {"failure_type": "drift"}),
            ("few_words", "e2", "marble falcon ginger anchor velvet", {}),
        ):
            answer = await ask(parts, tier, context, **more)
            assert (answer.traces, answer.near_misses, answer.not_compared) == ([], [], reason)
        assert words.embedded == []


async def test_rules_beyond_those_wanted_are_named_without_comparing(parts: Parts) -> None:
    """In their order, with no similarity and no gate."""
    names = [await add(parts, "e3", f"rule number {number}") for number in range(5)]
    await parts.settle()
    answer = await ask(parts, "e3", "", top_k=2, near_misses=2)
    assert [trace.pattern_id for trace in answer.traces] == names[:2]
    assert missed(answer) == [(name, 0.0, None, "top_k") for name in names[2:4]]


LIBRARY = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(4, 10), st.sampled_from([None, 0.5, 0.85, 1.0])), max_size=8
)
"""Whose each pattern is, how much it has of the context, and the gate it asks for."""
numbers = itertools.count()


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Parts]:
    """One library for all examples; each has organisations of its own."""
    async with opened(tmp_path_factory.mktemp("library"), WordEmbeddings()) as parts:
        yield parts


@settings(max_examples=10)
@given(library=LIBRARY, top_k=st.integers(1, 4), near=st.integers(1, 10))
async def test_c25_near_misses_are_the_rest_of_ones_own(
    shared: Parts, library: list[tuple[str, int, float | None]], top_k: int, near: int
) -> None:
    """Whatever there is: what is given is what is given without them, the rest is told, and of others' E1 nothing."""
    number = next(numbers)
    callers = {letter: Principal("key", f"{letter}-{number}") for letter in "ab"}
    owners = {
        await add(shared, "e1", sharing(words), callers[letter], gate_threshold=gate): letter
        for letter, words, gate in library
    }
    await shared.settle()
    for letter, caller in callers.items():
        answer = await ask(shared, "e1", principal=caller, top_k=top_k, near_misses=near)
        silent = await ask(shared, "e1", principal=caller, top_k=top_k, near_misses=0)
        assert [trace.similarity for trace in answer.traces] == [trace.similarity for trace in silent.traces]
        told: list[NearMiss] = answer.near_misses or []
        seen = [one.pattern_id for one in (*answer.traces, *told)]
        own = [name for name, owner in owners.items() if owner == letter]
        assert len(seen) == len(set(seen))
        assert set(seen) <= set(own)
        assert len(told) == min(near, len(own) - len(answer.traces))
        assert [one.similarity for one in told] == sorted((one.similarity for one in told), reverse=True)
        for one in told:
            passes = one.similarity >= (one.gate or 0.0) >= GATES["e1"]
            assert passes == (one.reason == "top_k")
            assert not passes or len(answer.traces) == top_k
