"""Conclusions that nothing stands behind: no check after the change, or one that failed."""

import re
from collections.abc import Sequence

from ..recordings import RecordedStep
from .anatomy import Anatomy, body, subject_of
from .arguments import arguments_of, shell_command
from .doings import Doing, is_lasting_change
from .loops import misspelt
from .scene import Planted, Scene

_END_MARK = re.compile(r"#{2,}\w+#{2,}")
_TEST_FILE = re.compile(r"[\w./-]*test[\w./-]*\.\w+")
_SUCCESS = re.compile(
    r"\b(?:success\w*|been (?:\w+ )?(?:cancel\w+|updated|changed|modified|processed|booked|exchanged|returned|added|"
    r"upgraded|sent|applied)|is now|are now|all set|complete)\b",
    re.IGNORECASE,
)


def plant_skipped(scene: Scene) -> Planted | None:
    """After a change the agent says that it is done; the checks it made are taken out."""
    if scene.anatomy.is_dialogue:
        return _deed_left_out(scene)
    anatomy = scene.anatomy
    changes = [
        at
        for at in range(int(0.2 * len(anatomy)), len(anatomy) - 1)
        if is_lasting_change(anatomy.steps[at]) and Doing.CHECK in anatomy.doings[at + 1 :]
    ]
    if not changes:
        return None
    at = changes[-1] if scene.chance(0.6) else scene.pick(changes)
    steps = [*anatomy.steps[: at + 1], *_tidying(scene, at), conclusion(scene, worked_on(anatomy, at))]
    return Planted(steps, at + 1, len(steps), "no check")


def worked_on(anatomy: Anatomy, at: int) -> str:
    """What a change was made to; not the script that made it."""
    subject = subject_of(anatomy.steps[at])
    return subject if subject in anatomy.sources or not anatomy.sources else anatomy.sources[0]


def _tidying(scene: Scene, at: int) -> list[RecordedStep]:
    """What the run did after its last change apart from checking, such as removing its scripts; sometimes."""
    kept = [
        step
        for step in scene.anatomy.steps[at + 1 :]
        if (shell_command(step) or "").startswith("rm ") and not step.observation_is_error
    ]
    return kept[-1:] if scene.chance(0.4) else []


def conclusion(scene: Scene, about: str) -> RecordedStep:
    """The last step, in the form in which runs of this set end."""
    anatomy = scene.anatomy
    phrases = scene.words.finished_terse if scene.chance(0.35) else scene.words.finished_code
    if anatomy.shell is None and not anatomy.files:
        phrases = scene.words.finished_solo
    thought = anatomy.thought_prefix + scene.phrase(phrases, file=about, symbol=next(iter(anatomy.symbols), about))
    last = anatomy.steps[-1]
    if last.action is None:
        mark = _END_MARK.search(last.thought or "")
        return RecordedStep(f"{thought} {mark[0]}" if mark else thought, None, None, last.observation, False)
    ending = _ending(anatomy, scene.others)
    if ending is None:
        return RecordedStep(thought, None, None, None, False)
    return RecordedStep(thought, ending.action, ending.action_input, last.observation, False)


def _ending(anatomy: Anatomy, others: Sequence[Anatomy]) -> RecordedStep | None:
    """A call by which runs of this set are handed in."""
    for run in (anatomy, *others):
        if run.doings and run.doings[-1] is Doing.END:
            return run.steps[-1]
    return None


def _deed_left_out(scene: Scene) -> Planted | None:
    """The customer is told that it has been done; the call that would do it is not there."""
    anatomy = scene.anatomy
    places = _reported_deeds(anatomy)
    if not places:
        return None
    at, told = scene.pick(places)
    steps = [*anatomy.steps[:at], _report(scene, at, told), *anatomy.steps[told + 1 :]]
    return Planted(steps, at, at + 1, "deed left out")


def _reported_deeds(anatomy: Anatomy) -> list[tuple[int, int]]:
    """Changes and the messages in which they are reported at once."""
    return [
        (at, at + 1)
        for at in range(len(anatomy) - 1)
        if is_lasting_change(anatomy.steps[at])
        and not anatomy.steps[at + 1].action
        and _SUCCESS.search(anatomy.steps[at + 1].thought or "")
    ]


def _report(scene: Scene, at: int, told: int) -> RecordedStep:
    own = scene.anatomy.steps[told]
    if scene.chance(0.5):
        return own
    deed = (scene.anatomy.steps[at].action or "").replace("_", " ")
    message = scene.phrase(scene.words.finished_service, deed=deed, it=subject_of(scene.anatomy.steps[at]))
    return RecordedStep(message, None, None, own.observation, False)


def plant_failed(scene: Scene) -> Planted | None:
    """The last check fails, and the agent says that it is done."""
    if scene.anatomy.is_dialogue:
        return _deed_failed(scene)
    anatomy = scene.anatomy
    changed = anatomy.last_change
    if changed is None:
        return None
    checks = [at for at in range(changed + 1, len(anatomy)) if anatomy.doings[at] is Doing.CHECK]
    for at in reversed(checks):
        failing = _failing_check(scene, at)
        if failing is not None:
            steps = [*anatomy.steps[:at], failing, conclusion(scene, worked_on(anatomy, changed))]
            return Planted(steps, at, at + 2, "check failed")
    return None


def _failing_check(scene: Scene, at: int) -> RecordedStep | None:
    """The check with a result that cannot be taken for success: its own earlier one, or one made up."""
    anatomy = scene.anatomy
    step = anatomy.steps[at]
    earlier = [
        before
        for before in anatomy.steps[:at]
        if (before.action, before.action_input) == (step.action, step.action_input)
        and before.observation
        and before.observation != step.observation
        and _fails(before)
    ]
    if earlier:
        last = earlier[-1]
        return RecordedStep(step.thought, step.action, step.action_input, last.observation, last.observation_is_error)
    command = shell_command(step)
    if command is None or "\n" in command:
        return None
    output = failing_output(scene, command)
    return RecordedStep(
        step.thought, step.action, step.action_input, anatomy.output(output, like=step, fails=True), True
    )


def failing_output(scene: Scene, command: str) -> str:
    """What a check prints that fails: tests, a script or a build."""
    anatomy, words = scene.anatomy, scene.words
    tests = re.search(r"test|tox", command) is not None and not re.match(r"python3? \S*\.py$", command)
    script = re.search(r"[\w./-]+\.py\b", command)
    phrases = words.failed_tests if tests else words.failed_scripts if script else words.failed_builds
    file = (_TEST_FILE.search(command) or script or [next(iter(anatomy.sources), "main")])[0]
    test = _test_name(scene)
    if re.search(r"runtests|bin/test", file):
        file = f"tests/{test}.py"
    return scene.phrase(
        phrases,
        file=file,
        test=test,
        symbol=next(iter(anatomy.symbols), "value"),
        number=scene.random.randint(12, 180),
        small=scene.random.randint(1, 4),
    )


def _fails(step: RecordedStep) -> bool:
    text = body(step.observation or "")
    return bool(
        step.observation_is_error or re.search(r"\b(?:FAIL\w*|failed|Error|cannot|not working|None)\b", text[:3000])
    )


def _test_name(scene: Scene) -> str:
    own = [name for name in scene.anatomy.symbols if name.startswith("test_")]
    made = [f"test_{name.rsplit('.', 1)[-1].strip('_').lower()}" for name in scene.anatomy.symbols[:8]]
    return scene.pick(own or made or ["test_basic"])


def _deed_failed(scene: Scene) -> Planted | None:
    """The call fails, and the customer is told that it worked."""
    anatomy = scene.anatomy
    places = [(at, told) for at, told in _reported_deeds(anatomy) if arguments_of(anatomy.steps[at]).leaves()]
    if not places:
        return None
    at, told = scene.pick(places)
    step = anatomy.steps[at]
    key, value = scene.pick(arguments_of(step).leaves())
    wrong = misspelt(scene, value)
    error = scene.phrase(
        scene.words.tool_errors, field=key.replace("_", " "), value=value, number=scene.random.randint(400, 599)
    )
    given = arguments_of(step).with_values({key: wrong}) if scene.chance(0.3) else step.action_input
    failing = RecordedStep(step.thought, step.action, given, error, True)
    steps = [*anatomy.steps[:at], failing, _report(scene, at, told), *anatomy.steps[told + 1 :]]
    return Planted(steps, at, told + 1, "deed failed")
