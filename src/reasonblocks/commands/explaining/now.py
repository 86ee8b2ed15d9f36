"""The lookups of stored steps, made again among the patterns of now: another question than what came close then."""

import functools
from collections.abc import Sequence

import click

from ...engine.answers import RunWithSteps, StoredStepAnswer
from ...engine.embedding.worker import shared_worker
from ...engine.patterns.near import Near, near
from ...engine.patterns.retrieval import Lookup
from ...engine.settings import EngineSettings
from ...injections.e1 import THOUGHTS as E1_THOUGHTS
from ...injections.e2 import THOUGHTS as E2_THOUGHTS
from ..sources.base import Source
from ..sources.local import LocalSource
from .shapes import Candidate, Explanation
from .wording import PASSES, rejected_because


def looked_up(source: Source, run: RunWithSteps, explanation: Explanation) -> None:
    """Add to each step what lookups with its thoughts find now, passed and rejected."""
    if not isinstance(source, LocalSource):
        raise click.UsageError("--lookup needs the patterns and their vectors at hand; use it on a data directory")
    worker = shared_worker(EngineSettings.from_environment(None).embeddings)
    places = {step.step_index: place for place, step in enumerate(run.steps)}
    try:
        for step in explanation.steps:
            place = places[step.step]
            step.now = []
            for name, lookup, context in _lookups(run, run.steps[:place], run.steps[place].failure_type):
                found = source.do(functools.partial(near, embedding=worker, lookup=lookup, context=context))
                step.now += [
                    Candidate(
                        source=name,
                        tier=one.tier,
                        pattern_id=one.pattern_id,
                        title=one.title,
                        similarity=one.similarity,
                        gate=one.gate,
                        given=False,
                        verdict=_verdict(one, lookup),
                    )
                    for one in found
                ]
    finally:
        worker.close()


def _verdict(one: Near, lookup: Lookup) -> str:
    if one.rejection is None:
        return PASSES
    return rejected_because(one.rejection, one.gate, one.failure_type, lookup.failure_type)


def _lookups(
    run: RunWithSteps, before: Sequence[StoredStepAnswer], failure_type: str | None
) -> list[tuple[str, Lookup, str]]:
    """What E1 and E2 ask with at a step; nothing at the first one, which has no thoughts before it."""
    if not before:
        return []
    return [
        ("E1Injection", Lookup("e1", run.org_id, None), _thoughts(before, E1_THOUGHTS)),
        ("E2Injection", Lookup("e2", run.org_id, failure_type), _thoughts(before, E2_THOUGHTS)),
    ]


def _thoughts(before: Sequence[StoredStepAnswer], count: int) -> str:
    return "\n".join(step.thought for step in before[-count:] if step.thought)
