"""How many tokens of the training data have each state of a label, and how many segments each type has.

A class that is hardly there can hardly be learned, so `check --data` says it. Not here: states that never occur, of
which the checker warns (`semantics.checks.idle_rules`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..data import Corpus
    from ..semantics import ModelSpec

MOST_LISTED = 12  # classes that a line names


@dataclass(frozen=True)
class ClassCounts:
    """tokens: of each state.   unlabelled: tokens without one known state.   segments: of each type, as far as their
    beginning is known; empty where the states mark none.
    """

    tokens: Mapping[str, int]
    unlabelled: int
    segments: Mapping[str, int]

    def words(self) -> str:
        """`B-NP 55,081, I-NP 63,307 … tokens`, the most frequent first, and the segments."""
        unlabelled = f"; {self.unlabelled:,} unlabelled" if self.unlabelled else ""
        segments = f"; segments: {_listed(self.segments)}" if self.segments else ""
        return f"{_listed(self.tokens)}{unlabelled}{segments}"

    def as_json(self) -> dict[str, Any]:
        """The object of `check --format json`."""
        return {"tokens": dict(self.tokens), "unlabelled": self.unlabelled, "segments": dict(self.segments)}


def _listed(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    shown = ordered if len(ordered) <= MOST_LISTED else [*ordered[: MOST_LISTED - 2], *ordered[-1:]]
    texts = [f"{name} {count:,}" for name, count in shown]
    if len(shown) < len(ordered):
        texts.insert(-1, f"… {len(ordered) - len(shown):,} more …")
    return ", ".join(texts)


def class_counts(spec: ModelSpec, states: Mapping[str, Sequence[str]], corpus: Corpus) -> dict[str, ClassCounts]:
    """The counts of every label, in the order of declaration."""
    from ..data import encode_labels

    codes = encode_labels(spec, states, corpus).codes
    return {label.name: _counts(states[label.name], codes[m], corpus) for m, label in enumerate(spec.labels)}


def _counts(states: Sequence[str], codes: Any, corpus: Corpus) -> ClassCounts:
    import numpy as np

    from ..data import STARTS, mark_table, segments_of
    from ..semantics import has_segments

    tokens = np.bincount(codes[codes >= 0], minlength=len(states)).tolist()
    segments: dict[str, int] = {}
    if has_segments(states):
        known = np.maximum(codes, -1)
        mark, kind, names = mark_table(states)
        found = segments_of(known, mark, kind, corpus.sentence_off)
        opens = STARTS[2, mark]  # what begins a segment even after `I`
        follows = (known[found.start - 1] < 0) & ~np.isin(found.start, corpus.sentence_off)
        sure = opens[known[found.start]] | ~follows
        segments = dict(zip(names, np.bincount(found.kind[sure], minlength=len(names)).tolist(), strict=True))
    return ClassCounts(dict(zip(states, tokens, strict=True)), int((codes < 0).sum()), segments)
