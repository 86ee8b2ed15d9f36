"""Words that tell of a change where they stand in the sentence itself: what it says is another thing by now."""

from .words import phrases

_WORDS = (
    "actually although but converted despite downgraded earlier except however instead now oh previously though "
    "unlike updated upgraded wait whereas yet"
)
TURNS = phrases(
    _WORDS.replace(" ", ", "),
    "after all, even though, in fact, no longer, previous*, turned out, turns out",
    "changed to, increased to, moved to, reduced to, set to, switched to",
)
TURNING = frozenset(_WORDS.split()) | {"previous"}
"""Those of them that are a word alone."""
