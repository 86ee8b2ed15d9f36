"""Versions of what we build on, and what is there for OpenTelemetry."""

import os
import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec

from ..._version import __version__
from .finding import Finding, ok, problem, warning

FRAMEWORKS = ("langchain", "langchain-core", "langgraph")
_SDK = "opentelemetry-sdk"
_EXPORTERS = ("opentelemetry-exporter-otlp-proto-http", "opentelemetry-exporter-otlp-proto-grpc")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def frameworks() -> Iterator[Finding]:
    """Whether LangChain and LangGraph are of a version that we know."""
    from packaging.requirements import Requirement

    yield ok("version", f"reasonblocks {__version__} on Python {platform.python_version()}")
    needed = {found.name: found for found in map(Requirement, requires("reasonblocks") or ())}
    for name in FRAMEWORKS:
        installed = version(name)
        wanted = needed[name].specifier if name in needed else None
        if wanted is not None and not wanted.contains(installed, prereleases=True):
            yield problem("version", f"{name} is {installed}; expected {wanted}", f"run pip install '{name}{wanted}'")
        else:
            yield ok("version", f"{name} {installed}")


def telemetry() -> Iterator[Finding]:
    """Whether spans could leave this machine, as far as packages and variables tell."""
    topic = "OpenTelemetry"
    if _version(_SDK) is None:
        yield ok(topic, f"no {_SDK} is installed: no spans are made, which costs nothing")
        return
    exporters = [name for name in _EXPORTERS if _version(name)]
    endpoint = next((f"{name}={os.environ[name]}" for name in _ENDPOINTS if os.environ.get(name)), None)
    yield ok(topic, f"{_SDK} {_version(_SDK)}")
    if not exporters:
        yield warning(
            topic, "no OTLP exporter is installed, so spans stay in the process", f"run pip install {_EXPORTERS[0]}"
        )
    elif endpoint is None:
        yield ok(
            topic,
            f"{exporters[0]} {_version(exporters[0])}; spans go where your program's provider or otel= sends them, "
            f"or to {_ENDPOINTS[1]} if that is set, and else nowhere",
        )
    else:
        yield ok(topic, f"{exporters[0]} {_version(exporters[0])}, {without_userinfo(endpoint)}")
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield warning(topic, "OTEL_SDK_DISABLED is true: no spans leave", "unset it")


def extras() -> Iterator[Finding]:
    """Whether what the engine needs is installed."""
    from ...engine import PACKAGES

    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        yield problem("engine", f"not installed: {', '.join(missing)}", "run pip install 'reasonblocks[engine]'")
    else:
        yield ok("engine", "the packages of the extra `engine` are installed")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def without_userinfo(address: str) -> str:
    """An address that gives no password away."""
    return re.sub(r"//[^/@]*@", "//***@", address)
