"""Segments that need not agree exactly: matches by overlap or borders, segment overlap, edit scores.

    match   a gold and a predicted segment of one type; each has one match at most, and as many match as can
    SOV     Σ (minov + δ) / maxov · |gold| over the pairs of one type that overlap, by the Σ |gold| over these and over
            the gold segments in no pair; minov, maxov: the tokens of both, and of either,
            δ = min(maxov − minov, minov, ⌊|gold| / 2⌋, ⌊|predicted| / 2⌋)
    edit    1 − Levenshtein(types of gold segments, of predicted ones) / the larger number of them

Sources: Zemla, Venclovas, Fidelis & Rost (1999); Lea, Vidal & Hager (2016). Not here: segments that are exactly right
(`segment_scores`), sums of what is counted (`metric_table`).
"""

from __future__ import annotations

import numpy as np

from ..data import Segments
from ..foundation import Floats, Ints, Mask
from ..semantics import has_segments
from .class_scores import segments_compared
from .evaluation import Evaluation
from .segment_scores import UNSEEN, ComparedSegments


def close_segments(
    evaluation: Evaluation, label: str, *, overlap: float | None = None, tolerance: float = 0.0
) -> ComparedSegments:
    """The segments of a label, where `right` says which have a match.

    overlap: share of the tokens of either that are tokens of both.   tolerance: tokens that a border may be off by.
    """
    found = compared_or_runs(evaluation, label)
    both = [np.concatenate(parts) for parts in zip(found.ours, found.open, strict=True)]
    golds, ours = found.golds, Segments(*(part[np.argsort(both[0])] for part in both))
    a, b, common, whole = _near(evaluation, golds, ours, 0 if overlap is not None else int(tolerance))
    borders = np.maximum(np.abs(golds.start[a] - ours.start[b]), np.abs(golds.end[a] - ours.end[b]))
    close = borders <= tolerance if overlap is None else (common > 0) & (common >= overlap * whole - 1e-9)
    right = _matched(a[close], b[close], len(golds.start), len(ours.start))
    kept = right | ~_unknown(evaluation, label, ours.start, ours.end + 1)
    return found._replace(ours=Segments(*(part[kept] for part in ours)), right=right[kept])


def segment_overlaps(evaluation: Evaluation, label: str) -> Floats:
    """SOV of each sentence, [S]; 1 where neither side has a segment, nan where a label is not known."""
    golds, ours = compared_or_runs(evaluation, label)[:2]
    a, b, common, whole = _near(evaluation, golds, ours, 0)
    size, other, count = golds.end - golds.start + 1, ours.end - ours.start + 1, len(evaluation.sentence_off) - 1
    delta = np.minimum(np.minimum(whole - common, common), np.minimum(size[a] // 2, other[b] // 2))
    of, times = _sentence(evaluation, golds.start), np.maximum(np.bincount(a, minlength=len(size)), 1)
    value = np.bincount(of[a], (common + delta) / whole * size[a], count)
    total = np.bincount(of, times * size, count)
    empty = np.bincount(_sentence(evaluation, ours.start), minlength=count) == 0
    return _of_known(evaluation, label, np.divide(value, total, out=empty.astype(np.float64), where=total > 0))


def edit_scores(evaluation: Evaluation, label: str) -> Floats:
    """The edit score of each sentence, [S]; 1 where neither side has a segment, nan where a label is not known."""
    off = evaluation.sentence_off
    sides = [
        np.split(one.kind, np.searchsorted(one.start, off[1:-1])) for one in compared_or_runs(evaluation, label)[:2]
    ]
    scores = np.ones(len(off) - 1)
    for s, (gold, predicted) in enumerate(zip(*sides, strict=True)) if len(scores) else ():
        row = np.arange(len(predicted) + 1)
        for n, kind in enumerate(gold, 1):
            best = np.minimum(row[1:] + 1, row[:-1] + (predicted != kind))
            row = np.minimum.accumulate(np.append(n, best) - np.arange(len(row))) + np.arange(len(row))
        scores[s] -= row[-1] / max(len(gold), len(predicted), 1)
    return _of_known(evaluation, label, scores)


def compared_or_runs(evaluation: Evaluation, label: str) -> ComparedSegments:
    """The segments of a label as its states mark them, or runs of one state where they mark none."""
    return segments_compared(evaluation, label, runs=not has_segments(evaluation.known_states(label)))


def _matched(a: Ints, b: Ints, num_golds: int, num_ours: int) -> Mask:
    """Whether each predicted segment is in a largest matching of the pairs (a, b), which are sorted by b, then by a.

    The first pair whose segments are both free is taken. No other choice gives more: where (a, b') and (a', b) with
    a < a', b < b' are close, so are (a, b) and (a', b'), since neither the gold nor the predicted segments overlap.
    """
    taken, right = np.zeros(num_golds, np.bool_), np.zeros(num_ours, np.bool_)
    for gold, predicted in zip(a.tolist(), b.tolist(), strict=True):
        if not (taken[gold] or right[predicted]):
            taken[gold] = right[predicted] = True
    return right


def _near(evaluation: Evaluation, golds: Segments, ours: Segments, apart: int) -> tuple[Ints, Ints, Ints, Ints]:
    """The numbers of pairs of one sentence and type that overlap, or are so many tokens apart at most; how many tokens
    both segments have, and either.
    """
    first = np.searchsorted(golds.end, ours.start - apart)
    count = np.maximum(np.searchsorted(golds.start, ours.end + apart, side="right") - first, 0)
    b = np.repeat(np.arange(len(count)), count)
    a = np.arange(len(b)) + np.repeat(first - (np.cumsum(count) - count), count)
    same = _sentence(evaluation, golds.start)[a] == _sentence(evaluation, ours.start)[b]
    a, b = (one[same & (golds.kind[a] == ours.kind[b])] for one in (a, b))
    common = np.minimum(golds.end[a], ours.end[b]) - np.maximum(golds.start[a], ours.start[b]) + 1
    common = np.maximum(common, 0)
    return a, b, common, golds.end[a] - golds.start[a] + ours.end[b] - ours.start[b] + 2 - common


def _sentence(evaluation: Evaluation, tokens: Ints) -> Ints:
    return np.searchsorted(evaluation.sentence_off, tokens, side="right") - 1


def _unknown(evaluation: Evaluation, label: str, first: Ints, last: Ints) -> Mask:
    """Whether a gold value is not known among the tokens from `first` to before `last`."""
    sums = np.concatenate([[0], np.cumsum(np.asarray(evaluation.gold[label]) < UNSEEN)])
    mask: Mask = sums[last] > sums[first]
    return mask


def _of_known(evaluation: Evaluation, label: str, scores: Floats) -> Floats:
    off = np.asarray(evaluation.sentence_off, np.int64)
    return np.where(_unknown(evaluation, label, off[:-1], off[1:]) | (np.diff(off) == 0), np.nan, scores)
