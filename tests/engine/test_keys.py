"""Keys: shown once, kept as a digest, checked without asking twice, worthless once revoked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import event

from engine.store.opened import Store, opened
from reasonblocks.engine import keys as keys_module
from reasonblocks.engine.errors import Invalid, NotFound
from reasonblocks.engine.index.follower import Follower
from reasonblocks.engine.keys import Keys
from reasonblocks.engine.principal import Principal
from support.cluster import Place


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    async with opened(place) as store:
        yield store


@pytest.fixture
def keys(store: Store) -> Keys:
    return Keys(store.database, store.transactions, ["first admin", "second admin"])


@pytest.fixture
def queries(store: Store) -> list[str]:
    """Every statement that reads from the database, from now on."""
    seen: list[str] = []
    event.listen(store.database.engine.sync_engine, "before_cursor_execute", lambda *about: seen.append(about[2]))
    return seen


async def test_c25_the_org_comes_from_the_key(keys: Keys) -> None:
    """An issued key stands for the org, and the project if it has one, that it was made for."""
    wide, wide_key = await keys.create("acme")
    narrow, narrow_key = await keys.create("acme", "web", kind="test", name="the build machine")
    assert await keys.authenticate(wide_key) == Principal(wide.key_id, "acme", None)
    assert await keys.authenticate(narrow_key) == Principal(narrow.key_id, "acme", "web")
    assert wide_key.startswith("rb_live_")
    assert narrow_key.startswith("rb_test_")
    assert (narrow.name, narrow.shown) == ("the build machine", f"rb_test_{narrow.key_id}")


async def test_the_key_is_nowhere_in_the_files(tmp_path: Path) -> None:
    """Only a digest is kept: neither the key nor its secret part is in any byte of the data directory."""
    async with opened(tmp_path) as store:
        keys = Keys(store.database, store.transactions)
        key, plain = await keys.create("acme")
        await keys.authenticate(plain)
        await keys.flush_last_used()
        secret = plain.removeprefix(key.shown)
        assert len(secret) * 5.95 > 192
        files = await asyncio.to_thread(lambda: [file.read_bytes() for file in tmp_path.iterdir()])
        assert any(key.key_id.encode() in content for content in files)
        assert not any(secret.encode() in content for content in files)


async def test_list_shows_neither_key_nor_digest(keys: Keys, store: Store) -> None:
    """What is listed is enough to tell keys apart and of no use to anybody else."""
    first, plain = await keys.create("acme")
    second, _ = await keys.create("rival")
    (digest,) = (await store.query("SELECT digest FROM keys WHERE key_id = :key", key=first.key_id))[0]
    assert await keys.list() == [first, second]
    assert await keys.list("rival") == [second]
    assert plain.removeprefix(first.shown) not in str(await keys.list())
    assert digest not in str(await keys.list())


async def test_static_keys_are_admins(keys: Keys) -> None:
    """A static key has no org of its own, and is not kept as it is."""
    admin = keys.known("second admin")
    assert admin is not None
    assert admin.is_admin
    assert admin == await keys.authenticate("second admin") != await keys.authenticate("first admin")
    assert keys.known("third admin") is None
    assert "second admin" not in str(vars(keys))


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "x",
        "rb_live_",
        "rb_live_short",
        "rb_live_" + "a" * 54,
        "rb_live_" + "ä" * 55,
        "rb_prod_" + "a" * 55,
        "a" * 9999,
        "rb_live_" + "a" * 55 + "\n",
        "\ud800",
    ],
)
async def test_malformed_key_asks_nobody(keys: Keys, queries: list[str], wrong: str) -> None:
    """What cannot be a key is refused without a question to the database."""
    assert await keys.authenticate(wrong) is None
    assert queries == []


async def test_wrong_secret_is_refused(keys: Keys) -> None:
    """Knowing the public part of a key is of no use."""
    _, plain = await keys.create("acme")
    other = "a" if plain[-1] != "a" else "b"
    assert await keys.authenticate(plain[:-1] + other) is None
    assert await keys.authenticate(plain) is not None


async def test_flood_of_wrong_keys_takes_no_memory(keys: Keys) -> None:
    """Nothing is remembered of keys that are not good."""
    before = {name: len(value) for name, value in vars(keys).items() if isinstance(value, dict)}
    for number in range(20):
        assert await keys.authenticate(f"rb_live_{number:055d}") is None
    assert {name: len(value) for name, value in vars(keys).items() if isinstance(value, dict)} == before


async def test_good_key_is_not_looked_up_again(keys: Keys, queries: list[str]) -> None:
    """Once found good it is known without a question, for a moment."""
    _, plain = await keys.create("acme")
    assert keys.known(plain) is None
    principal = await keys.authenticate(plain)
    asked = len(queries)
    assert keys.known(plain) == await keys.authenticate(plain) == principal
    assert len(queries) == asked


async def test_revoked_key_is_worthless_at_once(keys: Keys) -> None:
    """Revoking works for good, may be said twice, and keeps when it was."""
    key, plain = await keys.create("acme")
    await keys.authenticate(plain)
    revoked = await keys.revoke(key.key_id)
    assert keys.known(plain) is None
    assert await keys.authenticate(plain) is None
    assert revoked.revoked_at is not None
    assert await keys.revoke(plain) == await keys.revoke(key.shown) == revoked


async def test_key_revoked_by_another_process_is_worthless_soon(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that knows the key asks again when its trust runs out."""
    async with opened(place) as here, opened(place) as there:
        ours, theirs = Keys(here.database, here.transactions), Keys(there.database, there.transactions)
        key, plain = await ours.create("acme")
        assert await theirs.authenticate(plain) is not None
        await ours.revoke(key.key_id)
        clock = keys_module.time.monotonic() + keys_module.TRUSTED_SECONDS + 0.001
        monkeypatch.setattr(keys_module.time, "monotonic", lambda: clock)
        assert theirs.known(plain) is None
        assert await theirs.authenticate(plain) is None


async def test_key_revoked_by_another_process_is_worthless_once_the_follower_looks(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it would be trusted: a revocation is among the changes that every process follows."""
    monkeypatch.setattr(keys_module, "TRUSTED_SECONDS", 1_000.0)
    async with opened(place) as here, opened(place) as there:
        ours, theirs = Keys(here.database, here.transactions), Keys(there.database, there.transactions)
        follower = Follower(there.database, poll_seconds=0.02)
        follower.listen("key", theirs.forget)
        await follower.open()
        follower.start()
        key, plain = await ours.create("acme")
        assert await theirs.authenticate(plain) is not None
        await ours.revoke(key.key_id)
        async with asyncio.timeout(5):
            while theirs.known(plain) is not None:  # noqa: ASYNC110  nothing tells of it
                await asyncio.sleep(0.01)
        await follower.aclose()


async def test_unknown_key_cannot_be_revoked(keys: Keys) -> None:
    """The error says where to look."""
    with pytest.raises(NotFound, match=r"no key 'nothing'.*keys list"):
        await keys.revoke("nothing")


async def test_last_use_is_written_now_and_then(keys: Keys, store: Store) -> None:
    """Using a key writes nothing; the time of its use is written when it is flushed, and never goes back."""
    key, plain = await keys.create("acme")
    await keys.authenticate(plain)
    assert keys.known(plain) is not None
    assert (await keys.list())[0].last_used_at is None
    await keys.flush_last_used()
    used = (await keys.list())[0].last_used_at
    assert used is not None
    assert used >= key.created_at
    await store.execute("UPDATE keys SET last_used_at = 9e9")
    await keys.authenticate(plain)
    await keys.flush_last_used()
    assert await store.query("SELECT last_used_at FROM keys") == [(9e9,)]


async def test_first_key_makes_its_org_and_project(keys: Keys, store: Store) -> None:
    """An org comes into being with its first key, once."""
    await keys.create("acme", "web")
    await keys.create("acme", "web")
    await keys.create("acme")
    assert await store.query("SELECT org_id FROM organisations") == [("acme",)]
    assert await store.query("SELECT org_id, project_id FROM projects") == [("acme", "web")]


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("org", {"org": " "}),
        ("org", {"org": "a" * 257}),
        ("project", {"org": "a", "project": "b\n"}),
        ("kind", {"org": "a", "kind": "prod"}),
        ("name", {"org": "a", "name": "\x00"}),
    ],
)
async def test_key_for_what_cannot_be_is_refused(keys: Keys, field: str, values: dict[str, str]) -> None:
    """The error names the field and what was expected."""
    with pytest.raises(Invalid, match=rf"{field} is .*expected") as refusal:
        await keys.create(**values)  # type: ignore[arg-type]
    assert refusal.value.location == (field,)


async def test_whether_any_key_exists(store: Store) -> None:
    """A revoked key is none; a static one is."""
    keys = Keys(store.database, store.transactions)
    assert not await keys.exist()
    key, _ = await keys.create("acme")
    assert await keys.exist()
    await keys.revoke(key.key_id)
    assert not await keys.exist()
    assert await Keys(store.database, store.transactions, ["admin"]).exist()
