"""Words as the screen sees them: stems, without those that say nothing, and how common some of them are."""

import re
from functools import lru_cache

_STOP = frozenset(
    "a about after again all also am an and another any are as at be been before being both but by can could d did do "
    "does done down each for from had has have having he her here him his how i if in into is it its just ll m may me "
    "might more must my no nor of on once one only or other our out over own re s same she should so some such t than "
    "that the their them then there these they this those to too two up ve very was we were what when where which who "
    "why will with would you your".split()
)
_VERY_COMMON, _COMMON = 0.3, 0.12
_COMMON_WORDS = {
    _VERY_COMMON: "check confirm detail file first get know let like look make name need new now please provide run "
    "see start test use want work",
    _COMMON: "action add agent already answer apply ask available base call cannot case change class code command "
    "complete content context correct create current data different directory document end error exist fail final find "
    "fix follow found function go id information issue item line list message method next not number ok open option "
    "order output page part pass plan point print problem process program project question read reason remove report "
    "request require result return right say script search section set show since small something source specific "
    "status step still string success sure system table task text thank time tool total try type understand update "
    "user value verify version wait way well without write yes",
}
"""Words by the share of ordinary agents' contexts that have them, very roughly."""
_SUFFIXES = (
    ("ies", "y"),
    ("sses", "ss"),
    ("ings", ""),
    ("ing", ""),
    ("edly", ""),
    ("ed", ""),
    ("es", ""),
    ("s", ""),
    ("ly", ""),
)
_SHORTEST_STEM = 3
_LONGEST_WORD = 40
"""Longer ones are blobs."""
_MOST_WORDS = 20_000
"""Words whose stem is remembered; hostile text must not fill the memory."""
_MOST_LINES, _LONGEST_LINE = 1_024, 2_000
"""Lines whose stems are remembered: an agent's last thoughts are looked at again after each of the next ones."""
_BLANKS = bytes(code if chr(code).isalpha() or code > 127 else 32 for code in range(256))
"""Whatever parts words, as a table over UTF-8: many times as fast as matching an expression, in any language."""
_MARKS = re.compile(rb"\xc2.|\xe2[\x80-\x9f].", re.DOTALL)
"""Quotation marks, dashes, dots, arrows and boxes that are not ASCII."""


class _Stems(dict[bytes, str]):
    """The stem of each word, none for words that say nothing; filled as words turn up."""

    def __missing__(self, encoded: bytes) -> str:
        word = encoded.decode("utf-8", "replace")
        stem = "" if word in _STOP or not 1 < len(word) <= _LONGEST_WORD else _stem(word)
        if len(self) >= _MOST_WORDS:
            self.clear()
        self[encoded] = stem
        return stem


def _stem(word: str) -> str:
    """A word without its most common endings; "searching", "searched" and "searches" are one."""
    for suffix, instead in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM and not word.endswith("ss"):
            word = word.removesuffix(suffix) + instead
            break
    if len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > _SHORTEST_STEM else word


_stems = _Stems()
_shares = {_stem(word): share for share, words in _COMMON_WORDS.items() for word in words.split()}


def stems(text: str) -> set[str]:
    """The stems of a text, but for words that say nothing."""
    found: set[str] = set()
    for line in text.splitlines():
        found |= _known_stems(line) if len(line) <= _LONGEST_LINE else _stems_in(line)
    return found


def _stems_in(line: str) -> frozenset[str]:
    encoded = line.lower().encode("utf-8", "replace")
    if not line.isascii():
        encoded = _MARKS.sub(b" ", encoded)
    return frozenset(filter(None, map(_stems.__getitem__, set(encoded.translate(_BLANKS).split()))))


_known_stems = lru_cache(_MOST_LINES)(_stems_in)


def common_share(stem: str) -> float:
    """How many contexts of ordinary agents have a word, as a share; 0 for words that are not common."""
    return _shares.get(stem, 0.0)


def has_words(text: str) -> bool:
    """Whether a text can be told by its words; one in a script that does not part them, such as Chinese, cannot."""
    return text.isascii() or max(map(len, text.split()), default=0) <= _LONGEST_WORD // 2
