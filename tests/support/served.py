"""A server of the standard library on a thread of its own, for as long as somebody is inside of it."""

from __future__ import annotations

import threading
from socketserver import BaseServer
from types import TracebackType
from typing import Self


class Served:
    """Answers until it is left."""

    def __init__(self, server: BaseServer) -> None:
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """Where it listens, on loopback."""
        return int(self._server.server_address[1])
