"""Which weights a model has: one for each (feature, assignment) of a clique, tied over positions.

With `states = seen` a pair has a weight if a gold instance of the training data shows it, with `all` every allowed
assignment of a feature has one. Weights are laid out clique by clique, first the biases of all cliques, then the
entries of their features, each feature's entries contiguous.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..features.relations import Pairs
from ..features.rows import FeatureRows
from ..kernels.pairs import count_pairs
from ..kernels.wiring import Bindings
from ..spec.model import CliqueSpec
from .templates import CliqueTemplate
from .unroll import ModelGraph

__all__ = ["CliqueWeights", "Parameters", "broken_instances", "learn_parameters"]


@dataclass(frozen=True, eq=False)
class CliqueWeights:
    """The weights of one clique: assignments of its bias, and for each feature a run of assignments."""

    bias: NDArray[np.int32]  #     [biases]        assignment of bias weight i
    run_off: NDArray[np.int64]  #  [features + 1]  feature → its entries
    entry: NDArray[np.int32]  #    [entries]       assignment of entry e


@dataclass(frozen=True, eq=False)
class Parameters:
    """The weights of a model. `cliques[c]` belongs to the specification's clique c."""

    cliques: tuple[CliqueWeights, ...]

    @property
    def num_bias(self) -> int:
        return sum(len(clique.bias) for clique in self.cliques)

    @property
    def num_weights(self) -> int:
        return self.num_bias + sum(len(clique.entry) for clique in self.cliques)

    def bias_start(self, clique: int) -> int:
        """Number of the clique's first bias weight."""
        return sum(len(c.bias) for c in self.cliques[:clique])

    def entry_start(self, clique: int) -> int:
        """Number of the clique's first feature weight."""
        return self.num_bias + sum(len(c.entry) for c in self.cliques[:clique])

    def of_clique(self, clique: int) -> NDArray[np.int64]:
        """The numbers of all weights of a clique."""
        own, bias, entry = self.cliques[clique], self.bias_start(clique), self.entry_start(clique)
        return np.concatenate([np.arange(bias, bias + len(own.bias)), np.arange(entry, entry + len(own.entry))])

    def run_base(self) -> list[int]:
        """Index in `Bindings.run_off` of each clique's first feature."""
        return [0, *np.cumsum([len(c.run_off) - 1 for c in self.cliques]).tolist()]

    def bindings(self, graph: ModelGraph) -> Bindings:
        """The kernels' form, for the tables of `graph`."""
        shift, runs = 0, [np.zeros(1, np.int64)]
        for own in self.cliques:
            runs.append(own.run_off[1:] + shift)
            shift += len(own.entry)
        weight, cell = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for c, own in enumerate(self.cliques):
            for assignments, cells in graph.bias_cells(c):
                position = np.searchsorted(own.bias, assignments)
                position[position == len(own.bias)] = 0
                known = own.bias[position] == assignments if len(own.bias) else np.zeros(len(assignments), bool)
                weight.append(self.bias_start(c) + position[known])
                cell.append(cells[known])
        return Bindings(
            run_off=np.concatenate(runs),
            entry=np.concatenate([np.zeros(0, np.int32), *(c.entry for c in self.cliques)]),
            num_bias=self.num_bias,
            bias_weight=np.concatenate(weight),
            bias_cell=np.concatenate(cell),
        )

    def arrays(self) -> dict[str, NDArray]:
        """For a model file."""
        return {
            f"parameters.{c}.{name}": array
            for c, own in enumerate(self.cliques)
            for name, array in (("bias", own.bias), ("run_off", own.run_off), ("entry", own.entry))
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray], num_cliques: int) -> Parameters:
        """From the arrays of a model file; KeyError if one is missing."""
        return cls(
            tuple(
                CliqueWeights(*(arrays[f"parameters.{c}.{name}"] for name in ("bias", "run_off", "entry")))
                for c in range(num_cliques)
            )
        )

    def walk(self) -> Iterator[tuple[int, int, int, int]]:
        """(weight, clique, feature or -1 for the bias, assignment) of every weight, in order."""
        parts = zip(*(part.tolist() for part in self.origins()), strict=True)
        for weight, (clique, feature, assignment) in enumerate(parts):
            yield weight, clique, feature, assignment

    def origins(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Clique, feature (-1 for the bias) and assignment of every weight, each [weights]."""
        sizes = [len(own.bias) for own in self.cliques] + [len(own.entry) for own in self.cliques]
        clique = np.repeat(np.tile(np.arange(len(self.cliques)), 2), sizes)
        features = [np.repeat(np.arange(len(own.run_off) - 1), np.diff(own.run_off)) for own in self.cliques]
        feature = np.concatenate([np.full(self.num_bias, -1), *features])
        assignments = [*(own.bias for own in self.cliques), *(own.entry for own in self.cliques)]
        return clique, feature, np.concatenate([np.zeros(0, np.int64), *assignments])


def learn_parameters(
    cliques: Sequence[CliqueSpec],
    graph: ModelGraph,
    rows: Sequence[FeatureRows],
    num_features: Sequence[int],
    gold: NDArray[np.int32],
    sentence_off: NDArray[np.int64],
    relations: Mapping[int, Pairs] | None = None,
) -> tuple[Parameters, NDArray[np.float64]]:
    """The weights that the training data calls for, and their empirical counts [weights] (Sutton eq. 8, first sum).

    gold: states [labels, N], all known.   rows, num_features: one a feature set.   relations: pairs of each relational
    clique, by its number.
    """
    learned, bias_counts, entry_counts = [], [], []
    for number, clique in enumerate(cliques):
        template = graph.templates[number]
        pairs = (relations or {}).get(number)
        sentence, anchor = _instances(template, sentence_off, pairs)
        assignment = _gold_assignments(template, gold, sentence_off, sentence, anchor, pairs)
        size = template.num_assignments
        counts = np.bincount(assignment, minlength=size).astype(np.float64)
        bias_only = template.feature_set < 0
        everything = (clique.states or ("all" if bias_only else "seen")) == "all"
        possible = _possible_assignments(template, graph, number) if everything else np.flatnonzero(counts)
        bias = possible.astype(np.int32) if template.has_bias else np.zeros(0, np.int32)
        run_off, entry, pair_counts = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)
        if not bias_only:
            own, features = rows[template.feature_set], num_features[template.feature_set]
            row = own.first_row(sentence_off)[sentence] + anchor
            run_off, entry, pair_counts = count_pairs(
                row, assignment, own.row_off, own.feature, own.value, features, size
            )
            if everything:
                run_off, entry, pair_counts = _every_pair(run_off, entry, pair_counts, possible, size)
        learned.append(CliqueWeights(bias, run_off, entry))
        bias_counts.append(counts[bias])
        entry_counts.append(pair_counts)
    return Parameters(tuple(learned)), np.concatenate([np.zeros(0), *bias_counts, *entry_counts])


def _instances(
    template: CliqueTemplate, sentence_off: NDArray[np.int64], pairs: Pairs | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sentence and anchor of every instance of a template in a data set; of pairs, the number in the sentence."""
    if pairs is not None:
        sentence = np.repeat(np.arange(len(pairs.off) - 1), np.diff(pairs.off))
        return sentence, np.arange(len(sentence)) - pairs.off[sentence]
    lengths = np.diff(sentence_off)
    spans = [template.anchors(int(length)) for length in range(int(lengths.max(initial=0)) + 1)]
    first = np.array([span.start for span in spans], np.int64)[lengths]
    count = np.array([len(span) for span in spans], np.int64)[lengths]
    sentence = np.repeat(np.arange(len(lengths)), count)
    starts = np.cumsum(count) - count
    return sentence, np.arange(len(sentence)) - starts[sentence] + first[sentence]


def _gold_assignments(
    template: CliqueTemplate,
    gold: NDArray[np.int32],
    sentence_off: NDArray[np.int64],
    sentence: NDArray[np.int64],
    anchor: NDArray[np.int64],
    pairs: Pairs | None = None,
) -> NDArray[np.int64]:
    """The assignment that each instance has in the gold labels, START and STOP where a site lies outside."""
    lengths = np.diff(sentence_off)
    assignment = np.zeros(len(sentence), np.int64)
    views = template.views or (None,) * len(template.variables)
    seen = [gold[v] if view is None else view.of[gold[v]] for v, view in zip(template.variables, views, strict=True)]
    if pairs is not None:
        for own, offset, end, card in zip(seen, template.offsets, template.ends, template.weight_cards, strict=True):
            assignment = assignment * card + own[(pairs.first, pairs.second)[end] + offset]
        return assignment
    for own, offset, card, full in zip(seen, template.offsets, template.weight_cards, template.full_cards, strict=True):
        t = anchor + offset
        inside = (t >= 0) & (t < lengths[sentence])
        token = np.where(inside, sentence_off[sentence] + t, 0)
        state = np.where(inside, own[token] if len(own) else 0, np.where(t < 0, card, card + 1))
        assignment = assignment * full + state
    return assignment


def broken_instances(
    template: CliqueTemplate, gold: NDArray[np.int32], sentence_off: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Tokens at the anchors of instances whose gold assignment has potential zero."""
    if template.allowed is None:
        return np.zeros(0, np.int64)
    sentence, anchor = _instances(template, sentence_off)
    assignment = _gold_assignments(template, gold, sentence_off, sentence, anchor)
    states = np.stack(np.unravel_index(assignment, template.full_cards), axis=-1)
    inside = (states < np.array(template.cards)).all(axis=1)
    broken = np.zeros(len(sentence), bool)
    broken[inside] = ~template.allowed[tuple(states[inside].T)]
    return (sentence_off[sentence] + np.maximum(anchor, 0))[broken]


def _possible_assignments(template: CliqueTemplate, graph: ModelGraph, clique: int) -> NDArray[np.int64]:
    """Every assignment that an instance can have and that no hard constraint on these sites forbids."""
    hard = graph.hard_cells()
    parts = [assignments[np.isfinite(hard[cells])] for assignments, cells in graph.bias_cells(clique)]
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)


def _every_pair(
    run_off: NDArray[np.int64],
    entry: NDArray[np.int32],
    counts: NDArray[np.float64],
    possible: NDArray[np.int64],
    size: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Every feature with every possible assignment, with the counts of the pairs that were seen."""
    features = len(run_off) - 1
    table = np.zeros((features, size))
    table[np.repeat(np.arange(features), np.diff(run_off)), entry] = counts
    return (
        np.arange(features + 1, dtype=np.int64) * len(possible),
        np.tile(possible.astype(np.int32), features),
        table[:, possible].ravel(),
    )
