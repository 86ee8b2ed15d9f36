"""Promises in a row: something is going to be done, in a moment, and it is not.

Whoever can act does so in the next step. Whoever says a third time that it will be done, without a call and with
nothing but a nod in between, waits for nobody.
"""

from ..answers import Evidence
from .announcements import announces
from .base import Reading
from .features import StepFeatures, quote
from .quick import lower, quick
from .roles import hands_over
from .words import WordSet, overlap

_FEWEST = 3
"""Promises in a row that nobody keeps."""
_LONGEST = 60
"""Words of one; whoever says more has more to say than that."""
_NOD, _PATIENT = 10, 24
"""Words of an answer that asks for nothing new; and of one to a message that only puts somebody off."""
_MERE_PROMISE = 16
"""Words of such a message: with what is to be done it would be longer."""
_SAME = 0.3
"""Of the words of two promises that nobody answers, so that they are of the same deed."""
_SCORES = (0.85, 0.95)
_MONITOR = "semantic_loop"
_DOES = (
    r"(?:about to |actively |also |continue to |currently |first |get |go ahead and |going to |in the process of |just "
    r"|keep |now |quickly |right away |shortly |soon |start |still |then |try to )*"
    r"(?:access|address|adjust|appl|arrang|attend|calculat|call|cancel|chang|check|clos|complet|comput|confirm|continu"
    r"|correct|creat|deal|do|edit|execut|expedit|fetch|fil|find|finish|fix|follow|forward|gather|get back|go over|handl"
    r"|implement|initiat|inquir|inspect|investigat|issu|launch|load|look|mak|mov|open|organi|perform|prepar|proceed"
    r"|process|pull|put|read|record|refund|research|resolv|retriev|retry|review|run|search|see to|send|set|sort|start"
    r"|submit|tak|test|track|transfer|try|tri|updat|verif|wait|work|writ)\w*"
)
_A_MOMENT = (
    r"(?:just |only )?(?:a|one|another|some|few) (?:more |brief |little |short |quick )?"
    r"(?:moments?|seconds?|minutes?|instant|while)"
)
_PROMISES = quick(
    rf"i'?ll {_DOES}|i (?:will|shall) {_DOES}|i(?:'m| am) {_DOES}|let me {_DOES}|we(?:'ll| will) {_DOES}"
    rf"|we(?:'re| are) {_DOES}|allow me (?:to )?{_DOES}|{_A_MOMENT}"
    r"|bear with me|hang on|hang tight|hold on|stand by|stay with me|in a moment|momentarily|right away|any moment"
    r"|shortly|be right back|get back to you|almost (?:done|there)|nearly (?:done|there)|as we speak"
    r"|thank you for (?:your patience|waiting)|thanks for (?:your patience|waiting|bearing)|appreciate your patience"
    r"|still (?:checking|looking|waiting|working|processing)|working on it|on it now"
)
_PUTS_OFF = quick(
    r"be with you|bit of patience|more patience|hold the line|in no time|on (?:it|the case)|any (?:second|minute)"
    r"|(?:little|bit) (?:longer|more)|(?:for|thanks for|thank you for) holding|as soon as (?:i can|possible)"
    r"|not (?:be|take) (?:much |very )?long"
    r"|(?:be|being|getting) (?:attended|dealt|done|handled|looked|processed|taken care)"
)
"""What puts somebody off, where nothing but that is said."""


class Promises:
    """The promises in a row."""

    __slots__ = ("_handed_over", "_quotes", "_steps", "_words")

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._quotes: list[str] = []
        self._words: WordSet = 0
        """Of all of them."""
        self._handed_over = False

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if it is one promise too many."""
        if not step.speaks_only:
            self._handed_over = hands_over(step.action)
        words = step.thought_words
        if (
            self._handed_over
            or not _is_promise(step)
            or (self._steps and not step.observation and overlap(words, self._words) < _SAME)
        ):
            if self._steps:
                self._steps, self._quotes, self._words = [], [], 0
            return None
        self._steps = [*self._steps[-8:], step.index]
        self._quotes = [*self._quotes[:1], quote(step.thought)]
        self._words |= words
        over = len(self._steps) - _FEWEST - (not step.observation)
        if over < 0:
            return None
        reason = f"In {len(self._steps)} messages in a row something is going to be done, and nothing was done."
        return Reading(_SCORES[min(over, 1)], Evidence(_MONITOR, reason, self._steps, list(self._quotes)))


def _is_promise(step: StepFeatures) -> bool:
    """Whether somebody is only told that something will be done, and says no more than that this is fine."""
    if not step.speaks_only or not 0 < len(step.said) <= _LONGEST or "?" in step.thought:
        return False
    short = len(step.said) <= _MERE_PROMISE
    if len(step.heard) > (_PATIENT if short else _NOD) or step.result_numbers:
        return False
    return promises(step) or (short and _PUTS_OFF.are_in(lower(step.thought)))


def promises(step: StepFeatures) -> bool:
    """Whether what is said has the words of a promise."""
    text = lower(step.thought).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return _PROMISES.are_in(text) and not announces(text)  # to sum something up is no deed
