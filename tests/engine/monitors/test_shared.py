"""What several monitors ask of a run is found out once for a step."""

from reasonblocks.engine.monitors.features import ObservedStep, StepFeatures, StepReader, read_step


class Counter:
    """Counts the steps that it is told."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.steps = 0

    def observe(self, step: StepFeatures) -> str:
        """Which step it is, as far as it has been told."""
        self.steps += 1
        return f"{self.task} {step.index}: {self.steps}"


def test_an_observer_is_told_each_step_once_whoever_asks() -> None:
    """The second one to ask gets the same answer, and each run has observers of its own."""
    reader, other = StepReader("one"), StepReader("other")
    for index in range(3):
        step = reader.read(ObservedStep(thought="Go on."))
        assert [step.ask(Counter), step.ask(Counter)] == [f"one {index}: {index + 1}"] * 2
    assert other.read(ObservedStep(thought="Go on.")).ask(Counter) == "other 0: 1"


def test_of_a_step_alone_nothing_is_known() -> None:
    """Without the run before it there is nobody to ask."""
    assert read_step(0, ObservedStep(thought="Go on.")).ask(Counter) is None
