"""Whether a step does again what an earlier one did: the call, and what came of it, compared with each other.

Neither alone tells. The same call with another result is progress, and different calls have the same short answer in
common all the time. What counts is how much of both is the same; the less the calls resemble each other, the more the
result must tell.
"""

import re
from zlib import crc32

import msgspec

from .features import StepFeatures
from .words import WordSet, alike, covered, overlap, pieces, size, split

_REWORDED = 0.5
"""Of the words of the shorter search, where both found the same about what they have in common."""
_SAME_QUESTION = 0.6
"""Of all words of both, where the result is one that different questions may well have in common."""
_SIMILAR_CALL = 0.5
"""Of all words and numbers of both calls."""
_DECORATED = 0.6
"""Of all words and numbers of both calls, where one has all those of the other."""
_TELLS_MUCH = 20
"""Characters of a result that hardly comes up twice by chance."""
_SUBSTANTIAL, _MANY_WORDS = 160, 14
"""Characters and different words of a result that different questions do not have in common."""
_DISTINCT, _SOME_WORDS = 100, 8
"""The same, of questions that resemble each other."""
_LONGEST_QUESTION = 300
"""Characters of a search that are compared."""
_REFUSAL = 120
"""Characters at the start of a result that say whether anything was found."""
_MERE_RECEIPT = 80
"""Characters of a result that may only say that something was done."""
_MUCH_SAID = 6
"""Words of a call that nobody has cause to make twice, such as a message."""
_FEW_WORDS = 4
"""Words of a result that says more than that there was none."""
_COMPARABLE = 8
"""Words of a result, or of a message, below which likeness is chance."""
_READ_WHOLLY = 1_500
"""Characters of a result all of whose words are compared."""
_SAME_WORDS, _SAME_NUMBERS = 0.9, 0.6
"""Of two results that differ in times, durations and counts alone."""
_LIKE_SIZE, _SAME_SIZE = 0.8, 0.97
"""Of two such results, and of two of which only the ends were read."""
_SAME_SPEECH = 0.75
"""Of all words of two calls that say much."""
_SAME_MESSAGE = 0.6
_NOTHING_NEW = 0.75
"""Of the words of an answer that were in the earlier one."""
_MANNER = 3
"""Words in which two answers with the same content may differ."""
_DONE_ONCE = frozenset(
    "assign book buy cancel create exchange invite modify order pay post publish refund rename request send submit "
    "transfer update upload".split()
)
"""What nobody has cause to do twice with the same arguments."""
_DENIES = frozenset("cannot couldn didn empty no none not nothing null unable unchanged unknown without zero 0".split())
_FINDS_NOTHING = _DENIES | frozenset("sold sorry stock unavailable unfortunately".split())

_FIGURES = b"0123456789"
_DOCUMENT = "<<"
"""With it a shell is handed a text to write."""
_PLACE = re.compile(r"/|\d|\w\.[a-z]{1,5}$")
"""A path, a number or the name of a file."""

SAME = 1.0
"""The same call, or the same question in other words."""
SAME_FINDINGS = 0.67
"""Another call that found the very same."""
SAME_FAILURE = 0.5
"""A similar call that failed in the same way: one of several trials, perhaps."""
_DIFFERENT = 0.0


class Done(msgspec.Struct, frozen=True, gc=False):
    """What a later step is compared with."""

    index: int
    acts: bool
    """Whether there is a call at all."""
    tool: bytes
    call: bytes
    given: int
    """The same for the same arguments, however they were laid out."""
    target: bytes
    words: WordSet
    """Of the call; of a message, its own."""
    said: str
    """The beginning of what the call was given, or of the message."""
    searches: bool
    names: WordSet
    parts: WordSet
    """Words and names of the call; of a message, its numbers."""
    result: bytes
    shape: int
    """The same for results that differ in figures alone."""
    result_words: WordSet
    result_numbers: WordSet
    result_size: int
    failure: bytes
    lookup: bool
    waits: bool
    changes: bool
    exacting: bool
    """Whether every word of the call counts: what is written down grows and changes by single words."""
    receipt: bool
    """Whether the result only says that something was done."""
    changes_before: int
    """How many new changes had been made by then: the state of things it was done on."""
    changes_after: int
    repeats: bool = False
    family: int = -1
    """The first step of those that it repeats, directly or through others; its own index where it repeats none."""


def done(step: StepFeatures, changes_before: int) -> Done:
    """What is kept of a step that was taken after so many changes."""
    speaks = step.speaks_only
    return Done(
        index=step.index,
        acts=not speaks,
        tool=step.tool,
        call=step.call,
        given=crc32(step.arguments.encode("utf-8", "surrogatepass")),
        target=step.target,
        words=step.thought_words if speaks else step.call_words,
        said=(step.thought if speaks else step.arguments)[:_LONGEST_QUESTION],
        searches=step.role.searches,
        names=step.call_names,
        parts=step.thought_numbers if speaks else step.call_parts,
        result=step.result,
        shape=crc32(step.result_excerpt.encode("utf-8", "surrogatepass").translate(None, _FIGURES)),
        result_words=step.result_words,
        result_numbers=step.result_numbers,
        result_size=step.result_size,
        failure=step.failure,
        lookup=step.role.looks,
        waits=step.role.waits or step.unfinished,
        changes=step.role.changes,
        exacting=step.role.writes or step.role.notes or (step.role.changes and _DOCUMENT in step.arguments),
        receipt=_is_receipt(step),
        changes_before=changes_before,
        changes_after=changes_before,
        family=step.index,
    )


def repetition(earlier: Done, now: Done, step: StepFeatures) -> float:
    """How far `now`, which is `step`, repeats what was done earlier: `SAME` at most, 0 if it is something else."""
    if now.receipt or now.acts is not earlier.acts:
        return _DIFFERENT
    if not now.acts:
        return _message_again(earlier, now)
    if now.changes_before != earlier.changes_after:
        return _DIFFERENT  # tried again on another state of things
    same_failure = now.failure != b"" and now.failure == earlier.failure
    same = same_failure or now.result == earlier.result
    if not same and (now.tool != earlier.tool or not _nearly_same_result(earlier, now)):
        return _DIFFERENT
    if not same_call(earlier, now):
        return _other_call(earlier, now, step, same_failure)
    if now.given == earlier.given or size(now.result_words) >= _FEW_WORDS:
        return SAME
    return max(SAME_FINDINGS, _other_call(earlier, now, step, same_failure))


def same_call(earlier: Done, now: Done) -> bool:
    """Whether two calls are one, but for blanks, order and what was merely added to it or left out."""
    if now.call == earlier.call or (now.tool == earlier.tool and now.given == earlier.given):
        return True
    if now.exacting or now.tool != earlier.tool or (now.parts == earlier.parts and not now.words):
        return False  # what is given as values means something in its order: from here to there is not back
    common = now.parts & earlier.parts
    if common not in (now.parts, earlier.parts):
        return False  # one word in place of another one asks for another thing
    return alike(earlier.parts, now.parts) >= _DECORATED


def same_result(earlier: Done, now: Done) -> bool:
    """Whether nothing came of the later step that had not come of the earlier one."""
    return now.result == earlier.result or (now.failure != b"" and now.failure == earlier.failure)


def _other_call(earlier: Done, now: Done, step: StepFeatures, same_failure: bool) -> float:
    if now.searches and now.tool == earlier.tool and _searched_again(earlier.said, now.said, step):
        return SAME
    if now.target == earlier.target:
        if (now.lookup or same_failure) and _is_narrower(earlier.words, now.words):
            return SAME
        if size(now.words) >= _MUCH_SAID and not now.exacting and alike(earlier.words, now.words) >= _SAME_SPEECH:
            return SAME
    if now.exacting or (not now.words and now.names & ~earlier.names):
        return _DIFFERENT  # another text or another thing is another piece of work, whatever is said of it
    similar = now.tool == earlier.tool and alike(earlier.parts, now.parts) >= _SIMILAR_CALL
    if not step.failed and _tells_much(now, similar):
        if now.result == earlier.result:
            return SAME if similar else SAME_FINDINGS
        # An echo of the question is no news, but the record of another thing is, however alike they are.
        return SAME_FINDINGS if similar and not now.changes and now.names == earlier.names else _DIFFERENT
    return SAME_FAILURE if same_failure and similar and not now.changes else _DIFFERENT


def _tells_much(now: Done, similar: bool) -> bool:
    """Whether the result says so much that different questions do not have it in common."""
    length, words = (_DISTINCT, _SOME_WORDS) if similar else (_SUBSTANTIAL, _MANY_WORDS)
    return now.result_size >= length and size(now.result_words) + size(now.result_numbers) >= words


def _nearly_same_result(earlier: Done, now: Done) -> bool:
    """Whether two results differ in no more than times, counts and an echo of the question do."""
    short, long = sorted((earlier.result_size, now.result_size))
    if short < (_SAME_SIZE if long > _READ_WHOLLY else _LIKE_SIZE) * long:
        return False
    if size(now.result_words) < _COMPARABLE:
        return False
    if now.given == earlier.given:
        if now.shape != earlier.shape:
            return False  # a single word may be the news: pending, completed
    elif alike(earlier.result_words, now.result_words) < _SAME_WORDS:
        return False
    least = _SAME_WORDS if long > _READ_WHOLLY else _SAME_NUMBERS
    both = earlier.result_numbers | now.result_numbers
    return not both or alike(earlier.result_numbers, now.result_numbers) >= least


def _message_again(earlier: Done, now: Done) -> float:
    """Whether the same is said to somebody again, with no new figure in it, and the answer is the same too."""
    if now.call == earlier.call and now.result == earlier.result:
        return SAME
    if not now.result_size or now.parts & ~(earlier.parts | earlier.result_numbers):
        return _DIFFERENT  # what nobody answered may well have been meant for somebody else
    if now.result_numbers & ~earlier.result_numbers:
        return _DIFFERENT
    if alike(earlier.words, now.words) >= _SAME_MESSAGE:
        known = covered(now.result_words, earlier.result_words) >= _NOTHING_NEW
        if now.result == earlier.result or (known and now.result_words):
            return SAME
    # What was asked for is told once more: an order, a code, an address of mail.
    if not now.result_numbers or size(now.result_words & ~earlier.result_words) > _MANNER:
        return _DIFFERENT
    if now.words & earlier.words:
        return SAME
    in_short = size(now.result_words) <= _MANNER and not now.parts and size(now.words) < _MUCH_SAID
    return SAME_FINDINGS if in_short else _DIFFERENT


def _is_receipt(step: StepFeatures) -> bool:
    """Whether an act is merely acknowledged: what it brought about shows elsewhere. The same edit twice is the same."""
    acts = (step.role.changes or step.role.unknown) and not step.role.writes
    if not acts or step.failed or step.result_size > _MERE_RECEIPT or size(step.call_words) >= _MUCH_SAID:
        return False
    if step.arguments and not _DONE_ONCE.isdisjoint(split(step.action)):
        return False
    return _DENIES.isdisjoint(split(step.result_excerpt))


def _searched_again(earlier: str, now: str, step: StepFeatures) -> bool:
    """Whether two searches with the same result are one."""
    (one, places), (other, other_places) = _question(earlier), _question(now)
    if places - other_places and other_places - places:
        return False  # somewhere else, or for another number
    if not _finds_something(step):
        return _is_narrower(one, other)
    return overlap(one, other) >= _REWORDED and one & other & pieces(step.result_excerpt) != 0


def _question(asked: str) -> tuple[WordSet, set[str]]:
    """The words of a search with its names taken apart, and the paths and numbers in it."""
    words: list[str] = []
    places: set[str] = set()
    for token in asked.split():
        (places.add if _PLACE.search(token) else words.append)(token)
    return pieces(" ".join(words)), places


def _is_narrower(earlier: WordSet, now: WordSet) -> bool:
    """Whether one question asks for what the other asks for, and for more."""
    # A word in place of another one asks for another thing: the blue shirt is out of stock like the red one.
    return earlier & now in (earlier, now) and alike(earlier, now) >= _SAME_QUESTION


def _finds_something(step: StepFeatures) -> bool:
    if step.failed or step.result_size < _TELLS_MUCH:
        return False
    return _FINDS_NOTHING.isdisjoint(split(step.result_excerpt[:_REFUSAL]))
