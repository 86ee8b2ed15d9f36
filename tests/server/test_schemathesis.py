"""Whatever fits the document, and much that does not: no 5xx, and no answer that the document does not have."""

from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi import checks

from reasonblocks.server.document import build
from server.process import ServerProcess, running

KEY = "schemathesis-admin-key"
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.unsupported_method,
    checks.allow_header_conformance,
]
config = SchemathesisConfig()
config.projects.default.update(headers={"Authorization": f"Bearer {KEY}"})
# A body that is too large is refused before anybody looks at its shape.
config.projects.default.checks.negative_data_rejection.expected_statuses = ["4xx"]
schema = schemathesis.openapi.from_dict(build(), config=config).exclude(operation_id="stream")  # one that never ends


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """Limits are tested elsewhere; here they would only be in the way."""
    with running(":memory:", KEYS=KEY, ANONYMOUS_RATE="1e6", ANONYMOUS_BURST="1000000") as server:
        yield server


def examine(case: Any, server: ServerProcess) -> None:
    """Send one request, and look at all of its answer."""
    response = case.call(base_url=server.url, timeout=30)
    case.validate_response(response, checks=CHECKS)


@schema.parametrize()
@hypothesis.settings(max_examples=5, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
def test_no_answer_surprises(case: Any, server: ServerProcess) -> None:
    """A short look at every operation."""
    examine(case, server)


@pytest.mark.slow
@schema.parametrize()
@hypothesis.settings(max_examples=200, suppress_health_check=list(hypothesis.HealthCheck))
def test_no_answer_surprises_for_long(case: Any, server: ServerProcess) -> None:
    """A long look at every operation."""
    examine(case, server)
