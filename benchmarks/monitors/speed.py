"""How fast the monitors are: whole replays of recorded runs, and whether a step of a long run costs more.

    python benchmarks/monitors/speed.py DATA_DIR [--runs N]

DATA_DIR has recorded runs, one set per file (*.jsonl or *.jsonl.gz). All times are processor time of one process. For
each set: the steps that `reasonblocks.replay` gets through in a second, of runs that it has never seen, as the command
does, and of the same runs again, when what is kept of words and sentences is there (the fastest of several times). Then
how many times as much one more step costs at the end of a run of 300 steps as at the end of one of 30. Both ends have
the same texts and take turns.

Steps per second depend on the machine and on how its Python was built. So the same run tells what one step of a bare
LangChain agent takes, whose model answers at once and which has no middleware at all, and how much of that a step of
a replay is: that ratio is what may be compared from one machine to another.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from time import process_time

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for what all benchmarks share

from costing.load import TASK, Worker, look_up
from langchain.agents import create_agent

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.registry import BUILT_IN
from reasonblocks.engine.monitors.suite import MonitorSuite
from reasonblocks.recordings import RecordedRun, read_runs
from reasonblocks.replay.player import Player
from reasonblocks.replay.work import collecting_rarely

ROUNDS = 5
SHORT, LONG = 30, 300
MEASURED = 20
"""The newest steps of a run, whose cost is compared."""
PAIRS = 41
"""How often the ends of a short and of a long run are compared."""
AGENT_STEPS, AGENTS = 50, 5
"""Of the bare agent, and how often it runs around each set."""


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=20, help="of each set; the default is %(default)s")
    options = parser.parse_args()
    print(f"{'':38}steps per second and core")
    print(f"{'set':24}{'runs':>6}{'steps':>8}{'first time':>14}{'again':>12}")
    texts: list[ObservedStep] = []
    lines: list[tuple[int, int, float, float]] = []
    bare_agents(1)
    bare = bare_agents(AGENTS)
    for path in sorted(options.data.glob("*.jsonl*")):
        runs = list(islice(read_runs(path), options.runs))
        line = len(runs), sum(len(run.steps) for run in runs), *replays(runs)
        tell(path.name.partition(".")[0], *line)
        lines.append(line)
        texts += observed(runs)
        bare += bare_agents(AGENTS)
    all_runs, all_steps, first, again = zip(*lines, strict=True)
    tell("all", sum(all_runs), sum(all_steps), sum(first), sum(again))
    agent, steps = median(bare), sum(all_steps)
    print(f"\nOne step of a bare LangChain agent takes {agent * 1e6:,.0f} us, the median of {len(bare)} runs.")
    shares = [sum(taken) / steps / agent for taken in (first, again)]
    print(f"A step of a replay takes {shares[0]:.2f} of that the first time, and {shares[1]:.2f} again.")
    short, long = ends(texts)
    print(f"\nOne more step costs {short * 1e6:.0f} us after {SHORT} steps and {long * 1e6:.0f} us after {LONG}.")
    print(f"Ratio: {long / short:.2f}")


def tell(name: str, runs: int, steps: int, first: float, again: float) -> None:
    """Print one line."""
    print(f"{name:24}{runs:6}{steps:8}{steps / first:14,.0f}{steps / again:12,.0f}")


def replays(runs: list[RecordedRun]) -> tuple[float, float]:
    """The seconds that the first replay takes, and the fastest of several more."""
    player = Player()

    def replay_all() -> None:
        for run in runs:
            player.replay(run)

    with collecting_rarely():
        return seconds(replay_all), min(seconds(replay_all) for _ in range(ROUNDS))


def bare_agents(runs: int) -> list[float]:
    """The seconds that a step takes in each of so many runs of an agent without a middleware."""
    model = Worker(number=0, steps=AGENT_STEPS, think_seconds=0.0, spread=0.0)
    agent = create_agent(model, [look_up], system_prompt="Look things up.")

    def run() -> None:
        asyncio.run(agent.ainvoke({"messages": [("user", TASK)]}, {"recursion_limit": 10 * AGENT_STEPS}))

    return [seconds(run) / (AGENT_STEPS + 1) for _ in range(runs)]


def ends(texts: list[ObservedStep]) -> tuple[float, float]:
    """What a step costs at the end of a short run and of a long one, in seconds."""
    suite = MonitorSuite(BUILT_IN)
    costs: dict[int, list[float]] = {SHORT: [], LONG: []}
    for pair in range(PAIRS):
        # The last steps of both runs are the same; each time they are others.
        at = LONG + pair * max(1, (len(texts) - LONG) // PAIRS)
        for length in (SHORT, LONG) if pair % 2 else (LONG, SHORT):
            run = [texts[place % len(texts)] for place in range(at - length, at)]
            trajectory = suite.start()
            for step in run[:-MEASURED]:
                trajectory.observe(step)
            newest = run[-MEASURED:]
            costs[length].append(seconds(lambda: [trajectory.observe(step) for step in newest]) / MEASURED)  # noqa: B023
    return median(costs[SHORT]), median(costs[LONG])


def seconds(work: Callable[[], object]) -> float:
    """The processor time that some work takes."""
    begin = process_time()
    work()
    return process_time() - begin


def observed(runs: list[RecordedRun]) -> list[ObservedStep]:
    """All steps of these runs, one after the other."""
    return [
        ObservedStep.of(step.thought, step.action, step.action_input, step.observation, step.observation_is_error)
        for run in runs
        for step in run.steps
    ]


if __name__ == "__main__":
    main()
