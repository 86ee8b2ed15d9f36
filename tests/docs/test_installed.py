"""Blocks that install and serve: in environments where nothing was installed before, on the ports that they name."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import httpx
import pytest

from docs.blocks import Block, block_with, executes
from docs.conftest import Installing
from docs.shell import SERVER, Served, Shell, alone_on
from support.cluster import Cluster
from support.qdrant_front import Front

QDRANT = 6333
"""The port that Qdrant has."""
INSTALL = 'pip install "reasonblocks[server]"\n'
WORKERS = block_with("--workers 4", "docs/server.md")
WITH_QDRANT = block_with("REASONBLOCKS_QDRANT_API_KEY=...", "docs/server.md")
UPGRADE = block_with("pip install --upgrade", "docs/operations.md")
IS_IT_WELL = block_with("curl http://127.0.0.1:8484/ready", "docs/operations.md")


def organisation(server: Served, key: str) -> str:
    """Whose key it is, by the server."""
    answer = httpx.get(f"{server.url}/v1/monitor/me", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["org_id"])


@contextlib.contextmanager
def qdrant(api_key: str | None = None) -> Iterator[Front]:
    """Qdrant's local mode on the port that Qdrant has."""
    front = Front(api_key)
    front.port = QDRANT
    asyncio.run(front.start())
    try:
        yield front
    finally:
        asyncio.run(front.aclose())


@pytest.mark.slow
@executes(*(block_with(INSTALL, page) for page in ("README.md", "docs/deployment.md", "docs/server.md")))
def test_a_server_is_installed_and_serves(block: Block, installing: Installing) -> None:
    """Its first start prints a key, which is good; with `--data-dir` everything is kept there."""
    shell = installing("server")
    with alone_on(SERVER), shell.served(block.text) as server:
        assert organisation(server, server.printed.splitlines()[-1]) == "default"
    place = "rb-api" if "--data-dir ~/rb-api" in block.text else ".local/share/reasonblocks"
    assert (shell.home / place / "reasonblocks.db").exists()


@pytest.mark.slow
@executes(UPGRADE, together=True)
def test_an_upgrade_keeps_what_there_is(installing: Installing) -> None:
    """A key of before is good afterwards, and there is a backup."""
    shell = installing("server")
    shell.type(INSTALL)
    key = shell.type("reasonblocks keys create --org acme").strip()
    with alone_on(SERVER), shell.served(UPGRADE.text) as server:
        assert organisation(server, key) == "acme"
    assert (shell.home / "before-upgrade.rbz").exists()


@pytest.mark.slow
@executes(IS_IT_WELL, together=True)
def test_one_can_ask_whether_it_is_well(shell: Shell) -> None:
    """By curl, which fails here for any status but a good one, and by `doctor`, which finds no problem."""
    (shell.home / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\n")
    with alone_on(SERVER), shell.served("reasonblocks serve") as server:
        known = {"REASONBLOCKS_BASE_URL": server.url, "REASONBLOCKS_API_KEY": server.printed.strip()}
        said = Shell(shell.home, **known).type(IS_IT_WELL.text)
    assert '"capabilities"' in said
    assert "0 problems" in said


@pytest.mark.slow
@executes(WORKERS, together=True)
def test_workers_share_two_databases(installing: Installing, cluster: Cluster) -> None:
    """PostgreSQL is found by its port in the environment, with the role and the database that the URL names."""
    cluster.execute("postgres", "CREATE ROLE reasonblocks SUPERUSER LOGIN")
    cluster.create("reasonblocks", "template0")
    shell = installing("workers", PGPORT=str(cluster.port))
    with alone_on(SERVER, QDRANT), qdrant() as front, shell.served(WORKERS.text) as server:
        assert organisation(server, server.printed.splitlines()[-1]) == "default"
        assert [line["workers"] for line in server.log if line["event"] == "listening"] == [4]
        assert front.seen


@pytest.mark.slow
@executes(WITH_QDRANT, together=True)
def test_a_server_uses_a_qdrant_of_ones_own(installing: Installing) -> None:
    """With the key that the block has; another one would be refused."""
    shell = installing("qdrant")
    with alone_on(SERVER, QDRANT), qdrant(api_key="...") as front, shell.served(WITH_QDRANT.text) as server:
        assert organisation(server, server.printed.splitlines()[-1]) == "default"
        assert front.seen
