"""A short lane for what agents wait for: the same handlers, called without the router and all that is around it.

Routing, the parsing of parameters and the making of a response cost Litestar more than the whole of an ordinary lookup.
Everything here is taken from the handlers that are registered with it, so that nothing can be said twice and differ:
the function, the decoder of its body, the status. A request that is unusual in any way is routed as all others are.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from litestar.handlers import HTTPRouteHandler
from litestar.routes import BaseRoute, HTTPRoute
from litestar.types import Receive

from ..engine.principal import Principal
from .answer import Sending, encoded, refusing
from .bodies import Decoded, StrictBody
from .paths import VERSION
from .problems import explained
from .request import Visit, whole_body

if TYPE_CHECKING:
    from ..engine.engine import Engine

LANE = frozenset(VERSION + path for path in ("/monitors/evaluate", "/traces/retrieve", "/monitor/events"))
"""The paths whose POST may be answered here."""
MOST_PLAIN_HEADERS = 100
MOST_DIGITS = 15
"""Of a length."""
_UNUSUAL = frozenset((b"expect", b"transfer-encoding", b"content-encoding", b"upgrade"))
_PLAIN_HOST = re.compile(rb"[0-9A-Za-z.:\-\[\]]*")
"""Hosts that Litestar has nothing against; it looks at all others itself."""

Function = Callable[..., Awaitable[Any]]


class Caller:
    """As much of a request as the handlers in the lane look at."""

    __slots__ = ("engine", "principal")

    def __init__(self, engine: "Engine", principal: Principal | None) -> None:
        self.engine = engine
        self.principal = principal


class Operation:
    """What one handler does with a body."""

    __slots__ = ("_decoded", "_function", "_max_body", "_status", "path")

    def __init__(self, handler: HTTPRouteHandler, path: str, max_body: int) -> None:
        body = handler.resolve_data_dto()
        assert body is not None
        assert issubclass(body, StrictBody)  # the application's own, for every handler
        self._function: Function = handler.fn
        self._decoded: Decoded = body.decoder(handler)
        self._status = handler.status_code
        self._max_body = max_body
        self.path = path

    async def answer(self, engine: "Engine", visit: Visit, receive: Receive) -> Sending:
        """What the handler says, or why it does not."""
        try:
            data = self._decoded(await whole_body(receive, visit, self._max_body))
            return Sending(self._status, [], encoded(await self._function(data, Caller(engine, visit.principal))))
        except Exception as error:
            return refusing(explained(error, visit.request_id))


class Lane:
    """The operations that have one, by the paths they are asked for under."""

    def __init__(self, routes: Iterable[BaseRoute], max_body: int, paths: Collection[str] = LANE) -> None:
        self._max_body = max_body
        self._operations: dict[bytes, Operation] = {}
        for route in routes:
            if isinstance(route, HTTPRoute) and route.path in paths:
                operation = Operation(route.route_handler_map["POST"][0], route.path, max_body)
                for path in (route.path, route.path.removeprefix(VERSION)):
                    self._operations[path.encode()] = operation

    def operation(self, scope: Any, headers: Mapping[bytes, bytes], visit: Visit) -> Operation | None:
        """What a request asks for; `None` if it is not here, or the request not a plain one."""
        operation = self._operations.get(scope.get("raw_path"))
        if operation is None or scope["method"] != "POST" or scope["query_string"] or scope["root_path"]:
            return None
        length = headers.get(b"content-length", b"")
        if (
            len(headers) != len(scope["headers"])  # of one that is there twice the wrong one may be looked at
            or len(headers) > MOST_PLAIN_HEADERS
            or not headers.keys().isdisjoint(_UNUSUAL)
            or not length.isdigit()
            or len(length) > MOST_DIGITS
            or not 0 < int(length) <= self._max_body
            or _PLAIN_HOST.fullmatch(headers.get(b"host", b"")) is None
        ):
            return None
        scope["path_template"] = operation.path
        visit.length = int(length)
        return operation
