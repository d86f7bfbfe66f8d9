"""Tables for papers and spreadsheets: those of the text output, cell by cell, in Markdown, LaTeX (booktabs) or CSV.

A text between tables is a paragraph in Markdown, a comment in LaTeX, a row of one cell in CSV. An empty line separates
all of them. Not here: what is in a table (`report`, `label_report`). Sources: GitHub Flavored Markdown; RFC 4180.
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
# In LaTeX a hyphen beside another is a dash, and `[` or `*` at the start of a row would belong to the `\\` before it.
_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\char34{}", "±": r"$\pm$", "≥": r"$\geq$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"}, **{sign: f"{{{sign}}}" for sign in "[]*`'-"},
}  # fmt: skip


def print_parts(parts: Iterable[Part], written: str) -> None:
    """Tables and texts on stdout, an empty line between two.   written: a format, `text` or one of `FORMATS`."""
    for number, part in enumerate(parts):
        if number:
            print()
        if written != "text":
            print(FORMATS[written](part))
        elif isinstance(part, str):
            print(part)
        else:
            print_table(part)


def refuse_idle(written: str, options: Mapping[str, object]) -> None:
    """Raises `DcrfError` where a format of tables meets an option whose output is no table.   options: as given."""
    for name, given in options.items():
        if given and written != "text":
            refuse("idle-option", f"`--format {written}` writes tables, and `{name}` is none", "leave one of them out")


def _rows(table: Table) -> list[list[str]]:
    """Headings and rows without those that are empty."""
    columns = ([column.header, *column.cells] for column in table.columns)
    every = (
        [cell.plain if isinstance(cell, Text) else str(cell) for cell in row] for row in zip(*columns, strict=True)
    )
    return [row for row in every if any(row)]


def _markdown(part: Part) -> str:
    def escaped(text: str) -> str:
        return re.sub(r"[\\`*_\[\]<>|~&$#]", r"\\\g<0>", text)

    if isinstance(part, str):
        return escaped(part).replace("\n", "  \n")
    first, *others = [list(map(escaped, row)) for row in _rows(part)]
    rule = ["---:" if column.justify == "right" else ":---" for column in part.columns]
    return "\n".join(f"| {' | '.join(line)} |" for line in (first, rule, *others))


def _latex(part: Part) -> str:
    if isinstance(part, str):
        return "\n".join(f"% {line}" for line in part.split("\n"))
    sides = "".join("r" if column.justify == "right" else "l" for column in part.columns)
    rows = [" & ".join("".join(_LATEX.get(sign, sign) for sign in cell) for cell in row) for row in _rows(part)]
    first, *others = (rf"{row} \\" for row in rows)
    top = rf"\begin{{tabular}}{{{sides}}} % \usepackage{{booktabs}}"
    return "\n".join([top, r"\toprule", first, r"\midrule", *others, r"\bottomrule", r"\end{tabular}"])


def _csv(part: Part) -> str:
    out = io.StringIO()
    rows: Sequence[Sequence[str]] = [[line] for line in part.split("\n")] if isinstance(part, str) else _rows(part)
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().removesuffix("\n")


FORMATS: Mapping[str, Callable[[Part], str]] = {"markdown": _markdown, "latex": _latex, "csv": _csv}
