"""What importing us takes, compared with what an agent imports anyway.

    python benchmarks/imports.py [--rounds 10]

Each import has a process of its own, and they take turns. Figures are medians: of the processor time, which other
programs on the machine hardly change, and of the time on the clock. What a bare interpreter takes is taken off.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

BAR = 1.15
NOTHING = "pass"
LANGCHAIN = "import langchain.agents"
WAYS = (
    NOTHING,
    LANGCHAIN,
    "import reasonblocks",
    "from reasonblocks import ReasonBlocks",
    "import langchain.agents; from reasonblocks import ReasonBlocks",
)
Figures = tuple[float, float]
"""Seconds of processor time, and on the clock."""


def main() -> None:
    """Print the table, and whether the bar is kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=10, help="the default is %(default)s")
    options = parser.parse_args()
    found = measured(options.rounds)
    base = found[LANGCHAIN]
    print(f"{'':64}{'processor':>10}{'ratio':>7}{'clock':>10}{'ratio':>7}")
    for way in WAYS[1:]:
        processor, clock = found[way]
        print(f"{way:64}{processor:8.3f} s{processor / base[0]:7.2f}{clock:8.3f} s{clock / base[1]:7.2f}")
    worst = max(found[way][0] / base[0] for way in WAYS[2:])
    print(f"\nat most {worst:.2f} times `{LANGCHAIN}` (bar: {BAR})")
    sys.exit(worst > BAR)


def measured(rounds: int) -> dict[str, Figures]:
    """Medians by statement, without the interpreter's own share; the first round warms the disk up."""
    taken: dict[str, list[Figures]] = {way: [] for way in WAYS}
    for place in range(rounds + 1):
        for way in WAYS if place % 2 else reversed(WAYS):
            figures = _cost(way)
            if place:
                taken[way].append(figures)
    bare = [statistics.median(some) for some in zip(*taken[NOTHING], strict=True)]
    return {
        way: tuple(statistics.median(some) - less for some, less in zip(zip(*figures, strict=True), bare, strict=True))
        for way, figures in taken.items()
    }  # type: ignore[return-value]  # two of them


def _cost(statement: str) -> Figures:
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", statement], stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{statement!r} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - began


if __name__ == "__main__":
    main()
