"""A figure or a date is told that is another one than the call has brought, or was given.

Only what leaves no choice is compared: a call that brings one number and nothing else, with the amounts of the message
after it; the dates of a change, with those of the sentence that reports it.
"""

import re

from ..answers import Evidence
from .base import Reading
from .conclusions import opening, reports_change
from .features import StepFeatures, quote

_NAME = "verification_skip"
_ANOTHER = 0.7
_LONGEST_NUMBER = 24
_MOST_READ, _MOST_KEPT = 3_000, 24
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w])")
_ONLY_A_NUMBER = re.compile(r"\W{0,3}(-?\d[\d,]*(?:\.\d+)?)\W{0,3}")
_AMOUNT = re.compile(r"[$\u20ac\u00a3]\s?(\d[\d,]*(?:\.\d+)?)")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = re.compile(
    rf"\b\d{{4}}-(\d\d)-(\d\d)\b|\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)|\b(\d{{1,2}})(?:st|nd|rd"
    rf"|th)?(?: of)? {_MONTH}\b"
)
_SENTENCES = re.compile(r"(?<=[.!?])\s|\n")
_HAS_MANY = 6
"""Dates of a result of which one may well be meant in other words."""


class ToldFigures:
    """The numbers and dates of the calls since somebody answered."""

    __slots__ = ("_dated", "_known", "_number", "_parts", "_read")

    def __init__(self) -> None:
        self._number: tuple[int, str, float] | None = None
        """The newest call, if all it brought is a number."""
        self._parts: set[float] = set()
        """The numbers it was given."""
        self._known: set[float] = set()
        """The amounts that were told or asked for before."""
        self._dated: tuple[int, str] | None = None
        """The newest change that was given dates."""
        self._read: list[str] = []
        """All calls since, and their results."""

    def take(self, step: StepFeatures) -> None:
        """Take a call in."""
        if step.role.notes:
            return
        self._number = None
        if 0 < step.result_size <= _LONGEST_NUMBER and not step.failed:
            only = _ONLY_A_NUMBER.fullmatch(step.result_excerpt.strip())
            if only is not None:
                self._number = (step.index, step.call_quote(), abs(_value(only[1])))
                self._parts = set(_numbers(step.arguments[:_MOST_READ]))
        changes = step.role.changes and not step.failed and not step.role.runs
        if changes and _dates_in(step.arguments[:_MOST_READ]):
            self._dated = (step.index, step.call_quote())
        self._read = [*self._read[-_MOST_KEPT:], step.arguments[:_MOST_READ], step.result_excerpt]

    def forget(self, step: StepFeatures) -> None:
        """Somebody has answered a message."""
        self._number = self._dated = None
        self._read = []
        if "$" in step.thought or "$" in step.result_excerpt:
            self._known |= _amounts(step.thought[:_MOST_READ]) | _amounts(step.result_excerpt)

    def compare(self, step: StepFeatures) -> Reading | None:
        """What is wrong with a message, if this came before it."""
        return self._compare_number(step) or self._compare_dates(step)

    def _compare_number(self, step: StepFeatures) -> Reading | None:
        if self._number is None:
            return None
        index, call, value = self._number
        told = _amounts(step.thought) - self._known - self._parts
        if not told or any(_is_about(value, number) for number in _numbers(step.thought)):
            return None
        amount = next(iter(sorted(told, key=lambda one: abs(one - value))))
        said = next((part for part in _SENTENCES.split(step.thought) if amount in _amounts(part)), step.thought)
        reason = "The amount that is told is not the one that was worked out for it."
        return Reading(_ANOTHER, Evidence(_NAME, reason, [index, step.index], [quote(said), f"{call} = {value:g}"]))

    def _compare_dates(self, step: StepFeatures) -> Reading | None:
        if self._dated is None:
            return None
        dates = {date for text in self._read for date in _dates_in(text)}
        if len(dates) > _HAS_MANY:
            return None
        for part in _SENTENCES.split(opening(step.thought)):
            told = _dates_in(part)
            if told and not told & dates and reports_change(part):
                index, call = self._dated
                reason = "The date that is told is not the one that the change was made with."
                return Reading(_ANOTHER, Evidence(_NAME, reason, [index, step.index], [quote(part), call]))
        return None


def _dates_in(text: str) -> set[tuple[int, int]]:
    """The dates of a text, each as month and day."""
    found = set()
    for match in _DATE.finditer(text.lower()):
        month, day, name, of_name, of_day, before = match.groups()
        if month:
            found.add((int(month), int(day)))
        elif name:
            found.add((_MONTHS.index(name) + 1, int(of_name)))
        else:
            found.add((_MONTHS.index(before) + 1, int(of_day)))
    return found


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _numbers(text: str) -> list[float]:
    return [_value(number) for number in _NUMBER.findall(text)]


def _amounts(text: str) -> set[float]:
    return {_value(amount) for amount in _AMOUNT.findall(text)}


def _is_about(value: float, number: float) -> bool:
    """Whether a number is a value, be it rounded."""
    return abs(value - number) < 1 if number == int(number) else abs(value - number) < 0.01
