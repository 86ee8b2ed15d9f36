"""Writes docs/settings.md from the settings that the code defines.

python tools/settings_page.py
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from reasonblocks.commands import known
from reasonblocks.commands.known import Setting
from reasonblocks.commands.root import reasonblocks
from reasonblocks.location import user_data_dir

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
SHARED = 4
"""What so many commands have is listed once for all of them."""
OTHERS = ("REASONBLOCKS_", "XDG_DATA_HOME")
"""Variables that would put somebody's own values on the page."""

HEAD = """\
# Every setting

*Written by `make pages` from the code: what a setting means is said where it is defined.*

An argument or an option counts before its variable, and that before the default. A value that cannot work is an error
that names it, what was expected and what to do. `reasonblocks doctor` shows which settings are in force, and where each
of them comes from.
"""
CLIENT = """
## `ReasonBlocks(...)`

{table}

In the metadata of a run's config, `"reasonblocks": "off"` leaves that run alone and `"reasonblocks_run_id"` names it.

## `rb.middleware(...)`

{run}

## The limits between the states: `fsm_thresholds`

Any of these keys; [concepts.md](concepts.md#difficulty-and-the-state-of-a-run) says what the states are for.

{states}

## The spool

`spool=SpoolPolicy(...)`, of `reasonblocks.telemetry.spool.policy`. The variable for its size is in megabytes.

{spool}

## Variables without an argument

{others}

The standard variables of OpenTelemetry count as well: [telemetry.md](telemetry.md#where-they-go).
"""
SERVER = """
## `reasonblocks serve`, and the engine

Variables with a star count for an engine in process, too (`ReasonBlocks()` without a key).

{server}

## A Qdrant cluster

For a server, and for an engine in process, where `REASONBLOCKS_QDRANT_URL` is set.

{qdrant}
"""
COMMANDS = """
## Options of the commands

All commands have `--help`. Those of `serve` are above; [commands.md](commands.md) says what the commands are for.

{commands}
"""
LIMITS = """
## Limits of the wire

What is longer is cut by our client and refused by a server. Only the last of them can be set, for a server.

{limits}
"""


def page() -> str:
    """The whole page."""
    client = CLIENT.format(
        table=table(("argument", "variable", "type", "default", ""), map(_client, known.client_settings())),
        run=table(("argument", "type", "default", ""), map(_plain, known.run_settings())),
        states=table(("key", "default", ""), map(_value, known.state_settings())),
        spool=table(("field", "variable", "default", ""), map(_spool, known.spool_settings())),
        others=table(("variable", ""), ((_code(s.variable), s.meaning) for s in known.other_settings())),
    )
    server = SERVER.format(
        server=table(("variable", "option", "default", ""), map(_server, known.server_settings())),
        qdrant=table(("variable", "default", ""), map(_variable, known.qdrant_settings())),
    )
    commands = COMMANDS.format(commands=table(("command", "option", ""), _options()))
    limits = LIMITS.format(limits=table(("", "", ""), map(_value, known.limit_settings())))
    return HEAD + client + server + commands + limits


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Rows as Markdown has them."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _client(setting: Setting) -> Iterable[str]:
    return _code(setting.name), _code(setting.variable), _code(setting.kind), _code(setting.default), setting.meaning


def _plain(setting: Setting) -> Iterable[str]:
    return _code(setting.name), _code(setting.kind), _code(setting.default), setting.meaning


def _value(setting: Setting) -> Iterable[str]:
    return _code(setting.name), _code(setting.default), setting.meaning


def _spool(setting: Setting) -> Iterable[str]:
    return _code(setting.name), _code(setting.variable), _code(setting.default), setting.meaning


def _server(setting: Setting) -> Iterable[str]:
    star = "*" if setting.embedded else ""
    return _code(setting.variable) + star, _code(setting.option), _code(setting.default), setting.meaning


def _variable(setting: Setting) -> Iterable[str]:
    return _code(setting.variable), _code(setting.default), setting.meaning


def _options() -> Iterator[Iterable[str]]:
    """What several commands have, then for each of them what is its own; `serve` has a table of its own."""
    commands = [(name, command) for name, command in _commands(reasonblocks, "") if name != "serve"]
    counted = Counter(
        _option(parameter) for _, command in commands for parameter in command.params if parameter.opts[0][0] == "-"
    )
    shared = [option for option, times in counted.items() if times >= SHARED]
    yield from (("several" if place == 0 else "", *option) for place, option in enumerate(shared))
    for name, command in commands:
        own = [option for option in map(_option, command.params) if option not in shared]
        yield from ((_code(name if place == 0 else ""), *option) for place, option in enumerate(own))


def _commands(group: click.Group, above: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{above}{name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{above}{name} ")


def _option(parameter: click.Parameter) -> tuple[str, str]:
    if isinstance(parameter, click.Argument):
        return _code(parameter.human_readable_name), "needed" if parameter.required else "may be left out"
    assert isinstance(parameter, click.Option)
    value = "" if parameter.is_flag else f" {parameter.make_metavar(click.Context(click.Command(None)))}"
    default = parameter.default if parameter.show_default and parameter.default is not None else ""
    said = f"  [default: {default}]" if default != "" else ""
    # The path in this help was found out when the command was loaded, perhaps in another environment.
    own = re.sub(r"(DATA_DIR, else ).*(?=\.)", rf"\g<1>{known.shown(user_data_dir())}", parameter.help or "")
    return _code(", ".join(parameter.opts) + value), own + said


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def main() -> None:
    """Write the page."""
    for name in [name for name in os.environ if name.startswith(OTHERS)]:
        del os.environ[name]
    PAGE.write_text(page())
    print(f"{PAGE.name} is written", file=sys.stderr)


if __name__ == "__main__":
    main()
