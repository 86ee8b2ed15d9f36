"""Whether two claims in the same words, or nearly so, can both be true; in other words see `alignment.py`."""

from .claims import ATTRIBUTE_STEMS, Claim
from .words import size

_FEWEST_COMMON = 2
_MOST_MORE = 2


def conflict(one: Claim, other: Claim) -> str:
    """In what two claims with the same key exclude each other; empty if they do not."""
    if one.unique != other.unique or (one.scope and other.scope):
        return ""  # what is neither large nor small is no contradiction
    if one.unique:
        if one.names == other.names:
            return "denial" if one.denied != other.denied else ""
        apart = not one.denied and not other.denied and set(one.names).isdisjoint(other.names)
        return "place" if apart and one.names and other.names else ""
    if one.values == other.values:
        return "denial" if one.denied != other.denied else ""
    if one.denied or other.denied or not one.values or not other.values:
        return ""
    if "=" in one.values or "=" in other.values:
        first, second = set(one.values.split()), set(other.values.split())
        return "value" if first - second and second - first else ""
    if ":" in one.values and one.amounts != other.amounts:
        return ""  # so many of these, and so many of those
    if not one.says:
        return ""  # a value that was looked at in passing
    return "value" if one.values.count(" ") == other.values.count(" ") else ""


def nearly(one: Claim, other: Claim) -> str:
    """The same for claims about the same things with different words: one of them says a little more."""
    if one.unique or other.unique or one.names != other.names:
        return ""
    common = one.says & other.says
    if not common or common not in (one.says, other.says) or size(one.says ^ other.says) > _MOST_MORE:
        return ""
    if one.values == other.values and one.denied != other.denied:
        return "nearly" if size(common) >= _FEWEST_COMMON else ""
    if one.says & other.says & ATTRIBUTE_STEMS and _numbers_differ(one, other):
        return "value"
    if " " in one.values or " " in other.values:
        return ""
    if ":" in one.values and ":" in other.values and one.values != other.values and not (one.denied or other.denied):
        return "value" if one.values.partition(":")[0] == other.values.partition(":")[0] else ""
    return ""


def _numbers_differ(one: Claim, other: Claim) -> bool:
    if one.denied or other.denied or one.values == other.values or not one.values or not other.values:
        return False
    return not any(mark in one.values + other.values for mark in " :=")
