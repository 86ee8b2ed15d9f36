"""A text that is put in other words again and again, while what it tells of stays as it is.

The message of a commit, the title of a request, a list in which nothing was begun, ticked off or added: each may be
put better once.
"""

import re
from zlib import crc32

from ..answers import Evidence
from .base import Reading
from .features import StepFeatures
from .roles import runs_commands

_SCORES = (0.0, 0.3, 0.7, 0.85, 0.95)
"""By how often it was put in other words."""
_FEWEST_ENTRIES = 2
_MOST_GAP = 1
"""Looks between two wordings."""
_LONGEST = 4_000
_MESSAGE = r"(?:-\w{0,3}[mF]\b|--(?:message|file|body|title|notes|description)\b)"
_COMMITS = re.compile(rf"\bgit\b[^|;&\n]{{0,40}}\scommit\s[^|;\n]{{0,80}}?{_MESSAGE}")
_REWORDS = re.compile(
    rf"\bgit\b[^|;&\n]{{0,40}}\s(?:commit\s(?=[^|;\n]*--amend\b)|(?:notes|tag)\s(?=[^|;\n]*\s(?:-\w{{0,3}}f|--force)\b))[^|;\n]*?{_MESSAGE}"
    rf"|\b(?:gh|glab|hub)\s(?:pr|mr|issue|release)\s(?:edit|update)\b[^|;\n]*?{_MESSAGE}"
)
_DOES_MORE = re.compile(
    r"\bgit\s(?:add|apply|checkout|cherry-pick|merge|mv|pull|push|rebase|restore|rm|stash)\b|\bsed\s+-i|\btee\s|[^-]>\s?\w"
)
_LIST = re.compile(r"to_?do|plan|check_?list", re.IGNORECASE)
_STATES = re.compile(
    r"^(?:active|blocked|cancelled|closed|complete|completed|doing|done|finished|in[_ -]progress|not[_ -]started|open"
    r"|ongoing|pending|skipped|started|to[_ -]?do|waiting)$|^\s*(?:[-*]|\d+[.)])\s*\[[ xX~-]?\]",
    re.IGNORECASE | re.MULTILINE,
)
"""How far the entries of a list are, each on its line."""
_EDITS = re.compile(
    r"(?:amend|edit|modify|reword|rewrite|revise|set|update)_?\w*?"
    r"(?:body|commit|description|headline|issue|merge_?request|message|pr|pull_?request|release|summary|ticket|title)s?$",
    re.IGNORECASE,
)
"""A tool that gives a text for people another wording."""
_FEWEST_WORDS = 2
"""A value on its own is a name or a state, several words are text."""
_MONITOR = "cyclic_compression"


class Rewording:
    """The wordings in a row of one text."""

    __slots__ = ("_gap", "_kind", "_quote", "_seen", "_steps")

    def __init__(self) -> None:
        self._kind = ""
        self._seen: set[int] = set()
        self._steps: list[int] = []
        self._quote = ""
        self._gap = 0

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if a text was put in other words once more."""
        kind, first = _kind(step)
        if not kind:
            if self._steps:
                self._gap += 1
                if self._gap > _MOST_GAP or step.speaks_only or not _only_looks(step):
                    self._steps = []
            return None
        self._gap = 0
        wording = crc32(step.arguments.encode("utf-8", "surrogatepass"))
        if first or not self._steps or kind != self._kind:
            self._kind, self._steps, self._seen = kind, [step.index], {wording}
            self._quote = step.call_quote()
            return None
        if wording in self._seen:
            return None  # word for word, it is not in other words
        self._seen.add(wording)
        self._steps.append(step.index)
        again = len(self._steps) - 1
        reason = f"One text was written {again + 1} times in other words, and what it tells of did not change."
        return Reading(
            _SCORES[min(again, len(_SCORES) - 1)],
            Evidence(_MONITOR, reason, self._steps[-len(_SCORES) :], [self._quote, step.call_quote()]),
        )


def _kind(step: StepFeatures) -> tuple[str, bool]:
    """Which text is written, the same for the same state of things, and whether for the first time."""
    if step.speaks_only or step.failed or len(step.arguments) > _LONGEST:
        return "", False
    if runs_commands(step.action):
        command = step.arguments
        if not ("git" in command or "gh" in command or "hub" in command or "glab" in command):
            return "", False
        if _DOES_MORE.search(command):
            return "", False
        if _REWORDS.search(command):
            return "message", False
        return ("message", True) if _COMMITS.search(command) else ("", False)
    return _entries(step) or _edited(step), False


def _entries(step: StepFeatures) -> str:
    """How far the entries of a list are, and of which one."""
    in_a_file = _LIST.search(step.action) is None
    if in_a_file and not ("[" in step.arguments and step.role.changes):
        return ""
    states = sorted([state.strip().lower() for state in _STATES.findall(step.arguments)])
    if len(states) < _FEWEST_ENTRIES:
        return ""
    return " ".join([step.arguments.split("\n", 1)[0] if in_a_file else "", *states])


def _edited(step: StepFeatures) -> str:
    """What a text for people belongs to that is given another wording: all that is no text stays the same."""
    if not step.role.changes or not _EDITS.search(step.action):
        return ""
    lines = step.arguments.split("\n")
    rest = [line for line in lines if len(line.split()) < _FEWEST_WORDS]
    return " ".join([step.action, *rest]) if rest and len(rest) < len(lines) else ""


def _only_looks(step: StepFeatures) -> bool:
    role = step.role
    return role.looks and not (role.changes or role.runs or role.waits)
