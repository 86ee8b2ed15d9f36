"""The lexical screen: what it lets through to the embedder and what it spares it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasonblocks.engine.embedding.screen import MOST_LANES, MOST_PATTERNS, THRESHOLD, LexicalScreen
from reasonblocks.engine.embedding.vocabulary import has_words, stems

LOOP = (
    "I search for the setting again with other words. The results are the same files as before and none of them has "
    "it, so let me try another keyword."
)
CHURN = (
    "That broke the other test, so I revert my change and restore the original. Now the first problem is back, and I "
    "apply the earlier version again."
)
HEALTHY = (
    "The profile says that most of the time goes into the tokenizer, which is called for every row. I hoist it out of "
    "the loop and measure: it takes a third of the time now, which meets the target."
)


@pytest.fixture(scope="module")
def screen() -> LexicalScreen:
    """For two patterns."""
    return LexicalScreen.build([LOOP, CHURN])


def test_what_restates_a_pattern_passes(screen: LexicalScreen) -> None:
    """The words of one pattern in another form and order are enough."""
    assert screen.passes(CHURN)
    assert screen.passes("I searched with another keyword for the settings; the results were the same files as before.")


def test_what_is_about_something_else_does_not_pass(screen: LexicalScreen) -> None:
    """An ordinary context is not embedded."""
    assert not screen.passes(HEALTHY)
    assert not screen.passes("")
    assert not screen.passes("1234 5678 ==> ???")


def test_healthy_thoughts_before_it_do_not_hide_a_match(screen: LexicalScreen) -> None:
    """The newest part of a context counts by itself, as it does for the embedder."""
    assert screen.passes("\n".join([HEALTHY] * 4 + [LOOP]))


def test_words_that_agents_use_all_the_time_weigh_little(screen: LexicalScreen) -> None:
    """Three common words of a pattern do not add up to a match, three of its own do."""
    common = screen.score("let me try the files")
    own = screen.score("a keyword, none of the words")
    assert common < THRESHOLD < own


def test_without_patterns_nothing_passes() -> None:
    """There is nothing to be found."""
    assert not LexicalScreen.build([]).passes(LOOP)
    assert not LexicalScreen.build(["", "the of and"]).passes(LOOP)


def test_a_pattern_without_separate_words_opens_the_screen() -> None:
    """A script such as Chinese cannot be told by its words, so the embedder has to look."""
    chinese = "我用其他词语再次搜索该设置每次搜索都返回相同的文件而我没有打开其中任何一个文件来仔细阅读"
    assert not has_words(chinese)
    assert LexicalScreen.build([LOOP, chinese]).passes(HEALTHY)
    assert has_words("Ich suche die Einstellung noch einmal mit anderen Wörtern und finde dieselben Dateien.")


def test_words_of_very_many_patterns_are_left_out() -> None:
    """In a large library a word that hundreds have tells nothing and costs no time."""
    library = LexicalScreen.build(
        [f"widget number{'abcdefghij'[n % 10]} {n * 'x'}" for n in range(1, MOST_PATTERNS + 2)]
    )
    assert "widget" not in library._places
    assert not library.passes("a widget")


WORDS = st.lists(st.sampled_from(f"{LOOP} {CHURN} {HEALTHY} \n \n".split(" ")), max_size=200).map(" ".join)


SMALL = LexicalScreen.build([LOOP, CHURN])
LARGE = LexicalScreen.build([LOOP, CHURN, *(f"{HEALTHY} {'abcdefghij'[n % 10] * n}" for n in range(MOST_LANES))])


@pytest.mark.parametrize("screen", [SMALL, LARGE])
@given(text=st.one_of(st.text(), WORDS))
def test_any_text_has_a_score(screen: LexicalScreen, text: str) -> None:
    """Whatever an agent says, and however many patterns there are, the screen answers by the score."""
    assert 0.0 <= screen.score(text) <= 1.0
    assert screen.passes(text) == (screen.score(text) >= THRESHOLD)


@pytest.mark.parametrize(
    "forms", ["search searched searches searching", "file files", "query queries", "run running", "fail failed failing"]
)
def test_forms_of_a_word_are_one(forms: str) -> None:
    """Endings do not matter."""
    assert len(stems(forms)) == 1


def test_words_that_say_nothing_are_dropped() -> None:
    """Neither articles nor blobs count."""
    assert stems("The a of it's, and " + "x" * 100) == set()
    assert stems("don\u2019t") == {"don"}


def test_the_shipped_library_spares_most_healthy_texts(situations: object) -> None:
    """Before the patterns of the package, the healthy texts of the calibration are screened out, all but a few."""
    from reasonblocks.engine.patterns.fields import embedding_text
    from reasonblocks.engine.patterns.library import load_library

    library = LexicalScreen.build(
        embedding_text("e2", pattern.fields) for pattern in load_library().patterns if pattern.tier == "e2"
    )
    healthy = [text.text for split in situations.load() for text in split.texts if text.kind == "healthy"]  # type: ignore[attr-defined]
    assert np.mean([library.passes(text) for text in healthy]) <= 0.1


def test_restated_situations_pass(situations: object) -> None:
    """Of the held-out texts that restate a situation nine in ten pass, with healthy thoughts before them or without."""
    _, held_out = situations.load()  # type: ignore[attr-defined]
    library = LexicalScreen.build([situation.description for situation in held_out.situations])
    passes = [library.passes(text.text) for text in held_out.texts if text.kind == "restated"]
    assert np.mean(passes) >= 0.9
