"""Output for people: the progress of training, tables of scores and weights.

Progress is a live table on a terminal, and elsewhere a plain line at growing intervals. With `--json` each iteration is
a line on stdout. Not here: computing any of it, deciding where a command's data goes.
"""

from __future__ import annotations

import io
import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..foundation import figure, json_text, printable

__all__ = [
    "Iteration", "JsonLines", "LiveProgress", "PlainProgress", "TrainingProgress", "TrialStatus", "bytes_text",
    "duration", "file_size", "iteration_json", "path_table", "peak_mb", "print_table", "progress_for",
    "remaining_seconds", "score_text", "scores_table", "setting_text", "trials_table", "weights_table",
]  # fmt: skip

SMALL_WEIGHT = 5e-4  # smaller weights would lose most of their digits with four decimals


def score_text(value: float) -> str:
    """A score as text: a rate in percent, or a log-likelihood, which is negative, in nats."""
    return f"{100 * value:.2f}" if value >= 0.0 else f"{value:.2f}"


class Iteration(Protocol):
    """The report of training after each iteration.

    `objective` includes the penalty; `seconds` count from the start of the first evaluation; `dev` is a score in 0–1;
    `start` numbers random starts from 1, and is 0 if there is only one; `gradient_norm` is None for methods without a
    gradient, and the duality gap `gap` is None for methods without a dual.
    """

    @property
    def iteration(self) -> int: ...
    @property
    def objective(self) -> float: ...
    @property
    def gradient_norm(self) -> float | None: ...
    @property
    def seconds(self) -> float: ...
    @property
    def dev(self) -> float | None: ...
    @property
    def start(self) -> int: ...
    @property
    def gap(self) -> float | None: ...


def _left(step: Iteration) -> tuple[str, float] | None:
    """The name and value of the measure of convergence: the gap or ‖g‖; None if there is neither."""
    if step.gap is not None:
        return "gap", step.gap
    return None if step.gradient_norm is None else ("gradient", step.gradient_norm)


def iteration_json(step: Iteration) -> dict[str, Any]:
    """The line of `train --json` for one iteration."""
    line: dict[str, Any] = {"iteration": step.iteration, "objective": step.objective}
    line |= {"gradient_norm": step.gradient_norm} if step.gradient_norm is not None else {}
    line |= {"gap": step.gap} if step.gap is not None else {}
    line |= {"seconds": step.seconds} | ({"start": step.start} if step.start else {})
    return line | ({"dev": step.dev} if step.dev is not None else {})


# how long it still takes ------------------------------------------------------------------------------------------


def remaining_seconds(steps: Sequence[Iteration], tolerance: float, max_iterations: int) -> float | None:
    """Seconds until ‖g‖ or the gap falls to `tolerance` times its first value, or until `max_iterations`.

    The logarithm of either falls about linearly, so a least-squares line through its last half gives the iterations
    left. None if there are too few iterations, or if the measure does not fall.
    """
    recent = steps[len(steps) // 2 :]
    if len(recent) < 5 or recent[-1].seconds <= recent[0].seconds:
        return None
    logs = [math.log(max(left[1], 1e-300)) for step in recent if (left := _left(step)) is not None]
    begun = _left(steps[0])
    if begun is None or len(logs) < len(recent):
        return None
    goal = math.log(max(begun[1], 1e-300)) + math.log(tolerance)
    middle = (len(logs) - 1) / 2
    mean = sum(logs) / len(logs)
    spread = sum((i - middle) ** 2 for i in range(len(logs)))
    slope = sum((i - middle) * (value - mean) for i, value in enumerate(logs)) / spread
    most = max(0, max_iterations - steps[-1].iteration)
    if slope >= 0:
        return None
    now = mean + slope * (len(logs) - 1 - middle)
    wanted = min(max(0.0, (goal - now) / slope), most)
    return wanted * (recent[-1].seconds - recent[0].seconds) / (len(recent) - 1)


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


# progress ---------------------------------------------------------------------------------------------------------


class TrainingProgress:
    """Base of progress displays: called after each iteration, and a context manager around the training. It shows
    nothing itself.
    """

    def __init__(self) -> None:
        self.steps: list[Iteration] = []
        self._is_mute = False
        self.tolerance = 1e-5
        self.max_iterations = 1000
        self.starts = self.stages = 1

    def aim(self, tolerance: float, max_iterations: int, *, starts: int = 1, stages: int = 1) -> TrainingProgress:
        """Sets when training stops and how often it starts, for the estimate of the time left. Returns itself."""
        self.tolerance, self.max_iterations, self.starts, self.stages = tolerance, max_iterations, starts, stages
        return self

    def __call__(self, step: Iteration) -> None:
        if self.steps and self.steps[-1].start != step.start:
            self.steps.clear()  # a new start: earlier iterations do not predict its time
        self.steps.append(step)
        if not self._is_mute:
            try:
                self.show(step)
            except OSError:  # the output is closed (`| head`, a closed terminal): no reason to stop training
                self._is_mute = True

    def show(self, step: Iteration) -> None:
        """Shows the latest iteration."""

    def __enter__(self) -> TrainingProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def estimate(self) -> str:
        seconds = remaining_seconds(self.steps, self.tolerance, self.max_iterations)
        if seconds is None or seconds < 1:
            return ""
        of_what = " of this stage" if self.stages > 1 else ""
        later = (self.starts - max(1, self.steps[-1].start)) * (self.steps[-1].seconds + seconds)
        return f"about {duration(seconds + later)} left{of_what}"


class PlainProgress(TrainingProgress):
    """Lines on a stream that is no terminal: the first iteration, then one from time to time, at growing intervals."""

    _FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds between two lines

    def __init__(self, stream: IO[str]):
        super().__init__()
        self._stream = stream
        self._pause = self._FIRST_PAUSE
        self._last = -math.inf
        self._shown: Iteration | None = None

    def show(self, step: Iteration) -> None:
        now = time.monotonic()
        if now - self._last >= self._pause or len(self.steps) == 1:
            self._pause = min(self._LONGEST_PAUSE, self._pause * 1.3)
            self._last = now
            self._print(step)

    def _print(self, step: Iteration) -> None:
        self._shown = step
        begun = f"start {step.start}, " if step.start else ""
        left = _left(step)
        parts = [
            f"{begun}iteration {step.iteration}: objective {figure(step.objective)}",
            "" if left is None else f"{left[0]} {left[1]:.3g}",
            "" if step.dev is None else f"dev {score_text(step.dev)}",
            duration(step.seconds),
            self.estimate(),
        ]
        print(", ".join(part for part in parts if part), file=self._stream, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.steps and self.steps[-1] is not self._shown:
            self._print(self.steps[-1])


class LiveProgress(TrainingProgress):
    """A table on a terminal that is updated in place: the last iterations, the time left and the peak of memory."""

    _ROWS = 10

    def __init__(self, console: Console):
        super().__init__()
        self._live = Live(console=console, refresh_per_second=8, transient=False)

    def __enter__(self) -> LiveProgress:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, step: Iteration) -> None:
        self._live.update(self._picture())

    def _picture(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, header_style="bold")
        measure = next((left[0] for step in self.steps[-1:] if (left := _left(step)) is not None), "")
        for heading in ("iteration", "objective", measure, "dev", "time"):
            table.add_column(heading, justify="right")
        for step in self.steps[-self._ROWS :]:
            dev, left = "" if step.dev is None else score_text(step.dev), _left(step)
            table.add_row(
                f"{f'{step.start}: ' if step.start else ''}{step.iteration}",
                figure(step.objective),
                "" if left is None else f"{left[1]:.3g}",
                dev,
                duration(step.seconds),
            )
        below = ", ".join(part for part in (self.estimate(), f"{peak_mb():,.0f} MB") if part)
        return Group(table, Text(below, style="dim"))


class TrialStatus(TrainingProgress):
    """One line on a terminal with the progress of a trial; nothing elsewhere."""

    def __init__(self, *, shown: bool):
        super().__init__()
        self._status = Console(stderr=True).status("training") if shown and sys.stderr.isatty() else None

    def __enter__(self) -> TrialStatus:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, step: Iteration) -> None:
        if self._status is not None:
            self._status.update(
                f"iteration {step.iteration}, objective {figure(step.objective)}, {duration(step.seconds)}"
            )


class JsonLines(TrainingProgress):
    """A JSON object for each iteration, on a line of stdout."""

    def show(self, step: Iteration) -> None:
        print(json_text(iteration_json(step)), flush=True)


def progress_for(*, as_json: bool, quiet: bool) -> TrainingProgress:
    """The progress that fits: JSON lines, none, a live table on a terminal, plain lines elsewhere."""
    if as_json:
        return JsonLines()
    if quiet:
        return TrainingProgress()
    return LiveProgress(Console(stderr=True)) if sys.stderr.isatty() else PlainProgress(sys.stderr)


# results ----------------------------------------------------------------------------------------------------------


def scores_table(scores: Mapping[str, float]) -> Table:
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
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric", overflow="fold")
    for part in used:
        table.add_column("%" if part == "value" else part, justify="right")
    for stem, row in rows.items():
        table.add_row(_text(stem), *(f"{100 * row[part]:.2f}" if part in row else "" for part in used))
    return table


def trials_table(trials: Sequence[Mapping[str, Any]], chosen: int) -> Table:
    """Trials of a search, as in `record.tuning`: values, scores as percentages, times; `*` marks the best one.

    A trial that was stopped early is marked as such.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "trial", *trials[0]["values"], "dev", "time"):
        table.add_column(heading, justify="right")
    for trial in trials:
        mark = "*" if trial["number"] == chosen else ""
        values = [setting_text(value) for value in trial["values"].values()]
        end = "" if trial["complete"] else " (stopped)"
        table.add_row(mark, str(trial["number"]), *values, score_text(trial["dev"]), duration(trial["seconds"]) + end)
    return table


def setting_text(value: float | str) -> str:
    """A value of a constant: `0.001`, `10`, `gaussian(variance = 1)`"""
    return value if isinstance(value, str) else f"{value:.6g}"


def weights_table(rows: Iterable[tuple[str, str, Sequence[str], float]]) -> Table:
    """Weights as (clique, feature, states, weight), in the order given."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("weight", justify="right", no_wrap=True)
    for heading in ("clique", "states", "feature"):
        table.add_column(heading, overflow="fold")
    for clique, feature, states, weight in rows:
        shown = f"{weight:+.4f}" if weight == 0.0 or abs(weight) >= SMALL_WEIGHT else f"{weight:+.1e}"
        table.add_row(shown, *map(_text, (clique, " ".join(states), feature)))
    return table


def _text(words: str) -> Text:
    """A cell with this text, taken literally: names of states and features may look like markup."""
    return Text(printable(words))


def path_table(rounds: Iterable[Mapping[str, Any]]) -> Table:
    """Rounds of boosting: number, risk, bound and step, and clique, states and feature of the weight that moved."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("round", "risk", "bound", "step"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("clique", "states", "feature"):
        table.add_column(heading, overflow="fold")
    for row in rounds:
        numbers = f"{row['round']}", f"{row['risk']:.3e}", f"{row['bound']:.6g}", f"{row['step']:+.4g}"
        table.add_row(*numbers, *map(_text, (row["clique"], " ".join(row["states"]), row["feature"])))
    return table


def print_table(table: Table, *, stream: IO[str] | None = None) -> None:
    """`table` on `stream` (default: stdout), folded to the width of a terminal; elsewhere a row is one line.

    Elsewhere lines end with their last word, too: the blanks that fill up a column would be part of what is copied.
    """
    file = stream or sys.stdout
    if file.isatty():
        Console(file=file, highlight=False).print(table)
        return
    drawn = io.StringIO()
    Console(file=drawn, width=10_000, highlight=False).print(table)
    file.write("\n".join(line.rstrip(" ") for line in drawn.getvalue().split("\n")))


def peak_mb() -> float:
    """The peak memory of this process, in MB (10⁶ bytes); 0 on Windows, whose figure no module of Python gives.

    On Linux the maximum of `getrusage` includes the process that started this one, so the record of the kernel for
    this process alone comes first.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    try:
        import resource
    except ImportError:
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
