"""cyclic_compression: recaps one after the other to a listener who nods, and texts that are only put in other words."""

import json
from collections.abc import Sequence

import pytest

from reasonblocks.engine.monitors.cyclic_compression import CyclicCompression
from reasonblocks.engine.monitors.features import ObservedStep, read_step

BOOKING = ObservedStep(
    "",
    "get_booking",
    '{"id": "TR5519"}',
    '{"id": "TR5519", "guest": "Marta Quist", "hotel": "Seaview", "room": "double", "nights": 4, "price": 612, '
    '"arrival": "2025-07-11", "breakfast": false, "refundable": false}',
)
RECAPS = (
    "To recap: TR5519 is a double at Seaview for four nights, 612 in all, and not refundable.",
    "Boiling it down, Marta Quist has a room by the sea with no breakfast, and no way to get her money back.",
    "The long and short of where we stand: arrival on July 11th, a bit over 600, nothing to be returned.",
)
NODS = ("Right. And the breakfast?", "Yes, I know that.", "You said so. Breakfast?")


def scores(*steps: ObservedStep) -> list[float]:
    """What the monitor itself has to show after each step."""
    state = CyclicCompression().start("Please add breakfast to my booking TR5519.")
    return [state.observe(read_step(index, step)).score for index, step in enumerate(steps)]


def said(answers: Sequence[str]) -> list[ObservedStep]:
    """The recaps, each with what the guest says to it."""
    return [ObservedStep(text, observation=answer) for text, answer in zip(RECAPS, answers, strict=True)]


def shell(command: str, output: str = "", thought: str = "") -> ObservedStep:
    """A command in a shell."""
    return ObservedStep(thought, "bash", json.dumps({"command": command}), output)


def test_the_third_recap_to_somebody_who_only_nods_is_churn() -> None:
    """Rounded, turned round and cut short: it is a recap all the same."""
    assert max(scores(BOOKING, *said(NODS)[:2])) < 0.6
    assert scores(BOOKING, *said(NODS))[-1] >= 0.6


def test_recaps_of_what_the_guest_adds_are_none_too_many() -> None:
    """Each answer brings something that belongs into the next one."""
    answers = ("Make it 5 nights, then.", "And a cot for my little daughter Elin.", "Half board, with a table outside.")
    assert max(scores(BOOKING, *said(answers))) < 0.6


def test_recaps_with_work_in_between_are_none_too_many() -> None:
    """Whoever does something may say where things stand."""
    works = [ObservedStep("", "add_extra", json.dumps({"id": "TR5519", "extra": extra}), "Done.") for extra in "abc"]
    steps = [step for pair in zip(said(NODS), works, strict=True) for step in pair]
    assert max(scores(BOOKING, *steps)) < 0.6


def commits(*messages: str) -> list[ObservedStep]:
    """One commit, whose message is put in other words again and again."""
    first, *others = messages
    return [
        shell(f'git commit -m "{first}"', "[main 3fa0b71] 1 file changed"),
        *[shell(f'git commit --amend -q -m "{text}"', f"[main {at}c09de]") for at, text in enumerate(others)],
    ]


MESSAGES = (
    "Keep the tide table sorted",
    "Tide table: sort on insert",
    "Sorted tides",
    "Insert tides where they belong",
)


def test_a_message_put_in_other_words_twice_is_churn() -> None:
    """Once is to put it better."""
    assert max(scores(*commits(*MESSAGES[:2]))) < 0.6
    assert scores(*commits(*MESSAGES[:3]))[-1] >= 0.6
    first, *others = commits(*MESSAGES)
    looked_at = [step for one in others for step in (one, shell("git log -1 --format=%s", "Sorted tides"))]
    assert max(scores(first, *looked_at)) >= 0.6


def test_a_commit_that_takes_in_more_work_is_none() -> None:
    """An edit, or a file that is added, makes it another commit."""
    first, *others = commits(*MESSAGES)
    edits = [shell(f"sed -i '{line}d' tides.py") for line in range(3)]
    assert max(scores(first, *[step for pair in zip(edits, others, strict=True) for step in pair])) < 0.6
    added = [shell(f'git add t{at}.py && git commit --amend -m "{text}"', "ok") for at, text in enumerate(MESSAGES)]
    assert max(scores(first, *added)) < 0.6
    assert max(scores(*[shell(f'git commit -m "{text}"', "ok") for text in MESSAGES])) < 0.6


def listed(*entries: tuple[str, str]) -> ObservedStep:
    """A list of what is to be done."""
    todos = [{"content": text, "status": status} for text, status in entries]
    return ObservedStep("", "todo_write", json.dumps({"todos": todos}), "The list was saved.")


WORDINGS = (("Sort the tides", "Test it"), ("Tides into order", "Check"), ("Ordered tides", "Trial of it all"))


@pytest.mark.parametrize(("moves", "churns"), [(False, True), (True, False)])
def test_a_list_in_which_nothing_moves_is_churn_the_third_time(moves: bool, churns: bool) -> None:
    """What is begun, ticked off or added is progress."""
    states = (("in_progress", "pending"), ("completed", "pending"), ("completed", "in_progress"))
    steps = [listed(*zip(texts, states[at if moves else 1], strict=True)) for at, texts in enumerate(WORDINGS)]
    assert max(scores(*steps[:2])) < 0.6
    assert (max(scores(*steps)) >= 0.6) is churns


def described(number: int, text: str) -> ObservedStep:
    """What a request for review is said to be about."""
    given = json.dumps({"number": number, "body": text})
    return ObservedStep("", "update_pull_request", given, '{"ok": true}')


def test_a_description_put_in_other_words_twice_is_churn() -> None:
    """Another request has another description."""
    assert scores(*[described(31, text) for text in MESSAGES])[-1] >= 0.6
    assert max(scores(*[described(31 + at, text) for at, text in enumerate(MESSAGES)])) < 0.6


def checked(path: str, texts: Sequence[str], done: int) -> ObservedStep:
    """A list with boxes in a file."""
    lines = [f"- [{'x' if at < done else ' '}] {text}" for at, text in enumerate(texts)]
    return ObservedStep("", "Write", json.dumps({"file_path": path, "content": "\n".join(lines)}), "Written.")


def test_boxes_in_a_file_are_a_list_as_well() -> None:
    """Nothing is ticked off, and it is the same file."""
    assert scores(*[checked("/w/PLAN.md", texts, 1) for texts in WORDINGS])[-1] >= 0.6
    assert max(scores(*[checked("/w/PLAN.md", texts, at) for at, texts in enumerate(WORDINGS)])) < 0.6
    assert max(scores(*[checked(f"/w/plan_{at}.md", texts, 1) for at, texts in enumerate(WORDINGS)])) < 0.6
