"""silent_topic_drift: a stretch of steps hangs together, but has nothing to do with the task nor with the run before.

Where words cannot tell, nothing is said: in a run that never kept to its words, and in scripts that do not part them.
Where nobody said what the task is, a stretch that hangs together may well be a part of it. A change of topic that is
announced, or that somebody asked for, is none of this.
"""

from ..answers import Evidence
from .base import NOTHING, Fading, MonitorState, Reading
from .complaints import ASTRAY, Complaints
from .departure import ENOUGH, Departure
from .detours import Detour, Detours
from .errands import Errand, Errands
from .features import StepFeatures, quote
from .monologue import Monologue
from .redirections import Redirection, Redirections
from .strangers import NAME, Strangers
from .unspoken import Unspoken
from .wishes import Wish
from .words import Phrases

COHERENT = 0.22
"""With this share of its new words from the steps before it, a step goes on with them."""
_FEWEST_NEW_WORDS = 2.0
"""A stretch with fewer new words for each step does the same to one thing after another."""
LATE = 4
"""The first step that can be late."""
_FEWEST_EARLY = 4
_FOUND = 0.65
_PER_WEIGHT = 0.05
"""A stretch that weighs more than enough scores more."""
_HINT = 0.07
"""What weighs less than enough scores so much for each unit of weight."""
_MOST_HINT = 0.34
"""The most where it is not sure."""
_COMPLAINED, _LED_ASTRAY = 2, 0.66
"""So many remarks that it is about something else, or one less where the words say so too, and what they score."""
_DETOUR, _ERRAND, _LOOSE, _OUTDONE = 0.8, 0.85, 0.65, 0.62
"""Looks at something else, look-ups for nobody, either where they do not hang together, and where it may be sprawl."""
_REDIRECTED, _FROM_THING_TO_THING = 0.8, 0.66
"""A person who wants to get back, from one other thing or from one after the other."""
_MOST_QUOTES = 3
_SHORTLY = 3
"""Steps within which somebody says so."""
_ACKNOWLEDGED = Phrases(
    "as a prerequisite, as requested, as you asked, before i can, different task, different topic, new question",
    "new request, new task, new topic, next item, next task, prerequisite*, required for, switching to, turning to",
    "unblock*, which requires, you asked",
)


class SilentTopicDrift:
    """A stretch off the topic."""

    name = NAME
    failure_type = "drift"
    description = "A stretch of steps has nothing to do with the task nor with the run before, and nobody said why."

    def start(self, task: str) -> MonitorState:
        """The memory of a run that has not begun."""
        return _State(task)


class _State:
    __slots__ = (
        "_announced",
        "_away",
        "_complaints",
        "_departure",
        "_errands",
        "_first",
        "_last",
        "_monologue",
        "_redirections",
        "_shown",
        "_strangers",
        "_task",
        "_unspoken",
        "_wished",
    )

    def __init__(self, task: str) -> None:
        self._departure = Departure(task)
        self._strangers = Strangers()
        self._errands = Errands(task)
        self._redirections = Redirections(task)
        self._shown = Fading()
        self._unspoken = Unspoken(task)
        self._wished = Wish()
        self._complaints = Complaints(ASTRAY)
        self._away = (0, 0)
        """The last step that seemed to be about something else, and how many such there were."""
        self._monologue = Monologue(task, NAME)
        self._task = quote(task)
        self._announced = False
        self._first = self._last = ""

    def observe(self, step: StepFeatures) -> Reading:
        remarks = self._complaints.listen(step)
        readings = (
            self._read_words(step),
            self._strangers.observe(step),
            self._unspoken.observe(step),
            self._monologue.observe(step),
            self._shown.next(self._show(step)),
        )
        reading = max(filter(None, readings), key=_score_of)
        if steps := len(self._departure.steps):
            self._away = (step.index, steps)
        away = self._away[1] if step.index - self._away[0] < _SHORTLY else 0
        if remarks and away and len(remarks) + (away > 1) >= _COMPLAINED and reading.score < _LED_ASTRAY:
            return _complained_of(remarks)
        self._wished.listen(step)
        return Reading(min(reading.score, _MOST_HINT), reading.evidence) if self._wished.holds else reading

    def _show(self, step: StepFeatures) -> Reading | None:
        """What a step shows about those before it: that they led nowhere, or that a person wants to get back."""
        replies, detour = self._redirections.observe(step), step.ask(Detours)
        errand = self._errands.observe(step)
        if replies:
            return _redirected(replies)
        if detour and not (detour.hops and detour.is_late):
            return _wandered(detour)
        return _for_nobody(errand) if errand else None

    def _read_words(self, step: StepFeatures) -> Reading:
        departure = self._departure
        if departure.observe(step):
            shown = step.thought_quote() or step.call_quote()
            if len(departure.steps) == 1:
                self._first = shown
                self._announced = False
            self._last = shown
            self._announced = self._announced or _ACKNOWLEDGED.are_in(step.thought, step.said)
        if len(departure.steps) < 2:
            return NOTHING
        return Reading(self._score(), self._evidence())

    def _score(self) -> float:
        departure = self._departure
        hint = min(_MOST_HINT, _HINT * departure.weight)
        if self._announced or not self._hangs_together:
            return hint / 2
        if not departure.is_stretch(_FEWEST_NEW_WORDS) or not departure.has_task:
            return hint
        return min(1.0, _FOUND + _PER_WEIGHT * (departure.weight - ENOUGH))

    @property
    def _hangs_together(self) -> bool:
        departure = self._departure
        if departure.is_one_thing or self._is_early:
            return True
        return departure.coherence >= COHERENT and departure.comes_back

    @property
    def _is_early(self) -> bool:
        """Whether it begins where nothing can be late yet: what is off the topic there is drift, coherent or not."""
        steps = self._departure.steps
        return steps[0] < LATE and len(steps) >= _FEWEST_EARLY

    def _evidence(self) -> Evidence:
        departure = self._departure
        steps = departure.steps
        task = "the task (quoted first)" if self._task else "the task"
        reason = (
            f"Of {departure.words} telling words in steps {steps[0]} to {steps[-1]} {task} and all steps before them "
            f"have {round(departure.known)}, and no reason is given for what they do."
        )
        quotes = [text for text in (self._task, self._first, self._last) if text]
        return Evidence(NAME, reason, list(steps), list(dict.fromkeys(quotes)))


def _redirected(replies: list[Redirection]) -> Reading:
    together = len(replies) == 1 or replies[0].subject & replies[-1].subject
    reason = "The person is told about something that they did not ask for, and comes back to what they came for."
    evidence = Evidence(NAME, reason, [one.index for one in replies], [one.reply for one in replies])
    return Reading(_REDIRECTED if together else _FROM_THING_TO_THING, evidence)


def _wandered(detour: Detour) -> Reading:
    looked = f"Nothing led to what was looked at in steps {detour.steps[0]} to {detour.steps[-1]}, and "
    after = "the step after them goes on with what was done before and has nothing of it."
    reason = looked + (after if detour.over else "hardly a word of it was in the task or in any step before.")
    evidence = Evidence(NAME, reason, detour.steps, detour.quotes[:_MOST_QUOTES])
    # Where it is late, one thing after another is rather sprawl.
    return Reading(_DETOUR if detour.one_thing else _OUTDONE if detour.is_late else _LOOSE, evidence)


def _for_nobody(errand: Errand) -> Reading:
    reason = (
        f"What was looked up or noted in steps {errand.steps[0]} to {errand.steps[-1]} has to do with nothing that "
        "anybody said, nor with any result before, and what was then said or done has nothing of it."
    )
    evidence = Evidence(NAME, reason, errand.steps, errand.quotes[:_MOST_QUOTES])
    return Reading(_OUTDONE if errand.after_deed else _ERRAND if errand.one_thing else _LOOSE, evidence)


def _complained_of(remarks: list[tuple[int, str]]) -> Reading:
    reason = "The person says that this is not what they came for, and nobody said why it is talked about."
    quotes = [quote(remark) for _, remark in remarks]
    return Reading(_LED_ASTRAY, Evidence(NAME, reason, [index for index, _ in remarks], quotes))


def _score_of(reading: Reading) -> float:
    return reading.score
