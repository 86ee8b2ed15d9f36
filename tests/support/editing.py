"""Random edits of patterns and findings; as a program, edits a data directory until it is killed."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

from sqlalchemy import delete, insert, select, update

from reasonblocks.engine.index import index as index_module
from reasonblocks.engine.index.follower import record_changes
from reasonblocks.engine.principal import Principal
from reasonblocks.engine.requests import PatternChange, PatternCreate
from reasonblocks.engine.store.schema import findings, patterns
from reasonblocks.engine.store.values import new_id
from support.parts import Parts, opened

ADMIN = Principal("admin")
WORDS = "loop drift retry cache stale token parser import shard queue lease clock probe index merge".split()
TYPES = (None, "loop", "drift", "churn")


class Editor:
    """Makes one edit after another, by chance."""

    def __init__(self, parts: Parts, seed: int) -> None:
        self._parts = parts
        self._chance = random.Random(seed)

    async def edit(self) -> None:
        """One transaction."""
        chance = self._chance
        edits = (self._create, self._create, self._say, self._qualify, self._delete, self._find, self._find, self._lose)
        await chance.choice(edits)()

    def _text(self) -> str:
        return " ".join(self._chance.choices(WORDS, k=4))

    async def _create(self) -> None:
        tier = self._chance.choice(("e1", "e2", "e2", "e3"))
        key = {"e1": "observation", "e2": "diagnosis", "e3": "instruction"}[tier]
        request = PatternCreate(
            tier,  # type: ignore[arg-type]
            {key: self._text()},
            failure_type=self._chance.choice(TYPES),  # type: ignore[arg-type]
            status=self._chance.choice(("live", "live", "live", "candidate")),  # type: ignore[arg-type]
            org_id=self._chance.choice(("red", "blue")),
        )
        await self._parts.patterns.create(ADMIN, request)

    async def create_live(self) -> None:
        """A pattern that can be looked up, so that there is at least one."""
        await self._parts.patterns.create(ADMIN, PatternCreate("e2", {"diagnosis": self._text()}))

    async def _any_pattern(self) -> tuple[str, str] | None:
        async with self._parts.database.reading() as connection:
            rows = (await connection.execute(select(patterns.c.tier, patterns.c.pattern_id))).all()
        return tuple(self._chance.choice(rows)) if rows else None

    async def _say(self) -> None:
        if chosen := await self._any_pattern():
            key = {"e1": "observation", "e2": "diagnosis", "e3": "instruction"}[chosen[0]]
            await self._parts.patterns.change(ADMIN, *chosen, PatternChange({key: self._text()}))

    async def _qualify(self) -> None:
        if chosen := await self._any_pattern():
            failure_type = self._chance.choice(TYPES)
            status = self._chance.choice(("live", "live", "retired"))
            change = PatternChange(failure_type=failure_type, status=status)  # type: ignore[arg-type]
            await self._parts.patterns.change(ADMIN, *chosen, change)

    async def _delete(self) -> None:
        if chosen := await self._any_pattern():
            await self._parts.patterns.delete(ADMIN, *chosen)

    async def _find(self) -> None:
        finding_id = new_id("find")
        row = {"finding_id": finding_id, "org_id": self._chance.choice(("red", "blue")), "project_id": "default"}
        row |= {"codebase_id": "code", "content": self._text(), "created_at": 1.0, "updated_at": 1.0}  # type: ignore[dict-item]
        async with self._parts.database.writing() as connection:
            await connection.execute(insert(findings), row)
            await record_changes(connection, "finding", [finding_id])
        self._parts.follower.notify()

    async def _lose(self) -> None:
        async with self._parts.database.writing() as connection:
            ids = list(await connection.scalars(select(findings.c.finding_id)))
            if ids:
                chosen = findings.c.finding_id == self._chance.choice(ids)
                named = list(await connection.scalars(select(findings.c.finding_id).where(chosen)))
                if self._chance.random() < 0.5:
                    await connection.execute(delete(findings).where(chosen))
                else:
                    await connection.execute(update(findings).where(chosen).values(content=self._text()))
                await record_changes(connection, "finding", named)
        self._parts.follower.notify()


async def _edit_for_ever(data_dir: Path, seed: int) -> None:
    index_module.QUIET_SECONDS = 0.0  # so that there is always a moment at which the files are being vouched for
    async with opened(data_dir) as parts:
        editor = Editor(parts, seed)
        while True:
            await editor.edit()
            if seed % 2:
                await parts.settle()
            print("edited", flush=True)


if __name__ == "__main__":
    asyncio.run(_edit_for_ever(Path(sys.argv[1]), int(sys.argv[2])))
