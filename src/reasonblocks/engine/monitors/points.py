"""The point of a sentence: what it says of the things that it names, as ideas that it affirms or denies, and as values.

Plans, questions, guesses, conditions and quotations make no point. What ought to be is kept apart from what is.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from .claim_words import CONDITIONS, LABELS, supposes_a_case
from .clause_values import values_of
from .parting import Parting
from .quick import any_case
from .signed_words import DEED, NEGATES, NEGATES_NAME, idea_of
from .words import split

LONGEST = 22
"""Words of a sentence."""
_AUXILIARIES = frozenset(
    "a all already also am an and any are as at be been being both by d did do does each even ever for had has have he "
    "her here his how i in is it its just ll m me my now of on or our over re really s she so still such t than that "
    "the their then there they this to too up us ve very was we were what where which who whom whose why with yet you "
    "your".split()
)
_LIGHT = frozenset("do get got made make need take taken yet".split())
"""Verbs that say nothing themselves: a negation before them denies what follows."""
_DEGREES = frozenset(
    "always completely correctly directly entirely every everywhere exactly fully immediately long much necessarily "
    "properly quite really".split()
)
"""With one of these a negation denies the degree, not the thing."""
_UNABLE = "cannot"
_NO_LIMIT = frozenset("just necessarily only".split())
"""After a negation these say that there is more to it."""
_IN_A_NAME, _OF_A_VERB = 2, 1
"""Words that a negation denies."""
_PARTING = Parting("although and because but hence since so therefore though when where whereas which while".split())
_LABEL = re.compile(r"[^:]{3,60}:\s[\w ,.$]{2,30}\.?")
"""`Seat of AB12: window.`"""
_POINTS_BACK = frozenset("he it she that these they this those which".split())
TELLS_TO = frozenset(
    "add added adding adjust analyse analyze analyzed apply calculate call change changed check click compile "
    "compiling convert copy create delete edit enable ensure error extract find fix fixed handle identify implement "
    "import install locate make modify move open pass please print put raise read remove rename replace return "
    "rewrite run search see select set start still store test toggle try turn update use verify view write "
    "wrote".split()
)
"""A sentence that begins so tells what to do, or what was done."""
_PLANS = any_case(
    r"i'll|i'm going|i (?:am going|could|must|need|plan|should|want|will)|i (?:don't|do not) see|let's"
    r"|let (?:me|us)"
    r"|for example|going to|in (?:my|our|that|the|this) (?:case|example|scenario)|instead|looks like|make sure|must"
    r"|needs? to|no longer|no more|previously|should|to see|try to|trying|used to|want to|we want|would"
    r"|not (?:\w+ )?(?:certain|sure)|unsure"
    r"|(?:aim|fix|goal|idea|plan|solution|task) (?:is|was) (?:\w+ )?to"
    r"|(?:bug|error|goal|issue|problem|task) (?:is|mentions|says|states|suggests|was)"
    r"|(?:comment|description|docs?|docstring|documentation|message|policy) (?:\w+ )?"
    r"(?:mentions|reads|says|states|suggests)"
)
_IN_PLANS = frozenset(
    "case certain comment description doc docs docstring documentation example going i instead let longer looks make "
    "message more must need needs policy previously scenario see should sure to try trying unsure used want would "
    "bug error goal issue problem task".split()
)
"""One of these is in each of them."""
_GUESSES = frozenset(
    "assume assumes assuming could ensure ensures ensuring expect guess hope imagine let likely may maybe might "
    "perhaps please possibly presumably probably seem seems shall should shouldn sometimes suggests suspect think "
    "until usually will won would wouldn".split()
)
_NORM = any_case(
    r"asked|asks? for|demands|expected|expects|explicit|goal|ha(?:s|ve) to|insists|must|needs to|report says"
    r"|required|requires|requested|should|supposed to|the request|ticket|wanted|wants?"
)
"""What ought to be, unless it is what the speaker is about to do."""
_IN_NORMS = frozenset(
    "ask asked asks demands expected expects explicit goal has have insists must needs report requested required "
    "requires request should supposed ticket want wanted wants".split()
)
_IN_STILL = frozenset("remains still yet".split())
_OURS = re.compile(r"\b(?:i|let|we)\b(?! (?:are|was|were) asked)", re.IGNORECASE)
_STILL_TO = re.compile(r"\b(?:still|yet) (?:(?:has|have|needs?) )?to(?: be)?\b|\bremains to be\b", re.IGNORECASE)
_NO_STATEMENT = re.compile(
    r"[{}<>|\[\]\\=DINoFE](?:(?<=[{}<>|\[\]\\])|(?<=(?<![=!])=)(?!=)\s|(?<=E)rror: "
    r"|(?<!\w.)(?:(?:(?<=D)OES|(?<=I)S|(?<=N)OT?|(?<=o)riginal)\b|(?<=F)ile \"))"
)
"""Code and quotations; a pattern that begins with one of a few signs is found many times as fast."""
_BEGINS_NO_STATEMENT = re.compile(
    r"\s*(?:[-*>|\u2022\"]|#+\s|\d+(?:\s{2}|[.):])|//"
    r"|(?:Ah|But|Case|Hmm|However|If|No,|Oh|Then|Wait|assert|class|def|from|import|raise|return)\b)|\s{4}|\s*_\s*$"
)
"""Lists, code, and what begins like a second thought."""
_QUOTED = re.compile(r"`([^`\n]{1,80})`")
_ASSIGNS = re.compile(r"\w+=\w")
_SYMBOL = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*(?:\(\))?")
FILE = re.compile(r"[\w-]\.(?:c|cfg|cpp|css|csv|go|h|html|java|js|json|md|py|rs|rst|sh|toml|ts|txt|ya?ml)$")
_TOKEN = re.compile(r"#?[A-Za-z_][\w./-]*(?:\(\))?|#\w+|\d[\w-]*[A-Za-z]\w*|[A-Z0-9]{5,}")
_NAME = re.compile(
    r"\w+_\w|_\w|\w+\(\)$|[A-Za-z]\w+(?:\.\w{2,})+$|\w*[a-z][A-Z]|[A-Z]{6}$"
    r"|(?=\w*[A-Za-z])(?=\w*\d)\w{4,}$"
)
"""What is a name without quotation marks: it has an underscore, brackets, dots, capitals within, or digits."""
_ID = re.compile(r"\b[A-Z]{6}\b")
_SHORTEST_NAME = 3
_NEGATION = re.compile(r"\b(?:lack(?:s|ing)?|missing|never|no|not|without)\b|n't\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_PLAIN_WORD = re.compile(r"[^\W_]+")


class Clause(NamedTuple):
    """One clause of a sentence."""

    names: frozenset[str]
    ideas: Mapping[str, int]
    """What it says, names too: 1 for what it affirms, -1 for what it denies."""
    denied: frozenset[str]
    """Those of them that a negation stands before."""
    text: str
    """Without code."""
    is_norm: bool
    """Whether it says what ought to be."""


class Point(NamedTuple):
    """What a sentence says."""

    clauses: tuple[Clause, ...]
    names: frozenset[str]
    ids: frozenset[str]
    """Those of the names that stand for one record alone."""
    words: frozenset[str]
    """As they are written, and the names."""
    ideas: frozenset[str]


NO_POINT = Point((), frozenset(), frozenset(), frozenset(), frozenset())


@lru_cache(maxsize=2_048)
def point_of(sentence: str) -> Point:
    """What a sentence says of the things that it names."""
    if sentence.rstrip()[-1:] in "?:" or sentence.split(maxsplit=1)[0].lower() in TELLS_TO:
        return NO_POINT
    bare = _QUOTED.sub(" _ ", sentence) if "`" in sentence else sentence
    if _BEGINS_NO_STATEMENT.match(bare) or _NO_STATEMENT.search(bare):
        return NO_POINT
    words = split(sentence)
    clauses = tuple(_clauses(sentence, set(words))) if words and not supposes_a_case(words) else ()
    if not clauses:
        return NO_POINT
    names: frozenset[str] = frozenset().union(*[clause.names for clause in clauses])
    return Point(
        clauses,
        names,
        frozenset([name for name in names if any(map(str.isdigit, name))]) | set(map(str.lower, _ID.findall(sentence))),
        frozenset(_WORD.findall(sentence.lower())) | names,
        frozenset().union(*[clause.ideas for clause in clauses]),
    )


def _clauses(sentence: str, all_words: set[str]) -> Iterator[Clause]:
    named = said = False
    planned, normed = not _IN_PLANS.isdisjoint(all_words), not _IN_NORMS.isdisjoint(all_words)
    labelled = ": " in sentence
    still = not _IN_STILL.isdisjoint(all_words)
    for part in _parts(sentence, all_words):
        text = _STILL_TO.sub(" not ", part) if still else part
        bare = _QUOTED.sub(_blank, text) if "`" in text else text
        words = split(bare)
        if not words and bare == text:
            continue
        if not CONDITIONS.isdisjoint(words) or words[:1] == ["without"] or (labelled and not said and _labels(words)):
            if not said:
                return  # whatever follows depends on it
            continue
        is_norm = normed and _NORM.are_in(text) and _OURS.search(text) is None
        if not is_norm and (not _GUESSES.isdisjoint(words) or (planned and _PLANS.are_in(bare))):
            return
        said = True
        places = _names_in(text, bare)
        if words[:1] and words[0] in _POINTS_BACK and not named:
            continue
        named = named or bool(places)
        ideas, denied = _ideas(text, bare, places)
        yield Clause(frozenset(places), ideas, frozenset(denied), _QUOTED.sub(_unquoted, part), is_norm)


def _parts(sentence: str, all_words: set[str]) -> list[str]:
    if ":" in sentence and _LABEL.fullmatch(sentence.strip()):
        return [sentence]
    return _PARTING.parts(sentence, all_words, joined=True)


def _labels(words: list[str]) -> bool:
    """Whether what follows holds in one case of several: `Old behaviour: ...`"""
    return not LABELS.isdisjoint(words)


def _unquoted(match: re.Match[str]) -> str:
    """A quotation as it is if it is a single word, which may be a value; code is none."""
    return match[0] if _SYMBOL.fullmatch(match[1]) else " _ "


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _names_in(text: str, bare: str) -> dict[str, int]:
    """The names in a text, each with its place, given the text without what it quotes."""
    found: dict[str, int] = {}
    for match in _QUOTED.finditer(text) if "`" in text else ():
        quoted = match[1].strip()
        symbol = quoted.partition("=")[0] if _ASSIGNS.match(quoted) else quoted
        if len(symbol) >= _SHORTEST_NAME and _SYMBOL.fullmatch(symbol):
            found.setdefault(_plain(symbol), match.start())
    for match in _TOKEN.finditer(bare):
        token = match[0]
        if token.isalpha() and token[1:].islower():
            continue  # a plain word
        token = token.rstrip(".-/").lstrip("#")
        if len(token) >= _SHORTEST_NAME and (_NAME.match(token) or FILE.search(token)):
            found.setdefault(_plain(token), match.start())
    return found


def _plain(name: str) -> str:
    plain = name.rstrip("()").lower()
    return plain.rpartition("/")[2] if FILE.search(plain) else plain


def _ideas(text: str, bare: str, names: Mapping[str, int]) -> tuple[dict[str, int], set[str]]:
    """What a clause affirms and denies in the order in which it is said, and which of it stands after a negation."""
    said: list[tuple[int, str, int]] = []
    denied: set[str] = set()
    words = [(match.start(), match[0]) for match in _PLAIN_WORD.finditer(bare.lower())]
    sweeping = not _DEGREES.isdisjoint([word for _, word in words])
    left = reach = 0
    unable = False
    for place, (start, word) in enumerate(words):
        if word in NEGATES:
            unable = word == _UNABLE
            if not any(word in _NO_LIMIT for _, word in words[place + 1 : place + 2]):
                left = reach = _IN_A_NAME if word in NEGATES_NAME else _OF_A_VERB
            continue
        idea, sign = ("", 1) if word in _AUXILIARIES else idea_of(word)
        if not idea:
            continue
        if left:
            left -= word not in _LIGHT
            if sweeping or (unable and idea == DEED):
                continue  # it is so to some degree; and what cannot be done may have been done all the same
            denied.add(idea)
        said.append((start, idea, -sign if idea in denied else sign))
    if left and left == reach:  # what is denied is a name: `there is no flush()`
        last = max([match.start() for match in _NEGATION.finditer(text)], default=len(text))
        denied |= {name for name, start in names.items() if start > last}
    said += [(start, name, -1 if name in denied else 1) for name, start in names.items()]
    ideas: dict[str, int] = {}
    for _, idea, sign in sorted(said):
        ideas[idea] = sign if idea in denied else ideas.get(idea, sign)
    return ideas, denied


@lru_cache(maxsize=2_048)
def values_in(texts: tuple[str, ...]) -> tuple[Mapping[str, str], ...]:
    """The values that each clause of a sentence gives, of those kinds of which the sentence gives one only."""
    found = [values_of(text, split(text)) for text in texts]
    given: dict[str, set[str]] = {}
    for values in found:
        for kind, value in values.items():
            given.setdefault(kind, set()).add(value)
    return tuple([{kind: value for kind, value in values.items() if len(given[kind]) == 1} for values in found])
