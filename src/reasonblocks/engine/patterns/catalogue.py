"""The live patterns of a process, in memory: what lookups answer from without asking the database."""

import asyncio
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ...runtime.contain import incidents
from ...sanitize import DEFAULT_LIMIT
from ..embedding.screen import LexicalScreen
from ..index.shard import scope
from ..index.sources import Item
from ..store.database import Database
from ..store.schema import patterns
from ..store.values import digest, dump, load
from .fields import MAX_FIELDS, embedding_text

KIND: Final = "pattern"
PAGE = 200
"""Rows that are read at once: about 2 ms of the event loop."""
_COLUMNS = (
    patterns.c.pattern_id,
    patterns.c.tier,
    patterns.c.org_id,
    patterns.c.failure_type,
    patterns.c.gate_threshold,
    patterns.c.model_family,
    patterns.c.source_trace_id,
    patterns.c.fields,
    patterns.c.created_at,
)
_IS_LIVE = (patterns.c.status == "live", patterns.c.deleted.is_(False))
_COMPARED = ("e1", "e2")
"""The tiers that are looked up by what they say."""


@dataclass(frozen=True, slots=True)
class LivePattern:
    """A pattern as lookups need it. Its fields stay JSON: as objects they would take four times the room."""

    pattern_id: str
    tier: str
    org_id: str | None
    failure_type: str | None
    gate_threshold: float | None
    model_family: str
    source_trace_id: str | None
    created_at: float
    needs_failure_type: bool
    """Whether it is silent until the monitors have named its failure."""
    encoded: bytes

    @property
    def fields(self) -> dict[str, Any]:
        """A copy of its fields, which is the caller's own."""
        fields: dict[str, Any] = msgspec.json.decode(self.encoded)
        return fields


@dataclass(frozen=True, slots=True)
class View:
    """All live patterns at one time; never changed, so any thread may read it."""

    patterns: Mapping[str, LivePattern]
    e3: tuple[LivePattern, ...]
    """In the order they came in."""
    e1_orgs: Mapping[str, int]
    """How many e1 patterns each organisation has."""
    e2_failure_types: Mapping[str | None, int]
    """How many e2 patterns are about what."""
    screen: LexicalScreen | None
    """Which contexts may have to do with an e2 pattern at all; `None` before the first is made: all of them."""


class Catalogue:
    """Holds the view of now. Reading it is for any thread, loading and following for the engine's loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.view = View({}, (), {}, {}, None)

    async def load(self) -> None:
        """Read all live patterns."""
        live: dict[str, LivePattern] = {}
        async with self._database.reading() as connection:
            after: str | None = ""
            while after is not None:
                query = select(*_COLUMNS).where(*_IS_LIVE, patterns.c.pattern_id > after)
                rows = (await connection.execute(query.order_by(patterns.c.pattern_id).limit(PAGE))).all()
                live.update(_live(rows))
                after = rows[-1].pattern_id if len(rows) == PAGE else None
        await self._show(live, screen_is_stale=True)

    async def apply(self, pattern_ids: Collection[str] | None) -> None:
        """Some patterns changed; `None`: any of them may have."""
        if pattern_ids is None:
            await self.load()
            return
        live = dict(self.view.patterns)
        before = {name: live.pop(name, None) for name in pattern_ids}
        ordered = sorted(pattern_ids)
        async with self._database.reading() as connection:
            for start in range(0, len(ordered), PAGE):
                chosen = patterns.c.pattern_id.in_(ordered[start : start + PAGE])
                live.update(_live((await connection.execute(select(*_COLUMNS).where(*_IS_LIVE, chosen))).all()))
        touched = (pattern for name in ordered for pattern in (before[name], live.get(name)) if pattern)
        await self._show(live, screen_is_stale=any(pattern.tier == "e2" for pattern in touched))

    async def _show(self, live: Mapping[str, LivePattern], *, screen_is_stale: bool) -> None:
        view = View(
            live,
            tuple(sorted(_of_tier(live, "e3"), key=lambda pattern: (pattern.created_at, pattern.pattern_id))),
            Counter(pattern.org_id or "" for pattern in _of_tier(live, "e1")),
            Counter(pattern.failure_type for pattern in _of_tier(live, "e2")),
            self.view.screen,
        )
        self.view = view  # at once: what was deleted is not to be found while the screen is made
        if screen_is_stale:
            # Half a second for 10,000 patterns: too long for an event loop.
            self.view = replace(view, screen=await asyncio.to_thread(_screen, live))

    def e3(self) -> tuple[LivePattern, ...]:
        """The standing rules, in the order they came in."""
        return self.view.e3

    def get(self, pattern_id: str) -> LivePattern | None:
        """A live pattern."""
        return self.view.patterns.get(pattern_id)


class PatternSource:
    """Live e1 patterns are in the index under their organisation, live e2 patterns for all."""

    kind = KIND

    def __init__(self) -> None:
        self.recipe = _recipe()

    async def page(self, connection: AsyncConnection, after: str, limit: int) -> tuple[list[Item], str | None]:
        """Patterns in the order of their ids, and the id to go on after; `None` at the end."""
        # Not by tier: the index on it would have SQLite read and sort all of them for every page.
        query = select(*_COLUMNS).where(*_IS_LIVE, patterns.c.pattern_id > after)
        rows = (await connection.execute(query.order_by(patterns.c.pattern_id).limit(limit))).all()
        return _items(rows), rows[-1].pattern_id if len(rows) == limit else None

    async def named(self, connection: AsyncConnection, item_ids: Sequence[str]) -> list[Item]:
        """Those of the named that are looked up by what they say."""
        query = select(*_COLUMNS).where(*_IS_LIVE, patterns.c.pattern_id.in_(item_ids))
        return _items((await connection.execute(query)).all())

    def candidates(self) -> Select[Any]:
        """The ids of all live patterns that are compared."""
        return select(patterns.c.pattern_id).where(*_IS_LIVE, patterns.c.tier.in_(_COMPARED))


def e1_scope(org_id: str) -> str:
    """Where the e1 patterns of an organisation are."""
    return scope("e1", org_id)


E2_SCOPE = scope("e2")


def _items(rows: Sequence[Any]) -> list[Item]:
    return [
        Item(pattern.pattern_id, _scope(pattern), pattern.failure_type, text)
        for pattern in _live(rows).values()
        if pattern.tier in _COMPARED and (text := embedding_text(pattern.tier, pattern.fields))
    ]


def _scope(pattern: LivePattern) -> str:
    return E2_SCOPE if pattern.tier == "e2" else e1_scope(pattern.org_id or "")


def _live(rows: Iterable[Any]) -> dict[str, LivePattern]:
    live = {}
    for row in rows:
        try:
            fields = _capped(row.fields)
        except (ValueError, TypeError, RecursionError) as error:  # nothing we write, but somebody did
            incidents.note(f"pattern {row.pattern_id!r} cannot be read", error)
            continue
        live[row.pattern_id] = LivePattern(
            row.pattern_id,
            sys.intern(row.tier),
            row.org_id and sys.intern(row.org_id),
            row.failure_type and sys.intern(row.failure_type),
            row.gate_threshold,
            sys.intern(row.model_family),
            row.source_trace_id,
            row.created_at,
            fields.get("needs_failure_type") is True,
            dump(fields).encode(),
        )
    return live


def _capped(text: str) -> dict[str, Any]:
    """Fields as they go out, an object of a size that can be sent with every step."""
    fields = load(text)
    if not isinstance(fields, dict):
        raise ValueError("its fields are no JSON object")
    if len(text) > MAX_FIELDS:
        return {key: value[:DEFAULT_LIMIT] for key, value in fields.items() if isinstance(value, str)}
    return fields


def _of_tier(live: Mapping[str, LivePattern], tier: str) -> Iterable[LivePattern]:
    return (pattern for pattern in live.values() if pattern.tier == tier)


def _screen(live: Mapping[str, LivePattern]) -> LexicalScreen:
    # Only with patterns that a lookup without a failure type may find.
    asked = [pattern for pattern in _of_tier(live, "e2") if not pattern.needs_failure_type]
    return LexicalScreen.build([embedding_text("e2", pattern.fields) for pattern in asked])


def _recipe() -> str:
    """Changes when the way does in which the texts of patterns are made."""
    keys = (
        "title guidance observation recommended_action task_context_embedding_text diagnosis intervention anti_pattern"
    )
    probes: list[dict[str, Any]] = [{key: f"the {key} of a probe"} for key in keys.split()]
    probes.append({"trigger_state": {"trajectory_description": "the trajectory of a probe"}})
    probes.append({key: value for probe in probes for key, value in probe.items()})
    return digest("\n".join(embedding_text(tier, probe) for tier in _COMPARED for probe in probes))
