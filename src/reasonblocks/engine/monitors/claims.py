"""What a thought claims: clauses that state a fact, each as the things it names and what it says of them.

Order does not matter: "the status of X is open" and "X has status open" say the same. What is compared is a bag: names,
the stems of the other words, and apart from them what a fact can differ in, which is denial, numbers and exclusive
states. Claims with the same key are about the same fact.
"""

import re
from collections.abc import Set

import msgspec

from .opposites import DENIES, EXCLUSIVE, NEGATES, SAME
from .words import WordSet, size, split, token_set, word_set

_LONGEST = 60
"""Words of a sentence; longer ones are lists or code."""
_LONGEST_CLAUSE = 24
_MOST_WORDS = 36
_LONGEST_TEXT = 160
_MOST_CLAUSES = 6
_STATES = frozenset(
    "accept accepts adds affects allow allows applies are aren arrives asks becomes begins belongs blocks breaks "
    "builds caches calls can cannot causes changes checks closes comes compares completes consists contain contains "
    "controls converts copies costs counts cover covers creates deals decides defaults defines deletes departs "
    "depend depends determines did didn do does doesn don drops earns emits employs enables ends exceeds executes "
    "exist exists expects expire expires exports extends fail failed fails fall falls fetches fits fixes flies "
    "follows generates gets gives goes grants had handle handles has hasn have haven hides holds hosts ignores "
    "implements imports include includes inherits inserts is isn keeps lack lacks lands lasts leads leaves lets "
    "lies limits links lists live lives loads lock locks logs loses makes maps marks match matches means measures "
    "mentions merges modifies moves must need needs offers opens operates opts originates outputs override "
    "overrides overwrites owns parses pass passed passes pays performs permits points preserves prevents prints "
    "processes produces protects provides pulls pushes puts qualifies queries raise raises ranges reaches reads "
    "receives records refers refunds registers rejects relies remains removes renders replaces reports represents "
    "require requires resets resolves respects restarts restricts return returns runs saves scales selects sends "
    "serves sets shares ships show shows sits skips solves sorts spans speaks specifies spends splits stands starts "
    "states stays stems stops store stores strips succeeds support supports survives swallows takes targets tells "
    "throws touches tracks travels treats triggers truncates turns unlocks updates use uses validates varies was "
    "wasn weighs were weren wins work works wraps writes yields".split()
)
"""Verbs that state something."""
_NOT_A_CLAIM = frozenset(
    "another assume assuming before confirm could couldn either ensure ensures ensuring expect few going guess hope "
    "imagine let likely many may maybe might most often once perhaps plan please possibly presumably probably seem "
    "seems several shall should shouldn some sometimes suggests suspect think until usually want wants when will won "
    "would wouldn".split()
)
"""Plans and guesses, and what is said of some things only."""
_CONDITIONS = frozenset("if suppose unless whether".split())
"""What a condition is about need not be so, nor what follows from it."""
_POINTS_BACK = frozenset("he here how it she that there these they this those what where which who why".split())
"""A clause that begins so is about whatever was at hand."""
_LEADS_IN = frozenset(
    "and because but clearly given hence note now ok okay see since so then therefore thus well yes".split()
)
"""Words before a clause that say nothing about its subject."""
_SPEAKERS = frozenset("i we you".split())
_ABILITY = frozenset("can cannot".split())
_ANY_ONE = word_set(
    "account address answer article assertion call case change class code command customer data date document entry "
    "exception field file flight function input item key line list method model module name number object order "
    "output page parameter passenger path payment product query record request reservation response result row script "
    "set site step table task test ticket time type user value variable version website word".split()
)
"""`The order is ...` is about another order after every lookup; next to a name some of these add nothing."""
_KINDS_OF_NAMES = word_set("class file function method module order parameter reservation script variable".split())
_FILLS = word_set(
    "above actually already appropriately basically certainly clear clearly completely correctly currently definitely "
    "entirely established evidently exactly fine fully here indeed note obviously one perfectly properly quite really "
    "remember shown simply thus truly well whatsoever".split()
) | word_set("do does did have has had is are was were can must be been being".split())
_PARTS = re.compile(r":\s|;\s")
_CLAUSES = re.compile(r",\s|\s[\u2014\u2013-]\s|\b(?:because|since|so|and therefore|which means|given)\b|\s\(|\)\s")
_JOINS = frozenset("because given since so therefore which".split())
_QUOTED = re.compile(r"`([^`\n]{1,80})`|\"([^\"\n]{2,60})\"")
_AROUND = ".,;:!?()*'\u2019\u201c\u201d"
_NUMBER = re.compile(r"[-+]?[$\u20ac\u00a3]?\d[\d,]{0,12}(?:\.\d+)?%?|\d{4}-\d\d-\d\d")
_ORDINARY = re.compile(r"[A-Za-z]{2,}(?:['\u2019/-][A-Za-z]{1,})+")
"""Words with a hyphen or an apostrophe, which are no names for that."""
_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), start=2)
}
_COUNTED = frozenset(
    "attempt batch case chapter chunk column day figure flight gate index issue item iteration level line lines number "
    "option order page part phase point pr room round row seat section stage step table task test ticket "
    "version".split()
)
"""A number after one of these is a name."""
_TELLS_APART = frozenset(
    "all any both each every fifth first former fourth last latter left next old only other previous remaining rest "
    "same second third".split()
)
_ATTRIBUTES = frozenset(
    "age amount balance cabin category code colour color cost country currency date deadline default duration email "
    "fee format gender language length level limit mode owner phone plan port price priority quantity rank rate size "
    "state status tax total type weight width zip".split()
)
"""What a thing has one of: two values for it exclude each other."""
ATTRIBUTE_STEMS = word_set(_ATTRIBUTES)
_NO_VALUE = NEGATES | frozenset(
    "a also an are as at be been by currently did do does for had has have here in is it its listed of on our shows "
    "the this to was were with works your".split()
)
_LONGEST_VALUE = 3
_LEADS_TO_A_NAME = frozenset("are at by from in inside is lies sits was were within".split())
_DEFINITE = frozenset("our the your".split())
_CHANGES_WITH_EVERY_LOOK = word_set(
    "class code command error example exception file function input key line message method module name next number "
    "output path result step test title url value".split()
)
"""`The error is X` is about another error every time."""
_UNIQUE = frozenset("bug cause caused causes culprit defect fault matters problem responsible root where".split())
"""Of these a claim names the one place; another place cannot be it as well."""
_CODE = frozenset("{}=<>|[]")


class Claim(msgspec.Struct, frozen=True, gc=False):
    """One stated fact."""

    key: str
    """The same for claims about the same fact, whatever they say of it."""
    names: tuple[str, ...]
    """The things it names."""
    about: WordSet
    """The words of those names as they are written."""
    named: WordSet
    """Their stems."""
    says: WordSet
    """The stems of the rest, without the words that deny."""
    values: str
    """Its numbers, and the states that exclude others."""
    denied: bool
    unique: bool
    """Whether what it says can hold of one thing only: then the key leaves the names out."""
    text: str
    """As it was said, or the beginning of it."""


def claims_of(sentence: str, words: list[str]) -> list[Claim]:
    """What a sentence claims, given its words; nothing for plans, questions, guesses and fragments."""
    if not 2 < len(words) <= _LONGEST or _STATES.isdisjoint(words) or sentence.rstrip().endswith(("?", ":")):
        return []
    distinct = set(words)
    parts = _PARTS.split(sentence) if ": " in sentence or "; " in sentence else [sentence]
    clauses: list[str] = []
    for part in parts:
        if distinct.isdisjoint(_CONDITIONS) or _CONDITIONS.isdisjoint(split(part)):
            clauses += _CLAUSES.split(part, _MOST_CLAUSES) if _may_have_clauses(part, distinct) else [part]
    if "that" in distinct:  # "note that ..." says what follows it; "the one that ..." does not
        clauses += [clause.partition(" that ")[2] for clause in clauses]
    return [claim for clause in clauses if clause and (claim := _claim(clause, sentence)) is not None]


def _may_have_clauses(part: str, words: Set[str]) -> bool:
    return ", " in part or "(" in part or " - " in part or not part.isascii() or not words.isdisjoint(_JOINS)


_FEWEST_NAMELESS = 3
_FEWEST_POINTING = 5


def _claim(clause: str, sentence: str) -> Claim | None:
    heard = split(clause)
    if len(heard) > _MOST_WORDS or _STATES.isdisjoint(heard) or not _NOT_A_CLAIM.isdisjoint(heard):
        return None
    found, numbers, words = _tokens(clause)
    while words and words[0] in _LEADS_IN:
        del words[0]
    if not words or len(words) > _LONGEST_CLAUSE or _STATES.isdisjoint(words):
        return None
    names = tuple(sorted(found))
    unique = bool(names) and (not _UNIQUE.isdisjoint(words) or _ends_in_the_one(clause, words, names))
    says, states, denials = _said(words, NEGATES if unique else DENIES)
    if names and not unique and not _ATTRIBUTES.isdisjoint(words) and "out" not in words and "up" not in words:
        attribute, value = _attribute(words)
        if not numbers and not states and denials % 2 == 0 and 0 < len(value) <= _LONGEST_VALUE:
            says, states = attribute, value
    if not _tells_enough(clause, words, names, says, states):
        return None
    apart = " ".join(sorted(_TELLS_APART.intersection(words)))
    known = "" if unique else " ".join(names)
    parts = split(" ".join(names))
    return Claim(
        key=f"{known}|{apart}|{says:x}",
        names=names,
        about=token_set(parts),
        named=word_set(parts),
        says=says,
        values=" ".join([*numbers, *states]),
        denied=denials % 2 == 1,
        unique=unique,
        text=sentence.strip()[:_LONGEST_TEXT],
    )


def _tokens(clause: str) -> tuple[set[str], list[str], list[str]]:
    """The names, the numbers and the plain words of a clause; nothing for code."""
    names: set[str] = set()
    if "`" in clause or '"' in clause:
        for quoted in _QUOTED.findall(clause):
            names.add((quoted[0] or quoted[1]).removesuffix("()").lower())
        clause = _QUOTED.sub(" ", clause)
    numbers: list[str] = []
    plain: list[str] = []
    if not _CODE.isdisjoint(clause):
        return names, numbers, plain
    for token in clause.split():
        bare = token.strip(_AROUND)
        if bare.islower() and bare.isalpha():
            plain.append(bare)
        elif "(" in bare:
            return names, [], []
        elif _NUMBER.fullmatch(bare):
            if plain and plain[-1] in _COUNTED:  # `part 3` is another part than `part 4`, not another number of parts
                names.add(f"{plain[-1]} {bare}")
            else:
                numbers.append(bare.lstrip("+"))
        elif _is_name(bare, bool(plain)):
            names.add(bare.lower())
        elif bare:
            plain += split(bare)
    return names, numbers, plain


def _is_name(token: str, inside: bool) -> bool:
    """Whether a word names a certain thing: an id, a path, an identifier, an abbreviation, a letter."""
    if token.isalpha():
        if len(token) == 1:
            return inside and token.isupper() and token != "I"
        return not token[1:].islower() and not token.islower()
    return _ORDINARY.fullmatch(token) is None and any(map(str.isalnum, token))


def _said(words: list[str], denying: Set[str]) -> tuple[WordSet, list[str], int]:
    """The stems of what is said without those that deny, the exclusive states in it, and how often it denies."""
    states = [f"{EXCLUSIVE[word]}:{word}" for word in words if word in EXCLUSIVE]
    states += [_NUMBER_WORDS[word] for word in words if word in _NUMBER_WORDS]
    denials = sum([word in denying for word in words]) + (
        "out" in words and words[words.index("out") + 1 :][:1] == ["of"]
    )
    plain = [SAME.get(word, word) for word in words if word not in EXCLUSIVE and word not in _NUMBER_WORDS]
    return word_set(plain) & ~_FILLS, states, denials


def _attribute(words: list[str]) -> tuple[WordSet, list[str]]:
    """A claim about an attribute that is no number: the attribute, and whatever else is said as its value."""
    attribute = word_set([word for word in words if word in _ATTRIBUTES])
    return attribute, [f"={word}" for word in words if word not in _ATTRIBUTES and word not in _NO_VALUE]


def _ends_in_the_one(clause: str, words: list[str], names: tuple[str, ...]) -> bool:
    """Whether it has the form `the answer is in X`."""
    if len(names) > 1 or words[0] not in _DEFINITE or words[-1] not in _LEADS_TO_A_NAME:
        return False
    if not word_set(words) & ~(_CHANGES_WITH_EVERY_LOOK | _FILLS):
        return False
    return clause.rstrip(_AROUND + " `").lower().endswith(names[0])


def _tells_enough(clause: str, words: list[str], names: tuple[str, ...], says: WordSet, states: list[str]) -> bool:
    """Whether it is clear enough what a clause is about to hold it against another one."""
    if words[0] in _SPEAKERS and (len(words) < 2 or words[1] not in _ABILITY):
        return False
    if (
        words[0] in _POINTS_BACK
        and not (words[0] == "there" and names)
        and not clause.lstrip().startswith(("`", "#", '"'))
    ):
        return size(says) >= _FEWEST_POINTING
    if names:
        return bool(says or states)
    if words[0] in _DEFINITE and len(words) > 2 and words[2] in _STATES and word_set(words[1:2]) & _ANY_ONE:
        return False
    specific = size(says & ~_ANY_ONE)
    return specific >= 2 and size(says) >= _FEWEST_NAMELESS
