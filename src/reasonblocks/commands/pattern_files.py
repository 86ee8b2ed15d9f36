"""Patterns as files: what `schemas/pattern_schema.json` describes, as JSON or TOML, one or many."""

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..engine.answers import Pattern
from ..engine.errors import EngineError
from ..engine.patterns.fields import check_pattern
from ..engine.requests import FailureType, Label, PatternChange, PatternCreate, Provenance, Share, Status
from ..errors import SettingsError
from ..types import Tier

STDIN = "-"


class Origin(msgspec.Struct):
    """Where a pattern comes from. A file may say more about it, which is not stored."""

    source: Provenance = "curated"
    source_trace_id: str | None = None


class PatternEntry(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One pattern of a file."""

    tier: Tier
    pattern_id: Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^\S+$(?!\n)")] | None = None
    """Without one it gets one when it is added."""
    status: Status = "live"
    failure_type: FailureType | None = None
    gate_threshold: Share | None = None
    model_family: Label = ""
    fields: dict[str, Any]
    provenance: Origin = msgspec.field(default_factory=Origin)

    @classmethod
    def of(cls, pattern: Pattern) -> "PatternEntry":
        """A stored pattern as it stands in a file."""
        return msgspec.convert(exported(pattern), cls)

    def check(self) -> None:
        """Whether it can be stored; raises what is wrong, as the engine would."""
        check_pattern(
            self.tier,
            self.fields,
            failure_type=self.failure_type,
            gate_threshold=self.gate_threshold,
            model_family=self.model_family,
            status=self.status,
        )

    def says_the_same_as(self, pattern: Pattern) -> bool:
        """Whether a stored pattern needs no change to be like this."""
        mine = (self.fields, self.failure_type, self.gate_threshold, self.model_family, self.status)
        return mine == (
            pattern.fields, pattern.failure_type, pattern.gate_threshold, pattern.model_family, pattern.status,
        )  # fmt: skip

    def creation(self) -> PatternCreate:
        """The request that adds it."""
        return PatternCreate(
            tier=self.tier,
            fields=self.fields,
            failure_type=self.failure_type,
            gate_threshold=self.gate_threshold,
            model_family=self.model_family,
            status=self.status,
            pattern_id=self.pattern_id,
            provenance=self.provenance.source,
            source_trace_id=self.provenance.source_trace_id,
        )

    def change_of(self, pattern: Pattern) -> PatternChange:
        """The request that makes a stored pattern like this; fields that it no longer has are removed."""
        removed = {name: None for name in pattern.fields if name not in self.fields}
        return PatternChange(
            fields={**removed, **self.fields},
            failure_type=self.failure_type,
            gate_threshold=self.gate_threshold,
            model_family=self.model_family,
            status=self.status,
        )


class Move(msgspec.Struct):
    """What an import does with one pattern."""

    kind: Literal["add", "change", "same"]
    entry: PatternEntry
    stored: Pattern | None = None


def planned(entries: Sequence[PatternEntry], stored: Sequence[Pattern]) -> list[Move]:
    """How the stored patterns come to be as a file has them; those it does not name stay as they are."""
    by_id = {pattern.pattern_id: pattern for pattern in stored}
    moves = []
    for entry in entries:
        held = by_id.get(entry.pattern_id or "")
        if held is not None and held.tier != entry.tier:
            raise SettingsError(
                f"pattern {held.pattern_id!r} is {entry.tier} in the file and {held.tier} in the library; "
                "a pattern keeps its tier, give it another id"
            )
        if held is None:
            moves.append(Move("add", entry))
        else:
            moves.append(Move("same" if entry.says_the_same_as(held) else "change", entry, held))
    return moves


# -- reading and writing ---------------------------------------------------------------------------


def read_patterns(path: str) -> list[PatternEntry]:
    """The patterns of a file, checked: one, a list of them, or `{"patterns": [...]}`; - is stdin."""
    shown = "stdin" if path == STDIN else path
    try:
        content = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(f"{shown} cannot be read: {error.strerror or error}") from None
    return parse_patterns(content, shown, toml=Path(path).suffix.lower() == ".toml")


def parse_patterns(content: bytes, shown: str, *, toml: bool = False) -> list[PatternEntry]:
    """The patterns in the bytes of a file; the error names the file, the pattern and the field."""
    try:
        value = tomllib.loads(content.decode()) if toml else msgspec.json.decode(content)
    except (msgspec.DecodeError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{shown} is not {'TOML' if toml else 'JSON'}: {error}") from None
    if isinstance(value, dict) and value.keys() == {"patterns"}:
        value = value["patterns"]
    if not isinstance(value, list):
        return [_entry(value, shown)]
    entries = [_entry(one, f"{shown}, pattern {_id_of(one) or place!r}") for place, one in enumerate(value)]
    names = [entry.pattern_id for entry in entries if entry.pattern_id]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise SettingsError(f"{shown}: pattern {twice!r} is there twice; ids are unique")
    return entries


def _id_of(value: Any) -> Any:
    return value.get("pattern_id") if isinstance(value, dict) else None


def _entry(value: Any, shown: str) -> PatternEntry:
    try:
        entry = msgspec.convert(value, PatternEntry)
        entry.check()
    except (msgspec.ValidationError, EngineError) as error:
        raise SettingsError(f"{shown}: {error}") from None
    return entry


def written(patterns: Sequence[Pattern]) -> bytes:
    """Patterns as a file that `import` takes, the same bytes for the same patterns."""
    return msgspec.json.format(msgspec.json.encode({"patterns": [exported(one) for one in patterns]}), indent=2) + b"\n"


def exported(pattern: Pattern) -> dict[str, Any]:
    """A pattern as it stands in a file: what is usual is left out, but for its status."""
    value: dict[str, Any] = {"tier": pattern.tier, "pattern_id": pattern.pattern_id, "status": pattern.status}
    optional = {"failure_type": pattern.failure_type, "gate_threshold": pattern.gate_threshold}
    value |= {name: said for name, said in optional.items() if said is not None}
    if pattern.model_family:
        value["model_family"] = pattern.model_family
    origin = {"source": pattern.provenance}
    if pattern.source_trace_id is not None:
        origin["source_trace_id"] = pattern.source_trace_id
    return {**value, "fields": pattern.fields, "provenance": origin}
