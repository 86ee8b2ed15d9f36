"""What is told before a sentence, a result or a pattern is read must be what reading it would tell."""

import re
from collections.abc import Callable
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasonblocks.engine.monitors import accounts, clauses, points, positions, stances, unspoken
from reasonblocks.engine.monitors.base import Reading
from reasonblocks.engine.monitors.claim_contradiction import ClaimContradiction
from reasonblocks.engine.monitors.disputes import _names
from reasonblocks.engine.monitors.features import ObservedStep, read_step
from reasonblocks.engine.monitors.figures import figures_in, last_id
from reasonblocks.engine.monitors.marks import ONLY, TURNS, VALUE
from reasonblocks.engine.monitors.parting import Parting
from reasonblocks.engine.monitors.positions import positions_in
from reasonblocks.engine.monitors.quick import any_case, beginnings, quick
from reasonblocks.engine.monitors.remarks import Remark, Remarks, remarks_of
from reasonblocks.engine.monitors.terms import Terms, parted
from reasonblocks.engine.monitors.topics import topic_of_task
from reasonblocks.engine.monitors.turns import TURNING
from reasonblocks.engine.monitors.turns import TURNS as TELLS_OF_CHANGE
from reasonblocks.engine.monitors.vocabulary import Words
from reasonblocks.engine.monitors.wordings import _kept, wording_of
from reasonblocks.engine.monitors.words import Phrases, is_small, split, split_sentences, token_set, word_set

SUBJECTS = "the cache|the parser|the retry loop|the `load` function|the session store|order 4711|it|the only default"
SAYS = "reads|does not read|ignores|never holds|has 3 of|has 14 of|is not in|belongs to|no longer skips"
OBJECTS = "the old schema|the lock|the timeout|the last field|an empty batch|the index|the cache"
sentences = st.builds(
    lambda *parts: " ".join(parts), *[st.sampled_from(choice.split("|")) for choice in (SUBJECTS, SAYS, OBJECTS)]
)
SIDED = (
    "the fix is needed|this is not needed|it must not be kept|`load` is unsafe|I am not sure|they said"
    "|has to go before the change|without any change it fails|there is one test|may be refunded|no|was so in 2019"
    "|`save` runs before `load`"
)
ALTERNATIVES = r"differs?|fail(?:ed|s)|that'?s (?:it|all)|not\b[^.]{0,20}\bfound|time(?:d )?-?out|ok[\"']?\s?=\s?0"
PIECES = (
    "differ|differs|fail|fails|thats it|that's all|not|found|timeout|timed out|ok=0|an|so it is|.|'|unfounded|is not "
)
pieces = st.sampled_from(PIECES.split("|"))


@given(st.lists(pieces, max_size=8), st.sampled_from(["", " "]))
def test_a_quick_pattern_finds_what_a_plain_one_finds(parts: list[str], between: str) -> None:
    """Patterns that are skipped for want of their beginnings would not have matched."""
    text = between.join(parts)
    plain = re.compile(rf"(?<!\w)(?:{ALTERNATIVES})\b")
    assert quick(ALTERNATIVES).are_in(text) == (plain.search(text) is not None)
    assert list(quick(ALTERNATIVES).places(text)) == [match.span() for match in plain.finditer(text)]


def test_beginnings_leave_out_what_may_be_missing() -> None:
    """A letter that a pattern may do without is no part of its beginning, and none is kept twice."""
    assert beginnings(["errors?", "error code", "that'?s", r"as\ i\ said", "x{0,2}y"]) == ("",)
    assert beginnings(["errors?", "error code", "that'?s", r"as\ i\ said"]) == ("as i said", "error", "that")


@pytest.mark.parametrize("text", ["I already SAID so", "ALREADY, said", "it is sa\u017fid, already said", "nothing"])
def test_phrases_are_only_ruled_out_where_they_are_not(text: str) -> None:
    """A text in which the phrases may not be has none of them."""
    known = Phrases("already said, said already")
    assert known.may_be_in(text, split(text)) or not known.found_in(text)


@given(st.lists(st.lists(sentences, min_size=1, max_size=4), min_size=2, max_size=8))
def test_sketches_rule_out_nothing_that_may_exclude(steps: list[list[str]]) -> None:
    """The sentences that one is held against are the last three of each kind with half of the ideas in common."""
    remembered, before = Remarks(), list[Remark]()
    for index, said in enumerate(steps):
        remarks = remarks_of(index, split_sentences(". ".join(said)))
        for remark in remarks:
            assert list(remembered.that_may_exclude(remark)) == _that_may_exclude(before, remark)
        remembered.add(remarks, 0)
        before += [remark for remark in remarks if remark.said.may_claim]


def _that_may_exclude(before: list[Remark], remark: Remark) -> list[Remark]:
    marks = remark.said.marks
    kinds = [
        [past for past in before if not past.said.marks & TURNS] if marks & TURNS else [],
        [past for past in before if past.said.marks & TURNS],
        [past for past in before if past.said.marks & VALUE] if marks & VALUE else [],
        [past for past in before if past.said.marks & ONLY] if marks & ONLY else [],
    ]
    return [past for kind in kinds for past in islice(filter(lambda past: _alike(past, remark), reversed(kind)), 3)]


def _alike(one: Remark, other: Remark) -> bool:
    common = (one.bits & other.bits).bit_count()
    return common >= 2 and common >= 0.5 * min(one.bits.bit_count(), other.bits.bit_count())


def test_the_same_sentence_is_read_once() -> None:
    """Whoever says the same again gets what was read before, in whatever run."""
    first, again = (remarks_of(index, split_sentences("The parser reads the old schema")) for index in (1, 7))
    assert first[0].said is again[0].said
    assert (first[0].index, again[0].index) == (1, 7)


@given(st.lists(st.lists(sentences, min_size=1, max_size=4), min_size=2, max_size=8))
def test_what_is_known_of_sentences_tells_the_same_of_them(steps: list[list[str]]) -> None:
    """A run is told the same whether its sentences are read for the first time or were read in another run before."""
    _kept.clear()
    first, again = _readings(steps), _readings(steps)
    assert first == again


def _readings(steps: list[list[str]]) -> list[Reading]:
    state = ClaimContradiction().start("")
    observed = [ObservedStep(". ".join(said), "look", "it", "nothing") for said in steps]
    return [state.observe(read_step(index, step)) for index, step in enumerate(observed)]


@pytest.mark.parametrize(
    "text", ["{} it reads the lock", "it reads the lock, {}.", "it {}_reads the lock", "\u00e9{} it is"]
)
def test_a_word_of_change_is_certain_where_it_stands_alone(text: str) -> None:
    """A sentence that is taken to tell of a change by its words has one of the words of a change in it."""
    for word in TURNING:
        said = text.format(word)
        assert not wording_of((said, split(said))).tells_of_change or TELLS_OF_CHANGE.search(said)
    assert wording_of(("Now it reads the lock", split("Now it reads the lock"))).tells_of_change


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("order A1234 is open", "a1234"),
        ("ticket #X9_1 is open", ""),
        ("ticket #XY_19 is open", "#xy_19"),
        ("the 3 rows of 12", ""),
        ("number 123456 of 12", "123456"),
        ("\u00e9l\u00e8ve B4711 of 12", "b4711"),
    ],
)
def test_ids_are_found_among_short_numbers(text: str, named: str) -> None:
    """A sentence whose codes are all short names no id, and any other one is read for one."""
    assert wording_of((text, split(text))).id == named
    codes = [word for word in split(text) if not word.isalpha()]
    assert last_id(text, codes) == named


def test_numbers_within_names_are_no_figures() -> None:
    """Only a word that begins with a digit is looked at as a number."""
    assert figures_in("step k12 of x86", ["k12", "x86"]) == ()
    assert [figure.value for figure in figures_in("it holds 12 rows", ["12"])] == ["12"]


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("Look at the parser. Then stop.\nDone.", False),
        ("Look at parser.py. Then stop.", True),
        ("Look at read_header.", True),
        ("Wait... then look.", False),
        ("Look at parser.py", True),
    ],
)
def test_dots_at_the_end_of_sentences_are_no_names(task: str, names: bool) -> None:
    """A text without a dot or an underscore within a word names no file and no symbol."""
    assert (topic_of_task(task)[1] != 0) is names


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_held_words_are_counted(known: set[int], asked: set[int]) -> None:
    """However many of some words are known, they are counted, less what falls on the same bit by chance."""
    words, filled = sum(1 << place for place in asked), len(known) / 8_192
    expected = max(0.0, (len(known & asked) - len(asked) * filled) / (1.0 - filled))
    assert Words(sum(1 << place for place in known)).held(words, len(asked)) == expected


@pytest.mark.parametrize("filler", ["", "word " * 400])
def test_the_terms_of_a_call_do_not_depend_on_when_they_are_read(filler: str) -> None:
    """Long calls are read at once and short ones when they are asked for, with the same outcome."""
    terms = Terms(*parted("shell", [f"{filler}open the file src/app.py", "alone"]))
    plain = {*"open the file".split(), *filler.split()}
    assert terms.words == word_set(plain)
    assert terms.names == token_set(["shell", "src/app.py", "alone"])
    assert terms.parts == terms.names | token_set(plain)


@given(st.lists(pieces, max_size=8), st.sampled_from(["", " "]), st.sampled_from([str.upper, str.title, str.lower]))
def test_letters_of_any_size_are_found(parts: list[str], between: str, sized: Callable[[str], str]) -> None:
    """What is looked for in small letters is what would be found in letters of any size."""
    text = sized(between.join(parts))
    plain = re.compile(rf"\b(?:{ALTERNATIVES})\b", re.IGNORECASE)
    assert any_case(ALTERNATIVES).are_in(text) == (plain.search(text) is not None)


def test_letters_without_a_small_one_count_as_well() -> None:
    """A long s is an s, and a text with one is read as a whole."""
    assert any_case("it (?:is|was)|so").are_in("\u017fo it wa\u017f")
    assert any_case("(?:bug|error) (?:is|was)|so").are_in("the BUG WAS there")


SIGNS = st.sampled_from(
    'a|=|==|!=|= |DOES|IS|NO|NOT|aIS|ORIGINAL|original|originals|File "|Error: |xError: |_|ed|s|ss|xed|as|Then|If|No,'
    "|But|-|*|>|# |1. |2)|3  |4|//|\u2022|\n|{|}|[|\\|the|timed|_s|d_ed|\u00e9s|\u00e9ed| | | ".split("|")
)
signs = st.lists(SIGNS, max_size=7).map("".join)
NO_STATEMENT = re.compile(
    r"[{}<>|\[\]\\]|(?<![=!])=(?!=)\s|\b(?:DOES|IS|NO|NOT|original)\b|\bFile \"|Error: "
    r"|^\s*(?:[-*>|\u2022\"]|#+\s|\d+(?:\s{2}|[.):])|//"
    r"|(?:Ah|But|Case|Hmm|However|If|No,|Oh|Then|Wait|assert|class|def|from|import|raise|return)\b)|^\s{4}|^\s*_\s*$"
)
VERBAL = re.compile(r"\w\B(?:\wed|[^\Ws]s)\b")


@given(signs)
def test_patterns_that_begin_with_a_sign_find_what_others_find(text: str) -> None:
    """A pattern that is tried at a few signs matches what it would match if it were tried everywhere."""
    begins, within = points._BEGINS_NO_STATEMENT.match(text), points._NO_STATEMENT.search(text)
    assert bool(begins or within) == bool(NO_STATEMENT.search(text))
    assert bool(clauses._VERBAL.search(text)) == bool(VERBAL.search(text))
    assert clauses._is_listing(text) == bool(clauses._LISTING.match(text))
    assert bool(stances._DATE.search(text)) <= bool(stances._MAY_BE_DATE.search(text))


@pytest.mark.parametrize("date", ["May 5", "on JULY 12th", "december 24", "October 1", "march 3", "april 3"])
def test_dates_follow_a_word_that_ends_like_a_month(date: str) -> None:
    """A number is only looked at as a date where a month may stand before it, and every month is one."""
    assert stances._DATE.search(date)
    assert stances._MAY_BE_DATE.search(date)


TOKENS = st.sampled_from(
    "I the The parser Parser, loads Reader load() src/app.py X9 `load` it's (ok) a_b NASA 12".split()
)


@given(st.lists(TOKENS, min_size=1, max_size=6))
def test_plain_words_of_small_sentences_name_nothing(tokens: list[str]) -> None:
    """A sentence without capital letters within names what it names if all of its words are looked at."""
    text = " ".join(tokens)
    if not is_small(text):
        return
    plain = [token for token in tokens if token.isalpha()]
    assert not any(stances._is_name(token, place == 0) for place, token in enumerate(tokens) if token in plain)
    marked = " ".join([token for token in tokens if token not in plain])
    assert _names(text) == _names(marked)
    assert stances.names_in(text) == stances.names_in(marked)


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ('{"path": "a.py"}', "a.py"),
        (' \n[1, "b"]', "1\nb"),
        ('"alone"', "alone"),
        ("-4", "-4"),
        ("true", "True"),
        ("null", ""),
        ("ls -l", "ls -l"),
        ("find .", "find ."),
        ("\u00a0{}", "\u00a0{}"),
    ],
)
def test_arguments_are_taken_apart_where_they_are_json(arguments: str, values: str) -> None:
    """What cannot begin JSON is one value, and whatever may is tried."""
    assert read_step(0, ObservedStep(action="run", action_input=arguments)).arguments == values


JOINS = "although and because so that therefore which".split()
PARTS = st.lists(
    st.sampled_from(
        [*JOINS, *"And SO that's sand so_ _and the 1 , ; : . ... ( ) () - -- \u2013 \u2014 \xa0 \x1c \t".split(" "), ""]
    ),
    max_size=12,
)


@given(PARTS, st.booleans(), st.booleans(), st.booleans())
def test_signs_and_words_part_a_sentence_as_one_pattern_would(
    pieces: list[str], apart: bool, any_case: bool, dots: bool
) -> None:
    """They are looked for one after the other, and found in the same places."""
    text = (" " if apart else "").join(pieces)
    words = JOINS if any_case else [*JOINS, *map(str.title, JOINS)]
    signs = r"[;:,]\s|\s[-\u2013\u2014]\s|\s\(|(?<!\()\)|\u2014" + r"|\.{3}" * dots
    joins = rf"|\b(?:{'|'.join(words)})\b" if not set(JOINS).isdisjoint(split(text)) else ""
    expected = re.split(signs + joins, text, flags=re.IGNORECASE if any_case else 0)
    assert Parting(JOINS, any_case=any_case, dots=dots).parts(text, split(text)) == expected


NAMING = (
    "I,Don,don't,Foo-bar,the,app.py,a.b,see.,x_1,run(),a/b/,AB12,4711,`load`,\"the key\",'it',end of line,end.,-,May 7"
)


@given(st.lists(st.sampled_from(NAMING.split(",")), max_size=5), st.sampled_from([" ", ", ", ""]))
def test_what_looks_plain_names_nothing(pieces: list[str], between: str) -> None:
    """A text that is not searched for names has none."""
    text = between.join(pieces)
    assert not stances._names_nothing(text) or not stances._named_in(text)


@given(st.lists(st.lists(st.sampled_from(SIDED.split("|")), min_size=1, max_size=3), min_size=1, max_size=4))
def test_parts_that_come_again_are_read_alike(texts: list[list[str]]) -> None:
    """Whatever stands before or after a clause, it takes the same positions from memory as from its text."""
    for text in map(", ".join, texts):
        remembered = positions_in(text)
        positions._read.cache_clear()
        assert positions_in(text) == remembered


TOKEN = "a|the|caf\u00e9|Anna|of,|(Bob|x.y|a/b|a_b_|#12|v1.2:|`the key`|key\nLena|\u00fcber|Order|A-1|don't|=|Zoe||"
TOKENS = st.lists(st.sampled_from(TOKEN.split("|")), max_size=10)


@given(TOKENS)
def test_an_abridged_text_has_the_same_names(tokens: list[str]) -> None:
    """Only words of which none is made are left out."""
    text = " ".join(tokens)
    assert accounts.NAMES.findall(accounts._abridged(text)) == accounts.NAMES.findall(text)


@given(TOKENS)
def test_ids_are_found_by_a_table_as_by_a_pattern(tokens: list[str]) -> None:
    """The words of plain text are those that a pattern finds, too."""
    text = " ".join(tokens)
    assert unspoken._ids(text) == unspoken._ids(f"{text} \u2014")


@given(TOKENS)
def test_plain_words_are_no_names(tokens: list[str]) -> None:
    """What is left out before names are looked for is none."""
    text = " ".join(tokens)
    told = _names(text)
    assert _names(f"{text} plain words") == told == _names(f"{text} \u2014")
