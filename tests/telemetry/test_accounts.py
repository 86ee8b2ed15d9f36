"""Every event is accounted for exactly once, at every moment, whatever goes wrong."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reasonblocks import ReasonBlocks
from reasonblocks.telemetry.spool.policy import SpoolPolicy
from support.standin import Fault, Standin
from telemetry.events import balanced, run_events, until

FAULTS = {
    "refuse": Fault(refuse=True),
    "reset": Fault(reset=True),
    "lost answer": Fault(reset=True, applied=True),
    "sometimes lost": Fault(reset=True, applied=True, rate=0.4),
    "503": Fault(status=503),
    "429": Fault(status=429, retry_after=0.1),
    "422": Fault(status=422, rate=0.3),
    "500 sometimes": Fault(status=500, rate=0.5),
    "garbage": Fault(garbage=True),
    "slow": Fault(latency=0.1),
}

acts = st.lists(
    st.one_of(
        st.tuples(st.just("post"), st.integers(0, 12), st.sampled_from([10, 5_000])),
        st.tuples(st.just("break"), st.sampled_from(sorted(FAULTS)), st.just(0)),
        st.tuples(st.just("mend"), st.just(0), st.just(0)),
        st.tuples(st.just("wait"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("dismiss"), st.just(0), st.just(0)),
    ),
    min_size=3,
    max_size=14,
)


class Story:
    """A client, its server, and how many events were really posted."""

    def __init__(self, server: Standin, directory: Path) -> None:
        self.server = server
        policy = SpoolPolicy(max_bytes=100_000, begin_after=0.05, adopt_every=0.1, fsync="never")
        self.rb = ReasonBlocks(server.key, base_url=server.url, spool_dir=directory, spool=policy)
        self.posted = 0

    def act(self, what: str, first: Any, second: Any) -> None:
        """One thing happens."""
        if what == "post":
            for event in run_events(f"run-{self.posted}", first, second):
                self.rb._stream.post(event)
                self.posted += 1
                self.check()
        elif what == "break":
            self.server.fault("*", FAULTS[first])
        elif what == "mend":
            self.mend()
        elif what == "dismiss":
            self.rb._stream.close()
        else:
            time.sleep(0.05 * first)
        self.check()

    def mend(self) -> None:
        self.server.clear_faults()
        self.server.accept()

    def check(self) -> None:
        """Nothing is counted twice, and nothing is missing."""
        stats = self.rb.stats()
        assert stats["enqueued"] == self.posted, stats
        assert balanced(stats), stats
        assert min(stats["waiting"], stats["spooled"]["now"], stats["sent"]) >= 0, stats

    def end(self) -> None:
        """When the server is back everything is dealt with, and what counts as sent has arrived."""
        self.mend()
        self.rb._stream.drained()
        stats = until(self.rb, lambda stats: not stats["waiting"])
        self.rb.close()
        self.check()
        assert stats["sent"] + sum(stats["dropped"].values()) + stats["set_aside"] == self.posted
        assert set(stats["dropped"]) <= {"spool full", "refused with 422", "refused in a batch"}
        kept = sum(run.starts > 0 for run in self.server.runs.values())
        kept += sum(len(run.steps) + bool(run.finishes) for run in self.server.runs.values())
        assert kept == stats["sent"]
        for run in self.server.runs.values():
            assert list(run.steps) == sorted(run.steps), run.timeline


def tell(story_acts: list[tuple[str, Any, Any]], capabilities: tuple[str, ...]) -> None:
    with Standin(capabilities) as server, tempfile.TemporaryDirectory() as directory:
        story = Story(server, Path(directory))
        try:
            for act in story_acts:
                story.act(*act)
            story.end()
        finally:
            story.mend()
            story.rb.close()


@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(acts, st.sampled_from([(), ("events",), ("events", "losses")]))
def test_every_event_is_accounted_for_at_every_moment(
    story: list[tuple[str, Any, Any]], capabilities: tuple[str, ...]
) -> None:
    """Enqueued is what was posted, and is sent, dropped, set aside or waiting; what is sent is on the server, once."""
    tell(story, capabilities)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(acts, st.sampled_from([(), ("events",), ("events", "losses")]))
def test_every_event_is_accounted_for_in_many_stories(
    story: list[tuple[str, Any, Any]], capabilities: tuple[str, ...]
) -> None:
    """The same, for long."""
    tell(story, capabilities)
