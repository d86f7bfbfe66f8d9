"""Trials of a search: trainings with some values of the tuned constants, here or in other processes.

    values, values, … -> training and score, training and score, …   in the order of the values

Not here: which values to try (`searches`), which trial is the best (`tuning`), several at once (`side_by_side`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from ..data import Corpus
from ..features import RegisteredFeature
from ..foundation import DcrfError
from ..model import TrainedModel, model_as_bytes, model_from_bytes
from ..optimizers import Iteration
from ..semantics import ModelSpec, Resolved, stage_chain, stage_settings, with_constants
from .pipeline import fit
from .searches import Values
from .side_by_side import run_side_by_side


@dataclass(frozen=True)
class Ended:
    """A trial that has ended.   metric, dev: the score on the held-out data, and its name.   seconds: of training and
    scoring.   complete: whether it ran to its end.   model: or why there is none: its weights became infinite.
    """

    model: TrainedModel | DcrfError
    metric: str
    dev: float
    seconds: float
    complete: bool


@dataclass(frozen=True)
class _Sent:
    """The same as it comes from another process. content: of the model file: feature functions stay where they are."""

    content: bytes | DcrfError
    metric: str
    dev: float
    seconds: float
    complete: bool

    def received(self, registered: Mapping[str, RegisteredFeature]) -> Ended:
        model: TrainedModel | DcrfError
        if isinstance(self.content, DcrfError):
            model = self.content
        else:
            model = model_from_bytes(TrainedModel, self.content, "<trial>", registered)
        return Ended(model, self.metric, self.dev, self.seconds, self.complete)


@dataclass(frozen=True)
class TrialData:
    """What all trials of a search have in common. The fields are arguments of `tune`."""

    resolved: Resolved
    corpus: Corpus
    dev: Corpus
    stage: str | None = None
    threads: int | None = None
    registered: Mapping[str, RegisteredFeature] | None = None

    def run(
        self,
        values: Values,
        on_iteration: Callable[[Iteration], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> Ended:
        """Trains with these values on the training data, and scores on the held-out data."""
        begun = time.perf_counter()
        try:
            model = self._trained(values, on_iteration, should_stop)
        except DcrfError as error:
            if any(diagnostic.slug != "not-finite" for diagnostic in error.diagnostics):
                raise
            return Ended(error, "", math.nan, time.perf_counter() - begun, complete=True)
        metric, dev = model.scores.first_score(self.dev, threads=self.threads)
        is_stopped = should_stop is not None and should_stop()
        return Ended(model, metric, dev, time.perf_counter() - begun, not is_stopped)

    def _trained(
        self,
        values: Values,
        on_iteration: Callable[[Iteration], None] | None,
        should_stop: Callable[[], bool] | None,
    ) -> TrainedModel:
        return fit(
            with_constants(self.resolved, values),
            self.corpus,
            stage=self.stage,
            dev=self.dev if _needs_dev(self.resolved.spec, self.stage) else None,
            threads=self.threads,
            registered=self.registered,
            on_iteration=on_iteration,
            should_stop=should_stop,
            unchecked=True,  # `tuned_ranges` has asked about the values, `checker_warnings` about the rest
        )

    def with_threads(self, threads: int) -> TrialData:
        return replace(self, threads=threads)

    def run_elsewhere(self, values: Values, should_stop: Callable[[], bool] | None = None) -> _Sent:
        """A trial in another process. Its model comes back as a file, without feature functions."""
        ended = self.run(values, should_stop=should_stop)
        content = ended.model if isinstance(ended.model, DcrfError) else model_as_bytes(ended.model)
        return _Sent(content, ended.metric, ended.dev, ended.seconds, ended.complete)


def _needs_dev(spec: ModelSpec, stage: str | None) -> bool:
    """Whether training itself looks at the held-out data."""
    return any(stage_settings(spec, entry.label).patience is not None for entry in stage_chain(spec, stage))


def run_trials(
    data: TrialData,
    proposals: Sequence[Values],
    jobs: int | Executor,
    should_stop: Callable[[], bool] | None,
) -> Iterator[tuple[int, Ended]]:
    """Number (from 0) and outcome of each proposal's trial, in their order; see `run_side_by_side`."""
    for number, sent in run_side_by_side(data, proposals, jobs, should_stop):
        yield number, sent.received(data.registered or {})
