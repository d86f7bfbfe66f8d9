"""The cost of a pass of every criterion on coupled chains, beside a likelihood pass on the same data."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from figures import Figure, Target, seconds_of, times_faster
from numpy.typing import NDArray
from work import FACTORIAL, ROUNDS, SMOKE, corpus_of, criterion_of, resolved_of

from dcrfdsl.criteria.margin_objective import Hmsvm
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.semantics.settings.loss_settings import LOSSES, HammingLoss, HmsvmSettings, MceSettings, SegmentsLoss
from dcrfdsl.semantics.settings.method_settings import CriterionSettings
from dcrfdsl.semantics.settings.prior_settings import GaussianPrior
from dcrfdsl.semantics.settings.training_settings import (
    ExponentialSettings,
    LikelihoodSettings,
    MarginalSettings,
    PerceptronSettings,
    TrainSettings,
)
from dcrfdsl.training.pipeline import fit

SENTENCES = 50 if SMOKE else 400
SEGMENTS, TAGS = (("fscore", ("chunk",)), ("label", ("pos", "chunk")))


def _mce(loss: tuple[str, tuple[str, ...]]) -> MceSettings:
    return MceSettings(loss=LOSSES[loss[0]].model_validate({"labels": loss[1]}))


CASES: dict[str, tuple[CriterionSettings, Target]] = {
    "mce, sentences": (MceSettings(), times_faster(1 / 2.5)),
    "mce, sentences, psi = 1": (MceSettings(psi=1.0), times_faster(1 / 2.5)),
    "mce, segments": (_mce(SEGMENTS), times_faster(1 / 2.5)),
    "mce, tags": (_mce(TAGS), times_faster(1 / 2.5)),
    "marginal": (MarginalSettings(), times_faster(1 / 1.5)),
    "hmsvm": (HmsvmSettings(), times_faster(1 / 4)),
    "hmsvm, hamming": (HmsvmSettings(loss=HammingLoss()), times_faster(1 / 4)),
    "hmsvm, segments": (HmsvmSettings(loss=SegmentsLoss(labels=("chunk",))), times_faster(1 / 4)),
    "hmsvm, a slack a labelling": (HmsvmSettings(slack="labelling"), times_faster(1 / 8)),
    "exponential": (ExponentialSettings(weight="uniform"), times_faster(1 / 6)),
    "perceptron": (PerceptronSettings(), times_faster(1)),
}


def coupled_criteria() -> Iterator[Figure]:
    """Every criterion on the factorial model, 400 sentences: one pass against a pass of the likelihood, one thread."""
    corpus = corpus_of(FACTORIAL).slice(0, SENTENCES)
    weights = fit(resolved_of(FACTORIAL), corpus, threads=1).weights
    likelihood = seconds_of(_pass(LikelihoodSettings(), corpus, weights), ROUNDS)
    for name, (criterion, target) in CASES.items():
        yield Figure(
            f"factorial, pass of {name}", seconds_of(_pass(criterion, corpus, weights), ROUNDS), "s",
            f"value and gradient (hmsvm: a search for violated labellings) on {SENTENCES} sentences at the weights of "
            "the CRF, exact, one thread; peer: our own likelihood pass",
            target, likelihood,
        )  # fmt: skip


def _pass(criterion: CriterionSettings, corpus: Corpus, weights: NDArray[np.float64]) -> Callable[[], object]:
    settings = TrainSettings(criterion=criterion, infer=ExactSettings(), prior=GaussianPrior(variance=10.0))
    objective = criterion_of(FACTORIAL, corpus, settings, threads=1)
    if isinstance(objective, Hmsvm):
        return lambda: [objective.find_cuts(weights, first, last) for first, last in objective.runs]
    return lambda: objective.value_and_gradient(weights)
