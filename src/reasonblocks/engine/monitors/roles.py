"""What a call does, told from its name and its arguments rather than from a list of known tools."""

import re
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache

import msgspec

from ...errors import SettingsError
from .commands import edits_by_script, hands_in, runs_a_program, without_documents
from .words import split

_LONGEST_NAME = 200
_READ_TEXT = 3_000
"""How much of the arguments is looked at."""

_LOOKS = frozenset(
    "browse cat check count describe fetch find get glob grep head inspect list look lookup ls open query "
    "read recall retrieve search show status tail view visit websearch".split()
)
_ASKS = frozenset("are can does has is was".split())
"""A name that begins like a question looks: `can_connect`."""
_SEARCHES = frozenset("ask find google grep lookup query recall retrieve rg search websearch".split())
_CHANGES = frozenset(
    "add append apply assign book buy cancel change click commit create delete disable drop edit enable exchange fill "
    "insert install modify move overwrite page patch pay post publish push put refund remove rename replace reset "
    "return save scroll send set store submit toggle transfer type update upload write".split()
)
_FILE_WORDS = frozenset("cell code editor file files notebook patch script source".split())
_EDIT_WORDS = frozenset(
    "append apply create edit in insert line lines multi overwrite patch replace str string text to tool write".split()
)
"""A name of nothing but these is about files: `write`, `str_replace`, but not `write_email`."""
_RUNS = frozenset(
    "bash build calculate cmd code command compile computerterminal console eval exec execute interpreter ipython lint "
    "powershell python repl run sandbox script shell sql terminal test tests validate verify".split()
)
_NOTES = frozenset("memo note notes plan scratchpad think thought todo todos".split())
_WAITS = frozenset("await bashoutput poll sleep wait watch".split())
_ENDS = frozenset("answer complete conclude done end finalise finalize finish final respond submit".split())
_HANDS_OVER = frozenset("delegate escalate forward handoff handover transfer".split())
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

# A pattern that begins with one sign, or with one of a few, is found many times as fast. So these are looked for in the
# command with a line break before it.
_EDITS = re.compile(
    r"[\s;&|(](?:sed\s{1,4}(?:-\S{1,40}\s{1,4}){0,3}-\w{0,8}i|tee|patch|git\s{1,4}apply)(?=\s|$)",
)
_REDIRECTS = re.compile(r">(?<![0-9&<>=-]>)>?\s{0,4}(?![&>=\s]|/dev/null)[\w./~$\"']")
_SCRIPT_WRITES = re.compile(r"\.write(?:_text|_bytes|lines)?\(|open\([^)\n]{0,80},\s{0,4}['\"][wax]")
_SHELL_CHANGES = re.compile(
    r"[\s;&|(](?:mv|cp|rm|mkdir|touch|chmod|ln|unzip|tar"
    r"|git\s{1,4}(?:add|checkout|clone|commit|merge|mv|pull|push|rebase|reset|restore|revert|rm|stash|switch)"
    r"|(?:pip3?|npm|apt|apt-get|yarn|cargo|conda|brew|uv|poetry)\s{1,4}(?:-\S{1,40}\s{1,4}){0,3}(?:install|add|update|upgrade|remove))"
    r"(?=\s|$)"
)
_INTERPRETERS = frozenset("node perl python python3 ruby".split())
_EDIT_COMMANDS = frozenset("apply patch sed tee".split())
_WRITE_WORDS = _EDIT_COMMANDS | {"open", "write", "writelines"}
_CHANGE_WORDS = frozenset(
    "apt brew cargo chmod conda cp git ln mkdir mv npm pip pip3 poetry rm tar touch unzip uv yarn".split()
)
_PROSE = re.compile(r"\.(?:adoc|log|md|rst)\b|\b(?:CHANGELOG|LICENSE|README)\b")
_IN_PROSE = (".adoc", ".log", ".md", ".rst", "CHANGELOG", "LICENSE", "README")
"""One of these is in whatever matches."""
_RESULTS = re.compile(r"\.(?:csv|dat|tsv|txt)\b")
_CODE = re.compile(
    r"\.(?:c|cc|cfg|cpp|cs|css|go|h|hpp|html|ini|ipynb|java|js|json|jsx|kt|php|py|rb|rs|scala|sh|sql|swift|toml|ts|tsx|vue"
    r"|ya?ml)\b"
)
_SHELL_WAITS = re.compile(r"(?:^|[\s;&|(])(?:sleep|wait)\s|time\.sleep\(")


class Role(msgspec.Struct, frozen=True, gc=False):
    """What a call does; several may hold at once, for a shell line can do anything."""

    looks: bool = False
    """It only looks something up."""
    searches: bool = False
    """It looks something up by words, of which many may do."""
    changes: bool = False
    """It changes something outside the agent."""
    writes: bool = False
    """It puts new content into files that then have to prove themselves: code and results, not prose."""
    runs: bool = False
    """It runs something, and so shows whether that works."""
    notes: bool = False
    """It only writes down the agent's own plans."""
    waits: bool = False
    """It waits for something that runs elsewhere."""
    ends: bool = False
    """It hands in the result."""

    @property
    def unknown(self) -> bool:
        """Whether nothing tells what it does."""
        return not (self.looks or self.changes or self.runs or self.notes or self.waits)

    @property
    def may_change(self) -> bool:
        """Whether the world may be another after it: what is not known to be harmless is not."""
        return self.changes or not (self.looks or self.notes or self.waits)


SPEAKS = Role(notes=True)
"""A step without any call."""
ONLY_RUNS = Role(runs=True)
"""Of a shell or an interpreter, which does whatever it is told to; one may be declared so."""


def parse_roles(declared: Mapping[str, str]) -> Mapping[str, Role]:
    """What users say their tools do, by tool: the names of `Role`'s fields, several of them joined by `+`."""
    return {tool: _parsed(tool, kinds) for tool, kinds in declared.items()}


def role_of(
    action: str, values: Sequence[str], declared: Mapping[str, Role] | None = None, words: Set[str] | None = None
) -> Role:
    """What the call of a step does, given the values of its arguments; what was declared counts more than the name.

    `words` are those of the values, for whoever has them already.
    """
    if not action:
        return SPEAKS
    role = _named(action[:_LONGEST_NAME])
    if declared:
        names = action[:_LONGEST_NAME].split(",")
        if not declared.keys().isdisjoint(names):
            role = _joined([declared.get(name) or _named(name) for name in names])
            if role != ONLY_RUNS:
                return role
    if role.runs:
        command = "\n".join(values)[:_READ_TEXT]
        return _of_command(role, command, set(split(command)) if words is None else words) if command else role
    if role.writes and _is_prose("\n".join([value for value in values if _is_path(value)])):
        return msgspec.structs.replace(role, writes=False)
    return role


def _parsed(tool: str, kinds: str) -> Role:
    if not isinstance(tool, str) or not tool.strip():
        raise SettingsError(f"a tool role is declared for {tool!r}; expected the name of a tool")
    names = [kind.strip() for kind in kinds.split("+")] if isinstance(kinds, str) else []
    if not names or not set(names) <= set(Role.__struct_fields__):
        raise SettingsError(
            f"the role of tool {tool!r} is {kinds!r}; expected one of {', '.join(Role.__struct_fields__)}, "
            "or several of them joined by '+'"
        )
    return Role(**dict.fromkeys(names, True))


def _joined(roles: Sequence[Role]) -> Role:
    """What several calls of one step do together."""
    if len(roles) == 1:
        return roles[0]
    together = {kind: any(getattr(role, kind) for role in roles) for kind in Role.__struct_fields__}
    together["looks"] &= not (together["changes"] or together["runs"])
    together["notes"] = all(role.notes for role in roles)
    return Role(**together)


def runs_commands(action: str) -> bool:
    """Whether a tool runs whatever it is given, by its name."""
    return _named(action[:_LONGEST_NAME]).runs


def hands_over(action: str) -> bool:
    """Whether a tool passes the work on to somebody else, by its name."""
    return _named_to_hand_over(action[:_LONGEST_NAME])


@lru_cache(maxsize=4_096)
def _named_to_hand_over(action: str) -> bool:
    return not _HANDS_OVER.isdisjoint([part.lower() for part in _NAME_PART.findall(action)])


def holds_results(arguments: str) -> bool:
    """Whether a file is named that holds what was found out, rather than code or prose."""
    return _RESULTS.search(arguments) is not None and _CODE.search(arguments) is None


def _is_path(value: str) -> bool:
    return len(value) <= _LONGEST_NAME and len(value.split(None, 1)) == 1


def _is_prose(paths: str) -> bool:
    """Whether what is written to is there to be read by people alone."""
    return any(map(paths.__contains__, _IN_PROSE)) and _PROSE.search(paths) is not None and _CODE.search(paths) is None


@lru_cache(maxsize=4_096)
def _named(action: str) -> Role:
    """By the first telling word of each name: `get_update_status` looks, `update_status` changes."""
    kinds = {kind for name in action.split(",") if (kind := _kind(name))}
    parts = {part.lower() for part in _NAME_PART.findall(action)}
    ends = not parts.isdisjoint(_ENDS)
    if not kinds:
        return Role(ends=ends)
    return Role(
        looks=kinds <= {"looks", "notes", "waits"} and "looks" in kinds,
        searches=not parts.isdisjoint(_SEARCHES),
        changes="changes" in kinds,
        writes="changes" in kinds and any(map(_edits_files, action.split(","))),
        runs="runs" in kinds,
        notes=kinds == {"notes"},
        waits="waits" in kinds,
        ends=ends,
    )


def _edits_files(name: str) -> bool:
    parts = {part.lower() for part in _NAME_PART.findall(name)}
    return bool(parts) and (not parts.isdisjoint(_FILE_WORDS) or parts <= _EDIT_WORDS)


def _kind(name: str) -> str:
    parts = [part.lower() for part in _NAME_PART.findall(name)]
    if name.strip().lower() in _WAITS:
        return "waits"
    if parts and parts[0] in _ASKS:
        return "looks"
    for part in parts:
        for kind, words in _KINDS.items():
            if part in words:
                return kind
    return ""


_KINDS = {"notes": _NOTES, "waits": _WAITS, "looks": _LOOKS, "changes": _CHANGES, "runs": _RUNS}


def _of_command(role: Role, command: str, words: Set[str]) -> Role:
    """A tool that runs whatever it is given does what the command does."""
    # Most patterns need not be tried, for the word they begin with is not there.
    writes = role.writes or _writes(command, words)
    said = without_documents(command)
    runs = runs_a_program(said, words)
    if runs and (writes or not words.isdisjoint(_INTERPRETERS)) and edits_by_script(said, command):
        writes, runs = True, False
    changes = writes or (not words.isdisjoint(_CHANGE_WORDS) and _SHELL_CHANGES.search(f"\n{command}") is not None)
    return Role(
        looks=not changes and not runs,
        searches=not words.isdisjoint(_SEARCHES),
        changes=changes,
        writes=writes and not _is_prose(command),
        runs=runs,
        waits=role.waits or (not words.isdisjoint(_WAITS) and _SHELL_WAITS.search(command) is not None),
        ends=role.ends or (not words.isdisjoint(_ENDS) and hands_in(command)),
    )


def _writes(command: str, words: Set[str]) -> bool:
    redirects = ">" in command
    if not redirects and words.isdisjoint(_WRITE_WORDS):
        return False
    if redirects and _REDIRECTS.search(command):
        return True
    if not words.isdisjoint(_EDIT_COMMANDS) and _EDITS.search(f"\n{command}"):
        return True
    return (".write" in command or "open(" in command) and _SCRIPT_WRITES.search(command) is not None
