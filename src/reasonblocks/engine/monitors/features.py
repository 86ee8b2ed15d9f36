"""What the monitors look at: the features of one step, read once and handed to all of them.

Texts may be 64,000 characters long. Digests cover all of it, words and phrases only the head and the tail.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, filterfalse
from operator import itemgetter
from typing import Any

import msgspec

from .provenance import NO_IDS, Origin, Provenance
from .roles import Role, role_of
from .terms import Terms, parted
from .topics import StepTopic, read_topic
from .words import Sentence, WordSet, number_set, split, split_sentences, word_set

_QUOTE = 100
"""How long a quotation may be."""
_THOUGHT_HEAD, _THOUGHT_TAIL = 3_000, 1_000
_RESULT_HEAD, _RESULT_TAIL = 900, 600
_MOST_DECODED = 8_000
"""Longer arguments are not taken apart."""
_MOST_GIVEN = 2_000
"""Characters of the arguments whose words are looked at."""
_BEGINS_JSON = '{["-0123456789tfn'
_MOST_LEAVES = 64
_DEEPEST = 4
_CONTAINERS = (dict, list)
_WORDS_OF = itemgetter(1)
"""Of a sentence."""

_FAILURE_WORDS = frozenset(
    "cannot command could denied error errors exception exit exitcode fail failed failure fatal file invalid "
    "permission returncode traceback unable".split()
)
"""Without one of these no result says that something failed; most results are done with that."""
_COUNTS_SOMETHING = (
    r"(?![\"']?\s{0,2}[:=]?\s{0,2}(?:0\b(?!\.\d)|\[\]|\{\}|\"\"|''"
    r"|(?:false|nil|no|none|null)(?=\s{0,2}(?:[,;}\n]|\Z))))"
)
"""After a word of failure: what follows does not say that there was none."""
_SUCCEEDS_AT_START = re.compile(r"\W{0,3}(?:return ?code|exit ?code|exit ?status)\W{1,3}0\b", re.IGNORECASE)
_FAILS_AT_START = re.compile(
    r"\W{0,3}(?:error|exception|fatal|failed|failure|traceback|invalid|unable to|cannot|could not|permission denied)\b"
    + _COUNTS_SOMETHING
    + r"|\W{0,3}(?:return ?code|exit ?code|exit ?status)\W{1,3}[1-9]",
    re.IGNORECASE,
)
_FAILURES = ("Exception: ", "Traceback (most recent call last)", "No such file or directory", ": command not found")
_ERROR = re.compile(r"Error: (?:(?<=\wError: )|(?!-?\d{0,9}\.\d|0\b|(?:[Ff]alse|nil|None|none|null)(?:[,;}\n]|\Z)))")
"""The name of a kind of error, or any error; but not a figure that is called so, as a mean error is."""
_FAILS = re.compile(
    rf"\b[1-9]\d* failed\b|^(?:FAIL|FAILED|ERROR)\b(?i:{_COUNTS_SOMETHING})"
    + r"|\bexit(?:ed with)? (?:code|status):? [1-9]",
    re.MULTILINE,
)
_IN_FAILS = ("failed", "FAIL", "ERROR", "exit")
"""One of these is in whatever matches: to look for a text is many times as fast as to match."""
UNFINISHED = frozenset(
    "background building creating deploying downloading enqueued executing inprogress initialising initializing "
    "installing launching loading ongoing pending preparing processing progress provisioning queued rebooting "
    "restarting running scheduled starting stopping submitted still syncing unfinished updating uploading wait "
    "waiting yet containercreating".split()
)
_UNDER_WAY = re.compile(
    r"(?:phase|stage|state|status)[\"']?\W{1,4}[\w-]{0,30}(?<!miss)(?<!fail)(?<!exist)(?<!warn)ing\b", re.IGNORECASE
)
"""A state in -ing that is none to stay in."""
_LONGEST_STATUS = 400
"""A longer result is not a mere report of how far something is."""
_CHANGING = re.compile(r"[\da-f](?:(?<=0)x[0-9a-f]+|(?<=[0-9a-f])(?<!\w.)[0-9a-f]{7,}\b|(?<=\d)\d*(?:[.,:]\d+)*)")
"""What differs between two results of the same shape, besides blanks: numbers, addresses, hashes."""


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
        return _digest(f"{head}{thought}{action}{given}{result}", 16)


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

    __slots__ = ("_provenance", "_roles", "length")

    def __init__(self, task: str = "", roles: Mapping[str, Role] | None = None) -> None:
        self._provenance = Provenance(task)
        self._roles = roles
        self.length = 0
        """How many steps have been read."""

    def read(self, step: ObservedStep) -> StepFeatures:
        """The features of the next step."""
        features = read_step(self.length, step, self._roles, self._provenance)
        self.length += 1
        return features


def read_step(
    index: int,
    step: ObservedStep,
    roles: Mapping[str, Role] | None = None,
    provenance: Provenance | None = None,
) -> StepFeatures:
    """The features of the step at `index` of its run; `roles` says what tools do where that is known.

    `provenance` is what is known of the ids of the run so far, and takes the step in; without it none is from nowhere.
    """
    thought = _head_and_tail(step.thought, _THOUGHT_HEAD, _THOUGHT_TAIL)
    sentences = split_sentences(thought)
    said = list(chain.from_iterable(map(_WORDS_OF, sentences)))
    words = set(said)
    codes = list(filterfalse(str.isalpha, words))
    action = step.action[:_MOST_DECODED]
    leaves = _leaves(step.action_input)
    arguments = "\n".join(leaves)
    looked_at = arguments[:_MOST_GIVEN]
    given = set(split(looked_at))
    fixed, plain = parted(action, leaves)
    result = _head_and_tail(step.observation, _RESULT_HEAD, _RESULT_TAIL)
    heard = set(split(result))
    result_words = word_set(heard)
    failed = step.is_error or (not heard.isdisjoint(_FAILURE_WORDS) and _says_failed(result))
    return StepFeatures(
        # In the order of the fields: by their names it takes ten times as long.
        index,
        thought,
        said,
        codes,
        word_set(words),
        number_set(codes),
        sentences,
        action,
        _tool(action),
        role_of(action, leaves, roles, given if len(arguments) <= _MOST_GIVEN else None),
        arguments,
        given,
        word_set(given),
        _key(f"{step.action}\n{step.action_input}" if action else step.thought),
        _digest("\n".join(fixed)),
        Terms(fixed, plain),
        _key(step.observation),
        result,
        step.observation,
        heard,
        result_words,
        number_set(heard),
        len(step.observation),
        failed,
        _key(_shape(result)) if failed else b"",
        len(result) <= _LONGEST_STATUS and _says_unfinished(result, heard),
        read_topic(thought, words, codes, looked_at, given, result, heard),
        not action,
        _origin(provenance, action, arguments, thought, step.observation, result_words),
    )


def _origin(
    provenance: Provenance | None, action: str, arguments: str, thought: str, observation: str, heard: WordSet
) -> Origin:
    """Where the ids of a step come from, which is known from now on."""
    if provenance is None:
        return NO_IDS
    return provenance.watch(arguments, observation, heard) if action else provenance.listen(thought, observation)


def quote(text: str, limit: int = _QUOTE) -> str:
    """The beginning of a text on one line, cut to what a quotation may be."""
    line = " ".join(text[: 3 * limit].split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def _says_failed(result: str) -> bool:
    if _SUCCEEDS_AT_START.match(result):
        return False  # whatever error it goes on to speak of
    if _FAILS_AT_START.match(result) or any(map(result.__contains__, _FAILURES)):
        return True
    if "Error: " in result and _ERROR.search(result):
        return True
    return any(map(result.__contains__, _IN_FAILS)) and _FAILS.search(result) is not None


def _shape(result: str) -> str:
    """A result with one blank for whatever changes from one time to the next."""
    line = " ".join(result.lower().split())
    if not line:
        return result and " "
    start, end = " " if result[0].isspace() else "", " " if result[-1].isspace() else ""
    return _CHANGING.sub(" ", f"{start}{line}{end}")


def _says_unfinished(result: str, words: set[str]) -> bool:
    if not words.isdisjoint(UNFINISHED) or words >= {"no", "new"}:
        return True
    if "ready" in words and not words.isdisjoint(("not", "false")):
        return True
    lowered = result.lower()
    return "ing" in lowered and ("sta" in lowered or "phase" in lowered) and _UNDER_WAY.search(result) is not None


def _head_and_tail(text: str, head: int, tail: int) -> str:
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[-tail:]}"


def _digest(text: str, size: int = 8) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def _key(text: str) -> bytes:
    """The same for the same text while this process lives, and so does every run: a digest takes many times as long."""
    return hash(text).to_bytes(8, "little", signed=True)


@lru_cache(maxsize=1_024)
def _tool(action: str) -> bytes:
    return _digest(action)


def _leaves(arguments: str) -> list[str]:
    """The values of the arguments without their names; where they are not JSON, all of it is one value."""
    if not arguments:
        return []
    if len(arguments) > _MOST_DECODED:
        return [_head_and_tail(arguments, _THOUGHT_HEAD, _THOUGHT_TAIL)]
    if arguments.lstrip()[:1] not in _BEGINS_JSON:
        return [arguments]  # quickly said of most that is none
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return [arguments]
    leaves: list[str] = []
    _collect(value, leaves, 0)
    return leaves


def _collect(value: Any, leaves: list[str], depth: int) -> None:
    if len(leaves) >= _MOST_LEAVES:
        return
    if isinstance(value, str):
        leaves.append(value)
    elif isinstance(value, _CONTAINERS) and depth < _DEEPEST:
        for item in value.values() if isinstance(value, dict) else value:
            _collect(item, leaves, depth + 1)
    elif value is not None:
        leaves.append(str(value)[:_QUOTE])
