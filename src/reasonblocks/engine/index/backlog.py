"""The items whose vectors have yet to be made, and when that may be tried."""

from collections.abc import Iterable

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds between attempts on an item that cannot be embedded."""

_Key = tuple[str, str]


class Backlog:
    """Items by kind and id, each with the time from which on it is due; times are those of the event loop."""

    def __init__(self) -> None:
        self._due: dict[_Key, float] = {}
        self._pauses: dict[_Key, float] = {}
        self.complaint = ""
        """What the last attempt that failed said."""

    def add(self, kind: str, item_ids: Iterable[str], due: float) -> None:
        """Items are to be embedded; whatever was wrong with them before may not be any more."""
        for item_id in item_ids:
            self._pauses.pop((kind, item_id), None)
            self._due[kind, item_id] = due

    def done(self, kind: str, item_ids: Iterable[str]) -> None:
        """Items have their vectors, or need none any more."""
        for item_id in item_ids:
            self._due.pop((kind, item_id), None)
            self._pauses.pop((kind, item_id), None)

    def failed(self, kind: str, item_id: str, complaint: str, now: float) -> None:
        """An attempt on an item failed; the next one comes later and later."""
        key = kind, item_id
        pause = self._pauses.get(key, FIRST_PAUSE / 2) * 2
        self._pauses[key] = min(pause, LONGEST_PAUSE)
        self._due[key] = now + self._pauses[key]
        self.complaint = complaint

    def take(self, now: float, most: int) -> tuple[str, list[str]] | None:
        """Some items of one kind that are due; they stay here until they are done or failed."""
        due = (key for key, time in self._due.items() if time <= now)
        first = next(due, None)
        if first is None:
            return None
        chosen = [first[1]]
        for kind, item_id in due:
            if len(chosen) >= most:
                break
            if kind == first[0]:
                chosen.append(item_id)
        return first[0], chosen

    def wait(self, now: float) -> float | None:
        """Seconds until something is due; `None` if there is nothing."""
        return max(0.0, min(self._due.values()) - now) if self._due else None

    def clear(self) -> None:
        """Everything is looked at anew."""
        self._due.clear()
        self._pauses.clear()

    def of_kind(self, kind: str) -> set[str]:
        """The items of a kind that are waiting."""
        return {item_id for its_kind, item_id in self._due if its_kind == kind}

    def __len__(self) -> int:
        return len(self._due)

    @property
    def untried(self) -> int:
        """Those that no attempt failed on yet."""
        return len(self._due) - len(self._pauses)

    @property
    def troubled(self) -> int:
        """Those that an attempt failed on."""
        return len(self._pauses)
