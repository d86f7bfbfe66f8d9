"""Drawings of an unrolled factor graph: SVG, DOT and text from one neutral description.

Each variable name has a row and each position a column. Variables are circles, factors are small squares in the colour
of their clique, and the words are at the bottom. Not here: unrolling (`unroll`), reading data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape

from ..foundation import printable, printable_lines
from .drawing_layout import MARGIN, PALETTE, RADIUS, SQUARE, DrawingLayout, GraphDrawing, PieceMark, Point, VariableMark

_MOST_LETTERS = 6  # in a circle


# text -------------------------------------------------------------------------------------------------------------


def text(graph: GraphDrawing) -> str:
    """A list of the variables and the factors, with the features that fire at each factor."""
    lines = [graph.title, "", f"{len(graph.variables)} variables"]
    names = [str(variable) for variable in graph.variables]
    width = max(map(len, names), default=0)
    for name, variable in zip(names, graph.variables, strict=True):
        lines.append(f"  {name:<{width}}  {variable.states} states  {graph.words[variable.position]}")
    lines += ["", f"{len(graph.factors)} factors"]
    clique_width = max(map(len, graph.cliques()), default=0)
    for factor in graph.factors:
        sites = " ".join(names[v] for v in factor.variables)
        lines.append(f"  {factor.clique:<{clique_width}}  t={factor.anchor:<4} {sites}")
        lines.extend(f"      {feature}" for feature in factor.features)
    if graph.pieces:
        lines += ["", f"{len(graph.pieces)} pieces"]
    for piece in graph.pieces:
        held = [f"{graph.factors[f].clique}@{graph.factors[f].anchor}{' (locked)' * (f in piece.locked)}"
                for f in piece.factors]  # fmt: skip
        conditions = f" given {' '.join(names[v] for v in piece.neighbours)}" if piece.neighbours else ""
        lines.append(f"  {piece.piece}  over {' '.join(names[v] for v in piece.over)}{conditions}: {', '.join(held)}")
    lines += ["", *graph.notes] if graph.notes else []
    return "".join(f"{printable(line)}\n" for line in lines)


# dot --------------------------------------------------------------------------------------------------------------


def dot(graph: GraphDrawing) -> str:
    """The drawing in DOT, with every node pinned where the SVG has it; `dot -Tpdf` draws it."""
    layout = DrawingLayout(graph)
    lines = [
        "graph unrolled {",
        f"  layout=neato; inputscale=72; label={_quoted('. '.join((graph.title, *graph.notes)))}; labelloc=t; "
        "fontname=Helvetica;",
        "  node [fontname=Helvetica, fontsize=11, pin=true];",
    ]
    for v, (variable, at) in enumerate(zip(graph.variables, layout.centres, strict=True)):
        lines.append(f"  v{v} [label={_quoted(str(variable))}, shape=ellipse, {_pinned(at)}];")
    for t, word in enumerate(graph.words):
        lines.append(
            f"  w{t} [label={_quoted(word)}, shape=plaintext, {_pinned((layout.column_at(t), layout.words_at))}];"
        )
    for f, (factor, at, _) in enumerate(layout.squares):
        colour, tip = layout.colours[factor.clique], _quoted(f"{factor.clique} at {factor.anchor}")
        box = f'label="", shape=square, width=0.12, style=filled, fillcolor="{colour}", tooltip={tip}'
        lines.append(f"  f{f} [{box}, {_pinned(at)}];")
        lines.extend(f'  f{f} -- v{v} [color="{colour}"];' for v in factor.variables)
    for p, (piece, (left, top, right, bottom)) in enumerate(_boxes(graph, layout)):
        size = f"width={(right - left) / 72:.2f}, height={(bottom - top) / 72:.2f}"
        centre = _pinned(((left + right) / 2, (top + bottom) / 2))
        tip = f'label="", tooltip={_quoted(piece.piece)}'
        lines.append(f"  p{p} [{tip}, shape=box, style=dashed, {size}, {centre}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(label: str) -> str:
    return '"' + printable(label).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _pinned(at: Point) -> str:
    return f'pos="{at[0]:.1f},{-at[1]:.1f}!"'


# svg --------------------------------------------------------------------------------------------------------------


def _boxes(graph: GraphDrawing, layout: DrawingLayout) -> Iterator[tuple[PieceMark, tuple[float, float, float, float]]]:
    """Each piece with the box (left, top, right, bottom) around its variables and factors. Three sizes alternate, so
    that overlapping boxes can be told apart.
    """
    squares = [at for _, at, _ in layout.squares]
    for n, piece in enumerate(graph.pieces):
        marks = [(layout.centres[v], RADIUS) for v in piece.over] + [(squares[f], SQUARE / 2) for f in piece.factors]
        room = 5.0 + 4.0 * (n % 3)
        yield (
            piece,
            (
                min(x - r for (x, _), r in marks) - room,
                min(y - r for (_, y), r in marks) - room,
                max(x + r for (x, _), r in marks) + room,
                max(y + r for (_, y), r in marks) + room,
            ),
        )


def _dashed(piece: PieceMark, box: tuple[float, float, float, float], colour: str) -> str:
    left, top, right, bottom = box
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" rx="8" fill="none" '
        f'stroke="{colour}" stroke-width="1.3" stroke-dasharray="6 4">'
        f"<title>piece {_escaped(piece.piece)}</title></rect>"
    )


def svg(graph: GraphDrawing) -> str:
    """The drawing as an SVG document, which any browser shows."""
    layout = DrawingLayout(graph)
    counts = Counter(factor.clique for factor in graph.factors)
    width = max(layout.column_at(len(graph.words)), 380.0, MARGIN + len(graph.title) * 8.5)
    height = layout.words_at + 50 + 22 * len(counts)
    names = list(dict.fromkeys(piece.piece for piece in graph.pieces))
    piece_colours = {name: PALETTE[-1 - i % len(PALETTE)] for i, name in enumerate(names)}
    height += 22 * (len(names) + len(graph.notes) + len(_explained(graph)))
    legend = [_counted(clique, counts[clique]) for clique in layout.colours]
    listed = [*legend, *(f"piece {name}" for name in names), *graph.notes, *_explained(graph)]
    width = max(width, *(MARGIN + 34 + len(line) * 7.0 for line in listed)) if listed else width
    edges, squares = [], []
    for factor, at, bend in layout.squares:
        colour = layout.colours[factor.clique]
        edges += [_edge(at, layout.centres[v], bend, colour) for v in factor.variables]
        squares.append(_square(at, colour, f"{factor.clique} at position {factor.anchor}", factor.features))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
        _label((MARGIN, 26), graph.title, 14, anchor="start", weight="bold"),
        *(_label((MARGIN, layout.row_at(i) + 5), name, 14, anchor="start") for name, i in layout.rows.items()),
        *edges,
        *(_circle(centre, variable) for centre, variable in zip(layout.centres, graph.variables, strict=True)),
        *squares,
        *(_dashed(piece, box, piece_colours[piece.piece]) for piece, box in _boxes(graph, layout)),
    ]
    for t, word in enumerate(graph.words):
        x = layout.column_at(t)
        out.append(_label((x, layout.words_at), word, 13))
        out.append(_label((x, layout.words_at + 17), str(t), 10, colour="#777777"))
    for i, ((clique, colour), many) in enumerate(zip(layout.colours.items(), legend, strict=True)):
        y = layout.words_at + 44 + 22 * i
        out += [_square((MARGIN + 5, y), colour, clique, ()), _label((MARGIN + 20, y + 4), many, 12, anchor="start")]
    for i, name in enumerate(names, len(counts)):
        y = layout.words_at + 44 + 22 * i
        swatch = PieceMark(name, (), (), ())
        out.append(_dashed(swatch, (MARGIN, y - 6, MARGIN + 12, y + 6), piece_colours[name]))
        out.append(_label((MARGIN + 20, y + 4), f"piece {name}", 12, anchor="start"))
    for i, note in enumerate((*graph.notes, *_explained(graph)), len(counts) + len(names)):
        out.append(_label((MARGIN, layout.words_at + 48 + 22 * i), note, 12, anchor="start"))
    return "\n".join([*out, "</svg>"]) + "\n"


def _counted(clique: str, count: int) -> str:
    return f"{clique}: {count} factor{'' if count == 1 else 's'}"


def _explained(graph: GraphDrawing) -> tuple[str, ...]:
    """What the numbers in circles mean, if there are any."""
    has_counts = any(not variable.shown for variable in graph.variables)
    return ("in a circle: how many states the variable has",) if has_counts else ()


def _escaped(text: str) -> str:
    """The text for XML, which does not allow control characters, not even escaped."""
    return escape(printable_lines(text))


def _edge(square: Point, circle: Point, bend: float, colour: str) -> str:
    """The edge from a square to the centre of a circle, which is drawn over it; bent if the square was moved aside."""
    if not bend:
        path = f"M{square[0]:.1f} {square[1]:.1f} L{circle[0]:.1f} {circle[1]:.1f}"
    else:  # leave the square along the line of the factor, so that a chain of squares reads as one arc
        across = abs(square[0] - circle[0]) >= abs(square[1] - circle[1])
        knee = (circle[0], square[1]) if across else (square[0], circle[1])
        knee = ((knee[0] + square[0]) / 2, (knee[1] + square[1]) / 2)
        path = f"M{square[0]:.1f} {square[1]:.1f} Q{knee[0]:.1f} {knee[1]:.1f} {circle[0]:.1f} {circle[1]:.1f}"
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.4"/>'


def _circle(centre: Point, variable: VariableMark) -> str:
    x, y = centre
    words = variable.shown or str(variable.states)
    at = (x, y + 4) if len(words) <= _MOST_LETTERS else (x, y + RADIUS + 11)  # long ones stand below, whole
    tip = "\n".join([f"{variable}: {variable.states} states", *variable.details])
    size = 11 if len(words) <= 4 else 9
    return (
        f"<g{_class(variable.kind)}><title>{_escaped(tip)}</title>"
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="white" stroke="#222222" stroke-width="1.4"/>'
        f"{_label(at, words, size, colour='#444444')}</g>"
    )


def _class(kind: str) -> str:
    return f' class="{_escaped(kind)}"' if kind else ""


def _square(at: Point, colour: str, title: str, features: Sequence[str]) -> str:
    shown = "\n".join([title, *features])
    corner = (at[0] - SQUARE / 2, at[1] - SQUARE / 2)
    return (
        f'<rect x="{corner[0]:.1f}" y="{corner[1]:.1f}" width="{SQUARE}" height="{SQUARE}" fill="{colour}">'
        f"<title>{_escaped(shown)}</title></rect>"
    )


def _label(
    at: Point, words: str, size: int, *, anchor: str = "middle", weight: str = "normal", colour: str = "#111111"
) -> str:
    return (
        f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" font-size="{size}" text-anchor="{anchor}" '
        f'font-weight="{weight}" fill="{colour}">{_escaped(words)}</text>'
    )


FORMATS: Mapping[str, Callable[[GraphDrawing], str]] = {"svg": svg, "dot": dot, "text": text}
