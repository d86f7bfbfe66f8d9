"""An objective over data in parts: the sum of the terms of all parts, and the penalty once.

    L(λ) = ((L_1 + L_2) + (L_3 + L_4)) + … + P(λ)

The sum is a fixed tree over parts, so its bits do not depend on memory, threads or machines. Batches of sentences,
schedules and duals need the data itself, so what trains by them is refused. Not here: the terms (`part_objectives`).
"""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...criteria import CRITERIA, Criterion, Supervision
from ...foundation import DcrfError, Diagnostic, Floats
from ...graph import Gold
from ...inference import RunStatus, Workers
from ...semantics import (
    PIECES,
    LikelyCases,
    MceSettings,
    MeasureLoss,
    ModelSpec,
    PieceSettings,
    TrainSettings,
    stage_chain,
    stage_settings,
)
from .learning import LearnedParts
from .part_files import read_compiled
from .part_objectives import PartSum, Point, StageTerms, add_terms, forget_terms, supervision_of, term_of_part
from .part_trees import PartRunner

__all__ = ["PartedSupervision", "SummedCriterion", "empty_supervision", "refuse_unsummed", "refuse_unsummed_stages"]

SUMMED = ("likelihood", "mce", "marginal", "exponential", *PIECES)  # criteria that are sums over sentences
FULL = ("auto", "lbfgs", "owlqn", "cg")  # optimizers that need value and gradient alone
FIRST_STEP = 0.1  # the largest change of a weight in a first step from 0, as in `criteria.mce`


def refuse_unsummed(label: str, settings: TrainSettings[Any]) -> None:
    """DcrfError unless the objective of a stage is a sum over sentences, and its optimizer takes value and gradient."""
    criterion, optimizer = settings.criterion, settings.optimizer
    is_likely = isinstance(criterion, PieceSettings) and isinstance(criterion.nota, LikelyCases)
    if criterion.method not in SUMMED:
        what = f"`{criterion.method}` is no sum over sentences of value and gradient"
    elif isinstance(criterion, MceSettings) and isinstance(criterion.loss, MeasureLoss):
        what = f"`{criterion.loss.method}` is a ratio of counts, no sum over sentences"
    elif is_likely:
        what = "cases of NOTA that a model chooses need all data at once"
    elif settings.clique_kernels:
        what = "an observation kernel compares all pairs of positions"
    elif optimizer.method not in FULL:
        what = f"`{optimizer.method}` steps after single sentences or needs more than value and gradient"
    else:
        return
    message = f"stage `{label}` cannot train on data in parts: {what}"
    remedy = (
        f"train by {', '.join(f'`{name}`' for name in SUMMED[:4])} or pieces with {', '.join(f'`{n}`' for n in FULL)}, "
        "or on data in memory: one file without `--memory`, `--cache`, `--workers` and `--cluster`"
    )
    raise DcrfError(Diagnostic("no-sum-over-parts", message, help=remedy))


def refuse_unsummed_stages(spec: ModelSpec, stage: str | None) -> None:
    """As `refuse_unsummed` for a stage and those before it; by default for the last one."""
    for entry in stage_chain(spec, stage):
        refuse_unsummed(entry.label, stage_settings(spec, entry.label))


@dataclass(frozen=True, eq=False)
class PartedSupervision(Supervision):
    """Training data in parts: the fields of data are empty.   learned: its compiled parts.   most_bytes: of memory."""

    learned: LearnedParts | None = None
    runner: PartRunner | None = None
    fits: Callable[[str], None] = field(default=lambda doing: None)

    def summed(self, settings: TrainSettings[Any]) -> SummedCriterion:
        """The criterion of a stage. DcrfError where it is no sum over sentences."""
        refuse_unsummed(self.stage, settings)
        assert self.learned is not None and self.runner is not None
        paths = self.learned.paths
        terms = StageTerms(
            secrets.token_hex(8), paths[0].parent if self.runner.threads else None, paths, self.spec, self.graph,
            self.parameters, self.states, settings.criterion.method, settings, self.stage, self.weights, self.start,
            self.earlier, self.runner.threads,
        )  # fmt: skip
        return SummedCriterion(terms, self.runner, self.workers, self.fits)


def empty_supervision(
    learned: LearnedParts, workers: Workers, runner: PartRunner, fits: Callable[[str], None]
) -> PartedSupervision:
    """The training data of a model with weights of 0."""
    model = learned.model
    states = tuple(model.states[name] for name in model.graph.variables)
    nothing = Gold(np.zeros((len(states), 0), np.int32), ((),) * len(states))
    return PartedSupervision(
        model.spec, model.graph, model.parameters, (), {}, np.zeros(1, np.int64), nothing,
        np.zeros(model.num_weights), workers, states=states, extractor=model.extractor, learned=learned,
        runner=runner, fits=fits,
    )  # fmt: skip


class SummedCriterion(Criterion):
    """The sum over all parts, and the penalty."""

    total_status = RunStatus()  # summed over all evaluations

    def __init__(self, terms: StageTerms, runner: PartRunner, workers: Workers, fits: Callable[[str], None]):
        self._terms, self._runner, self._fits = terms, runner, fits
        self._count, self._sharpened = len(terms.paths), 0
        self.num_weights, self.workers = terms.parameters.num_weights, workers
        first = self._first(terms.joint)  # what is the same in all parts, penalty included
        self.penalty, self.inference_description = first.penalty, first.inference_description
        self.is_steep = first.is_steep
        weakref.finalize(self, forget_terms, terms.key)  # also where training ends with an error
        self._has_gap = first.gap(np.zeros(self.num_weights)) is not None

    def _first(self, settings: TrainSettings[Any]) -> Criterion:
        part = read_compiled(self._terms.paths[0])
        return CRITERIA[self._terms.method](supervision_of(self._terms, part), settings)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The sum over all parts with the penalty, and its gradient [W]."""
        total: PartSum = self._total(self._terms, weights)
        self.total_status = self.total_status + total.status
        self._has_gap &= not total.is_hidden
        gradient = total.gradient if total.gradient.flags.writeable else total.gradient.copy()
        value = total.value
        if self.penalty is not None:
            value += self.penalty.add(weights, gradient)
        return value, gradient

    def _total(self, terms: StageTerms, weights: Floats) -> PartSum:
        point = Point(weights, self._sharpened)
        total = self._runner.total(term_of_part, terms, self._count, point, add_terms)
        self._fits("evaluating the objective")
        return total

    def start(self, weights: Floats) -> Floats:
        """As `Criterion.start`; `mce` begins at 0 with a small step down the likelihood of all parts."""
        if self._terms.method != "mce" or weights.any():
            return weights
        likelihood = replace(self._terms, key=secrets.token_hex(8), method="likelihood")
        downhill = self._total(likelihood, weights).gradient
        self._runner.everywhere(forget_terms, likelihood.key)
        return weights - FIRST_STEP / max(1.0, float(np.abs(downhill).max(initial=0.0))) * downhill

    def gap(self, gradient: Floats) -> float | None:
        """See `Likelihood.gap`; None where labels of some part are summed out."""
        return self.penalty.gap(gradient) if self._has_gap and self.penalty is not None else None

    def sharpen(self) -> bool:
        """Asks inference for tighter convergence in every part; False if it is as exact as it gets."""
        first = self._first(self._terms.without_prior)
        able = [first.sharpen() for _ in range(self._sharpened + 1)][-1]
        self._sharpened += able
        self._tightened = first.tightened
        return able

    _tightened: Any = None

    @property
    def tightened(self) -> Any:
        return self._tightened

    def remembered(self) -> dict[str, Any]:
        return {**super().remembered(), "sharpened": self._sharpened}

    def recall(self, saved: Mapping[str, Any]) -> None:
        super().recall(saved)
        self._sharpened = saved["sharpened"]

    def close(self) -> None:
        """Frees the layouts of the parts."""
        self._runner.everywhere(forget_terms, self._terms.key)
