"""Runs that leave their topic, for a stretch or for one tangent after the other, and runs that only seem to."""

import msgspec

from reasonblocks.engine.monitors.base import Monitor, Reading
from reasonblocks.engine.monitors.features import ObservedStep, StepReader

TASK = "The cache of the report store loses entries when two workers write at once. Find the race and fix the lock."


def step(thought: str, action: str = "", observation: str = "", **arguments: object) -> ObservedStep:
    """A step in the order in which it happens."""
    return ObservedStep(thought, action, msgspec.json.encode(arguments).decode() if action else "", observation)


def read(monitor: Monitor, steps: list[ObservedStep], task: str = TASK) -> list[Reading]:
    """What a monitor says after each step."""
    state = monitor.start(task)
    reader = StepReader(task)
    return [state.observe(reader.read(one)) for one in steps]


ON_TASK = [
    step("The cache module keeps entries behind a lock.", "read_file", "class Cache: lock, entries", path="cache.py"),
    step("Workers write entries through the store.", "read_file", "class Store: cache, workers", path="store.py"),
    step("The lock is taken after the entries are read.", "read_file", "def write(entries): lock", path="writer.py"),
    step("So two workers can race between reading and the lock.", "run", "race shown", command="python race_demo.py"),
    step("Take the lock before the entries are read.", "edit_file", "ok", path="writer.py", text="with lock: read"),
    step("The race is gone with the lock in front.", "run", "2 workers, no loss", command="python race_demo.py"),
]
STRETCH = [
    step(
        "The marketing budget of the spring campaign deserves a look.", "search", "billboards", text="campaign budget"
    ),
    step("Billboards eat most of the campaign budget.", "search", "radio spots 12k", text="billboards share campaign"),
    step("Radio spots of the campaign are cheap next to billboards.", "search", "reach 8%", text="radio spots reach"),
    step("Influencers might lift the campaign's reach beyond radio.", "search", "9k", text="influencers campaign"),
    step("A slide could compare billboards, radio and influencers.", "search", "saved", text="slide campaign"),
]
"""One thing that has nothing to do with the task."""
TANGENTS = [
    step("Also, a darker palette would suit the dashboard.", "search", "navy, slate", text="dashboard palette"),
    step("I wonder about the Portuguese glossary.", "translate", "210 terms", text="glossary portuguese"),
    step("While I'm here, the mascot deserves animated stickers.", "draw", "none yet", text="mascot stickers"),
    step("Out of interest: last winter's survey was never clustered.", "cluster", "430", text="winter survey"),
]
"""One thing after the other, none of which has to do with anything."""
