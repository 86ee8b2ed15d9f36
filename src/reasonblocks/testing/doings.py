"""What a recorded step does: looks, searches, changes, checks, talks. Good enough to choose where to plant."""

import re
from enum import Enum

from ..recordings import RecordedStep
from .arguments import shell_command


class Doing(Enum):
    """What a step is for."""

    TALK = "talk"
    NOTE = "note"
    SEARCH = "search"
    READ = "read"
    CHANGE = "change"
    CHECK = "check"
    END = "end"
    OTHER = "other"


_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CHANGE_VERBS = frozenset(
    "write edit update modify create insert replace delete remove cancel book return exchange send set toggle grant "
    "enable disable reset refuel pay resume suspend apply patch append add reboot reseat make".split()
)
_SEARCH_VERBS = frozenset("search grep glob find query lookup web".split())
_CHECK_VERBS = frozenset("test tests can verify lint build validate check".split())
_READ_VERBS = frozenset("read view open cat get show list ls fetch visit inspect details status page output".split())
_NOTE_VERBS = frozenset("todo think plan note".split())
_END_VERBS = frozenset("final submit finish transfer done answer".split())

_END_COMMAND = re.compile(r"\b(?:submit|final_output|complete_task)\b|SUBMIT|COMPLETE", re.IGNORECASE)
_SHELL_CHANGE = re.compile(
    r"\bsed\s+(?:-\w+\s+)*-i|\bperl\s+-\w*i|\bgit\s+(?:apply|checkout|revert|stash)|\bpatch\b|\btee\b|\bmv\b|\bcp\b"
    r"|\bpython3?\s+(?:[\w./-]*/)?(?:update|apply|fix|patch|modify|edit|replace)\w*\.py"
    r"|\bpip3? install|\bapt|\bnpm (?:i|install)\b"
)
_WRITES = re.compile(r"(?:<<\s*-?\s*['\"]?\w+['\"]?\s*)?(?<![2&\d-])>{1,2}\s*(?!/dev/null|&)([\w./~-]+)")
_SHELL_CHECK = re.compile(
    r"\bpytest\b|\btox\b|unittest|\bruntests|bin/test|\bnpm (?:run )?test|\bcargo (?:test|check|build)"
    r"|\bgo (?:test|build|vet)|\bmake\b|\bpython3?\s+(?:-m\s+\w+|[\w./-]+\.py|-c)|\bmypy\b|\bruff\b"
    r"|\bflake8\b|\bgcc\b|\./[\w-]+"
)
_SHELL_SEARCH = re.compile(r"^(?:cd \S+ && )?(?:git )?(?:grep|rg|find|ag)\b|\|\s*grep\b")
_SHELL_READ = re.compile(
    r"^(?:cd \S+ && )?(?:cat|sed -n|head|tail|nl|less|ls|tree|wc|file|git (?:diff|show|log|status))\b"
)
SCRATCH = re.compile(
    r"(?:^|/)(?:repro\w*|check\w*|test\w*|debug\w*|verify\w*|tmp\w*|temp\w*|fix\w*|apply\w*|update\w*|patch\w*|script\w*|"
    r"modify\w*|\w*_test|run_\w*)\.\w+$|^/tmp/",
    re.IGNORECASE,
)


def doing(step: RecordedStep) -> Doing:
    """What a step is for."""
    if not step.action:
        return Doing.TALK if step.observation else Doing.NOTE
    command = shell_command(step)
    if command is not None:
        return _doing_of_command(command)
    words = {word.lower() for word in _WORDS.findall(step.action)}
    for verbs, found in (
        (_NOTE_VERBS, Doing.NOTE),
        (_END_VERBS, Doing.END),
        (_SEARCH_VERBS, Doing.SEARCH),
        (_CHECK_VERBS, Doing.CHECK),
        (_READ_VERBS, Doing.READ),
        (_CHANGE_VERBS, Doing.CHANGE),
    ):
        if words & verbs:
            return found
    return Doing.OTHER


def _doing_of_command(command: str) -> Doing:
    if _END_COMMAND.search(command):
        return Doing.END
    if "<<" in command or _SHELL_CHANGE.search(command) or _WRITES.search(command.split("\n", 1)[0]):
        return Doing.CHANGE
    if _SHELL_CHECK.search(command):
        return Doing.CHECK
    if _SHELL_SEARCH.search(command):
        return Doing.SEARCH
    return Doing.READ if _SHELL_READ.search(command) else Doing.OTHER


def is_lasting_change(step: RecordedStep) -> bool:
    """Whether a step changes what the task is about, rather than writing a script to try something."""
    if doing(step) is not Doing.CHANGE or step.observation_is_error:
        return False
    command = shell_command(step)
    if command is None:
        return not SCRATCH.search(_file_argument(step))
    written = _WRITES.search(command.split("\n", 1)[0])
    if written is not None:
        return "\n" in command and not SCRATCH.search(written[1]) and not _runs_after_writing(command)
    if re.match(r"rm\b", command):
        return False
    return (
        "<<" not in command
        and bool(_SHELL_CHANGE.search(command))
        and not re.search(r"git (?:checkout|stash)", command)
    )


def _runs_after_writing(command: str) -> bool:
    """Whether what was written is run in the same breath."""
    return bool(re.search(r"\nEOF\s*\n+\s*\S", command))


def _file_argument(step: RecordedStep) -> str:
    found = re.search(r'"(?:file_path|path|file|filename)"\s*:\s*"([^"]+)"', step.action_input or "")
    return found[1] if found else ""
