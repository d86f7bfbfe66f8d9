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

from ...foundation import Table
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
    setting,
)
from .optimizer_settings import OPTIMIZERS, AutoOptimizer
from .prior_settings import GaussianPrior, NoPrior, Prior

_PIECES = "nota = sampled(0.2), max_cases = 1000, overlap = divide"  # of examples


# cases in which none of the above is right ----------------------------------------------------------------------------


class _Cases(MethodSettings):
    """Base of sets of cases."""

    reach: Literal["all", "one"] = setting(
        "all", "every joint value of what a piece conditions on, or those that differ from the gold in `one` variable"
    )


class AllCases(_Cases):
    """Every case."""

    method = "all"
    source = "McCallum & Sutton 2004, §3"
    example = "train piecewise(nota = all)"


class SampledCases(_Cases):
    """Cases drawn at random, once, for each sentence by `seed` and its number in the data."""

    method = "sampled"
    source = "McCallum & Sutton 2004, §3"
    example = "train piecewise(nota = sampled(0.2))"
    positional = ("rate",)
    rate: float = setting(0.1, "the probability of each case", unit="probability", gt=0, le=1)
    seed: int = setting(0, "draws the cases", ge=0)


class LikelyCases(_Cases):
    """The cases that the model at hand holds likely, by the product of its marginals, chosen once."""

    method = "above"
    source = "McCallum & Sutton 2004, §3"
    example = "train piecewise(nota = above(0.2, 20))"
    positional = ("threshold", "after")
    threshold: float = setting(0.2, "the least probability of a case", unit="probability", gt=0, lt=1)
    after: int = setting(20, "the iteration after which they are chosen", unit="iterations", ge=1)


CASES: Table[type[MethodSettings]] = Table(
    "set of cases for `nota`", {s.method: s for s in (AllCases, SampledCases, LikelyCases)}
)


# criteria -------------------------------------------------------------------------------------------------------------


class LikelihoodSettings(CriterionSettings):
    """−log p(y|x), summed over sequences: what a CRF is trained by. What is not labelled is summed out. With a `cost`,
    log Σ exp(g(y) + cost(y)) − g(y*): the score of each wrong labelling is raised by what it costs.
    """

    method = "likelihood"
    source = "Sutton 2004, eq. 7; with a cost Gimpel & Smith 2010 (softmax-margin)"
    example = "train likelihood: prior = gaussian(variance = 10)"
    offers = ("gradient", "sequences", "counts")
    methods = {"cost": COSTS}
    cost: MethodSettings | None = setting(
        None, "what wrong labels cost, so that errors which cost more become rarer; probabilities then lean away from "
        "what costs much, and labels that are not known cost nothing"
    )  # fmt: skip

    @property
    def is_biased(self) -> bool:
        return self.cost is not None


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


# risks ----------------------------------------------------------------------------------------------------------------


Weight = Literal["uniform"] | Annotated[float, Field(gt=0, le=1)]


class MarginalSettings(CriterionSettings):
    """−Σ log p(y_v | x) of every label by itself. Its models decode label by label."""

    method = "marginal"
    source = "Altun & Hofmann 2003, eq. 10"
    example = "train marginal: prior = gaussian(variance = 10)"
    decode = "marginal"


class ExponentialSettings(CriterionSettings):
    """The exponential risk of wrong labellings, Σ_i w_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)), by its gradient."""

    method = "exponential"
    source = "Altun & Hofmann 2003, eq. 13"
    example = "train exponential(weight = 1): prior = gaussian(variance = 1)"
    weight: Weight = setting(
        "uniform", "w_i of a sequence: `uniform` is 1 over the number of its wrong labellings, so that each sequence "
        "counts 1 where all weights are 0; a number π gives π to the power of the number of its labels",
    )  # fmt: skip

    @property
    def ease(self) -> float:
        """Weights below 1 fall with the power of the length, so that any penalty outweighs all but the shortest."""
        return 1.0 if self.weight == 1.0 else math.inf


class AdaboostSettings(CriterionSettings):
    """Label sequence boosting: the exponential risk, lowered by one feature a round."""

    method = "adaboost"
    source = "Altun & Hofmann 2003, algorithm 2, eq. 13–16"
    example = "train adaboost(rounds = 100)"
    offers = ()  # it brings steps of its own
    takes_prior = False
    rounds: int = setting(500, "rounds, at most", unit="rounds", ge=1)
    tolerance: float = setting(
        1e-5, "it ends when a round cannot promise to lower the risk by this share", unit="relative", ge=0, lt=1
    )
    max_step: float = setting(
        1.0, "the longest step of a feature that speaks for one side alone, for which no step would be long enough; "
        "under `steepest`, of any feature", unit="weight", ge=LEAST, le=LONGEST,
    )  # fmt: skip
    update: Literal["sequential", "parallel", "steepest"] = setting(
        "sequential", "by bounds of each sequence the best feature (`sequential`), or all features, each by a small "
        "step (`parallel`); `steepest` takes the feature with the largest derivative, and searches for the least risk",
    )  # fmt: skip
    weight: Weight = setting(
        "uniform", "as in `exponential`, of a risk that is 1 at the start: `uniform` gives each sequence the same "
        "share, 1 gives it to each wrong labelling, and so most of it to the longest sequences",
    )  # fmt: skip
    divide: bool = setting(
        False, "divides what a number as `weight` gives a sequence among its wrong labellings: the paper's D₀ with "
        "w(T) = π to the power T, where `uniform` is that with w(T) = 1",
    )  # fmt: skip
    bounds: Literal["sequence", "all"] = setting(
        "sequence", "how much more often a wrong labelling may count a feature than the known one: bounds of each "
        "sequence by itself, or one pair for `all` of them, under which a step has a closed form and promises less",
    )  # fmt: skip

    @property
    def passes(self) -> tuple[int, int]:
        return self.rounds, self.rounds


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


# importance -----------------------------------------------------------------------------------------------------------


MOST = 1e9  # of the number of a state


class SentenceImportance(MethodSettings):
    """A sentence counts as often as a column of numbers says, the same number on all of its tokens: 2 counts as if it
    stood twice in the data, 0 leaves it out. `importance = COLUMN` is short for it.
    """

    method = "sentences"
    example = (
        "data conll(word, chunk, trust: float)\nlabel chunk in bio(NP)\nclique chunk: word\n"
        "train likelihood: importance = sentences(trust)"
    )
    names = "columns"
    columns: tuple[str, ...] = setting((), "a `float` or `int` column, of numbers of 0 or more")


class TokenImportance(MethodSettings):
    """Each token counts as often as a column of numbers says, where the criterion is a sum over tokens. A piece over
    several tokens counts with the mean of their numbers.
    """

    method = "tokens"
    example = (
        "data conll(word, chunk, trust: float)\nlabel chunk in bio(NP)\nclique chunk: word\n"
        "train marginal: importance = tokens(trust)"
    )
    names = "columns"
    columns: tuple[str, ...] = setting((), "a `float` or `int` column, of numbers of 0 or more")


class StateImportance(MethodSettings):
    """Each token counts as often as its gold state says, where the criterion is a sum over tokens: texts `"STATE
    NUMBER"` for some states. A token whose state is not known counts once.
    """

    method = "states"
    example = 'train pseudolikelihood: importance = states(chunk, "B-NP 2", "I-NP 1.5", others = 0.5)'
    names = "labels"
    texts = "factors"
    labels: tuple[str, ...] = setting((), "the label")
    factors: tuple[str, ...] = setting((), "texts of a state, a space and its number, from 0 to 1e9")
    others: float = setting(1.0, "the number of states that are not named", unit="times", ge=0, le=MOST)


IMPORTANCE: Table[type[MethodSettings]] = Table(
    "kind of importance",
    {s.method: s for s in (SentenceImportance, TokenImportance, StateImportance)},
    {"sentence": "sentences", "token": "tokens", "state": "states", "labels": "states", "classes": "states"},
)


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
