"""Makes the cases: every run of one half with each mode that fits it, its untouched twin, and the healthy controls."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from random import Random

import msgspec

from ..recordings import RecordedRun
from . import churn, contradictions, controls_changes, controls_repeats, loops, rewording, unverified, wandering
from .anatomy import Anatomy
from .case import CONTROL_MODES, MODES, MONITOR_OF, PLANTED_MODES, TWIN, Case, Kind, Wording
from .scene import Planted, Scene
from .split import usable
from .wordings import Wordings, wordings_of

Planter = Callable[[Scene], Planted | None]

PLANTERS: Mapping[str, Planter] = {
    "loop_exact": loops.plant_exact,
    "loop_reworded": rewording.plant_reworded,
    "loop_alternating": loops.plant_alternating,
    "loop_failing": loops.plant_failing,
    "unverified_skipped": unverified.plant_skipped,
    "unverified_failed": unverified.plant_failed,
    "contradiction_silent": contradictions.plant_silent,
    "churn_resummary": churn.plant_resummary,
    "sprawl_tangents": wandering.plant_tangents,
    "drift_stretch": wandering.plant_stretch,
    "bulk_work": controls_repeats.control_bulk,
    "paging": controls_repeats.control_paging,
    "polling": controls_repeats.control_polling,
    "retry_after_fix": controls_changes.control_retry,
    "reread_after_edit": controls_changes.control_reread,
    "acknowledged_change": contradictions.control_acknowledged,
    "steady_debugging": controls_changes.control_debugging,
}
FEWEST_STEPS = 4
"""A shorter run has no middle to plant anything in."""
_MOST_OTHERS = 40


def cases(
    runs: Iterable[RecordedRun], *, seed: int, wording: Wording, modes: Collection[str] | None = None
) -> Iterator[Case]:
    """For each successful run of that half its twin and one case of each mode that fits it.

    The same runs, seed and wording always give the same cases, whichever modes are asked for.
    """
    unknown = sorted(set(modes or ()) - set(MODES))
    if unknown:
        raise ValueError(f"modes has {', '.join(unknown)}; expected some of {', '.join(MODES)}")
    words = wordings_of(wording)
    sets: dict[str, list[Anatomy]] = defaultdict(list)
    for run in usable(runs, wording):
        sets[run.dataset].append(Anatomy(run))
    for anatomies in sets.values():
        for anatomy in anatomies:
            others = _others(anatomy, anatomies, seed)
            for mode in MODES:
                if modes is None or mode in modes:
                    yield from _case(anatomy, mode, others, words, seed)


def _others(anatomy: Anatomy, anatomies: Sequence[Anatomy], seed: int) -> list[Anatomy]:
    """Some runs of the same set that had another task."""
    found = [other for other in anatomies if other.run.task != anatomy.run.task]
    dice = Random(f"{seed} {anatomy.run.run_id} others")
    return dice.sample(found, min(_MOST_OTHERS, len(found)))


def _case(anatomy: Anatomy, mode: str, others: list[Anatomy], words: Wordings, seed: int) -> Iterator[Case]:
    run = anatomy.run
    if mode == TWIN:
        yield Case("twin", TWIN, None, run, 0, 0, run)
        return
    planter = PLANTERS.get(mode)
    if len(anatomy) < FEWEST_STEPS or planter is None:
        return
    planted = planter(Scene(anatomy, words, Random(f"{seed} {run.run_id} {mode}"), others))
    if planted is None:
        return
    kind: Kind = "planted" if mode in PLANTED_MODES else "control"
    changed = msgspec.structs.replace(run, steps=planted.steps, run_id=f"{run.run_id}#{mode}")
    yield Case(
        kind, mode, MONITOR_OF.get(mode), changed, planted.start, planted.stop, run, planted.variant, planted.groundwork
    )


assert set(PLANTERS) <= {*PLANTED_MODES, *CONTROL_MODES}
