"""`reasonblocks patterns`: the library as people work on it, in a directory and on a server."""

from __future__ import annotations

import json
import stat
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from commands.conftest import Server
from commands.story import LESSON, command, complaint, printed, read
from reasonblocks.commands.pattern_files import parse_patterns
from reasonblocks.errors import SettingsError

SCHEMA = json.loads((resources.files("reasonblocks") / "schemas" / "pattern_schema.json").read_text())
SHIPPED = sum(
    len(json.loads(file.read_text())["patterns"])
    for file in (resources.files("reasonblocks") / "patterns").iterdir()
    if file.name.endswith(".json")
)


@pytest.fixture
def at(tmp_path: Path) -> tuple[str, Path]:
    """A directory that is not there yet."""
    return ("--data-dir", tmp_path / "data")


def added(at: tuple[Any, ...], *options: str, **environment: str) -> str:
    """The id of a new pattern."""
    (pattern,) = read("patterns", "add", *options, *at, **environment)
    return str(pattern["pattern_id"])


E1 = ("--tier", "e1", "--field", "observation=The cache was stale.")


def test_a_first_look_shows_the_starter_library(at: Any) -> None:
    """As an engine would find it; narrowed by tier, status and failure."""
    assert len(read("patterns", "list", *at)) == SHIPPED
    loops = read("patterns", "list", "--failure-type", "loop", "--tier", "e2", *at)
    assert {pattern["failure_type"] for pattern in loops} == {"loop"}
    assert read("patterns", "list", "--status", "retired", *at) == []
    lines = printed("patterns", "list", *at).splitlines()
    assert (len(lines), max(map(len, lines))) == (SHIPPED + 1, 80)
    nothing = command("patterns", "list", "--status", "retired", *at)
    assert (nothing.exit_code, nothing.stdout) == (0, "")


def test_the_life_of_a_pattern(at: Any) -> None:
    """Added as a candidate, edited, approved and retired; every version is kept with what it changed."""
    name = added(at, *E1, "--status", "candidate", "--field", 'recommended_action=["Clear it.", "Try again."]')
    printed(
        "patterns",
        "edit",
        name,
        "--field",
        "title=Stale",
        "--field",
        "observation=null",
        "--gate-threshold",
        "0.9",
        *at,
    )
    printed("patterns", "approve", name, *at)
    printed("patterns", "edit", name[:8], "--failure-type", "loop", "--gate-threshold", "none", *at)
    printed("patterns", "retire", name, *at)
    shown = read("patterns", "show", name, *at)
    assert shown["fields"] == {"recommended_action": ["Clear it.", "Try again."], "title": "Stale"}
    assert (shown["status"], shown["failure_type"], shown["gate_threshold"], shown["version"]) == (
        "retired",
        "loop",
        None,
        5,
    )
    assert [(one["version"], one["status"]) for one in shown["versions"]] == [
        (1, "candidate"), (2, "candidate"), (3, "live"), (4, "live"), (5, "retired"),
    ]  # fmt: skip
    told = printed("patterns", "show", name, *at)
    assert "gate_threshold 0.9; fields observation, title" in " ".join(told.split())
    assert "Recommended action: Clear it." in " ".join(told.split())
    assert printed("patterns", "edit", name, "--field", "title=Stale", *at).startswith("unchanged ")


def test_patterns_come_from_files(at: Any, tmp_path: Path) -> None:
    """JSON or TOML, one or many, by path or stdin."""
    toml = tmp_path / "one.toml"
    toml.write_text('tier = "e2"\nfailure_type = "loop"\n[fields]\ndiagnosis = "It looks twice."\n')
    many = tmp_path / "many.toml"
    many.write_text('[[patterns]]\ntier = "e3"\npattern_id = "mine"\n[patterns.fields]\ninstruction = "Look once."\n')
    assert read("patterns", "show", added(at, "--file", str(toml)), *at)["fields"] == {"diagnosis": "It looks twice."}
    assert printed("patterns", "import", many, *at) == "1 added, 0 changed, 0 the same\n"
    result = command("patterns", "import", "-", *at, stdin=json.dumps(LESSON))
    assert (result.exit_code, result.stdout) == (0, "1 added, 0 changed, 0 the same\n")
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps({"tier": "e3", "fields": {"guidance": "Look twice."}}))
    printed("patterns", "edit", "mine", "--file", changed, *at)
    assert read("patterns", "show", "mine", *at)["fields"] == {"guidance": "Look twice."}


def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Have $EDITOR do something to the file it is given."""
    program = tmp_path / "editor.sh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("EDITOR", str(program))
    monkeypatch.delenv("VISUAL", raising=False)


def test_patterns_are_edited_in_an_editor(at: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New ones from a form, others from what they are; an editor that was left without saving changes nothing."""
    editor(
        tmp_path,
        monkeypatch,
        """sed -i 's/"observation": ""/"observation": "Stale."/; /recommended/d; s/Stale.",/Stale."/' "$1" """,
    )
    name = added(at)
    assert read("patterns", "show", name, *at)["status"] == "candidate"
    editor(tmp_path, monkeypatch, """sed -i 's/Stale\\./The cache was stale./; s/candidate/live/' "$1" """)
    printed("patterns", "edit", name, *at)
    shown = read("patterns", "show", name, *at)
    assert (shown["fields"], shown["status"]) == ({"observation": "The cache was stale."}, "live")
    editor(tmp_path, monkeypatch, "true")
    assert "nothing is changed" in complaint("patterns", "edit", name, *at)
    editor(tmp_path, monkeypatch, """echo '{"tier": "e1", "fields": {' > "$1" """)
    message = complaint("patterns", "edit", name, *at)
    kept = Path(message.rpartition("what you wrote is in ")[2].rstrip(")"))
    assert kept.read_text() == '{"tier": "e1", "fields": {\n'
    kept.unlink()


# -- files that go out and come back -----------------------------------------------------------------


def test_what_is_exported_comes_back_as_it_was(data_dir: Path, tmp_path: Path) -> None:
    """Into another directory and out again: the same bytes, each pattern valid by the schema."""
    at, other, file = ("--data-dir", data_dir), ("--data-dir", tmp_path / "other"), tmp_path / "patterns.json"
    printed("patterns", "retire", "e3-two-failures", *at)
    printed("patterns", "edit", "e2-loop-same-error", "--field", "title=Again", "--field", "anti_pattern=null", *at)
    added(at, *E1, "--model-family", "haiku", "--gate-threshold", "0.85", "--failure-type", "drift")
    assert command("patterns", "export", "-o", file, *at).exit_code == 0
    exported = json.loads(file.read_text())["patterns"]
    assert len(exported) == SHIPPED + 2
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert [error for pattern in exported for error in validator.iter_errors(pattern)] == []
    assert printed("patterns", "import", file, *other) == f"2 added, 2 changed, {SHIPPED - 2} the same\n"
    assert printed("patterns", "export", *other) == file.read_text()
    assert printed("patterns", "import", file, *other) == f"0 added, 0 changed, {SHIPPED + 2} the same\n"


def test_a_dry_run_only_says_what_would_be_done(at: Any, tmp_path: Path) -> None:
    """And the directory stays as it is."""
    file = tmp_path / "lesson.json"
    file.write_text(json.dumps(LESSON))
    assert printed("patterns", "import", file, "--dry-run", *at) == "1 would be added, 0 would be changed, 0 the same\n"
    assert read("patterns", "list", "--tier", "e1", *at) == []


def test_some_patterns_are_exported_by_name_or_tier(told: Path) -> None:
    """In the order in which they are named."""
    named = printed("patterns", "export", "e3-two-readings", "timeout", "--data-dir", told)
    assert [pattern["pattern_id"] for pattern in json.loads(named)["patterns"]] == [
        "e3-two-readings",
        "timeout-is-in-config",
    ]
    assert json.loads(printed("patterns", "export", "--tier", "e1", "--data-dir", told)) == LESSON


VALID: dict[str, Any] = {"tier": "e3", "pattern_id": "mine", "fields": {"instruction": "Look."}}


@pytest.mark.parametrize(
    "wrong",
    [
        VALID | {"tier": "e4"},
        VALID | {"pattern_id": ""},
        VALID | {"pattern_id": "two words"},
        VALID | {"pattern_id": "x" * 129},
        VALID | {"fields": {}},
        VALID | {"fields": {"title": "A title alone"}},
        VALID | {"fields": {"instruction": "  "}},
        VALID | {"fields": {"instruction": ["Look.", 1]}},
        VALID | {"fields": "Look."},
        VALID | {"failure_type": "other"},
        VALID | {"gate_threshold": 1.1},
        VALID | {"gate_threshold": "0.5"},
        VALID | {"model_family": "x" * 65},
        VALID | {"status": "new"},
        VALID | {"provenance": {"source": "heard"}},
        VALID | {"more": 1},
        {"pattern_id": "mine", "fields": {"instruction": "Look."}},
        {
            "tier": "e2",
            "pattern_id": "mine",
            "fields": {"diagnosis": "x", "trigger_state": {"trajectory_description": 1}},
        },
        ["not a pattern"],
        1,
    ],
)
def test_what_the_schema_refuses_is_refused(wrong: Any) -> None:
    """By both, so that the schema is what a file is validated by; what it takes, we take."""
    jsonschema.validate(VALID, SCHEMA)
    assert parse_patterns(json.dumps(VALID).encode(), "file")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)
    with pytest.raises(SettingsError, match="file"):
        parse_patterns(json.dumps(wrong).encode(), "file")


# -- a server ----------------------------------------------------------------------------------------


def test_an_admin_works_on_the_library_of_a_server(server: Server, tmp_path: Path) -> None:
    """Everything that a directory allows but looking at versions; ids of a file are kept."""
    file = tmp_path / "rule.json"
    file.write_text(json.dumps(VALID | {"pattern_id": "rule-by-admin"}))
    assert printed("patterns", "import", file, **server.admin) == "1 added, 0 changed, 0 the same\n"
    printed("patterns", "edit", "rule-by", "--field", "title=Mine", **server.admin)
    printed("patterns", "retire", "rule-by-admin", **server.admin)
    shown = read("patterns", "show", "rule-by-admin", **server.admin)
    assert (shown["fields"], shown["status"]) == ({"instruction": "Look.", "title": "Mine"}, "retired")
    assert shown["versions"] is None
    assert "no route shows them" in printed("patterns", "show", "rule-by-admin", **server.admin)
    assert printed("patterns", "import", file, **server.admin) == "0 added, 1 changed, 0 the same\n"
    assert read("patterns", "show", "rule-by-admin", **server.admin)["fields"] == {"instruction": "Look."}


def test_a_member_has_patterns_of_their_own(server: Server, tmp_path: Path) -> None:
    """E1 goes into the key's organisation under a new id; what all share is for admins."""
    file = tmp_path / "lesson.json"
    file.write_text(json.dumps({**LESSON["patterns"][0], "pattern_id": "chosen-by-member"}))
    (done,) = read("patterns", "import", file, **server.member)
    assert done["done"] == "add"
    assert done["pattern_id"].startswith("pat_")
    printed("patterns", "retire", done["pattern_id"], **server.member)
    refused = complaint("patterns", "retire", "e3-two-readings", **server.member)
    assert "only an admin key" in refused
    file.write_text(json.dumps({"patterns": [VALID]}))
    assert "0 of 1 were done" in complaint("patterns", "import", file, **server.member)


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["show", "nobody"], 1, "`reasonblocks patterns list` lists them"),
        (["show", "e2-loop"], 1, "give more of the id"),
        (["approve", "nobody"], 1, "nobody"),
        (["add", "--field", "observation=x"], 2, "--tier"),
        (["add", "--tier", "e1", "--field", "observation"], 2, "NAME=TEXT"),
        (["add", "--tier", "e1", "--field", "title=x"], 1, "nothing that advises"),
        (["add", *E1, "--gate-threshold", "high"], 2, "from 0 to 1"),
        (["add", *E1, "--gate-threshold", "nan"], 2, "from 0 to 1"),
        (["add", *E1, "--gate-threshold", "1.1"], 2, "from 0 to 1"),
        (["add", *E1, "--failure-type", "boredom"], 1, "boredom"),
        (["add", "--file", "nowhere.json"], 1, "nowhere.json cannot be read"),
        (["add", "--file", "nowhere.json", *E1], 2, "--file"),
        (["edit", "e2-loop-same-error", "--field", "tier=e1"], 1, "tier"),
        (["import", "nowhere.json"], 1, "nowhere.json cannot be read"),
        (["export", "-o", "nowhere/file.json"], 1, "cannot be written"),
        (["retire"], 2, "PATTERN"),
    ],
)
def test_what_makes_no_sense_is_refused(told: Path, arguments: list[str], code: int, words: str) -> None:
    """In one line that names it, with 2 where the command was not understood."""
    assert words in complaint("patterns", *arguments, "--data-dir", told, code=code)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("broken.json", "{", "is not JSON"),
        ("broken.toml", "tier = ", "is not TOML"),
        ("latin.toml", "\udcff", "is not TOML"),
        ("twice.json", json.dumps([VALID, VALID]), "there twice"),
        ("tier.json", json.dumps(VALID | {"pattern_id": "e2-loop-same-error"}), "keeps its tier"),
    ],
)
def test_a_file_that_cannot_be_taken_is_named(told: Path, tmp_path: Path, name: str, content: str, words: str) -> None:
    """With what is wrong about it."""
    file = tmp_path / name
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert words in complaint("patterns", "import", file, "--data-dir", told)
