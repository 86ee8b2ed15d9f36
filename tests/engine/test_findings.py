"""Findings: kept per organisation and codebase, found by meaning, gone when their files change."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from engine.store.opened import Store, opened
from reasonblocks.engine.errors import Invalid, NotFound
from reasonblocks.engine.findings import FindingService
from reasonblocks.engine.index.findings import Admit
from reasonblocks.engine.principal import Principal
from reasonblocks.engine.requests import FindingChange, FindingCreate, FindingInvalidate, FindingSearch
from support.cluster import Place

ACME, RIVAL, ADMIN = Principal("1", "acme"), Principal("2", "rival"), Principal("3")
WEB, OPS = Principal("4", "acme", "web"), Principal("5", "acme", "ops")


class CarelessIndex:
    """Names whatever it was told to, as an index that has not followed yet might."""

    def __init__(self) -> None:
        self.known: list[tuple[str, float]] = []
        self.asked: list[tuple[str, str, str, int]] = []

    async def search(
        self, org_id: str, codebase_id: str, query: str, top_k: int, *, least: float, admit: Admit
    ) -> list[tuple[str, float]]:
        self.asked.append((org_id, codebase_id, query, top_k))
        admitted = await admit([name for name, _ in self.known])
        return [(name, score) for name, score in self.known if name in admitted and score >= least]


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    async with opened(place) as store:
        yield store


@pytest.fixture
def index() -> CarelessIndex:
    return CarelessIndex()


@pytest.fixture
def notified() -> list[str]:
    """One entry for every time that the index was told to look."""
    return []


@pytest.fixture
def findings(store: Store, index: CarelessIndex, notified: list[str]) -> FindingService:
    return FindingService(store.database, store.transactions, index, lambda: notified.append("look"))


async def add(
    findings: FindingService, principal: Principal, content: str, codebase: str = "shop", path: str | None = None
) -> str:
    receipt = await findings.create(principal, codebase, FindingCreate(content, path))
    assert receipt.stored
    return receipt.finding_id


async def contents(findings: FindingService, principal: Principal, codebase: str = "shop") -> list[str]:
    listed = await findings.list(principal, codebase)
    assert listed.count == len(listed.findings)
    return [finding.content for finding in listed.findings]


async def test_c51_finding_from_beginning_to_end(findings: FindingService, store: Store, notified: list[str]) -> None:
    """It is stored, listed, changed and deleted; each time the index is told."""
    finding_id = await add(findings, ACME, "The parser is recursive.")
    (listed,) = (await findings.list(ACME, "shop")).findings
    assert (listed.finding_id, listed.codebase_id, listed.file_path, listed.finding_type, listed.metadata) == (
        finding_id,
        "shop",
        "",
        "note",
        {},
    )
    changed = await findings.change(ACME, "shop", finding_id, FindingChange(file_path="a.py", metadata={"by": [1]}))
    assert (changed.content, changed.file_path, changed.metadata) == ("The parser is recursive.", "a.py", {"by": [1]})
    assert changed.updated_at >= changed.created_at
    await findings.delete(ACME, "shop", finding_id)
    assert await contents(findings, ACME) == []
    assert await store.changes() == [("finding", finding_id)] * 3
    assert notified == ["look"] * 3


async def test_newest_finding_comes_first(findings: FindingService) -> None:
    """The list is in order, and each codebase has its own."""
    for content in ("first", "second", "third"):
        await add(findings, ACME, content)
    await add(findings, ACME, "elsewhere", "bank")
    assert await contents(findings, ACME) == ["third", "second", "first"]
    assert (await findings.codebases(ACME)).codebases == ["bank", "shop"]


async def test_c51_invalidate_deletes_what_is_about_these_files(
    findings: FindingService, store: Store, notified: list[str]
) -> None:
    """Only findings about the named files go, only those of the codebase, and none without a file."""
    gone = [await add(findings, ACME, "x", path="a.py"), await add(findings, ACME, "y", path="b.py")]
    await add(findings, ACME, "stays", path="c.py")
    await add(findings, ACME, "stays too")
    await add(findings, ACME, "stays elsewhere", "bank", path="a.py")
    told = len(notified)
    done = await findings.invalidate(ACME, "shop", FindingInvalidate(["a.py", "b.py", "b.py", "", "none.py"]))
    assert done.invalidated == 2
    assert await contents(findings, ACME) == ["stays too", "stays"]
    assert [item for _, item in await store.changes()][-2:] == gone
    assert len(notified) == told + 1
    assert (await findings.invalidate(ACME, "shop", FindingInvalidate([]))).invalidated == 0


async def test_c51_clear_empties_a_codebase(findings: FindingService) -> None:
    """Clearing one leaves the others alone, and says how many there were."""
    await add(findings, ACME, "x")
    await add(findings, ACME, "y", "bank")
    assert await findings.clear(ACME, "shop") == 1
    assert (await findings.codebases(ACME)).codebases == ["bank"]
    assert await findings.clear(ACME, "shop") == 0


async def test_c51_search_gives_the_best_first(findings: FindingService, index: CarelessIndex) -> None:
    """What the index names comes back whole, in its order, if it is good enough; 5 at 0.5 unless told otherwise."""
    ids = [await add(findings, ACME, str(number)) for number in range(7)]
    index.known = [(finding_id, 0.9 - number / 10) for number, finding_id in enumerate(ids)]
    found = (await findings.search(ACME, "shop", FindingSearch("parser"))).results
    assert [(one.content, round(one.score, 1)) for one in found] == [
        ("0", 0.9),
        ("1", 0.8),
        ("2", 0.7),
        ("3", 0.6),
        ("4", 0.5),
    ]
    found = (await findings.search(ACME, "shop", FindingSearch("parser", 7, 0.0))).results
    assert len(found) == 7
    assert index.asked == [("acme", "shop", "parser", 5), ("acme", "shop", "parser", 7)]


async def test_search_trusts_the_tables_and_not_the_index(findings: FindingService, index: CarelessIndex) -> None:
    """Whatever an index names: nothing of another org, codebase or project comes back, and nothing that is gone."""
    theirs = await add(findings, RIVAL, "secret")
    elsewhere = await add(findings, ACME, "elsewhere", "bank")
    deleted = await add(findings, ACME, "deleted")
    await findings.delete(ACME, "shop", deleted)
    ops = await add(findings, OPS, "of operations")
    web = await add(findings, WEB, "of the web")
    index.known = [(one, 1.0) for one in (theirs, elsewhere, deleted, "unheard of", ops, web)]
    found = await findings.search(ACME, "shop", FindingSearch("x", 50))
    assert [one.content for one in found.results] == ["of operations", "of the web"]
    found = await findings.search(WEB, "shop", FindingSearch("x", 2))
    assert [one.content for one in found.results] == ["of the web"]


async def test_c25_findings_of_another_org_do_not_exist(findings: FindingService) -> None:
    """Another org can neither see, count, change nor delete a finding, whatever org it names."""
    finding_id = await add(findings, ACME, "ours", path="a.py")
    assert await contents(findings, RIVAL) == []
    assert (await findings.list(RIVAL, "shop", "acme")).count == 0
    assert (await findings.codebases(RIVAL, "acme")).codebases == []
    assert (await findings.invalidate(RIVAL, "shop", FindingInvalidate(["a.py"], "acme"))).invalidated == 0
    assert await findings.clear(RIVAL, "shop", "acme") == 0
    for attempt in (
        lambda: findings.change(RIVAL, "shop", finding_id, FindingChange("changed"), "acme"),
        lambda: findings.delete(RIVAL, "shop", finding_id, "acme"),
        lambda: findings.delete(ACME, "bank", finding_id),
    ):
        with pytest.raises(NotFound, match="unknown finding"):
            await attempt()
    assert await contents(findings, ACME) == ["ours"]


async def test_key_of_a_project_sees_its_project_only(findings: FindingService) -> None:
    """Within an org a key of a project is limited to it; a key of the org is not."""
    await add(findings, WEB, "of the web")
    await add(findings, OPS, "of operations")
    assert await contents(findings, WEB) == ["of the web"]
    assert await contents(findings, ACME) == ["of operations", "of the web"]
    assert await findings.clear(WEB, "shop") == 1
    assert await contents(findings, ACME) == ["of operations"]


async def test_admin_means_the_default_org_unless_told(findings: FindingService) -> None:
    """An admin names the org in the body or in the query."""
    await findings.create(ADMIN, "shop", FindingCreate("for acme", org_id="acme"))
    await findings.create(ADMIN, "shop", FindingCreate("for all"))
    assert await contents(findings, ACME) == ["for acme"]
    assert await contents(findings, Principal("6", "default")) == await contents(findings, ADMIN) == ["for all"]
    assert (await findings.list(ADMIN, "shop", "acme")).count == 1


@pytest.mark.parametrize("codebase", ["", "a" * 257, "a\nb"])
async def test_codebase_that_cannot_be_is_refused(findings: FindingService, codebase: str) -> None:
    """The error names the field."""
    with pytest.raises(Invalid, match="codebase_id is") as refusal:
        await findings.create(ACME, codebase, FindingCreate("x"))
    assert refusal.value.location == ("codebase_id",)
