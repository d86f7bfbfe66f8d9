"""States and weights of each clique at the end of its first line, where a data file is known.

Not here: the numbers (`data_costs`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..syntax import ast
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
    match placed.facts.statement:
        case ast.Clique(name=ast.Name(text=name)) | ast.Segment(name=ast.Name(text=name)):
            return name
        case ast.Clique(sites=sites):
            return ", ".join(_site(site) for site in sites)
        case ast.Segment(variable=variable):
            return f"segments of {variable.text}"
    return ""


def _site(site: ast.Site) -> str:
    match site.place:
        case ast.Offset(value=offset):
            return f"{site.variable.text}[{offset}]" if offset else site.variable.text
        case ast.Position(name=name):
            return f"{site.variable.text}[{name}]"
    return site.variable.text
