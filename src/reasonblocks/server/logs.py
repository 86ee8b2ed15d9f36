"""Structured logs: one JSON object a line, no key in any of them, written by a thread of their own.

Whoever reads the log may be slow or gone; the event loop must not wait for that, so lines wait in a bounded queue.
"""

import datetime
import json
import logging
import queue
import threading
import time
from typing import IO, Any

import msgspec

from ..secret import mask

LOGGER = logging.getLogger("reasonblocks.server")
MOST_WAITING = 20_000
LINGER_SECONDS = 0.05
"""How long a line waits for company: a thread that woke for every request would cost more than the writing."""
_FIELDS = "fields"


def note(level: int, event: str, /, error: BaseException | None = None, **fields: Any) -> None:
    """Log an event with its fields."""
    if LOGGER.isEnabledFor(level):
        # Made by hand: looking up file and line of the caller is half the price of a record.
        thrown = (type(error), error, error.__traceback__) if error is not None else None
        record = logging.LogRecord(LOGGER.name, level, "", 0, event, None, thrown)
        setattr(record, _FIELDS, fields)
        LOGGER.handle(record)


class JsonLines(logging.Formatter):
    """A record as one line of JSON, with every key in it masked."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        line: dict[str, Any] = {
            "ts": _time(record),
            "level": record.levelname.lower(),
        }
        fields = getattr(record, _FIELDS, None)
        if fields is None:
            line |= {"event": "log", "logger": record.name, "message": mask(record.getMessage())}
        else:
            line["event"] = record.getMessage()
            line |= {name: mask(value) if isinstance(value, str) else value for name, value in fields.items()}
        if record.exc_info:
            line["error"] = mask(self.formatException(record.exc_info))
        try:
            return msgspec.json.encode(line, enc_hook=_shown).decode()
        except UnicodeEncodeError:  # half a character, as names of files have them
            text = json.dumps(line, default=_shown, ensure_ascii=False, separators=(",", ":"))
            return text.encode("utf-8", "replace").decode()


def _time(record: logging.LogRecord) -> str:
    return datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")


def _shown(value: object) -> str:
    return mask(repr(value))


def _unformatted(record: logging.LogRecord, error: Exception) -> str:
    """The line of a record that cannot be formatted: what can be said of it for certain."""
    message = record.msg if isinstance(record.msg, str) else type(record.msg).__name__
    line = {"level": str(record.levelname).lower(), "event": "log", "logger": str(record.name), "message": message}
    line = {name: mask(text).encode("utf-8", "replace").decode() for name, text in line.items()}
    return msgspec.json.encode({"ts": _time(record)} | line | {"unformatted": type(error).__name__}).decode()


class Scribe(logging.Handler):
    """Takes records without waiting and writes them in the background; what does not fit is counted."""

    def __init__(self, stream: IO[str]) -> None:
        super().__init__()
        self.setFormatter(JsonLines())
        self._stream = stream
        self._waiting: queue.SimpleQueue[logging.LogRecord | None] = queue.SimpleQueue()
        self._dropped = 0
        self._thread = threading.Thread(target=self._write_all, name="reasonblocks-log", daemon=True)
        self._thread.start()

    def handle(self, record: logging.LogRecord) -> bool:
        """Take a record; no lock is needed for that."""
        if self._waiting.qsize() >= MOST_WAITING:
            self._dropped += 1
        else:
            self._waiting.put(record)
        return True

    def close(self) -> None:
        """Write what is waiting, and end."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join(2.0)
        super().close()

    def _write_all(self) -> None:
        open_ended = True
        while open_ended:
            batch = [self._waiting.get()]
            if batch[0] is not None:
                time.sleep(LINGER_SECONDS)
            while not self._waiting.empty():
                batch.append(self._waiting.get())
            open_ended = None not in batch
            self._write([record for record in batch if record is not None])

    def _write(self, records: list[logging.LogRecord]) -> None:
        lines = [self._line(record) for record in records]
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            lines.append(msgspec.json.encode({"event": "log lines lost", "count": dropped}).decode())
        try:
            self._put("".join(f"{line}\n" for line in lines))
            self._stream.flush()
        except Exception:  # nobody reads it at the moment, or any more; the thread has to outlive that
            self._dropped += len(lines)

    def _line(self, record: logging.LogRecord) -> str:
        """One record must not cost the others their lines."""
        try:
            return self.format(record)
        except Exception as error:
            return _unformatted(record, error)

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
        except UnicodeEncodeError:
            encoding = getattr(self._stream, "encoding", None) or "ascii"
            self._stream.write(text.encode(encoding, "replace").decode(encoding))
