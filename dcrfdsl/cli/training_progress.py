"""The progress of training: a live table on a terminal, elsewhere a plain line at growing intervals.

With `--json` each iteration is a line on stdout. Not here: tables of results (`report`).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from statistics import linear_regression
from typing import IO, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from .. import semantics, training
from ..foundation import figure, json_text
from .report import NUMBER, duration, peak_mb, share_text, table, terminal

BARS = "▁▂▃▄▅▆▇█"
NO_TOLERANCE = 1e-300  # for methods with a fixed number of passes over the data


def _left(step: training.Iteration) -> tuple[str, float] | None:
    """The name and value of the measure of convergence: the gap or ‖g‖; None if there is neither."""
    if step.gap is not None:
        return "gap", step.gap
    return None if step.gradient_norm is None else ("gradient", step.gradient_norm)


def iteration_json(step: training.Iteration) -> dict[str, Any]:
    """The line of `train --json` for one iteration."""
    line: dict[str, Any] = {"iteration": step.iteration, "objective": step.objective}
    line |= {"gradient_norm": step.gradient_norm} if step.gradient_norm is not None else {}
    line |= {"gap": step.gap} if step.gap is not None else {}
    line |= {"seconds": step.seconds} | ({"start": step.start} if step.start else {})
    return line | ({"dev": step.dev, "metric": step.metric} if step.dev is not None else {})


# how long it still takes ------------------------------------------------------------------------------------------


def remaining_seconds(steps: Sequence[training.Iteration], tolerance: float, max_iterations: int) -> float | None:
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
    slope, first = linear_regression(range(len(logs)), logs)
    if slope >= 0:
        return None
    now = first + slope * (len(logs) - 1)
    wanted = min(max(0.0, (goal - now) / slope), max(0, max_iterations - steps[-1].iteration))
    return wanted * (recent[-1].seconds - recent[0].seconds) / (len(recent) - 1)


def sparkline(values: Sequence[float], width: int) -> str:
    """The course of some numbers as bars, the lowest from the least of them and the highest to the largest.

    Where there are more numbers than `width`, a bar is the mean of a run of them. Numbers that are not finite are
    passed over.
    """
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return ""
    runs = min(width, len(known))
    means = [sum(known[a:b]) / (b - a) for a, b in pairwise(n * len(known) // runs for n in range(runs + 1))]
    least, most = min(means), max(means)
    scale = (len(BARS) - 1) / (most - least) if most > least else 0.0
    return "".join(BARS[round((value - least) * scale)] for value in means)


# progress ---------------------------------------------------------------------------------------------------------


class TrainingProgress:
    """Base of progress displays: called after each iteration, and a context manager around the training. It shows
    nothing itself.
    """

    def __init__(self) -> None:
        self.steps: list[training.Iteration] = []
        self.failure: OSError | None = None  # why an iteration could not be shown; later ones are not
        self.tolerance = 1e-5
        self.max_iterations = 1000
        self.starts = self.stages = 1

    def aim(self, tolerance: float, max_iterations: int, *, starts: int = 1, stages: int = 1) -> TrainingProgress:
        """Sets when training stops and how often it starts, for the estimate of the time left. Returns itself."""
        self.tolerance, self.max_iterations, self.starts, self.stages = tolerance, max_iterations, starts, stages
        return self

    def __call__(self, step: training.Iteration) -> None:
        if self.steps and self.steps[-1].start != step.start:
            self.steps.clear()  # a new start: earlier iterations do not predict its time
        self.steps.append(step)
        if self.failure is None:
            try:
                self.show(step)
            except OSError as error:  # the output is closed (`| head`, a closed terminal): no reason to stop training
                self.failure = error

    def show(self, step: training.Iteration) -> None:
        """Shows the latest iteration."""

    def __enter__(self) -> TrainingProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        pass

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
        self._shown: training.Iteration | None = None

    def show(self, step: training.Iteration) -> None:
        now = time.monotonic()
        if now - self._last >= self._pause or len(self.steps) == 1:
            self._pause = min(self._LONGEST_PAUSE, self._pause * 1.3)
            self._last = now
            self._print(step)

    def _print(self, step: training.Iteration) -> None:
        self._shown = step
        begun = f"start {step.start}, " if step.start else ""
        left = _left(step)
        parts = [
            f"{begun}iteration {step.iteration}: objective {figure(step.objective)}",
            "" if left is None else f"{left[0]} {left[1]:.3g}",
            "" if step.dev is None else f"dev {step.metric} {share_text(step.dev)}",
            duration(step.seconds), self.estimate(),
        ]  # fmt: skip
        print(", ".join(filter(None, parts)), file=self._stream, flush=True)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None and self.steps and self.steps[-1] is not self._shown:
            with suppress(OSError):  # as in `__call__`: what was trained is not lost for a line
                self._print(self.steps[-1])


class LiveProgress(TrainingProgress):
    """A table on a terminal that is updated in place: the last iterations, the time left and the peak of memory, and
    the course of the objective.
    """

    _ROWS = 10
    _BARS = 48  # of the course

    def __init__(self, console: Console):
        super().__init__()
        self._live = Live(console=console, refresh_per_second=8, transient=False)

    def __enter__(self) -> LiveProgress:
        with suppress(OSError):
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        with suppress(OSError):  # the terminal is closed
            self._live.stop()

    def show(self, step: training.Iteration) -> None:
        self._live.update(self._picture())

    def _picture(self) -> RenderableType:
        last = _left(self.steps[-1])
        measure = "" if last is None else last[0]
        metric = "" if self.steps[-1].dev is None else f"dev {self.steps[-1].metric}"
        rows = []
        for step in self.steps[-self._ROWS :]:
            number = f"{f'{step.start}: ' if step.start else ''}{step.iteration}"
            dev, left = "" if step.dev is None else share_text(step.dev), _left(step)
            value = "" if left is None else f"{left[1]:.3g}"
            rows.append([number, figure(step.objective), value, dev, duration(step.seconds)])
        made = table([(NUMBER, ["iteration", "objective", measure, metric, "time"])], rows)
        below = ", ".join(filter(None, [self.estimate(), f"{peak_mb():,.0f} MB"]))
        course = sparkline([step.objective for step in self.steps], self._BARS)
        return Group(made, Text(below, style="dim"), *([Text(f"objective {course}", style="cyan")] if course else []))


class TrialStatus(TrainingProgress):
    """One line on a terminal with the progress of a trial; nothing elsewhere."""

    def __init__(self, *, shown: bool):
        super().__init__()
        self._status = terminal(sys.stderr).status("training") if shown and sys.stderr.isatty() else None

    def __enter__(self) -> TrialStatus:
        if self._status is not None:
            with suppress(OSError):
                self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._status is not None:
            with suppress(OSError):
                self._status.stop()

    def show(self, step: training.Iteration) -> None:
        if self._status is not None:
            done = f"iteration {step.iteration}, objective {figure(step.objective)}"
            self._status.update(f"{done}, {duration(step.seconds)}")


class JsonLines(TrainingProgress):
    """A JSON object for each iteration, on a line of stdout."""

    def show(self, step: training.Iteration) -> None:
        print(json_text(iteration_json(step)), flush=True)


def aim(progress: TrainingProgress, spec: semantics.ModelSpec, stage: str | None) -> None:
    """Tells the progress display when the optimizer stops, for its estimate of the time left."""
    settings = semantics.stage_settings(spec, stage)
    if (goal := _goal(settings)) is not None:
        starts = settings.restarts if spec.latents else 1
        progress.aim(*goal, starts=starts, stages=len(semantics.stage_chain(spec, stage)))


def _goal(settings: semantics.TrainSettings) -> tuple[float, int] | None:
    """The tolerance at which training stops, and the largest number of iterations; None if neither is known."""
    known = settings.criterion.passes or settings.optimizer.passes
    if known is not None:
        return NO_TOLERANCE, known[1]
    match settings.criterion, settings.optimizer:
        case semantics.HmsvmSettings(
            tolerance=tolerance
        ), semantics.DualSettings() | semantics.StoppingSettings() as optimizer:
            return tolerance, optimizer.max_iterations
        case _, semantics.StoppingSettings(tolerance=tolerance, max_iterations=most):
            return tolerance, most
    return None


def progress_for(*, as_json: bool, quiet: bool) -> TrainingProgress:
    """The progress that fits: JSON lines, none, a live table on a terminal, plain lines elsewhere."""
    if as_json:
        return JsonLines()
    if quiet:
        return TrainingProgress()
    return LiveProgress(terminal(sys.stderr)) if sys.stderr.isatty() else PlainProgress(sys.stderr)
