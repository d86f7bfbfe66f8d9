"""Trials of a search: trainings with some values of the tuned constants, here or in other processes.

    values, values, … -> training and score, training and score, …   in the order of the values

Not here: which values to try (`searches`), which trial is the best (`tuning`), processes (`foundation.process_pools`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any

from ..data import Corpus
from ..features import RegisteredFeature
from ..foundation import DcrfError, Diagnostic, new_event, processes
from ..inference import Workers
from ..model import TrainedModel, parts_as_bytes, parts_from_bytes
from ..optimizers import Iteration
from ..semantics import ModelSpec, Resolved, stage_chain, stage_settings, with_constants
from .pipeline import fit
from .searches import Values

__all__ = ["Ended", "TrialData", "run_trials"]

_POLL_SECONDS = 0.1  # between two looks at whether the search is to stop


@dataclass(frozen=True)
class Ended:
    """A trial that has ended.   metric, dev: the score on the held-out data, and its name.   seconds: of training and
    scoring.   complete: whether it ran to its end.
    """

    model: TrainedModel
    metric: str
    dev: float
    seconds: float
    complete: bool


@dataclass(frozen=True)
class _Sent:
    """The same as it comes from another process. content: of the model file: feature functions stay where they are.
    warned: what the trial warned about.
    """

    content: bytes
    metric: str
    dev: float
    seconds: float
    complete: bool
    warned: tuple[Warning | str, ...] = ()

    def received(self, registered: Mapping[str, RegisteredFeature]) -> Ended:
        for warning in self.warned:
            warnings.warn(warning, stacklevel=2)
        model = TrainedModel(**vars(parts_from_bytes(self.content, "<trial>", registered)))
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
        model = fit(
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
        metric, dev = model.first_score(self.dev, threads=self.threads)
        is_stopped = should_stop is not None and should_stop()
        return Ended(model, metric, dev, time.perf_counter() - begun, not is_stopped)


def _needs_dev(spec: ModelSpec, stage: str | None) -> bool:
    """Whether training itself looks at the held-out data."""
    return any(stage_settings(spec, entry.label).patience is not None for entry in stage_chain(spec, stage))


# several at once --------------------------------------------------------------------------------------------------


def run_trials(
    data: TrialData,
    proposals: Sequence[Values],
    jobs: int | Executor,
    should_stop: Callable[[], bool] | None,
) -> Iterator[tuple[int, Ended]]:
    """Number (from 0) and outcome of each proposal's trial, in their order, with up to `jobs` of them at once, or
    as many as this executor runs.

    Once `should_stop` returns True no trial begins; those that run in processes of ours end after their iteration. The
    threads of `data` are divided among processes of ours. DcrfError where a process is lost.
    """
    if isinstance(jobs, Executor):
        submitted: list[Future[_Sent | None]] = [jobs.submit(_run, data, values) for values in proposals]
        for number, sent in _outcomes(submitted, should_stop):
            yield number, sent.received(data.registered or {})
        return
    jobs = min(jobs, len(proposals))
    share = replace(data, threads=max(1, Workers(data.threads).threads // jobs))
    stop = new_event()
    with processes(jobs, _begin, share, stop) as pool:
        futures = [pool.submit(_run_here, values) for values in proposals]
        for number, sent in _outcomes(futures, should_stop, stop.set):
            yield number, sent.received(data.registered or {})


def _outcomes(
    futures: Sequence[Future[_Sent | None]],
    should_stop: Callable[[], bool] | None,
    stop: Callable[[], None] | None = None,
) -> Iterator[tuple[int, _Sent]]:
    """The results in order, with their numbers, but of those that never began. stop: asks those that run to end."""
    is_stopped = False
    try:
        for number, future in enumerate(futures):
            while not future.done():
                if not is_stopped and should_stop is not None and should_stop():
                    is_stopped = True
                    for waiting in reversed(futures):  # so that none takes the place of one that is cancelled
                        waiting.cancel()
                    if stop is not None:
                        stop()
                wait([future], timeout=_POLL_SECONDS)
            if future.cancelled():
                continue
            sent = future.result()
            if sent is not None:  # a process had it, and had not begun it
                yield number, sent
    except BrokenProcessPool:
        message = "a process that trained a trial has died; most often memory ran out"
        remedy = "run fewer trials at once"
        raise DcrfError(Diagnostic("lost-trial", message, help=remedy)) from None
    finally:
        for future in futures:
            future.cancel()


def _run(data: TrialData, values: Values, should_stop: Callable[[], bool] | None = None) -> _Sent:
    """A trial elsewhere. Its model comes back as a file, without feature functions."""
    ended = data.run(values, should_stop=should_stop)
    return _Sent(parts_as_bytes(ended.model), ended.metric, ended.dev, ended.seconds, ended.complete)


_here: tuple[TrialData, Any] | None = None  # in a process of ours: what trials need, and the event that stops them


def _begin(data: TrialData, stop: Any) -> None:
    """A process of ours begins."""
    global _here
    _here = data, stop


def _run_here(values: Values) -> _Sent | None:
    assert _here is not None
    data, stop = _here
    if stop.is_set():
        return None
    with warnings.catch_warnings(record=True) as caught:  # a process of ours has one thread, as this requires
        warnings.simplefilter("always")
        sent = _run(data, values, stop.is_set)
    return replace(sent, warned=tuple({str(warning.message): warning.message for warning in caught}.values()))
