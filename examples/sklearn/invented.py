"""Invented spoken sentences: no capitals, and words that are a name here and a verb or a noun there.

"will will drive to reading", "the rose in the bath": the words alone do not tell. Not here: models.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

Tag = tuple[str, str]  # part of speech, entity
Sentence = tuple[list[str], list[Tag]]

WORDS: Mapping[str, Sequence[str]] = {
    "first": ["will", "mark", "rose", "may", "bill", "grant", "hope", "drew", "frank", "anna", "tom"],
    "last": ["hill", "grant", "reading", "rose", "book", "drew", "miller"],
    "place": ["reading", "bath", "sandwich", "deal", "nice", "hull", "york", "leeds"],
    "verb": ["mark", "bill", "grant", "hope", "drive", "read", "rose", "drew", "deal", "go"],
    "aux": ["will", "may", "can", "must"],
    "noun": ["rose", "bill", "bath", "sandwich", "deal", "hope", "book", "hill", "hull", "mark", "reading"],
    "det": ["the", "a", "this"],
    "adp": ["to", "in", "from", "near", "with"],
    "adj": ["nice", "frank", "new", "old"],
}
TAGS: Mapping[str, Tag] = {
    "first": ("PROPN", "B-PER"),
    "last": ("PROPN", "I-PER"),
    "place": ("PROPN", "B-LOC"),
    "verb": ("VERB", "O"),
    "aux": ("AUX", "O"),
    "noun": ("NOUN", "O"),
    "det": ("DET", "O"),
    "adp": ("ADP", "O"),
    "adj": ("ADJ", "O"),
}
# What a sentence consists of; each part is one of its choices.
PERSON = ("first", "first last")
THING = ("det noun", "det adj noun", "noun")
PATTERNS: Sequence[Sequence[Sequence[str]]] = (
    (PERSON, ("verb", "aux verb"), ("adp",), ("place",)),
    (PERSON, ("verb", "aux verb"), THING),
    (("aux",), PERSON, ("verb",), THING, ("adp",), ("place",)),
    (("verb",), THING, ("adp",), PERSON),
    (THING, ("adp",), THING, ("aux",), ("verb",), PERSON),
    (("place",), ("verb", "aux verb"), PERSON),
)


def sentences(count: int, seed: int) -> list[Sentence]:
    """Sentences as words and tags."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        kinds = " ".join(draw.choice(part) for part in draw.choice(PATTERNS)).split()
        found.append(([draw.choice(WORDS[kind]) for kind in kinds], [TAGS[kind] for kind in kinds]))
    return found
