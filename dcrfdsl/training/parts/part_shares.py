"""Expected counts of data in parts, for the shares that a template expects of all of it.

Each pass asks every part at the same weights and adds its counts in the tree of parts, so that their bits do not depend
on memory, threads or machines. Not here: the penalty on the shares (`criteria.expected_shares`), terms (`part_terms`).
"""

from __future__ import annotations

import secrets
import weakref
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...criteria import ShareCounts, with_counted_places
from ...foundation import Floats, Ints
from ...inference import RunStatus
from ...semantics import ShareTable
from .part_files import read_compiled
from .part_runners import PartRunner
from .part_terms import SHARES, StageTerms, add_each, forget_terms, open_term


class CountedPlaces(NamedTuple):
    """Of some parts: how many places count for each expectation, [E], and the most in one sentence."""

    places: Ints
    longest: int


class PartCounts(NamedTuple):
    """Of some parts: expected counts, and how inference ended."""

    counts: Floats
    status: RunStatus


def _counts_of(shared: StageTerms, number: int) -> ShareCounts:
    term = open_term(shared, number)
    assert isinstance(term, ShareCounts)
    return term


def places_of_part(shared: StageTerms, number: int, _: None) -> CountedPlaces:
    term = _counts_of(shared, number)
    return CountedPlaces(term.places, term.longest)


def add_places(one: CountedPlaces, other: CountedPlaces) -> CountedPlaces:
    return CountedPlaces(one.places + other.places, max(one.longest, other.longest))


def counts_of_part(shared: StageTerms, number: int, point: tuple[Floats, Floats]) -> PartCounts:
    """The counts of a part.   point: weights [W], and those of assignments that count, [C]."""
    term = _counts_of(shared, number)
    return PartCounts(term.expected(*map(np.asarray, point)), term.status)


class PartedCounts:
    """`criteria.Counts` of all parts.   terms: of the stage.   tables: of the expectations."""

    def __init__(self, terms: StageTerms, tables: tuple[ShareTable, ...], runner: PartRunner):
        first_set = len(read_compiled(terms.paths[0]).rows) - len(tables)
        counted = with_counted_places(terms.problem, tables, first_set)
        self._terms = replace(terms, key=secrets.token_hex(8), method=SHARES, problem=counted)
        self._runner, self.status = runner, RunStatus()
        weakref.finalize(self, forget_terms, self._terms.key)
        found: CountedPlaces = runner.total(places_of_part, self._terms, len(terms.paths), None, add_places)
        self.places, self.longest = found

    def expected(self, weights: Floats, added: Floats) -> Floats:
        """As `Counts` says, [W + C]."""
        found: PartCounts = self._runner.total(
            counts_of_part, self._terms, len(self._terms.paths), (weights, added), add_each
        )
        self.status = self.status + found.status
        return found.counts

    def close(self) -> None:
        """Frees the layouts of the parts."""
        self._runner.everywhere(forget_terms, self._terms.key)
