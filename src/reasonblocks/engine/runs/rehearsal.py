"""A run that is stored and undone when an engine opens, so that the first real one costs no more than those after it.

Statements are compiled, prepared and cached at their first use, which takes as long as storing hundreds of steps, and
would happen beside an agent that has just begun.
"""

from sqlalchemy import Connection

from ..principal import LOCAL
from ..store.values import now
from .decoding import decode_events
from .ingest import apply

_RUN = "rehearsal"
_BEGINNING = b'{"type":"run_start","run_id":"%b"}' % _RUN.encode()
_STEP = b'{"type":"step","run_id":"%b","step_index":%d}'
_END = b'{"type":"run_finish","run_id":"%b","outcome":"success"}' % _RUN.encode()
_STEPS = 63
"""That many rows go into statements of every size."""


def rehearse(connection: Connection) -> None:
    """Store a run as agents report it: it goes on, and it ends."""
    steps = [_STEP % (_RUN.encode(), index) for index in range(_STEPS)]
    for events in ([_BEGINNING, *steps], [_END]):
        apply(connection, decode_events(events), LOCAL, None, now())
