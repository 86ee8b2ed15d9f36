"""Recorded runs for tests, and a monitor that says what a thought tells it to."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reasonblocks.engine.answers import Evidence
from reasonblocks.engine.monitors.base import Reading
from reasonblocks.engine.monitors.features import StepFeatures
from reasonblocks.engine.monitors.suite import MonitorSuite

SUBJECTS = ("tides", "storms", "harbours", "ships")
SAYS = re.compile(r"alarm (\d)")


class Obedient:
    """A monitor of another package: `alarm 9` in a thought is a score of 0.9, with the thought as evidence."""

    name = "obedient"
    failure_type = "disobedience"
    description = "Does as it is told."
    default_weight = 1.0

    def start(self, task: str) -> Obedient:
        """It remembers nothing of a run."""
        return self

    def observe(self, step: StepFeatures) -> Reading:
        """What the thought says."""
        told = SAYS.search(step.thought)
        if told is None:
            return Reading()
        evidence = Evidence(self.name, "It was told to.", [step.index], [step.thought])
        return Reading(int(told.group(1)) / 10, evidence)


OBEDIENT_SUITE = MonitorSuite([Obedient()])


def step(thought: str | None = "I look.", action: str | None = None, **more: Any) -> dict[str, Any]:
    """A step as a file has it."""
    return {"thought": thought, "action": action, "action_input": None, "observation": None, **more}


def run(run_id: str, steps: Iterable[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A run as a file has it."""
    return {"run_id": run_id, "task": f"Task of {run_id}", "outcome": None, "labels": {}, "steps": list(steps), **more}


def healthy(run_id: str, count: int = 6, **more: Any) -> dict[str, Any]:
    """A run that reads one file after another and ends."""
    steps = [
        step(
            f"Now I read part {index} of the report.",
            "read_file",
            action_input=json.dumps({"path": f"part{index}.txt"}),
            observation=f"Part {index} speaks of {SUBJECTS[index % len(SUBJECTS)]} in {1900 + index}.",
            observation_is_error=False,
        )
        for index in range(count)
    ]
    return run(run_id, steps, **{"outcome": "success", **more})


def looping(run_id: str, count: int = 12, **more: Any) -> dict[str, Any]:
    """A run that makes the same failing call again and again."""
    steps = [
        step(
            "I run the tests again.",
            "shell",
            action_input=json.dumps({"command": "make test"}),
            observation="Error: cannot connect to the database",
            observation_is_error=True,
        )
        for _ in range(count)
    ]
    return run(run_id, steps, **{"outcome": "failure", **more})


def write_runs(path: Path, runs: Iterable[dict[str, Any]]) -> Path:
    """A file of recorded runs, gzipped if its name says so."""
    text = "".join(json.dumps(one) + "\n" for one in runs).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def read_json_lines(data: bytes) -> list[dict[str, Any]]:
    """What a replay wrote."""
    return [json.loads(line) for line in data.splitlines()]
