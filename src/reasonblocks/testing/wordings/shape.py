"""What a set of wordings has to bring. Names in braces are filled with words of the run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Phrases = tuple[str, ...]
Ground = Literal["code", "service", "any"]


def lines(*parts: str) -> str:
    """A text of several lines."""
    return "\n".join(parts)


class Claim(NamedTuple):
    """A statement about {x} and one that cannot be true beside it; {y}, {a} and {b} are other things and values."""

    ground: Ground
    first: str
    later: str


@dataclass(frozen=True, kw_only=True)
class Wordings:
    """One set of wordings."""

    # Loops.
    once_more: Phrases
    """Before the same call is made again; {it} is what the call is about."""
    hopeful: Phrases
    """Before a failing call is made again."""
    to_and_fro: Phrases
    """Before one of two calls that take turns."""
    rephrased: Phrases
    """Before a search in other words."""
    synonyms: Mapping[str, Phrases]
    """Other words for a word, in searches."""
    fillers: Phrases
    """What can be put around a {query} without changing it."""
    questions: Mapping[str, Phrases]
    """Ways to ask a customer for one and the same thing."""
    answered_again: Phrases
    """What the customer says who is asked again; {value} is the answer."""
    shell_errors: Phrases
    """{file}, {command}, {number} and {time}."""
    tool_errors: Phrases
    """{field} and {value} of the call, {number}."""

    # Conclusions.
    finished_code: Phrases
    """The end of a coding task; {file} is what was changed."""
    finished_terse: Phrases
    finished_service: Phrases
    """To a customer, after {deed} of {it}."""
    finished_solo: Phrases
    """Where no customer listens."""
    failed_tests: Phrases
    """The output of tests that fail; {file}, {test}, {symbol}, {number}, {small}."""
    failed_scripts: Phrases
    failed_builds: Phrases

    # Claims.
    claims: tuple[Claim, ...]
    stated: Phrases
    """How a claim is brought in; {claim} begins with a capital letter, {low} with a small one."""
    stated_service: Phrases
    """The same to a customer."""
    turned: Phrases
    """How the opposite is brought in, without a word about the first."""
    turned_service: Phrases
    values_first: Phrases
    """That the {name} of {it} is {value}."""
    values_later: Phrases
    admitted: Phrases
    """How the opposite is brought in by somebody who says that it was wrong, and why; {evidence} is a source."""

    # Summaries.
    summary_heads: Phrases
    """{task} is what the task is about."""
    summary_marks: Phrases
    """What items of a list begin with; {n} is their number."""
    summary_tails: Phrases
    items_code: Phrases
    """What was done with {file} or {symbol}."""
    items_service: Phrases
    """What is known about {key} {value}."""
    idle_commands: tuple[tuple[str, str], ...]
    """Commands that do nothing, and what they print."""
    summary_plain: Phrases
    """Whole summaries in running text; {one}, {two} and {three} are items."""

    # Tangents.
    tangents: Phrases
    """Before something new is opened; {it} is what it is about."""
    shell_tangents: tuple[tuple[str, str, str], ...]
    """A topic, a command and what it prints."""
    customer_tangents: tuple[tuple[str, str], ...]
    """What the agent brings up, and what the customer says to it."""
    neutral_answers: Phrases
    """What a customer says who waits."""

    # Healthy work that looks like a failure.
    bulk: Phrases
    """The next of many: {it}, {n} of {total}."""
    next_page: Phrases
    """{n} is the page or part."""
    launching: Phrases
    """Before something long is started."""
    waiting: Phrases
    waiting_states: tuple[tuple[str, str], ...]
    """A state that is not the last, and the last one."""
    still_failing: Phrases
    """Before a change that should help; {error} is what was seen."""
    fixed: Phrases
    """Before the check is made again."""
    looking_again: Phrases
    """Before something changed is read again."""
    hypotheses: Phrases
    """What might be wrong with {symbol}."""
    bulk_commands: tuple[tuple[str, str], ...]
    """A command for each of many files, and what it prints; {file}, {a}, {word}."""
    long_commands: tuple[tuple[str, str, str], ...]
    """What starts {check}, what asks how far it is, and what that prints; {log}, {state}, {n} of {total}."""
    edit_commands: Phrases
    """Changes of {file}; {line}, {old} and {new}."""
    probes: tuple[tuple[str, str], ...]
    """Commands that show something new about {symbol} in {file}, and what they show; {a} and {b} are numbers."""
    passing_tests: Phrases
    """The output of a check that passes; {number}."""
    offers: tuple[tuple[str, str], ...]
    """What is found for {value}, and why the customer wants something else; {a} is a price."""
