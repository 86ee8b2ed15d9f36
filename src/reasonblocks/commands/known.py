"""Every setting that there is, read off the code that defines it: for `doctor`, and for docs/settings.md."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import limits, settings
from ..client import ReasonBlocks
from ..engine.index.cluster.settings import QdrantOptions
from ..engine.settings import EMBEDDED, EngineSettings
from ..fsm import DifficultyFSM
from ..location import user_data_dir
from ..server.settings import ServerSettings
from ..telemetry.spool.policy import SpoolPolicy, resolve_spool_dir
from .serve import serve

PREFIX = "REASONBLOCKS_"
_READERS: Mapping[str, Callable[[], object]] = {
    **settings.NOT_GIVEN,
    "api_key": lambda: None,
    "base_url": lambda: None,
    "data_dir": user_data_dir,
    "spool_dir": lambda: resolve_spool_dir(None),
}
"""Arguments that have a variable, and what they are where they are not given."""
_SPOOL = {"max_bytes": "SPOOL_MAX_MB", "fsync": "SPOOL_FSYNC"}
"""What a variable can set of the spool; its size is given there in megabytes."""
_ARGUMENT = re.compile(r"    (\w+): (.*(?:\n {8}.*)*)")


@dataclass(frozen=True)
class Setting:
    """One thing that can be set."""

    name: str
    meaning: str
    kind: str = ""
    """What it is, as the code has it."""
    default: str = ""
    variable: str = ""
    option: str = ""
    """Of `reasonblocks serve`."""
    embedded: bool = False
    """Whether an engine in process reads the variable, too."""


def client_settings() -> Iterator[Setting]:
    """The arguments of `ReasonBlocks`; their defaults are what they are in this environment."""
    for setting in _arguments(ReasonBlocks, ReasonBlocks):
        reader = _READERS.get(setting.name)
        default = setting.default if reader is None else shown(reader())
        variable = PREFIX + setting.name.upper() if reader is not None else ""
        yield Setting(setting.name, setting.meaning, setting.kind, default, variable)


def run_settings() -> Iterator[Setting]:
    """The arguments of `ReasonBlocks.middleware`."""
    return _arguments(ReasonBlocks.middleware, ReasonBlocks.middleware)


def state_settings() -> Iterator[Setting]:
    """The keys of `fsm_thresholds`."""
    return _fields(DifficultyFSM)


def spool_settings() -> Iterator[Setting]:
    """The fields of a `SpoolPolicy`."""
    return _fields(SpoolPolicy, lambda name: PREFIX + _SPOOL[name] if name in _SPOOL else "")


def server_settings() -> Iterator[Setting]:
    """What a server is started with; an engine in process takes a part of it from the same variables."""
    options = {parameter.name: parameter.opts[0] for parameter in serve.params}
    places = {"data_dir": shown(user_data_dir()), "embeddings": "minilm"}
    for setting in _fields(ServerSettings, lambda name: PREFIX + name.upper()):
        name = setting.name
        default, option = places.get(name, setting.default), options.get(name, "")
        embedded = name.upper() in EMBEDDED
        yield Setting(name, setting.meaning, setting.kind, default, setting.variable, option, embedded)
    for setting in _fields(EngineSettings, lambda name: PREFIX + name.upper()):
        if setting.name == "previous_embeddings":  # of what an engine has, the only thing that no server passes on
            yield Setting(setting.name, setting.meaning, setting.kind, "", setting.variable, embedded=True)


def qdrant_settings() -> Iterator[Setting]:
    """How a Qdrant cluster is used, by a server and by an engine in process."""
    return _fields(QdrantOptions, lambda name: f"{PREFIX}QDRANT_{name.upper()}")


def other_settings() -> Iterator[Setting]:
    """Variables that belong to no argument."""
    return (Setting("", meaning, variable=name) for name, meaning in settings.VARIABLES.items())


def limit_settings() -> Iterator[Setting]:
    """What cannot be set: the limits of the wire."""
    docs = attribute_docs(limits)
    return (Setting(name, meaning, default=shown(getattr(limits, name))) for name, meaning in docs.items())


def variables() -> set[str]:
    """Every variable that is read, by an agent, an engine, a server or a command."""
    found = (spool_settings, server_settings, qdrant_settings, other_settings)
    ours = {setting.variable for source in found for setting in source() if setting.variable}
    return ours | {PREFIX + name.upper() for name in _READERS}


def _arguments(documented: Any, function: Callable[..., Any]) -> Iterator[Setting]:
    """The arguments of a function, with what its docstring says about each."""
    _, _, listed = (inspect.getdoc(documented) or "").partition("Args:\n")
    meanings = {name: " ".join(text.split()) for name, text in _ARGUMENT.findall(listed)}
    for name, parameter in inspect.signature(function).parameters.items():
        if name != "self":
            kind = inspect.formatannotation(parameter.annotation)
            yield Setting(name, meanings.get(name, ""), _plain(kind), shown(parameter.default))


def _fields(kind: type[Any], variable: Callable[[str], str] = lambda name: "") -> Iterator[Setting]:
    """The fields of a dataclass, with the docstring below each."""
    docs = attribute_docs(kind)
    for field in fields(kind):
        text = field.type if isinstance(field.type, str) else inspect.formatannotation(field.type)
        yield Setting(field.name, docs.get(field.name, ""), _plain(text), _default(field), variable(field.name))


def _default(field: Field[Any]) -> str:
    return shown(field.default) if field.default is not MISSING else ""


def attribute_docs(thing: type[Any] | ModuleType) -> dict[str, str]:
    """The first paragraph of the text below each assignment; where there is none, nothing."""
    parsed = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    body = parsed if isinstance(thing, ModuleType) else parsed[0].body  # type: ignore[attr-defined]
    docs: dict[str, str] = {}
    for assigned, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(assigned, ast.AnnAssign | ast.Assign):
            target = assigned.target if isinstance(assigned, ast.AnnAssign) else assigned.targets[0]
            docs[ast.unparse(target)] = _text(below)
    return docs


def _text(statement: ast.stmt | None) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return " ".join(str(statement.value.value).split())
    return ""


def _plain(kind: str) -> str:
    """A type without the places it comes from; that most things may be left out goes without saying."""
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", kind).replace("'", "").removesuffix(" | None")


def shown(value: object) -> str:
    """A default as somebody would write it; nothing where there is none."""
    if value is None or value is inspect.Parameter.empty or value in ((), ""):
        return ""
    return str(value).replace(str(Path.home()), "~", 1) if isinstance(value, Path) else str(value)
