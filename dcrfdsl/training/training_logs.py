"""What a training tells programs and people as it goes on: learning curves, a log of events, and ready callbacks.

A learning curve is a file with a row for each iteration of every stage that ran:

    stage, start, iteration, objective, gradient_norm, seconds, dev, gap, metric (what `dev` is)

`FORMATS` is the table of its formats, chosen by the ending of the file's name. `start` numbers random starts from 1; 0
means that there was only one. `seconds` begin anew with each stage and start. `dev` is empty without held-out data,
`gradient_norm` without a gradient, `gap` (the duality gap) where no dual is solved.

A log is a file with a JSON object a line:

    begin, (stage, iteration, iteration, …), (stage, …), end

Every line has `event` and `time` (ISO 8601, UTC). Fields without a value are left out. The fields are described in
`docs/how-to/watch-training.md`. Both files grow by a line at a time, so that the lines survive whatever ends training.
Not here: the record that keeps curves (`model.record`), the display of the command (`cli.training_progress`).
"""

from __future__ import annotations

import csv
import io
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Protocol, Self

from ..data import Corpus
from ..foundation import (
    WRITING,
    DcrfError,
    Table,
    clear_os_errors,
    data_error,
    ensure_writable,
    json_text,
    lock,
    memory_in_use,
    write_whole,
)
from ..inference import RunStatus, Workers
from ..model import TrainedModel, TrainingData, TrainingRecord, content_hash, settings_record, versions
from ..optimizers import Iteration
from ..semantics import ModelSpec, TrainSettings, to_text


class LineFile:
    """Writes lines as they come, each flushed. A context manager.

    path: of the file, which keeps its content until the first line comes.   what: the file is, for messages.   option:
    of `train` that names it.   append: keeps its whole lines for good.

    Raises DcrfError where the file cannot be opened, or another training is writing it. A line that cannot be written
    does not stop training.
    """

    def __init__(self, path: Path, what: str, option: str, *, append: bool = False):
        ensure_writable(path)
        self._path, self._what, self._option, self._append = path, what, option, append
        self._is_begun = False
        self.failure: OSError | None = None  # why a line could not be written; later lines are dropped
        self._opened = ExitStack()
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        with clear_os_errors(self._path, WRITING):
            self._file = self._opened.enter_context(open(self._path, "a", encoding="utf-8", newline="\n"))
            try:
                lock(self._file.fileno())
            except BlockingIOError:
                self._opened.close()
                message = f"another training is writing its {self._what} to `{self._path}`"
                raise data_error("file-error", message, help=f"name another file after `{self._option}`") from None
            except OSError:  # a file system without locks
                pass
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # all lines are there: each was flushed
            self._opened.close()

    def _write_line(self, line: str, head: str = "") -> None:
        """Writes a line.   head: stands before the first one."""
        if self.failure is not None or self._file is None:
            return
        try:
            if not self._is_begun:
                self._is_begun = True
                with suppress(OSError):  # a pipe
                    self._file.truncate(self._whole_lines() if self._append else 0)
                self._file.write(head)
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            self.failure = error

    def _whole_lines(self) -> int:
        """The bytes up to the end of the last whole line: a training that was killed may have left part of one."""
        with open(self._path, "rb") as stream:
            end = stream.seek(0, os.SEEK_END)
            while end:
                start = max(0, end - 65536)
                stream.seek(start)
                newline = stream.read(end - start).rfind(b"\n")
                if newline >= 0:
                    return start + newline + 1
                end = start
        return 0


COLUMNS = ("stage", "start", "iteration", "objective", "gradient_norm", "seconds", "dev", "gap", "metric")
Row = dict[str, str | int | float | None]


def _csv(row: Row) -> str:
    text = io.StringIO()
    csv.DictWriter(text, COLUMNS, lineterminator="\n").writerow(row)
    return text.getvalue()


class CurveFormat(NamedTuple):
    """A file format. head: the text before the first row.   line: formats a row."""

    head: str
    line: Callable[[Row], str]


FORMATS: Table[CurveFormat] = Table(
    "format of a learning curve",
    {".csv": CurveFormat(",".join(COLUMNS) + "\n", _csv), ".jsonl": CurveFormat("", lambda row: json_text(row) + "\n")},
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
        self._write_line(self._format.line(_row(self._stage, step)), self._format.head)


def check_curve_path(path: Path) -> None:
    """DcrfError where no curve can be written to `path`. Called before training."""
    if path.suffix not in FORMATS:
        message = f"`{path}` names no format of a learning curve"
        raise data_error("unknown-format", message, help=f"end its name in {' or '.join(FORMATS)}")
    ensure_writable(path)


def write_curve(path: Path, record: TrainingRecord) -> None:
    """Writes the learning curves of a training record, those of its earlier stages first."""
    check_curve_path(path)
    form = FORMATS[path.suffix]
    stages = [(str(stage["stage"]), stage.get("curve", ())) for stage in record.before]
    stages.append((record.stage, record.curve))
    lines = (form.line(_row(stage, Iteration(*step))) for stage, curve in stages for step in curve)
    write_whole(path, [(form.head + "".join(lines)).encode()])


def _row(stage: str, step: Iteration) -> Row:
    values = step._asdict()
    return {"stage": stage, **{name: values[name] for name in COLUMNS[1:]}}


FORMAT = 1  # of the lines; new fields do not change it
END_FIELDS = ("reason", "stage", "objective", "gradient_norm", "gap", "iterations", "evaluations", "seconds")

Fields = Mapping[str, Any]


class TrainingLog(LineFile):
    """Writes the events of a training to a file of JSON lines, each as soon as it happens.

    path: of the file.
    append: adds to the lines that are there, as for a training that goes on from a checkpoint.

    A context manager; `fit` takes it as `log`. A training that fails or is broken off ends with an `end` that says so.
    A line that cannot be written does not stop training: `failure` is the OSError, and later lines are dropped. Raises
    DcrfError where the file cannot be opened.

    >>> from pathlib import Path
    >>> with TrainingLog("log.jsonl") as log:
    ...     model = fit("address.dcrf", corpus, log=log)
    >>> len(Path("log.jsonl").read_text().splitlines()) == model.record.iterations + 3
    True
    """

    def __init__(self, path: str | os.PathLike[str], *, append: bool = False):
        super().__init__(Path(path), "log", "--log", append=append)
        self._is_running = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_running and error is not None:
            failed = isinstance(error, Exception)
            said = str(error) if isinstance(error, DcrfError) else f"{type(error).__name__}: {error}".rstrip(": ")
            self._end({"outcome": "failed" if failed else "interrupted", "error": said})
        super().__exit__(kind, error, trace)

    def begin(
        self,
        spec: ModelSpec,
        stages: Sequence[tuple[str, TrainSettings]],
        corpus: TrainingData,
        dev: Corpus | None,
        start: TrainedModel | None,
        workers: Workers,
    ) -> None:
        """Training begins; `fit` calls this.

        spec: the specification.
        stages: the names of the stages that run, with their settings.
        corpus, dev, start, workers: the training data, the held-out data, the model to start from, the threads.
        """
        self._is_running = True
        self._write(
            "begin",
            {
                "format": FORMAT,
                "resumed": self._append,
                "versions": {"dcrfdsl": version("dcrfdsl"), **versions()},
                "system": platform.platform(),
                "process": os.getpid(),
                "threads": workers.threads,
                "template": to_text(spec),
                "stages": [{"stage": label, "settings": settings_record(settings)} for label, settings in stages],
                "data": _data(corpus),
                "dev": None if dev is None else _data(dev),
                "start": None if start is None else {"stage": start.record.stage, "weights": start.num_weights},
            },
        )

    def stage(self, label: str, num_weights: int) -> None:
        """A stage begins; `fit` calls this.

        label: its name.
        num_weights: W of the model.
        """
        self._write("stage", {"stage": label, "weights": num_weights})

    def iteration(self, label: str, step: Iteration, status: RunStatus) -> None:
        """An iteration is done; `fit` calls this.

        label: of its stage.
        step: the iteration.
        status: of inference since the iteration before.
        """
        inference: dict[str, float] | None = None
        if status.graphs:
            inference = {"graphs": status.graphs, "not_converged": status.not_converged}
            if status.approximate:
                inference["residual"] = status.residual
        self._write(
            "iteration",
            {"stage": label, **step._asdict(), "memory_mb": round(memory_in_use() / 1e6, 1), "inference": inference},
        )

    def end(self, model: TrainedModel) -> None:
        """Training has ended; `fit` calls this.

        model: what came of it.
        """
        record = model.record
        outcome = {"outcome": "converged" if record.converged else "stopped"}
        told = {name: getattr(record, name) for name in END_FIELDS}
        self._end({**outcome, **told, "weights": model.num_weights, "notes": list(record.notes)})

    def _end(self, fields: Fields) -> None:
        self._is_running = False
        self._write("end", {**fields, "memory_mb": round(memory_in_use() / 1e6, 1)})

    def _write(self, event: str, fields: Fields) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        there = {name: value for name, value in fields.items() if value is not None}
        self._write_line(json_text({"event": event, "time": now, **there}) + "\n")


def _data(corpus: TrainingData) -> dict[str, Any]:
    return {
        "file": corpus.file,
        "sentences": corpus.num_sentences,
        "tokens": corpus.num_tokens,
        "sha256": content_hash(corpus),
    }


SCALARS = ("objective", "gradient_norm", "dev", "gap")


class Bar(Protocol):
    """What is used of a `tqdm.tqdm`."""

    def update(self, n: int = 1) -> Any: ...

    def set_postfix(self, ordered_dict: Any = None, refresh: bool = True, **values: Any) -> Any: ...


class ScalarWriter(Protocol):
    """What is used of a `SummaryWriter` of TensorBoard, or of anything like it."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> Any: ...


def progress_bar(bar: Bar) -> Callable[[Iteration], None]:
    """Moves a bar by one with each iteration, with the objective and the dev score beside it.

    bar: a `tqdm.tqdm`, or what has its `update` and `set_postfix`; the caller closes it. Raises TypeError for others.

    >>> class Bar:
    ...     def update(self, n): pass
    ...     def set_postfix(self, shown, refresh): self.shown = shown
    >>> bar = Bar()
    >>> model = fit("address.dcrf", corpus, on_iteration=progress_bar(bar))
    >>> list(bar.shown)
    ['objective']
    """
    _require_methods(bar, "update", "set_postfix")

    def report(step: Iteration) -> None:
        shown = {"objective": f"{step.objective:.6g}"}
        if step.dev is not None:
            shown[f"dev {step.metric}"] = f"{step.dev:.4f}"
        bar.set_postfix(shown, refresh=False)
        bar.update(1)

    return report


def scalar_writer(writer: ScalarWriter, prefix: str = "") -> Callable[[Iteration], None]:
    """Writes what an iteration has of objective, gradient_norm, dev and gap, each under its name.

    writer: has `add_scalar(tag, value, step)`, as a `SummaryWriter` of TensorBoard. Raises TypeError for others.
    prefix: before each name, as `run/`.

    The steps of several random starts go to names that end with the number of the start.

    >>> class Writer:
    ...     tags = set()
    ...     def add_scalar(self, tag, value, step): self.tags.add(tag)
    >>> model = fit("address.dcrf", corpus, on_iteration=scalar_writer(Writer()))
    >>> sorted(Writer.tags)
    ['gradient_norm', 'objective']
    """
    _require_methods(writer, "add_scalar")

    def report(step: Iteration) -> None:
        for name in SCALARS:
            value = getattr(step, name)
            if value is not None:
                tag = f"{prefix}{name}/{step.start}" if step.start else f"{prefix}{name}"
                writer.add_scalar(tag, value, step.iteration)

    return report


def _require_methods(given: object, *names: str) -> None:
    for name in names:
        if not callable(getattr(given, name, None)):
            raise TypeError(f"an object with a method `{name}` is needed, not {type(given).__name__}")
