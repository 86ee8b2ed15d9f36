"""From the raw fields of a pattern to the words a model reads, by tier and model family.

A small model follows short orders best, a large one wants to know why. So the same pattern reads differently:

    haiku    short lines, what to do comes first
    sonnet   compact and labelled
    opus     prose, the reason before the advice
    other    plain labelled lines

Whatever is there is rendered; a missing field only makes the text shorter.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from .sanitize import DEFAULT_LIMIT, neutralise

MOST_CHARACTERS = 8000
"""How long the values of one pattern may be together; each gets an equal share."""
_SMALLEST_SHARE = 200
_MOST_WITH_LABELS = MOST_CHARACTERS + 1000
_DEEPEST = 5
_MOST_LEAVES = 200
"""How far and how wide nested values are followed: a store may hold anything."""

_FAMILY = re.compile(r"(?<![a-z])(haiku|sonnet|opus)(?![a-z])")

_TRAJECTORY = "trigger_state.trajectory_description"
_BOOKKEEPING = frozenset(
    "pattern_id tier level status org_id customer_id project_id failure_type model_family gate_threshold "
    "similarity source_trace_id provenance created_at updated_at".split()
)
"""What a store keeps beside the words of a pattern; never guidance."""

# The known keys, in the order in which each form puts them.
_ORDERS = {
    "title": "",
    "guidance": "Do: ",
    "recommended_action": "Do: ",
    "intervention": "Do: ",
    "instruction": "Always: ",
    "anti_pattern": "Do not: ",
    "meta_reasoning_prompt": "Ask yourself: ",
    "task_context_embedding_text": "When: ",
    _TRAJECTORY: "When: ",
    "observation": "Seen before: ",
    "diagnosis": "Why: ",
}
_SHORT_LABELS = {
    "title": "Pattern",
    "task_context_embedding_text": "Context",
    _TRAJECTORY: "Signs",
    "observation": "Observed",
    "diagnosis": "Cause",
    "guidance": "Guidance",
    "recommended_action": "Next",
    "intervention": "Fix",
    "anti_pattern": "Avoid",
    "instruction": "Rule",
    "meta_reasoning_prompt": "Check",
}
_SENTENCES = {
    "title": "In short:",
    "task_context_embedding_text": "An earlier run worked on a task much like this one:",
    _TRAJECTORY: "Runs that fail this way can be told by how they go:",
    "observation": "What was seen then is the reason for the advice:",
    "diagnosis": "The cause is usually this:",
    "guidance": "Please take this into account:",
    "recommended_action": "The course to take from here:",
    "intervention": "What helps is this:",
    "anti_pattern": "It is tempting to do the following instead, and it makes matters worse:",
    "instruction": "Please keep to this throughout:",
    "meta_reasoning_prompt": "To see whether it applies, ask yourself as you go:",
}
_FULL_LABELS = {
    "title": "Title",
    "guidance": "Guidance",
    "task_context_embedding_text": "Task context",
    "observation": "Observation",
    "recommended_action": "Recommended action",
    _TRAJECTORY: "Trajectory",
    "diagnosis": "Diagnosis",
    "intervention": "Intervention",
    "anti_pattern": "Anti-pattern",
    "instruction": "Standing rule",
    "meta_reasoning_prompt": "Question to ask yourself",
}

_TIERS = ("e1", "e2", "e3")
# Up to 32 standing rules follow each other at the start of a run, so they go without a head of their own.
_HEADS = {"e1": "Lesson from an earlier run", "e2": "Known way to fail"}
_OPENINGS = {
    "e1": "One of your own earlier runs holds a lesson for this step.",
    "e2": "This resembles a way of failing that is known from many runs.",
}


def model_family(model_id: str) -> str:
    """`haiku`, `sonnet` or `opus`, wherever it stands in a model id; for any other model the empty string."""
    found = _FAMILY.search(str(model_id or "").lower())
    return found.group(1) if found else ""


def render_pattern(tier: str, model_id: str, fields: Mapping[str, Any]) -> str:
    """The guidance of one pattern in the form that suits the model; empty if the pattern says nothing."""
    tier = str(tier or "").strip().lower()
    values = fields if isinstance(fields, Mapping) else {"guidance": fields}
    known = {key: text for key in _FULL_LABELS if (text := _joined(_value(values, key)))}
    rest = [] if known and tier in _TIERS else _other_texts(values)
    share = max(_SMALLEST_SHARE, min(DEFAULT_LIMIT, MOST_CHARACTERS // max(1, len(known) + len(rest))))
    known = {key: clean for key, text in known.items() if (clean := neutralise(text, share).strip())}
    lines = [_form(tier, model_family(model_id), known)] if known else []
    lines += [neutralise(text, share).strip() for text in rest]
    # Once more as a whole: two values, each harmless, may form a token where they meet.
    return neutralise("\n".join(line for line in lines if line), _MOST_WITH_LABELS)


def _form(tier: str, family: str, known: dict[str, str]) -> str:
    match family:
        case "haiku":
            return _as_orders(tier, known)
        case "sonnet":
            return _as_compact_labels(tier, known)
        case "opus":
            return _as_prose(tier, known)
    return _as_plain_text(tier, known)


def _as_orders(tier: str, known: dict[str, str]) -> str:
    return "\n".join(order + text for order, text in _with_words(_ORDERS, tier, known))


def _as_compact_labels(tier: str, known: dict[str, str]) -> str:
    parts = [f"{label}: {text}" for label, text in _with_words(_SHORT_LABELS, tier, known)]
    if tier in _HEADS:
        parts.insert(0, _HEADS[tier])
    return ("\n" if any("\n" in part for part in parts) else " | ").join(parts)


def _as_prose(tier: str, known: dict[str, str]) -> str:
    sentences = [f"{start} {_ended(text)}" for start, text in _with_words(_SENTENCES, tier, known)]
    if tier in _OPENINGS:
        sentences.insert(0, _OPENINGS[tier])
    return " ".join(sentences)


def _as_plain_text(tier: str, known: dict[str, str]) -> str:
    lines = [f"{label}: {text}" for label, text in _with_words(_FULL_LABELS, tier, known)]
    if tier in _HEADS:
        lines.insert(0, _HEADS[tier])
    return "\n".join(lines)


def _with_words(table: dict[str, str], tier: str, known: dict[str, str]) -> list[tuple[str, str]]:
    """The known values in the order of a form, each with the form's words for its key."""
    words = {**table, "guidance": table["instruction"]} if tier == "e3" else table
    return [(word, known[key]) for key, word in words.items() if key in known]


def _ended(text: str) -> str:
    """`text` with a full stop, unless it ends with a mark of its own."""
    return text if text[-1] in ".!?:;\N{HORIZONTAL ELLIPSIS}" else f"{text}."


def _value(fields: Mapping[str, Any], key: str) -> object:
    if key != _TRAJECTORY:
        return fields.get(key)
    state = fields.get("trigger_state")
    nested = state.get("trajectory_description") if isinstance(state, Mapping) else state
    given = fields.get(key)
    return nested if given is None else [given, nested]


def _other_texts(fields: Mapping[str, Any]) -> list[str]:
    """The texts under keys that nobody defined: better as they are than not at all."""
    skipped = _BOOKKEEPING | _FULL_LABELS.keys()
    values = [value for key, value in fields.items() if key not in skipped]
    return [leaf for leaf in islice(_leaves(values), _MOST_LEAVES) if isinstance(leaf, str) and leaf.strip()]


def _joined(value: object) -> str:
    """The texts and numbers of a value, however deep, as one text; most keys have none, or a text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return neutralise(value).strip()
    texts = (neutralise(leaf).strip() for leaf in islice(_leaves(value), _MOST_LEAVES))
    return "; ".join(text for text in texts if text)


def _leaves(value: object, depth: int = 0) -> Iterator[object]:
    if value is None:
        return
    if isinstance(value, Mapping | list | tuple | set | frozenset) and depth <= _DEEPEST:
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(item, depth + 1)
    else:
        yield value
