"""docs/api.md: every route of the OpenAPI document, with an example that a real server answers."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
from pathlib import Path
from typing import Any

from docs.blocks import ROOT, Block, block_with, blocks, executes
from reasonblocks.server.document import document
from server.process import running

PAGE = ROOT / "docs" / "api.md"
ADMIN_KEY = "an-admin-key-for-the-page"
TIMED_OUT = 28
"""How curl ends where it was told for how long to listen."""
EXAMPLES = blocks("sh", page="docs/api.md")
VARIABLES = block_with("export RB=", "docs/api.md")
MADE_BY = {
    "PROFILE": ("create_profile", "id"),
    "PATTERN": ("create_pattern", "pattern_id"),
    "FINDING": ("create_finding", "finding_id"),
}
"""The variables of the examples: the operation whose answer has the id, and what it is called there."""


def test_the_page_is_what_the_document_says() -> None:
    """It was written by `make pages` after the last change of any route."""
    page = runpy.run_path(str(ROOT / "tools" / "api_page.py"))["page"]()
    assert PAGE.read_text() == page, "docs/api.md is behind the server: run `make pages`"


def examples() -> dict[str, tuple[Block, dict[str, Any]]]:
    """The example of each operation, with what the document says about it."""
    paths = json.loads(document())["paths"]
    operations = {f"{method.upper()} {path}": one for path, item in paths.items() for method, one in item.items()}
    headings = [(match[1], match.start()) for match in re.finditer(r"^### `(.*)`$", PAGE.read_text(), re.MULTILINE)]
    assert sorted(name for name, _ in headings) == sorted(operations)
    lines = [PAGE.read_text().count("\n", 0, place) + 1 for _, place in headings]
    own = [block for block in EXAMPLES if block.line > lines[0]]
    assert len(own) == len(headings), "a route has one example"
    return {
        operations[name]["operationId"]: (block, operations[name])
        for (name, _), block in zip(headings, own, strict=True)
    }


class Shell:
    """Somebody who types the examples."""

    def __init__(self, url: str, home: Path) -> None:
        (home / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\nmax-time = 30\n")
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
        }
        # What the page has set first, with the address and the key that the server has here.
        said = self.type(f'{VARIABLES.text}\necho "$RB"; echo "$AUTH"; echo "$JSON"').splitlines()
        assert said[0] == "http://127.0.0.1:8484"
        self._environment |= {"RB": url, "AUTH": said[1].replace("rb_live_...", ADMIN_KEY), "JSON": said[2]}

    def type(self, command: str, **variables: str) -> str:
        """What a command prints; it ends well, or when it was told to."""
        done = subprocess.run(
            ["bash", "-euc", command], capture_output=True, text=True, env=self._environment | variables
        )
        assert done.returncode in (0, TIMED_OUT if " -m " in command else 0), f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout


@executes(*EXAMPLES, together=True)
def test_every_example_is_answered(tmp_path: Path) -> None:
    """By a server in a process of its own; what comes back has the fields that the page names, and no others."""
    found = examples()
    schemas = json.loads(document())["components"]["schemas"]
    with running(":memory:", KEYS=ADMIN_KEY) as server:
        shell = Shell(server.url, tmp_path)
        shell.type(found["start_run"][0].text)
        for name, (block, operation) in found.items():
            text = block.text
            if name == "create_profile":
                text = text.replace('"careful"', '"careful-too"')  # the name is taken by the one made for the others
            told = {variable: _made(shell, found, variable) for variable in MADE_BY if f"${variable}" in block.text}
            answer = shell.type(text, **told)
            _check(answer, operation, schemas)


def _made(shell: Shell, found: dict[str, tuple[Block, dict[str, Any]]], variable: str) -> str:
    """The id of something new, for an example that changes or deletes it."""
    operation, field = MADE_BY[variable]
    command = found[operation][0].text.replace('"careful"', f'"careful-{os.urandom(4).hex()}"')
    return str(json.loads(shell.type(command))[field])


def _check(answer: str, operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    content = next(one for status, one in operation["responses"].items() if status < "300")["content"]
    if "application/json" not in content:
        assert answer.startswith("event: ready\n"), answer
        return
    schema, value = content["application/json"]["schema"], json.loads(answer)
    if schema.get("type") == "array":
        schema, value = schema["items"], value[0]
    known = schemas[schema["$ref"].rpartition("/")[2]]
    assert set(known["required"]) <= set(value) <= set(known["properties"]), operation["operationId"]
