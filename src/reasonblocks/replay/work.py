"""Many runs, in this process or in several; what comes out is in the order of what went in, byte for byte the same."""

import contextlib
import gc
import multiprocessing
import signal
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from ..engine.monitors.settings import NO_SETTINGS, MonitorSettings
from ..recordings import decode_run
from .entries import encode_line
from .player import Player

AHEAD = 4
"""How many runs wait for each process: enough to keep it busy, few enough for any file to fit into memory."""

COLLECTION = 50_000, 20, 100
"""After how many new objects circles are looked for among them. A run that is over has none, and is freed at once."""

Line = tuple[int, bytes]


class Done(NamedTuple):
    """A run that was replayed."""

    number: int
    """Of its line."""
    run_id: str
    steps: int
    line: bytes


def replay_lines(
    lines: Iterable[Line], path: Path, profile: str, jobs: int, settings: MonitorSettings = NO_SETTINGS
) -> Generator[Done]:
    """Replay the runs on these lines of `path`."""
    player = Player(profile, settings)  # also where others do the work: a setting that cannot work is told here, once
    if jobs == 1:
        with collecting_rarely():
            for number, line in lines:
                yield _replayed(player, path, number, line)
        return
    # Fresh processes: a fork would take along whatever threads its parent has.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _start, (profile, settings)) as pool:
        waiting: deque[Future[Done]] = deque()
        try:
            for number, line in lines:
                waiting.append(pool.submit(_replayed_there, path, number, line))
                if len(waiting) >= AHEAD * jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def collecting_rarely() -> Iterator[None]:
    """Spare a process that does nothing but replay most of the search for circles."""
    before = gc.get_threshold()
    gc.set_threshold(*COLLECTION)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


_player: Player | None = None
"""That of a process which was started for replaying."""


def _start(profile: str, settings: MonitorSettings) -> None:
    global _player
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever interrupts means the command, which ends us
    _player = Player(profile, settings)
    gc.set_threshold(*COLLECTION)
    gc.freeze()


def _replayed_there(path: Path, number: int, line: bytes) -> Done:
    assert _player is not None
    return _replayed(_player, path, number, line)


def _replayed(player: Player, path: Path, number: int, line: bytes) -> Done:
    replayed = player.replay(decode_run(line, path, number))
    return Done(number, replayed.run_id, len(replayed.steps), encode_line(replayed))
