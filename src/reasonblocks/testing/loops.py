"""Loops: the same call, two calls in turn, and a call that fails again and again."""

import re

from ..recordings import RecordedStep
from .anatomy import Anatomy, body, subject_of
from .arguments import arguments_of, shell_command
from .doings import Doing
from .scene import Planted, Scene, again

_LOOKS = (Doing.READ, Doing.SEARCH, Doing.CHECK)
_LONGEST_ERROR = 2_000
_TIMING = re.compile(r"\b\d+\.\d+ ?s\b|\bin \d+(?:\.\d+)? ?(?:s|seconds|ms)\b|\b\d{2}:\d{2}:\d{2}\b")


def plant_exact(scene: Scene) -> Planted | None:
    """One of the run's own calls, made again three to six times with the same result."""
    places = scene.anatomy.places(*_LOOKS, Doing.OTHER)
    if not places:
        return None
    at = scene.pick(places)
    step = scene.anatomy.steps[at]
    silent = scene.chance(0.25)
    block = []
    for _ in range(scene.random.randint(3, 6)):
        thought = (
            (step.thought if scene.chance(0.2) else None)
            if silent
            else scene.thought(scene.words.once_more, it=subject_of(step))
        )
        block.append(again(step, thought, retimed(scene, step.observation or "") if scene.chance(0.3) else None))
    return scene.inserted(at + 1, block, "silent" if silent else "with thoughts")


def plant_alternating(scene: Scene) -> Planted | None:
    """Two of the run's own calls in turn, nothing changed in between."""
    anatomy = scene.anatomy
    pairs = [
        (first, second)
        for second in anatomy.places(*_LOOKS)
        for first in range(max(0, second - 6), second)
        if _can_alternate(anatomy, first, second)
    ]
    if not pairs:
        return None
    first, second = scene.pick(pairs)
    rounds = scene.random.randint(5, 8)
    shaken = scene.chance(0.4)
    block = []
    for turn in range(rounds):
        step = anatomy.steps[(first, second)[turn % 2]]
        made = again(step, scene.thought(scene.words.to_and_fro, it=subject_of(step)))
        if shaken and turn > 1:
            made.action_input = slightly_different(scene, step)
        block.append(made)
    return scene.inserted(second + 1, block, "slightly different" if shaken else "identical")


def _can_alternate(anatomy: Anatomy, first: int, second: int) -> bool:
    one, two = anatomy.steps[first], anatomy.steps[second]
    return (
        anatomy.doings[first] in _LOOKS
        and bool(one.observation)
        and not one.observation_is_error
        and (one.action, one.action_input) != (two.action, two.action_input)
        and anatomy.unchanged_since(first, second + 1)
    )


def plant_failing(scene: Scene) -> Planted | None:
    """A call that fails, again and again, with the same error."""
    makers = [_own_failure, _wrong_argument] if scene.chance(0.5) else [_wrong_argument, _own_failure]
    for maker in makers:
        found = maker(scene)
        if found is None:
            continue
        at, step = found
        block = []
        for turn in range(scene.random.randint(3, 6)):
            own = None if scene.anatomy.is_dialogue else step.thought
            thought = scene.thought(scene.words.hopeful, it=subject_of(step)) if turn or maker is _own_failure else own
            result = retimed(scene, step.observation or "")
            block.append(
                again(step, thought, renumbered(scene, result) if turn and maker is _wrong_argument else result)
            )
        return scene.inserted(at, block, maker.__name__.strip("_"))
    return None


def _own_failure(scene: Scene) -> tuple[int, RecordedStep] | None:
    """A call that failed in the run itself, and where its repetitions go."""
    anatomy = scene.anatomy
    low, high = int(0.3 * len(anatomy)), round(0.8 * len(anatomy))
    places = [
        at
        for at in range(low, min(high, len(anatomy) - 1))
        if anatomy.steps[at].observation_is_error
        and anatomy.steps[at].action
        and 0 < len(anatomy.steps[at].observation or "") < _LONGEST_ERROR
        and (shell_command(anatomy.steps[at]) is not None or anatomy.shell is None)
    ]
    if not places:
        return None
    at = scene.pick(places)
    return at + 1, anatomy.steps[at]


def _wrong_argument(scene: Scene) -> tuple[int, RecordedStep] | None:
    """One of the run's calls with something wrong in it, put before the right one."""
    places = scene.anatomy.places(*_LOOKS, Doing.CHANGE)
    scene.random.shuffle(places)
    for at in places:
        failing = _failing(scene, scene.anatomy.steps[at])
        if failing is not None:
            return at, failing
    return None


def _failing(scene: Scene, step: RecordedStep) -> RecordedStep | None:
    command = shell_command(step)
    number = scene.random.randint(1000, 9999)
    if command is not None:
        found = re.search(r"[\w./-]+\.\w{1,4}\b", command)
        if found is None or "\n" in command:
            return None
        wrong = misspelt(scene, found[0])
        made = command.replace(found[0], wrong)
        error = scene.phrase(
            scene.words.shell_errors, file=wrong, command=command.split()[0], number=number, time=clock(scene)
        )
        return RecordedStep(
            step.thought,
            step.action,
            arguments_of(step).with_text(made),
            scene.anatomy.output(error, like=step, fails=True),
            True,
        )
    arguments = arguments_of(step)
    leaves = [(key, value) for key, value in arguments.leaves() if len(value) < 50 and "\n" not in value]
    if not leaves or (scene.anatomy.shell is not None and not re.search(r"path|file|id", leaves[0][0])):
        return None
    key, value = scene.pick(leaves)
    wrong = misspelt(scene, value)
    error = scene.phrase(scene.words.tool_errors, field=key.replace("_", " "), value=wrong, number=number)
    return RecordedStep(step.thought, step.action, arguments.with_values({key: wrong}), error, True)


def misspelt(scene: Scene, value: str) -> str:
    """Something that is not quite the value."""
    letters = list(value)
    places = [at for at in range(len(letters) - 4) if letters[at].isalnum() and letters[at + 1].isalnum()] or [0]
    at = scene.pick(places[len(places) // 3 :] or places)
    if letters[at].isdigit():
        letters[at] = str((int(letters[at]) + scene.random.randint(1, 8)) % 10)
    elif at + 1 < len(letters) and letters[at] != letters[at + 1]:
        letters[at], letters[at + 1] = letters[at + 1], letters[at]
    else:
        letters.insert(at, letters[at])
    made = "".join(letters)
    return made if made != value else f"{value}1"


def slightly_different(scene: Scene, step: RecordedStep) -> str | None:
    """The arguments of a call, changed in a way that changes nothing."""
    command = shell_command(step)
    arguments = arguments_of(step)
    if command is None or "\n" in command:
        return step.action_input
    options = [
        f"{command} ",
        command.replace(" | ", "|") if " | " in command else f"{command} 2>&1",
        _flags_turned(command),
    ]
    return arguments.with_text(scene.pick(options))


def _flags_turned(command: str) -> str:
    return re.sub(r"(?<= )-([a-zA-Z])([a-zA-Z])\b", r"-\2\1", command, count=1)


def retimed(scene: Scene, observation: str) -> str:
    """The same result a moment later: times differ, nothing else does."""

    def other(match: re.Match[str]) -> str:
        return re.sub(r"\d(?=\D*$)", str(scene.random.randint(0, 9)), match[0])

    return _TIMING.sub(other, observation)


def renumbered(scene: Scene, error: str) -> str:
    """The same error with another number of the request, process or line in it."""
    return re.sub(r"(?<=[ (#])\d{4}\b", lambda _: str(scene.random.randint(1000, 9999)), error)


def clock(scene: Scene) -> str:
    """A time of day."""
    return f"{scene.random.randint(8, 19):02}:{scene.random.randint(0, 59):02}:{scene.random.randint(0, 59):02}"


def short_body(step: RecordedStep) -> str:
    """The first lines of what a tool said."""
    return "\n".join(body(step.observation or "").splitlines()[:12])
