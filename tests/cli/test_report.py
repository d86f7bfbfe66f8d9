"""Progress and tables: what they say is what happened."""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from dcrfdsl.cli.report import duration, file_size, peak_mb, print_table, scores_table
from dcrfdsl.cli.training_progress import (
    JsonLines,
    LiveProgress,
    PlainProgress,
    TrainingProgress,
    remaining_seconds,
    sparkline,
)


@dataclass(frozen=True)
class Step:
    iteration: int
    objective: float
    gradient_norm: float
    seconds: float
    dev: float | None = None
    start: int = 0
    gap: float | None = None
    metric: str = ""


def run(count: int, *, factor: float = 0.5, pace: float = 2.0) -> list[Step]:
    """The gradient norm falls by `factor` an iteration, each takes `pace` seconds."""
    return [Step(i, 100.0 - i, 8.0 * factor**i, pace * (i + 1)) for i in range(count)]


ESTIMATES = [
    (run(20), 0.5**30, 1000, 2.0 * (30 - 19)),  # 30 halvings are wanted, 19 are done
    (run(20), 0.5**30, 25, 2.0 * (25 - 19)),  # the iterations run out first
    (run(20), 0.5**10, 1000, 0.0),  # already there
    (run(4), 1e-5, 1000, None),  # too little to go by
    (run(20, factor=1.1), 1e-5, 1000, None),  # it grows
    (run(20, pace=0.0), 1e-5, 1000, None),  # no time has passed
]


@pytest.mark.parametrize(("steps", "tolerance", "most", "expected"), ESTIMATES)
def test_time_left_follows_the_fall_of_the_gradient(
    steps: list[Step], tolerance: float, most: int, expected: float | None
) -> None:
    found = remaining_seconds(steps, tolerance, most)
    assert found == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (59.94, "59.9 s"), (61, "1 min 01 s"), (3599, "59 min 59 s"), (7500, "2 h 05 min")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def show(progress: TrainingProgress, steps: list[Step]) -> None:
    with progress:
        for step in steps:
            progress(step)


def test_plain_lines_show_the_first_and_the_last_iteration() -> None:
    stream = io.StringIO()
    show(PlainProgress(stream), run(50))
    first, last = stream.getvalue().splitlines()
    assert first == "iteration 0: objective 100.0000, gradient 8, 2.0 s"
    assert last == "iteration 49: objective 51.0000, gradient 1.42e-14, 1 min 40 s"


def test_plain_lines_tell_the_time_left() -> None:
    stream = io.StringIO()
    show(PlainProgress(stream).aim(0.5**30, 1000), run(20))
    assert stream.getvalue().splitlines()[-1].endswith(", about 22.0 s left")


@pytest.mark.parametrize(("size", "text"), [(0, "0 kB"), (1, "1 kB"), (999_000, "999 kB"), (3_440_000, "3.4 MB")])
def test_file_size(size: int, text: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(size))
    assert file_size(path) == text


def test_plain_lines_show_dev_scores_as_percentages() -> None:
    stream = io.StringIO()
    show(PlainProgress(stream), [Step(1, 2.0, 1.0, 0.5, 0.9712, metric="accuracy(y)")])
    assert stream.getvalue() == "iteration 1: objective 2.0000, gradient 1, dev accuracy(y) 97.12 %, 0.5 s\n"


def test_json_lines_are_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    show(JsonLines(), [Step(1, 2.5, 1.0, 0.5), Step(2, 2.25, 0.5, 0.75, 0.5, metric="accuracy(y)")])
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"iteration": 1, "objective": 2.5, "gradient_norm": 1.0, "seconds": 0.5},
        {"iteration": 2, "objective": 2.25, "gradient_norm": 0.5, "seconds": 0.75, "dev": 0.5, "metric": "accuracy(y)"},
    ]


def test_live_table_keeps_the_last_iterations() -> None:
    stream = io.StringIO()
    show(LiveProgress(Console(file=stream, force_terminal=True, width=100, color_system=None)), run(30))
    last_picture = stream.getvalue().rpartition("iteration")[2]
    assert "71.0000" in last_picture  # iteration 29
    assert "81.0000" not in last_picture  # iteration 19


class Full(io.StringIO):
    """A stream on a full disk, or of a terminal that is closed."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "kind", [PlainProgress, lambda stream: LiveProgress(Console(file=stream, force_terminal=True))]
)
def test_training_goes_on_where_its_lines_cannot_be_written(kind: Callable[[io.StringIO], TrainingProgress]) -> None:
    progress = kind(Full())
    show(progress, run(30))
    assert len(progress.steps) == 30


COURSES = {
    "falls": ([8.0, 6.0, 4.0, 1.0], 10, "█▆▄▁"),
    "stays": ([3.0, 3.0], 10, "▁▁"),
    "means of runs": ([9.0, 7.0, 1.0, 1.0], 2, "█▁"),
    "longer by one": ([4.0, 2.0, 0.0], 2, "█▁"),  # 4, and the mean of 2 and 0
    "what is no number is passed over": ([float("inf"), 1.0, float("nan"), 0.0], 10, "█▁"),
    "nothing": ([], 10, ""),
}


@pytest.mark.parametrize("name", COURSES)
def test_the_course_is_drawn_by_bars(name: str) -> None:
    values, width, bars = COURSES[name]
    assert sparkline(values, width) == bars


def test_live_table_draws_the_course_of_the_objective() -> None:
    stream = io.StringIO()
    show(LiveProgress(Console(file=stream, force_terminal=True, width=100, color_system=None)), run(8))
    assert "objective █▇▆▅▄▃▂▁" in stream.getvalue()


def test_scores_are_percentages_with_a_column_a_part() -> None:
    console = Console(file=io.StringIO(), width=100)
    scores = {"segments(y).precision": 0.5, "segments(y).recall": 0.25, "segments(y).f1": 1 / 3, "accuracy(y)": 0.975}
    console.print(scores_table(scores))
    lines = [line.split() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert lines == [
        ["metric", "%", "precision", "recall", "f1"],
        ["segments(y)", "50.00", "25.00", "33.33"],
        ["accuracy(y)", "97.50"],
    ]


def test_lines_of_a_table_end_with_their_last_word() -> None:
    stream = io.StringIO()
    print_table(scores_table({"accuracy(tag)": 0.5, "a_longer_name": 0.25}), stream=stream)
    table = Table(box=None, pad_edge=False)
    table.add_column("feature")
    table.add_row("a")
    print_table(table, stream=stream)
    lines = stream.getvalue().split("\n")
    assert lines[-3:] == ["feature", "a", ""] and all(line == line.rstrip() for line in lines)


@pytest.mark.long
def test_peak_memory_grows_with_what_is_held() -> None:
    before = peak_mb()
    held = bytearray(int(2 * before * 1e6))  # more than there was in all: a new peak, wherever the old one came from
    assert peak_mb() > 1.8 * before
    del held
