"""A PostgreSQL cluster of the tests' own, made from the system's packages when the first test asks for it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from reasonblocks.engine.store.database import Database
from reasonblocks.engine.store.migrate import prepare
from reasonblocks.engine.store.schema import metadata

Place = Path | str | None
"""Where a database is: a data directory, the URL of one on a server, or memory."""

DEBIAN = Path("/usr/lib/postgresql")
UNPRIVILEGED = "postgres"
START_SECONDS = 60
TEMPLATE = "reasonblocks_template"
NUMBERED = ("runs.id", "traces.id", "changes.number")
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "300",
    "shared_buffers": "64MB",
    "log_min_messages": "fatal",
    "deadlock_timeout": "100ms",
}


def database_at(place: Place) -> Database:
    """The database of a place."""
    return Database.at(None, place) if isinstance(place, str) else Database.at(place)


def programs() -> Path | None:
    """Where `initdb` and `pg_ctl` of the newest PostgreSQL are, if there is one."""
    found = sorted(DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    named = shutil.which("initdb")
    return found[-1].parent if found else Path(named).parent if named else None


def missing() -> str | None:
    """Why there can be no cluster here, if so."""
    if programs() is None:
        return f"PostgreSQL is not installed: no initdb in {DEBIAN}/*/bin nor in PATH (Debian's package: postgresql)"
    if os.geteuid() == 0 and not _user_exists():
        return f"PostgreSQL refuses root, and there is no user {UNPRIVILEGED!r} it could run as"
    return None


def _user_exists() -> bool:
    return any(entry.pw_name == UNPRIVILEGED for entry in pwd.getpwall())


class Cluster:
    """A cluster in a folder, for all processes of a test session: whoever comes first makes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._data = folder / "data"
        self._port_file = folder / "port"
        self._settings = SETTINGS

    @classmethod
    def of_session(cls, process: int) -> Cluster:
        """That of the session which a process leads."""
        return cls(Path(tempfile.gettempdir()) / f"reasonblocks-postgres-{process}")

    @property
    def port(self) -> int:
        """On loopback; the name of the socket has it as well."""
        return int(self._port_file.read_text())

    def url(self, database: str, *, host: str | None = None, port: int | None = None) -> str:
        """The URL of a database: by way of the socket in the folder, or else of a host."""
        if host is not None:
            return f"postgresql+asyncpg://{UNPRIVILEGED}@{host}:{port or self.port}/{database}"
        return f"postgresql+asyncpg://{UNPRIVILEGED}@/{database}?host={self.folder}&port={self.port}"

    @property
    def process_id(self) -> int:
        """Of the server itself."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def ensure(self, *, durable: bool = False) -> None:
        """Make it and start it, unless another process has; tests have nothing that has to survive a power cut."""
        with self._locked():
            if not self._port_file.exists():
                self._settings = {} if durable else SETTINGS
                self._make()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with Path(f"{self.folder}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _make(self) -> None:
        self.folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(self.folder, UNPRIVILEGED)
        self._run(
            "initdb", "-D", str(self._data), "-U", UNPRIVILEGED, "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"
        )
        port = _free_port()
        self.start(port)
        self._port_file.write_text(str(port))
        self.create(TEMPLATE, "template0")
        in_thread(lambda: asyncio.run(self._fill_template()))

    def start(self, port: int | None = None) -> None:
        """Start it, on the port it had unless told."""
        own = self._settings | {"port": str(port or self.port), "unix_socket_directories": str(self.folder)}
        options = " ".join(f"-c {name}={value}" for name, value in (own | {"listen_addresses": "127.0.0.1"}).items())
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self._data), "-l", log, "-w", "-t", str(START_SECONDS), "-o", options, "start")

    def stop(self) -> None:
        """Stop it at once, as if its machine were gone."""
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")

    def remove(self) -> None:
        """Leave nothing behind."""
        if self._data.exists():
            if (self._data / "postmaster.pid").exists():
                self.stop()
            shutil.rmtree(self.folder)
        Path(f"{self.folder}.lock").unlink(missing_ok=True)

    def create(self, name: str, template: str = TEMPLATE) -> None:
        """Make a database."""
        self.execute("postgres", f'CREATE DATABASE "{name}" TEMPLATE "{template}"')

    def drop(self, name: str) -> None:
        """Drop a database, whoever uses it."""
        self.execute("postgres", f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def empty(self, name: str) -> None:
        """Have a database as a new one is."""
        deleted = [f'DELETE FROM "{table.name}"' for table in reversed(metadata.sorted_tables)]
        numbers = [f"ALTER SEQUENCE {place.replace('.', '_')}_seq RESTART" for place in NUMBERED]
        self.execute(name, "; ".join(["SET lock_timeout = '10s'", *deleted, *numbers]))

    def execute(self, database: str, sql: str) -> None:
        """Execute a statement as the cluster's owner."""

        async def execute() -> None:
            connection = await asyncpg.connect(
                host=str(self.folder), port=self.port, user=UNPRIVILEGED, database=database
            )
            try:
                await connection.execute(sql)
            finally:
                await connection.close()

        in_thread(lambda: asyncio.run(execute()))

    async def _fill_template(self) -> None:
        database = Database.at(None, self.url(TEMPLATE))
        await prepare(database)
        await database.aclose()

    def _run(self, program: str, *arguments: str) -> None:
        found = programs()
        assert found is not None
        user: dict[str, Any] = {"user": UNPRIVILEGED, "group": UNPRIVILEGED} if os.geteuid() == 0 else {}
        done = subprocess.run(
            [str(found / program), *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=2 * START_SECONDS,
            check=False,
            extra_groups=[] if user else None,
            **user,
        )
        assert done.returncode == 0, f"{program} failed: {done.stderr}"


def in_thread(work: Callable[[], object]) -> None:
    """Run something that needs an event loop of its own, whatever runs in this thread."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
