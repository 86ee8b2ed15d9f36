"""Detours: looks at something else, seen once the run goes on as if nothing had been, or while they last."""

import pytest

from reasonblocks.engine.monitors.base import Reading
from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.late_sprawl import LateSprawl
from reasonblocks.engine.monitors.silent_topic_drift import SilentTopicDrift

from .departures import read, step

FIRES = 0.6
TASK = "The CSV reader drops the last record when the file has no trailing newline. Fix it in the reader crate."


def shell(thought: str, command: str, output: str = "") -> ObservedStep:
    """A command and what it prints."""
    return step(thought, "bash", output, command=command)


WORKED = [
    shell("I start with the layout of the crate.", "ls src", "lib.rs\nreader.rs\nwriter.rs\nquote.rs"),
    shell("The reader is in reader.rs.", "cat src/reader.rs", "fn next_record(&mut self) { self.flush_record() }"),
    shell("It flushes only after a newline.", "grep -n flush_record src/reader.rs", "12: self.flush_record()"),
    shell("A test without a trailing newline.", "cat > tests/trailing.rs <<'EOF'\n#[test]\nfn last_record() {}\nEOF"),
    shell("Now I run it.", "cargo test trailing", "test last_record: the left side has 1, the right side 2"),
]
WENT_ON = [
    shell(
        "I flush the last record at the end of the file.",
        "sed -i 's/None =>/None => self.flush_record(),/' src/reader.rs",
    ),
    shell("The trailing newline test again.", "cargo test trailing", "test last_record ... ok"),
]
DETOURS = {
    "fonts": [
        shell("Which licence texts ship with the vendored fonts?", "ls vendor/fonts", "OFL.txt\nNotoSans.ttf"),
        shell("Noto is under the OFL.", "head -5 vendor/fonts/OFL.txt", "SIL OPEN FONT LICENSE Version 1.1"),
        shell("How many glyphs has the sans face?", "fc-query vendor/fonts/NotoSans.ttf | wc -l", "3246"),
    ],
    "a dialog, with a word of the task": [
        shell("How is the file dialog of the desktop app drawn?", "ls app/gtk", "dialog.c"),
        shell("With GTK 3 and a custom chooser.", "grep -n chooser app/gtk/dialog.c", "4: gtk_file_chooser_new"),
        shell("Thumbnails in the chooser come from the portal.", "sed -n 1,30p app/gtk/portal.c", "/* portal */"),
    ],
    "without a word": [
        step("", "Bash", "Lisbon: 24 C", command="curl -s wttr.in/Lisbon", description="Show weather in Lisbon"),
        step("", "Bash", "August 2025", command="cal 8 2025", description="Print August calendar"),
        step("", "Bash", "IC 521 08:30", command="curl -s trains.example/porto", description="Look up Porto trains"),
    ],
}
ONE_AFTER_ANOTHER = [
    shell("What does the Docker image look like?", "cat Dockerfile", "FROM rust:1.70-slim"),
    shell("Are there nightly benchmarks?", "ls benches", "wide.rs\nnarrow.rs"),
    shell("Who maintains the Homebrew formula?", "curl -s formulae.example/csvr", '{"tap": "core"}'),
]
HEALTHY = {
    "a lead that is followed": [
        shell("Where else is `flush_record` used?", "grep -rn flush_record src", "src/writer.rs:20: fn drain_spool"),
        shell(
            "The writer has a spool of its own.", "sed -n 1,40p src/writer.rs", "fn drain_spool() { spool.rotate() }"
        ),
        shell("Rotation is in the spool module.", "cat src/spool.rs", "fn rotate() {}"),
    ],
    "something that is used afterwards": [
        shell("Which iterators does the fallible crate have?", "ls vendor/fallible", "peek.rs\nfuse.rs"),
        shell("Fuse stops for good.", "cat vendor/fallible/fuse.rs", "fn fused()"),
        shell("Peek keeps an item.", "cat vendor/fallible/peek.rs", "fn peeked()"),
        shell("With `fused` from fuse.rs the reader flushes the last record.", "sed -i 's/next/fused/' src/reader.rs"),
    ],
    "a way around a failure": [
        shell("The whole suite.", "cargo test", "error: could not reach the registry\nerror: exit code 101"),
        shell("Is the proxy set?", "env | grep -i proxy", "https_proxy=mirror:8443"),
        shell("Is the registry mirrored?", "cat ~/.cargo/config.toml", "[source.mirror]"),
        shell("Which ports does the mirror listen at?", "ss -tln", "LISTEN 0.0.0.0:8443"),
    ],
    "a list that is gone through": [
        step("", "read_file", f"struct {name.title()};", path=f"src/types/{name}.rs")
        for name in ("money", "weight", "colour", "angle", "volume")
    ],
    "a search for a cause": [
        shell("My first suspect is the allocator.", "grep -n jemalloc Cargo.toml", "8: jemalloc"),
        shell("Not the allocator. Could the locale be to blame?", "locale", "LANG=C"),
        shell("That leaves the kernel's pipe size as the culprit.", "cat /proc/sys/fs/pipe-max-size", "1048576"),
    ],
}


def highest(readings: list[Reading]) -> float:
    """The highest score of a run."""
    return max(reading.score for reading in readings)


@pytest.mark.parametrize("detour", DETOURS.values(), ids=DETOURS)
def test_c14_looks_at_something_else_are_drift_once_the_run_goes_on(detour: list[ObservedStep]) -> None:
    """They are quoted when the next step goes on with what was before, or earlier where there is no doubt."""
    readings = read(SilentTopicDrift(), [*WORKED, *detour, *WENT_ON], TASK)
    found = [reading for reading in readings if reading.score >= FIRES]
    assert highest(readings[: len(WORKED)]) < FIRES
    assert found
    assert found[-1].evidence is not None
    assert set(found[-1].evidence.steps) <= set(range(len(WORKED), len(WORKED) + len(detour)))


def test_c14_looks_at_one_thing_after_another_late_in_a_run_are_sprawl() -> None:
    """Nothing leads from one to the next, nor back."""
    run = [*WORKED, *WENT_ON, shell("The whole suite.", "cargo test", "31 passed")]
    back = shell("The last record is read now; the diff of reader.rs once more.", "git diff src/reader.rs", "+ flush")
    assert highest(read(LateSprawl(), [*run, *ONE_AFTER_ANOTHER, back], TASK)) >= FIRES


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_c14_looks_that_something_led_to_or_that_are_used_are_no_detour(steps: list[ObservedStep]) -> None:
    """A lead, a use, a failure, a list and a cause each explain what is looked at."""
    for monitor in (SilentTopicDrift(), LateSprawl()):
        assert highest(read(monitor, [*WORKED, *steps, *WENT_ON], TASK)) < FIRES


def test_without_a_task_nothing_is_a_detour() -> None:
    """Whatever is looked at may be what was asked for."""
    for detour in DETOURS.values():
        assert highest(read(SilentTopicDrift(), [*WORKED, *detour, *WENT_ON], "")) < FIRES
