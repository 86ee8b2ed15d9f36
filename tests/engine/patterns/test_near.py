"""What a lookup would find and reject: those that pass are those that a lookup brings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings

from reasonblocks.engine.patterns.near import Near, near
from reasonblocks.engine.patterns.retrieval import Lookup
from reasonblocks.engine.principal import Principal
from reasonblocks.engine.requests import PatternCreate, RetrieveRequest
from support.parts import Parts, opened

ADMIN, RED = Principal("admin"), Principal("key-red", "red")
TEN = "pelican walnut tractor violin glacier pepper lantern saddle comet orchid".split()
CONTEXT = " ".join(TEN)


def sharing(number: int) -> str:
    """A text at a cosine of so many tenths to the context."""
    return " ".join(TEN[:number] + [f"{word}s" for word in TEN[number:]])


async def filled(parts: Parts) -> dict[str, str]:
    """Patterns of all kinds; what each is called by its id."""
    names = {}
    for name, tier, text, settings in (
        ("right", "e2", sharing(10), {"failure_type": "loop"}),
        ("close", "e2", sharing(6), {"failure_type": "loop"}),
        ("picky", "e2", sharing(8), {"failure_type": "loop", "gate_threshold": 0.95}),
        ("other", "e2", sharing(9), {"failure_type": "drift"}),
        ("waits", "e2", sharing(9), {"failure_type": "loop", "needs": True}),
        ("retired", "e2", sharing(10), {"failure_type": "loop", "status": "retired"}),
        ("own", "e1", sharing(9), {"org_id": "red"}),
        ("foreign", "e1", sharing(10), {"org_id": "blue"}),
    ):
        key = "diagnosis" if tier == "e2" else "task_context_embedding_text"
        fields: dict[str, Any] = {key: text} | ({"observation": "seen"} if tier == "e1" else {})
        if settings.pop("needs", False):  # type: ignore[attr-defined]
            fields["needs_failure_type"] = True
        made = await parts.patterns.create(ADMIN, PatternCreate(tier, fields, **settings))  # type: ignore[arg-type]
        names[made.pattern_id] = name
    await parts.settle()
    return names


@pytest.mark.parametrize(("tier", "failure_type"), [("e1", None), ("e2", None), ("e2", "loop"), ("e2", "churn")])
async def test_what_passes_is_what_a_lookup_brings(tmp_path: Path, tier: Any, failure_type: str | None) -> None:
    """The same patterns with the same similarities, without an index."""
    async with opened(tmp_path) as parts:
        await filled(parts)
        found = await near(parts.database, parts.embedding, Lookup(tier, "red", failure_type), CONTEXT, limit=20)
        request = RetrieveRequest(CONTEXT, tier, failure_type=failure_type, top_k=20)
        brought = (await parts.retriever.retrieve(RED, request)).traces
    passed = {one.pattern_id: one.similarity for one in found if one.rejection is None}
    assert passed == {trace.pattern_id: trace.similarity for trace in brought}
    assert bool(passed) == (failure_type != "churn")


async def test_what_is_rejected_says_why(tmp_path: Path) -> None:
    """Below the gate, below its own, about something else, or silent until its failure is named; nobody else's E1."""
    async with opened(tmp_path) as parts:
        names = await filled(parts)

        async def rejections(lookup: Lookup) -> dict[str, str | None]:
            found: list[Near] = await near(parts.database, parts.embedding, lookup, CONTEXT, limit=20)
            assert {one.gate for one in found} <= {0.7, 0.8, 0.95}
            return {names[one.pattern_id]: one.rejection for one in found}

        assert await rejections(Lookup("e2", "red", "loop")) == {
            "right": None,
            "waits": None,
            "other": "other_failure",
            "picky": "own_gate",
            "close": "gate",
        }
        assert (await rejections(Lookup("e2", "red", None)))["waits"] == "failure_type"
        assert await rejections(Lookup("e1", "red", None)) == {"own": None}
        assert await near(parts.database, parts.embedding, Lookup("e2", "red", None), "  ") == []


class Alike(Embeddings):
    """To which all texts mean the same."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One and the same vector for each."""
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        """That one."""
        return [1.0, 0.0]


async def test_few_words_in_common_keep_a_context_from_being_compared(tmp_path: Path) -> None:
    """Where the screen holds a context back, that is said of what would pass; a failure by name needs no screen."""
    async with opened(tmp_path, Alike()) as parts:
        await parts.patterns.create(ADMIN, PatternCreate("e2", {"diagnosis": CONTEXT}, failure_type="loop"))
        await parts.settle()
        for context, failure_type in (
            ("marble falcon ginger", None),
            ("marble falcon ginger", "loop"),
            (CONTEXT, None),
        ):
            (found,) = await near(parts.database, parts.embedding, Lookup("e2", "red", failure_type), context)
            request = RetrieveRequest(context, "e2", failure_type=failure_type)
            brought = (await parts.retriever.retrieve(RED, request)).traces
            assert bool(brought) == (found.rejection is None) == (failure_type is not None or context == CONTEXT)
            assert found.rejection in (None, "few_words")
