"""Leaving the task: many new things opened late, and a stretch that belongs to another task altogether."""

import re
from collections.abc import Sequence

from ..recordings import RecordedStep
from .anatomy import Anatomy, subject_of
from .arguments import shell_command
from .doings import Doing
from .scene import Planted, Scene

_WORD = re.compile(r"[a-z]{4,}")
_LONGEST = 3_000
_LATE = 2 / 3


def plant_tangents(scene: Scene) -> Planted | None:
    """In the last third, four to eight things that the run never touched, none of them finished."""
    anatomy = scene.anatomy
    size = len(anatomy)
    if size < 6:
        return None
    at = scene.random.randint(int(_LATE * size), max(int(_LATE * size), size - 2))
    wanted = scene.random.randint(4, 8)
    block: list[RecordedStep] = []
    sources = [_foreign_call, _shell_tangent, _customer_tangent]
    for _ in range(wanted * 3):
        made = scene.pick(sources)(scene, block)
        if made is not None:
            block.append(made)
        if len(block) == wanted:
            break
    return scene.inserted(at, block, "tangents") if len(block) >= 4 else None


def _foreign_call(scene: Scene, so_far: Sequence[RecordedStep]) -> RecordedStep | None:
    """A call of another run, on something this one never touched."""
    other = scene.pick(scene.others) if scene.others else None
    if other is None:
        return None
    known = scene.anatomy.subjects | {subject_of(step) for step in so_far if step.action}
    calls = [
        step
        for at, step in enumerate(other.steps)
        if step.action
        and other.doings[at] in (Doing.READ, Doing.SEARCH, Doing.CHECK)
        and not step.observation_is_error
        and subject_of(step) not in known
        and (
            other.shell is None
            or shell_command(step) is not None
            or not re.search("bash|shell", step.action, re.IGNORECASE)
        )
        and len(step.action_input or "") < 400
    ]
    if not calls:
        return None
    step = scene.pick(calls)
    given, seen = (
        _at_home(scene, other, step.action_input or ""),
        _at_home(scene, other, (step.observation or "")[:_LONGEST]),
    )
    thought = scene.thought(scene.words.tangents, it=_at_home(scene, other, subject_of(step)))
    return RecordedStep(thought, step.action, given, seen, False)


def _at_home(scene: Scene, other: Anatomy, text: str) -> str:
    """A text of another run with the top folder of this one in place of its own."""
    theirs, ours = other.folder, scene.anatomy.folder
    return text if "." in (theirs, ours) else re.sub(rf"(?<!\w){re.escape(theirs)}(?=/)", ours, text)


def _shell_tangent(scene: Scene, so_far: Sequence[RecordedStep]) -> RecordedStep | None:
    if scene.anatomy.shell is None:
        return None
    used = {shell_command(step) for step in [*scene.anatomy.steps, *so_far]}
    fresh = [tangent for tangent in scene.words.shell_tangents if tangent[1] not in used]
    if not fresh:
        return None
    topic, command, output = scene.pick(fresh)
    return scene.shell_step(scene.thought(scene.words.tangents, it=topic), command, output)


def _customer_tangent(scene: Scene, so_far: Sequence[RecordedStep]) -> RecordedStep | None:
    if not scene.anatomy.is_dialogue:
        return None
    used = {step.thought for step in so_far}
    fresh = [tangent for tangent in scene.words.customer_tangents if tangent[0] not in used]
    if not fresh:
        return None
    question, answer = scene.pick(fresh)
    return RecordedStep(question, None, None, answer, False)


def plant_stretch(scene: Scene) -> Planted | None:
    """Five to nine steps of a run that had another task, as they were, in the middle of this one."""
    anatomy = scene.anatomy
    other = _most_foreign(scene)
    if other is None:
        return None
    wanted = scene.random.randint(5, 9)
    usable = [at for at in range(int(0.15 * len(other)), len(other) - 1) if _can_move(other, at)]
    if len(usable) < 5:
        return None
    first = scene.random.randint(0, max(0, len(usable) - wanted))
    block = [_moved(scene, other, at) for at in usable[first : first + wanted]]
    size = len(anatomy)
    at = scene.random.randint(max(2, int(0.3 * size)), max(2, min(round(0.8 * size), size - 1)))
    return scene.inserted(at, block, f"from {other.run.run_id}")


def _can_move(other: Anatomy, at: int) -> bool:
    step = other.steps[at]
    if step.observation_is_error or other.doings[at] in (Doing.END, Doing.NOTE):
        return False
    if other.shell is not None and step.action and re.search("bash|shell", step.action, re.IGNORECASE):
        return shell_command(step) is not None
    return bool(step.observation)


def _moved(scene: Scene, other: Anatomy, at: int) -> RecordedStep:
    """A step of the other run; what a customer said there is not said here, for it is the agent that strays."""
    step = other.steps[at]
    if other.doings[at] is Doing.TALK:
        return RecordedStep(step.thought, None, None, scene.phrase(scene.words.neutral_answers), False)
    return RecordedStep(step.thought, step.action, step.action_input, step.observation, step.observation_is_error)


def _most_foreign(scene: Scene) -> Anatomy | None:
    """Of some other runs the one whose task has least in common with this one's."""
    long_enough = [other for other in scene.others if len(other) >= 8]
    if not long_enough:
        return None
    some = scene.random.sample(long_enough, min(6, len(long_enough)))
    own = _task_words(scene.anatomy)
    return min(some, key=lambda other: len(own & _task_words(other)) / (1 + len(_task_words(other))))


def _task_words(anatomy: Anatomy) -> frozenset[str]:
    return frozenset(_WORD.findall((anatomy.run.task or "").lower()[:2000]))
