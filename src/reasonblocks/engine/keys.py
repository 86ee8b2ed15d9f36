"""Keys: who may ask. Of an issued key only a digest is kept, so that nobody can read a key out of the database.

rb_live_<key id><secret>      rb_test_<key id><secret>
"""

import hashlib
import hmac
import re
import secrets
import string
import time
from collections.abc import Collection, Iterable
from typing import Any, Literal

import msgspec
from sqlalchemy import Connection, bindparam, insert, or_, select, update

from .errors import Invalid, NotFound
from .principal import Principal
from .store import tenants
from .store.changes import record
from .store.database import Database, asked_again
from .store.schema import keys
from .store.transact import Transactions
from .store.values import now, shown, shown_or_none
from .store.words import be_alone

Kind = Literal["live", "test"]
KINDS: tuple[Kind, ...] = ("live", "test")
ID_LENGTH = 12
SECRET_LENGTH = 43
"""Letters and digits: 256 bits."""
TRUSTED_SECONDS = 2.0
"""How long a key that was found good is not looked up again: another process may revoke it meanwhile."""
LONGEST = 1_024
_ALPHABET = string.ascii_letters + string.digits
_ISSUED = re.compile(rf"rb_(?:live|test)_([A-Za-z0-9]{{{ID_LENGTH}}})[A-Za-z0-9]{{{SECRET_LENGTH}}}")
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,256}")


class Key(msgspec.Struct, kw_only=True):
    """A key as it is listed: never the key itself, nor its digest."""

    key_id: str
    org_id: str
    project_id: str | None
    """`None`: good for every project of its org."""
    name: str
    shown: str
    """The first characters, by which people know it again."""
    created_at: str
    revoked_at: str | None
    last_used_at: str | None


class Keys:
    """Issues, checks and revokes keys. On the engine's event loop only."""

    def __init__(self, database: Database, transactions: Transactions, static: Iterable[str] = ()) -> None:
        self._database = database
        self._transactions = transactions
        admins = [_digest(plain) for plain in static if plain]
        self._static = [(digest, Principal(f"static-{number}")) for number, digest in enumerate(admins, 1)]
        self._good: dict[bytes, tuple[Principal, float]] = {}
        """By digest: keys that were found good, and until when that is taken for granted."""
        self._revocations = 0
        self._used: dict[str, float] = {}

    # -- checking ----------------------------------------------------------------------------------

    def known(self, plain: str) -> Principal | None:
        """The holder of a static key, or of one that was found good a moment ago; asks nobody."""
        if len(plain) > LONGEST:
            return None
        digest = _digest(plain)
        holder = self._static_holder(digest)
        if holder is not None:
            return holder
        trusted = self._good.get(digest)
        if trusted is None or trusted[1] < time.monotonic():
            return None
        self._used[trusted[0].key_id] = now()
        return trusted[0]

    async def authenticate(self, plain: str) -> Principal | None:
        """The holder of a key; `None` for one that is unknown, revoked or malformed."""
        holder = self.known(plain)
        if holder is not None:
            return holder
        issued = _ISSUED.fullmatch(plain)
        return None if issued is None else await self._look_up(issued[1], _digest(plain))

    def _static_holder(self, digest: bytes) -> Principal | None:
        holder = None
        for known, principal in self._static:  # all of them, so that the time tells nothing
            if hmac.compare_digest(known, digest):
                holder = principal
        return holder

    @asked_again
    async def _look_up(self, key_id: str, digest: bytes) -> Principal | None:
        revocations = self._revocations
        async with self._database.reading() as connection:
            row = (await connection.execute(select(keys).where(keys.c.key_id == key_id))).one_or_none()
        expected = row.digest if row is not None else ""
        if not hmac.compare_digest(expected.encode(), digest.hex().encode()) or row is None or row.revoked_at:
            self._good.pop(digest, None)
            return None
        principal = Principal(row.key_id, row.org_id, row.project_id)
        if revocations == self._revocations:  # none while we looked
            self._good[digest] = (principal, time.monotonic() + TRUSTED_SECONDS)
        self._used[row.key_id] = now()
        return principal

    async def flush_last_used(self) -> None:
        """Write down when keys were last used; done now and then, not for every request."""
        used, self._used = self._used, {}
        if used:
            await self._transactions.run(lambda connection: _write_use(connection, used))

    # -- issuing -----------------------------------------------------------------------------------

    async def create(
        self, org: str, project: str | None = None, kind: Kind = "live", name: str = ""
    ) -> tuple[Key, str]:
        """A new key for an org, or for one project of it; the key itself is shown this once."""
        row, plain = _new(org, project, kind, name)
        stored = await self._transactions.run(lambda connection: _insert(connection, row))
        return _listed(stored), plain

    async def create_first(self, org: str, name: str = "") -> str | None:
        """A key where there is none at all; of servers that start at once one makes it."""
        row, plain = _new(org, None, "live", name)

        def work(connection: Connection) -> bool:
            be_alone(connection)
            if connection.execute(select(keys.c.key_id).limit(1)).first() is not None:
                return False
            _insert(connection, row)
            return True

        return plain if await self._transactions.run(work) else None

    @asked_again
    async def list(self, org: str | None = None) -> list[Key]:
        """All keys, or those of one org, oldest first."""
        query = select(keys).order_by(keys.c.created_at, keys.c.key_id)
        if org is not None:
            query = query.where(keys.c.org_id == org)
        async with self._database.reading() as connection:
            return [_listed(row) for row in await connection.execute(query)]

    async def revoke(self, key: str) -> Key:
        """Make a key worthless, by its id, by what is shown of it, or by the key itself; for ever, and at once here."""
        issued = _ISSUED.fullmatch(key)
        key_id = issued[1] if issued else key
        row = await self._transactions.run(lambda connection: _revoke(connection, key_id))
        if row is None:
            raise NotFound(f"there is no key {key_id[:64]!r}; `reasonblocks keys list` shows those there are")
        await self.forget([row.key_id])
        return _listed(row)

    async def forget(self, key_ids: Collection[str] | None) -> None:
        """Look these keys up again before they are believed; `None` is all of them."""
        self._revocations += 1
        self._good = {
            digest: good for digest, good in self._good.items() if key_ids is not None and good[0].key_id not in key_ids
        }

    async def exist(self) -> bool:
        """Whether there is any key that could be used."""
        if self._static:
            return True
        async with self._database.reading() as connection:
            found = await connection.execute(select(keys.c.key_id).where(keys.c.revoked_at.is_(None)).limit(1))
            return found.first() is not None


_note_use = (
    update(keys)
    .where(
        keys.c.key_id == bindparam("this"),
        or_(keys.c.last_used_at.is_(None), keys.c.last_used_at < bindparam("used")),
    )
    .values(last_used_at=bindparam("used"))
)


def _new(org: str, project: str | None, kind: Kind, name: str) -> tuple[dict[str, Any], str]:
    """The row of a new key, and the key."""
    _check("org", org)
    if project is not None:
        _check("project", project)
    if name:
        _check("name", name)
    if kind not in KINDS:
        raise Invalid(f"kind is {kind!r}; expected one of {', '.join(KINDS)}", location=("kind",))
    key_id = _random(ID_LENGTH)
    plain = f"rb_{kind}_{key_id}{_random(SECRET_LENGTH)}"
    row = {
        "key_id": key_id,
        "org_id": org,
        "project_id": project,
        "name": name,
        "shown": f"rb_{kind}_{key_id}",
        "digest": _digest(plain).hex(),
        "created_at": now(),
    }
    return row, plain


def _insert(connection: Connection, row: dict[str, Any]) -> Any:
    tenants.ensure(connection, [(row["org_id"], row["project_id"])], row["created_at"])
    connection.execute(insert(keys), row)
    return connection.execute(select(keys).where(keys.c.key_id == row["key_id"])).one()


def _write_use(connection: Connection, used: dict[str, float]) -> None:
    connection.execute(_note_use, [{"this": key_id, "used": moment} for key_id, moment in used.items()])


def _revoke(connection: Connection, key: str) -> Any:
    meant = or_(keys.c.key_id == key, keys.c.shown == key)
    connection.execute(update(keys).where(meant, keys.c.revoked_at.is_(None)).values(revoked_at=now()))
    row = connection.execute(select(keys).where(meant)).one_or_none()
    if row is not None:
        record(connection, "key", [row.key_id])  # so that other servers hear of it at once
    return row


def _listed(row: Any) -> Key:
    return Key(
        key_id=row.key_id,
        org_id=row.org_id,
        project_id=row.project_id,
        name=row.name,
        shown=row.shown,
        created_at=shown(row.created_at),
        revoked_at=shown_or_none(row.revoked_at),
        last_used_at=shown_or_none(row.last_used_at),
    )


def _digest(plain: str) -> bytes:
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).digest()


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def _check(field: str, value: str) -> None:
    if not value.strip() or not _NAME.fullmatch(value):
        raise Invalid(
            f"{field} is {value!r:.80}; expected 1 to 256 characters without control characters", location=(field,)
        )
