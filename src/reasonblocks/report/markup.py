"""HTML and SVG, escaped by construction: a text that is not `Html` cannot become markup."""

from collections.abc import Iterable
from html import escape
from typing import Any

VOID = frozenset({"br", "circle", "col", "line", "meta", "path", "polygon", "rect"})
"""Elements without an end of their own, or for which SVG needs none."""


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | None | Iterable["Child"]


def element(name: str, /, *children: Child, **attributes: Any) -> Html:
    """An element; `class_` is `class`, other underscores in names become hyphens. `None` and `False` are left out."""
    given = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in VOID and not children:
        return Html(f"<{name}{given}/>")
    return Html(f"<{name}{given}>{joined(children)}</{name}>")


def joined(children: Iterable[Child]) -> Html:
    """Children one after another."""
    return Html("".join(map(_rendered, children)))


def _rendered(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    return escape(child) if isinstance(child, str) else joined(child)


def _attribute(key: str, value: Any) -> str:
    if value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(_number(value))}"'


def _number(value: Any) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
