"""What every test gets: a clean environment, an event loop, and a watch for calls that block that loop."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any

import blockbuster.blockbuster
import hypothesis
import pytest
from blockbuster import BlockBuster, BlockingError, blockbuster_ctx

from reasonblocks.runtime.supervisor import runtime
from support.cluster import Cluster
from support.fixtures import (  # noqa: F401  fixtures for every test
    capable_standin,
    cluster,
    database_name,
    place,
    postgres_url,
    session_process,
    standin,
)

hypothesis.settings.register_profile("untimed", deadline=None)  # a busy machine is not a failure
hypothesis.settings.load_profile("untimed")

SETTINGS = ("REASONBLOCKS_", "LANGSMITH_", "LANGCHAIN_", "OTEL_")
"""Variables that start with one of these would change what the code under test does, or send traces out."""

THREAD_GRACE_SECONDS = 2.0
_numbers = itertools.count()

MAY_BLOCK = [
    # `invoke()` inside a running loop: a sync hook can only wait for the runtime, within the step's budget
    ("threading.Lock.acquire", "reasonblocks/runtime/drivers.py", "_perform_elsewhere"),
    # the first use of the runtime waits until its thread runs, as Thread.start() itself does
    ("threading.Lock.acquire", "reasonblocks/runtime/supervisor.py", "_start"),
    # the first run after a close starts the threads of the exporters again, which waits until they run
    ("threading.Lock.acquire", "reasonblocks/telemetry/export.py", "_open"),
    ("threading.Lock.acquire", "reasonblocks/runtime/worker.py", "_start"),
    # where log records go is the application's choice; under pytest one of the places is a file
    ("io.TextIOWrapper.write", "logging/__init__.py", "emit"),
    ("io.BufferedWriter.write", "logging/__init__.py", "emit"),
]
"""What may block while a loop runs in its thread: the call, and the file and function it is made in."""

MAY_DO_ANYTHING = [
    # Alembic reads files; on a database server it does so on an event loop that nobody else uses
    ("reasonblocks/engine/store/migrate.py", "upgrade"),
    # a new connection to a database server looks for the user's password file and certificates, and there are few
    ("asyncpg/connect_utils.py", "_parse_connect_dsn_and_args"),
]
"""Where any call may block."""

LOOPS = {"asyncio": ("asyncio", {"use_uvloop": False}), "uvloop": ("asyncio", {"use_uvloop": True})}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-loops", action="store_true", help="run async tests on uvloop as well")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker process whose it is."""
    node.workerinput["session_process"] = os.getpid()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the database server that tests may have started, once all of them are over."""
    if not hasattr(config, "workerinput"):
        Cluster.of_session(session_process(config)).remove()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Choose the event loops of async tests: one is enough for everyday work."""
    if "anyio_backend" in metafunc.fixturenames:
        names = list(LOOPS) if metafunc.config.getoption("--all-loops") else ["asyncio"]
        metafunc.parametrize("anyio_backend", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """The event loop that async tests and fixtures run on."""
    return LOOPS[getattr(request, "param", "asyncio")]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A developer's own settings never reach a test, and no test reaches a developer's own data."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.getbasetemp() / "user data"))
    for name in [name for name in os.environ if name.startswith(SETTINGS)]:
        monkeypatch.delenv(name)
    # A spool of its own for each: a stand-in may get the port that another one had before.
    monkeypatch.setenv("REASONBLOCKS_SPOOL_DIR", str(tmp_path_factory.getbasetemp() / f"spool-{next(_numbers)}"))


class RecordedBlockingError(BlockingError):
    """Keeps where it was raised, since the code under test contains its own errors and would hide it."""

    seen: list[str] = []  # noqa: RUF012  one list for the process is the point

    def __init__(self, func: str) -> None:
        super().__init__(func)
        stack = traceback.format_list(_from_our_code(traceback.extract_stack(sys._getframe(2))))
        self.seen.append(f"{self} on thread {threading.current_thread().name!r}\n{''.join(stack)}")


def _from_our_code(stack: traceback.StackSummary) -> list[traceback.FrameSummary]:
    """The innermost frame of the package, its two callers, and what it called."""
    package = tuple(sys.modules["reasonblocks"].__path__)
    innermost = max(index for index, frame in enumerate(stack) if frame.filename.startswith(package))
    return stack[max(0, innermost - 2) :]


@pytest.fixture(scope="session", autouse=True)
def blocking_calls_raise() -> Iterator[BlockBuster]:
    """Any blocking call below a frame of ours raises while an event loop runs in that thread.

    That includes the runtime's own loop. A test's stand-in that blocks on purpose (a sync tool, a slow fake
    model) is caught too when our code calls it: let it await, or run it outside the loop.
    """
    with pytest.MonkeyPatch.context() as patch, blockbuster_ctx("reasonblocks") as watch:
        for call, file, function in MAY_BLOCK:
            watch.functions[call].can_block_in(file, function)
        for watched in watch.functions.values():
            for file, function in MAY_DO_ANYTHING:
                watched.can_block_in(file, function)
        patch.setattr(blockbuster.blockbuster, "BlockingError", RecordedBlockingError)
        yield watch


@pytest.fixture(autouse=True)
def blocking_calls(blocking_calls_raise: BlockBuster) -> Iterator[list[str]]:
    """Fail the test for each blocking call, also for one whose error was contained.

    A test that provokes a blocking call on purpose takes this fixture and clears the list.
    """
    RecordedBlockingError.seen.clear()
    yield RecordedBlockingError.seen
    if RecordedBlockingError.seen:
        pytest.fail("the event loop was blocked:\n\n" + "\n".join(RecordedBlockingError.seen), pytrace=False)


@pytest.fixture(autouse=True)
def no_actor_left() -> Iterator[None]:
    """A test that failed leaves no stream behind that would disturb the next one."""
    yield
    for actor in list(runtime._tasks):
        runtime.dismiss(actor)
    runtime.release()


@pytest.fixture
def no_threads_left() -> Iterator[None]:
    """The test leaves no thread of ours behind; one that is about to end gets a moment."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + THREAD_GRACE_SECONDS
    while left := _our_threads(before):
        if time.monotonic() > deadline:
            pytest.fail(f"threads left behind: {', '.join(left)}", pytrace=False)
        time.sleep(0.01)


def _our_threads(before: set[threading.Thread]) -> list[str]:
    threads = set(threading.enumerate()) - before
    return sorted(thread.name for thread in threads if thread.name.startswith("reasonblocks"))
