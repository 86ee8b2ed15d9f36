"""Contexts of agents with whom nothing is wrong, from recorded runs; to see how many of them the screen lets through.

The records are no part of the repository: what is given is a folder of files such as `*.jsonl.gz`, one run a line with
its `outcome` and the `thought` of each of its `steps`, or a script that has a function `build_thoughts`.
"""

import gzip
import json
import random
import runpy
from collections.abc import Iterator, Sequence
from pathlib import Path

THOUGHTS = 5
"""What an E2 lookup is asked with."""
PER_FILE = 300


def recorded(folder: Path) -> dict[str, list[str]]:
    """Contexts of runs that succeeded, for each file a sample."""
    found = {}
    for path in sorted(folder.glob("*.jsonl.gz")):
        contexts = [context for thoughts in _successful(path) for context in windows(thoughts)]
        if contexts:
            found[path.name.partition(".")[0]] = random.Random(path.name).sample(contexts, min(PER_FILE, len(contexts)))
    return found


def scripted(script: Path) -> list[str]:
    """Contexts of the scripted agents of a load driver."""
    thoughts: Sequence[str] = runpy.run_path(str(script), run_name="thoughts")["build_thoughts"]()
    runs = [
        [f"[r{run}] step {step}: {thoughts[(run * 31 + step * 7) % len(thoughts)]}" for step in range(20)]
        for run in range(len(thoughts))
    ]
    return [context for run in runs for context in windows(run)]


def windows(thoughts: Sequence[str]) -> Iterator[str]:
    """The last thoughts at each step of a run."""
    for end in range(1, len(thoughts) + 1):
        yield "\n".join(thoughts[max(0, end - THOUGHTS) : end])


def _successful(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            run = json.loads(line)
            if run.get("outcome") == "success":
                yield [step["thought"] for step in run["steps"] if step.get("thought")]
