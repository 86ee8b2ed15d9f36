"""The limits of the wire, which client, engine and server share."""

RUN_ID_PATTERN = r"^[A-Za-z0-9_\-./:@]+$(?!\n)"
"""What a run's id is made of; the last part because Python's `$` also matches before a line break at the end."""
MAX_RUN_ID = 256
"""Characters of a run's id."""
MAX_TEXT = 64_000
"""Characters of a thought, an action, an observation or any other free text."""
MAX_TASK = 4_000
"""Characters of a task."""
MAX_OUTCOME = 64
"""Characters of an outcome."""
MAX_STEP_INDEX = 10_000
"""The highest number of a step."""
MAX_STEPS = 2_000
"""Steps of a trace in one request."""
MAX_EVENTS = 500
"""Events in one request."""
MAX_NEAR_MISSES = 10
"""Rejected patterns that one lookup tells of."""
MAX_PATTERN_ID = 128
"""Characters of a pattern's id."""
MAX_TITLE = 80
"""Characters of what a rejected pattern is about."""
MAX_BODY = 5_000_000
"""Bytes of a request's body; a server may have another limit."""
