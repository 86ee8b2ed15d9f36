"""C42: a viewer that knows the conventions understands our spans. Arize Phoenix, in an environment of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain.agents import create_agent

from reasonblocks import ReasonBlocks
from support.agents import ScriptedModel, lookup, script
from support.standin import Standin, inject

ENVIRONMENT = Path(__file__).parents[1] / ".venv-phoenix"
INSTALL = "python3 -m venv .venv-phoenix && .venv-phoenix/bin/pip install arize-phoenix"
STARTS_WITHIN, SHOWS_WITHIN = 180.0, 30.0


def free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


@pytest.fixture
def phoenix(tmp_path: Path) -> Iterator[str]:
    """A Phoenix of the test's own; gives its address."""
    if not (ENVIRONMENT / "bin" / "phoenix").exists():
        pytest.skip(f"Phoenix is not installed; to have this test run: {INSTALL}")
    port = free_port()
    settings = {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": port,
        "PHOENIX_GRPC_PORT": free_port(),
        "PHOENIX_WORKING_DIR": str(tmp_path),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            [str(ENVIRONMENT / "bin" / "phoenix"), "serve"], env=os.environ | settings, stdout=log, stderr=log
        )
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(lambda: httpx.get(f"{url}/healthz").is_success, STARTS_WITHIN)
            yield url
        finally:
            server.terminate()
            server.wait(30)


def wait_for(met: Any, seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    while True:
        try:
            if found := met():
                return found
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, "Phoenix took too long"
        time.sleep(0.5)


@pytest.mark.slow
def test_c42_phoenix_shows_a_run(phoenix: str, standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Phoenix has the whole run: it tells agent, model and tool apart, counts tokens once, groups by conversation."""
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")  # Phoenix takes traces only
    standin.evaluate = lambda steps, body: inject("Look closer.")
    with ReasonBlocks(standin.key, base_url=standin.url, otel=phoenix, step_timeout=10.0) as rb:
        agent = create_agent(ScriptedModel(script(2)), [lookup], middleware=[rb.middleware(agent_name="fixer")])
        agent.invoke({"messages": [("user", "Find it.")]}, {"configurable": {"thread_id": "thread-1"}})

    def shown() -> Any:
        spans = httpx.get(f"{phoenix}/v1/projects/default/spans", params={"limit": 100}).json().get("data", [])
        return spans if any(span["name"] == "invoke_agent fixer" for span in spans) else None

    spans = wait_for(shown, SHOWS_WITHIN)
    assert Counter(span["name"] for span in spans) == {
        "invoke_agent fixer": 1,
        "chat claude-sonnet-4-5": 3,
        "execute_tool lookup": 2,
        "reasonblocks.evaluate": 2,
        "reasonblocks.retrieve E1": 1,
        "reasonblocks.retrieve E2": 1,
        "reasonblocks.retrieve E3": 1,
    }
    kinds = {
        span["name"].split()[0]: span["span_kind"] for span in spans if not span["name"].startswith("reasonblocks")
    }
    assert kinds == {"invoke_agent": "AGENT", "chat": "LLM", "execute_tool": "TOOL"}
    assert sum(span["attributes"].get("llm.token_count.prompt", 0) for span in spans) == 300
    assert {span["attributes"].get("session.id") for span in spans if "gen_ai.agent.name" in span["attributes"]} == {
        "thread-1"
    }
    scores = [event for span in spans for event in span["events"] if event["name"] == "gen_ai.evaluation.result"]
    assert len(scores) == 12
