"""The thread that embeds, its queue and what it does when things go wrong."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest

from reasonblocks.engine.embedding import worker as module
from reasonblocks.engine.embedding.base import EmbedderProblem, Vectors
from reasonblocks.engine.embedding.worker import REMEMBERED, THREAD_NAME, EmbeddingWorker, shared_worker
from reasonblocks.engine.errors import Busy

PATIENCE = 20.0
"""Seconds after which a test gives up waiting; none of them is about time."""

pytestmark = pytest.mark.usefixtures("no_threads_left")


class Lengths:
    """An embedder whose vector tells how long the text was; it can be held up, and refuses what it is told to."""

    name = "lengths"
    dimension = 2
    at_once = 3

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.threads: set[str] = set()
        self.refused: set[str] = set()
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.begun = threading.Semaphore(0)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector for each text."""
        self.batches.append(list(texts))
        self.threads.add(threading.current_thread().name)
        self.begun.release()
        self.may_go_on.wait(PATIENCE)
        if self.refused.intersection(texts):
            raise ValueError("no vector for this")
        return np.array([[len(text), 1] for text in texts], np.float32)

    @property
    def texts(self) -> list[str]:
        """All it was asked for."""
        return [text for batch in self.batches for text in batch]


@pytest.fixture
def embedder() -> Lengths:
    """One that works until it is held up."""
    return Lengths()


async def held_up(worker: EmbeddingWorker, embedder: Lengths) -> asyncio.Task[Vectors]:
    """Have the thread busy with one text, so that whatever comes next waits."""
    embedder.may_go_on.clear()
    task = asyncio.create_task(worker.embed("held up"))
    await asyncio.to_thread(embedder.begun.acquire, timeout=PATIENCE)
    return task


async def test_texts_are_embedded_on_a_thread_of_its_own(embedder: Lengths) -> None:
    """The event loop only waits, and there is no thread before there is work."""
    worker = EmbeddingWorker(embedder)
    assert THREAD_NAME not in {thread.name for thread in threading.enumerate()}
    assert (await worker.embed("four")).tolist() == [4, 1]
    assert [vector.tolist() for vector in await worker.embed_all(["a", "bb", "a"])] == [[1, 1], [2, 1], [1, 1]]
    made = await asyncio.wrap_future(worker.submit(["ccc", "dddd"]))
    assert made.tolist() == [[3, 1], [4, 1]]
    assert embedder.threads == {THREAD_NAME}
    await worker.aclose()


async def test_recent_queries_are_remembered(embedder: Lengths) -> None:
    """A text that was asked for lately costs nothing; patient texts are not kept, for nobody asks for them."""
    worker = EmbeddingWorker(embedder)
    first, second = await worker.embed("query"), await worker.embed("query")
    assert np.array_equal(first, second)
    assert embedder.texts == ["query"]
    await asyncio.wrap_future(worker.submit(["pattern"]))
    await worker.embed("pattern")
    assert embedder.texts == ["query", "pattern", "pattern"]
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0
    await worker.aclose()


async def test_what_is_remembered_is_bounded(embedder: Lengths) -> None:
    """The oldest query gives way, and a very long one is not kept at all."""
    worker = EmbeddingWorker(embedder, waiting_limit=2 * REMEMBERED)
    await worker.embed("oldest")
    await worker.embed_all([f"query {number}" for number in range(REMEMBERED)])
    await worker.embed("x" * 10_000)
    await worker.embed("x" * 10_000)
    embedder.batches.clear()
    await worker.embed("oldest")
    assert embedder.texts == ["oldest"]
    assert len(worker._remembered) == REMEMBERED
    assert "x" * 10_000 not in worker._remembered
    await worker.aclose()


async def test_too_many_queries_are_refused_at_once(embedder: Lengths) -> None:
    """An agent does not wait for us; patient texts wait as long as it takes."""
    worker = EmbeddingWorker(embedder, waiting_limit=2)
    first = await held_up(worker, embedder)
    waiting = worker.submit(["one", "two"], patient=False)
    with pytest.raises(Busy, match="2 texts wait to be embedded by 'lengths', and at most 2 may; ask again later"):
        await worker.embed("three")
    patient = worker.submit(["pattern"] * 5)
    embedder.may_go_on.set()
    await first
    assert len(await asyncio.wrap_future(waiting)) == 2
    assert len(await asyncio.wrap_future(patient)) == 5
    assert (await worker.embed("three")).tolist() == [5, 1]
    await worker.aclose()


async def test_queries_go_together_and_before_patient_texts(embedder: Lengths) -> None:
    """Those that wait are embedded in one go; a long patient job lets them in between its parts."""
    worker = EmbeddingWorker(embedder)
    first = await held_up(worker, embedder)
    patient = worker.submit([f"pattern {number}" for number in range(2 * Lengths.at_once + 1)])
    queries = [worker.submit([f"query {number}"], patient=False) for number in range(3)]
    embedder.may_go_on.set()
    await asyncio.gather(first, *map(asyncio.wrap_future, queries))
    await asyncio.wrap_future(patient)
    assert embedder.batches[1] == ["query 0", "query 1", "query 2"]
    assert [len(batch) for batch in embedder.batches[2:]] == [Lengths.at_once, Lengths.at_once, 1]
    assert patient.result()[:, 0].tolist() == [len(f"pattern {number}") for number in range(2 * Lengths.at_once + 1)]
    await worker.aclose()


async def test_a_query_comes_between_the_parts_of_a_patient_job(embedder: Lengths) -> None:
    """Whoever waits does not wait for 100 patterns."""
    worker = EmbeddingWorker(embedder)
    embedder.may_go_on.clear()
    patient = worker.submit(["pattern"] * (3 * Lengths.at_once))
    await asyncio.to_thread(embedder.begun.acquire, timeout=PATIENCE)
    query = worker.submit(["query"], patient=False)
    embedder.may_go_on.set()
    await asyncio.wrap_future(query)
    await asyncio.wrap_future(patient)
    assert [len(batch) for batch in embedder.batches] == [Lengths.at_once, 1, Lengths.at_once, Lengths.at_once]
    await worker.aclose()


async def test_what_is_cancelled_is_not_embedded(embedder: Lengths) -> None:
    """A step that ran out of time costs no more."""
    worker = EmbeddingWorker(embedder)
    first = await held_up(worker, embedder)
    gone, patient = asyncio.create_task(worker.embed("gone")), worker.submit(["gone as well"])
    await asyncio.sleep(0)
    gone.cancel()
    patient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    embedder.may_go_on.set()
    await first
    assert (await worker.embed("next")).tolist() == [4, 1]
    assert embedder.texts == ["held up", "next"]
    assert worker._waiting == 0
    await worker.aclose()


async def test_one_text_that_cannot_be_embedded_spoils_no_other(embedder: Lengths) -> None:
    """Queries that were embedded together are tried by themselves, and only the bad one fails."""
    worker = EmbeddingWorker(embedder)
    embedder.refused.add("bad")
    first = await held_up(worker, embedder)
    futures = [worker.submit([text], patient=False) for text in ("good", "bad", "fine")]
    embedder.may_go_on.set()
    await first
    found = await asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True)
    assert [getattr(each, "tolist", lambda: "failed")() for each in found] == [[[4, 1]], "failed", [[4, 1]]]
    assert isinstance(found[1], ValueError)
    await worker.aclose()


async def test_the_state_tells_of_trouble_until_it_is_over(embedder: Lengths) -> None:
    """Readiness shows the last failure, and a success ends it."""
    worker = EmbeddingWorker(embedder)
    assert worker.state() == "ok"
    embedder.refused.add("bad")
    with pytest.raises(ValueError, match="no vector"):
        await worker.embed("bad")
    assert worker.state() == "the embedder 'lengths' fails: ValueError: no vector for this"
    with pytest.raises(ValueError, match="no vector"):
        await asyncio.wrap_future(worker.submit(["bad"]))
    await worker.embed("good")
    assert worker.state() == "ok"
    await worker.aclose()


async def test_closing_gives_up_what_waits_and_leaves_it_usable(embedder: Lengths) -> None:
    """Nobody is left waiting, no thread stays, and another text starts another thread."""
    worker = EmbeddingWorker(embedder)
    embedder.may_go_on.clear()
    patient = worker.submit(["pattern"] * (2 * Lengths.at_once))
    await asyncio.to_thread(embedder.begun.acquire, timeout=PATIENCE)
    query = worker.submit(["query"], patient=False)
    closing = asyncio.create_task(worker.aclose())
    with pytest.raises(EmbedderProblem, match="closed before it came to this text"):
        await asyncio.wrap_future(query)
    embedder.may_go_on.set()
    await closing
    with pytest.raises(EmbedderProblem, match="closed"):
        await asyncio.wrap_future(patient)
    assert THREAD_NAME not in {thread.name for thread in threading.enumerate()}
    assert (await worker.embed("again")).tolist() == [5, 1]
    await asyncio.to_thread(worker.close)
    await worker.aclose()


def test_the_thread_ends_when_there_is_nothing_to_do(embedder: Lengths, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that nobody closes keeps no thread."""
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.01)
    worker = EmbeddingWorker(embedder)
    for text in ("one", "three"):
        assert worker.submit([text]).result(PATIENCE).tolist() == [[len(text), 1]]
        deadline = time.monotonic() + PATIENCE
        while worker._thread is not None:
            assert time.monotonic() < deadline
            time.sleep(0.005)


def test_no_texts_are_no_vectors(embedder: Lengths) -> None:
    """An empty job is answered like any other."""
    worker = EmbeddingWorker(embedder)
    embedder.embed = lambda texts: np.empty((len(texts), 2), np.float32)  # type: ignore[method-assign]
    assert worker.submit([]).result(PATIENCE).shape == (0, 2)
    worker.close()


async def test_many_loops_share_one_worker(embedder: Lengths) -> None:
    """Agents call from loops of their own."""
    worker = EmbeddingWorker(embedder)

    def on_another_loop(number: int) -> list[float]:
        async def ask() -> list[float]:
            return (await worker.embed("x" * number)).tolist()

        return asyncio.run(ask())

    found = await asyncio.gather(*(asyncio.to_thread(on_another_loop, number) for number in range(1, 6)))
    assert found == [[number, 1] for number in range(1, 6)]
    assert embedder.threads == {THREAD_NAME}
    await worker.aclose()


def test_workers_are_shared_by_their_setting() -> None:
    """Two engines in one process load one model."""
    assert shared_worker() is shared_worker(None)
    assert shared_worker("minilm") is shared_worker("minilm")


FORKING = """
import os, sys, threading
from reasonblocks.engine.embedding.worker import shared_worker
worker = shared_worker()
before = worker.submit(["a text in the parent"]).result(60)
worker._lock.acquire()  # as if another thread of the parent were just at it
child = os.fork()
if not child:
    after = worker.submit(["a text in the parent"]).result(60)
    os._exit(0 if (before == after).all() else 1)
worker._lock.release()
status = os.waitpid(child, 0)[1]
again = worker.submit(["a text in the parent"]).result(60)
sys.exit(os.waitstatus_to_exitcode(status) or not (before == again).all())
"""


@pytest.mark.skipif(not hasattr(sys.modules["os"], "fork"), reason="this system does not fork")
def test_a_forked_child_starts_anew() -> None:
    """Child and parent both go on embedding, with the real model."""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", FORKING], check=False, timeout=120).returncode == 0
