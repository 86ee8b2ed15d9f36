"""Which of the latest steps begin something that has to do with nothing before it.

An aside begins something by its own words (`asides.py`). Any other step goes on with what was there if it has words,
names or numbers from shortly before, if it does to the next item what was done to the last one, or if most of what it
speaks of is known. Otherwise it begins something. A stretch about one other thing begins once and goes on; one thing
after another begins with every step.
"""

import re
from collections import deque
from functools import lru_cache

from .asides import is_aside
from .combinations import Combinations
from .features import StepFeatures
from .hops import Hops
from .inquiry import inquires
from .monologue import is_remark
from .partaking import refers, takes_up
from .provenance import Origin
from .terms import Terms
from .topics import TopicSet, topic_of_task, topic_set
from .waiting import waits
from .words import Phrases, WordSet, alike, token_set

WINDOW = 6
"""Steps that are looked at together."""
_CLOSE, _APART = 4, 0.5
"""Beginnings within so few steps count in full; from those within the window this is taken off."""
_SHORTLY, _NAMES_SHORTLY = 3, 4
"""Steps back from which a word, or a name, is gone on with."""
_NEXT_ITEM = 0.25
"""Calls that have this share of their parts in common do the same to another item."""
_OF_ANY_CALL = token_set(
    "bash Bash cat head tail nl sed grep find ls wc awk sort uniq git python python3 cd echo inspect command run shell "
    "-n -ba -r -rn -rl -rln -l -la -i -e -c -name -type | && ; 2>&1 2>/dev/null . / -1 -2 -3 -5 -10 -20 -50 search "
    "show print list view read count see display look get first last line lines file files directory folder repository "
    "content contents code the a an all and for from in into of on or to with where what which".split()
)
"""What any command, and what describes one, may have, whatever it looks at."""
_OF_THE_MACHINE = frozenset(
    "apt crontab date df dmesg du env free history hostname hostnamectl htop id ifconfig ip last locale lsblk lscpu "
    "lsof lsusb mount netstat nproc pip pip3 printenv ps pstree sensors ss sysctl systemctl timedatectl top ulimit "
    "uname uptime vmstat w who whoami".split()
)
"""Programs that show how the machine is, whatever is worked at."""
_MOSTLY_NEW, _PARTLY_NEW = 0.5, 0.3
_NEW_AT_LENGTH = 0.6
"""Whoever speaks at length always has new words; this share of them is needed."""
_AT_LENGTH, _MANY_WORDS = 40, 14
_LITTLE_SAID = 0.75
"""What a step counts with a single telling word."""
_PARTLY = 0.4
_HOP, _BEGINS = 0.75, 0.5
"""What a step counts that goes on from one new thing to another, once some step has begun so much."""
_WORDLESS = 0.5
"""What it counts that a tool is called for the first time, with nothing to say what for."""
_LONG_ANSWER = 8
"""A person who answers with so many words takes part; such a step counts half."""
_NEW_REASON, _NEW_WORD = 0.75, 0.5
"""What a call counts whose reason is new, and one with a single new word in it..."""
_LATE_ASIDE, _SHORT_REASON = 10, 24
"""...from this step on, and if it is said in so few words."""
_MONOLOGUE = 2
"""Remarks in a row, to a person who only nods, that are one talk."""
_MOST_TOOLS = 1_000
_LONGEST_NAME = 120
_FURTHER = Phrases(
    "additionally, also, another, as well, at it, besides, bonus, by the way, could be fun, could be interesting",
    "could extend, could improve, curiosity, curious, extra, furthermore, in addition, i wonder, might as well",
    "might be fun, might be interesting, moreover, nice to have, on a different note, on a side note, on top of",
    "optional*, out of interest, separate*, side note, side question, side task, unrelated, while i have you",
    "while i'm, while we're, worth a look, worth adding, worth exploring, worth trying",
)
_INFERS = re.compile(
    r"\b(?:because|candidate|hence|hypothes[ei]s|means|rul(?:ed?|es|ing) (?:\w+ )?out|so(?! far| many| much)|suspect"
    r"|that leaves|then(?! again)|therefore|thus)\b",
    re.IGNORECASE,
)
"""Whoever draws a conclusion goes on, whatever it is about."""
_INFERRING = frozenset(
    "because candidate hence hypotheses hypothesis leaves means rul rule ruled rules ruling so suspect then therefore "
    "thus".split()
)
"""Without one of these words nothing matches that is written in ASCII."""
_AROUND_WORDS = "\"',;:.!?()[]{}<>*#=|&$"
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class Beginnings:
    """What the latest steps have begun."""

    __slots__ = (
        "_asides",
        "_calls",
        "_combinations",
        "_failed",
        "_fresh",
        "_hops",
        "_known",
        "_named",
        "_numbers",
        "_programs",
        "_remarks",
        "_spoken",
        "_tools",
        "latest",
    )

    def __init__(self, task: str) -> None:
        self._known: TopicSet = topic_of_task(task)[0]
        self._combinations = Combinations(task)
        self._spoken: TopicSet = self._known
        self._asides: deque[TopicSet] = deque(maxlen=_SHORTLY + 1)
        self._failed = False
        self._remarks = 0
        self._hops = Hops()
        self._tools: set[bytes] = set()
        self._programs: set[str] = set()
        self._fresh: deque[TopicSet] = deque(maxlen=_SHORTLY)
        self._named: deque[TopicSet] = deque(maxlen=_NAMES_SHORTLY)
        self._calls: deque[tuple[bytes, Terms]] = deque(maxlen=WINDOW)
        self._numbers: WordSet = 0
        self.latest: deque[tuple[int, float]] = deque(maxlen=WINDOW)
        """The latest steps that say anything, and how much of a beginning each is."""

    @property
    def total(self) -> float:
        """How many beginnings there are among the latest steps; those that lie apart count less."""
        values = [value for _, value in self.latest]
        return max(sum(values[-_CLOSE:]), sum(values) - _APART)

    def observe(self, step: StepFeatures) -> float:
        """Take the next step in; how much of a beginning it is, from 0 to 1."""
        first_call = not step.speaks_only and step.tool not in self._tools
        own = step.topic.spoken
        if first_call:
            own |= _name_words(step.action[:_LONGEST_NAME])
        value = self._weigh(step, own, first_call)
        hop = self._hops.go_on(step)
        if hop and not value and not infers(step) and not inquires(step):
            value = _HOP * hop
        elif value and value >= _BEGINS and not step.speaks_only:
            self._hops.set_out(self._known, step)
        if value is not None:
            self.latest.append((step.index, value))
        self._take_in(step, own)
        return value or 0.0

    def _weigh(self, step: StepFeatures, own: TopicSet, first_call: bool) -> float | None:
        """How much of a beginning a step is; `None` for one that says nothing either way."""
        origin = step.origin
        out_of_the_blue = self._combinations.observe(step)
        if is_aside(step):
            self._remarks = 0
            return 1.0
        if step.speaks_only:
            self._remarks = self._remarks + 1 if is_remark(step) else 0
            if takes_up(step):
                return 0.0
        if self._remarks >= _MONOLOGUE:
            return 0.0
        if out_of_the_blue:
            return 1.0
        if origin.fresh and origin.record:
            return 0.0 if origin.tied else 1.0
        if not step.topic.said and not own & self._known and self._looks_at_machine(step):
            return _LITTLE_SAID
        aside = self._weigh_reason(step)
        value = self._newness(step, own, first_call, origin)
        if not value and not aside:
            # Whoever serves a person may look up anything between two questions.
            return None if self._combinations.answered and not step.thought else value
        if not first_call and not step.speaks_only and waits(step):
            return None
        if len(step.said) <= _AT_LENGTH and (infers(step) or inquires(step)):
            return 0.0
        if not value or self._goes_on(step, own):
            return None if self._combinations.answered and not step.thought else aside
        return max(value, aside)

    def _newness(self, step: StepFeatures, own: TopicSet, first_call: bool, origin: Origin) -> float | None:
        if not step.topic.spoken:
            return _WORDLESS if first_call and not self._is_known(step.topic.brought) else None
        if origin.given and origin.fresh == origin.given:
            return 1.0
        new = own ^ (own & self._known)
        if not new:
            return 0.0
        words = own.bit_count()
        share = new.bit_count() / words
        if words > _MANY_WORDS or len(step.said) > _AT_LENGTH:
            value = 1.0 if share >= _NEW_AT_LENGTH else 0.0
        elif share >= _MOSTLY_NEW:
            value = 1.0
        elif share >= _PARTLY_NEW:
            value = 1.0 if _FURTHER.are_in(step.thought, step.said) else _PARTLY
        else:
            return 0.0
        if step.speaks_only and step.observation:
            if step.observation.count(" ") >= _LONG_ANSWER:
                value /= 2
            elif "?" in step.thought and len(step.said) <= _SHORT_REASON:
                return value  # a question by the way
        return value * _LITTLE_SAID if words == 1 else value

    def _looks_at_machine(self, step: StepFeatures) -> bool:
        """Whether it looks, for the first time, at how the machine is, though nothing failed."""
        program = step.arguments[:_LONGEST_NAME].split(None, 1)[:1]
        if step.speaks_only or not program or program[0] not in _OF_THE_MACHINE or self._failed:
            return False
        first = program[0] not in self._programs
        self._programs.add(program[0])
        return first

    def _weigh_reason(self, step: StepFeatures) -> float:
        """How much of a beginning a call is by its reason: one that was never spoken of, to whatever file."""
        self._asides.append(0)
        if step.index < _LATE_ASIDE or step.speaks_only or not 0 < len(step.said) <= _SHORT_REASON or self._failed:
            return 0.0
        reason = _plain_words(step.thought) | _plain_words(step.arguments[:_LONGEST_NAME])
        new = reason & ~self._spoken
        led = step.thought_numbers & self._numbers or any(reason & words for words in (*self._fresh, *self._asides))
        self._asides[-1] = new
        if led or not new or self._is_next_item(step) or new.bit_count() < _MOSTLY_NEW * reason.bit_count():
            return 0.0
        return _NEW_REASON if new.bit_count() > 1 else _NEW_WORD

    def _goes_on(self, step: StepFeatures, own: TopicSet) -> bool:
        if any(own & words for words in self._fresh) or any(step.topic.named & names for names in self._named):
            return True
        if step.thought_numbers & self._numbers or refers(step) or self._is_next_item(step):
            return True
        parts = step.call_parts & ~_OF_ANY_CALL
        return any(
            tool == step.tool and alike(parts, other.parts & ~_OF_ANY_CALL) >= _NEXT_ITEM for tool, other in self._calls
        )

    def _is_next_item(self, step: StepFeatures) -> bool:
        """Whether it does to another thing what was done to others: an entry of a list, or a name without a word."""
        listed = step.role.changes and not step.role.writes
        named = not step.topic.said and " " not in step.arguments and "://" not in step.arguments
        return (listed or named) and any(tool == step.tool for tool, _ in self._calls)

    def _is_known(self, words: TopicSet) -> bool:
        return (words & self._known).bit_count() > _PARTLY_NEW * words.bit_count()

    def _take_in(self, step: StepFeatures, own: TopicSet) -> None:
        topic = step.topic
        # What a thought says besides its call is how somebody speaks, not what is gone on with.
        taken_up = topic.brought | (topic.said if step.speaks_only else topic.called | topic.coded)
        self._fresh.append(taken_up ^ (taken_up & self._known))
        self._known |= own | topic.brought
        self._spoken |= own
        self._failed = step.failed
        self._named.append(topic.named)
        self._numbers = step.result_numbers
        if not step.speaks_only:
            self._calls.append((step.tool, step.terms))
            if len(self._tools) < _MOST_TOOLS:
                self._tools.add(step.tool)


def infers(step: StepFeatures) -> bool:
    """Whether a step draws a conclusion."""
    if step.thought.isascii() and _INFERRING.isdisjoint(step.said):
        return False
    return _INFERS.search(step.thought) is not None


@lru_cache(maxsize=1_024)
def _name_words(action: str) -> TopicSet:
    return topic_set({part.lower() for part in _NAME_PART.findall(action)})


def _plain_words(text: str) -> TopicSet:
    """The words of a text without those that name files, symbols and places."""
    tokens = [token.strip(_AROUND_WORDS).lower() for token in text.split() if "`" not in token]
    return topic_set({token for token in tokens if token.replace("-", "").isalnum()})
