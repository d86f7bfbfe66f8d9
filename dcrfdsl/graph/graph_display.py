"""Graphs as notebooks show them: drawings, cut where they are large, and the drawings of graphs without a sentence.

Not here: the picture itself (`drawing`), drawings of sentences, which need features (`model.reporting`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..foundation import Block, Paragraph, Picture, inline_svg, notebook_html
from .drawing import svg
from .drawing_layout import FactorMark, GraphDrawing, VariableMark

if TYPE_CHECKING:
    from .factor_graph import FactorGraph
    from .unroll import ModelGraph

MOST_POSITIONS = 30  # of a drawing in a notebook
MOST_MARKS = 1500  # variables and factors; with fewer of them positions are left out too
FEW_IN_A_ROW = 8  # variables of a graph without positions
TOKENS = 4  # for which a graph without a sentence is unrolled


def drawing_html(drawing: GraphDrawing) -> str:
    """The drawing as the output of a notebook: at most its first positions, and how many are left out."""
    return notebook_html(_blocks(drawing))


def _blocks(drawing: GraphDrawing) -> Iterator[Block]:
    length = max(1, len(drawing.words))
    a_position = math.ceil((len(drawing.variables) + len(drawing.factors)) / length)
    shown = first_positions(drawing, max(1, min(MOST_POSITIONS, MOST_MARKS // max(1, a_position))))
    yield Picture(inline_svg(svg(shown)), _counted(shown), kind="graph")
    if hidden := length - len(shown.words):
        factors = len(drawing.factors) - len(shown.factors)
        yield Paragraph(
            f"{hidden:,} more position{'s' * (hidden != 1)} and {factors:,} more factors are left out.", kind="note"
        )


def _counted(drawing: GraphDrawing) -> str:
    return (
        f"Circles are {len(drawing.variables):,} variables, squares are {len(drawing.factors):,} factors. A pointer "
        "brings up what they are."
    )


def first_positions(drawing: GraphDrawing, most: int) -> GraphDrawing:
    """The drawing without what is not wholly in its first positions; itself if it has no more."""
    if len(drawing.words) <= most:
        return drawing
    kept = [v for v, variable in enumerate(drawing.variables) if variable.position < most]
    new = {v: n for n, v in enumerate(kept)}
    factors = [factor for factor in drawing.factors if all(v in new for v in factor.variables)]
    return replace(
        drawing,
        words=drawing.words[:most],
        variables=tuple(drawing.variables[v] for v in kept),
        factors=tuple(replace(one, variables=tuple(new[v] for v in one.variables)) for one in factors),
        pieces=(),  # they name factors by number, and pieces that were cut would say what is not so
    )


# graphs without a sentence ------------------------------------------------------------------------------------------


def model_graph_html(graph: ModelGraph) -> str:
    """The templates of a model, unrolled over a few tokens. Cliques that the data join are named: they need data."""
    length = max(TOKENS, graph.sample_lengths[0])
    sites = [(t, m) for t in range(length) for m in range(len(graph.cards)) if graph.is_there(t, m)]
    variables = tuple(VariableMark(graph.variables[m], t, graph.cards[m]) for t, m in sites)
    number = {t * len(graph.cards) + m: n for n, (t, m) in enumerate(sites)}
    shape = graph.shape(length)
    factors = tuple(
        FactorMark(graph.kinds[kind].template.name, anchor, tuple(number[v] for v in scope))
        for kind, anchor, scope in zip(shape.kinds, shape.anchors, shape.scopes, strict=True)
    )
    words = tuple("t" if t == 0 else f"t+{t}" for t in range(length))
    blocks = list(_blocks(GraphDrawing(f"unrolled over {length} tokens", words, variables, factors)))
    joined = [graph.templates[number].name for number in graph.relational]
    if joined:
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(joined))
        blocks.append(Paragraph(f"Not drawn: {names}, which join positions that only data tell.", kind="note"))
    return notebook_html(blocks)


def factor_graph_html(graph: FactorGraph) -> str:
    """The variables by number, in rows, with their factors; only counts where they are too many."""
    num_variables, num_factors = len(graph.cards), len(graph.scopes)
    title = f"{num_variables:,} variables, {num_factors:,} factors"
    width = num_variables if num_variables <= FEW_IN_A_ROW else math.ceil(math.sqrt(num_variables))
    if not num_variables or width > MOST_POSITIONS or num_variables + num_factors > MOST_MARKS:
        return notebook_html([Paragraph(f"A factor graph of {title}.")])
    rows = [f"{first} …" for first in range(0, num_variables, width)]
    variables = tuple(
        VariableMark(rows[v // width], v % width, card, str(v), (f"variable {v}",))
        for v, card in enumerate(graph.cards)
    )
    factors = tuple(FactorMark(f"{len(scope)} variables", f, tuple(scope)) for f, scope in enumerate(graph.scopes))
    return notebook_html(_blocks(GraphDrawing(title, ("",) * width, variables, factors)))
