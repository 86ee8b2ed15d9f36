"""The steps of the Containerfile, taken in a plain environment: what they make starts, serves, writes nothing and ends.

What is not taken is the download of what it depends on, which is here already. No image is built.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from deploy import files
from reasonblocks import __version__

OPT = "/opt/reasonblocks"
PATIENCE_SECONDS = 120
READ_ONLY = """
import os, sys

def refuse(event, arguments, writable=os.environ.get("WRITABLE", "")):
    if event in ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "sqlite3.connect"):
        path, writes = arguments[0], True
    elif event == "open":
        path, mode, flags = arguments
        writes = bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) or (mode or "r")[0] in "wax"
    else:
        return
    if writes and isinstance(path, (str, os.PathLike)):
        name = os.path.abspath(os.fspath(path))
        allowed = name.startswith("/dev/") or ":memory:" in name or (writable and name.startswith(writable))
        if not allowed:
            raise OSError(30, "Read-only file system", name)

sys.addaudithook(refuse)
"""


@pytest.fixture(scope="module")
def opt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the build stage makes."""
    place = tmp_path_factory.mktemp("image")
    build, opt = place / "build", place / "opt"
    build.mkdir()
    steps = [each for each in files.containerfile() if each.stage == 1]
    for each in steps:
        if each.word == "COPY":
            *sources, _ = each.rest.split()
            for source in sources:
                _copy(files.HOUSE / source, build / source)
    venv, wheel, install = [each.rest.replace(OPT, str(opt)) for each in steps if each.word == "RUN"]
    _run(venv.partition("&&")[2], build)  # the pip that is here is the one that would be installed first
    _run(wheel, build)
    _run(f"{install} --no-deps --no-index", build)
    packages = opt / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (packages / "sitecustomize.py").write_text(READ_ONLY)
    return opt


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _run(command: str, build: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=build, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode and "No matching distribution found for hatchling" in done.stderr:
        pytest.skip("the wheel cannot be built here: there is no hatchling to be had")
    assert done.returncode == 0, f"{command}\n{done.stderr[-3_000:]}"


@contextmanager
def contained(opt: Path, folder: Path, **settings: str) -> Iterator[tuple[str, dict[str, str], subprocess.Popen[str]]]:
    """The image's command with the image's variables, and no others but these; where it listens, once it does."""
    environment = {name: value.replace(OPT, str(opt)) for name, value in files.image_environment().items()}
    environment |= {"PATH": f"{opt}/bin:/usr/bin:/bin", "HOME": "/nonexistent", "REASONBLOCKS_PORT": "0", **settings}
    process = subprocess.Popen(
        files.image_command(),
        executable=opt / "bin" / files.image_command()[0],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    watch = threading.Timer(PATIENCE_SECONDS, process.kill)
    watch.start()
    said = []
    try:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if line.startswith("{") and json.loads(line)["event"] == "listening":
                yield str(json.loads(line)["url"]), environment, process
                break
        else:
            pytest.fail(f"it did not start: {''.join(said)}")
    finally:
        watch.cancel()
        process.kill()
        process.communicate()


def ask_and_end(url: str, environment: dict[str, str], process: subprocess.Popen[str]) -> None:
    """It serves, says that it is well, and ends in order when it is told to."""
    port = httpx.URL(url).port
    assert httpx.get(f"http://127.0.0.1:{port}/health").json()["version"] == __version__
    assert httpx.get(f"http://127.0.0.1:{port}/ready").status_code == 200
    program, *arguments = files.health_check()
    check = [f"{environment['PATH'].split(':')[0]}/{program}", *arguments]
    assert subprocess.run(check, env=environment | {"REASONBLOCKS_PORT": str(port)}, check=False).returncode == 0
    failing = subprocess.run(
        check, env=environment | {"REASONBLOCKS_PORT": "1"}, check=False, stderr=subprocess.DEVNULL
    )
    assert failing.returncode != 0
    process.send_signal(signal.Signals[files.instruction("STOPSIGNAL")])
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0


@pytest.mark.slow
def test_the_image_serves_from_its_data_directory_alone(opt: Path, tmp_path: Path) -> None:
    """As it comes: tables and index in the data directory, nothing written elsewhere."""
    data = tmp_path / "data"
    data.mkdir()
    where = subprocess.run(
        [opt / "bin" / "python", "-c", "import reasonblocks; print(reasonblocks.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(opt))
    with contained(opt, tmp_path, REASONBLOCKS_DATA_DIR=str(data), WRITABLE=str(data)) as running:
        ask_and_end(*running)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.slow
def test_the_image_on_a_database_server_writes_no_file(opt: Path, tmp_path: Path, postgres_url: str) -> None:
    """As compose and Kubernetes have it: not one file can be written."""
    settings = {
        "DATA_DIR": ":memory:",
        "DATABASE_URL": postgres_url,
        "QDRANT_URL": ":memory:",
        "KEYS": "an-admin-key-0123456",
    }
    named = {f"REASONBLOCKS_{name}": value for name, value in settings.items()}
    with contained(opt, tmp_path, **named) as running:
        ask_and_end(*running)
    assert list(tmp_path.iterdir()) == []
