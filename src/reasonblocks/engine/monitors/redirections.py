"""Redirections: a person is told about something else, and comes back to what they had asked for.

The message has hardly a word of what the person said before, asks for nothing, and the reply takes up none of it: it
says again what is wanted, or wonders. One such reply is a misunderstanding, two are a sign; one is enough if it says in
plain words that this is not what was asked for.
"""

from collections import deque

import msgspec

from .complaints import ASTRAY, remark_in
from .features import StepFeatures
from .partaking import does_so, is_content
from .provenance import STEPS_TO_WAIT, turns_to_something_else
from .topics import TopicSet, topic_of_task
from .words import Phrases

_REMINDS = Phrases(
    "am asking about, am here about, am here for, back on track, back to the booking, back to the order, came here for",
    "came here to, can we talk about my, could we talk about my, didn't come here, doesn't help me, does not help me",
    "i asked about, i asked for, i asked if, i asked you, i asked whether, i called about, i wrote about, i'm asking",
    "i'm here about, i'm here for, i'm only here, is not helping, isn't helping, isn't what i, my question is",
    "my question was, not helping me, stay on topic, that's not what, that is not what, was asking about",
    "was asking for, was asking if, was asking whether, was talking about, were talking about",
)
"""What somebody says who is told something else; it may be meant otherwise where the message was about their matter."""
_FEWEST_WORDS, _MOSTLY_NEW = 3, 0.5
"""A message about something else has so many words that nobody had used, and this share of them..."""
_MOST_OF_WISH = 1
"""...and no more of the person's last words."""
_LONGEST_REPLY = 22
_MOST_OWN = 1
"""So many words of a reply may be new."""
_WANTS = frozenset("can could need please want wanted would".split())
"""What a reply has that wants something."""
_OF_THEIR_MATTER = frozenset(
    "afraid allow allowed allows apologise apologize apologies cannot can't could eligible exception exceptions forbid "
    "forbidden forbids impossible let may must only permitted please policies policy possible regret require required "
    "requires rule rules sorry terms unable unfortunately would".split()
)
"""Who declines something, says by what rule, or wants something of a person speaks of what they came for, whatever the
words."""
_WITHIN, _SHORTLY = 6, 4
_ENOUGH = 2


class Redirection(msgspec.Struct, frozen=True):
    """A reply that takes up nothing of the message before it."""

    index: int
    reply: str
    subject: TopicSet
    """What the message was about that nobody had spoken of, with what was looked up for it."""
    plain: bool
    """Whether it says in so many words that this is not what was asked for..."""
    astray: bool
    """...and whether the message shows that it is not."""
    returns: bool
    """Whether it speaks of what was spoken of before, or wants something."""


class Redirections:
    """The latest replies of a person who wants to get back to something."""

    __slots__ = ("_answered", "_before", "_heard", "_latest", "_spoken", "_stray", "_wish")

    def __init__(self, task: str) -> None:
        self._before: TopicSet = topic_of_task(task)[0]
        """What anything was about before the person was led away..."""
        self._spoken = self._wish = self._before
        """...what either side had spoken of, and what the person had said last."""
        self._answered = False
        self._heard: TopicSet = 0
        """What the calls since have brought about somebody or something that nobody had named."""
        self._latest: deque[Redirection] = deque(maxlen=_ENOUGH)
        self._stray = -_WITHIN
        """The last call with an id that nobody had named, answered with a record of its own."""

    def observe(self, step: StepFeatures) -> list[Redirection] | None:
        """Take the next step in: the replies, once they are enough."""
        if not self._answered and step.index > STEPS_TO_WAIT:
            return None
        topic = step.topic
        if not step.speaks_only:
            about = topic.brought | topic.called | topic.coded
            if step.origin.fresh and step.origin.record:
                self._stray = step.index
                self._heard |= about
            else:
                self._before |= about
            return None
        if not step.observation:
            self._before |= topic.spoken
            self._spoken |= topic.spoken
            return None
        self._answered = True
        found = self._redirection(step)
        if found is None:
            self._spoken |= topic.spoken | topic.brought
            self._before |= self._spoken | self._heard
            self._wish = topic.brought
            self._heard = 0
            self._latest.clear()
            return None
        self._latest.append(found)
        first = self._latest[0]
        if len(self._latest) < _ENOUGH or step.index - first.index > _WITHIN:
            return [found] if found.plain and (found.astray or step.index - self._stray < _SHORTLY) else None
        # Who only nods may be led through something, or not have been led away yet.
        return list(self._latest) if found.plain or found.returns else None

    def _redirection(self, step: StepFeatures) -> Redirection | None:
        topic, reply = step.topic, step.observation
        strange = self._heard & ~self._before
        own = topic.brought & ~self._before
        if len(reply.split(None, _LONGEST_REPLY)) > _LONGEST_REPLY or own.bit_count() > _MOST_OWN:
            return None
        # Of what was looked up before the message the person may have asked for anything, unless they say so.
        new, new_if_plain = topic.spoken & ~self._before, topic.spoken & ~self._spoken
        may_be, may_be_if_plain = _is_new(new, strange, topic.brought), _is_new(new_if_plain, strange, topic.brought)
        if not (may_be or may_be_if_plain) or turns_to_something_else(reply) or is_content(step) or does_so(reply):
            return None
        plain = remark_in(step, ASTRAY) or remark_in(step, _REMINDS)
        if not (may_be_if_plain if plain else may_be):
            return None
        new = new_if_plain if plain else new
        count = new.bit_count()
        astray = (
            count >= _MOSTLY_NEW * topic.spoken.bit_count()
            and (topic.spoken & self._wish).bit_count() <= _MOST_OF_WISH
            and "?" not in step.thought
            and _OF_THEIR_MATTER.isdisjoint(step.said)
        )
        if not astray and not plain:
            return None
        returns = topic.brought != own or not _WANTS.isdisjoint(step.heard)
        return Redirection(step.index, step.result_quote(), new | strange, plain, astray, returns)


def _is_new(new: TopicSet, strange: TopicSet, brought: TopicSet) -> bool:
    """Whether a message is about something else, and the reply has nothing of it."""
    return new.bit_count() >= _FEWEST_WORDS and not brought & (new | strange)
