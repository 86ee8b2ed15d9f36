"""How much each monitor counts: the built-in profiles, and the way from a request to its weights."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from types import MappingProxyType

Weights = Mapping[str, float]
CustomProfiles = Callable[[str, str], Weights | None]
"""An organisation's own profile by org and name, or `None`; kept in memory, for it is asked on every evaluation."""

DEFAULT_PROFILE = "coding"
HEAVIEST = 1.0
_ORDER = (
    "claim_contradiction",
    "semantic_loop",
    "verification_skip",
    "cyclic_compression",
    "late_sprawl",
    "silent_topic_drift",
)


@dataclass(frozen=True, slots=True)
class BuiltInProfile:
    """A profile that everybody has and nobody can change."""

    name: str
    description: str
    weights: Weights


def _profile(name: str, description: str, *weights: float) -> BuiltInProfile:
    return BuiltInProfile(name, description, MappingProxyType(dict(zip(_ORDER, weights, strict=True))))


BUILT_IN_PROFILES: Mapping[str, BuiltInProfile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            _profile("coding", "Agents that write and run code.", 0.30, 0.25, 0.15, 0.10, 0.10, 0.10),
            _profile("pr_review", "Agents that read changes and judge them.", 0.20, 0.30, 0.10, 0.15, 0.15, 0.10),
            _profile("qa", "Agents that answer questions and talk to people.", 0.40, 0.15, 0.05, 0.05, 0.10, 0.25),
        )
    }
)
DEFAULT_WEIGHTS: Weights = BUILT_IN_PROFILES[DEFAULT_PROFILE].weights


def no_custom_profiles(org_id: str, name: str) -> None:
    """The lookup of those who have none."""


def resolve_weights(
    defaults: Weights,
    org_id: str,
    task_profile: str | None,
    overrides: Weights | None,
    custom: CustomProfiles = no_custom_profiles,
) -> dict[str, float]:
    """The weight of each monitor in `defaults`: those, then what the profile says, then what the call says."""
    weights = {name: _bounded(weight) for name, weight in defaults.items()}
    for layer in (named_profile(org_id, task_profile, custom), overrides):
        if layer:
            weights |= clean_weights(layer, weights)
    return weights


def named_profile(org_id: str, name: str | None, custom: CustomProfiles = no_custom_profiles) -> Weights | None:
    """The weights of a profile; an organisation cannot redefine what is built in. `None` for an unknown name."""
    if not name:
        return None
    built_in = BUILT_IN_PROFILES.get(name)
    return built_in.weights if built_in is not None else custom(org_id, name)


def clean_weights(weights: Weights, known: Container[str]) -> dict[str, float]:
    """The weights of known monitors, each within its bounds; one that is no number is dropped like an unknown name."""
    return {name: _bounded(weight) for name, weight in weights.items() if name in known and weight == weight}


def _bounded(weight: float) -> float:
    return min(HEAVIEST, max(0.0, float(weight)))
