"""`hmsvm` over data in parts: all are searched at the same weights for the labellings that violate their margins.

The dual and the labellings that it keeps are in the memory of the process that trains; the data is not. A pass is one
search of all parts, so the result does not depend on where parts are searched. Labels that are not known would have to
be completed in each part, and are refused. Not here: the dual (`optimizers.dual_problem`), the search
(`criteria.margin`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...criteria import Hmsvm, margin_remarks
from ...features import FeatureExtractor
from ...foundation import DcrfError, Diagnostic, Floats
from ...inference import RunStatus, Workers
from ...kernels.optimization import Cuts
from ...optimizers import MarginProblem, concatenate_cuts
from .part_objectives import PartSum, StageTerms, open_term
from .part_trees import PartRunner
from .summed_criterion import SummedCriterion


class FoundCuts(NamedTuple):
    """What parts found: cuts by sequence, how inference ended, and the sequences with more labellings than listed."""

    cuts: tuple[Cuts, ...]
    status: RunStatus
    full: int


@dataclass(frozen=True)
class MarginLimits:
    """U of the sequences of parts, [S]."""

    limit: Floats


def limits_of_part(shared: StageTerms, number: int, _: None) -> MarginLimits:
    """U of the sequences of a part."""
    return MarginLimits(_margins(shared, number).limit)


def join_limits(one: MarginLimits, other: MarginLimits) -> MarginLimits:
    """Those of consecutive parts."""
    return MarginLimits(np.concatenate([one.limit, other.limit]))


def cuts_of_part(shared: StageTerms, number: int, scores: Floats) -> FoundCuts:
    """The most violated cuts of a part at the weights `scores` [W]."""
    term = _margins(shared, number)
    found = tuple(term.find_cuts(np.asarray(scores), first, last) for first, last in term.runs)
    return FoundCuts(found, term.total_status, term.full)


def join_found(one: FoundCuts, other: FoundCuts) -> FoundCuts:
    """Those of consecutive parts."""
    return FoundCuts(one.cuts + other.cuts, one.status + other.status, one.full + other.full)


def _margins(shared: StageTerms, number: int) -> Hmsvm:
    term = open_term(shared, number)
    assert isinstance(term, Hmsvm)
    _refuse_unknown(term, shared.stage)
    return term


def _refuse_unknown(term: Hmsvm, stage: str) -> None:
    if term.clamped is not None:
        message = f"stage `{stage}` cannot train on data in parts: `hmsvm` completes labels that are not known"
        remedy = "give all labels, or train on data in memory, or by `likelihood`"
        raise DcrfError(Diagnostic("no-sum-over-parts", message, help=remedy))


class SummedMargins(SummedCriterion, MarginProblem):
    """The margin problem of all parts, with one run of all sequences."""

    solver = "working_set"

    def __init__(
        self, terms: StageTerms, runner: PartRunner, workers: Workers, fits: Callable[[str], None],
        extractor: FeatureExtractor | None = None,
    ):  # fmt: skip
        super().__init__(terms, runner, workers, fits, extractor)
        first = self._first(terms.joint)
        assert isinstance(first, Hmsvm)
        _refuse_unknown(first, terms.stage)
        self.metric, self.tolerance, self.each_counts = first.metric, first.tolerance, first.each_counts
        self._approximate, self._full = first.approximate, 0
        limits: MarginLimits = runner.total(limits_of_part, terms, self._count, None, join_limits)
        self.limit = limits.limit
        self.runs = [(0, len(self.limit))]

    def margin_problem(self) -> MarginProblem:
        return self

    def find_cuts(self, scores: Floats, first: int, last: int) -> Cuts:
        """See `MarginProblem.find_cuts`; the one run has all sequences."""
        found: FoundCuts = self._runner.total(cuts_of_part, self._terms, self._count, scores, join_found)
        self.total_status, self._full = self.total_status + found.status, found.full
        self._fits("keeping the labellings that violate their margins")
        return concatenate_cuts(found.cuts)

    def metric_times(self, point: Floats) -> Floats:
        """See `MarginProblem.metric_times`: the ordinary inner product."""
        return point

    def complete(self, weights: Floats) -> bool:
        """See `MarginProblem.complete`: every label is known."""
        return False

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The primal at `weights` [W], and a subgradient."""
        total: PartSum = self._total(self._terms, weights)
        again = self._count - 1  # the term of each part has the norm of the weights
        return total.value - 0.5 * again * float(weights @ weights), total.gradient - again * weights

    @property
    def remarks(self) -> tuple[str, ...]:
        return margin_remarks(self.inference_description, self._approximate, self._full, len(self.limit))
