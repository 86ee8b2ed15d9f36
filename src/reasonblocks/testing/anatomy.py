"""A recorded run taken apart: what its steps do, what it speaks about, and how its tools answer."""

import re
from collections import Counter
from functools import cached_property
from typing import Final

from ..recordings import RecordedRun, RecordedStep
from .arguments import arguments_of, shell_command
from .doings import SCRATCH, Doing, doing, is_lasting_change

FILE = re.compile(
    r"(?<![\w@:/.-])\.{0,2}/?(?:[\w.-]+/)*[\w-]+\.(?:py|js|ts|tsx|c|h|cpp|rs|go|java|rb|sh|md|txt|json|toml|cfg|ya?ml|html|css|v|f90|csv|ini|sql|rst)\b"
)
_SYMBOL = re.compile(r"`([A-Za-z_][\w.]{3,40})(?:\(\))?`|\bdef (\w{4,40})|\bclass (\w{4,40})")
_PREFIX = re.compile(r"^([A-Z][a-z]+: )")
_RETURN_CODE = re.compile(r"((?:return ?code|exit ?code|exit ?status)\W{1,3})0\b", re.IGNORECASE)
_BODY = re.compile(r"\A((?:<[^>\n]+>[^<\n]*</[^>\n]+>\n)?<(\w+)>\n)(.*)(</\2>\s*)\Z", re.DOTALL)
_STOPPERS = re.compile(r"#{2,}\w+#{2,}")
_NO_NAMES = frozenset({"None", "True", "False", "self", "pytest", "python", "grep"})
_NAMING = re.compile(r"(?<!payment_)(?<!new_)(?:id|number|path|file|query|pattern|url)s?$")
MIDDLE: Final = (0.3, 0.8)
"""Between which parts of a run something is planted."""


class Anatomy:
    """One run, and what can be asked about it."""

    def __init__(self, run: RecordedRun) -> None:
        self.run = run
        self.steps = run.steps
        self.doings = [doing(step) for step in run.steps]

    def __len__(self) -> int:
        return len(self.steps)

    @cached_property
    def is_dialogue(self) -> bool:
        """Whether somebody answers what the agent says."""
        return self.doings.count(Doing.TALK) >= max(2, 0.2 * len(self.steps))

    @cached_property
    def shell(self) -> RecordedStep | None:
        """A call of the run's shell, to write others like it; `None` if it has none."""
        calls = [step for step in self.steps if shell_command(step) is not None]
        wrapped = [step for step in calls if _BODY.match(step.observation or "") and not step.observation_is_error]
        return next(iter(wrapped or calls), None)

    @cached_property
    def thought_share(self) -> float:
        """How many of the calls come with a thought."""
        calls = [step for step in self.steps if step.action]
        return sum(bool(step.thought) for step in calls) / len(calls) if calls else 1.0

    @cached_property
    def thought_prefix(self) -> str:
        """What most thoughts begin with, such as a label; usually nothing."""
        thoughts = [step.thought for step in self.steps if step.thought and step.action]
        found = Counter(match[1] for thought in thoughts if (match := _PREFIX.match(thought)))
        return next((prefix for prefix, times in found.most_common(1) if times > len(thoughts) / 2), "")

    @cached_property
    def files(self) -> list[str]:
        """The files it names, the most used first."""
        texts = [f"{step.thought or ''} {arguments_of(step).text[:2000]}" for step in self.steps]
        counted = Counter(file for text in texts for file in FILE.findall(text) if len(file) < 80)
        return [file for file, _ in counted.most_common(30)]

    @cached_property
    def sources(self) -> list[str]:
        """The files it works on, without those that it made to try something."""
        return [file for file in self.files if not SCRATCH.search(file)] or self.files

    @cached_property
    def folder(self) -> str:
        """The top folder of what it works on; a dot if there is none to be seen."""
        named = next((file for file in self.sources if "/" in file.strip("./")), None)
        if named is None:
            return "."
        return f"/{named.split('/')[1]}" if named.startswith("/") else named.removeprefix("./").split("/", 1)[0]

    @cached_property
    def subjects(self) -> frozenset[str]:
        """What its calls are about."""
        return frozenset(subject_of(step) for step in self.steps if step.action)

    @cached_property
    def symbols(self) -> list[str]:
        """The functions, classes and the like that it names, the most used first."""
        texts = [step.thought or "" for step in self.steps] + [(step.observation or "")[:1500] for step in self.steps]
        counted = Counter(name for text in texts for found in _SYMBOL.findall(text) for name in found if name)
        names = [name for name, _ in counted.most_common(60)]
        return [name for name in names if not FILE.fullmatch(name) and name not in _NO_NAMES][:40]

    @cached_property
    def last_change(self) -> int | None:
        """The last step that changed what the task is about."""
        return next((at for at in range(len(self) - 1, -1, -1) if is_lasting_change(self.steps[at])), None)

    def places(self, *doings: Doing, low: float = MIDDLE[0], high: float = MIDDLE[1]) -> list[int]:
        """The steps in one part of the run that do one of these, and did not fail."""
        first, last = int(low * len(self)), min(len(self) - 1, round(high * len(self)))
        return [
            at
            for at in range(first, last)
            if self.doings[at] in doings and self.steps[at].observation and not self.steps[at].observation_is_error
        ]

    def unchanged_since(self, at: int, until: int) -> bool:
        """Whether nothing was changed after one step and before another."""
        return Doing.CHANGE not in self.doings[at + 1 : until]

    def output(self, text: str, *, like: RecordedStep | None = None, fails: bool = False) -> str:
        """Output of a tool in the wrapping that the run's tools use."""
        model = like or self.shell
        found = _BODY.match(model.observation or "") if model else None
        if (
            found is None
            and like is not self.shell
            and self.shell is not None
            and model is not None
            and model.action == self.shell.action
        ):
            found = _BODY.match(self.shell.observation or "")
        if found is None:
            return text
        head = _RETURN_CODE.sub(r"\g<1>1", found[1]) if fails else found[1]
        return f"{head}{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{found[4]}"


def body(observation: str) -> str:
    """What a tool said, out of its wrapping."""
    found = _BODY.match(observation)
    return found[3] if found else observation


def said(text: str) -> str:
    """A message without the marks that end a conversation."""
    return _STOPPERS.sub("", text).strip()


def subject_of(step: RecordedStep) -> str:
    """What a call is about, in a few words."""
    command = shell_command(step)
    if command is not None:
        if re.match(r"python3? -c", command):
            return "that snippet"
        if found := FILE.search(command):
            return found[0]
        if quoted := re.search(r"[\"']([^\"'\n]{3,40})[\"']", command):
            return quoted[1]
        return command.split("\n", 1)[0][:40]
    leaves = [(key, value) for key, value in arguments_of(step).leaves() if len(value) <= 60]
    named = [value for key, value in leaves if _NAMING.search(key)]
    return (named or [value for _, value in leaves] or [(step.action or "it").replace("_", " ")])[0]
