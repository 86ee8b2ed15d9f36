"""Which source a command works on: what its options say, else what the environment says, as for an agent."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...engine.location import resolve_data_dir
from ...errors import SettingsError
from .. import options

if TYPE_CHECKING:
    from .local import LocalSource
    from .remote import RemoteSource

Command = TypeVar("Command", bound=Callable[..., Any])
KEY_VARIABLE = "REASONBLOCKS_API_KEY"
NAMES = ("data_dir", "base_url", "api_key_env", "org", "project")
"""The options that make up a `Place`."""


@dataclass(frozen=True)
class Place:
    """What the options of a command say about where to look."""

    data_dir: str | None = None
    base_url: str | None = None
    api_key_env: str = KEY_VARIABLE
    org: str | None = None
    project: str | None = None

    def within(self, outer: "Place") -> "Place":
        """These options, and where they say nothing those that were given to the group before the command."""
        plain = Place()
        return Place(
            **{
                name: getattr(outer, name) if getattr(self, name) == getattr(plain, name) else getattr(self, name)
                for name in NAMES
            }
        )

    def open(self) -> "LocalSource | RemoteSource":
        """The data directory or the server that is meant; a context manager."""
        if self.data_dir is not None and self.base_url is not None:
            raise click.UsageError("--data-dir and --base-url are given; a command works on one of them")
        connection = None if self.data_dir is not None else self.connection()
        if connection is not None:
            from .remote import RemoteSource

            return RemoteSource(connection, self.api_key_env, self.org, self.project)
        directory = resolve_data_dir(self.data_dir)
        if directory is None:
            raise SettingsError(":memory: keeps nothing to look at; name a directory")
        options.require_engine()
        from .local import LocalSource

        return LocalSource(directory, self.org, self.project)

    def connection(self) -> Any:
        """The server and the key that options and environment name; `None` where they name none."""
        from ...settings import resolve_connection

        key = os.environ.get(self.api_key_env, "").strip() or None
        if self.base_url is not None and key is None:
            raise SettingsError(
                f"--base-url is {self.base_url!r}, but there is no API key in {self.api_key_env}: set it"
            )
        if key is None and not os.environ.get("REASONBLOCKS_BASE_URL", "").strip():
            return None
        return resolve_connection(key, self.base_url)


def place(command: Command) -> Command:
    """The options that say where to look, handed to the command as one `Place` named `place`."""

    def gathered(*arguments: Any, **given: Any) -> Any:
        return command(*arguments, place=Place(**{name: given.pop(name) for name in NAMES}), **given)

    gathered.__name__, gathered.__doc__ = command.__name__, command.__doc__
    gathered.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    wrapped: Any = gathered
    for option, settings in (
        ("--project", {"metavar": "NAME", "help": "Only this project."}),
        ("--org", {"metavar": "NAME", "help": "Only this organisation."}),
        (
            "--api-key-env",
            {
                "metavar": "VARIABLE",
                "default": KEY_VARIABLE,
                "show_default": True,
                "help": "Where the server's key is.",
            },
        ),
        ("--base-url", {"metavar": "URL", "help": "A server; else REASONBLOCKS_BASE_URL, if that is set."}),
    ):
        wrapped = click.option(option, **settings)(wrapped)
    chosen: Command = options.data_dir(wrapped)
    return chosen
