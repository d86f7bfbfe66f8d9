"""The log of a training: a JSON object a line, for programs that watch it.

    begin, (stage, iteration, iteration, …), (stage, …), end

Every line has `event` and `time` (ISO 8601, UTC). Fields without a value are left out. The fields are described in
`docs/how-to/watch-training.md`. Not here: learning curves alone (`curves`), the display of the
command (`cli.training_progress`).
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any

from ..data import Corpus
from ..foundation import DcrfError, json_text, memory_in_use
from ..inference import RunStatus, Workers
from ..model import TrainedModel, TrainingData, content_hash, settings_record, versions
from ..optimizers import Iteration
from ..semantics import ModelSpec, TrainSettings, to_text
from .line_files import LineFile

FORMAT = 1  # of the lines; new fields do not change it

Fields = Mapping[str, Any]


class TrainingLog:
    """Writes the events of a training to a file of JSON lines, each as soon as it happens.

    path: of the file.
    append: adds to the lines that are there, as for a training that goes on from a checkpoint.

    A context manager; `fit` takes it as `log`. A training that fails or is broken off ends with an `end` that says so.
    A line that cannot be written does not stop training. Raises DcrfError where the file cannot be opened.

    >>> from pathlib import Path
    >>> with TrainingLog("log.jsonl") as log:
    ...     model = fit("address.dcrf", corpus, log=log)
    >>> len(Path("log.jsonl").read_text().splitlines()) == model.record.iterations + 3
    True
    """

    def __init__(self, path: str | os.PathLike[str], *, append: bool = False):
        self._file = LineFile(Path(path), "log", "--log", append=append)
        self._is_running = False
        self._append = append

    def __enter__(self) -> TrainingLog:
        self._file.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_running and error is not None:
            failed = isinstance(error, Exception)
            said = str(error) if isinstance(error, DcrfError) else f"{type(error).__name__}: {error}".rstrip(": ")
            self._end({"outcome": "failed" if failed else "interrupted", "error": said})
        self._file.__exit__(kind, error, trace)

    @property
    def failure(self) -> OSError | None:
        """Why a line could not be written; later lines are dropped. None so far."""
        return self._file.failure

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
        self._end(
            {
                "outcome": "converged" if record.converged else "stopped",
                "reason": record.reason,
                "stage": record.stage,
                "objective": record.objective,
                "gradient_norm": record.gradient_norm,
                "gap": record.gap,
                "iterations": record.iterations,
                "evaluations": record.evaluations,
                "seconds": record.seconds,
                "weights": model.num_weights,
                "notes": list(record.notes),
            }
        )

    def _end(self, fields: Fields) -> None:
        self._is_running = False
        self._write("end", {**fields, "memory_mb": round(memory_in_use() / 1e6, 1)})

    def _write(self, event: str, fields: Fields) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        there = {name: value for name, value in fields.items() if value is not None}
        self._file.write(json_text({"event": event, "time": now, **there}) + "\n")


def _data(corpus: TrainingData) -> dict[str, Any]:
    return {
        "file": corpus.file,
        "sentences": corpus.num_sentences,
        "tokens": corpus.num_tokens,
        "sha256": content_hash(corpus),
    }
