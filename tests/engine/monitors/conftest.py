"""What the tests of the monitors share: a suite of the built-in monitors, and the way through it."""

from collections.abc import Callable, Sequence

import pytest

from reasonblocks.engine.answers import Evidence
from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.registry import BUILT_IN
from reasonblocks.engine.monitors.suite import MonitorSuite, SuiteReading


@pytest.fixture(scope="session")
def suite() -> MonitorSuite:
    """The six monitors."""
    return MonitorSuite(BUILT_IN)


@pytest.fixture(scope="session")
def readings(suite: MonitorSuite) -> Callable[[Sequence[ObservedStep]], list[SuiteReading]]:
    """What the monitors say after each step."""

    def read(steps: Sequence[ObservedStep]) -> list[SuiteReading]:
        trajectory = suite.start()
        return [trajectory.observe(step) for step in steps]

    return read


@pytest.fixture(scope="session")
def scores(
    readings: Callable[[Sequence[ObservedStep]], list[SuiteReading]],
) -> Callable[[str, Sequence[ObservedStep]], list[float]]:
    """What one monitor scores after each step."""
    return lambda monitor, steps: [reading.scores[monitor] for reading in readings(steps)]


@pytest.fixture(scope="session")
def evidence(
    readings: Callable[[Sequence[ObservedStep]], list[SuiteReading]],
) -> Callable[[str, Sequence[ObservedStep]], Evidence]:
    """Why one monitor scores as it does after the last step."""
    return lambda monitor, steps: readings(steps)[-1].evidence[monitor]
