"""Every example runs offline, as it lies in the repository, and shows what it says."""

from __future__ import annotations

import runpy
import sys
import tomllib
from pathlib import Path

import pytest

from support.otlp import Collector

EXAMPLES = Path(__file__).parents[2] / "examples"
ANSWER = "A session lasts 1800 seconds"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    """Run an example as `python examples/...` does."""
    return Runner(monkeypatch, capsys)


class Runner:
    """Runs examples, and gives what they print."""

    def __init__(self, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]) -> None:
        self._patch = patch
        self._captured = captured

    def __call__(self, name: str, *arguments: str) -> str:
        path = EXAMPLES / name
        self._patch.setattr(sys, "argv", [str(path), *arguments])
        self._patch.syspath_prepend(str(path.parent))
        runpy.run_path(str(path), run_name="__main__")
        return self._captured.readouterr().out


@pytest.mark.parametrize("name", ["async_agent.py", "sync_agent.py"])
def test_an_agent_is_steered_out_of_its_loop(run: Runner, name: str) -> None:
    """The monitor fires, its text is injected, and the agent finds the answer."""
    shown = run(name)
    assert "fired: semantic_loop 0.65" in shown
    assert "injected: MonitorSteeringInjection" in shown
    assert ANSWER in shown


def test_a_batch_shares_one_middleware(run: Runner) -> None:
    """All agents of the batch are steered, each by what it did itself, and every event is delivered."""
    shown = run("batch.py", "--runs", "12", "--at-once", "6")
    assert f"   12  {ANSWER}" in shown
    assert "interventions: {'semantic_loop': 12}" in shown
    assert "'enqueued': 84, 'sent': 84" in shown


def test_a_struggling_agent_gets_another_model(run: Runner) -> None:
    """Two hard thoughts, and the large model takes over."""
    models = [line.split()[-1] for line in run("model_routing.py").splitlines()]
    assert models == ["small", "small", "large", "large", "large", "large"]


def test_an_injection_of_ones_own_speaks_once(run: Runner) -> None:
    """The reminder comes when half of the budget is spent, once."""
    assert run("custom_injection.py").count("tokens are left") == 1


def test_observing_changes_nothing(run: Runner) -> None:
    """What would have been said is shown; the agent goes on as if nobody watched."""
    shown = run("observe_only.py")
    assert "MonitorSteeringInjection would have said" in shown
    assert ANSWER not in shown


def test_a_server_of_ones_own(run: Runner) -> None:
    """A server is started, gives its key, steers the agent and gets all events."""
    shown = run("own_server.py")
    assert ANSWER in shown
    assert "delivered: 7 events" in shown


def test_a_monitor_of_ones_own(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed, the monitor is asked like the six and fires; before that, the example says how to install it."""
    with pytest.raises(SystemExit, match="pip install"):
        run("own_monitor/watch.py")
    _install_own_monitor(tmp_path, monkeypatch)
    assert "fired: apologies 0.70" in run("own_monitor/watch.py")


def _install_own_monitor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pip leaves behind: the module on the path, and the entry point that the project file names."""
    project = tomllib.loads((EXAMPLES / "own_monitor/pyproject.toml").read_text())["project"]
    (group, entries) = next(iter(project["entry-points"].items()))
    info = folder / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items()))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(EXAMPLES / "own_monitor"))


def test_traces_go_to_a_collector(run: Runner) -> None:
    """The run is a trace there, with its model calls and its tools."""
    with Collector() as collector:
        run("jaeger.py", "--collector", collector.url)
        names = {span.name for span in collector.wait_for(12)}
    assert {"invoke_agent jaeger-example", "chat scripted", "execute_tool search_code"} <= names


def test_traces_go_to_honeycomb(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the key in a header; without one the example says what is missing."""
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "HONEYCOMB_API_KEY"):
        monkeypatch.setenv(name, "")  # so that what the example sets is undone
    with pytest.raises(SystemExit, match="HONEYCOMB_API_KEY is not set"):
        run("honeycomb.py")
    monkeypatch.setenv("HONEYCOMB_API_KEY", "k-51")
    with Collector() as collector:
        run("honeycomb.py", "--endpoint", collector.url)
        spans = collector.wait_for(12)
    assert {span.attributes.get("gen_ai.conversation.id") for span in spans if span.name.startswith("chat")} == {
        "honeycomb-example"
    }
    assert {sent.get("x-honeycomb-team") for sent in collector.headers} == {"k-51"}


def test_every_example_is_run_here() -> None:
    """No example lies about that these tests do not know."""
    own = Path(__file__).read_text()
    programs = [path for path in EXAMPLES.rglob("*.py") if "__main__" in path.read_text()]
    assert [path.name for path in programs if path.name not in own] == []
