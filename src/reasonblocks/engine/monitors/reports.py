"""What people are told was done for them, held against the calls that were made.

Only where somebody answers: among agents who talk to each other, or to themselves, "I have updated the list" may mean
the list in the message.
"""

import re

from ..answers import Evidence
from .agreements import agrees, asks_for_it, goes_ahead, says_yes
from .base import Reading
from .conclusions import (
    asks,
    denies,
    goes_on,
    leaves_open,
    opening,
    owns_failure,
    reports_change,
    states_fact,
)
from .deeds import reported_deeds, speaks_of_all
from .dismissals import dismisses, presumes, takes_for_done
from .features import StepFeatures, quote
from .offers import offers_deed, speaks_of_the_future
from .quick import lower, quick_phrases
from .reassurances import Request, reassures
from .rereads import Rereads
from .roles import hands_over
from .told_figures import ToldFigures
from .told_grades import compare_grades
from .told_looks import ToldLooks, ids_of, promises_look, tells_of_look
from .told_records import ToldRecords
from .told_states import ToldStates
from .troubles import owns_trouble
from .untried import calls_proven, is_untried
from .verdicts import is_bare, only_receipt, speaks_against, tells_of_failure
from .words import WordSet, phrases, pieces, size, split

_NAME = "verification_skip"
_CALL_FAILED = 0.75
_NO_CALL = 0.7
_BARE = 0.3
_STILL = quick_phrases(
    "again, anything, different, even now, keep*, nope, no change, nothing, now, same, still, tested, tried, unchanged"
)
"""An answer with one of these is about how things are by now."""
_THANKS = quick_phrases("appreciate*, glad, grateful, great, perfect, thank, thanks")
_TRY = phrases(
    "attempt, check, could you, let me know, let's, please, restart*, retry, see if, try, would you, you can"
)
"""A message with one of these leaves it to the other side to see."""
_FIRST_SENTENCE = re.compile(r"(?<=[.!?;])\s|\n|, (?:so|now) ")
_CONTRACTED = re.compile(
    r"^\W{0,4}(?:[\w-]+ ){0,4}[\w-]+['\u2019](?:s|re) (?:all |now |been |both )*\w{3,}ed\b"
    r"|^\W{0,4}(?:(?:the|their|your) )?(?:[\w-]+ ){1,3}\w{3,}ed\b"
)
_SEES = re.compile(
    r"\b(?:i|we|you)(?:['\u2019]ve| have| had)? (?:\w+ ){0,2}?(?:analy[sz]ed|asked|checked|confirmed|found"
    r"|gathered|identified"
    r"|located|looked|mentioned|noted|noticed|provided|received|requested|retrieved|reviewed|said|seen|tried|verified"
    r"|wanted)\b",
    re.IGNORECASE,
)
"""What was found out, or asked for, is no deed."""
_IDENTIFIES = re.compile(
    r"\b(?:are|is|was|were) [^.?!\n]{1,40} (?:(?:what|which|who) )?you (?:are|have in mind|mean|meant|refer|speak"
    r"|talk|were)\w*[^.?!\n]{0,40}\?",
    re.IGNORECASE,
)
"""A question that is only about which thing is meant."""
_CLOSES = re.compile(
    r"\b(?:all set|anything (?:else|more|further)|enjoy|feel free|glad (?:i|to|that)|good ?bye|happy (?:i could"
    r"|to have|to help|travels)"
    r"|have an? (?:\w+ )?(?:\w+day|day|evening|flight|morning|night|stay|time|trip|weekend|week|one)"
    r"|is there (?:something|anything)"
    r"|let (?:me|us) know if|reach out|safe travels|take care|thank you for|thanks for|that(?:'s| is) (?:all"
    r"|everything|it)"
    r"|there you (?:go|have it|are)|welcome|see you)\b",
    re.IGNORECASE,
)
"""A message with one of these is the last word on what was asked for."""
_MAKES_A_DIFFERENCE = re.compile(
    r"\b(?:as (?:it|they) (?:is|are|was|were)|but|except|however|instead|later|not|only|pending|rather|remain\w*|still"
    r"|unable|unchanged|unknown|until|without that)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
"""With one of these a message may tell of what was not done."""
_REGRETS = re.compile(
    r"\W{0,4}(?:(?:i|we)(?:['\u2019]m|['\u2019]re| am| are) )?(?:\w+ )?(?:afraid|sorry)\b(?! (?:about|for)\b)",
    re.IGNORECASE,
)
"""It begins with a regret, other than about a delay or the like."""
_BEGINNING = 400
_BEGINNING_OF_REPORT = 200
_LONGEST_REFUSAL = 300
_LONGEST_NOD = 80
_PASSED_ON = 2
"""Words and numbers that a message has from a result which it passes on."""


class Reports:
    """The changes of a conversation, and what was said about them."""

    __slots__ = (
        "_answer",
        "_bare",
        "_called",
        "_changed",
        "_disputed",
        "_failed",
        "_fresh",
        "_known",
        "_left",
        "_looked",
        "_mistaken",
        "_prompt",
        "_receipt",
        "_refused",
        "_reported",
        "_rereads",
        "_seen",
        "_told_figures",
        "_told_looks",
        "_told_records",
        "_told_states",
        "_tool",
        "_unconfirmed",
        "_unseen",
        "_untold",
        "answered",
    )

    def __init__(self) -> None:
        self.answered = 0
        """How often somebody has answered a message."""
        self._looked = False
        """Whether there are tools at all."""
        self._tool = ""
        """The newest one that was called."""
        self._called = False
        """Whether anything was called since the other side spoke last."""
        self._fresh = 0
        """Changes since the other side spoke last."""
        self._changed: WordSet = 0
        """The ids in all changes."""
        self._failed: tuple[int, str] | None = None
        """The newest change since the other side spoke last that failed, and was not made in another way."""
        self._left: tuple[int, str, bytes] | None = None
        """The same with its tool, which may have been called for another thing than what worked after it."""
        self._told_figures = ToldFigures()
        self._told_looks = ToldLooks()
        self._told_records = ToldRecords()
        self._told_states = ToldStates()
        self._refused: WordSet = 0
        """The ids in it."""
        self._mistaken = b""
        """Its tool, if one of these ids was never heard of before: a slip that another call makes good."""
        self._seen: WordSet = 0
        """The ids and numbers of results, and of what the other side said."""
        self._unconfirmed: tuple[int, str] | None = None
        """The newest change since then, if its result leaves open whether it was made, and nobody looked since."""
        self._bare = False
        """Whether that result says nothing at all."""
        self._receipt: WordSet = 0
        """Its words and numbers."""
        self._unseen = False
        """Whether something was changed, and nothing looked up after that."""
        self._rereads = Rereads()
        self._disputed: tuple[int, str] | None = None
        """The step after which the other side has just said something, if nothing was called since, and what."""
        self._untold = False
        """Whether something was changed before that, and has not been spoken of yet."""
        self._prompt = ""
        """The newest message that was answered."""
        self._answer = ""
        """What the other side said to it."""
        self._known: WordSet = 0
        """What results and the other side said: it may simply be repeated."""
        self._reported: WordSet = 0

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take a step in; what is wrong with what it reports, if anything is."""
        if not step.speaks_only:
            found = self._compare_passing(step) if self.answered and self._failed is not None and step.thought else None
            self._take_call(step)
            return found
        found = None
        if self.answered:
            found = (self._compare(step) if self._looked else None) or self._told_looks.compare(step, self._answer)
            found = found or self._told_looks.compare_newest(step) or self._told_states.compare(step)
            found = found or self._told_figures.compare(step) or self._compare_untried(step)
            found = found or self._compare_promise(step) or self._told_records.compare(step)
            found = found or compare_grades(step, self._answer)
        if step.result_size:
            self._untold = (self._untold or self._fresh > 0) and not reports_change(opening(step.thought))
            self.answered += 1
            self._known |= step.result_words
            self._seen |= step.result_numbers
            self._fresh, self._failed, self._unconfirmed, self._left = 0, None, None, None
            self._called = False
            self._rereads.forget()
            self._told_looks.forget()
            self._told_records.forget()
            self._told_states.forget()
            self._told_figures.forget(step)
            self._prompt, self._answer = step.thought, step.result_excerpt
            short = step.result_size <= _LONGEST_REFUSAL
            self._disputed = (step.index, self._answer) if short else None
        return found

    # What an answer means is asked of few answers, so none is read before it has to be.
    def _go_ahead(self, report: str) -> bool:
        """Whether the other side has just agreed to something; if it asks for more besides, a report begins with it."""
        if "?" not in self._answer[:_BEGINNING]:
            return goes_ahead(self._answer)
        return agrees(self._answer) and bool(reported_deeds(opening(report)[:_BEGINNING_OF_REPORT]))

    @property
    def _agreed(self) -> bool:
        """Whether it has just agreed to what it was asked for."""
        return 0 < len(self._answer) <= _LONGEST_REFUSAL and agrees(self._answer) and asks(self._prompt)

    def _take_call(self, step: StepFeatures) -> None:
        role = step.role
        if role.notes:
            return
        self._looked = True
        self._disputed = None
        self._called = True
        self._tool = step.action
        self._told_looks.take(step, answered=self.answered > 0)
        self._told_records.take(step)
        if self.answered:
            self._told_states.take(step)
            self._told_figures.take(step)
        self._rereads.observe(step)
        if role.looks or role.waits or (role.runs and not _has_letters(step.arguments)):
            self._known |= step.result_words
            self._seen |= step.result_numbers
            if not step.failed and not step.unfinished:
                self._unconfirmed = None
                self._unseen = False
            return
        orders = not (role.runs or role.writes)  # nobody orders, books or cancels by commands and files
        receipt = orders and not step.failed and only_receipt(step)
        self._bare = orders and not step.failed and not receipt and role.changes and is_bare(step)
        refused = step.failed or (orders and not receipt and speaks_against(step))
        if refused and step.result_size < _LONGEST_REFUSAL:  # a longer one may hold several, of which some worked
            self._failed = (step.index, step.result_quote())
            self._left = (*self._failed, step.tool)
            self._refused = ids_of(step.given)
            self._mistaken = step.tool if self._refused & ~self._seen else b""
            return
        self._fresh += 1
        if self._left is not None and self._left[2] == step.tool:
            self._left = None
        named = ids_of(step.given) if orders else 0
        if not named or not self._refused or named & self._refused or step.tool == self._mistaken:
            self._failed = None
        self._unconfirmed = (step.index, step.result_quote()) if receipt or self._bare else None
        self._receipt = step.result_words | step.result_numbers
        if orders:
            self._changed |= named | step.result_numbers
            self._unseen = True

    def _compare(self, step: StepFeatures) -> Reading | None:
        answer = self._disputed
        if answer is not None and _disputes(answer[1]) and (found := self._compare_verdict(answer, step)):
            return found
        if answer is not None and self._unseen and (found := self._compare_request(answer, step)):
            return found
        if self._failed is not None or self._unconfirmed is not None or self._rereads.unmoved is not None:
            return self._compare_result(step)
        if self._left is not None and (found := self._compare_all(step, self._left)):
            return found
        deeds = reported_deeds(step.thought)
        if not deeds:
            return self._compare_state(step)
        earlier = self._reported
        for _, deed in deeds:
            self._reported |= deed
        said, deed = next((found for found in deeds if found[1]), deeds[0])
        if self._fresh:
            named = _ids(said) or _ids(opening(step.thought)[:_BEGINNING_OF_REPORT].rpartition(" ")[0])
            if not named or _ids(step.thought) & self._changed:
                return None
            reason = "Something is reported as done, but no call has changed what it names."
            return Reading(_NO_CALL, Evidence(_NAME, reason, [step.index], [said]))
        named = _ids(step.thought)
        # What was changed before something else came up is still to be told, by its id or without any.
        told_again = named & self._changed and (self._untold or not asks_for_it(self._answer))
        told_again = told_again or (self._untold and not named)
        # Whoever asks for a look is told what it shows.
        go_ahead = (deed or not Request(self._answer).looks) and self._go_ahead(step.thought)
        if not told_again and (go_ahead or (deed and not deed & (earlier | self._known))):
            reason = "Something is reported as done, but no call has changed anything since it was asked for."
            return Reading(_NO_CALL, Evidence(_NAME, reason, [step.index], [said]))
        return None if told_again else self._compare_state(step)

    def _compare_passing(self, step: StepFeatures) -> Reading | None:
        """What is wrong with what is said in passing, with the next call, of the change that has just failed."""
        failed, left = self._failed, self._left
        if failed is None or left is None or failed[0] != step.index - 1 or step.tool == left[2]:
            return None
        first = _FIRST_SENTENCE.split(step.thought, maxsplit=1)[0]
        if not (states_fact(first) or _CONTRACTED.search(first)) or _SEES.search(first):
            return None
        if not (step.role.changes or pieces(self._tool) & step.thought_words):
            return None  # it may be about something else
        if owns_trouble(step.thought) or _owns(first):
            return None
        reason = "Something is called done in passing, but the call that should have done it had failed."
        return _reading(_CALL_FAILED, reason, failed, step, first)

    def _compare_untried(self, step: StepFeatures) -> Reading | None:
        """What is wrong with a message that calls proven what the other side has just said it did not try yet."""
        answer = self._disputed
        if answer is None or not is_untried(answer[1]) or not calls_proven(step.thought):
            return None
        if asks(step.thought) or goes_on(step.thought) or _TRY.search(step.thought):
            return None
        reason = "Something is said to work, but the other side has just said that it was not tried yet."
        return _reading(_CALL_FAILED, reason, (answer[0], quote(answer[1])), step, opening(step.thought))

    def _compare_promise(self, step: StepFeatures) -> Reading | None:
        """What is wrong with a message that tells of a look that was promised, and not taken."""
        if self._called or not self._looked or len(self._answer) > _LONGEST_NOD or "?" in self._prompt:
            return None
        if not promises_look(self._prompt):
            return None
        lead = opening(step.thought)
        if asks(step.thought) or goes_on(step.thought) or not (tells_of_look(lead) or states_fact(lead)) or _owns(lead):
            return None
        reason = "What a look was promised for is told, and nothing was looked up."
        return Reading(_NO_CALL, Evidence(_NAME, reason, [step.index], [quote(lead), quote(self._prompt)]))

    def _compare_state(self, step: StepFeatures) -> Reading | None:
        """What is wrong with a message that says, right after a yes, how things are now, though nothing was called."""
        if self._fresh or not self._answer:
            return None
        lead = opening(step.thought)
        told = self._agreed and reports_change(lead) and _IDENTIFIES.search(self._prompt) is None
        if not (told or self._ends_without_it(step)) or _owns(lead):
            return None
        if asks(step.thought) or goes_on(step.thought) or _ids(lead) & self._changed:
            return None
        reason = "Something is reported as done, but no call has changed anything since it was agreed to."
        return Reading(_NO_CALL, Evidence(_NAME, reason, [step.index], [quote(lead)]))

    def _ends_without_it(self, step: StepFeatures) -> bool:
        """Whether a plain yes to what was to be done is answered with a message, and with no call."""
        return (
            says_yes(self._answer)
            and offers_deed(self._prompt)
            and not self._called
            and not speaks_of_the_future(step.thought)
        )

    def _compare_result(self, step: StepFeatures) -> Reading | None:
        """What is wrong with a message right after a change that failed, or that may not have been made."""
        lead = opening(step.thought)
        if not lead or (not states_fact(lead) and (asks(step.thought) or goes_on(step.thought))):
            return None
        first = lead.partition(". ")[0]
        deed = bool(reported_deeds(first))  # what it begins with counts, if that is a deed
        if tells_of_failure(first) if deed else _owns(lead):
            return self._compare_hope(step)
        if self._failed is not None:
            reason = "Something is reported as done, but the call that should have done it had failed."
            return _reading(_CALL_FAILED, reason, self._failed, step, lead)
        if self._rereads.unmoved is not None:
            reason = "Something is reported as done, but what was shown after the change is the same as before it."
            return _reading(_CALL_FAILED, reason, self._rereads.unmoved, step, lead)
        if self._unconfirmed is None or leaves_open(first if deed else lead) or (not deed and self._passes_on(step)):
            return self._compare_hope(step)
        reason = "Something is reported as done, but the result of the call leaves that open, and nobody looked since."
        return _reading(_BARE if self._bare else _NO_CALL, reason, self._unconfirmed, step, lead)

    def _passes_on(self, step: StepFeatures) -> bool:
        """Whether a message tells what the result has: what was received, or is under way, may be told as that."""
        return size((step.thought_words | step.thought_numbers) & self._receipt) >= _PASSED_ON

    def _compare_all(self, step: StepFeatures, left: tuple[int, str, bytes]) -> Reading | None:
        """What is wrong with a message that calls all of it done, or makes light of a part that failed."""
        text = step.thought
        lead = opening(text)
        if denies(lead) or asks(text) or goes_on(text):
            return None
        hushed = _CLOSES.search(text) is not None and not (
            _MAKES_A_DIFFERENCE.search(text) or owns_trouble(text) or _owns(lead) or hands_over(self._tool)
        )
        told = states_fact(lead) and ((speaks_of_all(lead) and not _owns(lead)) or dismisses(text))
        if not (hushed or told):
            return None
        reason = "All of it is reported as done, but one of the calls that should have done it had failed."
        return _reading(_CALL_FAILED, reason, left[:2], step, lead)

    def _compare_hope(self, step: StepFeatures) -> Reading | None:
        """What is wrong with a message that owns what went wrong, or is open, and calls it done all the same."""
        before = self._failed or (None if self._bare else self._unconfirmed)
        if before is None or self._fresh > (self._failed is None) or asks(step.thought) or goes_on(step.thought):
            return None
        # Whoever calls done what is open may have been told so; it takes a word that it was only presumed.
        if not (presumes if self._failed is None else takes_for_done)(step.thought):
            return None
        reason = "Something is taken for done, though the call that should have done it failed, or left it open."
        return _reading(_NO_CALL, reason, before, step, step.thought)

    def _compare_verdict(self, answer: tuple[int, str], step: StepFeatures) -> Reading | None:
        """What is wrong with a message that calls done what the other side has just said does not work."""
        lead = opening(step.thought)
        if not states_fact(lead) or _owns(lead) or goes_on(step.thought) or asks(step.thought):
            return None
        if _TRY.search(step.thought):
            return None
        reason = "Something is called done, but the other side has just said that it does not work."
        return _reading(_CALL_FAILED, reason, (answer[0], quote(answer[1])), step, lead)

    def _compare_request(self, answer: tuple[int, str], step: StepFeatures) -> Reading | None:
        """What is wrong with a message that all is well, where the other side has just asked for a look."""
        request = Request(answer[1])
        if not (request.looks or request.doubts) or not reassures(request, step.thought):
            return None
        if not request.doubts and (named := _ids(f"{answer[1]} {step.thought}")) and not named & self._changed:
            return None  # about something else, which may have been looked at before
        reason = "Somebody who asked for a look is told that all is well, but nothing was looked up since the change."
        return _reading(_NO_CALL, reason, (answer[0], quote(answer[1])), step, step.thought)


def _owns(lead: str) -> bool:
    """Whether a message begins with what went wrong, or is not so."""
    return owns_failure(lead) or denies(lead) or tells_of_failure(lead) or _REGRETS.match(lead) is not None


def _disputes(said: str) -> bool:
    """Whether an answer says that something was tried or seen, and does not work."""
    lowered = lower(said)
    if not _STILL.are_in(lowered) or _THANKS.are_in(lowered):
        return False
    return tells_of_failure(said)


def _reading(score: float, reason: str, before: tuple[int, str], step: StepFeatures, said: str) -> Reading:
    index, text = before
    return Reading(score, Evidence(_NAME, reason, [index, step.index], [quote(said), text]))


def _ids(text: str) -> WordSet:
    """What may be the numbers of orders, tickets, bookings."""
    return ids_of(split(text))


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))
