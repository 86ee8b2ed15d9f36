"""Healthy work in which something changes between two calls that look alike."""

import re

from ..recordings import RecordedStep
from .anatomy import body, subject_of
from .arguments import arguments_of, shell_command
from .controls_repeats import looked_up, other_values
from .doings import Doing, is_lasting_change
from .loops import misspelt
from .scene import Planted, Scene, again
from .unverified import failing_output, worked_on

_FILE = re.compile(r"[\w./-]+\.\w{1,4}\b")


def control_retry(scene: Scene) -> Planted | None:
    """A call fails, what was wrong is changed, and the same call passes; one round or two."""
    return _check_after_fix(scene) if scene.anatomy.shell is not None else _deed_after_lookup(scene)


def _check_after_fix(scene: Scene) -> Planted | None:
    anatomy = scene.anatomy
    places = [
        at
        for at in anatomy.places(Doing.CHECK, low=0.25, high=0.95)
        if (command := shell_command(anatomy.steps[at])) and "\n" not in command and _FILE.search(command)
    ]
    if not places or not anatomy.files:
        return None
    at = scene.pick(places)
    check = anatomy.steps[at]
    file = changed_file(scene)
    rounds = scene.pick((1, 1, 2))
    block = []
    for _ in range(rounds):
        output = failing_output(scene, shell_command(check) or "")
        block.append(
            RecordedStep(
                check.thought, check.action, check.action_input, anatomy.output(output, like=check, fails=True), True
            )
        )
        block.append(edit_step(scene, file, scene.thought(scene.words.still_failing, error=last_line(output))))
    block.append(again(check, scene.thought(scene.words.fixed)))
    planted = scene.inserted(at, block[:-1], f"{rounds} rounds")
    planted.steps[planted.stop] = block[-1]
    return Planted(planted.steps, planted.start, planted.stop + 1, planted.variant)


def changed_file(scene: Scene) -> str:
    """What the run works on."""
    at = scene.anatomy.last_change
    return worked_on(scene.anatomy, at) if at is not None else scene.anatomy.sources[0]


def last_line(output: str) -> str:
    """The line of an output that says what is wrong."""
    lines = [line.strip("E= ") for line in output.splitlines() if re.search("Error|FAIL|failed", line)]
    return lines[-1][:90] if lines else output[:90]


def edit_step(scene: Scene, file: str, thought: str | None) -> RecordedStep:
    """A small change of a file."""
    names = [name.rsplit(".", 1)[-1] for name in scene.anatomy.symbols] or ["value", "result"]
    old, new = scene.pick(names), f"{scene.pick(names)}_{scene.random.randint(2, 9)}"
    command = scene.phrase(scene.words.edit_commands, file=file, line=scene.random.randint(10, 900), old=old, new=new)
    return scene.shell_step(thought, command, "")


def _deed_after_lookup(scene: Scene) -> Planted | None:
    """A call is made with a wrong value, the right one is looked up, and the call is made again."""
    anatomy = scene.anatomy
    places = [
        at
        for at in range(2, len(anatomy))
        if is_lasting_change(anatomy.steps[at]) and arguments_of(anatomy.steps[at]).leaves()
    ]
    if not places:
        return None
    at = scene.pick(places)
    step = anatomy.steps[at]
    key, value = scene.pick(arguments_of(step).leaves())
    error = scene.phrase(
        scene.words.tool_errors, field=key.replace("_", " "), value=value, number=scene.random.randint(400, 599)
    )
    given = arguments_of(step).with_values({key: misspelt(scene, value)})
    block = [RecordedStep(step.thought, step.action, given, error, True)]
    looks = [before for before in anatomy.steps[:at] if before.action and value in (before.observation or "")]
    if looks:
        block.append(again(looks[-1], scene.thought(scene.words.still_failing, error=error)))
    return scene.inserted(at, block, "right value looked up")


def control_reread(scene: Scene) -> Planted | None:
    """What was changed is read again, and shows the change."""
    anatomy = scene.anatomy
    changes = [at for at in range(1, len(anatomy) - 1) if is_lasting_change(anatomy.steps[at])]
    scene.random.shuffle(changes)
    for at in changes:
        change = anatomy.steps[at]
        earlier = [step for step in anatomy.steps[:at] if _reads(step, change)]
        if not earlier:
            continue
        read = earlier[-1]
        result = _after_change(scene, read, change)
        block = [again(read, scene.thought(scene.words.looking_again), result)]
        if anatomy.shell is not None and scene.chance(0.4):
            block.append(edit_step(scene, subject_of(read), scene.thought(scene.words.fixed)))
            block.append(again(read, scene.thought(scene.words.looking_again), _after_change(scene, read, block[-1])))
        return scene.inserted(at + 1, block, f"{len(block)} steps")
    return None


def _reads(step: RecordedStep, change: RecordedStep) -> bool:
    """Whether a step shows what another one changes."""
    if not step.action or step.observation_is_error or not step.observation:
        return False
    if step.action == change.action and shell_command(step) is None:
        return False
    command = shell_command(step)
    if command is not None:
        found = _FILE.findall(command)
        return (
            bool(re.match(r"cat|nl|sed -n|head", command)) and bool(found) and found[0] in (change.action_input or "")
        )
    shared = {value for _, value in arguments_of(step).leaves()} & {value for _, value in arguments_of(change).leaves()}
    return bool(shared)


def _after_change(scene: Scene, read: RecordedStep, change: RecordedStep) -> str:
    """What is read after the change: the record that the change gave back, or the text with some lines changed."""
    if (change.observation or "").startswith("{") and (read.observation or "").startswith("{"):
        return change.observation or ""
    lines = (read.observation or "").split("\n")
    inner = [at for at in range(2, len(lines) - 2) if lines[at].strip()] or [0]
    at = scene.pick(inner)
    new = body(shell_command(change) or arguments_of(change).raw).split("\n")[0][-60:]
    lines[at : at + 1] = [lines[at].rstrip() + "  # changed", f"        {re.sub(r'[^A-Za-z0-9_ .=()]', '', new)}"]
    return "\n".join(lines)


def control_debugging(scene: Scene) -> Planted | None:
    """Idea, probe, change and check in turn, each time with a new result, until it passes."""
    return _debugging(scene) if scene.anatomy.shell is not None else _searching_on(scene)


def _debugging(scene: Scene) -> Planted | None:
    anatomy = scene.anatomy
    checks = [
        at
        for at in anatomy.places(Doing.CHECK, low=0.2, high=0.95)
        if "\n" not in (shell_command(anatomy.steps[at]) or "\n")
    ]
    if not checks or not anatomy.symbols or not anatomy.files:
        return None
    at = scene.pick(checks)
    check, file = anatomy.steps[at], changed_file(scene)
    number, failing = scene.random.randint(20, 90), scene.random.randint(9, 18)
    block: list[RecordedStep] = []
    for _ in range(scene.random.randint(3, 5)):
        symbol = scene.pick(anatomy.symbols)
        block.append(_probe(scene, symbol, file))
        shown = body(block[-1].observation or "").strip()
        block.append(edit_step(scene, file, scene.thought(scene.words.still_failing, error=f"`{shown}`")))
        failing = max(1, failing - scene.random.randint(1, 4))
        output = f"{failing_output(scene, shell_command(check) or '')}\n{failing} failed, {number - failing} passed"
        block.append(again(check, scene.thought(scene.words.fixed), anatomy.output(output, like=check, fails=True)))
        block[-1].observation_is_error = True
    passing = anatomy.output(scene.phrase(scene.words.passing_tests, number=number), like=check)
    block.append(again(check, scene.thought(scene.words.fixed), passing))
    return scene.inserted(at, block, f"{len(block)} steps")


def _probe(scene: Scene, symbol: str, file: str) -> RecordedStep:
    """A look at something that was not known, with what it shows."""
    probe, shows = scene.pick(scene.words.probes)
    values = {"symbol": symbol, "file": file, "a": scene.random.randint(2, 90), "b": scene.random.randint(2, 900)}
    thought = scene.thought(scene.words.hypotheses, symbol=symbol)
    return scene.shell_step(thought, probe.format(**values), shows.format(**values))


def _searching_on(scene: Scene) -> Planted | None:
    """One option after the other is looked up and offered, until one suits."""
    anatomy = scene.anatomy
    places = [
        (at, *leaf)
        for at in anatomy.places(Doing.READ, Doing.SEARCH, low=0.2, high=0.9)
        for leaf in arguments_of(anatomy.steps[at]).leaves()[:1]
        if shell_command(anatomy.steps[at]) is None
        and re.search(r"\d", leaf[1])
        and re.search("date|product|flight|item", leaf[0])
    ]
    if not places or not anatomy.is_dialogue:
        return None
    at, key, value = scene.pick(places)
    step = anatomy.steps[at]
    block: list[RecordedStep] = []
    for other in other_values(scene, value, step.observation or "", scene.random.randint(3, 6)):
        block.append(looked_up(scene, step, {key: other}, value, other, None))
        offer, reply = scene.pick(scene.words.offers)
        message = offer.format(value=other, a=scene.random.randint(40, 900))
        block.append(RecordedStep(message, None, None, reply, False))
    return scene.inserted(at + 1, block, "options") if len(block) >= 6 else None
