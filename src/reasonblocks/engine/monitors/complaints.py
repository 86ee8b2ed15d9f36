"""What people say when they are asked the same again, or led away from what they came for.

Nobody knows better than the person at the other end. One such remark may be a mood; two of them within a few messages
are a sign.
"""

import re
from collections import deque
from collections.abc import Callable
from functools import lru_cache

from .features import StepFeatures
from .words import Phrases

_LONGEST = 30
"""Words of a reply; in a longer one the remark is not what it is about."""
_MOST_CHARACTERS = 360
_RECENT = 4
"""Messages within which remarks add up."""
AGAIN = Phrases(
    "agreed already, agreed several, already agreed, already answered, already asked, already confirmed, already did",
    "already explained, already gave, already given, already know, already mentioned, already provided, already said",
    "already told, already wrote, anything to add, as before, as i explained, as i mentioned, as i said, as i told",
    "as i wrote, asked already, asked me already, asked me before, asked me that, asked that already",
    "asked that before, asked this, been over that, been over this, been through that, been through this",
    "confirmed already, covered that, covered this, explained already, explained that, explained this",
    "for the last time, for the second time, for the third time, get on with it, gave you that, have told you",
    "how many times, how often",
    "i'm waiting, i am waiting, just do it, just said, just told, keep asking, keep repeating, keep saying",
    "like i said",
    "many times, mentioned already, mentioned before, nothing else to add, nothing has changed, nothing more to add",
    "nothing new to add, nothing to add, once more, read what i, repeat myself, repeating myself, repeating yourself",
    "said already, said before, said so, said that, said this, same answer, same as before, same question, same reason",
    "several times, still the same, still waiting, stop asking, told you, twice already, you already have",
    "you just said, you told me, you've asked, you've said, you've told",
)
"""It was said, asked or answered already."""
ASTRAY = Phrases(
    "a different matter, a different story, another matter, another story, another subject, another topic",
    "back to my question, back to my request, back to the point, back to what i, beside the point",
    "can we come back to, can we focus, can we get back, can we go back, can we return, can we stick, come back to my",
    "concentrate on, could we come back to, could we focus, could we get back, could we go back, could we return",
    "could we stick, did not ask about, did not ask for, didn't ask about, didn't ask for, didn't ask you",
    "does that even matter, don't see how, don't see what, don't see why, don't want to discuss",
    "don't want to talk about, focus on my, focus on the, get back to my, get back to the, we go back to my",
    "go back to what, has nothing to do, have to do with, hello my, how about my, how does it matter",
    "how does that help, how does that matter, how is that related, how is that relevant, how is this related",
    "how is this relevant, how that relates, how this relates, irrelevant, is that relevant, is this relevant",
    "let's focus on, let's get back, let's go back to, let's return to, let's stick to",
    "never asked about, never asked for, not my question, not really relevant, not relevant, not what i asked",
    "not what i called about, not what i came, not what i wanted to, not what this is about, not why i, not why we",
    "nothing to do with, off topic, off-topic, one thing at a time, please go back to, please stick to",
    "rather get back, rather stick to, return to my, some other time, sorry what, that is a different",
    "that is a separate, that is another, that's a different, that's a separate, that's another, unrelated",
    "want to go back to, wasn't asking about, what about my, what does that matter, what has that",
    "what i asked, what i came for, what is that to do with, what is this about, what's that got",
    "what's that to do with, why are we talking, why are you asking, why are you telling, why bring that up",
    "why bring this up, why do you ask, why do you bring, why do you want to know, why does it matter",
    "why does that matter, why does this matter, why is that important, why is that relevant, why is this relevant",
    "why the question, why would it matter, why would that matter, why would you ask",
)
"""It is not what they came for."""


_MOST_REMEMBERED = 16
"""Replies of which is remembered what they are: several ask about the same one."""
_PAUSES = re.compile(r"[,;?!.]+(?=\s)")


class Complaints:
    """The remarks of one kind in the last messages of a run."""

    __slots__ = ("_about", "_kind", "_remarks")

    def __init__(self, kind: Phrases, about: Callable[[StepFeatures], bool] | None = None) -> None:
        self._kind = kind
        self._about = about
        """Which messages the remarks have to be about; all of them if nothing is said."""
        self._remarks: deque[tuple[int, str]] = deque(maxlen=_RECENT)

    def listen(self, step: StepFeatures) -> list[tuple[int, str]]:
        """Take the next step in: the remarks among the last messages, each with its step; a call ends them."""
        if not step.speaks_only:
            self._remarks.clear()
            return []
        counts = remark_in(step, self._kind) and (self._about is None or self._about(step))
        self._remarks.append((step.index, step.observation if counts else ""))
        return [said for said in self._remarks if said[1]]


def remark_in(step: StepFeatures, kind: Phrases) -> bool:
    """Whether what a person answers is, in short, a remark of that kind."""
    reply = step.observation
    if len(reply) > _MOST_CHARACTERS or not kind.may_be_in(reply, step.heard):
        return False
    return _is_remark(reply, kind)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _is_remark(reply: str, kind: Phrases) -> bool:
    return len(reply.split()) <= _LONGEST and kind.found_in(_plain(reply))


def _plain(reply: str) -> str:
    return _PAUSES.sub("", reply.replace("\u2019", "'"))
