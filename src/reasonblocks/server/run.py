"""The server as a process: listens, logs, hands out the first key, and stops without losing what it acknowledged."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

import uvicorn
from litestar import Litestar

from ..engine.engine import Engine
from ..engine.keys import Keys
from ..engine.principal import DEFAULT_ORG
from ..errors import SettingsError
from .app import create_app
from .logs import Scribe, note
from .settings import SHORT_KEY, ServerSettings

KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep an idle connection, so that it is they who close it, never in the middle of a request."""
BACKLOG = 2_048
FILES_FOR_THE_ENGINE = 128
COLLECTED_AFTER = (10_000, 10, 10)
"""Objects, and rounds of younger ones, after which the garbage collector looks for cycles; Python's own is 700."""
_UNUSED = ("logThreads", "logMultiprocessing", "logProcesses", "logAsyncioTasks")
"""What every record would look up, at a price, and no line of ours shows."""


def serve(settings: ServerSettings) -> None:
    """Run a server until it is asked to stop by SIGTERM or SIGINT."""
    if settings.workers > 1:
        from .crew import supervise

        supervise(settings)
        return
    with (
        logging_to(sys.stderr, settings.log_level),
        listening(settings.host, settings.port) as listener,
        asyncio.Runner(loop_factory=loop_factory()) as runner,
    ):
        runner.run(_serve(settings, listener))


async def _serve(settings: ServerSettings, listener: socket.socket) -> None:
    engine = await Engine.open(settings.engine())
    try:
        await hand_out_first_key(engine.keys, settings)
        app = create_app(settings, engine)
        url = told_url(listener)
        warn_of_short_keys(settings)
        note(logging.INFO, "listening", url=url, docs=f"{url}/docs")
        settle_memory()
        await Server(app, engine, settings).serve(sockets=[listener])
    finally:
        await engine.aclose()
        note(logging.INFO, "stopped")


class Server(uvicorn.Server):
    """uvicorn, told how to end: streams are closed first, and a signal does not end the process before the engine."""

    signals: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)
    """Those that end it."""

    def __init__(self, app: Litestar, engine: Engine, settings: ServerSettings) -> None:
        self._engine = engine
        super().__init__(
            uvicorn.Config(
                app,
                access_log=False,
                backlog=BACKLOG,
                forwarded_allow_ips=list(settings.trusted_proxies),
                http=_protocol(),
                lifespan="on",
                limit_concurrency=most_connections(settings.max_connections),
                log_config=None,
                proxy_headers=bool(settings.trusted_proxies),
                server_header=False,
                timeout_graceful_shutdown=max(1, round(settings.shutdown_seconds)),
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                ws="none",
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, end the streams, finish what is in flight."""
        self._engine.live.close()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals as uvicorn does, but do not raise them again at the end: there is an engine to close."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in self.signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def settle_memory() -> None:
    """What is there by now stays: the garbage collector need not look through it again, nor look so often.

    Hardly anything of ours is in a cycle; the collector is for the rest.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)


def warn_of_short_keys(settings: ServerSettings) -> None:
    """Say which static keys can be guessed, without showing any."""
    for number, key in enumerate(settings.keys, start=1):
        if (characters := len(key.reveal())) < SHORT_KEY:
            note(
                logging.WARNING,
                "short static key",
                number=number,
                characters=characters,
                advice=f"use {SHORT_KEY} random characters or more: short keys can be guessed",
            )


def most_connections(wanted: int) -> int:
    """As many as wanted, if the system allows that many files beside those that the engine needs."""
    try:
        import resource
    except ImportError:  # not on Windows
        return wanted
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return wanted if allowed == resource.RLIM_INFINITY else max(1, min(wanted, allowed - FILES_FOR_THE_ENGINE))


async def hand_out_first_key(keys: Keys, settings: ServerSettings) -> None:
    """Where there is no key at all, make one for the default organisation and show it, once."""
    if not settings.keys and (plain := await keys.create_first(DEFAULT_ORG, name="first start")) is not None:
        await asyncio.to_thread(_show, plain)


def _show(plain: str) -> None:
    print(
        f"There was no key yet. This one is for the organisation {DEFAULT_ORG!r}; it is not shown again:",
        file=sys.stderr,
        flush=True,
    )
    print(plain, flush=True)


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens, before anything else is done that would have been in vain."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SettingsError(f"host is {host!r}, which cannot be listened on: {error.strerror or error}") from None
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SettingsError(
                f"cannot listen on {host}:{port}: {reason}; choose another port, or stop what is using it"
            ) from None
        listener.listen(BACKLOG)
        listener.setblocking(False)
        yield listener


@contextlib.contextmanager
def logging_to(stream: Any, level: str) -> Iterator[None]:
    """Everything that is logged in this process goes to `stream`, as one JSON object a line."""
    root = logging.getLogger()
    scribe = Scribe(stream)
    handlers, old_level = root.handlers[:], root.level
    root.handlers[:] = [scribe]
    root.setLevel(level.upper())
    quiet = logging.getLogger("uvicorn.error")
    old_quiet = quiet.level
    quiet.setLevel(max(logging.WARNING, root.level))  # what it says when all is well, our own lines say better
    for unused in _UNUSED:
        setattr(logging, unused, False)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(old_level)
        quiet.setLevel(old_quiet)
        for unused in _UNUSED:
            setattr(logging, unused, True)
        scribe.close()


def told_url(listener: socket.socket) -> str:
    """Where a socket listens."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _protocol() -> Any:
    """uvicorn's faster protocol under our limits; without its parser the slower one, which has limits of its own."""
    try:
        from .connection import GuardedProtocol
    except ImportError:
        return "h11"
    return GuardedProtocol


def loop_factory() -> Any:
    """uvloop's event loop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
