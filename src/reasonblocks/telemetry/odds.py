"""Whether a server fails over one event, or over any: what tells a poison from a bad day."""

_REMEMBERED = 64
"""About so many attempts count; what was before them says little about now."""
_UNLIKELY = 1e-6


class Odds:
    """How the first attempts went of late, each event and each batch by itself."""

    def __init__(self) -> None:
        self._made = 0.0
        self._failed = 0.0

    def note(self, *, failed: bool) -> None:
        """Something was tried for the first time. Later attempts would only tell of the same event once more."""
        self._made += 1
        self._failed += failed
        if self._made > _REMEMBERED:
            self._made /= 2
            self._failed /= 2

    def rule_out(self, failures: int) -> bool:
        """Whether so many failures over one event, each after another one was taken, cannot be chance.

        Where a third of all attempts fail, one event in forty fails three times in a row with nothing being wrong with
        it, and would be lost.
        """
        return bool(((self._failed + 1) / (self._made + 2)) ** failures < _UNLIKELY)
