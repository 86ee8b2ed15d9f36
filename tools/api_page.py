"""Writes docs/api.md from the OpenAPI document of the server, with an example for each route that the tests run.

python tools/api_page.py
"""

import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reasonblocks.commands.known import attribute_docs
from reasonblocks.engine import answers, requests
from reasonblocks.limits import MAX_EVENTS, MAX_TEXT
from reasonblocks.server import problems
from reasonblocks.server.document import TAGS, document
from reasonblocks.server.routes import described, health
from reasonblocks.server.routes.described import ALWAYS, OPEN
from reasonblocks.server.settings import ServerSettings

SETTINGS = ServerSettings()
PAGE = Path(__file__).parents[1] / "docs" / "api.md"
JSON = "application/json"
VALUES = {
    "run_id": "fix-parser-1",
    "profile_id": "$PROFILE",
    "tier": "e1",
    "pattern_id": "$PATTERN",
    "codebase_id": "parser",
    "finding_id": "$FINDING",
}
"""What stands in the paths of the examples."""

HEAD = """\
# The REST API of rb-api

*Written by `make pages` from the OpenAPI document, which a server has at `/v1/openapi.json`; `/docs` there is a page to
try it. The tests run every example.*

```sh
export RB=http://127.0.0.1:8484
export AUTH="Authorization: Bearer rb_live_..."
export JSON="Content-Type: application/json"
```

In the examples `$PROFILE`, `$PATTERN` and `$FINDING` are ids that an earlier answer gave.

## What holds everywhere

**Paths.** Every route exists with and without `/v1`. A run's id may hold slashes; send them as `%2F`.

**Keys.** `Authorization: Bearer <key>`, but for `/health`, `/ready`, `/docs` and `/openapi.json`. A key belongs to an
organisation, perhaps to one project of it; that overrides what a request says. An admin's key (`REASONBLOCKS_KEYS`)
belongs to none: it may name any in `org_id`, which every route takes in its query and most in their body, and alone
may change what all share (E2 and E3 patterns). [operations.md](operations.md#keys) has the rest.

**Bodies** are JSON in UTF-8, uncompressed, of at most {max_body:,} bytes (`REASONBLOCKS_MAX_BODY`). Optional fields may
be null or left out, unknown ones are ignored. Texts have at most {max_text:,} characters unless it says otherwise.

**Answers** are JSON. Times are ISO 8601 in UTC. New fields may come; none goes or changes its meaning. Each answer has
an `x-request-id`: your own, if you sent one; the server's log has it, too.

**Limits.** Each key may make {rate:,.0f} requests a second for ever and {burst:,} at once, counted for each worker; a
batch of events is one request. Whoever shows no valid key has {anonymous_rate:,.0f} a second, by address. Beyond: 429.

**Nothing is acknowledged before it is committed,** and everything that agents send may be sent again: a run, a step and
an event that came before change nothing.

## Errors

Always `{{"detail": ...}}`: a sentence, or with 422 a list of what is wrong where. What belongs to another organisation
is answered like what does not exist.

{errors}

Of these {always} may come from any route with a key, and {body} from any with a body; they are not
repeated below.

## Capabilities

`GET /v1/health` lists under `capabilities` what a server can do beyond the first version of the protocol. A client that
does not know one never uses it, and one that misses one does without.

| capability | |
|---|---|
| `events` | `POST /v1/monitor/events`: up to {max_events} events at once, in order, in one transaction |
| `incremental` | `POST /v1/monitors/evaluate` with `run_id` and `offset`: only the new steps are sent |
| `interrupts` | the event `run_interrupt`: the run waits for a person, and is not silent; any later event ends that |
| `losses` | the event `loss`: so many steps of the run were lost on the way in all; the run shows it as `lost_steps` |
| `near_misses` | `POST /v1/traces/retrieve` with `near_misses`: what came close, and why it was rejected |
| `patterns` | `POST /v1/library/patterns` |
| `task` | `POST /v1/monitors/evaluate` with `task` |
"""


def page() -> str:
    """The whole page."""
    return Page(json.loads(document())).text()


class Page:
    """The document, route by route; a struct that is part of another is described once, at the end."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._paths = document["paths"]
        self._schemas = document["components"]["schemas"]
        self._named: dict[str, None] = {}
        self._docs = {
            name: _documented(value)
            for module in (requests, answers, problems, described, health)
            for name, value in vars(module).items()
            if inspect.isclass(value) and name in self._schemas
        }

    def text(self) -> str:
        """The page."""
        always, body = (", ".join(f"{status}" for status in group) for group in (ALWAYS, (408, 413, 422)))
        errors = _table(("status", "", "shape"), self._errors())
        allowed = {name: getattr(SETTINGS, name) for name in ("max_body", "rate", "burst", "anonymous_rate")}
        head = HEAD.format(errors=errors, always=always, body=body, max_text=MAX_TEXT, max_events=MAX_EVENTS, **allowed)
        return "\n".join([head, *self._tags(), *self._shapes()])

    def _operations(self) -> Iterator[tuple[str, str, Any]]:
        for path, methods in self._paths.items():
            for method, operation in methods.items():
                yield method.upper(), path, operation

    def _errors(self) -> Iterator[tuple[str, ...]]:
        found = {
            status: (response["description"], _name(response["content"][JSON]["schema"]))
            for _, path, operation in self._operations()
            for status, response in operation["responses"].items()
            if status >= "400" and path != "/v1/ready"
        }
        for status, (description, shape) in sorted(found.items()):
            yield status, description, self._link(shape)

    def _tags(self) -> Iterator[str]:
        for tag, about in TAGS.items():
            yield f"## {tag.capitalize()}\n\n{about}\n"
            for method, path, operation in self._operations():
                if operation["tags"] == [tag]:
                    yield from self._route(method, path, operation)

    def _route(self, method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
        key = " No key is needed." if operation.get("security") == [{}] else ""
        yield f"### `{method} {path}`\n"
        yield f"**{operation['summary'].rstrip('.?')}.** {_line(operation['description'])}{key}\n"
        own_parameters = [one for one in operation["parameters"] if one["name"] != "org_id"]
        if own_parameters:
            yield _table(("parameter", "", ""), map(self._parameter, own_parameters)) + "\n"
        schema = _body(operation)
        if schema is not None:
            yield from self._structure("The body", schema)
        for status, response in operation["responses"].items():
            if status < "400":
                yield from self._answer(status, response)
        own = self._refusals(operation, has_body=schema is not None)
        if own:
            yield f"Refused with {', '.join(own)}.\n"
        yield f"```sh\n{_example(method, path, operation)}\n```\n"

    def _answer(self, status: str, response: Mapping[str, Any]) -> Iterator[str]:
        content = response["content"]
        if JSON not in content:
            yield f"The answer ({status}) is `{next(iter(content))}`: {response['description']}\n"
            return
        yield from self._structure(f"The answer ({status})", content[JSON]["schema"])

    def _structure(self, title: str, schema: Mapping[str, Any]) -> Iterator[str]:
        """What a body or an answer is made of; what answers share is at the end of the page."""
        name = _name(schema)
        if schema.get("type") == "array":
            yield f"{title} is a list of {self._link(_name(schema['items']))}.\n"
        elif name.endswith(("Request", "Create", "Change", "Upload", "Search", "Invalidate")) or name in BODIES:
            yield _table((title, "", ""), self._fields(name)) + "\n"
        elif name:
            yield f"{title} is {self._link(name)}.\n"
        else:
            yield f'{title} is `{{"events": [...]}}`: each with its `type` and the `run_id`.\n'

    def _refusals(self, operation: Mapping[str, Any], *, has_body: bool) -> list[str]:
        common = {str(status) for status in (*ALWAYS, *OPEN, *((408, 413, 422) if has_body else ()))}
        return [
            f"{status} ({response['description'].rstrip('.')})"
            for status, response in operation["responses"].items()
            if status >= "400" and (status not in common or (status == "503" and operation["operationId"] == "ready"))
        ]

    def _parameter(self, parameter: Mapping[str, Any]) -> tuple[str, ...]:
        where = f"in the {parameter['in']}"
        return f"`{parameter['name']}`", f"{where}, {self._kind(parameter['schema'])}", parameter.get("description", "")

    def _shapes(self) -> Iterator[str]:
        """The structs that answers are made of, and those inside them."""
        yield "## Shapes\n"
        done: set[str] = set()
        while left := [name for name in self._named if name not in done]:
            for name in left:
                done.add(name)
                about = _line(self._schemas[name].get("description", ""))
                yield f"### {name}\n\n{about}\n\n{_table(('field', '', ''), self._fields(name))}\n"

    def _fields(self, name: str) -> Iterator[tuple[str, ...]]:
        schema = self._schemas[name]
        needed = schema.get("required", ()) if name in vars(requests) else ()
        for field, about in schema["properties"].items():
            mark = " (needed)" if field in needed else ""
            yield f"`{field}`{mark}", self._kind(about), self._docs.get(name, {}).get(field, "")

    def _link(self, name: str) -> str:
        if not name:
            return ""
        self._named[name] = None
        return f"[{name}](#{name.lower()})"

    def _kind(self, schema: Mapping[str, Any]) -> str:
        """A type in a few words."""
        if "anyOf" in schema:
            kinds = [self._kind(one) for one in schema["anyOf"] if one.get("type") != "null"]
            null = " or null" if len(kinds) < len(schema["anyOf"]) and schema.get("default", 0) is not None else ""
            return " or ".join(kinds) + null
        if "$ref" in schema:
            return self._link(_name(schema))
        if "enum" in schema:
            return ", ".join(f"`{value}`" for value in schema["enum"])
        if schema.get("type") == "array":
            most = f", at most {schema['maxItems']:,}" if "maxItems" in schema else ""
            return f"list of {self._kind(schema['items'])}{most}"
        if isinstance(schema.get("additionalProperties"), Mapping) and schema["additionalProperties"]:
            return f"object of {self._kind(schema['additionalProperties'])}"
        return _scalar(schema)


BODIES = frozenset(("RunStart", "Step", "RunFinish"))
"""Bodies whose names do not tell that they are."""


def _scalar(schema: Mapping[str, Any]) -> str:
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    word = words.get(str(schema.get("type")), str(schema.get("type", "anything")))
    if word == "text":
        most = schema.get("maxLength", MAX_TEXT)
        return f"{word}, up to {most:,}" if most != MAX_TEXT else word
    least, most = schema.get("minimum"), schema.get("maximum", 2**31)
    if least is None:
        return word
    return f"{word}, {least:,.0f} to {most:,.0f}" if most < 2**31 else f"{word}, from {least:,.0f}"


def _documented(kind: type[Any]) -> dict[str, str]:
    """What the code says about the fields of a struct and of those it is made from."""
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("reasonblocks."):
            docs |= {name: text for name, text in attribute_docs(base).items() if text}
    return docs


def _body(operation: Mapping[str, Any]) -> Mapping[str, Any] | None:
    body = operation.get("requestBody")
    return body["content"][JSON]["schema"] if body else None


def _example(method: str, path: str, operation: Mapping[str, Any]) -> str:
    """A command that does it."""
    place = path.format_map(VALUES)
    limited = "-N -m 1 " if path.endswith("/stream") else ""
    verb = "" if method == "GET" else f"-X {method} "
    key = "" if operation.get("security") == [{}] else ' -H "$AUTH"'
    command = f'curl {limited}{verb}"$RB{place}"{key}'
    if "requestBody" not in operation:
        return command
    body = _folded(operation["requestBody"]["content"][JSON]["example"])
    assert "'" not in body, f"the example of {path} has a quote in it that a shell would take"
    return f"{command} -H \"$JSON\" -d '{body}'"


def _folded(body: Mapping[str, Any]) -> str:
    """JSON with a line for each field, and for each part of one that is a list."""
    lines = []
    for name, value in body.items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            lines.append(f'"{name}": [\n    ' + ",\n    ".join(map(json.dumps, value)) + "\n  ]")
        else:
            lines.append(f'"{name}": {json.dumps(value)}')
    return "{\n  " + ",\n  ".join(lines) + "\n}"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _line(text: str) -> str:
    return " ".join(text.split())


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())
    print(f"{PAGE.name} is written", file=sys.stderr)


if __name__ == "__main__":
    main()
