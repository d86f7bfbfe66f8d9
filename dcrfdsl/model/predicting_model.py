"""A model with its weights, which predicts: labels, probabilities, n-best lists and samples.

`TrainedModel` adds all else. Not here: ways to decode (`label_decoders`), predictions at any weights (`predictor`),
single sentences as people write them (`sentence_tagging`), files (`serialization`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from itertools import pairwise
from typing import Self, cast, overload

import numpy as np

from ..data import Corpus, EncodedLabels
from ..features import FeatureExtractor
from ..foundation import Floats, cached_property, dataclass, require_whole
from ..graph import ModelGraph, Parameters, scaled_weights
from ..inference import NBest, RunStatus, Samples, Workers
from ..optimizers import Voters
from ..semantics import ModelSpec, decoding, stage_settings
from .label_decoders import VotedDecoder, decoder_of, nbest_labellings
from .prediction import Prediction, joined_predictions, no_labelling, require_possible, runs_that_fit
from .predictor import ModelStructure, Predictor
from .record import TrainingRecord
from .sentence_tagging import Given, Labels, Probabilities, RankedLabels, Sentence, Sentences


@dataclass(frozen=True, eq=False, repr=False)
class PredictingModel:
    """A model with its weights, which predicts. Used as `TrainedModel`.

    states: of each variable: labels, latents, memories.   known_values: training values of the columns that an OOV
    metric names.   voters: if the best labelling is elected by vote; `weights` is then their mean and serves for
    everything else.   guides: weights [W] of the stages by whose marginals the model prunes.
    """

    spec: ModelSpec
    states: Mapping[str, tuple[str, ...]]
    extractor: FeatureExtractor
    known_values: Mapping[str, frozenset[str]]
    graph: ModelGraph
    parameters: Parameters
    weights: Floats
    record: TrainingRecord
    voters: Voters | None = None
    guides: Mapping[str, Floats] = field(default_factory=dict)

    @cached_property
    def structure(self) -> ModelStructure:
        """The model without its weights, which keeps the graphs that it has unrolled."""
        return ModelStructure(self.spec, self.states, self.extractor, self.graph, self.parameters, self.guides)

    @property
    def num_weights(self) -> int:
        """The number W of weights."""
        return self.parameters.num_weights

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels; latents and memories, which are not predicted, are left out."""
        return tuple(self.states)[: self.graph.num_labels]

    def with_weights(self, weights: Floats, record: TrainingRecord, voters: Voters | None = None) -> Self:
        """The same model with other weights.

        weights: [W] numbers, finite or -inf; ValueError for others, or another shape.
        record: how they were trained.
        voters: of a voted perceptron.

        >>> doubled = model.with_weights(2 * model.weights, model.record)
        """
        weights = np.asarray(weights, np.float64)
        if weights.shape != self.weights.shape:
            raise ValueError(f"`weights` takes {self.num_weights:,} numbers: found an array of shape {weights.shape}")
        if unusable_weight(weights) is not None:
            wrong = weights[~(weights < np.inf)]
            raise ValueError(
                f"`weights` takes numbers that are finite or -inf: found {wrong[0]}, {len(wrong):,} in all"
            )
        record = replace(record, thresholds=())  # which hold for the weights that they were found with
        found = replace(self, weights=weights, record=record, voters=voters)
        vars(found)["structure"] = self.structure  # with the graphs that it has unrolled, which serve any weights
        return found

    def with_record(self, record: TrainingRecord) -> Self:
        """The same model with another record of its training.

        record: which takes the place of `model.record`.

        >>> same = model.with_record(model.record)
        """
        return replace(self, record=record)

    @property
    def is_margin(self) -> bool:
        """Whether the criterion only compares scores, or has costs, so that probabilities need calibration."""
        return stage_settings(self.spec, self.record.stage or None).criterion.is_biased

    @cached_property
    def decode(self) -> str:
        """The rule that decodes labels: the template's, or else the one that the criterion trains for."""
        return self.record.decode or decoding(self.spec, self.record.stage or None)

    @property
    def inference_method(self) -> str:
        """The name of the inference method that tags, with `auto` resolved."""
        return self.structure.method[0]

    @property
    def sums_latents_first(self) -> bool:
        """Whether `joint` decoding sums latent variables out exactly."""
        return self.structure.sums_latents_first

    @property
    def keeps_once_by_search(self) -> bool:
        """Whether decoding alone keeps to a `once` of the template, whose types are too many for the graph."""
        return self.structure.once_constraint is not None

    @property
    def temperature(self) -> float:
        """τ of p(y | x) ∝ exp(τ Σ log φ): 1 unless the model is calibrated."""
        return self.record.calibration.temperature if self.record.calibration is not None else 1.0

    @cached_property
    def probability_weights(self) -> Floats:
        """The weights [W] times the temperature: their scores are log-probabilities, up to a constant. The temperature
        follows them, [W + 1], where it scales scores without weights.
        """
        if self.temperature == 1.0:
            return self.weights
        return scaled_weights(self.graph, self.weights, self.temperature)

    # `given` are labels known beforehand: the methods condition on them, so every labelling agrees with them.

    @overload
    def prepare(self, sentences: Corpus | Predictor, given: EncodedLabels | None = None) -> Predictor: ...
    @overload
    def prepare(self, sentences: Sentence, given: Given | None = None) -> Predictor | None: ...
    @overload
    def prepare(
        self, sentences: Corpus | Predictor | Sentence, given: EncodedLabels | Given | None = None
    ) -> Predictor | None: ...
    def prepare(
        self, sentences: Corpus | Predictor | Sentence, given: EncodedLabels | Given | None = None
    ) -> Predictor | None:
        """A corpus or a sentence with its features, which are extracted once, for several predictions.

        sentences: a corpus, whose columns of labels may be absent; or one sentence as `tag` takes it.
        given: labels known beforehand, which every labelling then has; as for `predict`, with one sentence as for
            `tag`.

        `predict`, `marginals` and `nbest` take it in place of the corpus; then its own `given` holds, not theirs. None
        for a sentence without a token.

        >>> prepared = model.prepare(corpus)
        >>> labels, (probabilities, status) = model.predict(prepared), model.marginals(prepared)
        """
        if isinstance(sentences, Predictor):
            return sentences
        weights = self.weights, self.probability_weights
        if isinstance(sentences, Corpus):
            return Predictor.of(self.structure, sentences, cast(EncodedLabels | None, given), weights)
        if given is None and (texts := self._sentences.texts_of(sentences)) is not None:
            predictor = Predictor.of_texts(self.structure, texts, weights)
            if predictor is not None:
                return predictor
        corpus = self._sentences.corpus(sentences)
        if corpus is None:
            return None
        return Predictor.of(self.structure, corpus, self._sentences.known(cast(Given | None, given), corpus), weights)

    def predict(
        self,
        corpus: Corpus | Predictor,
        *,
        threads: int | None = None,
        decode: str | None = None,
        given: EncodedLabels | None = None,
    ) -> Prediction:
        """Labels every token. Returns a `Prediction`: states by label, scores [S], and how inference ended.

        corpus: the sentences, or what `prepare` makes of them; columns of labels may be absent, and are not looked at.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        decode: as in a template, such as `optimal(nodes = 100)`; by default the model's own, `model.decode`.
        given: labels known beforehand, as `encode_known_labels` of `dcrfdsl.data` gives them.

        Raises DcrfError for an unknown `decode`, or where a column that the features need is absent. A sentence without
        any possible labelling gets the first state everywhere and is in `status.impossible`.

        >>> prediction = model.predict(corpus)
        >>> prediction.texts("part")[:3], prediction.scores.shape
        (['B-STREET', 'I-STREET', 'I-STREET'], (3,))
        """
        if isinstance(corpus, Corpus) and given is None:
            compared = sum(kernel.size for kernel in self.extractor.observation_kernels)
            if len(runs := runs_that_fit(corpus, compared)) > 1:
                parts = [self.predict(self.prepare(corpus.slice(*run)), threads=threads, decode=decode) for run in runs]
                return joined_predictions(parts, [first for first, _ in runs], corpus)
        predictor = self.prepare(corpus, given)
        workers, stage, rule = Workers(threads), self.record.stage or None, self.decode if decode is None else decode
        if self.voters is not None and rule == "joint":
            return VotedDecoder(predictor, workers, stage).decoded(self.voters)
        return decoder_of(predictor, rule, stage)(self.weights, workers, self.temperature)

    @overload
    def marginals(
        self, sentences: Corpus | Predictor, *, threads: int | None = None, given: EncodedLabels | None = None
    ) -> tuple[dict[str, Floats], RunStatus]: ...
    @overload
    def marginals(
        self, sentences: Sentence, *, threads: int | None = None, given: Given | None = None
    ) -> Probabilities: ...
    def marginals(
        self,
        sentences: Corpus | Predictor | Sentence,
        *,
        threads: int | None = None,
        given: EncodedLabels | Given | None = None,
    ) -> tuple[dict[str, Floats], RunStatus] | Probabilities:
        """The probabilities p(y_t = state | x) of every variable, and how inference ended.

        sentences: a corpus, what `prepare` makes of one, or one sentence as `tag` takes it.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        given: labels known beforehand, as for `predict`; with one sentence as for `tag`.

        Returns a dict from variable to [N, states] float64, whose rows sum to 1 and whose columns are in the order of
        `model.states`, and a `RunStatus`. Exact where exact inference runs; otherwise beliefs. Returns for one sentence
        a list with a dict from state to probability for each token; if there are several labels, a dict of such lists.

        >>> probabilities, status = model.marginals(corpus)
        >>> probabilities["part"].shape, status.converged
        ((16, 5), True)
        >>> of_tokens = model.marginals(["9", "Bath", "Lane"])
        >>> max(of_tokens[0], key=of_tokens[0].get)
        'B-STREET'
        """
        predictor, is_one = self.prepare(sentences, given), not isinstance(sentences, Corpus | Predictor)
        if predictor is None:
            return self._sentences.none()
        workers = Workers(1 if is_one and threads is None else threads)
        of_variables, status = predictor.marginals(self.probability_weights, workers)
        declared = self.spec.hidden_names
        tables = {name: table for name, table in zip(self.states, of_variables, strict=True) if name in declared}
        if not is_one:
            return tables, status
        if status.impossible:
            raise no_labelling()
        return self._sentences.probabilities(tables)

    @overload
    def nbest(
        self, sentences: Corpus | Predictor, count: int, *, threads: int | None = None,
        given: EncodedLabels | None = None,
    ) -> NBest: ...  # fmt: skip
    @overload
    def nbest(
        self, sentences: Sentence, count: int, *, threads: int | None = None, given: Given | None = None
    ) -> list[RankedLabels]: ...
    def nbest(
        self,
        sentences: Corpus | Predictor | Sentence,
        count: int,
        *,
        threads: int | None = None,
        given: EncodedLabels | Given | None = None,
    ) -> NBest | list[RankedLabels]:
        """The best labellings of each sentence, best first: exact, with probabilities, wherever exact inference fits.

        sentences: a corpus, what `prepare` makes of one, or one sentence as `tag` takes it.
        count: of labellings a sentence, at least 1.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        given: labels known beforehand, as for `predict`; with one sentence as for `tag`.

        Returns an `NBest` for a corpus. Its `sentences` have `codes` by label [k, T], `score` [k] in nats and
        `probability` [k], for k ≤ count labellings of T tokens. Returns a list of `RankedLabels` for one sentence.
        Latent variables are summed out. If an exact search of the sums does not fit, the result is the best of the
        labellings that other methods propose.

        >>> best = model.nbest(corpus, 3)
        >>> best.exact, best.sentences[0].codes["part"].shape
        (True, (3, 5))
        >>> [ranked.labels for ranked in model.nbest(["Oxford"], 2)]
        [['B-TOWN'], ['O']]
        """
        require_whole(count, "count")
        predictor = self.prepare(sentences, given)
        if predictor is None:
            return [RankedLabels(self._sentences.none(), 0.0, 1.0)]
        found = nbest_labellings(predictor, self.weights, Workers(threads), count, self.temperature)
        if isinstance(sentences, Corpus | Predictor):
            return found
        (best,) = found.sentences
        if not len(best):
            raise no_labelling()
        return self._sentences.ranked(best)

    def sample(
        self,
        corpus: Corpus,
        count: int,
        *,
        seed: int = 0,
        threads: int | None = None,
        given: EncodedLabels | None = None,
    ) -> Samples:
        """Draws labellings of each sentence from p(y | x), independent of each other.

        corpus: the sentences.
        count: of labellings a sentence, at least 1.
        seed: the same seed draws the same labellings, for any number of threads.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        given: labels known beforehand, as for `predict`.

        Returns `Samples`: `codes` by label, [count, N] int32. Raises DcrfError if exact inference does not fit.

        >>> model.sample(corpus, 100, seed=1).codes["part"].shape
        (100, 16)
        """
        require_whole(count, "count")
        require_whole(seed, "seed", least=0)
        return self.prepare(corpus, given).sample(self.probability_weights, Workers(threads), count, seed)

    @cached_property
    def _sentences(self) -> Sentences:
        return Sentences(self.spec, self.states, self.labels)

    def tag(self, sentence: Sentence, *, given: Given | None = None, decode: str | None = None) -> Labels:
        """The labels of one sentence: a list with a state for each token, or by label a dict of such lists.

        sentence: a list of tokens, each a text, a tuple in declared order or a dict by column; or a dict of lists.
        given: labels known beforehand, a list with a state or None for each token; by label if there are several.
        decode: as in a template, such as `optimal(nodes = 100)`; by default the model's own, `model.decode`.

        The labels are those that `predict` gives. A model with one label returns a list, others a dict. Raises
        DcrfError if the sentence does not have the declared columns, or no labelling is possible.

        >>> model.tag(["9", "Bath", "Lane"])
        ['B-STREET', 'I-STREET', 'I-STREET']
        >>> model.tag(["9", "Bath", "Lane"], given=[None, "B-TOWN", None])[1]
        'B-TOWN'
        """
        predictor = self.prepare(sentence, given)
        if predictor is None:
            return self._sentences.none()
        return self._sentences.texts(require_possible(self.predict(predictor, threads=1, decode=decode)).codes)

    def tag_all(
        self, sentences: Iterable[Sentence], *, threads: int | None = None, decode: str | None = None
    ) -> list[Labels]:
        """The labels of each sentence, as `tag` returns them; faster than one call a sentence.

        sentences: each as `tag` takes it.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        decode: as in a template, such as `optimal(nodes = 100)`; by default the model's own.

        Raises DcrfError as `tag` does.

        >>> model.tag_all([["9", "Bath", "Lane"], ["Oxford"]])
        [['B-STREET', 'I-STREET', 'I-STREET'], ['B-TOWN']]
        """
        corpus, count = self._sentences.corpus_of_all(sentences)
        tagged = [self._sentences.none() for _ in range(count)]
        if corpus is not None:
            codes = require_possible(self.predict(corpus, threads=threads, decode=decode), corpus).codes
            numbers = corpus.token_line[corpus.sentence_off[:-1]] - 1  # those without tokens are left out
            for number, (start, end) in zip(numbers.tolist(), pairwise(corpus.sentence_off.tolist()), strict=True):
                tagged[number] = self._sentences.texts({label: of[start:end] for label, of in codes.items()})
        return tagged


def unusable_weight(weights: Floats) -> float | None:
    """A weight that no model may have; None if each is finite or -inf (the log of a relative frequency of 0)."""
    largest = float(weights.max(initial=-math.inf))  # NaN if one is
    return None if largest < math.inf else largest
