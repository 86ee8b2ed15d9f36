"""The situations that similarity is calibrated on: what is in the files, and which part of it a fit may see.

Every situation has a description, as a pattern has one, and texts of agents that are in it, as thoughts are: one
restates the matter in other words, the others only show it. Situations of one topic share their subject and their
vocabulary and differ in what is wrong, so each is a hard negative for the others. Those of one kin, whatever their
topic, are so alike that advice for one fits the other: such pairs are neither right nor wrong and are left out. The
healthy texts of a topic are of agents with whom nothing is wrong. Each text is used twice, by itself and after healthy
thoughts of its topic.

The slope and the offset of a calibration are fitted on one half of the topics. The other half is held out of that, but
was looked at when the rest was chosen: how a context is cut into views, what the screen lets pass. The texts in
`untouched/` were written after that, and are there to be measured only.
"""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parent / "situations"
UNTOUCHED = FOLDER / "untouched"
Kind = Literal["restated", "shown", "healthy"]


@dataclass(frozen=True)
class Situation:
    """What a pattern would be about."""

    domain: str
    topic: str
    name: str
    description: str
    kin: frozenset[str]


@dataclass(frozen=True)
class Text:
    """What an agent says."""

    domain: str
    topic: str
    situation: str | None
    """The name of the one it is in; `None` if nothing is wrong."""
    kind: Kind
    late: bool
    """Whether healthy thoughts come before it."""
    text: str


@dataclass(frozen=True)
class Split:
    """Whole topics: no situation has a part in two of them."""

    situations: list[Situation]
    texts: list[Text]

    def right(self) -> NDArray[np.bool_]:
        """For each text and each situation, whether the text is from the situation."""
        return np.array(
            [[(text.topic, text.situation) == (s.topic, s.name) for s in self.situations] for text in self.texts]
        )

    def compared(self) -> NDArray[np.bool_]:
        """For each text and each situation, whether the pair counts; that is all of them but for those of one kin."""
        kin = {(s.topic, s.name): s.kin for s in self.situations}
        related = [
            [bool(kin.get((text.topic, text.situation or ""), frozenset()) & s.kin) for s in self.situations]
            for text in self.texts
        ]
        return ~np.array(related) | self.right()

    def same_topic(self) -> NDArray[np.bool_]:
        """For each text and each situation, whether they are about the same subject."""
        return np.array([[text.topic == s.topic for s in self.situations] for text in self.texts])


def load(folder: Path = FOLDER) -> tuple[Split, Split]:
    """The topics to fit on, and those to hold out: of every domain half of each, by a hash of their names."""
    fitted, held_out = Split([], []), Split([], [])
    for number, path in enumerate(sorted(folder.glob("*.toml"))):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        topics = sorted(
            {each["topic"] for each in content["situation"]}, key=lambda topic: _hash(f"{path.stem}/{topic}")
        )
        for place, topic in enumerate(topics):
            split = fitted if (place + number) % 2 == 0 else held_out
            _add_topic(split, path.stem, topic, content)
    return fitted, held_out


def load_untouched(held_out: Split, folder: Path = UNTOUCHED) -> Split:
    """The texts that nothing was chosen by, before a library of theirs and of what was held out."""
    untouched = Split(list(held_out.situations), [])
    for path in sorted(folder.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for topic in sorted({each["topic"] for each in content["situation"]}):
            _add_topic(untouched, path.stem, topic, content)
    return untouched


def digest(folder: Path = FOLDER) -> str:
    """Of all that is in the files, to tell whether a calibration was fitted on them as they are."""
    paths = sorted(folder.rglob("*.toml"))
    return _hash("\n".join(path.name + "\n" + path.read_text("utf-8") for path in paths))


def _add_topic(split: Split, domain: str, topic: str, content: dict[str, list[dict[str, Any]]]) -> None:
    healthy = [str(text).strip() for each in content["healthy"] if each["topic"] == topic for text in each["queries"]]
    split.texts.extend(Text(domain, topic, None, "healthy", False, text) for text in healthy)
    for each in content["situation"]:
        if each["topic"] != topic:
            continue
        name, kin = str(each["name"]), frozenset(map(str, each.get("kin", ())))
        split.situations.append(Situation(domain, topic, name, str(each["description"]), kin))
        told: list[tuple[Kind, str]] = [
            ("restated", str(each["restated"])),
            *(("shown", str(q)) for q in each["queries"]),
        ]
        for kind, text in told:
            split.texts.append(Text(domain, topic, name, kind, False, text.strip()))
            split.texts.append(Text(domain, topic, name, kind, True, f"{healthy[0]}\n{text.strip()}"))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
