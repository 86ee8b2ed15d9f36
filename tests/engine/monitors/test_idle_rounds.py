"""semantic_loop: searches in vain, promises, and changes that are undone in turns; and what only looks like them."""

import json
from collections.abc import Callable, Sequence

import pytest

from reasonblocks.engine.monitors.features import ObservedStep

Scores = Callable[[str, Sequence[ObservedStep]], list[float]]


def call(action: str, result: str, thought: str = "", **given: str) -> ObservedStep:
    """A call of a tool."""
    return ObservedStep(thought, action, json.dumps(given), result)


def shell(command: str, output: str = "", thought: str = "") -> ObservedStep:
    """A command in a shell."""
    return call("bash", output, thought, command=command)


def say(text: str, answer: str = "") -> ObservedStep:
    """A message, and what it is answered with."""
    return ObservedStep(text, observation=answer)


def edit(old: str, new: str) -> ObservedStep:
    """One text in a file put in place of another."""
    return call("Edit", "The file has been updated.", file_path="/srv/mail.py", old_string=old, new_string=new)


SIGNAL = "Signal strength: fair | Band: 20 | Roaming: off | Battery 64%"
LOOPS = {
    "a page that does not have it": [
        call("find_in_page", f"The text '{text}' was not found on this page.", text=text)
        for text in (
            "harvest festival date",
            "date of the harvest festival",
            "harvest date",
            "festival date",
            "harvest",
        )
    ],
    "a history that does not have it": [
        shell(f"git log --oneline {search}")
        for search in (
            '-S"retry budget"',
            '--grep="retry budget"',
            '--all -G"budget.*retry"',
            '-i --grep "budget retries"',
            "--all -i --grep 'retry budgets'",
        )
    ],
    "words that were all tried": [
        shell(f"grep {search} mail/")
        for search in (
            '-rn "greylisting delay"',
            '-rni "wait before resend"',
            '-rniE "wait.*resend"',
            '-rnw "greylisting delay"',
            '-Rni "delay greylisting"',
        )
    ],
    "promises that are nodded at": [
        say("I'll look up your parcel now, just a moment.", "Okay."),
        say("Thank you for your patience, I'm still checking the parcel.", "Sure."),
        say("Please hold on while I go over the parcel's history.", "Fine."),
    ],
    "promises that nobody hears": [
        say("Next I will run the mail tests."),
        say("I'm going to run the mail tests now."),
        say("Let me now run the tests of the mail module."),
        say("Now I'll run these mail tests."),
    ],
    "an edit and back": [edit("ttl = 60", "ttl = 90"), edit("ttl = 90", "ttl = 60")] * 2,
    "an edit and back with looks in between": [
        step
        for one in [edit("ttl = 60", "ttl = 90"), edit("ttl = 90", "ttl = 60")] * 2
        for step in (one, call("Read", f"{one.action_input[-12:]} in mail.py", file_path="/srv/mail.py"))
    ],
    "a switch on and off": [
        call("toggle_wifi_calling", f"Wi-Fi calling is now {state}.") for state in ("ON", "OFF", "ON", "OFF")
    ],
    "a status with a share among other things": [call("check_signal", SIGNAL)] * 3,
    "short names of files": [shell("ls mail", "queue.py\nsend.py\n__init__.py")] * 3,
    "the same look, explained each time": [
        shell(f"grep -n {flag} resend mail/queue.py", "88: def resend(self, parcel):", thought)
        for flag, thought in (
            ("-e", "The delay must come from `resend` in queue.py, so let me find the line where `resend` is defined."),
            ("-F", "Where `resend` is defined in queue.py should explain the delay, so I look for the line."),
            ("-w", "I want the line of queue.py that has `resend`, because its definition would explain the delay."),
        )
    ],
}


@pytest.mark.parametrize("steps", LOOPS.values(), ids=LOOPS)
def test_c14_rounds_that_lead_nowhere_fire(steps: list[ObservedStep], scores: Scores) -> None:
    """Equally empty searches, promises in place of deeds, changes undone in turns, the same look again."""
    assert max(scores("semantic_loop", steps)) >= 0.6


HEALTHY = {
    "other words each time": [
        shell(f'grep -rn "{word}" mail/') for word in ("greylist", "backoff", "dead_letter", "bounce", "requeue")
    ],
    "another place each time": [
        shell(f'grep -n "greylisting delay" mail/{name}.py') for name in ("queue", "send", "smtp", "dns", "spool")
    ],
    "another day each time": [
        call("search_trains", "[]", origin="Oslo", destination="Bergen", date=f"2025-02-{day}") for day in range(11, 17)
    ],
    "leftovers of a renaming": [
        shell(f"grep -rn '{name}' mail/")
        for name in ("old_queue", "old_spool", "old_sender", "old_resolver", "old_hook")
    ],
    "promises that are kept": [
        step
        for name in ("parcel", "refund", "label")
        for step in (
            say(f"I'll look up the {name} now, just a moment.", "Okay."),
            call(f"get_{name}", f"{name}: found, in order", id="P-31"),
        )
    ],
    "a person who is guided": [
        say("Please turn the router off.", "Done."),
        say("Now please turn it on again.", "It is on."),
        say("Please wait until the light is green.", "It is green."),
        say("Please open any page.", "That works."),
    ],
    "handed over": [
        call("transfer_to_human", "Transfer successful"),
        *(say("Please hold on, somebody will be with you shortly.", "Okay.") for _ in range(2)),
        say("Thank you for your patience, it will be just a moment.", "Okay."),
    ],
    "tried out both ways": [
        step
        for number, one in enumerate([edit("ttl = 60", "ttl = 90"), edit("ttl = 90", "ttl = 60")] * 2)
        for step in (one, shell("python bench.py", f"40 passed, mean delay {31 * number + 107} ms"))
    ],
    "once on and once off": [call("toggle_wifi_calling", f"Wi-Fi calling is now {state}.") for state in ("ON", "OFF")],
    "several settings": [
        call("update_setting", f"Setting {name} is now on.", name=name, value="on")
        for name in ("wifi", "hotspot", "roaming", "vpn", "sync")
    ],
    "how far something is": [call("get_upload", f"Uploading, {share}%", id="U7") for share in (20, 20, 20, 35, 35)],
}


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_c14_rounds_that_lead_somewhere_do_not_fire(steps: list[ObservedStep], scores: Scores) -> None:
    """New words, places and days, promises that are kept, both ways tried out: none of it is a loop."""
    assert max(scores("semantic_loop", steps)) < 0.6
