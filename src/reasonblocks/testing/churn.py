"""Re-summaries: what is known is put together again and again, and nothing is added."""

import re

from ..recordings import RecordedStep
from .anatomy import said, subject_of
from .arguments import arguments_of
from .doings import Doing
from .scene import Planted, Scene, again

_SENTENCE = re.compile(r"(?<=[.!])\s+|\n+")
_NO_ITEM = re.compile(
    r"\?|`{3}|\b(?:wait|I'll|I will|let me|let's|please|sorry|I should|I need|if)\b|[{}<>|=]"
    r"|^\W*(?:now|run|running|next|okay|ok|great|first|then|check|create|use|and|so|but|i can|i'd be|could|thank)\b",
    re.IGNORECASE,
)
_FEWEST_ITEMS = 3


def plant_resummary(scene: Scene) -> Planted | None:
    """Three to five summaries of the same, with a look at something known in between or nothing at all."""
    anatomy = scene.anatomy
    size = len(anatomy)
    places = list(range(max(3, int(0.35 * size)), min(round(0.8 * size), size - 1)))
    if not places:
        return None
    at = scene.pick(places)
    items = _items(scene, at)
    if len(items) < _FEWEST_ITEMS:
        return None
    between = scene.pick(("nothing", "nothing", "reads"))
    block: list[RecordedStep] = []
    for turn in range(scene.random.randint(3, 5)):
        block.append(_summary_step(scene, at, _summary(scene, items, turn)))
        if between == "reads" and scene.chance(0.5) and (look := _look(scene, at)) is not None:
            block.append(again(look, scene.thought(scene.words.once_more, it=subject_of(look))))
    return scene.inserted(at, block, f"{between} in between")


def _summary_step(scene: Scene, at: int, text: str) -> RecordedStep:
    """A summary in the form that a run of this kind has for it."""
    anatomy = scene.anatomy
    if anatomy.is_dialogue:
        return RecordedStep(text, None, None, scene.phrase(scene.words.neutral_answers), False)
    notes = [
        step for place, step in enumerate(anatomy.steps[:at]) if anatomy.doings[place] is Doing.NOTE and step.action
    ]
    note = notes[-1] if notes else None
    if note is not None and scene.chance(0.4):
        return again(note, anatomy.thought_prefix + text)
    speaks = any(not step.action for step in anatomy.steps[:-1])
    look = _look(scene, at)
    if anatomy.shell is not None and (scene.chance(0.5) or (look is None and not speaks)):
        command, output = scene.pick(scene.words.idle_commands)
        return scene.shell_step(anatomy.thought_prefix + text, command, output)
    if look is None or (speaks and scene.chance(0.6)):
        return RecordedStep(anatomy.thought_prefix + text, None, None, None, False)
    return again(look, anatomy.thought_prefix + text)


def _look(scene: Scene, at: int) -> RecordedStep | None:
    """One of the last harmless calls before a step, after which nothing was changed."""
    anatomy = scene.anatomy
    looks = [
        anatomy.steps[before]
        for before in range(max(0, at - 10), at)
        if anatomy.doings[before] in (Doing.READ, Doing.SEARCH)
        and anatomy.steps[before].observation
        and anatomy.unchanged_since(before, at)
    ]
    return scene.pick(looks) if looks else None


def _items(scene: Scene, at: int) -> list[str]:
    """What can be said about the run so far, each in a few words."""
    anatomy = scene.anatomy
    items: list[str] = []
    for step in anatomy.steps[:at]:
        sentences = [part.strip(" -*•#0123456789.") for part in _SENTENCE.split(said(step.thought or ""))]
        plain = [part for part in sentences if 4 <= len(part.split()) <= 24 and not _NO_ITEM.search(part)]
        items += [part.rstrip(".!:") for part in plain[:2]]
    own = items[-8:]
    scene.random.shuffle(own)
    return list(dict.fromkeys([*own[:3], *_made_up(scene, at)]))[:6]


def _made_up(scene: Scene, at: int) -> list[str]:
    anatomy = scene.anatomy
    if anatomy.shell is not None or anatomy.files:
        files = [
            file for file in anatomy.sources if any(file in (step.action_input or "") for step in anatomy.steps[:at])
        ]
        symbols = anatomy.symbols or files
        return [
            scene.phrase(scene.words.items_code, file=file, symbol=symbols[place % len(symbols)])
            for place, file in enumerate(files[:4])
        ]
    leaves = [leaf for step in anatomy.steps[:at] for leaf in arguments_of(step).leaves()]
    known = list(dict.fromkeys(leaves))[:4]
    phrases = [phrase for phrase in scene.words.items_service if anatomy.is_dialogue or "your" not in phrase]
    return [scene.phrase(phrases, key=key.replace("_", " "), value=value) for key, value in known]


def _summary(scene: Scene, items: list[str], turn: int) -> str:
    """The items once more: in another order and form."""
    words = scene.words
    chosen = list(items)
    if turn:
        scene.random.shuffle(chosen)
    chosen = chosen[: scene.random.randint(3, max(3, len(chosen)))]
    topic = " ".join(said(scene.anatomy.run.task or "the task").split()[:12])
    tail = scene.phrase(words.summary_tails) if scene.chance(0.6) else ""
    if scene.chance(0.4):
        one, two, three = (_small(item) for item in chosen[:3])
        return f"{scene.phrase(words.summary_plain, one=one, two=two, three=three, task=topic)} {tail}".strip()
    head = scene.phrase(words.summary_heads, task=topic)
    mark = scene.pick(words.summary_marks)
    lines = [f"{mark.format(n=number)}{item}" for number, item in enumerate(chosen, 1)]
    return "\n".join([head, *lines, *([tail] if tail else [])])


def _small(item: str) -> str:
    return item if item[:2].isupper() or item.startswith(("I ", "I'", "`")) else item[0].lower() + item[1:]
