"""One HTTP client per event loop, shared by everything on it, gone when the loop goes.

Requests are httpx's, carried by httpx-aiohttp's transport. rb-api needs no redirects, cookies, auth flows or
streamed bodies, so the transport has a short way that leaves them out: aiohttp's pool gives the connection, its
parser reads the answer, and what never changes about a request is made once.
"""

import asyncio
import io
import socket
import ssl
import urllib.request
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, NoReturn

import aiohttp
import aiohttp.http
import httpx
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from httpx_aiohttp import AiohttpTransport
from multidict import CIMultiDict
from yarl import URL

from ..errors import Unavailable
from ..runtime.contain import incidents
from ..runtime.supervisor import forget_after_fork
from ..secret import Secret
from ..settings import is_loopback

MAX_CONNECTIONS = 100
MAX_ANSWER = 8_000_000
"""Bytes of an answer that are read at all; more is not an answer of rb-api."""
MAX_PREPARED = 4_096
NO_TIMEOUT = aiohttp.ClientTimeout()
"""None: the caller's deadline covers it all."""
WHOLE_BODY = 2**20
"""Bytes that are written at once; aiohttp wants to write more in pieces, so as not to hold up the event loop."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: enough to decide, nothing of the connection."""

    status: int
    content: bytes
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request but for its body, in the terms of those who carry it."""

    request: httpx.Request
    url: URL
    headers: CIMultiDict[str] = field(repr=False)
    """With the key in it, which this kind of mapping would show."""
    head: bytes = field(repr=False)
    """The request line and the headers as they are sent, but for the length of the body."""


class Endpoint:
    """Where rb-api is; what never changes about a request is made once."""

    def __init__(self, base: httpx.URL, key: Secret, *, user_agent: str) -> None:
        self._base = base
        self._headers = httpx.Headers(
            {
                "authorization": f"Bearer {key.reveal()}",
                "user-agent": user_agent,
                "accept-encoding": "identity",
                "content-type": "application/json",
            }
        )
        self._prepared: dict[tuple[str, str], Prepared] = {}

    def __reduce__(self) -> NoReturn:
        raise TypeError("the connection to rb-api holds a key and is not pickled; create it where it is used")

    def prepare(self, method: str, path: str) -> Prepared:
        """The request for a path; those of the open runs are asked for at every step."""
        prepared = self._prepared.get((method, path))
        if prepared is None:
            if len(self._prepared) >= MAX_PREPARED:
                self._prepared.clear()
            prepared = self._prepared[method, path] = self._build(method, path)
        return prepared

    def _build(self, method: str, path: str) -> Prepared:
        url = self._base.copy_with(raw_path=self._base.raw_path.rstrip(b"/") + path.encode("ascii"))
        request = httpx.Request(method, url, headers=self._headers)
        headers = CIMultiDict((name, value) for name, value in request.headers.items() if name != "content-length")
        lines = [f"{method} {url.raw_path.decode('ascii')} HTTP/1.1", *(f"{name}: {headers[name]}" for name in headers)]
        head = "\r\n".join([*lines, "content-length: "]).encode("ascii")
        return Prepared(request, URL(str(url), encoded=True), headers, head)


def _unreachable(url: httpx.URL, error: Exception) -> str:
    """Why a request was not carried; where nobody listens, with what to do."""
    if not isinstance(error, aiohttp.ClientConnectorError):
        return f"{url.host}: {type(error).__name__}: {error}"
    return (
        f"no server can be reached at {url.scheme}://{url.netloc.decode('ascii')} ({error.os_error}): start it, or "
        "correct base_url; `reasonblocks doctor` tries it"
    )


class Transport(AiohttpTransport):
    """httpx-aiohttp's transport with a short way for a request that is prepared and an answer that is read whole."""

    short = True
    """Whether this version of aiohttp lets us use its pool and its parser by themselves."""

    async def exchange(self, prepared: Prepared, body: bytes | None) -> Answer:
        """Send one request and read its answer; `Unavailable` if the connection does not carry it."""
        if not isinstance(self.client, aiohttp.ClientSession):
            self.client = self.get_client()
            self._asked: dict[URL, aiohttp.ClientRequest] = {}
        try:
            if self.short and self.proxy is None:
                return await self._exchange_shortly(self.client, prepared, body or b"")
            return await self._exchange(self.client, prepared, body)
        except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError, RuntimeError, ValueError) as error:
            raise Unavailable(_unreachable(prepared.request.url, error)) from error

    async def _exchange(self, session: aiohttp.ClientSession, prepared: Prepared, body: bytes | None) -> Answer:
        async with session.request(
            prepared.request.method,
            prepared.url,
            headers=prepared.headers,
            data=body if body is None or len(body) <= WHOLE_BODY else io.BytesIO(body),
            allow_redirects=False,
            proxy=str(self.proxy.url) if self.proxy else None,
        ) as response:
            return await _read(response.status, response.headers, response.content)

    async def _exchange_shortly(self, session: aiohttp.ClientSession, prepared: Prepared, body: bytes) -> Answer:
        connection: Connection | None = None
        try:
            connection = await self._connection(session, prepared)
            handler = connection.protocol
            if handler is None or handler.transport is None:
                raise aiohttp.ServerDisconnectedError()
            handler.set_response_params(read_until_eof=True, auto_decompress=False, read_bufsize=MAX_ANSWER)
        except (AttributeError, TypeError) as error:
            if connection is not None:
                connection.close()
            incidents.note("the short way through aiohttp", error)
            type(self).short = False
            return await self._exchange(session, prepared, body)
        except aiohttp.ServerDisconnectedError:
            if connection is not None:
                connection.close()
            raise
        try:
            handler.transport.write(b"%b%d\r\n\r\n%b" % (prepared.head, len(body), body))
            message, payload = await handler.read()
            while message.code < 200:  # "100 Continue" and the like, which nobody asked for
                message, payload = await handler.read()
            answer = await _read(message.code, message.headers, payload)
        except BaseException:
            connection.close()
            raise
        connection.release()
        return answer

    async def _connection(self, session: aiohttp.ClientSession, prepared: Prepared) -> Connection:
        """One of the pool's, for the host of this request."""
        origin = prepared.url.origin()
        asked = self._asked.get(origin)
        if asked is None:
            loop = asyncio.get_running_loop()
            asked = self._asked[origin] = aiohttp.ClientRequest("POST", origin, loop=loop, session=session)
        assert session.connector is not None
        return await session.connector.connect(asked, [], NO_TIMEOUT)


class Connector(aiohttp.TCPConnector):
    """aiohttp's pool of connections, each in a context of its own.

    A connection, and the timer that closes it, keep the context they were made in, and through LangGraph's
    variables in it the state of a run that is long over.
    """

    async def _create_connection(self, *arguments: Any, **named: Any) -> ResponseHandler:
        making = asyncio.create_task(super()._create_connection(*arguments, **named), context=Context())
        try:
            return await making
        except asyncio.CancelledError:
            if making.done() and not making.cancelled() and making.exception() is None:
                making.result().close()  # it was made at the moment in which nobody wanted it any more
            raise

    def _release(self, *arguments: Any, **named: Any) -> None:
        Context().run(super()._release, *arguments, **named)


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
    """The transports of this process, by event loop and proxy; the last user on a loop closes them."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None
        self._inherited: list[Pool] = []
        self._by_loop: weakref.WeakKeyDictionary[Any, Pool] = weakref.WeakKeyDictionary()

    def forget(self) -> None:
        """Start anew, as a forked child must: its parent's connections are not for use, nor to be closed."""
        self._inherited = [*self._inherited, *self._by_loop.values()]
        self._by_loop = weakref.WeakKeyDictionary()

    def warm(self, secure: bool) -> None:
        """Build the TLS context where it is still allowed to block: never on an event loop."""
        if self._context is None:
            self._context = httpx.create_ssl_context(verify=secure)
        elif secure and self._context.verify_mode is not ssl.CERT_REQUIRED:
            self._context = httpx.create_ssl_context()

    async def current(self, user: object, proxy: str | None) -> Transport:
        """The transport of the running loop."""
        loop = asyncio.get_running_loop()
        pool = self._by_loop.get(loop)
        if pool is None:
            pool = self._by_loop[loop] = Pool()
            pool.guard = _guard(self._by_loop, pool)
            await anext(pool.guard)
        pool.users.add(user)
        transport = pool.transports.get(proxy)
        if transport is None:
            transport = pool.transports[proxy] = self._build(proxy)
        return transport

    def _build(self, proxy: str | None) -> Transport:
        context = self._context or httpx.create_ssl_context(verify=False)
        return Transport(verify=context, proxy=httpx.Proxy(proxy) if proxy else None, client=_session_factory(context))

    async def aclose(self, user: object) -> None:
        """A user is through on the running loop."""
        pool = self._by_loop.get(asyncio.get_running_loop())
        if pool is not None:
            pool.users.discard(user)
            if not pool.users and pool.guard is not None:
                await pool.guard.aclose()


class Pool:
    """The transports of one event loop, who uses them, and the guard that closes them."""

    def __init__(self) -> None:
        self.transports: dict[str | None, Transport] = {}
        self.users: weakref.WeakSet[object] = weakref.WeakSet()
        self.guard: AsyncGenerator[None] | None = None


transports = Transports()
"""Those of this process."""
forget_after_fork(transports)


def _session_factory(context: ssl.SSLContext) -> Callable[[], aiohttp.ClientSession]:
    def session() -> aiohttp.ClientSession:
        connector = Connector(limit=MAX_CONNECTIONS, ssl=context, resolver=Resolver())
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=NO_TIMEOUT,
            auto_decompress=False,
            skip_auto_headers=("Accept", "User-Agent"),
        )

    return session


async def _guard(pools: weakref.WeakKeyDictionary[Any, Pool], pool: Pool) -> AsyncGenerator[None]:
    """A generator the loop closes when it shuts down, and with it the transports.

    `asyncio.run` closes every suspended asynchronous generator of its loop; nothing else tells a library
    that a loop it did not create is about to end.
    """
    try:
        yield
    finally:
        pools.pop(asyncio.get_running_loop(), None)
        closing = list(pool.transports.values())
        pool.transports.clear()
        for transport in closing:
            await transport.aclose()


def proxy_for(url: httpx.URL) -> str | None:
    """The proxy that the environment names for this URL, if any; loopback never has one."""
    if is_loopback(url.host) or urllib.request.proxy_bypass(url.host):
        return None
    return urllib.request.getproxies().get(url.scheme)


async def _read(status: int, headers: Mapping[str, str], content: aiohttp.StreamReader) -> Answer:
    """The whole answer, if it is one of a size that rb-api gives."""
    chunks: list[bytes] = []
    size = 0
    while chunk := await content.readany():
        size += len(chunk)
        if size > MAX_ANSWER:
            raise Unavailable(f"the answer is larger than {MAX_ANSWER} bytes")
        chunks.append(chunk)
    return Answer(status, b"".join(chunks), _retry_after(headers.get("retry-after")))


def _retry_after(value: str | None) -> float | None:
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None
