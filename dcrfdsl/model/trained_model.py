"""A trained model: it tags, evaluates, shows its weights, and is saved and loaded.

Not here: training (`training`), model files (`serialization`), predictions at any weights (`predictor`), measures
(`metrics`), the work behind the methods that look inside a model or change it (`named_weights`, `calibration`,
`boosting_path`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from ..arrays import Floats
from ..data import Corpus, EncodedLabels, encode_labels, unknown_label_tokens
from ..errors import CORPUS, Diagnostic, data_error, require_kind, require_whole, warn_of
from ..features import RegisteredFeature
from ..inference import CliqueMarginal, NBest, RunStatus, Samples, Workers
from ..metrics import empty_metric_warnings, evaluate_predictions, goodness
from ..optimizers import BoostingRound, Voters
from ..semantics import decoding, inference_settings, stage_settings
from .boosting_path import cut_at_round
from .calibration import calibration_of
from .named_weights import NamedWeights
from .prediction import Prediction, joined_predictions, runs_that_fit
from .predictor import Decoded, ModelStructure, Predictor
from .rank_risk import RankRisk, rank_risk_of
from .record import TrainingRecord
from .serialization import ModelParts, read_parts, write_parts

__all__ = ["Prediction", "TrainedModel", "TrainingRecord", "load"]


class TrainedModel(ModelParts):
    """A model with its weights. Immutable except for caches; threads may share it if they call it one at a time."""

    @cached_property
    def _structure(self) -> ModelStructure:
        return ModelStructure(self.spec, self.states, self.extractor, self.graph, self.parameters)

    @property
    def num_weights(self) -> int:
        return self.parameters.num_weights

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels; latents and memories, which are not predicted, are left out."""
        return tuple(self.states)[: self.graph.num_labels]

    def with_weights(self, weights: Floats, record: TrainingRecord, voters: Voters | None = None) -> TrainedModel:
        """The same model with other weights [W]."""
        weights = np.asarray(weights, np.float64)
        if weights.shape != self.weights.shape:
            raise ValueError(f"`weights` takes {self.num_weights:,} numbers: found an array of shape {weights.shape}")
        return replace(self, weights=weights, record=record, voters=voters)

    def with_record(self, record: TrainingRecord) -> TrainedModel:
        """The same model with another record of its training."""
        return replace(self, record=record)

    @property
    def is_margin(self) -> bool:
        """Whether the criterion only compares scores, so that probabilities need calibration."""
        return stage_settings(self.spec, self.record.stage or None).criterion.margin

    @property
    def decode(self) -> str:
        """The rule that decodes labels: the template's, or else the one that the criterion trains for."""
        return self.record.decode or decoding(self.spec, self.record.stage or None)

    @property
    def temperature(self) -> float:
        """τ of p(y | x) ∝ exp(τ Σ log φ): 1 unless the model is `calibrated`."""
        return self.record.calibration.temperature if self.record.calibration is not None else 1.0

    @property
    def _log_potentials(self) -> Floats:
        """The weights whose scores are log-probabilities, up to a constant."""
        return self.temperature * self.weights

    def calibrated(self, corpus: Corpus, *, threads: int | None = None) -> TrainedModel:
        """The same model with the temperature that makes the gold labels of held-out data likeliest.

        It changes probabilities, and labels that these decode (by `marginal`, or over latent variables), but not the
        best labelling. DcrfError if there is no best temperature, or inference gives no log Z.
        """
        self._require_log_z("no probability")
        log_probabilities = self._log_probabilities_of(corpus, Workers(threads))
        calibration = calibration_of(log_probabilities, self.weights, corpus.file)
        return self.with_record(replace(self.record, calibration=calibration))

    def at_round(self, rounds: int) -> TrainedModel:
        """The model after `rounds` rounds of its last stage of boosting. DcrfError if it has no such round."""
        require_whole(rounds, "rounds", least=0)
        return self.with_weights(*cut_at_round(self.weights, self.record, rounds))

    # tagging ------------------------------------------------------------------------------------------------------

    # `given` are labels known beforehand: the methods condition on them, so every labelling agrees with them.

    def on(self, corpus: Corpus, given: EncodedLabels | None = None) -> Predictor:
        """A corpus with its features, which are extracted once.

        `predict`, `marginals` and `nbest` take it in place of the corpus; then its own `given` holds, not theirs.
        """
        return self._structure.on(corpus, given)

    def predict(
        self,
        corpus: Corpus | Predictor,
        *,
        threads: int | None = None,
        decode: str | None = None,
        given: EncodedLabels | None = None,
    ) -> Prediction:
        """Labels every token. `decode`: `joint`, `marginal` or `local`, by default the model's own (`decode`)."""
        compared = sum(kernel.size for kernel in self.extractor.observation_kernels)
        if isinstance(corpus, Corpus) and given is None and len(runs := runs_that_fit(corpus, compared)) > 1:
            parts = [self.predict(self.on(corpus.slice(*run)), threads=threads, decode=decode) for run in runs]
            return joined_predictions(parts, [first for first, _ in runs])
        predictor = corpus if isinstance(corpus, Predictor) else self.on(corpus, given)
        workers, stage, decode = Workers(threads), self.record.stage or None, self.decode if decode is None else decode
        if self.voters is not None and decode == "joint":
            return self._prediction(predictor.voted(self.voters, workers, stage))
        return self._prediction(predictor.best(self.weights, workers, decode, stage, self.temperature))

    def marginals(
        self, corpus: Corpus | Predictor, *, threads: int | None = None, given: EncodedLabels | None = None
    ) -> tuple[dict[str, Floats], RunStatus]:
        """p(y_t = state | x) of every variable, [N, states], and how inference ended."""
        predictor = corpus if isinstance(corpus, Predictor) else self.on(corpus, given)
        marginals, status = predictor.marginals(self._log_potentials, Workers(threads))
        return dict(zip(self.states, marginals, strict=True)), status

    def clique_marginals(
        self, corpus: Corpus, *, given: EncodedLabels | None = None
    ) -> Iterator[tuple[tuple[CliqueMarginal, ...], RunStatus]]:
        """Yields for each sentence p(y_c | x) of every clique instance, and how inference ended."""
        return self._structure.on(corpus, given).clique_marginals(self._log_potentials)

    def nbest(
        self, corpus: Corpus | Predictor, count: int, *, threads: int | None = None, given: EncodedLabels | None = None
    ) -> NBest:
        """The `count` best labellings of each sentence: exact, with probabilities, wherever exact inference fits.

        Latent variables are summed out. If an exact search of the sums does not fit, the result is the best of the
        labellings that other methods propose.
        """
        require_whole(count, "count")
        predictor = corpus if isinstance(corpus, Predictor) else self.on(corpus, given)
        return predictor.nbest(self.weights, Workers(threads), count, self.temperature)

    def sample(
        self,
        corpus: Corpus,
        count: int,
        *,
        seed: int = 0,
        threads: int | None = None,
        given: EncodedLabels | None = None,
    ) -> Samples:
        """`count` labellings of each sentence drawn from p(y | x). DcrfError if exact inference does not fit."""
        require_whole(count, "count")
        require_whole(seed, "seed", least=0)
        return self._structure.on(corpus, given).sample(self._log_potentials, Workers(threads), count, seed)

    def log_likelihood(self, corpus: Corpus, *, threads: int | None = None) -> float:
        """Σ log p(y | x) of the known gold labels in nats, unknown ones summed out; Bethe's approximation on loops.

        Leaves out sentences whose gold labels include a value that is no state, or agree with no possible labelling.
        DcrfError under a method that gives no log Z.
        """
        self._require_log_z("no likelihood")
        return float(self._log_probabilities_of(corpus, Workers(threads))(self._log_potentials).sum())

    def _log_probabilities_of(self, corpus: Corpus, workers: Workers) -> Callable[[Floats], Floats]:
        """The terms of `log_likelihood` as a function of weights [W]; all other work is done once."""
        require_kind(corpus, Corpus, "corpus", CORPUS)
        gold = encode_labels(self.spec, self.states, corpus)
        tokens = np.flatnonzero(unknown_label_tokens(self.spec, self.states, corpus))
        strange = np.zeros(corpus.num_sentences, bool)
        strange[np.searchsorted(corpus.sentence_off, tokens, side="right") - 1] = True
        clamped, free = self._structure.on(corpus, gold), self._structure.on(corpus)

        def log_probabilities(weights: Floats) -> Floats:
            known, log_z = clamped.log_z(weights, workers), free.log_z(weights, workers)
            counted = np.isfinite(known) & ~strange
            return known[counted] - log_z[counted]

        return log_probabilities

    def rank_risk(self, corpus: Corpus, *, threads: int | None = None) -> RankRisk:
        """The mean share of wrong labellings that score as high as the gold one, or a lower bound of it.

        DcrfError under a method that gives no log Z.
        """
        self._require_log_z("no rank risk")
        return self._rank_risk_of(corpus, Workers(threads))(self.weights)

    def _rank_risk_of(self, corpus: Corpus, workers: Workers) -> Callable[[Floats], RankRisk]:
        """`rank_risk` as a function of weights [W]; all other work is done once."""
        require_kind(corpus, Corpus, "corpus", CORPUS)
        gold = encode_labels(self.spec, self.states, corpus)
        return rank_risk_of(self._structure.on(corpus), self._structure.on(corpus, gold), gold, workers)

    def _require_log_z(self, without: str) -> None:
        method = inference_settings(self.spec)
        if not method.gives_log_z:
            raise data_error("no-log-z", f"`{method.method}` gives no log Z, and so {without}", help="use `infer trp`")

    def evaluate(
        self,
        corpus: Corpus,
        *,
        threads: int | None = None,
        weights: Floats | None = None,
        decode: str | None = None,
        on_status: Callable[[RunStatus], None] | None = None,
        on_remark: Callable[[Diagnostic], None] | None = None,
    ) -> dict[str, float | int]:
        """Scores the model on gold data: the template's `evaluate` metrics and counts, by name, rates in 0–1.

        on_status: called with the status of decoding.   on_remark: called for each metric that has nothing to count in
        this corpus; by default that is a `DcrfWarning`.
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        model = self if weights is None else self.with_weights(weights, self.record)
        prediction = model.predict(corpus, threads=threads, decode=decode)
        if on_status is not None:
            on_status(prediction.status)
        remarks = empty_metric_warnings(self.spec, corpus, self.states, self.known_values.__getitem__)
        if on_remark is None:
            warn_of(remarks, depth=2)
        else:
            for remark in remarks:
                on_remark(remark)
        return self._scores(
            corpus,
            prediction,
            lambda: model.log_likelihood(corpus, threads=threads),
            lambda: model.rank_risk(corpus, threads=threads),
        )

    def evaluator(
        self, corpus: Corpus, workers: Workers, decode: str | None, stage: str | None = None
    ) -> Callable[[Floats], float]:
        """A function from weights [W] to the first score of `evaluate` on a corpus, negated for risks.

        All work that does not depend on weights is done once.
        """
        first = self.spec.evaluate[0].name if self.spec.evaluate else ""
        if first == "log_likelihood":
            log_probabilities = self._log_probabilities_of(corpus, workers)
            return lambda weights: float(log_probabilities(weights).sum())
        if first == "rank_risk":
            rank = self._rank_risk_of(corpus, workers)
            return lambda weights: goodness(first, rank(weights).value)
        predictor = self._structure.on(corpus)

        def score(weights: Floats) -> float:
            prediction = self._prediction(predictor.best(weights, workers, decode, stage))
            scores = self._scores(corpus, prediction, lambda: 0.0, lambda: RankRisk(0.0, 0))
            return float(goodness(*next(iter(scores.items()))))

        return score

    def _scores(
        self,
        corpus: Corpus,
        prediction: Prediction,
        log_likelihood: Callable[[], float],
        rank_risk: Callable[[], RankRisk],
    ) -> dict[str, float | int]:
        off, codes = corpus.sentence_off, {label: states.copy() for label, states in prediction.codes.items()}
        for s in prediction.status.impossible:
            for states in codes.values():
                states[off[s] : off[s + 1]] = -1  # nothing was predicted, and nothing can be right
        return evaluate_predictions(
            self.spec,
            corpus,
            codes,
            self.states,
            known_values=self.known_values.__getitem__,
            log_likelihood=log_likelihood,
            rank_risk=rank_risk,
        )

    def _prediction(self, decoded: Decoded) -> Prediction:
        states = {label: self.states[label] for label in self.labels}
        return Prediction(dict(zip(self.labels, decoded.codes, strict=True)), states, decoded.status, decoded.scores)

    # looking inside -----------------------------------------------------------------------------------------------

    def show_weights(self) -> Iterator[tuple[str, str, tuple[str, ...], float]]:
        """(clique, feature, states of its sites, weight) of every weight; the bias's feature is called `bias`."""
        return self._named_weights.rows()

    def strongest_weights(
        self, top: int, clique: str | None = None, feature: str | None = None
    ) -> list[tuple[str, str, tuple[str, ...], float]]:
        """The `top` weights of largest magnitude, as rows of `show_weights`; ties in the model's order.

        clique: only cliques of this name, `*` and `?` match.   feature: only features whose text contains this.
        """
        require_whole(top, "top")
        return self._named_weights.strongest(top, clique, feature)

    def boosting_path(self) -> Iterator[tuple[BoostingRound, str, str, tuple[str, ...]]]:
        """Each round of boosting with clique, feature and states of the weight that moved; empty if all moved."""
        return self._named_weights.of_rounds(self.record.path)

    @property
    def _named_weights(self) -> NamedWeights:
        return NamedWeights(self.graph, self.parameters, self.extractor, self.states, self.weights)

    # files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Writes the model file, whole or not at all. Raises DcrfError if it cannot be written."""
        write_parts(path, self)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        registered: Mapping[str, RegisteredFeature] | None = None,
        unchecked: bool = False,
    ) -> TrainedModel:
        """Reads a model file. `registered`: the user's feature functions that it was trained with, by name.

        Raises DcrfError if the file is no model or is damaged, if `registered` lacks a function that it needs, or if
        the checker refuses its template. unchecked: leaves out the checker, for a model that was trained without it.
        """
        return cls(**vars(read_parts(path, registered or {}, unchecked=unchecked)))


def load(path: str | Path, *, registered: Mapping[str, RegisteredFeature] | None = None) -> TrainedModel:
    """Read a model file: `TrainedModel.load`."""
    return TrainedModel.load(path, registered=registered)
