"""The index after all kinds of edits, kills and company: it is always what a fresh one would be."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import support
from reasonblocks.engine.requests import PatternCreate, RetrieveRequest
from support.contents import Contents, by_the_tables, on_disk
from support.editing import ADMIN, Editor
from support.parts import PATIENCE, WordEmbeddings, opened


@contextmanager
def another_process(data_dir: Path, seed: int) -> Iterator[subprocess.Popen[str]]:
    """A process that edits the same data directory; it is killed at the end, if not before."""
    environment = {**os.environ, "PYTHONPATH": str(Path(support.__file__).parents[1])}
    command = [sys.executable, "-m", "support.editing", str(data_dir), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def edits(process: subprocess.Popen[str], number: int) -> None:
    """Wait until another process has made so many edits."""
    assert process.stdout is not None
    for _ in range(number):
        assert process.stdout.readline() == "edited\n"


async def checked(data_dir: Path) -> Contents:
    """Open the index, see that it is what the tables say, and what that is."""
    async with opened(data_dir) as parts:
        assert parts.index.state() == "ok"
        expected = await by_the_tables(parts.database, parts.embedding.embedder.name)
        await parts.index.aclose()
        assert await asyncio.to_thread(on_disk, data_dir) == expected
        return expected


@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), sittings=st.lists(st.integers(0, 12), min_size=1, max_size=3))
def test_an_index_that_followed_all_edits_equals_one_that_is_rebuilt(seed: int, sittings: list[int]) -> None:
    """However edits and restarts fall, the files end up as if made from the tables in one go."""

    async def edit(data_dir: Path, number: int) -> None:
        async with opened(data_dir) as parts:
            editor = Editor(parts, seed + number)
            for step in range(number):
                await editor.edit()
                if (seed >> step) % 3 == 0:
                    await parts.settle()
            await parts.settle()

    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder)
        for number in sittings:
            asyncio.run(edit(data_dir, number))
        followed = on_disk(data_dir)
        shutil.rmtree(data_dir / "index")
        assert followed == asyncio.run(checked(data_dir))


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param([(1, 2), (2, 15)], id="twice"),
        pytest.param([(seed, 3 * (seed % 7)) for seed in range(20)], id="twenty times", marks=pytest.mark.slow),
    ],
)
def test_a_process_killed_at_any_moment_leaves_nothing_wrong_behind(
    tmp_path: Path, moments: list[tuple[int, int]]
) -> None:
    """After kill -9 in the middle of edits, of a rebuild or of writing the marker, the next start has it right."""
    items: Contents = {}
    for seed, after in moments:
        with another_process(tmp_path, seed) as process:
            edits(process, after)
            process.send_signal(signal.SIGKILL)
            process.wait()
        items = asyncio.run(checked(tmp_path))
    assert items


async def test_two_processes_on_one_directory_see_what_either_writes(tmp_path: Path) -> None:
    """Each has an index of its own, and both follow the one database."""
    async with opened(tmp_path) as parts:
        with another_process(tmp_path, 4) as process:
            await asyncio.to_thread(edits, process, 12)
            request = PatternCreate("e2", {"diagnosis": "written here meanwhile"})
            pattern = await parts.patterns.create(ADMIN, request)
            await asyncio.to_thread(edits, process, 3)
        await parts.settle()

        expected = await by_the_tables(parts.database, parts.embedding.embedder.name)
        found = await parts.retriever.retrieve(ADMIN, RetrieveRequest("written here meanwhile", "e2"))
        await parts.index.aclose()

        assert pattern.pattern_id in [trace.pattern_id for trace in found.traces]
        assert await asyncio.to_thread(on_disk, tmp_path) == expected
        assert len(expected) > 2


async def test_a_vector_that_another_process_made_is_not_made_again(tmp_path: Path) -> None:
    """Who wrote a pattern embeds it; the others wait a moment and find the vector in the tables."""
    ours, theirs = WordEmbeddings(), WordEmbeddings()
    async with opened(tmp_path, ours) as here, opened(tmp_path, theirs) as there:
        ours.embedded.clear()
        await there.patterns.create(ADMIN, PatternCreate("e2", {"diagnosis": "written over there"}))
        async with asyncio.timeout(PATIENCE):
            while not here.catalogue.view.patterns:  # noqa: ASYNC110  its own follower tells it
                await asyncio.sleep(0.05)
            await here.index.settled()

        assert ours.embedded == []
        assert theirs.embedded.count("written over there") == 1
