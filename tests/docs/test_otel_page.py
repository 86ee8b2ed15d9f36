"""otel/README.md: its commands send what it says, to a collector on the port that it names."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from docs.blocks import ROOT, block_with, executes
from docs.shell import Shell, alone_on
from support.elsewhere import Elsewhere
from support.otlp import Collector, Span

PAGE = "otel/README.md"
OTLP = 4318
"""The port that a collector has."""
JAEGER = block_with("REASONBLOCKS_OTEL=http://localhost:4318", PAGE)
HONEYCOMB = block_with("https://api.honeycomb.io", PAGE)
SEND = block_with("otel/send_a_run.py", PAGE)
PICTURE = block_with("invoke_agent demo", PAGE)
HEADER = "x-honeycomb-team"
NAMES = re.compile(r"\b(?:gen_ai|reasonblocks)\.[a-z_.]+")


def drawn(text: str) -> list[tuple[list[str], set[str]]]:
    """What the picture has: each span with those it is below, from the outermost one on, and its attributes."""
    found, above = [], []
    for line in text.splitlines():
        if line.strip() == "...":
            continue
        name, *about = re.split(r"\s{3,}", line.strip())
        depth = (len(line) - len(line.lstrip())) // 2
        above = [*above[:depth], name]
        found.append((above, set(NAMES.findall(" ".join(about)))))
    return found


def path_of(span: Span, known: dict[str, Span]) -> list[str]:
    """The names of the spans that one is below, and its own."""
    parent = known.get(span.parent_id)
    return [*([] if parent is None else path_of(parent, known)), span.name]


@pytest.mark.slow
@executes(JAEGER, PICTURE, together=True)
def test_the_demo_sends_what_the_picture_shows(shell: Shell) -> None:
    """Each span of it has arrived, below those it is drawn below, with the attributes that stand beside it."""
    with alone_on(OTLP), Collector(OTLP) as collector:
        shell.type(JAEGER.text)
        known = {span.span_id: span for span in collector.spans}
        assert collector.metrics() == {}
    for path, attributes in drawn(PICTURE.text):
        there = [span for span in known.values() if path_of(span, known) == path]
        assert any(attributes <= set(span.attributes) for span in there), (path, attributes)


@pytest.mark.slow
@executes(SEND, together=True)
def test_c42_the_script_sends_a_run(shell: Shell) -> None:
    """`send_a_run.py` runs offline and its trace arrives, with the monitor that turned the agent round."""
    with alone_on(OTLP), Collector(OTLP) as collector:
        said = Shell(shell.home, ROOT).type(SEND.text)
        assert [span.name for span in collector.named("invoke_agent")] == ["invoke_agent demo"]
        assert [span for span in collector.spans if "reasonblocks.step.monitors_fired" in span.attributes]
        assert {span.attributes["gen_ai.conversation.id"] for span in collector.named("chat")} == {"otel-demo"}
    assert "steps were sent" in said


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl here that could make a certificate")
@executes(HONEYCOMB, together=True)
def test_the_demo_is_sent_to_honeycomb(shell: Shell, tmp_path: Path) -> None:
    """To its address and with the key in a header; that the address leads to a collector here is the proxy's doing."""
    with Collector() as collector, Elsewhere("api.honeycomb.io", collector.port, tmp_path) as elsewhere:
        variables = {
            "HONEYCOMB_API_KEY": "a-key-of-ones-own",
            "HTTPS_PROXY": elsewhere.proxy,
            "REQUESTS_CA_BUNDLE": str(elsewhere.certificate),
        }
        Shell(shell.home, **variables).type(HONEYCOMB.text)
        assert collector.named("invoke_agent demo")
        keys = [value for headers in collector.headers for name, value in headers.items() if name.lower() == HEADER]
    assert set(keys) == {"a-key-of-ones-own"}
