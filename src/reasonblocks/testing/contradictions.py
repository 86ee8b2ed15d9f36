"""Claims turned round: without a word about it, or, in the healthy twin of it, with one."""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from ..recordings import RecordedStep
from .anatomy import subject_of
from .scene import Planted, Scene
from .wordings import Claim

_SENTENCE = re.compile(r"(?<=[.!])\s+|\n+")
_NO_CLAIM = re.compile(
    r"\?|`{3}|\b(?:if|maybe|perhaps|might|could|would|should|I'll|I will|let me|let's|need to|wait|actually|however|"
    r"but|please|sorry|try|want|going to|unless|whether|now)\b|[{}=<>|:\[]",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"[`#_/\d]|\b[A-Z]{2,}")
_INTERJECTION = re.compile(
    r"^(?:Unfortunately|Ah|Oh|Okay|OK|Great|Yes|No|Also|So|Indeed|Excellent|Good|And|Note that|It seems that|"
    r"It appears that|It seems|It looks like),? "
)
_FLIPS: tuple[tuple[str, str], ...] = (
    (r"\bdoes(?: not|n't) (\w+)", r"\1s"),
    (r"\bis not\b", "is"),
    (r"\bisn't\b", "is"),
    (r"\bare not\b", "are"),
    (r"\bcannot\b", "can"),
    (r"\bcan't\b", "can"),
    (r"\bexists\b", "does not exist"),
    (r"\bpasses\b", "fails"),
    (r"(?<=tests )passed\b", "failed"),
    (r"\bincludes\b", "does not include"),
    (r"\brequires\b", "does not require"),
    (r"\bcorrect\b", "incorrect"),
    (r"\bis\b(?! (?:to|that|because|why|how|what|where)\b)", "is not"),
    (r"\bare\b(?! (?:to|that)\b)", "are not"),
    (r"\bcan be\b", "cannot be"),
)
_VALUE_KEYS = re.compile(
    r"price|total|amount|status|cabin|date|balance|weight|size|color|state|plan|limit|type|insurance"
)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,}){1,2}")
_NEAR, _FAR = 2, 9


class Turn(NamedTuple):
    """What is claimed first and where, and what is claimed later."""

    at: int
    first: str | None
    """`None` if the run says it by itself."""
    later: str
    variant: str


def plant_silent(scene: Scene) -> Planted | None:
    """A claim about something of the run, and some steps later the opposite, as if nothing had been said."""
    turn = _turn(scene)
    return None if turn is None else _planted(scene, turn, scene.phrase(_turned(scene), **_both(turn.later)))


def _turned(scene: Scene) -> Sequence[str]:
    return scene.words.turned_service if scene.anatomy.is_dialogue else scene.words.turned


def control_acknowledged(scene: Scene) -> Planted | None:
    """The same change of mind, owned up to, with the reason for it."""
    turn = _turn(scene)
    if turn is None:
        return None
    seen = next((step for step in reversed(scene.anatomy.steps[: turn.at + 2]) if step.action), scene.anatomy.steps[0])
    return _planted(scene, turn, scene.phrase(scene.words.admitted, evidence=subject_of(seen), **_both(turn.later)))


def _planted(scene: Scene, turn: Turn, sentence: str) -> Planted | None:
    anatomy = scene.anatomy
    places = [
        at
        for at in range(turn.at + _NEAR, min(turn.at + _FAR, len(anatomy) - 1))
        if (anatomy.steps[at].thought or not anatomy.is_dialogue or anatomy.steps[at].action)
        and anatomy.unchanged_since(turn.at, at)
    ]
    if not places:
        return None
    at = scene.pick(places)
    steps = list(anatomy.steps)
    if turn.first is not None:
        steps[turn.at] = _saying(scene, steps[turn.at], scene.phrase(_stated(scene), **_both(turn.first)), first=False)
    steps[at] = _saying(scene, steps[at], sentence, first=True)
    return Planted(steps, at, at + 1, turn.variant, None if turn.first is None else turn.at)


def _stated(scene: Scene) -> Sequence[str]:
    return scene.words.stated_service if scene.anatomy.is_dialogue else scene.words.stated


def _saying(scene: Scene, step: RecordedStep, sentence: str, *, first: bool) -> RecordedStep:
    """The step with a sentence in its thought, before or after what is there."""
    prefix = scene.anatomy.thought_prefix
    own = (step.thought or "").removeprefix(prefix)
    gap = scene.pick([" ", "\n\n"])
    thought = f"{sentence}{gap}{own}" if first else f"{own}{gap}{sentence}"
    return RecordedStep(
        prefix + thought.strip(), step.action, step.action_input, step.observation, step.observation_is_error
    )


def _turn(scene: Scene) -> Turn | None:
    makers = [_own_sentence, _from_words, _from_values]
    scene.random.shuffle(makers)
    for maker in makers:
        turns = maker(scene)
        if turns:
            return scene.pick(turns)
    return None


def _own_sentence(scene: Scene) -> list[Turn]:
    """Sentences of the run itself that can be turned round."""
    found = []
    for at in _early(scene):
        for sentence in _SENTENCE.split(scene.anatomy.steps[at].thought or ""):
            opposite = _opposite(sentence.strip())
            if opposite is not None:
                found.append(Turn(at, None, opposite, "own sentence"))
    return found


def _opposite(sentence: str) -> str | None:
    sentence = _INTERJECTION.sub("", sentence)
    sentence = sentence[:1].upper() + sentence[1:]
    plain = 5 <= len(sentence.split()) <= 22 and not _NO_CLAIM.search(sentence) and _ENTITY.search(sentence)
    if not plain or not re.match(r"`|#\w|The |Your |Order|Reservation", sentence):
        return None
    for pattern, other in _FLIPS:
        if re.search(pattern, sentence):
            if "not" in other and re.search(r"\b(?:not|no|never|NOT)\b|n't\b", sentence):
                return None
            return re.sub(pattern, other, sentence, count=1).rstrip(".!:") + "."
    return None


def _from_words(scene: Scene) -> list[Turn]:
    """Pairs of statements about two things of the run."""
    anatomy = scene.anatomy
    code = anatomy.shell is not None or bool(anatomy.files)
    grounds = {"service"} if anatomy.is_dialogue else {"code", "any"} if code else {"any"}
    claims = [claim for claim in scene.words.claims if claim.ground in grounds]
    places = [at for at in _early(scene) if anatomy.steps[at].action or anatomy.steps[at].thought]
    turns = []
    for at in places:
        things = _things(scene, at)
        if len(things) < 2 or not claims:
            continue
        claim = scene.pick(claims)
        x, y = things[0], things[1]
        values = sorted(scene.random.sample(range(2, 90), 2))
        turns.append(Turn(at, _filled(claim.first, x, y, values), _filled(claim.later, x, y, values), _kind(claim)))
    return turns


def _kind(claim: Claim) -> str:
    if "{y}" in claim.later:
        return "other thing"
    return "other value" if "{a}" in claim.first else "negated"


def _filled(text: str, x: str, y: str, values: list[int]) -> str:
    return text.format(x=x, y=y, a=values[0], b=values[1])


def _things(scene: Scene, at: int) -> list[str]:
    """What the run speaks about up to a step: two things of one kind."""
    anatomy = scene.anatomy
    seen = "\n".join(
        f"{step.thought or ''} {step.action_input or ''} {(step.observation or '')[:1500]}"
        for step in anatomy.steps[: at + 1]
    )
    files = [file for file in anatomy.sources if file in seen]
    symbols = [name for name in anatomy.symbols if name in seen]
    codes = list(dict.fromkeys(re.findall(r"#W\d+|\b(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{6}\b", seen)))
    options = [
        [f"`{name}`" for name in group] if group is not codes else group
        for group in (files, symbols, codes)
        if len(group) >= 2
    ]
    if not options:
        names = list(dict.fromkeys(_NAME.findall("\n".join(step.thought or "" for step in anatomy.steps[: at + 1]))))
        options = [names] if len(names) >= 2 and not anatomy.is_dialogue else []
    if not options:
        return []
    return scene.random.sample(scene.pick(options)[:6], 2)


def _from_values(scene: Scene) -> list[Turn]:
    """What an answer of a tool says about something, and then another value for it."""
    turns = []
    for at in _early(scene):
        step = scene.anatomy.steps[at]
        facts = _facts(step)
        if not facts:
            continue
        key, value = scene.pick(facts)
        other = _other_value(scene, key, value)
        if other is not None:
            name, subject = key.replace("_", " "), subject_of(step)
            first = scene.pick(scene.words.values_first).format(name=name, it=subject, value=value.replace("_", " "))
            later = scene.pick(scene.words.values_later).format(name=name, it=subject, value=other.replace("_", " "))
            turns.append(Turn(at + 1, first, later, "value"))
    return turns


def _facts(step: RecordedStep) -> list[tuple[str, str]]:
    """The plain values of a JSON answer that a person would speak about."""
    if not step.action or not (step.observation or "").startswith("{"):
        return []
    try:
        answer = json.loads(step.observation or "")
    except ValueError:
        return []
    flat = list(answer.items()) if isinstance(answer, dict) else []
    return [
        (key, str(value))
        for key, value in flat
        if _VALUE_KEYS.search(key)
        and "birth" not in key
        and isinstance(value, str | int | float)
        and not isinstance(value, bool)
        and str(value)
    ]


_OTHER_STATES = {
    "delivered": "pending",
    "pending": "delivered",
    "processed": "pending",
    "cancelled": "delivered",
    "active": "suspended",
    "suspended": "active",
    "economy": "business",
    "business": "economy",
    "basic_economy": "business",
    "round_trip": "one_way",
    "one_way": "round_trip",
    "yes": "no",
    "no": "yes",
    "overdue": "paid",
    "paid": "overdue",
}


def _other_value(scene: Scene, key: str, value: str) -> str | None:
    if value.lower() in _OTHER_STATES:
        return _OTHER_STATES[value.lower()]
    if re.fullmatch(r"\d+(?:\.\d+)?", value) and "id" not in key:
        return (
            f"{float(value) + scene.random.randint(7, 260):.2f}"
            if "." in value
            else str(int(value) + scene.random.randint(1, max(2, int(value) // 3)))
        )
    if found := re.fullmatch(r"(\d{4}-\d{2}-)(\d{2})", value):
        return f"{found[1]}{(int(found[2]) + 5) % 27 + 1:02}"
    return None


def _early(scene: Scene) -> range:
    """Where a claim may first be made, so that there is room for the turn."""
    size = len(scene.anatomy)
    return range(int(0.15 * size), max(1, min(round(0.7 * size), size - _NEAR - 1)))


def _both(claim: str) -> dict[str, str]:
    low = claim if claim.startswith(("`", "#", "I ")) or claim[:2].isupper() else claim[0].lower() + claim[1:]
    return {"claim": claim.rstrip("."), "low": low.rstrip(".")}
