"""Ollama's route for embeddings on loopback, with the vectors of the model that comes along."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from reasonblocks.engine.embedding.adapter import resolve_embedder
from support.served import Served


class Ollama(Served):
    """Answers until it is left, and keeps which models it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.embedder = resolve_embedder("minilm")
        self.alone = threading.Lock()
        handler = type("Handler", (_Handler,), {"ollama": self})
        super().__init__(ThreadingHTTPServer(("127.0.0.1", 0), handler))

    @property
    def url(self) -> str:
        """What `OLLAMA_HOST` is set to."""
        return f"http://127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    ollama: Ollama
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20  # head and body leave together: in two pieces each answer waits for an acknowledgement

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/api/embed":
            self.send_error(404)
            return
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        with self.ollama.alone:
            self.ollama.asked.append(request["model"])
            vectors = self.ollama.embedder.embed(texts)
        body = json.dumps({"model": request["model"], "embeddings": vectors.tolist()}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""
