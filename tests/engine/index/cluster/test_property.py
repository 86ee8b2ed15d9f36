"""Edits, outages, restarts and losses in any order: afterwards the cluster holds what the tables say."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.clustered import assert_right
from support.editing import Editor
from support.other_words import OLD, OtherWords
from support.parts import WordEmbeddings, opened
from support.qdrant import Rig, away, forgetful, half_done, rigged, silent

FAULTS: dict[str, Any] = {"away": away, "silent": silent, "forgetful": forgetful, "half done": half_done, "none": None}
EVENTS = st.one_of(
    st.tuples(st.just("edit"), st.integers(1, 6)),
    st.tuples(st.just("fault"), st.sampled_from(sorted(FAULTS))),
    st.tuples(st.sampled_from(["pause", "restart", "kill", "wipe", "rebuild", "model"]), st.just(0)),
)
COMMON = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
"""A kill may fall while a connection is opened: the thread that opens it then finds neither its file nor its loop."""


class Story:
    """What happens, one sitting after another."""

    def __init__(self, data_dir: Path, rig: Rig, seed: int) -> None:
        self._data_dir, self._rig, self._seed = data_dir, rig, seed
        self._is_other = False

    async def live(self, events: list[tuple[str, Any]]) -> None:
        """Go through everything that happens, then have the cluster work, and compare."""
        left = list(events)
        while left:
            left = await self._sit(left)
        self._rig.fault = None
        async with self._opened() as parts:
            await Editor(parts, self._seed).create_live()
            await assert_right(self._rig, parts)

    def _opened(self) -> Any:
        embedder = OtherWords() if self._is_other else WordEmbeddings()
        return opened(self._data_dir, embedder, make_index=self._rig.make(previous=OLD), settle=False)

    async def _sit(self, events: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """One process, until it ends; what is left."""
        async with self._opened() as parts:
            editor = Editor(parts, self._seed + len(events))
            for place, (event, how) in enumerate(events):
                rest = events[place + 1 :]
                if event == "edit":
                    for _ in range(how):
                        await editor.edit()
                elif event == "fault":
                    self._rig.fault = FAULTS[how]
                elif event == "pause":
                    await asyncio.sleep(0.1)
                elif event == "wipe":
                    await self._rig.wipe()
                elif event == "rebuild":
                    await self._ask_for_rebuild(parts)
                elif event == "kill":
                    for task in parts.index._tasks:  # in the middle of whatever it does
                        task.cancel()
                    return rest
                else:
                    self._is_other ^= event == "model"
                    return rest
        return []

    async def _ask_for_rebuild(self, parts: Any) -> None:
        from reasonblocks.engine.index.follower import record_changes

        async with parts.database.writing() as connection:
            await record_changes(connection, "index", ["rebuild"])
        parts.follower.notify()


def live(seed: int, events: list[tuple[str, Any]]) -> None:
    """A story on a database and a cluster of its own."""

    async def story(data_dir: Path) -> None:
        async with rigged() as rig:
            await Story(data_dir, rig, seed).live(events)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(story(Path(folder)))


@settings(max_examples=5, suppress_health_check=COMMON)
@given(seed=st.integers(0, 2**32), events=st.lists(EVENTS, min_size=2, max_size=10))
def test_the_cluster_equals_the_tables_after_any_story(seed: int, events: list[tuple[str, Any]]) -> None:
    """However edits, outages, restarts, losses, rebuilds and switches of the model fall."""
    live(seed, events)


@pytest.mark.slow
@settings(max_examples=120, suppress_health_check=COMMON)
@given(seed=st.integers(0, 2**32), events=st.lists(EVENTS, min_size=4, max_size=24))
def test_the_cluster_equals_the_tables_after_long_stories(seed: int, events: list[tuple[str, Any]]) -> None:
    """The same, for longer."""
    live(seed, events)
