"""Draws the pictures of the explanations: `python docs/explanation/figures/draw.py` writes every SVG file anew.

Graphs are drawn by `dcrfdsl unroll`, from the files that the pages show; the picture at the top of the README is such a
drawing with its legend moved beside it. The curves of losses are drawn here.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
PAGES, STATIC = HERE.parent, HERE.parent.parent / "_static"
FILE = re.compile(r"^\*\*`(\S+)`\*\*\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Page, template, data and further options; the picture has the name of the entry.
GRAPHS: dict[str, tuple[str, ...]] = {
    "chain": ("clique-index", "chain.dcrf", "dog.txt"),
    "triple": ("clique-index", "triple.dcrf", "dog.txt"),
    "factorial": ("unrolled-graph", "factorial.dcrf", "two.txt"),
    "skip": ("unrolled-graph", "skip.dcrf", "places.txt"),
    "memm": ("pieces", "rib.dcrf", "rib.txt", "--stage", "local"),
    "pairs": ("pieces", "rib.dcrf", "rib.txt", "--stage", "pairs"),
}
SVG = "http://www.w3.org/2000/svg"


def unrolled(page: str, *arguments: str) -> str:
    """The drawing of the first sentence, from files that the page shows."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for name, content in FILE.findall(text):
            Path(folder, name).write_text(content, encoding="utf-8")
        command = [sys.executable, "-c", "from dcrfdsl.cli import main; main()", "unroll", *arguments]
        run = subprocess.run([*command, "--format", "svg"], cwd=folder, check=True, capture_output=True, text=True)
    return run.stdout


def compact(drawing: str) -> str:
    """The same without its title, the legend at the right: the cliques of the template in the colours of the graph."""
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(drawing)
    background, title, *rest = list(root)
    left, top, width, height, legend = 20, 36, 656, 244, 326.0
    root.remove(title)
    for element, size in ((root, (width, height)), (background, (width, height))):
        element.set("width", str(size[0]))
        element.set("height", str(size[1]))
    background.set("x", str(left))
    background.set("y", str(top))
    background.set("rx", "6")
    root.set("viewBox", f"{left} {top} {width} {height}")
    for element in rest:
        if (element.text or "").startswith("in a circle"):
            root.remove(element)
            continue
        y = float(element.get("y", "0"))
        if element.tag in (f"{{{SVG}}}rect", f"{{{SVG}}}text") and y > 290:
            element.set("x", str(float(element.get("x", "0")) + 450))
            element.set("y", str(y - legend + 112))
            if element.text and element.tag.endswith("text"):
                element.text = f"clique {element.text.partition(': ')[0]}"
                element.set("font-family", "ui-monospace, Menlo, Consolas, monospace")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


LOSSES: dict[str, tuple[str, str, Callable[[float], float]]] = {
    "wrong or right": ("#222222", "5 4", lambda m: float(m <= 0)),
    "log loss": ("#0072b2", "", lambda m: math.log(1 + math.exp(-m))),
    "hinge": ("#d55e00", "", lambda m: max(0.0, 1 - m / 2)),
    "sigmoid": ("#009e73", "", lambda m: 1 / (1 + math.exp(m))),
    "exponential": ("#cc79a7", "", lambda m: math.exp(-m)),
    "perceptron": ("#e69f00", "", lambda m: max(0.0, -m)),
}


def losses() -> str:
    """The losses of one sentence over the margin."""
    width, height, left, bottom, top, low, high = 640, 330, 46, 280, 24, -3.0, 4.0

    def at(m: float, value: float) -> str:
        x = left + (m - low) / (high - low) * (440 - left)
        return f"{x:.1f} {bottom - value / 3.5 * (bottom - top):.1f}"

    out = [
        f'<svg xmlns="{SVG}" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<path d="M{at(low, 0)} L{at(high, 0)} M{at(0, 0)} L{at(0, 3.5)}" stroke="#777777"/>',
    ]
    for tick in range(-3, 5):
        x = at(tick, 0).split()[0]
        out.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle" fill="#444444">{tick}</text>')
    for value in (1, 2, 3):
        y = float(at(0, value).split()[1]) + 4
        out.append(f'<text x="{left - 8}" y="{y}" text-anchor="end" fill="#444444">{value}</text>')
    out.append(f'<text x="243" y="{bottom + 40}" text-anchor="middle" fill="#111111">margin: gold − best wrong</text>')
    for n, (name, (colour, dashes, loss)) in enumerate(LOSSES.items()):
        points = [(m, loss(m)) for m in (low + i * 0.05 for i in range(141))]
        path = " L".join(at(m, value) for m, value in points if value <= 3.5)
        style = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"'
        out.append(f'<path d="M{path}" fill="none" {style}/>')
        out.append(f'<path d="M470 {60 + 28 * n} L500 {60 + 28 * n}" {style}/>')
        out.append(f'<text x="510" y="{64 + 28 * n}" fill="#111111">{name}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def main() -> None:
    for name, (page, *arguments) in GRAPHS.items():
        (HERE / f"{name}.svg").write_text(unrolled(page, *arguments), encoding="utf-8")
    drawing = (HERE / "factorial.svg").read_text(encoding="utf-8")
    (STATIC / "unrolled.svg").write_text(compact(drawing), encoding="utf-8")
    (HERE / "losses.svg").write_text(losses(), encoding="utf-8")


if __name__ == "__main__":
    main()
