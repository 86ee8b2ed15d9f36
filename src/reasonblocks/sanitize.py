"""Untrusted text made fit for a system prompt: as legible as before, without what steers by its form.

What is removed cannot be seen: controls, escapes, zero-width and bidirectional marks. What is defused stays
readable: the brackets of a token become parentheses, a role at the start of a line loses its colon.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from unicodedata import normalize

DEFAULT_LIMIT = 4000
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_MOST_READ = 4096
_MOST_READ_TIMES = 4
"""How much is looked at, in limits: a hostile megabyte must not cost a step a second."""

_LINE_BREAK = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_ANSI = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # colours and cursor movement
    "|(?:\x1b\\]|\x9d)[^\x07\x1b\x9c]*+(?:\x07|\x1b\\\\|\x9c)"  # titles and links
    "|\x1b[ -/]*+[0-~]"
)
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls other than tab and newline
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"  # zero width, bidi
    "\ud800-\udfff"  # always unpaired: Python keeps a pair as one character
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"  # shorthand, music, tags
)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*+\n){3,}")

_ROLE = (
    r"(?:system|assistant|user|human|developer|tool|function|ai|bot|claude|chatgpt)"
    r"(?:[ _:-](?:prompt|message|instruction|reminder|call|use|result|response|output|input|turn|block)s?)?"
)
_SECTION = r"(?:instruction|response|input|output)s?"
_MARKER = r"[\s_.*|-]*+".join("reasonblocks")

# No alternative depends on anything behind it but whether a word goes on there, and brackets only ever become
# parentheses. So defusing one token cannot complete another, and doing it twice is doing it once.
_TOKEN = re.compile(
    rf"\[[\s/_.*|-]*+{_MARKER}(?:[^\[\]\n]{{0,80}}\])?"
    r"|\[\s*+/?\s*+(?:inst|sys|system_prompt|available_tools|tool_(?:calls|results|content))\s*+\]"
    rf"|(?<!\w)\[\s*+/?\s*+{_ROLE}\s*+\]"  # `list[User]` is a type
    r"|(?<!<)<++[\s/]*+(?:"
    rf"(?:{_ROLE}|{_MARKER}|{_SECTION}|sys|inst|think|thinking|invoke|antml|im_start|im_end|start_of_turn"
    r"|end_of_turn|begin_of_text|end_of_text|endoftext)(?![\w-])(?:[^<>]{0,200}>++)?"
    r"|(?:s|bos|eos|pad|unk|mask|sep|cls)\s*+/?>++"
    r"|\|(?:[^<>|]{0,80}\|\s*+>)?)",
    re.IGNORECASE,
)
_PARENTHESES = {"<": "(", "[": "(", ">": ")", "]": ")"}

# Groups: what stands before the role on its line, the role, emphasis between the role and its colon.
_ROLE_LINES = tuple(
    re.compile(rf"^({before}(?:[^\w\n]|_)*+)({role})([ \t*_]{{0,4}}):", re.IGNORECASE | re.MULTILINE)
    for before, role in (("", _ROLE), (r"[^\w\n#]*+#", _SECTION))  # `Input:` alone is an ordinary label
)
_SUSPICIOUS = re.compile(
    "[^\t\n -;=-Z\\\\-~"  # ASCII without controls, `<` and `[`
    "\xc0-\xd6\xd8-\xf6\xf8-\u0131"  # accented letters
    "\u2010\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u2192]"  # dashes, quotes, bullet, ellipsis, arrow
)
"""Any character that needs a closer look: all but a few that are common, visible and like no other."""


def _pairs(originals: str, plain: str) -> dict[int, str]:
    return {ord(original): letter for original, letter in zip(originals, plain, strict=True)}


class _Lookalikes(dict[int, str]):
    """What a character looks like in ASCII, one for one, so that positions stay the same."""

    MOST = 4096
    """Characters remembered; hostile text must not fill the memory."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = normalize("NFKC", character)
        looks_like = plain if len(plain) == 1 else character
        if len(self) < self.MOST:
            self[code] = looks_like
        return looks_like


_LOOKALIKES = _Lookalikes(
    # NFKC knows full-width and mathematical letters; it does not know these.
    _pairs("\u2039\u203a\u27e8\u27e9\u2329\u232a\u3008\u3009\u276e\u276f\u226a\u226b\xab\xbb", "<><><><><><><>")
    | _pairs(
        "\u2045\u2046\u3010\u3011\u3014\u3015\u3016\u3017\u27e6\u27e7\u2772\u2773\u301a\u301b",
        "[][][][][][][]",
    )
    | _pairs("\u2236\ua789\u02d0\u0589\u2223\u01c0\u2502\u2581", "::::|||_")
    | _pairs(
        "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406",
        "ABEKMHOPCTYXSI",
    )
    | _pairs("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0501", "aeopcyxsid")
    | _pairs(
        "\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf",
        "ABEHIKMNOPTYXo",
    )
)


def neutralise(text: object, limit: int = DEFAULT_LIMIT) -> str:
    """`text` without hidden characters, markers, role tags and chat-template tokens, at most `limit` long."""
    value = _as_text(text)
    if len(value) <= limit and _is_clean(value):
        return value
    longest = max(_MOST_READ, _MOST_READ_TIMES * limit)
    shown = _defuse(_visible(value[:longest]))
    if len(shown) <= limit and len(value) <= longest:
        return shown
    # The cut may have shortened a harmless word to a role (`<systemic>`); this keeps the length.
    return _replace(_TOKEN, _cut(shown + " ", min(limit, len(shown) + 1)), _in_parentheses)


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return str(value)
    except Exception:  # whatever its __str__ does, guidance is not worth an error
        return ""


@lru_cache(maxsize=256)
def _is_clean(text: str) -> bool:
    """Whether nothing below would change `text`; true for most of what is injected, the same to many runs."""
    if _SUSPICIOUS.search(text) or _BLANK_LINES.search(text):
        return False
    return ":" not in text or not any(pattern.search(text) for pattern in _ROLE_LINES)


def _visible(text: str) -> str:
    text = _LINE_BREAK.sub("\n", _ANSI.sub("", text))
    return _BLANK_LINES.sub("\n\n", _INVISIBLE.sub("", text))


def _defuse(text: str) -> str:
    text = _replace(_TOKEN, text, _in_parentheses)
    for pattern in _ROLE_LINES:
        text = _replace(pattern, text, _without_colon)
    return text


def _replace(pattern: re.Pattern[str], text: str, replacement: Callable[[str, re.Match[str]], str]) -> str:
    """Find `pattern` in what the text looks like, and replace it in the text itself."""
    plain = text if text.isascii() else text.translate(_LOOKALIKES)
    pieces: list[str] = []
    end = 0
    for match in pattern.finditer(plain):
        pieces += (text[end : match.start()], replacement(text, match))
        end = match.end()
    return "".join([*pieces, text[end:]])


def _in_parentheses(text: str, match: re.Match[str]) -> str:
    original = text[match.start() : match.end()]
    return "".join(_PARENTHESES.get(look, char) for look, char in zip(match.group(), original, strict=True))


def _without_colon(text: str, match: re.Match[str]) -> str:
    before, role, emphasis = (text[slice(*match.span(group))] for group in (1, 2, 3))
    return f"{before}({role}){emphasis}"


def _cut(text: str, limit: int) -> str:
    """At most `limit` characters, ending with a whole word where there is one in the second half."""
    if limit < 1:
        return ""
    head = text[: limit - 1]
    if not text[limit - 1].isspace() and not head[-1:].isspace():
        words = head.rsplit(None, 1)
        if len(words) == 2 and len(words[0]) > limit // 2:
            head = words[0]
    return head.rstrip() + ELLIPSIS
