"""Engine: opens the parts, hands out the services, closes."""

import asyncio
import contextlib
from contextlib import AsyncExitStack

from .embedding.worker import EmbeddingWorker, shared_worker
from .findings import FindingService
from .index.findings import FindingIndex, FindingSource
from .index.follower import POLL_SECONDS, Follower, prune_changes
from .index.opening import MakeIndex, index_for
from .keys import Keys
from .monitors.evaluation import Evaluator
from .monitors.judge import Judge, resolve_judge
from .monitors.registry import load_monitors
from .monitors.suite import MonitorSuite
from .monitors.trajectories import Trajectories
from .patterns.catalogue import KIND, Catalogue, PatternSource
from .patterns.editing import Patterns
from .patterns.library import load_library
from .patterns.retrieval import Retriever
from .profiles import Profiles
from .runs.live import Live
from .runs.prefixes import Prefixes
from .runs.rehearsal import rehearse
from .runs.relay import Relay
from .runs.scoring import weighing
from .runs.service import Runs
from .runs.upkeep import Upkeep
from .settings import EngineSettings
from .store.database import Database
from .store.migrate import prepare
from .store.news import CHANGES
from .store.values import now
from .traces import Traces

SETTLE_SECONDS = 2.0
LEFT_ALONE_SECONDS = 30.0
"""How long a process has for the scores of what it stored before others look after it."""
LEFT_AGAIN_SECONDS = 600.0
"""How much of what was looked through is looked through again the next time."""
LOOK_SECONDS = 5.0
"""How often the table of changes is looked at where its writers say so anyway."""


class Engine:
    """All that rb-api is. Lives on the event loop that opened it; `evaluator` and `retriever` serve any other, too."""

    def __init__(
        self,
        settings: EngineSettings,
        database: Database,
        suite: MonitorSuite,
        embedding: EmbeddingWorker,
        make_index: MakeIndex,
        judge: Judge | None = None,
    ) -> None:
        transactions = database.transactions()
        trajectories = Trajectories(suite)
        sources = (PatternSource(), FindingSource())
        self._database = database
        self._transactions = transactions
        self._embedding = embedding
        self._news = news = database.news()
        self._follower = follower = Follower(database, LOOK_SECONDS if news.heard else POLL_SECONDS)
        news.listen(CHANGES, lambda _: follower.notify(local=False))
        self._catalogue = Catalogue(database)
        self._picked_up_at = 0.0
        self._parts = AsyncExitStack()
        self.live = Live()
        self._relay = Relay(database, news, self.live)
        self.index = make_index(database, follower, embedding, sources, news)
        self.retriever = Retriever(self._catalogue, self.index)
        self.profiles = Profiles(database, transactions, suite, follower.notify)
        self.evaluator = Evaluator(
            trajectories, self.retriever.retrieve, self.profiles.custom, judge, Prefixes(database).read
        )
        self.runs = Runs(database, transactions, trajectories, weighing(self.evaluator), self.live, self._relay)
        self.patterns = Patterns(database, follower)
        self.findings = FindingService(database, transactions, FindingIndex(self.index, follower), follower.notify)
        self.traces = Traces(transactions)
        self.keys = Keys(database, transactions, settings.static_keys)
        self._upkeep = Upkeep(
            database,
            transactions,
            stale_after=settings.stale_after,
            keep_days=settings.keep_days,
            chores=(self.keys.flush_last_used,),
            shared_chores=(lambda: prune_changes(database), self._pick_up_leftovers),
            leads=news.leads,
        )

    @classmethod
    async def open(cls, settings: EngineSettings) -> "Engine":
        """Open everything, or nothing: what was opened is closed again if a later part cannot be."""
        # Files are read and modules imported here, which is not for an event loop.
        worker = await asyncio.to_thread(shared_worker, settings.embeddings)
        suite = await asyncio.to_thread(_suite, settings)
        judge = await asyncio.to_thread(resolve_judge, settings.judge)
        make_index = await asyncio.to_thread(index_for, settings)
        library = await asyncio.to_thread(load_library)
        database = await asyncio.to_thread(Database.at, settings.data_dir, settings.database_url, settings.pool)
        engine = cls(settings, database, suite, worker, make_index, judge)
        try:
            engine._parts.push_async_callback(database.aclose)
            engine._parts.push_async_callback(engine._transactions.aclose)
            engine._parts.push_async_callback(engine._news.aclose)
            await prepare(database)
            await engine._news.open()
            await engine._transactions.open(rehearse)
            await engine.patterns.import_library(library)
            await engine._load()
            engine._start()
            await engine._settle()
        except BaseException:
            await engine.aclose()
            raise
        return engine

    async def _load(self) -> None:
        """Bring into memory what lookups need; the follower begins first, so that nothing falls in between."""
        await self._follower.open()
        await self._catalogue.load()
        await self.profiles.refresh()
        self._follower.listen(KIND, self._catalogue.apply)
        self._follower.listen("profile", self.profiles.refresh)
        self._follower.listen("key", self.keys.forget)
        self._parts.push_async_callback(self.index.aclose)
        await self.index.open()

    def _start(self) -> None:
        """Begin what goes on in the background; it ends in the reverse order."""
        self.index.start()
        self._parts.push_async_callback(self._follower.aclose)
        self._follower.start()
        self._parts.push_async_callback(self.runs.aclose)
        self._relay.start()
        self._parts.push_async_callback(self._relay.aclose)
        self.runs.open(leftovers=not self._news.heard)
        self._parts.push_async_callback(self._upkeep.aclose)
        self._upkeep.start()

    async def _pick_up_leftovers(self) -> None:
        """Score what a process left that has ended: where there are many, nobody else would before the next start."""
        if self._news.heard:
            moment, since = now(), self._picked_up_at - LEFT_AGAIN_SECONDS if self._picked_up_at else 0.0
            self.runs.scorer.pick_up(since, moment - LEFT_ALONE_SECONDS)
            self._picked_up_at = moment

    async def _settle(self) -> None:
        """Give the index a moment, so that the first lookups find what there is; a large one goes on behind them."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                await self.index.settled()

    def health(self) -> dict[str, str]:
        """The state of each part: `ok`, or a sentence that says what is wrong."""
        return {
            "database": _first_trouble(self._follower.state(), self._news.state()),
            "index": self.index.state(),
            "embedder": self._embedding.state(),
        }

    async def aclose(self, *, in_a_hurry: bool = False) -> None:
        """Let go of everything. Steps that wait for their scores get them first, unless there is no time for it."""
        self.live.close()
        if in_a_hurry:
            await self.runs.scorer.aclose(0)  # the next start picks them up
        await self._parts.aclose()


def _first_trouble(*states: str) -> str:
    return next((state for state in states if state != "ok"), "ok")


def _suite(settings: EngineSettings) -> MonitorSuite:
    return MonitorSuite(load_monitors(), settings.monitors)
