"""Data and models for tests of what is shared with CRFsuite: names with colons, backslashes and other scripts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pycrfsuite

WORDS = ("walk", "é", "日本", "a:b", "c\\d", "x" * 40, "🙂", " ")
LABELS = ("B-é", "O", "I:x", "I\\y")

Labelled = tuple[list[Any], list[str]]


def nested_items(seed: int, num: int = 20) -> list[Labelled]:
    """Sequences of dicts with texts, numbers, truth values, lists and dicts."""
    chance = random.Random(seed)

    def item() -> dict[str, Any]:
        return {
            "word": chance.choice(WORDS),
            "size": chance.random() * 3,
            "next": {"near": [chance.choice(WORDS) for _ in range(chance.randrange(3))], "up": chance.random() < 0.5},
            chance.choice(WORDS): chance.randrange(-2, 3),
        }

    return _sequences(chance, num, item)


def string_items(seed: int, num: int = 20) -> list[Labelled]:
    """Sequences of lists of texts; some are empty, some have a text twice."""
    chance = random.Random(seed)
    return _sequences(chance, num, lambda: [f"w={chance.choice(WORDS)}" for _ in range(chance.randrange(4))])


def weighted_items(seed: int, num: int = 20) -> list[Labelled]:
    """Sequences of dicts from attribute to weight."""
    chance = random.Random(seed)
    return _sequences(chance, num, lambda: {word: chance.gauss(0, 2) for word in chance.sample(WORDS, 3)})


def _sequences(chance: random.Random, num: int, item: Any) -> list[Labelled]:
    lengths = [chance.randrange(1, 7) for _ in range(num)]
    return [([item() for _ in range(n)], [chance.choice(LABELS) for _ in range(n)]) for n in lengths]


KINDS = {"nested": nested_items, "strings": string_items, "weighted": weighted_items}


def trained_file(path: Path, sequences: list[Labelled], **params: Any) -> bytes:
    """The content of the file to which python-crfsuite writes the model that it trains."""
    trainer = pycrfsuite.Trainer(verbose=False, params={"max_iterations": 20, **params})
    for items, labels in sequences:
        trainer.append(items, labels)
    trainer.train(str(path))
    return path.read_bytes()
