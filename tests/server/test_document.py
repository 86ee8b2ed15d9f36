"""The OpenAPI document says what the server does, and the page to try it needs nothing else."""

import re
from typing import Any

import httpx
import msgspec
import pytest

from reasonblocks import __version__
from reasonblocks.engine import requests
from reasonblocks.engine.runs.decoding import Event
from reasonblocks.server.document import build
from reasonblocks.server.examples import ANSWERS, BODIES
from reasonblocks.server.page import PAGE, PAGE_POLICY

ROUTES = """
GET /health
GET /ready
POST /traces/retrieve
POST /monitors/evaluate
POST /score
POST /monitor/runs
POST /monitor/runs/{run_id}/steps
POST /monitor/runs/{run_id}/finish
GET /monitor/runs
GET /monitor/runs/{run_id}
GET /monitor/me
GET /monitor/health-summary
GET /monitor/scorers
GET /monitor/profiles
POST /monitor/profiles
GET /monitor/profiles/{profile_id}
PATCH /monitor/profiles/{profile_id}
DELETE /monitor/profiles/{profile_id}
GET /monitor/stream
POST /monitor/events
POST /traces
GET /library/patterns
POST /library/patterns
PATCH /library/patterns/{tier}/{pattern_id}
DELETE /library/patterns/{tier}/{pattern_id}
POST /findings/{codebase_id}
GET /findings
GET /findings/{codebase_id}
POST /findings/{codebase_id}/search
POST /findings/{codebase_id}/invalidate
PATCH /findings/{codebase_id}/{finding_id}
DELETE /findings/{codebase_id}/{finding_id}
DELETE /findings/{codebase_id}
"""


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The document as plain data."""
    return msgspec.json.decode(msgspec.json.encode(build()))


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Operations by method and path."""
    return {f"{method.upper()} {path}": one for path, item in document["paths"].items() for method, one in item.items()}


def test_every_route_of_the_wire_is_there_under_its_version(document: dict[str, Any]) -> None:
    """All of them, no other, and no alias."""
    wanted = {f"{line.split()[0]} /v1{line.split()[1]}" for line in ROUTES.strip().splitlines()}
    assert set(operations(document)) == wanted


def test_it_says_what_it_is_and_how_to_show_a_key(document: dict[str, Any]) -> None:
    """Title, version, bearer keys on everything but health."""
    assert (document["info"]["title"], document["info"]["version"]) == ("rb-api", __version__)
    assert document["components"]["securitySchemes"]["key"] == {"type": "http", "scheme": "bearer"}
    assert document["security"] == [{"key": []}]
    free = {name for name, operation in operations(document).items() if operation.get("security") == [{}]}
    assert free == {"GET /v1/health", "GET /v1/ready"}


def test_every_operation_is_described_with_all_it_may_answer(document: dict[str, Any]) -> None:
    """Each status has a schema, each refusal the shape of errors."""
    for name, operation in operations(document).items():
        assert operation["summary"], name
        assert operation["description"], name
        assert operation["tags"][0] in {tag["name"] for tag in document["tags"]}, name
        assert {"400", "429", "500"} <= set(operation["responses"]), name
        for status, response in operation["responses"].items():
            (content,) = response["content"].values()
            assert content["schema"], (name, status)
        if "requestBody" in operation:
            assert {"413", "422"} <= set(operation["responses"]), name


def test_the_limits_of_the_wire_are_in_the_schemas(document: dict[str, Any]) -> None:
    """As msgspec checks them."""
    schemas = document["components"]["schemas"]
    assert schemas["EvaluateRequest"]["properties"]["steps"]["anyOf"][0]["maxItems"] == 2_000
    assert schemas["Step"]["properties"]["step_index"] == {"type": "integer", "minimum": 0, "maximum": 10_000}
    assert schemas["RunStart"]["properties"]["run_id"]["maxLength"] == 256
    weights = schemas["EvaluateRequest"]["properties"]["weights"]["anyOf"][0]
    assert weights["type"] == "object"


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    """Nothing is named that is not there."""
    named = set(re.findall(r'"#/components/schemas/(\w+)"', msgspec.json.encode(document).decode()))
    assert named <= set(document["components"]["schemas"])


def test_every_body_has_an_example_that_works(document: dict[str, Any]) -> None:
    """Each of them is decoded by the struct of its route."""
    with_body = {one["operationId"]: one for one in operations(document).values() if "requestBody" in one}
    assert set(with_body) == set(BODIES)
    for name, operation in with_body.items():
        content = operation["requestBody"]["content"]["application/json"]
        struct = getattr(requests, content["schema"]["$ref"].rsplit("/", 1)[1])
        assert content["example"] == BODIES[name]
        msgspec.json.decode(msgspec.json.encode(BODIES[name]), type=struct)
    for event in BODIES["add_events"]["events"]:
        msgspec.json.decode(msgspec.json.encode(event), type=Event)


def test_every_example_of_an_answer_is_of_its_status(document: dict[str, Any]) -> None:
    """No example is left without its place."""
    by_name = {operation["operationId"]: operation for operation in operations(document).values()}
    for name, answers in ANSWERS.items():
        assert set(answers) <= set(by_name[name]["responses"])


async def test_the_document_is_served_to_anybody(stranger: httpx.AsyncClient, document: dict[str, Any]) -> None:
    """With and without the version."""
    for path in ("/v1/openapi.json", "/openapi.json"):
        answer = await stranger.get(path)
        assert answer.headers["content-type"] == "application/json"
        assert answer.json() == document


SHOWN: dict[str, dict[str, Any]] = {
    "evaluate": ANSWERS["evaluate"]["200"],
    "add_events": {"accepted": 3, "rejected": []},
}
"""What the answers to the examples say, as far as it is known before."""


@pytest.mark.parametrize(
    "name", sorted(set(BODIES) - {"add_step", "finish_run", "change_profile", "change_pattern", "change_finding"})
)
async def test_the_examples_are_accepted(acme: httpx.AsyncClient, document: dict[str, Any], name: str) -> None:
    """What the page is filled with can be sent as it is."""
    (route,) = [route for route, one in operations(document).items() if one["operationId"] == name]
    path = route.split()[1].format(codebase_id="shop")
    answer = await acme.post(path, json=BODIES[name])
    assert answer.is_success, answer.text
    if name in SHOWN:
        assert answer.json() | SHOWN[name] == answer.json()


async def test_the_examples_of_what_has_to_be_there_first_are_accepted(acme: httpx.AsyncClient) -> None:
    """Steps and changes, sent to what the other examples make."""
    run = (await acme.post("/v1/monitor/runs", json=BODIES["start_run"])).json()["run_id"]
    profile = (await acme.post("/v1/monitor/profiles", json=BODIES["create_profile"] | {"name": "other"})).json()["id"]
    pattern = (await acme.post("/v1/library/patterns", json=BODIES["create_pattern"])).json()["pattern_id"]
    finding = (await acme.post("/v1/findings/shop", json=BODIES["create_finding"])).json()["finding_id"]
    for name, method, path in (
        ("add_step", "POST", f"/v1/monitor/runs/{run}/steps"),
        ("finish_run", "POST", f"/v1/monitor/runs/{run}/finish"),
        ("change_profile", "PATCH", f"/v1/monitor/profiles/{profile}"),
        ("change_pattern", "PATCH", f"/v1/library/patterns/e1/{pattern}"),
        ("change_finding", "PATCH", f"/v1/findings/shop/{finding}"),
    ):
        answer = await acme.request(method, path, json=BODIES[name])
        assert answer.is_success, (name, answer.text)


async def test_the_example_of_a_lookup_finds_something(acme: httpx.AsyncClient) -> None:
    """In the starter library, and it is the pattern that the example of the answer shows."""
    (shown,) = ANSWERS["retrieve"]["200"]["traces"]
    (trace,) = (await acme.post("/v1/traces/retrieve", json=BODIES["retrieve"])).json()["traces"]
    assert set(trace) == set(shown)
    assert trace["pattern_id"] == shown["pattern_id"]
    assert trace["fields"]["title"] == shown["fields"]["title"]


async def test_the_page_is_served_with_a_policy_of_its_own(stranger: httpx.AsyncClient) -> None:
    """Only its own script and style, known by digest, may run."""
    answer = await stranger.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-security-policy"] == PAGE_POLICY
    assert answer.headers.get_list("content-security-policy") == [PAGE_POLICY]
    assert "unsafe" not in PAGE_POLICY
    assert PAGE_POLICY.count("'sha256-") == 2
    assert answer.content == PAGE


def test_the_page_loads_nothing_from_elsewhere() -> None:
    """It works on a machine without a network."""
    page = PAGE.decode()
    addresses = set(re.findall(r"https?://[^\s'\"<>]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"'](?!data:)", page)
    assert not re.search(r"\son\w+=\"|\sstyle=\"|innerHTML", page), "the policy forbids what is inline"
