"""Lookups: the right patterns, for those they belong to, past their gates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reasonblocks.engine.answers import Trace
from reasonblocks.engine.errors import Invalid
from reasonblocks.engine.index.opening import MakeIndex
from reasonblocks.engine.principal import LOCAL, Principal
from reasonblocks.engine.requests import PatternChange, PatternCreate, RetrieveRequest
from reasonblocks.engine.store.database import Database
from support.parts import Parts, WordEmbeddings, opened

ADMIN = Principal("admin")
RED, BLUE = Principal("key-red", "red"), Principal("key-blue", "blue")
TEN = "pelican walnut tractor violin glacier pepper lantern saddle comet orchid".split()
"""Words that our embedder keeps apart: two texts that share n of ten are at cosine n / 10."""
OTHERS = "marble falcon ginger anchor velvet".split()


def sharing(number: int) -> str:
    """A text of ten words that shares so many with the ten."""
    return " ".join(TEN[:number] + [f"{word}s" for word in TEN[number:]])


def test_the_words_are_kept_apart() -> None:
    """What the tests below rest on."""
    words = WordEmbeddings()
    base = words.embed_query(" ".join(TEN))
    for number in (6, 7, 8, 9, 10):
        other = words.embed_query(sharing(number))
        assert sum(a * b for a, b in zip(base, other, strict=True)) == pytest.approx(number)
        assert sum(a * a for a in other) == pytest.approx(10)


@dataclass
class Library:
    """Some parts, and short words for what is done with them."""

    parts: Parts
    words: WordEmbeddings

    async def add(self, tier: str, text: str, principal: Principal = ADMIN, **settings: Any) -> str:
        """A pattern that is compared by a text."""
        key = {"e1": "task_context_embedding_text", "e2": "diagnosis", "e3": "instruction"}[tier]
        fields = {key: text, "observation": "seen"} if tier == "e1" else {key: text}
        request = PatternCreate(tier, fields, **settings)  # type: ignore[arg-type]
        return (await self.parts.patterns.create(principal, request)).pattern_id

    async def ask(self, tier: str | None, context: str, principal: Principal = LOCAL, **settings: Any) -> list[Trace]:
        """What a lookup brings."""
        request = RetrieveRequest(context, tier, **settings)  # type: ignore[arg-type]
        return (await self.parts.retriever.retrieve(principal, request)).traces

    async def found(self, tier: str, context: str, principal: Principal = LOCAL, **settings: Any) -> list[str]:
        """The ids of what a lookup brings."""
        return [trace.pattern_id for trace in await self.ask(tier, context, principal, **settings)]

    async def settle(self) -> None:
        """Have lookups know everything, and forget what was embedded for it."""
        await self.parts.settle()
        self.words.embedded.clear()


@pytest.fixture
async def library(tmp_path: Path, make_index: MakeIndex | None) -> AsyncIterator[Library]:
    """An empty library, with an embedder whose cosines can be told beforehand; on either index."""
    words = WordEmbeddings()
    async with opened(tmp_path, words, make_index=make_index) as parts:
        yield Library(parts, words)


# -- gates -----------------------------------------------------------------------------------------


async def test_c20_e1_needs_08(library: Library) -> None:
    """At 0.8 it passes, at 0.7 it does not."""
    name = await library.add("e1", " ".join(TEN), LOCAL)
    await library.settle()

    traces = await library.ask("e1", sharing(8))
    assert [(trace.pattern_id, trace.similarity, trace.cosine) for trace in traces] == [(name, 0.8, 0.8)]
    assert await library.found("e1", sharing(7)) == []


async def test_c20_e2_needs_07(library: Library) -> None:
    """At 0.7 it passes, at 0.6 it does not."""
    name = await library.add("e2", " ".join(TEN))
    await library.settle()

    assert await library.found("e2", sharing(7)) == [name]
    assert await library.found("e2", sharing(6)) == []


@pytest.mark.parametrize("tier", ["e1", "e2"])
async def test_c20_a_pattern_can_ask_for_more_but_not_for_less(library: Library, tier: str) -> None:
    """Its own threshold counts where it is higher than the tier's."""
    strict = await library.add(tier, " ".join(TEN), ADMIN, gate_threshold=0.9)
    lenient = await library.add(tier, " ".join(TEN), ADMIN, gate_threshold=0.1)
    await library.settle()

    assert set(await library.found(tier, sharing(9), ADMIN)) == {strict, lenient}
    assert await library.found(tier, sharing(8), ADMIN) == [lenient]
    assert await library.found(tier, sharing(6), ADMIN) == []


async def test_c20_patterns_that_hold_themselves_back_do_not_hide_the_next(library: Library) -> None:
    """However many nearer ones ask for more than they get, the one that is satisfied is found."""
    for _ in range(60):
        await library.add("e2", sharing(9), gate_threshold=1.0)
    name = await library.add("e2", " ".join(TEN[:7] + OTHERS[:3]))
    await library.settle()

    assert await library.found("e2", " ".join(TEN), top_k=1) == [name]


async def test_c20_the_most_similar_come_first_up_to_top_k(library: Library) -> None:
    """Five where nothing is said."""
    names = [await library.add("e2", sharing(number)) for number in (8, 10, 9, 8, 9, 10, 7)]
    await library.settle()

    similar = await library.ask("e2", " ".join(TEN), top_k=7)
    assert [trace.similarity for trace in similar] == [1.0, 1.0, 0.9, 0.9, 0.8, 0.8, 0.7]
    assert {trace.pattern_id for trace in similar} == set(names)
    assert len(await library.ask("e2", " ".join(TEN))) == 5
    assert await library.ask("e2", " ".join(TEN), top_k=2) == similar[:2]


# -- e3 --------------------------------------------------------------------------------------------


async def test_c20_e3_is_all_there_is_up_to_top_k_without_comparing(library: Library) -> None:
    """In the order they came in, with no similarity, and nothing is embedded."""
    names = [await library.add("e3", f"rule number {number}") for number in range(40)]
    await library.add("e3", "not approved", status="candidate")
    await library.settle()

    traces = await library.ask("e3", "", top_k=32)

    assert [trace.pattern_id for trace in traces] == names[:32]
    assert {(trace.similarity, trace.cosine) for trace in traces} == {(0.0, None)}
    assert library.words.embedded == []


# -- what is narrowed ------------------------------------------------------------------------------


async def test_c20_e2_is_narrowed_by_failure_type(library: Library) -> None:
    """Only patterns about it; one that is about nothing in particular is left out, an unknown type matches nothing."""
    loop = await library.add("e2", " ".join(TEN), failure_type="loop")
    drift = await library.add("e2", " ".join(TEN), failure_type="drift")
    general = await library.add("e2", " ".join(TEN))
    await library.settle()

    assert await library.found("e2", " ".join(TEN), failure_type="loop") == [loop]
    assert set(await library.found("e2", " ".join(TEN))) == {loop, drift, general}
    assert set(await library.found("e2", " ".join(TEN), failure_type="")) == {loop, drift, general}
    library.words.embedded.clear()
    assert await library.found("e2", "words of its own", failure_type="sprawl") == []
    assert await library.found("e2", "words of its own", failure_type="\ud800") == []
    assert library.words.embedded == [], "what cannot match is not embedded"


async def test_c20_e1_and_e3_are_not_narrowed(library: Library) -> None:
    """A failure type belongs to e2."""
    own = await library.add("e1", " ".join(TEN), LOCAL)
    rule = await library.add("e3", "read the error")
    await library.settle()

    assert await library.found("e1", " ".join(TEN), failure_type="loop") == [own]
    assert await library.found("e3", " ".join(TEN), failure_type="loop") == [rule]


async def test_c20_tier_and_level_are_one_thing(library: Library) -> None:
    """Either will do, both if they agree; none or two different ones are refused with the field's name."""
    rule = await library.add("e3", "read the error")
    await library.settle()

    assert await library.found("e3", "") == [rule]
    assert [trace.pattern_id for trace in await library.ask(None, "", level="e3")] == [rule]
    assert [trace.pattern_id for trace in await library.ask("e3", "", level="e3")] == [rule]
    with pytest.raises(Invalid, match="e1, e2 or e3") as missing:
        await library.ask(None, "")
    assert missing.value.location == ("tier",)
    with pytest.raises(Invalid, match="'e1' and level is 'e2'") as differing:
        await library.ask("e1", "", level="e2")
    assert differing.value.location == ("level",)


# -- whose they are --------------------------------------------------------------------------------


async def test_c25_e1_is_for_its_own_organisation(library: Library) -> None:
    """The key decides; an admin, who has no organisation, looks in the default one."""
    red = await library.add("e1", " ".join(TEN), RED)
    blue = await library.add("e1", " ".join(TEN), BLUE)
    default = await library.add("e1", " ".join(TEN), ADMIN)
    await library.settle()

    assert await library.found("e1", " ".join(TEN), RED, top_k=50) == [red]
    assert await library.found("e1", " ".join(TEN), BLUE, top_k=50) == [blue]
    assert await library.found("e1", " ".join(TEN), ADMIN, top_k=50) == [default]


async def test_c25_no_name_of_an_organisation_reaches_into_another(library: Library) -> None:
    """Whatever an organisation is called, it sees its own."""
    names = ["a", "a/b", 'a"', '["e1", "a"]', "e2", "A", "a ", "\u00e4", "'; drop table patterns"]
    principals = [Principal(f"key {name}", name) for name in names]
    own = [await library.add("e1", " ".join(TEN), principal) for principal in principals]
    await library.settle()

    for principal, pattern in zip(principals, own, strict=True):
        assert await library.found("e1", " ".join(TEN), principal, top_k=50) == [pattern]


async def test_c25_a_changed_catalogue_counts_before_the_index_has_followed(library: Library) -> None:
    """A pattern that was retired or is somebody else's is not given out, whatever the index still says."""
    name = await library.add("e2", " ".join(TEN))
    await library.settle()
    await library.parts.follower.aclose()
    await library.parts.patterns.change(ADMIN, "e2", name, PatternChange(status="retired"))

    await library.parts.catalogue.apply({name})

    assert await library.found("e2", " ".join(TEN)) == []


# -- cost ------------------------------------------------------------------------------------------


async def test_nothing_is_embedded_where_nothing_can_match(library: Library) -> None:
    """No e1 of one's own, no e2 at all, a blank context, or a context that shares no words with any pattern."""
    await library.add("e1", " ".join(TEN), RED)
    await library.settle()
    assert await library.found("e1", " ".join(TEN), BLUE) == []
    assert await library.found("e2", " ".join(TEN), RED) == []

    await library.add("e2", " ".join(TEN))
    await library.settle()
    assert await library.found("e2", "  \n ") == []
    assert await library.found("e1", "", RED) == []
    assert await library.found("e2", "reading the configuration of the web server") == []
    assert library.words.embedded == []

    await library.found("e2", sharing(7))
    assert library.words.embedded == [sharing(7)]


async def test_a_lookup_asks_no_database_and_runs_on_any_loop(library: Library) -> None:
    """An embedded agent asks on its own loop, while the engine lives on another."""
    name = await library.add("e2", " ".join(TEN))
    await library.settle()

    def elsewhere() -> list[str]:
        return asyncio.run(library.found("e2", sharing(8)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "reading", None)
        patch.setattr(Database, "writing", None)
        assert await asyncio.to_thread(elsewhere) == [name]


async def test_c27_a_trace_has_what_was_stored(library: Library) -> None:
    """All that an ETrace is made of, and fields that are the caller's own copy."""
    fields = {
        "diagnosis": " ".join(TEN),
        "intervention": "stop",
        "trigger_state": {"trajectory_description": sharing(9)},
    }
    request = PatternCreate("e2", fields, failure_type="loop", model_family="haiku")
    pattern = await library.parts.patterns.create(ADMIN, request)
    await library.settle()

    (trace,) = await library.ask("e2", sharing(9))
    assert (trace.tier, trace.level, trace.pattern_id) == ("e2", "e2", pattern.pattern_id)
    assert (trace.failure_type, trace.model_family, trace.source_trace_id) == ("loop", "haiku", None)
    assert trace.fields == fields

    trace.fields.clear()
    assert (await library.ask("e2", sharing(9)))[0].fields == fields


# -- the starter library, by our embedder ----------------------------------------------------------

STUCK = (
    "I ran the command again and got exactly the same error as the last three times. Let me try it with another flag.",
    "It still fails with the very same message. Maybe a different version of the package, or sudo? I'll clear the "
    "cache and reinstall, then retry the command.",
)
FINE = (
    "The function parses the header and returns a dataclass. I'll add a field for the encoding, extend the test for "
    "it, and then look at the callers one by one.",
)


async def test_c20_the_starter_library_speaks_up_for_an_agent_that_is_stuck_only(
    tmp_path: Path, make_index: MakeIndex | None
) -> None:
    """Real parts: an agent that repeats a failing command finds advice on loops, once the monitors have seen it.

    Words alone do not show that something was repeated: the same thoughts without a failure type find no such advice.
    """
    async with opened(tmp_path, "minilm", library=True, make_index=make_index) as parts:
        found = await parts.retriever.retrieve(
            LOCAL, RetrieveRequest("\n".join(STUCK), "e2", top_k=2, failure_type="loop")
        )
        unprompted = await parts.retriever.retrieve(LOCAL, RetrieveRequest("\n".join(STUCK), "e2", top_k=2))
        nothing = await parts.retriever.retrieve(LOCAL, RetrieveRequest("\n".join(FINE), "e2", failure_type="loop"))

    assert found.traces
    assert {trace.failure_type for trace in found.traces} == {"loop"}
    assert found.traces[0].similarity >= 0.7
    assert found.traces[0].cosine not in (None, found.traces[0].similarity), "similarity is calibrated"
    assert "loop" not in {trace.failure_type for trace in unprompted.traces}
    assert nothing.traces == []
