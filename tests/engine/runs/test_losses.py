"""What a client had to give up is told, counted once, and changes nothing else about a run."""

from __future__ import annotations

from typing import Any

import pytest

from engine.runs.house import House, finish, start, step
from reasonblocks.engine.runs.upkeep import Upkeep


def loss(steps: Any, run_id: str = "r", **fields: Any) -> dict[str, Any]:
    return {"type": "loss", "run_id": run_id, "steps": steps, **fields}


async def test_the_largest_number_of_lost_steps_counts(house: House) -> None:
    """Each report names all so far: one that comes twice, or late, changes nothing."""
    await house.events(start(), step(0), loss(3, cause="spool full"))
    await house.events(loss(7, cause="mailbox full"), loss(3, cause="spool full"), loss(7, cause="again"))
    shown = await house.show()
    assert (shown.lost_steps, shown.loss_cause, shown.step_count) == (7, "mailbox full", 1)


async def test_a_run_that_lost_nothing_says_so(house: House) -> None:
    """Without a report the number is 0 and there is no cause."""
    await house.events(start(), finish("success"))
    shown = await house.show()
    assert (shown.lost_steps, shown.loss_cause) == (0, None)


async def test_a_loss_is_no_sign_of_life(house: House) -> None:
    """It may be told for a process that died: it neither revives an abandoned run nor wakes one that waits."""
    await house.events(start("dead"), start("waiting"), {"type": "run_interrupt", "run_id": "waiting"})
    await house.store.execute("UPDATE runs SET last_seen_at = 1")
    upkeep = Upkeep(house.store.database, house.store.transactions, stale_after=60.0)
    await upkeep.sweep()
    await house.events(loss(2, "dead"), loss(2, "waiting"))
    await upkeep.sweep()
    dead, waiting = await house.show("dead"), await house.show("waiting")
    assert (dead.outcome, dead.lost_steps) == ("abandoned", 2)
    assert (waiting.outcome, waiting.lost_steps) == (None, 2)


@pytest.mark.parametrize("bad", [loss(-1), loss("many"), loss(1, "unknown"), loss(10_002), loss(1, cause="x" * 65)])
async def test_a_bad_report_spoils_nothing(house: House, bad: dict[str, Any]) -> None:
    """A report of the wrong shape, or of a run that is not known, is refused alone."""
    receipt = await house.events(start(), bad, step(0))
    assert (receipt.accepted, [refused.index for refused in receipt.rejected]) == (2, [1])
