"""The index thread: calls from any loop, one after another, and a fork."""

from __future__ import annotations

import asyncio
import os
import threading
import time

import pytest

from reasonblocks.engine.index.thread import THREAD_NAME, IndexFailure, IndexThread


class Panic(BaseException):
    """What a panic of Rust looks like from Python."""


async def test_calls_are_made_in_order_on_one_thread_of_its_own() -> None:
    """The caller's loop goes on, and no two calls overlap."""
    thread, seen = IndexThread(), []

    def call(number: int) -> int:
        seen.append((number, threading.current_thread().name))
        return number

    assert await asyncio.gather(*(thread.run(call, number) for number in range(20))) == list(range(20))
    assert seen == [(number, THREAD_NAME) for number in range(20)]
    await thread.aclose()


async def test_several_loops_share_it() -> None:
    """A call can be awaited from whatever loop it was made on."""
    thread = IndexThread()

    def elsewhere() -> str:
        return asyncio.run(thread.run(lambda: threading.current_thread().name))

    names = await asyncio.gather(asyncio.to_thread(elsewhere), thread.run(lambda: threading.current_thread().name))

    assert names == [THREAD_NAME, THREAD_NAME]
    await thread.aclose()


async def test_an_error_goes_to_the_caller_and_a_panic_as_an_error() -> None:
    """Nothing a call raises ends the thread, or the task that awaits it with something that is no `Exception`."""
    thread = IndexThread()

    def panic() -> None:
        raise Panic("index out of bounds")

    with pytest.raises(ZeroDivisionError):
        await thread.run(lambda: 1 // 0)
    with pytest.raises(IndexFailure, match="index out of bounds"):
        await thread.run(panic)
    assert await thread.run(lambda: "alive") == "alive"
    await thread.aclose()


async def test_a_call_that_nobody_awaits_any_more_is_not_made() -> None:
    """A cancelled caller leaves no work behind."""
    thread, made, hold = IndexThread(), [], threading.Event()
    busy = asyncio.create_task(thread.run(hold.wait))
    task = asyncio.create_task(thread.run(made.append, "late"))
    await asyncio.sleep(0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    hold.set()
    await busy
    await thread.aclose()

    assert made == []


async def test_a_loop_that_is_gone_before_the_answer_does_no_harm() -> None:
    """The thread goes on for the others."""
    thread, hold = IndexThread(), threading.Event()

    def elsewhere() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(thread.run(hold.wait))
        loop.run_until_complete(asyncio.sleep(0))
        task.cancel()
        loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
        loop.close()

    await asyncio.to_thread(elsewhere)
    hold.set()

    assert await thread.run(lambda: "alive") == "alive"
    await thread.aclose()


async def test_closing_finishes_what_was_submitted(no_threads_left: None) -> None:
    """The thread ends after the calls that came before, and a later call gets a new one."""
    thread = IndexThread()
    tasks = [asyncio.create_task(thread.run(time.sleep, 0.001)) for _ in range(10)]
    await asyncio.sleep(0)

    await thread.aclose()
    await asyncio.gather(*tasks)

    assert await thread.run(lambda: 1) == 1
    await thread.aclose()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_starts_a_thread_of_its_own() -> None:
    """A child that inherits a running thread's object can use it."""
    thread = IndexThread()
    assert asyncio.run(thread.run(os.getpid)) == os.getpid()

    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if asyncio.run(asyncio.wait_for(thread.run(os.getpid), 5)) == os.getpid() else 1)
        except BaseException:
            os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    asyncio.run(thread.aclose())
