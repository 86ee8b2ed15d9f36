"""What the monitors look at: the features of one step, read once and handed to all of them.

Texts may be 64,000 characters long. Digests cover all of it, words and phrases only the head and the tail.
"""

from collections.abc import Callable, Mapping

import msgspec

from .calls import read_call
from .excerpts import LONGEST_VALUE, digest, head_and_tail, key
from .provenance import NO_IDS, Origin, Provenance
from .results import read_result, shape_of
from .roles import Role, role_of
from .shared import Observer, Shared, Told
from .terms import Terms
from .thoughts import read_thought
from .topics import StepTopic, topic_of_step
from .words import Sentence, WordSet

_RESULT_HEAD, _RESULT_TAIL = 900, 600


class ObservedStep(msgspec.Struct, frozen=True, gc=False):
    """One step as it happened, whoever reported it."""

    thought: str = ""
    action: str = ""
    action_input: str = ""
    observation: str = ""
    is_error: bool = False

    @classmethod
    def of(
        cls,
        thought: str | None,
        action: str | None,
        action_input: str | None,
        observation: str | None,
        is_error: bool | None,
    ) -> "ObservedStep":
        """From the fields of the wire, where anything may be null."""
        return cls(thought or "", action or "", action_input or "", observation or "", bool(is_error))

    def digest(self) -> bytes:
        """What tells this step from any other."""
        thought, action, given, result = self.thought, self.action, self.action_input, self.observation
        head = f"{self.is_error} {len(thought)} {len(action)} {len(given)} "
        return digest(f"{head}{thought}{action}{given}{result}", 16)


class StepFeatures(msgspec.Struct, frozen=True, gc=False):
    """What one step says, does and gets back, ready to be compared."""

    index: int
    thought: str
    """Head and tail of it."""
    said: list[str]
    """The words of it, in their order."""
    codes: list[str]
    """Those of them that are more than letters; without any there is no digit in the thought."""
    thought_words: WordSet
    thought_numbers: WordSet
    sentences: list[Sentence]
    """Those of the thought, each with its words."""
    action: str
    tool: bytes
    """The same for calls of the same tool."""
    role: Role
    arguments: str
    """The values the call was given."""
    command: str
    """The same, without what describes it: what is run, where a call hands something over to be run."""
    given: set[str]
    """The words of them, as far as they are looked at..."""
    given_words: WordSet
    """...and their stems."""
    call: bytes
    """The same for the same call; of a step without one, for the same thought."""
    target: bytes
    """The same for calls that differ in plain words alone: same tool, same paths, ids, flags and numbers."""
    terms: Terms
    """The words of the call, plain ones apart from names."""
    result: bytes
    """The same for the same result."""
    result_excerpt: str
    """Head and tail of it."""
    observation: str
    """All of it."""
    heard: set[str]
    """The words of the excerpt."""
    result_words: WordSet
    result_numbers: WordSet
    result_size: int
    failed: bool
    failure: bytes
    """The same for failures that differ in numbers, hashes and blanks alone; empty if nothing failed."""
    unfinished: bool
    """The result says that something elsewhere still goes on."""
    topic: StepTopic
    """The words that are peculiar to it."""
    speaks_only: bool
    """Whether the step has no call at all."""
    origin: Origin
    """Where its ids come from, as far as the run before it is known."""
    shared: Shared | None = None
    """What monitors find out together about the run; `None` where the run before it is not known."""

    def ask(self, kind: Callable[[str], Observer["StepFeatures", Told | None]]) -> Told | None:
        """What an observer of the run says to this step, found out once for all monitors."""
        return self.shared.ask(kind, self.index, self) if self.shared else None

    @property
    def call_words(self) -> WordSet:
        """The plain words of the call."""
        return self.terms.words

    @property
    def call_names(self) -> WordSet:
        """What of the call is more than plain words: the tool, paths, ids, flags and numbers, in any order."""
        return self.terms.names

    @property
    def call_parts(self) -> WordSet:
        """The same with the plain words, all as they are written."""
        return self.terms.parts

    def call_quote(self) -> str:
        """The call as a quotation; of a step without one, the thought."""
        return quote(f"{self.action} {self.arguments}" if self.action else self.thought)

    def thought_quote(self) -> str:
        """The thought as a quotation."""
        return quote(self.thought)

    def result_quote(self) -> str:
        """The result as a quotation."""
        return quote(self.result_excerpt)


class StepReader:
    """Reads the steps of one run, in their order."""

    __slots__ = ("_provenance", "_roles", "_shared", "length")

    def __init__(self, task: str = "", roles: Mapping[str, Role] | None = None) -> None:
        self._provenance = Provenance(task)
        self._shared = Shared(task)
        self._roles = roles
        self.length = 0
        """How many steps have been read."""

    def read(self, step: ObservedStep) -> StepFeatures:
        """The features of the next step."""
        features = read_step(self.length, step, self._roles, self._provenance, self._shared)
        self.length += 1
        return features


def read_step(
    index: int,
    step: ObservedStep,
    roles: Mapping[str, Role] | None = None,
    provenance: Provenance | None = None,
    shared: Shared | None = None,
) -> StepFeatures:
    """The features of the step at `index` of its run; `roles` says what tools do where that is known.

    `provenance` is what is known of the ids of the run so far, and takes the step in; without it none is from nowhere.
    `shared` is what monitors find out together about the run.
    """
    thought = head_and_tail(step.thought)
    said = read_thought(thought)
    call = read_call(step.action, step.action_input)
    action, arguments = call.action, call.arguments
    excerpt = head_and_tail(step.observation, _RESULT_HEAD, _RESULT_TAIL)
    result = read_result(excerpt)
    failed = step.is_error or result.failed
    return StepFeatures(
        # In the order of the fields: by their names it takes ten times as long.
        index,
        thought,
        said.said,
        said.codes,
        said.words,
        said.numbers,
        said.sentences,
        action,
        call.tool,
        role_of(action, call.leaves, roles, call.given if call.whole else None) if roles else call.role,
        arguments,
        call.command,
        call.given,
        call.given_words,
        call.call if action else key(step.thought),
        call.target,
        call.terms,
        key(step.observation),
        excerpt,
        step.observation,
        result.heard,
        result.words,
        result.numbers,
        len(step.observation),
        failed,
        key(shape_of(excerpt)) if failed else b"",
        result.unfinished,
        topic_of_step(said.topic, call.topic, result.topic, result.topic_size),
        not action,
        _origin(provenance, action, arguments, thought, step.observation, result.words, failed),
        shared,
    )


def _origin(
    provenance: Provenance | None,
    action: str,
    arguments: str,
    thought: str,
    observation: str,
    heard: WordSet,
    failed: bool,
) -> Origin:
    """Where the ids of a step come from, which is known from now on."""
    if provenance is None:
        return NO_IDS
    if not action:
        return provenance.listen(thought, observation)
    return provenance.watch(arguments, observation, heard, failed)


def quote(text: str, limit: int = LONGEST_VALUE) -> str:
    """The beginning of a text on one line, cut to what a quotation may be."""
    line = " ".join(text[: 3 * limit].split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"
