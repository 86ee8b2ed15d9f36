"""Claims about all of the past: what was done in the meantime explains none of them."""

from .quick import any_case

_ALL_ALONG = any_case(
    r"all along|from the (?:very )?(?:beginning|first|outset|start)|the (?:entire|whole) time"
    r"|(?:during|throughout) the (?:entire|whole) \w+|throughout"
    r"|(?:has|have|had|was|were)(?: itself| themselves)? (?:always|never)|always (?:did|had|has|have|was|were)"
    r"|never (?:had|has|have|was|were)|(?:already|long) (?:existed|lay|sat|stood)"
)


def is_all_along(sentence: str) -> bool:
    """Whether a sentence says that something was so from the first."""
    return _ALL_ALONG.are_in(sentence)
