"""Whose key is it: from a header to a principal, without letting anybody try keys at leisure."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from ..engine.keys import ID_LENGTH, KINDS, SECRET_LENGTH
from ..engine.principal import Principal
from .limiter import Limiter
from .problems import Refusal, retry_after
from .settings import LONGEST_KEY

if TYPE_CHECKING:
    from ..engine.keys import Keys
    from .settings import ServerSettings

SCHEME = b"bearer "
MOST_REMEMBERED = 100_000
PROBE_RATE = 200.0
PROBE_BURST = 2_000
"""For those who only ask whether the server is alive; many of them may share an address."""
MOST_LOOK_UPS = 8
"""Keys nobody has seen yet that are looked up at once: the database has better things to do."""
GUESS_SECONDS = 0.05
MOST_GUESSES = 32
"""Of an address that spent its attempts, keys are looked up one by one with a pause; so many may wait for that."""
_PREFIXES = tuple(f"rb_{kind}_" for kind in KINDS)
_ISSUED_LENGTH = len(_PREFIXES[0]) + ID_LENGTH + SECRET_LENGTH
_CHALLENGE = {"www-authenticate": 'Bearer realm="rb-api"'}
_INVALID = {"www-authenticate": 'Bearer realm="rb-api", error="invalid_token"'}


class Doorkeeper:
    """Lets callers in by their key and counts what they ask for."""

    def __init__(self, settings: "ServerSettings") -> None:
        self._by_key = Limiter(settings.rate, settings.burst)
        self._by_address = Limiter(settings.anonymous_rate, settings.anonymous_burst)
        self._visits = Limiter(settings.anonymous_rate, settings.anonymous_burst)
        self._probes = Limiter(PROBE_RATE, PROBE_BURST)
        self._queue = Queue()
        self._good_before: set[int] = set()
        """Traces of keys that were good when last looked up: these are not somebody's guesses."""

    def recognise(self, keys: "Keys", authorization: bytes | None) -> Principal | None:
        """The holder of a key that was good a moment ago and has a request to spend, without waiting for anything.

        `None` says nothing against anybody: it is for `admit` to find out.
        """
        plain = presented(authorization)
        principal = keys.known(plain) if plain else None
        return principal if principal is not None and not self._by_key.take(principal.key_id) else None

    async def admit(self, keys: "Keys", authorization: bytes | None, address: str) -> Principal:
        """The holder of the key in the header, who still has a request to spend; a `Refusal` otherwise."""
        plain = presented(authorization)
        if not plain:
            self._count_stranger(address)
            raise Refusal(401, "a key is needed: send the header 'Authorization: Bearer <key>'", _CHALLENGE)
        principal = keys.known(plain) or await self._authenticate(keys, plain, address)
        wait = self._by_key.take(principal.key_id)
        if wait:
            raise Refusal(429, "too many requests with this key; ask again later", retry_after(wait))
        return principal

    async def _authenticate(self, keys: "Keys", plain: str, address: str) -> Principal:
        """Ask the database, but not for everybody: trying keys must get slow, not the database.

        Only a key that proves bad counts against its address: a good one may share that with somebody who guesses.
        """
        trace = hash(plain)
        if trace in self._good_before or not _could_be_issued(plain):
            principal = await keys.authenticate(plain)  # which asks no database for what cannot be in it
        else:
            async with self._queue.turn(address, spent=self._by_address.wait(address) > 0):
                principal = await keys.authenticate(plain)
        if principal is None:
            self._good_before.discard(trace)
            self._count_stranger(address)
            raise Refusal(401, "the key is unknown or was revoked", _INVALID)
        if len(self._good_before) >= MOST_REMEMBERED:
            self._good_before.clear()
        self._good_before.add(trace)
        return principal

    def count_visit(self, address: str, *, probe: bool) -> None:
        """Count a request that needs no key; a `Refusal` when there were too many from that address."""
        wait = (self._probes if probe else self._visits).take(address)
        if wait:
            raise Refusal(429, "too many requests from this address; ask again later", retry_after(wait))

    def _count_stranger(self, address: str) -> None:
        wait = self._by_address.take(address)
        if wait:
            raise Refusal(429, "too many requests without a valid key; ask again later", retry_after(wait))


class Queue:
    """Where keys that nobody has seen yet wait to be looked up."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(MOST_LOOK_UPS)
        self._guessers: dict[str, Guesser] = {}

    @contextlib.asynccontextmanager
    async def turn(self, address: str, *, spent: bool) -> AsyncIterator[None]:
        """Wait for a look-up; if the address has `spent` its attempts, behind all others that came from there."""
        if not spent:
            async with self._free:
                yield
            return
        guesser = self._guessers.setdefault(address, Guesser())
        if guesser.waiting >= MOST_GUESSES:
            raise Refusal(429, "too many requests without a valid key; ask again later", retry_after(1))
        guesser.waiting += 1
        try:
            async with guesser.one_at_a_time:
                await asyncio.sleep(GUESS_SECONDS)
                async with self._free:
                    yield
        finally:
            guesser.waiting -= 1
            if not guesser.waiting:
                del self._guessers[address]


class Guesser:
    """An address that has tried too many keys."""

    __slots__ = ("one_at_a_time", "waiting")

    def __init__(self) -> None:
        self.one_at_a_time = asyncio.Lock()
        self.waiting = 0


def _could_be_issued(plain: str) -> bool:
    return len(plain) == _ISSUED_LENGTH and plain.startswith(_PREFIXES)


def presented(authorization: bytes | None) -> str | None:
    """The key in an Authorization header, if there is one that could be a key at all."""
    if authorization is None or authorization[: len(SCHEME)].lower() != SCHEME:
        return None
    key = authorization[len(SCHEME) :].strip()
    if not key or len(key) > LONGEST_KEY or not key.isascii():
        return None
    return key.decode("ascii")
