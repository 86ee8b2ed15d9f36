"""The starter library: what is shipped, how it reads, and how it is imported over what users made of it."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from reasonblocks.engine.errors import Invalid, StoreError
from reasonblocks.engine.patterns.fields import embedding_text, pattern_digest
from reasonblocks.engine.patterns.library import (
    DIGEST,
    VERSION,
    ImportPlan,
    Library,
    LibraryPattern,
    StoredLibraryState,
    load_library,
    plan_import,
)
from reasonblocks.format_routing import render_pattern
from reasonblocks.sanitize import neutralise

MODELS = ["claude-haiku-4-5", "claude-sonnet-4-5", "claude-opus-4-5", "gpt-5"]
FAILURE_TYPES = {"contradiction", "loop", "unverified", "churn", "sprawl", "drift"}
SHIPPED = load_library().patterns
E2 = [pattern for pattern in SHIPPED if pattern.tier == "e2"]
E3 = [pattern for pattern in SHIPPED if pattern.tier == "e3"]


def texts(pattern: LibraryPattern) -> Iterator[str]:
    """All words of a pattern."""
    for name, value in pattern.fields.items():
        if name != "needs_failure_type":
            yield from value.values() if isinstance(value, dict) else [value]


def words(text: str) -> int:
    return len(text.split())


# -- what is shipped -------------------------------------------------------------------------------


def test_c28_every_shipped_pattern_is_valid() -> None:
    """All that lies in the files passes the schema that is shipped beside them."""
    root = files("reasonblocks")
    validator = Draft202012Validator(json.loads(root.joinpath("schemas/pattern_schema.json").read_text("utf-8")))
    entries = [
        entry
        for file in root.joinpath("patterns").iterdir()
        if file.is_file()
        for entry in json.loads(file.read_text("utf-8"))["patterns"]
    ]
    assert [error.message for entry in entries for error in validator.iter_errors(entry)] == []
    assert {entry["pattern_id"] for entry in entries} == {pattern.pattern_id for pattern in SHIPPED}


def test_c14_every_failure_type_has_its_patterns() -> None:
    """Whatever a monitor names, there are at least six patterns to choose from."""
    counts = Counter(pattern.failure_type for pattern in E2)
    assert counts.keys() == FAILURE_TYPES
    assert min(counts.values()) >= 6


def test_c20_the_standing_rules_fit_one_lookup() -> None:
    """At least ten rules, room for a user's own below the 32 of one lookup, each with its question."""
    assert 14 <= len(E3) <= 24
    assert all(pattern.fields.keys() == {"instruction", "meta_reasoning_prompt"} for pattern in E3)
    assert all(pattern.fields["meta_reasoning_prompt"].endswith("?") for pattern in E3)


def test_ids_are_slugs_that_say_what_they_are() -> None:
    """An id begins with its tier and failure type, and people can read it."""
    for pattern in SHIPPED:
        head = f"e2-{pattern.failure_type}-" if pattern.tier == "e2" else "e3-"
        assert re.fullmatch(rf"{head}[a-z]+(-[a-z]+)*", pattern.pattern_id)


def test_c28_the_texts_are_short() -> None:
    """A rule is one or two sentences, no field of a failure mode needs a second breath."""
    for pattern in E3:
        assert len(pattern.fields["instruction"]) <= 200
        assert len(pattern.fields["meta_reasoning_prompt"]) <= 140
    for pattern in E2:
        expected = ["title", "diagnosis", "intervention", "anti_pattern", "trigger_state"]
        assert [name for name in pattern.fields if name != "needs_failure_type"] == expected
        needs = pattern.failure_type in ("loop", "churn", "unverified")
        assert pattern.fields.get("needs_failure_type", False) is needs
        assert words(pattern.fields["title"]) <= 10
        assert max(words(pattern.fields[key]) for key in expected[1:4]) <= 45
        assert 25 <= words(embedding_text("e2", pattern.fields)) <= 60


def test_the_situation_is_told_as_an_agent_thinks() -> None:
    """Queries are an agent's own thoughts, so what they are compared with is a quotation in its voice."""
    for pattern in E2:
        told = pattern.fields["trigger_state"]["trajectory_description"]
        assert re.fullmatch(r"'[^']+'\.", told), pattern.pattern_id


@pytest.mark.parametrize("model", MODELS)
def test_c29_our_own_texts_are_not_altered(model: str) -> None:
    """Every field of every pattern is rendered for every family of models as it was written."""
    for pattern in SHIPPED:
        rendered = render_pattern(pattern.tier, model, pattern.fields)
        assert [text for text in texts(pattern) if text not in rendered] == []
        assert neutralise(rendered, 10_000) == rendered
        assert [neutralise(text) for text in texts(pattern)] == list(texts(pattern))


@pytest.mark.parametrize("model", MODELS)
def test_c20_all_rules_together_stay_small(model: str) -> None:
    """The first call carries every rule, so together they are a page and not a book."""
    together = "\n\n".join(render_pattern("e3", model, pattern.fields) for pattern in E3)
    assert len(together) < 4_500


def test_no_two_texts_say_the_same() -> None:
    """No sentence is there twice, and no two texts of different patterns share a third of their phrases."""
    all_texts = [(pattern.pattern_id, text) for pattern in SHIPPED for text in texts(pattern)]
    assert max(Counter(text for _, text in all_texts).values()) == 1
    phrased = [(name, text, phrases(text)) for name, text in all_texts]
    alike = [
        (first, second)
        for (name, first, one), (other, second, two) in combinations(phrased, 2)
        if name != other and len(one & two) > max(2, min(len(one), len(two)) / 3)
    ]
    assert alike == []


def phrases(text: str) -> set[tuple[str, ...]]:
    """All runs of three words."""
    found = re.findall(r"\w+", text.lower())
    return set(zip(found, found[1:], found[2:], strict=False))


# -- reading the files -----------------------------------------------------------------------------

RULE = {
    "tier": "e3",
    "pattern_id": "e3-look",
    "fields": {"instruction": "Look first."},
    "provenance": {"source": "curated"},
}
MODE = {
    "tier": "e2",
    "pattern_id": "e2-loop-again",
    "failure_type": "loop",
    "fields": {"diagnosis": "The same again."},
    "provenance": {"source": "curated"},
}


def folder_with(folder: Path, *entries: Any, name: str = "some.json", **layout: Any) -> Path:
    folder.mkdir(exist_ok=True)
    folder.joinpath(name).write_text(json.dumps({"patterns": entries}, **layout), encoding="utf-8")
    return folder


def test_a_library_is_read_from_its_files(tmp_path: Path) -> None:
    """JSON files are read in the order of their names, and what is left out of an entry has its default."""
    folder_with(tmp_path, RULE, name="b.json")
    folder_with(tmp_path, {**MODE, "gate_threshold": 0.8}, name="a.json")
    tmp_path.joinpath("notes.txt").write_text("not a pattern")
    first, second = load_library(tmp_path).patterns
    assert (first.pattern_id, first.failure_type, first.gate_threshold) == ("e2-loop-again", "loop", 0.8)
    expected = pattern_digest(
        "e3", {"instruction": "Look first."}, failure_type=None, gate_threshold=None, model_family="", status="live"
    )
    assert second == LibraryPattern("e3-look", "e3", RULE["fields"], None, None, "", "live", expected)  # type: ignore[arg-type]


def test_the_digest_is_that_of_the_content(tmp_path: Path) -> None:
    """The same patterns in another layout and order are the same library; one other word is another one."""
    one = load_library(folder_with(tmp_path / "one", RULE, MODE))
    same = load_library(folder_with(tmp_path / "same", MODE, RULE, indent=4))
    other = load_library(folder_with(tmp_path / "other", RULE, {**MODE, "fields": {"diagnosis": "Once more."}}))
    assert one.digest == same.digest != other.digest
    assert load_library().digest == load_library().digest


def test_the_version_is_raised_with_the_files() -> None:
    """Whoever changes a shipped pattern raises `VERSION` of the library and writes the new digest beside it.

    Otherwise an older reasonblocks on the same data directory would take the change back.
    """
    assert (load_library().version, load_library().digest) == (VERSION, DIGEST)


@pytest.mark.parametrize(
    ("entry", "named", "field"),
    [
        ({**RULE, "tier": "e7"}, "e3-look", "tier"),
        ({**RULE, "tier": "e1", "fields": {"guidance": "g"}}, "e3-look", "tier"),
        ({**RULE, "fields": {"instruction": ""}}, "e3-look", "fields.instruction"),
        ({**RULE, "fields": {"title": "only"}}, "e3-look", "instruction, guidance"),
        ({**RULE, "pattern_id": "two words"}, "two words", "pattern_id"),
        ({**RULE, "gate_threshold": 2}, "e3-look", "gate_threshold"),
        ({**RULE, "gate_treshold": 0.5}, "e3-look", "gate_treshold"),
        ({**RULE, "provenance": {"source": "mined"}}, "e3-look", "provenance.source"),
        ({key: value for key, value in RULE.items() if key != "pattern_id"}, 1, "pattern_id"),
        ({**MODE, "failure_type": None}, "e2-loop-again", "failure_type"),
        ({**MODE, "failure_type": "boredom"}, "e2-loop-again", "failure_type"),
        ([], 1, "object"),
    ],
)
def test_a_broken_entry_is_named(tmp_path: Path, entry: Any, named: str | int, field: str) -> None:
    """The error says in which file, in which pattern and in which field; a pattern without an id has its place."""
    first = {**RULE, "pattern_id": "e3-sound"}
    with pytest.raises(Invalid) as caught:
        load_library(folder_with(tmp_path, first, entry))
    head = f"some.json, pattern {named!r}: "
    assert str(caught.value).startswith(head)
    assert field in str(caught.value).removeprefix(head)
    assert caught.value.location[:2] == ("some.json", named)


def test_a_broken_folder_is_refused(tmp_path: Path) -> None:
    """A file that is none, an id twice and a folder without patterns are errors, not a smaller library."""
    with pytest.raises(StoreError, match="install reasonblocks again"):
        load_library(tmp_path)
    folder_with(tmp_path, RULE)
    folder_with(tmp_path, RULE, name="twice.json")
    with pytest.raises(Invalid, match=r"twice\.json: pattern 'e3-look' is there twice"):
        load_library(tmp_path)
    tmp_path.joinpath("twice.json").write_text('{"patterns": [')
    with pytest.raises(Invalid, match=r"twice\.json: .*truncated"):
        load_library(tmp_path)


# -- the import ------------------------------------------------------------------------------------


def shipped_pattern(name: str, instruction: str, status: str = "live") -> LibraryPattern:
    fields = {"instruction": instruction}
    return LibraryPattern(name, "e3", fields, None, None, "", status, row_digest(instruction, status))


def row_digest(instruction: str, status: str) -> str:
    return pattern_digest(
        "e3", {"instruction": instruction}, failure_type=None, gate_threshold=None, model_family="", status=status
    )


def library_of(contents: dict[str, str]) -> Library:
    patterns = tuple(shipped_pattern(name, text) for name, text in contents.items())
    return Library(1, repr(sorted(contents.items())), patterns)


@dataclass(frozen=True)
class Row:
    """A pattern as a store keeps it, and what the library wrote last."""

    instruction: str
    status: str = "live"
    deleted: bool = False
    library_digest: str | None = None
    written: tuple[str, str] | None = None
    """What the test itself remembers of the last import, in plain sight."""

    @property
    def is_a_users(self) -> bool:
        return self.deleted or self.written != (self.instruction, self.status)

    @property
    def state(self) -> StoredLibraryState:
        return StoredLibraryState(
            self.library_digest, row_digest(self.instruction, self.status), self.status, self.deleted
        )


Rows = dict[str, Row]


def plan_for(contents: dict[str, str], rows: Rows) -> ImportPlan:
    return plan_import(library_of(contents), {name: row.state for name, row in rows.items()})


def applied(plan: ImportPlan, rows: Rows) -> Rows:
    """What an importer does with a plan."""
    written = {
        pattern.pattern_id: Row(
            pattern.fields["instruction"],
            library_digest=pattern.digest,
            written=(pattern.fields["instruction"], "live"),
        )
        for pattern in (*plan.insert, *plan.upgrade)
    }
    return {**rows, **written, **{name: withdrawn(rows[name]) for name in plan.retire}}


def withdrawn(row: Row) -> Row:
    """A pattern that the library retired."""
    digest = row_digest(row.instruction, "retired")
    return replace(row, status="retired", library_digest=digest, written=(row.instruction, "retired"))


def after_user(rows: Rows, action: tuple[str, str, str]) -> Rows:
    """What a user may do between two imports."""
    kind, name, text = action
    if kind == "create":
        return {name: Row(text), **rows}
    if name not in rows or rows[name].deleted:
        return rows
    changes: dict[str, dict[str, Any]] = {
        "edit": {"instruction": text},
        "retire": {"status": "retired"},
        "delete": {"deleted": True},
    }
    return {**rows, name: replace(rows[name], **changes[kind])}


NAMES = st.sampled_from("abcd")
TEXTS = st.sampled_from(["one", "two", "three"])
CONTENTS = st.dictionaries(NAMES, TEXTS, min_size=1)
ACTIONS = st.lists(st.tuples(st.sampled_from(["create", "edit", "retire", "delete"]), NAMES, TEXTS), max_size=5)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(ACTIONS, CONTENTS), min_size=1, max_size=4))
def test_an_import_never_touches_what_a_user_made(history: list[Any]) -> None:
    """Over any history of edits, retirements, deletions and versions: what is a user's stays, the rest follows."""
    rows: Rows = {}
    for actions, contents in history:
        for action in actions:
            rows = after_user(rows, action)
        before, rows = rows, applied(plan_for(contents, rows), rows)

        for name, row in before.items():
            if row.is_a_users:
                assert rows[name] == row
            elif name in contents:
                assert (rows[name].instruction, rows[name].status) == (contents[name], "live")
            else:
                assert rows[name] == withdrawn(row)
        assert contents.keys() | before.keys() == rows.keys()
        assert not plan_for(contents, rows).changes_anything


def test_each_part_of_a_plan() -> None:
    """One pattern of each kind, and what the plan says of it."""
    old = {name: row_digest("old", "live") for name in ("upgraded", "edited", "deleted", "retired", "gone", "same")}
    stored = {
        "upgraded": StoredLibraryState(old["upgraded"], old["upgraded"], "live", False),
        "edited": StoredLibraryState(old["edited"], row_digest("mine", "live"), "live", False),
        "deleted": StoredLibraryState(old["deleted"], old["deleted"], "live", True),
        "retired": StoredLibraryState(old["retired"], row_digest("old", "retired"), "retired", False),
        "back": StoredLibraryState(row_digest("old", "retired"), row_digest("old", "retired"), "retired", False),
        "withdrawn": StoredLibraryState(row_digest("old", "retired"), row_digest("old", "retired"), "retired", False),
        "gone": StoredLibraryState(old["gone"], old["gone"], "live", False),
        "own": StoredLibraryState(None, row_digest("own", "live"), "live", False),
        "taken": StoredLibraryState(None, row_digest("own", "live"), "live", False),
        "same": StoredLibraryState(old["same"], old["same"], "live", False),
    }
    shipped = dict.fromkeys(("new", "upgraded", "edited", "deleted", "retired", "back", "taken"), "new")
    plan = plan_import(library_of({**shipped, "same": "old"}), stored)
    assert [pattern.pattern_id for pattern in plan.insert] == ["new"]
    assert [pattern.pattern_id for pattern in plan.upgrade] == ["upgraded", "back"]
    assert plan.retire == ("gone",)
    assert sorted(plan.leave) == ["deleted", "edited", "retired", "taken", "withdrawn"]


def test_a_first_import_brings_everything_once() -> None:
    """Into an empty store goes the whole shipped library, and nothing the second time."""
    library = load_library()
    plan = plan_import(library, {})
    assert plan.insert == library.patterns
    stored = {
        pattern.pattern_id: StoredLibraryState(pattern.digest, pattern.digest, pattern.status, False)
        for pattern in plan.insert
    }
    assert plan_import(library, stored) == ImportPlan((), (), (), ())
