"""A trial that is announced: whoever announces one, makes none, and calls the work done, has left it out."""

import re

from .waivers import plain

_LONGEST = 1_500
_ANNOUNCED = re.compile(
    r"\b(?:after(?:wards?| (?:that|this|which))|finally|i(?:'ll| will| shall| should| need to| want to"
    r"| am going to|'m going to)"
    r"|let me|let's|next|now to|once (?:this|that|it)[^.,\n]{1,30}|then|time to|we(?:'ll| will| should| need to)) "
    r"(?:(?:actually|again|also|first|have to|i|we|just|need to|now|quickly|simply|still|to|try to) ){0,3}"
    r"(?:(?:re-?)?(?:run|test|execute|compile|build|exercise)|try (?:it|this|that|the (?:change|fix|patch|script))"
    r"|check (?:that|whether|if) (?:it|this|that|everything|the \w+)"
    r" (?:\w+ )?(?:builds?|compiles?|runs?|works?|passes))\b(?! (?:into|out|a different|another"
    r"|the (?:same )?approach|to\b))"
    r"[^.\n]{0,80}"
)
_ON_CONDITION = re.compile(r"\b(?:could|if|in case|might|unless|whether or not|would)\b")
_SENTENCES = re.compile(r"(?<=[.!?;])\s|\n")


def announces_trial(thought: str) -> bool:
    """Whether a thought says that something is going to be run or tried."""
    said = plain(thought[-_LONGEST:])
    return _ANNOUNCED.search(said) is not None and any(
        _ANNOUNCED.search(part) is not None and _ON_CONDITION.search(part) is None for part in _SENTENCES.split(said)
    )
