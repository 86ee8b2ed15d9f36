"""The ASGI application: the routes, the layer in front of them, and the engine behind them."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from litestar import Litestar, Request, Router
from litestar.datastructures import State

from ..engine.engine import Engine
from . import routes
from .answer import JsonAnswer
from .bodies import StrictBody
from .front import Front
from .lane import LANE, Lane
from .paths import VERSION
from .problems import explained
from .request import VISIT, ApiRequest
from .routes import docs
from .settings import ServerSettings


def create_app(settings: ServerSettings, engine: Engine | None = None, *, short_lane: bool = True) -> Litestar:
    """The application around an engine; without one it opens its own at startup and closes it at shutdown.

    Without the short lane every request is routed by Litestar, which makes no difference but in time.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        front.engine = app.state.engine = engine if engine is not None else await Engine.open(settings.engine())
        try:
            yield
        finally:
            if engine is None:
                await app.state.engine.aclose()

    app = Litestar(
        [routes.versioned(), Router(VERSION, route_handlers=docs.HANDLERS)],
        dto=StrictBody,
        return_dto=None,
        request_class=ApiRequest,
        response_class=JsonAnswer,
        exception_handlers={Exception: explain},
        lifespan=[lifespan],
        logging_config=None,
        openapi_config=None,
        state=State({"settings": settings}),
    )
    lane = Lane(app.routes, settings.max_body, LANE if short_lane else ())
    app.asgi_handler = front = Front(app.asgi_handler, settings, lane)
    return app


def explain(request: Request[Any, Any, Any], error: Exception) -> JsonAnswer[Any]:
    """The answer to a request that failed behind the front."""
    answer = explained(error, request.scope[VISIT].request_id)  # type: ignore[literal-required]
    return JsonAnswer(answer.body, status_code=answer.status, headers=answer.headers)
