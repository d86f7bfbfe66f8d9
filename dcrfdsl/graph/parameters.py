"""The weights of a model: one for each (feature, assignment) of a clique, tied over positions.

With `states = seen` a pair has a weight if a gold instance of the training data shows it; with `all` every allowed
assignment of a feature has one. Weights are laid out clique by clique: first the biases of all cliques, then the
entries of their features, contiguous for each feature. Of training data in parts, a pair has a weight if it has one in
some part, so the merged weights are those of the whole data.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import foundation
from ..features import FeatureRows, Pairs
from ..foundation import dataclass
from ..kernels.extraction import count_pairs
from ..kernels.tables import Bindings
from ..syntax import CliqueSpec
from .clique_kinds import possible_entries, with_implied_constraints
from .known_labels import Gold, instances_of, known_assignments, possible_assignments
from .segment_shapes import complete_sentences, segment_instances
from .shapes import offsets
from .templates import CliqueTemplate
from .unroll import ModelGraph


@dataclass(frozen=True, eq=False)
class CliqueWeights:
    """The weights of one clique: the assignments of its biases, and a run of assignments for each feature."""

    bias: (
        foundation.Ints32 | foundation.Ints
    )  # [biases]     assignment of bias weight i; 64 bits if the clique has more than 2³¹ assignments
    run_off: foundation.Offsets  # [features + 1]  feature → its entries
    entry: foundation.Ints32  #    [entries]       assignment of entry e

    def without_weights(self) -> CliqueWeights:
        """The same clique and features without weights."""
        nothing = np.zeros(0, np.int32)
        return CliqueWeights(nothing, np.zeros_like(self.run_off), nothing)


class AddedWeights(NamedTuple):
    """New weights of a clique: their features and assignments, none of which it has yet, and the new number of
    features.
    """

    feature: foundation.Ints
    assignment: foundation.Ints
    num_features: int


MOST_ASSIGNMENTS = 2**27  # of a clique, each with a weight
MOST_NARROWED = 2**22  # of a clique whose unknown labels are counted as constraints on some of them allow
_KEY = 1 << 32  # more than the assignments of any clique


def _features(run_off: foundation.Offsets) -> foundation.Ints:
    """The feature of each entry."""
    return np.repeat(np.arange(len(run_off) - 1), np.diff(run_off))


def _keys(run_off: foundation.Offsets, entry: foundation.Ints32) -> foundation.Ints:
    """A number for each (feature, assignment), ascending in the order of entries."""
    return _features(run_off) * _KEY + entry


@dataclass(frozen=True, eq=False)
class Parameters:
    """The weights of a model. `cliques[c]` belongs to clique c of the specification."""

    cliques: tuple[CliqueWeights, ...]

    @foundation.cached_property
    def num_bias(self) -> int:
        return sum(len(clique.bias) for clique in self.cliques)

    @foundation.cached_property
    def num_weights(self) -> int:
        return self.num_bias + sum(len(clique.entry) for clique in self.cliques)

    def bias_start(self, clique: int) -> int:
        """The number of the clique's first bias weight."""
        return sum(len(c.bias) for c in self.cliques[:clique])

    def entry_start(self, clique: int) -> int:
        """The number of the clique's first feature weight."""
        return self.num_bias + sum(len(c.entry) for c in self.cliques[:clique])

    def of_clique(self, clique: int) -> foundation.Ints:
        """The numbers of all weights of a clique."""
        clique_weights, bias, entry = self.cliques[clique], self.bias_start(clique), self.entry_start(clique)
        return np.concatenate(
            [np.arange(bias, bias + len(clique_weights.bias)), np.arange(entry, entry + len(clique_weights.entry))]
        )

    def run_base(self) -> list[int]:
        """The index in `Bindings.run_off` of each clique's first feature, and at the end that of the first code."""
        return [0, *itertools.accumulate(len(c.run_off) - 1 for c in self.cliques)]

    def bindings(self, graph: ModelGraph) -> Bindings:
        """The parameters as kernels take them, for the tables of `graph`."""
        every = [part for part in (*self.cliques, *map(_code_weights, graph.coded)) if len(part.run_off) > 1]
        run_off = offsets(np.concatenate([np.zeros(0, np.int64), *(np.diff(c.run_off) for c in every)]))
        entry = np.concatenate([np.zeros(0, np.int32), *(c.entry for c in every)])
        if len(every) == 1:  # they are what it has: one copy is enough
            run_off, entry = np.require(every[0].run_off, None, "W"), np.require(every[0].entry, None, "W")
        bias_weight, bias_cell = self.bias_places(graph)
        return Bindings(
            run_off=run_off,
            entry=entry,
            num_bias=self.num_bias,
            bias_weight=bias_weight,
            bias_cell=bias_cell,
        )

    def bias_places(self, graph: ModelGraph) -> tuple[foundation.Ints, foundation.Ints]:
        """The number of a bias weight and the shared cell of `graph` that it is added to, [cells] each."""
        weight, cell = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for c, weights in enumerate(self.cliques):
            for assignments, cells in graph.shared.bias_cells(c):
                position = np.searchsorted(weights.bias, assignments)
                position[position == len(weights.bias)] = 0
                known = weights.bias[position] == assignments if len(weights.bias) else np.zeros(len(assignments), bool)
                weight.append(self.bias_start(c) + position[known])
                cell.append(cells[known])
        return np.concatenate(weight), np.concatenate(cell)

    def extended(self, added: Mapping[int, AddedWeights]) -> tuple[Parameters, foundation.Ints, foundation.Ints]:
        """These parameters with more features and weights in some cliques.

        Also returns the new number of each old weight [W], and that of each added one, clique by clique.
        """
        cliques, numbers = list(self.cliques), sorted(added)
        for c in numbers:
            weights, new = self.cliques[c], added[c]
            feature = np.concatenate([_features(weights.run_off), new.feature])
            entry = np.concatenate([weights.entry, new.assignment])
            order = np.lexsort((entry, feature))
            run_off = np.searchsorted(feature[order], np.arange(new.num_features + 1)).astype(np.int64)
            cliques[c] = CliqueWeights(weights.bias, run_off, entry[order].astype(np.int32))
        extended = Parameters(tuple(cliques))
        kept, placed = [np.arange(self.num_bias)], [np.zeros(0, np.int64)]
        for c, weights in enumerate(self.cliques):
            place = np.arange(len(weights.entry))
            if c in added:
                new, longer = added[c], extended.cliques[c]
                keys = _keys(longer.run_off, longer.entry)
                place = np.searchsorted(keys, _keys(weights.run_off, weights.entry))
                wanted = new.feature.astype(np.int64) * _KEY + new.assignment
                placed.append(extended.entry_start(c) + np.searchsorted(keys, wanted))
            kept.append(extended.entry_start(c) + place)
        return extended, np.concatenate(kept), np.concatenate(placed)

    def arrays(self) -> dict[str, NDArray]:
        """The weights as arrays for a model file."""
        return {
            f"parameters.{c}.{name}": values
            for c, weights in enumerate(self.cliques)
            for name, values in (("bias", weights.bias), ("run_off", weights.run_off), ("entry", weights.entry))
        }

    @classmethod
    def restore(
        cls, arrays: Mapping[str, NDArray], templates: Sequence[CliqueTemplate], num_features: Sequence[int]
    ) -> Parameters:
        """From the arrays of a model file. templates: of the cliques.   num_features: of each feature set.

        Raises `IncompatibleState` if the arrays do not fit them: offsets that fall, assignments that a clique does not
        have.
        """
        return cls(tuple(_restored(arrays, c, template, num_features) for c, template in enumerate(templates)))

    def walk(self) -> Iterator[tuple[int, int, int, int]]:
        """(weight, clique, feature or -1 for the bias, assignment) of every weight, in order."""
        return zip(range(self.num_weights), *(part.tolist() for part in self.origins()), strict=True)

    def origins(self) -> tuple[foundation.Ints, foundation.Ints, foundation.Ints]:
        """Clique, feature (-1 for the bias) and assignment of every weight, each [weights]."""
        sizes = [len(weights.bias) for weights in self.cliques] + [len(weights.entry) for weights in self.cliques]
        clique = np.repeat(np.tile(np.arange(len(self.cliques)), 2), sizes)
        features = (_features(weights.run_off) for weights in self.cliques)
        feature = np.concatenate([np.full(self.num_bias, -1), *features])
        assignments = [*(weights.bias for weights in self.cliques), *(weights.entry for weights in self.cliques)]
        return clique, feature, np.concatenate([np.zeros(0, np.int64), *assignments])


def _restored(
    arrays: Mapping[str, NDArray], number: int, template: CliqueTemplate, num_features: Sequence[int]
) -> CliqueWeights:
    """The weights of one clique; each run must ascend."""
    name, size = f"parameters.{number}", template.num_assignments
    bias = foundation.array(arrays, f"{name}.bias", _bias_type(size))
    entry = foundation.array(arrays, f"{name}.entry", np.int32)
    run_off = foundation.array(arrays, f"{name}.run_off", np.int64)
    foundation.check_within(bias, 0, size, f"{name}.bias")
    foundation.check_within(entry, 0, size, f"{name}.entry")
    features = num_features[template.feature_set] if template.feature_set >= 0 else 0
    if len(run_off) != features + 1:
        raise foundation.IncompatibleState(
            f"clique `{template.name}` has weights of {len(run_off) - 1:,} features, expected {features:,}"
        )
    foundation.check_offsets(run_off, len(entry), f"{name}.run_off")
    falls = np.append(entry[1:] <= entry[:-1], False)  # from entry e to the next
    falls[run_off[run_off > 0] - 1] = False  # the last entry of a run
    if (bias[1:] <= bias[:-1]).any() or falls.any() or (len(bias) and not template.has_bias):
        raise foundation.IncompatibleState(f"the weights of clique `{template.name}` are not in order")
    return CliqueWeights(bias, run_off, entry)


def _bias_type(size: int) -> type[np.int32] | type[np.int64]:
    """The type of the assignments of a clique that has `size` of them."""
    return np.int32 if size <= 2**31 else np.int64


def _code_weights(template: CliqueTemplate) -> CliqueWeights:
    """The runs of a template with codes: for each code the assignments whose log potential is not 0."""
    if template.given is not None:
        entry = np.arange(template.num_assignments, dtype=np.int32)
        return CliqueWeights(np.zeros(0, np.int32), np.arange(len(entry) + 1, dtype=np.int64), entry)
    telling = _code_potentials(template) != 0.0
    entry = np.nonzero(telling)[1].astype(np.int32)
    return CliqueWeights(np.zeros(0, np.int32), offsets(telling.sum(axis=1)), entry)


def _code_potentials(template: CliqueTemplate) -> foundation.Floats:
    """The log potentials of all assignments for each code, [codes, assignments]."""
    assert template.coded is not None
    table = template.coded.reshape(len(template.coded), -1)
    return np.where(table, 0.0, -np.inf) if table.dtype == np.bool_ else table.astype(np.float64)


def scaled_weights(graph: ModelGraph, weights: foundation.Floats, factor: float) -> foundation.Floats:
    """Weights [W] whose scores are `factor` times as large. Where the graph has scores without weights, the factor
    follows, [W + 1], by which potentials scale those.
    """
    scaled = factor * weights
    return np.append(scaled, factor) if graph.has_fixed_scores else scaled


def fixed_weights(graph: ModelGraph) -> foundation.Floats:
    """The log potentials of the entries of codes, in the order of `Parameters.bindings`. They are not trained. Those of
    given scores are 1: the scores are the values of their features.
    """
    tables = [
        np.ones(one.num_assignments) if one.given is not None else _code_potentials(one).ravel() for one in graph.coded
    ]
    return np.concatenate([np.zeros(0), *(table[table != 0.0] for table in tables)])


def learn_parameters(
    cliques: Sequence[CliqueSpec],
    graph: ModelGraph,
    rows: Sequence[FeatureRows],
    num_features: Sequence[int],
    gold: Gold,
    sentence_off: foundation.Offsets,
    relations: Mapping[int, Pairs] | None = None,
) -> tuple[Parameters, foundation.Floats]:
    """The weights that the training data calls for, and their counts [weights] in the sentences whose labels are all
    known (Sutton eq. 8, first sum).

    A site with an unknown state counts every possible state.   rows, num_features: one per feature set.
    relations: the pairs of each relational clique, by its number.
    """
    learned, bias_counts, entry_counts = [], [], []
    complete = gold.complete_sentences(sentence_off)
    for number, clique in enumerate(cliques):
        template = graph.templates[number]
        pairs = (relations or {}).get(number)
        bias_only = template.feature_set < 0
        everything = (clique.states or ("all" if bias_only else "seen")) == "all"
        if template.segments is not None:
            codes = gold.codes[template.variables[0]]
            cut = complete_sentences(codes < 0, sentence_off)  # whose segments are known, if not all variables
            sentence, anchor, assignment = segment_instances(template.segments, codes, cut, sentence_off)
            which = np.arange(len(sentence))
        else:
            sentence, anchor = instances_of(template, sentence_off, pairs)
            narrowed = template
            if not complete.all() and template.num_assignments <= MOST_NARROWED:
                narrowed = with_implied_constraints(template, graph.templates)
            inputs = narrowed, gold, sentence_off, sentence, anchor, pairs
            if bias_only and everything:  # each has a weight anyway; to list unknown ones takes a square an instance
                assignment = known_assignments(*inputs)
                which = np.flatnonzero(assignment >= 0)
                assignment = assignment[which]
            else:
                which, assignment = possible_assignments(*inputs)
        counted = complete[sentence[which]]
        size = template.num_assignments
        possible = _possible_assignments(template, graph, number) if everything else np.unique(assignment)
        bias: foundation.Ints32 | foundation.Ints = np.zeros(0, np.int32)
        if template.has_bias:
            bias = possible.astype(np.int32) if _bias_type(size) is np.int32 else possible.astype(np.int64)
        run_off, entry, pair_counts = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)
        if not bias_only:
            clique_rows, features = rows[template.feature_set], num_features[template.feature_set]
            row = (clique_rows.first_row(sentence_off)[sentence] + anchor)[which]
            fires = clique_rows.row_off, clique_rows.feature, clique_rows.value, features, size
            run_off, entry, pair_counts = count_pairs(row, assignment, *fires)
            if not counted.all():
                off, known_entry, counts = count_pairs(row[counted], assignment[counted], *fires)
                pair_counts = np.zeros(len(entry))
                pair_counts[np.searchsorted(_keys(run_off, entry), _keys(off, known_entry))] = counts
            if everything:  # every feature with every possible assignment
                table = np.zeros((features, size))
                table[_features(run_off), entry] = pair_counts
                pair_counts = table[:, possible].ravel()
                run_off = np.arange(features + 1, dtype=np.int64) * len(possible)
                entry = np.tile(possible.astype(np.int32), features)
        learned.append(CliqueWeights(bias, run_off, entry))
        bias_counts.append(_counted(assignment[counted], bias))
        entry_counts.append(pair_counts)
    return Parameters(tuple(learned)), np.concatenate([np.zeros(0), *bias_counts, *entry_counts])


def _counted(assignment: foundation.Ints, bias: foundation.Ints32 | foundation.Ints) -> foundation.Floats:
    """How often each of the ascending assignments `bias` occurs."""
    found, times = np.unique(assignment, return_counts=True)
    place = np.searchsorted(bias, found)
    inside = place < len(bias)
    inside[inside] = bias[place[inside]] == found[inside]
    counts = np.zeros(len(bias))
    counts[place[inside]] = times[inside]
    return counts


def broken_instances(
    template: CliqueTemplate, gold: Gold, sentence_off: foundation.Offsets, rows: Sequence[FeatureRows]
) -> foundation.Ints:
    """Tokens at the anchors of instances whose gold assignment is known and has potential zero."""
    template = template.plain or template
    if template.allowed is None and not template.num_codes:
        return np.zeros(0, np.int64)
    sentence, anchor = instances_of(template, sentence_off)
    assignment = known_assignments(template, gold, sentence_off, sentence, anchor)
    states = np.stack(np.unravel_index(np.maximum(assignment, 0), template.full_cards), axis=-1)
    inside = (assignment >= 0) & (states < np.array(template.cards)).all(axis=1)
    chosen = tuple(states[inside].T)
    broken = np.zeros(len(sentence), bool)
    if template.given is not None:
        seen = tuple(states[one] for states, one in zip(template.seen_states, chosen, strict=True))
        own = rows[template.feature_set]
        first = own.row_off[own.first_row(sentence_off)[sentence] + anchor][inside]
        broken[inside] = own.value[first + np.ravel_multi_index(seen, template.weight_cards)] == -np.inf
    elif template.coded is not None and template.coded.dtype == np.bool_:
        clique_rows = rows[template.feature_set]
        code = clique_rows.feature[clique_rows.row_off[clique_rows.first_row(sentence_off)[sentence] + anchor]]
        broken[inside] = ~template.coded[(code[inside], *chosen)]
    elif template.allowed is not None:
        broken[inside] = ~template.allowed[chosen]
    return (sentence_off[sentence] + np.maximum(anchor, 0))[broken]


def _possible_assignments(template: CliqueTemplate, graph: ModelGraph, clique: int) -> foundation.Ints:
    """Every assignment of an instance that no hard constraint on some of its sites forbids. DcrfError if too many."""
    if template.num_assignments > MOST_ASSIGNMENTS:
        raise foundation.data_error(
            "too-wide",
            f"clique `{template.name}` would have {template.num_assignments:.3g} weights, one for each assignment; "
            f"{MOST_ASSIGNMENTS:,} are possible",
            help="write `with states = seen`: weights for what training shows only",
        )
    if template.segments is not None:
        return np.arange(template.segments.named)
    kinds = [kind for kind in graph.kinds if kind.template.clique == clique and not graph.leaves_out(kind.template)]
    parts = [kind.full_assignments()[possible_entries(kind, graph.templates)] for kind in kinds]  # others may be huge
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)


def join_parameters(one: Parameters, other: Parameters) -> Parameters:
    """The weights that are in one or in the other; both have the same features."""
    joined = []
    for first, second in zip(one.cliques, other.cliques, strict=True):
        keys = np.union1d(_keys(first.run_off, first.entry), _keys(second.run_off, second.entry))
        run_off = np.searchsorted(keys, np.arange(len(first.run_off), dtype=np.int64) * _KEY).astype(np.int64)
        joined.append(CliqueWeights(np.union1d(first.bias, second.bias), run_off, (keys % _KEY).astype(np.int32)))
    return Parameters(tuple(joined))


def placed_counts(joined: Parameters, part: Parameters, counts: foundation.Floats) -> foundation.Floats:
    """The counts of a part as those of the joined weights, [joined weights].   counts: of the weights of the part."""
    out = np.zeros(joined.num_weights)
    for clique, (whole, own) in enumerate(zip(joined.cliques, part.cliques, strict=True)):
        start, mine = joined.bias_start(clique), part.bias_start(clique)
        out[start + np.searchsorted(whole.bias, own.bias)] = counts[mine : mine + len(own.bias)]
        start, mine = joined.entry_start(clique), part.entry_start(clique)
        places = np.searchsorted(_keys(whole.run_off, whole.entry), _keys(own.run_off, own.entry))
        out[start + places] = counts[mine : mine + len(own.entry)]
    return out
