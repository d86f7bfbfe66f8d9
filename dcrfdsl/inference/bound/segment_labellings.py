"""What the segments of given labellings add to their scores and feature counts, in models with a `segment` statement.

For data of other models they add nothing. Not here: cliques of tokens (`kernels`), best labellings (`methods`).
"""

from __future__ import annotations

import numpy as np

from ...foundation import Floats, Ints, Ints32
from ...kernels.segments import SegmentCounts, segment_counts, segment_rows
from ...kernels.tables import Potentials
from .potentials import BoundData

Differences = tuple[Ints, Ints32, Floats]  # ends of each [n+1], numbers of weights ascending, values


def _counts(data: BoundData, first: int, last: int, labelling: Ints32) -> SegmentCounts:
    found: SegmentCounts = segment_counts(first, last, data.segments, data.problem, labelling, data.labelling_off)
    return found


def add_segment_scores(
    data: BoundData, first: int, last: int, labelling: Ints32, potentials: Potentials, scores: Floats
) -> None:
    """Adds the scores of the segments of the sequences `first` to `last` - 1 to `scores` [S].

    labelling: flat, see `BoundData.labelling_off`. One with a segment that is not possible gets -inf.
    """
    if data.segments is not None:
        found = _counts(data, first, last, labelling)
        value = np.where(found.weight < 0, -np.inf, potentials.weights[found.weight] * found.value)
        scores[first:last] += np.bincount(found.sequence - first, value, last - first)


def add_segment_counts(
    data: BoundData, first: int, last: int, labelling: Ints32, mass: Floats, gradient: Floats
) -> None:
    """Adds mass[s] F, the counts of the segments of each sequence s from `first` to `last` - 1, to `gradient`.

    mass [S]: where it is 0, states may be unknown.
    """
    if data.segments is not None and len(gradient):
        found = _counts(data, first, last, labelling)
        counted = (mass[found.sequence] != 0.0) & (found.weight >= 0)
        np.add.at(gradient, found.weight[counted], (mass[found.sequence] * found.value)[counted])


def firing_in_segments(data: BoundData, first: int, last: int) -> Ints:
    """The features that may fire in segments of these sequences, as indices into `Bindings.run_off`."""
    return np.zeros(0, np.int64) if data.segments is None else segment_rows(first, last, data.segments, data.rows)


def add_segment_differences(
    data: BoundData, sequence: Ints, known: Ints32, competitor: Ints32, of_cliques: Differences
) -> Differences:
    """The differences ½ [F(known) − F(competitor)] of these sequences, ascending, with those of segments.

    of_cliques: as `list_differences` gives them, one for each entry of `sequence`.
    """
    if data.segments is None or not len(sequence):
        return of_cliques
    ends, weight, value = of_cliques
    first, last = int(sequence[0]), int(sequence[-1]) + 1
    place = np.full(last - first, -1)
    place[sequence - first] = np.arange(len(sequence))
    owners, weights, values = [np.repeat(np.arange(len(sequence)), np.diff(ends))], [weight.astype(np.int64)], [value]
    for labelling, half in ((known, 0.5), (competitor, -0.5)):
        found = _counts(data, first, last, labelling)
        owner = place[found.sequence - first]
        here = (owner >= 0) & (found.weight >= 0)
        owners.append(owner[here])
        weights.append(found.weight[here])
        values.append(half * found.value[here])
    key = np.concatenate(owners) * data.num_weights + np.concatenate(weights)
    entries, entry_of = np.unique(key, return_inverse=True)
    summed = np.bincount(entry_of, np.concatenate(values), len(entries))
    entries, summed = entries[summed != 0.0], summed[summed != 0.0]
    off = np.searchsorted(entries, np.arange(len(sequence) + 1) * data.num_weights)
    return off, (entries % data.num_weights).astype(np.int32), summed
