"""A model without its weights, and a corpus bound to it: log Z, probabilities and samples at any weights.

`ModelStructure` keeps the graphs that it has unrolled. A `Predictor` is a corpus with its features, which are extracted
once; `gold_of` has known labels in the form that graphs take. Not here: labellings (`label_decoders`), the model as
users see it (`trained_model`), inference (`inference`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Self

import numpy as np

from .. import inference, semantics
from ..data import Corpus, EncodedLabels, corpus_of_length
from ..features import FeatureExtractor, FeatureRows, Pairs
from ..foundation import (
    CORPUS,
    DcrfError,
    Diagnostic,
    Floats,
    Mask,
    cached_property,
    data_error,
    dataclass,
    require_kind,
)
from ..graph import (
    FREE,
    Gold,
    ModelGraph,
    Parameters,
    PieceTemplate,
    clamp_rows,
    clamped_graph,
    fill_memories,
    hidden_tables,
    known_counts,
    known_runs,
    restricted_graph,
    rows_of_lengths,
    segment_shape,
    variable_names,
    with_constraints_apart,
)

LARGEST = 1e100  # value of a feature: a product with weights, and sums of them, are then finite
EVENT = "event on"  # before the name of a variable: the factor that restricts it
SHOWN = 5  # sentences named in a message
KEPT_RESTRICTED = 4  # binders of graphs with restricted labels


@dataclass(frozen=True, eq=False)
class ModelStructure:
    """A model without its weights. It keeps graphs that it has unrolled, up to a bound; threads may share it.

    states: of each variable: labels, latents, memories.   guides: weights [W] of the stages that prune.
    """

    spec: semantics.ModelSpec
    states: Mapping[str, tuple[str, ...]]
    extractor: FeatureExtractor
    graph: ModelGraph
    parameters: Parameters
    guides: Mapping[str, Floats] = field(default_factory=dict)
    _binders: dict[tuple[int, bool, bool], inference.Binder] = field(default_factory=dict, init=False)
    _restricted: dict[Hashable, inference.Binder] = field(default_factory=dict, init=False)
    _apart: dict[str | None, ModelGraph] = field(default_factory=dict, init=False)  # by stage

    @cached_property
    def method(self) -> tuple[str, semantics.MethodSettings]:
        """Name and settings of the inference method that the template asks for.

        Before the stage that prunes has been trained, single labels prune.
        """
        return inference.choose_method(self.graph, self.parameters, self._asked)

    @property
    def comparable_method(self) -> tuple[str, semantics.MethodSettings]:
        """A method whose log Z are comparable, by its name in `METHODS`: exact inference if it fits, else messages.

        Bounds on log Z are not comparable, and sampling gives no log Z.
        """
        graph, settings = self.graph, semantics.inference_settings(self.spec)
        name, chosen = self.method
        if not graph.relational and graph.exact_cost.largest <= inference.largest_table(settings):
            name, chosen = "exact", semantics.ExactSettings(max_table=inference.largest_table(settings))
        elif name not in ("exact", "automaton", "auto", "bp", "trp"):
            name, chosen = ("auto", semantics.AutoSettings()) if graph.relational else ("trp", semantics.TrpSettings())
        return name, chosen

    @property
    def sums_fit(self) -> bool:
        """Whether there are sums over all labellings: not where a model is so wide that inference prunes it."""
        return not inference.METHODS[self.method[0]].thin or self.comparable_method[0] == "exact"

    @cached_property
    def sums_latents_first(self) -> bool:
        """Whether latent variables can be summed out before the best labels are sought, as `joint` decoding has to."""
        try:
            return inference.latents_first_fits(self.graph, semantics.inference_settings(self.spec))
        except DcrfError:
            return False

    @cached_property
    def guide(self) -> inference.StageGuide | None:
        """The stage that prunes, if there is one."""
        return inference.stage_guide(self.spec, self.graph, self.parameters, self._asked, self.guides)

    @cached_property
    def once_constraint(self) -> inference.OnceDecoder | None:
        """The search that keeps to `once` where the graph does not, as its types are too many; else None."""
        runs = semantics.enforced_onces(self.spec, self.states)
        return inference.OnceDecoder(self.graph, runs) if runs else None

    @cached_property
    def label_states(self) -> dict[str, tuple[str, ...]]:
        """The states of the labels alone."""
        return {label: self.states[label] for label in self.graph.variables[: self.graph.num_labels]}

    @property
    def _asked(self) -> semantics.MethodSettings:
        asked = semantics.inference_settings(self.spec)
        stage = semantics.guiding_stage(self.spec, asked)
        return asked if stage is None or stage in self.guides else asked.model_copy(update={"by": None})

    @cached_property
    def coded(self) -> list[semantics.Reads]:
        """What the rows of each table without weights are made from."""
        return [template.reads for template in self.graph.coded]

    def features(self, corpus: Corpus) -> tuple[tuple[FeatureRows, ...], Mapping[int, Pairs]]:
        """The feature rows of a corpus, and the positions that relational cliques join."""
        rows, relations = self.extractor.everything(corpus, self.coded)
        return (*rows, *rows_of_lengths(self.graph.templates, rows, corpus.sentence_off)), relations

    def binder(self, graph: ModelGraph, *, programs: bool, latents_first: bool) -> inference.Binder:
        """Binds data to a graph. It is made once for each graph and each way."""
        key = id(graph), programs, latents_first  # a binder holds its graph, so that the id stays its own
        if key not in self._binders:
            self._binders[key] = inference.Binder(
                graph, self.parameters, programs=programs, latents_first=latents_first
            )
        return self._binders[key]

    def constraints_apart(self, pieces: Sequence[PieceTemplate], stage: str | None) -> ModelGraph:
        """The graph whose constraints are no part of these pieces of a stage. It is made once a stage."""
        if stage not in self._apart:
            self._apart[stage] = with_constraints_apart(self.graph, pieces)
        return self._apart[stage]

    def restricted_binder(self, allowed: Mapping[int, Mask], first_set: int, *, programs: bool) -> inference.Binder:
        """The binder of the graph with `restricted_graph`'s factors. The last few are kept: events are much alike."""
        key = programs, tuple((variable, table.shape, table.tobytes()) for variable, table in allowed.items())
        binder = self._restricted.get(key)
        if binder is None:
            graph = restricted_graph(self.graph, allowed, first_set, EVENT)
            binder = inference.Binder(graph, self.parameters, programs=programs)
            for oldest in list(self._restricted)[: 1 - KEPT_RESTRICTED]:
                self._restricted.pop(oldest, None)
            self._restricted[key] = binder
        return binder


@dataclass(eq=False)
class Predictor:
    """A corpus with its features, bound to a model. Made by `TrainedModel.prepare`.

    known: labels known beforehand, which every prediction is conditioned on.   rows: of each feature set.
    relations: the pairs of each relational clique.   constant_weights: the weights of a trained model, and these with
    its temperature. They never change, so what is computed from them is kept.

    DcrfError where a value is so large that sums of scores may not be finite: the best labels would be any.
    """

    structure: ModelStructure
    corpus: Corpus
    known: EncodedLabels | None
    rows: tuple[FeatureRows, ...]
    relations: Mapping[int, Pairs]
    constant_weights: tuple[Floats, ...] = ()
    _local_decoders: dict[str | None, inference.LocalDecoder] = field(default_factory=dict)  # by stage

    @classmethod
    def of(
        cls, structure: ModelStructure, corpus: Corpus, known: EncodedLabels | None = None,
        constant_weights: tuple[Floats, ...] = (),
    ) -> Self:  # fmt: skip
        """The predictor of a corpus, whose features are extracted now."""
        require_kind(corpus, Corpus, "corpus", CORPUS)
        require_kind(known, (EncodedLabels, type(None)), "given", "labels, as `encode_known_labels` gives them")
        return cls(structure, corpus, known, *structure.features(corpus), constant_weights)

    @classmethod
    def of_texts(
        cls, structure: ModelStructure, texts: Mapping[str, Sequence[str]], constant_weights: tuple[Floats, ...]
    ) -> Self | None:
        """The predictor of a sentence with these texts by column, without a corpus, which is faster.

        None where the sentence alone does not tell everything: the model reads observations or joins positions.
        """
        if structure.coded or structure.graph.relational:
            return None
        length = len(next(iter(texts.values())))
        rows = structure.extractor.sentence_rows(texts, length)
        return None if rows is None else cls(structure, corpus_of_length(length), None, rows, {}, constant_weights)

    def __post_init__(self) -> None:
        for rows in self.rows:
            sizes = np.abs(rows.value)
            if len(sizes) and not sizes.max() <= LARGEST:
                too_large = ~(sizes <= LARGEST) & (rows.value != -np.inf)  # of a given score, which only it can be
                if too_large.any():
                    raise self._too_large(rows, int(np.flatnonzero(too_large)[0]))

    def _too_large(self, rows: FeatureRows, entry: int) -> DcrfError:
        corpus = self.corpus
        row = int(np.searchsorted(rows.row_off, entry, side="right")) - 1
        first = rows.first_row(corpus.sentence_off) - rows.pad_left
        sentence = int(np.searchsorted(first, row, side="right")) - 1
        line = int(corpus.token_line[corpus.sentence_off[sentence]])
        message = f"a number of this sentence is too large for scores: a feature has the value {rows.value[entry]:.6g}"
        remedy = "give numbers in a unit in which they are near 1"
        return data_error("bad-value", message, file=corpus.file, line=line, help=remedy)

    def bind(
        self, *, programs: bool = False, latents_first: bool = False, graph: ModelGraph | None = None
    ) -> inference.BoundData:
        """The corpus bound to the model, clamped to the labels known beforehand; see `Binder` for the arguments.

        graph: by default the model's.
        """
        graph = self.structure.graph if graph is None else graph
        if self._gold is None:
            binder, rows = self.structure.binder(graph, programs=programs, latents_first=latents_first), self.rows
        else:
            rows = (*self.rows, *clamp_rows(graph, self._gold))
            clamped = clamped_graph(graph, self._gold, len(self.rows))
            binder = inference.Binder(
                clamped, self.structure.parameters, programs=programs, latents_first=latents_first
            )
        return binder.bind(rows, self.corpus.sentence_off, self.relations)

    def restricted(self, allowed: Mapping[int, Mask], *, programs: bool) -> inference.BoundData:
        """The bound corpus with one more feature set for each variable of `allowed`; its codes are all free.

        allowed: by variable, which states each code allows [codes, card]; code 0 allows all.
        """
        structure, rows, count = self.structure, self.rows, self.corpus.num_tokens
        if self._gold is None:
            binder = structure.restricted_binder(allowed, len(rows), programs=programs)
        else:
            clamped = clamped_graph(structure.graph, self._gold, len(rows))
            rows = (*rows, *clamp_rows(structure.graph, self._gold))
            graph = restricted_graph(clamped, allowed, len(rows), EVENT)
            binder = inference.Binder(graph, structure.parameters, programs=programs)
        free = FeatureRows(np.arange(count + 1, dtype=np.int64), np.full(count, FREE, np.int32), np.zeros(0))
        return binder.bind((*rows, *(free for _ in allowed)), self.corpus.sentence_off, self.relations)

    @cached_property
    def _gold(self) -> Gold | None:
        """The labels known beforehand as graphs take them."""
        if self.known is None:
            return None
        structure = self.structure
        return gold_of(structure.spec, structure.states, structure.extractor, self.corpus, self.known)

    @cached_property
    def bound(self) -> tuple[inference.BoundData, inference.SequenceMethod]:
        """The bound corpus, with the inference method that the template asks for."""
        name, settings = self.structure.method
        entry, guide = inference.METHODS[name], self.structure.guide
        data = self.bind(programs=entry.programs, graph=entry.graph(self.structure.graph))
        method = entry.build(data, settings)
        if isinstance(method, inference.PrunedMethod) and guide is not None:
            method.lists = inference.GuideLists(self._bind_guide, guide).lists
        return data, method

    def _bind_guide(self, guide: inference.StageGuide) -> inference.BoundData:
        return self.bind(programs=guide.programs, graph=guide.bound_graph)

    def local_decoder(self, stage: str | None) -> inference.LocalDecoder:
        """What decodes by the local distributions of the pieces of a stage. It is made once."""
        if stage not in self._local_decoders:
            pieces = inference.local_pieces(self.structure.spec, self.structure.graph, stage)
            graph = self.structure.constraints_apart(pieces, stage)
            self._local_decoders[stage] = inference.LocalDecoder(self.bind(graph=graph), pieces, graph)
        return self._local_decoders[stage]

    @cached_property
    def comparable(self) -> tuple[inference.BoundData, inference.SequenceMethod]:
        """The bound corpus, with the method of `comparable_method`."""
        name, chosen = self.structure.comparable_method
        data = self.bind(programs=inference.METHODS[name].programs)
        return data, inference.METHODS[name].build(data, chosen)

    def log_z(self, weights: Floats, workers: inference.Workers) -> Floats:
        """log Z of each sentence, [S]; Bethe's approximation on loops; -inf if no labelling is possible.

        Where the model's method prunes, that of all labellings if exact inference fits, else a lower bound.
        """
        prunes = inference.METHODS[self.structure.method[0]].thin
        data, method = self.comparable if prunes and self.structure.sums_fit else self.bound
        return inference.run_inference(data, method, data.potentials_at(weights, self.constant_weights), workers).log_z

    def marginals(self, weights: Floats, workers: inference.Workers) -> tuple[list[Floats], inference.RunStatus]:
        """p(y_t = state | x) of every variable, [N, states]."""
        data, method = self.bound
        potentials = data.potentials_at(weights, self.constant_weights)
        out = inference.run_inference(data, method, potentials, workers, marginals=True)
        return data.by_variable(out.marginals), out.summary()

    def pruning(self, weights: Floats, workers: inference.Workers, gold: EncodedLabels) -> inference.PruningReport:
        """What pruned inference leaves out, see `PruningReport`; nothing under other methods."""
        data, method = self.bound
        if not isinstance(method, inference.PrunedMethod) or not data.num_sequences:
            return inference.PruningReport()
        potentials = data.potentials_at(weights, self.constant_weights)
        return inference.pruning_loss(data, method, potentials, gold.codes.ravel(), workers)

    def clique_marginals(
        self, weights: Floats
    ) -> Iterator[tuple[tuple[inference.CliqueMarginal, ...], inference.RunStatus]]:
        """Yields for each sentence p(y_c | x) of every clique instance, and how inference ended."""
        if not self.structure.sums_fit:
            message = "clique marginals are sums over all labellings, and `pruned` leaves some out"
            raise data_error("cannot-prune", message, help="`tag --marginals` has the probabilities of single labels")
        name, settings = self.structure.method
        if inference.METHODS[name].thin:
            _, settings = self.structure.comparable_method
        data = self.bind()
        return inference.clique_marginals(data, data.potentials_at(weights, self.constant_weights), settings)

    def sample(self, weights: Floats, workers: inference.Workers, count: int, seed: int) -> inference.Samples:
        """`count` labellings of each sentence drawn from p(y | x).

        DcrfError if exact inference does not fit, or if a search keeps to `once`, from which nothing can be drawn.
        """
        searches = self.structure.once_constraint
        if searches is not None:
            message = (
                f"labellings that keep to {searches.statement} cannot be drawn: its types are too many for the graph"
            )
            remedy = "bind fewer by `except`, or take n-best labellings"
            raise data_error("once-not-exact", message, help=remedy)
        inference.check_samples_fit(self.structure.graph, semantics.inference_settings(self.structure.spec))
        data = self.bind(programs=True)
        return inference.draw_samples(data, data.potentials_at(weights, self.constant_weights), count, seed, workers)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels, in the order of the graph's variables."""
        return self.structure.graph.variables[: self.structure.graph.num_labels]


def gold_of(
    spec: semantics.ModelSpec,
    states: Mapping[str, Sequence[str]],
    extractor: FeatureExtractor,
    corpus: Corpus,
    encoded: EncodedLabels,
) -> Gold:
    """The known values of every variable: of labels as read, of memories as labels imply them, of latents none."""
    spec, states = semantics.unrolled_spec(spec, states)
    names = variable_names(spec)
    codes = np.full((len(names), corpus.num_tokens), -1, np.int32)
    codes[: len(spec.labels)] = encoded.codes
    tables = hidden_tables(spec, states)
    values = extractor.values(corpus)
    reads = [extractor.code_rows(values, [table.observed for table in memory]) for memory in tables]
    observed = [[rows.feature for rows in of_memory] for of_memory in reads]
    fill_memories(codes, tables, observed, {name: m for m, name in enumerate(names)}, corpus.sentence_off)
    sets = [*encoded.sets, *((),) * (len(names) - len(spec.labels))]
    for memory in spec.memories:
        if isinstance(memory, semantics.SegmentMemory):
            clique = next(clique for clique in spec.cliques if clique.segmental)
            label, run = names.index(memory.label), names.index(memory.name)
            listed = states[memory.label]
            codes[run], sets[run] = known_runs(
                semantics.segment_states(memory, listed), segment_shape(spec, clique, listed),
                codes[label], sets[label], corpus.sentence_off,
            )  # fmt: skip
        if isinstance(memory, semantics.RunMemory):
            of, run = names.index(memory.label), names.index(memory.name)
            codes[run], sets[run] = known_counts(memory, states[memory.label], codes[of], sets[of], corpus.sentence_off)
    return Gold(codes, tuple(sets), encoded.soft)


def impossible_gold(corpus: Corpus, sentences: Sequence[int]) -> list[Diagnostic]:
    """The error about sentences whose gold labels agree with no labelling that the hard constraints allow."""
    if not len(sentences):
        return []
    lines = ", ".join(str(corpus.token_line[corpus.sentence_off[s]]) for s in sentences[:SHOWN])
    more = f" and {len(sentences) - SHOWN} more" if len(sentences) > SHOWN else ""
    return [
        Diagnostic(
            "broken-constraint",
            f"no labelling satisfies the constraints and the gold labels of the sentence{'s' * (len(sentences) > 1)} "
            f"at line{'s' * (len(sentences) > 1)} {lines}{more}",
            location=f"{corpus.file}:{corpus.token_line[corpus.sentence_off[sentences[0]]]}",
            help="correct the data, or relax the `forbid` or `require` that rules these labels out",
        )
    ]
