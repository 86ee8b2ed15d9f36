"""Which settings are in force, and where each of them comes from."""

import os
from collections.abc import Iterator
from difflib import get_close_matches

from ... import settings
from ...errors import SettingsError
from ...secret import mask
from ..known import PREFIX, variables
from ..sources.choosing import Place
from .finding import Finding, ok, problem, warning
from .packages import without_userinfo

TOPIC = "settings"
SECRETS = ("API_KEY", "KEYS", "QDRANT_API_KEY")


def in_force(place: Place) -> Iterator[Finding]:
    """The settings in this environment."""
    given = {"DATA_DIR": place.data_dir, "BASE_URL": place.base_url}
    for name, value in given.items():
        if value is not None:
            yield ok(TOPIC, f"{name.lower()} = {value} (option --{name.lower().replace('_', '-')})")
    set_here = {name.removeprefix(PREFIX) for name, value in os.environ.items() if name.startswith(PREFIX) and value}
    for name in sorted(set_here):
        yield _about(name, overridden=given.get(name) is not None)
    defaults = [name for name in settings.NOT_GIVEN if name.upper() not in set_here]
    if defaults:
        yield ok(TOPIC, f"{', '.join(defaults)}: as they are by default")
    if settings.disabled():
        yield warning(TOPIC, "REASONBLOCKS_DISABLED is set: agents run without us", "unset it to watch and steer them")


def _about(name: str, *, overridden: bool) -> Finding:
    """A variable that is set."""
    if PREFIX + name not in variables():
        close = get_close_matches(PREFIX + name, variables(), 1)
        do = f"did you mean {close[0]}?" if close else "remove it; docs/settings.md lists all there are"
        return warning(TOPIC, f"{PREFIX}{name} is not a setting and has no effect", do)
    shown = (
        f"{name.lower()} = {_shown(name)} (from {PREFIX}{name}{', which an option overrides' if overridden else ''})"
    )
    try:
        settings.NOT_GIVEN.get(name.lower(), lambda: None)()
    except SettingsError as error:
        return problem(TOPIC, str(error), f"correct {PREFIX}{name}")
    return ok(TOPIC, shown)


def _shown(name: str) -> str:
    value = os.environ[PREFIX + name]
    return "***" if name in SECRETS else without_userinfo(mask(value))
