"""Decoding by local distributions: the labelling of the highest Π_π p̃(y_π | y_N(π), x), and the pieces that it goes by.

Each instance of a piece becomes one factor over its own variables and those that it conditions on; the factor's table
is the log of the local distribution. Variable elimination then finds the best labelling of that graph. For pieces that
condition only on earlier variables this is Viterbi's algorithm; pieces of two directions are combined. Hard constraints
remain separate factors. Sentences are decoded in runs, since the tables are large. Not here: the pieces (`graph`), the
rule that a template asks for (`semantics`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ... import graph as graphs
from ...foundation import DcrfError, Diagnostic, Floats, Ints, Ints32
from ...kernels.piecewise import MOST_SITES, TablePlaces, piece_tables
from ...kernels.runtime import IMPOSSIBLE
from ...kernels.sequences import exact_decode
from ...kernels.tables import Bindings, Packed, Potentials, Problem, Ragged, Rows
from ...semantics import ModelSpec, decode_rule, last_pieces
from ..base import Decoded
from ..bound import BoundData, unpacked
from ..piece_methods import largest_piece
from ..single_graph import featureless_kinds

CELLS = 2**21  # of tables that are in memory at once, approximately
PROBED = 8  # positions of the sequence whose graph serves to estimate the cost


def local_decoding_cost(graph: graphs.ModelGraph, templates: Sequence[graphs.PieceTemplate]) -> graphs.OrderCost:
    """The cost of decoding by the pieces' local distributions, on a sequence of `PROBED` positions."""
    shape = graph.shape(PROBED)
    unrolling = graphs.PieceUnrolling(graph, shape, bare=True)
    scopes = [(*i.conditioned, *i.over) for _, i in unrolling.instances(templates)]
    return graphs.order_cost(scopes, shape.cards, graphs.best_order(scopes, shape.cards))


class LocalDecoder:
    """Finds labellings for one data set under the local distributions of pieces.

    model: the graph of the model without clamping factors, which are not part of any piece.
    """

    approximate = False

    def __init__(self, data: BoundData, templates: Sequence[graphs.PieceTemplate], model: graphs.ModelGraph):
        self.data = data
        constraints = len(model.templates)
        graph, shapes = data.graph, data.bank.shapes
        self.pieces = graphs.piece_arrays(graph, shapes, templates, constraints=constraints, bare=True)
        self.largest = largest_piece(data.shapes, self.pieces)
        self.is_constraint = np.array([kind.template.clique < 0 for kind in graph.kinds], np.bool_)
        scopes = [
            self._scopes(graphs.PieceUnrolling(graph, shape, constraints, bare=True), templates) for shape in shapes
        ]
        sizes = [
            [math.prod(shape.cards[v] for v in scope) for scope in shape_scopes]
            for shape, shape_scopes in zip(shapes, scopes, strict=True)
        ]
        self.place_off = graphs.offsets(np.array([len(shape_sizes) for shape_sizes in sizes]))
        places = [graphs.offsets(np.array(shape_sizes, np.int64))[:-1] for shape_sizes in sizes]
        self.place = np.concatenate([np.zeros(0, np.int64), *places])
        self.cells = np.array([sum(shape_sizes) for shape_sizes in sizes], np.int64)  # of a sequence of each shape
        kind_of = {size: k for k, size in enumerate(sorted({size for shape_sizes in sizes for size in shape_sizes}))}
        # all kinds share the same base table of zeros
        self._kinds = featureless_kinds(
            np.ones(len(kind_of), np.int64), np.array(list(kind_of), np.int64), feature_set=0
        )
        self._num_shared = 1 + max(kind_of, default=0)
        bank = graphs.ShapeBank(self._num_shared, lambda shape: graphs.best_order(shape.scopes, shape.cards))
        for shape, shape_scopes, shape_sizes, starts in zip(shapes, scopes, sizes, places, strict=True):
            runs = tuple(
                graphs.Run(scope, self._num_shared + int(at), kind_of[size], n)
                for n, (scope, at, size) in enumerate(zip(shape_scopes, starts, shape_sizes, strict=True))
            )
            bank.add(graphs.GraphShape(shape.cards, runs))
        self.bank, self.shapes = bank, bank.shape_arrays()
        self.programs, self.patterns = bank.program_arrays(), bank.pattern_arrays()

    def _scopes(
        self, unrolling: graphs.PieceUnrolling, templates: Sequence[graphs.PieceTemplate]
    ) -> list[tuple[int, ...]]:
        """The scopes of the instances, then of the constraints, in the order of their factors."""
        instances = [(*i.conditioned, *i.over) for _, i in unrolling.instances(templates)]
        shape = unrolling.shape
        return [*instances, *(s for s, kind in zip(shape.scopes, shape.kinds, strict=True) if self.is_constraint[kind])]

    def decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        """As `Decoder.decode`; a score is the log of the product."""
        ends = graphs.offsets(self.cells[self.data.rows.shape[first:last]])
        begin = first
        while begin < last:
            end = max(begin + 1, first + int(np.searchsorted(ends, ends[begin - first] + CELLS, side="right")) - 1)
            self._decode(potentials, begin, min(end, last), out)
            begin = min(end, last)

    def _decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        d = self.data
        shape = d.rows.shape[first:last]
        table_off = graphs.offsets(self.cells[shape])
        tables = np.empty(int(table_off[-1]))
        piece_tables(
            first, last, d.problem, self.pieces, potentials, self.is_constraint,
            TablePlaces(self.place, self.place_off, table_off), self.largest, tables,
        )  # fmt: skip
        bindings, rows = self._wiring(shape, table_off, tables, d.rows.packed)
        off = d.labelling_off[first : last + 1]
        scores, run_labelling = np.zeros(last - first), out.labelling[off[0] : off[-1]]
        zeros = np.zeros(self._num_shared)
        exact_decode(
            0, last - first, Problem(self.shapes, self._kinds, bindings, rows), self.programs, self.patterns,
            Potentials(tables, zeros, zeros, zeros, fits=False, products_fit=False), scores,
            Ragged(run_labelling, off - off[0]),
        )  # fmt: skip
        out.score[first:last] = scores
        out.status[first:last] = np.where(np.isneginf(scores), IMPOSSIBLE, 0)

    def _wiring(self, shape: Ints32, table_off: Ints, tables: Floats, packed: Packed) -> tuple[Bindings, Rows]:
        """Each table as a feature that fires in one row, with a weight for each entry."""
        counts = np.diff(self.place_off)[shape]
        first_row = graphs.offsets(counts)
        turn = np.arange(int(first_row[-1])) - np.repeat(first_row[:-1], counts)
        starts = self.place[np.repeat(self.place_off[shape], counts) + turn] + np.repeat(table_off[:-1], counts)
        run_off = np.append(starts, table_off[-1])
        entry = (np.arange(len(tables)) - np.repeat(run_off[:-1], np.diff(run_off))).astype(np.int32)
        nothing = np.zeros(0, np.int64)
        rows = Rows(
            first_row=first_row[None, :-1],
            row_off=np.arange(len(starts) + 1),
            feature=np.arange(len(starts), dtype=np.int32),
            value=np.zeros(0),
            token_off=np.zeros(len(shape) + 1, np.int64),
            shape=shape,
            packed=unpacked(len(self._kinds.base), 0),
        )
        return Bindings(run_off, entry, 0, nothing, nothing), rows


LARGEST = 2**16  # joint states of a piece that local decoding may enumerate
MOST_SEARCHED = 2**20  # entries of a table in local decoding, where that is only the default


def local_pieces(spec: ModelSpec, graph: graphs.ModelGraph, stage: str | None = None) -> list[graphs.PieceTemplate]:
    """The pieces that `decode local` uses. DcrfError where there are none, or one is too large for it."""
    pieces = last_pieces(spec, stage)
    if not pieces:
        message = "`decode local` needs a model that is trained in pieces"
        raise DcrfError(Diagnostic("no-pieces", message, help="train by `memm`, or by `piecewise` with pieces"))
    templates = graphs.piece_templates(spec, graph, pieces)
    if any(template.everywhere for template in templates):
        message = "`decode local` does not go by pieces over whole sequences"
        raise DcrfError(Diagnostic("no-pieces", message, help="write `decode joint`"))
    large = [template.name for template in templates if is_large_piece(graph, template, LARGEST)]
    if large:
        message = f"`decode local` goes by pieces of at most {LARGEST:,} joint states, and `{large[0]}` has more"
        raise DcrfError(Diagnostic("piece-too-large", message, help="write `decode joint`"))
    return templates


def resolve_decode_rule(spec: ModelSpec, graph: graphs.ModelGraph, stage: str) -> str:
    """The rule that decodes the labels of a stage, now that all sizes are known.

    `joint` replaces `local` where that is only the default of the criterion and its tables would not fit.
    """
    rule = decode_rule(spec, stage)
    if rule.name != "local" or rule.trained is None:
        return rule.name
    try:
        fits = local_decoding_cost(graph, local_pieces(spec, graph, stage)).largest <= MOST_SEARCHED
    except DcrfError:
        fits = False
    return rule.name if fits else "joint"


def is_large_piece(graph: graphs.ModelGraph, template: graphs.PieceTemplate, most: int) -> bool:
    """Whether a piece has more than `most` joint states, or too many variables for enumeration."""
    joint = math.prod(graph.cards[variable] for variable, _ in template.over)
    return joint > most or len(template.over) > MOST_SITES
