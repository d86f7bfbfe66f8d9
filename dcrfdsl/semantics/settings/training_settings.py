"""Settings of criteria and of training stages: one frozen class per method, with its defaults and limits.

`CRITERIA` is the table that the checker and the rooms below share: a criterion is known if it is listed there.
`TRAINED_BY` and `TREATS` follow from the classes: a criterion declares what it `offers` and an optimizer what it
`needs` (`method_settings`), and the checker refuses all other pairs. Tolerances are relative, norm of the gradient over
norm at the start. Sources: McCallum & Sutton 2004 §3 (cases of NOTA), Altun & Hofmann 2003 §3, 4, 6 (risks). Not here:
inference (`infer_settings`), priors (`prior_settings`), optimizers (`optimizer_settings`), the losses of `mce` and
`hmsvm` (`loss_settings`).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import Field, model_validator

from ...syntax import CallSpec, nodes as ex
from ..schema import ModelSpec
from .loss_settings import COSTS, HmsvmSettings, MceSettings
from .method_settings import (
    LARGEST,
    LEAST,
    LONGEST,
    Access,
    CriterionSettings,
    Frozen,
    MethodSettings,
    OptimizerSettings,
    Shape,
    methods_of,
    setting,
)
from .optimizer_settings import OPTIMIZERS, AutoOptimizer
from .prior_settings import GaussianPrior, NoPrior, Prior

# cases in which none of the above is right ----------------------------------------------------------------------------


class _Cases(MethodSettings):
    """Base of sets of cases."""

    reach: Literal["all", "one"] = "all"


class AllCases(_Cases):
    method = "all"


class SampledCases(_Cases):
    method = "sampled"
    positional = ("rate",)
    rate: float = setting(0.1, unit="probability", gt=0, le=1)
    seed: int = setting(0, ge=0)


class LikelyCases(_Cases):
    method = "above"
    positional = ("threshold", "after")
    threshold: float = setting(0.2, unit="probability", gt=0, lt=1)
    after: int = setting(20, unit="iterations", ge=1)


CASES = methods_of("set of cases for `nota`", AllCases, SampledCases, LikelyCases)


# criteria -------------------------------------------------------------------------------------------------------------


class LikelihoodSettings(CriterionSettings):
    method = "likelihood"
    offers = ("gradient", "sequences", "counts")
    methods = {"cost": COSTS}
    cost: MethodSettings | None = None

    @property
    def is_biased(self) -> bool:
        return self.cost is not None


class PieceSettings(CriterionSettings):
    """Base of Σ_π −log p̃(y_π | y_N(π), x): pieces, each normalised over its own variables."""

    offers = ("gradient", "sequences")
    methods = {"nota": CASES}
    nota: MethodSettings | None = None
    max_cases: int = setting(4096, unit="cases", ge=1)
    overlap: Literal["count", "divide"] = "count"


class PiecewiseSettings(PieceSettings):
    method = "piecewise"
    names = "pieces"
    pieces: tuple[str, ...] = ()


class MemmSettings(PieceSettings):
    method = "memm"
    order: Literal["declared", "reverse"] = "declared"
    by: Literal["variable", "slice"] = "variable"


class PseudolikelihoodSettings(PieceSettings):
    method = "pseudolikelihood"


class PwplSettings(PieceSettings):
    method = "pwpl"


class BidirectionalSettings(PieceSettings):
    method = "bidirectional"


class RescaleSettings(CriterionSettings):
    method = "rescale"
    takes_prior = False
    per: Literal["clique", "label", "source", "piece"] = "clique"
    variance: float | None = setting(None, ge=LEAST, le=LARGEST)


class PerceptronSettings(CriterionSettings):
    method = "perceptron"
    idle_beside = {"average": ("vote", True)}
    offers = ()  # it brings steps of its own
    takes_prior = False
    margin = True
    epochs: int = setting(10, unit="passes", ge=1)
    average: bool = True
    vote: bool = False
    voters: int | None = setting(None, ge=1)

    @property
    def passes(self) -> tuple[int, int]:
        return max(1, self.epochs // 2), self.epochs


class InduceSettings(CriterionSettings):
    method = "induce"
    names = "criteria"
    criteria: tuple[str, ...] = ()
    group: str | None = None
    rounds: int = setting(10, unit="rounds", ge=1)
    per_round: int = setting(500, unit="weights", ge=1)
    iterations: int = setting(10, unit="iterations", ge=1)
    candidates: int = setting(100_000, unit="crosses", ge=1)
    min_count: int = setting(3, unit="positions", ge=1)


class HmmSettings(CriterionSettings):
    method = "hmm"
    offers = ()  # it counts
    takes_prior = False
    order: Literal["declared", "reverse"] = "declared"
    overlapping: bool = False
    smoothing: float = setting(0.1, unit="counts", gt=0, le=LARGEST)
    moves: float | None = setting(None, unit="counts", gt=0, le=LARGEST)
    unseen: Literal["smoothing", "once"] = "smoothing"

    @property
    def passes(self) -> tuple[int, int]:
        return 1, 1


# risks ----------------------------------------------------------------------------------------------------------------


Weight = Literal["uniform"] | Annotated[float, Field(gt=0, le=1)]


class MarginalSettings(CriterionSettings):
    method = "marginal"
    decode = "marginal"


class ExponentialSettings(CriterionSettings):
    method = "exponential"
    weight: Weight = "uniform"

    @property
    def ease(self) -> float:
        """Weights below 1 fall with the power of the length, so that any penalty outweighs all but the shortest."""
        return 1.0 if self.weight == 1.0 else math.inf


class AdaboostSettings(CriterionSettings):
    method = "adaboost"
    offers = ()  # it brings steps of its own
    takes_prior = False
    rounds: int = setting(500, unit="rounds", ge=1)
    tolerance: float = setting(1e-5, unit="relative", ge=0, lt=1)
    max_step: float = setting(1.0, unit="weight", ge=LEAST, le=LONGEST)
    update: Literal["sequential", "parallel", "steepest"] = "sequential"
    weight: Weight = "uniform"
    divide: bool = False
    bounds: Literal["sequence", "all"] = "sequence"

    @property
    def passes(self) -> tuple[int, int]:
        return self.rounds, self.rounds


CRITERIA = methods_of(
    "training criterion", LikelihoodSettings, PiecewiseSettings, MemmSettings, PseudolikelihoodSettings,
    PwplSettings, BidirectionalSettings, RescaleSettings, PerceptronSettings, MceSettings, InduceSettings,
    MarginalSettings, ExponentialSettings, AdaboostSettings, HmsvmSettings, HmmSettings,
)  # fmt: skip


# importance -----------------------------------------------------------------------------------------------------------


MOST = 1e9  # of the number of a state


class SentenceImportance(MethodSettings):
    method = "sentences"
    names = "columns"
    columns: tuple[str, ...] = ()


class TokenImportance(MethodSettings):
    method = "tokens"
    names = "columns"
    columns: tuple[str, ...] = ()


class StateImportance(MethodSettings):
    method = "states"
    names = "labels"
    texts = "factors"
    labels: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    others: float = setting(1.0, unit="times", ge=0, le=MOST)


IMPORTANCE = methods_of("kind of importance", SentenceImportance, TokenImportance, StateImportance)


def column_alone(spec: ModelSpec, written: ex.Value) -> SentenceImportance | None:
    """A column by itself is that of sentences; None for anything else."""
    value = spec.settled(written)
    if isinstance(value, ex.Reference) and isinstance(value.place, ex.Here) and value.name not in IMPORTANCE:
        return SentenceImportance(columns=(value.name,))
    return None


def unnamed_texts(call: CallSpec) -> tuple[str, ...]:
    """The unnamed arguments of a call that are texts."""
    values = [argument.value for argument in call.arguments if argument.name is None]
    return tuple(value.value for value in values if isinstance(value, ex.Text))


def state_factors(written: Sequence[str]) -> Mapping[str, float]:
    """The number of each state in texts `STATE NUMBER`. ValueError, with the text, where one is something else."""
    out: dict[str, float] = {}
    for text in written:
        state, _, number = text.strip().rpartition(" ")
        try:
            factor = float(number)
        except ValueError:
            raise ValueError(text) from None
        if not state.strip() or not 0.0 <= factor <= MOST or state.strip() in out:
            raise ValueError(text)
        out[state.strip()] = factor
    return out


# a stage --------------------------------------------------------------------------------------------------------------


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
    importance: MethodSettings | None = None
    infer: MethodSettings | None = None
    decode: str | None = None
    restarts: int = setting(1, unit="starts", ge=1)
    seed: int = setting(0, ge=0)
    keep: int | None = setting(None, unit="weights", ge=1)
    patience: int | None = setting(None, unit="iterations", ge=1)

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


# which optimizers train which criterion -------------------------------------------------------------------------------


def _needing(*access: Access | None) -> tuple[str, ...]:
    return tuple(name for name, settings in OPTIMIZERS.items() if settings.needs in access)


SMOOTH = _needing(None, "gradient")
STEPWISE = _needing("sequences")
TRAINED_BY: Mapping[str, tuple[str, ...]] = {
    name: _needing(None, *settings.offers) for name, settings in CRITERIA.items()
}
WITHOUT_PENALTY = tuple(name for name, settings in CRITERIA.items() if not settings.takes_prior)
TREATS: Mapping[str, tuple[Shape, ...]] = {name: settings.treats for name, settings in OPTIMIZERS.items()}
