"""The house stands as `docs/architecture.md` draws it: imports go downward only, and deciding never does."""

import ast
from pathlib import Path

import pytest

import reasonblocks

SOURCE = Path(reasonblocks.__file__).parent

FLOORS = [
    {"_version", "errors", "limits", "location", "secret", "types"},
    {"fsm", "recordings", "sanitize", "settings"},
    {"format_routing", "runtime"},
    {"engine"},
    {"api"},
    {"injections"},
    {"steering"},
    {"telemetry", "messages", "invocation"},
    {"run"},
    {"registry"},
    {"identity", "call", "naming", "scope"},
    {"admission"},
    {"middleware"},
    {"client"},
    {"server", "demo", "replay", "testing"},
    {"report"},
    {"commands"},
    {"cli"},
    {"__init__", "__main__"},
]
"""From the cellar up; a room may import from the floors below it and from itself."""

FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
WAITING_MODULES = {"asyncio", "anyio", "httpx", "aiohttp", "threading", "socket", "time", "concurrent"}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """The rooms of our own package that a module imports, relative dots resolved."""
    package = ["reasonblocks", *path.relative_to(SOURCE).parts[:-1]]
    rooms: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            target = [*base, *(node.module or "").split(".")] if node.module else base
            if target[:1] != ["reasonblocks"]:
                continue
            rooms |= {target[1]} if len(target) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            rooms |= {name.name.split(".")[1] for name in node.names if name.name.startswith("reasonblocks.")}
    return rooms


def test_every_room_has_a_floor() -> None:
    """A new module has to be given its place before it lands."""
    assert {room_of(path) for path in modules()} - set(FLOOR_OF) == set()


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_downward_only(path: Path) -> None:
    """A module imports from its own room and from floors below, never from above or beside."""
    room = room_of(path)
    upward = {
        other for other in imported_rooms(path) - {room} if other in FLOOR_OF and FLOOR_OF[other] >= FLOOR_OF[room]
    }
    assert upward == set()


@pytest.mark.parametrize("path", sorted((SOURCE / "steering").glob("*.py")), ids=lambda path: path.name)
def test_steering_never_waits(path: Path) -> None:
    """The room that decides has no await, no clock, no thread and no network."""
    tree = ast.parse(path.read_text())
    waiting = [node for node in ast.walk(tree) if isinstance(node, ast.Await | ast.AsyncFunctionDef | ast.AsyncFor)]
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    assert waiting == []
    assert imported & WAITING_MODULES == set()


def test_the_middleware_holds_no_state_of_a_run() -> None:
    """What the middleware sets on itself after construction is bookkeeping, not the state of a run."""
    tree = ast.parse((SOURCE / "middleware.py").read_text())
    assigned = {
        target.attr
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.name != "__init__"
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    }
    assert assigned == {"_warned_about_loop"}
