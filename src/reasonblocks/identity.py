"""Who a run is: its id, its parent, and the snapshot by which another process knows it again."""

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from .errors import SettingsError
from .injections.base import BaseInjection
from .limits import MAX_RUN_ID, RUN_ID_PATTERN
from .messages import last_reply
from .registry import current_run, registry
from .run import Run
from .runtime.contain import contain
from .telemetry.tracing import Origin

METADATA_RUN_ID = "reasonblocks_run_id"
METADATA_SWITCH = "reasonblocks"
METADATA_AGENT = "lc_agent_name"
"""Where LangChain keeps the name that `create_agent` was given; agents called by tools inherit it."""
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_\-./:@]")


@dataclass(frozen=True, slots=True)
class Identity:
    """What a run is called and where it comes from."""

    run_id: str
    named: str | None = None
    """The name in the config; agents that are called by tools inherit it, and it is not theirs."""
    parent_id: str | None = None
    relation: str | None = None


def checked_run_id(run_id: str | None) -> str | None:
    """A run id that a user gave, if the wire can carry it."""
    if run_id is None:
        return None
    if not isinstance(run_id, str) or not re.fullmatch(RUN_ID_PATTERN, run_id) or len(run_id) > MAX_RUN_ID:
        raise SettingsError(
            f"run_id is {run_id!r:.80}; expected 1 to {MAX_RUN_ID} characters of A-Z a-z 0-9 _ - . / : @"
        )
    return run_id


def identify(given: str | None, config: Mapping[str, Any], execution_run_id: str | None) -> Identity:
    """The identity of a run that begins."""
    named = _named(config)
    enclosing = current_run.get()
    parent = named if named in registry.live else enclosing.run_id if enclosing is not None else None
    inherited = enclosing is not None and enclosing.named == named
    if given is None and named is not None and named not in registry.live and not inherited:
        given = named
    if given is None and execution_run_id and execution_run_id not in registry.live:
        given = execution_run_id
    run_id = given or new_run_id()
    return Identity(run_id, named, parent, "nested") if parent and parent != run_id else Identity(run_id, named)


def origin(who: Identity, config: Mapping[str, Any], left_off: str | None = None) -> Origin:
    """What the spans of a run say about where it comes from; `left_off` is the place of the run it travelled from."""
    parent = registry.find(who.parent_id) if who.parent_id else None
    thread = (config.get("configurable") or {}).get("thread_id")
    metadata = config.get("metadata") or {}
    named = str(metadata.get(METADATA_AGENT) or "")
    return Origin(
        agent_name=named,
        names_caller=parent is not None and parent.run.origin.agent_name == named,
        conversation_id=str(thread or (parent.run.origin.conversation_id or who.parent_id if parent else "")),
        agent_id=str(metadata.get("assistant_id") or ""),
        linked=left_off or (parent.run.spans.traceparent if parent else None),
        relation=who.relation,
    )


def new_run_id() -> str:
    """An id for a run that nobody named."""
    return uuid.uuid4().hex


def _named(config: Mapping[str, Any]) -> str | None:
    """The id that the config names, made fit for the wire."""
    named = (config.get("metadata") or {}).get(METADATA_RUN_ID)
    if named is None or named == "":
        return None
    text = str(named)
    fit = _FORBIDDEN.sub("_", text)[:MAX_RUN_ID]
    if fit != text:
        with contain("run id"):
            raise SettingsError(
                f"metadata.{METADATA_RUN_ID} is {text!r:.80}, which the wire cannot carry; {fit!r} is used"
            )
    return fit


def opted_out(config: Mapping[str, Any]) -> bool:
    """Whether the config's metadata says `reasonblocks: off`."""
    switch = (config.get("metadata") or {}).get(METADATA_SWITCH)
    return switch is False or (isinstance(switch, str) and switch.lower() in ("off", "false", "0", "no"))


def snapshot(run: Run, messages: Sequence[BaseMessage], injections: Sequence[BaseInjection]) -> dict[str, Any]:
    """What a checkpoint keeps of a run: small, plain, enough to go on in another process."""
    reply = last_reply(messages)
    return {**run.memento(injections), "last_reply": reply.id if reply else None}


def restore(
    run: Run,
    saved: Mapping[str, Any],
    messages: Sequence[BaseMessage],
    injections: Sequence[BaseInjection],
    *,
    travelled: bool = False,
) -> None:
    """Bring a new Run to where the saved one was; its steps are read back from the messages.

    What a run that travels back in time finds in the history were steps of the old one.
    """
    replies = [message for message in messages if isinstance(message, AIMessage)]
    known = saved.get("last_reply")
    # The snapshot was written before a model call: replies behind its last one are calls that returned since.
    # If that one is gone from the history (it was summarised), only the newest reply can be one of them.
    split = next((i + 1 for i, reply in enumerate(replies) if reply.id == known), max(0, len(replies) - 1))
    if known is None:
        split = 0
    before = replies[max(0, split - int(saved.get("step", 0))) : split]
    run.recall(saved, before, replies[split:], messages, injections, own=not travelled)
