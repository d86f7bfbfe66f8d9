"""Settings of inference methods and criteria: one frozen class per method, with its defaults and limits.

`INFERENCE` and `CRITERIA` are the tables that the checker and the rooms below share: a method is known if it is listed
in one. Units: tolerances are absolute for messages (normalised to sum 1) and relative for gradients (norm over norm at
the start). Not here: priors (`prior_settings`), optimizers (`optimizer_settings`), and the classes of margins, losses
and risks (`margin_settings`, `loss_settings`, `risk_settings`).
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
    """Belief propagation; `schedule` is the order of the messages (Sutton 2004 §3.2)."""

    method = "bp"
    schedule: Literal["random", "flood", "residual"] = "random"


class AutoSettings(_MessagePassing):
    """`exact` if it is cheap enough, else `trp` with these settings."""

    method = "auto"
    max_table: int = Field(default=2**24, ge=1, le=2**30)


class MeanFieldSettings(_MessagePassing):
    """Naive mean field: a lower bound on log Z. `seed` draws the start; `tolerance` bounds the change of a marginal."""

    method = "mean_field"


class TrwSettings(_MessagePassing):
    """Tree-reweighted sum-product: an upper bound on log Z. `seed` draws the trees; `tolerance`: of log messages."""

    method = "trw"


class GibbsSettings(MethodSettings):
    """Gibbs sampling: keeps `samples` sweeps, every `thin`-th after `burn_in`. No log Z, so it cannot train."""

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


# The cases in which NOTA ("none of the above") is the right outcome of a piece (McCallum & Sutton 2004 §3).


class _Cases(MethodSettings):
    """A case is a wrong joint value of the variables that a piece conditions on. `reach`: `all` of them, or only those
    that differ from the gold in `one` variable.
    """

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
    """The cases whose marginal under the current model exceeds `threshold`, chosen once, after `after` iterations."""

    method = "above"
    positional = ("threshold", "after")
    threshold: float = Field(default=0.2, gt=0, lt=1)
    after: int = Field(default=20, ge=1)


CASES: Table[type[MethodSettings]] = Table(
    "set of cases for `nota`", {s.method: s for s in (AllCases, SampledCases, LikelyCases)}
)


class PieceSettings(CriterionSettings):
    """Σ_π −log p̃(y_π | y_N(π), x): pieces, each normalised over its own variables (McCallum & Sutton 2004 §2).

    nota: the cases in which none of the outcomes is right.   max_cases: the most cases of an instance.   overlap: a
    clique in several pieces counts fully in each (`count`), or its score is divided among them (`divide`).
    """

    offers = ("gradient", "sequences")
    methods = {"nota": CASES}
    nota: MethodSettings | None = None
    max_cases: int = Field(default=4096, ge=1)
    overlap: Literal["count", "divide"] = "count"


class PiecewiseSettings(PieceSettings):
    """The named pieces; without names, one piece per clique, over all its variables."""

    method = "piecewise"
    names = "pieces"
    pieces: tuple[str, ...] = ()


class MemmSettings(PieceSettings):
    """Each clique belongs to the piece of its last variable (`order = reverse`: its first). There is one piece per
    variable, or per position (`by = slice`).
    """

    method = "memm"
    order: Literal["declared", "reverse"] = "declared"
    by: Literal["variable", "slice"] = "variable"


class PseudolikelihoodSettings(PieceSettings):
    """One piece per variable, given all others."""

    method = "pseudolikelihood"


class PwplSettings(PieceSettings):
    """One piece per clique and variable of it, given the clique's other variables."""

    method = "pwpl"


class BidirectionalSettings(PieceSettings):
    """`memm` in both directions."""

    method = "bidirectional"


class RescaleSettings(CriterionSettings):
    """One factor for each subset of the weights, learned by the likelihood (McCallum & Sutton 2004 §3).

    per: what the weights of a subset share. `label` is the state of the clique's last site; `source` that of its first,
    as in the paper.
    """

    method = "rescale"
    takes_prior = False
    per: Literal["clique", "label", "source", "piece"] = "clique"


class PerceptronSettings(CriterionSettings):
    """How far the best labelling scores above the gold one, trained by the perceptron (Collins 2002).

    epochs: passes over the data.   average: whether to keep the mean of the weights after each sequence, which
    generalises better than the last weights.   vote: whether all weight vectors of the training vote on a labelling.
    voters: the largest number of voters, those that survived longest; by default all.
    """

    method = "perceptron"
    offers = ()  # it has a solver of its own
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
    """The likelihood with feature induction: in each round, the crosses that raise it most become features (Lafferty
    §6).

    criteria: the criterion that judges crosses, always `likelihood`.   group: the feature group whose features are
    crossed; by default all features of a clique.   rounds: the largest number of rounds.   per_round: weights added in
    each round.   iterations: of the optimizer before each round.   candidates: the number of crosses that are judged
    for a clique, the most frequent ones.   min_count: the least number of positions at which a cross must fire.
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

    order: whether a label depends on its earlier neighbours or on its later ones.   overlapping: whether a label emits
    all features of its clique, as if they were independent, or only the first one that is read at its position.
    smoothing: the pseudocount added to each emission count.   moves: the pseudocount of transitions; by default equal
    to `smoothing`.   unseen: the probability of a value that is not in the training data: what `smoothing` gives it, or
    (`once`) the mass of all values that occur once.
    """

    method = "hmm"
    offers = ()  # solved by counting
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
    """The settings of one training stage, with every default filled in. `clique_priors` are the settings
    `prior.NAME = …` by clique name, `clique_kernels` those of `kernel.NAME = …`.
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
