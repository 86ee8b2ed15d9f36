"""semantic_loop: what is a loop, and what only looks like one."""

from collections.abc import Callable, Sequence

import msgspec
import pytest

from reasonblocks.engine.answers import Evidence
from reasonblocks.engine.monitors.base import Reading
from reasonblocks.engine.monitors.features import ObservedStep, read_step
from reasonblocks.engine.monitors.semantic_loop import SemanticLoop

Scores = Callable[[str, Sequence[ObservedStep]], list[float]]
Why = Callable[[str, Sequence[ObservedStep]], Evidence]
NOTHING_FOUND = "No results found."


def found(steps: Sequence[ObservedStep]) -> list[Reading]:
    """What this monitor itself has to show after each step, whatever the run as a whole makes one suspect."""
    state = SemanticLoop().start("")
    return [state.observe(read_step(index, step)) for index, step in enumerate(steps)]


def call(action: str, observation: str, thought: str = "", **arguments: object) -> ObservedStep:
    """A step with a call and its result."""
    return ObservedStep(thought, action, msgspec.json.encode(arguments).decode(), observation)


def search(query: str, observation: str = NOTHING_FOUND) -> ObservedStep:
    """A search and what it found."""
    return call("search", observation, query=query)


def shell(command: str, output: str = "") -> ObservedStep:
    """A command and what it printed."""
    return call("bash", output, command=command)


def ask(question: str, answer: str) -> ObservedStep:
    """A message to a person and the answer."""
    return ObservedStep(question, observation=answer)


HIT = "src/parser.py:12: def read_header(stream):"
SPELLINGS = ("read_header", "ReadHeader", "read.*header", "'reading headers'", "header_read")
ASKED_AGAIN = [
    ask("Could you give me your booking number?", "Sure, it is KX41T9."),
    ask("Please tell me which booking this is about.", "As I said, KX41T9."),
    ask("To go on I need the number of your booking.", "KX41T9, I told you."),
]
FOUND_OUT = (
    "1. The leaning tower, pisa.example: building began long ago and lasted two centuries. "
    "2. Engineers stabilised the foundations with lead counterweights."
)
METHODS = "open close read write seek tell flush parse check merge split clear".split()
RECORD = (
    '{"id": "A17", "name": "Ada Park", "street": "4 Mill Lane", "city": "Leeds", "phone": "0113 496", "plan": "basic", '
    '"status": "%s"}'
)
LONG_RECORD = RECORD.replace("basic", " ".join(f"option{n}" for n in range(50)))

LOOPS = {
    "same call, same result": [search("login bug")] * 4,
    "same call, failing in the same way": [
        call("run_query", f"Error: connection to 10.0.0.{n} timed out after {n}01 ms", sql="select * from users")
        for n in range(4)
    ],
    "two calls in turn": [search("login bug"), call("list_files", "src tests docs", path="src")] * 3,
    "three calls in turn": [
        search("login bug"),
        call("list_files", "src tests docs", path="src"),
        call("read_file", "def login(): ...", path="src/login.py"),
    ]
    * 3,
    "reworded searches": [
        search("session timeout"),
        search("session expiry"),
        search("session token expiration"),
        search("session expired timeout"),
    ],
    "two edits that undo each other": [
        call("edit_file", "ok", path="a.py", old="x = 1", new="x = 2"),
        call("edit_file", "ok", path="a.py", old="x = 2", new="x = 1"),
    ]
    * 3,
    "two unknown tools in turn": [
        call("oracle", "No answer was found for this one.", q="x"),
        call("medium", "There was no reply at all.", q="y"),
    ]
    * 4,
    "one name in several spellings": [shell(f"grep -rn {pattern} src", HIT) for pattern in SPELLINGS],
    "a command with trimmings": [
        shell(command, "a b c\nd e f\nread header done\nparser ready now")
        for command in ("python demo.py", "python demo.py | cat", "( python demo.py )", "python  demo.py 2>&1")
    ],
    "results that differ in durations alone": [
        shell("pytest -q", f"4 passed, 11 warnings from header parser stream socket tests in 0.{n}7s at 17:45")
        for n in range(4)
    ],
    "different calls for the same text": [
        shell(command, "class Header:\n" + "".join(f"    def {word}(self): ...\n" for word in METHODS))
        for command in ("cat src/header.py", "sed -n 1,80p src/header.py", "head -80 src/header.py", "nl src/header.py")
    ],
    "a search whose answer echoes the question": [
        search(
            query, f"Results for {query}: " + " ".join(METHODS) + " written by the maintainers of the stream library"
        )
        for query in (
            "stream library header",
            "header of the stream library",
            "stream library header online",
            "library stream header",
        )
    ],
    "a question asked again and answered again": ASKED_AGAIN,
    "the same order twice over": [
        call("send_voucher", "Voucher V-1 of 50 was sent to ada_park.", user="ada_park", amount=50)
    ]
    * 3,
    "JSON laid out in different ways": [
        ObservedStep("", "read_file", given, "def login(): ...")
        for given in ('{"path": "a.py"}', '{"path":"a.py"}', '{ "path" : "a.py" }')
    ],
    "a record that is under way and read for another reason": [
        call("get_customer", LONG_RECORD % "pending", "Let me read the address of the customer again.", id="A17")
    ]
    * 4,
    "a slot asked for in words that have nothing in common": [
        ask("Which card should be charged?", "My Mastercard."),
        ask("What would you like to pay with?", "The Mastercard, please."),
        ask("Kindly tell me the means of settlement.", "I told you, the Mastercard."),
    ],
    "a reason asked for again by a tool": [
        call("ask_customer", "It came with a broken zipper.", text="Why do you send it back?"),
        call("ask_customer", "The zipper is broken.", text="What is wrong with the jacket?"),
        call("ask_customer", "Because of the broken zipper.", text="May I know the cause of the complaint?"),
    ],
    "failures that differ in their ids": [
        call("get_invoice", f"HTTP 502 Bad Gateway (ray {ray})", id="A1") for ray in ("8f2ab1", "77c0de", "f234ab")
    ],
    "failures that are worded in different ways": [
        call("get_invoice", "Request timed out after 30 s", id="A1"),
        call("get_invoice", "Error: the other side gave no reply (31.2 s)", id="A1"),
        call("get_invoice", "Request timed out after 29 s", id="A1"),
        call("get_invoice", "Error: the other side gave no reply (30.1 s)", id="A1"),
    ],
    "arguments reworded, failing in the same way": [
        call("create_ticket", f"Error: field 'priority' is invalid [req {ray}]", title=title, priority=priority)
        for ray, title, priority in (
            ("81ab2c", "Printer broken", "very urgent"),
            ("1c22aa", "The printer is broken", "urgent"),
            ("9c22ab", "Broken printer", "Urgent!"),
            ("4422ac", "Printer is broken", "URGENT"),
        )
    ],
    "one id in several spellings": [
        call("find_customer", RECORD % "active", id=spelling) for spelling in ("A17", "a17", " A17 ", "#A17", "'A17'")
    ],
    "a pending record in several spellings": [
        call("find_customer", RECORD % "pending", id=spelling) for spelling in ("A17", "a17", " A17 ", "#A17", "'A17'")
    ],
    "two looks in turn, twice": [
        call("read_file", "class Reader: pass", path="reader.py"),
        call("read_file", "class Writer: pass", path="writer.py"),
    ]
    * 2,
    "searches by code whose words differ": [
        call("python", f"Results for {query}. {FOUND_OUT}", code=f'print(web_search("{query}"))')
        for query in (
            "leaning tower construction start",
            "when did building of the leaning tower begin",
            "leaning tower year construction started",
        )
    ],
    "the same place searched by two tools": [
        call(tool, HIT + " # the first line of a message tells how many bytes the body that follows has", **given)
        for tool, given in (
            ("grep", {"pattern": "read_header", "path": "src"}),
            ("bash", {"command": "grep -rnw read_header src"}),
            ("grep", {"pattern": "read_header", "path": "src"}),
        )
    ],
    "the same message": [
        ObservedStep(
            "I hand over to the web expert, who should collect opening hours and prices of all restaurants nearby"
        )
    ]
    * 4,
}


@pytest.mark.parametrize("steps", LOOPS.values(), ids=LOOPS)
def test_c14_a_loop_fires(steps: list[ObservedStep], scores: Scores) -> None:
    """Repetition without progress reaches the threshold by the fourth time at the latest."""
    assert max(scores("semantic_loop", steps)) >= 0.6


def test_c14_a_loop_fires_at_the_third_time() -> None:
    """Once is nothing, twice is little, three times is a loop, and it gets worse from there."""
    scores = [reading.score for reading in found([search("login bug")] * 6)]
    assert scores[0] == 0.0
    assert 0.0 < scores[1] < 0.6 <= scores[2]
    assert scores == sorted(scores)


def page(number: int) -> ObservedStep:
    """A page of a long listing."""
    return call("page_down", f"Page {number}: entries {number}0 to {number}9 of the register")


def test_c14_what_fails_is_a_loop_at_the_fourth_time() -> None:
    """Many runs that end well try thrice before they try something else: nobody has to tell them."""
    step = ObservedStep("", "page_down", "{}", "Error: page_down takes no argument ''", is_error=True)
    scores = [reading.score for reading in found([step] * 5)]
    assert max(scores[:3]) < 0.35
    assert scores[3] >= 0.6


HEALTHY = {
    "a new result each time": [call("get_news", f"Headline: {word}") for word in "one two three four five".split()],
    "bulk work over files": [
        call("rename_file", "ok", path=f"src/part_{n}.py", to=f"lib/part_{n}.py") for n in range(8)
    ],
    "bulk work by one shell": [call("bash", "", command=f"sed -i s/foo/bar/ src/part_{n}.py") for n in range(8)],
    "bulk reading": [call("get_order", "not found", order_id=f"#W{n}") for n in range(8)],
    "paging": [page(number) for number in range(8)],
    "polling": [call("bash", "", command="sleep 10"), call("get_build", "status: running", build="17")] * 5,
    "retry after a fix": [
        step
        for n in range(5)
        for step in (
            call("edit_file", "ok", path="a.py", old="x = 0", new=f"x = {n} + 1"),
            call("bash", "1 failed", command="pytest tests/test_a.py"),
        )
    ],
    "reading again after an edit": [
        step
        for n in range(5)
        for step in (call("read_file", "x", path="a.py"), call("write_file", "ok", path="a.py", content=f"{n}"))
    ],
    "a look now and then": [
        step
        for n in range(4)
        for step in (call("list_todos", "write tests"), *(search(f"topic{n}{m}", f"result {n} {m}") for m in range(4)))
    ],
    "short answers to a person": [ObservedStep("Yes.", observation="and now?")] * 6,
    "waiting for a record to change": [
        *[call("get_customer", RECORD % "in progress", "Let me see whether it is done.", id="A17")] * 6,
        call("get_customer", RECORD % "done", "Let me see whether it is done.", id="A17"),
    ],
    "watching a record in silence": [call("get_customer", RECORD % "pending", id="A17")] * 8,
    "watching a long record": [call("get_customer", LONG_RECORD % "pending", "Is it through?", id="A17")] * 8,
    "one record after the other": [
        call("get_customer", (RECORD % "active").replace("A17", f"A{n}"), id=f"A{n}") for n in range(20, 28)
    ],
    "one date after the other": [
        call("search_flights", "[]", origin="JFK", to="ORD", date=f"2024-05-0{n}") for n in range(1, 8)
    ],
    "there and back": [
        call("search_flights", "[]", origin=origin, to=to, date="2024-05-01")
        for origin, to in (("JFK", "ORD"), ("ORD", "JFK"), ("JFK", "LGA"), ("LGA", "JFK"))
    ],
    "one file after the other": [
        shell(f"grep -n 'def join' src/tables/{name}.py", "")
        for name in ("tables", "dense", "sparse", "common", "base")
    ],
    "a document that grows": [
        step
        for n in range(5)
        for step in (
            shell("cat <<'EOF' > guide.md\n" + "\n".join(METHODS[: n + 6]) + "\nEOF\nmake html", "built " + HIT),
            call("write_todos", "Todos were updated. Go on and track your progress.", todos=METHODS[n:]),
        )
    ],
    "a place in the queue": [call("get_export", "Your export is number 9 in line", id="e1")] * 7,
    "a share that stands still": [call("get_sync", "Sync: 12 %", id="e1")] * 7,
    "something that was accepted": [call("get_job", "job accepted", id="e1")] * 7,
    "figures that move": [call("get_job", f"processed {n}, failed 0", id="e1") for n in range(40, 48)],
    "whoever says that it takes time": [
        call("query", "rows: 0", thought, sql="select count(*) from load")
        for thought in ("Give it another minute.", "How far is it?", "It takes a while.", "Not there so far.") * 2
    ],
    "a record that has begun to move": [
        call("get_customer", RECORD % "delivered", id="A17"),
        *[call("get_customer", RECORD % "started", id="A17")] * 6,
    ],
    "advice that does not help": [
        ask(f"Please {advice}. Does it work now?", "It is not working.")
        for advice in ("turn airplane mode off", "restart the phone", "take the card out", "reset the network")
    ],
    "a customer who agrees": [
        ask("I will cancel order W1. Do you confirm?", "Yes, please cancel it."),
        ask("The refund goes to your card. Is that fine?", "Yes, please go on."),
        ask("Shall I cancel the other one too?", "Yes, please cancel it too."),
        ask("Shall I cancel the subscription as well?", "Yes, please cancel it."),
    ],
    "sentences handed to a shell, which may have changed anything": [
        step
        for n in range(4)
        for step in (
            shell("python demo.py", "Initial state: book one by author one. Final state: the same, not changed at all"),
            shell(f"Perhaps it is permission number {n} that is denied.\nSo I change the view."),
        )
    ],
    "a person who is asked for different things": [
        ask("Which booking is it about?", "KX41T9."),
        ask("What shall be changed in booking KX41T9?", "The seat in booking KX41T9 should be by the window."),
        ask("Which card shall be charged for the window seat?", "The Visa that was used for KX41T9."),
        ask("Shall I go on with the Visa?", "Yes, go on."),
    ],
}


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_c14_what_only_looks_like_a_loop_does_not_fire(steps: list[ObservedStep], scores: Scores) -> None:
    """A repeated call with a new result, bulk work, paging, polling and a retry after a fix are not loops."""
    assert max(scores("semantic_loop", steps)) < 0.6


def test_c14_the_end_of_a_loop_is_seen(scores: Scores) -> None:
    """As soon as something new is done, the monitor no longer fires."""
    steps = [*[search("login bug")] * 4, call("read_file", "def login(): ...", path="src/login.py")]
    *_, in_the_loop, after_it = scores("semantic_loop", steps)
    assert in_the_loop >= 0.6 > after_it


def test_a_loop_shows_its_evidence(evidence: Why) -> None:
    """The evidence names the steps, the call and the result."""
    found = evidence("semantic_loop", [page(1), *[search("login bug")] * 3])
    assert found.steps == [1, 2, 3]
    assert "3 times" in found.reason
    assert found.quotes == ["search login bug", NOTHING_FOUND]


def test_a_result_that_differs_far_inside_is_a_new_one() -> None:
    """Long results are compared as a whole, although only their ends are read."""
    steps = [call("read_log", "a" * 30_000 + str(n) + "b" * 30_000) for n in range(6)]
    assert [reading.score for reading in found(steps)] == [0.0] * 6


def test_reworded_calls_are_quoted_side_by_side() -> None:
    """Where the calls differ, the evidence shows an earlier and the newest one, and says what was compared."""
    evidence = found([shell(f"grep -rn {pattern} src", HIT) for pattern in SPELLINGS])[-1].evidence
    assert evidence is not None
    assert evidence.reason.startswith("Within 5 steps the same was asked in other words 5 times")
    assert evidence.quotes[:2] == ["bash grep -rn read_header src", "bash grep -rn header_read src"]


def test_answers_that_only_sound_different_are_not_called_the_same() -> None:
    """What was asked again and told again in other words is said to have held nothing new."""
    evidence = found(ASKED_AGAIN)[-1].evidence
    assert evidence is not None
    assert "said or asked in other words" in evidence.reason
    assert "held nothing new" in evidence.reason


THOUGHTS = (
    "The parser drops the trailing header whenever empty lines follow, so reading the source of this module should "
    "explain the wrong checksum.",
    "Perhaps encoding matters: bytes that arrive late shift offsets, hence checksums differ between both platforms, "
    "whatever compiler built the binary.",
    "Another idea is that buffering swallows separators, which the loop over chunks never puts back into place, as "
    "old reports about sockets suggest.",
    "Timezones could shift dates written into footers, and signatures computed afterwards would then not match those "
    "of servers elsewhere.",
)


def test_a_long_thought_buys_a_loop_one_more_turn() -> None:
    """Whoever says much beside the same call gets a little more time, and fires all the same."""
    steps = [call("read_file", "def login(): ...", thought, path="a.py") for thought in THOUGHTS]
    scores = [reading.score for reading in found(steps)]
    assert scores[2] < 0.6 <= scores[3]


def test_a_thought_that_is_repeated_with_its_call_buys_nothing() -> None:
    """The very same thought beside the very same call is part of the loop."""
    scores = [reading.score for reading in found([call("read_file", "def login(): ...", THOUGHTS[0], path="a.py")] * 3)]
    assert scores[2] >= 0.6
