"""Calls that tell something and do nothing: notes that are written down, and texts that a shell only says back.

What such a call is given counts as said, and that it was made is no news.
"""

import re

from .excerpts import head_and_tail
from .features import StepFeatures
from .words import covered, size, word_set

_FEWEST_WORDS = 7
"""Words of a text that a file is given."""
_FEWEST_ECHOED, _ECHOED = 4, 0.7
"""Words of an output, and the share of them that the command was given: what frames an output was not."""
_AROUND_AN_OUTPUT = word_set("code exit output returncode stdout".split())
"""How tools mark where an output begins and ends."""
_NAMED_WITHIN = 300
"""Characters at both ends of the arguments, where a file is named."""
_NOTES = re.compile(
    r"todo|notes?(?![a-z])|memo(?:ry|ries)?(?![a-z])|scratchpad|journal|diary|findings?(?![a-z])|thoughts?(?![a-z])|remember"
    r"|(?:append|log|record|save|store|update|write)_(?:context|fact|knowledge|learning|observation|progress|summary)",
    re.IGNORECASE,
)
_LISTS = re.compile(r"todo|plan|tasks?(?![a-z])", re.IGNORECASE)
_BOXES = re.compile(r"^\s*(?:[-*]|\d+[.)])\s*\[[ xX]\]", re.MULTILINE)
"""A list of what is done and what is left to do."""
_ABOUT_THE_RUN = (
    r"(?:analysis|brief|context|digest|facts|findings?|insights?|investigation|journal|knowledge|learnings|log|memo(?:ry)?"
    r"|notebook|notes?|observations?|outline|overview|progress|recap|report|scratch(?:pad)?|stat(?:e|us)|summary|thoughts"
    r"|understanding|what_?(?:i|is|we)_?know)"
)
_FOR_PEOPLE = r"(?:adoc|log|md|org|rst|txt)"
_NOTEBOOK = re.compile(rf"(?:^|>\s{{0,3}})[\w./~-]{{1,120}}\.{_FOR_PEOPLE}(?=\s*(?:$|<))", re.IGNORECASE | re.MULTILINE)
"""A file for people that something is written to."""
_NOTEBOOKS = (".adoc", ".log", ".md", ".org", ".rst", ".txt")
"""One of these is in whatever matches and is written in ASCII."""
_OWN_NOTES = re.compile(
    rf"(?:^|>\s{{0,3}})(?:[\w./~-]{{1,120}}\.(?:md|org)|(?:[\w./~-]{{0,100}}[/_.-])?{_ABOUT_THE_RUN}"
    rf"(?:[_-]?\w{{1,12}})?(?:\.(?:html?|json|ya?ml|{_FOR_PEOPLE}))?)(?=\s*(?:$|<))",
    re.IGNORECASE | re.MULTILINE,
)
"""A file for what the agent itself wants to remember, by its name, that something is written to."""
_SAYS = re.compile(
    r"\s*(?:#[^\n]*\n\s*)*(?:echo|printf|print\s*\(|console\.log\(|cat\s*<<|:\s|python[\d.]*\s+-c\s+['\"]\s*print\()"
)
"""How a command begins that says back what it is given."""


def writes_notes(step: StepFeatures) -> bool:
    """Whether a list or a text for people is written down: an account of things changes none of them."""
    if not step.role.changes:
        return False
    if _NOTES.search(step.action):
        return True
    if size(step.call_words) < _FEWEST_WORDS:
        return False
    text = step.arguments
    if text.isascii() and not any(map(text.lower().__contains__, _NOTEBOOKS)):
        return False
    return _NOTEBOOK.search(text) is not None


def keeps_notes(step: StepFeatures) -> bool:
    """Whether something is written down for the agent itself, by the name of the tool or of the file."""
    if not step.role.changes or step.failed:
        return False
    if _NOTES.search(step.action):
        return True
    if size(step.given_words) < _FEWEST_WORDS:
        return False
    return _OWN_NOTES.search(head_and_tail(step.arguments, _NAMED_WITHIN, _NAMED_WITHIN)) is not None


def says_back(step: StepFeatures) -> bool:
    """Whether a shell is told to say something, and says nothing that it was not told."""
    role = step.role
    if role.changes or not (role.looks or role.runs) or step.failed:
        return False
    if step.arguments.startswith("#"):
        return size(step.given_words) >= _FEWEST_WORDS and all(map(_is_comment, step.arguments.splitlines()))
    if _SAYS.match(step.arguments) is None:
        return False
    said = (step.result_words | step.result_numbers) & ~_AROUND_AN_OUTPUT
    if size(said) < _FEWEST_ECHOED:
        return False
    return covered(said, step.given_words | step.terms.words) >= _ECHOED


def lists(step: StepFeatures) -> bool:
    """Whether a step keeps up a list of what is to be done, which names the same each time."""
    return _LISTS.search(step.action) is not None or ("[" in step.arguments and bool(_BOXES.search(step.arguments)))


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")
