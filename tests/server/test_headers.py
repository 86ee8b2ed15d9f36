"""What every answer carries, and what a browser may do."""

import httpx
import pytest

from server.house import House

ORIGIN = "https://app.example.com"


@pytest.mark.parametrize(
    ("path", "status"),
    [("/health", 200), ("/v1/monitor/me", 200), ("/v1/nope", 404), ("/v1/monitor/runs?limit=x", 422)],
)
async def test_every_answer_is_safe_in_a_browser(acme: httpx.AsyncClient, path: str, status: int) -> None:
    """Not sniffed, not kept, not framed, tells nobody where it came from."""
    answer = await acme.get(path)
    assert answer.status_code == status
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert "server" not in answer.headers


async def test_refusals_are_safe_as_well(stranger: httpx.AsyncClient) -> None:
    """Also those that never get to a route."""
    answer = await stranger.get("/v1/monitor/me")
    assert answer.status_code == 401
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-request-id"]


async def test_a_request_keeps_the_id_it_came_with(acme: httpx.AsyncClient) -> None:
    """So that a client can find it in the log; what is no id is replaced, and no two are the same."""
    assert (await acme.get("/health", headers={"x-request-id": "my-id.7"})).headers["x-request-id"] == "my-id.7"
    odd = [
        (await acme.get("/health", headers={"x-request-id": odd})).headers["x-request-id"]
        for odd in ("a b", "x" * 200, "")
    ]
    assert len({*odd, "a b", "x" * 200, ""}) == 6


async def test_by_default_no_page_may_call(acme: httpx.AsyncClient) -> None:
    """Without an allowlist there is no CORS at all."""
    answer = await acme.get("/v1/monitor/me", headers={"origin": ORIGIN})
    assert not [name for name in answer.headers if name.startswith("access-control")]
    asked = await acme.options("/v1/score", headers={"origin": ORIGIN, "access-control-request-method": "POST"})
    assert not [name for name in asked.headers if name.startswith("access-control")]


async def test_pages_on_the_list_may_call(house: House) -> None:
    """They are told so, also for an error and in advance without a key; others are not."""
    async with house.another_app(cors_origins=(ORIGIN,)) as app, house.client(None, app) as client:
        preflight = await client.options(
            "/v1/score", headers={"origin": ORIGIN, "access-control-request-method": "POST"}
        )
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == ORIGIN
        assert "authorization" in preflight.headers["access-control-allow-headers"]
        assert "POST" in preflight.headers["access-control-allow-methods"]
        refused = await client.get("/v1/monitor/me", headers={"origin": ORIGIN})
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, ORIGIN)
        assert "origin" in refused.headers["vary"]
        for method in ("GET", "OPTIONS"):
            other = await client.request(
                method,
                "/v1/monitor/me",
                headers={"origin": "https://evil.example.com", "access-control-request-method": "POST"},
            )
            assert other.status_code == 401
            assert "access-control-allow-origin" not in other.headers


async def test_any_page_may_call_if_so_set(house: House) -> None:
    """Keys are no cookies, so `*` gives nothing away."""
    async with house.another_app(cors_origins=("*",)) as app, house.client(None, app) as client:
        answer = await client.get("/health", headers={"origin": "https://anywhere.example"})
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers
