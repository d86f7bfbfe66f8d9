"""Predictions for a corpus with any weights: labellings, marginals, samples.

`ModelStructure` is a model without its weights. Its `prepare` extracts the features of a corpus once and returns a
`Predictor`, which predicts with any weights. Not here: the model as users see it (`trained_model`), inference itself
(`inference`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..data import Corpus, EncodedLabels, corpus_of_length
from ..features import FeatureExtractor, FeatureRows, Pairs
from ..foundation import CORPUS, Codes, DcrfError, Floats, Mask, cached_property, require_kind
from ..graph import ModelGraph, Parameters, restricted_graph, with_constraints_apart
from ..inference import (  # fmt: skip
    METHODS,
    Binder,
    BoundData,
    CliqueMarginal,
    GuideLists,
    LocalDecoder,
    NBest,
    PrunedMethod,
    PruningReport,
    RunStatus,
    Samples,
    SequenceMethod,
    SingleRunDecoder,
    StageGuide,
    Workers,
    best_labellings,
    bounded_decoding,
    check_samples_fit,
    choose_method,
    clique_marginals,
    draw_samples,
    largest_table,
    latents_first_fits,
    local_pieces,
    nbest_summing_latents,
    parts_by_width,
    pruning_loss,
    run_decoding,
    run_inference,
    score_sequences,
    stage_guide,
)
from ..semantics import (
    AutoSettings,
    ExactSettings,
    MethodSettings,
    ModelSpec,
    Observed,
    TrpSettings,
    decoding,
    guiding_stage,
    inference_settings,
    searched_runs,
)
from .corpus_binding import EVENT, CorpusBinding
from .decoded_labels import Decoded as Decoded, checked_rule, possible_scores, refuse_samples
from .explanation import Explanation, Question, explain_label
from .proposed_labellings import best_proposed

KEPT_RESTRICTED = 4  # binders of graphs with restricted labels


@dataclass(frozen=True, eq=False)
class ModelStructure:
    """A model without its weights. It keeps graphs that it has unrolled, up to a bound; threads may share it.

    states: of each variable: labels, latents, memories.   guides: weights [W] of the stages that prune.
    """

    spec: ModelSpec
    states: Mapping[str, tuple[str, ...]]
    extractor: FeatureExtractor
    graph: ModelGraph
    parameters: Parameters
    guides: Mapping[str, Floats] = field(default_factory=dict)
    _binders: dict[tuple[int, bool, bool], Binder] = field(default_factory=dict, init=False)
    _restricted: dict[Hashable, Binder] = field(default_factory=dict, init=False)
    apart: dict[str | None, ModelGraph] = field(
        default_factory=dict, init=False
    )  # by stage, see `with_constraints_apart`

    @cached_property
    def method(self) -> tuple[str, MethodSettings]:
        """Name and settings of the inference method that the template asks for.

        Before the stage that prunes has been trained, single labels prune.
        """
        return choose_method(self.graph, self.parameters, self._asked)

    @cached_property
    def sums_latents_first(self) -> bool:
        """Whether latent variables can be summed out before the best labels are sought, as `joint` decoding has to."""
        try:
            return latents_first_fits(self.graph, inference_settings(self.spec))
        except DcrfError:
            return False

    @cached_property
    def guide(self) -> StageGuide | None:
        """The stage that prunes, if there is one."""
        return stage_guide(self.spec, self.graph, self.parameters, self._asked, self.guides)

    @cached_property
    def once_constraint(self) -> SingleRunDecoder | None:
        """What keeps to the `once` of the template when labels are decoded, if the graph does not."""
        runs = searched_runs(self.spec, self.states)
        return SingleRunDecoder(self.graph, runs) if runs else None

    @property
    def _asked(self) -> MethodSettings:
        asked = inference_settings(self.spec)
        stage = guiding_stage(self.spec, asked)
        return asked if stage is None or stage in self.guides else asked.model_copy(update={"by": None})

    @cached_property
    def _coded(self) -> list[tuple[Observed, ...]]:
        """What each hard constraint that reads observations reads."""
        return [template.observed for template in self.graph.coded]

    def prepare(
        self, corpus: Corpus, given: EncodedLabels | None = None, constant_weights: tuple[Floats, ...] = ()
    ) -> Predictor:
        """The predictor of a corpus. given: labels known beforehand, which predictions are conditioned on.

        constant_weights: weights that never change, see `Predictor`.
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        require_kind(given, (EncodedLabels, type(None)), "given", "labels, as `encode_known_labels` gives them")
        return self._predictor(corpus, given, constant_weights, *self.features(corpus))

    def features(self, corpus: Corpus) -> tuple[tuple[FeatureRows, ...], Mapping[int, Pairs]]:
        """The feature rows of a corpus, and the positions that relational cliques join."""
        rows, relations = self.extractor.everything(corpus, self._coded)
        return (*rows, *self.graph.rows_of_lengths(rows, corpus.sentence_off)), relations

    def on_texts(self, texts: Mapping[str, Sequence[str]], constant_weights: tuple[Floats, ...]) -> Predictor | None:
        """As `prepare` for a sentence with these texts by column, without a corpus; None if that would not be the
        same.
        """
        if self._coded or self.graph.relational:
            return None
        length = len(next(iter(texts.values())))
        rows = self.extractor.sentence_rows(texts, length)
        return None if rows is None else self._predictor(corpus_of_length(length), None, constant_weights, rows, {})

    def _predictor(
        self, corpus: Corpus, given: EncodedLabels | None, constant_weights: tuple[Floats, ...],
        rows: tuple[FeatureRows, ...], relations: Mapping[int, Pairs],
    ) -> Predictor:  # fmt: skip
        return Predictor(self, corpus, given, CorpusBinding(self, corpus, rows, relations), constant_weights)

    def binder(self, graph: ModelGraph, programs: bool, latents_first: bool) -> Binder:
        key = id(graph), programs, latents_first  # a binder holds its graph, so that the id stays its own
        if key not in self._binders:
            self._binders[key] = Binder(graph, self.parameters, programs=programs, latents_first=latents_first)
        return self._binders[key]

    def restricted_binder(self, programs: bool, allowed: Mapping[int, Mask], first_set: int) -> Binder:
        """The binder of the graph with `restricted_graph`'s factors. The last few are kept: events are much alike."""
        key = programs, tuple((variable, table.shape, table.tobytes()) for variable, table in allowed.items())
        binder = self._restricted.get(key)
        if binder is None:
            graph = restricted_graph(self.graph, allowed, first_set, EVENT)
            binder = Binder(graph, self.parameters, programs=programs)
            for oldest in list(self._restricted)[: 1 - KEPT_RESTRICTED]:
                self._restricted.pop(oldest, None)
            self._restricted[key] = binder
        return binder


@dataclass
class Predictor:
    """Predicts the labels of one corpus. Made by `ModelStructure.on`.

    constant_weights: the weights of a trained model, and these with its temperature. They never change, so what is
    computed from them is kept.
    """

    structure: ModelStructure
    corpus: Corpus
    known: EncodedLabels | None
    bind: CorpusBinding
    constant_weights: tuple[Floats, ...] = ()
    _local_decoders: dict[str | None, LocalDecoder] = field(default_factory=dict)  # by stage

    @cached_property
    def _bound(self) -> tuple[BoundData, SequenceMethod]:
        """The bound corpus, with the inference method that the template asks for."""
        return self._bound_to(self.known)

    def _bound_to(self, known: EncodedLabels | None) -> tuple[BoundData, SequenceMethod]:
        name, settings = self.structure.method
        entry, guide = METHODS[name], self.structure.guide
        data = self.bind(entry.programs, False, known, entry.graph(self.structure.graph))
        method = entry.build(data, settings)
        if isinstance(method, PrunedMethod) and guide is not None:
            method.lists = self._lists(guide, known)
        return data, method

    def _lists(self, guide: StageGuide, known: EncodedLabels | None) -> GuideLists:
        """What survives by a stage that prunes."""
        data = self.bind(guide.programs, False, known, guide.bound_graph)
        return GuideLists(data, guide, None if guide.guide is None else self._lists(guide.guide, known))

    def _tempered(self, weights: Floats, temperature: float) -> Floats:
        if temperature == 1.0:
            return weights
        return (
            self.constant_weights[1]
            if self.constant_weights and weights is self.constant_weights[0]
            else temperature * weights
        )

    # probabilities ----------------------------------------------------------------------------------------------------

    def log_z(self, weights: Floats, workers: Workers) -> Floats:
        """log Z of each sentence, [S]; Bethe's approximation on loops; -inf if no labelling is possible."""
        data, method = self._bound
        return run_inference(data, method, data.potentials_at(weights, self.constant_weights), workers).log_z

    def marginals(self, weights: Floats, workers: Workers) -> tuple[list[Floats], RunStatus]:
        """p(y_t = state | x) of every variable, [N, states]."""
        data, method = self._bound
        out = run_inference(data, method, data.potentials_at(weights, self.constant_weights), workers, marginals=True)
        return data.by_variable(out.marginals), out.summary()

    def pruning(self, weights: Floats, workers: Workers, gold: EncodedLabels) -> PruningReport:
        """What pruned inference leaves out, see `PruningReport`; nothing under other methods."""
        data, method = self._bound
        if not isinstance(method, PrunedMethod) or not data.num_sequences:
            return PruningReport()
        return pruning_loss(
            data, method, data.potentials_at(weights, self.constant_weights), gold.codes.ravel(), workers
        )

    def clique_marginals(self, weights: Floats) -> Iterator[tuple[tuple[CliqueMarginal, ...], RunStatus]]:
        """Yields for each sentence p(y_c | x) of every clique instance, and how inference ended."""
        _, settings = self.structure.method
        data = self.bind(False, False, self.known)
        return clique_marginals(data, data.potentials_at(weights, self.constant_weights), settings)

    def explain(self, weights: Floats, question: Question) -> Explanation:
        """Why the only sentence of the corpus has a label where it does; see `explain_label`."""
        structure = self.structure
        data, settings = self.bind(False, False, self.known), inference_settings(structure.spec)
        return explain_label(data, weights, settings, structure.states, structure.extractor, question)

    # labellings -------------------------------------------------------------------------------------------------------

    def best(
        self,
        weights: Floats,
        workers: Workers,
        decode: str | None,
        stage: str | None = None,
        temperature: float = 1.0,
    ) -> Decoded:
        """A state for every label at every token; the first state if no labelling is possible.

        decode: as `read_decoding`; by default the rule of `stage`.   stage: the one that trained the
        weights; by default the last one.   temperature: of probabilities; it has an effect if they are summed over
        other labels or over latent variables.
        """
        mode = decoding(self.structure.spec, stage) if decode is None else decode
        graph = self.structure.graph
        limits = checked_rule(mode, self.structure.once_constraint, graph, self.structure.method[0])
        if mode == "marginal":
            marginals, status = self.marginals(self._tempered(weights, temperature), workers)
            likeliest = [marginal.argmax(axis=1).astype(np.int32) for marginal in self._of_labels(marginals)]
            return Decoded(likeliest, status, np.full(self.corpus.num_sentences, np.nan))
        if mode == "local":
            return self._local(weights, workers, stage)
        if graph.num_latents:
            nbest = self.nbest(weights, workers, 1, temperature)
            scores = np.array([one.score[0] if len(one) else np.nan for one in nbest.sentences], np.float64)
            return Decoded(nbest.first(self.labels, self.corpus.lengths()), nbest.status, scores)
        data, method = self._bound
        potentials = data.potentials_at(weights, self.constant_weights)
        best = run_decoding(data, method, potentials, workers)
        if method.approximate and data.contexts is None:
            scores = score_sequences(data, best.labelling, potentials, workers)
        else:  # exact and pruned decoding write the score of what they found to log_z
            scores = possible_scores(best.outcome.log_z)
        labelling, status, searches = best.labelling, best.outcome.summary(), self.structure.once_constraint
        if searches is not None:
            labelling, scores, status = searches.repairs(data, potentials, labelling, scores, status, workers)
        if limits is not None:
            found = bounded_decoding(data, potentials, labelling, scores, status, limits, workers)
            return Decoded(self._codes(found.labelling), found.status, found.scores, found.bounds)
        return Decoded(self._codes(labelling), status, scores)

    def _local(self, weights: Floats, workers: Workers, stage: str | None) -> Decoded:
        """The best labellings under the product of the pieces' local distributions."""
        if stage not in self._local_decoders:
            whole = self.structure.graph
            pieces = local_pieces(self.structure.spec, whole, stage)
            graph = self.structure.apart.setdefault(stage, with_constraints_apart(whole, pieces))
            self._local_decoders[stage] = LocalDecoder(self.bind(False, False, self.known, graph), pieces, graph)
        decoder = self._local_decoders[stage]
        best = run_decoding(decoder.data, decoder, decoder.data.potentials_at(weights, self.constant_weights), workers)
        scores = possible_scores(best.outcome.log_z)
        return Decoded(self._codes(best.labelling), best.outcome.summary(), scores)

    def _codes(self, labelling: Codes) -> list[Codes]:
        """A flat labelling as the states of each label, [N]; the first state for negative codes."""
        if len(self.structure.graph.variables) == 1:
            return [np.maximum(labelling, 0)]
        table = np.maximum(labelling, 0).reshape(-1, len(self.structure.graph.variables))
        return [np.ascontiguousarray(codes) for codes in self._of_labels(list(table.T))]

    def nbest(self, weights: Floats, workers: Workers, count: int, temperature: float = 1.0) -> NBest:
        """The `count` best labellings of each sentence; latent variables are summed out."""
        return self._nbest(self._tempered(weights, temperature), workers, int(count)).scaled(1.0 / temperature)

    def _nbest(self, weights: Floats, workers: Workers, count: int) -> NBest:
        graph, settings = self.structure.graph, inference_settings(self.structure.spec)
        if self.structure.once_constraint is not None:
            data, _ = self._bound
            return self.structure.once_constraint.best(
                data, data.potentials_at(weights, self.constant_weights), count, workers
            )
        if graph.num_latents and latents_first_fits(graph, settings):
            data = self.bind(True, True, self.known)
            return nbest_summing_latents(data, data.potentials_at(weights, self.constant_weights), count, workers)
        parts = parts_by_width(lambda programs: self.bind(programs, False, self.known), graph, settings)
        if not graph.num_latents:
            return best_labellings(parts, weights, settings, count, workers)
        return best_proposed(self, parts, weights, workers, count)

    def comparable(self, known: EncodedLabels | None) -> tuple[BoundData, SequenceMethod]:
        """As `_bound_to`, with the method of `comparable_method`."""
        name, chosen = self.comparable_method
        data = self.bind(METHODS[name].programs, False, known)
        return data, METHODS[name].build(data, chosen)

    @property
    def comparable_method(self) -> tuple[str, MethodSettings]:
        """A method whose log Z are comparable, by its name in `METHODS`: exact inference if it fits, else messages.

        Bounds on log Z are not comparable, and sampling gives no log Z.
        """
        graph, settings = self.structure.graph, inference_settings(self.structure.spec)
        name, chosen = self.structure.method
        if not graph.relational and graph.exact_cost.largest <= largest_table(settings):
            name, chosen = "exact", ExactSettings(max_table=largest_table(settings))
        elif name not in ("exact", "automaton", "auto", "bp", "trp"):
            name, chosen = ("auto", AutoSettings()) if graph.relational else ("trp", TrpSettings())
        return name, chosen

    def sample(self, weights: Floats, workers: Workers, count: int, seed: int) -> Samples:
        """`count` labellings of each sentence drawn from p(y | x). DcrfError if exact inference does not fit."""
        refuse_samples(self.structure.once_constraint)
        check_samples_fit(self.structure.graph, inference_settings(self.structure.spec))
        data = self.bind(True, False, self.known)
        return draw_samples(data, data.potentials_at(weights, self.constant_weights), count, seed, workers)

    # layout -----------------------------------------------------------------------------------------------------------

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels, in the order of the graph's variables."""
        return self.structure.graph.variables[: self.structure.graph.num_labels]

    def _of_labels(self, of_variables: list[NDArray]) -> list[NDArray]:
        return of_variables[: self.structure.graph.num_labels]
