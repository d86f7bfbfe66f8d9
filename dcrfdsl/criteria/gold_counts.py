"""Feature counts of each sequence: F(y*, x), and bounds on the counts that any labelling can reach.

For criteria that weight sequences differently. `TrainingProblem.counts` has the sums over the data set. Sequences with
an unknown label have no gold counts.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..foundation import Floats, Ints, Ints32, dataclass
from ..graph import CliqueTemplate, instances_of, known_assignments, weighing_templates
from ..inference import Workers, even_runs
from ..kernels.sequences import add_known, known_scores
from .training_problem import TrainingProblem


@dataclass(frozen=True, eq=False)
class SequenceCounts:
    """A sparse table, sequences by columns. off: [S+1].   column, count: [n]; a column is once in each sequence."""

    off: Ints
    column: Ints32
    count: Floats
    num_columns: int

    @cached_property
    def sequence(self) -> Ints:
        """The sequence of each count, [n]."""
        return np.repeat(np.arange(len(self.off) - 1), np.diff(self.off))

    def times(self, columns: Floats, workers: Workers) -> Floats:
        """Σ_k count_k columns[k] of each sequence, [S]."""
        out = np.empty(len(self.off) - 1)
        of = self.off, self.column, self.count, columns, out
        workers.map(lambda first, last: known_scores(np.arange(first, last), *of), even_runs(len(out)))
        return out

    def total(self, share: Floats) -> Floats:
        """Σ_s share[s] count_s, [columns]."""
        out = np.zeros(self.num_columns)
        add_known(self.off, self.column, self.count, share, out)
        return out

    @classmethod
    def summed(cls, sequence: Ints, column: Ints, count: Floats, size: tuple[int, int]) -> SequenceCounts:
        """Sums counts that come in any order, [n] each.   size: the numbers of sequences and columns."""
        keys, which = np.unique(sequence * size[1] + column, return_inverse=True)
        off = np.searchsorted(keys, np.arange(size[0] + 1) * size[1])
        counts = np.bincount(which, count, len(keys)).astype(np.float64, copy=False)
        return cls(off, (keys % size[1]).astype(np.int32), counts, size[1])


class _Instances(NamedTuple):
    """What fires at the instances of a clique: the instance, the feature (-1: the bias) and the value, each [n]."""

    instance: Ints
    feature: Ints
    value: Floats


def gold_counts(problem: TrainingProblem) -> SequenceCounts:
    """F(y*, x) of every sequence whose labels are all known, [S, W]."""
    parameters, complete = problem.parameters, problem.gold.complete_sentences(problem.sentence_off)
    sequences, weights, counts = [], [], []
    for number, template in weighing_templates(problem.graph.templates, len(parameters.cliques)):
        clique_weights = parameters.cliques[number]
        sentence, assignment, fires = _fires(problem, template)
        known = (complete[sentence] & (assignment >= 0))[fires.instance]
        which, feature, value = fires.instance[known], fires.feature[known], fires.value[known]
        size = template.num_assignments
        run = np.repeat(np.arange(len(clique_weights.run_off) - 1), np.diff(clique_weights.run_off))
        # ascending, as weights are in either part
        keys = np.concatenate([clique_weights.bias - size, run * size + clique_weights.entry])
        numbers = np.concatenate([
            parameters.bias_start(number) + np.arange(len(clique_weights.bias)),
            parameters.entry_start(number) + np.arange(len(clique_weights.entry)),
        ])  # fmt: skip
        wanted = feature * size + assignment[which]
        place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        there = keys[place] == wanted if len(keys) else np.zeros(len(wanted), np.bool_)
        sequences.append(sentence[which[there]])
        weights.append(numbers[place[there]])
        counts.append(value[there])
    shape = len(problem.sentence_off) - 1, parameters.num_weights
    return SequenceCounts.summed(np.concatenate(sequences), np.concatenate(weights), np.concatenate(counts), shape)


@dataclass(frozen=True, eq=False)
class FeatureFirings:
    """How much each feature can count in each sequence, whatever the labels.

    A column is a feature of a clique, or the bias of one.   above: the sum of its positive values, wherever it fires;
    below: of its negative ones.   order [W]: the weights by columns.   first [columns + 1]: offsets into `order`.
    """

    above: SequenceCounts
    below: SequenceCounts  # of the same columns as `above`, sequence by sequence
    first: Ints
    order: Ints

    @property
    def column_of(self) -> Ints:
        """The column of each weight, [W]."""
        columns = np.empty(len(self.order), np.int64)
        columns[self.order] = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        return columns

    def sequences_of(self) -> tuple[Ints, Ints]:
        """The sequences in which each column fires: offsets [columns + 1], and sequences."""
        order = np.argsort(self.above.column, kind="stable")
        return np.searchsorted(self.above.column[order], np.arange(len(self.first))), self.above.sequence[order]


def feature_firings(problem: TrainingProblem) -> FeatureFirings:
    """The firings of all features that have a weight, in all sequences; those of segments in all candidates."""
    parameters = problem.parameters
    # the bias of a clique comes before its features
    sizes = [np.concatenate([[len(own.bias)], np.diff(own.run_off)]) for own in parameters.cliques]
    starts = np.cumsum([0, *map(len, sizes)])
    sequences, columns, values, orders = [], [], [], []
    for number, template in weighing_templates(problem.graph.templates, len(parameters.cliques)):
        sentence, _, fires = _fires(problem, template)
        has_weights = sizes[number][fires.feature + 1] > 0
        sequences.append(sentence[fires.instance[has_weights]])
        columns.append(starts[number] + 1 + fires.feature[has_weights])
        values.append(fires.value[has_weights])
    for number, own in enumerate(parameters.cliques):
        orders += [parameters.bias_start(number) + np.arange(len(own.bias)),
                   parameters.entry_start(number) + np.arange(len(own.entry))]  # fmt: skip
    size = len(problem.sentence_off) - 1, int(starts[-1])
    sequence, column, value = np.concatenate(sequences), np.concatenate(columns), np.concatenate(values)
    return FeatureFirings(
        SequenceCounts.summed(sequence, column, np.maximum(value, 0.0), size),
        SequenceCounts.summed(sequence, column, np.minimum(value, 0.0), size),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(sizes))]),
        np.concatenate(orders),
    )


def _fires(problem: TrainingProblem, template: CliqueTemplate) -> tuple[Ints, Ints, _Instances]:
    """The sentence and the known assignment of each instance of a template, and what fires at the instances."""
    off, clique_weights = problem.sentence_off, problem.parameters.cliques[template.clique]
    pairs = problem.relations.get(template.clique)
    sentence, anchor = instances_of(template, off, pairs)
    assignment = known_assignments(template, problem.gold, off, sentence, anchor, pairs)
    parts = []
    if len(clique_weights.bias):
        every = np.arange(len(sentence))
        parts.append(_Instances(every, np.full(len(every), -1), np.ones(len(every))))
    if template.feature_set >= 0:
        rows = problem.rows[template.feature_set]
        row = rows.first_row(off)[sentence] + anchor
        many = np.diff(rows.row_off)[row]
        which = np.repeat(np.arange(len(row)), many)
        place = np.arange(len(which)) + np.repeat(rows.row_off[row] - (np.cumsum(many) - many), many)
        value = rows.value[place] if len(rows.value) else np.ones(len(place))
        parts.append(_Instances(which, rows.feature[place].astype(np.int64), value))
    none = np.zeros(0, np.int64)
    joined = [np.concatenate(columns) for columns in zip(_Instances(none, none, np.zeros(0)), *parts, strict=True)]
    return sentence, assignment, _Instances(*joined)
