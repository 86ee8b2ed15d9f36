"""How a person takes part: what they make their own, what they ask back, and what is said with them in mind."""

import re
from collections.abc import Iterable

from .features import StepFeatures
from .words import Phrases, split

_DOES_SO = re.compile(
    r"\b(?:did|done|tried|trying|will do|will try|still|nothing (?:changed|happen(?:s|ed)|yet)|now it"
    r"|it(?: now| just| is)? (?!(?:can|does|is|may|might|must|seems?|should|sounds|was|will|would)\b)"
    r"(?:\w+ing|\w+ed|\w+s|went|came))\b"
)
"""Whoever was told what to do tells how that went."""
_AT_LENGTH = 12
"""Words of an answer with which a person takes the matter up."""
_ASKS = 5
"""Words of a question, or of a wish, that is a person's own."""
_WISHES = Phrases("can you, could you, i need, i want, i would like, i'd like, please, would you")
_FOR_MORE = Phrases(
    "a different one, a further one, a better one, a cheaper one, a few more, another one, another option",
    "any alternative, any alternatives, any others, any other options, anything cheaper, anything else",
    "anything better, else have you got, else do you have, else is there, go on to the next, keep looking",
    "let me see more, let's see more, more options, move on to the next, next one, next option, other choices",
    "other options, rather see, see another, see others, show me another, show me more, show me others",
    "show me something, something cheaper, something different, something else, something other, the following one",
    "the other ones, the others, try another, try the next",
)
"""Whoever turns down one thing and wants to see the next has asked for it."""
_ENDS = frozenset("bye goodbye thank thanks".split())
_GOES_ON = frozenset("also and but can could however now please still would".split())
"""Words of a reply that does not end with its thanks."""
_REFERS = frozenset("he him it she them then they".split())
_AT_ONCE = 3
"""Words within which a reference cannot be to what the text itself has said."""
_SHORT_TEXT = 30


def refers(step: StepFeatures) -> bool:
    """Whether a short message refers to what was said before it: early on, so that it cannot be to itself."""
    if not step.speaks_only or len(step.said) > _SHORT_TEXT:
        return False
    return not _REFERS.isdisjoint(step.said[:_AT_ONCE])


def takes_up(step: StepFeatures) -> bool:
    """Whether a person makes the matter their own: they speak at length, wish for more, or do as told."""
    answer = step.result_excerpt
    words = split(answer)
    if len(words) >= _AT_LENGTH or wants_more(answer, words) or does_so(answer) or _answers(step, words):
        return True
    return len(words) >= _ASKS and ("?" in answer or _WISHES.are_in(answer, words))


def _answers(step: StepFeatures, words: list[str]) -> bool:
    """Whether a question is answered with something that was not in it, rather than with a nod."""
    return step.thought.rstrip().endswith("?") and step.topic.brought & ~step.topic.spoken != 0


def wants_more(answer: str, words: Iterable[str]) -> bool:
    """Whether a person wants to be shown the next of a kind; given the words of the answer."""
    return _FOR_MORE.are_in(answer, words)


def does_so(answer: str) -> bool:
    """Whether a person does what the messages lead them through."""
    return _DOES_SO.search(answer.lower()) is not None


def asks_back(step: StepFeatures) -> bool:
    """Whether a person wants to know more about what was said."""
    return "?" in step.result_excerpt and step.topic.brought & step.topic.said != 0


def is_content(step: StepFeatures) -> bool:
    """Whether a reply only thanks, or says good-bye: there is nothing left to be done for them."""
    words = step.heard
    return not _ENDS.isdisjoint(words) and _GOES_ON.isdisjoint(words) and "?" not in step.observation
