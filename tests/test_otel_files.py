"""C42: what `otel/` holds works as far as can be told without a network: syntax, wiring, names, and the script."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from reasonblocks.telemetry import semantics

HOUSE = Path(__file__).parents[1]
OTEL = HOUSE / "otel"
PAGES = [OTEL / "README.md", HOUSE / "docs" / "telemetry.md", *sorted(OTEL.glob("*.yaml"))]
NAMES = {value for name, value in vars(semantics).items() if name.isupper() and isinstance(value, str)}
WRITTEN = re.compile(r"\b(?:gen_ai|reasonblocks)\.[a-z][a-z0-9_.]*[a-z0-9]")
FILES = {"reasonblocks.telemetry", "reasonblocks.step"}
"""Written with a star behind them, for all that begin so."""


def loaded(name: str) -> Any:
    return yaml.safe_load((OTEL / name).read_text())


def collector_settings(*names: str) -> dict[str, Any]:
    """The configuration as the collector merges it: maps into each other, lists replaced."""

    def merged(below: Any, above: Any) -> Any:
        if isinstance(below, dict) and isinstance(above, dict):
            return {key: merged(below.get(key), above[key]) if key in above else below[key] for key in below | above}
        return above

    result: dict[str, Any] = {}
    for name in names:
        result = merged(result, loaded(name))
    return result


@pytest.mark.parametrize("names", [("collector.yaml",), ("collector.yaml", "honeycomb.yaml")])
def test_c42_the_collectors_pipelines_are_wired(names: tuple[str, ...]) -> None:
    """Every receiver, processor and exporter of a pipeline is configured, and memory is limited first of all."""
    settings = collector_settings(*names)
    assert set(settings["service"]["pipelines"]) == {"traces", "metrics"}
    for pipeline in settings["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert pipeline[kind], kind
            assert set(pipeline[kind]) <= set(settings[kind])
        assert pipeline["processors"][0] == "memory_limiter"
        assert pipeline["processors"][-1] == "batch"


def test_c42_traces_go_to_jaeger_and_to_honeycomb() -> None:
    """Jaeger is reached by its name in the compose network, Honeycomb with a key from the environment."""
    settings = collector_settings("collector.yaml", "honeycomb.yaml")
    assert settings["service"]["pipelines"]["traces"]["exporters"] == ["otlp_grpc/jaeger", "otlp_http/honeycomb"]
    assert settings["exporters"]["otlp_grpc/jaeger"]["endpoint"].split(":")[0] in loaded("compose.yaml")["services"]
    assert settings["exporters"]["otlp_http/honeycomb"]["headers"] == {"x-honeycomb-team": "${env:HONEYCOMB_API_KEY}"}


def test_c42_compose_starts_both() -> None:
    """The images are pinned, the ports are those of the README and open to this machine alone, the files are there."""
    services = loaded("compose.yaml")["services"]
    assert set(services) == {"jaeger", "collector"}
    for service in services.values():
        assert re.search(r":\d+\.\d+\.\d+$", service["image"])
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    published = {port.split(":")[1] for service in services.values() for port in service["ports"]}
    assert published == {"16686", "4317", "4318"}
    assert (OTEL / "collector.yaml").exists()
    assert services["collector"]["command"][0].endswith("/collector.yaml")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_c42_pages_name_what_we_emit(page: Path) -> None:
    """Every attribute, event, span and metric that a page names is one of ours."""
    written = set(WRITTEN.findall(page.read_text()))
    assert {name for name in written - FILES if name not in NAMES} == set()
