"""One pattern: what may be stored, by which text it is found, and how a change of it is noticed."""

import json
from importlib.resources import files
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from reasonblocks.engine.errors import Invalid
from reasonblocks.engine.patterns.fields import check_pattern, embedding_text, pattern_digest
from reasonblocks.format_routing import render_pattern

TRAJECTORY = "trigger_state.trajectory_description"
KEYS = {
    "e1": ["observation", "recommended_action", "task_context_embedding_text"],
    "e2": ["diagnosis", "intervention", "anti_pattern", TRAJECTORY, "trigger_state"],
    "e3": ["instruction", "meta_reasoning_prompt"],
}
ALL_KEYS = ["title", "guidance", "own_key", *(key for keys in KEYS.values() for key in keys)]
QUALITIES: dict[str, Any] = {"failure_type": None, "gate_threshold": None, "model_family": "", "status": "live"}

WORDS = st.sampled_from(["Look at it.", "twice", " ", "", "\u00e4\u00f6", "\u200b"])
LEAVES = WORDS | st.none() | st.booleans() | st.integers(-3, 3)
VALUES = LEAVES | st.lists(LEAVES, max_size=2) | st.fixed_dictionaries({}, optional={"trajectory_description": LEAVES})
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = files("reasonblocks").joinpath("schemas/pattern_schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(schema))


def refusal(tier: str, fields: Any) -> Invalid | None:
    try:
        check_pattern(tier, fields)
    except Invalid as error:
        return error
    return None


@settings(deadline=None, max_examples=300)
@given(tier=st.sampled_from(list(KEYS)), fields=st.dictionaries(st.sampled_from(ALL_KEYS), VALUES, max_size=4))
def test_c28_what_is_checked_is_what_the_schema_says(validator: Any, tier: str, fields: dict[str, Any]) -> None:
    """A pattern passes exactly if the published schema accepts it and it has something visible to say."""
    accepted = validator.is_valid({"tier": tier, "pattern_id": "p", "fields": fields})
    refused = refusal(tier, fields)
    if refused is None:
        assert accepted
        assert render_pattern(tier, "gpt-5", fields)
    else:
        assert not accepted or "shows nothing" in str(refused)
        assert refused.location[0] == "fields"


@pytest.mark.parametrize(
    ("tier", "fields", "more", "location"),
    [
        ("e4", {"guidance": "g"}, {}, ("tier",)),
        ("e3", {"instruction": " "}, {}, ("fields", "instruction")),
        ("e3", {"instruction": "\u200b\u2060"}, {}, ("fields", "instruction")),
        ("e1", {"observation": "o", "title": []}, {}, ("fields", "title")),
        ("e1", {"title": "only a title"}, {}, ("fields",)),
        ("e2", {TRAJECTORY: "only a situation"}, {}, ("fields",)),
        ("e2", {"diagnosis": "d", TRAJECTORY: 3}, {}, ("fields", TRAJECTORY)),
        ("e2", {"diagnosis": "d", "trigger_state": "s"}, {}, ("fields", "trigger_state")),
        (
            "e2",
            {"diagnosis": "d", "trigger_state": {"trajectory_description": ""}},
            {},
            ("fields", "trigger_state", "trajectory_description"),
        ),
        ("e1", ["guidance"], {}, ("fields",)),
        ("e1", {"guidance": "\ud800"}, {}, ("fields",)),
        ("e1", {"guidance": "g", "own": json.loads("[" * 500 + "]" * 500)}, {}, ("fields",)),
        ("e1", {"guidance": "g" * 32_000}, {}, ("fields",)),
        ("e1", {"guidance": "g"}, {"failure_type": "boredom"}, ("failure_type",)),
        ("e1", {"guidance": "g"}, {"gate_threshold": 1.1}, ("gate_threshold",)),
        ("e1", {"guidance": "g"}, {"gate_threshold": float("nan")}, ("gate_threshold",)),
        ("e1", {"guidance": "g"}, {"gate_threshold": True}, ("gate_threshold",)),
        ("e1", {"guidance": "g"}, {"model_family": "f" * 65}, ("model_family",)),
        ("e1", {"guidance": "g"}, {"status": "draft"}, ("status",)),
    ],
)
def test_a_refusal_names_the_field(tier: str, fields: Any, more: dict[str, Any], location: tuple[str, ...]) -> None:
    """What cannot be stored is refused with its place, a short sight of it and what is expected."""
    with pytest.raises(Invalid) as caught:
        check_pattern(tier, fields, **more)
    assert caught.value.location == location
    assert location[-1] in str(caught.value)
    assert "expected" in str(caught.value) or "send" in str(caught.value)
    assert len(str(caught.value)) < 300


def test_the_largest_pattern_passes() -> None:
    """The limit is on the JSON as a whole, and what just fits is accepted."""
    frame = len('{"guidance":""}')
    check_pattern("e1", {"guidance": "g" * (32_000 - frame)}, gate_threshold=1, status="candidate")
    with pytest.raises(Invalid, match="32,001 characters"):
        check_pattern("e1", {"guidance": "g" * (32_001 - frame)})


@pytest.mark.parametrize(
    ("tier", "fields", "text"),
    [
        ("e1", {"task_context_embedding_text": "context", "observation": "seen"}, "context"),
        ("e1", {"task_context_embedding_text": " ", "observation": "seen", "title": "t"}, "seen"),
        ("e1", {"title": "short", "guidance": "long", "recommended_action": "act"}, "short long"),
        ("e1", {"recommended_action": "act"}, "act"),
        ("e2", {"trigger_state": {"trajectory_description": "goes so"}, "diagnosis": "why"}, "goes so"),
        ("e2", {TRAJECTORY: "goes so", "diagnosis": "why"}, "goes so"),
        ("e2", {"trigger_state": "goes so"}, "goes so"),
        ("e2", {TRAJECTORY: ["goes", ["so", 3]], "diagnosis": "why"}, "goes so 3"),
        ("e2", {"trigger_state": {}, "diagnosis": "why", "title": "t"}, "why"),
        ("e2", {"title": "short", "guidance": ["one", "two"]}, "short one two"),
        ("e2", {"intervention": "do", "anti_pattern": "avoid"}, "do avoid"),
        ("E2 ", {"diagnosis": "why"}, "why"),
        ("e2", {"diagnosis": True}, ""),
        ("e2", "plain text", "plain text"),
        ("e2", None, ""),
        ("e3", {"instruction": "rule"}, ""),
        ("e9", {"guidance": "g"}, ""),
    ],
)
def test_c20_a_pattern_is_compared_by_its_situation(tier: str, fields: Any, text: str) -> None:
    """The situation is what queries are compared with; where it is missing, the nearest thing that is there."""
    assert embedding_text(tier, fields) == text


@settings(deadline=None, max_examples=200)
@given(tier=st.sampled_from(["e1", "e2", "e3"]) | ODD, fields=st.dictionaries(st.sampled_from(ALL_KEYS), ODD) | ODD)
def test_no_stored_value_is_too_odd_to_compare(tier: Any, fields: Any) -> None:
    """Whatever a store holds gives a bounded text that an embedder can read."""
    text = embedding_text(tier, fields)
    assert len(text.encode()) <= 4 * 4000


def test_endless_values_are_read_to_a_depth() -> None:
    """A value that is nested beyond reason ends its reading and not the process."""
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert embedding_text("e2", {"diagnosis": [deep, "words"]}) == "words"


@settings(deadline=None, max_examples=100)
@given(
    tier=st.sampled_from(["e1", "e2"]),
    fields=st.dictionaries(st.sampled_from(ALL_KEYS), st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4),
)
def test_c20_what_may_be_stored_can_be_found(tier: str, fields: dict[str, Any]) -> None:
    """No E1 or E2 pattern that passes the check is without a text to find it by."""
    assume(refusal(tier, fields) is None)
    assert embedding_text(tier, fields)


def test_a_digest_is_that_of_the_content() -> None:
    """Key order, a trip through JSON and 1 for 1.0 change nothing; any change of content does."""
    fields = {"title": "\u00e4", "diagnosis": ["d", "e"], "trigger_state": {"trajectory_description": "t"}}
    given_digest = pattern_digest("e2", fields, **{**QUALITIES, "gate_threshold": 1})
    returned = msgspec.json.decode(msgspec.json.encode(dict(reversed(fields.items()))))
    assert pattern_digest("e2", returned, **{**QUALITIES, "gate_threshold": 1.0}) == given_digest

    others = [
        pattern_digest("e1", fields, **{**QUALITIES, "gate_threshold": 1}),
        pattern_digest("e2", {**fields, "title": "a"}, **{**QUALITIES, "gate_threshold": 1}),
        pattern_digest("e2", {**fields, "diagnosis": ["e", "d"]}, **{**QUALITIES, "gate_threshold": 1}),
        pattern_digest("e2", fields, **QUALITIES),
        pattern_digest("e2", fields, **{**QUALITIES, "gate_threshold": 1, "status": "retired"}),
        pattern_digest("e2", fields, **{**QUALITIES, "gate_threshold": 1, "model_family": "opus"}),
        pattern_digest("e2", fields, **{**QUALITIES, "gate_threshold": 1, "failure_type": "loop"}),
    ]
    assert len({given_digest, *others}) == 1 + len(others)
