"""What a line for a shell does: whether it runs a program, edits by a script, or hands the work in."""

import re
from collections.abc import Set
from functools import lru_cache

_DOCUMENT = re.compile(r"<<-?\s{0,4}(['\"]?)(\w{1,40})\1([^\n]{0,400})\n.*?(?:\n\s{0,20}\2(?=\s|$)|\Z)", re.DOTALL)
"""Text that is given to a command on the lines below it."""
_QUOTED = re.compile(r"'[^']{0,2000}'|\"(?:[^\"\\\n]|\\.){0,2000}\"")
_PARTS = re.compile(r"\n|\||;(?<!\\;)|&&")
_BEFORE_A_NAME = frozenset("sudo time nohup exec then do else".split())
_SETS = re.compile(rf"(?:\s*(?:\w+=\S*|{'|'.join(sorted(_BEFORE_A_NAME))}|\(|\{{|!)(?=\s|$))*\s*([\w./+-]*)")
"""What stands before the name of a command, and the name."""
_SHOWS_OR_MOVES = frozenset(
    "[ awk basename break case cat cd chmod chown clear cmp comm command continue cp cut date df diff dirname do done "
    "du echo egrep elif else env esac exit export false fgrep fi file find fold for function git grep head hexdump "
    "hostname id if jq kill less ln local ls lsof md5sum mkdir mktemp more mv nl od paste patch pgrep pkill popd "
    "printenv printf ps pushd pwd read readlink realpath return rev rg rm rmdir sed seq set sha256sum shopt sleep "
    "sort source ss stat strings tac tail tee test then touch tr tree true type ulimit uname uniq unset wait wc which "
    "while whoami xargs xxd zcat".split()
)
"""Commands and words of a shell that prove nothing about code."""
_PROGRAM = re.compile(
    r"[\s;&|(/](?:(?:python[\d.]*|pytest|tox|node|deno|bun|make|cmake|mvn|gradle|ruby|java|javac|gcc|g\+\+|clang|rustc"
    r"|jest|ctest|perl|php|Rscript|mypy|ruff|eslint|tsc|curl"
    r"|(?:npm|yarn|cargo|go|uv)\s{1,4}(?:test|run|build|check|vet)|(?:ba|z)?sh\s{1,4}\S{1,80}\.sh)(?=\s|$)"
    r"|(?<!/)\./\S)"
)
"""To be looked for in a command with a line break before it; so it is found many times as fast."""
_PROGRAM_WORDS = frozenset(
    "bun cargo clang cmake ctest curl deno eslint g gcc go gradle java javac jest make mvn mypy node npm perl php "
    "pytest python python2 python3 rscript ruby ruff rustc sh tox tsc uv yarn".split()
)
_INSTALLERS = frozenset("apk apt brew conda dnf gem install mamba npm pip pip3 poetry yarn yum".split())
_SEPARATES = frozenset("\n;|&")
_INSTALLS = re.compile(
    r"(?:\bpython[\d.]*\s{1,4}-m\s{1,4})?\b(?:pip3?|apt|apt-get|npm|yarn|conda|mamba|brew|uv|poetry|cargo|gem|go|dnf|yum|apk)"
    r"\s{1,4}(?:pip\s{1,4})?(?:-\S{1,40}\s{1,4}){0,3}(?:add|download|freeze|get|i|install|list|remove|show|uninstall|update"
    r"|upgrade)\b[^\n;&|]{0,400}"
)
"""To install something proves nothing about what was written."""
_EDITING_SCRIPT = re.compile(
    r"(?:\S{0,80}/)?(?:add|apply|change|edit|fix|insert|modify|patch|replace|rewrite|update)[\w-]{0,60}\.(?:py|sh|pl|rb|js)\b"
)
"""A script whose name says that it is there to edit."""
_INTERPRETER = re.compile(r"(?:\S{0,80}/)?(?:python[\d.]*|perl|ruby|node)")
_GIVEN_A_SCRIPT = re.compile(r"<<|\s-(?:c|e|i|pi|p)\b|\s-\s")
_THEN_SHOWS = re.compile(r"(?:&&|;|\n)\s{0,8}(?:cat|diff|git\s+diff|grep|head|less|nl|sed\s+-n|tail)\s")
_SHOWS_OWN_WORK = re.compile(
    r"(?:cd \S{1,200} && )?(?:git (?:diff|log|show|status)|ls|pwd|echo|true|tree)(?:\s[^\n;&|]{0,200})?"
)
_HANDS_IN = re.compile(
    r"\bfinal_answer\(|\b(?:submit|finish)\(\)|(?:^|[\n;&|])\s{0,8}submit\s{0,8}(?:$|[\n;&|])"
    r"|\b(?:echo|printf)\s{1,4}['\"]?[A-Z_]{0,60}"
    r"(?:SUBMIT|TASK_(?:IS_)?(?:COMPLETE|DONE|FINISHED)|(?:COMPLETE|FINISH)_TASK|FINAL_(?:ANSWER|OUTPUT))"
)


@lru_cache(maxsize=4)
def without_documents(command: str) -> str:
    """The command itself, without the text it is given on the lines below."""
    return _DOCUMENT.sub(r"<< \3", command) if "<<" in command else command


def runs_a_program(command: str, words: Set[str]) -> bool:
    """Whether something is run whose outcome says whether it works; code that is no shell line at all runs.

    `words` are those of the command: most patterns need not be tried, for the word they begin with is not there.
    """
    if not words.isdisjoint(_INSTALLERS):
        command = _INSTALLS.sub(" true ", command)
    if _may_run_a_program(command, words) and _PROGRAM.search(f"\n{command}"):
        return True
    if _SEPARATES.isdisjoint(command):
        head = _head(command)
        return not head or head not in _SHOWS_OR_MOVES
    parts = _parts(command)
    heads = [head for part in parts if (head := _head(part)) and not _is_remark(head)]
    return not heads or not _SHOWS_OR_MOVES.issuperset(heads)


def _may_run_a_program(command: str, words: Set[str]) -> bool:
    # The name of an interpreter may end in any number, but then it is given a script.
    return not words.isdisjoint(_PROGRAM_WORDS) or "./" in command or ("py" in words and "python" in command)


def edits_by_script(command: str, whole: str) -> bool:
    """Whether all that is run is a script that writes: one in the line itself, or one whose name says so."""
    running = [part for part in _parts(command) if _head(part) not in _SHOWS_OR_MOVES]
    if len(running) != 1 or not _INTERPRETER.fullmatch(_head(running[0])):
        return False
    words = running[0].split()
    if len(words) > 1 and _EDITING_SCRIPT.fullmatch(words[1]):
        return True
    return "write" in whole and _GIVEN_A_SCRIPT.search(running[0]) is not None


def proving_parts(command: str) -> list[str]:
    """The single commands of a line that may prove something, without what is quoted in them."""
    parts = [part.strip() for part in _parts(without_documents(command))]
    return [part for part in parts if (head := _head(part)) and head not in _SHOWS_OR_MOVES and not _is_remark(head)]


def looks_as_well(command: str) -> bool:
    """Whether the command shows something after what else it does."""
    if not _THEN_SHOWS.search(command):
        return False
    return "<<" not in command or _THEN_SHOWS.search(without_documents(command)) is not None


def shows_own_work(command: str) -> bool:
    """Whether a line only shows what was changed, or which files there are: it looks into no failure."""
    return _SHOWS_OWN_WORK.fullmatch(command.strip()) is not None


def hands_in(command: str) -> bool:
    """Whether the command says that this is the result."""
    return _HANDS_IN.search(command) is not None


def _is_remark(head: str) -> bool:
    """Whether a line only describes the call or sets a limit: commands are seldom written with a capital letter."""
    return head.isdigit() or (head[0].isupper() and head.isalpha())


def _parts(command: str) -> list[str]:
    """The single commands of a line, without what is quoted in them."""
    return _PARTS.split(_QUOTED.sub("''", command) if "'" in command or '"' in command else command)


def _head(part: str) -> str:
    first = part.split(None, 1)[:1]
    if first and first[0].isalnum() and first[0] not in _BEFORE_A_NAME:
        return first[0]
    match = _SETS.match(part)
    return match.group(1) if match else ""
