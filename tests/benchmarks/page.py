"""The page of the documentation with the figures of all benchmarks. Not here: how they are measured and recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from figures import Figure

HEAD = """# Speed, row by row

This page is written by `python tests/benchmarks --page docs/project/speed.md` from its last run, or from several
runs of single benchmarks by name: each says when it was measured. [Benchmarks](benchmarks.md) says what limits these
figures, and what was tried. A ratio says how many times better than the peer: below 1 the peer is better. Times are
wall time and medians of seven where nothing else is said. Load is that of the last minute of a benchmark; where it is
above the number of cores, others computed too. A peer that could not be measured says why.

"""


def write(path: Path, benchmarks: Mapping[str, Any], described: Mapping[str, str]) -> None:
    """Writes all that `benchmarks` has, in the order of `described` (what each measures, by name)."""
    known = {name: benchmarks[name] for name in described if name in benchmarks and benchmarks[name]["figures"]}
    parts = [HEAD, _machines(known)]
    for name, what in described.items():
        if name in known:
            parts.append(_section(name, what, known[name]))
    missing = [f"`{name}`" for name in described if name not in known]
    if missing:
        parts.append(f"## Not measured\n\n{', '.join(missing)}.\n")
    path.write_text("".join(parts), encoding="utf-8")


def _machines(benchmarks: Mapping[str, Any]) -> str:
    programs = {f"{name} {number}" for run in benchmarks.values() for name, number in run["programs"].items()}
    machines = {run["machine"] for run in benchmarks.values()}
    return f"Machine: {'; '.join(sorted(machines))}. Programs: {', '.join(sorted(programs))}.\n\n"


def _section(name: str, what: str, run: Mapping[str, Any]) -> str:
    day = date.fromisoformat(run["date"])
    figures = [Figure.of(record) for record in run["figures"]]
    works = list(dict.fromkeys(figure.work for figure in figures))
    busy = "" if run["load"] is None else f", load {run['load']:.1f}"
    lines = [f"## {name}", "", f"{what} Measured on {day.day} {day:%B %Y}{busy}.", ""]
    if len(works) == 1:
        lines += [f"{works[0][:1].upper()}{works[0][1:]}.", ""]
    own = [] if len(works) == 1 else ["the work"]
    headings = ["what", "dcrfdsl", "peer", "ratio", "goal", "", *own]
    lines += [_line(headings), "|---" * len(headings) + "|"]
    lines += [_line([*figure.row(), *[figure.work for _ in own]]) for figure in figures]
    return "\n".join(lines) + "\n\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
