"""What one pattern has to look like, the text by which it is found, and the digest that shows a change of it."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, get_args

from ...format_routing import render_pattern
from ...sanitize import DEFAULT_LIMIT, neutralise
from ...types import Tier
from ..errors import Invalid
from ..requests import FailureType, Status
from ..store.values import MAX_DEPTH, digest, dump, too_deep

MAX_FIELDS = 32_000
"""Characters that the fields of one pattern may have as JSON."""
_MAX_FAMILY = 64
_DEEPEST = 5
_MOST_LEAVES = 200
"""How far and how wide a stored value is followed: a store may hold anything."""

_TRAJECTORY = "trigger_state.trajectory_description"
_TEXTS: dict[str, tuple[str, ...]] = {
    "e1": ("title", "guidance", "observation", "recommended_action", "task_context_embedding_text"),
    "e2": ("title", "guidance", "diagnosis", "intervention", "anti_pattern", _TRAJECTORY),
    "e3": ("title", "guidance", "instruction", "meta_reasoning_prompt"),
}
_NEEDED: dict[str, tuple[str, ...]] = {
    "e1": ("observation", "recommended_action", "guidance"),
    "e2": ("diagnosis", "intervention", "anti_pattern", "guidance"),
    "e3": ("instruction", "guidance"),
}
"""One of them at least: a title, a question or a situation alone advises nothing."""
_COMPARED: dict[str, tuple[tuple[str, ...], ...]] = {
    "e1": (("task_context_embedding_text",), ("observation",), ("title", "guidance"), ("recommended_action",)),
    "e2": ((_TRAJECTORY,), ("diagnosis",), ("title", "guidance"), ("intervention", "anti_pattern")),
}
"""What queries are compared with: the first of these that says anything."""
_TELLING = ("title", "guidance", "instruction", "diagnosis", "observation", "intervention", "recommended_action")
"""The fields that tell one pattern from another, the best first."""


def check_pattern(
    tier: str,
    fields: dict[str, Any],
    *,
    failure_type: str | None = None,
    gate_threshold: float | None = None,
    model_family: str = "",
    status: str = "live",
) -> None:
    """Whether a pattern can be stored and rendered; `Invalid` names the field and what is expected of it."""
    _check_choice("tier", tier, get_args(Tier))
    if failure_type is not None:
        _check_choice("failure_type", failure_type, get_args(FailureType))
    _check_choice("status", status, get_args(Status))
    if gate_threshold is not None and not (_is_number(gate_threshold) and 0 <= gate_threshold <= 1):
        raise Invalid(
            f"gate_threshold is {gate_threshold!r}; expected a number from 0 to 1, or none",
            location=("gate_threshold",),
        )
    if not isinstance(model_family, str) or len(model_family) > _MAX_FAMILY:
        raise Invalid(
            f"model_family is {_shortened(model_family)}; expected a name of at most {_MAX_FAMILY} characters",
            location=("model_family",),
        )
    _check_size(fields)
    _check_texts(tier, fields)


def embedding_text(tier: str, fields: Any) -> str:
    """The text a pattern is compared by, whatever is stored; empty if nothing is, as for standing rules."""
    values = fields if isinstance(fields, Mapping) else {"guidance": fields}
    for keys in _COMPARED.get(str(tier).strip().lower(), ()):
        leaves = islice(_leaves([_value(values, key) for key in keys]), _MOST_LEAVES)
        words = (neutralise(leaf).strip() for leaf in leaves)
        if text := neutralise(" ".join(word for word in words if word), DEFAULT_LIMIT):
            return text
    return ""


def headline(fields: Mapping[str, Any]) -> str:
    """A pattern in a few words."""
    for name in _TELLING:
        value = fields.get(name)
        text = " ".join(map(str, value)) if isinstance(value, list) else value
        if isinstance(text, str) and text.strip():
            return " ".join(text.split())
    return ""


def pattern_digest(
    tier: str,
    fields: Mapping[str, Any],
    *,
    failure_type: str | None,
    gate_threshold: float | None,
    model_family: str,
    status: str,
) -> str:
    """What identifies all that a user can change of a pattern, however its keys are ordered."""
    matters = {
        "tier": tier,
        "fields": fields,
        "failure_type": failure_type,
        "gate_threshold": None if gate_threshold is None else float(gate_threshold),  # as a column returns it
        "model_family": model_family,
        "status": status,
    }
    return digest(json.dumps(matters, sort_keys=True, separators=(",", ":"), default=str))


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise Invalid(f"{name} is {_shortened(value)}; expected one of {', '.join(allowed)}", location=(name,))


def _check_size(fields: object) -> None:
    if not isinstance(fields, dict):
        raise Invalid(f"fields is {_shortened(fields)}; expected an object of texts", location=("fields",))
    if too_deep(fields):
        raise Invalid(f"fields is nested deeper than {MAX_DEPTH} levels; send something flatter", location=("fields",))
    try:
        size = len(dump(fields))
    except (UnicodeEncodeError, TypeError, ValueError) as error:
        raise Invalid(f"fields cannot be written as JSON ({error}); send plain texts", location=("fields",)) from None
    if size > MAX_FIELDS:
        raise Invalid(
            f"fields has {size:,} characters as JSON; expected at most {MAX_FIELDS:,}: shorten the texts",
            location=("fields",),
        )


def _check_texts(tier: str, fields: dict[str, Any]) -> None:
    for key in _TEXTS[tier]:
        if key in fields and not _is_text(fields[key]):
            raise _no_text(fields[key], "fields", key)
    if tier == "e2" and "trigger_state" in fields:
        _check_trigger_state(fields["trigger_state"])
    needed = {key: fields[key] for key in _NEEDED[tier] if key in fields}
    if not needed:
        raise Invalid(
            f"the fields of an {tier} pattern have nothing that advises; expected one of {', '.join(_NEEDED[tier])}",
            location=("fields",),
        )
    if not render_pattern(tier, "", needed):
        key = next(iter(needed))
        raise Invalid(f"fields.{key} shows nothing; expected visible words", location=("fields", key))


def _check_trigger_state(state: object) -> None:
    if not isinstance(state, dict):
        raise Invalid(
            f"fields.trigger_state is {_shortened(state)}; expected an object with a trajectory_description",
            location=("fields", "trigger_state"),
        )
    if "trajectory_description" in state and not _is_text(state["trajectory_description"]):
        raise _no_text(state["trajectory_description"], "fields", "trigger_state", "trajectory_description")


def _no_text(value: object, *location: str) -> Invalid:
    return Invalid(
        f"{'.'.join(location)} is {_shortened(value)}; expected words or a list of them, or leave it out",
        location=location,
    )


def _is_text(value: object) -> bool:
    texts = value if isinstance(value, list) and value else [value]
    return all(isinstance(text, str) and text.strip() for text in texts)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shortened(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def _value(fields: Mapping[str, Any], key: str) -> object:
    if key != _TRAJECTORY:
        return fields.get(key)
    state = fields.get("trigger_state")
    nested = state.get("trajectory_description") if isinstance(state, Mapping) else state
    return [fields.get(key), nested]


def _leaves(value: object, depth: int = 0) -> Iterator[object]:
    """The texts and numbers of a stored value, in order."""
    if value is None:
        return
    if isinstance(value, Mapping | list | tuple) and depth <= _DEEPEST:
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(item, depth + 1)
    elif isinstance(value, str) or _is_number(value):
        yield value
