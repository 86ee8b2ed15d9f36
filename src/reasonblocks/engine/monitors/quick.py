"""Patterns for words that are looked for in most texts and found in few, as fast as they can be searched for.

A pattern that may begin anywhere is tried at every letter. One that begins with a certain sign, or with one of a few
letters, is not; but for that the letters must be small ones.
"""

import re
from collections.abc import Iterator

_COUNT_AS_OTHERS = "\u0130\u0131\u017f\u212a"
"""Letters that count as i, s or k where capitals count as small letters."""
_PLAIN = re.compile(r"(?:[a-z]|\\?[ '-])+")


class Quick:
    """Whole words and phrases, looked for where words begin and nowhere else, in texts in small letters."""

    __slots__ = ("_beginnings", "_pattern")

    def __init__(self, alternatives: list[str]) -> None:
        self._pattern = _after_a_blank(alternatives)
        self._beginnings = beginnings(alternatives)

    def are_in(self, lowered: str) -> bool:
        """Whether there is any of them."""
        return self._may_be_in(lowered) and self._pattern.search(f" {lowered}") is not None

    def places(self, lowered: str) -> Iterator[tuple[int, int]]:
        """Where each of them begins and ends."""
        for match in self._pattern.finditer(f" {lowered}") if self._may_be_in(lowered) else ():
            yield match.start(), match.end() - 1

    def _may_be_in(self, lowered: str) -> bool:
        return any(map(lowered.__contains__, self._beginnings))


class AnyCase:
    """Whole words and phrases in letters of any size."""

    __slots__ = ("_any", "_compiled", "_small")

    def __init__(self, alternatives: list[str]) -> None:
        self._any = rf"\b(?:{'|'.join(alternatives)})\b"
        self._compiled: re.Pattern[str] | None = None
        self._small = _after_a_blank(alternatives)

    def are_in(self, text: str) -> bool:
        """Whether there is any of them."""
        # Some letters of other alphabets count as the same letter though they have no small one: such texts are few.
        if text.isascii() or not any(map(text.__contains__, _COUNT_AS_OTHERS)):
            return self._small.search(f" {text.lower()}") is not None
        if self._compiled is None:  # most agents never need it
            self._compiled = re.compile(self._any, re.IGNORECASE)
        return self._compiled.search(text) is not None


def any_case(alternatives: str) -> AnyCase:
    """Any of these, which `|` parts."""
    return AnyCase(parted(alternatives))


def quick(alternatives: str) -> Quick:
    """Any of these, which `|` parts; each begins with a letter, and what is taken of the text ends with one."""
    return Quick(parted(alternatives))


def quick_phrases(*lists: str) -> Quick:
    """Any of the phrases in these lists, which commas part; `*` stands for the rest of a word."""
    return Quick(phrase_patterns(*lists))


def phrase_patterns(*lists: str) -> list[str]:
    """A pattern for each of the phrases in these lists."""
    return [re.escape(one.strip()).replace(r"\*", r"\w*") for line in lists for one in line.split(",")]


def quick_pattern(alternatives: str, others: str) -> re.Pattern[str]:
    """The same with others that need not be at the beginning of a word.

    `others` are taken as they are; they had better begin with a letter or one of a few signs, too.
    """
    # What stands before the first letter can only be looked at from behind it.
    rests = _by_first(parted(alternatives)).items()
    found = "|".join([rf"{first}(?<!\w{first})(?:{'|'.join(rest)})\b" for first, rest in rests])
    return re.compile(f"{found}|{others}")


def lower(text: str) -> str:
    """A text in small letters, each in its place."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join([x if len(x.lower()) > 1 else x.lower() for x in text])


def beginnings(alternatives: list[str]) -> tuple[str, ...]:
    """One of these is in whatever matches any of them: to look for a text is many times as fast as to match."""
    found = {_beginning(alternative) for alternative in alternatives}
    return tuple(sorted(text for text in found if not any(other != text and other in text for other in found)))


def _beginning(alternative: str) -> str:
    """What a pattern begins with, as far as that is plain text."""
    plain = _PLAIN.match(alternative)
    text = plain[0] if plain else ""
    optional = alternative[len(text) : len(text) + 1] in ("?", "*", "{")
    return (text[:-1] if optional else text).replace("\\", "")


def _after_a_blank(alternatives: list[str]) -> re.Pattern[str]:
    """A pattern for a text with a blank before it: the search skips from one end of a word to the next."""
    begun = "|".join([rf"{first}(?:{'|'.join(rest)})" for first, rest in _by_first(alternatives).items()])
    return re.compile(rf"\W(?:{begun})\b")


def _by_first(alternatives: list[str]) -> dict[str, list[str]]:
    """By the letter they begin with, so that they are tried together, the rest of each; all of it, if it is a group."""
    rests: dict[str, list[str]] = {}
    for alternative in alternatives:
        first = alternative[0] if alternative[0].isalpha() else ""
        rests.setdefault(first, []).append(alternative.removeprefix(first))
    return rests


def parted(alternatives: str) -> list[str]:
    """The alternatives at the outermost level."""
    parts, depth = [""], 0
    for letter in alternatives:
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
