"""`tune`: a search for the values of tuned constants that give the best model on held-out data.

A trial trains with some values on the training data alone, here or in another process, and scores the first metric of
the template on the held-out data, or another of its scores. Scores may have bounds: then the best of the trials that
keep to them is chosen, or the one that comes nearest. The model of the best trial is the result. It is not trained
again: the same data, settings and seed would give the same weights.

A way to search (`SEARCHES`) is a generator that yields values to try and is sent their scores. Source, on random and
grid search: Bergstra & Bengio, "Random search for hyper-parameter optimization" (2012). Not here: what a range is
(`semantics.schema.search_ranges`), training (`pipeline`), several trials at once (`side_by_side`).
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, field, replace
from typing import Any

import numpy as np

from .. import semantics
from ..data import Corpus
from ..features import RegisteredFeature
from ..foundation import (
    CORPUS,
    DcrfError,
    Diagnostic,
    Table,
    data_error,
    dataclass,
    did_you_mean,
    needed,
    quoted_names,
    require_kind,
    require_whole,
    warn_of,
)
from ..metrics import goodness
from ..model import TrainedModel, model_as_bytes, model_from_bytes
from ..optimizers import Iteration
from ..syntax import Number, Value, value_text
from .checking import AnyTemplate, as_resolved, checker_warnings, require_arguments
from .pipeline import fit, with_probabilities, with_remarks
from .side_by_side import run_side_by_side

NO_SHARES = ("log_likelihood", "confusion", "at_least")  # what names of scores begin with that are not in 0–1
DIGITS = 4  # significant digits of a drawn value, which tables and the model's template show

Values = dict[str, Value]  # of each constant
Proposals = Generator[Values, float, None]


def _grid(ranges: Mapping[str, semantics.SearchRange], current: Values, trials: int, seed: int) -> Proposals:
    """Every combination of candidates and of points of the intervals, with as many points as `trials` allows.

    An interval has at least its two ends, even where that exceeds `trials`.
    """
    intervals = sum(isinstance(span, semantics.Interval) for span in ranges.values())
    listed = math.prod(len(span.values) for span in ranges.values() if isinstance(span, semantics.Candidates))
    points = 2
    while intervals and listed * (points + 1) ** intervals <= trials:
        points += 1
    axes = [grid_values(span, points) for span in ranges.values()]
    for combination in itertools.product(*axes):
        yield dict(zip(ranges, combination, strict=True))


def grid_values(span: semantics.SearchRange, count: int) -> list[Value]:
    """All candidates of a range, or at most `count` points of an interval, its ends among them."""
    if isinstance(span, semantics.Candidates):
        return list(span.values)
    shares = np.linspace(0.0, 1.0, count).tolist()
    return list(dict.fromkeys(_at(span, share) for share in shares))


def _at(interval: semantics.Interval, share: float) -> Value:
    """The number that is `share` of the way from the low end to the high one."""
    low, high = interval.low, interval.high
    if share in (0.0, 1.0):
        return Number(value=high if share else low)
    if interval.log:
        return _rounded(interval, math.exp(math.log(low) + share * (math.log(high) - math.log(low))))
    return _rounded(interval, low + share * (high - low))


def _rounded(interval: semantics.Interval, number: float) -> Value:
    if interval.whole:
        return Number(value=int(min(max(round(number), interval.low), interval.high)))
    return Number(value=min(max(float(f"{number:.{DIGITS}g}"), interval.low), interval.high))


def _place(span: semantics.SearchRange, value: Value) -> float | None:
    """A number of an interval, or the index of a candidate; None for a value that does not lie in the range."""
    if isinstance(span, semantics.Candidates):
        return span.values.index(value) if value in span.values else None
    if isinstance(value, Number) and span.low <= value.value <= span.high:
        return value.value
    return None


def _random(ranges: Mapping[str, semantics.SearchRange], current: Values, trials: int, seed: int) -> Proposals:
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


def _drawn(span: semantics.SearchRange, generator: np.random.Generator) -> Value:
    if isinstance(span, semantics.Candidates):
        return span.values[int(generator.integers(len(span.values)))]
    if span.whole and not span.log:
        return Number(value=int(generator.integers(int(span.low), int(span.high), endpoint=True)))
    return _at(span, float(generator.random()))


def _optuna(ranges: Mapping[str, semantics.SearchRange], current: Values, trials: int, seed: int) -> Proposals:
    """First the template's values, if they lie in their ranges; then proposals of Optuna's Parzen estimator (TPE)."""
    with needed("optuna", "the search `optuna` needs the package `optuna`"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    places = {name: _place(span, current[name]) for name, span in ranges.items()}
    if None not in places.values():
        study.enqueue_trial(places)
    for _ in range(trials):
        trial = study.ask()
        score = yield {name: _suggested(trial, name, span) for name, span in ranges.items()}
        study.tell(trial, score)


def _suggested(trial: Any, name: str, span: semantics.SearchRange) -> Value:
    if isinstance(span, semantics.Candidates):
        return span.values[int(trial.suggest_categorical(name, list(range(len(span.values)))))]
    if span.whole:
        return Number(value=trial.suggest_int(name, int(span.low), int(span.high), log=span.log))
    return _rounded(span, trial.suggest_float(name, span.low, span.high, log=span.log))


# A search takes the ranges, the values that the template has, the number of trials, and a seed.
SEARCHES: Table[Callable[[Mapping[str, semantics.SearchRange], Values, int, int], Proposals]] = Table(
    "way to search", {"grid": _grid, "random": _random, "optuna": _optuna}, {"tpe": "optuna", "bayesian": "optuna"}
)

ONE_AFTER_ANOTHER = frozenset({"optuna"})  # searches that look at a score before they propose again

OUTSIDE = 1e6  # a score less for each that a bound lacks, for searches that look at scores
TRIALS = 9  # on a log scale over four decades: a grid point every half decade


@dataclass(frozen=True)
class Trial:
    """One training with some values of the constants. Values other than numbers are written as in a template.

    dev: the score on the held-out data.   seconds: of training and scoring.   complete: whether it ran to its end.
    metric: what `dev` is.   bounded: the scores that have a bound.   lacking: what they lack to it, all together.
    """

    number: int
    values: Mapping[str, float | str]
    dev: float
    seconds: float
    complete: bool = True
    metric: str = ""
    bounded: Mapping[str, float] = field(default_factory=dict)
    lacking: float = 0.0


@dataclass(frozen=True)
class Goal:
    """What a search is for. best: the score that is to be the largest, by its name in `evaluate`; by default the first.
    at_least: the least values of some scores.
    """

    best: str | None = None
    at_least: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """DcrfError for a bound that no share can have or miss."""
        for name, bound in self.at_least.items():
            if not 0 <= bound <= 1 and not name.startswith(NO_SHARES):
                message = f"`{name}` is a share, from 0 to 1, and cannot be at least {bound:g}"
                help = f"write {bound / 100:g}" if 1 < bound <= 100 else "give a bound from 0 to 1"
                raise data_error("out-of-reach", message, help=help)

    def judged(self, trial: Trial, model: TrainedModel, dev: Corpus, threads: int | None) -> Trial:
        """The trial with what its model scores on held-out data. DcrfError where there is no such score."""
        if self.best is None and not self.at_least:
            metric, score = model.scores.first_score(dev, threads=threads)
            return replace(trial, dev=score, metric=metric)
        scores = model.evaluate(dev, threads=threads)
        for name in (*self.at_least, *([] if self.best is None else [self.best])):
            if name not in scores:
                guess = did_you_mean(name, tuple(scores))
                listed = ", ".join(quoted_names(tuple(scores), 8))
                message = f"`evaluate` of the template gives no score `{name}`"
                remedy = f"did you mean `{guess}`?" if guess else f"it gives {listed}"
                raise data_error("unknown-metric", message, help=remedy)
        best = next(iter(scores)) if self.best is None else self.best
        bounded = {name: float(scores[name]) for name in self.at_least}
        lacking = sum(max(0.0, bound - float(np.nan_to_num(bounded[name]))) for name, bound in self.at_least.items())
        return replace(trial, dev=float(goodness(best, scores[best])), metric=best, bounded=bounded, lacking=lacking)

    @property
    def bounds(self) -> str:
        """The bounds in words."""
        return " and ".join(f"{name} of at least {bound:g}" for name, bound in self.at_least.items())


@dataclass(frozen=True)
class SearchPlan:
    """How to search. search: `grid`, `random` or `optuna`.   trials: how many at most.   seed: of the search.   jobs:
    how many trials at once, in processes, or the executor that runs them.

    DcrfError where there is no such search, or it cannot run trials at once; TypeError or ValueError where a number is
    not valid.
    """

    search: str = "grid"
    trials: int = TRIALS
    seed: int = 0
    jobs: int | Executor = 1

    def __post_init__(self) -> None:
        require_whole(self.trials, "trials")
        require_whole(self.seed, "seed", least=0)
        if not isinstance(self.jobs, Executor):
            require_whole(self.jobs, "jobs")
        require_kind(self.search, str, "search", "the name of a way to search")
        if self.search not in SEARCHES:
            guess = SEARCHES.suggest(self.search)
            remedy = f"did you mean `{guess}`?" if guess else f"known are {', '.join(f'`{name}`' for name in SEARCHES)}"
            message = f"`{self.search}` is not a {SEARCHES.kind}"
            raise data_error("unknown-method", message, help=remedy)
        if self.is_parallel and self.search in ONE_AFTER_ANOTHER:
            message = f"`{self.search}` chooses each trial by the scores of those before it, so they run one by one"
            raise data_error("idle-option", message, help="use `random`, or one job")

    @property
    def is_parallel(self) -> bool:
        """Whether several trials may run at once."""
        return isinstance(self.jobs, Executor) or self.jobs > 1


def tune(
    model: AnyTemplate,
    corpus: Corpus | None,
    dev: Corpus,
    *,
    best: str | None = None,
    at_least: Mapping[str, float] | None = None,
    search: str = "grid",
    trials: int = TRIALS,
    seed: int = 0,
    jobs: int | Executor = 1,
    stage: str | None = None,
    threads: int | None = None,
    registered: Mapping[str, RegisteredFeature] | None = None,
    on_trial: Callable[[Trial], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> TrainedModel:
    """Searches the constants that have a `tune` range; returns the model of the best trial, the first of equal ones.

    model: a template in any form that `fit` takes, with `let NAME = VALUE tune RANGE`.
    corpus: gold data to train on; None for a template that learns nothing, whose constants are all there is.
    dev: held-out gold data; the template's first metric on it decides, and nothing is trained on it.
    best: another score that decides, by its name in what `evaluate` of a model gives.
    at_least: the least values of some scores, by name: the best trial that keeps to them is chosen. If none does, it is
        the one that comes nearest, with a `DcrfWarning`.
    search: `grid`, `random` or `optuna` (which is a package of its own).
    trials: how many trainings at most.
    seed: of the search.
    jobs: how many trials run at once, each in a process of its own; they share the threads. Or what runs them: a
        `concurrent.futures.Executor`, whose workers have this package, such as the `client.get_executor()` of Dask.
        Not for `optuna`.
    stage: the training stage to run; by default the last one.
    threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
    registered: the feature functions of yours that the template calls, by name: `{f.name: f}`.
    on_trial: called after each trial with its `number`, `values`, `dev` score and `seconds`.
    should_stop: polled after each iteration, and while trials run; True ends the search with the best model so far.

    Returns a `TrainedModel`. Its template has the chosen values; `record.tuning` has the whole search. The result does
    not depend on `jobs`. Raises DcrfError where there is nothing to tune, where a range is not valid, where a process
    is lost, and where `fit` does.

    >>> m = Template()
    >>> word, _ = m.data("conll", "word", "part")
    >>> part = m.label("part", bio("STREET", "TOWN"))
    >>> cliques = m.clique(part, features=[bias, word]), m.clique(part[-1], part)
    >>> variance = m.let("variance", 10, tune=call("log", 1, 100))
    >>> m.train("likelihood", prior=gaussian(variance=variance))
    >>> best = tune(m, corpus.slice(0, 2), corpus.slice(2, 3), trials=2)
    >>> best.record.tuning["chosen"] in (1, 2)
    True
    """
    resolved = as_resolved(model)
    require_arguments(corpus, stage, dev, registered, on_trial=on_trial, should_stop=should_stop)
    require_kind(dev, Corpus, "dev", f"{CORPUS}, of held-out data to score on")
    plan = SearchPlan(search, trials, seed, jobs)
    remarks = checker_warnings(resolved, corpus, stage=stage, registered=registered)
    warn_of(remarks, depth=2)
    data = TrialData(resolved, corpus, dev, stage, threads, registered, Goal(best, at_least or {}))
    constants = ConstantSearch(data, on_trial, should_stop=should_stop)
    tuned = constants.run(plan)
    if constants.out_of_reach is not None:
        warn_of([constants.out_of_reach], depth=2)
    return with_remarks(tuned, remarks)


@dataclass(eq=False)
class ConstantSearch:
    """A search over a template that the checker has approved. The fields are arguments of `tune`.

    data: what all trials have in common.   on_iteration: called after each iteration of training, but not where trials
    run in other processes.
    """

    data: TrialData
    on_trial: Callable[[Trial], None] | None = None
    on_iteration: Callable[[Iteration], None] | None = None
    should_stop: Callable[[], bool] | None = None
    _trials: list[Trial] = field(default_factory=list, init=False)
    _best: tuple[Trial, TrainedModel | DcrfError] | None = field(default=None, init=False)
    _metric: str = field(default="", init=False)

    @property
    def out_of_reach(self) -> Diagnostic | None:
        """A warning that no trial keeps to the bounds, if none does."""
        if self._best is None or self._best[0].lacking == 0.0:
            return None
        message = f"no trial has {self.data.goal.bounds}: trial {self._best[0].number} comes nearest"
        remedy = "widen the ranges, try more values by `trials`, or lower the bound"
        return Diagnostic("out-of-reach", message, help=remedy, severity="warning")

    def run(self, plan: SearchPlan) -> TrainedModel:
        """The model of the best trial."""
        data, spec = self.data, self.data.resolved.spec
        ranges = semantics.tuned_ranges(data.resolved, stage=data.stage, registered=tuple(data.registered or ()))
        current = {name: spec.settled(spec.constant(name) or Number(value=0)) for name in ranges}
        proposals = SEARCHES[plan.search](ranges, current, plan.trials, plan.seed)
        (self._run_together if plan.is_parallel else self._run_by_turns)(proposals, plan)
        assert self._best is not None
        trial, model = self._best
        if isinstance(model, DcrfError):
            raise model  # every trial ended so
        model = with_probabilities(model, data.dev, data.threads)
        path = {
            "search": plan.search,
            "seed": plan.seed,
            "metric": self._metric,
            "chosen": trial.number,
            "values": dict(trial.values),
            "trials": [asdict(trial) for trial in self._trials],
        }
        edges = [note for name, span in ranges.items() if (note := self._edge_note(name, span, trial))]
        return model.with_record(replace(model.record, tuning=path, notes=(*model.record.notes, *edges)))

    def _edge_note(self, name: str, span: semantics.SearchRange, best: Trial) -> str | None:
        """A note if the best value is an end of its range, and values between the ends are not as good."""
        value = best.values[name]
        if isinstance(span, semantics.Candidates) or value not in (span.low, span.high):
            return None
        inside = [one.dev for one in self._trials if one.values[name] not in (span.low, span.high)]
        if all(dev == best.dev for dev in inside):
            return None
        return f"note: the best `{name}` is {value:g}, an end of its range: a wider range may hold a better one"

    def _run_by_turns(self, proposals: Proposals, plan: SearchPlan) -> None:
        """Runs a trial after the other; the search sees each score before it proposes again."""
        scores: dict[tuple[Value, ...], float] = {}  # by values; repeated proposals are not trained again
        values = next(proposals, None)
        while values is not None and all(trial.complete for trial in self._trials):
            key = tuple(values.values())
            if key not in scores:
                scores[key] = self._add(*self.data.run(values, self.on_iteration, self.should_stop))
            values = _next(proposals, scores[key])

    def _run_together(self, proposals: Proposals, plan: SearchPlan) -> None:
        """Runs several trials at once; they are numbered, reported and compared in the order of the search."""
        every = list({tuple(values.values()): values for values in proposals}.values())
        functions = self.data.registered or {}
        for _, (trial, sent) in run_side_by_side(self.data, every, plan.jobs, self.should_stop):
            self._add(
                trial, model_from_bytes(TrainedModel, sent, "<trial>", functions) if isinstance(sent, bytes) else sent
            )
        if self._best is None:
            raise KeyboardInterrupt  # it was to stop before any trial began

    def _add(self, trial: Trial, model: TrainedModel | DcrfError) -> float:
        """Numbers and adds a trial that has ended with this model, or without one. Returns its score."""
        self._metric = trial.metric or self._metric
        trial = replace(trial, number=len(self._trials) + 1, metric=self._metric)
        self._trials.append(trial)
        if self.on_trial is not None:
            self.on_trial(trial)
        has_model = isinstance(model, TrainedModel)
        if (
            self._best is None
            or isinstance(self._best[1], DcrfError)
            or (has_model and _is_better(trial, self._best[0]))
        ):
            self._best = trial, model
        return trial.dev - OUTSIDE * trial.lacking


def _next(proposals: Proposals, score: float) -> Values | None:
    try:
        return proposals.send(score)
    except StopIteration:
        return None


def _is_better(trial: Trial, best: Trial) -> bool:
    """Whether a trial takes the place of the best so far. One that was broken off does so only if that was too."""
    if trial.complete != best.complete:
        return trial.complete
    if trial.lacking != best.lacking:
        return trial.lacking < best.lacking
    return trial.dev > best.dev or (math.isnan(best.dev) and not math.isnan(trial.dev))


@dataclass(frozen=True)
class TrialData:
    """What all trials of a search have in common. The fields are arguments of `tune`."""

    resolved: semantics.Resolved
    corpus: Corpus | None
    dev: Corpus
    stage: str | None = None
    threads: int | None = None
    registered: Mapping[str, RegisteredFeature] | None = None
    goal: Goal = field(default_factory=Goal)

    def run(
        self,
        values: Values,
        on_iteration: Callable[[Iteration], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> tuple[Trial, TrainedModel | DcrfError]:
        """Trains with these values on the training data, and scores on the held-out data: the trial, not yet numbered,
        and its model, or why there is none: its weights became infinite.
        """
        begun, spec = time.perf_counter(), self.resolved.spec
        shown = {name: one.value if isinstance(one, Number) else value_text(one) for name, one in values.items()}
        trial = Trial(0, shown, math.nan, 0.0)
        looks_at_dev = any(
            semantics.stage_settings(spec, entry.label).patience is not None
            for entry in semantics.stage_chain(spec, self.stage)
        )
        try:
            model = fit(
                semantics.with_constants(self.resolved, values),
                self.corpus,
                stage=self.stage,
                dev=self.dev if looks_at_dev else None,
                threads=self.threads,
                registered=self.registered,
                on_iteration=on_iteration,
                should_stop=should_stop,
                unchecked=True,  # `tuned_ranges` has asked about the values, `checker_warnings` about the rest
            )
        except DcrfError as error:
            if any(diagnostic.slug != "not-finite" for diagnostic in error.diagnostics):
                raise
            return replace(trial, seconds=time.perf_counter() - begun), error
        trial = self.goal.judged(trial, model, self.dev, self.threads)
        complete, seconds = should_stop is None or not should_stop(), time.perf_counter() - begun
        return replace(trial, seconds=seconds, complete=complete), model

    def run_elsewhere(
        self, values: Values, should_stop: Callable[[], bool] | None = None
    ) -> tuple[Trial, bytes | DcrfError]:
        """A trial in another process. Its model comes back as a file, without feature functions."""
        trial, model = self.run(values, should_stop=should_stop)
        return trial, model_as_bytes(model) if isinstance(model, TrainedModel) else model
