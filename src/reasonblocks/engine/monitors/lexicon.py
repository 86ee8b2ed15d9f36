"""What is known of each word, worked out when it first turns up, for whoever asks about it.

Whether a word says anything, what its forms have in common, and where it stands in sets of words: all of that depends
on the word alone, and most words of a text have been seen before.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, reduce
from operator import or_
from zlib import crc32

WORD_BITS, TOPIC_BITS = 2_048, 8_192
"""Of a set of words, and of a set of words that are compared with all that a long run has said."""
LONGEST_WORD = 64
"""Longer ones are blobs, not words."""
NOWHERE = -1
"""The place of a word that is peculiar to nothing."""
_MOST_WORDS = 20_000
"""Words that are remembered; hostile text must not fill the memory."""
_BIT = tuple(1 << place for place in range(WORD_BITS))
_LONG_NUMBER = 5
"""With this many digits a number names something."""

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
OF_ANY_TASK = (
    "able above access accuracy accurate action actually add added additional address admit agent allow already "
    "alternative analysis analyze another answer anything apologise apologize apology app appears appreciate approach "
    "appropriate apt args around article ask assist assistance assume attempt automatic available avoid awk back base "
    "bash basic begin behavior behaviour better bin bit block blog branch break bring browse bug build call careful "
    "case cat cause cfg change check chmod class clean clear click code com command commit common compare complete "
    "concern condition confirm confuse confusion consider consistent contain content context continue correct "
    "correction count create cross curl current cut data date deal debug def default define definition depend derive "
    "describe description detail determine dev diff different direct directory document done double download echo "
    "either empty encyclopaedia encyclopedia end ensure entire entry eof error etc even everything exact examine "
    "example excellent executable execute exist expect explain explicit explore extra extract fact fail false far "
    "fault field figure file final find fine fix focus follow form format found full fully function gather general "
    "generate git glad goal good great grep handle happen happy hasty head hello help history hold however html http "
    "https idea identify implement implementation import inaccurate include inconvenience incorrect indeed indicate "
    "individual info information init initial input inspect install instance instead instruction interest involve "
    "ipython issue item json keep key kind known kwargs lack later lead least leave let lib line link list little "
    "load locate location long lot main manage manual mark match mean meet mention merge message method misread "
    "misremember miss missing misspoke misstate mistake mistaken misunderstand misunderstood mix mkdir model modify "
    "module moment move multiple name necessary new nice none note notice null number object obtain obvious old open "
    "option order org original output overlook oversight package page pardon part pass path patience patient pattern "
    "per perfect perform permission piece pip place plan point possible potential premature prepare present previous "
    "primary print problem proceed process produce progress project proper provide pull push pwd pytest python "
    "python3 query question quick quite raise ran rather raw reach read ready realise realize reason receive recent "
    "refer reference regard regret relate relevant remain remove replace report repository reproduce reproduction "
    "request require resolve response rest result retract retrieve return review revise right run save scan scenario "
    "script search second section sed seem select self separate set setup several shell short simple simply single "
    "size slip small solution solve soon sorry sort source specific src standard start state statement status step "
    "stop string structure submit success sudo suggest summary support suppose switch system tail tar tarball target "
    "task team tell test tests text thank thorough thought three thus time title tmp together tool total touch tree "
    "true turn txt type typical understand unittest unless unzip update url usage user usr usual valid value variable "
    "various verification verify version via view visit wait web website welcome wget which whole wiki wikipedia wish "
    "wonder word work worth write wrong wrongly www xargs zip"
)


class PerWord(dict[str, int]):
    """A number for each word, filled as words turn up."""

    __slots__ = ("_number_of",)

    def __init__(self, number_of: Callable[[str], int]) -> None:
        super().__init__()
        self._number_of = number_of

    def __missing__(self, word: str) -> int:
        number = self._number_of(word)
        if len(self) >= _MOST_WORDS:
            self.clear()
        if len(word) <= LONGEST_WORD:
            self[word] = number
        return number


class _Learned(dict[str, int]):
    """One of the two things that are learned of a word at once."""

    __slots__ = ("_which",)

    def __init__(self, which: int) -> None:
        super().__init__()
        self._which = which

    def __missing__(self, word: str) -> int:
        return _learn(word)[self._which]


def united(words: Iterable[str], bits: Mapping[str, int]) -> int:
    """The bits of all these words; quickest where each word is given once."""
    return reduce(or_, filter(None, map(bits.__getitem__, words)), 0)


def _stem(word: str) -> str:
    """What the forms of a word have in common, roughly: expiry, expired, expiration -> expir."""
    for suffix, start in _BY_LAST.get(word[-1:], ()):
        if word.endswith(suffix) and len(word) + start >= _SHORTEST_STEM:
            word = word[:start]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word.rstrip("ey") if len(word) > _SHORTEST_STEM else word


stem = lru_cache(maxsize=8_192)(_stem)


def says_something(word: str) -> bool:
    """Whether a word in lower case is more than a number or a word that any sentence may have."""
    return len(word) >= 3 and word not in _SAYS_NOTHING and not word.isdigit()


def is_of_any_task(root: str) -> bool:
    """Whether a stem is that of a word which any agent uses for any task."""
    return root in _any_task


def place(word: str, places: int) -> int:
    """One of so many places, always the same for the same word."""
    return crc32(word.encode("utf-8", "surrogatepass")) % places


def token_bit(word: str) -> int:
    """The bit of a word as it is written."""
    return _BIT[crc32(word.encode("utf-8", "surrogatepass")) % WORD_BITS]


def _learn(word: str) -> tuple[int, int]:
    """The bit of a word and its place, which go together: whoever asks for one soon asks for the other."""
    if len(word) > LONGEST_WORD:
        return 0, NOWHERE
    says = says_something(word)
    # A range of lines ends in a letter, and is a number all the same.
    peculiar = len(word) >= _LONG_NUMBER if word[:-1].isdigit() else says
    if not says and not peculiar:
        bit, topic = 0, NOWHERE
    else:
        root = _stem(word)  # what is learned is kept, and need not be kept twice
        code = crc32(root.encode("utf-8", "surrogatepass"))
        bit = _BIT[code % WORD_BITS] if says else 0
        topic = code % TOPIC_BITS if peculiar and root not in _any_task else NOWHERE
    if len(word_bits) >= _MOST_WORDS:
        word_bits.clear()
        topic_places.clear()
    word_bits[word], topic_places[word] = bit, topic
    return bit, topic


_any_task = frozenset(map(stem, OF_ANY_TASK.split()))
word_bits, topic_places = _Learned(0), _Learned(1)
"""The bit of each word's stem, and its place among those that are peculiar to something."""
token_bits = PerWord(token_bit)
