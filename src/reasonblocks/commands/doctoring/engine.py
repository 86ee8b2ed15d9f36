"""Whether an embedded engine works on a data directory: the very parts that an agent would open."""

import asyncio
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from ...engine.answers import HealthSummary
from ...engine.principal import Principal
from .finding import Finding, ok, problem, warning

OWNER = Principal(key_id="command")
LITTLE_SPACE = 500_000_000
"""Bytes below which a disk is nearly full."""
PATIENCE_SECONDS = 120.0
PROBE = "The agent reads the same file again."


def directory(path: Path | None) -> Iterator[Finding]:
    """Whether the data directory can be used."""
    topic = "data directory"
    if path is None:
        yield warning(topic, ":memory: keeps nothing: runs are gone when the process ends", "name a directory")
        return
    standing = next(part for part in (path, *path.parents) if part.exists())
    if not standing.is_dir():
        yield problem(topic, f"{standing} is a file", "name another directory with --data-dir")
    elif not os.access(standing, os.W_OK | os.X_OK):
        yield problem(topic, f"{standing} cannot be written", "make it writable, or name another with --data-dir")
    elif standing == path:
        yield ok(topic, f"{path} can be written")
    else:
        yield ok(topic, f"{path} is not there yet; the first run makes it")
    free = shutil.disk_usage(standing).free
    if free < LITTLE_SPACE:
        yield warning(topic, f"only {free // 1_000_000:,} MB are free on its disk", "make room, or set keep_days")


def embedder(setting: str | None) -> Iterator[Finding]:
    """Whether texts can be turned into vectors."""
    from ...engine.embedding.worker import shared_worker

    began = time.perf_counter()
    worker = shared_worker(setting)
    try:
        vector = worker.submit([PROBE]).result(PATIENCE_SECONDS)[0]
    finally:
        worker.close()
    took = time.perf_counter() - began
    yield ok(
        "embedder", f"{worker.embedder.name} loads: a sentence is {len(vector)} numbers, the first took {took:.1f} s"
    )


def parts(path: Path | None) -> Iterator[Finding]:
    """Open an engine as an agent does, and hear what its parts say; in memory where there is no database yet."""
    from ...engine.engine import Engine
    from ...engine.settings import EngineSettings
    from ...engine.store.sqlite import FILE_NAME

    held = path if path is not None and (path / FILE_NAME).exists() else None  # a look must not make a directory
    settings = EngineSettings.from_environment(held)

    async def look() -> tuple[dict[str, str], HealthSummary]:
        engine = await Engine.open(settings)
        try:
            return engine.health(), await engine.runs.summary(OWNER)
        finally:
            await engine.aclose()

    began = time.perf_counter()
    health, summary = asyncio.run(look())
    took = time.perf_counter() - began
    for name in ("database", "index"):
        state = health.get(name, "ok")
        if state == "ok":
            yield ok(name, "works" + (" (tried in memory)" if held is None else f", in {held}"))
        else:
            yield problem(name, state, "run reasonblocks index rebuild" if name == "index" else "")
    counted = f"{summary.runs:,} run{'s' * (summary.runs != 1)}, {summary.open_runs:,} open"
    yield ok("engine", f"opened and closed in {took:.1f} s; {counted}")
