"""How hard the agent finds its work, read off the words of one thought (a heuristic, no model)."""

import math
import re
from collections.abc import Set
from itertools import filterfalse

import msgspec

EMPTY_SCORE = 0.5
"""The score of a thought without any text: nothing is known, so neither easy nor hard."""


def _forms(table: str) -> dict[str, str]:
    """Each form of a word with the word that stands for it: "error" and "errors" are one distinct word."""
    return {form: line.split()[0] for line in table.strip().splitlines() for form in line.split()}


_MOST_ENTITIES = 10
"""More than these make a thought no harder, so counting may stop."""

HEDGES = _forms("""
    actually
    alternatively
    apparently
    confused confusing
    doubt doubtful
    guess guessing
    hmm hm hmmm hmmmm
    maybe
    might
    perhaps
    possibly
    presumably
    probably
    puzzled puzzling
    reconsider reconsidering
    rethink rethinking
    seems seem seemingly
    suspect
    uncertain
    unclear
    unsure
    wait
    wonder wondering
""")
ERRORS = _forms("""
    broken breaks
    bug bugs buggy
    corrupt corrupted
    crash crashed crashes crashing
    denied
    error errors
    exception exceptions
    failed fail failing fails failure failures
    fatal
    faulty
    incorrect incorrectly
    invalid
    issue issues
    mistake mistakes
    panic panicked
    problem problems problematic
    segfault segfaults
    stuck
    timeout timeouts
    traceback tracebacks
    undefined
    unexpected unexpectedly
    wrong wrongly
""")
_HEDGE_PHRASES = (
    "could be",
    "don t know",  # punctuation has become blanks by then
    "i think",
    "may be",
    "no idea",
    "not certain",
    "not clear",
    "not sure",
    "on second thought",
)
_PHRASES_BY_HEAD = {
    head: [(phrase.split()[1], f" {phrase} ") for phrase in _HEDGE_PHRASES if phrase.split()[0] == head]
    for head in {phrase.split()[0] for phrase in _HEDGE_PHRASES}
}
"""By first word, each with its second, so that most texts are done without joining their words."""

_TELLING = frozenset(
    [*HEDGES, *ERRORS, *_PHRASES_BY_HEAD, *[second for found in _PHRASES_BY_HEAD.values() for second, _ in found]]
)
"""Whatever words are asked for: few of a thought's are, and only those few are looked up one by one."""

_WORD = re.compile(r"\w+")
_ASCII_WORDS = bytes(code if _WORD.match(chr(code)) else 32 for code in range(256)).lower()
"""What `_WORD` leaves out, as a table: on plain English translating and splitting is several times as fast."""
_TYPOGRAPHIC = "\u2018\u2019\u201c\u201d\u2010\u2011\u2013\u2014\u2022\u2026\u2192"
"""What makes most English of language models non-ASCII: quotes, dashes, bullets, ellipses, arrows."""

# The class in front lets the search skip to the next quotation mark; the look-behinds say which one it was.
# An apostrophe between two letters ("don't") neither opens nor closes a quotation.
_QUOTED = re.compile(
    r"""(["'`\u201c\u2018](?:"""
    r"""(?<=")[^"\n]*"|"""
    r"""(?<=`)[^`\n]*`|"""
    r"""(?<=\u201c)[^\u201c\u201d\n]*\u201d|"""
    r"""(?<=')(?<!\w')(?:[^'\n]|(?<=\w)'(?=\w))*+'(?!\w)|"""
    r"""(?<=\u2018)(?:[^\u2018\u2019\n]|(?<=\w)\u2019(?=\w))*+\u2019(?!\w)))"""
)
_OPENS = re.compile(r"'(?<!\w')")
"""An apostrophe that may open a quotation."""
_QUOTED_BY_ONE = {
    '"': re.compile(r'("[^"\n]*")'),
    "`": re.compile(r"(`[^`\n]*`)"),
    "\u201c": re.compile(r"(\u201c[^\u201c\u201d\n]*\u201d)"),
}
"""The same for texts with marks of one kind alone, as most of them are: several times as fast."""
_EMPHASIS = re.compile(r"_(?:(?<!\w_)|(?!\w))")
"""An underscore at an end of a word."""
# One run of characters that a path or a dotted name is made of. The look-behind allows one attempt per run,
# which keeps a megabyte of one letter linear; it also leaves out `</div>`, `<br/>` and the `.b` of `a(x).b`.
_RUN = re.compile(r"(?<![\w./\\~@+)\]}<-])[\w./\\~@+-]++(?!(?<=/)>)")
_DOTTED = re.compile(r"[^\W\d][\w-]*+(?:\.[^\W\d][\w-]*+)+")
_FILE_NAME = re.compile(r"\.?[\w+-][\w.+-]*\.[a-z][a-z0-9]{0,5}", re.IGNORECASE)
_CLOSING = ".,;:!?)"
_NUMERIC = re.compile(r"[\d./\\+-]+")

_ABBREVIATIONS = frozenset("a.k.a a.m e.g e.u i.e n.b p.m ph.d u.k u.n u.s u.s.a w.r.t".split())
_SENTENCE_STARTS = frozenset(
    "A After All Also An And As At Because Before But By First For From He Here Hmm How However I If In "
    "It Let Maybe My Next No Not Now Of On Once One Or Our Perhaps Please Second She Since So Some That "
    "The Then There These They This Those To Wait We What When Where Which While Who Why With Yes You "
    "Your".split()
)
"""`done.Then` is two sentences without a blank between them, `models.User` is a name."""
_TOP_FOLDERS = frozenset(
    "api app apps bin build cmd config configs core data dist doc docs etc examples home include internal "
    "lib libs node_modules opt packages pkg public scripts server src static test tests tmp usr utils var "
    "vendor web".split()
)
"""`src/models` is a path although nothing but its first word tells it from `and/or`."""


class Features(msgspec.Struct, frozen=True):
    """Why a thought got its score; each value lies in [0, 1]."""

    hedging: float
    """Distinct hedges, thinned by the length of the text."""
    length: float
    """Words, against 500."""
    errors: float
    """Distinct error words, against three."""
    entities: float
    """Paths, dotted names and quoted strings, against ten."""

    def raw(self) -> float:
        """The weighted sum that the score is squashed from."""
        return 0.30 * self.hedging + 0.25 * self.length + 0.25 * self.errors + 0.20 * self.entities


def score_step(text: str) -> float:
    """The difficulty of one thought in [0, 1]; a blank one gives 0.5."""
    if not text or text.isspace():
        return EMPTY_SCORE
    return 1.0 / (1.0 + math.exp(-6.0 * (features(text).raw() - 0.5)))


def features(text: str) -> Features:
    """What the score of a thought is made of."""
    tokens = text.split()
    words = words_of(text)
    telling = _TELLING.intersection(words)
    if "_" in text and _EMPHASIS.search(text):
        telling |= _TELLING.intersection(_without_emphasis(words))
    count = len(tokens)
    hedges = len(forms_in(HEDGES, telling)) + len(phrases_in(words, telling)) if telling else 0
    return Features(
        hedging=min(1.0, hedges / (1.0 + count / 20.0)),
        length=min(1.0, count / 500.0),
        errors=min(1.0, len(forms_in(ERRORS, telling)) / 3.0),
        entities=min(1.0, _count_entities(text, tokens) / _MOST_ENTITIES),
    )


def words_of(text: str) -> list[str]:
    """The words of a text, in small letters, without punctuation."""
    if not text.isascii():
        for mark in _TYPOGRAPHIC:
            text = text.replace(mark, " ")
    if text.isascii():
        return text.encode().translate(_ASCII_WORDS).decode().split()
    words: list[str] = _WORD.findall(text.lower())
    return words


def distinct_words(text: str, words: list[str]) -> set[str]:
    """Each of the words once."""
    distinct = set(words)
    if "_" in text:
        distinct.update(_without_emphasis(words))
    return distinct


def _without_emphasis(words: list[str]) -> list[str]:
    """Those with an underscore, without any around them: it is a letter of `error_count`, but not of `_maybe_`."""
    return [word.strip("_") for word in words if "_" in word]


def forms_in(forms: dict[str, str], distinct: Set[str]) -> set[str]:
    """Which words of a table occur, in whatever form."""
    return {forms[word] for word in forms.keys() & distinct}


def phrases_in(words: list[str], distinct: Set[str]) -> list[str]:
    """Which hedges of several words occur."""
    heads = _PHRASES_BY_HEAD.keys() & distinct
    likely = [phrase for head in heads for second, phrase in _PHRASES_BY_HEAD[head] if second in distinct]
    if not likely:
        return []
    line = f" {' '.join(words)} ".replace("_", " ")
    return [phrase.strip() for phrase in likely if phrase in line]


def _count_entities(text: str, tokens: list[str]) -> int:
    """How many paths, dotted names and quoted strings a text holds, counting what is inside quotes once."""
    quoted_by = _quotation_marks(text)
    if not quoted_by:
        return len(names_in(tokens))
    pieces = (_QUOTED_BY_ONE.get(quoted_by) or _QUOTED).split(text)
    if len(pieces) == 1:
        return len(names_in(tokens))
    quoted = sum([bool(piece[1:-1].strip()) for piece in pieces[1::2]])
    if quoted >= _MOST_ENTITIES:
        return quoted
    return quoted + len(names_in(" ".join(pieces[::2]).split()))


def _quotation_marks(text: str) -> str:
    """Those marks with which a quotation may begin somewhere: it takes many times as long to look for a whole one."""
    marks = "".join([mark for mark in '"`\u201c\u2018' if mark in text])
    return f"{marks}'" if "'" in text and _OPENS.search(text) else marks


def quotations_in(text: str) -> tuple[list[str], list[str]]:
    """What stands outside of quotation marks, blank by blank, and the quotations with their marks."""
    pieces = _QUOTED.split(text)
    return " ".join(pieces[::2]).split(), [piece for piece in pieces[1::2] if piece[1:-1].strip()]


def names_in(tokens: list[str]) -> list[str]:
    """The paths and dotted names among what stands between blanks."""
    words = filterfalse(str.isalpha, tokens)
    marked = [word for word in words if "." in word or "/" in word or "\\" in word]
    marked = [word for word in marked if not word.rstrip(_CLOSING).isalpha()]  # most only end a sentence
    if not marked:
        return []
    # Calls without arguments are part of a name: `self.items().first` is one.
    runs: list[str] = _RUN.findall(" ".join(marked).replace("()", ""))
    return list(filter(_is_name, runs))


def _is_name(run: str) -> bool:
    run = run.rstrip(".-+~@")
    if "/" in run:
        return _is_path(run)
    return _is_windows_path(run) if "\\" in run else _is_dotted(run.lstrip("@~+-"))


def _is_path(run: str) -> bool:
    """Whether a run with slashes is a path or an address rather than a choice such as `and/or`."""
    parts = [part for part in run.split("/") if part.strip(".~@+-")]
    if not parts or _NUMERIC.fullmatch(run):  # 24/7, 2024/01/31
        return False
    if run.startswith("//"):  # an address after its `https:`, or a comment
        return len(parts) > 1 or "." in parts[0]
    if run[0] in "/~.@" or run[-1] == "/" or len(parts) > 2:
        return True
    return parts[0].lower() in _TOP_FOLDERS or "_" in run or _is_file(parts[-1])


def _is_windows_path(run: str) -> bool:
    """Whether a run with backslashes is a path rather than an escape such as `a\\nb`."""
    parts = [part for part in run.split("\\") if part]
    return bool(parts) and (_is_file(parts[-1]) or (run.count("\\") > 1 and min(map(len, parts)) > 1))


def _is_dotted(run: str) -> bool:
    """Whether a run with dots is a name rather than two sentences, a number or an abbreviation."""
    if run.startswith("."):
        return _DOTTED.fullmatch(f"x{run}") is not None  # .gitignore
    head, _, last = run.rpartition(".")
    if last in _SENTENCE_STARTS:
        run = head
    if run.lower() in _ABBREVIATIONS:
        return False
    return _DOTTED.fullmatch(run) is not None or ("-" in run and _is_file(run))


def _is_file(name: str) -> bool:
    return _FILE_NAME.fullmatch(name) is not None
