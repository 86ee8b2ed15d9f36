"""The order of a middleware stack: what stands around ours, and what to change. Pure.

The first of a list is the outermost. What is said here about each of LangChain's own is shown by the tests
`tests/test_langchain_*.py`, with ours outside and inside of it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .finding import Finding, ok, problem, warning

TOPIC = "stack"
OURS = "ReasonBlocksMiddleware"
MOVE = "put {name} before ReasonBlocks in the list of middleware"


@dataclass(frozen=True)
class Layer:
    """One middleware of a stack, as far as its place matters."""

    name: str
    kinds: frozenset[str]
    """The names of its class and of those that it is derived from."""
    sets_prompt: bool = False
    """Whether its code touches the system message of a request."""
    replaces_prompt: bool = False
    """Whether it is known to put another system message in the place of the one it gets."""


def layer_of(middleware: Any) -> Layer:
    """A middleware as it is seen from outside."""
    kinds = frozenset(kind.__name__ for kind in type(middleware).__mro__)
    wraps = [_code(middleware, name) for name in ("wrap_model_call", "awrap_model_call")]
    names = {name for code in wraps if code is not None for name in (*code.co_names, *code.co_consts)}
    made_by = [code.co_qualname for code in wraps if code is not None]
    return Layer(
        name=str(getattr(middleware, "name", type(middleware).__name__)),
        kinds=kinds,
        sets_prompt=bool(names & {"system_message", "system_prompt", ("system_message",), ("system_prompt",)}),
        replaces_prompt=any(name.startswith("dynamic_prompt.") for name in made_by),
    )


def _code(middleware: Any, name: str) -> Any:
    from langchain.agents.middleware import AgentMiddleware

    function = getattr(type(middleware), name, None)
    if function is None or function is getattr(AgentMiddleware, name):
        return None
    return getattr(function, "__code__", None)


def stack_findings(layers: Sequence[Layer]) -> Iterator[Finding]:
    """What there is to say about a stack."""
    yield ok(TOPIC, "from the outside in: " + (", ".join(layer.name for layer in layers) or "nothing"))
    ours = [place for place, layer in enumerate(layers) if OURS in layer.kinds]
    if not ours:
        yield problem(TOPIC, "ReasonBlocks is not in it", "add rb.middleware() as the last of the list")
        return
    if len(ours) > 1:
        yield problem(
            TOPIC,
            f"ReasonBlocks is in it {len(ours)} times, which LangChain refuses",
            "keep one: it serves any number of runs",
        )
    for place, layer in enumerate(layers):
        if place not in ours:
            yield from _about(layer, inside=place > ours[-1])


def _about(layer: Layer, *, inside: bool) -> Iterator[Finding]:
    """What the place of one other middleware means; `inside` of ours is after it in the list."""
    for kind, judge in _KNOWN.items():
        if kind in layer.kinds:
            yield judge(layer.name, inside)
            return
    if inside and layer.replaces_prompt:
        yield problem(
            TOPIC,
            f"{layer.name} comes after ReasonBlocks and replaces the system message: guidance never reaches the model",
            MOVE.format(name=layer.name),
        )
    elif inside and layer.sets_prompt:
        yield warning(
            TOPIC,
            f"{layer.name} comes after ReasonBlocks and touches the system message; replaced, it loses the guidance",
            MOVE.format(name=layer.name),
        )


def _fallback(name: str, inside: bool) -> Finding:
    if inside:
        return warning(
            TOPIC,
            f"{name} comes after ReasonBlocks: guidance is worded for the first model, and steps name it, also where "
            "a fallback answered",
            MOVE.format(name=name),
        )
    return ok(TOPIC, f"{name} is around ReasonBlocks: guidance is worded for the model that answers")


def _retry(name: str, inside: bool) -> Finding:
    if inside:
        return warning(
            TOPIC,
            f"{name} comes after ReasonBlocks: all attempts count as one call, and a reply that it makes up "
            "(on_failure='continue') as a step",
            MOVE.format(name=name),
        )
    return ok(TOPIC, f"{name} is around ReasonBlocks: each attempt gets the same guidance, which is counted once")


def _caching(name: str, inside: bool) -> Finding:
    where = "after" if inside else "before"
    return ok(TOPIC, f"{name} {where} ReasonBlocks: its marker is on the prompt, never on the guidance")


def _summary(name: str, inside: bool) -> Finding:
    where = "after" if inside else "before"
    return ok(TOPIC, f"{name} {where} ReasonBlocks: a summary hides no step from us, nor our guidance from the model")


def _redaction(name: str, inside: bool) -> Finding:
    if inside:
        return warning(
            TOPIC,
            f"{name} comes after ReasonBlocks: tool results are reported as they are, before it redacts them",
            MOVE.format(name=name) + ", or pass redact= to ReasonBlocks",
        )
    return ok(TOPIC, f"{name} before ReasonBlocks: what it redacts is redacted for us")


def _approval(name: str, inside: bool) -> Finding:
    if inside:
        return warning(
            TOPIC,
            f"{name} comes after ReasonBlocks: steps show the model's calls, not those that a person edited",
            MOVE.format(name=name),
        )
    return ok(TOPIC, f"{name} before ReasonBlocks: steps show the calls that ran")


def _todo(name: str, inside: bool) -> Finding:
    if inside:
        return warning(
            TOPIC, f"{name} comes after ReasonBlocks: its prompt stands behind the guidance", MOVE.format(name=name)
        )
    return ok(TOPIC, f"{name} before ReasonBlocks: the guidance is the last thing the model reads of the prompt")


_KNOWN: dict[str, Callable[[str, bool], Finding]] = {
    "ModelFallbackMiddleware": _fallback,
    "ModelRetryMiddleware": _retry,
    "AnthropicPromptCachingMiddleware": _caching,
    "SummarizationMiddleware": _summary,
    "PIIMiddleware": _redaction,
    "HumanInTheLoopMiddleware": _approval,
    "TodoListMiddleware": _todo,
}
