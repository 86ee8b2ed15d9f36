"""Small recorded runs of three kinds: a coding agent with a shell, a customer service agent, a research agent."""

import json
from collections.abc import Callable

import pytest

from reasonblocks.recordings import RecordedRun, RecordedStep
from reasonblocks.testing import Wording, half_of

Story = list[RecordedStep]


def shell(thought: str, command: str, output: str = "", code: int = 0) -> RecordedStep:
    """A call of a shell that wraps its output."""
    observation = f"<returncode>{code}</returncode>\n<output>\n{output}{chr(10) if output else ''}</output>"
    return RecordedStep(
        thought, "bash", json.dumps({"command": command}, separators=(",", ":")), observation, code != 0
    )


def call(tool: str, arguments: dict[str, object], answer: object) -> RecordedStep:
    """A call of a tool that answers with a record, or with text."""
    observation = answer if isinstance(answer, str) else json.dumps(answer)
    return RecordedStep("", tool, json.dumps(arguments, separators=(",", ":")), observation, False)


def told(message: str, answer: str) -> RecordedStep:
    """A message to the customer, and what comes back."""
    return RecordedStep(message, None, None, answer, False)


def coding_story(package: str, function: str) -> Story:
    """A bug found, reproduced, fixed and verified."""
    file, test = f"{package}/core/{function}.py", f"tests/test_{function}.py"
    source = "\n".join(f"line {number} of {function} in {package}" for number in range(1, 60))
    return [
        shell("Let me look around.", "ls", f"{package}\ntests\nsetup.cfg"),
        shell(
            f"I search for `{function}_value`.",
            f'grep -rn "{function}_value" {package}',
            f"{file}:12:def {function}_value(x):",
        ),
        shell(f"The file `{file}` is small. Reading it.", f"cat {file}", source),
        shell(
            f"`{function}_value` does not handle None.",
            f"sed -n '10,20p' {file}",
            f"def {function}_value(x):\n    return x + 1",
        ),
        shell("A script to see it fail.", f"cat <<'EOF' > reproduce.py\nimport {package}\nEOF"),
        shell("Running it.", "python reproduce.py", "Traceback (most recent call last):\nTypeError: None", 1),
        shell("It fails as reported. I fix it.", f"sed -i 's/x + 1/(x or 0) + 1/' {file}"),
        shell("Now again.", "python reproduce.py", "1"),
        shell("I run the tests.", f"pytest {test}", "12 passed in 0.31s"),
        shell(f"All of `{test}` passes. A last look.", "git diff", f"--- a/{file}\n+++ b/{file}"),
        shell("Tidying up.", "rm reproduce.py"),
        shell("Done.", "echo SUBMIT", f"diff --git a/{file} b/{file}"),
    ]


def service_story(name: str, order: str, product: str) -> Story:
    """An order looked up, discussed and cancelled."""
    record = {"order_id": order, "user_id": name, "status": "pending", "total": 120, "items": [product]}
    found = {"product_id": product, "name": "Lamp", "price": 35, "date": "2024-05-20"}
    return [
        told("Hello! Could you give me your user ID, please?", f"Sure, it is {name}."),
        call(
            "get_user_details", {"user_id": name}, {"user_id": name, "orders": [order], "plan": "basic", "balance": 40}
        ),
        told("Thank you. Which order ID is it about?", f"It is {order}."),
        call("get_order_details", {"order_id": order}, record),
        call("get_product_details", {"product_id": product}, found),
        told(f"Your order {order} is pending and can be cancelled. Shall I?", "Yes, please."),
        call("cancel_order", {"order_id": order, "reason": "no longer needed"}, {**record, "status": "cancelled"}),
        told(f"Your order {order} has been cancelled.", "Thanks. That was all."),
        told("You're welcome.", "Bye."),
    ]


def research_story(topic: str) -> Story:
    """A question looked up on the web."""
    pages = "\n".join(f"{number}. A page about {topic} and the City Museum, part {number}" for number in range(1, 30))
    return [
        RecordedStep(f"The question is about {topic}.", None, None, None, False),
        call("web_search", {"query": f"history of the {topic} museum"}, pages),
        call("visit_page", {"url": f"https://example.org/{topic}"}, pages.upper()),
        call("web_search", {"query": f"number of visitors of the {topic} museum"}, pages[::-1]),
        call("page_down", {}, pages.title()),
        RecordedStep("The answer is 12,000.", "final_answer", '{"answer":"12,000"}', "12,000", False),
    ]


def _runs(name: str, stories: list[tuple[str, Story]], half: Wording) -> list[RecordedRun]:
    runs = []
    for number, (task, steps) in enumerate(stories):
        run = RecordedRun(f"{name}/{number}", steps, name, task, outcome="success")
        while half_of(run) != half:
            run.task = f"{run.task}!"
        runs.append(run)
    return runs


@pytest.fixture(scope="session")
def coding_runs() -> Callable[[Wording], list[RecordedRun]]:
    """Runs of a coding agent, all of one half."""
    names = [
        ("django", "parser"),
        ("numpy", "matrix"),
        ("flask", "routing"),
        ("sphinx", "builder"),
        ("pandas", "frame"),
    ]
    return lambda half: _runs("coding", [(f"{b} breaks on None in {a}", coding_story(a, b)) for a, b in names], half)


@pytest.fixture(scope="session")
def service_runs() -> Callable[[Wording], list[RecordedRun]]:
    """Runs of a customer service agent, all of one half."""
    people = [
        ("mei_lee_1234", "#W1234567", "881122"),
        ("omar_ito_777", "#W7654321", "990011"),
        ("ana_diaz_42", "#W5550001", "773344"),
    ]
    return lambda half: _runs(
        "service", [(f"I am {who[0]}, about {who[1]}", service_story(*who)) for who in people], half
    )


@pytest.fixture(scope="session")
def research_runs() -> Callable[[Wording], list[RecordedRun]]:
    """Runs of a research agent, all of one half."""
    return lambda half: _runs(
        "research", [(f"How old is {topic}?", research_story(topic)) for topic in ("Lima", "Oslo")], half
    )
