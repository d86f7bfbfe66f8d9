"""`cross_validate`: scores on parts of the data that are left out in turn, and predictions by models without them.

    sentences -> folds;   for each fold: train on the others, score on it;   folds -> mean, deviation, all together

A model of a fold learns states, features and weights from the other folds alone. Not here: training (`pipeline`), what
is counted (`metrics`), several folds at once (`side_by_side`).
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np

from .. import foundation
from ..data import Corpus, InternedColumn
from ..features import RegisteredFeature
from ..foundation import dataclass
from ..metrics import Evaluation, LabelTables, Tally, added, label_tables, values_of
from ..optimizers import Iteration
from ..semantics import Resolved, stage_chain
from .checking import AnyTemplate, as_resolved, checker_warnings, require_arguments
from .pipeline import fit
from .side_by_side import LOST_TRIAL, run_side_by_side

FOLDS = 5
NO_LABEL = "_"  # for a sentence without any possible labelling, as `tag` writes it
Scores = Mapping[str, float | int]


@dataclass(frozen=True)
class Fold:
    """A part of the data that was left out, and how the model of the rest did on it.

    number: from 1.
    sentences: their numbers in the corpus, from 0.
    scores: as `TrainedModel.evaluate` gives them.
    seconds: of training and scoring.
    iterations: of training, in its last stage.
    converged: whether that converged.
    notes: warnings of training, as the record of a model has them.
    """

    number: int
    sentences: tuple[int, ...]
    scores: Scores
    seconds: float
    iterations: int
    converged: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CrossValidation:
    """What `cross_validate` returns.

    stage: the training stage that was run.
    seed: of the folds.
    folds: one after another, `Fold`.
    scores: of the predictions of all folds counted together, by name; F1 is not the mean of the folds' F1.
    tables: of them, the `LabelTables` of each label.
    predictions: by label, the predicted state of each token of the corpus, [N], by the model that did not see it; `_`
        in a sentence without any possible labelling.
    """

    stage: str
    seed: int
    folds: tuple[Fold, ...]
    scores: Scores
    tables: Mapping[str, LabelTables]
    predictions: Mapping[str, tuple[str, ...]]

    @property
    def mean(self) -> dict[str, float]:
        """The mean of each score over the folds that have it. Counts are left out."""
        return {name: statistics.fmean(values) for name, values in self._by_name().items()}

    @property
    def deviation(self) -> dict[str, float]:
        """The standard deviation of each score over folds, with n - 1; NaN for a score that one fold alone has."""
        return {
            name: statistics.stdev(values) if len(values) > 1 else math.nan for name, values in self._by_name().items()
        }

    def _by_name(self) -> dict[str, list[float]]:
        values: dict[str, list[float]] = {}
        for fold in self.folds:
            for name, value in fold.scores.items():
                if isinstance(value, float):
                    values.setdefault(name, []).append(value)
        return values


@dataclass(frozen=True)
class FoldPlan:
    """How sentences go to folds, and how many folds run at once. The fields are arguments of `cross_validate`.

    TypeError or ValueError where a number is not valid.
    """

    folds: int = FOLDS
    seed: int = 0
    group: str | None = None
    jobs: int | Executor = 1

    def __post_init__(self) -> None:
        foundation.require_whole(self.folds, "folds", least=2)
        foundation.require_whole(self.seed, "seed", least=0)
        foundation.require_kind(self.group, (str, type(None)), "group", "the name of a column")
        if not isinstance(self.jobs, Executor):
            foundation.require_whole(self.jobs, "jobs")


def cross_validate(
    model: AnyTemplate,
    corpus: Corpus,
    *,
    folds: int = FOLDS,
    seed: int = 0,
    group: str | None = None,
    jobs: int | Executor = 1,
    stage: str | None = None,
    threads: int | None = None,
    registered: Mapping[str, RegisteredFeature] | None = None,
    on_fold: Callable[[Fold], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> CrossValidation:
    """Scores a template by cross-validation: each fold is scored by a model that was trained on the other folds.

    model: a template in any form that `fit` takes.
    corpus: gold data.
    folds: how many, at least 2; they differ by one sentence at most, but for groups.
    seed: of the shuffle that deals sentences to folds.
    group: a column; sentences whose first token has the same value there stay in one fold, such as those of a document.
    jobs: how many folds run at once, each in a process of its own; they share the threads. Or what runs them: a
        `concurrent.futures.Executor`, whose workers have this package.
    stage: the training stage to run; by default the last one.
    threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
    registered: the feature functions of yours that the template calls, by name: `{f.name: f}`.
    on_fold: called after each `Fold`, in their order.
    should_stop: polled after each iteration; True ends it all with KeyboardInterrupt.

    Returns a `CrossValidation`; the result does not depend on `jobs` or `threads`. The models see nothing of their
    fold: a state that occurs in it alone is one that its model does not know, which counts as wrong there, and in
    `unseen_labels`. Raises DcrfError where there are fewer sentences or groups than folds, where a process is lost, and
    where `fit` does.

    >>> found = cross_validate("address.dcrf", corpus, folds=3)
    >>> len(found.folds), len(found.predictions["part"])
    (3, 16)
    """
    resolved = as_resolved(model)
    require_arguments(corpus, stage, None, registered, on_fold=on_fold, should_stop=should_stop)
    foundation.require_kind(corpus, Corpus, "corpus", foundation.CORPUS)
    plan = FoldPlan(folds, seed, group, jobs)
    foundation.warn_of(checker_warnings(resolved, corpus, stage=stage, registered=registered), depth=2)
    training = FoldTraining(resolved, corpus, fold_numbers(corpus, plan), stage, threads, registered)
    return training.run(plan, on_fold, should_stop)


def fold_numbers(corpus: Corpus, plan: FoldPlan) -> foundation.Ints:
    """The fold of each sentence, [S], from 0. Groups go, in the order of a shuffle, each to the smallest fold."""
    group_of = np.arange(corpus.num_sentences) if plan.group is None else _groups(corpus, plan.group)
    sizes = np.bincount(group_of)
    many = "s" * (len(sizes) != 1)
    what = f"sentence{many}" if plan.group is None else f"group{many} by `{plan.group}`"
    if len(sizes) < plan.folds:
        message = f"there are {plan.folds} folds for {len(sizes)} {what}"
        remedy = "every fold needs one: take fewer folds, or more data"
        raise foundation.data_error("bad-folds", message, help=remedy, file=corpus.file)
    filled, fold_of = [0] * plan.folds, np.zeros(len(sizes), np.int64)
    for chosen in np.random.default_rng(plan.seed).permutation(len(sizes)).tolist():
        smallest = min(range(plan.folds), key=filled.__getitem__)
        fold_of[chosen] = smallest
        filled[smallest] += int(sizes[chosen])
    return fold_of[group_of]


def _groups(corpus: Corpus, name: str) -> foundation.Ints:
    """The group of each sentence, [S], from 0, by the value of a column at its first token."""
    column = corpus.columns.get(name)
    if not isinstance(column, InternedColumn):
        texts = [name for name, one in corpus.columns.items() if isinstance(one, InternedColumn)]
        message = f"`{name}` is no column of texts, by which sentences could be grouped"
        remedy = foundation.spelling_remedy(
            foundation.did_you_mean(name, texts), f"the columns of texts are {', '.join(texts)}"
        )
        raise foundation.data_error("bad-folds", message, help=remedy, file=corpus.file)
    return np.unique(column.codes[corpus.sentence_off[:-1]], return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True)
class _HeldOut:
    """How a fold ended. tallies, tables: what was counted on it.   texts: by label, predictions for its tokens."""

    fold: Fold
    tallies: Sequence[Tally]
    tables: Mapping[str, LabelTables]
    texts: Mapping[str, list[str]]
    stopped: bool


@dataclass(frozen=True, eq=False)
class FoldTraining:
    """Cross-validation of a template that the checker has approved. fold_of: the fold of each sentence, [S], from 0.
    The other fields are arguments of `cross_validate`.

    on_iteration: called after each iteration of training, but not where folds run in other processes.
    """

    resolved: Resolved
    corpus: Corpus
    fold_of: foundation.Ints
    stage: str | None = None
    threads: int | None = None
    registered: Mapping[str, RegisteredFeature] | None = None
    on_iteration: Callable[[Iteration], None] | None = None

    def run(
        self,
        plan: FoldPlan,
        on_fold: Callable[[Fold], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> CrossValidation:
        numbers = range(plan.folds)
        is_parallel = isinstance(plan.jobs, Executor) or plan.jobs > 1
        here = replace(self, on_iteration=None)  # which could not be sent
        lost = LOST_TRIAL._replace(what="a fold")
        ended = (
            (held for _, held in run_side_by_side(here, numbers, plan.jobs, should_stop, lost))
            if is_parallel
            else (self.run_elsewhere(number, should_stop) for number in numbers)
        )
        every: list[_HeldOut] = []
        for held in ended:
            if held.stopped:
                raise KeyboardInterrupt
            every.append(held)
            if on_fold is not None:
                on_fold(held.fold)
        if len(every) < plan.folds:
            raise KeyboardInterrupt
        return self._together(every, plan.seed)

    def run_elsewhere(self, number: int, should_stop: Callable[[], bool] | None = None) -> _HeldOut:
        """Trains on all folds but this one, and scores on it."""
        begun = time.perf_counter()
        sentences, rest = np.flatnonzero(self.fold_of == number), np.flatnonzero(self.fold_of != number)
        try:
            model = fit(
                self.resolved,
                self.corpus.take(rest),
                stage=self.stage,
                threads=self.threads,
                registered=self.registered,
                on_iteration=self.on_iteration,
                should_stop=should_stop,
                unchecked=True,
            )
        except foundation.DcrfError as error:  # sentences in the message are counted in what is left
            raise foundation.DcrfError(
                [replace(one, message=f"without fold {number + 1}: {one.message}") for one in error.diagnostics]
            ) from None
        judged: list[Evaluation] = []
        tallies = model.scores.tallies_of_parts(
            [self.corpus.take(sentences)],
            threads=self.threads,
            on_remark=lambda _: None,  # nothing to count here is no matter if another fold has it
            on_part=lambda evaluation, _: judged.append(evaluation),
        )
        (evaluation,) = judged
        record = model.record
        seconds = time.perf_counter() - begun
        fold = Fold(
            number + 1,
            tuple(sentences.tolist()),
            values_of(tallies),
            seconds,
            record.iterations,
            record.converged,
            tuple(record.notes),
        )
        tables = label_tables(evaluation, self.resolved.spec.evaluate)
        is_stopped = should_stop is not None and should_stop()
        return _HeldOut(fold, tallies, tables, {y: _texts(evaluation, y) for y in evaluation.gold}, is_stopped)

    def _together(self, every: Sequence[_HeldOut], seed: int) -> CrossValidation:
        """All folds together, predictions in the order of the corpus."""
        tables: dict[str, LabelTables] = {}
        predictions = {y: [NO_LABEL] * self.corpus.num_tokens for y in every[0].texts}
        off = self.corpus.sentence_off.tolist()
        for held in every:
            for label, table in held.tables.items():
                tables[label] = tables[label] + table if label in tables else table
            for label, texts in held.texts.items():
                left = iter(texts)
                for s in held.fold.sentences:
                    for token in range(off[s], off[s + 1]):
                        predictions[label][token] = next(left)
        return CrossValidation(
            stage_chain(self.resolved.spec, self.stage)[-1].label,
            seed,
            tuple(held.fold for held in every),
            values_of(_joined([held.tallies for held in every])),
            tables,
            {label: tuple(texts) for label, texts in predictions.items()},
        )


def _joined(parts: Sequence[Sequence[Tally]]) -> list[Tally]:
    """The tallies of all folds together. A template without metrics takes them by the states of the model, and so may
    score folds differently: what some fold lacks has no sum.
    """
    common = set.intersection(*({tally.name for tally in part} for part in parts))
    tallies: list[Tally] = []
    for part in parts:
        tallies = added(tallies, [tally for tally in part if tally.name in common])
    return tallies


def _texts(evaluation: Evaluation, label: str) -> list[str]:
    states = evaluation.states[label]
    return [states[code] if code >= 0 else NO_LABEL for code in np.asarray(evaluation.predicted[label]).tolist()]
