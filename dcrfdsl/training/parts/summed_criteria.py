"""Objectives over data in parts: the sum of the terms of all parts, and the penalty once.

    L(λ) = ((L_1 + L_2) + (L_3 + L_4)) + … + P(λ)

The sum is a fixed tree over parts, so its bits do not depend on memory, threads or machines.

`hmsvm` searches all parts at the same weights for the labellings that violate their margins. The dual and the
labellings that it keeps are in the memory of the process that trains; the data is not. Labels that are not known would
have to be completed in each part, and are refused. The perceptron makes a pass over each part from the same weights.
Not here: the terms (`part_terms`), which objectives can be summed (`parted_problem`), the dual
(`optimizers.dual_problem`), how the weights of parts are mixed (`optimizers`).
"""

from __future__ import annotations

import operator
import secrets
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...criteria import CRITERIA, Criterion, Hmsvm, margin_remarks
from ...features import FeatureExtractor
from ...foundation import Floats, data_error
from ...inference import RunStatus, Workers
from ...kernels.optimization import Cuts
from ...optimizers import MarginProblem, PartedPasses, PassOfPart, PerceptronSchedule, concatenate_cuts, perceptron_pass
from ...semantics import LikelihoodSettings, TrainSettings
from .part_files import read_compiled
from .part_runners import PartRunner
from .part_terms import PartSum, Point, StageTerms, add_each, forget_terms, open_term, problem_of_part, term_of_part


class SummedCriterion(Criterion):
    """The sum over all parts, and the penalty."""

    total_status = RunStatus()  # summed over all evaluations
    tightened: Any = None

    def __init__(
        self, terms: StageTerms, runner: PartRunner, workers: Workers, fits: Callable[[str], None],
        extractor: FeatureExtractor | None = None,
    ):  # fmt: skip
        """extractor: of the features, for priors that ask what a weight stands for."""
        self._terms, self._runner, self._fits, self._extractor = terms, runner, fits, extractor
        self._count, self._sharpened = len(terms.paths), 0
        self.num_weights, self.workers = terms.problem.parameters.num_weights, workers
        first = self._first(terms.joint)  # what is the same in all parts, penalty included
        self.penalty, self.inference_description = first.penalty, first.inference_description
        self.is_steep = first.is_steep
        weakref.finalize(self, forget_terms, terms.key)  # also where training ends with an error
        self._has_gap = first.gap(np.zeros(self.num_weights)) is not None
        self._take_from(first)

    def _take_from(self, first: Criterion) -> None:
        """Takes what is the same in all parts, and subclasses need, from the criterion of the first part."""

    def _first(self, settings: TrainSettings[Any]) -> Criterion:
        part = read_compiled(self._terms.paths[0])
        problem = replace(problem_of_part(self._terms, part, 0), extractor=self._extractor)
        return CRITERIA[self._terms.method](problem, settings)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        total: PartSum = self._total(self._terms, weights)
        self.total_status = self.total_status + total.status
        self._has_gap &= not total.hidden
        gradient = total.gradient if total.gradient.flags.writeable else total.gradient.copy()
        value = total.value
        if self.penalty is not None:
            value += self.penalty.add(weights, gradient)
        return value, gradient

    def _total(self, terms: StageTerms, weights: Floats) -> PartSum:
        point = Point(weights, self._sharpened)
        total = self._runner.total(term_of_part, terms, self._count, point, add_each)
        self._fits("evaluating the objective")
        return total

    def start(self, weights: Floats) -> Floats:
        """Where training begins; `mce` begins at 0 with a small step down the likelihood of all parts."""
        if self._terms.method != "mce" or weights.any():
            return weights
        settings = self._terms.settings.model_copy(update={"criterion": LikelihoodSettings()})
        likelihood = replace(self._terms, key=secrets.token_hex(8), method="likelihood", settings=settings)
        downhill = self._total(likelihood, weights).gradient
        self._runner.everywhere(forget_terms, likelihood.key)
        return self.downhill_from_zero(downhill)

    def gap(self, gradient: Floats) -> float | None:
        """A bound on the distance from the minimum; None where labels of some part are summed out."""
        return self.penalty.gap(gradient) if self._has_gap and self.penalty is not None else None

    def tighten_tolerance(self) -> bool:
        first = self._first(self._terms.without_prior)
        able = [first.tighten_tolerance() for _ in range(self._sharpened + 1)][-1]
        self._sharpened += able
        self.tightened = first.tightened
        return able

    def remembered(self) -> dict[str, Any]:
        return {**super().remembered(), "sharpened": self._sharpened}

    def recall(self, saved: Mapping[str, Any]) -> None:
        super().recall(saved)
        self._sharpened = saved["sharpened"]

    def close(self) -> None:
        self._runner.everywhere(forget_terms, self._terms.key)


class FoundCuts(NamedTuple):
    """What parts found: cuts by sequence, how inference ended, and the sequences with more labellings than listed."""

    cuts: tuple[Cuts, ...]
    status: RunStatus
    full: int


def limits_of_part(shared: StageTerms, number: int, _: None) -> tuple[Floats, ...]:
    """U of the sequences of each part, [S]; here of one."""
    return (_margins(shared, number).limit,)


def cuts_of_part(shared: StageTerms, number: int, scores: Floats) -> FoundCuts:
    """The most violated cuts of a part at the weights `scores` [W]."""
    term = _margins(shared, number)
    found = tuple(term.find_cuts(np.asarray(scores), first, last) for first, last in term.runs)
    return FoundCuts(found, term.total_status, term.full)


def _margins(shared: StageTerms, number: int) -> Hmsvm:
    term = open_term(shared, number)
    assert isinstance(term, Hmsvm)
    _refuse_unknown(term, shared.problem.stage)
    return term


def _refuse_unknown(term: Hmsvm, stage: str) -> None:
    if term.clamped is not None:
        message = f"stage `{stage}` cannot train on data in parts: `hmsvm` completes labels that are not known"
        remedy = "give all labels, or train on data in memory, or by `likelihood`"
        raise data_error("no-sum-over-parts", message, help=remedy)


class SummedMargins(SummedCriterion, MarginProblem):
    """The margin problem of all parts, with one run of all sequences."""

    solver = "working_set"

    def _take_from(self, first: Criterion) -> None:
        assert isinstance(first, Hmsvm)
        _refuse_unknown(first, self._terms.problem.stage)
        self.metric, self.tolerance, self.each_counts = first.metric, first.tolerance, first.each_counts
        self._approximate, self._full = first.approximate, 0
        limits = self._runner.total(limits_of_part, self._terms, self._count, None, operator.add)
        self.limit = np.concatenate(limits)
        self.runs = [(0, len(self.limit))]

    def margin_problem(self) -> MarginProblem:
        return self

    def find_cuts(self, scores: Floats, first: int, last: int) -> Cuts:
        """The most violated labellings of all sequences, which are one run."""
        found: FoundCuts = self._runner.total(cuts_of_part, self._terms, self._count, scores, add_each)
        self.total_status, self._full = self.total_status + found.status, found.full
        self._fits("keeping the labellings that violate their margins")
        return concatenate_cuts(found.cuts)

    def metric_times(self, point: Floats) -> Floats:
        """The point itself: the inner product is the ordinary one."""
        return point

    def complete(self, weights: Floats) -> bool:
        """False: every label is known, so there is nothing to complete."""
        return False

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The primal at `weights` [W], and a subgradient."""
        total: PartSum = self._total(self._terms, weights)
        again = self._count - 1  # the term of each part has the norm of the weights
        return total.value - 0.5 * again * float(weights @ weights), total.gradient - again * weights

    @property
    def remarks(self) -> tuple[str, ...]:
        return margin_remarks(self.inference_description, self._approximate, self._full, len(self.limit))


class PassPoint(NamedTuple):
    """Where a pass begins: weights [W], its number, and the seed of all passes."""

    weights: Floats
    number: int
    seed: int


def pass_of_part(shared: StageTerms, number: int, point: PassPoint) -> PassOfPart:
    """A pass over a part; its order depends on the numbers of the pass and of the part alone."""
    return perceptron_pass(open_term(shared, number), np.asarray(point.weights), (point.seed, point.number, number))


class SummedPerceptron(SummedCriterion, PartedPasses):
    """The loss of all parts."""

    solver = "mixed_perceptron"
    schedule: PerceptronSchedule

    def _take_from(self, first: Criterion) -> None:
        schedule = first.schedule
        assert schedule is not None
        self.schedule = schedule

    def parted_passes(self) -> PartedPasses:
        return self

    def one_pass(self, weights: Floats, number: int) -> PassOfPart:
        point = PassPoint(weights, number, self.schedule.seed)
        done: PassOfPart = self._runner.total(pass_of_part, self._terms, self._count, point, add_each)
        self._fits("a pass of the perceptron")
        return done
