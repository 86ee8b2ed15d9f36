"""What the demo's agent works on: a small service's files, and two tools to look at them."""

from langchain_core.tools import BaseTool, tool

QUESTION = "How long does a session of a signed-in user last in this service?"

FILES = {
    "web/login.py": (
        "def sign_in(user, response):\n"
        "    session = start_session(user)\n"
        "    # how long a session lives is decided where the service is deployed\n"
        "    response.set_cookie(COOKIE, session.token, max_age=settings.COOKIE_MAX_AGE)\n"
    ),
    "docs/accounts.md": (
        "# Accounts\nUsers sign in with a password or a passkey.\nA session ends when the user signs out.\n"
    ),
    "deploy/app.env": "WORKERS=4\nCOOKIE_MAX_AGE=1800\nLOG_LEVEL=info\n",
}


@tool
def search_code(query: str) -> str:
    """Search all files for lines with any word of the query."""
    words = query.lower().split()
    found = [
        f"{path}:{number}: {line.strip()}"
        for path, text in FILES.items()
        for number, line in enumerate(text.splitlines(), 1)
        if any(word in line.lower() for word in words)
    ]
    return "\n".join(found) or "no matches"


@tool
def read_file(path: str) -> str:
    """Read one file."""
    return FILES.get(path, f"error: there is no file {path!r}; there are {', '.join(FILES)}")


TOOLS: list[BaseTool] = [search_code, read_file]
