"""Who gets in: keys, their revocation, and how much each may ask for."""

import anyio
import httpx
import pytest

from reasonblocks.server import auth
from server.house import ADMIN_KEY, House

OPEN = ["/health", "/ready", "/openapi.json", "/docs"]


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic abc",
        "rb_live_x",
        "Bearer nope",
        "Bearer rb_live_nope",
        "Bearer " + "x" * 5_000,
    ],
)
async def test_without_a_valid_key_it_is_401(stranger: httpx.AsyncClient, header: str | None) -> None:
    """With the challenge that HTTP asks for, and the same for what is not even a route."""
    headers = {} if header is None else {"authorization": header}
    for path in ("/v1/monitor/me", "/monitor/me", "/v1/nope"):
        answer = await stranger.get(path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith('Bearer realm="rb-api"')
        assert isinstance(answer.json()["detail"], str)


async def test_a_key_that_is_not_ascii_is_just_not_valid(house: House) -> None:
    """401, not a failure to read it."""
    async with house.client(None) as client:
        answer = await client.get("/v1/monitor/me", headers=[(b"authorization", b"Bearer \xc3\xa9\xff")])
    assert answer.status_code == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_scheme_may_be_written_in_any_case(house: House, scheme: str) -> None:
    """As HTTP has it."""
    async with house.client(None) as client:
        answer = await client.get("/v1/monitor/me", headers={"authorization": f"{scheme}  {house.acme_key}"})
    assert answer.json()["org_id"] == "acme"


@pytest.mark.parametrize("path", OPEN)
@pytest.mark.parametrize("version", ["", "/v1"])
async def test_some_pages_need_no_key(stranger: httpx.AsyncClient, path: str, version: str) -> None:
    """Liveness, readiness, the document and its page; a bad key does not matter there."""
    assert (await stranger.get(version + path)).status_code == 200
    assert (await stranger.get(version + path, headers={"authorization": "Bearer nope"})).status_code == 200


async def test_health_asks_no_database(
    house: House, stranger: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers as long as the process lives, whatever became of the engine."""
    monkeypatch.setattr(house.app.state, "engine", None)
    try:
        assert (await stranger.get("/health", headers={"authorization": "Bearer x"})).status_code == 200
    finally:
        house.app.state.engine = house.engine


async def test_a_revoked_key_is_worthless_at_once(house: House) -> None:
    """Also one that has just been used."""
    key, plain = await house.engine.keys.create("acme")
    async with house.client(plain) as client:
        assert (await client.get("/v1/monitor/me")).status_code == 200
        await house.engine.keys.revoke(key.key_id)
        assert (await client.get("/v1/monitor/me")).status_code == 401


async def test_a_key_of_a_project_sees_no_other(house: House) -> None:
    """Its project counts, whatever the request says."""
    _, plain = await house.engine.keys.create("acme", "blue")
    async with house.client(plain) as client:
        run = await client.post("/v1/monitor/runs", json={"run_id": "painted", "project_id": "red"})
        assert (run.json()["org_id"], run.json()["project_id"]) == ("acme", "blue")
        assert [run["run_id"] for run in (await client.get("/v1/monitor/runs?project_id=red")).json()] == ["painted"]


async def test_an_admin_names_the_org(admin: httpx.AsyncClient, acme: httpx.AsyncClient) -> None:
    """In the body where there is one, else in the query."""
    run = await admin.post("/v1/monitor/runs", json={"run_id": "by-admin", "org_id": "acme"})
    assert run.json()["org_id"] == "acme"
    step = await admin.post("/v1/monitor/runs/by-admin/steps?org_id=acme", json={"step_index": 0})
    assert step.status_code == 200
    assert len((await acme.get("/v1/monitor/runs/by-admin")).json()["steps"]) == 1
    assert (await admin.get("/v1/monitor/runs/by-admin?org_id=rival")).status_code == 404


async def test_a_key_has_a_burst_and_then_a_rate(house: House) -> None:
    """429 with Retry-After; another key is not concerned, and a batch counts once."""
    async with (
        house.another_app(rate=0.01, burst=3) as app,
        house.client(house.acme_key, app) as acme,
        house.client(house.rival_key, app) as rival,
    ):
        events = {"events": [{"type": "run_start", "run_id": f"batch-{number}"} for number in range(100)]}
        assert (await acme.post("/v1/monitor/events", json=events)).json()["accepted"] == 100
        assert [(await acme.get("/v1/monitor/me")).status_code for _ in range(3)] == [200, 200, 429]
        limited = await acme.get("/monitor/me")
        assert limited.status_code == 429
        assert 0 < int(limited.headers["retry-after"]) <= 100
        assert isinstance(limited.json()["detail"], str)
        assert (await rival.get("/v1/monitor/me")).status_code == 200


async def test_strangers_are_limited_by_their_address(house: House) -> None:
    """Whoever tries keys gets slower; a good key from the same address does not."""
    async with house.another_app(anonymous_rate=0.01, anonymous_burst=5) as app:
        async with house.client(house.acme_key, app) as acme:
            assert (await acme.get("/v1/monitor/me")).status_code == 200
        async with house.client("rb_live_guess", app) as guesser, house.client(ADMIN_KEY, app) as admin:
            statuses = [(await guesser.get("/v1/monitor/me")).status_code for _ in range(8)]
            assert statuses == [401] * statuses.count(401) + [429] * statuses.count(429)
            assert statuses.count(401) == 5
            limited = await guesser.get("/v1/monitor/me")
            assert 0 < int(limited.headers["retry-after"]) <= 100
            for path in OPEN:
                assert (await guesser.get(path)).status_code == 200
            assert (await admin.get("/v1/monitor/me")).status_code == 200
        elsewhere = httpx.ASGITransport(app, client=("192.0.2.99", 1))
        async with httpx.AsyncClient(transport=elsewhere, base_url="http://rb-api.test") as other:
            assert (await other.get("/health")).status_code == 200


async def test_a_key_that_was_good_is_looked_up_again_however_many_strangers_there_are(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine forgets keys after a moment; that must not put their holders among the strangers."""
    async with (
        house.another_app(anonymous_rate=0.001, anonymous_burst=1) as app,
        house.client(house.acme_key, app) as acme,
        house.client("guess", app) as guesser,
    ):
        monkeypatch.setattr(house.engine.keys, "known", lambda _: None)
        assert (await acme.get("/v1/monitor/me")).status_code == 200
        assert [(await guesser.get("/v1/monitor/me")).status_code for _ in range(2)] == [401, 429]
        assert (await acme.get("/v1/monitor/me")).status_code == 200


async def test_a_good_key_is_let_in_however_many_bad_ones_came_from_its_address(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the first time it is used: only a key that proves bad counts against the address."""
    _, fresh = await house.engine.keys.create("acme")
    bad = "rb_live_" + "x" * 55
    async with (
        house.another_app(anonymous_rate=0.001, anonymous_burst=3) as app,
        house.client(bad, app) as guesser,
        house.client(fresh, app) as newcomer,
    ):
        monkeypatch.setattr(auth, "GUESS_SECONDS", 0.001)
        assert [(await guesser.get("/v1/monitor/me")).status_code for _ in range(5)] == [401] * 3 + [429] * 2
        assert (await newcomer.get("/v1/monitor/me")).status_code == 200


async def test_keys_of_a_guesser_are_looked_up_one_by_one(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trying keys gets slow, not the database: the rest is refused without a look."""
    looked_up: list[str] = []
    at_once = most = 0

    async def authenticate(plain: str) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        looked_up.append(plain)
        await anyio.sleep(0.001)
        at_once -= 1

    monkeypatch.setattr(auth, "GUESS_SECONDS", 0.001)
    monkeypatch.setattr(auth, "MOST_GUESSES", 4)
    monkeypatch.setattr(house.engine.keys, "authenticate", authenticate)
    statuses: list[int] = []

    async def guess(client: httpx.AsyncClient) -> None:
        statuses.append((await client.get("/v1/monitor/me")).status_code)

    async with (
        house.another_app(anonymous_rate=0.001, anonymous_burst=1) as app,
        house.client("rb_live_" + "x" * 55, app) as guesser,
    ):
        await guess(guesser)
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(guess, guesser)
    assert statuses == [401] + [429] * 20
    assert (most, len(looked_up)) == (1, 5)


async def test_probes_have_a_limit_as_well(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generous one of their own."""
    monkeypatch.setattr(auth, "PROBE_BURST", 2)
    monkeypatch.setattr(auth, "PROBE_RATE", 0.001)
    async with house.another_app() as app, house.client(None, app) as prober:
        assert [(await prober.get(path)).status_code for path in ("/health", "/ready", "/health")] == [200, 200, 429]
        assert (await prober.get("/docs")).status_code == 200


async def test_two_keys_in_one_request_are_refused(house: House) -> None:
    """Nobody could tell which of them was meant."""
    async with house.client(None) as client:
        twice = [("authorization", f"Bearer {house.acme_key}"), ("authorization", f"Bearer {house.rival_key}")]
        answer = await client.get("/v1/monitor/me", headers=twice)
        assert (answer.status_code, "more than one" in answer.json()["detail"]) == (400, True)
        many = [("x-a", "1"), ("x-a", "2"), twice[0]]
        assert (await client.get("/v1/monitor/me", headers=many)).status_code == 200


async def test_too_many_headers_are_refused(acme: httpx.AsyncClient) -> None:
    """However short they are."""
    answer = await acme.get("/v1/monitor/me", headers={f"x-{number}": "" for number in range(300)})
    assert (answer.status_code, "headers" in answer.json()["detail"]) == (431, True)


@pytest.mark.parametrize(("coding", "status"), [("gzip", 415), ("br, gzip", 415), ("identity", 200), ("Identity", 200)])
async def test_a_compressed_body_is_refused(acme: httpx.AsyncClient, coding: str, status: int) -> None:
    """With a word about why, instead of one about JSON."""
    answer = await acme.post("/v1/monitors/evaluate", json={"steps": []}, headers={"content-encoding": coding})
    assert answer.status_code == status
    if status == 415:
        assert coding in answer.json()["detail"]
        assert answer.headers["accept-encoding"] == "identity"
