"""The thread that embeds: one for each embedder, with a queue that refuses rather than keep an agent waiting.

Texts come from any thread and any event loop, which only ever take a short lock. A text that somebody waits for goes
before texts that only have to be done some time. After a moment without work the thread ends; the next text starts
another.
"""

import asyncio
import atexit
import concurrent.futures
import functools
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...runtime.contain import describe
from ...runtime.supervisor import forget_after_fork
from ..errors import Busy
from .adapter import resolve_embedder
from .base import Embedder, EmbedderProblem, Vector, Vectors

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

THREAD_NAME = "reasonblocks-embedding"
WAITING_LIMIT = 32
"""Texts that may wait for an answer; at 20 to 80 ms each, later ones would come too late for their step."""
AT_ONCE = 16
"""Texts that are handed to the embedder together, if it does not say otherwise."""
REMEMBERED = 512
"""Texts whose vectors are kept: a step asks for E1 and E2 with much the same words."""
LONGEST_REMEMBERED = 4_000
IDLE_SECONDS = 1.0
CLOSE_SECONDS = 5.0

Future = concurrent.futures.Future[Vectors]


@dataclass(eq=False, slots=True)
class _Job:
    """Texts that belong together."""

    texts: Sequence[str]
    patient: bool
    future: Future = field(default_factory=concurrent.futures.Future)
    done: list[Vectors] = field(default_factory=list)
    """What of a long job is finished."""

    def rest(self) -> Sequence[str]:
        """What of it is not finished."""
        return self.texts[sum(map(len, self.done)) :]

    def give_up(self) -> None:
        """Tell whoever waits that nothing will come."""
        if self.future.running() or self.future.set_running_or_notify_cancel():
            self.future.set_exception(EmbedderProblem("the embedding worker was closed before it came to this text"))


class EmbeddingWorker:
    """Embeds on a thread of its own."""

    def __init__(self, embedder: Embedder, *, waiting_limit: int = WAITING_LIMIT) -> None:
        self.embedder = embedder
        self._limit = waiting_limit
        self._at_once: int = getattr(embedder, "at_once", AT_ONCE)
        self.forget()
        forget_after_fork(self)
        _workers.add(self)

    def forget(self) -> None:
        """Begin anew, as a forked child must: the thread is the parent's, and so is what it was given."""
        self._lock = threading.RLock()
        self._wake = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._queries: deque[_Job] = deque()
        self._patient: deque[_Job] = deque()
        self._waiting = 0
        self._remembered: OrderedDict[str, Vector] = OrderedDict()
        self._trouble = ""

    # -- for everybody ---------------------------------------------------------------------------------

    async def embed(self, text: str) -> Vector:
        """The vector of one text that somebody waits for; `Busy` at once where too many wait."""
        return (await self.embed_all((text,)))[0]

    async def embed_all(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of a few texts that somebody waits for; those of late are remembered."""
        with self._lock:
            found = {text: self._recall(text) for text in texts}
        missing = [text for text, vector in found.items() if vector is None]
        if missing:
            made = await asyncio.wrap_future(self.submit(missing, patient=False))
            found.update(zip(missing, made, strict=True))
        return [vector for text in texts if (vector := found[text]) is not None]

    def submit(self, texts: Sequence[str], *, patient: bool = True) -> Future:
        """Have texts embedded: in their own time if they are patient, else `Busy` is raised where too many wait."""
        job = _Job(list(texts), patient)
        with self._lock:
            if not patient and self._waiting + len(job.texts) > self._limit:
                raise Busy(
                    f"{self._waiting} texts wait to be embedded by {self.embedder.name!r}, and at most {self._limit} "
                    "may; ask again later, or use a faster embedder"
                )
            (self._patient if patient else self._queries).append(job)
            self._waiting += 0 if patient else len(job.texts)
            self._start()
            self._wake.notify()
        return job.future

    def state(self) -> str:
        """`ok`, or what went wrong the last time."""
        return self._trouble or "ok"

    def close(self) -> None:
        """Give up what waits and see the thread off; blocks for as long as the text at hand takes."""
        thread = self._abandon()
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE_SECONDS)

    async def aclose(self) -> None:
        """As `close`, without blocking the event loop."""
        if (thread := self._abandon()) is not None:
            await asyncio.to_thread(thread.join, CLOSE_SECONDS)

    # -- under the lock ----------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=THREAD_NAME, daemon=True)
            self._thread.start()

    def _abandon(self) -> threading.Thread | None:
        with self._lock:
            jobs = [*self._queries, *self._patient]
            self._queries.clear()
            self._patient.clear()
            self._waiting = 0
            thread, self._thread = self._thread, None
            self._wake.notify_all()
        for job in jobs:  # outside of the lock: whoever waits is told by a callback
            job.give_up()
        return thread

    def _recall(self, text: str) -> Vector | None:
        vector = self._remembered.get(text)
        if vector is not None:
            self._remembered.move_to_end(text)
        return vector

    def _remember(self, job: _Job, vectors: Vectors) -> None:
        if job.patient:  # nobody asks for these again
            return
        with self._lock:
            for text, vector in zip(job.texts, vectors, strict=True):
                if len(text) <= LONGEST_REMEMBERED:
                    self._remembered[text] = vector
            while len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)

    def _next(self) -> list[_Job]:
        """What to embed now: the queries that wait, as many as go together, else a patient job; nothing: end."""
        with self._lock:
            if not (self._queries or self._patient) and self._is_needed():
                self._wake.wait(IDLE_SECONDS)
            if not self._is_needed():
                return []
            jobs: list[_Job] = []
            count = 0
            while self._queries and (not jobs or count + len(self._queries[0].texts) <= self._at_once):
                job = self._queries.popleft()
                self._waiting -= len(job.texts)
                if job.future.set_running_or_notify_cancel():
                    jobs.append(job)
                    count += len(job.texts)
            while not jobs and self._patient:
                job = self._patient.popleft()
                if job.future.running() or job.future.set_running_or_notify_cancel():
                    jobs.append(job)
            if not jobs:
                self._thread = None
            return jobs

    def _is_needed(self) -> bool:
        """Whether the calling thread is the one to work; after a close another may have taken its place."""
        return self._thread is threading.current_thread()

    # -- on the thread -------------------------------------------------------------------------------------

    def _work(self) -> None:
        while jobs := self._next():
            if jobs[0].patient:
                self._advance(jobs[0])
            else:
                self._answer(jobs)

    def _answer(self, jobs: list[_Job]) -> None:
        """Embed queries together; where that fails, each by itself, for the fault may be one text's alone."""
        try:
            vectors = self._embed([text for job in jobs for text in job.texts])
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].future.set_exception(error)
                return
            for job in jobs:
                self._answer([job])
            return
        for job in jobs:
            mine, vectors = vectors[: len(job.texts)], vectors[len(job.texts) :]
            self._remember(job, mine)
            job.future.set_result(mine)

    def _advance(self, job: _Job) -> None:
        """Embed the next few texts of a patient job, and put it back if there are more."""
        try:
            job.done.append(self._embed(job.rest()[: self._at_once]))
        except Exception as error:
            job.future.set_exception(error)
            return
        if job.rest():
            with self._lock:
                if self._is_needed():
                    self._patient.appendleft(job)
                    return
            job.give_up()
            return
        job.future.set_result(np.concatenate(job.done))

    def _embed(self, texts: Sequence[str]) -> Vectors:
        try:
            vectors = np.asarray(self.embedder.embed(texts), np.float32)
        except BaseException as error:  # a panic of Rust is no `Exception`, and would end this thread
            self._trouble = f"the embedder {self.embedder.name!r} fails: {describe(error)}"
            if isinstance(error, Exception):
                raise
            raise EmbedderProblem(self._trouble) from error
        if vectors.shape[:1] != (len(texts),):
            self._trouble = f"the embedder {self.embedder.name!r} gave {len(vectors)} vectors for {len(texts)} texts"
            raise EmbedderProblem(self._trouble)
        self._trouble = ""
        vectors.flags.writeable = False  # the same array is handed to many
        return vectors


def shared_worker(setting: "str | Embeddings | None" = None) -> EmbeddingWorker:
    """The worker of this process for a setting: a model is loaded once, however many engines there are.

    It is never closed, and needs not be: without work it has no thread. Not for an event loop, as `resolve_embedder`.
    """
    if setting is not None and not isinstance(setting, str):
        return EmbeddingWorker(resolve_embedder(setting))
    with _sharing:
        return _shared(setting)


_sharing = threading.RLock()


def _close_at_exit() -> None:
    """A daemon thread that the end of the program cuts off inside onnxruntime would take the process down with it."""
    for worker in list(_workers):
        worker.close()


_workers: "weakref.WeakSet[EmbeddingWorker]" = weakref.WeakSet()
# Before Python ends its thread pools, as the runtime does; a version without this has the ordinary way.
getattr(threading, "_register_atexit", atexit.register)(_close_at_exit)


@functools.cache
def _shared(setting: str | None) -> EmbeddingWorker:
    return EmbeddingWorker(resolve_embedder(setting))
