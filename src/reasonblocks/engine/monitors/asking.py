"""Whether somebody is asked again for what was told already: two questions, and above all two answers, compared.

A question can be put in words that have nothing in common with those of the last one. The answer gives it away: whoever
has to tell the same once more tells the same.
"""

import re

from .features import StepFeatures
from .quick import lower, quick
from .words import WordSet, covered, size, split, word_set

_LONGEST_ANSWER = 240
"""Characters of an answer that tells one thing."""
_MOST_ASKED = 24
"""Words of a question that is no more than one."""
_KNOWN, _SAME_ANSWER = 0.6, 0.5
"""Of the words of an answer that had been told, and of the words of that earlier one; but for those about telling."""
_REQUESTS = quick(
    "please|kindly|tell me|give me|send me|let me know|i need|i still need|provide|specify|confirm|indicate"
)
_AGREES = re.compile(
    r"\W*(?:yes|yeah|yep|yup|no|nope|ok|okay|correct|right|great|perfect|alright|all right|go ahead|proceed)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not|no(?! (?:change|other)\b)|never|none|nothing(?! (?:else|new|other)\b)|cannot|without)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
WORDS_ABOUT_TELLING = (
    "already before earlier mention mentioned mean meant said say saying told tell telling repeat repeating repeated "
    "answer answered above previously thanks thank hello sorry simply exactly course surely sure".split()
)
ABOUT_TELLING = word_set(WORDS_ABOUT_TELLING)
"""Words in which an answer that is given again differs from the first one."""


def answer_of(step: StepFeatures) -> WordSet:
    """What somebody told who was asked for one thing: its words and numbers; empty if it is not such a question."""
    if step.result_size > _LONGEST_ANSWER or not step.result_size or step.failed:
        return 0
    if step.speaks_only:
        question, words = step.thought, step.thought_words
    elif "?" in step.arguments:
        question, words = step.arguments, step.call_words
    else:
        return 0
    if size(words) > _MOST_ASKED or not ("?" in question or _REQUESTS.are_in(lower(question))):
        return 0
    answer = step.result_excerpt
    if "?" in answer or _AGREES.match(answer) or _DENIES.search(answer.split(". ", 1)[0]):
        return 0  # whoever asks back, agrees or says that it did not help does not tell anything
    return (word_set([word for word in split(answer) if word.isalpha()]) & ~ABOUT_TELLING) | step.result_numbers


def asks_for_something(step: StepFeatures) -> bool:
    """Whether a message asks a person for something."""
    return "?" in step.thought or _REQUESTS.are_in(lower(step.thought))


def told_again(earlier: WordSet, now: WordSet) -> bool:
    """Whether two answers tell the same."""
    if not earlier & now:
        return False
    known = covered(now, earlier)
    return known == 1.0 or (known >= _KNOWN and covered(earlier, now) >= _SAME_ANSWER)
