"""Findings, found by what they say: those of one organisation and one codebase."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from sqlalchemy import delete, insert

from reasonblocks.engine.index.findings import KIND
from reasonblocks.engine.index.follower import record_changes
from reasonblocks.engine.index.opening import MakeIndex
from reasonblocks.engine.store.schema import findings
from support.parts import Parts, opened


async def store(parts: Parts, finding_id: str, content: str, org_id: str = "red", codebase_id: str = "code") -> None:
    """A finding is written."""
    row = {"finding_id": finding_id, "org_id": org_id, "project_id": "default", "codebase_id": codebase_id}
    async with parts.database.writing() as connection:
        await connection.execute(insert(findings), {**row, "content": content, "created_at": 1.0, "updated_at": 1.0})
        await record_changes(connection, KIND, [finding_id])
    parts.follower.notify()


async def test_c51_a_finding_is_found_at_once_with_its_similarity(tmp_path: Path, make_index: MakeIndex | None) -> None:
    """The nearest first, no more than asked for; who stores and asks finds what was stored."""
    async with opened(tmp_path, make_index=make_index) as parts:
        await store(parts, "half", "tractor violin marble falcon")
        await store(parts, "whole", "tractor violin glacier pepper")

        found = await parts.findings.search("red", "code", "tractor violin glacier pepper", 5)

        assert found == [("whole", 1.0), ("half", 0.5)]
        assert await parts.findings.search("red", "code", "tractor violin glacier pepper", 1) == [("whole", 1.0)]
        assert await parts.findings.search("red", "code", " \n", 5) == []


async def test_c51_other_organisations_and_codebases_are_not_searched(
    tmp_path: Path, make_index: MakeIndex | None
) -> None:
    """However alike their names are."""
    places = [("red", "code"), ("red", "code2"), ("blue", "code"), ('red", "code', ""), ("", 'red", "code')]
    async with opened(tmp_path, make_index=make_index) as parts:
        for number, (org_id, codebase_id) in enumerate(places):
            await store(parts, f"f{number}", "tractor violin", org_id, codebase_id)

        for number, place in enumerate(places):
            assert await parts.findings.search(*place, "tractor violin", 50) == [(f"f{number}", 1.0)]


async def test_c51_what_the_caller_may_not_see_takes_no_place(tmp_path: Path, make_index: MakeIndex | None) -> None:
    """However many nearer ones are not for the caller, those that are come back; but none below the least."""
    async with opened(tmp_path, make_index=make_index) as parts:
        for number in range(60):
            await store(parts, f"theirs{number}", "tractor violin glacier pepper")
        await store(parts, "mine", "tractor violin marble pepper")
        await store(parts, "mine-too", "tractor violin marble falcon")
        await store(parts, "mine-far", "marble falcon")
        await parts.settle()
        asked: list[int] = []

        async def admit(finding_ids: Sequence[str]) -> Collection[str]:
            asked.append(len(finding_ids))
            return [one for one in finding_ids if one.startswith("mine")]

        async def found(top_k: int, least: float) -> list[str]:
            hits = await parts.findings.search(
                "red", "code", "tractor violin glacier pepper", top_k, least=least, admit=admit
            )
            return [name for name, _ in hits]

        assert await found(1, 0.5) == ["mine"]
        assert asked == [9, 36, 62]
        assert await found(5, 0.5) == ["mine", "mine-too"]
        assert await found(5, 0.0) == ["mine", "mine-too", "mine-far"]


async def test_c51_a_deleted_finding_is_not_found(tmp_path: Path, make_index: MakeIndex | None) -> None:
    """Nor is one that has nothing to say."""
    async with opened(tmp_path, make_index=make_index) as parts:
        await store(parts, "gone", "tractor violin")
        await store(parts, "blank", "   ")
        await parts.settle()
        async with parts.database.writing() as connection:
            await connection.execute(delete(findings).where(findings.c.finding_id == "gone"))
            await record_changes(connection, KIND, ["gone"])

        assert await parts.findings.search("red", "code", "tractor violin", 5) == []
        assert parts.index.state() == "ok"
