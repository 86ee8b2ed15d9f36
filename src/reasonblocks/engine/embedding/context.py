"""Which part of a text is embedded: always its end, for the newest thoughts say where an agent is now."""

import re

LONGEST_CONTEXT = 2_000
"""Characters; more than the 256 tokens that the default model reads, in all but very long words."""
NEWEST_WORDS = 30
"""A pattern describes a situation in about so many words; fewer words of thought say too little."""
MOST_NEWEST_WORDS = 90
_BLANK = re.compile(r"\s+")


def ending(text: str, characters: int) -> str:
    """The end of a text, of at most so many characters, from the beginning of a word on."""
    if len(text) <= characters:
        return text
    end = text[-characters:]
    blank = _BLANK.search(end, 0, characters - 1)
    return end[blank.end() :] if blank else end


def views(context: str) -> tuple[str, ...]:
    """The texts to embed for a context: all of it, and its newest part alone where there is much before that.

    What matches best counts. An agent that has gone astray just now has some healthy thoughts before it in the same
    window, and these alone can hide what is the matter.
    """
    whole = ending(context, LONGEST_CONTEXT).strip()
    newest = _newest(whole)
    return (whole, newest) if 4 * len(newest) < 3 * len(whole) else (whole,)


def _newest(context: str) -> str:
    """The last lines, as many as it takes to have enough words, or the end of the last one if it alone has too many."""
    taken: list[str] = []
    count = 0
    for line in reversed(context.splitlines()):
        words = line.split()
        if taken and count + len(words) > MOST_NEWEST_WORDS:
            break
        taken.append(line.strip() if len(words) <= MOST_NEWEST_WORDS else " ".join(words[-MOST_NEWEST_WORDS:]))
        count += len(words)
        if count >= NEWEST_WORDS:
            break
    return "\n".join(reversed(taken)).strip()
