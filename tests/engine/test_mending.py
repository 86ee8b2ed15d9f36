"""Mending: what no decoder takes is taken out, and everything else stays as it was."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasonblocks.engine import mending
from reasonblocks.engine.mending import without_deep_events, without_lone_surrogates

DEEP = b"[" * 5_000 + b"]" * 5_000
values = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(st.sampled_from('a"\\[]{},:\ud800\udc00\U0001f600')),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"[{,', max_size=3), inner, max_size=3),
    max_leaves=8,
)


def whole(text: str) -> str:
    """A text with U+FFFD for every half of a character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def mended(value: Any) -> Any:
    """A value with such texts only."""
    if isinstance(value, dict):
        return {whole(key): mended(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [mended(inner) for inner in value]
    return whole(value) if isinstance(value, str) else value


@given(values)
def test_only_halves_of_characters_are_replaced(value: Any) -> None:
    """Pairs, and backslashes in front of what looks like an escape, stay."""
    assert msgspec.json.decode(without_lone_surrogates(json.dumps(value).encode())) == mended(value)


@given(st.lists(values, max_size=5), st.integers(0, 5), st.sampled_from([None, 0, 2]), st.booleans())
def test_only_the_deep_event_is_taken_out(events: list[Any], place: int, indent: int | None, first: bool) -> None:
    """Wherever it is, however the body is written, and whatever is beside the events."""
    events = mended(events)
    place = min(place, len(events))
    told = [*events[:place], "HERE", *events[place:]]
    beside = {"a": ["x", {"events": [1, 2]}], "b": "events"}
    body = json.dumps({**beside, "events": told} if first else {"events": told, **beside}, indent=indent).encode()
    flat, places = without_deep_events(body.replace(b'"HERE"', DEEP))
    assert places == [place]
    assert json.loads(flat)["events"] == [*events[:place], None, *events[place:]]


@pytest.mark.parametrize("body", [b"", b"[", b'{"events":', b'{"events":[', b'{"events":["' + rb"\"" * 9, b"]" * 9])
def test_what_is_no_batch_stays_as_it_is(body: bytes) -> None:
    """The decoder has the last word on it."""
    assert without_deep_events(body) == (body, [])
    assert without_lone_surrogates(body) == body


def test_how_much_is_looked_at_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that would take long is left to the decoder."""
    body = b'{"events":[1,2,3,' + DEEP + b"]}"
    assert without_deep_events(body)[1] == [3]
    monkeypatch.setattr(mending, "MOST_TOKENS", 5)
    assert without_deep_events(body) == (body, [])
    monkeypatch.setattr(mending, "MOST_REPAIRS", 1)
    assert without_lone_surrogates(rb'"\ud800 \ud800"') == '"\ufffd \\ud800"'.encode()
