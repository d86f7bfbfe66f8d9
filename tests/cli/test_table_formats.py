"""Tables in Markdown, LaTeX and CSV: what a reader of each format gets back is what the text output shows."""

from __future__ import annotations

import csv
import io
import re
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt
from rich.table import Table

from dcrfdsl.cli.report import TEXT, WHOLE, table
from dcrfdsl.cli.table_formats import print_parts

HEAD = ["label", "50 % & more", "n_a"]
ROWS = [
    ["a|b", "93.12 [92.1, 94.0]", "1,234"],
    [r"\emph{x}^2 ~ $y_1$ #3", "<b>bold</b> & &amp;", "12.50 ± 3.00"],
    ["[first]", "*starred* _under_ `code`", "3e-05"],
    ["* ", "[link](x) ![y] 'q' \"r\"", "-- --- ≥ 3"],
    ["größer, ﬁn\u202eal", "a -> b; ?` !`", "."],
]
NOTE = "2 folds of 50 % & more\nseed: 0_1"
SHOWN = [[text.replace("\u202e", "\\u202e").strip() for text in row] for row in [HEAD, *ROWS]]


def written(capsys: pytest.CaptureFixture[str], form: str) -> str:
    made: Table = table([(TEXT, HEAD[:1]), (WHOLE, HEAD[1:])], ROWS)
    made.add_row()
    print_parts([made, NOTE, made], form)
    return capsys.readouterr().out


def test_csv(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(written(capsys, "csv")))]
    assert rows == [*SHOWN, [], *([line] for line in NOTE.split("\n")), [], *SHOWN]


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(written(capsys, "markdown"))

    def plain(token) -> str:
        """The text, where only breaks may stand beside it: what is marked up would be another kind of child."""
        assert {child.type for child in token.children} <= {"text", "hardbreak"}
        return "".join(child.content or "\n" for child in token.children)

    cells = [plain(inner) for outer, inner in pairwise(tokens) if outer.type in ("td_open", "th_open")]
    flat = [cell for row in SHOWN for cell in row]
    assert cells == [*flat, *flat]
    (note,) = (plain(inner) for outer, inner in pairwise(tokens) if outer.type == "paragraph_open")
    assert note == NOTE
    sides = [token.attrs["style"] for token in tokens if token.type == "th_open"]
    assert sides[:3] == ["text-align:left", "text-align:right", "text-align:right"]


# What the commands of LaTeX stand for, read from its documentation and not from ours.
COMMANDS = {
    r"\textbackslash": "\\", r"\textasciitilde": "~", r"\textasciicircum": "^", r"\textless": "<", r"\textgreater": ">",
    r"\textbar": "|", r"\char34": '"', r"\pm": "±", r"\geq": "≥",
}  # fmt: skip
TOKEN = re.compile(
    r"(?P<rest>\\char34|\\[A-Za-z]+)|\\(?P<sign>[&%$#_{}])|(?P<open>[{}$])|(?P<cell>&)|(?P<bad>[%#_^~<>|\"])|(?P<text>.)"
)


def read_row(line: str) -> list[str]:
    cells, depth, before = [""], 0, ""
    for found in TOKEN.finditer(line):
        kind, text = found.lastgroup, found.group()
        assert kind != "bad", line  # a sign that acts
        if kind == "open":
            depth += {"{": 1, "}": -1, "$": 0}[text]
        elif kind == "cell":
            assert depth == 0
            cells.append("")
        else:
            shown = COMMANDS[text] if kind == "rest" else found["sign"] or text
            assert not (depth == 0 and kind == "text" and shown in "[]*`'-"), line  # a ligature, or part of `\\`
            cells[-1] += shown
        before = text
    assert depth == 0 and before
    return [cell.strip() for cell in cells]


def test_latex(capsys: pytest.CaptureFixture[str]) -> None:
    first, note, again = written(capsys, "latex").strip().split("\n\n")
    assert first == again
    assert note == "\n".join(f"% {line}" for line in NOTE.split("\n"))
    top, *lines = first.split("\n")
    assert top.startswith(r"\begin{tabular}{lrr} % ")
    assert [lines[0], lines[2], *lines[-2:]] == [r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}"]
    rows = [lines[1], *lines[3:-2]]
    assert all(row.endswith(r" \\") for row in rows)
    assert [read_row(row.removesuffix(r" \\")) for row in rows] == SHOWN


def test_text_is_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    lines = written(capsys, "text").split("\n")
    assert lines[0].split() == [word for head in HEAD for word in head.split()]
    assert NOTE.split("\n")[0] in lines
