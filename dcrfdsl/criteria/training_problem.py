"""Training data as criteria take it: features, known labels, and the weights that they call for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from .. import semantics
from ..features import FeatureExtractor, FeatureRows, Pairs
from ..foundation import Floats, Ints, Ints32, data_error, dataclass
from ..graph import Gold, ModelGraph, Parameters, clamp_rows, clamped_graph, least_seconds
from ..inference import (
    METHODS,
    MORE_MEMORY,
    Binder,
    BoundData,
    GuideLists,
    MarginalInference,
    PerSentenceMethod,
    PrunedMethod,
    SequenceMethod,
    StageGuide,
    Workers,
    check_width,
    choose_method,
    largest_table,
    parts_by_width,
    score_sequences,
    stage_guide,
)
from .feature_moments import FeatureMoments, moments_of_rows, number_features, squares_of_weights
from .importance import Importance, NumberColumns, importance_of
from .penalties import Penalty, weight_penalty


@dataclass(frozen=True, eq=False)
class ResolvedInference:
    """The inference method of a stage, with `auto` resolved."""

    name: str
    settings: semantics.MethodSettings
    gold: Ints32 | None = None  # known labels of the training data
    lists: Callable[[int, int], tuple[Ints, Ints32]] | None = None  # `GuideLists.lists` of the stage that prunes

    def build(self, data: BoundData) -> SequenceMethod:
        method = METHODS[self.name].build(data, self.settings)
        if isinstance(method, PrunedMethod) and self.gold is not None:
            method.gold, method.lists = self.gold, self.lists
        return method

    def description(self, method: MarginalInference) -> str:
        """The name that users see."""
        name = "exact" if self.name == "automaton" else self.name  # the same answers in another way
        return method.description() if isinstance(method, PerSentenceMethod) else name


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """Training data, with the model that it trains.

    rows: of each feature set.   relations: pairs of each relational clique, by its number.   counts [W]: feature counts
    of the sentences whose labels are all known.   stage, weights [W]: the name of the stage, and the weights with which
    it begins.   states: of each variable of the graph.   extractor: of the features in `rows`.   compared: the Gram
    matrix of the observation kernel of each clique whose features are positions.   start [W]: the weights of the model
    that training started from, 0 where they are new; None without such a model.   earlier: weights [W] of the stages
    before this one.   numbers: columns of the data that `importance` may name.   first_sentence: where this is a part
    of the data, how many sentences come before it: what is drawn for a sentence depends on its number in all data.
    counting: the same on the data whose shares are expected, if any are; `shares` says which its last cliques count.
    """

    spec: semantics.ModelSpec
    graph: ModelGraph
    parameters: Parameters
    rows: tuple[FeatureRows, ...]
    relations: Mapping[int, Pairs]
    sentence_off: Ints
    gold: Gold
    counts: Floats
    workers: Workers
    stage: str = ""
    weights: Floats = field(default_factory=lambda: np.zeros(0))
    states: tuple[tuple[str, ...], ...] = ()
    extractor: FeatureExtractor | None = None
    compared: Mapping[int, Floats] = field(default_factory=dict)
    earlier: Mapping[str, Floats] = field(default_factory=dict)
    start: Floats | None = None
    numbers: NumberColumns = field(default_factory=NumberColumns)
    first_sentence: int = 0
    shares: tuple[semantics.ShareTable, ...] = ()
    counting: TrainingProblem | None = None

    @property
    def labelling(self) -> Ints32:
        """The known states of all variables, see `BoundData.labelling_off`; negative where unknown."""
        return self.gold.codes.T.ravel()

    @cached_property
    def fixed_scores(self) -> Floats:
        """What scores without weights add to each known labelling, [S]; 0 where a label is not known."""
        complete = self.gold.complete_sentences(self.sentence_off)
        if not self.graph.has_fixed_scores:
            return np.zeros(len(complete))
        data = self.bind_plain(programs=False)
        potentials = data.potentials(np.zeros(self.parameters.num_weights))
        return np.where(complete, score_sequences(data, self.labelling, potentials, self.workers), 0.0)

    def labels_named(self, names: Sequence[str]) -> list[int]:
        """The variables of these labels; without names, of all labels."""
        numbers = {name: n for n, name in enumerate(self.graph.variables)}
        return [numbers[name] for name in names] if names else list(range(self.graph.num_labels))

    def importance(self, settings: semantics.TrainSettings) -> Importance | None:
        """How much each sentence or token counts in a stage; None if all count once."""
        if settings.importance is None:
            return None
        numbers = range(self.graph.num_labels)
        states = {self.graph.variables[n]: (n, self.states[n]) for n in numbers if n < len(self.states)}
        return importance_of(settings.importance, self.numbers, self.gold, states, self.sentence_off)

    def token_importance(self, settings: semantics.TrainSettings) -> Floats | None:
        """The factor of each token, [N]; None if all are 1."""
        importance = self.importance(settings)
        return None if importance is None else importance.token

    def sentence_importance(self, settings: semantics.TrainSettings) -> Floats | None:
        """The factor of each sentence, [S]; None if all are 1. DcrfError where the stage gives tokens factors."""
        importance = self.importance(settings)
        if importance is None:
            return None
        if not importance.of_sentences:
            message = f"`{settings.criterion.method}` is a sum over sentences here, and `importance` is of tokens"
            raise data_error("cannot-weigh", message, help="write `importance = COLUMN`, a number for each sentence")
        padded = np.append(importance.token, 0.0)  # a sentence without tokens counts nothing
        return np.where(np.diff(self.sentence_off) > 0, padded[self.sentence_off[:-1]], 0.0)

    def inference(self, settings: semantics.TrainSettings) -> ResolvedInference:
        asked = self._asked(settings)
        name, chosen = choose_method(self.graph, self.parameters, asked)
        if isinstance(chosen, semantics.MeanFieldSettings):  # it draws its start for each sentence from seed + number
            chosen = chosen.model_copy(update={"seed": chosen.seed + self.first_sentence})
        guide = stage_guide(self.spec, self.graph, self.parameters, asked, self.earlier)
        lists = None if guide is None else GuideLists(self._bind_guide, guide).lists
        return ResolvedInference(name, chosen, self.labelling, lists)

    def _bind_guide(self, guide: StageGuide) -> BoundData:
        return self._bound(Binder(guide.bound_graph, self.parameters, programs=guide.programs))

    def exact_if_it_fits(self, settings: semantics.TrainSettings) -> ResolvedInference | None:
        """`exact`, whatever the stage asks for; None where it does not fit, or DcrfError if the stage asks for it."""
        asked = self._asked(settings)
        if isinstance(asked, semantics.ExactSettings):
            check_width(self.graph, asked.max_table, remedy=MORE_MEMORY)  # no other method would do
            return self.inference(settings)
        if self.graph.relational:
            parts = parts_by_width(lambda programs: self.bind_plain(programs=programs), self.graph, asked)
            fits = all(data.bank.order_of is not None for _, data in parts)
        else:
            fits = self.graph.exact_cost.largest <= largest_table(asked)
        return ResolvedInference("exact", semantics.ExactSettings(max_table=largest_table(asked))) if fits else None

    def exact_inference(self, settings: semantics.TrainSettings, what: str, remedy: str) -> ResolvedInference:
        """`exact`, whatever the stage asks for. DcrfError, which says that `what` needs it, where it does not fit."""
        inference = self.exact_if_it_fits(settings)
        if inference is None:
            asked, cost = self._asked(settings), self.graph.exact_cost
            table = f"a table of {cost.largest:.3g} entries" if not self.graph.relational else "too large a table"
            message = (
                f"{what} sums over all wrong labellings, which `{asked.method}` does not do, and `exact` would build "
                f"{table}; `max_table` allows {largest_table(asked):,}"
            )
            raise data_error("needs-exact", message, help=remedy)
        return inference

    def _asked(self, settings: semantics.TrainSettings) -> semantics.MethodSettings:
        return settings.infer or semantics.inference_settings(self.spec)

    def penalty(self, settings: semantics.TrainSettings) -> Penalty:
        return weight_penalty(
            settings, self.spec.cliques, self.graph, self.parameters, self.states, self.extractor, self.start
        )

    @property
    def seconds(self) -> float:
        """Rough seconds of an evaluation on one core, at least: of inference alone, exact or by messages."""
        return least_seconds(self.graph) * int(self.sentence_off[-1])

    def feature_moments(self) -> dict[int, FeatureMoments]:
        """Of the feature sets with numbers."""
        if self.extractor is None:
            return {}
        return {
            number: moments_of_rows(self.rows[number], self.extractor.sets[number].num_features, dense)
            for number, dense in number_features(self.extractor).items()
        }

    def curvature(self) -> Floats:
        """The sum of squares of each weight's feature, [W]."""
        return squares_of_weights(self.graph, self.parameters, self.rows, int(self.sentence_off[-1]))

    def bind_for(self, method: str) -> BoundData:
        entry = METHODS[method]
        return self.bind(programs=entry.programs, thin=entry.thin)

    def bind(self, *, programs: bool, thin: bool = False) -> BoundData:
        """The data with all labels free, packed for training."""
        return self.bind_plain(programs=programs, thin=thin).packed(bundled=True)

    def bind_plain(self, *, programs: bool, thin: bool = False) -> BoundData:
        """As `bind`, but not packed."""
        graph = self.graph.thin() if thin else self.graph
        return self._bound(Binder(graph, self.parameters, programs=programs))

    def _bound(self, binder: Binder) -> BoundData:
        return binder.bind(self.rows, self.sentence_off, self.relations)

    def bind_known(self, *, programs: bool) -> BoundData:
        """The data clamped to its known labels."""
        clamped = clamped_graph(self.graph, self.gold, len(self.rows))
        binder = Binder(clamped, self.parameters, programs=programs)
        return binder.bind((*self.rows, *clamp_rows(self.graph, self.gold)), self.sentence_off, self.relations)
