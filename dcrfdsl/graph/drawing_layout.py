"""What drawings of factor graphs show, and where it lies: circles in rows and columns, squares that hide nothing.

Not here: the formats (`drawing`), unrolling (`unroll`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property


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
        from .graph_display import drawing_html

        return drawing_html(self)


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
        if len(points) > 2 or self._crosses_a_circle(points[0], points[1]):
            shift = 28.0 if away[0] > 0.9 else 36.0 + 0.04 * math.dist(points[0], points[-1])
        slides = [slide for slide in _SLIDES if abs(slide) < max(_CLEAR, length / 2 - RADIUS - SQUARE)]
        while True:
            for slide in slides if shift else [0.0]:  # on the line itself, edges would cover each other
                yield _moved(_moved(middle, along, slide), away, shift), shift
            shift += _CLEAR

    def _crosses_a_circle(self, start: Point, end: Point) -> bool:
        return any(
            _distance_to_segment(centre, start, end) < 1.5 * RADIUS
            for centre in self.centres
            if centre not in (start, end)
        )


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
