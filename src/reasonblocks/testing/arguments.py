"""The arguments of a recorded call: read, changed in one place, and written as the run writes them."""

import json
import re
from dataclasses import dataclass
from typing import Any

from ..recordings import RecordedStep

_MAIN_KEYS = (
    "command",
    "cmd",
    "script",
    "query",
    "pattern",
    "q",
    "search",
    "search_string",
    "code",
    "file_path",
    "path",
)
SHELL_KEYS = frozenset({"command", "cmd", "script"})
_SHELL_TOOLS = re.compile(r"\b(?:bash|shell|terminal|sh|exec|execute|run)\b", re.IGNORECASE)
_COMMAND = re.compile(
    r"(?:\w+=\S* )*(?:\./|/)?[\w./-]*\b(?:awk|bash|bin/test|cargo|cat|cd|chmod|cmake|cp|curl|docker|du|echo|find|gcc|"
    r"git|go|grep|head|java|jq|less|ls|make|mkdir|mv|nl|node|npm|perl|pip3?|ps|pwd|pytest|python3?|rg|rm|runtests\.py|"
    r"sed|sh|sleep|sort|source|sqlite3|tail|tar|tee|test|touch|tox|tree|uname|uniq|unzip|wc|wget|which)\b"
    r"(?! \w+ \w+ \w+ \w+[ .,])"
)


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call was given, taken apart as far as it can be."""

    raw: str
    values: dict[str, Any] | None
    """Of a JSON object; `None` if the arguments are plain text."""

    @property
    def main_key(self) -> str | None:
        """The argument that says what the call is about."""
        if not self.values:
            return None
        for key in _MAIN_KEYS:
            if isinstance(self.values.get(key), str):
                return key
        return next((key for key, value in self.values.items() if isinstance(value, str)), None)

    @property
    def text(self) -> str:
        """The value of the main argument; of plain arguments all of it."""
        key = self.main_key
        return str(self.values[key]) if self.values is not None and key else ("" if self.values else self.raw)

    def with_text(self, text: str) -> str:
        """The arguments with another value of the main one."""
        key = self.main_key
        if self.values is None or key is None:
            return text
        return self.with_values({key: text})

    def with_values(self, changed: dict[str, Any]) -> str:
        """The arguments with some values changed or added, in the spacing of the original."""
        values = {**(self.values or {}), **changed}
        tight = '": ' not in self.raw and '", ' not in self.raw
        return json.dumps(values, ensure_ascii=False, separators=(",", ":") if tight else (", ", ": "))

    def leaves(self) -> list[tuple[str, str]]:
        """The short plain values with the names they have."""
        found = []
        for key, value in (self.values or {}).items():
            if isinstance(value, str | int | float) and not isinstance(value, bool) and 0 < len(str(value)) <= 80:
                found.append((key, str(value)))
        return found


def arguments_of(step: RecordedStep) -> Arguments:
    """The arguments of a step; of one without a call, empty ones."""
    raw = step.action_input or ""
    try:
        values = json.loads(raw)
    except ValueError:
        values = None
    return Arguments(raw, values if isinstance(values, dict) else None)


def shell_command(step: RecordedStep) -> str | None:
    """The command line of a step, if it is one and not prose in its place."""
    if not step.action:
        return None
    arguments = arguments_of(step)
    in_shell = arguments.main_key in SHELL_KEYS or (arguments.values is None and _SHELL_TOOLS.search(step.action))
    text = arguments.text.strip()
    return text if in_shell and _COMMAND.match(text) else None
