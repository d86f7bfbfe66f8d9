"""States and weights of each clique at the end of its first line, where a data file is known.

Not here: the numbers (`data_costs`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..syntax import CliqueSpec
from .answers import InlayText
from .data_costs import CostReport
from .template_index import Placed, Template


def inlay_hints(template: Template, start: int, end: int, costs: CostReport) -> tuple[InlayText, ...]:
    """The hints between two offsets."""
    return tuple(hint for hint in _hints(template, costs) if start <= hint.at <= end)


def _hints(template: Template, costs: CostReport) -> Iterator[InlayText]:
    for placed in template.statements:
        label = clique_label(placed)
        cost = costs.of_clique(label) if label else None
        if cost is not None:
            line = placed.facts.text.partition("\n")[0].rstrip("\r")
            words = f"{cost.states} states, {cost.weights:,} weight{'' if cost.weights == 1 else 's'}"
            yield InlayText(placed.start + len(line), words, f"{cost.words()}, by {costs.data_name}")


def clique_label(placed: Placed) -> str:
    """The name of a clique, or its sites as the specification has them; "" for other statements."""
    statement = placed.facts.statement
    return statement.label if isinstance(statement, CliqueSpec) else ""
