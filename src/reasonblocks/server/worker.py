"""One of several workers behind a port: a server whose socket and settings come from its supervisor."""

import asyncio
import os
import signal
import socket
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

from ..engine.engine import Engine
from ..errors import ReasonBlocksError
from .app import create_app
from .run import Server, logging_to, loop_factory, settle_memory
from .settings import ServerSettings, secret

READY = b"ready\n"
"""What a worker says once it takes requests."""


def packed(settings: ServerSettings) -> bytes:
    """Settings as one line for the pipe of a worker: with the keys in it, so for nothing else."""
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    values["keys"] = [key.reveal() for key in settings.keys]
    values["data_dir"] = None if settings.data_dir is None else str(settings.data_dir)
    return msgspec.json.encode(values) + b"\n"


def unpacked(line: bytes) -> ServerSettings:
    """The settings of such a line."""
    values: dict[str, Any] = msgspec.json.decode(line)
    values["keys"] = tuple(map(secret, values["keys"]))
    values["data_dir"] = None if values["data_dir"] is None else Path(values["data_dir"])
    for name in ("cors_origins", "trusted_proxies"):
        values[name] = tuple(values[name])
    return ServerSettings(**values)


def main() -> None:
    """Serve on the socket of the supervisor, until it says so or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = unpacked(sys.stdin.buffer.readline())
    with (
        socket.socket(fileno=int(sys.argv[1])) as listener,
        logging_to(sys.stderr, settings.log_level),
        asyncio.Runner(loop_factory=loop_factory()) as runner,
    ):
        runner.run(_work(settings, listener))


async def _work(settings: ServerSettings, listener: socket.socket) -> None:
    engine = await Engine.open(settings.engine())
    try:
        server = Worker(create_app(settings, engine), engine, settings)
        loop = asyncio.get_running_loop()
        pipe = sys.stdin.fileno()
        loop.add_reader(pipe, server.supervisor_is_gone)
        try:
            settle_memory()
            await server.serve(sockets=[listener])
        finally:
            loop.remove_reader(pipe)
    finally:
        await engine.aclose()


class Worker(Server):
    """A server that says when it is ready, and ends with its supervisor."""

    signals = (signal.SIGTERM,)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take requests, and say so."""
        await super().startup(sockets)
        os.write(sys.stdout.fileno(), READY)

    def supervisor_is_gone(self) -> None:
        """The pipe has something to read: its end, for nothing else comes through it any more."""
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        self.should_exit = True


if __name__ == "__main__":
    try:
        main()
    except ReasonBlocksError as error:
        sys.exit(f"Error: {error}")
