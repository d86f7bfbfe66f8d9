"""Pictures of unrolled graphs: all three formats show the same variables, factors and words."""

from __future__ import annotations

import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from dcrfdsl.graph.drawing import FactorMark, GraphDrawing, VariableMark, dot, svg, text

SVG = "{http://www.w3.org/2000/svg}"


def coupled_chains(rows: int, length: int, *, reach: int = 1) -> GraphDrawing:
    """`rows` chains with links over 1…`reach` positions and between any two rows; a word factor at each variable."""
    names = [f"y{r}" for r in range(rows)]
    variables = [VariableMark(name, t, 3) for t in range(length) for name in names]
    at = {(v.name, v.position): i for i, v in enumerate(variables)}
    factors = [FactorMark(f"{v.name} words", v.position, (i,), ("word=<&>",)) for i, v in enumerate(variables)]
    for name in names:
        for gap in range(1, reach + 1):
            factors += [FactorMark(f"{name}[-{gap}]", t, (at[name, t - gap], at[name, t])) for t in range(gap, length)]
        factors += [
            FactorMark(f"{name} triple", t, tuple(at[name, t - g] for g in (2, 1, 0))) for t in range(2, length)
        ]
    for r, upper in enumerate(names):
        for lower in names[r + 1 :]:
            factors += [FactorMark(f"{upper}, {lower}", t, (at[upper, t], at[lower, t])) for t in range(length)]
    words = tuple(f'<w{t} & "x">' for t in range(length))
    return GraphDrawing("a & b", words, tuple(variables), tuple(factors))


def all_pairs(length: int) -> GraphDrawing:
    """A clique that joins every two positions, twice: its factors have their middles in few places."""
    variables = tuple(VariableMark("y", t, 3) for t in range(length))
    pairs = [(a, b) for a in range(length) for b in range(a + 1, length)]
    factors = tuple(FactorMark("skip", n, pair) for n, pair in enumerate(pairs * 2))
    return GraphDrawing("all pairs", tuple("abcdefgh"[:length]), variables, factors)


GRAPHS = {
    "one variable": coupled_chains(1, 1),
    "chain": coupled_chains(1, 6),
    "third order": coupled_chains(1, 7, reach=3),
    "four chains": coupled_chains(4, 5),
    "every pair": all_pairs(8),
    "a long name": replace(
        coupled_chains(1, 2), factors=(FactorMark("a name longer than two words beside each other " * 3, 0, (0, 1)),)
    ),
    "no factors": GraphDrawing("empty", ("a",), (VariableMark("y", 0, 2),), ()),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_svg_shows_every_part_once(graph: GraphDrawing) -> None:
    root = ElementTree.fromstring(svg(graph))
    assert len(root.findall(f".//{SVG}circle")) == len(graph.variables)
    squares = [r for r in root.findall(f".//{SVG}rect") if r.get("width") == "10.0"]
    assert len(squares) == len(graph.factors) + len(graph.cliques())  # the legend has one square a clique
    assert len(root.findall(f".//{SVG}path")) == sum(len(factor.variables) for factor in graph.factors)
    written = [element.text for element in root.findall(f"{SVG}text")]
    assert set(graph.words) <= set(written)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_svg_squares_hide_nothing(graph: GraphDrawing) -> None:
    root = ElementTree.fromstring(svg(graph))
    circles = [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in root.iter(f"{SVG}circle")]
    squares = [
        (float(r.get("x", 0)) + 5, float(r.get("y", 0)) + 5)
        for r in root.iter(f"{SVG}rect")
        if r.get("width") == "10.0"
    ][: len(graph.factors)]
    assert all(math.dist(square, circle) > 17 + 5 for square in squares for circle in circles)
    pairs = [(a, b) for i, a in enumerate(squares) for b in squares[:i]]
    assert all(max(abs(a[0] - b[0]), abs(a[1] - b[1])) >= 12 for a, b in pairs)  # a square has sides of 10
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    assert all(5 <= x <= width - 5 and 35 <= y <= height - 5 for x, y in squares)  # the title lies above


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_svg_has_room_for_each_text_and_says_what_numbers_mean(graph: GraphDrawing) -> None:
    root = ElementTree.fromstring(svg(graph))
    width = float(root.get("width", 0))
    for element in root.findall(f"{SVG}text"):
        letters, size = len(element.text or ""), float(element.get("font-size", 0))
        assert element.get("text-anchor") != "start" or float(element.get("x", 0)) + letters * size * 0.52 < width
    written = [element.text for element in root.findall(f"{SVG}text")]
    assert "in a circle: how many states the variable has" in written


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_dot_has_a_node_for_every_part_and_an_edge_for_every_site(graph: GraphDrawing) -> None:
    lines = dot(graph).splitlines()
    assert sum(line.startswith("  v") for line in lines) == len(graph.variables)
    assert sum(line.startswith("  f") and " -- " not in line for line in lines) == len(graph.factors)
    assert sum(" -- " in line for line in lines) == sum(len(factor.variables) for factor in graph.factors)


def test_text_lists_variables_factors_and_features() -> None:
    graph = GraphDrawing(
        "sentence 1",
        ("He", "reckons"),
        (VariableMark("pos", 0, 45), VariableMark("pos", 1, 45)),
        (FactorMark("words", 0, (0,), ("bias", "word = He")), FactorMark("chain", 1, (0, 1))),
    )
    assert text(graph).splitlines() == [
        "sentence 1",
        "",
        "2 variables",
        "  pos[0]  45 states  He",
        "  pos[1]  45 states  reckons",
        "",
        "2 factors",
        "  words  t=0    pos[0]",
        "      bias",
        "      word = He",
        "  chain  t=1    pos[0] pos[1]",
    ]
