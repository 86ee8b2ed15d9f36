"""The page to try the routes: one file that loads nothing from anywhere else, and the policy that holds it to that."""

import base64
import hashlib
import re
from importlib.resources import files

_INLINE = re.compile(rb"<(script|style)>(.*?)</\1>", re.DOTALL)

PAGE = files(__package__).joinpath("page.html").read_bytes()


def _policy(page: bytes) -> str:
    """Only the page's own script and style run, known by their digests; it may talk to its own server only."""
    digests: dict[str, list[str]] = {"script": [], "style": []}
    for kind, content in _INLINE.findall(page):
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        digests[kind.decode()].append(f"'sha256-{digest}'")
    return (
        f"default-src 'none'; script-src {' '.join(digests['script'])}; style-src {' '.join(digests['style'])}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


PAGE_POLICY = _policy(PAGE)
