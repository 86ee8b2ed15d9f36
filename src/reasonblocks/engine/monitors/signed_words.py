"""Ideas and their opposites: of each word which idea it says, and whether it says it or the contrary.

Other tables say which words answer a question (`stance_words.py`) or are compared as one (`opposites.py`). Here any
word is an idea of its own, so that whatever is denied of a thing can be held against whoever says it.
"""

import re
from functools import lru_cache

from .lexicon import says_something, stem

DEED = "change"
"""What somebody has done about a thing, or not yet."""
PROOF = "verify"
"""That somebody is who they say."""
THERE = frozenset("exists file find had has have holds lists shows there".split())
"""What says that something is there."""
_IDEAS = """
keep keeps kept keeping preserve preserves preserved preserving retain retains retained survive survives survived stays
 intact = drop drops dropped dropping lose loses lost losing discard discards discarded overwrite overwrites overwritten
 swap swaps swapped reverse reverses reversed vanish vanishes strip strips stripped swallows swallowed eats
call calls called calling invoke invokes invoked execute executes executed reached reach reaches evaluated triggered
 entered enters = bypass bypasses bypassed skip skips skipped
accept accepts accepted allow allows allowed permit permits permitted tolerate tolerates tolerated = reject rejects
 rejected refuse refuses refused forbid forbids forbidden
handle handles handled honour honours honors honoured honored respect respects respected recognise recognises
 recognised recognize recognizes recognized heed heeds consider considers considered support supports supported =
 ignore ignores ignored ignoring disregard disregards disregarded overlooks chokes crashes
convert converts converted cast casts coerced coerces transforms transformed conversion =
sort sorts sorted ordered =
filter filters filtered =
pass passes passed forward forwards forwarded hand hands handed receives receive =
verify verified verifies authenticated authenticate confirmed identified validated =
change changes changed modification modifications edit edits edited modify modified alter altered update updated touch
 touched patch patched fix fixed written start started begun finish finished complete completed done processed
 submitted action =
same identical equal equals matches match shared = different differs differ distinct separate
public = private
awaitable async asynchronous = sync synchronous
document documented documentation docs documents =
override overrides overridden =
cover covers covered coverage tested exercised exercises =
raise raises raised throws =
empty blank = filled populated
naive = aware
lazy lazily = eager eagerly
strict strictly = lenient loose
enabled active activated = inactive deactivated suspended
insured insurance =
copy copies copied =
import imports imported =
optional = required mandatory
cached caches = recomputed
visible shown = hidden
open opened = closed
global = local
absolute = relative
inclusive = exclusive
ascending = descending
increase increases increased grows = decrease decreases decreased shrinks lowered
longer greater larger more higher bigger = shorter smaller less fewer lower
add adds added append appends appended = remove removes removed delete deletes deleted
encode encodes encoded = decode decodes decoded
succeed succeeds succeeded passing = fail fails failed failing
unique = duplicate duplicates duplicated repeated
include includes included = exclude excludes excluded
static = dynamic
deterministic = random
direct nonstop = connecting
fast quick = slow
early = late
writable = readonly
eligible qualifies entitled =
sensitive sensitively =
declared declares defined defines define implemented implements registered registers provides lists =
 missing lacks lack lacking lacked absent
"""
"""One idea a line: words that say it, and after `=` words that say the opposite. What begins with un-, non-, in- or
dis- says the opposite of the rest of it, and needs no entry."""
NEGATES_NAME = frozenset("lack lacked lacking lacks misses missing no nobody without zero".split())
"""What these deny is the thing that follows..."""
NEGATES = NEGATES_NAME | frozenset(
    "aren cannot couldn didn doesn don hadn hardly hasn haven isn neither never nor not nowhere wasn weren".split()
)
"""...and what the others deny is the next word that says something."""
_PREFIXED = re.compile(
    r"(?:un(?!der|til|i|less)|non|dis(?=able|agree|allow|appear|connect|continu|similar)"
    r"|i[nmrl](?=\w{3,}(?:[ai]ble|[ae]nt|ect|ete|id)$))(\w{4,})"
)
_FIRST_OF_PREFIXES = "undi"
_SHORTEST_PREFIXED = 6
_SAID: dict[str, tuple[str, int]] = {}
LINES: dict[str, tuple[str, ...]] = {}
"""By idea all words that say it or its opposite."""
for _line in _IDEAS.strip().replace("\n ", " ").splitlines():
    _yes, _, _no = _line.partition("=")
    LINES[_yes.split()[0]] = (*_yes.split(), *_no.split())
    for _sign, _side in ((1, _yes), (-1, _no)):
        for _word in _side.split():
            _SAID.setdefault(_word, (_yes.split()[0], _sign))


def says_opposite(word: str) -> bool:
    """Whether a word says the opposite of an idea."""
    if word in _SAID:
        return _SAID[word][1] < 0
    match = _prefixed(word)
    return match is not None and says_something(word) and _SAID.get(match[1], ("", 1))[1] > 0


@lru_cache(maxsize=8_192)
def idea_of(word: str) -> tuple[str, int]:
    """The idea that a word says, and 1, or -1 if it says the opposite; no idea if it says nothing."""
    if word in _SAID:
        return _SAID[word]
    if not says_something(word):
        return "", 1
    match = _prefixed(word)
    if match is None:
        return stem(word), 1
    idea, sign = _SAID.get(match[1], (stem(match[1]), 1))
    return idea, -sign


def _prefixed(word: str) -> re.Match[str] | None:
    """A word with a prefix that denies, and what follows it; quickly said of most words that they have none."""
    return _PREFIXED.fullmatch(word) if len(word) >= _SHORTEST_PREFIXED and word[0] in _FIRST_OF_PREFIXES else None
