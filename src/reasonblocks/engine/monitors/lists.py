"""Calls that go through a list: the same one again and again, but for one value, which is another one each time."""

import re
from collections.abc import Sequence

_TOKEN = re.compile(r"[^\s\"'{}:,\[\]()/=?&;|]+")
_AROUND = re.compile(r"[\W_]+")
_LONGEST = 600
_FEWEST = 3


def goes_through_a_list(calls: Sequence[str]) -> bool:
    """Whether calls of one tool differ in one value alone, and no two have the same, if only in another spelling."""
    if len(calls) < _FEWEST:
        return False
    rows = [_TOKEN.findall(call[:_LONGEST]) for call in calls]
    first = rows[0]
    if any(len(row) != len(first) for row in rows):
        return False
    places = {place for row in rows for place, token in enumerate(row) if token != first[place]}
    if len(places) != 1:
        return False
    place = places.pop()
    if first[place].startswith("-"):
        return False  # an option says how, not what
    values = [_AROUND.sub("", row[place]).lower() for row in rows]
    return len(set(values)) == len(values) and not any(
        one in other for one in values for other in values if one != other and not one.isdigit()
    )
