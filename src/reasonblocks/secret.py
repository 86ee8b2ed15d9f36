"""Keys that cannot leak by accident: masked wherever text is made from them."""

import re
from typing import NoReturn

_ISSUED_KEY = re.compile(r"\brb_(live|test)_[A-Za-z0-9_\-]+")
_known: set[str] = set()


class Secret:
    """A key that shows itself only to the code that asks for it with `reveal()`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        _known.add(value)

    def reveal(self) -> str:
        """The key itself, for the Authorization header and nothing else."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is never pickled; set REASONBLOCKS_API_KEY where the object is loaded")


def mask(text: str) -> str:
    """`text` with every key that is known, or looks like one of ours, replaced."""
    for value in _known:
        if value in text:
            text = text.replace(value, "***")
    return _ISSUED_KEY.sub(lambda found: f"rb_{found[1]}_***", text) if "rb_" in text else text
