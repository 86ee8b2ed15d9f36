"""Whole transactions: functions of a connection, each of which is committed or undone as one."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

T = TypeVar("T")


class Transactions(ABC):
    """Runs functions of a connection, each in a transaction that may write."""

    async def open(self, rehearsal: Callable[[Connection], object] | None = None) -> None:  # noqa: B027  it may be nothing
        """Have a connection, so that the first transaction does not have to make one.

        Where statements are prepared in this process, a rehearsal prepares them: it is run, and undone.
        """

    @abstractmethod
    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction: committed when this returns, undone when `work` raises.

        What is under way is finished even if the caller is cancelled. `work` may be run again where another process
        came in between, so it changes nothing but the tables.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """Finish what is under way; what comes after that is refused."""
