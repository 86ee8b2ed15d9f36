"""cyclic_compression: accounts of what is known, wherever they are put, and what only looks like them."""

import json
from collections.abc import Callable, Sequence

import pytest

from reasonblocks.engine.monitors.cyclic_compression import CyclicCompression
from reasonblocks.engine.monitors.features import ObservedStep, read_step

TASK = "The ferry timetable shows the Sunday sailing of MV Hebrides an hour late; correct sailing_time in timetable.py."
READ = (
    ObservedStep(
        "Find the function.",
        "bash",
        '{"command": "grep -rn sailing_time ."}',
        "./ferry/timetable.py:31:def sailing_time(day):\n./ferry/zones.py:8:def to_local(moment):",
    ),
    ObservedStep(
        "Read it.",
        "bash",
        '{"command": "cat ferry/timetable.py"}',
        "def sailing_time(day):\n    return to_local(SAILINGS[day])  # to_local adds an hour in summer",
    ),
)
ACCOUNTS = (
    "Seen from above, `sailing_time` in ferry/timetable.py hands its moment to `to_local`, and MV Hebrides is late.",
    "MV Hebrides is late: that happens in timetable.py, where `to_local` is called by `sailing_time`.",
    "The pair that matters is `to_local` with `sailing_time`, both reached from timetable.py, all about MV Hebrides.",
    "timetable.py, MV Hebrides, `sailing_time`, and then `to_local`: those belong together.",
)
TABLES = tuple(
    "\n".join(("| what | is |", "|---|---|", *(f"| {name} | {what} |" for name, what in rows)))
    for rows in (
        (("caller", "sailing_time"), ("callee", "to_local"), ("ship", "MV Hebrides"), ("file", "timetable.py")),
        (("timetable.py", "module"), ("to_local", "shifts"), ("sailing_time", "reads"), ("MV Hebrides", "late")),
        (("the ship", "MV Hebrides"), ("function, helper", "sailing_time, to_local"), ("module", "timetable.py")),
        (("to_local", "the helper"), ("MV Hebrides", "late"), ("timetable.py", "the place of sailing_time")),
    )
)


def scores(steps: Sequence[ObservedStep]) -> list[float]:
    """What this monitor itself has to show after each step."""
    state = CyclicCompression().start(TASK)
    return [state.observe(read_step(index, step)).score for index, step in enumerate((*READ, *steps))]


def shell(command: str, output: str = "", thought: str = "") -> ObservedStep:
    """A command in a shell."""
    return ObservedStep(thought, "bash", json.dumps({"command": command}), output)


def write(path: str, text: str) -> ObservedStep:
    """A file that is written by a tool."""
    return ObservedStep("Put it on record.", "Write", json.dumps({"file_path": path, "content": text}), "File created.")


PUT: dict[str, Callable[[str], ObservedStep]] = {
    "a file of notes": lambda text: write("/srv/notes.md", text),
    "a file without an ending": lambda text: shell(f"echo '{text}' > /tmp/findings"),
    "a record of fields": lambda text: write("/srv/progress.json", json.dumps({"known": text})),
    "said back by a shell": lambda text: shell(f"echo '{text}'", text),
    "printed by a script": lambda text: shell(f'python3 -c "print({text!r})"', text),
    "a remark in a shell": lambda text: shell("# " + text.replace("\n", "\n# ")),
    "a tool that remembers": lambda text: ObservedStep("", "save_memory", json.dumps({"text": text}), "Saved."),
    "a document in a shell": lambda text: shell(f"cat > status.txt <<'EOF'\n{text}\nEOF"),
    "beside a glance": lambda text: shell("wc -l ferry/timetable.py", "64 ferry/timetable.py", text),
    "beside an empty look": lambda text: shell("ls drafts", "", text),
}


@pytest.mark.parametrize("put", PUT.values(), ids=PUT)
@pytest.mark.parametrize("texts", [ACCOUNTS, TABLES], ids=["prose", "tables"])
def test_c14_the_same_things_told_a_third_time_are_churn(
    put: Callable[[str], ObservedStep], texts: Sequence[str]
) -> None:
    """Wherever an account is put, in whatever words and order: the third one of the same fires."""
    assert max(scores([put(text) for text in texts[:2]])) < 0.6
    assert max(scores([put(text) for text in texts])) >= 0.6


def test_c14_notes_that_are_read_back_are_no_news() -> None:
    """Whoever reads what was just written down has learnt nothing by it."""
    steps = [
        step
        for text in ACCOUNTS
        for step in (
            write("/srv/notes.md", text),
            ObservedStep("", "Read", '{"file_path": "/srv/notes.md"}', text),
        )
    ]
    assert max(scores(steps)) >= 0.6


def test_c14_what_each_look_teaches_may_be_told() -> None:
    """An account that takes up what the look before it showed goes on, however much it tells of the rest."""
    steps = [
        shell(f"grep -c winter table_{number}.csv", str(number), f"{text} Before that, {number - 7} rows.")
        for number, text in enumerate(ACCOUNTS, 407)
    ]
    assert max(scores(steps)) < 0.6


HEALTHY = {
    "work between the notes": [
        step
        for number, text in enumerate(ACCOUNTS)
        for step in (
            write("/srv/notes.md", text),
            shell(f"sed -i 's/hour/minute_{number}/' ferry/timetable.py"),
        )
    ],
    "a plan and its steps": [
        ObservedStep(
            "Plan: change `to_local` in zones.py, then `sailing_time` in timetable.py, then test MV Hebrides."
        ),
        shell("grep -n summer ferry/zones.py", "", "First `to_local` in zones.py."),
        shell("grep -n SAILINGS ferry/timetable.py", "", "Then `sailing_time` in timetable.py."),
        shell("ls tests", "", "Then the test of MV Hebrides."),
    ],
    "thoughts about the call": [
        shell(f"grep -n '{word}' ferry/timetable.py", "", f"Does `{word}` come up near `sailing_time` in timetable.py?")
        for word in ("dst_offset", "tz_name", "utc_shift", "summer_flag")
    ],
    "a person who says more": [
        ObservedStep(
            text,
            observation=f"And what does the board at the pier say about the early boat on {day}, and of its return?",
        )
        for text, day in zip(ACCOUNTS, ("Monday", "Tuesday", "Friday", "Saturday"), strict=True)
    ],
    "another thing each time": [
        write("/srv/notes.md", f"`{name}_time` in ferry/{name}.py hands its moment to `{name}_zone`.")
        for name in ("oban", "mallaig", "ullapool", "tarbert")
    ],
    "a text that was asked for": [
        write(f"/srv/docs/{number}.rst", f"`sailing_time` of timetable.py, part {number}00: see `to_local`.")
        for number in range(4)
    ],
}


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_c14_whoever_learns_or_does_something_may_tell_of_it(steps: list[ObservedStep]) -> None:
    """Work in between, a plan carried out, guesses, another thing each time: none of it is churn."""
    assert max(scores(steps)) < 0.6
