"""One HTTP client per event loop, shared by everything on it, gone when the loop goes.

Requests go straight to httpx's transport: redirects, cookies and auth flows are not part of rb-api, and
the layers that do them cost more than the rest of a request (0.73 ms against 0.47 ms of CPU, measured).
"""

import asyncio
import socket
import ssl
import urllib.request
import weakref
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import anyio
import httpx
from httpx_aiohttp import AiohttpTransport

from ..errors import Unavailable
from ..runtime.supervisor import forget_after_fork

MAX_CONNECTIONS = 100
MAX_ANSWER = 8_000_000
"""Bytes of an answer that are read at all; more is not an answer of rb-api."""
MAX_URLS = 4_096
_NO_TIMEOUTS: dict[str, Any] = {"timeout": {}}
"""The caller's deadline is the only one: it covers retries too."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: enough to decide, nothing of the connection."""

    status: int
    content: bytes
    retry_after: float | None = None


class Endpoint:
    """Where rb-api is, with everything about a request that never changes made once."""

    def __init__(self, base: httpx.URL, *, authorization: bytes, user_agent: str) -> None:
        self.base = base
        self._urls: dict[str, httpx.URL] = {}
        self._headers = httpx.Headers(
            [
                (b"host", base.netloc),
                (b"authorization", authorization),
                (b"user-agent", user_agent.encode()),
                (b"accept-encoding", b"identity"),
                (b"content-type", b"application/json"),
            ]
        )

    def request(self, method: str, path: str, body: bytes | None) -> httpx.Request:
        """A request ready for the transport."""
        return httpx.Request(method, self._url(path), headers=self._headers, content=body, extensions=_NO_TIMEOUTS)

    def _url(self, path: str) -> httpx.URL:
        """The URL of a path; those of the open runs are asked for at every step, and parsing is slow."""
        url = self._urls.get(path)
        if url is None:
            if len(self._urls) >= MAX_URLS:
                self._urls.clear()
            url = self.base.copy_with(raw_path=self.base.raw_path.rstrip(b"/") + path.encode("ascii"))
            self._urls[path] = url
        return url


class Resolver(aiohttp.ThreadedResolver):
    """Names are looked up in a thread; at interpreter exit, when none can be had, in place.

    Only the runtime's own loop is still running then, and the last events still have to leave.
    """

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[aiohttp.abc.ResolveResult]:
        try:
            return await super().resolve(host, port, family)
        except RuntimeError:
            found = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
            return [
                aiohttp.abc.ResolveResult(
                    hostname=host,
                    host=str(address[0]),
                    port=int(address[1]),
                    family=kind,
                    proto=proto,
                    flags=0,
                )
                for kind, _, proto, _, address in found
            ]


class Transports:
    """The transports of this process, by event loop and proxy."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None
        self.forget()

    def forget(self) -> None:
        """Start anew, as a forked child must: it may not use its parent's connections."""
        self._by_loop: weakref.WeakKeyDictionary[Any, dict[str | None, httpx.AsyncBaseTransport]]
        self._by_loop = weakref.WeakKeyDictionary()
        self._guards: weakref.WeakKeyDictionary[Any, AsyncGenerator[None]] = weakref.WeakKeyDictionary()

    def warm(self, secure: bool) -> None:
        """Build the TLS context where it is still allowed to block: never on an event loop."""
        if self._context is None:
            self._context = httpx.create_ssl_context(verify=secure)
        elif secure and self._context.verify_mode is not ssl.CERT_REQUIRED:
            self._context = httpx.create_ssl_context()

    async def current(self, proxy: str | None) -> httpx.AsyncBaseTransport:
        """The transport of the running loop."""
        loop = _loop_key()
        try:
            return self._by_loop[loop][proxy]
        except KeyError:
            return await self._open(loop, proxy)

    async def _open(self, loop: Any, proxy: str | None) -> httpx.AsyncBaseTransport:
        transports = self._by_loop.setdefault(loop, {})
        transports[proxy] = transport = self._build(proxy)
        if loop not in self._guards:
            guard = _guard(transports, self._guards)
            self._guards[loop] = guard
            await anext(guard)
        return transport

    def _build(self, proxy: str | None) -> httpx.AsyncBaseTransport:
        context = self._context or httpx.create_ssl_context(verify=False)
        through = httpx.Proxy(proxy) if proxy else None
        if not _on_asyncio():
            return httpx.AsyncHTTPTransport(
                verify=context, proxy=through, limits=httpx.Limits(max_connections=MAX_CONNECTIONS)
            )
        return AiohttpTransport(verify=context, proxy=through, client=_session_factory(context))

    async def aclose_current(self) -> None:
        """Close the transports of the running loop."""
        guard = self._guards.pop(_loop_key(), None)
        if guard is not None:
            await guard.aclose()


transports = Transports()
"""Those of this process."""
forget_after_fork(transports)


def _on_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _loop_key() -> Any:
    return asyncio.get_running_loop() if _on_asyncio() else anyio.lowlevel.current_token()


def _session_factory(context: ssl.SSLContext) -> Callable[[], aiohttp.ClientSession]:
    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=MAX_CONNECTIONS, ssl=context, resolver=Resolver())
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(),
            skip_auto_headers=("Accept", "User-Agent"),
        )

    return session


async def _guard(
    opened: dict[str | None, httpx.AsyncBaseTransport], guards: weakref.WeakKeyDictionary[Any, Any]
) -> AsyncGenerator[None]:
    """A generator the loop closes when it shuts down, and with it the transports.

    `asyncio.run` closes every suspended asynchronous generator of its loop; nothing else tells a library
    that a loop it did not create is about to end.
    """
    loop = weakref.ref(_loop_key())
    try:
        yield
    finally:
        guards.pop(loop(), None)
        closing = list(opened.values())
        opened.clear()
        for transport in closing:
            await transport.aclose()


def proxy_for(url: httpx.URL) -> str | None:
    """The proxy that the environment names for this URL, if any; loopback never has one."""
    if url.host in LOOPBACK or urllib.request.proxy_bypass(url.host):
        return None
    return urllib.request.getproxies().get(url.scheme)


async def exchange(transport: httpx.AsyncBaseTransport, request: httpx.Request) -> Answer:
    """Send one request and read its answer whole; `Unavailable` if the connection does not carry it."""
    try:
        response = await transport.handle_async_request(request)
        try:
            content = await _read(response)
        finally:
            await response.aclose()
    except (httpx.HTTPError, aiohttp.ClientError, OSError, RuntimeError) as error:
        raise Unavailable(f"{request.url.host}: {type(error).__name__}: {error}") from error
    return Answer(response.status_code, content, _retry_after(response.headers.get("retry-after")))


async def _read(response: httpx.Response) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.aiter_raw():
        size += len(chunk)
        if size > MAX_ANSWER:
            raise Unavailable(f"the answer is larger than {MAX_ANSWER} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _retry_after(value: str | None) -> float | None:
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None
