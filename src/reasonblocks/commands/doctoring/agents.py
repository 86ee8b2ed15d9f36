"""Somebody's own agent or list of middleware, imported and taken apart."""

import functools
import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...errors import SettingsError
from .finding import Finding
from .stack import layer_of, stack_findings

AROUND_MODEL = "wrap_model_call_handler"
"""What LangChain calls the handlers around the model, all composed into one, in the function of its node."""


def stack(target: str) -> Iterator[Finding]:
    """What there is to say about the stack that `package.module:attribute` names."""
    return stack_findings([layer_of(middleware) for middleware in middleware_of(imported(target), target)])


def imported(target: str) -> Any:
    """What a target names; a function without arguments is called for it."""
    module_name, colon, attribute = target.partition(":")
    if not colon or not module_name or not attribute:
        raise SettingsError(f"{target!r} names nothing to import; expected package.module:attribute, such as app:agent")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        value: Any = importlib.import_module(module_name)
    except Exception as error:  # it is somebody's own code
        hint = "; run this from the folder it is in" if isinstance(error, ModuleNotFoundError) else ""
        raise SettingsError(f"importing {module_name!r} raises {type(error).__name__}: {error}{hint}") from error
    for name in attribute.split("."):
        if not hasattr(value, name):
            raise SettingsError(
                f"{module_name!r} has no {attribute!r}; expected the name of an agent or of a list of middleware"
            )
        value = getattr(value, name)
    if callable(value) and not hasattr(value, "nodes") and not hasattr(value, "wrap_model_call"):
        try:
            value = value()
        except Exception as error:
            raise SettingsError(f"calling {target!r} raises {type(error).__name__}: {error}") from error
    return value


def middleware_of(value: Any, target: str) -> list[Any]:
    """The middleware of a list or of a compiled agent, from the outside in."""
    from langchain.agents.middleware import AgentMiddleware

    if isinstance(value, AgentMiddleware):
        return [value]
    if (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(one, AgentMiddleware) for one in value)
    ):
        return list(value)
    while not isinstance(getattr(value, "nodes", None), Mapping) and hasattr(value, "bound"):
        value = value.bound
    if isinstance(getattr(value, "nodes", None), Mapping):
        return _compiled(value.nodes)
    raise SettingsError(
        f"{target!r} is a {type(value).__name__}; expected an agent of create_agent, or a list of middleware"
    )


def _compiled(nodes: Mapping[str, Any]) -> list[Any]:
    """The middleware that the nodes of an agent are made of.

    Hooks that are nodes come in the order of the list, and so do those around the model, one inside the other. Ours
    is among both; where each of the others stands to it is what matters.
    """
    from langchain.agents.middleware import AgentMiddleware

    chains: list[list[Any]] = [[]]
    for node in nodes.values():
        bound = getattr(node, "bound", None)
        for function in (getattr(bound, "func", None), getattr(bound, "afunc", None)):
            owner = getattr(function, "__self__", None)
            if isinstance(owner, AgentMiddleware):
                chains[0].append(owner)
            elif function is not None:
                chains += [
                    _wrapping(handler) for name, handler in _closed_over(function) if name.endswith(AROUND_MODEL)
                ]
    return _merged([_once(chain) for chain in chains])


def _wrapping(function: Any) -> list[Any]:
    """The middleware in a composed handler, the outer before the inner."""
    from langchain.agents.middleware import AgentMiddleware

    found: list[Any] = []
    seen: set[int] = set()

    def visit(value: Any) -> None:
        if not callable(value) or isinstance(value, type) or id(value) in seen:
            return
        seen.add(id(value))
        owner = getattr(value, "__self__", None)
        if isinstance(owner, AgentMiddleware):
            found.append(owner)
            return
        if isinstance(value, functools.partial):
            visit(value.func)
        for _, inner in _closed_over(value):
            visit(inner)
        visit(getattr(value, "__wrapped__", None))

    visit(function)
    return found


def _closed_over(function: Any) -> list[tuple[str, Any]]:
    """What a function has closed over, by name; of two handlers that were composed, the outer one first."""
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or not cells:
        return []
    named = []
    for name, cell in zip(code.co_freevars, cells, strict=True):
        try:
            named.append((name, cell.cell_contents))
        except ValueError:  # a cell that is not filled
            continue
    return sorted(named, key=lambda one: one[0] != "outer")


def _once(chain: Sequence[Any]) -> list[Any]:
    return list({id(one): one for one in chain}.values())


def _merged(chains: Sequence[Sequence[Any]]) -> list[Any]:
    """One order that agrees with all of them, each being a part of the same list."""
    left = [list(chain) for chain in chains]
    merged: list[Any] = []
    while any(left):
        heads = [chain[0] for chain in left if chain]
        free = next((head for head in heads if not any(head is one for chain in left for one in chain[1:])), heads[0])
        merged.append(free)
        left = [[one for one in chain if one is not free] for chain in left]
    return merged
