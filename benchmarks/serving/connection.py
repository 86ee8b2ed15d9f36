"""The least that an HTTP client has to do: one kept connection, bytes made beforehand, one answer at a time."""

import socket
from collections.abc import Callable

import msgspec


class Connection:
    """A connection that is used for request after request."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60.0)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def get(self, path: str) -> tuple[int, bytes]:
        """Status and body."""
        return self.exchange(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{self._port}\r\n\r\n".encode())

    def exchange(self, request: bytes) -> tuple[int, bytes]:
        """Send the bytes of a request; status and body of what comes back."""
        self._socket.sendall(request)
        received = self._receive()
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._receive()
        head = received[:end].lower()
        at = head.index(b"content-length:") + len(b"content-length:")
        size = end + 4 + int(head[at:].split(b"\r\n", 1)[0])
        while len(received) < size:
            received += self._receive()
        return int(head[9:12]), received[end + 4 :]

    def _receive(self) -> bytes:
        received = self._socket.recv(262_144)
        if not received:
            raise SystemExit("the server closed the connection in the middle of an answer")
        return received


Requests = Callable[[], list[bytes]]
"""Makes the requests of one block, which may have to be new ones every time."""


def request(path: str, body: object, key: str) -> bytes:
    """The bytes of a POST."""
    encoded = msgspec.json.encode(body)
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"accept: application/json\r\nauthorization: Bearer {key}\r\ncontent-length: {len(encoded)}\r\n\r\n"
    )
    return head.encode() + encoded
