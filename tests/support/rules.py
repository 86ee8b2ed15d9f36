"""The request bodies of the wire contract as tables, and a strict check against them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_BODY_BYTES = 5_000_000
MAX_TEXT = 64_000
MAX_STEPS = 2_000
MAX_EVENTS = 500

Problem = tuple[tuple[str | int, ...], str]
"""Where in the body, and what is wrong there."""


@dataclass(frozen=True)
class Field:
    """What one JSON field may hold."""

    kind: type | tuple[type, ...] = str
    required: bool = False
    nullable: bool = False
    longest: int | None = None
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    items: Field | None = None
    members: Mapping[str, Field] | None = None

    def problems(self, value: Any, where: tuple[str | int, ...]) -> Iterator[Problem]:
        """Yield what is wrong with a value."""
        if value is None and self.nullable:
            return
        kinds = self.kind if isinstance(self.kind, tuple) else (self.kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            yield where, f"{type(value).__name__} instead of {' or '.join(kind.__name__ for kind in kinds)}"
            return
        if isinstance(value, str | list) and self.longest is not None and len(value) > self.longest:
            yield where, f"length {len(value)}, at most {self.longest}"
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            yield where, f"{value} is not in {self.low}..{self.high}"
        if self.choices and value not in self.choices:
            yield where, f"{value!r} is none of {', '.join(self.choices)}"
        if self.pattern is not None and not self.pattern.fullmatch(value):
            yield where, f"{value!r} does not match {self.pattern.pattern}"
        yield from self._inner_problems(value, where)

    def _inner_problems(self, value: Any, where: tuple[str | int, ...]) -> Iterator[Problem]:
        if self.members is not None:
            yield from problems(self.members, value, where)
        if self.items is not None:
            entries = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in entries:
                yield from self.items.problems(item, (*where, key))


def problems(
    fields: Mapping[str, Field], body: Mapping[str, Any], where: tuple[str | int, ...] = ()
) -> Iterator[Problem]:
    """Yield what is wrong with an object; unknown fields are no problem."""
    for name, field in fields.items():
        if name in body:
            yield from field.problems(body[name], (*where, name))
        elif field.required:
            yield (*where, name), "missing"


TEXT = Field(longest=MAX_TEXT)
MAYBE_TEXT = Field(longest=MAX_TEXT, nullable=True)
COUNT = Field(int, low=0)
TEXTS = Field(list, items=TEXT)
OBJECT = Field(dict)
FLAG = Field(bool)
TIER = Field(choices=("e1", "e2", "e3"))
RUN_ID = Field(required=True, longest=256, pattern=re.compile(r"[A-Za-z0-9_\-./:@]+"))
WEIGHTS = Field(dict, nullable=True, items=Field((int, float)))

RETRIEVE: dict[str, Field] = {
    "context": Field(required=True, longest=MAX_TEXT),
    "tier": TIER,
    "level": TIER,
    "top_k": Field(int, low=1, high=50),
    "model": MAYBE_TEXT,
    "failure_type": MAYBE_TEXT,
}
NEAR_MISSES: dict[str, Field] = {"near_misses": Field(int, low=0, high=10)}
TRACE_STEP: dict[str, Field] = {
    "thought": TEXT,
    "action": MAYBE_TEXT,
    "action_input": MAYBE_TEXT,
    "observation": MAYBE_TEXT,
    "observation_is_error": FLAG,
}
EVALUATE: dict[str, Field] = {
    "steps": Field(list, required=True, longest=MAX_STEPS, items=Field(dict, members=TRACE_STEP)),
    "model": TEXT,
    "task_profile": TEXT,
    "weights": WEIGHTS,
    "org_id": TEXT,
    "project_id": TEXT,
}
INCREMENTAL: dict[str, Field] = {"run_id": RUN_ID, "offset": Field(int, required=True, low=0)}
TASK: dict[str, Field] = {"task": Field(longest=4_000)}
SCORE: dict[str, Field] = {"text": Field(required=True, longest=MAX_TEXT), "context": MAYBE_TEXT}
RUN_START: dict[str, Field] = {
    "run_id": RUN_ID,
    "agent_name": TEXT,
    "task": Field(longest=4_000),
    "model": TEXT,
    "framework": TEXT,
    "codebase_id": TEXT,
    "org_id": TEXT,
    "project_id": TEXT,
    "task_profile": TEXT,
    "metadata": OBJECT,
}
STEP: dict[str, Field] = {
    "step_index": Field(int, required=True, low=0, high=10_000),
    "action": MAYBE_TEXT,
    "action_input": MAYBE_TEXT,
    "thought": TEXT,
    "observation": MAYBE_TEXT,
    "is_error": FLAG,
    "tokens": COUNT,
    "input_tokens": COUNT,
    "output_tokens": COUNT,
    "cache_read_tokens": COUNT,
    "step_model": TEXT,
    "injections": TEXTS,
    "injection_sources": TEXTS,
    "intervention_texts": TEXTS,
    "monitors_fired": TEXTS,
    "failure_type": MAYBE_TEXT,
    "metadata": OBJECT,
}
RUN_FINISH: dict[str, Field] = {"outcome": Field(required=True, longest=64)}
EVENTS: dict[str, Field] = {"events": Field(list, required=True, longest=MAX_EVENTS)}
LOSS: dict[str, Field] = {"steps": Field(int, required=True, low=0, high=10_001), "cause": Field(longest=64)}
EVENT_TYPES: dict[str, dict[str, Field]] = {"run_start": RUN_START, "step": STEP, "run_finish": RUN_FINISH}
OPTIONAL_EVENTS: dict[str, tuple[str, dict[str, Field]]] = {"losses": ("loss", LOSS)}
"""By capability."""
