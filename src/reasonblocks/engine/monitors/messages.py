"""A message that stands in an envelope: the one text of a JSON object is what is said, and read as it is shown."""

import msgspec

_FEWEST_WORDS = 3


def message_in(thought: str) -> str:
    """What a thought says, without an envelope around it."""
    text = thought.strip() if thought[:1] in "{ \n" else ""
    if text[:1] != "{" or text[-1:] != "}":
        return thought  # nearly all of them
    try:
        content = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return thought
    said = list(content.values()) if isinstance(content, dict) else []
    if len(said) != 1 or not isinstance(said[0], str) or len(said[0].split()) < _FEWEST_WORDS:
        return thought
    return said[0]
