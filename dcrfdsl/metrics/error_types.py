"""Errors of labels by type, place by place, so that two models can be compared on what each gets wrong. An error is

    missing       no predicted segment shares a token with the gold one
    wrong type    a predicted segment has the same tokens as the gold one, and another type
    wrong border  a predicted segment shares a token with the gold one, and none has the same tokens
    spurious      a predicted segment shares no token with a gold one
    wrong label   of a token, where a label has no segments

Not here: which segments count where gold labels are unknown (`segment_scores`), confusions (`class_scores`).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ..data import Segments
from ..foundation import Mask
from .class_scores import UNKNOWN, segments_compared
from .evaluation import Evaluation
from .segment_scores import same_tokens

Place: TypeAlias = tuple[int, int, str]  # the first and the last token, and the type or the gold state


def label_errors(evaluation: Evaluation, label: str, *, of_segments: bool, runs: bool = False) -> dict[Place, str]:
    """The errors of a label by their places: of gold segments, but of predicted ones where they are spurious.

    of_segments: whether segments are judged, not tokens.   runs: whether its states have no marks (`segment_scores`).
    """
    if not of_segments:
        gold, states = np.asarray(evaluation.gold[label]), evaluation.states[label]
        tokens = np.flatnonzero(evaluation.scored(label) & ~evaluation.right(label)).tolist()
        return {(t, t, states[gold[t]] if gold[t] >= 0 else UNKNOWN): "wrong label" for t in tokens}
    found, size = segments_compared(evaluation, label, runs=runs), evaluation.num_tokens
    golds, ours = found.golds, found.ours
    partner = same_tokens(golds, ours, size)
    matched = partner >= 0
    typed = np.zeros_like(matched)
    typed[matched] = ours.kind[partner[matched]] == golds.kind[matched]
    untouched = np.where(shares_a_token(golds, ours, size), "wrong border", "missing")
    spurious = ~shares_a_token(ours, golds, size) & ~shares_a_token(ours, found.unsure, size)
    of_golds = np.where(typed, "", np.where(matched, "wrong type", untouched)).tolist()
    places = zip((*golds.start, *ours.start), (*golds.end, *ours.end), (*golds.kind, *ours.kind), strict=True)
    errors = zip(places, (*of_golds, *np.where(spurious, "spurious", "").tolist()), strict=True)
    return {(int(start), int(end), found.types[kind]): error for (start, end, kind), error in errors if error}


def shares_a_token(segments: Segments, others: Segments, num_tokens: int) -> Mask:
    """[segments] whether a segment shares a token with one of the others; segments end at their last token."""
    edges = np.zeros(num_tokens + 1, np.int64)
    np.add.at(edges, others.start, 1)
    np.add.at(edges, others.end + 1, -1)
    covered = np.concatenate([[0], np.cumsum(np.cumsum(edges)[:num_tokens] > 0)])
    mask: Mask = covered[segments.end + 1] > covered[segments.start]
    return mask
