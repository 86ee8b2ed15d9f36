"""What was started and goes on elsewhere: a build, a job, a transfer whose result says that it is not through yet."""

from .features import StepFeatures
from .waiting import is_under_way


class Ongoing:
    """The newest thing that was started, as long as nobody has seen it come to its end."""

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open: tuple[int, str] | None = None
        """The call that showed it last, and what it showed."""

    def observe(self, step: StepFeatures) -> None:
        """Take a call in; whatever is looked up or run after it may have shown the end."""
        role = step.role
        if role.notes:
            return
        if step.unfinished and not step.failed and (self.open or not role.looks) and is_under_way(step.result_excerpt):
            self.open = (step.index, step.result_quote())
        elif role.looks or role.runs or role.waits:
            self.open = None
