"""Whether a step does again what an earlier one did: the call, and what came of it, compared with each other.

Neither alone tells. The same call with another result is progress, and different calls have the same short answer in
common all the time. What counts is how much of both is the same; the less the calls resemble each other, the more the
result must tell.
"""

from .asking import told_again
from .doings import MUCH_SAID, Done
from .features import StepFeatures
from .searching import asks_alike, found_again, is_narrower, searched_again
from .words import alike, covered, size

_SIMILAR_CALL = 0.5
"""Of all words and numbers of both calls."""
_DECORATED = 0.6
"""Of all words and numbers of both calls, where one has all those of the other."""
_SUBSTANTIAL, _MANY_WORDS = 160, 14
"""Characters and different words of a result that different questions do not have in common."""
_DISTINCT, _SOME_WORDS = 100, 8
"""The same, of questions that resemble each other."""
_FEW_WORDS = 4
"""Words of a result that says more than that there was none."""
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
_LONG_FAILURE = 400
"""Characters of a failure that says more than what failed."""
_SAME_REPORT, _SAME_CAUSE, _SAME_TROUBLE = 0.9, 0.7, 0.5
"""Of the words of two long failures; of two short ones; and of two short ones of the same call."""

SAME = 1.0
"""The same call, or the same question in other words."""
SAME_FINDINGS = 0.67
"""Another call that found the very same."""
SAME_FAILURE = 0.5
"""A similar call that failed in the same way: one of several trials, perhaps."""
_DIFFERENT = 0.0


def repetition(earlier: Done, now: Done, step: StepFeatures) -> float:
    """How far `now`, which is `step` and no receipt, repeats an earlier one: `SAME` at most, 0 if it is another."""
    if now.acts is not earlier.acts:
        return _DIFFERENT
    if not now.acts:
        return _message_again(earlier, now)
    if (
        now.tool != earlier.tool
        and now.result != earlier.result
        and (not now.failure or now.failure != earlier.failure)
    ):
        return _DIFFERENT  # another tool, and something else came of it
    if now.answer and now.tool == earlier.tool and _told_again(earlier, now):
        return SAME
    if now.changes_before != earlier.changes_after:
        return _DIFFERENT  # tried again on another state of things
    same_failure = _same_failure(earlier, now)
    same = same_failure or now.result == earlier.result
    if not same and not (now.comparable and now.tool == earlier.tool and _nearly_same_result(earlier, now)):
        if now.trouble and earlier.trouble and now.call == earlier.call and now.result_size <= _LONG_FAILURE:
            return SAME_FINDINGS  # in whatever words, it does not work
        return SAME if found_again(earlier, now, step) else _DIFFERENT
    if not same_call(earlier, now):
        return _other_call(earlier, now, step, same_failure)
    if now.given == earlier.given or size(now.result_words) >= _FEW_WORDS:
        return SAME
    return max(SAME_FINDINGS, _other_call(earlier, now, step, same_failure))


def same_call(earlier: Done, now: Done) -> bool:
    """Whether two calls are one, but for blanks, order and what was merely added to it or left out."""
    if now.call == earlier.call or (now.tool == earlier.tool and now.given == earlier.given and now.given):
        return True  # without any values, the names of the arguments are all there is to try
    if now.exacting or now.tool != earlier.tool:
        return False
    if now.bare and now.bare == earlier.bare:
        return True
    if now.parts == earlier.parts and not now.words:
        return False  # what is given as values means something in its order: from here to there is not back
    common = now.parts & earlier.parts
    if common not in (now.parts, earlier.parts):
        return False  # one word in place of another one asks for another thing
    return alike(earlier.parts, now.parts) >= _DECORATED


def same_result(earlier: Done, now: Done) -> bool:
    """Whether nothing came of the later step that had not come of the earlier one."""
    return now.result == earlier.result or _same_failure(earlier, now)


def _same_failure(earlier: Done, now: Done) -> bool:
    """Whether both failed, and for the same cause; ids and times in the message do not matter."""
    if now.failure and now.failure == earlier.failure:
        return True
    if not now.trouble or not earlier.trouble or now.tool != earlier.tool:
        return False
    least = _SAME_TROUBLE if now.bare and now.bare == earlier.bare else _SAME_CAUSE
    if max(now.result_size, earlier.result_size) > _LONG_FAILURE:
        least = _SAME_REPORT
    return alike(earlier.trouble, now.trouble) >= least


def _other_call(earlier: Done, now: Done, step: StepFeatures, same_failure: bool) -> float:
    if now.searches and now.tool == earlier.tool and searched_again(earlier.said, now.said, step):
        return SAME
    if now.target == earlier.target:
        if (now.lookup or same_failure) and is_narrower(earlier.words, now.words):
            return SAME
        if size(now.words) >= MUCH_SAID and not now.exacting and alike(earlier.words, now.words) >= _SAME_SPEECH:
            return SAME
    if now.lookup and earlier.lookup and not step.failed and _shown_again(earlier, now):
        return SAME
    if now.exacting or (not now.words and now.names & ~earlier.names):
        return _DIFFERENT  # another text or another thing is another piece of work, whatever is said of it
    if same_failure and now.tool == earlier.tool and asks_alike(earlier.said, now.said, exactly=True):
        return SAME_FINDINGS
    similar = now.tool == earlier.tool and alike(earlier.parts, now.parts) >= _SIMILAR_CALL
    if not step.failed and _tells_much(now, similar):
        if now.result == earlier.result:
            return SAME if similar else SAME_FINDINGS
        # An echo of the question is no news, but the record of another thing is, however alike they are.
        return SAME_FINDINGS if similar and not now.changes and now.names == earlier.names else _DIFFERENT
    return SAME_FAILURE if same_failure and similar and not now.changes else _DIFFERENT


def _shown_again(earlier: Done, now: Done) -> bool:
    """Whether two looks, by whatever tools, were for much the same and showed the very same."""
    return now.result == earlier.result and _tells_much(now, similar=True) and asks_alike(earlier.said, now.said)


def _tells_much(now: Done, similar: bool) -> bool:
    """Whether the result says so much that different questions do not have it in common."""
    length, words = (_DISTINCT, _SOME_WORDS) if similar else (_SUBSTANTIAL, _MANY_WORDS)
    return now.result_size >= length and size(now.result_words) + size(now.result_numbers) >= words


def _nearly_same_result(earlier: Done, now: Done) -> bool:
    """Whether two results differ in no more than times, counts and an echo of the question do."""
    short, long = earlier.result_size, now.result_size
    if short > long:
        short, long = long, short
    if short < (_SAME_SIZE if long > _READ_WHOLLY else _LIKE_SIZE) * long:
        return False
    if now.given == earlier.given:
        if now.shape != earlier.shape:
            return False  # a single word may be the news: pending, completed
    elif alike(earlier.result_words, now.result_words) < _SAME_WORDS:
        return False
    least = _SAME_WORDS if long > _READ_WHOLLY else _SAME_NUMBERS
    both = earlier.result_numbers | now.result_numbers
    return not both or alike(earlier.result_numbers, now.result_numbers) >= least


def _told_again(earlier: Done, now: Done) -> bool:
    return not now.result_numbers & ~earlier.result_numbers and told_again(earlier.answer, now.answer)


def _message_again(earlier: Done, now: Done) -> float:
    """Whether the same is said to somebody again, with no new figure in it, and the answer is the same too."""
    if now.call == earlier.call and now.result == earlier.result:
        return SAME
    if not now.result_size or now.parts & ~(earlier.parts | earlier.result_numbers):
        return _DIFFERENT  # what nobody answered may well have been meant for somebody else
    if now.result_numbers & ~earlier.result_numbers:
        return _DIFFERENT
    if now.answer and told_again(earlier.answer, now.answer):
        return SAME
    if alike(earlier.words, now.words) >= _SAME_MESSAGE:
        known = covered(now.result_words, earlier.result_words) >= _NOTHING_NEW
        if now.result == earlier.result or (known and now.result_words):
            return SAME
    # What was asked for is told once more: an order, a code, an address of mail.
    if not now.result_numbers or size(now.result_words & ~earlier.result_words) > _MANNER:
        return _DIFFERENT
    if now.words & earlier.words:
        return SAME
    in_short = size(now.result_words) <= _MANNER and not now.parts and size(now.words) < MUCH_SAID
    return SAME_FINDINGS if in_short else _DIFFERENT
