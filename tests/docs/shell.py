"""Somebody who types what the documentation says, as it stands there, in a home of their own."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from click.testing import CliRunner

from reasonblocks.commands.root import reasonblocks

PROGRAMS = Path(sys.executable).parent
"""Those of the environment that the tests run in."""
KEPT = ("PIP_", "SSL_", "REQUESTS_CA", "LANG", "LC_", "TMPDIR")
"""What pip and others need to know about this machine; nothing else of it reaches what is typed."""
PATIENCE_SECONDS = 900.0
"""A block may install what it needs first, on a machine that has other things to do."""
SERVER = 8484
"""The port that a server has unless it is told another."""


def typed_here(command: str) -> str:
    """What one of our commands prints, executed in this process: `~` and `$NAME` are replaced as a shell does."""
    program, *words = (os.path.expanduser(os.path.expandvars(word)) for word in shlex.split(command))
    assert program == "reasonblocks", command
    result = CliRunner().invoke(reasonblocks, words, prog_name="reasonblocks", env={"COLUMNS": "80"})
    assert result.exit_code == 0, f"{command}\n{result.output}"
    return result.stdout


@contextlib.contextmanager
def alone_on(*ports: int) -> Iterator[None]:
    """Nobody else's test uses these ports meanwhile, not even one of another checkout on the same machine."""
    with contextlib.ExitStack() as stack:
        for port in sorted(ports):
            lock = stack.enter_context((Path(tempfile.gettempdir()) / f"reasonblocks-port-{port}.lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))  # or something else of this machine has it: these tests need it
        yield


class Shell:
    """A bash for each thing that is typed; all have one home, one folder and the same variables."""

    def __init__(self, home: Path, folder: Path | None = None, programs: Path = PROGRAMS, **variables: str) -> None:
        self.home = home
        self.folder = folder or home
        self._environment = {
            **{name: value for name, value in os.environ.items() if name.startswith(KEPT)},
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(home),
            **variables,
        }

    def type(self, text: str) -> str:
        """What a block prints; it ends well."""
        done = subprocess.run(
            _bash(text),
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{text}\nended with {done.returncode}:\n{done.stdout[-5_000:]}"
        return done.stdout

    @contextlib.contextmanager
    def served(self, text: str, port: int = SERVER) -> Iterator[Served]:
        """A block whose last command goes on until it is stopped: there once it is ready, ended as by Ctrl-C."""
        with (self.home / "stdout").open("w") as output, (self.home / "stderr").open("w") as log:
            process = subprocess.Popen(
                _bash(text),
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=log,
                start_new_session=True,
            )
            served = Served(process, self.home, port)
            try:
                served.wait_until_ready()
                yield served
                served.interrupt()
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


class Served:
    """A server that somebody has started by hand."""

    def __init__(self, process: subprocess.Popen[bytes], home: Path, port: int) -> None:
        self._process = process
        self._home = home
        self.url = f"http://127.0.0.1:{port}"

    @property
    def printed(self) -> str:
        """What came on stdout so far; with pip before it, the key is the last line."""
        return (self._home / "stdout").read_text()

    @property
    def log(self) -> list[dict[str, Any]]:
        """What came on stderr as JSON."""
        lines = (self._home / "stderr").read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}\n")]

    def wait_until_ready(self) -> None:
        """Until it says that it listens, which it does once all workers are there, and `/ready` is good."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            if "listening" in {line["event"] for line in self.log} and self._is_ready():
                return
            time.sleep(0.1)
        raise AssertionError(f"it is not ready: {self.printed[-2_000:]}{(self._home / 'stderr').read_text()[-3_000:]}")

    def _is_ready(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/ready").status_code == 200
        return False

    def interrupt(self) -> None:
        """What Ctrl-C does in a terminal, to the shell and to all that runs in it; the end is an orderly one."""
        os.killpg(self._process.pid, signal.SIGINT)
        assert self._process.wait(PATIENCE_SECONDS) == 0, self.log[-3:]
        assert self.log[-1]["event"] == "stopped", self.log[-3:]


def _bash(text: str) -> list[str]:
    """Stops at the first command that fails, and at a variable that nobody has set."""
    return ["bash", "-euo", "pipefail", "-c", text]
