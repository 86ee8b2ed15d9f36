"""Runs, events, contexts and patterns of realistic size, the same ones for the same seed."""

import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from reasonblocks.engine.patterns.library import load_library

STEPS = 50
"""Of a run."""
THOUGHT_WORDS = 60
OBSERVATION_CHARACTERS = 200
RUNS_OF_A_BATCH = 10
"""A batch of 500 steps brings the runs of so many agents."""
FAILURE_TYPES = ("contradiction", "loop", "unverified", "churn", "sprawl", "drift")
_SENTENCE = 12
_RARE_SHARE = 0.15
"""Of the words are names that few texts have: of files, products, people."""
_NAMES = 20_000
_NAMES_OF_A_RUN = 40
"""A run has to do with the same files and things all the time."""
_SYLLABLES = "ba co da fe gi ho ja ke lu mo na pe qui ra si to ul ve wa xi yo zu bri cla dro fle gra pli sta".split()


class Material:
    """Makes texts out of the words of the starter library and invented names."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._words = [word for pattern in load_library().patterns for word in _words(pattern.fields)]
        self._names = ["".join(self._random.choices(_SYLLABLES, k=3)) for _ in range(_NAMES)]
        self._number = 0

    def text(self, words: int, names: Sequence[str] = ()) -> str:
        """So many words, in sentences, with some of these names in between or else with any."""
        known = names or self._names
        count = range(0, words, _SENTENCE)
        return ". ".join(self._sentence(min(_SENTENCE, words - start), known) for start in count) + "."

    def _sentence(self, words: int, names: Sequence[str]) -> str:
        start = self._random.randrange(len(self._words) - words)
        chosen = self._words[start : start + words]
        said = [self._random.choice(names) if self._random.random() < _RARE_SHARE else word for word in chosen]
        return " ".join(said).capitalize()

    def run_id(self) -> str:
        """An id that no other run has."""
        self._number += 1
        return f"bench-{self._random.getrandbits(48):012x}-{self._number}"

    def context(self, thoughts: int) -> str:
        """The newest thoughts of a run, as a lookup is asked with."""
        return "\n".join(self.text(THOUGHT_WORDS) for _ in range(thoughts))

    # -- runs --------------------------------------------------------------------------------------

    def steps(self) -> list[dict[str, Any]]:
        """The steps of a run in which nothing is the matter, as `POST /monitors/evaluate` takes them."""
        names = self._random.sample(self._names, _NAMES_OF_A_RUN)
        return [self._step(names) for _ in range(STEPS)]

    def _step(self, names: Sequence[str]) -> dict[str, Any]:
        action, given = self._call(names)
        return {
            "thought": self.text(THOUGHT_WORDS, names),
            "action": action,
            "action_input": msgspec.json.encode(given).decode(),
            "observation": self.text(OBSERVATION_CHARACTERS // 4, names)[:OBSERVATION_CHARACTERS],
            "observation_is_error": False,
        }

    def _call(self, names: Sequence[str]) -> tuple[str, dict[str, Any]]:
        folder, file = self._random.choices(names, k=2)
        path = f"src/{folder}/{file}.py"
        calls: list[tuple[str, dict[str, Any]]] = [
            ("read_file", {"path": path, "start": self._random.randrange(400), "lines": 80}),
            ("search_code", {"query": self.text(4, names), "folder": f"src/{folder}"}),
            ("edit_file", {"path": path, "old": self.text(12, names), "new": self.text(14, names)}),
            ("run_command", {"command": f"pytest tests/test_{file}.py -q"}),
        ]
        return self._random.choice(calls)

    def run_starts(self, run_ids: list[str]) -> list[dict[str, Any]]:
        """The events with which runs begin."""
        return [
            {"type": "run_start", "run_id": run_id, "agent_name": "bench", "task": self.text(40), "model": "scripted"}
            for run_id in run_ids
        ]

    def step_events(self, run_ids: list[str]) -> list[dict[str, Any]]:
        """The steps of whole runs as a client reports them, each run's in order and the runs side by side."""
        taken = {run_id: self.steps() for run_id in run_ids}
        return [self._step_event(run_id, index, taken[run_id][index]) for index in range(STEPS) for run_id in run_ids]

    def _step_event(self, run_id: str, index: int, step: dict[str, Any]) -> dict[str, Any]:
        used = self._random.randrange(800, 9_000)
        return {
            "type": "step",
            "run_id": run_id,
            "step_index": index,
            "thought": step["thought"],
            "action": step["action"],
            "action_input": step["action_input"],
            "observation": step["observation"],
            "is_error": step["observation_is_error"],
            "tokens": used + 180,
            "input_tokens": used,
            "output_tokens": 180,
            "cache_read_tokens": used // 2,
            "step_model": "scripted-model-1",
            "injections": [],
            "injection_sources": [],
            "intervention_texts": [],
            "monitors_fired": [],
            "failure_type": None,
            "metadata": {"reasonblocks": self._details()},
        }

    def _details(self) -> dict[str, Any]:
        """What the contract has a step's metadata hold."""
        monitors = "semantic_loop claim_contradiction verification_skip cyclic_compression late_sprawl drift".split()
        return {
            "composite": round(self._random.random() / 5, 4),
            "scores": {name: round(self._random.random() / 5, 4) for name in monitors},
            "difficulty": round(self._random.random(), 4),
            "fsm_state": "normal",
            "gate": "closed",
            "candidates": [
                {
                    "source": "E2Injection",
                    "tier": "e2",
                    "pattern_id": f"e2-{self._random.choice(self._names)}",
                    "similarity": 0.7312,
                }
            ],
            "skipped_reason": None,
            "errors": [],
            "latency_ms": round(self._random.random() * 3_000, 3),
            "added_ms": round(self._random.random() * 3, 3),
        }

    # -- patterns ----------------------------------------------------------------------------------

    def pattern(self, tier: str) -> dict[str, Any]:
        """The fields of a pattern of the size that those of the starter library have."""
        if tier == "e1":
            return {
                "title": self.text(6),
                "observation": self.text(30),
                "recommended_action": self.text(30),
                "task_context_embedding_text": self.text(40),
            }
        return {
            "title": self.text(6),
            "diagnosis": self.text(25),
            "intervention": self.text(35),
            "anti_pattern": self.text(9),
            "trigger_state": {"trajectory_description": self.text(40)},
        }


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from re.findall(r"[a-z]+", value.lower())
    elif isinstance(value, dict):
        for each in value.values():
            yield from _words(each)
