"""The same short answer, four times in a row, to what is the same question written in other ways.

A sum that comes to the same figure however it is put, or one address of a service that is requested with other flags,
tells nothing more after the second time. Other questions may well have the same answer: those are not compared.
"""

import re
from itertools import filterfalse
from typing import NamedTuple

from ..answers import Evidence
from .base import Reading
from .features import StepFeatures
from .roles import runs_commands
from .words import WordSet, split, token_set

_AGAIN = 4
"""Times in a row at which it is too much: a result may be checked, and checked in another way."""
_SHORT = 300
"""Characters of an answer, and of a question."""
_FIGURES = 3
"""Digits of a result that different sums do not have in common."""
_SCORES = (0.65, 0.8, 0.9)
_SUM = re.compile(r"(?=\D*\d)[\d\s.,+\-*/()%^=$\[\]\u00a3\u20ac]*[+\-*/%^,][\d\s.,+\-*/()%^=$\[\]\u00a3\u20ac]*")
"""Nothing but figures, and what is done with them."""
_AROUND = re.compile(
    r"\b(?:abs|bc|echo|float|int|max|min|print|python[\d.]*|round|sum)\b|\s-[cl]\b|[|'\"]|\b(?:eur|usd)\b",
    re.IGNORECASE,
)
"""What has a sum worked out, and what is said of the kind of it."""
_REQUESTS = re.compile(
    r"(?:^|[\s;&|(])(?:curl|wget|https?|xh)\s|\b(?:requests|httpx|session|client)\.get\(|\burlopen\(|\bfetch\("
)
_IN_A_REQUEST = ("curl", "wget", "http", "xh", ".get(", "urlopen", "fetch")
_SENDS = re.compile(
    r"\s(?:-[HdFub]|-T|--(?:data|form|header|json|post|user)\S*|(?:-X|--request)[ =]?(?:DELETE|PATCH|POST|PUT))\b"
    r"|\.(?:delete|patch|post|put)\(|\b(?:data|headers|json|method|params)\s?[=:]"
)
"""What makes a request another one than its address tells."""
_ADDRESS = re.compile(
    r"(?:https?://|(?<![\w/.-])(?=(?:localhost|\d+\.\d+\.\d+\.\d+|\w[\w.-]*:\d)))([\w.-]+(?::\d+)?[^\s\"'|;&>)\\]*)"
)
_HEADERS = re.compile(r"\bHTTP/\d[^\n]*\n(?:[\w-]+:[^\n]*\n)*\s*")
_THIS_HOST = re.compile(r"^(?:localhost|127\.0\.0\.1|0\.0\.0\.0)")
_MONITOR = "semantic_loop"
_A_SUM = "a sum"


class _Asked(NamedTuple):
    """What a call wants to know, and what it was told."""

    question: str
    """The same however it is written."""
    words: WordSet
    """Of the answer..."""
    numbers: WordSet
    """...and the figures in it; a client may add the status of it."""


class Agreeing:
    """The answers in a row that are the same."""

    __slots__ = ("_calls", "_last", "_result", "_steps")

    def __init__(self) -> None:
        self._last: _Asked | None = None
        self._result = b""
        self._calls: set[bytes] = set()
        self._steps: list[int] = []

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if the answer came once too often."""
        now = _asked(step)
        if now is None:
            self._last, self._steps = None, []
            return None
        last, self._last = self._last, now
        if last is None or not _agree(last, now, same=step.result == self._result):
            self._result = step.result
            self._calls, self._steps = {step.call}, [step.index]
            return None
        self._calls.add(step.call)
        self._steps.append(step.index)
        over = len(self._steps) - _AGAIN
        if over < 0 or len(self._calls) < 2:
            return None
        reason = f"The same was asked {len(self._steps)} times in a row, written in other ways, with the same answer."
        return Reading(
            _SCORES[min(over, len(_SCORES) - 1)],
            Evidence(_MONITOR, reason, self._steps[-2 * _AGAIN :], [step.call_quote(), step.result_quote()]),
        )


def _agree(one: _Asked, other: _Asked, *, same: bool) -> bool:
    """Whether two questions are one and so are their answers; `same` if these are word for word."""
    if one.question != other.question or same:
        return one.question == other.question
    if one.question == _A_SUM or not one.words or one.words != other.words:
        return False
    return one.numbers & other.numbers in (one.numbers, other.numbers)


def _asked(step: StepFeatures) -> _Asked | None:
    """What a call wants to know; nothing where that cannot be told."""
    role = step.role
    if step.speaks_only or role.changes or role.waits or step.unfinished or not 0 < step.result_size <= _SHORT:
        return None
    if len(step.command) > _SHORT or not (role.runs or role.looks) or step.failed:
        return None
    if _may_request(step.command) and runs_commands(step.action) and _REQUESTS.search(step.command):
        address = _address(step.command)
        told = split(_HEADERS.sub("", step.result_excerpt))
        if not address:
            return None
        return _Asked(address, token_set(filter(str.isalpha, told)), token_set(filterfalse(str.isalpha, told)))
    if sum(map(str.isdigit, step.result_excerpt)) < _FIGURES:
        return None
    sum_alone = _AROUND.sub("", step.command.split("\n", 1)[0]).strip()
    return _Asked(_A_SUM, 0, 0) if _SUM.fullmatch(sum_alone) else None


def _may_request(command: str) -> bool:
    """Whether one of the words is there that a request is made with, which is quickly said."""
    return any(map(command.__contains__, _IN_A_REQUEST))


def _address(command: str) -> str:
    """The one address that a command requests, and does no more than request."""
    if _SENDS.search(command):
        return ""
    addresses = {_THIS_HOST.sub("here", address).rstrip("/") for address in _ADDRESS.findall(command)}
    return addresses.pop() if len(addresses) == 1 else ""
