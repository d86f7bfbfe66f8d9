"""Figure 3 of Lafferty, McCallum and Pereira (2001) as SVGs: errors of two models against each other.

A dot is a test set. Hollow dots are of α < 1/2, filled ones of the others. Not here: the errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

NAMES = {"crf": "CRF", "memm": "MEMM", "hmm": "HMM"}
PAIRS = (("crf", "memm"), ("memm", "hmm"), ("crf", "hmm"))  # across, up
SIZE, LEFT, RIGHT, TOP, BOTTOM = 420, 60, 20, 20, 56  # the square of the plot, and margins
COLOURS = {"separate": "#3b6fb6", "shared": "#c44e52"}
LEGEND = (
    ("separate", False, "separate, α < ½"),
    ("separate", True, "separate, α ≥ ½"),
    ("shared", False, "shared, α < ½"),
    ("shared", True, "shared, α ≥ ½"),
)


def scatter(records: Sequence[Mapping[str, Any]], across: str, up: str) -> str:
    """The text of the SVG. records: of `experiments.mixed_order`, in percent."""
    errors = [record["models"][model]["error"] for record in records for model in (across, up)]
    step = 10 if max(errors, default=0.0) > 25 else 5
    high = step * max(1, math.ceil(max(errors, default=0.0) / step))
    parts = []
    for tick in range(0, high + 1, step):
        x, y = _x(tick, high), _y(tick, high)
        parts += [_line(x, TOP, x, TOP + SIZE, "#e4e4e4"), _line(LEFT, y, LEFT + SIZE, y, "#e4e4e4")]
        parts += [_text(x, TOP + SIZE + 20, str(tick)), _text(LEFT - 8, y + 4, str(tick), "end")]
    parts.append(_line(LEFT, TOP + SIZE, LEFT + SIZE, TOP, "#888"))
    parts += [_line(LEFT, TOP, LEFT, TOP + SIZE, "#444"), _line(LEFT, TOP + SIZE, LEFT + SIZE, TOP + SIZE, "#444")]
    for record in records:
        x = _x(record["models"][across]["error"], high)
        y = _y(record["models"][up]["error"], high)
        parts.append(_dot(x, y, COLOURS[record["supports"]], record["alpha"] >= 0.5))
    shown = {(record["supports"], record["alpha"] >= 0.5) for record in records}
    for n, (supports, filled, text) in enumerate(entry for entry in LEGEND if entry[:2] in shown):
        y = TOP + SIZE - 80 + 20 * n
        parts += [_dot(LEFT + SIZE - 130, y, COLOURS[supports], filled), _text(LEFT + SIZE - 120, y + 4, text, "start")]
    middle = TOP + SIZE / 2
    parts.append(_text(LEFT + SIZE / 2, TOP + SIZE + 44, f"{NAMES[across]} error (%)"))
    parts.append(f'<g transform="rotate(-90 18 {middle:.1f})">{_text(18, middle, f"{NAMES[up]} error (%)")}</g>')
    return _svg(parts)


def _x(value: float, high: float) -> float:
    return LEFT + SIZE * value / high


def _y(value: float, high: float) -> float:
    return TOP + SIZE - SIZE * value / high


def _dot(x: float, y: float, colour: str, filled: bool) -> str:
    fill = colour if filled else "white"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escaped}</text>'


def _svg(parts: Sequence[str]) -> str:
    width, height = LEFT + SIZE + RIGHT, TOP + SIZE + BOTTOM
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>", ""])
