"""A host of the internet that is here: a proxy for HTTPS behind which one name leads to a port of this machine."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import ssl
import subprocess
import threading
from pathlib import Path

from support.served import Served


class Elsewhere(Served):
    """Takes `CONNECT host:443`, answers in TLS as that host, and passes what is said to a port of this machine."""

    def __init__(self, host: str, port: int, folder: Path) -> None:
        self.host = host
        self.leads_to = port
        self.certificate = folder / "certificate.pem"
        """Whom a client has to trust."""
        key = folder / "key.pem"
        make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=tests"
        to = ["-addext", f"subjectAltName=DNS:{host}", "-keyout", str(key), "-out", str(self.certificate)]
        subprocess.run([*make.split(), *to], check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        handler = type("Handler", (_Handler,), {"elsewhere": self})
        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        super().__init__(server)

    @property
    def proxy(self) -> str:
        """What `HTTPS_PROXY` is set to."""
        return f"http://127.0.0.1:{self.port}"


class _Handler(socketserver.StreamRequestHandler):
    elsewhere: Elsewhere
    rbufsize = 0  # what follows the request belongs to TLS

    def handle(self) -> None:
        line = self.rfile.readline().decode()
        while self.rfile.readline().strip():
            pass
        if line.split()[:2] != ["CONNECT", f"{self.elsewhere.host}:443"]:
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
            return
        self.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        with (
            self.elsewhere.context.wrap_socket(self.connection, server_side=True) as client,
            socket.create_connection(("127.0.0.1", self.elsewhere.leads_to)) as server,
        ):
            back = threading.Thread(target=_pass, args=(server, client), daemon=True)
            back.start()
            _pass(client, server)
            back.join(1)


def _pass(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65_536):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
