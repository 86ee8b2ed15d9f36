"""Whose key is it: from a header to a principal, without letting anybody try keys at leisure."""

from typing import TYPE_CHECKING

from ..engine.principal import Principal
from .limiter import Limiter
from .problems import Refusal, retry_after

if TYPE_CHECKING:
    from ..engine.keys import Keys
    from .settings import ServerSettings

SCHEME = b"bearer "
LONGEST_KEY = 512
MOST_REMEMBERED = 100_000
_CHALLENGE = {"www-authenticate": 'Bearer realm="rb-api"'}
_INVALID = {"www-authenticate": 'Bearer realm="rb-api", error="invalid_token"'}


class Doorkeeper:
    """Lets callers in by their key and counts what they ask for."""

    def __init__(self, settings: "ServerSettings") -> None:
        self._by_key = Limiter(settings.rate, settings.burst)
        self._by_address = Limiter(settings.anonymous_rate, settings.anonymous_burst)
        self._good_before: set[int] = set()
        """Traces of keys that were good when last looked up: these are not somebody's guesses."""

    async def admit(self, keys: "Keys", authorization: bytes | None, address: str) -> Principal:
        """The holder of the key in the header, who still has a request to spend; a `Refusal` otherwise."""
        plain = presented(authorization)
        if not plain:
            self.count_anonymous(address)
            raise Refusal(401, "a key is needed: send the header 'Authorization: Bearer <key>'", _CHALLENGE)
        principal = keys.known(plain) or await self._authenticate(keys, plain, address)
        wait = self._by_key.take(principal.key_id)
        if wait:
            raise Refusal(429, "too many requests with this key; ask again later", retry_after(wait))
        return principal

    async def _authenticate(self, keys: "Keys", plain: str, address: str) -> Principal:
        """Ask the database, but not for everybody: trying keys must get slow, not the database."""
        trace = hash(plain)
        if trace not in self._good_before:
            self.count_anonymous(address)
        principal = await keys.authenticate(plain)
        if principal is None:
            self._good_before.discard(trace)
            raise Refusal(401, "the key is unknown or was revoked", _INVALID)
        if len(self._good_before) >= MOST_REMEMBERED:
            self._good_before.clear()
        self._good_before.add(trace)
        return principal

    def count_anonymous(self, address: str) -> None:
        """Count a request without a valid key; a `Refusal` when there were too many from that address."""
        wait = self._by_address.take(address)
        if wait:
            raise Refusal(429, "too many requests without a valid key; ask again later", retry_after(wait))


def presented(authorization: bytes | None) -> str | None:
    """The key in an Authorization header, if there is one that could be a key at all."""
    if authorization is None or authorization[: len(SCHEME)].lower() != SCHEME:
        return None
    key = authorization[len(SCHEME) :].strip()
    if not key or len(key) > LONGEST_KEY or not key.isascii():
        return None
    return key.decode("ascii")
