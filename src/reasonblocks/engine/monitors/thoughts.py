"""What a thought says, read off its text alone: many steps have none, and some say the same again."""

from functools import lru_cache
from itertools import chain, filterfalse
from operator import itemgetter

import msgspec

from .topics import TopicPart, topic_of_thought
from .words import Sentence, WordSet, number_set, split_sentences, word_set

_MOST_REMEMBERED = 64
"""Thoughts of which is remembered what was read; an excerpt may be long, and few come again much later."""
_WORDS_OF = itemgetter(1)
"""Of a sentence."""


class ThoughtRead(msgspec.Struct, frozen=True, gc=False):
    """What the excerpt of a thought says; not to be changed, for others may have the same."""

    said: list[str]
    codes: list[str]
    words: WordSet
    numbers: WordSet
    sentences: list[Sentence]
    topic: TopicPart


@lru_cache(maxsize=_MOST_REMEMBERED)
def read_thought(excerpt: str) -> ThoughtRead:
    """What a thought says, given the head and the tail of it."""
    sentences = split_sentences(excerpt)
    said = list(chain.from_iterable(map(_WORDS_OF, sentences)))
    words = set(said)
    codes = list(filterfalse(str.isalpha, words))
    return ThoughtRead(
        said, codes, word_set(words), number_set(codes), sentences, topic_of_thought(excerpt, words, codes)
    )
