"""Healthy runs: whatever they look like to a machine, nothing is said into them."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest

from reasonblocks.engine.monitors.evaluation import Evaluator
from reasonblocks.engine.monitors.suite import MonitorSuite
from reasonblocks.engine.monitors.trajectories import Trajectories
from reasonblocks.engine.principal import LOCAL
from reasonblocks.engine.requests import EvaluateRequest, TraceStep

from .healthy_stories import CHINESE, DATA_ENTRY, ENGLISH, FINNISH, RUSSIAN, TRIP


def act(thought: str, action: str = "", observation: str = "", **arguments: object) -> TraceStep:
    """A step in the order in which it is written down."""
    return TraceStep(thought, action, msgspec.json.encode(arguments).decode() if action else "", observation)


def read(*thoughts: str, result: str = "ok") -> list[TraceStep]:
    """One thought after the other, a file read after each."""
    return [act(thought, "read_file", result, path=f"src/{place}.py") for place, thought in enumerate(thoughts)]


FAILED_TESTS = "FAILED tests/test_a.py::test_x - AssertionError: 1 != 2\n1 failed, 3 passed"
CRASHED = "Traceback (most recent call last):\n  File 'main.py'\nKeyError: 'x'"
MODULES = "models views urls forms admin signals tasks utils apps".split()
TOPICS = "history climate economy culture language sport music".split()
WAITING = (
    "So far the deployment is still going on. I have to wait for it to finish before I can run the database migration "
    "and the smoke tests against it."
)

CONTRADICTIONS = {
    "two orders": read(
        "Look up the first order.",
        "Order 1234 is eligible for a return.",
        "Order 5678 is not eligible for a return.",
    ),
    "two ids": read("Server web01 accepts plain logins today.", "Server web02 never accepts plain logins today."),
    "two options": read(
        "Option A supports concurrent writers in cluster mode.",
        "Option B does not support concurrent writers in cluster mode.",
    ),
    "the first and the other": read(
        "The first validator handles empty strings correctly.",
        "The other validator never handles empty strings correctly.",
    ),
    "two names in a long sentence": read(
        "The staging database server in region west has working nightly backups of all invoice tables.",
        "The production database server in region west has no working nightly backups of all invoice tables.",
    ),
    "a narrower subject": read(
        "The validator handles empty strings in headers.",
        "The legacy validator does not handle empty strings in headers.",
    ),
    "whatever is at hand": read(
        "This order is eligible for a full return.",
        "This order is not eligible for a full return.",
        "The order is eligible for a full return.",
        "The order is not eligible for a full return.",
    ),
    "some and some": read("Some cache tests pass on Linux.", "Some cache tests fail on Linux."),
    "a plan: so that": [
        act("Run the tests.", "bash", FAILED_TESTS, command="pytest -q"),
        act("I will rework the parser next so that all tests pass.", "read_file", "def parse(): ...", path="p.py"),
    ],
    "a plan: make sure": [
        act("Run it.", "bash", CRASHED, command="python main.py"),
        act("Let me handle guests and make sure the script runs without errors.", "edit_file", "ok", path="main.py"),
    ],
    "a plan: until": [
        act("Run the tests.", "bash", FAILED_TESTS, command="pytest -q"),
        act("I go on until all tests pass.", "read_file", "def parse(): ...", path="p.py"),
    ],
    "a question": [
        act("Run the tests.", "bash", FAILED_TESTS, command="pytest -q"),
        act("Did the tests run without errors on main?", "read_file", "def parse(): ...", path="p.py"),
    ],
}
CHURN = {
    "bulk edits": [
        act(
            f"I have updated the import statements in {done}. Next I will update the import statements in {following} "
            "to use the new package name so the migration stays consistent.",
            "edit_file",
            "File updated successfully.",
            path=following,
            old="import foo",
            new="import bar",
        )
        for done, following in pairwise(MODULES)
    ],
    "delegation": [
        act(
            f"I have the section on {done}. Next I ask the writer agent for the section on {following} with sources, "
            "figures and a short conclusion.",
            "ask_writer",
            f"Draft about {following} ...",
            topic=following,
        )
        for done, following in pairwise(TOPICS)
    ],
    "delegation by messages": [
        act(
            f"I have the section on {done}. Next I ask the writer agent for the section on {following} with sources, "
            "figures and a short conclusion."
        )
        for done, following in pairwise(TOPICS)
    ],
    "polling with progress": [
        act(WAITING, "get_deployment", f'{{"state": "IN_PROGRESS", "percent": {7 * turn}}}', id="d")
        for turn in range(8)
    ],
    "polling without": [act(WAITING, "get_deployment", '{"state": "IN_PROGRESS"}', id="d")] * 8,
}
LOOPS = {
    "one product after the other": [
        act(f"Then the {colour} one.", "check_stock", "out of stock", product=f"{colour} shirt")
        for colour in ("red", "blue", "green", "black")
    ],
    "longer names of products": [
        act(f"Then the {colour} one.", "check_stock", "out of stock", product=f"large {colour} cotton shirt")
        for colour in ("red", "blue", "green", "black")
    ],
    "a long refusal": [
        act(
            "Next.",
            "check_stock",
            "We are sorry, this article is sold out in all of our stores. " * 4,
            product=f"{n} shirt",
        )
        for n in ("red", "blue", "green", "black")
    ],
    "the price of one product after the other": [
        act("Next.", "get_price", '{"kind": "shirt", "price": 20, "currency": "EUR", "tax": 3}', product=f"{n} shirt")
        for n in ("red", "blue", "green", "black")
    ],
    "a search that names what it did not find": [
        act("Next.", "search_shop", "Sorry, the shirt you are looking for is sold out.", query=f"{n} shirt")
        for n in ("red", "blue", "green", "black")
    ],
    "looking for mail": [act("Anything?", "check_inbox", "No new messages", box="in")] * 6,
    "one password after the other": [
        act(f"Try {word}.", "bash", "ERROR: wrong password for the archive. " * 5, command=f"open archive with {word}")
        for word in ("secret", "dragon", "letmein", "hunter")
    ],
    "scrolling": [act("Scroll further down.", "scroll", "Scrolled down.", direction="down")] * 5,
    "clicking": [act("Next page.", "click", "Clicked.", element="Next")] * 5,
    "walking": [act("Go on north.", "move", "You moved one step.", direction="north")] * 5,
    "pressing": [act("Tab.", "press_key", "ok", key="Tab")] * 5,
    "an edit tool of any name between failing tests": [
        step
        for turn in range(5)
        for step in (
            act(f"Attempt {turn}: change the rounding.", "text_editor", "ok", path="a.py", text=f"v{turn}"),
            act("Run the tests.", "bash", FAILED_TESTS, command="pytest -q"),
        )
    ],
} | {
    f"polling: {state}": [act("Is it there yet?", "get_instance", f'{{"state": "{state}"}}', id="i-1")] * 15
    for state in (
        "provisioning",
        "ACTIVE_DEPLOYING",
        "queued",
        "starting",
        "IN_PROGRESS",
        "InProgress",
        "Rebalancing",
        "not ready",
    )
}
OPEN_CHANGES = {
    "a change that confirms itself": [
        act("I will update the address.", "get_order", '{"address": "old"}', id="1"),
        act("The user confirmed.", "update_order_address", '{"status": "updated"}', id="1", address="new"),
        act("I have updated the address of your order. Is there anything else?", observation="When will it come?"),
    ],
    "a word in a manual": [
        act("Open the README.", "read_file", "# old", path="README.md"),
        act("Fix the typo.", "edit_file", "ok", path="README.md", old="teh", new="the"),
        act("I've fixed the typo in the README.", observation="thanks"),
    ],
    "a word in a manual by a shell": [
        act("Fix the typo.", "bash", "", command="sed -i s/teh/the/ docs/guide.md"),
        act("I've fixed the typo in the guide."),
    ],
}
STORIES = {
    "a trip": [act(thought, action, result, about=about) for thought, action, about, result in TRIP],
    "Chinese": read(*CHINESE, result="内容"),
    "Finnish": read(*FINNISH),
    "Russian": read(*RUSSIAN),
    "English with short results": read(*ENGLISH),
    "a list that is filled in": [act(thought, "add_entry", "Entry added.", name=name) for thought, name in DATA_ENTRY],
    "a new part of the work that hangs together": [
        *read(*[f"The cache module holds part {n} of the store, and the lock guards its index." for n in range(12)]),
        *read(
            "Release notes mention customers, pricing tiers, invoices plus upcoming discounts quarterly.",
            "Customers on pricing tiers receive invoices; discounts appear below the total.",
            "Invoices show discounts per customer, tiers decide which percentage applies.",
            "Percentage rules for customers with several tiers and discounts stay documented.",
            "Total of invoices for customers matches quarterly pricing.",
        ),
    ],
    "a steady list that is filled in": [
        *[
            act(f"Add the animal of row {n} to the catalogue of the zoo with its food.", "add_entry", "ok", row=n)
            for n in range(12)
        ],
        *[act(thought, "add_entry", "ok", name=name) for thought, name in DATA_ENTRY[-5:]],
    ],
}
HEALTHY = {
    name: steps for group in (CONTRADICTIONS, CHURN, LOOPS, OPEN_CHANGES, STORIES) for name, steps in group.items()
}


@pytest.mark.parametrize("task_profile", ["coding", "pr_review", "qa"])
@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
async def test_c14_nothing_is_said_into_a_healthy_run(
    steps: Sequence[TraceStep], task_profile: str, suite: MonitorSuite
) -> None:
    """At no step of a healthy run the gate opens, in any profile."""
    evaluator = Evaluator(Trajectories(suite))
    for place, step in enumerate(steps):
        answer = await evaluator.evaluate(
            LOCAL, EvaluateRequest(steps=[step], run_id="run", offset=place, task_profile=task_profile)
        )
        assert answer.inject is False, (place, answer.intervention_text)


LISTING = (
    "web/login.py:2: session = start_session(user)\ndocs/accounts.md:3: A session ends when the user signs out.\n" * 2
)
FOUND = {
    "the same listing for reworded searches": (
        "semantic_loop",
        [
            act("Search.", "search_code", LISTING, query=f"session {word}")
            for word in ("timeout", "expiry", "token expiration")
        ],
    ),
    "the same line for reworded searches": (
        "semantic_loop",
        [
            act("Search.", "search_code", "web/login.py:2: session = start_session(user)", query=f"session {word}")
            for word in ("timeout", "expiry", "token expiration")
        ],
    ),
    "the same long message sent again": (
        "semantic_loop",
        [
            act(
                "Hand over.",
                "transfer_to_human",
                "Transfer successful",
                summary="Customer wants refund cancelled flight Boston",
            )
        ]
        * 3,
    ),
    "the same call of an unknown tool": ("semantic_loop", [act("Ask.", "oracle", "No answer was found.", q="x")] * 3),
    "a stated success among plans": (
        "claim_contradiction",
        [
            act("Run the tests.", "bash", FAILED_TESTS, command="pytest -q"),
            act("I wanted to make sure it works. All tests passed.", "read_file", "text", path="a.py"),
        ],
    ),
    "code in a shell that was never run": (
        "verification_skip",
        [act("Fix it.", "bash", "", command="sed -i s/a/b/ src/cache.py"), act("The bug is now fixed.")],
    ),
}


@pytest.mark.parametrize(("monitor", "steps"), FOUND.values(), ids=FOUND)
async def test_c14_what_is_wrong_is_still_said(monitor: str, steps: Sequence[TraceStep], suite: MonitorSuite) -> None:
    """The sick twin of a healthy run is told so."""
    answer = await Evaluator(Trajectories(suite)).evaluate(LOCAL, EvaluateRequest(steps=list(steps)))
    assert answer.inject is True
    assert monitor in answer.fired
