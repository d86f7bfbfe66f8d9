"""Learning curves as files: a row an iteration, of every stage that ran.

    stage, start, iteration, objective, gradient_norm, seconds, dev

`FORMATS` is the table of file formats, chosen by the end of the name. `start` numbers random starts from 1 (0: there is
one alone), `seconds` begin anew with each stage and start, `dev` is empty where nothing was held out. Not here: keeping
curves (`record`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path

from .errors import DcrfError, Diagnostic
from .files import ensure_writable, write_whole
from .optimizers import Iteration
from .printing import json_text
from .record import TrainingRecord
from .registry import Table

__all__ = ["FORMATS", "check_curve_path", "write_curve"]

COLUMNS = ("stage", "start", "iteration", "objective", "gradient_norm", "seconds", "dev")
Row = dict[str, str | int | float | None]


def _csv(rows: Iterator[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _jsonl(rows: Iterator[Row]) -> str:
    return "".join(json_text(row) + "\n" for row in rows)


FORMATS: Table[Callable[[Iterator[Row]], str]] = Table("format of a learning curve", {".csv": _csv, ".jsonl": _jsonl})


def check_curve_path(path: Path) -> None:
    """DcrfError where no curve can be written to `path`: found out before training."""
    if path.suffix not in FORMATS:
        message = f"`{path}` names no format of a learning curve"
        raise DcrfError(Diagnostic("unknown-format", message, help=f"end its name in {' or '.join(FORMATS)}"))
    ensure_writable(path)


def write_curve(path: Path, record: TrainingRecord) -> None:
    """Writes the learning curves of a training record, those of its earlier stages first."""
    check_curve_path(path)
    write_whole(path, [FORMATS[path.suffix](_rows(record)).encode()])


def _rows(record: TrainingRecord) -> Iterator[Row]:
    stages = [(str(stage["stage"]), stage.get("curve", ())) for stage in record.before]
    for stage, curve in [*stages, (record.stage, record.curve)]:
        for step in curve:
            found = Iteration(*step)._asdict()
            yield {"stage": stage, **{name: found[name] for name in COLUMNS[1:]}}
