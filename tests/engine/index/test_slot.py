"""Slots: one for each process, and a marker that is only believed where the files are what it says."""

from __future__ import annotations

import itertools
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from reasonblocks.engine.index.shard import Point, scope
from reasonblocks.engine.index.slot import FORMAT, Marker, Slot

HERE = scope("e2")
VECTOR = np.eye(4, dtype=np.float32)


def filled(directory: Path) -> Slot:
    """A slot with a shard of three points that is vouched for."""
    slot = Slot.take(directory)
    name, shard = slot.create(4)
    shard.upsert([Point("pattern", f"p{number}", HERE, "loop", VECTOR[number]) for number in range(3)])
    shard.flush()
    slot.vouch(
        Marker(
            model="m", dimension=4, recipe="r", number=7, change="pattern/p2", points=3, removed=0, shard=name, files={}
        )
    )
    shard.close()
    return slot


def files(slot: Slot) -> list[Path]:
    """All files of a slot's shard."""
    return sorted(path for path in slot.path.glob("shard-*/**/*") if path.is_file())


def test_a_marker_is_believed_after_a_restart(tmp_path: Path) -> None:
    """What was vouched for is found again, with its points."""
    filled(tmp_path).close()
    slot = Slot.take(tmp_path)

    marker = slot.marker()

    assert marker is not None
    assert (marker.number, marker.change, marker.points, marker.format) == (7, "pattern/p2", 3, FORMAT)
    shard = slot.open(marker)
    assert [hit.item_id for hit in shard.search(VECTOR[1], HERE, None, 1, None)] == ["p1"]
    shard.close()
    slot.close()


def test_a_tainted_slot_is_not_believed(tmp_path: Path) -> None:
    """Between `taint` and `vouch` there is no marker."""
    slot = filled(tmp_path)
    slot.taint()

    assert slot.marker() is None
    slot.close()


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def flip(path: Path) -> None:
    with path.open("r+b") as file:
        content = file.read()
        place = min(len(content) - len(content.lstrip(b"\0")), len(content) - 1)
        file.seek(place)
        file.write(bytes([content[place] ^ 0xFF]))


def fill_a_hole(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))


DAMAGES: list[Callable[[Path], None]] = [cut, empty, flip, fill_a_hole, Path.unlink]


def test_damage_to_any_file_is_noticed(tmp_path: Path) -> None:
    """A file that is shorter, other or gone means that nothing of the slot is believed; made good, all of it is."""
    slot = filled(tmp_path)
    victims = [path for path in files(slot) if path.stat().st_size]
    assert len(victims) > 10
    for victim, damage in zip(victims, itertools.cycle(DAMAGES), strict=False):
        content, size = victim.read_bytes().rstrip(b"\0"), victim.stat().st_size
        damage(victim)
        assert slot.marker() is None, (damage, victim)
        victim.write_bytes(content)
        os.truncate(victim, size)
    assert slot.marker() is not None
    slot.close()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 1}', b"\xff\xfe"])
def test_a_torn_marker_is_no_marker(tmp_path: Path, content: bytes) -> None:
    """Whatever is in the file, it is not believed and not fatal."""
    slot = filled(tmp_path)
    (slot.path / "marker.json").write_bytes(content)

    assert slot.marker() is None
    slot.close()


def test_a_stray_shard_is_removed_and_an_extra_file_is_noticed(tmp_path: Path) -> None:
    """What an interrupted rebuild left behind goes away; a file that does not belong makes the shard suspect."""
    slot = filled(tmp_path)
    stray, shard = slot.create(4)
    shard.close()
    marker = slot.marker()
    assert marker is not None

    slot.open(marker).close()
    assert not (slot.path / stray).exists()

    (slot.path / marker.shard / "extra").write_bytes(b"?")
    assert slot.marker() is None
    slot.close()


def test_each_process_has_a_slot_of_its_own(tmp_path: Path) -> None:
    """A slot that is taken is passed over, and free again when its process ends, however it ends."""
    script = (
        "import sys, time, pathlib\n"
        "from reasonblocks.engine.index.slot import Slot\n"
        "print(Slot.take(pathlib.Path(sys.argv[1])).path.name, flush=True)\n"
        "time.sleep(60)\n"
    )
    others = [
        subprocess.Popen([sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    names = {other.stdout.readline().strip() for other in others if other.stdout}
    own = Slot.take(tmp_path)
    assert names == {"0", "1"}
    assert own.path.name == "2"

    for other in others:
        other.kill()
        other.communicate()
    again = Slot.take(tmp_path)
    assert again.path.name == "0"
    again.close()
    own.close()


def test_without_a_directory_it_is_temporary() -> None:
    """A slot in memory, so to speak: gone when it is closed."""
    slot = Slot.take(None)
    assert slot.path.is_dir()

    slot.close()

    assert not slot.path.exists()


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    """Files 0600, directories 0700."""
    slot = filled(tmp_path / "index")
    slot.close()
    paths = [tmp_path / "index", *(tmp_path / "index").rglob("*")]

    rights = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in paths}

    assert rights == {(True, 0o700), (False, 0o600)}
