"""The OpenAPI document: routes as Litestar describes them, structs as msgspec checks them."""

from functools import cache
from typing import Any

import msgspec
from litestar import Litestar
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme, Tag

from .._version import __version__
from ..engine import answers, requests
from . import problems
from .bodies import StrictBody
from .examples import ANSWERS, BODIES
from .request import ApiRequest
from .routes import described, health, versioned

TITLE = "rb-api"
DESCRIPTION = (
    "Steers agents while they run: monitors evaluate what they do, patterns that fit are retrieved, runs are recorded. "
    'Every route also exists without /v1. Errors are always `{"detail": ...}`; 404 never tells unknown from not yours.'
)
TAGS = {
    "lookups": "What an agent asks before it calls its model.",
    "runs": "What agents do, one event at a time or many at once.",
    "monitor": "The caller and the monitors.",
    "profiles": "How much each monitor counts.",
    "library": "The patterns that are retrieved.",
    "findings": "What agents found out about a codebase.",
    "traces": "Material for new patterns.",
    "health": "Alive, and ready.",
}
_SUCCESS = {"200": "The answer.", "201": "It is made."}
_HEADERS = {
    "401": {"www-authenticate": "How to show a key."},
    "429": {"retry-after": "Seconds to wait."},
    "503": {"retry-after": "Seconds to wait."},
}


@cache
def document() -> bytes:
    """The document as JSON."""
    return msgspec.json.encode(build())


def build() -> dict[str, Any]:
    """The document as plain data."""
    config = OpenAPIConfig(
        title=TITLE,
        version=__version__,
        description=DESCRIPTION,
        security=[{"key": []}],
        components=Components(security_schemes={"key": SecurityScheme(type="http", scheme="bearer")}),
        tags=[Tag(name=name, description=text) for name, text in TAGS.items()],
        use_handler_docstrings=True,
        render_plugins=[JsonRenderPlugin()],
    )
    app = Litestar(
        [versioned()],
        dto=StrictBody,
        return_dto=None,
        request_class=ApiRequest,
        logging_config=None,
        openapi_config=config,
    )
    drawn: dict[str, Any] = app.openapi_schema.to_schema()
    drawn["components"]["schemas"] = _schemas(drawn["components"]["schemas"])
    for path in drawn["paths"].values():
        for operation in path.values():
            _complete(operation)
    return drawn


def _schemas(wanted: dict[str, Any]) -> dict[str, Any]:
    """The structs that routes name, and those inside them, in msgspec's own words: it is what decodes them."""
    structs = {
        name: value
        for module in (requests, answers, problems, described, health)
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, msgspec.Struct)
    }
    _, components = msgspec.json.schema_components(
        [structs[name] for name in wanted], ref_template="#/components/schemas/{name}"
    )
    return dict(sorted(components.items()))


def _complete(operation: dict[str, Any]) -> None:
    """Add what neither of the two knows: headers of refusals, and examples."""
    for status, response in operation["responses"].items():
        response["description"] = _SUCCESS.get(status, response["description"])
        response["headers"] = {
            name: {"schema": {"type": "string"}, "description": text} for name, text in _HEADERS.get(status, {}).items()
        }
    operation["parameters"] = [_parameter(parameter) for parameter in operation.get("parameters", [])]
    name = operation["operationId"]
    if "requestBody" in operation:
        operation["requestBody"]["content"]["application/json"]["example"] = BODIES[name]
    for status, example in ANSWERS.get(name, {}).items():
        operation["responses"][status]["content"]["application/json"]["example"] = example


def _parameter(drawn: dict[str, Any]) -> dict[str, Any]:
    """A parameter without what says nothing; the empty text stands for one that is left out, and is not shown."""
    kept = {name: drawn[name] for name in ("name", "in", "description", "required") if name in drawn}
    schema = {name: value for name, value in drawn["schema"].items() if name != "description" and value != ""}
    if "enum" in schema:
        schema["enum"] = [value for value in schema["enum"] if value]
    return kept | {"schema": schema}
