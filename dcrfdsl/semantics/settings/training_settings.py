"""Settings of every method that the language can name: one frozen class a method, defaults and limits included.

`INFERENCE`, `PRIORS`, `OPTIMIZERS` and `CRITERIA` are the tables that the checker and the rooms below share: a name is
known if it stands here. Units: tolerances are absolute for messages (normalised to sum 1) and relative for gradients
(norm over norm at the start); variances are in weight units squared. The classes of priors and optimizers are in
`prior_settings` and `optimizer_settings`.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from pydantic import Field

from ...errors import Table
from ..schema import Frozen
from .loss_settings import MceSettings
from .margin_settings import HmsvmSettings
from .method_settings import CriterionSettings, MethodSettings, OptimizerSettings
from .optimizer_settings import (
    OPTIMIZERS,
    AutoOptimizer,
    CgSettings,
    GpdSettings,
    IisSettings,
    LbfgsSettings,
    OnlineSettings,
    OwlqnSettings,
    QuickpropSettings,
    SgdSettings,
    StoppingSettings,
)
from .prior_settings import PRIORS, ElasticNetPrior, GaussianPrior, LaplacePrior, LphiPrior, NoPrior, Prior
from .risk_settings import AdaboostSettings, ExponentialSettings, MarginalSettings

__all__ = [
    "CRITERIA", "DECODINGS", "INFERENCE", "OPTIMIZERS", "PRIORS", "AutoOptimizer", "AutoSettings", "BpSettings",
    "CgSettings", "ElasticNetPrior", "ExactSettings", "GaussianPrior", "GibbsSettings", "GpdSettings", "HmmSettings",
    "IisSettings", "InduceSettings", "LaplacePrior", "LbfgsSettings", "LikelihoodSettings", "LphiPrior",
    "MeanFieldSettings", "MethodSettings", "NoPrior", "OnlineSettings", "OwlqnSettings", "PerceptronSettings", "Prior",
    "QuickpropSettings", "SgdSettings", "StoppingSettings", "TrainSettings", "TrpSettings", "TrwSettings",
]  # fmt: skip


# inference ------------------------------------------------------------------------------------------------------


class ExactSettings(MethodSettings):
    """Variable elimination; `max_table` is the largest table (entries) that it may build."""

    method = "exact"
    max_table: int = Field(default=2**24, ge=1, le=2**30)


class _MessagePassing(MethodSettings):
    tolerance: float = Field(default=1e-3, gt=0, lt=1)
    max_iterations: int = Field(default=1000, ge=1)
    damping: float = Field(default=0.0, ge=0, lt=1)
    seed: int = Field(default=0, ge=0)


class TrpSettings(_MessagePassing):
    """Tree-based reparameterization: messages along random spanning forests (Sutton 2004 §3.2)."""

    method = "trp"


class BpSettings(_MessagePassing):
    """Belief propagation; `schedule` is the order in which messages go (Sutton 2004 §3.2)."""

    method = "bp"
    schedule: Literal["random", "flood", "residual"] = "random"


class AutoSettings(_MessagePassing):
    """`exact` where it is cheap enough, else `trp` with these settings."""

    method = "auto"
    max_table: int = Field(default=2**24, ge=1, le=2**30)


class MeanFieldSettings(_MessagePassing):
    """Naive mean field: a lower bound on log Z. `seed` draws the start, `tolerance` is a change of a marginal."""

    method = "mean_field"


class TrwSettings(_MessagePassing):
    """Tree-reweighted sum-product: an upper bound on log Z. `seed` draws the trees; `tolerance` is of log messages."""

    method = "trw"


class GibbsSettings(MethodSettings):
    """Gibbs sampling: `samples` sweeps are kept, every `thin`-th after `burn_in`. It has no log Z, so cannot train."""

    method = "gibbs"
    gives_log_z = False
    samples: int = Field(default=1000, ge=1)
    burn_in: int = Field(default=100, ge=0)
    thin: int = Field(default=1, ge=1)
    seed: int = Field(default=0, ge=0)


# criteria -------------------------------------------------------------------------------------------------------


class LikelihoodSettings(CriterionSettings):
    """−log p(y|x) summed over sequences (Sutton 2004 eq. 7)."""

    method = "likelihood"
    offers = ("gradient", "sequences", "counts")


# What is right where NOTA is right (McCallum & Sutton 2004 §3).


class _Cases(MethodSettings):
    """`reach`: every joint value of what a piece conditions on, or those that differ from the gold in one variable."""

    reach: Literal["all", "one"] = "all"


class AllCases(_Cases):
    """Every case."""

    method = "all"


class SampledCases(_Cases):
    """Each case with probability `rate`, drawn once."""

    method = "sampled"
    positional = ("rate",)
    rate: float = Field(default=0.1, gt=0, le=1)
    seed: int = Field(default=0, ge=0)


class LikelyCases(_Cases):
    """After `after` iterations those whose marginal under the model at hand is above `threshold`, chosen once."""

    method = "above"
    positional = ("threshold", "after")
    threshold: float = Field(default=0.2, gt=0, lt=1)
    after: int = Field(default=20, ge=1)


CASES: Table[type[MethodSettings]] = Table(
    "set of cases for `nota`", {s.method: s for s in (AllCases, SampledCases, LikelyCases)}
)


class PieceSettings(CriterionSettings):
    """Σ_π −log p̃(y_π | y_N(π), x): pieces, each normalised over its own variables (McCallum & Sutton 2004 §2).

    nota: cases in which no outcome is right.   max_cases: of an instance.   overlap: whether a clique that is in
    several pieces counts in each, or is divided among them.
    """

    offers = ("gradient", "sequences")
    methods = {"nota": CASES}
    nota: MethodSettings | None = None
    max_cases: int = Field(default=4096, ge=1)
    overlap: Literal["count", "divide"] = "count"


class PiecewiseSettings(PieceSettings):
    """The pieces that are named; without names, one a clique over all its variables."""

    method = "piecewise"
    names = "pieces"
    pieces: tuple[str, ...] = ()


class MemmSettings(PieceSettings):
    """Each clique in the piece of its last variable, or its first; a piece a variable, or a position."""

    method = "memm"
    order: Literal["declared", "reverse"] = "declared"
    by: Literal["variable", "slice"] = "variable"


class PseudolikelihoodSettings(PieceSettings):
    """Each variable given all others."""

    method = "pseudolikelihood"


class PwplSettings(PieceSettings):
    """Of each clique each variable, given the others."""

    method = "pwpl"


class BidirectionalSettings(PieceSettings):
    """`memm` in both directions."""

    method = "bidirectional"


class RescaleSettings(CriterionSettings):
    """A factor for the weights of each subset, learned by the likelihood (McCallum & Sutton 2004 §3).

    label: the state of the clique's last site; source: of its first, as in the paper.
    """

    method = "rescale"
    takes_prior = False
    per: Literal["clique", "label", "source", "piece"] = "clique"


class PerceptronSettings(CriterionSettings):
    """How far the best labelling scores above the gold one; trained by the steps of the perceptron (Collins 2002).

    `epochs`: passes over the data; `average`: whether the mean of the weights after each sequence is kept, which errs
    less on other data, or the last ones.   vote: labellings are elected by all weights that training went through.
    voters: how many of them at most, those that lasted longest; by default all.
    """

    method = "perceptron"
    offers = ()  # it brings steps of its own
    takes_prior = False
    margin = True
    epochs: int = Field(default=10, ge=1)
    average: bool = True
    vote: bool = False
    voters: int | None = Field(default=None, ge=1)

    @property
    def passes(self) -> tuple[int, int]:
        return max(1, self.epochs // 2), self.epochs


class InduceSettings(CriterionSettings):
    """The likelihood, after rounds in which the crosses of features that raise it most become features (Lafferty §6).

    criteria: `likelihood`, by which crosses are judged.   group: the feature group whose features are crossed, by
    default all of a clique's.   rounds: how many at most.   per_round: weights that enter in each.   iterations: of the
    optimizer before each.   candidates: crosses of a clique's features that are looked at, the most frequent ones.
    min_count: positions where a cross fires at least.
    """

    method = "induce"
    names = "criteria"
    criteria: tuple[str, ...] = ()
    group: str | None = None
    rounds: int = Field(default=10, ge=1)
    per_round: int = Field(default=500, ge=1)
    iterations: int = Field(default=10, ge=1)
    candidates: int = Field(default=100_000, ge=1)
    min_count: int = Field(default=3, ge=1)


class HmmSettings(CriterionSettings):
    """−log p(y, x) of a hidden Markov model, minimised by counting (Altun 2003, Table 1; Lafferty 2001, §5).

    order: whether a label is given its earlier neighbours or its later ones.   overlapping: whether it emits the first
    feature of its clique that is read at its position, or all of them, as if they were independent.   smoothing: what
    is added to each count.   moves: the same for moves from label to label, by default as much.   unseen: whether a
    value that training does not show has the probability that smoothing gives it, or as much as those have together
    that it shows once.
    """

    method = "hmm"
    offers = ()  # it counts
    takes_prior = False
    order: Literal["declared", "reverse"] = "declared"
    overlapping: bool = False
    smoothing: float = Field(default=0.1, gt=0)
    moves: float | None = Field(default=None, gt=0)
    unseen: Literal["smoothing", "once"] = "smoothing"

    @property
    def passes(self) -> tuple[int, int]:
        return 1, 1


INFERENCE: Table[type[MethodSettings]] = Table(
    "inference method",
    {
        s.method: s
        for s in (ExactSettings, TrpSettings, BpSettings, AutoSettings, MeanFieldSettings, TrwSettings, GibbsSettings)
    },
    {
        "loopy": "bp",
        "belief_propagation": "bp",
        "viterbi": "exact",
        "junction_tree": "exact",
        "lbp": "bp",
        "forward_backward": "exact",
    },
)
CRITERIA: Table[type[CriterionSettings]] = Table(
    "training criterion",
    {
        s.method: s
        for s in (
            LikelihoodSettings, PiecewiseSettings, MemmSettings, PseudolikelihoodSettings, PwplSettings,
            BidirectionalSettings, RescaleSettings, PerceptronSettings, MceSettings, InduceSettings, MarginalSettings,
            ExponentialSettings, AdaboostSettings, HmsvmSettings, HmmSettings,
        )
    },
    {"crf": "likelihood", "ml": "likelihood", "map": "likelihood", "svm": "hmsvm", "boosting": "adaboost"},
)  # fmt: skip
DECODINGS: tuple[str, ...] = ("joint", "marginal", "local")


Chosen = TypeVar("Chosen", bound=CriterionSettings)


class TrainSettings(Frozen, Generic[Chosen]):
    """A training stage of one criterion, settled: every default filled in. `clique_priors` are `prior.NAME = …` by
    clique name, and `clique_kernels` `kernel.NAME = …`.
    """

    criterion: Chosen
    prior: Prior = GaussianPrior()
    clique_priors: dict[str, Prior] = {}
    clique_kernels: dict[str, MethodSettings] = {}
    optimizer: OptimizerSettings = AutoOptimizer()
    infer: MethodSettings | None = None
    decode: str | None = None
    restarts: int = Field(default=1, ge=1)
    seed: int = Field(default=0, ge=0)
    patience: int | None = Field(default=None, ge=1)
