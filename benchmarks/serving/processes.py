"""Servers as processes: started, found, measured from outside, and ended whatever happens."""

import contextlib
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil
from serving.connection import Connection

from reasonblocks.engine.monitors.registry import BUILT_IN

START_SECONDS = 120.0
STOP_SECONDS = 20.0
_LOOK_SECONDS = 0.05
_QUIET_LOOKS = 4
_QUIET_SHARE = 0.04
"""A process that takes less of a core than this does nothing but wait."""
_LONGEST_WAIT = 60.0


@dataclass
class Server:
    """A server under measurement."""

    process: subprocess.Popen[str]
    port: int = 0
    key: str = ""
    idle_share: float = 0.0
    """Of a core, while nothing is asked of it."""
    connection: Connection = field(init=False)

    def cpu(self) -> float:
        """Seconds of processor time so far, of all its threads; in nanoseconds where the system tells them."""
        try:
            return time.clock_gettime((~self.process.pid << 3) | 2)  # as clock_getcpuclockid(3) makes it
        except OSError:
            times = psutil.Process(self.process.pid).cpu_times()
            return float(times.user + times.system)

    def settled(self) -> tuple[float, float]:
        """Wait until it does nothing any more: its processor time then, and when that was."""
        quiet, before, moment = 0, self.cpu(), time.perf_counter()
        since = (before, moment)
        deadline = moment + _LONGEST_WAIT
        while quiet < _QUIET_LOOKS and moment < deadline:
            time.sleep(_LOOK_SECONDS)
            now, moment = self.cpu(), time.perf_counter()
            if now - before > _QUIET_SHARE * _LOOK_SECONDS:
                quiet, since = 0, (now, moment)
            else:
                quiet += 1
            before = now
        return since

    def rest(self, seconds: float = 3.0) -> None:
        """Find out what it takes while nothing is asked of it."""
        self.settled()
        before, started = self.cpu(), time.perf_counter()
        time.sleep(seconds)
        self.idle_share = (self.cpu() - before) / (time.perf_counter() - started)

    def memory(self) -> tuple[float, float]:
        """Resident and proportional memory in MB (2**20 bytes)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        shares = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return _megabytes(status, "VmRSS:"), _megabytes(shares, "Pss:")


def _megabytes(text: str, name: str) -> float:
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(name)) / 1024


@contextlib.contextmanager
def ours(data_dir: Path, key: str = "", log_level: str = "warning") -> Iterator[Server]:
    """rb-api on a data directory; the key is the one it prints at its first start, or the one given."""
    arguments = ["-m", "reasonblocks", "serve", "--port", "0", "--data-dir", str(data_dir), "--log-level", log_level]
    with _running(arguments, {"REASONBLOCKS_RATE": "1000000", "REASONBLOCKS_BURST": "1000000"}) as server:
        server.key = key or _first_line(server.process)
        with _connected(server):
            _await_ready(server)
            yield server


@contextlib.contextmanager
def unwatched(key: str) -> Iterator[Server]:
    """rb-api with all monitors switched off: the way that an evaluation takes, and nothing at the end of it."""
    own = {"MONITORS_OFF": ",".join(monitor.name for monitor in BUILT_IN), "DATA_DIR": ":memory:", "PORT": "0"}
    environment = {"RATE": "1000000", "BURST": "1000000", "KEYS": key, "LOG_LEVEL": "warning", **own}
    with _running(
        ["-m", "reasonblocks", "serve"], {f"REASONBLOCKS_{name}": value for name, value in environment.items()}
    ) as server:
        server.key = key
        with _connected(server):
            _await_ready(server)
            yield server


@contextlib.contextmanager
def shared(database_url: str, workers: int, key: str) -> Iterator[Server]:
    """rb-api on a database server, with so many workers."""
    own = {"DATABASE_URL": database_url, "WORKERS": str(workers), "DATA_DIR": ":memory:", "LOG_LEVEL": "warning"}
    environment = {"RATE": "1000000", "BURST": "1000000", "KEYS": key, "PORT": "0", **own}
    if workers > 1:
        environment["QDRANT_URL"] = ":memory:"
    named = {f"REASONBLOCKS_{name}": value for name, value in environment.items()}
    with _running(["-m", "reasonblocks", "serve"], named) as server:
        server.key = key
        with _connected(server):
            _await_ready(server)
            yield server


@contextlib.contextmanager
def bare(answers: Path, key: str) -> Iterator[Server]:
    """The bare routes."""
    with _running([str(Path(__file__).parent / "bare.py"), str(answers)], {}) as server:
        server.key = key  # so that it is sent the same bytes
        with _connected(server):
            yield server


@contextlib.contextmanager
def _running(arguments: Sequence[str], environment: dict[str, str]) -> Iterator[Server]:
    with tempfile.TemporaryFile("w+") as said:
        # In a session of its own: Ctrl-C is for us, who then end it in order.
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=said,
            env={**os.environ, "REASONBLOCKS_KEYS": "", **environment},
            text=True,
            start_new_session=True,
        )
        try:
            yield Server(process)
        except SystemExit:
            said.seek(0)
            print(said.read()[-4_000:], file=sys.stderr)
            raise
        finally:
            _end(process)


def _end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextlib.contextmanager
def _connected(server: Server) -> Iterator[None]:
    server.port = _listening_port(server.process)
    with Connection(server.port) as server.connection:
        yield


def _first_line(process: subprocess.Popen[str]) -> str:
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    assert process.stdout is not None
    threading.Thread(target=_read_line, args=(process.stdout, lines), daemon=True).start()
    try:
        return lines.get(timeout=START_SECONDS).strip()
    except queue.Empty:
        raise SystemExit(f"the server printed no key within {START_SECONDS:g} s") from None


def _read_line(stream: IO[str], lines: "queue.SimpleQueue[str]") -> None:
    lines.put(stream.readline())


def _listening_port(process: subprocess.Popen[str]) -> int:
    watched = psutil.Process(process.pid)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"a server ended at its start with code {process.returncode}; what it said is above")
        for each in watched.net_connections("tcp"):
            if each.status == psutil.CONN_LISTEN:
                return int(each.laddr.port)
        time.sleep(_LOOK_SECONDS)
    raise SystemExit(f"a server did not listen within {START_SECONDS:g} s")


def _await_ready(server: Server) -> None:
    """Until its index is there, which a first start has to make."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        status, body = server.connection.get("/v1/ready")
        if status == 200:
            return
        if time.monotonic() > deadline:
            raise SystemExit(f"the server was not ready within {START_SECONDS:g} s: {body.decode()}")
        time.sleep(0.2)
