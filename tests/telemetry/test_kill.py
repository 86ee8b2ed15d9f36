"""A process that is killed in the middle of a write: all it was told to be on disk is there for the next one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reasonblocks.telemetry.spool.policy import SpoolPolicy
from reasonblocks.telemetry.spool.queue import oldest_orphan

WRITER = """
import os, sys
from pathlib import Path
from reasonblocks.telemetry.spool.policy import SpoolPolicy
from reasonblocks.telemetry.spool.queue import Queue
from reasonblocks.telemetry.spool.records import Kind, Record

queue = Queue.create(Path(sys.argv[1]), SpoolPolicy(max_bytes=4_000_000, fsync=sys.argv[2]))
number = delivered = 0
while True:
    some = [Record(Kind.STEP, b'{"run_id":"r","n":%d,"pad":"%s"}' % (number + n, b"x" * 300)) for n in range(20)]
    if queue.full(10_000):
        os._exit(3)
    queue.append(some)
    number += 20
    os.write(1, b"a%d\\n" % number)
    if number % 100 == 0:
        portion = queue.read(30, 1_000_000)
        os.write(1, b"d%d\\n" % (delivered + len(portion.records)))
        queue.delivered(portion.records)
        delivered += len(portion.records)
"""
"""Says what was acknowledged (a) and what is about to be taken as delivered (d)."""

CRASHER = """
import os, sys
from pathlib import Path
from reasonblocks.telemetry.spool.policy import SpoolPolicy
from reasonblocks.telemetry.spool.queue import Queue
from reasonblocks.telemetry.spool.records import Kind, Record

left, torn, write = int(sys.argv[2]), int(sys.argv[3]), os.write
def dying(descriptor, data):
    global left
    if descriptor > 2:
        left -= 1
        if left < 0:
            write(descriptor, bytes(data)[: len(data) * torn // 4])
            os.kill(os.getpid(), 9)
    return write(descriptor, data)
os.write = dying

queue = Queue.create(Path(sys.argv[1]), SpoolPolicy(max_bytes=100_000, fsync="never"))
number = 0
for turn in range(12):
    some = [Record(Kind.STEP, b'{"run_id":"r","n":%d,"pad":"%s"}' % (number + n, b"x" * 900)) for n in range(5)]
    if queue.full(6_000):
        gone = queue.make_room(6_000, lambda steps: [])
        os.write(1, b"g%d\\n" % gone)
    queue.append(some)
    number += 5
    os.write(1, b"a%d\\n" % number)
    if turn % 4 == 3:
        portion = queue.read(3, 1_000_000)
        queue.delivered(portion.records)
        os.write(1, b"d%d\\n" % len(portion.records))
os.write(1, b"end\\n")
"""


TWO_SEGMENTS = 2 * 100_000 // 8 // 900


def numbers_left(directory: Path) -> list[int]:
    """What the next process finds, in its order."""
    queue = oldest_orphan(directory, SpoolPolicy(), None)
    if queue is None:
        return []
    found: list[int] = []
    while (portion := queue.read(1_000, 10_000_000)) is not None:
        found += [int(record.payload.split(b'"n":')[1].split(b",")[0]) for record in portion.records]
        queue.delivered(portion.records)
    assert queue.damaged == 0
    queue.remove()
    return found


def kill_in_the_middle(directory: Path, fsync: str, after: float) -> None:
    """Start a writer, kill it, and look at what it left."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(directory), fsync], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline()  # it has begun
        time.sleep(after)
        writer.send_signal(signal.SIGKILL)
        said = (first + writer.stdout.read()).decode().split("\n")
    whole = [line for line in said[:-1] if line]
    acknowledged = max(int(line[1:]) for line in whole if line.startswith("a"))
    delivered = max((int(line[1:]) for line in whole if line.startswith("d")), default=0)
    left = numbers_left(directory)
    assert left == list(range(left[0], left[0] + len(left)))
    assert left[-1] >= acknowledged - 1
    assert left[0] <= delivered


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """Killed at any moment, a writer leaves everything it had acknowledged, in order and without a gap."""
    kill_in_the_middle(tmp_path, "never", 0.05)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("fsync", ["always", "batch", "never"])
def test_what_was_acknowledged_survives_many_kills(tmp_path: Path, fsync: str) -> None:
    """The same at many moments, for every way of writing."""
    chance = random.Random(fsync)
    for number in range(15):
        kill_in_the_middle(tmp_path / str(number), fsync, chance.uniform(0.0, 0.2))


def crash_at(directory: Path, write: int, torn: int) -> bool:
    """Crash at one write, of which a part still happens; whether the program came to its end before."""
    done = subprocess.run(
        [sys.executable, "-c", CRASHER, str(directory), str(write), str(torn)], capture_output=True, check=False
    )
    said = done.stdout.decode().split("\n")
    if "end" in said:
        return True
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    acknowledged = max((int(line[1:]) for line in said if line.startswith("a")), default=0)
    gone = sum(int(line[1:]) for line in said if line.startswith(("g", "d")))
    left = numbers_left(directory)
    if not left:
        assert acknowledged == gone
        return False
    assert left == list(range(left[0], left[0] + len(left)))
    assert left[-1] >= acknowledged - 1
    assert left[0] <= gone + TWO_SEGMENTS  # which may have gone for lack of room without our having heard of it
    return False


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize("write", [0, 1, 5, 17, 30])
def test_a_crash_in_a_write_leaves_what_was_acknowledged(tmp_path: Path, write: int) -> None:
    """Killed in the middle of one write, half of which is on disk."""
    crash_at(tmp_path, write, torn=2)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_crash_in_any_write_leaves_what_was_acknowledged(tmp_path: Path) -> None:
    """The same for every write of a program that appends, delivers and makes room, with any part of it on disk."""
    for write in range(200):
        over = [crash_at(tmp_path / f"{write}-{torn}", write, torn) for torn in (0, 1, 3, 4)]
        if all(over):
            assert write > 12
            return
    raise AssertionError("the program has no end")
