"""The clauses of a sentence that may state a fact, without plans, conditions, instructions and lines of a listing."""

import re
from functools import lru_cache

from .claim_words import (
    AUXILIARIES,
    BEFORE_KNOWING,
    BEFORE_OBJECTS,
    CASES,
    CONDITIONS,
    JOINS,
    KNOWS,
    LABELS,
    LEADS_IN,
    NO_VERB,
    NOT_A_CLAIM,
    SPEAKERS,
    STATES,
    TELLS,
    TOLD,
)
from .words import split

_LONGEST = 60
"""Words of a sentence; longer ones are lists or code."""
_MOST_WORDS = 36
_MOST_CLAUSES = 6
_PARTS = re.compile(r":\s|;\s")
# A pattern that begins with one of a few signs is found many times as fast.
_MARKS = r"[,)\s](?:(?<=[,)])\s|(?<=\s)(?:[\u2014\u2013-]\s|\())"
_CLAUSES = re.compile(_MARKS)
_JOINED_CLAUSES = re.compile(rf"{_MARKS}|\b(?:because|since|so|and therefore|which means|given)\b")
"""Where one of the words is that join clauses; to look for them takes many times as long."""
_LISTING = re.compile(
    r"\s*(?:\d+\s|#+\s|from \S+ import |import |[>|+\u201c]|//|\"(?![\w ]{1,30}\":)|[-+]\s{2,}"
    r"|(?:[-*\u2022\u2013]|\d+[.)])\s+[^:]{1,60}:)"
)
"""Lines of a file or of a difference between two, comments, headings, rows of a table, items with a label."""
_FIRST_OF_LISTINGS = "fi"
_VERBAL = re.compile(r"[ds](?:(?<=\w\wed)|(?<=\w[^\Ws]s))\b")
"""A word with the ending of a verb; a pattern that begins with one of a few letters is found many times as fast."""
_NO_VERB_ENDINGS = ("s", "ed", "ing", "ly")
_AROUND = ".,;:!?()*\"'\u2019\u201c\u201d"
_FARTHEST_TELLING = 4


def clauses_of(sentence: str, words: list[str]) -> list[str]:
    """The clauses of a sentence that may claim something, given the words of all of it."""
    if not 2 < len(words) <= _LONGEST or sentence.rstrip().endswith(("?", ":")) or not _has_verb(sentence, words):
        return []
    if _is_listing(sentence) or _tells_to_do(sentence, words):
        return []
    parts = _PARTS.split(sentence) if ": " in sentence or "; " in sentence else [sentence]
    if len(parts) > 1 and not LABELS.isdisjoint(words) and not LABELS.isdisjoint(split(parts[0])):
        return []
    conditional, joined = not CONDITIONS.isdisjoint(words), not JOINS.isdisjoint(words)
    clauses: list[str] = []
    for part in parts:
        if not conditional or CONDITIONS.isdisjoint(split(part)):
            clauses += _clauses(part, joined) if joined or _may_have_clauses(part) else [part]
    if "that" in words:  # "note that ..." says what follows it; "the one that ..." does not
        clauses += [clause.partition(" that ")[2] for clause in clauses]
    if clauses == [sentence]:
        return clauses if _says_something(sentence, words) else []
    return list(filter(_may_claim, clauses))


def without_lead_in(words: list[str]) -> list[str]:
    """The plain words of a clause without those in front that say only that somebody knows the rest."""
    start = 0
    while start < len(words) and words[start] in LEADS_IN:
        start += 1
    words = words[start:]
    return words[_spoken_of(words) :]


def is_fragment(clause: str, words: list[str], named: bool) -> bool:
    """Whether a clause has no verb or no subject among its plain words, or says that something is so no more."""
    first = words[0]
    if first == "to" or ("longer" in words and "no" in words):
        return True
    if STATES.isdisjoint(words):
        if len(words) == 1:
            return not (named and first.endswith("s"))
        # A noun at the end may look like a verb.
        return not any(len(word) > 3 and word.endswith(("ed", "s")) for word in words[:-1])
    if first not in STATES or not (first.endswith("s") or first in AUXILIARIES):
        return False
    return clause.split(None, 1)[0].strip(_AROUND).lower() == first


def _is_listing(sentence: str) -> bool:
    first = sentence.lstrip()[:1]  # most sentences begin with a letter, and few of these lines do
    return (not first.isalpha() or first in _FIRST_OF_LISTINGS) and _LISTING.match(sentence) is not None


def _has_verb(text: str, words: list[str]) -> bool:
    """Whether there is a verb in it: one of those that state, or a word with the ending of one."""
    return not STATES.isdisjoint(words) or _VERBAL.search(text) is not None


@lru_cache(maxsize=2_048)
def _may_claim(clause: str) -> bool:
    return bool(clause) and _says_something(clause, split(clause))


def _says_something(clause: str, words: list[str]) -> bool:
    return 1 < len(words) <= _MOST_WORDS and NOT_A_CLAIM.isdisjoint(words) and _has_verb(clause, words)


def _tells_to_do(sentence: str, words: list[str]) -> bool:
    """Whether a sentence is an instruction: it begins with a verb whose object follows at once."""
    first, second = words[0], words[1]
    if second not in BEFORE_OBJECTS or first in NO_VERB or first.endswith(_NO_VERB_ENDINGS):
        return False
    return sentence.lower().partition(first)[2][:1] == " "  # and not `Right: the ...`


def _may_have_clauses(part: str) -> bool:
    return ", " in part or "(" in part or " - " in part or not part.isascii()


def _clauses(part: str, joined: bool) -> list[str]:
    """The clauses of a part of a sentence; the case that one begins with belongs to what is said of it."""
    clauses = (_JOINED_CLAUSES if joined else _CLAUSES).split(part, _MOST_CLAUSES)
    if "`" in part:
        clauses = _with_whole_quotes(clauses)
    if len(clauses) > 1:
        first = split(clauses[0])
        if first[:1] and first[0] in LEADS_IN:
            del first[0]
        if first[:1] and first[0] in CASES and not _has_verb(clauses[0], first):
            clauses[:2] = [f"{clauses[0]} {clauses[1]}"]
    return clauses


def _with_whole_quotes(clauses: list[str]) -> list[str]:
    """The same clauses, joined again where a quotation was cut."""
    whole: list[str] = []
    for clause in clauses:
        if whole and whole[-1].count("`") % 2:
            whole[-1] = f"{whole[-1]}, {clause}"
        else:
            whole.append(clause)
    return whole


def _spoken_of(words: list[str]) -> int:
    """How many words in front say only that somebody knows what follows: `we know`, `this tells me`."""
    if words and words[0] in SPEAKERS:
        for place, word in enumerate(words[1:4], start=1):
            if word in KNOWS:
                return place + 1
            if word not in BEFORE_KNOWING:
                break
    if not TELLS.isdisjoint(words):
        for place in range(1, min(_FARTHEST_TELLING, len(words) - 1)):
            if words[place] in TELLS and words[place + 1] in TOLD:
                return place + 2
    return 0
