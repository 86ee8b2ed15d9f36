"""What a message reports as done by somebody: deeds that a call has to do."""

import re
from itertools import islice

from .features import quote
from .quick import lower, quick, quick_phrases
from .words import WordSet, phrases, split, word_set

_MOST_MATCHES = 32
_BEFORE = 120
"""Characters around a word that say what it is about."""
_SENTENCE_END = re.compile(r"[.!?\n]|\\n")
_EFFECT = re.compile(
    r"(?:activat|add|adjust|appl|approv|arrang|assign|book|cancel+|chang|charg|clos|complet|correct|credit|deactivat"
    r"|delet"
    r"|disabl|downgrad|enabl|exchang|execut|fil|finalis|finaliz|fix|fulfil+|handl|initiat|issu|modif|mov|plac|process"
    r"|purchas|rebook|refund|refuel|register|remov|renew|replac|reschedul|reserv|resolv|restor|resum|return|revers"
    r"|schedul"
    r"|submitt|suspend|swapp|switch|transferr|updat|upgrad|waiv)(?:i?ed)|sent|reset|made|done|set|put",
    re.IGNORECASE,
)
"""Deeds that a call has to do."""
_REPORTS = quick(
    r"i['\u2019]ve|we['\u2019]ve|i have|we have|has (?:now |just |already )?been|have (?:now |just |already )?been"
    r"|is now|are now|successfully|i(?= (?:just |now |also )?\w+ed\b)|went ahead and"
    r"|was able to(?! (?:access|check|confirm|find|identify|locate|look|pull|review|see|verify)\b)"
    r"|on its way|in effect"
    r"|that['\u2019]s done|wraps (?:it|this|that) up|in order now|consider it done"
    r"|all set|taken care of|all done|went through|gone through|(?:is|it['\u2019]s) (?:all )?(?:arranged|done"
    r"|complete|settled|sorted)"
    r"|done(?=[.!,])|all sorted(?=[.!,])|completed(?=[.!,])|finished(?=[.!,])"
)
"""Words that a report begins with, or is."""
_ADVERBS = frozenset("now just also already both successfully been fully all since gone ahead and".split())
_MOST_ADVERBS = 4
_NOT_REPORTED = quick_phrases(
    "after, already, another customer, another guest, another passenger, as soon as, attempted, before, can be, cannot",
    "could, couldn't, earlier, every, fail*, if, it seems, not, now that, once, previously, reject*, somebody, someone",
    "tried, unable, unfortunately, unless, until, when, whether, will be, would, you have, you've",
)
_ALL_OF_IT = phrases(
    "all changes, all of, all three, all your, all the, all set, as well as, both, each, everything, every one",
    "everything is, the lot, whole",
)
"""A message with one of these is about more than one deed."""
_NONE = re.compile(r"\b(?:no|none|nothing)\b", re.IGNORECASE)
"""Before a deed it was not done; after it, only something about it is not there: `at no cost`."""


def speaks_of_all(text: str) -> bool:
    """Whether a message is about all that was to be done."""
    return _ALL_OF_IT.search(text) is not None


def reported_deeds(text: str) -> list[tuple[str, WordSet]]:
    """What a message reports as done: each time the sentence and the stem of the deed, 0 where it only says `done`."""
    found = []
    lowered = lower(text)
    for start, end in islice(_REPORTS.places(lowered), _MOST_MATCHES):
        before = _SENTENCE_END.split(text[max(0, start - _BEFORE) : start])[-1]
        after = _SENTENCE_END.split(text[end : end + _BEFORE])[0]
        deed = _deed(lowered[start:end], before, after)
        if deed is None:
            continue
        sentence = f"{before}{text[start:end]}{after}"
        if not _NOT_REPORTED.are_in(lower(sentence)) and _NONE.search(before) is None:
            found.append((quote(sentence.strip()), deed))
    return found


def _deed(start: str, before: str, after: str) -> WordSet | None:
    """The deed that follows the words that begin a report; `None` if there is none."""
    if not start.endswith(("ve", "been", "is now", "are now", "fully", "i", "and")):
        return 0
    following = split(after)[: _MOST_ADVERBS + 1]
    if start == "successfully":
        following += split(before)[-1:]
    for word in following:
        if _EFFECT.fullmatch(word):
            return word_set([word])
        if word not in _ADVERBS and start != "successfully":
            break
    return None
