"""A request and its answer as the connection beneath us sees them: what can be known and done beyond ASGI.

ASGI hands over a body and takes an answer in messages, without saying whether one has to be waited for, or letting all
of the other go at once. A server that offers none of this is served by messages alone.
"""

from typing import TYPE_CHECKING, Any

from .gathering import Gathering

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

EXCHANGE = "reasonblocks.exchange"
"""Where in a connection's scope there may be one."""


class Exchange:
    """One request on a connection of our own."""

    __slots__ = ("_cycle", "_state", "_transport")

    def __init__(self, cycle: "RequestResponseCycle", transport: Gathering, state: Any) -> None:
        self._cycle = cycle
        self._transport = transport
        self._state = state
        """uvicorn's, which has the headers of all its answers."""

    def body(self) -> bytes | None:
        """The whole body, if all of it is here and nobody has asked for any of it; then nobody has to wait."""
        cycle = self._cycle
        if cycle.more_body or cycle.disconnected or cycle.response_complete or not cycle.message_event.is_set():
            return None
        cycle.message_event.clear()
        body, cycle.body = bytes(cycle.body), bytearray()
        return body

    def answer(self, head: bytes, body: bytes) -> bool:
        """Send all of an answer with the status 200 and these lines of headers; says whether that was possible."""
        cycle = self._cycle
        if cycle.response_started or cycle.disconnected or not cycle.keep_alive or cycle.flow.write_paused:
            return False
        cycle.response_started = cycle.response_complete = True
        always = b"".join([b"%b: %b\r\n" % header for header in self._state.default_headers])
        self._transport.send(b"HTTP/1.1 200 OK\r\n%b%b\r\n%b" % (always, head, body))
        cycle.message_event.set()
        cycle.on_response()
        return True
