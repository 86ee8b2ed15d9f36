"""Patterns for words that are looked for in most texts and found in few, as fast as they can be searched for.

A pattern that may begin anywhere is tried at every letter. One that begins with one of a few letters is not; but for
that the letters must be small ones, and what stands before them can only be looked at from behind the first.
"""

import re


def quick(alternatives: str, others: str = "") -> re.Pattern[str]:
    """A pattern for any of these, which `|` parts, as whole words of a text in small letters.

    Each begins with a letter.
    `others` are taken as they are; they had better begin with a letter or one of a few signs, too.
    """
    found = _whole(_parted(alternatives))
    return re.compile(f"{found}|{others}" if others else found)


def quick_phrases(*lists: str) -> re.Pattern[str]:
    """A pattern for any of the phrases in these lists, which commas part; `*` stands for the rest of a word."""
    found = [re.escape(phrase.strip()).replace(r"\*", r"\w*") for line in lists for phrase in line.split(",")]
    return re.compile(_whole(found))


def lower(text: str) -> str:
    """A text in small letters, each in its place."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join([x if len(x.lower()) > 1 else x.lower() for x in text])


def _whole(alternatives: list[str]) -> str:
    """Any of these as a whole word; those that begin with the same letter are tried together."""
    rests: dict[str, list[str]] = {}
    for alternative in alternatives:
        rests.setdefault(alternative[0], []).append(alternative[1:])
    return "|".join([rf"{first}(?<!\w{first})(?:{'|'.join(rest)})\b" for first, rest in rests.items()])


def _parted(alternatives: str) -> list[str]:
    """The alternatives at the outermost level."""
    parts, depth = [""], 0
    for letter in alternatives:
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
