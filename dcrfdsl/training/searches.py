"""Ways to search the ranges of tuned constants: generators that yield values to try and are sent their scores.

`SEARCHES` lists them by name. Source, on random and grid search: Bergstra & Bengio, "Random search for
hyper-parameter optimization" (2012). Not here: what a range is (`semantics.schema.search_ranges`), trials (`tuning`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Mapping
from typing import Any

import numpy as np

from ..foundation import Table, data_error
from ..semantics import Candidates, Interval, SearchRange
from ..syntax import Number, Value

DIGITS = 4  # significant digits of a drawn value, which tables and the model's template show

Values = dict[str, Value]  # of each constant
Proposals = Generator[Values, float, None]


def _grid(ranges: Mapping[str, SearchRange], current: Values, trials: int, seed: int) -> Proposals:
    """Every combination of candidates and of points of the intervals, with as many points as `trials` allows.

    An interval has at least its two ends, even where that exceeds `trials`.
    """
    intervals = sum(isinstance(span, Interval) for span in ranges.values())
    listed = math.prod(len(span.values) for span in ranges.values() if isinstance(span, Candidates))
    points = 2
    while intervals and listed * (points + 1) ** intervals <= trials:
        points += 1
    axes = [grid_values(span, points) for span in ranges.values()]
    for combination in itertools.product(*axes):
        yield dict(zip(ranges, combination, strict=True))


def grid_values(span: SearchRange, count: int) -> list[Value]:
    """All candidates of a range, or at most `count` points of an interval, its ends among them."""
    if isinstance(span, Candidates):
        return list(span.values)
    shares = np.linspace(0.0, 1.0, count).tolist()
    return list(dict.fromkeys(_at(span, share) for share in shares))


def _at(interval: Interval, share: float) -> Value:
    """The number that is `share` of the way from the low end to the high one."""
    low, high = interval.low, interval.high
    if share in (0.0, 1.0):
        return Number(value=high if share else low)
    if interval.log:
        return _rounded(interval, math.exp(math.log(low) + share * (math.log(high) - math.log(low))))
    return _rounded(interval, low + share * (high - low))


def _rounded(interval: Interval, number: float) -> Value:
    if interval.whole:
        return Number(value=int(min(max(round(number), interval.low), interval.high)))
    return Number(value=min(max(float(f"{number:.{DIGITS}g}"), interval.low), interval.high))


def _place(span: SearchRange, value: Value) -> float | None:
    """A number of an interval, or the index of a candidate; None for a value that does not lie in the range."""
    if isinstance(span, Candidates):
        return span.values.index(value) if value in span.values else None
    if isinstance(value, Number) and span.low <= value.value <= span.high:
        return value.value
    return None


def _random(ranges: Mapping[str, SearchRange], current: Values, trials: int, seed: int) -> Proposals:
    """First the template's values, if they lie in their ranges; then values drawn evenly, none twice."""
    generator = np.random.default_rng(seed)
    tried: list[Values] = []
    if all(_place(span, current[name]) is not None for name, span in ranges.items()):
        tried.append(current)
        yield current
    repeated = 0
    while len(tried) < trials and repeated < 100 * trials:
        values = {name: _drawn(span, generator) for name, span in ranges.items()}
        if values in tried:
            repeated += 1
            continue
        tried.append(values)
        yield values


def _drawn(span: SearchRange, generator: np.random.Generator) -> Value:
    if isinstance(span, Candidates):
        return span.values[int(generator.integers(len(span.values)))]
    if span.whole and not span.log:
        return Number(value=int(generator.integers(int(span.low), int(span.high), endpoint=True)))
    return _at(span, float(generator.random()))


def _optuna(ranges: Mapping[str, SearchRange], current: Values, trials: int, seed: int) -> Proposals:
    """First the template's values, if they lie in their ranges; then proposals of Optuna's Parzen estimator (TPE)."""
    try:
        import optuna
    except ImportError:
        message = "the search `optuna` needs the package `optuna`, which is not installed"
        raise data_error("missing-package", message, help="pip install 'dcrfdsl[optuna]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    places = {name: _place(span, current[name]) for name, span in ranges.items()}
    if None not in places.values():
        study.enqueue_trial(places)
    for _ in range(trials):
        trial = study.ask()
        score = yield {name: _suggested(trial, name, span) for name, span in ranges.items()}
        study.tell(trial, score)


def _suggested(trial: Any, name: str, span: SearchRange) -> Value:
    if isinstance(span, Candidates):
        return span.values[int(trial.suggest_categorical(name, list(range(len(span.values)))))]
    if span.whole:
        return Number(value=trial.suggest_int(name, int(span.low), int(span.high), log=span.log))
    return _rounded(span, trial.suggest_float(name, span.low, span.high, log=span.log))


# A search takes the ranges, the values that the template has, the number of trials, and a seed.
SEARCHES: Table[Callable[[Mapping[str, SearchRange], Values, int, int], Proposals]] = Table(
    "way to search", {"grid": _grid, "random": _random, "optuna": _optuna}, {"tpe": "optuna", "bayesian": "optuna"}
)

ONE_AFTER_ANOTHER = frozenset({"optuna"})  # searches that look at a score before they propose again
