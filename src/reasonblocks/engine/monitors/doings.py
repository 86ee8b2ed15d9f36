"""What is kept of a step, for later ones to be compared with."""

from zlib import crc32

import msgspec

from .asking import answer_of
from .features import StepFeatures
from .quick import lower, quick
from .terms import Terms
from .words import WordSet, size, split, word_set

COMPARABLE = 8
"""Words of a result, or of a message, below which likeness is chance."""
MUCH_SAID = 6
"""Words of a call that nobody has cause to make twice, such as a message."""
DENIES = frozenset("cannot couldn didn empty no none not nothing null unable unchanged unknown without zero 0".split())
_LONGEST_QUESTION = 300
"""Characters of a search that are compared."""
_SHORT_REFUSAL = 120
"""Characters of a result that may be a refusal and nothing else."""
_MERE_RECEIPT = 80
"""Characters of a result that may only say that something was done."""
_DONE_ONCE = frozenset(
    "assign book buy cancel create exchange invite modify order pay post publish refund rename request send submit "
    "transfer update upload".split()
)
"""What nobody has cause to do twice with the same arguments."""
_ALLOWED = r" (?:permitted|allowed|authori[sz]ed|respon\w+|possible|reply|connection)"
_REFUSES = quick(
    r"aborted|bad gateway|blocked|broken|connection (?:lost|reset|closed)|crashed|declined|denied|disconnected"
    r"|exceeded|expired|forbidden|internal error|offline|overloaded|rate limit|refused|rejected|time(?:d )?-?out"
    r"|too many requests|unauthori[sz]ed|unavailable|unreachable|went wrong"
    r"|fail(?:ed|s|ure) (?:to|with|because|due|after)"
    rf"|not{_ALLOWED}|n't{_ALLOWED}|no{_ALLOWED}"
)
"""What a result says that is no answer."""
_FIGURES = b"0123456789"
_ORNAMENTS = bytes(code for code in range(128) if not chr(code).isalnum())
"""Blanks, quotation marks and the like: they make no other thing of what they stand around."""
_DOCUMENT = "<<"
"""With it a shell is handed a text to write."""


class Done(msgspec.Struct, gc=False):
    """What a later step is compared with."""

    index: int
    acts: bool
    """Whether there is a call at all."""
    tool: bytes
    call: bytes
    given: int
    """The same for the same arguments, however they were laid out."""
    bare: int
    """The same for arguments that differ in blanks, marks and capital letters alone."""
    thought: int
    """The same for the same thought."""
    thought_words: WordSet
    target: bytes
    terms: Terms
    """The words of the call."""
    message: tuple[WordSet, WordSet] | None
    """Of a message its words and its numbers."""
    said: str
    """The beginning of what the call was given, or of the message."""
    searches: bool
    result: bytes
    shape: int
    """The same for results that differ in figures alone."""
    result_words: WordSet
    result_numbers: WordSet
    result_size: int
    comparable: bool
    """Whether the result has so many words that another one may be like it."""
    failure: bytes
    trouble: WordSet
    """The words of a failure without any numbers and ids; empty if nothing failed."""
    answer: WordSet
    """What somebody told who was asked for one thing."""
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

    @property
    def words(self) -> WordSet:
        """Of the call; of a message, its own."""
        return self.message[0] if self.message else self.terms.words

    @property
    def names(self) -> WordSet:
        """Whatever of the call is more than plain words."""
        return self.terms.names

    @property
    def parts(self) -> WordSet:
        """Words and names of the call; of a message, its numbers."""
        return self.message[1] if self.message else self.terms.parts


def done(step: StepFeatures, changes_before: int) -> Done:
    """What is kept of a step that was taken after so many changes."""
    speaks = step.speaks_only
    arguments = step.arguments.encode("utf-8", "surrogatepass")
    answer = answer_of(step)
    return Done(
        # In the order of the fields: by their names it takes ten times as long.
        step.index,
        not speaks,
        step.tool,
        step.call,
        crc32(arguments),
        crc32(arguments.lower().translate(None, _ORNAMENTS)),
        crc32(step.thought.encode("utf-8", "surrogatepass")),
        step.thought_words,
        step.target,
        step.terms,
        (step.thought_words, step.thought_numbers) if speaks else None,
        (step.thought if speaks else step.arguments)[:_LONGEST_QUESTION],
        step.role.searches,
        step.result,
        crc32(step.result_excerpt.encode("utf-8", "surrogatepass").translate(None, _FIGURES)),
        step.result_words,
        step.result_numbers,
        step.result_size,
        size(step.result_words) >= COMPARABLE,
        step.failure,
        _trouble(step),
        answer,
        step.role.looks,
        step.role.waits or step.unfinished,
        step.role.changes,
        step.role.writes or step.role.notes or (step.role.changes and _DOCUMENT in step.arguments),
        not answer and _is_receipt(step),
        changes_before,
        changes_before,
        family=step.index,
    )


def _trouble(step: StepFeatures) -> WordSet:
    """What a failure says, be it called one or not."""
    if not step.failed and (step.result_size > _SHORT_REFUSAL or step.unfinished or step.speaks_only):
        return 0
    if not step.failed and not _REFUSES.are_in(lower(step.result_excerpt)):
        return 0
    return word_set([word for word in split(step.result_excerpt) if word.isalpha()])


def _is_receipt(step: StepFeatures) -> bool:
    """Whether an act is merely acknowledged: what it brought about shows elsewhere. The same edit twice is the same."""
    acts = (step.role.changes or step.role.unknown) and not step.role.writes
    if not acts or step.failed or step.result_size > _MERE_RECEIPT:
        return False
    if step.arguments and not _DONE_ONCE.isdisjoint(split(step.action)):
        return False
    return DENIES.isdisjoint(step.heard) and size(step.call_words) < MUCH_SAID
