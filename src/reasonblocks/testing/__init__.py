"""Cases to try monitors on: real runs with one failure planted at a known step, and healthy ones that look alike.

    from reasonblocks.recordings import read_runs
    from reasonblocks.testing import cases

    for case in cases(read_runs(path), seed=1, wording="development"):
        ...

A case is a successful recorded run in which one failure was planted in its own vocabulary: its files, tools, ids and
phrases, its way of thinking aloud or not, and the wrapping of its tools' output. Steps [start, stop) are the planted
ones, and `twin` is the run as it was recorded. Every run gives its twin and one case of each mode that fits it; a mode
that does not fit is left out (no reworded search where nothing is searched, no skipped check where nothing is
changed). The same runs, seed and wording always give the same cases.

Planted modes, and the monitor that should see them:

- loop_exact, loop_reworded, loop_alternating, loop_failing: semantic_loop
- unverified_skipped, unverified_failed: verification_skip. The check, or the call that was to be made, is taken out or
  fails, and the agent concludes all the same; what the run did afterwards goes with it where nobody answers the agent.
- contradiction_silent: claim_contradiction. `start` is where the claim is turned round. The claim itself is a sentence
  of the run, or one put into its step `groundwork`.
- churn_resummary: cyclic_compression
- sprawl_tangents: late_sprawl, in the last third
- drift_stretch: silent_topic_drift, with steps of another run of the same set

Controls, in which nothing is wrong: bulk_work, paging, polling, retry_after_fix, reread_after_edit,
acknowledged_change and steady_debugging.

There are two sets of wordings that share no phrase, "development" and "held_out", and each is used with its own half
of the tasks. What was fitted to one can be tried on the other.
"""

from .case import CONTROL_MODES, MODES, MONITOR_OF, PLANTED_MODES, Case, Kind, Wording
from .generator import cases
from .split import half_of

__all__ = ["CONTROL_MODES", "MODES", "MONITOR_OF", "PLANTED_MODES", "Case", "Kind", "Wording", "cases", "half_of"]
