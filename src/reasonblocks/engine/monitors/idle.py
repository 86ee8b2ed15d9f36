"""Runs that show nothing of the work: they ask a program about itself, or try what has nothing to do with it."""

import re
import sys

from .commands import proving_parts

_ABOUT_ITSELF = frozenset("--version -V -version --help -h help version".split())
_ONLY_LISTS = re.compile(
    r"\s(?:--collect-only|--co|--dry-run|--just-print|--listTests|--list-tests|--list|--fixtures|--markers)(?=\s|$)"
)
_INLINE = re.compile(r"\s-(?:c|e|p|r)\s{1,4}(\"(?:[^\"\\]|\\.)*\"|'[^']*')")
"""Code that stands in the line itself."""
_DOCUMENT = re.compile(r"<<-?\s{0,4}(['\"]?)(\w{1,40})\1[^\n]{0,200}\n(.*?)\n\s{0,20}\2(?=\s|$)", re.DOTALL)
_INTERPRETER = re.compile(r"(?:\S{0,80}/)?(?:python[\d.]*|node|ruby|perl|php|deno)$")
_IMPORTED = re.compile(r"(?:^|[;\n\"'])\s*(?:from|import)\s+([\w.]+(?:\s*,\s*[\w.]+)*)")
_REACHES_OUT = re.compile(
    r"\b(?:open|exec|eval|execfile|compile|__import__|require|import\s*\(|load|loads|read\w*|stdin|argv|environ|system"
    r"|subprocess|popen|Popen|spawn\w*|importlib|runpy|pathlib|Path|os|shutil|glob|urllib|http|socket|sqlite3|fs|File)\b"
)
"""Code with one of these may look at what was made."""
_LONGEST = 2_000
_MOST_WORDS = 3
"""What is given more than its code may be given the work."""


def tries(command: str) -> bool:
    """Whether an idle run was meant to show something: it has code of its own, or lists what there is to run."""
    return _INLINE.search(command) is not None or "<<" in command or _ONLY_LISTS.search(command) is not None


def is_idle(command: str, changed: set[str]) -> bool:
    """Whether all that a line runs says nothing of what was changed; `changed` are the words of that call."""
    if len(command) > _LONGEST:
        return False
    parts = proving_parts(command)
    if not parts:
        return False
    inline = [code[1:-1] for code in _INLINE.findall(command)] + [code[2] for code in _DOCUMENT.findall(command)]
    own = 0
    for part in parts:
        words = part.split()
        if (len(words) > 1 and _ABOUT_ITSELF.issuperset(words[1:]) and "/" not in part) or _ONLY_LISTS.search(part):
            continue
        if not _INTERPRETER.match(words[0]) or not (_takes_code(words) or "<<" in part):
            return False
        own += 1
    return own == len(inline) and all(_is_of_nothing(code, changed) for code in inline)


def _takes_code(words: list[str]) -> bool:
    return len(words) > 1 and words[1] in ("-c", "-e", "-p", "-r") and len(words) <= _MOST_WORDS


def _is_of_nothing(code: str, changed: set[str]) -> bool:
    """Whether code only uses what the language brings."""
    for names in _IMPORTED.findall(code):
        for name in names.split(","):
            module = name.strip().partition(".")[0]
            if module not in sys.stdlib_module_names or module.lower() in changed:
                return False
    return _REACHES_OUT.search(code) is None
