"""Which part of a text is embedded."""

from hypothesis import given
from hypothesis import strategies as st

from reasonblocks.engine.embedding.context import LONGEST_CONTEXT, MOST_NEWEST_WORDS, NEWEST_WORDS, ending, views

HEALTHY = "I read the loader and it merges the user's file with the defaults, so only one key has to be added to it."
ASTRAY = (
    "The search returns the same files as before. I search for the setting again with another word. Same files again."
)


def test_a_short_text_is_its_own_ending() -> None:
    """What fits is left alone, blanks and all."""
    assert ending("  as it is \n", 100) == "  as it is \n"


@given(st.text(alphabet="ab \n", max_size=200), st.integers(1, 50))
def test_an_ending_is_the_end_and_fits(text: str, characters: int) -> None:
    """Whatever the text, its ending is a part of it, at the end, and no longer than asked for."""
    found = ending(text, characters)
    assert text.endswith(found)
    assert len(found) <= characters


def test_an_ending_begins_with_a_word() -> None:
    """No half word is left at the cut."""
    assert ending("one two three four", 12) == "three four"
    assert ending("x" * 50, 10) == "x" * 10


def test_a_short_context_has_one_view() -> None:
    """There is no newest part of one thought."""
    assert views(ASTRAY) == (ASTRAY,)


def test_what_came_before_does_not_hide_the_newest_thoughts() -> None:
    """A context with healthy thoughts before it is seen as a whole and by its newest part alone."""
    whole, newest = views(
        "\n".join(
            [
                HEALTHY,
                HEALTHY,
                HEALTHY,
                ASTRAY,
                "Let me try a third word, with an underscore in it and in capital letters.",
            ]
        )
    )
    assert whole.startswith(HEALTHY)
    assert HEALTHY not in newest
    assert newest.startswith(ASTRAY)


@given(st.text(max_size=3 * LONGEST_CONTEXT))
def test_views_are_parts_of_the_end(context: str) -> None:
    """Whatever an agent says, there are one or two views, the second a smaller part of the first."""
    found = views(context)
    assert len(found) in (1, 2)
    assert len(found[0]) <= LONGEST_CONTEXT
    assert len(found[-1]) <= len(found[0])
    assert found[-1].split() == found[0].split()[len(found[0].split()) - len(found[-1].split()) :]


def test_the_newest_part_of_a_very_long_thought_is_its_end() -> None:
    """One thought of hundreds of words does not become a view of hundreds of words."""
    words = [f"w{number}" for number in range(300)]
    _, newest = views(" ".join(words))
    assert newest.split() == words[-MOST_NEWEST_WORDS:]
    assert len(newest.split()) >= NEWEST_WORDS
