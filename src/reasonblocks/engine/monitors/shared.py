"""What several monitors ask of a run: each question is answered once for a step, whoever asks first."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

Step_contra = TypeVar("Step_contra", contravariant=True)
Answer_co = TypeVar("Answer_co", covariant=True)
Asked = TypeVar("Asked")
Told = TypeVar("Told")


class Observer(Protocol[Step_contra, Answer_co]):
    """Somebody who is told each step of a run once, in order."""

    def observe(self, step: Step_contra) -> Answer_co:
        """Take the next step in, and answer."""


class Shared:
    """The observers of one run, and their latest answers."""

    __slots__ = ("_answers", "_observers", "_task")

    def __init__(self, task: str) -> None:
        self._task = task
        self._observers: dict[object, Observer[Any, Any]] = {}
        self._answers: dict[object, tuple[int, object]] = {}

    def ask(self, kind: Callable[[str], Observer[Asked, Told]], index: int, step: Asked) -> Told:
        """What an observer of that kind says to the step at `index`; whoever asks must do so at every step."""
        asked, answer = self._answers.get(kind, (-1, None))
        if asked != index:
            observer = self._observers.get(kind)
            if observer is None:
                observer = self._observers[kind] = kind(self._task)
            answer = observer.observe(step)
            self._answers[kind] = index, answer
        return cast("Told", answer)
