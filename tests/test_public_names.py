"""The names that users rely on, pinned."""

import importlib
import inspect
import json
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

import reasonblocks
from reasonblocks import ReasonBlocks
from reasonblocks.types import FSMState


def test_the_exported_names_are_these() -> None:
    """`reasonblocks` exports what it says, sorted, and nothing else."""
    assert reasonblocks.__all__ == sorted(reasonblocks.__all__)
    assert dir(reasonblocks) == ["ReasonBlocks", "SQLiteMonitorSink", "__version__"]
    assert [name for name in reasonblocks.__all__ if not hasattr(reasonblocks, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        reasonblocks.Nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "types",
            "ETrace FSMState InjectionNotice MonitorEvaluation PendingInjection StepLogEntry StepRecord TraceState",
        ),
        ("api", "ReasonBlocksAPI"),
        ("fsm", "DifficultyFSM"),
        ("format_routing", "render_pattern"),
        ("injections", "BaseInjection E1Injection E2Injection E3Injection MonitorSteeringInjection"),
        ("injections.base", "BaseInjection"),
        ("injections.e1", "E1Injection"),
        ("injections.e2", "E2Injection"),
        ("injections.e3", "E3Injection"),
        ("injections.monitor_steering", "MonitorSteeringInjection"),
        ("errors", "AmbiguousRun ReasonBlocksError Rejected SettingsError Unavailable"),
    ],
)
def test_public_paths_hold_their_names(module: str, names: str) -> None:
    """Every public import path of the contract works."""
    found = importlib.import_module(f"reasonblocks.{module}")
    assert [name for name in names.split() if not hasattr(found, name)] == []


def test_the_schema_is_shipped() -> None:
    """The pattern schema lies where the contract says."""
    schema = resources.files("reasonblocks").joinpath("schemas/pattern_schema.json").read_text()
    assert json.loads(schema)["$schema"]


def parameters(function: object) -> str:
    return " ".join(list(inspect.signature(function).parameters))  # type: ignore[arg-type]


def test_the_constructor_takes_these_arguments() -> None:
    """The settings of the contract, all but the key by name only."""
    assert parameters(ReasonBlocks) == (
        "api_key base_url step_timeout e_traces_enabled monitors_enabled live_streaming_enabled steer task_profile "
        "monitor_weights model_routing fsm_thresholds token_budget cache_control injections redact on_injection "
        "data_dir otel allow_insecure_http sinks spool_dir spool"
    )
    kinds = {p.kind for name, p in inspect.signature(ReasonBlocks).parameters.items() if name != "api_key"}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


def test_middleware_takes_these_arguments() -> None:
    """What a run is called and told about, by name only."""
    assert parameters(ReasonBlocks.middleware) == (
        "self run_id agent_name task framework model codebase_id org_id project_id task_profile metadata"
    )


def test_the_states_are_upper_case() -> None:
    """FSM states are their own names."""
    assert [state.value for state in FSMState] == ["INIT", "NORMAL", "FAST", "SLOW", "SKIP", "END"]


def test_types_need_no_langchain() -> None:
    """Plain data can be imported without the price of LangChain or of an HTTP client."""
    heavy = "[name for name in ('langchain', 'httpx') if name in sys.modules]"
    check = f"import sys, reasonblocks.types, reasonblocks.fsm; print({heavy})"
    shown = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_a_replay_needs_no_http_client() -> None:
    """Who names no server does not wait until what would talk to one is loaded."""
    check = "import sys, reasonblocks.replay.work; print('httpx' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("installed", "says"), [("0.3.27", "langchain 0.3.27 is installed"), (None, "is not installed")]
)
def test_an_old_langchain_is_named_with_the_command_that_helps(
    tmp_path: Path, installed: str | None, says: str
) -> None:
    """Where LangChain is too old or not there, the error says which version is, and what to run."""
    (tmp_path / "langchain").mkdir()
    (tmp_path / "langchain" / "__init__.py").touch()
    if installed:
        information = tmp_path / f"langchain-{installed}.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Name: langchain\nVersion: {installed}\n")
    hide = "import importlib.metadata as m; old = m.version\n" + (
        "" if installed else "def gone(name): raise m.PackageNotFoundError(name)\nm.version = gone\n"
    )
    check = hide + "try:\n    from reasonblocks import ReasonBlocks\nexcept ImportError as error:\n    print(error)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    shown = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True, env=environment
    ).stdout
    assert says in shown
    assert "pip install --upgrade 'langchain>=1.4,<2'" in shown
