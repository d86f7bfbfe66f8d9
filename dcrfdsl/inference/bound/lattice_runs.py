"""Lattices on a data set: exact inference on lists of candidates, and a bound on log Z for what pruning leaves out.

**Candidates** are the labels that constraints leave at each position. Hard constraints of one label that read
observations, such as tag dictionaries, and labels that are known beforehand often leave few labels. Lattices then hold
every labelling that is possible, and cost follows the candidates instead of the states. Nothing is pruned, so the
answers are exact.

**Stars.** At each position the likeliest labels, and one star in place of all others. A star's local potential is the
sum over the labels that it stands for, and a table has at a star the largest entry of these labels, or 1 if some entry
is not seen. Each labelling then falls into one starred labelling, whose potential is at least the sum of those that
fall into it. So Z over starred labellings bounds Z over all labellings from above.

Not here: the lattices (`kernels.lattice`), what is pruned (`methods.pruned_method`).
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from ...foundation import Floats, Ints, Ints32, Mask, chosen_ranges, dataclass
from ...graph import CliqueTemplate
from ...kernels import lattice
from ...kernels.runtime import GAVE_UP
from ...kernels.tables import Potentials, Ragged, Results, Totals
from .binding import BoundData
from .lattice_tables import dense_contexts, lattice_refusal, local_tables, pack_contexts, packed_table

# Seconds of a position in a pass on lists, on one core, beside those of the other forms (`graph.model_cost`). Measured
# with m labels left at every position (`tests/benchmarks`, row `dictionary`): about 23 ns for each of the m² or m³ runs
# of labels, from 12 to 400 labels. Chains take 0.3 ns for each entry of their dense table, so lists are faster for 121
# labels up to m = 9, for 400 up to m = 44, and never for 45 or fewer; on second order over 45 labels, by an automaton,
# they are up to m = 7, and over 12 labels, by programs, up to m = 5. The estimates of these two forms are low, so that
# lists are taken up to m = 5 and not at all.
POSITION_SECONDS = 3e-7
STATE_SECONDS = 2e-8  # a state: its score and probability, before it is known to be left out
RUN_SECONDS = 2.3e-8  # a run of labels in the lattice
NO_GOLD = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class CandidateRuns:
    """Inference over candidates on a data set. Methods return the runs of sequences that are left to other kernels."""

    data: BoundData
    contexts: lattice.ContextTables

    @classmethod
    def of(cls, data: BoundData, seconds: float) -> CandidateRuns | None:
        """None where lattices cannot hold the graph, or its constraints leave too many labels to pay.

        seconds: that the fastest other form takes for a position.
        """
        graph = data.graph
        coded = [t for t in graph.coded if t.offsets == (0,) and t.position is None]
        if not coded or graph.unary_only or lattice_refusal(graph) is not None or data.num_sequences == 0:
            return None
        states, off = graph.cards[0], data.rows.token_off
        lengths = np.diff(off)
        inside = np.arange(off[-1]) - np.repeat(off[:-1], lengths)
        left = np.full(int(off[-1]), states)
        for template in coded:
            row = np.repeat(data.rows.first_row[template.feature_set], lengths) + inside
            first = data.rows.row_off[row]
            if template.coded is not None:
                table = template.coded.reshape(len(template.coded), states)
                many = (table if table.dtype == np.bool_ else table > -np.inf).sum(axis=1)[data.rows.feature[first]]
            elif not len(data.rows.value) or data.rows.value.min() > -np.inf:
                continue
            else:
                many = np.add.reduceat(data.rows.value > -np.inf, first) if len(first) else first
            np.minimum(left, many, out=left)
        span = 1 + max((t.span for t in graph.templates), default=0)
        runs = np.ones(max(0, len(left) - span + 1))
        for back in range(span):
            runs *= left[back : back + len(runs)]
        mean = float(runs.mean()) if len(runs) else 1.0
        if POSITION_SECONDS + STATE_SECONDS * states + RUN_SECONDS * mean >= seconds:
            return None
        return cls(data, dense_contexts(graph, data.kinds.base))

    def _tables(self, potentials: Potentials) -> lattice.LatticeTables:
        return lattice.LatticeTables(
            local_tables(self.data.graph, self.data.kinds.base, potentials.log_base), self.contexts
        )

    def _pruning(self) -> lattice.Pruning:
        return lattice.Pruning(0.0, self.data.graph.cards[0], 0.0)

    def expectations(
        self, potentials: Potentials, first: int, last: int, results: Results, marginals: Floats, gradient: Floats,
        expected: Floats,
    ) -> list[tuple[int, int]]:  # fmt: skip
        d = self.data
        lattice.lattice_expectations(
            first, last, self._tables(potentials), d.problem, potentials, self._pruning(), lattice.NO_GUIDE,
            d.ragged(NO_GOLD), Totals(gradient, expected), results, Ragged(marginals, d.marginal_off), self._counts(),
        )  # fmt: skip
        return chosen_ranges(results.status[first:last] == GAVE_UP, first)

    def decode(
        self, potentials: Potentials, first: int, last: int, results: Results, labelling: Ints32
    ) -> list[tuple[int, int]]:
        d = self.data
        lattice.lattice_decode(
            first, last, self._tables(potentials), d.problem, potentials, self._pruning(), lattice.NO_GUIDE, results,
            d.ragged(labelling), self._counts(),
        )  # fmt: skip
        return chosen_ranges(results.status[first:last] == GAVE_UP, first)

    def _counts(self) -> np.ndarray:
        return np.zeros((self.data.num_sequences, lattice.COLUMNS), np.int64)


@dataclass(frozen=True, eq=False)
class StarTables:
    """The tables with stars. Label number `states` is the star.

    source, target: cells of the model, and the cells here that are at least as large.   starred: of each cell here.
    """

    states: int
    contexts: lattice.ContextTables
    source: Ints
    target: Ints
    starred: Mask

    @classmethod
    def of(cls, data: BoundData) -> StarTables:
        """The structure for a data set that is bound to a thin graph, without hard constraints on several labels."""
        assert data.contexts is not None
        templates = [t for t in data.graph.templates if len(t.offsets) > 1]
        templates.sort(key=lambda t: t.span)  # stable, as tables are packed
        tables = []
        sources, targets, starred = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.bool_)]
        start = 0
        for j, template in enumerate(templates):
            keys, cells = _seen(data.contexts, j, template)
            found, place, stars = _patterns(template, keys)
            tables.append(packed_table(template, _star_codes(template), found, start))
            sources.append(np.tile(cells, len(place) // max(1, len(cells))))
            targets.append(start + place)
            starred.append(stars)
            start += len(found)
        return cls(
            data.graph.cards[0], pack_contexts(tables), np.concatenate(sources), np.concatenate(targets),
            np.concatenate(starred),
        )  # fmt: skip

    def values(self, log_base: Floats) -> Floats:
        """The log potentials of the cells."""
        out = np.where(self.starred, 0.0, -np.inf)
        np.maximum.at(out, self.target, log_base[self.source])
        return out

    def tables(self) -> lattice.LatticeTables:
        """As lattices take them; local scores are given apart."""
        nothing, zeros = np.zeros(0, np.int64), np.zeros(self.states + 1)
        local = lattice.LocalTables(self.states + 1, nothing, nothing, nothing, nothing, zeros, zeros, zeros)
        return lattice.LatticeTables(local, self.contexts)


def _seen(contexts: lattice.ContextTables, j: int, template: CliqueTemplate) -> tuple[Ints, Ints]:
    """Keys and cells of table j."""
    if contexts.direct[j] >= 0:
        cells = contexts.cell_of[contexts.direct[j] : contexts.direct[j] + template.num_assignments]
        keys = np.flatnonzero(cells >= 0)
        return keys, cells[keys].astype(np.int64)
    part = slice(contexts.hash_off[j], contexts.hash_off[j] + (1 << contexts.hash_bits[j]))
    taken = contexts.hash_key[part] >= 0
    return contexts.hash_key[part][taken], contexts.hash_cell[part][taken].astype(np.int64)


def _patterns(template: CliqueTemplate, keys: Ints) -> tuple[Ints, Ints, Mask]:
    """All keys with some labels replaced by stars.

    Returns the distinct new keys, for each pattern of stars the number of each key's image, and which have a star.
    """
    full = template.full_cards
    sites = list(zip(np.unravel_index(keys, full), full, _strides(full), strict=True))
    images = [
        sum(
            (np.full(len(keys), card) if star else state) * stride
            for star, (state, card, stride) in zip(stars, sites, strict=True)
        )
        for stars in itertools.product((False, True), repeat=len(full))
    ]
    found, place = np.unique(np.concatenate(images).astype(np.int64), return_inverse=True)
    starred = np.zeros(len(found), np.bool_)
    starred[place[len(keys) :]] = True
    return found, place.astype(np.int64), starred


def _strides(full: tuple[int, ...]) -> list[int]:
    return [math.prod(card + 1 for card in full[i + 1 :]) for i in range(len(full))]


def _star_codes(template: CliqueTemplate) -> list[Ints]:
    """The part of a key for each label and the star, site by site."""
    full = template.full_cards
    sites = zip(template.seen_states, full, _strides(full), strict=True)
    return [np.append(seen, card) * stride for seen, card, stride in sites]
