"""The files of the spool: what was acknowledged is there again, in order, whatever became of file and owner."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reasonblocks.telemetry.spool.policy import SpoolPolicy
from reasonblocks.telemetry.spool.queue import LOCK, Queue, oldest_orphan
from reasonblocks.telemetry.spool.records import HEADER, Kind, Record, found, framed, header
from reasonblocks.telemetry.spool.segment import SUFFIX, Segment

POLICY = SpoolPolicy(max_bytes=100_000, fsync="never")

payloads = st.binary(max_size=40).map(lambda raw: raw.hex().encode())
records = st.lists(st.builds(Record, st.sampled_from(Kind), payloads), max_size=12)


def steps(*numbers: int, size: int = 0) -> list[Record]:
    return [Record(Kind.STEP, b'{"run_id":"r","n":%d,"pad":"%s"}' % (number, b"x" * size)) for number in numbers]


def lasting(*names: str) -> list[Record]:
    return [Record(Kind.LASTING, name.encode()) for name in names]


def everything(queue: Queue) -> list[Record]:
    """Read a queue to its end, delivering as it goes."""
    got: list[Record] = []
    while (portion := queue.read(3, 1_000_000)) is not None:
        got += portion.records
        queue.delivered(portion.records)
    return got


def reopened(queue: Queue) -> Queue:
    """As the next process finds it after a kill: the lock is free, nothing was closed properly."""
    queue.release()
    again = Queue.adopt(queue.directory, queue.policy)
    assert again is not None
    return again


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    made = Queue.create(tmp_path / "spool" / "there", POLICY)
    yield made
    made.release()


# -- records ---------------------------------------------------------------------------------------------


@given(records)
def test_records_come_back_as_they_were(written: list[Record]) -> None:
    """What is framed is found."""
    data = b"".join(map(framed, written))
    assert [one.record for one in found(data, 0)] == written


@given(records, st.integers(0, 2000))
def test_a_torn_end_costs_only_what_was_torn(written: list[Record], cut: int) -> None:
    """Of a file that ends anywhere, exactly the records before that place are found."""
    frames = list(map(framed, written))
    data = b"".join(frames)[:cut]
    whole = [record for number, record in enumerate(written) if sum(map(len, frames[: number + 1])) <= cut]
    assert [one.record for one in found(data, 0)] == whole


@given(records.filter(lambda some: len(some) > 1), st.data())
def test_a_damaged_record_costs_only_itself(written: list[Record], data: st.DataObject) -> None:
    """With any one byte changed, all records but one are found, in order, and the gap is noticed."""
    frames = list(map(framed, written))
    blob = bytearray(b"".join(frames))
    place = data.draw(st.integers(0, len(blob) - 1))
    blob[place] ^= data.draw(st.integers(1, 255))
    hit = next(number for number in range(len(frames)) if place < sum(map(len, frames[: number + 1])))
    got = list(found(bytes(blob), 0))
    assert [one.record for one in got] == written[:hit] + written[hit + 1 :]
    assert sum(one.damaged for one in got) == (hit < len(written) - 1)


# -- a queue -----------------------------------------------------------------------------------------------


def test_files_are_for_their_owner_alone(queue: Queue) -> None:
    """Directories are 0700 and files 0600, whatever the umask."""
    queue.append(steps(1))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in queue.directory.iterdir()}
    assert set(modes.values()) == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (queue.directory, queue.directory.parent)} == {0o700}


def test_what_is_delivered_is_not_delivered_again(queue: Queue) -> None:
    """A next process goes on where the last one was."""
    queue.append([*lasting("start"), *steps(1, 2, 3)])
    portion = queue.read(2, 1_000_000)
    assert portion is not None
    queue.delivered(portion.records)
    again = reopened(queue)
    assert again.events == 2
    assert everything(again) == steps(2, 3)
    again.remove()
    assert not queue.directory.exists()


def test_many_segments_keep_their_order(queue: Queue) -> None:
    """What does not fit in one file goes on in the next."""
    written = steps(*range(60), size=1_000)
    for start in range(0, 60, 7):
        queue.append(written[start : start + 7])
    assert len(queue.segments) > 3
    assert everything(reopened(queue)) == written


def test_two_never_hold_the_same_queue(queue: Queue, tmp_path: Path) -> None:
    """While its owner lives nobody adopts it; of those who come after, one."""
    queue.append(steps(1))
    assert Queue.adopt(queue.directory, POLICY) is None
    assert oldest_orphan(queue.directory.parent, POLICY, None) is None
    queue.release()
    first = oldest_orphan(queue.directory.parent, POLICY, None)
    assert first is not None
    assert oldest_orphan(queue.directory.parent, POLICY, None) is None
    first.release()


def test_the_oldest_queue_is_adopted_first_and_empty_ones_go(tmp_path: Path) -> None:
    """What dead processes left is taken in the order of their birth; what they left empty is removed."""
    queues = [Queue.create(tmp_path, POLICY) for _ in range(3)]
    queues[1].append(steps(1))
    queues[2].append(steps(2))
    for queue in queues:
        queue.release()
    adopted = oldest_orphan(tmp_path, POLICY, None)
    assert adopted is not None
    assert adopted.directory == queues[1].directory
    assert not queues[0].directory.exists()
    adopted.release()


def test_what_is_none_of_ours_is_left_alone(tmp_path: Path) -> None:
    """Files and directories that somebody put there neither stop the spool nor are they delivered."""
    (tmp_path / "a file").write_text("hello")
    (tmp_path / "a directory").mkdir()
    (tmp_path / "a directory" / "notes.txt").write_text("hello")
    queue = Queue.create(tmp_path, POLICY)
    queue.append(steps(1))
    (queue.directory / f"00000000000000000000{SUFFIX}").write_text("no segment")
    again = reopened(queue)
    assert everything(again) == steps(1)
    assert (tmp_path / "a directory" / "notes.txt").read_text() == "hello"


def test_files_that_somebody_removed_are_a_loss_and_no_crash(queue: Queue) -> None:
    """A spool that is tidied away by hand is counted as damage."""
    queue.append(steps(1, 2))
    for path in queue.directory.glob(f"*{SUFFIX}"):
        path.unlink()
    assert queue.read(10, 1_000) is None
    assert queue.damaged == 2


def test_a_disk_that_is_full_leaves_no_half_record(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails in the middle is taken back, so that the next one can be read."""
    queue.append(steps(1))
    write, budget = os.write, [10]

    def short(descriptor: int, data: bytes) -> int:
        if not budget[0]:
            raise OSError(28, "No space left on device")
        budget[0] = 0
        return write(descriptor, bytes(data)[:10])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", short)
        with pytest.raises(OSError, match="space"):
            queue.append(steps(2))
    queue.append(steps(3))
    assert everything(reopened(queue)) == steps(1, 3)


@pytest.mark.parametrize("policy", ["always", "batch", "never"])
def test_fsync_is_as_the_policy_says(tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`always` with every portion, `batch` at most once a second, `never` not at all."""
    calls: list[int] = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (calls.append(descriptor), fsync(descriptor)))
    queue = Queue.create(tmp_path, SpoolPolicy(fsync=policy))  # type: ignore[arg-type]
    queue.append(steps(1))
    calls.clear()
    for number in range(10):
        queue.append(steps(number))
    assert len(calls) == {"always": 10, "batch": 0, "never": 0}[policy]
    queue.sync()
    assert len(calls) == {"always": 10, "batch": 1, "never": 0}[policy]
    queue.release()


# -- when it is full -----------------------------------------------------------------------------------------


def test_when_full_the_oldest_steps_go_and_nothing_else(queue: Queue) -> None:
    """Starts and ends stay in their order; for the steps that went stands what was put in their place."""
    for number in range(100):
        queue.append([*lasting(f"start {number}"), *steps(number, size=700)])
    gone = queue.make_room(40_000, lambda some: [Record(Kind.LOSS, b"%d" % len(some))] if some else [])
    assert gone > 0
    assert not queue.full(40_000)
    left = everything(reopened(queue))
    assert [record for record in left if record.kind is Kind.LASTING] == lasting(*(f"start {n}" for n in range(100)))
    assert [record for record in left if record.kind is Kind.STEP] == steps(*range(gone, 100), size=700)
    assert sum(int(record.payload) for record in left if record.kind is Kind.LOSS) == gone


def test_what_is_being_delivered_does_not_give_way(queue: Queue) -> None:
    """Making room while a portion is on its way keeps that portion, and delivery goes on behind it."""
    queue.append(steps(*range(100), size=700))
    portion = queue.read(5, 1_000_000)
    assert portion is not None
    gone = queue.make_room(80_000, lambda some: [])
    queue.delivered(portion.records[:2])
    queue.delivered(portion.records[2:])
    assert gone > 50
    assert everything(queue) == steps(*range(5 + gone, 100), size=700)


class Life(RuleBasedStateMachine):
    """A queue under everything that happens to it, against a list."""

    directory: Path

    def __init__(self) -> None:
        super().__init__()
        self.queue = Queue.create(self.directory, POLICY)
        self.model: list[Record] = []
        self.portion: list[Record] = []
        self.number = 0

    @rule(count=st.integers(1, 8), size=st.integers(0, 3_000), last=st.booleans())
    def append(self, count: int, size: int, last: bool) -> None:
        written = steps(*range(self.number, self.number + count), size=size)
        written += lasting(f"end {self.number}") if last else []
        self.number += count
        self.queue.append(written)
        self.model += written

    @precondition(lambda self: not self.portion)
    @rule(most=st.integers(1, 10))
    def read(self, most: int) -> None:
        portion = self.queue.read(most, 5_000)
        self.portion = portion.records if portion is not None else []
        assert self.portion == self.model[: len(self.portion)]
        assert bool(self.portion) == bool(self.model)

    @precondition(lambda self: self.portion)
    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(1, len(self.portion)))
        self.queue.delivered(self.portion[:count])
        del self.portion[:count], self.model[:count]

    @rule(more=st.integers(0, 100_000))
    def make_room(self, more: int) -> None:
        gone = self.queue.make_room(more, lambda some: [])
        kept = len(self.portion)
        for _ in range(gone):
            oldest = next(n for n in range(kept, len(self.model)) if self.model[n].kind is Kind.STEP)
            del self.model[oldest]

    @precondition(lambda self: self.model)
    @rule(torn=st.binary(max_size=60))
    def die(self, torn: bytes) -> None:
        """The process dies in the middle of a write; the next one takes over."""
        with open(self.queue.segments[-1].path, "ab") as file:
            file.write(torn)
        self.queue.release()
        adopted = Queue.adopt(self.queue.directory, POLICY)
        assert adopted is not None
        self.queue, self.portion = adopted, []

    @invariant()
    def counts_agree(self) -> None:
        assert self.queue.events == len(self.model)

    def teardown(self) -> None:
        assert everything(self._fresh()) == self.model
        self.queue.remove()

    def _fresh(self) -> Queue:
        if self.portion:
            self.queue.delivered(self.portion)
            del self.model[: len(self.portion)]
        return self.queue


def test_a_queue_behaves_like_a_list(tmp_path: Path) -> None:
    """Appending, reading, delivering in pieces, making room, dying at any moment: nothing is lost or out of order."""

    class Machine(Life):
        directory = tmp_path

    Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
    Machine.TestCase("runTest").runTest()


def test_a_position_that_was_torn_means_the_beginning(queue: Queue) -> None:
    """Delivering twice does no harm, leaving out would."""
    queue.append(steps(1, 2, 3))
    (path,) = queue.directory.glob(f"*{SUFFIX}")
    data = path.read_bytes()
    path.write_bytes(header(HEADER.size + 5) + data[HEADER.size :])
    segment = Segment.open(path)
    assert segment is not None
    assert (segment.head, segment.events) == (HEADER.size, 3)
    assert (queue.directory / LOCK).exists()
