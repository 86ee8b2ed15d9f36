"""What the one server does that brings changes to the cluster: the next step, and when there is another."""

import logging
import time

import msgspec

from ..making import VectorMaker
from ..models import Models
from .client import Cluster
from .desk import Desk
from .outbox import Outbox
from .record import Generation, Record, Retired, Sweep, aimed, begun, filling, rebuilding, switched, without

CHECK_SECONDS = 300.0
"""How often the items of a collection are counted."""
AUDIT_SECONDS = 86_400.0
"""How often each of them is compared, even if their number is right."""
RETIRE_SECONDS = 60.0
"""How long a collection is kept that is not searched any more: other servers follow within a second or two."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Between attempts on texts that cannot be embedded."""
logger = logging.getLogger("reasonblocks")


class Leader:
    """Does one thing after another; all that it knows is in the record, so any server can go on where it stopped."""

    def __init__(self, desk: Desk, outbox: Outbox, cluster: Cluster, models: Models, prefix: str) -> None:
        self._desk = desk
        self._outbox = outbox
        self._cluster = cluster
        self._models = models
        self._prefix = prefix
        self._seen: set[str] = set()
        self._checked: dict[str, float] = {}
        self._audited: dict[str, float] = {}
        self._retry_at, self._pause = 0.0, FIRST_PAUSE

    def doubt(self) -> None:
        """Something went wrong: collections are looked at again before they are trusted."""
        self._seen.clear()

    def trusts(self, generation: Generation) -> bool:
        """Whether a collection has been looked at, and counted, since anything went wrong."""
        return generation.name in self._seen and generation.name in self._checked

    async def step(self) -> bool:
        """Do what is most urgent, so little that it is soon over; whether there was anything."""
        number, change = await self._outbox.now()
        record = self._desk.record
        aim = aimed(record, self._begun(record, number, change), time.time())
        if aim != record:
            await self._desk.save(aim)
            return True
        tended = [
            (generation, maker) for generation in record.generations() if (maker := await self._maker(generation))
        ]
        for generation, maker in tended:
            if generation.name not in self._seen:
                await self._see_to(generation)
                return True
            if generation.number < number:
                await self._deliver(generation, maker)
                return True
        for generation, _ in tended:
            if generation.sweep is None and await self._checks(generation, number):
                return True
        for generation, maker in tended:
            if generation.sweep is not None:
                await self._desk.save(record.replacing(await self._outbox.sweep(generation, maker)))
                return True
        if record.building is not None and record.building.complete:
            await self._switch(record)
            return True
        for generation, maker in tended:
            if await self._retries(generation, maker):
                return True
        return await self._removes(record)

    def rest(self) -> float:
        """Seconds until there may be something to do, if nothing happens."""
        record, now = self._desk.record, time.monotonic()
        waits = [CHECK_SECONDS]
        waits += [retired.since + RETIRE_SECONDS - time.time() for retired in record.retired]
        waits += [self._retry_at - now for generation in record.generations() if generation.owes]
        return max(0.0, min(waits))

    # -- steps -----------------------------------------------------------------------------------------

    async def _maker(self, generation: Generation) -> VectorMaker | None:
        worker = await self._models.find(generation.target)
        return VectorMaker(worker) if worker is not None else None

    def _begun(self, record: Record, number: int, change: str) -> Generation:
        return begun(record.target, self._outbox.kinds, number, change, self._prefix)

    async def _see_to(self, generation: Generation) -> None:
        """Have a collection for a generation; what is of no use is replaced, what is gone is made and filled again."""
        record, target = self._desk.record, generation.target
        fits = await self._cluster.fits(generation.name, target.dimension)
        if fits is False:
            logger.warning("the Qdrant collection %s does not fit its vectors and is replaced", generation.name)
            await self._desk.save(without(record, generation, time.time()))
            return
        now = await self._outbox.continued(generation)
        if fits is None or not generation.made:
            await self._cluster.create(generation.name, target.dimension)
            now = msgspec.structs.replace(now, made=True)
        if fits is None and generation.made:
            logger.warning("the Qdrant collection %s was gone; it is filled again", generation.name)
            now = filling(now, self._outbox.kinds)
        if now is not generation:
            await self._desk.save(record.replacing(now))
        self._seen.add(generation.name)

    async def _deliver(self, generation: Generation, maker: VectorMaker) -> None:
        moved, rebuild = await self._outbox.deliver(generation, maker)
        record = self._desk.record.replacing(moved)
        if rebuild > max(one.born for one in record.generations()):
            record = rebuilding(record, self._begun(record, *await self._outbox.now()), time.time())
        await self._desk.save(record)

    async def _switch(self, record: Record) -> None:
        """Have what was built searched: one write, of which all servers are told."""
        new, old = record.building, record.serving
        await self._desk.save(switched(record, time.time()), announce=True)
        if new is not None and old is not None:
            logger.info("lookups go to the Qdrant collection %s now; %s is removed", new.name, old.name)

    async def _checks(self, generation: Generation, number: int) -> bool:
        """Now and then, count what a collection holds and mend it if that is wrong, and compare it all."""
        now = time.monotonic()
        audited = self._audited.setdefault(generation.name, now)
        if now - self._checked.get(generation.name, -CHECK_SECONDS) < CHECK_SECONDS:
            return False
        differ = await self._outbox.drifted(generation)
        if number != (await self._outbox.now())[0]:
            return True  # something was written meanwhile: that counts for nothing
        self._checked[generation.name] = now
        if differ is None and now - audited < AUDIT_SECONDS:
            return False
        self._audited[generation.name] = now
        if differ is not None:
            held, expected = differ
            logger.warning("%s holds %d items and should hold %d; it is mended", generation.name, held, expected)
        mended = msgspec.structs.replace(generation, sweep=Sweep(self._outbox.kinds))
        await self._desk.save(self._desk.record.replacing(mended))
        return True

    async def _retries(self, generation: Generation, maker: VectorMaker) -> bool:
        """Now and then, try texts again that could not be embedded."""
        if not generation.owes or time.monotonic() < self._retry_at:
            return False
        tried = await self._outbox.retry(generation, maker)
        self._pause = FIRST_PAUSE if tried.owes < generation.owes else min(self._pause * 2, LONGEST_PAUSE)
        self._retry_at = time.monotonic() + self._pause
        await self._desk.save(self._desk.record.replacing(tried))
        return True

    async def _removes(self, record: Record) -> bool:
        """Remove a collection that nobody can be searching any more."""
        due = next((one for one in record.retired if time.time() - one.since >= RETIRE_SECONDS), None)
        if due is None:
            return False
        await self._cluster.drop(due.name)
        left: tuple[Retired, ...] = tuple(one for one in record.retired if one != due)
        await self._desk.save(msgspec.structs.replace(record, retired=left))
        return True
