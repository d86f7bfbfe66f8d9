"""The factors of a chain of one label in the form that lattices take: which runs of labels have a cell of their own.

Cliques of several labels never become dense tables here: a cell for each weight, found by its labels. Hard constraints
on several labels are tables already, of the size of their mask. Not here: lattices (`kernels.lattice`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...foundation import Floats, Ints, Mask, dataclass
from ...graph import LAST, CliqueTemplate, ModelGraph, Parameters, offsets
from ...kernels.lattice import FORBIDDEN, MOST_STATES, NO_GUIDE, UNSEEN, ContextTables, Guide, LocalTables, fill_hash

MOST_LABELS = 4  # of a clique
LARGEST_DIRECT = 2**21  # entries of a table that is indexed instead of hashed: 8 MB


def lattice_refusal(graph: ModelGraph) -> tuple[str, str] | None:
    """Why lattices cannot hold a graph, and a remedy; None if they can."""
    if len(graph.cards) > 1:
        return f"the model has {len(graph.cards)} variables a position", "join the labels to one, or use `trp`"
    if graph.of_sentence:
        return f"`{graph.variables[0]}` is of the whole sentence", "use `exact`"
    if graph.cards[0] >= MOST_STATES:
        return f"the label has {graph.cards[0]:,} states, at most {MOST_STATES - 1:,} are possible", "use fewer states"
    for template in graph.templates:
        what, low, high = f"clique `{template.name}`", min(template.offsets), max(template.offsets)
        if template.relational:
            return f"{what} joins positions by a condition", "use `trp`"
        if template.pad:
            return f"{what} has `edges = pad`", "leave out `edges = pad`"
        if len(template.offsets) == 1:
            if low != 0 or (template.position is not None and template.feature_set >= 0):
                return f"{what} lies on a label of another position", "anchor it at the label itself"
        elif template.feature_set >= 0:
            return f"{what} has features on several labels", "list features in a clique of one label only"
        elif high - low >= MOST_LABELS or not low <= 0 <= high or template.position is not None:
            return f"{what} does not lie on at most {MOST_LABELS} neighbouring positions with offset 0", "shorten it"
    return None


def view_guide(graph: ModelGraph, name: str) -> Guide | None:
    """The guide of a view, with the tables that see two neighbours through it alone; None if there is no such table."""
    pairs = [t for t in graph.templates if len(t.offsets) > 1 and t.span == 1]
    tables, value = [], np.zeros(0, np.int64)
    for number, template in enumerate(pairs):  # tables are packed level by level, and this is the first one
        seen_as = {view.name if view is not None else None for view in template.seen_as}
        if seen_as == {name} and template.clique >= 0 and template.allowed is None and not template.num_codes:
            tables.append(number)
            value = np.asarray(next(view.of for view in template.views if view is not None), np.int64)
    if not tables:
        return None
    _, example = np.unique(value, return_index=True)
    return NO_GUIDE._replace(value=value, example=example.astype(np.int64), tables=np.array(tables, np.int64))


@dataclass(frozen=True, eq=False)
class BoundContexts:
    """The tables of contexts, and which bias weight each of their cells has. These follow the shared cells."""

    tables: ContextTables
    weight: Ints


@dataclass(frozen=True, eq=False)
class _Table:
    """One clique of several labels. back, codes: of each site.   keys, cells: what is seen.   allowed: by key.

    first_cell: of a dense table, whose cells lie in the order of the keys.
    """

    back: list[int]
    codes: list[Ints]
    keys: Ints
    cells: Ints
    size: int
    allowed: Mask | None
    first_cell: int | None = None


def dense_contexts(graph: ModelGraph, base: Ints) -> ContextTables:
    """The contexts of a graph with dense tables, which begin at `base` [kinds]."""
    tables = []
    for kind, first in zip(graph.kinds, base.tolist(), strict=False):
        if len(kind.template.offsets) > 1:
            plain = replace(kind.template, views=(), allowed=None)  # tables are by states, and hold hard zeros
            tables.append(replace(_table(plain, np.zeros(0, np.int64), 0), first_cell=first))
    return pack_contexts(tables)


def bind_contexts(graph: ModelGraph, parameters: Parameters) -> BoundContexts:
    """The contexts of a graph that `lattice_refusal` accepts."""
    tables, weights, start = [], [np.zeros(0, np.int64)], 0
    for template in graph.templates:
        if len(template.offsets) == 1:
            continue
        keys = np.zeros(0, np.int64)
        if template.clique >= 0:
            keys = parameters.cliques[template.clique].bias.astype(np.int64)
            first = parameters.bias_start(template.clique)
            weights.append(np.arange(first, first + len(keys)))
        tables.append(_table(template, keys, graph.num_shared + start))
        start += len(keys)
    return BoundContexts(pack_contexts(tables), np.concatenate(weights))


def packed_table(template: CliqueTemplate, codes: list[Ints], keys: Ints, first_cell: int) -> _Table:
    """A table with other codes than the template's; always hashed."""
    back = [max(template.offsets) - offset for offset in template.offsets]
    return _Table(back, codes, keys, first_cell + np.arange(len(keys)), LARGEST_DIRECT + 1, None)


def _table(template: CliqueTemplate, keys: Ints, first_cell: int) -> _Table:
    full = template.full_cards
    codes = [states * math.prod(full[i + 1 :]) for i, states in enumerate(template.seen_states)]
    allowed = None if template.allowed is None else template.allowed.ravel()
    return replace(packed_table(template, codes, keys, first_cell), size=math.prod(full), allowed=allowed)


def pack_contexts(tables: list[_Table]) -> ContextTables:
    """The tables level by level: those of as many neighbours lie together."""
    tables = sorted(tables, key=lambda table: max(table.back))
    count = len(tables)
    back, code_off = np.zeros((2, count, MOST_LABELS), np.int64)
    codes, direct_parts = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    hash_keys, hash_cells = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    direct, hash_off, hash_bits = np.full(count, -1, np.int64), np.zeros(count, np.int64), np.ones(count, np.int64)
    for j, table in enumerate(tables):
        back[j, : len(table.back)] = table.back
        at = sum(map(len, codes))
        for i, code in enumerate(table.codes):
            code_off[j, i] = at
            codes.append(code)
            at += len(code)
        if table.first_cell is not None:
            hash_off[j], hash_bits[j] = table.first_cell, 0
            continue
        if table.allowed is not None or table.size <= LARGEST_DIRECT:
            cell = np.full(table.size, UNSEEN, np.int32)
            cell[table.keys] = table.cells
            if table.allowed is not None:
                cell[~table.allowed] = FORBIDDEN
            direct[j] = sum(map(len, direct_parts))
            direct_parts.append(cell)
            continue
        bits = max(4, (2 * len(table.keys)).bit_length())
        key, cell = np.full(1 << bits, -1, np.int64), np.zeros(1 << bits, np.int32)
        fill_hash(table.keys, table.cells, bits, key, cell)
        hash_off[j], hash_bits[j] = sum(map(len, hash_keys)), bits
        hash_keys.append(key)
        hash_cells.append(cell)
    return ContextTables(
        level_off=offsets(np.bincount([max(table.back) for table in tables], minlength=1)),
        sites=np.array([len(table.back) for table in tables], np.int64),
        back=back,
        code_off=code_off,
        codes=np.concatenate(codes),
        direct=direct,
        cell_of=np.concatenate(direct_parts),
        hash_off=hash_off,
        hash_bits=hash_bits,
        hash_key=np.concatenate(hash_keys),
        hash_cell=np.concatenate(hash_cells),
    )


def local_tables(graph: ModelGraph, base: Ints, log_base: Floats) -> LocalTables:
    """The factors on one label at the weights of `log_base`. base: where each kind's base table begins."""
    states = graph.cards[0]
    places: dict[int | None, list[int]] = {None: [], 0: [], LAST: []}
    for number, kind in enumerate(graph.kinds):
        if len(kind.template.offsets) == 1:
            places[kind.template.position].append(number)

    def total(numbers: list[int]) -> Floats:
        return sum((log_base[base[k] : base[k] + states] for k in numbers), np.zeros(states))

    three = places[None], places[0], places[LAST]
    scored = [k for k in places[None] if graph.kinds[k].template.feature_set >= 0]
    kinds = (np.array(numbers, np.int64) for numbers in (scored, *three))
    return LocalTables(states, *kinds, *map(total, three))  # type: ignore[arg-type]
