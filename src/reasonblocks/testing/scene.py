"""What a mode is planted with: the run, the words, the dice, and other runs to borrow from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from ..recordings import RecordedStep
from .anatomy import Anatomy
from .arguments import arguments_of
from .wordings import Wordings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Planted:
    """The steps of a run with something planted in [start, stop)."""

    steps: list[RecordedStep]
    start: int
    stop: int
    variant: str
    groundwork: int | None = None


@dataclass
class Scene:
    """One run about to be changed."""

    anatomy: Anatomy
    words: Wordings
    random: Random
    others: Sequence[Anatomy] = ()
    """Runs of the same set that had another task."""
    _used: set[str] = field(default_factory=set)

    def pick(self, options: Sequence[T]) -> T:
        """Any of these."""
        return self.random.choice(options)

    def chance(self, share: float) -> bool:
        """Whether something with this likelihood happens."""
        return self.random.random() < share

    def phrase(self, phrases: Sequence[str], **values: object) -> str:
        """One of the phrases with the run's words in it, none twice while there are others."""
        fresh = [phrase for phrase in phrases if phrase not in self._used] or list(phrases)
        chosen = self.pick(fresh)
        self._used.add(chosen)
        return chosen.format(**values)

    def thought(self, phrases: Sequence[str], **values: object) -> str | None:
        """A thought, where a run of this habit would have one."""
        if not self.chance(max(0.15, self.anatomy.thought_share)):
            return None if self.anatomy.thought_share < 1 else ""
        return self.anatomy.thought_prefix + self.phrase(phrases, **values)

    def inserted(self, at: int, block: Sequence[RecordedStep], variant: str) -> Planted:
        """The run with steps put in before step `at`."""
        steps = self.anatomy.steps
        return Planted([*steps[:at], *block, *steps[at:]], at, at + len(block), variant)

    def shell_step(self, thought: str | None, command: str, output: str, *, fails: bool = False) -> RecordedStep:
        """A call of the run's shell."""
        shell = self.anatomy.shell
        assert shell is not None
        arguments = arguments_of(shell)
        values = arguments.values
        if values is not None and "description" in values:
            given = arguments.with_values(
                {arguments.main_key or "command": command, "description": _described(command)}
            )
        else:
            given = arguments.with_text(command)
        observation = self.anatomy.output(output, like=shell, fails=fails)
        return RecordedStep(thought, shell.action, given, observation, fails)


def again(step: RecordedStep, thought: str | None, observation: str | None = None) -> RecordedStep:
    """The same call once more."""
    seen = step.observation if observation is None else observation
    return RecordedStep(thought, step.action, step.action_input, seen, step.observation_is_error)


def _described(command: str) -> str:
    """What a shell call is said to be for, in runs that say it."""
    first = command.split(maxsplit=1)[0].rpartition("/")[2]
    verbs = {"cat": "Show", "ls": "List", "find": "Find", "git": "Inspect", "wc": "Count lines in"}
    if first == "grep":
        return "Search in the files"
    rest = [word for word in command.split()[1:] if not word.startswith("-")]
    return f"{verbs.get(first, 'Run ' + first)} {rest[-1] if rest else ''}".strip()
