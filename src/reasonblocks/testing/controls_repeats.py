"""Healthy work that repeats a call: over many things, page after page, and until something is finished."""

import json
import re

from ..recordings import RecordedStep
from .anatomy import body, subject_of
from .arguments import Arguments, arguments_of, shell_command
from .doings import Doing
from .scene import Planted, Scene

_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_NAME = re.compile(r"\b[A-Z][a-z]{3,12}(?: [A-Z][a-z]{3,12})?\b")
_PAGING = re.compile(r"page|next|scroll", re.IGNORECASE)
_NUMBERED = re.compile(r"^\s*\d+(?:\t|→)")
_LINES = 14
_SHORT_STATE = 60


def control_bulk(scene: Scene) -> Planted | None:
    """The same tool over six to eleven different things, with results that look alike."""
    makers = [_bulk_of_files, _bulk_of_records] if scene.chance(0.6) else [_bulk_of_records, _bulk_of_files]
    for maker in makers:
        planted = maker(scene)
        if planted is not None:
            return planted
    return None


def _bulk_of_files(scene: Scene) -> Planted | None:
    anatomy = scene.anatomy
    if anatomy.shell is None or not anatomy.files:
        return None
    files = many_files(scene, scene.random.randint(6, 11))
    command, output = scene.pick(scene.words.bulk_commands)
    word = scene.pick(anatomy.symbols or ["import"]).rsplit(".", 1)[-1]
    block = []
    for place, file in enumerate(files, 1):
        values = {"file": file, "a": scene.random.randint(3, 900), "word": word}
        thought = scene.thought(scene.words.bulk, it=file, n=place, total=len(files))
        block.append(scene.shell_step(thought, command.format(**values), output.format(**values)))
    return scene.inserted(middle(scene), block, command.split()[0])


def many_files(scene: Scene, wanted: int) -> list[str]:
    """Files of the run, and as many more that could lie beside them."""
    files = list(scene.anatomy.files[:wanted])
    folder, _, last = files[0].rpartition("/")
    ending = last.rsplit(".", 1)[-1]
    for name in [*scene.anatomy.symbols, *(f"part_{number}" for number in range(wanted))]:
        if len(files) >= wanted:
            break
        made = f"{folder}{'/' if folder else ''}{name.rsplit('.', 1)[-1].lower()}.{ending}"
        if made not in files:
            files.append(made)
    scene.random.shuffle(files)
    return files


def _bulk_of_records(scene: Scene) -> Planted | None:
    """One of the run's lookups, for other ids or names."""
    found = _lookup(scene)
    if found is None:
        return None
    at, key, value = found
    step = scene.anatomy.steps[at]
    block: list[RecordedStep] = []
    others = other_values(scene, value, step.observation or "", scene.random.randint(5, 9))
    for place, other in enumerate(others, 1):
        thought = scene.thought(scene.words.bulk, it=other, n=place, total=len(others))
        block.append(looked_up(scene, step, {key: other}, value, other, thought))
    return scene.inserted(at + 1, block, f"records by {key}") if len(block) >= 4 else None


def _lookup(scene: Scene) -> tuple[int, str, str] | None:
    """A lookup of the run, and the argument that says which thing is looked up."""
    anatomy = scene.anatomy
    places = []
    for at in anatomy.places(Doing.READ, Doing.SEARCH, low=0.2, high=0.9):
        step = anatomy.steps[at]
        leaves = [
            leaf for leaf in arguments_of(step).leaves() if re.search(r"id|number|name|query|url|string|date", leaf[0])
        ]
        if shell_command(step) is None and leaves and len(step.observation or "") > 20:
            places.append((at, *leaves[0]))
    return scene.pick(places) if places else None


def other_values(scene: Scene, value: str, result: str, wanted: int) -> list[str]:
    """Values of the same kind: other digits of an id, or other names out of the result."""
    made: dict[str, None] = {}
    digits = [at for at, letter in enumerate(value) if letter.isdigit()]
    names = [name for name in dict.fromkeys(_NAME.findall(result)) if name not in value]
    for turn in range(wanted * 3):
        if digits:
            letters = list(value)
            for at in digits[-3:]:
                letters[at] = str(scene.random.randint(0, 9))
            made.setdefault("".join(letters))
        elif turn < len(names):
            made.setdefault(names[turn])
        elif re.fullmatch(r"[A-Z]{5,7}", value):
            made.setdefault("".join(scene.pick("ABCDEFGHKLMNPRSTUVWXYZ") for _ in value))
    made.pop(value, None)
    return list(made)[:wanted]


def looked_up(
    scene: Scene, step: RecordedStep, changed: dict[str, object], value: str, other: str, thought: str | None
) -> RecordedStep:
    """The lookup of another thing, with a result of the same shape."""
    result = varied(scene, (step.observation or "").replace(value, other), keep=other)
    return RecordedStep(thought, step.action, arguments_of(step).with_values(changed), result, False)


def varied(scene: Scene, text: str, keep: str = "") -> str:
    """A result of the same shape with other amounts and ids in it."""

    def other(match: re.Match[str]) -> str:
        found = match[0]
        return found if found in keep else str(scene.random.randint(10 ** (len(found) - 1), 10 ** len(found) - 1))

    return re.sub(r'(?<=": )\d{1,9}(?=[.,}\]])|(?<![\w#-])\d{6,10}(?![\w-])', other, text)


def middle(scene: Scene) -> int:
    """Anywhere in the middle of the run."""
    size = len(scene.anatomy)
    return scene.random.randint(max(1, int(0.3 * size)), max(1, min(round(0.8 * size), size - 1)))


def control_paging(scene: Scene) -> Planted | None:
    """Part after part of something long, each with new content."""
    for maker in (_next_pages, _parts_of_file, _next_days):
        planted = maker(scene)
        if planted is not None:
            return planted
    return None


def _next_pages(scene: Scene) -> Planted | None:
    """A search or a page of the run, read on."""
    anatomy = scene.anatomy
    places = [
        at
        for at in anatomy.places(Doing.READ, Doing.SEARCH, low=0.15, high=0.9)
        if shell_command(anatomy.steps[at]) is None
        and (
            anatomy.doings[at] is Doing.SEARCH
            or _PAGING.search(anatomy.steps[at].action or "")
            or re.search(r"path|offset|page", anatomy.steps[at].action_input or "")
        )
    ]
    chunks = _chunks(scene)
    if not places or len(chunks) < 3:
        return None
    at = scene.pick(places)
    step = anatomy.steps[at]
    arguments = arguments_of(step)
    block = []
    for page, chunk in enumerate(chunks[: scene.random.randint(3, 6)], 2):
        given = _next_arguments(step, arguments, page)
        block.append(RecordedStep(scene.thought(scene.words.next_page, n=page), step.action, given, chunk, False))
    return scene.inserted(at + 1, block, "pages")


def _next_arguments(step: RecordedStep, arguments: Arguments, page: int) -> str | None:
    if arguments.values is None or _PAGING.search(step.action or ""):
        return step.action_input
    if any(key in arguments.values for key in ("file_path", "path", "offset")):
        return arguments.with_values({"offset": (page - 1) * 200, "limit": 200})
    return arguments.with_values({"page": page})


def _parts_of_file(scene: Scene) -> Planted | None:
    anatomy = scene.anatomy
    chunks = _chunks(scene)
    if anatomy.shell is None or not anatomy.files or len(chunks) < 3:
        return None
    file = scene.pick(anatomy.files[:4])
    size = scene.pick((40, 50, 80, 100, 200))
    show = scene.pick(
        (
            "sed -n '{low},{high}p' {file}",
            "head -n {high} {file} | tail -n +{low}",
            "awk 'NR>={low} && NR<={high}' {file}",
        )
    )
    block = []
    for part, chunk in enumerate(chunks[: scene.random.randint(3, 7)], 1):
        command = show.format(low=(part - 1) * size + 1, high=part * size, file=file)
        block.append(scene.shell_step(scene.thought(scene.words.next_page, n=part), command, chunk))
    return scene.inserted(middle(scene), block, "parts of a file")


def _chunks(scene: Scene) -> list[str]:
    """Pieces of what the run has read, each of them once."""
    anatomy = scene.anatomy
    reads = [step for at, step in enumerate(anatomy.steps) if anatomy.doings[at] is Doing.READ and _shows_text(step)]
    lines = [_NUMBERED.sub("", line) for step in reads for line in body(step.observation or "").splitlines()]
    kept = list(dict.fromkeys(line for line in lines if line.strip()))
    return ["\n".join(kept[at : at + _LINES]) for at in range(0, len(kept) - _LINES, _LINES)]


def _shows_text(step: RecordedStep) -> bool:
    """Whether a step shows the content of something, rather than what there is."""
    command = shell_command(step)
    return not step.observation_is_error and (command is None or re.match(r"cat|sed|nl|head", command) is not None)


def _next_days(scene: Scene) -> Planted | None:
    """The same search for one day after the other."""
    anatomy = scene.anatomy
    places = [
        (at, key, value)
        for at in anatomy.places(Doing.SEARCH, Doing.READ, low=0.1, high=0.95)
        for key, value in arguments_of(anatomy.steps[at]).leaves()
        if _DATE.fullmatch(value)
    ]
    if not places:
        return None
    at, key, value = scene.pick(places)
    step = anatomy.steps[at]
    block = []
    for page in range(1, scene.random.randint(4, 6)):
        day = int(value[-2:]) % 27 + page
        other = f"{value[:-2]}{day:02}"
        block.append(looked_up(scene, step, {key: other}, value, other, scene.thought(scene.words.next_page, n=other)))
    return scene.inserted(at + 1, block, "days")


def control_polling(scene: Scene) -> Planted | None:
    """Something is asked for its state until it is through."""
    anatomy = scene.anatomy
    pending, final = scene.pick(scene.words.waiting_states)
    times = scene.random.randint(3, 6)
    if anatomy.shell is not None:
        start, ask, prints = (part.replace("{log}", _log(scene)) for part in scene.pick(scene.words.long_commands))
        start = start.replace("{check}", _long_check(scene))
        block = [scene.shell_step(scene.thought(scene.words.launching), start, "")]
        for turn in range(times + 1):
            output = prints.format(state=final if turn == times else pending, n=(turn + 1) * 10, total=(times + 1) * 10)
            block.append(scene.shell_step(scene.thought(scene.words.waiting), ask, output))
        return scene.inserted(middle(scene), block, "command")
    places = [
        at for at in anatomy.places(Doing.READ, Doing.CHECK, low=0.15, high=0.9) if _with_state(anatomy.steps[at], "x")
    ]
    if not places:
        return None
    at = scene.pick(places)
    step = anatomy.steps[at]
    block = []
    for turn in range(times + 1):
        result = _with_state(step, final if turn == times else pending)
        thought = scene.thought(scene.words.waiting, it=subject_of(step))
        block.append(RecordedStep(thought, step.action, step.action_input, result, False))
    return scene.inserted(at + 1, block, "record")


def _long_check(scene: Scene) -> str:
    """A check of the run that could take long."""
    anatomy = scene.anatomy
    commands = [shell_command(step) or "" for at, step in enumerate(anatomy.steps) if anatomy.doings[at] is Doing.CHECK]
    plain = [
        command for command in commands if command and not re.search(r"[\n>|&;\"']", command) and len(command) < 80
    ]
    return scene.pick(plain) if plain else f"python {next(iter(anatomy.sources), 'main.py')}"


def _log(scene: Scene) -> str:
    """What a log of the run would be called."""
    names = [file.rsplit("/", 1)[-1].split(".", 1)[0] for file in scene.anatomy.sources[:3]]
    return next((name for name in names if name and not name.startswith("__")), "check")


def _with_state(step: RecordedStep, state: str) -> str | None:
    """What a tool says that knows a state: a record with it, or the state alone; `None` if it knows of none."""
    text = step.observation or ""
    if "status" in (step.action or "") and len(text) < _SHORT_STATE and "{" not in text:
        return state
    try:
        record = json.loads(text)
    except ValueError:
        return None
    if not isinstance(record, dict) or "status" not in record:
        return None
    return json.dumps({**record, "status": state})
