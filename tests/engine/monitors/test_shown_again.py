"""semantic_loop: commands in a row that show the same, whatever they are made of; and what only looks like them."""

import json
from collections.abc import Sequence

import pytest

from reasonblocks.engine.monitors.features import ObservedStep, read_step
from reasonblocks.engine.monitors.semantic_loop import SemanticLoop

Calls = Sequence[tuple[str, str]]
LINES = (
    "def mix(self, colours):",
    "    total = sum(share for _, share in colours)",
    "    if not total:",
    "        raise EmptyPalette(self.name)",
    "    return [(name, share / total) for name, share in colours]",
)
FILES = ("palette.py", "swatch.py", "gamut.py", "render.py")
TESTS = "=== test session starts ===\nplatform linux\ncollected 9 items\n\ntests/test_mix.py ......... [100%]\n"


def numbered(mark: str, first: int = 30) -> str:
    """The lines with their numbers, as some tools print them."""
    return "\n".join(f"{first + at}{mark}{line}" for at, line in enumerate(LINES))


def scores(calls: Calls, action: str = "bash") -> list[float]:
    """What the monitor itself has to show after each step."""
    state = SemanticLoop().start("The mixed colours come out too dark.")
    steps = [ObservedStep("", action, json.dumps({"command": command}), result) for command, result in calls]
    return [state.observe(read_step(index, step)).score for index, step in enumerate(steps)]


LOOPS: dict[str, Calls] = {
    "the same lines": (
        ("sed -n 30,34p paint/palette.py", "\n".join(LINES)),
        ("nl -ba paint/palette.py | sed -n 29,34p", "    29\t\n" + numbered("\t")),
        ("head -34 paint/palette.py | tail -5", "\n".join(LINES)),
        ("grep -n -A4 'def mix' paint/palette.py", numbered("-")),
    ),
    "the same listing": (
        ("ls paint", "\n".join(FILES)),
        ("find paint -name '*.py'", "\n".join(f"paint/{name}" for name in FILES)),
        ("ls -1 paint/*.py", "\n".join(f"paint/{name}" for name in FILES)),
        ("ls -la paint", "\n".join(f"-rw-r--r-- 1 ann ann 2210 May 4 10:12 {name}" for name in FILES)),
        ("tree paint", "paint\n" + "\n".join(FILES)),
    ),
    "the same tests with other flags": tuple(
        (f"pytest {flag} tests/test_mix.py", f"{TESTS}\n=== 9 passed in 0.{at}1s ===")
        for at, flag in enumerate(("", "-x", "--tb=short", "-p no:cacheprovider"))
    ),
    "the same question in code": (
        ('python -c "from paint.palette import Palette; p = Palette(size=3); print(p.shares())"', "[5, 3, 2]"),
        (
            "python -c \"from paint.palette import Palette; print('shares', Palette(size=3).shares())\"",
            "shares [5, 3, 2]",
        ),
        ('python -c "import paint.palette as m; q = m.Palette(size=3).shares(); print(q == [5, 3, 2])"', "True"),
        ('python -c "from paint.palette import Palette; print(list(Palette(size=3).shares()))"', "[5, 3, 2]"),
    ),
}
OTHERS: dict[str, Calls] = {
    "one page after the other": [
        (f"sed -n {at},{at + 3}p paint/gamut.py", "\n".join(f"edge_{n} = clip_{n}(red_{n})" for n in range(at, at + 4)))
        for at in range(1, 24, 4)
    ],
    "a bit further each time": [
        (f"sed -n {at},{at + 5}p paint/gamut.py", "\n".join(f"edge_{n} = clip_{n}(red_{n})" for n in range(at, at + 6)))
        for at in range(1, 12, 2)
    ],
    "all of it and then this and that": (
        ("cat paint/palette.py", "\n".join(LINES)),
        *[(f"grep -n {word} paint/palette.py", numbered(":").split("\n")[at]) for at, word in enumerate("abcde")],
    ),
    "files with the same text": [
        (f"cat conf/{name}.ini", "[paint]\ngamma = 2.2\nspace = linear\nclip = yes\n")
        for name in ("dev", "test", "live", "ci")
    ],
    "tests of other files": [
        (f"pytest tests/test_{name}.py", f"{TESTS.replace('mix', name)}\n=== 9 passed in 0.31s ===")
        for name in ("mix", "clip", "swatch", "render")
    ],
    "a trial with other values": [
        (f'python -c "from paint.names import is_colour; print(is_colour({word!r}))"', "False")
        for word in ("rde", "blu", "", "#12", "grren")
    ],
    "a trial with other figures": [
        (f'python -c "from paint.palette import Palette; print(Palette(size={at}).is_full())"', "False")
        for at in range(5)
    ],
    "the other answer": (
        *LOOPS["the same question in code"][:3],
        ('python -c "from paint.palette import Palette; print(Palette(size=3).shares() != [5, 3, 2])"', "False"),
    ),
    "a change in between": (
        *LOOPS["the same lines"][:2],
        ("sed -i 's/total:/total > 0:/' paint/palette.py", ""),
        *LOOPS["the same lines"][2:],
    ),
    "the same command for something that goes on": [("tail -2 build.log", "step 4 of 9\nlinking the gamut")] * 3,
}


@pytest.mark.parametrize("calls", LOOPS.values(), ids=LOOPS)
def test_the_fourth_command_that_shows_nothing_new_is_a_loop(calls: Calls) -> None:
    """Other tools, other flags, other code: what comes out is what was there."""
    assert max(scores(calls[:2])) < 0.6
    assert scores(calls)[-1] >= 0.6


@pytest.mark.parametrize("calls", OTHERS.values(), ids=OTHERS)
def test_commands_that_show_something_else_are_none(calls: Calls) -> None:
    """Further lines, other files, other values, another answer, a new state of things."""
    assert max(scores(calls)) < 0.6


def test_records_that_are_alike_are_other_records() -> None:
    """A tool of its own is told which one it is to show."""
    calls = [(f"K{at}", '{"name": "Ann Roe", "city": "Leeds", "plan": "basic", "open": true}') for at in range(5)]
    assert max(scores(calls, "get_customer")) < 0.6
