"""An estimate of training time: the pace on the first sentences times the iterations that they lead one to expect.

A sample is trained for a few seconds, so the figure includes all costs of the structure, the criterion and the
optimizer: messages on loops, memories, conditions. Compiling kernels, once after an install, is left out. The pace is
scaled to all data by the number of tokens and the graph's cost per token (`graph.model_cost`), as all data may have
more states. The iterations are those until the sample converged, or would by the fall of its gradient, times a power of
the data's size: on CoNLL-2000, CoNLL-2002 and the English treebank they grew by 0.24 to 0.30 of it, in logarithms. What
takes longer than the sample may is not tried: the cost of the graph then gives the pace. Not here: memory and work
(`graph.model_cost`).
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from numba.core.event import Event, Listener, install_listener

from .. import semantics
from ..data import Corpus
from ..features import RegisteredFeature
from ..foundation import DcrfError, DcrfWarning, dataclass
from ..optimizers import Iteration
from .pipeline import TrainingRequest, train_model
from .stage import Observers

TOKENS = 3_000  # of the sample, about …
SENTENCES = 20  # … but at least this many sentences, unless they take long
LONGEST = 3.0  # seconds of a stage on the sample, after which no iteration follows …
EARLY, PATIENT = 30, 10.0  # … but while these iterations are not seen, these seconds: at first gradients fall faster
EVALUATION = 0.5  # seconds that an evaluation of the sample may take by the cost of its graph
BEYOND = ("out-of-memory", "too-wide", "too-large")  # errors that all data would end in too
GROWTH = 0.27  # iterations grow with the data's size to this power
COUNTED, GUESSED, UNTRIED = 2.0, 2.5, 3.0  # factors of the range: the sample converged, did not, was not trained
TYPICAL = 120  # iterations until a gradient has vanished …
CLOSED = 35  # … and passes until a duality gap is closed
FEWEST = 6  # iterations from which a fall is read


class SecondsRange(NamedTuple):
    """Seconds: the likely ones, and between which they probably lie."""

    least: float
    likely: float
    most: float


def training_seconds(
    resolved: semantics.Resolved,
    corpus: Corpus,
    *,
    relative_cost: Callable[[Corpus], float],
    evaluation: float = 0.0,
    stage: str | None = None,
    threads: int | None = None,
    registered: Mapping[str, RegisteredFeature] | None = None,
) -> SecondsRange | None:
    """Seconds that `fit` will take for all stages and starts, none without weights; None where the sample cannot train.

    relative_cost: takes the sample; returns the cost of an iteration on all data over that of one on the sample.
    evaluation: seconds of an evaluation on all data, by the cost of the graph.
    """
    sample, watch, spec = _sample(corpus, evaluation), _Watch(), resolved.spec
    if not any(map(semantics.learns, spec.cliques)):
        return SecondsRange(0.0, 0.0, 0.0)
    if evaluation * sample.num_tokens / max(1, corpus.num_tokens) > LONGEST:
        return _sum_of(
            _Steps(evaluation * starts, *_usual(settings), UNTRIED) for _, settings, starts in _stages(spec, stage)
        )
    begun = watch.clock.seconds()
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
    size = corpus.num_tokens / max(1, sample.num_tokens)
    stages = (
        _expected(settings, watch, label, ratio * starts, size) for label, settings, starts in _stages(spec, stage)
    )
    return _sum_of(stages, size * (watch.first - begun))


def _stages(
    spec: semantics.ModelSpec, stage: str | None
) -> Iterator[tuple[str, semantics.TrainSettings[semantics.CriterionSettings], int]]:
    """Label, settings and number of starts of each stage; only the first one has several starts."""
    for number, one in enumerate(semantics.stage_chain(spec, stage)):
        settings = semantics.stage_settings(spec, one.label)
        yield one.label, settings, settings.restarts if spec.latents and number == 0 else 1


class _Steps(NamedTuple):
    """Of a stage: seconds of an iteration, how many iterations at least and at most, and the factor of doubt."""

    pace: float
    low: float
    high: float
    doubt: float


def _sum_of(stages: Iterable[_Steps], before: float = 0.0) -> SecondsRange:
    """The seconds of all stages.   before: what passes before the first one."""
    least = likely = most = before
    for one in stages:
        least += one.pace * one.low / one.doubt
        likely += one.pace * math.sqrt(one.low * one.high)
        most += one.pace * one.high * one.doubt
    return SecondsRange(least, likely, most)


def _sample(corpus: Corpus, evaluation: float) -> Corpus:
    """The first sentences, as many as take no longer than `EVALUATION` seconds, if that is not less than one."""
    off, last = corpus.sentence_off.tolist(), 0
    quick = EVALUATION * corpus.num_tokens / evaluation if evaluation > 0.0 else math.inf
    while last < corpus.num_sentences and (off[last] < min(TOKENS, quick) or last < SENTENCES):
        if last and off[last + 1] > quick:
            break
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
    """When the iterations of each stage ended, and the norms of its gradients or its gaps."""

    clock: _Clock = field(default_factory=_Clock)
    ends: dict[str, list[float]] = field(default_factory=dict)
    left: dict[str, list[float]] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    stage: str = ""
    start: int = 0
    first: float = 0.0

    def begin(self, stage: str) -> None:
        self.stage = stage
        self.ends[stage], self.left[stage] = [self.clock.seconds()], []
        self.first = self.first or self.ends[stage][0]

    def add(self, step: Iteration) -> None:
        self.start = step.start
        if step.start > 1:  # the first start tells enough
            return
        self.ends[self.stage].append(self.clock.seconds())
        left = step.gap if step.gap is not None else step.gradient_norm
        if left is not None and left > 0.0:
            self.left[self.stage].append(left)

    def is_enough(self) -> bool:
        ends = self.ends[self.stage]
        if self.start > 1:
            return True
        enough = len(ends) > 2 and ends[-1] - ends[1] > (LONGEST if len(ends) > EARLY else PATIENT)
        if enough:
            self.stopped.add(self.stage)
        return enough

    def pace(self, stage: str) -> float:
        """Seconds per iteration: the median of the later half, since the first iterations may do other work."""
        ends = self.ends.get(stage, [])
        lasted = [b - a for a, b in itertools.pairwise(ends)]
        return statistics.median(lasted[len(lasted) // 2 :]) if lasted else 0.0


def _expected(
    settings: semantics.TrainSettings[semantics.CriterionSettings], watch: _Watch, stage: str, ratio: float, size: float
) -> _Steps:
    """The iterations of a stage on all data, after those on the sample.   size: of the data, in samples."""
    pace, (low, high) = ratio * watch.pace(stage), _usual(settings)
    if settings.criterion.passes or settings.optimizer.passes:
        return _Steps(pace, low, high, COUNTED)
    seen = len(watch.ends.get(stage, [])) - 1
    count = _until(watch.left.get(stage, []), settings.optimizer) if stage in watch.stopped else float(seen)
    if count is None or seen < 1:
        return _Steps(pace, low, high, UNTRIED)
    most = getattr(settings.optimizer, "max_iterations", math.inf)
    wanted = max(count, seen) * size**GROWTH
    if stage in watch.stopped and seen < EARLY:
        wanted = max(wanted, _usual(settings)[1])
    wanted = min(wanted, most)
    return _Steps(pace, wanted, wanted, GUESSED if stage in watch.stopped else COUNTED)


def _until(left: Sequence[float], optimizer: semantics.OptimizerSettings) -> float | None:
    """The iterations until the norm of the gradient, or the gap, falls to the tolerance, by its last half's fall."""
    recent = [math.log(one) for one in left[len(left) // 2 :]]
    tolerance = getattr(optimizer, "tolerance", None)
    if len(left) < FEWEST or tolerance is None:
        return None
    slope = statistics.linear_regression(range(len(recent)), recent).slope
    if slope >= 0.0:
        return None
    goal = math.log(left[0]) + math.log(tolerance)
    return len(left) + max(0.0, (goal - statistics.fmean(recent[-3:])) / slope)


def _usual(settings: semantics.TrainSettings[semantics.CriterionSettings]) -> tuple[float, float]:
    """How many iterations a stage takes, at least and at most, as far as its settings tell."""
    criterion, optimizer = settings.criterion, settings.optimizer
    known = criterion.passes or optimizer.passes
    if known is not None:
        return known
    usual = CLOSED if "margins" in criterion.offers else TYPICAL
    induced = criterion.rounds * criterion.iterations if isinstance(criterion, semantics.InduceSettings) else 0
    if isinstance(optimizer, semantics.StoppingSettings):
        usual = min(usual, optimizer.max_iterations)
    return usual + induced / 2, usual + induced
