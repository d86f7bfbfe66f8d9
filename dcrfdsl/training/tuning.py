"""`tune`: a search for the values of tuned constants with which a model does best on held-out data.

A trial trains with some values on the training data alone and scores the first metric of the template on the held-out
data. The model of the best trial is the result; nothing is trained once more, as the same data, settings and seed would
give the same weights. `SEARCHES` is the table of ways to choose values. Source: random against grid search: Bergstra &
Bengio, "Random search for hyper-parameter optimization" (2012). Not here: ranges (`semantics.schema.search_ranges`),
training.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..data import Corpus
from ..errors import CORPUS, DcrfError, Diagnostic, require_kind, require_whole, warn_of
from ..features import RegisteredFeature
from ..metrics import goodness
from ..model import TrainedModel
from ..optimizers import Iteration
from ..registry import Table
from ..semantics import (
    Candidates,
    Interval,
    ModelSpec,
    Number,
    SearchRange,
    Value,
    stage_chain,
    stage_settings,
    tuned_ranges,
    value_text,
    with_constants,
)
from .checking import Template, approved, as_resolved, require_arguments
from .pipeline import fit, with_probabilities, with_remarks

__all__ = ["SEARCHES", "TRIALS", "Trial", "tune"]

TRIALS = 9  # on a log scale over four decades, a grid at every half decade
DIGITS = 4  # significant ones of a value that was drawn, which stands in tables and in the model's template

Values = dict[str, Value]
Search = Generator[Values, float, None]  # yields values to try, and is sent their scores


@dataclass(frozen=True)
class Trial:
    """One training: values are as the template would have them, numbers as numbers.

    dev: the score on the held-out data.   seconds: of training and scoring.   complete: whether it ran to its end.
    """

    number: int
    values: Mapping[str, float | str]
    dev: float
    seconds: float
    complete: bool = True


def tune(
    model: Template,
    corpus: Corpus,
    dev: Corpus,
    *,
    search: str = "grid",
    trials: int = TRIALS,
    seed: int = 0,
    stage: str | None = None,
    threads: int | None = None,
    registered: Mapping[str, RegisteredFeature] | None = None,
    on_trial: Callable[[Trial], None] | None = None,
    on_iteration: Callable[[Iteration], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    unchecked: bool = False,
) -> TrainedModel:
    """Searches the constants that have a `tune` range; returns the model of the best trial, the first of equal ones.

    dev: held-out data; nothing is trained on it.   search: `grid`, `random` or `optuna`.   trials: how many at most.
    seed: of the search.   on_trial: called after each trial.   should_stop: polled after iterations; True ends the
    search with the best model so far.   The rest as in `fit`.

    The template of the model has the chosen values; `record.tuning` has the whole search. Raises DcrfError where there
    is nothing to tune, where a range is none, and where `fit` does.
    """
    resolved = as_resolved(model)
    require_arguments(corpus, stage, dev, registered, on_trial, on_iteration, should_stop)
    require_kind(dev, Corpus, "dev", f"{CORPUS}, of held-out data to score on")
    require_whole(trials, "trials")
    require_whole(seed, "seed", least=0)
    require_kind(search, str, "search", "the name of a way to search")
    if search not in SEARCHES:
        raise _unknown(search)
    remarks = () if unchecked else approved(resolved, corpus, stage=stage, registered=registered)
    warn_of(remarks, depth=2)
    ranges = tuned_ranges(resolved, stage=stage, registered=tuple(registered or ()))
    spec = resolved.spec
    scored = _needs_dev(spec, stage)
    own = {name: spec.settled(spec.constant(name) or Number(value=0)) for name in ranges}

    proposals = SEARCHES[search](ranges, own, trials, seed)
    scores: dict[tuple[Value, ...], float] = {}  # by values; what is proposed again is not trained again
    done: list[Trial] = []
    best: tuple[Trial, TrainedModel] | None = None
    metric, is_stopped = "", False
    values = next(proposals, None)
    while values is not None and not is_stopped:
        key = tuple(values.values())
        if key not in scores:
            begun = time.perf_counter()
            found = fit(
                with_constants(resolved, values),
                corpus,
                stage=stage,
                dev=dev if scored else None,
                threads=threads,
                registered=registered,
                on_iteration=on_iteration,
                should_stop=should_stop,
                unchecked=True,  # `tuned_ranges` has asked about the values, `approved` about the rest
            )
            metric, value = next(iter(found.evaluate(dev, threads=threads).items()))
            score = goodness(metric, value)
            is_stopped = should_stop is not None and should_stop()
            shown = {name: _plain(value) for name, value in values.items()}
            trial = Trial(len(done) + 1, shown, float(score), time.perf_counter() - begun, not is_stopped)
            scores[key] = trial.dev
            done.append(trial)
            if on_trial is not None:
                on_trial(trial)
            if best is None or (trial.complete and _is_better(trial.dev, best[0].dev)):
                best = trial, found
        values = _next(proposals, scores[key])
    assert best is not None
    chosen, kept = best
    path = {
        "search": search,
        "seed": seed,
        "metric": metric,
        "chosen": chosen.number,
        "values": dict(chosen.values),
        "trials": [asdict(trial) for trial in done],
    }
    kept = with_probabilities(with_remarks(kept, remarks), dev, threads)
    return kept.with_weights(kept.weights, replace(kept.record, tuning=path), kept.voters)


def _needs_dev(spec: ModelSpec, stage: str | None) -> bool:
    """Whether training itself looks at the held-out data."""
    return any(stage_settings(spec, entry.label).patience is not None for entry in stage_chain(spec, stage))


def _next(proposals: Search, score: float) -> Values | None:
    try:
        return proposals.send(score)
    except StopIteration:
        return None


def _is_better(score: float, best: float) -> bool:
    return score > best or (math.isnan(best) and not math.isnan(score))


def _plain(value: Value) -> float | str:
    return value.value if isinstance(value, Number) else value_text(value)


def _unknown(search: str) -> DcrfError:
    guess = SEARCHES.suggest(search)
    remedy = f"did you mean `{guess}`?" if guess else f"known are {', '.join(f'`{name}`' for name in SEARCHES)}"
    return DcrfError(Diagnostic("unknown-method", f"`{search}` is not a {SEARCHES.kind}", help=remedy))


# searches -----------------------------------------------------------------------------------------------------------


def _grid(ranges: Mapping[str, SearchRange], own: Values, trials: int, seed: int) -> Search:
    """Every combination of the candidates and of points of the intervals, as many of each as `trials` allows.

    Intervals have two points at least, the ends, even where that makes more trials.
    """
    intervals = sum(isinstance(found, Interval) for found in ranges.values())
    listed = math.prod(len(found.values) for found in ranges.values() if isinstance(found, Candidates))
    points = 2
    while intervals and listed * (points + 1) ** intervals <= trials:
        points += 1
    axes = [_points(found, points) for found in ranges.values()]
    for combination in itertools.product(*axes):
        yield dict(zip(ranges, combination, strict=True))


def _points(found: SearchRange, count: int) -> list[Value]:
    if isinstance(found, Candidates):
        return list(found.values)
    shares = np.linspace(0.0, 1.0, count).tolist()
    return list(dict.fromkeys(_at(found, share) for share in shares))


def _at(found: Interval, share: float) -> Value:
    """The number that is `share` of the way from the low end to the high one."""
    if share in (0.0, 1.0):
        exact = found.high if share else found.low
        return Number(value=exact)
    if found.log:
        number = math.exp(math.log(found.low) + share * (math.log(found.high) - math.log(found.low)))
    else:
        number = found.low + share * (found.high - found.low)
    return _rounded(found, number)


def _rounded(found: Interval, number: float) -> Value:
    if found.whole:
        return Number(value=int(min(max(round(number), found.low), found.high)))
    return Number(value=min(max(float(f"{number:.{DIGITS}g}"), found.low), found.high))


def _lies_in(found: SearchRange, value: Value) -> bool:
    if isinstance(found, Candidates):
        return value in found.values
    return isinstance(value, Number) and found.low <= value.value <= found.high


def _random(ranges: Mapping[str, SearchRange], own: Values, trials: int, seed: int) -> Search:
    """The template's own values first, if they lie in their ranges; then values drawn evenly, none twice."""
    generator = np.random.default_rng(seed)
    tried: list[Values] = []
    if all(_lies_in(found, own[name]) for name, found in ranges.items()):
        tried.append(own)
        yield own
    repeated = 0
    while len(tried) < trials and repeated < 100 * trials:
        values = {name: _drawn(found, generator) for name, found in ranges.items()}
        if values in tried:
            repeated += 1
            continue
        tried.append(values)
        yield values


def _drawn(found: SearchRange, generator: np.random.Generator) -> Value:
    if isinstance(found, Candidates):
        return found.values[int(generator.integers(len(found.values)))]
    if found.whole and not found.log:
        return Number(value=int(generator.integers(int(found.low), int(found.high), endpoint=True)))
    return _at(found, float(generator.random()))


def _optuna(ranges: Mapping[str, SearchRange], own: Values, trials: int, seed: int) -> Search:
    """What Optuna's tree-structured Parzen estimator proposes; the template's own values first."""
    try:
        import optuna
    except ImportError:
        message = "the search `optuna` needs the package `optuna`, which is not installed"
        raise DcrfError(Diagnostic("missing-package", message, help="pip install 'dcrfdsl[optuna]'")) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    if all(_lies_in(found, own[name]) for name, found in ranges.items()):
        study.enqueue_trial({name: _parameter(found, own[name]) for name, found in ranges.items()})
    for _ in range(trials):
        trial = study.ask()
        score = yield {name: _suggested(trial, name, found) for name, found in ranges.items()}
        study.tell(trial, score)


def _parameter(found: SearchRange, value: Value) -> float:
    """What a value is to Optuna: a number, or its place among the candidates."""
    if isinstance(found, Candidates):
        return found.values.index(value)
    assert isinstance(value, Number)
    return value.value


def _suggested(trial: Any, name: str, found: SearchRange) -> Value:
    if isinstance(found, Candidates):
        return found.values[int(trial.suggest_categorical(name, list(range(len(found.values)))))]
    if found.whole:
        return Number(value=trial.suggest_int(name, int(found.low), int(found.high), log=found.log))
    return _rounded(found, trial.suggest_float(name, found.low, found.high, log=found.log))


SEARCHES: Table[Callable[[Mapping[str, SearchRange], Values, int, int], Search]] = Table(
    "way to search", {"grid": _grid, "random": _random, "optuna": _optuna}, {"tpe": "optuna", "bayesian": "optuna"}
)
