"""Settings of inference methods and criteria: one frozen class per method, with its defaults and limits.

`INFERENCE` and `CRITERIA` are the tables that the checker and the rooms below share: a method is known if it is listed
in one. Units: tolerances are absolute for messages (normalised to sum 1) and relative for gradients (norm over norm at
the start). Not here: priors (`prior_settings`), optimizers (`optimizer_settings`), and the classes of margins, losses
and risks (`margin_settings`, `loss_settings`, `risk_settings`).
"""

from __future__ import annotations

import math
from typing import Any, Generic, Literal, TypeVar

from pydantic import model_validator

from ...foundation import Table
from ..schema import Frozen
from .expectation_settings import EpSettings
from .loss_settings import MceSettings
from .margin_settings import HmsvmSettings
from .method_settings import LARGEST, LEAST, CriterionSettings, MethodSettings, OptimizerSettings, setting
from .nota_settings import CASES
from .optimizer_settings import (
    OPTIMIZERS as OPTIMIZERS,
    AutoOptimizer as AutoOptimizer,
    CgSettings as CgSettings,
    GpdSettings as GpdSettings,
    IisSettings as IisSettings,
    LbfgsSettings as LbfgsSettings,
    OnlineSettings as OnlineSettings,
    OwlqnSettings as OwlqnSettings,
    QuickpropSettings as QuickpropSettings,
    SgdSettings as SgdSettings,
    StoppingSettings as StoppingSettings,
)
from .prior_settings import (
    PRIORS as PRIORS,
    ElasticNetPrior as ElasticNetPrior,
    GaussianPrior as GaussianPrior,
    LaplacePrior as LaplacePrior,
    LphiPrior as LphiPrior,
    NoPrior as NoPrior,
    Prior as Prior,
)
from .pruned_settings import PrunedSettings as PrunedSettings
from .region_settings import GbpSettings as GbpSettings
from .risk_settings import AdaboostSettings, ExponentialSettings, MarginalSettings

# inference ------------------------------------------------------------------------------------------------------


class ExactSettings(MethodSettings):
    """Variable elimination: exact marginals, log Z and labellings, on any graph whose tables fit."""

    method = "exact"
    source = "Sutton 2004, §3.1"
    example = "infer exact"
    max_table: int = setting(
        2**24, "the largest table that it may build; a graph that needs a larger one is refused before anything runs",
        unit="entries, 8 bytes each", ge=1, le=2**30,
    )  # fmt: skip


class _MessagePassing(MethodSettings):
    """Base of methods that send messages, or update marginals, until they rest."""

    tolerance: float = setting(1e-3, "it has converged where no entry of a message, which sums to 1, moves by as much",
                               unit="absolute", gt=0, lt=1)  # fmt: skip
    max_iterations: int = setting(1000, "it ends after so many iterations, and says so if it did not converge",
                                  unit="iterations", ge=1)  # fmt: skip
    damping: float = setting(0.0, "the share of the old message that a new one keeps", unit="share", ge=0, lt=1)
    seed: int = setting(0, "draws spanning trees, or the order of messages", ge=0)


class _TreePassing(_MessagePassing):
    """Base of methods that send messages along random spanning trees."""

    trees: Literal["random", "cover"] = setting(
        "cover", "the spanning tree of each iteration: `random`; or `cover`, which is random too, but edges come first "
        "that have not been in a tree for the longest, never-used ones before all others",
    )  # fmt: skip


class TrpSettings(_TreePassing):
    """Tree-based reparameterization: messages along a new random tree in each iteration. Approximate on loops."""

    method = "trp"
    source = "Sutton 2004, §3.2; Wainwright et al. 2001"
    example = "infer trp(trees = cover, tolerance = 1e-4)"


class BpSettings(_MessagePassing):
    """Belief propagation: messages in an order that `schedule` names. Approximate on graphs with loops."""

    method = "bp"
    source = "Sutton 2004, §3.2"
    example = "infer bp(schedule = residual)"
    schedule: Literal["random", "flood", "residual"] = setting(
        "random", "`random`: all edges one way in a random order, then all the other way; `flood`: all at once; "
        "`residual`: always the message that would change most",
    )  # fmt: skip


class AutoSettings(_TreePassing):
    """`exact` where it is cheap enough, else `trp` with these settings. `check --data` says which, and why."""

    method = "auto"
    example = "infer auto"
    max_table: int = setting(
        2**24, "the largest table of exact inference; where a graph needs a larger one, `trp` is taken",
        unit="entries, 8 bytes each", ge=1, le=2**30,
    )  # fmt: skip


class MeanFieldSettings(_MessagePassing):
    """Naive mean field: a lower bound on log Z. `seed` draws where it starts."""

    method = "mean_field"
    source = "Sutton 2004, §5"
    example = "infer mean_field(tolerance = 1e-5)\ntrain likelihood: infer = exact"
    tolerance: float = setting(1e-3, "it has converged where no marginal moves by as much", unit="absolute", gt=0, lt=1)


class TrwSettings(_MessagePassing):
    """Tree-reweighted sum-product: an upper bound on log Z. `seed` draws the trees."""

    method = "trw"
    source = "Wainwright, Jaakkola & Willsky 2005"
    example = "infer trw(tolerance = 1e-5)"
    tolerance: float = setting(1e-3, "it has converged where no log message moves by as much", unit="nats", gt=0, lt=1)


class GibbsSettings(MethodSettings):
    """Gibbs sampling: marginals as shares of samples. It has no log Z, so it cannot train."""

    method = "gibbs"
    example = "infer gibbs(samples = 2000, burn_in = 200)\ntrain likelihood: infer = exact"
    gives_log_z = False
    samples: int = setting(1000, "sweeps that count", unit="sweeps", ge=1)
    burn_in: int = setting(100, "sweeps before the first that counts", unit="sweeps", ge=0)
    thin: int = setting(1, "of the later sweeps each so many-th counts", unit="sweeps", ge=1)
    seed: int = setting(0, "draws the samples", ge=0)


# criteria -------------------------------------------------------------------------------------------------------


class LikelihoodSettings(CriterionSettings):
    """−log p(y|x), summed over sequences: what a CRF is trained by. What is not labelled is summed out."""

    method = "likelihood"
    source = "Sutton 2004, eq. 7"
    example = "train likelihood: prior = gaussian(variance = 10)"
    offers = ("gradient", "sequences", "counts")


class PieceSettings(CriterionSettings):
    """Base of Σ_π −log p̃(y_π | y_N(π), x): pieces, each normalised over its own variables."""

    source = "McCallum & Sutton 2004, §2"
    offers = ("gradient", "sequences")
    methods = {"nota": CASES}
    nota: MethodSettings | None = setting(
        None, 'cases in which "none of the above" is right: what a piece conditions on has another value than the gold'
    )
    max_cases: int = setting(4096, "the cases of one instance of a piece, at most; more are refused",
                             unit="cases", ge=1)  # fmt: skip
    overlap: Literal["count", "divide"] = setting(
        "count", "a clique that several pieces hold counts in each, or is divided among them"
    )


class PiecewiseSettings(PieceSettings):
    """Piecewise training: the named pieces are normalised apart; without names, each clique over all its variables."""

    method = "piecewise"
    example = "train piecewise: prior = gaussian(variance = 10)"
    names = "pieces"
    pieces: tuple[str, ...] = setting((), "names of `piece` statements; by default one piece a clique")


class MemmSettings(PieceSettings):
    """A maximum-entropy Markov model: each label is normalised given its earlier neighbours."""

    method = "memm"
    source = "McCallum & Sutton 2004, §2; Lafferty 2001, §2"
    example = "train memm(by = variable)"
    order: Literal["declared", "reverse"] = setting(
        "declared", "`declared`: a clique is in the piece of its last variable; `reverse`: in that of its first"
    )
    by: Literal["variable", "slice"] = setting(
        "variable", "a piece is a variable, or all variables of a position (`slice`)"
    )


class PseudolikelihoodSettings(PieceSettings):
    """The pseudolikelihood: each variable given all others."""

    method = "pseudolikelihood"
    source = "Besag 1975; McCallum & Sutton 2004, §2"
    example = "train pseudolikelihood"


class PwplSettings(PieceSettings):
    """Piecewise pseudolikelihood: of each clique each variable, given the clique's others."""

    method = "pwpl"
    source = "Sutton & McCallum 2007"
    example = "train pwpl"


class BidirectionalSettings(PieceSettings):
    """`memm` in both directions: each label given its earlier neighbours, and given its later ones."""

    method = "bidirectional"
    example = "train bidirectional"


class RescaleSettings(CriterionSettings):
    """A factor for the weights of each subset, learned by the likelihood. It follows a stage that trains weights."""

    method = "rescale"
    source = "McCallum & Sutton 2004, §3"
    example = "train piecewise as parts\ntrain rescale(per = clique, variance = 1) after parts"
    takes_prior = False
    per: Literal["clique", "label", "source", "piece"] = setting(
        "clique", "a factor for each `clique`, each state of a clique's last site (`label`) or first (`source`, as in "
        "the paper), or each `piece`",
    )  # fmt: skip
    variance: float | None = setting(
        None, "of a Gaussian prior around 1 on the factors: Σ (α − 1)² / (2 variance); by default there is none",
        ge=LEAST, le=LARGEST,
    )  # fmt: skip


class PerceptronSettings(CriterionSettings):
    """The structured perceptron: how far the best labelling scores above the gold one."""

    method = "perceptron"
    source = "Collins 2002"
    example = "train perceptron(epochs = 20)"
    idle_beside = {"average": ("vote", True)}
    offers = ()  # it brings steps of its own
    takes_prior = False
    margin = True
    epochs: int = setting(10, "passes over the data", unit="passes", ge=1)
    average: bool = setting(
        True,
        "keeps the mean of the weights after each sequence, which errs less on other data, instead of the last ones",
    )
    vote: bool = setting(False, "labellings are elected by all weights that training went through")
    voters: int | None = setting(
        None, "under `vote`, how many of them elect, those that lasted longest; by default all", ge=1
    )

    @property
    def passes(self) -> tuple[int, int]:
        return max(1, self.epochs // 2), self.epochs


class InduceSettings(CriterionSettings):
    """The likelihood, after rounds in which those crosses of features become features that raise it most; names in
    weighted bags are not crossed.
    """

    method = "induce"
    source = "Lafferty 2001, §6"
    example = "train induce(likelihood, rounds = 5)"
    names = "criteria"
    criteria: tuple[str, ...] = setting((), "what crosses are judged by: `likelihood`")
    group: str | None = setting(None, "the feature group whose features are crossed; by default all of a clique's")
    rounds: int = setting(10, "rounds, at most", unit="rounds", ge=1)
    per_round: int = setting(500, "weights that enter in each round", unit="weights", ge=1)
    iterations: int = setting(10, "iterations of the optimizer before each round", unit="iterations", ge=1)
    candidates: int = setting(
        100_000, "crosses of a clique's features that are looked at, the most frequent ones", unit="crosses", ge=1
    )
    min_count: int = setting(3, "the fewest training positions where a cross fires", unit="positions", ge=1)


class HmmSettings(CriterionSettings):
    """−log p(y, x) of a hidden Markov model, by counting: a baseline."""

    method = "hmm"
    source = "Lafferty 2001, §5; Altun & Hofmann 2003, Table 1"
    example = "train hmm(smoothing = 0.1)"
    offers = ()  # it counts
    takes_prior = False
    order: Literal["declared", "reverse"] = setting(
        "declared", "a label is given its earlier neighbours, or its later ones (`reverse`)"
    )
    overlapping: bool = setting(
        False, "a label emits all features of its clique, as if they were independent, instead of the first one that "
        "is read at its position",
    )  # fmt: skip
    smoothing: float = setting(0.1, "what is added to each count", unit="counts", gt=0, le=LARGEST)
    moves: float | None = setting(
        None, "the same for moves from label to label; by default as much", unit="counts", gt=0, le=LARGEST
    )
    unseen: Literal["smoothing", "once"] = setting(
        "smoothing", "a value that training does not show has the probability that smoothing gives it, or as much as "
        "those have together that it shows `once`",
    )  # fmt: skip

    @property
    def passes(self) -> tuple[int, int]:
        return 1, 1


INFERENCE: Table[type[MethodSettings]] = Table(
    "inference method",
    {
        s.method: s
        for s in (
            ExactSettings, TrpSettings, BpSettings, AutoSettings, MeanFieldSettings, TrwSettings, GbpSettings,
            EpSettings,
            GibbsSettings, PrunedSettings,
        )
    },
    {
        "kikuchi": "gbp", "expectation_propagation": "ep", "power_ep": "ep", "cvm": "gbp", "loopy": "bp",
        "belief_propagation": "bp", "lbp": "bp", "viterbi": "exact", "junction_tree": "exact",
        "forward_backward": "exact", "beam": "pruned", "coarse_to_fine": "pruned",
    },
)  # fmt: skip
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


Chosen = TypeVar("Chosen", bound=CriterionSettings)


class TrainSettings(Frozen, Generic[Chosen]):
    """A training stage of one criterion, settled: every default filled in. `clique_priors` are `prior.NAME = …` by
    clique name, and `clique_kernels` `kernel.NAME = …`.
    """

    criterion: Chosen
    prior: Prior = setting(
        GaussianPrior(), "the prior of all weights; `prior.CLIQUE` that of one clique. A strength that is not written "
        "fits the criterion, see there"
    )  # fmt: skip
    clique_priors: dict[str, Prior] = {}
    clique_kernels: dict[str, MethodSettings] = {}
    optimizer: OptimizerSettings = setting(AutoOptimizer(), "what fits the weights")
    importance: MethodSettings | None = setting(None, "how much each sentence or token counts; by default each once")
    infer: MethodSettings | None = setting(None, "the inference of this stage; by default that of the template")
    decode: str | None = setting(None, "the decoding rule of this stage; by default that of the template")
    restarts: int = setting(1, "random starts, of which the best objective wins", unit="starts", ge=1)
    seed: int = setting(0, "draws the starts", ge=0)
    keep: int | None = setting(None, "how many weights stay, the largest; by default all", unit="weights", ge=1)
    patience: int | None = setting(
        None, "training ends when the dev score has not risen for so many iterations, and keeps the best weights",
        unit="iterations", ge=1,
    )  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _fitting_priors(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Gives each prior the strength that fits the criterion, where none is written."""
        criterion = given.get("criterion")
        if not isinstance(criterion, CriterionSettings):
            return given
        prior = given.get("prior", NoPrior() if math.isinf(criterion.ease) else GaussianPrior())
        cliques = {name: _eased(one, criterion) for name, one in given.get("clique_priors", {}).items()}
        return {**given, "prior": _eased(prior, criterion), "clique_priors": cliques}


def _eased(prior: Any, criterion: CriterionSettings) -> Any:
    return prior.eased(criterion.ease) if isinstance(prior, Prior) else prior
