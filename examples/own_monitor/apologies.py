"""A monitor of your own, in a package of its own: it sees an agent that says sorry again and again."""

from reasonblocks.engine.answers import Evidence
from reasonblocks.engine.monitors.base import NOTHING, Reading
from reasonblocks.engine.monitors.features import StepFeatures


class Apologies:
    """What the monitor is; its memory of one run is a `Count`."""

    name = "apologies"
    failure_type = "apology"
    description = "The agent says sorry again and again."
    default_weight = 0.1

    def start(self, task: str) -> "Count":
        """The memory of a run that has not begun."""
        return Count()


class Count:
    """The steps in which the agent said sorry."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def observe(self, step: StepFeatures) -> Reading:
        """Take the next step in, and say how things are after it."""
        if "sorry" not in step.thought.lower():
            return NOTHING
        self.steps.append(step.index)
        if len(self.steps) < 3:
            return NOTHING
        reason = f"The agent said sorry in {len(self.steps)} steps."
        return Reading(0.7, Evidence(Apologies.name, reason, self.steps[-3:], [step.thought_quote()]))
