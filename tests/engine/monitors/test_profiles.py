"""Weights: the built-in profiles and the way from a request to its weights."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasonblocks.engine.monitors.profiles import BUILT_IN_PROFILES, DEFAULT_WEIGHTS, clean_weights, resolve_weights

SIX = list(DEFAULT_WEIGHTS)


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("coding", [0.30, 0.25, 0.15, 0.10, 0.10, 0.10]),
        ("pr_review", [0.20, 0.30, 0.10, 0.15, 0.15, 0.10]),
        ("qa", [0.40, 0.15, 0.05, 0.05, 0.10, 0.25]),
    ],
)
def test_c15_built_in_profiles(name: str, weights: list[float]) -> None:
    """The weights are those of the contract, in the order of C14."""
    assert list(BUILT_IN_PROFILES[name].weights.values()) == weights
    assert resolve_weights(DEFAULT_WEIGHTS, "acme", name, None) == dict(zip(SIX, weights, strict=True))


@pytest.mark.parametrize("name", [None, "", "nobody_knows_it"])
def test_c15_an_unknown_profile_means_the_defaults(name: str | None) -> None:
    """Without a profile, and with one that nobody knows, the coding weights hold."""
    assert resolve_weights(DEFAULT_WEIGHTS, "acme", name, None) == dict(DEFAULT_WEIGHTS)


def test_c15_defaults_then_profile_then_call() -> None:
    """Each layer overrides what it names and leaves the rest."""
    weights = resolve_weights(
        DEFAULT_WEIGHTS,
        "acme",
        "ours",
        {"late_sprawl": 0.7},
        lambda org_id, name: {"late_sprawl": 0.2, "semantic_loop": 0.9} if (org_id, name) == ("acme", "ours") else None,
    )
    assert weights == {**DEFAULT_WEIGHTS, "semantic_loop": 0.9, "late_sprawl": 0.7}


def test_c15_a_custom_profile_cannot_redefine_a_built_in_one() -> None:
    """`qa` means the same for everybody."""
    weights = resolve_weights(DEFAULT_WEIGHTS, "acme", "qa", None, lambda org_id, name: {"semantic_loop": 1.0})
    assert weights == dict(BUILT_IN_PROFILES["qa"].weights)


def test_c15_a_custom_profile_belongs_to_its_org() -> None:
    """Another organisation's profile of that name does not count."""
    custom = {("acme", "ours"): {"semantic_loop": 1.0}}
    weights = resolve_weights(DEFAULT_WEIGHTS, "other", "ours", None, lambda org_id, name: custom.get((org_id, name)))
    assert weights == dict(DEFAULT_WEIGHTS)


def test_c15_unknown_names_are_dropped_and_weights_bounded() -> None:
    """Negatives clamp to 0, each weight is capped at 1, and what is no number counts as unknown."""
    asked = {"nobody": 1.0, "semantic_loop": -3.0, "late_sprawl": 9.0, "verification_skip": math.nan}
    assert clean_weights(asked, SIX) == {"semantic_loop": 0.0, "late_sprawl": 1.0}
    expected = {**DEFAULT_WEIGHTS, "semantic_loop": 0.0, "late_sprawl": 1.0}
    assert resolve_weights(DEFAULT_WEIGHTS, "acme", None, asked) == expected


@given(st.dictionaries(st.sampled_from([*SIX, "x", "y"]), st.floats(allow_nan=True, allow_infinity=True)))
def test_c15_every_weight_is_in_bounds(asked: dict[str, float]) -> None:
    """Whatever is asked for, the six have weights in [0, 1] and nobody else has one."""
    weights = resolve_weights(DEFAULT_WEIGHTS, "acme", "qa", asked)
    assert list(weights) == SIX
    assert all(0.0 <= weight <= 1.0 for weight in weights.values())
