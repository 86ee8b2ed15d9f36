"""What makes a thought hard, word by word."""

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasonblocks.steering import scoring
from reasonblocks.steering.scoring import features, score_step

ANY_TEXT = st.text(st.characters(exclude_categories=()))
HEDGES = ["maybe", "perhaps", "might", "not sure", "probably", "wait", "hmm", "reconsider"]
ERRORS = ["error", "exception", "traceback", "failed", "bug", "broken", "issue", "problem"]


def squash(raw: float) -> float:
    return 1 / (1 + math.exp(-6 * (raw - 0.5)))


def entities(text: str) -> int:
    return round(features(text).entities * 10)


def errors(text: str) -> int:
    return round(features(text).errors * 3)


def hedges(text: str) -> int:
    padded = text + " word" * 200  # far from the cap of hedging
    return round(features(padded).hedging * (1 + len(padded.split()) / 20))


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u2003"])
def test_c10_blank_text_gives_one_half(text: str) -> None:
    """Where nothing was said nothing is known, so the score is exactly 0.5."""
    assert score_step(text) == 0.5


def test_c10_a_score_is_the_squashed_weighted_sum() -> None:
    """All four parts enter with their weights and pass the sigmoid."""
    text = "Maybe the exception in src/app.py comes from os.environ, perhaps a bug" + " and so on" * 10
    words = len(text.split())
    raw = 0.30 * 2 / (1 + words / 20) + 0.25 * words / 500 + 0.25 * 2 / 3 + 0.20 * 2 / 10
    assert score_step(text) == pytest.approx(squash(raw))


def test_c10_plain_text_scores_near_zero() -> None:
    """A short thought without any sign of trouble is easy."""
    assert score_step("I will open the file now") == pytest.approx(squash(0.25 * 6 / 500))


def test_c10_each_part_is_capped_at_one() -> None:
    """However long and troubled a thought is, the score cannot exceed that of four full parts."""
    troubled = f"{' '.join(HEDGES)} {' '.join(ERRORS)} " + "a/b.py " * 20
    assert features(troubled).hedging == features(troubled).errors == features(troubled).entities == 1
    assert features("word " * 499).length < features("word " * 600).length == 1


@pytest.mark.parametrize("hedge", HEDGES)
def test_c10_the_named_hedges_count(hedge: str) -> None:
    """Every hedge that the contract names is one, in any case and next to punctuation."""
    assert hedges(hedge) == 1
    assert hedges(f'Well ({hedge.upper()}), "then".') == 1


@pytest.mark.parametrize("word", ERRORS)
def test_c10_the_named_error_words_count(word: str) -> None:
    """Every error word that the contract names is one, in any case and next to punctuation."""
    assert errors(word) == 1
    assert errors(f"...{word.title()}: it is") == 1


def test_c10_hedges_are_counted_once_each() -> None:
    """Repeating a hedge does not make a thought harder, a second one does."""
    assert hedges("maybe this, maybe that, Maybe both of them") == 1
    assert hedges("maybe this, perhaps that, Maybe both of them") == 2


def test_c10_error_words_are_counted_once_each_in_any_form() -> None:
    """Singular and plural are one error word."""
    assert errors("an error, some errors, ERROR") == 1
    assert errors("one error, one bug") == 2


@pytest.mark.parametrize(
    "text",
    [
        "tissue",
        "reissued",
        "debug",
        "terror",
        "awaited",
        "mighty",
        "error_count",
        "x_bug_y",
        "unbroken",
        "\u00e9error",
    ],
)
def test_c10_only_whole_words_count(text: str) -> None:
    """A word inside another word, or inside an identifier, is not that word."""
    assert errors(text) == 0
    assert hedges(text) == 0


@pytest.mark.parametrize(
    "text", ["not sure", "Not\nsure", "not  \t sure", "NOT, sure", "_not sure_", "\u201cnot sure\u201d"]
)
def test_c10_a_phrase_counts_across_blanks_and_punctuation(text: str) -> None:
    """What stands between the words of a phrase does not matter as long as it is no word."""
    assert hedges(f"I am {text} about it") == 1


def test_c10_a_phrase_needs_its_words_in_a_row() -> None:
    """The two words of a phrase do not count apart from each other or inside longer words."""
    assert hedges("sure, it is not") == 0
    assert hedges("it is not quite sure") == 0
    assert hedges("a knot surely") == 0


@pytest.mark.parametrize(
    "text", ["_maybe_", "**maybe**", "\u2026maybe\u2026", "maybe\u2014so", "caf\u00e9 maybe \u4e00"]
)
def test_c10_emphasis_and_typography_do_not_hide_a_word(text: str) -> None:
    """Markdown emphasis, typographic marks and foreign letters nearby leave a word what it is."""
    assert hedges(text) == 1


def test_c10_hedging_thins_out_with_length() -> None:
    """One hedge weighs less in a longer thought."""
    assert features("maybe " + "word " * 19).hedging == pytest.approx(0.5)
    assert features("maybe " + "word " * 59).hedging == pytest.approx(0.25)


@pytest.mark.parametrize(
    "name",
    [
        "src/app.py", "/etc/hosts", "./run", "../lib/x", "~/notes", "tests/", "src/models", "a/b/c",
        "my_app/models", "C:\\Users\\me", "lib\\main.c", "https://example.com/a/b.html?q=1",
        "os.path", "self.items().first", "build().run", "models.User", "@app.route",
        "app.py", "my-app.config.json", ".gitignore", "2024-01-31.log",
        '"one string"', "'one string'", "`one`", "'can't open it'",
        "\u201cone string\u201d", "\u2018one string\u2019",
    ],
)  # fmt: skip
def test_c10_a_path_a_dotted_name_and_a_quoted_string_are_one_entity(name: str) -> None:
    """Each is counted once, wherever it stands in a sentence."""
    assert entities(name) == 1
    assert entities(f"Look at {name}, then go on.") == 1
    assert entities(f"({name})") == 1


@pytest.mark.parametrize(
    "text",
    [
        "3.14", "1.2.3", "10.0.0.1", "v1.2", "24/7", "1/2", "2024/01/31", "python3.11", "5 - 3",
        "and/or", "read/write", "e.g. this", "i.e., that", "done.Then we go", "I am done.", "wait...what",
        "don't, it's, I'll and the users' files", "rock 'n roll isn't", '"" and ""', "' '",
        "a\\nb", "\\n\\n", "// TODO", "</div><br/>", "f(x).y",
        "...", "/", "\\", ".",
    ],
)  # fmt: skip
def test_c10_what_only_looks_like_an_entity_is_none(text: str) -> None:
    """Numbers, fractions, choices, sentence ends, abbreviations, apostrophes and escapes do not count."""
    assert entities(text) == 0


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('"src/app.py"', 1),
        ("`os.path.join`", 1),
        ("'see \"src/app.py\"'", 1),
        ("src/app.py src/app.py", 2),
        ("src/app.py:12 and os.path", 2),
        ("f(os.path,sys.argv)", 2),
        ("\"a.b\" c.d 'e.f' g/h/i", 4),
        ("it's in 'my file' and that's all, isn't it", 1),
    ],
)
def test_c10_nothing_is_counted_twice(text: str, count: int) -> None:
    """A path inside quotes is one thing; two paths beside each other are two."""
    assert entities(text) == count


def test_features_explain_the_score() -> None:
    """The parts of a score can be read off, cannot be changed, and give the score again."""
    text = "Hmm, the test failed"
    parts = features(text)
    assert (parts.hedging, parts.length, parts.errors, parts.entities) == pytest.approx((1 / 1.2, 4 / 500, 1 / 3, 0))
    assert squash(parts.raw()) == score_step(text)
    with pytest.raises(AttributeError):
        parts.hedging = 0.0  # type: ignore[misc]


@settings(deadline=None, max_examples=200)
@given(ANY_TEXT)
def test_c10_any_text_has_a_score_between_zero_and_one(text: str) -> None:
    """No text raises, not even lone surrogates and NULs, and every part stays in its range."""
    parts = features(text)
    assert all(0 <= part <= 1 for part in (parts.hedging, parts.length, parts.errors, parts.entities))
    assert 0 < score_step(text) < 1


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from([*HEDGES, *ERRORS, "tissue", "a", "it's"]), min_size=1), st.sampled_from(" \n\t"))
def test_c10_letter_case_punctuation_and_blanks_do_not_matter(words: list[str], blank: str) -> None:
    """A thought in capitals, with commas and on many lines is as hard as the same without."""
    shouted = blank + f",{blank}".join(words).upper() + blank
    assert score_step(shouted) == score_step(" ".join(words))


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a.",
        "a/",
        "/",
        ".",
        '"',
        "'",
        "' ",
        "'a",
        "a'",
        "\\",
        "-",
        "\u2018",
        "\ud800",
        "\0",
        "a/>",
        "not ",
    ],
)
def test_c10_long_text_takes_linear_time(unit: str) -> None:
    """A quarter of a megabyte of any one thing is read in a moment, where backtracking would take minutes."""
    text = unit * (250_000 // len(unit))
    start = time.process_time()
    score_step(text)
    assert time.process_time() - start < 3


@given(st.lists(st.sampled_from(["a", " ", "\n", '"', "`", "\u201c", "\u201d", "it's", "'"]), max_size=12).map("".join))
def test_marks_of_one_kind_quote_the_same(text: str) -> None:
    """Where quotations have one kind of marks alone, the pattern for that kind parts a text as the one for all does."""
    marks = scoring._quotation_marks(text)
    alone = scoring._QUOTED_BY_ONE.get(marks, scoring._QUOTED)
    assert (alone.split(text) if marks else [text]) == scoring._QUOTED.split(text)


@given(st.lists(st.sampled_from(["_", "maybe", "error", " ", ",", "x"]), max_size=10).map("".join))
def test_emphasis_is_seen_wherever_it_is(text: str) -> None:
    """Words with underscores around them are found in texts that have an underscore at an end of a word."""
    stripped = {word.strip("_") for word in scoring.words_of(text)}
    assert features(text).errors == pytest.approx(min(1, len({"error"} & stripped) / 3))
