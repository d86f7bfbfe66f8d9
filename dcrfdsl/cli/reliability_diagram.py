"""Reliability diagrams: the share that is right beside the probability, as bars of text and as an SVG.

    0.7 - 0.8    1,204   0.752   0.731   ############################.|
                 count   says    is      a bar as long as the share; | stands at the mean probability

Not here: bins and errors (`metrics.reliability`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..metrics import Reliability

WIDTH = 40  # characters of a bar that is 1 long
SIDE, LEFT, TOP, GAP = 240, 52, 46, 64  # of a panel: pixels of its square, and around it


def bars(judged: Reliability) -> Iterator[str]:
    """A line for each bin that is not empty, under a heading."""
    digits = 1 if len(judged.counts) in (1, 2, 5, 10) else 2
    wide = max(len("count"), len(f"{int(judged.counts.max(initial=0)):,}"))
    yield f"{'probability':<{2 * digits + 9}} {'count':>{wide}}   says    is"
    for (low, high), count, says, right in zip(
        pairwise(judged.edges.tolist()), judged.counts.tolist(), judged.confidence.tolist(), judged.accuracy.tolist(),
        strict=True,
    ):  # fmt: skip
        if not count:
            continue
        line = list("#" * round(right * WIDTH) + "." * (WIDTH - round(right * WIDTH)))
        line.insert(round(says * WIDTH), "|")
        span = f"{low:.{digits}f} - {high:.{digits}f}"
        yield f"{span:<{2 * digits + 9}} {count:>{wide},}   {says:.3f}   {right:.3f}   {''.join(line)}"


def svg(panels: Sequence[tuple[str, Reliability]], title: str) -> str:
    """The diagrams side by side, each with a heading. A bar is a bin, and its shade says how full it is."""
    width, height = len(panels) * (LEFT + SIDE) + GAP, TOP + SIDE + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for n, (heading, judged) in enumerate(panels):
        parts += _panel(heading, judged, LEFT + n * (LEFT + SIDE))
    return "\n".join([*parts, "</svg>", ""])


def _panel(heading: str, judged: Reliability, left: int) -> Iterator[str]:
    bottom, right = TOP + SIDE, left + SIDE

    def at(x: float, y: float) -> tuple[float, float]:
        return left + x * SIDE, bottom - y * SIDE

    yield f'<text x="{left}" y="18" font-weight="bold">{escape(heading)}</text>'
    error = f"ECE {judged.error:.4f}, {judged.total:,} judged" if judged.total else "nothing to judge"
    yield f'<text x="{left}" y="36">{error}</text>'
    most = int(judged.counts.max(initial=1)) or 1
    for (low, high), count, says, share in zip(
        pairwise(judged.edges.tolist()), judged.counts.tolist(), judged.confidence.tolist(), judged.accuracy.tolist(),
        strict=True,
    ):  # fmt: skip
        if not count:
            continue
        (x, y), (end, _) = at(low, share), at(high, share)
        shade = 0.25 + 0.75 * count / most
        yield (
            f'<rect x="{x + 0.5:.1f}" y="{y:.1f}" width="{end - x - 1:.1f}" height="{bottom - y:.1f}" fill="#2b6cb0" '
            f'fill-opacity="{shade:.2f}"><title>{low:.2f} to {high:.2f}: {count:,} judged, mean probability '
            f"{says:.4f}, right {share:.4f}</title></rect>"
        )
        cx, cy = at(says, share)
        yield f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="3" fill="#c53030"/>'
    yield f'<line x1="{left}" y1="{bottom}" x2="{right}" y2="{TOP}" stroke="#555" stroke-dasharray="4 3"/>'
    yield f'<rect x="{left}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#333"/>'
    for tick in (0.0, 0.5, 1.0):
        x, y = at(tick, tick)
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>'
        yield f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>'
    yield f'<text x="{left + SIDE / 2:.1f}" y="{bottom + 36}" text-anchor="middle">probability</text>'
    middle = TOP + SIDE / 2
    yield (
        f'<text x="{left - 34}" y="{middle:.1f}" text-anchor="middle" '
        f'transform="rotate(-90 {left - 34} {middle:.1f})">share that is right</text>'
    )
