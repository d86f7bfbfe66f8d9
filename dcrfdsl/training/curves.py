"""Learning curves as files: a row for each iteration of every stage that ran.

    stage, start, iteration, objective, gradient_norm, seconds, dev, gap, metric (what `dev` is)

`FORMATS` is the table of file formats, chosen by the ending of the file's name. `start` numbers random starts from 1; 0
means that there was only one. `seconds` begin anew with each stage and start. `dev` is empty without held-out data,
`gradient_norm` without a gradient, `gap` (the duality gap) where no dual is solved. Not here: the record
that keeps curves (`model.record`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..foundation import DcrfError, Diagnostic, Table, ensure_writable, json_text, write_whole
from ..model import TrainingRecord
from ..optimizers import Iteration
from .line_files import LineFile

COLUMNS = ("stage", "start", "iteration", "objective", "gradient_norm", "seconds", "dev", "gap", "metric")
Row = dict[str, str | int | float | None]


def _csv(row: Row) -> str:
    text = io.StringIO()
    csv.DictWriter(text, COLUMNS, lineterminator="\n").writerow(row)
    return text.getvalue()


def _jsonl(row: Row) -> str:
    return json_text(row) + "\n"


class CurveFormat(NamedTuple):
    """A file format. head: the text before the first row.   line: formats a row."""

    head: str
    line: Callable[[Row], str]


FORMATS: Table[CurveFormat] = Table(
    "format of a learning curve",
    {".csv": CurveFormat(",".join(COLUMNS) + "\n", _csv), ".jsonl": CurveFormat("", _jsonl)},
)


class CurveWriter(LineFile):
    """Writes each row as soon as its iteration is done, so that rows survive whatever ends the training."""

    def __init__(self, path: Path):
        check_curve_path(path)
        super().__init__(path, "learning curve", "--curve")
        self._format, self._stage = FORMATS[path.suffix], ""

    def begin(self, stage: str) -> None:
        """Assigns the rows that follow to this stage."""
        self._stage = stage

    def add(self, step: Iteration) -> None:
        """Writes the row of an iteration."""
        self.write(self._format.line(_row(self._stage, step)), self._format.head)


def check_curve_path(path: Path) -> None:
    """DcrfError where no curve can be written to `path`. Called before training."""
    if path.suffix not in FORMATS:
        message = f"`{path}` names no format of a learning curve"
        raise DcrfError(Diagnostic("unknown-format", message, help=f"end its name in {' or '.join(FORMATS)}"))
    ensure_writable(path)


def write_curve(path: Path, record: TrainingRecord) -> None:
    """Writes the learning curves of a training record, those of its earlier stages first."""
    check_curve_path(path)
    form = FORMATS[path.suffix]
    write_whole(path, [(form.head + "".join(map(form.line, _rows(record)))).encode()])


def _rows(record: TrainingRecord) -> Iterator[Row]:
    stages = [(str(stage["stage"]), stage.get("curve", ())) for stage in record.before]
    for stage, curve in [*stages, (record.stage, record.curve)]:
        for step in curve:
            yield _row(stage, Iteration(*step))


def _row(stage: str, step: Iteration) -> Row:
    values = step._asdict()
    return {"stage": stage, **{name: values[name] for name in COLUMNS[1:]}}
