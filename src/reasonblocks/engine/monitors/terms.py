"""What a call is about: what names certain things in it, and its plain words."""

from collections.abc import Sequence
from itertools import filterfalse

import msgspec

from .words import WordSet, token_set, word_set

_AROUND_TOKENS = "\"'`,;.!?()[]{}"
_MOST_PUT_OFF = 200
"""Characters of a call whose words take little more room than the sets of them."""


class Terms(msgspec.Struct, eq=False, gc=False):
    """The words of a call as sets, put together when they are first asked for: few calls are compared by them."""

    _fixed: Sequence[str]
    _plain: Sequence[str]
    _words: WordSet | None = None
    _tokens: tuple[WordSet, WordSet] | None = None

    def __post_init__(self) -> None:
        """Words that take more room than the sets of them are not put off."""
        if sum(map(len, self._fixed)) + sum(map(len, self._plain)) > _MOST_PUT_OFF:
            self._words, self._tokens = self.words, self._read_tokens()
            self._fixed = self._plain = ()

    @property
    def words(self) -> WordSet:
        """The plain words."""
        if self._words is None:
            self._words = word_set(set(map(str.lower, self._plain)))
        return self._words

    @property
    def names(self) -> WordSet:
        """What is more than plain words: the tool, paths, ids, flags and numbers, in any order."""
        return self._read_tokens()[0]

    @property
    def parts(self) -> WordSet:
        """The same with the plain words, all as they are written."""
        return self._read_tokens()[1]

    def _read_tokens(self) -> tuple[WordSet, WordSet]:
        if self._tokens is None:
            names = token_set(set(self._fixed))
            self._tokens = names, names | token_set(set(map(str.lower, self._plain)))
        return self._tokens


def parted(action: str, values: Sequence[str]) -> tuple[list[str], list[str]]:
    """What of a call names certain things, the tool first, and its plain words."""
    fixed = [action]
    plain: list[str] = []
    for value in values:
        tokens = value.split()
        if len(tokens) < 2:  # a value on its own names something, in whatever letters
            fixed.append(value)
            continue
        bare = [token.strip(_AROUND_TOKENS) for token in tokens]
        # Whatever is more than letters names a certain thing: a path, a flag, an id, a date.
        fixed += filterfalse(str.isalpha, bare)
        plain += filter(str.isalpha, bare)
    return fixed, plain
