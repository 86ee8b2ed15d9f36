"""The vector index of one process: what the tables hold, to be searched by meaning.

It is derived. `Keeper` has the shard and knows whether it can be trusted, `Filling` brings into it what the tables say;
here is decided when: changes as the follower tells of them, everything where the files cannot be trusted, and in the
background the vectors that nobody has made yet.
"""

import asyncio
import contextlib
import functools
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from ...runtime.contain import contain, describe, incidents
from ...runtime.supervisor import forget_after_fork
from ..embedding.calibration import calibration_for
from ..embedding.worker import EmbeddingWorker
from ..errors import Busy, StoreError
from ..store.database import Database
from ..store.values import digest
from .filling import Filling
from .follower import Follower, changed_since, record_changes
from .former import Former
from .keeper import Keeper, Recipe
from .making import VectorMaker
from .models import Models
from .serving import Serving
from .shard import Hit, Vector
from .slot import Marker
from .sources import Source
from .thread import IndexFailure, IndexThread

BATCH = 16
"""Texts that are embedded at once."""
QUIET_SECONDS = 2.0
"""How long nothing has changed before the files are vouched for: a busy time costs that only once."""
GRACE_SECONDS = 3.0
"""How long another process gets to make the vector of what it wrote."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Between attempts, while they fail."""
MANY = 256
"""Items without a vector that are worth a word."""
_INDEX: Final = "index"
_REBUILD: Final = "rebuild"
"""The change that has every index on a database rebuilt."""
_NOT_OPEN = "the vector index is not open: its engine was closed, or was opened before a fork"


class VectorIndex:
    """What can be found by meaning. `search_all` is for any event loop, all else for the one the engine lives on."""

    def __init__(
        self,
        database: Database,
        follower: Follower,
        embedding: EmbeddingWorker,
        sources: Sequence[Source],
        directory: Path | None,
        previous_embeddings: str | None = None,
    ) -> None:
        self._database = database
        self._follower = follower
        maker = VectorMaker(embedding)
        texts = digest("\n".join(f"{source.kind}: {source.recipe}" for source in sources))
        self._keeper = Keeper(directory, Recipe(maker.model, maker.dimension, texts))
        self._serving = Serving(embedding, calibration_for(maker.model), self.search_all)
        self._models = Models(embedding, previous_embeddings)
        self._former: Former | None = None
        self._thread = IndexThread()
        self._filling = Filling(database, sources, maker, self._keeper, self._thread)
        self._backlog = self._filling.backlog
        self._rebuild_wanted = self._rebuilding = False
        self._changed_at: float | None = None
        self._settled, self._due = asyncio.Event(), asyncio.Event()
        self._caretaker: asyncio.Task[None] | None = None
        self._trouble = ""
        self._closed = True
        forget_after_fork(self)

    # -- life ----------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Take what is on disk and bring it up to date; if that cannot be, the background begins with a rebuild.

        The follower was opened before this, so it will tell of everything that comes after.
        """
        self._closed = False
        marker = await self._thread.run(self._keeper.open)
        if marker is not None and self._keeper.former_answers:
            await self._keep_former(marker)
            self._want_rebuild()
        elif marker is None or not await self._caught_up(marker):
            self._want_rebuild()
        for kind in self._filling.kinds:
            self._follower.listen(kind, functools.partial(self._apply, kind))
        self._follower.listen(_INDEX, self._asked_to_rebuild)
        self._changed_at = asyncio.get_running_loop().time()
        self._take_stock()

    async def _caught_up(self, marker: Marker) -> bool:
        if not await self._filling.continues(marker):
            return False
        async with self._database.reading() as connection:
            changed = await changed_since(connection, marker.number)
        if _REBUILD in changed.get(_INDEX, ()):
            return False
        for kind in self._filling.kinds & changed.keys():
            await self._apply(kind, changed[kind])
        return await self._filling.complete()  # somebody who writes just now may cost us a rebuild, no more

    async def _keep_former(self, marker: Marker) -> None:
        """Have what another model made searched while ours is made, if queries can be embedded by that model."""
        worker = await self._models.find(marker)
        if worker is None or not await self._filling.continues(marker):
            await self._thread.run(self._keeper.supersede)
            return
        async with self._database.reading() as connection:
            changed = await changed_since(connection, marker.number)
        self._former = Former(self._keeper, self._thread, worker, set().union(*changed.values()))

    async def _let_former_go(self) -> None:
        if self._former is not None:
            self._former = None
            await self._thread.run(self._keeper.supersede)

    def start(self) -> None:
        """Rebuild, make vectors and vouch for the files in the background, from here on."""
        if self._caretaker is None:
            self._caretaker = asyncio.create_task(self._care(), name="reasonblocks-index")

    async def aclose(self) -> None:
        """Stop, and leave files behind that the next start can trust, if everything is in them."""
        if self._closed:
            return
        task, self._caretaker = self._caretaker, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._closed = True
        try:
            if not (self._rebuild_wanted or self._rebuilding):
                with contain("vouching for the vector index"):  # without the tables nobody can: the next start looks
                    await self._filling.vouch(self._follower.number)
        finally:
            await self._thread.run(self._keeper.close)
            await self._thread.aclose()

    def forget(self) -> None:
        """After a fork, in the child: the files and their lock are the parent's."""
        self._closed = True
        self._keeper.forget()

    # -- what is asked of it ---------------------------------------------------------------------------

    def serving(self) -> Serving:
        """This index and its model; after a switch, until it is complete, what the model before has left."""
        if self._closed:
            raise IndexFailure(_NOT_OPEN)
        former = self._former
        return self._serving if former is None else former.serving

    async def search_all(
        self,
        vectors: Sequence[Vector],
        scope: str,
        failure_type: str | None = None,
        *,
        limit: int,
        least_cosine: float | None = None,
    ) -> list[list[Hit]]:
        """For each of some vectors the nearest items of a scope; from any event loop, also during a rebuild."""
        if self._closed:
            raise IndexFailure(_NOT_OPEN)
        return await self._thread.run(self._keeper.search_all, vectors, scope, failure_type, limit, least_cosine)

    async def rebuild(self) -> int:
        """Have this index and every other one on the database made anew; how many items this one has then."""
        async with self._database.writing() as connection:
            await record_changes(connection, _INDEX, [_REBUILD])
        await self._follower.refresh()
        await self.settled()
        return await self._thread.run(self._keeper.count)

    async def settled(self) -> None:
        """Wait until all that the follower told of is in the index, but for what cannot be embedded."""
        await self._settled.wait()

    def state(self) -> str:
        """`ok`, or what is missing."""
        if self._closed:
            return "the vector index is not open"
        if self._trouble or self._follower.state() != "ok":
            return self._trouble or self._follower.state()
        if self._former is None and (self._rebuild_wanted or self._rebuilding):
            return "the vector index is being rebuilt; lookups find what is in it so far"
        if self._backlog.troubled:
            return (
                f"{self._backlog.troubled} items cannot be found, since their texts could not be embedded: "
                f"{self._backlog.complaint}; it is tried again from time to time"
            )
        if self._former is None and self._backlog.untried > MANY:
            return f"{self._backlog.untried} items cannot be found yet, since their vectors are still being made"
        return "ok"

    # -- what happens by itself ------------------------------------------------------------------------

    async def _apply(self, kind: str, item_ids: Collection[str] | None) -> None:
        """Items of a kind changed."""
        if self._former is not None and not self._former.note(item_ids):
            await self._let_former_go()
        if item_ids is None:
            self._want_rebuild()
            return
        now = asyncio.get_running_loop().time()
        await self._filling.apply(kind, item_ids, now if self._follower.local else now + GRACE_SECONDS)
        self._changed_at = now
        self._take_stock()
        self._due.set()

    async def _asked_to_rebuild(self, item_ids: Collection[str] | None) -> None:
        if item_ids is None or _REBUILD in item_ids:
            self._want_rebuild()

    def _want_rebuild(self) -> None:
        self._rebuild_wanted = True
        self._take_stock()
        self._due.set()

    def _take_stock(self) -> None:
        """Release those who wait for what has been told, or have them wait."""
        if self._rebuild_wanted or self._rebuilding or self._backlog.untried:
            self._settled.clear()
        else:
            self._settled.set()

    async def _care(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                idle = await self._care_for_one()
                self._trouble, pause = "", FIRST_PAUSE
                self._take_stock()
                if self._settled.is_set():
                    await self._let_former_go()
                await self._rest(idle)
            except Exception as error:
                incidents.note("the vector index", error)
                self._trouble = f"the vector index cannot be brought up to date: {describe(error)}; it is tried again"
                if not isinstance(error, SQLAlchemyError | StoreError | Busy):
                    self._want_rebuild()  # nobody knows what is in the shard now
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _care_for_one(self) -> float | None:
        """Do what is most urgent; how long there is nothing else to do, `None` if that is until something happens."""
        self._due.clear()
        now = asyncio.get_running_loop().time()
        if self._rebuild_wanted:
            await self._rebuild()
        elif batch := self._backlog.take(now, BATCH):
            await self._filling.make(*batch)
            self._changed_at = now
        elif self._changed_at is not None and now - self._changed_at >= QUIET_SECONDS:
            self._changed_at = None
            self._rebuild_wanted = await self._filling.vouch(self._follower.number)
        else:
            waits = (self._backlog.wait(now), self._changed_at and self._changed_at + QUIET_SECONDS - now)
            return min((wait for wait in waits if wait is not None), default=None)
        return 0.0

    async def _rebuild(self) -> None:
        self._rebuild_wanted, self._rebuilding = False, True  # who asks from here on gets another one
        try:
            await self._filling.rebuild()
        except BaseException:
            self._rebuild_wanted = True
            raise
        self._rebuilding = False
        self._changed_at = asyncio.get_running_loop().time()

    async def _rest(self, seconds: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            # Not `wait_for`: until Python 3.12 it lost a cancellation that came together with what it waited for.
            async with asyncio.timeout(seconds):
                await self._due.wait()
