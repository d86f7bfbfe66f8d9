"""A trained model: it tags, evaluates, shows its weights, and is saved and loaded.

Not here: tagging itself (`tagging_model`), training (`training`), model files (`serialization`), measures (`metrics`),
the work behind the methods that look inside a model or change it (`named_weights`, `calibration`, `boosting_path`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..data import Corpus, encode_labels, unknown_label_tokens
from ..features import RegisteredFeature
from ..foundation import (
    CORPUS,
    Diagnostic,
    Floats,
    data_error,
    require_kind,
    require_whole,
    warn_of,
)
from ..inference import RunStatus, Workers
from ..metrics import empty_metric_warnings, evaluate_predictions, goodness
from ..optimizers import BoostingRound
from ..semantics import inference_settings
from .boosting_path import cut_at_round
from .calibration import calibration_of
from .explaining_model import ExplainingModel
from .named_weights import NamedWeights
from .prediction import Prediction
from .rank_risk import RankRisk, rank_risk_of
from .record import TrainingRecord
from .serialization import parts_as_bytes, parts_from_bytes, read_parts, write_parts

__all__ = ["Prediction", "TrainedModel", "TrainingRecord", "load"]


class FirstScore(NamedTuple):
    """A metric by its name, and its value; less a risk from 1, so that more is better."""

    metric: str
    value: float


class TrainedModel(ExplainingModel):
    """A model with its weights: it tags text, scores itself on gold data, shows its weights, and is saved.

    `dcrfdsl.fit` and `dcrfdsl.load` make one. It never changes but for caches of bounded size, so threads may share it,
    and forked processes. It can be copied, and pickled if feature functions of yours can. N is the number of tokens of
    a corpus, S that of its sentences, W that of the weights.

    spec: the template as a `ModelSpec`.
    states: of each variable (labels, latents, memories) by its name, a tuple of texts.
    weights: [W] float64; `show_weights` names them.
    record: how it was trained, a `TrainingRecord`.
    extractor, graph, parameters, known_values, voters, guides: its inner parts.

    >>> model = fit("address.dcrf", corpus)
    >>> model.labels, model.num_weights
    (('part',), 73)
    >>> model.predict(corpus).texts("part")[:3]
    ['B-STREET', 'I-STREET', 'I-STREET']
    """

    # probabilities and rounds -------------------------------------------------------------------------------------

    def calibrated(self, corpus: Corpus, *, threads: int | None = None) -> TrainedModel:
        """The same model with the temperature that makes the gold labels of held-out data likeliest.

        corpus: held-out gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        It changes probabilities, and labels that these decode (by `marginal`, or over latent variables), but not the
        best labelling. Raises DcrfError if there is no best temperature, or inference gives no log Z.

        >>> data = model.spec.data
        >>> dev = corpus_from_rows([[("Bath", "B-TOWN")], [("Oxford", "O")], [("Mill", "B-STREET")]], data)
        >>> calibrated = model.calibrated(dev)
        """
        self._require_log_z("no probability")
        log_probabilities = self._log_probabilities_of(corpus, Workers(threads))
        calibration = calibration_of(log_probabilities, self.weights, corpus.file)
        return self.with_record(replace(self.record, calibration=calibration))

    def at_round(self, rounds: int) -> TrainedModel:
        """The model as it was after some rounds of boosting (`train adaboost`).

        rounds: how many rounds of its last stage, at least 0.

        Raises DcrfError if it has no such round, or was not boosted: `boosted.at_round(50).evaluate(dev)`.
        """
        require_whole(rounds, "rounds", least=0)
        return self.with_weights(*cut_at_round(self.weights, self.record, rounds))

    # scores -------------------------------------------------------------------------------------------------------

    def log_likelihood(self, corpus: Corpus, *, threads: int | None = None) -> float:
        """The log-likelihood Σ log p(y | x) of the gold labels in nats, unknown ones summed out.

        corpus: gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        Bethe's approximation where messages pass on loops. Leaves out sentences whose gold labels include a value that
        is no state, or agree with no possible labelling.
        Raises DcrfError under a method that gives no log Z.

        >>> model.log_likelihood(corpus) < 0
        True
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

        corpus: gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        Returns the `value` from 0 to 1, and `at_least`: for how many sentences it is only a bound. Raises DcrfError
        under a method that gives no log Z.

        >>> model.rank_risk(corpus)
        RankRisk(value=0.0, at_least=0)
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
        """Scores the model on gold data: the template's `evaluate` metrics and counts by name, rates from 0 to 1.

        corpus: gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        weights: [W], to score in place of the model's own.
        decode: `joint`, `marginal` or `local`; by default the model's own.
        on_status: called with the `RunStatus` of decoding.
        on_remark: called for each metric that has nothing to count in this corpus; by default that is a `DcrfWarning`.

        Raises DcrfError where gold labels do not fit the model.

        >>> model.evaluate(corpus)["segments(part).f1"]
        1.0
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        model = self if weights is None else self.with_weights(weights, self.record)
        prediction = model.predict(corpus, threads=threads, decode=decode)
        if on_status is not None:
            on_status(model._with_pruning(prediction.status, corpus, Workers(threads)))
        remarks = self.empty_metrics(corpus)
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

    def empty_metrics(self, corpus: Corpus) -> list[Diagnostic]:
        """A warning for each metric of the template that has nothing to count in a corpus.

        corpus: gold data.
        """
        return empty_metric_warnings(self.spec, corpus, self.states, self.known_values.__getitem__)

    def first_score(self, corpus: Corpus, *, threads: int | None = None) -> FirstScore:
        """The first metric of `evaluate`, in the form in which more is better.

        corpus: gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        """
        name, value = next(iter(self.evaluate(corpus, threads=threads).items()))
        return FirstScore(name, float(goodness(name, value)))

    def _with_pruning(self, status: RunStatus, corpus: Corpus, workers: Workers) -> RunStatus:
        """The status of a pruned run, with what pruning leaves out of gold data."""
        if not status.pruning.positions:
            return status
        gold = encode_labels(self.spec, self.states, corpus)
        report = self._structure.on(corpus).pruning(self._log_potentials, workers, gold)
        return replace(status, pruning=report)

    def evaluator(
        self, corpus: Corpus, workers: Workers, decode: str | None, stage: str | None = None
    ) -> Callable[[Floats], float]:
        """A function from weights [W] to the first score of `evaluate` on a corpus, negated for risks.

        corpus: gold data.
        workers: the threads to compute with.
        decode: `joint`, `marginal` or `local`; None for the rule of `stage`.
        stage: of training; by default the last.

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

    # looking inside -----------------------------------------------------------------------------------------------

    def show_weights(self) -> Iterator[tuple[str, str, tuple[str, ...], float]]:
        """Yields a row for every weight: (clique, feature, states of its sites, weight).

        It takes no argument. The feature of the bias is called `bias`. A positive weight makes the states likelier.

        >>> next(model.show_weights())[:3]
        ('part', 'bias', ('B-STREET',))
        """
        return self._named_weights.rows()

    def strongest_weights(
        self, top: int, clique: str | None = None, feature: str | None = None
    ) -> list[tuple[str, str, tuple[str, ...], float]]:
        """The weights of largest magnitude, as rows of `show_weights`; ties in the model's order.

        top: how many, at least 1.
        clique: only cliques of this name; `*` and `?` match.
        feature: only features whose text contains this.

        Raises DcrfError if there is no such clique.

        >>> len(model.strongest_weights(5, feature="lower"))
        5
        """
        require_whole(top, "top")
        return self._named_weights.strongest(top, clique, feature)

    def boosting_path(self) -> Iterator[tuple[BoostingRound, str, str, tuple[str, ...]]]:
        """Yields each round of boosting with clique, feature and states of the weight that moved, empty if all moved.

        It takes no argument, and yields nothing for a model that was not boosted.

        >>> list(model.boosting_path())
        []
        """
        return self._named_weights.of_rounds(self.record.path)

    @property
    def _named_weights(self) -> NamedWeights:
        return NamedWeights(self.graph, self.parameters, self.extractor, self.states, self.weights)

    # files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Writes the model file, whole or not at all.

        path: of the file, which is replaced if it exists.

        Raises DcrfError if it cannot be written.

        >>> model.save("address.model")
        """
        write_parts(path, self)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        registered: Mapping[str, RegisteredFeature] | None = None,
        unchecked: bool = False,
    ) -> TrainedModel:
        """Reads a model file.

        path: of the file.
        registered: the feature functions of yours that it was trained with, by name: `{f.name: f}`.
        unchecked: leaves out the checker, for a model that was trained without it.

        Raises DcrfError if the file is no model or is damaged, if `registered` lacks a function that it needs, or if
        the checker refuses its template.

        >>> model.save("address.model")
        >>> TrainedModel.load("address.model").labels
        ('part',)
        """
        return cls(**vars(read_parts(path, registered or {}, unchecked=unchecked)))

    # objects ------------------------------------------------------------------------------------------------------

    # A pickled model is its file, so it stays readable as long as model files do, and caches are left behind.

    def __reduce__(self) -> tuple[Callable[..., TrainedModel], tuple[bytes, dict[str, RegisteredFeature]]]:
        return _unpickled, (parts_as_bytes(self), self.extractor.registered)

    def __copy__(self) -> TrainedModel:
        return replace(self)

    def __deepcopy__(self, memo: object) -> TrainedModel:
        return replace(self, weights=self.weights.copy())  # nothing else in a model could be changed


def _unpickled(content: bytes, registered: Mapping[str, RegisteredFeature]) -> TrainedModel:
    return TrainedModel(**vars(parts_from_bytes(content, "<pickle>", registered)))


def load(path: str | Path, *, registered: Mapping[str, RegisteredFeature] | None = None) -> TrainedModel:
    """Reads a model file, as `TrainedModel.load` does.

    path: of the file.
    registered: the feature functions of yours that it was trained with, by name: `{f.name: f}`.

    Raises DcrfError if the file is no model or is damaged, if `registered` lacks a function that it needs, or if the
    checker refuses its template.

    >>> model.save("address.model")
    >>> load("address.model").num_weights
    73
    """
    return TrainedModel.load(path, registered=registered)
