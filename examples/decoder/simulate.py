"""Scores such as a network gives for names in texts: `simulate.py FOLDER` writes dev.npz and test.npz, by fixed seeds.

A sentence is a row of segments with words outside between them. The score of a state at a token is

    signal · (it is the right state) + what the network takes for something else + noise

and what it takes for something else is drawn once a segment, so that the tokens of a segment err together, as those of
a network do: the segment is hardly seen (`O` is ahead), is taken for another type, or its marks are mixed up. Some
words outside look like a name. Not here: any network.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

TYPES = ("LOC", "MAIL", "ORG", "PER")
STATES = (*(f"{mark}-{kind}" for kind in TYPES for mark in "BIES"), "O")  # the order of `bioes(LOC, MAIL, ORG, PER)`
SENTENCES = 1_000
SHARES = (0.62, 0.26, 0.08, 0.04)  # of segments of 1, 2, 3 and 4 tokens


class Simulated(NamedTuple):
    """logits: [N, K].   ner: [N] labels.   lengths: [S] tokens of each sentence."""

    logits: np.ndarray
    ner: np.ndarray
    lengths: np.ndarray


def _marks(size: int) -> list[str]:
    return ["S"] if size == 1 else ["B", *"I" * (size - 2), "E"]


def _segment(random: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """The labels of a segment, and their scores beyond noise."""
    size, kind = 1 + random.choice(4, p=SHARES), random.choice(TYPES)
    labels = [f"{mark}-{kind}" for mark in _marks(size)]
    scores = np.zeros((size, len(STATES)))
    for token, label in enumerate(labels):
        scores[token, STATES.index(label)] += 5.0
        for mark in "BIES":  # the type is clearer than the mark
            scores[token, STATES.index(f"{mark}-{kind}")] += 2.0
        if random.random() < 0.2:
            scores[token, STATES.index(f"{random.choice(list('BIES'))}-{kind}")] += 4.5
    if random.random() < 0.15:  # hardly seen
        scores[:, -1] += 7.0 + random.exponential(0.5) / size
    if random.random() < 0.01:  # may be of another type
        other = random.choice(TYPES)
        for token, label in enumerate(labels):
            scores[token, STATES.index(label[:2] + other)] += 5.0
    return labels, scores


def _outside(random: np.random.Generator) -> np.ndarray:
    """The scores of a word outside, beyond noise."""
    scores = np.zeros(len(STATES))
    scores[-1] += 8.0
    if random.random() < 0.05:  # looks like a name
        kind = random.choice(TYPES)
        scores[STATES.index(f"S-{kind}")] += 5.0 + random.exponential(1.0)
    return scores


def simulate(sentences: int, seed: int) -> Simulated:
    """So many sentences of 5 to 30 tokens or little more."""
    random = np.random.default_rng(seed)
    logits, labels, lengths = [], [], []
    for _ in range(sentences):
        least, begun = random.integers(5, 31), len(labels)
        while len(labels) - begun < least:
            after_one = len(labels) > begun and labels[-1] != "O"
            if random.random() < (0.01 if after_one else 0.15):
                names, scores = _segment(random)
            else:
                names, scores = ["O"], _outside(random)[None]
            labels += names
            logits.append(scores)
        lengths.append(len(labels) - begun)
    noisy = np.concatenate(logits) + random.normal(0.0, 0.9, (len(labels), len(STATES)))
    return Simulated(noisy.astype(np.float32), np.array(labels), np.array(lengths))


def simulate_into(folder: Path, sentences: int = SENTENCES) -> None:
    """Writes dev.npz and test.npz, of different seeds."""
    for seed, name in enumerate(("dev", "test")):
        np.savez(folder / f"{name}.npz", **simulate(sentences, seed)._asdict())


if __name__ == "__main__":
    simulate_into(Path(sys.argv[1]))
