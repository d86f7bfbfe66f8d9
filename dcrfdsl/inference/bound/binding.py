"""A data set bound to a model: everything that inference over sequences reads, built once.

`BoundData` holds the wiring of each distinct graph, the feature rows and the weight bindings. `Potentials` holds the
weights and the shared tables computed from them. `Binder` binds data sets to a model, and keeps the graphs that it
unrolled (`ShapeCache`).

A data set of one shape, as a single sentence is, has a bank of its own, so that its wiring does not depend on what was
tagged before. Data sets of several shapes share a bank. A bank in use never changes: new shapes go to a copy. So
threads may ask at once without locks, which a forked process could inherit locked. At worst two threads unroll the same
graph. Not here: the graphs (`graph`), running inference (`methods`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import TypeAlias

import numpy as np

from ...features import FeatureRows, Pairs
from ...foundation import Floats, Ints, Ints32, cached_property, data_error, dataclass
from ...graph import ModelGraph, Parameters, ShapeBank, fixed_weights, offsets
from ...kernels import tables
from ...kernels.lattice import ContextTables
from ...kernels.runtime import aligned_zeros
from ..workers import RUNS
from .lattice_tables import bind_contexts
from .packing import Packing, pack, unpacked

PairsOf: TypeAlias = tuple[tuple[tuple[int, int], ...], ...]  # of each relational clique, in a sequence
ShapeKey: TypeAlias = tuple[int, PairsOf]  # length and pairs, which determine a sequence's graph

MOST_VARIABLES = 2**15  # of the graphs that are kept, here and there; a variable takes one or two kilobytes
ONE = np.zeros(1, np.int32)  # the numbers of the shapes of one sequence
MOST_ALONE = 256  # shapes that are kept with a bank of their own


class ShapeCache:
    """Banks of a model's shapes. programs, latents_first: as in `ModelGraph.bank`."""

    def __init__(self, graph: ModelGraph, *, programs: bool, latents_first: bool):
        self._graph, self._how = graph, {"programs": programs, "latents_first": latents_first}
        self._alone: dict[ShapeKey, ShapeBank] = {}  # the one that was not asked for longest is first
        self._together: tuple[dict[ShapeKey, int], ShapeBank] = {}, self._bank()

    def _bank(self) -> ShapeBank:
        return self._graph.bank(**self._how)

    @property
    def num_variables(self) -> int:
        """The variables of all graphs that are kept."""
        return self._together[1].num_variables + sum(bank.num_variables for bank in list(self._alone.values()))

    def bank(self, keys: Sequence[ShapeKey]) -> tuple[ShapeBank, Ints32]:
        """A bank with the shapes of these sequences, and the number of each sequence's shape in it, [S]."""
        if len(keys) == 1:
            return self._bank_of(keys[0]), ONE
        distinct = dict.fromkeys(keys)
        if len(distinct) == 1:
            return self._bank_of(keys[0]), np.zeros(len(keys), np.int32)
        number, bank = self._bank_of_several(list(distinct))
        return bank, np.array([number[key] for key in keys], np.int32)

    def _bank_of(self, key: ShapeKey) -> ShapeBank:
        bank = self._alone.pop(key, None)
        if bank is None:
            bank = self._bank()
            bank.add(self._graph.shape(*key))
            self._make_room(bank.num_variables)
        if bank.num_variables <= MOST_VARIABLES:
            self._alone[key] = bank  # the last one now
        return bank

    def _make_room(self, more: int) -> None:
        """Forgets the banks that were not asked for longest, until `more` variables fit beside the others."""
        while self._alone and (
            len(self._alone) >= MOST_ALONE
            or sum(bank.num_variables for bank in list(self._alone.values())) + more > MOST_VARIABLES
        ):
            with suppress(KeyError, RuntimeError, StopIteration):  # another thread was here at the same time
                del self._alone[next(iter(self._alone))]

    def _bank_of_several(self, keys: Sequence[ShapeKey]) -> tuple[dict[ShapeKey, int], ShapeBank]:
        known, bank = self._together
        new = [key for key in keys if key not in known]
        if not new:
            return known, bank
        more = len(self._graph.cards) * sum(length for length, _ in new)
        if bank.num_variables + more > MOST_VARIABLES:
            known, bank, new = {}, self._bank(), list(keys)
        else:
            known, bank = dict(known), bank.copy()
        for key in new:
            known[key] = bank.add(self._graph.shape(*key))
        if bank.num_variables <= MOST_VARIABLES and not self._graph.relational:  # joined pairs seldom come again
            self._together = known, bank
        return known, bank


MOST_WEIGHTS = 4  # whose potentials are kept: those of a model, and with its temperature
MOST_SHARED = 2**28  # cells of the tables that all sequences share: 2 GB


@dataclass(frozen=True, eq=False)
class BoundData:
    """S sequences in the form that kernels take."""

    graph: ModelGraph
    bank: ShapeBank
    shapes: tables.Shapes
    kinds: tables.Kinds
    bindings: tables.Bindings
    rows: tables.Rows
    hard: Floats  # [shared cells]
    num_weights: int
    fixed: Floats  # weights of the entries of codes, which are not trained, such as -inf of hard constraints
    set_off: tuple[int, ...]  # [sets + 1] where the rows of each feature set begin
    packing: Packing | None = None
    contexts: ContextTables | None = None  # of a thin graph: where lattices find the cliques of several labels
    kept: dict[int, tuple[Floats, tables.Potentials]] = field(default_factory=dict)  # see `potentials_at`

    @property
    def num_sequences(self) -> int:
        return len(self.rows.shape)

    @property
    def problem(self) -> tables.Problem:
        return tables.Problem(self.shapes, self.kinds, self.bindings, self.rows)

    def ragged(self, labelling: Ints32) -> tables.Ragged:
        """A flat labelling as kernels take it."""
        return tables.Ragged(labelling, self.labelling_off)

    @cached_property
    def labelling_off(self) -> Ints:
        """Offsets of each sequence's variables in a flat labelling, [S+1]."""
        return self.rows.token_off * len(self.graph.cards)

    @property
    def marginal_off(self) -> Ints:
        """Offsets of each sequence's states in flat marginals, [S+1]."""
        return self.rows.token_off * sum(self.graph.cards)

    def by_variable(self, marginals: Floats) -> list[Floats]:
        """Flat marginals (see `marginal_off`) as one array [positions, states] per variable.

        A position whose numbers are all 0, as without any factor, becomes uniform. Changes `marginals` in place.
        """
        cards = self.graph.cards
        table = marginals.reshape(-1, sum(cards))
        out = []
        for end, card in zip(itertools.accumulate(cards), cards, strict=True):
            columns = table[:, end - card : end]
            columns[~columns.any(axis=1)] = 1.0 / card
            out.append(columns)
        for variable in self.graph.of_sentence:
            out[variable][:] = out[variable][self._first_tokens]
        return out

    def spread(self, labelling: Ints32) -> Ints32:
        """Flat labellings [..., labels] with the state of each variable of a sentence at all its tokens, in place."""
        for variable in self.graph.of_sentence:
            of_variable = labelling[..., variable :: len(self.graph.cards)]
            of_variable[:] = of_variable[..., self._first_tokens]
        return labelling

    @cached_property
    def _first_tokens(self) -> Ints:
        """For each token the first one of its sentence, [N]."""
        off = self.rows.token_off
        first: Ints = np.repeat(off[:-1], np.diff(off)) - off[0]
        return first

    def packed(self, *, bundled: bool = False) -> BoundData:
        """The same data set in a layout for repeated passes.

        bundled: with bundles of features that fire together. Then call `open_bundles` after adding to a gradient, and
        `sum_bundles` after changing cells.
        """
        packing = pack(self.kinds, self.bindings, self.rows, self.set_off, bundled=bundled)
        if packing is None:
            return self
        return replace(self, rows=self.rows._replace(packed=packing.packed), packing=packing)

    def only(self, sequences: Ints) -> BoundData:
        """The data set of these sequences, in this order."""
        lengths = np.diff(self.rows.token_off)[sequences]
        rows = self.rows._replace(
            first_row=np.ascontiguousarray(self.rows.first_row[:, sequences]),
            token_off=offsets(lengths),
            shape=self.rows.shape[sequences],
        )
        return replace(self, rows=rows)

    def unbundled(self) -> BoundData:
        """A packed data set without bundles, whose sums would have to be updated after each step."""
        if self.packing is None:
            return self
        plain = unpacked(len(self.kinds.base), self.bindings.num_bias)
        return replace(self, rows=self.rows._replace(packed=plain), packing=None).packed()

    @property
    def num_cells(self) -> int:
        """Length of the gradients that kernels add to."""
        return self.packing.num_cells if self.packing is not None else self.num_weights

    def partial_gradients(self, count: int) -> Floats:
        """Zeros [count, num_cells] for runs of sequences to add their expectations to; a cell at least, since kernels
        take a gradient of none for one that is not asked for.
        """
        return aligned_zeros(count * max(1, self.num_cells)).reshape(count, -1)

    def open_bundles(self, gradient: Floats) -> None:
        """Passes the gradient of each bundle on to the weights of its members, in place, [num_cells]."""
        if self.packing is not None and len(self.packing.packed.bundle_row):
            tables.distribute_bundles(self.packing.packed, gradient)

    def sum_bundles(self, cells: Floats) -> None:
        """Updates the sums that bundles hold after changes of single weights in `cells` [num_cells], in place."""
        if self.packing is not None and len(self.packing.packed.bundle_row):
            tables.sum_bundles(self.packing.packed, cells)

    def cell_of_weight(self) -> Ints:
        """The cell of each weight in a gradient [num_cells], [W]; if packed, -1 for biases and weights never read."""
        return self.packing.cell_of[: self.num_weights] if self.packing is not None else np.arange(self.num_weights)

    def potentials(self, weights: Floats, cells: Floats | None = None) -> tables.Potentials:
        """The potentials at `weights` [W], or [W + 1] as `scaled_weights` makes them. `cells`: the array of potentials
        that are no longer needed, to be reused.
        """
        if len(self.fixed):
            factor = weights[self.num_weights :]
            weights = np.concatenate([weights[: self.num_weights], self.fixed * factor if len(factor) else self.fixed])
        log_base = tables.base_tables(weights, self.bindings, self.hard)
        linear = tables.exponentiate_base(log_base, self.kinds)
        if self.packing is not None:
            weights = self.packing.pack(weights, cells)
        return tables.Potentials(weights, log_base, *linear)

    def potentials_at(self, weights: Floats, constant: Sequence[Floats]) -> tables.Potentials:
        """As `potentials`. `constant`: arrays that never change; at these, computed once for all data of a binder."""
        if self.packing is not None or not any(weights is one for one in constant):
            return self.potentials(weights)
        found = self.kept.get(id(weights))
        if found is None:
            found = self.kept[id(weights)] = weights, self.potentials(weights)  # held, so that the id stays theirs
            for oldest in list(self.kept)[:-MOST_WEIGHTS]:  # of models that are no more
                self.kept.pop(oldest, None)
        return found[1]

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """The runs of sequences that threads share if no run keeps separate sums."""
        return self.chunks(RUNS)

    def chunks(self, count: int, together: int = 1) -> list[tuple[int, int]]:
        """At most `count` runs of whole sequences of about equally many tokens; the cut depends on the data only.

        together: runs, but the last, have a multiple of so many sequences.
        """
        if self.num_sequences == 1:
            return [(0, 1)]
        tokens = self.rows.token_off
        goals = np.linspace(0, tokens[-1], count + 1)
        inner = (np.searchsorted(tokens, goals[1:-1]) + together // 2) // together * together
        cuts = np.unique(np.concatenate([[0], np.minimum(inner, self.num_sequences), [self.num_sequences]]))
        return list(itertools.pairwise(cuts.tolist()))


class Binder:
    """Binds data sets to a model and keeps the wiring of graphs that it met, see `ShapeCache`. Threads may share it.

    programs: whether to build contraction programs.   latents_first: whether these sum out latent variables first.
    """

    def __init__(self, graph: ModelGraph, parameters: Parameters, *, programs: bool, latents_first: bool = False):
        self.graph, self.num_weights = graph, parameters.num_weights
        if not graph.unary_only and graph.num_shared > MOST_SHARED:
            raise data_error(
                "too-wide",
                f"the tables of the cliques would have {graph.num_shared:.3g} entries; {MOST_SHARED:,} are possible",
                help="use `infer pruned`, which looks up what training has seen",
            )
        self.kept = ShapeCache(graph, programs=programs, latents_first=latents_first)
        self._kinds = graph.kind_arrays(parameters.run_base())
        self._bindings = parameters.bindings(graph)
        self._hard, self._fixed = graph.shared.hard_cells(), fixed_weights(graph)
        self._contexts: ContextTables | None = None
        if graph.unary_only:
            contexts, bindings = bind_contexts(graph, parameters), self._bindings
            self._contexts = contexts.tables
            cells = np.arange(len(contexts.weight))
            self._hard = np.concatenate([self._hard, np.zeros(len(cells))])
            self._bindings = bindings._replace(
                bias_weight=np.concatenate([bindings.bias_weight, contexts.weight]),
                bias_cell=np.concatenate([bindings.bias_cell, graph.num_shared + cells]),
            )
        self._unpacked = unpacked(len(self._kinds.base), self._bindings.num_bias)
        self._potentials: dict[int, tuple[Floats, tables.Potentials]] = {}
        self._relational = [graph.templates[number].clique for number in graph.relational]

    def bind(
        self,
        rows: Sequence[FeatureRows],
        sentence_off: Ints,
        relations: Mapping[int, Pairs] | None = None,
    ) -> BoundData:
        """The data set of these feature rows, one `FeatureRows` per feature set. Unrolls the graphs that are new.

        relations: the pairs of each relational clique, by its number.
        """
        off = sentence_off.tolist()
        lengths = [end - start for start, end in itertools.pairwise(off)]
        joined = [(relations or {})[clique] for clique in self._relational]
        keys: list[ShapeKey] = [(length, ()) for length in lengths]
        if joined:
            keys = [(length, tuple(of.local(s, sentence_off) for of in joined)) for s, length in enumerate(lengths)]
        bank, shape_of = self.kept.bank(keys)
        set_off = (0, *itertools.accumulate(len(set_rows.row_off) - 1 for set_rows in rows))
        return BoundData(
            graph=self.graph,
            bank=bank,
            shapes=bank.shape_arrays(),
            kinds=self._kinds,
            bindings=self._bindings,
            rows=_join_rows(rows, sentence_off, shape_of, self._unpacked),
            hard=self._hard,
            num_weights=self.num_weights,
            fixed=self._fixed,
            set_off=set_off,
            contexts=self._contexts,
            kept=self._potentials,
        )


def _join_rows(rows: Sequence[FeatureRows], sentence_off: Ints, shape_of: Ints32, packed: tables.Packed) -> tables.Rows:
    """The rows of all feature sets, end to end; values are kept only if some value is not 1."""
    if len(rows) == 1:  # nothing is copied
        (one,) = rows
        first_row = np.array([one.first_row(sentence_off)], np.int64)
        return tables.Rows(first_row, one.row_off, one.feature, one.value, sentence_off, shape_of, packed)
    starts, base = offsets([len(r.row_off) - 1 for r in rows]), offsets([len(r.feature) for r in rows])
    first = [start + r.first_row(sentence_off) for r, start in zip(rows, starts, strict=False)]
    value = np.zeros(0)
    if any(len(r.value) for r in rows):
        value = np.concatenate([r.value if len(r.value) else np.ones(len(r.feature)) for r in rows])
    return tables.Rows(
        first_row=np.array(first, np.int64).reshape(len(rows), len(shape_of)),
        row_off=np.concatenate([*(r.row_off[:-1] + at for r, at in zip(rows, base, strict=False)), base[-1:]]),
        feature=np.concatenate([np.zeros(0, np.int32), *(r.feature for r in rows)]),
        value=value,
        token_off=sentence_off,
        shape=shape_of,
        packed=packed,
    )


def repeated_data(data: BoundData, sequence: Ints, codes: Ints32) -> BoundData:
    """The data set of R sequences, `sequence` [R] of those of `data`, which is not packed.

    codes [sets, tokens of the R sequences]: the rows of the last feature sets, which have one code at each token.
    """
    rows, (sets, count) = data.rows, codes.shape
    first_set = len(rows.first_row) - sets
    kept_rows = data.set_off[first_set]
    kept_features = int(rows.row_off[kept_rows])
    token_off = offsets(np.diff(rows.token_off)[sequence])
    of_codes = kept_rows + count * np.arange(sets)[:, None] + token_off[:-1]
    value = rows.value
    if len(value):
        value = np.concatenate([value[:kept_features], np.ones(sets * count)])
    repeated = rows._replace(
        first_row=np.ascontiguousarray(np.concatenate([rows.first_row[:first_set, sequence], of_codes])),
        row_off=np.concatenate([rows.row_off[:kept_rows], kept_features + np.arange(sets * count + 1, dtype=np.int64)]),
        feature=np.concatenate([rows.feature[:kept_features], codes.ravel().astype(np.int32)]),
        value=value,
        token_off=token_off,
        shape=rows.shape[sequence],
    )
    return replace(data, rows=repeated)
