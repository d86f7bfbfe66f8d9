"""What a data file says of a model, as hover and inlay hints show it: states, table entries, weights.

Not here: reading the data, which another process does (`data_costs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class CliqueCost:
    """states: of its sites, `45 × 45`.   entries: of its table, None for segments, which have none."""

    states: str
    entries: int | None
    weights: int

    def words(self) -> str:
        entries = "" if self.entries is None else f", {self.entries:,} entries"
        return f"{self.states} states{entries}, {self.weights:,} weight{'' if self.weights == 1 else 's'}"


@dataclass(frozen=True)
class CostReport:
    """states: of every variable, by name.   cliques: by their name, or by their sites as written.   problem: why there
    is no more.
    """

    data_name: str = ""
    states: Mapping[str, Sequence[str]] = field(default_factory=dict)
    cliques: Mapping[str, CliqueCost] = field(default_factory=dict)
    problem: str = ""

    def of_clique(self, label: str) -> CliqueCost | None:
        return self.cliques.get(label)


NO_COSTS = CostReport()


def report_of(answer: Mapping[str, Any], data_name: str) -> CostReport:
    """The report that the other process has written as JSON."""
    cliques = {label: CliqueCost(*cost) for label, cost in answer.get("cliques", {}).items()}
    states = {name: tuple(listed) for name, listed in answer.get("states", {}).items()}
    return CostReport(data_name, states, cliques, str(answer.get("problem", "")))
