"""A bound on log Z of a chain: at each position the likeliest labels, and one star in place of all others.

A star's local potential is the sum over the labels that it stands for, and a table has at a star the largest entry of
these labels, or 1 if some entry is not seen. Each labelling then falls into one starred labelling, whose potential is
at least the sum of those that fall into it. So Z over starred labellings bounds Z over all labellings from above.

Not here: sums over lattices (`kernels.lattice`), what is pruned (`methods.pruned_method`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from ...foundation import Floats, Ints, Mask
from ...graph import CliqueTemplate
from ...kernels.lattice import ContextTables, LatticeTables, LocalTables
from .lattice_tables import pack_contexts, packed_table
from .potentials import BoundData


@dataclass(frozen=True, eq=False)
class StarTables:
    """The tables with stars. Label number `states` is the star.

    source, target: cells of the model, and the cells here that are at least as large.   starred: of each cell here.
    """

    states: int
    contexts: ContextTables
    source: Ints
    target: Ints
    starred: Mask

    @classmethod
    def of(cls, data: BoundData) -> StarTables:
        """The structure for a data set that is bound to a thin graph, without hard constraints on several labels."""
        assert data.contexts is not None
        templates = [t for t in data.graph.templates if len(t.offsets) > 1]
        templates.sort(key=lambda t: max(t.offsets) - min(t.offsets))  # stable, as tables are packed
        levels: list[list] = [[]]
        sources, targets, starred = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.bool_)]
        start = 0
        for j, template in enumerate(templates):
            keys, cells = _seen(data.contexts, j, template)
            found, place, stars = _patterns(template, keys)
            level = max(template.offsets) - min(template.offsets)
            levels += [[] for _ in range(len(levels), level + 1)]
            levels[level].append(packed_table(template, _star_codes(template), found, start))
            sources.append(np.tile(cells, len(place) // max(1, len(cells))))
            targets.append(start + place)
            starred.append(stars)
            start += len(found)
        return cls(
            data.graph.cards[0], pack_contexts(levels), np.concatenate(sources), np.concatenate(targets),
            np.concatenate(starred),
        )  # fmt: skip

    def values(self, log_base: Floats) -> Floats:
        """The log potentials of the cells."""
        out = np.where(self.starred, 0.0, -np.inf)
        np.maximum.at(out, self.target, log_base[self.source])
        return out

    def tables(self) -> LatticeTables:
        """As lattices take them; local scores are given apart."""
        nothing, zeros = np.zeros(0, np.int64), np.zeros(self.states + 1)
        local = LocalTables(self.states + 1, nothing, nothing, nothing, nothing, zeros, zeros, zeros)
        return LatticeTables(local, self.contexts)


def _seen(contexts: ContextTables, j: int, template: CliqueTemplate) -> tuple[Ints, Ints]:
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
    states, strides = np.unravel_index(keys, full), _strides(full)
    images = []
    for stars in itertools.product((False, True), repeat=len(full)):
        images.append(
            sum(
                (np.full(len(keys), card) if star else state) * stride
                for star, state, card, stride in zip(stars, states, full, strides, strict=True)
            )
        )
    found, place = np.unique(np.concatenate(images).astype(np.int64), return_inverse=True)
    starred = np.zeros(len(found), np.bool_)
    starred[place[len(keys) :]] = True
    return found, place.astype(np.int64), starred


def _strides(full: tuple[int, ...]) -> list[int]:
    return [math.prod(card + 1 for card in full[i + 1 :]) for i in range(len(full))]


def _star_codes(template: CliqueTemplate) -> list[Ints]:
    """The part of a key for each label and the star, site by site."""
    views = template.views or (None,) * len(template.cards)
    of = [
        np.arange(card) if view is None else np.asarray(view.of)
        for card, view in zip(template.cards, views, strict=True)
    ]
    full = template.full_cards
    return [
        np.append(seen, card).astype(np.int64) * stride
        for seen, card, stride in zip(of, full, _strides(full), strict=True)
    ]
