"""From what was prepared to the system message of one request: a plain function that may run again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..format_routing import render_pattern
from ..runtime.contain import contain
from ..sanitize import neutralise
from ..types import PendingInjection
from .block import MARKER, guidance_block
from .plan import Prepared, Queued

MAX_CACHE_MARKERS = 4
SystemContent = str | Sequence[str | dict[str, Any]] | None


@dataclass(frozen=True, slots=True)
class Composed:
    """What one request gets."""

    content: list[str | dict[str, Any]] | None
    """The blocks of the system message, or `None` if it stays as it is."""
    sources: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    """The rendered text of each source, in block order."""
    given: tuple[Queued, ...] = ()
    """What had something to say; the rest has not fired."""
    silent: tuple[PendingInjection, ...] = ()
    """What had nothing to say to this model."""


@dataclass(frozen=True, slots=True)
class Markers:
    """Cache markers of the caller's outside the system message: on tools, which come before it, and behind it."""

    before: int = 0
    behind: Sequence[Any] = ()

    @property
    def count(self) -> int:
        """How many of the four that a request may have are taken."""
        return self.before + len(self.behind)

    def ours(self) -> dict[str, str]:
        """Our own: a provider refuses one that lives longer than one before it."""
        longest = any(isinstance(marker, Mapping) and marker.get("ttl") == "1h" for marker in self.behind)
        return {"type": "ephemeral", "ttl": "1h"} if longest else {"type": "ephemeral"}


NO_MARKERS = Markers()


def compose(
    prepared: Prepared,
    system: SystemContent,
    *,
    model_id: str,
    cache: bool,
    markers: Markers = NO_MARKERS,
    errors: list[str] | None = None,
) -> Composed:
    """Render the queued guidance for the final model and lay it behind the caller's own prompt."""
    silent: list[PendingInjection] = []
    given, texts = _rendered(prepared, model_id, errors, silent)
    blocks = _base_blocks(system, cache=cache, markers=markers)
    if texts:
        guidance = {"type": "text", "text": guidance_block(texts)}
        blocks = [*_as_blocks(system), guidance] if blocks is None else [*blocks, guidance]
    sources = tuple(type(queued.injection).__name__ for queued in given)
    return Composed(blocks, sources, texts, given, tuple(silent))


def _rendered(
    prepared: Prepared, model_id: str, errors: list[str] | None, silent: list[PendingInjection]
) -> tuple[tuple[Queued, ...], tuple[str, ...]]:
    given: list[Queued] = []
    texts: list[str] = []
    for queued in prepared.queued:
        rendered = []
        for pending in queued.pending:
            text = _render(pending, model_id, errors)
            if text:
                rendered.append(text)
            else:
                silent.append(pending)
        if rendered:
            given.append(queued)
            texts.append("\n\n".join(rendered))
    return tuple(given), tuple(texts)


def _render(pending: PendingInjection, model_id: str, errors: list[str] | None) -> str:
    """One text; one that cannot be rendered spoils no other."""
    text = ""
    with contain(f"rendering for {pending.source or 'an injection'}", errors):
        if pending.text is not None:
            text = neutralise(pending.text)
        else:
            text = render_pattern(pending.tier or "", model_id, pending.fields or {})
    return text


def _base_blocks(system: SystemContent, *, cache: bool, markers: Markers) -> list[str | dict[str, Any]] | None:
    """The caller's prompt with our cache marker, or `None` where it needs no change."""
    blocks = _as_blocks(system)
    own = sum(1 for block in blocks if isinstance(block, dict) and "cache_control" in block)
    if not cache or own or own + markers.count >= MAX_CACHE_MARKERS:
        return None
    for position in range(len(blocks) - 1, -1, -1):
        block = blocks[position]
        text = block if isinstance(block, str) else block.get("text") if block.get("type") == "text" else None
        if isinstance(text, str) and text.strip():
            base = {"type": "text", "text": text} if isinstance(block, str) else block
            blocks[position] = {**base, "cache_control": markers.ours()}
            return blocks
    return None


def with_guidance_uncached(content: SystemContent) -> list[str | dict[str, Any]] | None:
    """The blocks with a marker that was put on our guidance moved to the prompt before it; `None` if there is none.

    Guidance changes from step to step. A marker on it would cache what is never read again, and could be the
    fifth of a request.
    """
    if content is None or isinstance(content, str) or not content:
        return None
    *base, guidance = content
    if not isinstance(guidance, dict) or "cache_control" not in guidance or not is_guidance(guidance):
        return None
    marker = guidance["cache_control"]
    if base and isinstance(base[-1], dict):
        base[-1] = {**base[-1], "cache_control": marker}
    return [*base, {name: value for name, value in guidance.items() if name != "cache_control"}]


def is_guidance(block: Mapping[str, Any]) -> bool:
    """Whether a block of a system message is ours."""
    return str(block.get("text", "")).startswith(f"{MARKER}\n")


def _as_blocks(system: SystemContent) -> list[str | dict[str, Any]]:
    if system is None:
        return []
    if isinstance(system, str):
        return [{"type": "text", "text": system}] if system else []
    return list(system)
