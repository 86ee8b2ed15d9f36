"""A request as the routes see it: who asks, of which engine, with what."""

from typing import TYPE_CHECKING, Any

from litestar import Request
from litestar.datastructures import State
from litestar.exceptions import NotFoundException
from litestar.types import Receive

from ..engine.principal import Principal
from . import bodies
from .exchange import Exchange
from .paths import decoded
from .problems import Refusal

if TYPE_CHECKING:
    from ..engine.engine import Engine
    from .settings import ServerSettings

VISIT = "reasonblocks"
"""Where in a connection's scope the visit is kept."""


class Visit:
    """What the front found out about a request before it was routed."""

    __slots__ = ("exchange", "length", "principal", "request_id", "waits")

    def __init__(self, request_id: str, exchange: Exchange | None) -> None:
        self.request_id = request_id
        self.exchange = exchange
        self.length: int | None = None
        """Bytes that the body is said to have."""
        self.waits = False
        """Whether the client asked for leave before it sends the body."""
        self.principal: Principal | None = None


class ApiRequest(Request[Any, Any, State]):
    """A request to rb-api."""

    @property
    def visit(self) -> Visit:
        """What the front found out."""
        visit: Visit = self.scope[VISIT]  # type: ignore[literal-required]  # ours, beside ASGI's own
        return visit

    @property
    def principal(self) -> Principal:
        """Who asks; only where a key is needed."""
        principal = self.visit.principal
        assert principal is not None
        return principal

    @property
    def engine(self) -> "Engine":
        """The engine that answers."""
        engine: Engine = self.app.state.engine
        return engine

    @property
    def settings(self) -> "ServerSettings":
        """What the server was started with."""
        settings: ServerSettings = self.app.state.settings
        return settings

    @property
    def path_params(self) -> dict[str, Any]:
        """The ids in the path, decoded after the route was found."""
        try:
            return {name: decoded(value) for name, value in self.scope["path_params"].items()}
        except UnicodeDecodeError:
            raise NotFoundException from None

    async def body(self) -> bytes:
        """The whole body, under the server's cap."""
        if not isinstance(self._body, bytes):
            self._body = await whole_body(self.receive, self.visit, self.settings.max_body)
        return self._body


async def whole_body(receive: Receive, visit: Visit, cap: int) -> bytes:
    """The body of a request that has to have one."""
    arrived = visit.exchange.body() if visit.exchange is not None else None
    body = await bodies.read(receive, visit.length, cap, waits=visit.waits, arrived=arrived)
    if not body:
        raise Refusal(400, "the body is empty; expected JSON")
    return body
