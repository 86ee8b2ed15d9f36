"""What a sentence holds of the things that it names, as answers to a few questions that have one answer each.

Whether something is there, is used, is to blame, was done, is wanted, is allowed; which state it is in, how many there
are of it, where it goes. Two sentences in whatever words exclude each other if they answer the same question of the
same thing differently. Plans, questions and conditions answer nothing.
"""

import re
from functools import lru_cache
from itertools import filterfalse
from typing import NamedTuple

import msgspec

from .claim_words import CONDITIONS, HOW_MANY, NO_UNIT, NOT_A_CLAIM, STATES, supposes_a_case
from .lexicon import stem
from .opposites import EXCLUSIVE
from .parting import Parting
from .quick import any_case
from .stance_words import (
    DEEDS,
    FROM_A_PLACE,
    NEGATIONS,
    NOTHING_OF_IT,
    PHRASES,
    QUESTIONS,
    STATUSES,
    TO_A_PLACE,
    TRANSITIVE,
    TROUBLE,
)
from .words import WordSet, is_small, split, word_set

LONGEST = 45
"""Words of a sentence."""
_PHRASES = [(frozenset(words.split()), re.compile(pattern), word) for words, pattern, word in PHRASES]
_MOST_PARTS = 1_024
"""Parts of sentences that are remembered."""
_IN_PHRASES = frozenset[str]().union(*[words for words, _, _ in _PHRASES])
_PHRASES_WITH = {word: [place for place, (words, _, _) in enumerate(_PHRASES) if word in words] for word in _IN_PHRASES}
_QUOTED = re.compile(r"`([^`\n]{1,80})`|\"([^\"\n]{2,60})\"|(?<!\w)'([^'\n]{2,40})'(?!\w)")
_IDENTIFIER = re.compile(r"[\w-]+\.[a-z]{1,5}\b(?!\()|[A-Za-z_]\w*")
"""A file, or whatever else may be a name within quotation marks."""
_AROUND = "#.,;:!?*\"'\u2019-[]"
_FILE = re.compile(r"[\w-]\.[a-z]{1,5}")
_ARGUMENTS = re.compile(r"(?<=\w)\([^()\n]{0,60}\)")
_ASIDE = re.compile(r"\((#?\w+)\)")
"""An id in brackets."""
_PARTING = Parting(
    "after although and because but during given hence since so therefore though whereas which while".split(),
    any_case=False,
)
_LABEL = re.compile(r"[^:]{3,60}:\s[\w ,]{3,30}\.?")
"""`Seat of AB12: window.`"""
_CODE = re.compile(r"[{}=<>|\[\]\\]")
_LISTED = re.compile(
    r"\s*(?:[-*>|\u2022]|#+\s|\d+(?:[.)]|\s)|//|\"|(?:assert|class|def|from|import|raise|return|Then)\s)"
)
"""Lines of code and of lists, and what follows from a case that is thought through."""
_PLANS = any_case(
    r"i'll|i'm going|i (?:am going|can|could|need|should|want|will)|let's|let me|let us|need to|needs to be"
    r"|must have|want to|try to|trying|going to|make sure|not (?:\w+ )?(?:certain|sure)|to see|unsure"
    r"|no longer|used to|previously|would you"
    r"|(?:issue|problem|bug|task) is (?:about|that)"
    r"|(?:comment|description|docs?|docstring|documentation|error|issue|message|policy) (?:\w+ )?"
    r"(?:mentions|reads|says|states)"
)
_IN_PLANS = frozenset(
    "bug comment description doc docs docstring documentation error going i issue let ll longer m make message must "
    "need needs not policy previously problem see task try trying unsure used want would".split()
)
"""One of these is in each of them."""
_TELLING = STATUSES.keys() | DEEDS | QUESTIONS.keys()
"""Words that answer something."""
_MOVES = TO_A_PLACE | FROM_A_PLACE
_NO_CLAIM = NOT_A_CLAIM - {"most", "often", "should", "some", "will", "won"}
_NORMS = frozenset("must should shouldn".split())
"""With these a sentence says what is to be, not what is."""
_TO_COME = frozenset("will won".split())
_EXISTS = frozenset("exist exists existing".split())
_NO_NAMES = frozenset("class cls def false none null self that the this true with".split())
_NAMELESS: frozenset[str] = frozenset()
_IN_NO_NAME = bytes(code for code in range(128) if not chr(code).isupper() and chr(code) not in "0123456789_/()`\"'")
"""Signs of which no name is made that has no point within."""
_IS = frozenset("is s was".split())
_SPEAKERS = frozenset("i we you".split())
_PRONOUNS = frozenset("he it its she that they this these those".split())
_OUR_OWN = frozenset("allowed done".split())
"""What somebody may say of their own doing."""
_NEAR = 4
"""So many words before an answer are looked at for a negation, and so many around it for what it is about."""
_COMES_FROM = re.compile(
    r"\b(?:arises?|comes?|coming|originates?|results?|stems?|stemming) (?:straight )?(?:from|in|out of)\b|\bdue to\b"
    r"|\b(?:caused|introduced|produced|triggered) (?:by|in)\b"
    r"|\b(?:happens|lies|lives|located|occurs|originates|resides|sits) in(?:side)?\b"
)
_NUMBER = re.compile(
    r"(?<![\w.#/-])([$\u20ac\u00a3]?)(\d[\d,]*(?:\.\d+)?)(%|[kmgt]b|ms)?(?![\w/-]|\.\d)", re.IGNORECASE
)
_SET_TO = re.compile(
    r"\b(?:being|by|costs?|defaults?|equals?|is|of|port|totals?|to|was)\s+(?:(?:about|now|only|set|to)\s+)*$",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b(january|february|march|april|may|june|july|august|september|october|november|december) (\d\d?)"
    r"(?:st|nd|rd|th)?\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_MAY_BE_DATE = re.compile(r" \d(?<=[ehlrtyEHLRTY] \d)")
"""A number after a word that ends like a month: to look for the months takes many times as long."""
_MOST_UNIT_WORDS = 3
_SHARED_OUT = frozenset("additional another each extra more other per remaining total".split())
"""With these a number is of something else each time."""
_PLACE = re.compile(r"\b([a-z]+)\s+(?:up\s+)?(to|in|at|for|from)\s+([A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})?)")


class Stance(NamedTuple):
    """An answer to one question about some things."""

    question: str
    answer: str
    """`yes`, a state, a number or a place; with `!` in front if it is denied."""
    names: frozenset[str]
    """What it is about, as far as it has a name."""
    ideas: WordSet
    """The stems of the plain words that it is said in."""
    object: WordSet
    """Those that stand next to the answer, where it matters what is there or not."""


class Held(NamedTuple):
    """What a sentence holds."""

    stances: tuple[Stance, ...]
    sentence: str

    # What is asked only where two sentences answer the same question differently, which few do.
    @property
    def tokens(self) -> frozenset[str]:
        """Its words, and the things that it names."""
        return _tokens_in(self.sentence)

    @property
    def ideas(self) -> WordSet:
        """The stems of its words."""
        return word_set(split(self.sentence))


NOTHING_HELD = Held((), "")


@lru_cache(maxsize=2_048)
def held_in(sentence: str) -> Held:
    """What a sentence holds of the things that it names."""
    words = split(sentence)
    if not 2 < len(words) <= LONGEST or sentence.rstrip()[-1:] in ("?", ":") or not CONDITIONS.isdisjoint(words):
        return NOTHING_HELD
    text = _without_brackets(sentence)
    bare = _without_quotes(text)
    if _CODE.search(bare) or _LISTED.match(bare) or not bare.strip(" _.,:") or supposes_a_case(words):
        return NOTHING_HELD
    stances: list[Stance] = []
    names: frozenset[str] = frozenset()
    planned = not _IN_PLANS.isdisjoint(words)
    phrases = _phrases_for(words)
    for piece in _parts(text, words):
        part = _read(piece, phrases)
        own = part.names
        if not part.words:
            names = own or names
            continue
        about = own | names if part.points_back else own
        if part.claims_nothing or (planned and part.plans):
            break  # whatever follows depends on it
        if names or not part.points_back or (own and part.tells_which):
            stances += part.stances(about, stances[-1:])
        names = about or names
    return Held(tuple(_alone(stances)), sentence) if stances else NOTHING_HELD


class _Part(msgspec.Struct, eq=False, gc=False):
    """A part of a sentence, which may come again in another one."""

    text: str
    names: frozenset[str]
    words: list[str]
    """Without the names, and with a word for each phrase that has one."""
    points_back: bool
    claims_nothing: bool
    tells_which: bool
    """`it is `load` that ...`"""
    _plans: bool | None = None
    _found: "_Found | None" = None

    @property
    def plans(self) -> bool:
        """Whether somebody says what they are going to do."""
        if self._plans is None:
            self._plans = _PLANS.are_in(self.text)
        return self._plans

    def stances(self, about: frozenset[str], before: list[Stance]) -> list[Stance]:
        """What it answers about some things, given the answer before it."""
        found = self._found
        if found is None:
            found = _found_in(self.text, self.words, before)
            if self.words[0] not in NEGATIONS:  # `..., never a raw one` is about what stands before it
                self._found = found
        if not found.answers:
            return []
        names = about - found.places
        return [Stance(question, answer, names, found.ideas, near) for question, answer, near in found.answers]


@lru_cache(maxsize=_MOST_PARTS)
def _read(part: str, phrases: tuple[int, ...]) -> _Part:
    text = _plain(part)
    if phrases:
        plain = text
        for place in phrases:
            _, pattern, word = _PHRASES[place]
            text = pattern.sub(word, text)
        if text == plain:
            return _read(part, ())  # it has none of them, as most parts
    names = names_in(part)
    words = [word for word in split(text) if word not in names]
    points_back = words[:1] != [] and words[0] in _PRONOUNS
    tells_which = points_back and "that" in words[2:] and words[1] in _IS
    return _Part(part, names, words, points_back, not _NO_CLAIM.isdisjoint(words), tells_which)


def _phrases_for(words: list[str]) -> tuple[int, ...]:
    """The places of the phrases that a sentence may have."""
    return tuple(sorted({place for word in _IN_PHRASES.intersection(words) for place in _PHRASES_WITH[word]}))


@lru_cache(maxsize=256)
def _tokens_in(sentence: str) -> frozenset[str]:
    identifiers = map(str.lower, _IDENTIFIER.findall(sentence))
    return frozenset(split(sentence)).union(identifiers, names_in(_without_brackets(sentence)))


def _without_brackets(sentence: str) -> str:
    """A sentence without the arguments of its calls, and with ids in brackets as words of it."""
    return _ASIDE.sub(r"\1", _ARGUMENTS.sub("()", sentence)) if "(" in sentence else sentence


def _alone(stances: list[Stance]) -> list[Stance]:
    """Those of states and numbers of which the sentence gives one only: two of them are a list, or a contrast."""
    answers: dict[str, set[str]] = {}
    for stance in stances:
        answers.setdefault(stance.question, set()).add(stance.answer)
    return [stance for stance in stances if " " not in stance.question or len(answers[stance.question]) == 1]


def _parts(text: str, words: list[str]) -> list[str]:
    if ": " in text and _LABEL.fullmatch(text.strip()):
        return [text]
    return _PARTING.parts(text, words)


def _plain(part: str) -> str:
    """A part of a sentence without what it quotes."""
    return _without_date(_without_quotes(part)).lower()


def words_of_names(sentence: str) -> WordSet:
    """The stems of the words that the names of a sentence are made of; of all its words, if these are too short."""
    names = names_in(sentence)
    return (word_set(split(" ".join(names))) or word_set(split(sentence))) if names else 0


@lru_cache(maxsize=4_096)
def names_in(text: str) -> frozenset[str]:
    """The things that a text names: ids, identifiers, files, persons and places."""
    return _NAMELESS if _names_nothing(text) else _named_in(text)


def _named_in(text: str) -> frozenset[str]:
    found: set[str] = set()
    if _may_quote(text):
        found = {name.lower() for quoted in _QUOTED.findall(text) for name in _IDENTIFIER.findall("".join(quoted))}
        text = _QUOTED.sub(" ", text)
    tokens = _without_date(text).split()
    for place, token in enumerate(filterfalse(str.isalpha, tokens) if is_small(text) else tokens):
        bare = token.strip(_AROUND)
        if bare.isalpha() and bare.islower():
            continue
        owner = bare[:-2] if bare.endswith(("'s", "\u2019s")) else bare
        if owner and _is_name(owner, place == 0 and owner == bare):
            found.add(owner.rstrip("/()").rpartition("/")[2].lower())
    return frozenset(found - _NO_NAMES)


def _names_nothing(text: str) -> bool:
    """Whether that can be told by the signs of a text, as it can of most: a capital at its beginning is no name."""
    rest = text[1:].replace(" I ", " ")
    if not text.isascii() or not text[:1].isalpha() or "." in rest[:-1]:
        return False
    return not rest.encode().translate(None, _IN_NO_NAME)


def _may_quote(text: str) -> bool:
    return "`" in text or '"' in text or "'" in text


def _without_quotes(text: str) -> str:
    """A text with a sign for each of its quotations."""
    return _QUOTED.sub(" _ ", text) if _may_quote(text) else text


def _without_date(text: str) -> str:
    return _DATE.sub("_", text) if _MAY_BE_DATE.search(text) else text


def _is_name(token: str, first: bool) -> bool:
    if token.isalpha():
        if token.islower() or len(token) < 3 or token.lower() in QUESTIONS or token.lower() in STATUSES:
            return False
        return not token.isupper() and not (first and token[1:].islower())
    if token.endswith(("()", "/")) or "_" in token or _FILE.search(token):
        return True
    return len(token) > 3 and any(map(str.isdigit, token)) and any(map(str.isalpha, token)) and "'" not in token


class _Found(NamedTuple):
    """What a part of a sentence answers."""

    answers: tuple[tuple[str, str, WordSet], ...]
    """Questions, answers to them, and what stands next to those."""
    places: frozenset[str]
    ideas: WordSet


def _found_in(part: str, words: list[str], before: list[Stance]) -> _Found:
    found: dict[str, tuple[str, WordSet]] = {}
    for place, word in enumerate(words):
        if word not in _TELLING:
            continue
        if word in STATUSES and not (place and words[place - 1].isdigit()):
            denied = not NEGATIONS.isdisjoint(words[max(0, place - _NEAR + 1) : place])
            question, answer = f"status {STATUSES[word]}", f"!{word}" if denied else word
            found[question] = (answer if found.get(question, (answer,))[0] == answer else "", 0)
        if word in DEEDS:
            found.setdefault(f"did {stem(word)}", (_answer(True, words, place), 0))
        elif word in QUESTIONS and (words[0] not in _SPEAKERS or QUESTIONS[word][0] in _OUR_OWN):
            question, yes = QUESTIONS[word]
            if question not in found or (question == "blame" and not yes):  # `the bug has nothing to do with it`
                found[question] = (_answer(yes, words, place), _object(words, place))
    if not TROUBLE.isdisjoint(words) and _COMES_FROM.search(" ".join(words)):
        found.setdefault("blame", (_answer(True, words, len(words)), 0))
    if not _NORMS.isdisjoint(words):
        found = {question: answer for question, answer in found.items() if question == "wanted"}
    elif not _TO_COME.isdisjoint(words):
        found = {"there": found["there"]} if "there" in found and not _EXISTS.isdisjoint(words) else {}
    elif words[0] in NEGATIONS and not found and before and before[-1].question == "wanted":
        found["wanted"] = ("!yes" if before[-1].answer == "yes" else "yes", 0)  # `..., never a raw one`
    elif words[0] == "no":
        found["there"] = ("!yes", word_set(words[1 : 1 + _NEAR]))
    found |= _counts(words)
    found |= _measures(part)
    places = _places(part)
    found |= places
    answers = tuple([(question, answer, near) for question, (answer, near) in found.items() if answer])
    if not answers:
        return _NOTHING_FOUND
    return _Found(answers, frozenset([place for place, _ in places.values()]), word_set(words))


_NOTHING_FOUND = _Found((), frozenset(), 0)


def _answer(yes: bool, words: list[str], place: int) -> str:
    negations = sum(map(NEGATIONS.__contains__, words[max(0, place - _NEAR) : place]))
    following = _NEAR if words[place : place + 1] == ["there"] else 3  # `there are currently no ...`
    negations += not NOTHING_OF_IT.isdisjoint(words[place + 1 : place + following])
    return "yes" if yes ^ (negations % 2 == 1) else "!yes"


def _object(words: list[str], place: int) -> WordSet:
    """What stands next to an answer: behind it, or on either side."""
    after = words[place + 1 : place + 1 + _NEAR]
    if words[place].endswith("able"):
        return word_set([words[place].removesuffix("able").removesuffix("l"), *after])
    if words[place] in TRANSITIVE or (words[place] == "there" and place == 0):
        return word_set(after)
    return word_set(after + words[max(0, place - _NEAR) : place])


def _counts(words: list[str]) -> dict[str, tuple[str, WordSet]]:
    """How many there are of what."""
    found: dict[str, tuple[str, WordSet]] = {}
    if (HOW_MANY.keys().isdisjoint(words) and not any(map(str.isdigit, words))) or not _SHARED_OUT.isdisjoint(words):
        return found
    for place, word in enumerate(words):
        value = "" if word == "one" else HOW_MANY.get(word) or (word if word.isdigit() and len(word) < 4 else "")
        if not value or value == "many":
            continue
        unit = ""
        for following in words[place + 1 : place + 1 + _MOST_UNIT_WORDS]:
            if following in NO_UNIT or following in STATES or following.endswith("ing") or not following.isalpha():
                break
            if following in EXCLUSIVE:
                unit = ""
                break
            unit = following
        if len(unit) > 3:
            found[f"count {stem(unit)}"] = (value, 0)
    return found


def _measures(part: str) -> dict[str, tuple[str, WordSet]]:
    """The one number that something is set to, and the one date that it is on."""
    found: dict[str, tuple[str, WordSet]] = {}
    if not _DIGIT.search(part):
        return found
    dates = _DATE.findall(part) if _MAY_BE_DATE.search(part) else []
    if len(dates) == 1:
        found["date"] = (" ".join(dates[0]).lower(), 0)
    bare = _without_quotes(part)
    numbers = list(_NUMBER.finditer(bare))
    if len(numbers) == 1 and not dates and _SET_TO.search(bare, 0, numbers[0].start()):
        following = split(bare[numbers[0].end() :])[:1]
        sign, value, unit = numbers[0].groups()
        if sign or unit or not following or following[0] in NO_UNIT:
            plain = value.replace(",", "")
            found[f"number {sign}{unit or ''}"] = (plain.rstrip("0").rstrip(".") if "." in plain else plain, 0)
    return found


def _places(part: str) -> dict[str, tuple[str, WordSet]]:
    """Where something goes to or comes from."""
    found: dict[str, tuple[str, WordSet]] = {}
    for verb, way, place in _PLACE.findall(part) if not _MOVES.isdisjoint(part.split()) else ():
        if verb in TO_A_PLACE and way != "from":
            found["to"] = (place.lower(), 0)
        elif verb in FROM_A_PLACE:
            found["from"] = (place.lower(), 0)
    return found
