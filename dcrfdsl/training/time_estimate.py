"""An estimate of training time: the pace on the first sentences times the usual number of iterations.

A few iterations run on a sample, so the figure includes all costs of the structure, the criterion and the optimizer:
messages on loops, memories, conditions. The time of compiling kernels, once after an install, is left out. The pace is
scaled to all data by the number of tokens and the graph's cost per token (`graph.model_cost`), as all data may have
more states. The number of iterations until convergence is not known in advance, hence a range. Not here: memory and
work (`graph.model_cost`).
"""

from __future__ import annotations

import itertools
import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from numba.core.event import Event, Listener, install_listener

from ..data import Corpus
from ..features import RegisteredFeature
from ..foundation import DcrfError, DcrfWarning
from ..optimizers import Iteration
from ..semantics import (
    CriterionSettings,
    InduceSettings,
    Resolved,
    StoppingSettings,
    TrainSettings,
    stage_chain,
    stage_settings,
)
from .pipeline import TrainingRequest, train_model
from .stage import Observers

__all__ = ["SecondsRange", "training_seconds"]

TOKENS = 3_000  # of the sample, about …
SENTENCES = 20  # … but at least this many sentences
ITERATIONS = 9  # of each stage on the sample; the first ones go through single sentences
LONGEST = 3.0  # seconds of a stage on the sample, after which no iteration follows
BEYOND = ("out-of-memory", "too-wide", "too-large")  # errors that all data would end in too
FASTER, SLOWER = 0.7, 1.5  # factors on the pace: data that exceeds caches, other programs
CONVERGED = 40, 300  # iterations: the range of nine in ten trainings by a gradient …
CLOSED = 10, 120  # … and passes until a duality gap is closed


class SecondsRange(NamedTuple):
    least: float
    most: float


def training_seconds(
    resolved: Resolved,
    corpus: Corpus,
    *,
    relative_cost: Callable[[Corpus], float],
    stage: str | None = None,
    threads: int | None = None,
    registered: Mapping[str, RegisteredFeature] | None = None,
) -> SecondsRange | None:
    """Seconds that `fit` will take for all stages and starts, at least and at most; None where the sample cannot train.

    relative_cost: takes the sample; returns the cost of an iteration on all data over that of one on the sample.
    """
    sample = _sample(corpus)
    watch = _Watch()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DcrfWarning)  # a sample lacks states that the data has
            observers = Observers(watch.add, watch.is_enough, watch.begin)
            with install_listener("numba:compile", watch.clock):
                train_model(resolved, sample, TrainingRequest(stage, None, None, threads, registered, observers))
        ratio = relative_cost(sample)
    except DcrfError as error:
        if any(one.slug in BEYOND for one in error.diagnostics):
            raise
        return None  # for want of data in the sample; problems of the data itself have been reported
    least = most = 0.0
    spec = resolved.require()
    for number, entry in enumerate(stage_chain(spec, stage)):
        settings, pace = stage_settings(spec, entry.label), ratio * watch.pace(entry.label)
        low, high = _iterations(settings)
        starts = settings.restarts if spec.latents and number == 0 else 1  # only the first stage has several starts
        least += FASTER * pace * low * starts
        most += SLOWER * pace * high * starts
    return SecondsRange(least, most)


def _sample(corpus: Corpus) -> Corpus:
    off, last = corpus.sentence_off.tolist(), 0
    while last < corpus.num_sentences and (off[last] < TOKENS or last < SENTENCES):
        last += 1
    return corpus if last == corpus.num_sentences else corpus.slice(0, last)


class _Clock(Listener):
    """Seconds that pass while nothing is compiled."""

    def __init__(self) -> None:
        self._compiling, self._since, self._lost = 0, 0.0, 0.0

    def on_start(self, event: Event) -> None:
        if self._compiling == 0:
            self._since = time.perf_counter()
        self._compiling += 1

    def on_end(self, event: Event) -> None:
        self._compiling -= 1
        if self._compiling == 0:
            self._lost += time.perf_counter() - self._since

    def seconds(self) -> float:
        return time.perf_counter() - self._lost


@dataclass
class _Watch:
    """When the iterations of each stage ended."""

    clock: _Clock = field(default_factory=_Clock)
    ends: dict[str, list[float]] = field(default_factory=dict)
    stage: str = ""

    def begin(self, stage: str) -> None:
        self.stage = stage
        self.ends[stage] = [self.clock.seconds()]

    def add(self, step: Iteration) -> None:
        self.ends[self.stage].append(self.clock.seconds())

    def is_enough(self) -> bool:
        ends = self.ends[self.stage]
        return len(ends) > ITERATIONS or (len(ends) > 2 and ends[-1] - ends[1] > LONGEST)

    def pace(self, stage: str) -> float:
        """Seconds per iteration: the median of the later half, since the first iterations may do other work."""
        ends = self.ends.get(stage, [])
        lasted = [b - a for a, b in itertools.pairwise(ends)]
        return statistics.median(lasted[len(lasted) // 2 :]) if lasted else 0.0


def _iterations(settings: TrainSettings[CriterionSettings]) -> tuple[int, int]:
    """How many iterations a stage takes, at least and at most."""
    criterion, optimizer = settings.criterion, settings.optimizer
    known = criterion.passes or optimizer.passes
    if known is not None:
        return known
    low, high = CLOSED if "margins" in criterion.offers else CONVERGED
    if isinstance(optimizer, StoppingSettings):
        low, high = min(low, optimizer.max_iterations), min(high, optimizer.max_iterations)
    induced = criterion.rounds * criterion.iterations if isinstance(criterion, InduceSettings) else 0
    return low + induced // 2, high + induced
