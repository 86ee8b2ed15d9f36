"""cyclic_compression: what is churn, and what only looks like it."""

from collections.abc import Sequence

import pytest

from reasonblocks.engine.answers import Evidence
from reasonblocks.engine.monitors.cyclic_compression import CyclicCompression
from reasonblocks.engine.monitors.features import ObservedStep, read_step

TASK = "Find out why the nightly export of invoices drops the last customer."
READ = ObservedStep(
    "Open the exporter.",
    "read_file",
    '{"path": "billing/export.py"}',
    "def export(invoices, limit=200):\n    rows = invoices[:limit]\n    write_csv(rows)  # customer 201 is cut off",
)
FACTS = (
    "the exporter keeps only 200 rows",
    "customer 201 is cut off",
    "write_csv receives the shortened rows",
    "the nightly export drops the last customer",
)


def summary(opening: str, *places: int) -> str:
    """Some of the facts in some order, after an opening."""
    return f"{opening} {'; '.join(FACTS[place] for place in places)}."


SUMMARIES = (
    summary("Hence,", 0, 1, 2),
    summary("Put differently:", 2, 0, 3),
    summary("Let me go over it.", 1, 3, 0),
    summary("As far as I can see,", 3, 2, 1),
)


def scores(steps: Sequence[ObservedStep], task: str = TASK) -> list[float]:
    """What this monitor itself has to show after each step."""
    state = CyclicCompression().start(task)
    return [state.observe(read_step(index, step)).score for index, step in enumerate(steps)]


def note(text: str) -> ObservedStep:
    """A thought that is written down by a tool."""
    return ObservedStep(text, "write_todos", '{"todos": ["export"]}', "Todos updated.")


CHURN = {
    "thoughts alone": [READ, *(ObservedStep(text) for text in SUMMARIES)],
    "a person who nods": [READ, *(ObservedStep(text, observation="Okay, go on.") for text in SUMMARIES)],
    "the same file read again": [
        READ,
        *(ObservedStep(text, READ.action, READ.action_input, READ.observation) for text in SUMMARIES),
    ],
    "notes that do not change": [READ, *(note(text) for text in SUMMARIES)],
    "a look round that tells nothing": [
        READ,
        *(
            ObservedStep(text, "bash", f'{{"command": "{command}"}}', output)
            for text, command, output in zip(
                SUMMARIES, ("true", "git branch", "pwd", "true"), ("", "* main", "/app", ""), strict=True
            )
        ),
    ],
}
NEW_WORDS = (
    "Where we are: `billing/export.py` carries the weight; `write_csv` sits downstream; customer 201 is cut off.",
    "All hinges upon `billing/export.py`; customer 201 is cut off; `write_csv` belongs to the chain.",
    "To wrap it up: `write_csv` plays along, customer 201 is cut off, the pivot stays `billing/export.py`.",
)
TODOS = "\n".join(f'"Check part {number}", "checking", "pending",' for number in range(8))
CHURN |= {
    "notes in a file": [
        READ,
        *(
            ObservedStep("Let me note that.", "bash", f"cat > notes.md <<'EOF'\n{text} See `billing/export.py`.\nEOF")
            for text in SUMMARIES
        ),
    ],
    "other words around the same names": [READ, *(ObservedStep(text) for text in NEW_WORDS)],
    "a list that is kept up": [
        READ,
        *(
            ObservedStep(text, "write_todos", TODOS.replace("pending", "done", number), "Todos have been updated.")
            for number, text in enumerate(SUMMARIES)
        ),
    ],
    "a look round that shows what is known": [
        READ,
        *(
            ObservedStep(text, "bash", '{"command": "git status --short"}', " M billing/export.py")
            for text in SUMMARIES[:3]
        ),
    ],
}


@pytest.mark.parametrize("steps", CHURN.values(), ids=CHURN)
def test_c14_churn_fires_whatever_announces_it(steps: list[ObservedStep]) -> None:
    """Facts told again without anything done in between reach the threshold, with no word that announces a summary."""
    assert max(scores(steps)) >= 0.6


def test_what_the_task_says_is_no_news() -> None:
    """Telling the task again brings nothing new; without the task nobody could know."""
    steps = [ObservedStep(f"{opening} {TASK}") for opening in ("Now,", "Well,", "Again,", "Right,")]
    assert scores(steps)[0] > scores(steps, task="")[0] == 0.0


HEALTHY = {
    "each sentence has a new number": [
        READ,
        *(ObservedStep(f"{summary('Hence,', 0, 1, 2)} Row {number} is next.") for number in (310, 420, 530, 640)),
    ],
    "something is changed in between": [
        READ,
        *(
            ObservedStep(text, "edit_file", f'{{"path": "billing/export.py", "limit": {number}}}', "ok")
            for number, text in enumerate(SUMMARIES, 300)
        ),
    ],
    "a trial in between": [
        READ,
        *(
            ObservedStep(text, "bash", f'{{"command": "pytest -k export_{number}"}}', f"{number} passed")
            for number, text in enumerate(SUMMARIES, 30)
        ),
    ],
    "one file after the other": [
        READ,
        *(
            ObservedStep(text, "read_file", f'{{"path": "billing/part_{number}.py"}}', "x = 1")
            for number, text in enumerate(SUMMARIES)
        ),
    ],
    "a person who answers at length": [
        READ,
        *(
            ObservedStep(text, observation="The export that drops the last customer still cuts rows, so what about it?")
            for text in SUMMARIES
        ),
    ],
    "waiting": [
        READ,
        *(ObservedStep(text, "wait_for_build", "{}", "still running") for text in SUMMARIES),
    ],
    "a list of what is done": [
        READ,
        *(
            ObservedStep("", "write_todos", TODOS.replace("pending", "done", number), "Todos have been updated.")
            for number in range(5)
        ),
    ],
    "the same thought with the same call": [
        READ,
        *[ObservedStep(SUMMARIES[0], READ.action, READ.action_input, READ.observation)] * 4,
    ],
    "results written to a file": [
        READ,
        *(
            ObservedStep(text, "write_file", f'{{"text": "{number}", "path": "out_{number}.txt"}}', "ok")
            for number, text in enumerate(SUMMARIES)
        ),
    ],
    "three words": [READ, *[ObservedStep("Go on reading.")] * 6],
}


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_c14_whoever_goes_on_may_sum_up(steps: list[ObservedStep]) -> None:
    """A new number, change, trial, file, answer, or having to wait: none of it is churn."""
    assert max(scores(steps)) < 0.6


def test_churn_shows_its_evidence() -> None:
    """The evidence names the steps that say it again, and quotes an earlier thought beside the newest."""
    state = CyclicCompression().start(TASK)
    readings = [state.observe(read_step(index, step)) for index, step in enumerate(CHURN["thoughts alone"])]
    evidence = readings[-1].evidence
    assert isinstance(evidence, Evidence)
    assert evidence.reason.startswith("4 thoughts in a row say again")
    assert evidence.steps[-4:] == [1, 2, 3, 4]
    assert evidence.quotes[-1].startswith("As far as I can see")


def test_c14_the_end_of_churn_is_seen() -> None:
    """As soon as something new is done, the monitor no longer fires."""
    edit = ObservedStep("Raise the limit.", "edit_file", '{"path": "billing/export.py", "text": "limit=None"}', "ok")
    *_, churning, after = scores([*CHURN["thoughts alone"], edit])
    assert churning >= 0.6 > after


def test_a_long_run_neither_fills_the_memory_nor_blinds_the_monitor() -> None:
    """After thousands of different words, new ones are still new."""
    words = [
        f"{first}{second}{third}ing" for first in "bcdfghklmnprst" for second in "aeiou" for third in "bdgklmnprst"
    ]
    steps = [
        ObservedStep(" ".join(words[place : place + 12]), "read_file", f'{{"path": "{place}.txt"}}', "text")
        for place in range(0, len(words) - 12, 12)
    ]
    unseen = "Marble quarries supplied Corinthian architects throughout antiquity, scholars recently discovered."
    assert scores([*steps, ObservedStep(unseen)])[-1] == 0.0


def test_c14_notes_on_the_same_record_in_ever_new_words_are_churn() -> None:
    """What is thought to oneself about one id, again and again, fires though half of its words are new each time."""
    notes = (
        "Order #W4410027 is what this is about; the customer wants the last export.",
        "The export of order #W4410027 matters to the customer, evidently.",
        "#W4410027 again: customer, export, nothing else pending.",
        "An export for the customer of #W4410027 is the wish.",
    )
    start = ObservedStep("", "get_order", '{"order_id": "#W4410027"}', "order #W4410027, customer, export wanted: last")
    steps = [ObservedStep("", "think", f'{{"thought": "{note}"}}', "") for note in notes]
    assert scores([start, *steps])[-1] >= 0.6


def test_c14_notes_on_another_record_each_are_none() -> None:
    """The same words about the next id are the next piece of work."""
    ids = ("#W4410027", "#W4410028", "#W4410029", "#W4410030")
    steps = [ObservedStep("", "think", f'{{"thought": "Order {one} needs an export."}}', "") for one in ids]
    assert max(scores(steps)) < 0.6
