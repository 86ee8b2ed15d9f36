"""The index in a cluster, as one of many servers has it: all of them search it, one at a time brings it the changes."""

import asyncio
import contextlib
import functools
import time
from collections.abc import Collection, Sequence

import numpy as np

from ....runtime.contain import contain, describe, incidents
from ....runtime.supervisor import forget_after_fork
from ...embedding.calibration import calibration_for
from ...embedding.worker import EmbeddingWorker
from ...store.database import Database
from ...store.values import digest
from ..follower import Follower, record_changes
from ..leadership import Leadership, always
from ..models import Models
from ..serving import Serving
from ..shard import Hit, Vector
from ..sources import Source
from ..thread import IndexFailure
from .client import Cluster
from .desk import Desk
from .leader import Leader
from .outbox import REBUILD, Outbox
from .record import Generation, Overtaken, Target

TASK = "index"
"""What only one server does at a time."""
STAND_BY_SECONDS = 2.0
"""How often the others see whether it is still done."""
LOOK_SECONDS = 0.1
"""How often somebody who waits for another server looks."""
PROBE_SECONDS, OPEN_PROBE_SECONDS = 5.0, 1.0
"""How often the cluster is searched without a reason, so that it is known whether it can be; and while it cannot."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0
"""Between attempts, while they fail."""
REBUILD_PATIENCE = 30.0
"""How long whoever asked for a rebuild waits for a cluster that does not answer."""
CLOSE_SECONDS = 2.0
"""How long a close waits for the step that the leader is at; one that takes longer is cut off, and done again later."""
MANY = 256
"""Changes that wait and are worth a word."""
_NOWHERE = "[]"
"""A scope that nothing is in."""


class ClusterIndex:
    """What can be found by meaning. What `serving` gives is for any event loop, all else for the engine's."""

    def __init__(
        self,
        database: Database,
        follower: Follower,
        embedding: EmbeddingWorker,
        sources: Sequence[Source],
        cluster: Cluster,
        *,
        prefix: str,
        leadership: Leadership = always,
        previous_embeddings: str | None = None,
    ) -> None:
        texts = digest("\n".join(f"{source.kind}: {source.recipe}" for source in sources))
        self._database = database
        self._follower = follower
        self._cluster = cluster
        self._leadership = leadership
        self._models = Models(embedding, previous_embeddings)
        self._outbox = Outbox(database, sources, cluster)
        self._desk = Desk(database, follower, Target(embedding.embedder.name, embedding.embedder.dimension, texts))
        self._desk.changed = self._choose
        self._leader = Leader(self._desk, self._outbox, cluster, self._models, prefix)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due = asyncio.Event()
        self._closing = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._chosen: tuple[Generation, Serving] | None = None
        self._leading = self._standing_by = False
        self._trouble, self._troubled_since = "", 0.0
        self._closed = True
        forget_after_fork(self)

    # -- life ----------------------------------------------------------------------------------------

    async def open(self) -> None:
        """See what there is by the record; the cluster itself is not asked, so it may be away."""
        self._loop = asyncio.get_running_loop()
        await self._cluster.open()
        self._closed = False
        await self._desk.claim()
        for kind in (*self._outbox.kinds, REBUILD[0]):
            self._follower.listen(kind, self._wake)

    def start(self) -> None:
        """Bring changes to the cluster in the background, whenever no other server does."""
        if not self._tasks:
            for task in (self._care, self._watch):
                self._tasks.append(asyncio.create_task(task(), name=f"reasonblocks-qdrant{task.__name__}"))

    async def aclose(self) -> None:
        """Stop, between two steps. What was not brought to the cluster yet will be by another server, or later."""
        if self._closed:
            return
        tasks, self._tasks = self._tasks, []
        self._closing.set()
        self._due.set()
        try:
            if tasks:
                caring, watching = tasks
                watching.cancel()  # a search that nobody asked for
                await asyncio.wait((caring,), timeout=CLOSE_SECONDS)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._closed = True
            await self._cluster.aclose()

    def forget(self) -> None:
        """After a fork, in the child: the connections are the parent's."""
        self._closed = True

    # -- what is asked of it ---------------------------------------------------------------------------

    def serving(self) -> Serving:
        """The collection that is searched now, and its model."""
        if self._closed:
            raise IndexFailure("the vector index is not open: its engine was closed, or was opened before a fork")
        if (refusal := self._cluster.refusal()) is not None:
            raise IndexFailure(refusal)
        if self._chosen is None:
            raise IndexFailure(self._missing())
        return self._chosen[1]

    def _missing(self) -> str:
        """Why there is nothing to search."""
        for generation in self._desk.record.generations():
            if generation.made and self._models.get(generation.target) is None:
                model = generation.target.model
                return f"the collection in use was made by {model!r}: {self._models.complaint(generation.target)}"
        return self._trouble or "there is no collection in the Qdrant cluster yet; it is about to be made"

    def _choose(self) -> None:
        """Search what the record says, or what is being made where the other is of no use here."""
        for generation in self._desk.record.generations():
            worker = self._models.get(generation.target)
            if generation.made and worker is not None:
                if self._chosen is None or self._chosen[0].name != generation.name:
                    search = functools.partial(self._search, generation.name, generation.target.dimension)
                    serving = Serving(worker, calibration_for(generation.target.model), search)
                else:
                    serving = self._chosen[1]
                self._chosen = generation, serving
                return
        self._chosen = None

    async def _search(
        self,
        name: str,
        dimension: int,
        vectors: Sequence[Vector],
        scope: str,
        failure_type: str | None = None,
        *,
        limit: int,
        least_cosine: float | None = None,
    ) -> list[list[Hit]]:
        if any(len(vector) != dimension for vector in vectors):
            lengths = sorted({len(vector) for vector in vectors})
            raise IndexFailure(f"the query has vectors of {lengths} numbers, and those of {name!r} have {dimension}")
        try:
            return await self._cluster.search_all(name, vectors, scope, failure_type, limit, least_cosine)
        except IndexFailure:
            self._doubt()
            raise

    def _doubt(self) -> None:
        """A lookup failed: see whether the collection is still there."""
        if self._loop is not None and not self._closed:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the engine with it
                self._loop.call_soon_threadsafe(self._look_again)

    def _look_again(self) -> None:
        self._leader.doubt()
        self._due.set()

    async def settled(self) -> None:
        """Wait until all that the follower told of is in the collection that is searched."""
        number = self._follower.number
        while not self._has(number):
            await self._desk.moved(LOOK_SECONDS)
            if not self._leading:
                await self._see()

    def _has(self, number: int) -> bool:
        if self._chosen is None:
            return False
        generation = self._chosen[0]
        trusted = self._standing_by or self._leader.trusts(generation)  # it may not be what the record says
        return trusted and generation.complete and generation.number >= number

    async def rebuild(self) -> int:
        """Have a new collection made and searched in the place of this one; how many items it has."""
        async with self._database.writing() as connection:
            await record_changes(connection, "index", [REBUILD[1]])
        asked = (await self._outbox.now())[0]
        await self._follower.refresh()
        while (serving := self._desk.record.serving) is None or serving.born < asked:
            if self._trouble and time.monotonic() - self._troubled_since > REBUILD_PATIENCE:
                raise IndexFailure(f"{self._trouble}; the rebuild is made up for as soon as that is over")
            await self._desk.moved(LOOK_SECONDS)
            if not self._leading:
                await self._see()
        return await self._cluster.count(serving.name)

    def state(self) -> str:
        """`ok`, or what is missing."""
        if self._closed:
            return "the vector index is not open"
        if self._cluster.breaker.is_open:
            return f"lookups bring nothing: {self._cluster.complaint}"
        if self._trouble or self._follower.state() != "ok":
            return self._trouble or self._follower.state()
        if self._chosen is None:
            return self._missing()
        generation = self._chosen[0]
        if not generation.complete:
            return f"the Qdrant collection {generation.name} is being filled; lookups find what is in it so far"
        if generation.owes:
            return (
                f"{generation.owes} items cannot be found, since their texts could not be embedded: "
                f"{self._outbox.complaint or 'by another server'}; it is tried again from time to time"
            )
        if (waiting := self._follower.number - generation.number) > MANY:
            return f"{waiting} changes have yet to be brought to the Qdrant cluster"
        return "ok"

    # -- what happens by itself ------------------------------------------------------------------------

    async def _wake(self, _item_ids: Collection[str] | None) -> None:
        self._due.set()

    async def _see(self) -> None:
        """Take note of what other servers wrote, and have the embedder of what is searched."""
        await self._desk.refresh()
        for generation in self._desk.record.generations():
            await self._models.find(generation.target)
        self._choose()  # there may be an embedder for it now

    async def _care(self) -> None:
        pause = FIRST_PAUSE
        while not self._closing.is_set():
            self._due.clear()
            try:
                idle = await self._turn()
                self._trouble, pause = "", FIRST_PAUSE
            except Overtaken:
                idle = LOOK_SECONDS
            except Exception as error:
                incidents.note("the Qdrant cluster", error)
                if not self._trouble:
                    self._troubled_since = time.monotonic()
                self._trouble = f"changes wait to be brought to the Qdrant cluster: {describe(error)}"
                self._leader.doubt()
                await _happens(self._closing, pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            await _happens(self._due, idle)

    async def _turn(self) -> float:
        """Bring to the cluster what is due, if no other server does; how long there is nothing else to do."""
        async with self._leadership(TASK) as granted:
            await self._see()
            self._standing_by = not granted
            if not granted:
                return STAND_BY_SECONDS
            self._leading = True
            try:
                while not self._closing.is_set() and await self._leader.step():
                    pass
            finally:
                self._leading = False
            return self._leader.rest()

    async def _watch(self) -> None:
        """Search now and then, so that whether it works is known before an agent asks, and again after an outage."""
        answered = -PROBE_SECONDS
        while True:
            await asyncio.sleep(OPEN_PROBE_SECONDS)
            is_due = self._cluster.breaker.is_open or time.monotonic() - answered >= PROBE_SECONDS
            chosen = self._chosen
            if not is_due or chosen is None or self._cluster.refusal() is not None:
                continue
            probe = np.zeros(chosen[0].target.dimension, np.float32)
            probe[0] = 1.0
            with contain("a search of the Qdrant cluster"):
                await chosen[1].search_all((probe,), _NOWHERE, limit=1)
                answered = time.monotonic()


async def _happens(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but not for ever."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
