"""Texts as sets of word stems, small and quick to compare.

A set of words is one integer with a bit for each stem (`WordSet`). Two stems may share a bit; that is rare, and it only
ever makes two texts look a little more alike.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache, reduce
from itertools import filterfalse
from operator import or_
from zlib import crc32

WordSet = int
"""Stems, one bit each; 0 is the empty set."""
Sentence = tuple[str, list[str]]
"""As it is written, and its words."""

BITS = 2_048
LONGEST_WORD = 64
"""Longer ones are blobs, not words."""
_MOST_WORDS = 20_000
"""Words whose bit is remembered; hostile text must not fill the memory."""
_BIT = tuple(1 << place for place in range(BITS))
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d[\d.,:]*")
_PARTS_NO_WORDS = re.compile(r"[^\W_]|\n")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_ASCII = bytes(range(128))
_ASCII_BLANKS = bytes(code if _PARTS_NO_WORDS.match(chr(code)) else 32 for code in range(256))
"""Whatever parts words but the line break, as a table over bytes: many times as fast as matching."""
_ASCII_NUMBERS = bytes(48 if 48 <= code <= 57 else 46 if chr(code) in ".,:" else 32 for code in range(256))
"""The same for numbers: all digits are 0, and what may stand between them is a point."""

_SAYS_NOTHING = frozenset(
    "about above after again all also although always and any are because been before being below between both but "
    "can cannot could did does doing don done down during each else ever every few first for from further get gets "
    "getting give given goes going got had has have having here how however into its itself just know last let like "
    "likely look looks made make makes making many may maybe might more most much must need needed needs next not "
    "nothing now off once one ones only other our out over own perhaps please probably put really same see seems "
    "several shall should show since some something still such sure take than that the their them then there these "
    "they thing things think this those though through too try trying two under until use used using very want was "
    "way well were what when where whether which while who why will with within without would yes yet you your".split()
)
_SUFFIXES = (
    "ations ation ements ement ments ment ingly ings ing edly ures ure ied ies iest ier ers er est ed es s ly".split()
)
_BY_LAST = {
    last: [(suffix, -len(suffix)) for suffix in _SUFFIXES if suffix[-1] == last]
    for last in {suffix[-1] for suffix in _SUFFIXES}
}
"""By its last letter, each with where it begins: most words end in none of them, and few are left to try."""
_SHORTEST_STEM = 3


class Bits(dict[str, int]):
    """The bit of each word, 0 for those that do not count; filled as words turn up."""

    __slots__ = ("_bit_of",)

    def __init__(self, bit_of: Callable[[str], int]) -> None:
        super().__init__()
        self._bit_of = bit_of

    def __missing__(self, word: str) -> int:
        bit = self._bit_of(word)
        if len(self) >= _MOST_WORDS:
            self.clear()
        if len(word) <= LONGEST_WORD:
            self[word] = bit
        return bit

    def united(self, words: Iterable[str]) -> int:
        """The bits of all these words; quickest where each word is given once."""
        return reduce(or_, filter(None, map(self.__getitem__, words)), 0)


def split(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    lowered = text.lower()
    if _is_plain(lowered):
        return _blanked(lowered).split()
    return _words_in(lowered)


def _words_in(lowered: str) -> list[str]:
    """The words of a text in small letters, of whatever script."""
    words: list[str] = _WORD.findall(lowered.replace("_", " "))
    return words


def split_sentences(text: str) -> list[Sentence]:
    """The sentences of a text, each with its words."""
    lines = text.replace(". ", ".\n").replace("? ", "?\n").replace("! ", "!\n")
    lowered = lines.lower()
    read = zip(lines.split("\n"), map(str.split, _blanked(lowered).split("\n")), strict=True)
    if _is_plain(lowered):
        return list(read)
    # Where some letters are foreign ones, most sentences have none of them.
    return [
        (sentence, words if _is_plain(line) else _words_in(line))
        for (sentence, words), line in zip(read, lowered.split("\n"), strict=True)
    ]


def count_numbers(text: str) -> int:
    """How many numbers a text has; one may have points, commas and colons within."""
    if not _is_plain(text):
        return len(_NUMBER.findall(text))
    return len([run for run in text.encode("ascii", "replace").translate(_ASCII_NUMBERS).split() if b"0" in run])


def _is_plain(text: str) -> bool:
    """Whether all its letters and digits are ASCII; signs of other kinds only ever part words."""
    if text.isascii():
        return True
    foreign = text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
    return not any(map(str.isalnum, foreign))


def _blanked(text: str) -> str:
    """Plain text with a blank for whatever parts words, but for line breaks."""
    return text.encode("ascii", "replace").translate(_ASCII_BLANKS).decode()


def word_set(words: Iterable[str]) -> WordSet:
    """The stems of those words that say something."""
    return _bits.united(words)


def number_set(words: Iterable[str]) -> WordSet:
    """Those of these words that name a certain thing: numbers and ids, but for the digits of a list."""
    return token_set([word for word in filterfalse(str.isalpha, words) if len(word) > 1])


def token_set(words: Iterable[str]) -> WordSet:
    """All of these words as they are written, the short and the common ones too."""
    return _token_bits.united(words)


def pieces(text: str) -> WordSet:
    """The stems of a text whose names are taken apart: `read_header` like `ReadHeader`."""
    return word_set([piece.lower() for piece in _PIECE.findall(text)])


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """What the forms of a word have in common, roughly: expiry, expired, expiration -> expir."""
    for suffix, start in _BY_LAST.get(word[-1:], ()):
        if word.endswith(suffix) and len(word) + start >= _SHORTEST_STEM:
            word = word[:start]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word.rstrip("ey") if len(word) > _SHORTEST_STEM else word


def phrases(*lists: str) -> re.Pattern[str]:
    """A pattern for any of the phrases in these lists, which commas part; `*` stands for the rest of a word."""
    escaped = [re.escape(phrase.strip()).replace(r"\*", r"\w*") for line in lists for phrase in line.split(",")]
    return re.compile(rf"\b(?:{'|'.join(escaped)})\b", re.IGNORECASE)


class Phrases:
    """Phrases that are looked for in most texts and found in few."""

    __slots__ = ("_beginnings", "_pattern", "_words")

    def __init__(self, *lists: str) -> None:
        self._pattern = phrases(*lists)
        telling = [max(split(phrase), key=len) + "*" * ("*" in phrase) for line in lists for phrase in line.split(",")]
        self._words = frozenset(word for word in telling if not word.endswith("*"))
        self._beginnings = tuple(word.rstrip("*") for word in telling if word.endswith("*"))
        """Without one of these words, or a word that begins so, there is none of the phrases."""

    def are_in(self, text: str, words: Iterable[str]) -> bool:
        """Whether one of them is in a text, given its words."""
        if not text.isascii() or not self._words.isdisjoint(words):
            return self._pattern.search(text) is not None
        # Without any of the words it can only be one of the few that end in any way.
        begun = any(map(text.lower().__contains__, self._beginnings))
        return begun and self._pattern.search(text) is not None


def size(words: WordSet) -> int:
    """How many stems a set holds."""
    return words.bit_count()


def alike(one: WordSet, other: WordSet) -> float:
    """The share of common stems among all of both (Jaccard); 0 where one of them is empty."""
    common = (one & other).bit_count()
    return common / (one | other).bit_count() if common else 0.0


def overlap(one: WordSet, other: WordSet) -> float:
    """The share of common stems in the smaller one of both."""
    common = (one & other).bit_count()
    return common / min(one.bit_count(), other.bit_count()) if common else 0.0


def covered(words: WordSet, by: WordSet) -> float:
    """The share of `words` that `by` holds as well; 1 for no words at all."""
    return (words & by).bit_count() / words.bit_count() if words else 1.0


def says_something(word: str) -> bool:
    """Whether a word in lower case is more than a number or a word that any sentence may have."""
    return len(word) >= 3 and word not in _SAYS_NOTHING and not word.isdigit()


def place(word: str, places: int) -> int:
    """One of so many places, always the same for the same word."""
    return crc32(word.encode("utf-8", "surrogatepass")) % places


def _bit(word: str) -> WordSet:
    if len(word) > LONGEST_WORD or not says_something(word):
        return 0
    return _BIT[crc32(stem(word).encode("utf-8", "surrogatepass")) % BITS]


def _token_bit(word: str) -> WordSet:
    return _BIT[place(word, BITS)]


_bits = Bits(_bit)
_token_bits = Bits(_token_bit)
