"""What `deploy/` holds, read."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HOUSE = Path(__file__).parents[2]
DEPLOY = HOUSE / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
_CONTINUED = re.compile(r"\\\n\s*")


@dataclass(frozen=True)
class Instruction:
    """A line of the Containerfile, with those that continue it."""

    stage: int
    """Which `FROM` it comes after, the first being 1."""
    word: str
    rest: str


@functools.cache
def containerfile() -> list[Instruction]:
    """Its instructions."""
    lines = (DEPLOY / "Containerfile").read_text().splitlines(keepends=True)
    text = _CONTINUED.sub(" ", "".join(line for line in lines if not line.startswith("#")))
    stage, found = 0, []
    for line in filter(str.strip, text.splitlines()):
        word, _, rest = line.partition(" ")
        stage += word == "FROM"
        found.append(Instruction(stage, word, rest.strip()))
    return found


def instruction(word: str) -> str:
    """What the last instruction of this name says: what counts in the image."""
    return [each.rest for each in containerfile() if each.word == word][-1]


def image_environment() -> dict[str, str]:
    """The variables that the image sets."""
    return dict(pair.split("=", 1) for pair in instruction("ENV").split())


def image_command() -> list[str]:
    """What the image runs."""
    return [*json.loads(instruction("ENTRYPOINT")), *json.loads(instruction("CMD"))]


def health_check() -> list[str]:
    """What says whether it is well."""
    _, _, command = instruction("HEALTHCHECK").partition("CMD ")
    return list(json.loads(command))


@functools.cache
def compose() -> dict[str, Any]:
    """The compose file."""
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return loaded


@functools.cache
def manifests() -> list[tuple[Path, dict[str, Any]]]:
    """Every object of every manifest, and the file it stands in."""
    return [
        (path, each)
        for path in sorted(DEPLOY.glob("kubernetes*/*.yaml"))
        for each in yaml.safe_load_all(path.read_text())
    ]


def manifest(kind: str, name: str = "rb-api") -> dict[str, Any]:
    """One object."""
    (found,) = [each for _, each in manifests() if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


def pod() -> dict[str, Any]:
    """That of rb-api."""
    spec: dict[str, Any] = manifest("Deployment")["spec"]["template"]["spec"]
    return spec


def container() -> dict[str, Any]:
    """The one container of that pod."""
    (only,) = pod()["containers"]
    return dict(only)
