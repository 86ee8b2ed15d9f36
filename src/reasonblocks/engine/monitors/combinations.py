"""Which look-ups of a run, where a person is served, combine values that nothing has brought together.

Two places, a name and a place: what is looked up together was named together, by the person or in a record, or has
something in common with what was looked up before. A look-up of which neither holds comes out of the blue.
"""

from collections import deque
from functools import lru_cache
from itertools import filterfalse

from .features import StepFeatures

_MOST_READ = 6_000
_MOST_TEXTS = 40
"""Texts that are remembered, each by its codes."""
_STEPS_TO_WAIT = 6
"""If nobody has answered by then, nobody is served."""
_FEWEST_VALUES, _MOST_VALUES = 2, 6
_SHORTEST, _LONGEST = 2, 24
_BLANKS = bytes(code if (chr(code).isalnum() and code < 128) or chr(code) in "_-" else 32 for code in range(256))

Codes = frozenset[bytes]


class Combinations:
    """What has been named together so far."""

    __slots__ = ("_last", "_texts", "answered")

    def __init__(self, task: str) -> None:
        self._texts: deque[bytes] = deque([_packed(codes_in(task[:_MOST_READ]))], maxlen=_MOST_TEXTS)
        self._last: Codes = frozenset()
        self.answered = False
        """Whether a person takes part."""

    def observe(self, step: StepFeatures) -> bool:
        """Take the next step in; whether it looks up what nothing has brought together."""
        if not self.answered and step.index > _STEPS_TO_WAIT:
            return False
        out_of_the_blue = False
        if step.speaks_only:
            self.answered = self.answered or step.observation != ""
            self._texts.append(_packed(codes_in(step.thought)))
        elif self.answered and not step.role.changes:
            values = _values(step.arguments)
            if _FEWEST_VALUES <= len(values) <= _MOST_VALUES:
                known = not values.isdisjoint(self._last) or self._named_together(values)
                out_of_the_blue = bool(self._last) and not known
                self._last = values
        if step.observation:
            self._texts.append(_packed(codes_in(step.observation[:_MOST_READ])))
        return out_of_the_blue

    def _named_together(self, values: Codes) -> bool:
        wanted = [b" %b " % value for value in values]
        return any(all(map(text.__contains__, wanted)) for text in self._texts)


def _packed(codes: Codes) -> bytes:
    """Codes with blanks between and around them: they are looked for seldom, and this takes the least room."""
    return b" %b " % b"  ".join(codes) if codes else b""


def _values(arguments: str) -> Codes:
    """The codes among the values of a call, without dates and sums; none if a value is a text."""
    values = arguments[:_MOST_READ].split("\n")
    if any(" " in value or len(value) > _LONGEST for value in values):
        return frozenset()
    return frozenset(code for value in values for code in codes_in(value) if not code.translate(None, b"-_").isdigit())


@lru_cache(maxsize=8)
def codes_in(text: str) -> Codes:
    """Whatever in a text is written in capitals or has a digit."""
    tokens = set(text.encode("ascii", "replace").translate(_BLANKS).split())
    return frozenset(filter(_is_code, filterfalse(bytes.islower, tokens)))


@lru_cache(maxsize=16_384)
def _is_code(token: bytes) -> bool:
    """Whether a token that is not all in small letters is a code."""
    return _SHORTEST <= len(token) <= _LONGEST and (token.isupper() or not token.isalpha())
