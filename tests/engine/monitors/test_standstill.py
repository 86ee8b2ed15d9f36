"""cyclic_compression: steps in a row that only tell what is known, by whatever means; and what only looks like them."""

import json
from collections.abc import Sequence

import pytest

from reasonblocks.engine.monitors.cyclic_compression import CyclicCompression
from reasonblocks.engine.monitors.features import ObservedStep, read_step

TASK = "Please move my ferry crossing to the evening of the same day."
FERRY = ObservedStep(
    "",
    "get_crossing",
    '{"id": "FX20418"}',
    '{"id": "FX20418", "guest": "Ines Dahl", "route": "Rostock - Trelleborg", "deck": "upper", "cabin": 311, '
    '"cars": 1, "departure": "08:15", "price": 184, "flexible": true, "evening": {"departure": "19:40", "cabins": 6}}',
)
CODE = ObservedStep(
    "Where is the interval read?",
    "bash",
    json.dumps({"command": "grep -n interval poller/config.py poller/loop.py"}),
    "poller/config.py:12: interval = int(raw['interval'])\npoller/loop.py:40: sleep_for(config.interval / 1000)",
)
FIXED = ObservedStep(
    "The loop takes milliseconds for seconds.",
    "bash",
    json.dumps({"command": "sed -i 's| / 1000||' poller/loop.py"}),
    "",
)


def scores(task: str, *steps: ObservedStep) -> list[float]:
    """What the monitor itself has to show after each step."""
    state = CyclicCompression().start(task)
    return [state.observe(read_step(index, step)).score for index, step in enumerate(steps)]


def shell(command: str, output: str = "", thought: str = "") -> ObservedStep:
    """A command in a shell."""
    return ObservedStep(thought, "bash", json.dumps({"command": command}), output)


def thinks(*texts: str) -> list[ObservedStep]:
    """Thoughts that a tool takes down."""
    return [ObservedStep("", "think", json.dumps({"thought": text}), "") for text in texts]


def tells(*pairs: tuple[str, str]) -> list[ObservedStep]:
    """Messages, each with what a person answers."""
    return [ObservedStep(text, observation=answer) for text, answer in pairs]


def notes(*texts: str, name: str = "/tmp/notes.md") -> list[ObservedStep]:
    """Notes written down, each in place of the last."""
    return [shell(f"cat <<'END' > {name}\n{text}\nEND") for text in texts]


THOUGHTS = (
    "Ines Dahl, FX20418, one car. The crossing is at 08:15 and she would rather go in the evening.",
    "Upper deck, cabin 311, flexible fare of 184. Evening boat at 19:40 has cabins.",
    "So the guest wants 19:40 instead of 08:15, the fare is flexible, 6 cabins are there.",
    "Rostock to Trelleborg, same day, car and cabin, evening departure: all of it known.",
)
TOLD = (
    ("Your crossing FX20418 goes from Rostock to Trelleborg at 08:15, with one car.", "Yes. And the evening?"),
    (
        "The fare of 184 is flexible, and the evening boat leaves at 19:40 with cabins on it.",
        "Then go and take that one.",
    ),
    ("On the account of Ines Dahl there is cabin 311 on the upper deck, booked for that morning.", "I know..."),
)
MEMOS = (
    "poller/loop.py slept interval / 1000\nfixed: no division any more",
    "cause: config.interval was divided in poller/loop.py\nchange: division removed",
    "interval comes from poller/config.py, loop.py uses it as it is now",
)
REPORTS = (
    "poller/config.py reads `interval`, and poller/loop.py divided it by 1000 before it slept.",
    "With the division gone from poller/loop.py, `sleep_for` gets what `config.interval` holds.",
    "The fix in poller/loop.py is in: the interval of poller/config.py is used without the division.",
    "Nothing but `sleep_for` in poller/loop.py reads config.interval, and that line is changed.",
)


def test_the_third_thought_that_tells_what_is_known_is_churn() -> None:
    """No word announces it, and hardly two of them have words in common."""
    assert max(scores(TASK, FERRY, *thinks(*THOUGHTS[:2]))) < 0.6
    assert scores(TASK, FERRY, *thinks(*THOUGHTS))[-1] >= 0.6


def test_statements_to_somebody_who_waits_are_churn() -> None:
    """The guest knows it all, and asks for what comes next."""
    assert max(scores(TASK, FERRY, *tells(*TOLD[:2]))) < 0.6
    assert scores(TASK, FERRY, *tells(*TOLD))[-1] >= 0.6


def test_notes_written_anew_and_read_back_are_churn() -> None:
    """Nothing is done with any of them."""
    first, second, third = notes(*MEMOS)
    assert scores("Mend the poller.", CODE, FIXED, first, second, third)[-1] >= 0.6
    read = shell("cat /tmp/notes.md", MEMOS[1], "What is there?")
    assert scores("Mend the poller.", CODE, FIXED, first, second, read)[-1] >= 0.6


def test_messages_to_nobody_are_churn() -> None:
    """In a run that otherwise calls its tools."""
    steps = [ObservedStep(text) for text in REPORTS[:3]]
    assert scores("Mend the poller.", CODE, FIXED, *steps)[-1] >= 0.6


def test_looks_at_nothing_beside_such_texts_are_churn() -> None:
    """Where a shell stands tells nothing of what the text is about."""
    commands = ("pwd", "git status --short", "git diff --name-only")
    outputs = ("/srv", " M poller/loop.py", "poller/loop.py")
    looks = [shell(*call, text) for *call, text in zip(commands, outputs, REPORTS, strict=False)]
    assert scores("Mend the poller.", CODE, FIXED, *looks)[-1] >= 0.6


LISTS = ["\n".join(f"- [{mark}] step {at}" for at in range(4)) for mark in "x "]
HEALTHY: dict[str, Sequence[ObservedStep]] = {
    "thoughts that work something out": [
        FERRY,
        *thinks(
            "The evening fare is 184 and the car comes to 62.",
            "Two cars would be 124, so 308 in all.",
            "With a fifth off that is 246, and the voucher takes it to 221.",
        ),
    ],
    "thoughts that go on to something else": [
        FERRY,
        *thinks(
            "Is a move on the same day free? The rules say so for flexible fares.",
            "Dogs have to stay below, and she may have one: worth asking about pets and kennels.",
            "Wheelchairs board first, lorries last, bicycles through another gate altogether.",
        ),
    ],
    "two thoughts and then the deed": [
        FERRY,
        *thinks(*THOUGHTS[:2]),
        ObservedStep("", "move_crossing", '{"id": "FX20418", "departure": "19:40"}', '{"moved": true}'),
        *thinks(*THOUGHTS[2:]),
    ],
    "a refusal that is not taken": [
        FERRY,
        *tells(
            ("I'm sorry, the crossing at 08:15 cannot be moved.", "But I need to."),
            ("Unfortunately this fare to Trelleborg is not one we may touch on the day itself.", "That is bad."),
            ("I am afraid that FX20418 is past what we can do for Ines Dahl.", "Please, move it."),
        ),
    ],
    "what the guest is to do, one after the other": [
        FERRY,
        *tells(
            ("You will need to open the crossing FX20418 in the app.", "Done."),
            ("Now please choose 19:40.", "Done, too."),
            ("You can pick one of the 6 cabins on the upper deck there.", "I have one."),
        ),
    ],
    "questions of the guest, each answered": [
        FERRY,
        *tells(
            ("Your crossing FX20418 leaves Rostock at 08:15.", "Which deck, and how much was it?"),
            ("It was 184, on the upper deck.", "My husband Jonas comes along with a trailer of 4 metres."),
            ("Then one car and a trailer of 4 metres are on FX20418.", "And can we have breakfast on board?"),
        ),
    ],
    "one offer after the other": [
        FERRY,
        *tells(
            ("The boat from Rostock at 08:15 has cabin 311, for 184.", "Too early. Anything else?"),
            ("At 19:40 there are 6 cabins on the upper deck.", "No. Something else, please."),
            ("Then 08:15 on the upper deck with one car.", "What other options are there?"),
        ),
    ],
    "a look that shows what was just said": [
        FERRY,
        *tells(("The crossing FX20418 leaves Rostock at 08:15.", "And the evening boat?")),
        ObservedStep("", "get_departure", '{"route": "Rostock - Trelleborg"}', "Rostock 08:15"),
        *tells(("The boat of FX20418 is the one at 08:15 from Rostock.", "Okay.")),
    ],
    "a farewell": [
        FERRY,
        *tells(
            ("Your crossing FX20418 is moved to 19:40.", "Thank you!"),
            ("You're welcome, Ines. Enjoy the evening boat to Trelleborg.", "Thanks, bye."),
            ("Have a nice evening on the way from Rostock to Trelleborg, Ines!", "Bye bye."),
        ),
    ],
    "a list that is ticked off, and the last word": [
        CODE,
        FIXED,
        ObservedStep("The list is up to date.", "TodoWrite", json.dumps({"todos": LISTS[0]}), "ok"),
        ObservedStep("Let me tick the rest of the list off.", "TodoWrite", json.dumps({"todos": LISTS[1]}), "ok"),
        ObservedStep(REPORTS[2]),
    ],
    "looks that find out something": [
        CODE,
        FIXED,
        shell("git diff --stat", " poller/loop.py | 2 +-", REPORTS[0]),
        shell("ls poller", "config.py loop.py metrics.py backoff.py", REPORTS[1]),
        shell("head -3 poller/backoff.py", "import random\n\ndef jitter(base, most):", REPORTS[2]),
    ],
    "searches that find nothing": [
        CODE,
        FIXED,
        shell("grep -rn interval docs", "", "`config.interval` may be told of somewhere, with its /1000."),
        shell("grep -rn millisecond docs", "", "The unit of `sleep_for` in loop.py, if `config.interval` is not."),
        shell("grep -rn poller docs", "", "Anything on config.py or loop.py has to name the package."),
    ],
    "agents that talk among themselves": [
        ObservedStep("The searcher finds out where poller/loop.py sleeps."),
        ObservedStep("The writer waits for the searcher."),
        CODE,
        FIXED,
        ObservedStep("Searcher: `config.interval` is read in poller/config.py."),
        ObservedStep("Writer: the division in poller/loop.py is gone."),
        ObservedStep("Searcher, `sleep_for` was the only reader of it."),
    ],
}


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_what_goes_on_is_left_alone(steps: Sequence[ObservedStep]) -> None:
    """Something is worked out, asked, refused, answered, found or done."""
    assert max(scores(TASK, *steps)) < 0.6
