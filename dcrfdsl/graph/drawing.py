"""Drawings of factor graphs: what they show, where it lies, and the formats: SVG, DOT, text, notebooks.

Each variable name has a row and each position a column. Variables are circles, factors are small squares in the colour
of their clique, and the words are at the bottom. No square hides a circle or another square. Not here: unrolling
(`unroll`), reading data.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from html import escape

from ..foundation import Block, Paragraph, Picture, dataclass, inline_svg, notebook_html, printable, printable_lines


@dataclass(frozen=True)
class VariableMark:
    """The variable `name` at position `position`, with its number of states.

    shown: what its circle says, by default the number of states.   details: lines that a pointer brings up.   kind: a
    class for style sheets.
    """

    name: str
    position: int
    states: int
    shown: str = ""
    details: tuple[str, ...] = ()
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.name}[{self.position}]"


@dataclass(frozen=True)
class FactorMark:
    """One instance of `clique`, with features read at `anchor`; `variables`: indices into `GraphDrawing.variables`."""

    clique: str
    anchor: int
    variables: tuple[int, ...]
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class PieceMark:
    """One instance of a piece. over, neighbours: indices of the variables that it is over, and that it conditions on.
    factors: indices of its factors.   locked: the factors among them that it does not train.
    """

    piece: str
    over: tuple[int, ...]
    neighbours: tuple[int, ...]
    factors: tuple[int, ...]
    locked: frozenset[int] = frozenset()


@dataclass(frozen=True)
class GraphDrawing:
    """The graph of one sentence; `words[t]` is the text below position t, `notes` say what is not drawn."""

    title: str
    words: tuple[str, ...] = field(repr=False)
    variables: tuple[VariableMark, ...] = field(repr=False)
    factors: tuple[FactorMark, ...] = field(repr=False)
    pieces: tuple[PieceMark, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    def rows(self) -> list[str]:
        """Variable names in order of first appearance."""
        return list(dict.fromkeys(variable.name for variable in self.variables))

    def cliques(self) -> list[str]:
        """Clique names in order of first appearance."""
        return list(dict.fromkeys(factor.clique for factor in self.factors))

    def _repr_html_(self) -> str:
        """For notebooks: the picture of its first positions."""
        return notebook_html(drawing_blocks(self))


Point = tuple[float, float]

_ROW = 104.0
RADIUS = 17.0
SQUARE = 10.0
_GAP = 3.0  # between two squares
_CLEAR = SQUARE + _GAP  # of the middles of two squares
_CELL = RADIUS + SQUARE + _GAP  # no marks two cells apart touch
_SLIDES = (0.0, _CLEAR, -_CLEAR, 2 * _CLEAR, -2 * _CLEAR)  # along the line through the variables
_TITLE = 46.0  # what lies above belongs to the title
MARGIN = 30.0
_SMALL_LETTER = 5.2  # that of what stands below circles
_LETTER = 7.2  # mean width of a letter at the font size of the words
# Okabe and Ito's palette, which colour-blind readers can tell apart, comes first; colours repeat with more cliques.
PALETTE = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c8c8c", "#9c5a1a", "#b5bd00",
    "#ef476f", "#004d5a", "#6b8e23", "#c0a0ff",
)  # fmt: skip
# The directions of the squares of one-variable factors from their circle, in degrees: 0 = right, 90 = up.
_UNARY_ANGLES = (128.0, 52.0, 156.0, 24.0, 104.0, 76.0)


class _Marks:
    """Circles and squares that are drawn, by the cells of a grid."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], list[tuple[Point, float]]] = {}

    def add(self, at: Point, reach: float) -> None:
        """A mark with its half width."""
        self._cells.setdefault(self._cell(at), []).append((at, reach))

    def is_free(self, at: Point) -> bool:
        """Whether a square here leaves a gap to each mark."""
        column, row = self._cell(at)
        near = (mark for c in (-1, 0, 1) for r in (-1, 0, 1) for mark in self._cells.get((column + c, row + r), ()))
        return all(
            max(abs(at[0] - x), abs(at[1] - y)) >= SQUARE / 2 + reach + (_GAP if reach < RADIUS else _GAP / 2)
            for (x, y), reach in near
        )

    def _cell(self, at: Point) -> tuple[int, int]:
        return int(at[0] // _CELL), int(at[1] // _CELL)


class DrawingLayout:
    """The coordinates of all parts, in pixels; y grows downwards, as in SVG."""

    def __init__(self, graph: GraphDrawing):
        self.graph = graph
        self.colours = {clique: PALETTE[i % len(PALETTE)] for i, clique in enumerate(graph.cliques())}
        self.rows = {name: i for i, name in enumerate(graph.rows())}
        below = max((len(v.shown) for v in graph.variables), default=0) * _SMALL_LETTER + 18
        self.column = max([92.0, below, *(len(word) * _LETTER + 18 for word in graph.words)])
        self.left = MARGIN + max((len(name) for name in self.rows), default=0) * 8.0 + 34
        reach = max((max(f.variables) - min(f.variables) for f in graph.factors if len(f.variables) > 1), default=0)
        self.top = 96.0 + (30.0 if reach >= 2 * max(1, len(self.rows)) else 0.0)  # long arcs rise over the first row
        self._arrange()

    def _arrange(self) -> None:
        self.words_at = self.row_at(len(self.rows) - 1) + 58
        self.centres = [(self.column_at(v.position), self.row_at(self.rows[v.name])) for v in self.graph.variables]

    def column_at(self, position: int) -> float:
        return self.left + (position + 0.5) * self.column

    def row_at(self, row: int) -> float:
        return self.top + row * _ROW

    @cached_property
    def squares(self) -> tuple[tuple[FactorMark, Point, float], ...]:
        """Each factor, the place of its square, and its distance from the line through the variables. No square covers
        a circle or another square.
        """
        found = tuple(self._placed())
        above = min((at[1] for _, at, _ in found), default=math.inf)
        if above < _TITLE:  # arcs over the first row take more room than there is
            self.top += _TITLE - above
            self._arrange()
            found = tuple(self._placed())
        return found

    def _placed(self) -> Iterator[tuple[FactorMark, Point, float]]:
        unary: Counter[int] = Counter()
        taken = _Marks()
        for centre in self.centres:
            taken.add(centre, RADIUS)
        for factor in self.graph.factors:
            points = [self.centres[v] for v in factor.variables]
            single = len(points) == 1
            spots = self._around(points[0], unary, factor.variables[0]) if single else self._beside(points)
            spot, shift = next((spot, shift) for spot, shift in spots if taken.is_free(spot))
            taken.add(spot, SQUARE / 2)
            yield factor, spot, shift

    def _around(self, centre: Point, unary: Counter[int], variable: int) -> Iterator[tuple[Point, float]]:
        """Places for the factor of one variable, circle after circle around it."""
        while True:
            full, rank = divmod(unary[variable], len(_UNARY_ANGLES))
            unary[variable] += 1
            angle, reach = math.radians(_UNARY_ANGLES[rank]), 40.0 + 14.0 * full
            yield (centre[0] + reach * math.cos(angle), centre[1] - reach * math.sin(angle)), 0.0

    def _beside(self, points: Sequence[Point]) -> Iterator[tuple[Point, float]]:
        """Places for the factor of several variables: in the middle of them, then ever farther aside, and along."""
        middle = (sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points))
        away = _sideways(points)
        along, length = (-away[1], away[0]), math.dist(min(points), max(points))
        shift = 0.0
        between = (centre for centre in self.centres if centre not in points)
        if len(points) > 2 or any(_distance_to_segment(one, *points) < 1.5 * RADIUS for one in between):
            shift = 28.0 if away[0] > 0.9 else 36.0 + 0.04 * math.dist(points[0], points[-1])
        slides = [slide for slide in _SLIDES if abs(slide) < max(_CLEAR, length / 2 - RADIUS - SQUARE)]
        while True:
            for slide in slides if shift else [0.0]:  # on the line itself, edges would cover each other
                yield _moved(_moved(middle, along, slide), away, shift), shift
            shift += _CLEAR


def _sideways(points: Sequence[Point]) -> Point:
    """A unit vector perpendicular to the line through the outer points: upwards, or to the right of a vertical line."""
    (x0, y0), (x1, y1) = min(points), max(points)
    length = math.dist((x0, y0), (x1, y1))
    across = ((y1 - y0) / length, -(x1 - x0) / length)
    return across if across[1] < 0 or (across[1] == 0 and across[0] > 0) else (-across[0], -across[1])


def _moved(point: Point, direction: Point, distance: float) -> Point:
    return point[0] + direction[0] * distance, point[1] + direction[1] * distance


def _distance_to_segment(point: Point, start: Point, end: Point) -> float:
    along = (end[0] - start[0], end[1] - start[1])
    share = ((point[0] - start[0]) * along[0] + (point[1] - start[1]) * along[1]) / (along[0] ** 2 + along[1] ** 2)
    share = min(1.0, max(0.0, share))
    return math.dist(point, (start[0] + share * along[0], start[1] + share * along[1]))


_MOST_LETTERS = 6  # in a circle
MOST_POSITIONS = 30  # of a drawing in a notebook
MOST_MARKS = 1500  # variables and factors; with fewer of them positions are left out too


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
        left, top = (min(at[axis] - reach for at, reach in marks) - room for axis in (0, 1))
        right, bottom = (max(at[axis] + reach for at, reach in marks) + room for axis in (0, 1))
        yield piece, (left, top, right, bottom)


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
    legend = [f"{clique}: {counts[clique]} factor{'s' * (counts[clique] != 1)}" for clique in layout.colours]
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
    else:
        knee = edge_knee(square, circle)
        path = f"M{square[0]:.1f} {square[1]:.1f} Q{knee[0]:.1f} {knee[1]:.1f} {circle[0]:.1f} {circle[1]:.1f}"
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.4"/>'


def edge_knee(square: Point, circle: Point) -> Point:
    """Where a bent edge turns: it leaves the square along the line of the factor, so that a chain reads as one arc."""
    across = abs(square[0] - circle[0]) >= abs(square[1] - circle[1])
    knee = (circle[0], square[1]) if across else (square[0], circle[1])
    return (knee[0] + square[0]) / 2, (knee[1] + square[1]) / 2


def _circle(centre: Point, variable: VariableMark) -> str:
    x, y = centre
    words = variable.shown or str(variable.states)
    at = (x, y + 4) if len(words) <= _MOST_LETTERS else (x, y + RADIUS + 11)  # long ones stand below, whole
    tip = "\n".join([f"{variable}: {variable.states} states", *variable.details])
    size = 11 if len(words) <= 4 else 9
    kind = f' class="{_escaped(variable.kind)}"' if variable.kind else ""
    return (
        f"<g{kind}><title>{_escaped(tip)}</title>"
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="white" stroke="#222222" stroke-width="1.4"/>'
        f"{_label(at, words, size, colour='#444444')}</g>"
    )


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


# notebooks ---------------------------------------------------------------------------------------------------------


def drawing_blocks(drawing: GraphDrawing) -> Iterator[Block]:
    """The drawing as notebooks show it: at most its first positions, and how many are left out."""
    length = max(1, len(drawing.words))
    a_position = math.ceil((len(drawing.variables) + len(drawing.factors)) / length)
    shown = first_positions(drawing, max(1, min(MOST_POSITIONS, MOST_MARKS // max(1, a_position))))
    told = f"Circles are {len(shown.variables):,} variables, squares are {len(shown.factors):,} factors."
    yield Picture(inline_svg(svg(shown)), f"{told} A pointer brings up what they are.", kind="graph")
    if hidden := length - len(shown.words):
        factors = len(drawing.factors) - len(shown.factors)
        yield Paragraph(
            f"{hidden:,} more position{'s' * (hidden != 1)} and {factors:,} more factors are left out.", kind="note"
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
