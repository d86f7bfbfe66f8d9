"""Output for people: tables of scores, trials and weights, how figures read, and where coloured output goes.

`NO_COLOR` in the environment, if it is not empty, means no colour and no other style (https://no-color.org). What is no
terminal gets plain text. Not here: computing any of it, the progress of training (`training_progress`).
"""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .. import criteria
from ..foundation import LazyModule, printable

if TYPE_CHECKING:
    from rich import console, table as tables, text
else:  # most commands print no table
    console, tables, text = map(LazyModule, ("rich.console", "rich.table", "rich.text"))


def terminal(file: IO[str]) -> console.Console:
    """The console of a stream that is a terminal."""
    return console.Console(file=file, highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto")


def print_lines(*lines: text.Text) -> None:
    """Lines on stdout, with their styles if that is a terminal. The terminal itself breaks lines that are long."""
    if sys.stdout.isatty():
        shown = terminal(sys.stdout)
        for line in lines:
            shown.print(line, soft_wrap=True)
    else:
        for line in lines:
            print(line.plain)


SMALL_WEIGHT = 5e-4  # smaller weights would lose most of their digits with four decimals


def score_text(value: float) -> str:
    """A score as text: a rate in percent, or a log-likelihood, which is negative, in nats."""
    return f"{100 * value:.2f}" if value >= 0.0 else f"{value:.2f}"


def share_text(value: float) -> str:
    """The same with its unit, where there is one: `93.12 %`"""
    return f"{score_text(value)} %" if value >= 0.0 else score_text(value)


def file_size(path: Path) -> str:
    """`12 kB`, `3.4 MB`"""
    return bytes_text(path.stat().st_size)


def bytes_text(size: int) -> str:
    """`12 kB` for 11,500 bytes."""
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{math.ceil(size / 1e3)} kB"


def duration(seconds: float) -> str:
    """`8.4 s`, `3 min 20 s`, `2 h 05 min`"""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


TEXT: Mapping[str, Any] = {"overflow": "fold"}  # kinds of columns
NUMBER: Mapping[str, Any] = {"justify": "right"}
WHOLE: Mapping[str, Any] = {"justify": "right", "no_wrap": True}  # numbers that are never cut


def table(
    columns: Iterable[tuple[Mapping[str, Any], Iterable[str]]], rows: Iterable[Iterable[str | text.Text]]
) -> tables.Table:
    """A table of columns, given as kinds with their headings. Texts are taken literally."""
    made = tables.Table(box=None, pad_edge=False, header_style="bold")
    for kind, headings in columns:
        for heading in headings:
            made.add_column(cell(heading), **kind)
    for row in rows:
        made.add_row(*(cell(each) if isinstance(each, str) else each for each in row))
    return made


def cell(words: str) -> text.Text:
    """A cell with this text, taken literally: names of states and features may look like markup."""
    return text.Text(printable(words))


def scores_table(scores: Mapping[str, float]) -> tables.Table:
    """Scores as percentages. `NAME.precision`, `NAME.recall` and `NAME.f1` share a row; any other score has its own."""
    parts = ("precision", "recall", "f1")
    rows: dict[str, dict[str, float]] = {}
    for name, value in scores.items():
        stem, _, part = name.rpartition(".")
        if part in parts:
            rows.setdefault(stem, {})[part] = value
        else:
            rows.setdefault(name, {})["value"] = value
    used = [part for part in ("value", *parts) if any(part in row for row in rows.values())]
    figures = {stem: [f"{100 * row[part]:.2f}" if part in row else "" for part in used] for stem, row in rows.items()}
    headings = ["%" if part == "value" else part for part in used]
    return table([(TEXT, ["metric"]), (NUMBER, headings)], ([stem, *row] for stem, row in figures.items()))


def trials_table(trials: Sequence[Mapping[str, Any]], chosen: int) -> tables.Table:
    """Trials of a search, as in `record.tuning`: values, scores as percentages (also those with a bound), times; `*`
    marks the best one.

    A trial that was stopped early is marked as such.
    """
    rows, bounded = [], list(dict.fromkeys(name for trial in trials for name in trial["bounded"]))
    for trial in trials:
        mark = "*" if trial["number"] == chosen else ""
        values = [setting_text(value) for value in trial["values"].values()]
        scores = [trial["dev"], *(trial["bounded"].get(name, math.nan) for name in bounded)]
        end = "" if trial["complete"] else " (stopped)"
        rows.append([mark, str(trial["number"]), *values, *map(score_text, scores), duration(trial["seconds"]) + end])
    return table([(NUMBER, ["", "trial", *trials[0]["values"], "dev", *bounded, "time"])], rows)


def setting_text(value: float | str) -> str:
    """A value of a constant: `0.001`, `10`, `gaussian(variance = 1)`"""
    return value if isinstance(value, str) else f"{value:.6g}"


def weights_table(rows: Iterable[tuple[str, str, Sequence[str], float]]) -> tables.Table:
    """Weights as (clique, feature, states, weight), in the order given."""

    def shown(weight: float) -> str:
        return f"{weight:+.4f}" if weight == 0.0 or abs(weight) >= SMALL_WEIGHT else f"{weight:+.1e}"

    cells = ([shown(weight), clique, " ".join(states), feature] for clique, feature, states, weight in rows)
    return table([(WHOLE, ["weight"]), (TEXT, ["clique", "states", "feature"])], cells)


def templates_table(rows: Iterable[criteria.TemplateWeights]) -> tables.Table:
    """Feature templates with their weights, in the order given."""
    cells = ([f"{row.weights:,}", f"{row.used:,}", row.clique, row.template] for row in rows)
    return table([(WHOLE, ["weights", "not 0"]), (TEXT, ["clique", "template"])], cells)


def path_table(rounds: Iterable[Mapping[str, Any]]) -> tables.Table:
    """Rounds of boosting: number, risk, bound and step, and clique, states and feature of the weight that moved."""
    rows = []
    for row in rounds:
        numbers = f"{row['round']}", f"{row['risk']:.3e}", f"{row['bound']:.6g}", f"{row['step']:+.4g}"
        rows.append([*numbers, row["clique"], " ".join(row["states"]), row["feature"]])
    return table([(WHOLE, ["round", "risk", "bound", "step"]), (TEXT, ["clique", "states", "feature"])], rows)


def print_table(table: tables.Table, *, stream: IO[str] | None = None) -> None:
    """`table` on `stream` (default: stdout), folded to the width of a terminal; elsewhere a row is one line.

    Elsewhere lines end with their last word, too: the blanks that fill up a column would be part of what is copied.
    """
    file = stream or sys.stdout
    if file.isatty():
        terminal(file).print(table)
        return
    drawn = io.StringIO()
    console.Console(file=drawn, width=10_000, highlight=False, color_system=None, force_terminal=False).print(table)
    file.write("\n".join(line.rstrip(" ") for line in drawn.getvalue().split("\n")))


def peak_mb() -> float:
    """The peak memory of this process, in MB (10⁶ bytes); 0 on Windows, whose figure no module of Python gives.

    On Linux the maximum of `getrusage` includes the process that started this one, so the record of the kernel for
    this process alone comes first.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    try:
        import resource
    except ImportError:
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
