"""Figure 3 of Sutton, Rohanimanesh and McCallum (2004) as an SVG: NP F1 against the number of training sentences.

Bars are the range of the repetitions, as in the paper; dashed lines are the paper's own means. Not here: the means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tables import COLUMNS, PAPER_TABLE1

WIDTH, HEIGHT = 720, 460
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 24, 56  # margins
COLOURS = {"crf+crf": "#c44e52", "brill+crf": "#8c8c8c", "fcrf": "#3b6fb6"}
CAP = 5  # half the width of the ends of a bar
APART = 4  # models are drawn so many pixels beside each other, or their bars would hide one another

Point = tuple[float, float]
Scale = Callable[[float], float]


def figure3(rows: Sequence[Mapping[str, Any]]) -> str:
    """The text of the SVG. rows: of Table 1 (`tables.table1_rows`), of which those of NP F1 are drawn."""
    rows = [row for row in rows if row["measure"] == "f1"]
    sizes = [row["size"] for row in rows]
    paper = {
        model: [(size, cells[n]) for size, cells in PAPER_TABLE1["f1"].items() if size <= max(sizes, default=0)]
        for n, model in enumerate(COLUMNS)
    }
    own = [row[model][end] for row in rows for model in COLUMNS if row[model] for end in ("low", "high")]
    scores = own + [score for points in paper.values() for _, score in points if score is not None]
    if not own:
        return _svg([_text(WIDTH / 2, HEIGHT / 2, "nothing is trained yet", "middle")])
    step = 1 if max(scores) - min(scores) <= 12 else 2 if max(scores) - min(scores) <= 24 else 5
    low, high = step * math.floor(min(scores) / step), step * math.ceil(max(scores) / step)
    x = _scale(0, 1.04 * max(sizes), LEFT, WIDTH - RIGHT)
    y = _scale(low, high, HEIGHT - BOTTOM, TOP)
    parts = _axes(x, y, max(sizes), range(low, high + 1, step))
    for n, (model, colour) in enumerate(COLOURS.items()):
        aside = APART * (n - 1)
        parts.append(_line([(x(size), y(score)) for size, score in paper[model] if score is not None], colour, "4 4"))
        found = [(row["size"], row[model]) for row in rows if row[model]]
        parts.append(_line([(x(size) + aside, y(cell["mean"])) for size, cell in found], colour))
        for size, cell in found:
            parts += _bar(x(size) + aside, y(cell["mean"]), y(cell["low"]), y(cell["high"]), colour)
    return _svg([*parts, *_legend()])


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (end - start) * (value - low) / (high - low)


def _axes(x: Scale, y: Scale, largest: int, ticks: Sequence[int]) -> list[str]:
    left, right, bottom = LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = []
    for tick in ticks:
        parts.append(_line([(left, y(tick)), (right, y(tick))], "#e4e4e4"))
        parts.append(_text(left - 8, y(tick) + 4, str(tick), "end"))
    step = 10 ** math.floor(math.log10(largest))
    step = step if largest >= 3 * step else step / 5 if largest < 1.5 * step else step / 2
    tick = step
    while tick <= 1.04 * largest:
        parts.append(_line([(x(tick), bottom), (x(tick), bottom + 5)], "#444"))
        parts.append(_text(x(tick), bottom + 20, f"{tick:g}", "middle"))
        tick += step
    parts.append(_line([(left, TOP), (left, bottom), (right, bottom)], "#444"))
    parts.append(_text((left + right) / 2, HEIGHT - 12, "training sentences", "middle"))
    middle = (TOP + bottom) / 2
    parts.append(f'<g transform="rotate(-90 18 {middle:.1f})">{_text(18, middle, "NP F1 (%)", "middle")}</g>')
    return parts


def _bar(x: float, mean: float, low: float, high: float, colour: str) -> list[str]:
    ends = [_line([(x - CAP, end), (x + CAP, end)], colour) for end in (low, high) if low != high]
    return [
        _line([(x, low), (x, high)], colour),
        *ends,
        f'<circle cx="{x:.1f}" cy="{mean:.1f}" r="3" fill="{colour}"/>',
    ]


def _legend() -> list[str]:
    parts, x, y = [], WIDTH - RIGHT - 200, HEIGHT - BOTTOM - 20 * (len(COLUMNS) + 1)
    for n, (model, name) in enumerate(COLUMNS.items()):
        line = y + 20 * n
        parts.append(_line([(x, line), (x + 28, line)], COLOURS[model]))
        parts.append(_text(x + 36, line + 4, name))
    line = y + 20 * len(COLUMNS)
    parts.append(_line([(x, line), (x + 28, line)], "#444", "4 4"))
    return [*parts, _text(x + 36, line + 4, "dashed: paper")]


def _line(points: Sequence[Point], colour: str, dashes: str = "none") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5" stroke-dasharray="{dashes}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _svg(parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>", ""])
