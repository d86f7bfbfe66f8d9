"""A trained model: tags, scores, explains itself, and goes to a file and back.

The file holds everything that tagging needs (canonical template, states, alphabets, lexicons, weights) and the record
of the training. Not here: training (`training`), the container (`model_file`), measures (`metrics`), what the methods
that look inside or change a model work out (`inside`, `calibration`, `rounds`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..data import Corpus, EncodedLabels, encode_labels, stranger_tokens
from ..errors import CORPUS, Diagnostic, data_error, require_kind, require_whole, warn_of
from ..features import FeatureExtractor, RegisteredFeature, pack_strings
from ..graph import ModelGraph, Parameters
from ..inference import CliqueMarginal, NBest, RunStatus, Samples, Workers
from ..metrics import evaluate_predictions, goodness, nothing_measured
from ..optimizers import BoostingRound, Voters
from ..semantics import ModelSpec, decoding, inference_settings, stage_settings, to_text
from .boosting_path import cut_at_round
from .calibration import calibration_of
from .file_format import write_model
from .named_weights import NamedWeights
from .prediction import Prediction, joined_predictions, runs_that_fit
from .predictor import Answers, Engine, Labelled
from .rank_risk import RankRisk, rank_risk_of
from .record import TrainingRecord
from .serialization import restored_model

__all__ = ["Prediction", "TrainedModel", "TrainingRecord", "load"]


class TrainedModel:
    """A model with its weights. Immutable but for caches; safe to use from several threads one call at a time.

    states: of each variable: labels, latents, memories.   known_values: training values of the columns that an OOV
    metric names.   voters: of a model whose labellings are elected; `weights` is then their mean, by which everything
    but the best labelling is answered.
    """

    def __init__(
        self,
        spec: ModelSpec,
        states: Mapping[str, tuple[str, ...]],
        extractor: FeatureExtractor,
        known_values: Mapping[str, frozenset[str]],
        graph: ModelGraph,
        parameters: Parameters,
        weights: Floats,
        record: TrainingRecord,
        voters: Voters | None = None,
    ):
        self.spec, self.states, self.extractor, self.known_values = spec, dict(states), extractor, known_values
        self.graph, self.parameters, self.weights, self.record = graph, parameters, weights, record
        self.voters = voters
        self._engine = Engine(spec, self.states, extractor, graph, parameters)

    @property
    def num_weights(self) -> int:
        return self.parameters.num_weights

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels: what is predicted. Latents and memories are not."""
        return tuple(self.states)[: self.graph.num_labels]

    def with_weights(self, weights: Floats, record: TrainingRecord, voters: Voters | None = None) -> TrainedModel:
        """The same model with other weights [W]."""
        weights = np.asarray(weights, np.float64)
        if weights.shape != self.weights.shape:
            raise ValueError(f"`weights` takes {self.num_weights:,} numbers: found an array of shape {weights.shape}")
        return TrainedModel(
            self.spec, self.states, self.extractor, self.known_values, self.graph, self.parameters, weights, record,
            voters,
        )  # fmt: skip

    @property
    def is_margin(self) -> bool:
        """Whether the criterion only compares scores, so that probabilities are to be calibrated."""
        return stage_settings(self.spec, self.record.stage or None).criterion.margin

    @property
    def decode(self) -> str:
        """By which rule labels are found: what the template says, or else what the criterion trains for."""
        return self.record.decode or decoding(self.spec, self.record.stage or None)

    @property
    def temperature(self) -> float:
        """τ of p(y | x) ∝ exp(τ Σ log φ): 1, or what `calibrated` has found."""
        return self.record.calibration.temperature if self.record.calibration is not None else 1.0

    @property
    def _log_potentials(self) -> Floats:
        """The weights whose scores are logarithms of probabilities, up to a constant."""
        return self.temperature * self.weights

    def calibrated(self, corpus: Corpus, *, threads: int | None = None) -> TrainedModel:
        """The same model with the temperature that makes the gold labels of held-out data likeliest.

        It changes probabilities and what is decoded by them, `marginal` or over latent variables; not the best
        labelling. DcrfError where no temperature is the best one, or the inference gives no log Z.
        """
        self._require_log_z("no probability")
        log_probabilities = self._log_probabilities_of(corpus, Workers(threads))
        calibration = calibration_of(log_probabilities, self.weights, corpus.file)
        return self.with_weights(self.weights, replace(self.record, calibration=calibration), self.voters)

    def at_round(self, rounds: int) -> TrainedModel:
        """The model as boosting had it after so many rounds of its last stage. DcrfError where it has no such round."""
        require_whole(rounds, "rounds", least=0)
        return self.with_weights(*cut_at_round(self.weights, self.record, rounds))

    # tagging ------------------------------------------------------------------------------------------------------

    # Every method that asks about labellings takes `given`: labels known beforehand, to which all answers then keep.

    def on(self, corpus: Corpus, given: EncodedLabels | None = None) -> Answers:
        """A corpus with its features, which the methods below take in its place: extracted once for several of them."""
        return self._engine.on(corpus, given)

    def predict(
        self,
        corpus: Corpus | Answers,
        *,
        threads: int | None = None,
        decode: str | None = None,
        given: EncodedLabels | None = None,
    ) -> Prediction:
        """Labels every token. `decode`: `joint`, `marginal` or `local`, by default the model's own (`decode`)."""
        compared = sum(own.size for own in self.extractor.likenesses)
        if isinstance(corpus, Corpus) and given is None and len(runs := runs_that_fit(corpus, compared)) > 1:
            parts = [self.predict(self.on(corpus.slice(*run)), threads=threads, decode=decode) for run in runs]
            return joined_predictions(parts, [first for first, _ in runs])
        answers = corpus if isinstance(corpus, Answers) else self.on(corpus, given)
        workers, stage, decode = Workers(threads), self.record.stage or None, self.decode if decode is None else decode
        if self.voters is not None and decode == "joint":
            return self._prediction(answers.voted(self.voters, workers, stage))
        return self._prediction(answers.best(self.weights, workers, decode, stage, self.temperature))

    def marginals(
        self, corpus: Corpus | Answers, *, threads: int | None = None, given: EncodedLabels | None = None
    ) -> tuple[dict[str, Floats], RunStatus]:
        """p(y_t = state | x) of every variable, [N, states], and how inference ended."""
        answers = corpus if isinstance(corpus, Answers) else self.on(corpus, given)
        found, status = answers.marginals(self._log_potentials, Workers(threads))
        return dict(zip(self.states, found, strict=True)), status

    def clique_marginals(
        self, corpus: Corpus, *, given: EncodedLabels | None = None
    ) -> Iterator[tuple[tuple[CliqueMarginal, ...], RunStatus]]:
        """Of each sentence: p(y_c | x) for every clique at every place where it lies, and how inference ended."""
        return self._engine.on(corpus, given).clique_marginals(self._log_potentials)

    def nbest(
        self, corpus: Corpus | Answers, count: int, *, threads: int | None = None, given: EncodedLabels | None = None
    ) -> NBest:
        """The `count` best labellings of each sentence: exact, with probabilities, wherever exact inference fits.

        Latent variables are summed out; where that and the search do not go together exactly, the best of those that
        other methods propose.
        """
        require_whole(count, "count")
        answers = corpus if isinstance(corpus, Answers) else self.on(corpus, given)
        return answers.nbest(self.weights, Workers(threads), count, self.temperature)

    def sample(
        self,
        corpus: Corpus,
        count: int,
        *,
        seed: int = 0,
        threads: int | None = None,
        given: EncodedLabels | None = None,
    ) -> Samples:
        """`count` labellings of each sentence drawn from p(y | x). DcrfError where exact inference does not fit."""
        require_whole(count, "count")
        require_whole(seed, "seed", least=0)
        return self._engine.on(corpus, given).sample(self._log_potentials, Workers(threads), count, seed)

    def log_likelihood(self, corpus: Corpus, *, threads: int | None = None) -> float:
        """Σ log p(y | x) in nats of what is known of the gold labels, the rest summed out; Bethe's approximation on
        loops. A sentence whose gold has a value that is no state, or that no labelling agrees with, is left out.

        DcrfError under a method that gives no log Z.
        """
        self._require_log_z("no likelihood")
        return float(self._log_probabilities_of(corpus, Workers(threads))(self._log_potentials).sum())

    def _log_probabilities_of(self, corpus: Corpus, workers: Workers) -> Callable[[Floats], Floats]:
        """The terms of `log_likelihood` as a function of weights [W], with everything else done once."""
        require_kind(corpus, Corpus, "corpus", CORPUS)
        gold = encode_labels(self.spec, self.states, corpus)
        tokens = np.flatnonzero(stranger_tokens(self.spec, self.states, corpus))
        strange = np.zeros(corpus.num_sentences, bool)
        strange[np.searchsorted(corpus.sentence_off, tokens, side="right") - 1] = True
        clamped, free = self._engine.on(corpus, gold), self._engine.on(corpus)

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
        return self._ranks_of(corpus, Workers(threads))(self.weights)

    def _ranks_of(self, corpus: Corpus, workers: Workers) -> Callable[[Floats], RankRisk]:
        """`rank_risk` as a function of weights [W], with everything else done once."""
        require_kind(corpus, Corpus, "corpus", CORPUS)
        gold = encode_labels(self.spec, self.states, corpus)
        return rank_risk_of(self._engine.on(corpus), self._engine.on(corpus, gold), gold, workers)

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

        on_status: told how the inference of the labels ended.   on_remark: told of a metric that has nothing to count
        in this corpus, which is otherwise a `DcrfWarning`.
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        model = self if weights is None else self.with_weights(weights, self.record)
        found = model.predict(corpus, threads=threads, decode=decode)
        if on_status is not None:
            on_status(found.status)
        remarks = nothing_measured(self.spec, corpus, self.states, self.known_values.__getitem__)
        if on_remark is None:
            warn_of(remarks, depth=2)
        else:
            for remark in remarks:
                on_remark(remark)
        return self._scores(
            corpus,
            found,
            lambda: model.log_likelihood(corpus, threads=threads),
            lambda: model.rank_risk(corpus, threads=threads),
        )

    def evaluator(
        self, corpus: Corpus, workers: Workers, decode: str | None, stage: str | None = None
    ) -> Callable[[Floats], float]:
        """A function from weights [W] to the first score of `evaluate` on a corpus, with everything else done once."""
        first = self.spec.evaluate[0].name if self.spec.evaluate else ""
        if first == "log_likelihood":
            log_probabilities = self._log_probabilities_of(corpus, workers)
            return lambda weights: float(log_probabilities(weights).sum())
        if first == "rank_risk":
            rank = self._ranks_of(corpus, workers)
            return lambda weights: goodness(first, rank(weights).value)
        answers = self._engine.on(corpus)

        def score(weights: Floats) -> float:
            prediction = self._prediction(answers.best(weights, workers, decode, stage))
            found = self._scores(corpus, prediction, lambda: 0.0, lambda: RankRisk(0.0, 0))
            return float(goodness(*next(iter(found.items()))))

        return score

    def _scores(
        self,
        corpus: Corpus,
        prediction: Prediction,
        log_likelihood: Callable[[], float],
        rank_risk: Callable[[], RankRisk],
    ) -> dict[str, float | int]:
        off, codes = corpus.sentence_off, {label: own.copy() for label, own in prediction.codes.items()}
        for s in prediction.status.impossible:
            for own in codes.values():
                own[off[s] : off[s + 1]] = -1  # nothing was predicted, and nothing can be right
        return evaluate_predictions(
            self.spec,
            corpus,
            codes,
            self.states,
            known_values=self.known_values.__getitem__,
            log_likelihood=log_likelihood,
            rank_risk=rank_risk,
        )

    def _prediction(self, best: Labelled) -> Prediction:
        states = {label: self.states[label] for label in self.labels}
        return Prediction(dict(zip(self.labels, best.codes, strict=True)), states, best.status, best.scores)

    # looking inside -----------------------------------------------------------------------------------------------

    def show_weights(self) -> Iterator[tuple[str, str, tuple[str, ...], float]]:
        """(clique, feature, states of its sites, weight) of every weight; the bias's feature is called `bias`."""
        return self._named_weights.rows()

    def strongest_weights(
        self, top: int, clique: str | None = None, feature: str | None = None
    ) -> list[tuple[str, str, tuple[str, ...], float]]:
        """The `top` weights of largest magnitude, as `show_weights` has them; ties in the model's order.

        clique: only cliques of this name, `*` and `?` match.   feature: only features whose text contains this.
        """
        require_whole(top, "top")
        return self._named_weights.strongest(top, clique, feature)

    def boosting_path(self) -> Iterator[tuple[BoostingRound, str, str, tuple[str, ...]]]:
        """Each round of boosting, and clique, feature and states of the weight that it moved; empty where all moved."""
        return self._named_weights.of_rounds(self.record.path)

    @property
    def _named_weights(self) -> NamedWeights:
        return NamedWeights(self.graph, self.parameters, self.extractor, self.states, self.weights)

    # files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Writes the model file, whole or not at all. Raises DcrfError where it cannot be written."""
        arrays: dict[str, NDArray[Any]] = {"weights": self.weights}
        arrays.update(self.parameters.arrays())
        arrays.update({f"features.{name}": array for name, array in self.extractor.arrays().items()})
        if self.voters is not None:
            arrays.update({f"voters.{name}": array for name, array in self.voters.arrays().items()})
        for column, values in self.known_values.items():
            arrays[f"known.{column}.bytes"], arrays[f"known.{column}.off"] = pack_strings(sorted(values))
        header = {
            "template": to_text(self.spec),
            "spec": self.spec.model_dump(mode="json"),
            "states": {label: list(states) for label, states in self.states.items()},
            "features": self.extractor.metadata(),
            "known": list(self.known_values),
            "record": asdict(self.record),
        }
        write_model(path, arrays, header)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        registered: Mapping[str, RegisteredFeature] | None = None,
        unchecked: bool = False,
    ) -> TrainedModel:
        """Reads a model file. `registered`: the user's feature functions that it was trained with, by name.

        Raises DcrfError if the file is no undamaged model, needs functions that are not given, or has a template that
        the checker refuses. `unchecked`: leave out the checker, for a model that was trained so.
        """
        found = restored_model(path, registered or {}, unchecked=unchecked)
        return cls(
            found.spec, found.states, found.extractor, found.known_values, found.graph, found.parameters, found.weights,
            found.record, found.voters,
        )  # fmt: skip


def load(path: str | Path, *, registered: Mapping[str, RegisteredFeature] | None = None) -> TrainedModel:
    """Read a model file: `TrainedModel.load`."""
    return TrainedModel.load(path, registered=registered)
