"""Which settings are in force, and where each of them comes from."""

import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from ... import settings
from ...errors import SettingsError
from ...secret import mask
from ..root import TRACEBACK
from ..sources.choosing import Place
from .finding import Finding, ok, problem, warning

PREFIX = "REASONBLOCKS_"
TOPIC = "settings"
SECRETS = ("API_KEY", "KEYS")


def in_force(place: Place) -> Iterator[Finding]:
    """The settings in this environment."""
    given = {"DATA_DIR": place.data_dir, "BASE_URL": place.base_url}
    for name, value in given.items():
        if value is not None:
            yield ok(TOPIC, f"{name.lower()} = {value} (option --{name.lower().replace('_', '-')})")
    set_here = {name.removeprefix(PREFIX) for name, value in os.environ.items() if name.startswith(PREFIX) and value}
    for name in sorted(set_here):
        yield _about(name, overridden=given.get(name) is not None)
    defaults = [name for name in _CHECKED if name.upper() not in set_here]
    if defaults:
        yield ok(TOPIC, f"{', '.join(defaults)}: as they are by default")
    if settings.disabled():
        yield warning(TOPIC, "REASONBLOCKS_DISABLED is set: agents run without us", "unset it to watch and steer them")


def _about(name: str, *, overridden: bool) -> Finding:
    """A variable that is set."""
    if name not in known():
        close = get_close_matches(name, known(), 1)
        do = (
            f"did you mean {PREFIX}{close[0]}?"
            if close
            else "remove it; docs/commands.md says where settings are listed"
        )
        return warning(TOPIC, f"{PREFIX}{name} is not a setting and has no effect", do)
    shown = (
        f"{name.lower()} = {_shown(name)} (from {PREFIX}{name}{', which an option overrides' if overridden else ''})"
    )
    try:
        _CHECKED.get(name.lower(), lambda: None)()
    except SettingsError as error:
        return problem(TOPIC, str(error), f"correct {PREFIX}{name}")
    return ok(TOPIC, shown)


_CHECKED: dict[str, Callable[[], Any]] = {
    "step_timeout": lambda: settings.seconds("step_timeout", None, settings.DEFAULT_STEP_TIMEOUT),
    "e_traces_enabled": lambda: settings.flag("e_traces_enabled", None, True),
    "monitors_enabled": lambda: settings.flag("monitors_enabled", None, True),
    "live_streaming_enabled": lambda: settings.flag("live_streaming_enabled", None, True),
    "steer": lambda: settings.flag("steer", None, True),
    "task_profile": lambda: settings.profile(None),
    "cache_control": lambda: settings.cache_control(None),
    "allow_insecure_http": lambda: settings.flag("allow_insecure_http", None, False),
}
"""How an agent reads each of its settings; raises where one cannot work."""


def known() -> set[str]:
    """Every setting that is read from the environment, by an agent, an engine or a server."""
    from ...client import ReasonBlocks
    from ...server.settings import ServerSettings

    client = set(inspect.signature(ReasonBlocks).parameters)
    server = {field.name for field in fields(ServerSettings)}
    return {name.upper() for name in client | server} | {"DISABLED", TRACEBACK.removeprefix(PREFIX)}


def _shown(name: str) -> str:
    value = os.environ[PREFIX + name]
    return "***" if name in SECRETS else mask(value)
