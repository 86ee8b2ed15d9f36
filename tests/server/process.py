"""A server in a process of its own, as people run it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

START = """
from reasonblocks.server.run import serve
from reasonblocks.server.settings import ServerSettings
serve(ServerSettings.from_environment())
"""
PATIENCE_SECONDS = 90.0


class ServerProcess:
    """A running server: where it listens, what it printed, what it logged."""

    def __init__(self, data_dir: Path | str, **environment: str) -> None:
        settings = {"PORT": "0", "DATA_DIR": str(data_dir)} | environment
        self._process = subprocess.Popen(
            [sys.executable, "-c", START],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **{f"REASONBLOCKS_{name}": value for name, value in settings.items()}},
        )
        self.log: list[dict[str, Any]] = []
        """What came on stderr as JSON."""
        self.said: list[str] = []
        """What came on stderr otherwise."""
        self.printed: list[str] = []
        """The lines on stdout."""
        self._listening = threading.Event()
        self._readers = [
            threading.Thread(target=self._read_log, daemon=True),
            threading.Thread(target=self._read_output, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            try:
                self.log.append(json.loads(line))
            except ValueError:
                self.said.append(line.rstrip("\n"))
            if self.log and self.log[-1]["event"] == "listening":
                self._listening.set()
        self._listening.set()

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.printed.append(line.rstrip("\n"))

    @property
    def process_id(self) -> int:
        """Of the process itself, or of the supervisor of its workers."""
        return self._process.pid

    @property
    def url(self) -> str:
        """Where it listens, once it does."""
        assert self._listening.wait(PATIENCE_SECONDS)
        found = [line["url"] for line in self.log if line["event"] == "listening"]
        assert found, f"it did not start: {self.said} {self.log}"
        return str(found[0])

    @property
    def address(self) -> tuple[str, int]:
        """The same for a bare socket."""
        url = httpx.URL(self.url)
        assert url.port is not None
        return url.host, url.port

    def first_key(self) -> str:
        """The only line on stdout, once it is there."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.printed and time.monotonic() < deadline:
            time.sleep(0.01)
        (key,) = self.printed
        return key

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def wait(self) -> int:
        """Its exit code, once it has ended by itself and all it said was read."""
        code = self._process.wait(PATIENCE_SECONDS)
        for reader in self._readers:
            reader.join(PATIENCE_SECONDS)
        return code

    def stop(self) -> int:
        """End it as a service manager does."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def close(self) -> None:
        """Leave nothing behind."""
        if self._process.poll() is None:
            self._process.kill()
        self.wait()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()


@contextlib.contextmanager
def running(data_dir: Path | str, **environment: str) -> Iterator[ServerProcess]:
    """A server that is gone afterwards, whatever happens."""
    server = ServerProcess(data_dir, **environment)
    try:
        yield server
    finally:
        server.close()
