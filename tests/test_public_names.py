"""The names that users rely on, pinned."""

import importlib
import inspect
import json
import subprocess
import sys
from importlib import resources

import pytest

import reasonblocks
from reasonblocks import ReasonBlocks
from reasonblocks.types import FSMState


def test_the_exported_names_are_these() -> None:
    """`reasonblocks` exports what it says, sorted, and nothing else."""
    assert reasonblocks.__all__ == sorted(reasonblocks.__all__, key=str.lower) or reasonblocks.__all__ == [
        "ReasonBlocks",
        "__version__",
    ]
    assert dir(reasonblocks) == ["ReasonBlocks", "__version__"]
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
        "data_dir spool_dir spool otel allow_insecure_http"
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
