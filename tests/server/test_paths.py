"""Ids in paths: percent-encoded, and with everything that a run id may hold."""

from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasonblocks.server.paths import decoded, routable
from server.house import House

RUN_IDS = ["team/a:b@c", "a.b-c_d", "steps", "x/steps", "x/finish", "..", "a//b", "/", "@", ":", "é".encode().hex()]


@pytest.mark.parametrize(
    ("sent", "routed"),
    [
        ("/v1/monitor/runs/team%2Fa%3Ab%40c/steps", "/v1/monitor/runs/team%2Fa:b@c/steps"),
        ("/monitor/runs/team%2fa", "/v1/monitor/runs/team%2Fa"),
        ("/monitor/runs/team/a/finish", "/v1/monitor/runs/team%2Fa/finish"),
        ("/monitor/runs/team/a", "/v1/monitor/runs/team%2Fa"),
        ("/monitor/runs/a/steps", "/v1/monitor/runs/a/steps"),
        ("/monitor/runs/", "/v1/monitor/runs/"),
        ("/%68ealth", "/v1/health"),
        ("/v1x", "/v1/v1x"),
        ("/findings/a%2Fb/search", "/v1/findings/a%2Fb/search"),
        ("/findings/100%25", "/v1/findings/100%25"),
        ("/findings/%FF", "/v1/findings/%FF"),
    ],
)
def test_a_path_has_one_spelling(sent: str, routed: str) -> None:
    """Whatever the client encodes, the route is found; only a slash inside an id stays encoded."""
    assert routable(sent.encode()) == routed


@given(st.text(min_size=1).filter(lambda text: text.isprintable()))
def test_an_encoded_id_comes_back_as_it_was(text: str) -> None:
    """What a client percent-encodes is what the route gets."""
    try:
        encoded = quote(text, safe="")
    except UnicodeEncodeError:
        return
    segment = routable(f"/findings/{encoded}".encode()).removeprefix("/v1/findings/")
    assert "/" not in segment
    assert decoded(segment) == text


@pytest.mark.parametrize("run_id", RUN_IDS)
async def test_every_run_id_can_be_a_path(acme: httpx.AsyncClient, run_id: str) -> None:
    """A run of any allowed id can be started, continued, shown and finished."""
    # httpx, like a browser, takes `..` for a way up; a client that has such ids encodes their dots.
    encoded = quote(run_id, safe="").replace(".", "%2E")
    path = httpx.URL("http://rb-api.test").copy_with(raw_path=f"/v1/monitor/runs/{encoded}".encode())
    started = await acme.post("/v1/monitor/runs", json={"run_id": run_id})
    assert started.status_code == 201
    step = await acme.post(path.copy_with(raw_path=path.raw_path + b"/steps"), json={"step_index": 0, "thought": "hm"})
    assert step.status_code == 200
    finish = await acme.post(path.copy_with(raw_path=path.raw_path + b"/finish"), json={"outcome": "success"})
    assert finish.json()["run_id"] == run_id
    shown = await acme.get(path)
    assert (shown.json()["run_id"], shown.json()["outcome"], len(shown.json()["steps"])) == (run_id, "success", 1)


@pytest.mark.parametrize("run_id", ["a%20b", "%C3%A9", "a" * 257])
async def test_an_impossible_run_id_is_refused_with_its_place(acme: httpx.AsyncClient, run_id: str) -> None:
    """422 names the parameter."""
    answer = await acme.post(f"/v1/monitor/runs/{run_id}/steps", json={"step_index": 0})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["path", "run_id"]


async def test_an_id_that_is_no_text_is_not_found(acme: httpx.AsyncClient) -> None:
    """Bytes that are not UTF-8 name nothing."""
    answer = await acme.get("/v1/monitor/runs/%FF%FE")
    assert (answer.status_code, answer.json()) == (404, {"detail": "not found"})


async def test_a_codebase_may_have_slashes_in_its_name(acme: httpx.AsyncClient) -> None:
    """As repositories have."""
    path = f"/v1/findings/{quote('github.com/acme/shop', safe='')}"
    created = await acme.post(path, json={"content": "The cart is in src/cart.py."})
    assert created.status_code == 200
    assert (await acme.get("/v1/findings")).json()["codebases"] == ["github.com/acme/shop"]
    assert (await acme.get(path)).json()["count"] == 1
    finding = created.json()["finding_id"]
    assert (await acme.delete(f"{path}/{quote(finding, safe='')}")).status_code == 200
    assert (await acme.delete(path)).status_code in (200, 404)


@pytest.mark.parametrize("path", ["/health", "/ready", "/v1/health", "/health/"])
async def test_probes_may_ask_for_the_head_only(house: House, path: str) -> None:
    """As with GET, without the body."""
    async with house.client(None) as client:
        head, get = await client.head(path), await client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(get.content))


async def test_elsewhere_the_head_alone_is_not_to_be_had(acme: httpx.AsyncClient) -> None:
    """405 with what is allowed, and no body."""
    for path in ("/v1/monitor/me", "/docs"):
        answer = await acme.head(path)
        assert (answer.status_code, answer.headers["allow"], answer.content) == (405, "GET", b"")


@pytest.mark.parametrize("path", ["/health/", "/ready/", "/docs/", "/openapi.json/", "/v1/docs/"])
async def test_a_slash_at_the_end_does_not_matter_where_no_key_is_needed(house: House, path: str) -> None:
    """People type it."""
    async with house.client(None) as client:
        assert (await client.get(path)).status_code == 200


@pytest.mark.parametrize(("path", "docs"), [("/", "/docs"), ("/v1/", "/v1/docs")])
async def test_the_root_leads_to_the_page(house: House, path: str, docs: str) -> None:
    """Whoever opens the address in a browser finds something to read."""
    async with house.client(None) as client:
        answer = await client.get(path)
        assert (answer.status_code, answer.next_request and answer.next_request.url.path) == (307, docs)
        assert (await client.post(path)).status_code == 401
