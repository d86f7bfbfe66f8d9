"""The first half of `TrainedModel`: what a model predicts.

Labels, probabilities, n-best lists and samples, at the weights that training found. Not here: scores on gold data, a
look at the weights, files (`trained_model`), predictions at any weights (`predictor`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Self, cast, overload

import numpy as np

from ..data import Corpus, EncodedLabels
from ..foundation import DcrfError, Diagnostic, Floats, cached_property, require_whole
from ..inference import CliqueMarginal, NBest, RunStatus, Samples, Workers, contradiction_message
from ..optimizers import Voters
from ..semantics import decoding, stage_settings
from .elections import VotedDecoder
from .prediction import Prediction, joined_predictions, runs_that_fit
from .predictor import Decoded, ModelStructure, Predictor
from .record import TrainingRecord
from .sentence_tagging import Given, Labels, Probabilities, RankedLabels, Sentence, Sentences
from .serialization import ModelParts, unusable_weight


class TaggingModel(ModelParts):
    """A model with its weights, which tags. Used as `TrainedModel`."""

    @cached_property
    def _structure(self) -> ModelStructure:
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
        return replace(self, weights=weights, record=record, voters=voters)

    def with_record(self, record: TrainingRecord) -> Self:
        """The same model with another record of its training.

        record: which takes the place of `model.record`.

        >>> same = model.with_record(model.record)
        """
        return replace(self, record=record)

    @property
    def is_margin(self) -> bool:
        """Whether the criterion only compares scores, so that probabilities need calibration."""
        return stage_settings(self.spec, self.record.stage or None).criterion.margin

    @property
    def decode(self) -> str:
        """The rule that decodes labels: the template's, or else the one that the criterion trains for."""
        return self._decode

    @cached_property
    def _decode(self) -> str:
        return self.record.decode or decoding(self.spec, self.record.stage or None)

    @property
    def inference_method(self) -> str:
        """The name of the inference method that tags, with `auto` resolved."""
        return self._structure.method[0]

    @property
    def sums_latents_first(self) -> bool:
        """Whether `joint` decoding sums latent variables out exactly."""
        return self._structure.sums_latents_first

    @property
    def keeps_once_by_search(self) -> bool:
        """Whether decoding alone keeps to a `once` of the template, whose types are too many for the graph."""
        return self._structure.once_constraint is not None

    @property
    def temperature(self) -> float:
        """τ of p(y | x) ∝ exp(τ Σ log φ): 1 unless the model is `calibrated`."""
        return self.record.calibration.temperature if self.record.calibration is not None else 1.0

    @cached_property
    def _log_potentials(self) -> Floats:
        """The weights whose scores are log-probabilities, up to a constant."""
        return self.weights if self.temperature == 1.0 else self.temperature * self.weights

    # single sentences ---------------------------------------------------------------------------------------------

    @cached_property
    def _sentences(self) -> Sentences:
        return Sentences(self.spec, self.states, self.labels)

    def _on_sentence(self, sentence: Sentence, given: Given | None) -> Predictor | None:
        """What `prepare` makes of one sentence; None if it has no token."""
        if given is None and (texts := self._sentences.texts_of(sentence)) is not None:
            predictor = self._structure.on_texts(texts, (self.weights, self._log_potentials))
            if predictor is not None:
                return predictor
        corpus = self._sentences.corpus(sentence)
        return None if corpus is None else self.prepare(corpus, self._sentences.known(given, corpus))

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
        predictor = self._on_sentence(sentence, given)
        if predictor is None:
            return self._sentences.none()
        return self._sentences.texts(_possible(self.predict(predictor, threads=1, decode=decode)).codes)

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
            codes = _possible(self.predict(corpus, threads=threads, decode=decode), corpus).codes
            numbers = corpus.token_line[corpus.sentence_off[:-1]] - 1  # those without tokens are left out
            for number, (start, end) in zip(numbers.tolist(), pairwise(corpus.sentence_off.tolist()), strict=True):
                tagged[number] = self._sentences.texts({label: of[start:end] for label, of in codes.items()})
        return tagged

    def tag_marginals(self, sentence: Sentence, *, given: Given | None = None) -> Probabilities:
        """For each token of a sentence the probability of each state, as a dict; in a list or by label, as for `tag`.

        sentence, given: as for `tag`.

        The probabilities are those of `marginals`. Raises DcrfError as `tag` does.

        >>> probabilities = model.tag_marginals(["9", "Bath", "Lane"])
        >>> max(probabilities[0], key=probabilities[0].get)
        'B-STREET'
        """
        predictor = self._on_sentence(sentence, given)
        if predictor is None:
            return self._sentences.none()
        tables, status = self.marginals(predictor, threads=1)
        if status.impossible:
            raise no_labelling()
        return self._sentences.probabilities(tables)

    # tagging ------------------------------------------------------------------------------------------------------

    # `given` are labels known beforehand: the methods condition on them, so every labelling agrees with them.

    def prepare(self, corpus: Corpus, given: EncodedLabels | None = None) -> Predictor:
        """A corpus with its features, which are extracted once, for several predictions.

        corpus: the sentences; columns of labels may be absent.
        given: labels known beforehand, which every labelling then has.

        `predict`, `marginals` and `nbest` take it in place of the corpus; then its own `given` holds, not theirs.

        >>> prepared = model.prepare(corpus)
        >>> labels, (probabilities, status) = model.predict(prepared), model.marginals(prepared)
        """
        return self._structure.prepare(corpus, given, (self.weights, self._log_potentials))

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
        predictor = corpus if isinstance(corpus, Predictor) else self.prepare(corpus, given)
        workers, stage, decode = Workers(threads), self.record.stage or None, self.decode if decode is None else decode
        if self.voters is not None and decode == "joint":
            return self._prediction(VotedDecoder(predictor, workers, stage).decoded(self.voters), predictor.corpus)
        best = predictor.best(self.weights, workers, decode, stage, self.temperature)
        return self._prediction(best, predictor.corpus)

    def marginals(
        self, corpus: Corpus | Predictor, *, threads: int | None = None, given: EncodedLabels | None = None
    ) -> tuple[dict[str, Floats], RunStatus]:
        """The probabilities p(y_t = state | x) of every variable, and how inference ended.

        corpus: the sentences, or what `prepare` makes of them.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        given: labels known beforehand, as for `predict`.

        Returns a dict from variable to [N, states] float64, whose rows sum to 1 and whose columns are in the order of
        `model.states`, and a `RunStatus`. Exact where exact inference runs; otherwise beliefs.

        >>> probabilities, status = model.marginals(corpus)
        >>> probabilities["part"].shape, status.converged
        ((16, 5), True)
        """
        predictor = corpus if isinstance(corpus, Predictor) else self.prepare(corpus, given)
        marginals, status = predictor.marginals(self._log_potentials, Workers(threads))
        declared = self.spec.hidden_names
        return {n: table for n, table in zip(self.states, marginals, strict=True) if n in declared}, status

    def clique_marginals(
        self, corpus: Corpus, *, given: EncodedLabels | None = None
    ) -> Iterator[tuple[tuple[CliqueMarginal, ...], RunStatus]]:
        """Yields for each sentence the probabilities p(y_c | x) of every clique instance, and how inference ended.

        corpus: the sentences.
        given: labels known beforehand, as for `predict`.

        A `CliqueMarginal` has the clique's name, its `sites` as (label, position from 0), and a `table` with an axis a
        site.

        >>> cliques, status = next(model.clique_marginals(corpus))
        >>> cliques[-1].sites, cliques[-1].table.shape
        ((('part', 3), ('part', 4)), (5, 5))
        """
        return self.prepare(corpus, given).clique_marginals(self._log_potentials)

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
        if isinstance(sentences, Corpus | Predictor):
            predictor = sentences if isinstance(sentences, Predictor) else self.prepare(sentences, cast(Any, given))
            return predictor.nbest(self.weights, Workers(threads), count, self.temperature)
        one = self._on_sentence(sentences, cast(Given | None, given))
        if one is None:
            return [RankedLabels(self._sentences.none(), 0.0, 1.0)]
        (best,) = self.nbest(one, count, threads=threads).sentences
        if not len(best):
            raise no_labelling()
        return [
            RankedLabels(self._sentences.texts({label: codes[rank] for label, codes in best.codes.items()}), *numbers)
            for rank, numbers in enumerate(zip(best.score.tolist(), best.probability.tolist(), strict=True))
        ]

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
        return self.prepare(corpus, given).sample(self._log_potentials, Workers(threads), count, seed)

    def _prediction(self, decoded: Decoded, corpus: Corpus | None = None) -> Prediction:
        states = {label: self.states[label] for label in self.labels}
        codes = dict(zip(self.labels, decoded.codes, strict=True))
        return Prediction(codes, states, decoded.status, decoded.scores, corpus, decoded.bounds)


def _possible(prediction: Prediction, corpus: Corpus | None = None) -> Prediction:
    """The prediction; DcrfError if it has sentences without a possible labelling."""
    if impossible := list(prediction.status.impossible):
        raise no_labelling(() if corpus is None else corpus.token_line[corpus.sentence_off[impossible]].tolist())
    return prediction


def no_labelling(numbers: Sequence[int] = ()) -> DcrfError:
    """The error that sentences have no possible labelling.   numbers: theirs, from 1; none if there is only one."""
    where = contradiction_message([f"<rows>:{number}" for number in numbers or (1,)])
    remedy = "`predict` labels such sentences by their first states, and its status names them"
    return DcrfError(Diagnostic("no-labelling", where, help=remedy))
