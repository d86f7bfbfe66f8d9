"""A factor graph with explicit tables: the input of inference on one graph, such as a `.uai` file.

Sequences do not use it (kernels make their tables); the wiring is the same. Not here: inference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..foundation import Floats, Integers, Paragraph, dataclass, notebook_html
from .drawing import MOST_MARKS, MOST_POSITIONS, FactorMark, GraphDrawing, VariableMark, drawing_blocks
from .shapes import GraphShape

FEW_IN_A_ROW = 8  # variables of a graph in a drawing


@dataclass(frozen=True, repr=False)
class FactorGraph:
    """Discrete variables and log potentials: p(y) ∝ exp Σ_f log_tables[f][y_scope].

    cards: states of each variable [V].   scopes: variables of each factor, distinct within a factor.
    log_tables: a float64 array of shape (cards of the scope) per factor; -inf forbids.   constant: added to log Z.
    """

    cards: tuple[int, ...]
    scopes: tuple[tuple[int, ...], ...]
    log_tables: tuple[Floats, ...]
    constant: float = 0.0

    def __post_init__(self) -> None:
        for scope, table in zip(self.scopes, self.log_tables, strict=True):
            expected = tuple(self.cards[v] for v in scope)
            if table.shape != expected:
                raise ValueError(f"table over variables {scope} has shape {table.shape}, expected {expected}")

    def __repr__(self) -> str:
        return f"<FactorGraph: {len(self.cards):,} variables, {len(self.scopes):,} factors>"

    def _repr_html_(self) -> str:
        """For notebooks: the variables by number, in rows, with their factors; only counts where they are too many."""
        num_variables, num_factors = len(self.cards), len(self.scopes)
        title = f"{num_variables:,} variables, {num_factors:,} factors"
        width = num_variables if num_variables <= FEW_IN_A_ROW else math.ceil(math.sqrt(num_variables))
        if not num_variables or width > MOST_POSITIONS or num_variables + num_factors > MOST_MARKS:
            return notebook_html([Paragraph(f"A factor graph of {title}.")])
        rows = [f"{first} …" for first in range(0, num_variables, width)]
        variables = tuple(
            VariableMark(rows[v // width], v % width, card, str(v), (f"variable {v}",))
            for v, card in enumerate(self.cards)
        )
        factors = tuple(FactorMark(f"{len(scope)} variables", f, tuple(scope)) for f, scope in enumerate(self.scopes))
        return notebook_html(drawing_blocks(GraphDrawing(title, ("",) * width, variables, factors)))

    def shape(self, local_start: int = 1) -> GraphShape:
        """The wiring; tables are laid end to end from `local_start`."""
        places, at = [], local_start
        for scope in self.scopes:
            places.append(at)
            at += math.prod(self.cards[v] for v in scope)
        return GraphShape.of(self.cards, self.scopes, places)

    def score(self, assignment: Integers) -> float:
        """The log of the unnormalised probability of a labelling [V]."""
        total = self.constant
        for scope, table in zip(self.scopes, self.log_tables, strict=True):
            total += float(table[tuple(int(assignment[v]) for v in scope)])
        return total

    def with_evidence(self, evidence: Mapping[int, int]) -> FactorGraph:
        """The graph in which observed variables keep only their observed state: every other state gets -inf.

        Variables keep their numbers, so marginals and labellings do too.
        """
        scopes, tables = list(self.scopes), list(self.log_tables)
        for variable, state in evidence.items():
            table = np.full(self.cards[variable], -np.inf)
            table[state] = 0.0
            scopes.append((variable,))
            tables.append(table)
        restricted = [_slice_observed(scope, table, evidence) for scope, table in zip(scopes, tables, strict=True)]
        constant = self.constant + sum(float(table) for scope, table in restricted if not scope)
        kept = [(scope, table) for scope, table in restricted if scope]
        return FactorGraph(self.cards, tuple(s for s, _ in kept), tuple(t for _, t in kept), constant)


def _slice_observed(
    scope: tuple[int, ...], table: Floats, evidence: Mapping[int, int]
) -> tuple[tuple[int, ...], Floats]:
    """A factor of several variables, cut down to its unobserved ones; the observation has its own factor.

    A factor all of whose variables are observed is left with no axis: a number.
    """
    if len(scope) == 1:
        return scope, table
    index = tuple(evidence[v] if v in evidence else slice(None) for v in scope)
    return tuple(v for v in scope if v not in evidence), np.asarray(table[index], order="C")
