"""Small charts as SVG: lines over iterations, bars, reliability, probabilities over a sentence.

Colours and fonts are those of the page's style sheet. Each has a role and a name for screen readers; the numbers stand
in a table beside it. By hand, because a page of matplotlib's paths is many times larger, and knows neither dark pages
nor text that can be read out. Not here: the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from ...data import runs_of
from ...foundation import Floats, Mask, parts_style, printable
from ...metrics import Reliability

WIDTH, HEIGHT = 480.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 72.0, 14.0, 14.0, 46.0
COLOURS = 6  # of lines in the style sheet
MOST_BARS, BAR = 60, 34.0  # positions that are bars, and the width of one; more are areas
MOST_LETTERS, LETTER = 16, 7.2  # of a name in a chart, and the width of one
LOG_FROM = 10.0  # the ratio of largest to smallest from which a scale is logarithmic
MOST_POINTS = 400  # of a line: more could not be told apart

Point = tuple[float, float]


class Series(NamedTuple):
    """A line: its name and points (x, y)."""

    name: str
    points: Sequence[Point]


class _Plane:
    """The area of a chart: from numbers to pixels.   log: whether heights go by the logarithm of numbers above 0.
    right: its end, in pixels.
    """

    def __init__(self, xs: Point, ys: Point, *, log: bool = False, right: float = WIDTH - RIGHT):
        self.xs, self.log, self.right = _wide(xs), log, right
        self.ys = _wide((math.log10(ys[0]), math.log10(ys[1])) if log else ys)

    def x(self, value: float) -> float:
        low, high = self.xs
        return LEFT + (value - low) / (high - low) * (self.right - LEFT)

    def y(self, value: float) -> float:
        low, high = self.ys
        value = math.log10(value) if self.log else value
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def frame(self, x_name: str, y_name: str, x_ticks: Sequence[float]) -> list[Markup]:
        """Axes with ticks and names."""
        parts = [_line("axis", (LEFT, HEIGHT - BOTTOM), (self.right, HEIGHT - BOTTOM))]
        for tick in _decades(*self.ys) if self.log else _ticks(*self.ys):
            y = self.y(tick)
            parts += [_line("grid", (LEFT, y), (self.right, y)), _text((LEFT - 6, y + 4), _number(tick), "end")]
        for tick in x_ticks:
            parts.append(_text((self.x(tick), HEIGHT - BOTTOM + 16), _number(tick), "middle"))
        middle = (LEFT + self.right) / 2
        parts.append(_text((middle, HEIGHT - 8), x_name, "middle"))
        turned = Markup('<text text-anchor="middle" transform="translate(14 {:.1f}) rotate(-90)">{}</text>')
        parts.append(turned.format(TOP + (HEIGHT - TOP - BOTTOM) / 2, printable(y_name)))
        return parts


def line_chart(title: str, lines: Sequence[Series], x_name: str, y_name: str) -> Markup:
    """Lines with a legend if there are several. Points that are not finite are left out.

    Numbers above 0 that span a decade or more stand on a logarithmic scale, and the axis says so.
    """
    kept = [Series(one.name, [p for p in one.points if all(map(math.isfinite, p))]) for one in lines]
    every = [point for one in kept for point in one.points]
    if not every:
        return Markup("")
    low, high = _span(y for _, y in every)
    log = low > 0.0 and high >= LOG_FROM * low
    plane = _Plane(_span(x for x, _ in every), (low, high), log=log)
    parts = plane.frame(x_name, f"{y_name} (log scale)" if log else y_name, _ticks(*plane.xs))
    for number, one in enumerate(kept):
        points = [*one.points[: -1 : max(1, math.ceil(len(one.points) / MOST_POINTS))], *one.points[-1:]]
        path = " ".join(f"{plane.x(x):.1f},{plane.y(y):.1f}" for x, y in points)
        colour = f"c{number % COLOURS}"
        parts.append(Markup('<polyline class="line {}" points="{}"><title>{}</title></polyline>').format(
            colour, path, printable(one.name)))  # fmt: skip
        parts += [_dot(colour, (plane.x(x), plane.y(y)), f"{one.name}, {x:g}: {y:.6g}") for x, y in points[-1:]]
        if len(kept) > 1:
            place = WIDTH - RIGHT - 8, TOP + 14 + 16 * number
            parts.append(Markup('<text class="key {}" text-anchor="end" x="{:.1f}" y="{:.1f}">{}</text>').format(
                colour, *place, printable(one.name)))  # fmt: skip
    return _svg(title, parts)


def bar_chart(title: str, bars: Sequence[tuple[str, float]], x_name: str, y_name: str) -> Markup:
    """Bars from 0, each with its name below, as far as there is room, and its number under a pointer."""
    if not bars:
        return Markup("")
    plane = _Plane((0.0, float(len(bars))), (0.0, max(value for _, value in bars)))
    parts = plane.frame(x_name, y_name, ())
    step = max(1, math.ceil(len(bars) * 44 / (WIDTH - LEFT - RIGHT)))
    for number, (name, value) in enumerate(bars):
        parts.append(_bar("bar", (plane.x(number + 0.1), plane.x(number + 0.9)), (plane.y(0), plane.y(value)),
                          f"{name}: {value:,.6g}"))  # fmt: skip
        if number % step == 0:
            parts.append(_text((plane.x(number + 0.5), HEIGHT - BOTTOM + 16), name, "middle"))
    return _svg(title, parts)


def reliability_chart(title: str, found: Reliability) -> Markup:
    """The share of right labels over their probability, with the diagonal of perfect calibration."""
    plane = _Plane((0.0, 1.0), (0.0, 1.0))
    parts = plane.frame("probability of the label", "share that is right", _ticks(*plane.xs))
    for number, count in enumerate(found.counts.tolist()):
        if count:
            low, high, right = found.edges[number], found.edges[number + 1], found.accuracy[number]
            tip = f"{low:.1f}–{high:.1f}: {count:,} labels, {100 * right:.1f} % right"
            parts.append(_bar("bar", (plane.x(low) + 1, plane.x(high) - 1), (plane.y(0), plane.y(right)), tip))
            parts.append(_dot("c1", (plane.x(found.confidence[number]), plane.y(right)), tip))
    parts.append(_line("diagonal", (plane.x(0), plane.y(0)), (plane.x(1), plane.y(1))))
    return _svg(title, parts)


def charts_file(charts: Sequence[tuple[str, Markup]]) -> str:
    """Charts below each other, each under its heading, as a file of their own in light and dark colours."""
    step, parts = HEIGHT + 30.0, list[Markup]()
    for number, (heading, chart) in enumerate(charts):
        place = Markup('<svg y="{:.0f}" height="{:.0f}" ').format(number * step + 30.0, HEIGHT)
        parts += [_text((8.0, number * step + 20.0), heading, "start"), Markup(chart.replace("<svg ", place, 1))]
    whole = Markup('<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {:.0f} {:.0f}">{}{}</svg>\n')
    style = Markup("<style>{} svg {{ background: var(--bg); font-family: sans-serif; }}</style>").format(parts_style())
    return str(whole.format(WIDTH, len(charts) * step, style, Markup("").join(parts)))


def posterior_chart(title: str, states: Sequence[str], table: Floats, words: Sequence[str], wrong: Mask) -> Markup:
    """The probabilities of states [T, K] over a sentence: stacked bars over its words, or areas over many positions.

    The states that have the most have a colour each, all others share one.   words: [T].   wrong: [T] where the label
    is wrong, which a mark below the axis says.
    """
    states, table = largest_states(states, table)
    size, is_long = len(table), len(table) > MOST_BARS
    names = [] if is_long else [_short(word) for word in words]
    right = LEFT + (2 * WIDTH if is_long else max(WIDTH - LEFT - RIGHT, size * BAR))
    plane = _Plane((0.0, float(size)), (0.0, 1.0), right=right)
    parts = plane.frame("position" if is_long else "", "probability", _ticks(0.0, float(size)) if is_long else ())
    starts = np.unique(np.linspace(0, size, min(size, MOST_POINTS) + 1).astype(int)[:-1])  # of means of positions
    widths = np.diff(starts, append=size)
    levels = np.zeros((len(starts), len(states) + 1))
    levels[:, 1:] = np.cumsum(np.add.reduceat(table, starts) / widths[:, None], axis=1).clip(0.0, 1.0)
    for k, state in enumerate(states):
        shares = list(zip(*levels[:, k : k + 2].T.tolist(), strict=True))
        if is_long:
            xs = [plane.x(x) for x in (starts + widths / 2).tolist()]
            ys = [*(plane.y(top) for _, top in shares), *(plane.y(foot) for foot, _ in reversed(shares))]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip([*xs, *reversed(xs)], ys, strict=True))
            area = Markup('<polygon class="part c{}" points="{}"><title>{}</title></polygon>')
            parts.append(area.format(k, path, printable(state)))
        for t, (foot, top) in enumerate([] if is_long else shares):
            tip = f"{words[t]}: {state} {top - foot:.4f}"
            parts.append(_bar(f"part c{k}", (plane.x(t + 0.04), plane.x(t + 0.96)), (plane.y(foot), plane.y(top)), tip))
    below = HEIGHT - BOTTOM + 7.0
    for _, first, last in runs_of(list(zip(wrong.tolist(), np.cumsum(~wrong).tolist(), strict=True))):
        if wrong[first]:
            parts.append(_bar("wrong", (plane.x(first), plane.x(last + 1)), (below, below - 5.0), "wrong label"))
    turned = Markup('<text text-anchor="end" transform="translate({:.1f} {:.1f}) rotate(-50)">{}</text>')
    parts += [turned.format(plane.x(t + 0.6), below + 12.0, name) for t, name in enumerate(names)]
    height = HEIGHT + 22.0 + (0.0 if is_long else max(map(len, names)) * 0.77 * LETTER - 20.0)
    at, key = LEFT, Markup('<text class="key c{}" x="{:.1f}" y="{:.1f}">{}</text>')
    for k, name in enumerate(map(_short, states)):
        parts.append(key.format(k, at, height - 8.0, name))
        at += LETTER * len(name) + 18.0
    return _svg(title, parts, (max(right + 20.0, at), height))


def largest_states(states: Sequence[str], table: Floats) -> tuple[list[str], Floats]:
    """The states with the largest sums of a table [T, K], in their order, and the others as one if they are many."""
    if len(states) <= COLOURS:
        return list(states), table
    kept = np.sort(np.argsort(-table.sum(axis=0), kind="stable")[: COLOURS - 1])
    others = 1.0 - table[:, kept].sum(axis=1)
    return [*(states[k] for k in kept.tolist()), "others"], np.column_stack([table[:, kept], others.clip(0.0)])


def _short(name: str) -> str:
    shown = printable(name)
    return shown if len(shown) <= MOST_LETTERS else f"{shown[: MOST_LETTERS - 1]}…"


def _svg(title: str, parts: Iterable[Markup], long: Point | None = None) -> Markup:
    """long: the size of a chart that keeps it, however narrow the page is."""
    kind = Markup(' long" width="{:.0f}" height="{:.0f}').format(*long) if long else ""
    whole = Markup('<svg class="chart{}" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>')
    return whole.format(kind, *(long or (WIDTH, HEIGHT)), printable(title), Markup("").join(parts))


def _line(kind: str, start: Point, end: Point) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(kind, *start, *end)


def _text(at: Point, words: str, anchor: str) -> Markup:
    return Markup('<text text-anchor="{}" x="{:.1f}" y="{:.1f}">{}</text>').format(anchor, *at, printable(words))


def _dot(colour: str, at: Point, tip: str) -> Markup:
    return Markup('<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="3.5"><title>{}</title></circle>').format(
        colour, *at, printable(tip)
    )


def _bar(kind: str, xs: Point, ys: Point, tip: str) -> Markup:
    (left, right), (foot, top) = xs, ys
    shape = Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>')
    return shape.format(kind, left, top, right - left, max(0.0, foot - top), printable(tip))


def _span(values: Iterable[float]) -> tuple[float, float]:
    every = list(values)
    return min(every), max(every)


def _wide(span: tuple[float, float]) -> tuple[float, float]:
    """A span that is not empty."""
    low, high = span
    room = max(1e-9, abs(low) * 0.01) if low == high else 0.0
    return low - room, high + room


def _ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers within a span."""
    rough = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * times for times in (1, 2, 2.5, 5, 10) if unit * times >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 12) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Round numbers within a span of logarithms: powers of ten, a few of them at most, with 2 and 5 in a short span."""
    first, last = math.floor(low), math.ceil(high)
    step = max(1, math.ceil((last - first) / 6))
    parts = (1, 2, 5) if last - first <= 2 else (1,)
    every = [part * 10.0**n for n in range(first, last + 1, step) for part in parts]
    return [tick for tick in every if low - 1e-9 <= math.log10(tick) <= high + 1e-9]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"
