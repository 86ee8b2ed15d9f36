"""What agents do and say, as steps."""

import msgspec

from reasonblocks.engine.monitors.features import ObservedStep


def shell(command: str, result: str = "", thought: str = "Next.", *, error: bool = False) -> ObservedStep:
    """A line for a shell."""
    return ObservedStep(thought, "bash", msgspec.json.encode({"command": command}).decode(), result, error)


def say(text: str, answer: str = "") -> ObservedStep:
    """A message, and what the other side answers."""
    return ObservedStep(text, "", "", answer)


def call(action: str, result: str, *, error: bool = False, **given: str) -> ObservedStep:
    """A call without a thought."""
    return ObservedStep("", action, msgspec.json.encode(given).decode(), result, error)
