"""The starter library: from its files to checked patterns, and the plan of its import.

It is imported at every start, unless a newer one was imported before. What somebody has edited, deleted or retired
since is theirs: it is recognised by its digest and never touched again. Everything else follows the files of the
installed version.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ...types import Tier
from ..errors import Invalid, StoreError
from ..requests import FailureType, Label, Share, Status
from ..store.values import digest
from .fields import check_pattern, pattern_digest

VERSION = 1
"""Of the shipped files: to be raised with every release in which they say something else than before,"""
DIGEST = "665d2ef5187dbe05f2b3e4edd0e92c076201011453beaf677056521936d8c1f0"
"""of which a test reminds by what they said when it was raised last."""


@dataclass(frozen=True, slots=True)
class LibraryPattern:
    """A pattern of the starter library."""

    pattern_id: str
    tier: str
    fields: dict[str, Any]
    failure_type: str | None
    gate_threshold: float | None
    model_family: str
    status: str
    digest: str
    """Of all that a user can change; see `pattern_digest`."""


@dataclass(frozen=True, slots=True)
class Library:
    """The starter library of the installed version."""

    version: int
    """Grows with every change; an older one never replaces a newer one."""
    digest: str
    """Of all its patterns: the same files have the same one."""
    patterns: tuple[LibraryPattern, ...]


class _Provenance(msgspec.Struct, forbid_unknown_fields=True):
    source: Literal["curated"]
    """What is mined from runs is never shipped."""


class _Entry(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A pattern as it stands in a file."""

    tier: Tier
    pattern_id: Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^\S+$")]
    fields: dict[str, Any]
    failure_type: FailureType | None = None
    gate_threshold: Share | None = None
    model_family: Label = ""
    status: Status = "live"
    provenance: _Provenance


class _File(msgspec.Struct, forbid_unknown_fields=True):
    patterns: list[msgspec.Raw]


def load_library(folder: Traversable | None = None) -> Library:
    """The starter library, checked; another one from another folder. Reads files: not for an event loop."""
    folder = resources.files("reasonblocks").joinpath("patterns") if folder is None else folder
    patterns: dict[str, LibraryPattern] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".json"):
            continue
        for pattern in _read(file):
            if pattern.pattern_id in patterns:
                raise Invalid(f"{file.name}: pattern {pattern.pattern_id!r} is there twice; ids are unique")
            patterns[pattern.pattern_id] = pattern
    if not patterns:  # an import of nothing would retire everything
        raise StoreError(
            f"no pattern was found in {folder}; the installation is incomplete, install reasonblocks again"
        )
    identity = json.dumps(sorted((pattern.pattern_id, pattern.digest) for pattern in patterns.values()))
    return Library(VERSION, digest(identity), tuple(patterns.values()))


def _read(file: Traversable) -> Iterator[LibraryPattern]:
    try:
        entries = msgspec.json.decode(file.read_bytes(), type=_File).patterns
    except msgspec.DecodeError as error:
        raise Invalid(f"{file.name}: {error}", location=(file.name,)) from None
    for number, raw in enumerate(entries):
        try:
            yield _pattern(msgspec.json.decode(raw, type=_Entry))
        except (msgspec.DecodeError, Invalid) as error:
            name = _name(raw, number)
            inside = error.location if isinstance(error, Invalid) else ()
            raise Invalid(f"{file.name}, pattern {name!r}: {error}", location=(file.name, name, *inside)) from None


def _name(raw: msgspec.Raw, number: int) -> str | int:
    """What a broken entry is called by: its id, or else its place in the file."""
    try:
        entry = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return number
    name = entry.get("pattern_id") if isinstance(entry, dict) else None
    return name if isinstance(name, str) and name else number


def _pattern(entry: _Entry) -> LibraryPattern:
    if entry.tier == "e1":
        raise Invalid("tier is 'e1'; expected e2 or e3, since e1 belongs to one organisation", location=("tier",))
    if entry.tier == "e2" and entry.failure_type is None:
        raise Invalid("failure_type is missing; an e2 pattern of the library names one", location=("failure_type",))
    qualities: dict[str, Any] = {
        "failure_type": entry.failure_type,
        "gate_threshold": entry.gate_threshold,
        "model_family": entry.model_family,
        "status": entry.status,
    }
    check_pattern(entry.tier, entry.fields, **qualities)
    identity = pattern_digest(entry.tier, entry.fields, **qualities)
    return LibraryPattern(entry.pattern_id, entry.tier, entry.fields, **qualities, digest=identity)


# -- its import ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredLibraryState:
    """What the store holds under the id of a pattern."""

    library_digest: str | None
    """Of what was imported or upgraded last; none if it never came from the library."""
    current_digest: str
    status: str
    deleted: bool

    @property
    def is_untouched(self) -> bool:
        """Whether it is still as the library left it, be it retired."""
        return self.library_digest == self.current_digest and not self.deleted


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import has to do; nothing else in the store changes."""

    insert: tuple[LibraryPattern, ...]
    upgrade: tuple[LibraryPattern, ...]
    """To be written over what is stored under their ids, or back in use if an import had retired it."""
    retire: tuple[str, ...]
    """No longer shipped, and nobody has made them their own."""
    leave: tuple[str, ...]
    """Edited, deleted or retired by somebody, or retired by an import before."""

    @property
    def changes_anything(self) -> bool:
        """Whether there is something to write."""
        return bool(self.insert or self.upgrade or self.retire)


def plan_import(library: Library, stored: Mapping[str, StoredLibraryState]) -> ImportPlan:
    """How the store comes to hold this library without a change to what users made of the last one."""
    shipped = {pattern.pattern_id: pattern for pattern in library.patterns}
    held = {name: state for name, state in stored.items() if name in shipped or state.library_digest is not None}
    untouched = {
        name: state
        for name, state in held.items()
        if state.is_untouched and (name in shipped or state.status != "retired")
    }
    return ImportPlan(
        insert=tuple(pattern for name, pattern in shipped.items() if name not in held),
        upgrade=tuple(
            pattern
            for name, pattern in shipped.items()
            if name in untouched and untouched[name].library_digest != pattern.digest
        ),
        retire=tuple(name for name in untouched if name not in shipped),
        leave=tuple(name for name in held if name not in untouched),
    )
