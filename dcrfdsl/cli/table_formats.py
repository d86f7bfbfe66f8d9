"""Tables for papers and spreadsheets: what a command prints as tables, in Markdown, LaTeX or CSV.

The cells are those of the text output, so a figure reads the same everywhere. A text that stands between tables is a
paragraph in Markdown, a comment in LaTeX, and a row of one cell in CSV; an empty line separates all of them. Not here:
what is in a table (`report`, `label_report`), the widths and colours of a terminal.
Sources: tables of GitHub Flavored Markdown; LaTeX with the package booktabs; RFC 4180.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from rich.table import Table
from rich.text import Text

from .console import refuse
from .report import print_table

Part: TypeAlias = Table | str
Rows: TypeAlias = Sequence[Sequence[str]]
# In LaTeX a hyphen beside another is a dash, and `[` or `*` at the start of a row would belong to the `\\` before it.
_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\char34{}", "[": "{[}", "]": "{]}", "*": "{*}",
    "`": "{`}", "'": "{'}", "-": "{-}", "±": r"$\pm$", "≥": r"$\geq$", **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def print_parts(parts: Iterable[Part], written: str) -> None:
    """Tables and texts on stdout, an empty line between two.   written: a format, `text` or one of `FORMATS`."""
    for number, part in enumerate(parts):
        if number:
            print()
        if isinstance(part, str):
            print(part if written == "text" else FORMATS[written][0](part))
        elif written == "text":
            print_table(part)
        else:
            print(FORMATS[written][1](*_texts(part)))


def refuse_idle(written: str, options: Mapping[str, object]) -> None:
    """Raises `DcrfError` where a format of tables meets an option whose output is no table.   options: as given."""
    for name, given in options.items():
        if given and written != "text":
            refuse("idle-option", f"`--format {written}` writes tables, and `{name}` is none", "leave one of them out")


def _texts(table: Table) -> tuple[list[str], list[str], Rows]:
    """The alignment and heading of each column, and the rows without those that are empty."""

    def text(cell: object) -> str:
        return cell.plain if isinstance(cell, Text) else str(cell)

    rows = zip(*([text(cell) for cell in column.cells] for column in table.columns), strict=True)
    sides = ["r" if column.justify == "right" else "l" for column in table.columns]
    return sides, [text(column.header) for column in table.columns], [row for row in rows if any(row)]


def _markdown(text: str) -> str:
    return re.sub(r"[\\`*_\[\]<>|~&$#]", r"\\\g<0>", text)


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


def _csv(rows: Rows) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().removesuffix("\n")


def _markdown_table(sides: Sequence[str], head: Sequence[str], rows: Rows) -> str:
    rule = ["---:" if side == "r" else ":---" for side in sides]
    lines = [map(_markdown, head), rule, *(map(_markdown, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _latex_table(sides: Sequence[str], head: Sequence[str], rows: Rows) -> str:
    first, *others = (" & ".join(map(_latex, row)) + r" \\" for row in (head, *rows))
    top = rf"\begin{{tabular}}{{{''.join(sides)}}} % \usepackage{{booktabs}}"
    return "\n".join([top, r"\toprule", first, r"\midrule", *others, r"\bottomrule", r"\end{tabular}"])


# By its name how a format writes a text, and a table of alignments, headings and rows.
FORMATS: Mapping[str, tuple[Callable[[str], str], Callable[[Sequence[str], Sequence[str], Rows], str]]] = {
    "markdown": (lambda text: _markdown(text).replace("\n", "  \n"), _markdown_table),
    "latex": (lambda text: "\n".join(f"% {line}" for line in text.split("\n")), _latex_table),
    "csv": (lambda text: _csv([[line] for line in text.split("\n")]), lambda _, head, rows: _csv([head, *rows])),
}
