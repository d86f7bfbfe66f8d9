"""The second half of `TrainedModel`: how good it is on gold data, of any length.

Not here: the metrics (`metrics`), predictions (`tagging_model`), a look at the weights, files (`trained_model`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..data import Corpus, encode_labels, unknown_label_tokens
from ..features import view_label, view_map
from ..foundation import CORPUS, Codes, Diagnostic, Floats, data_error, require_kind, warn_of
from ..inference import RunStatus, Workers
from ..metrics import (
    Evaluation,
    ExactSum,
    LabelTables,
    Seen,
    Tally,
    View,
    added,
    empty_metric_warnings,
    evaluation_of,
    first_metric,
    goodness,
    label_tables,
    prediction_tallies,
    values_of,
)
from ..optimizers import Voters
from ..semantics import View as DeclaredView, inference_settings
from .elections import VotedDecoder
from .event_model import EventModel
from .prediction import Prediction
from .predictor import Predictor
from .rank_risk import RankRisk, RankRiskSum, rank_risk_of


class FirstScore(NamedTuple):
    """A metric by its name, and its value; less a risk from 1, so that more is better."""

    metric: str
    value: float


class ScoringModel(EventModel):
    """A model with its weights, which tags and scores itself. Used as `TrainedModel`."""

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
        return float(self._log_likelihood(corpus, threads))

    def _log_likelihood(self, corpus: Corpus, threads: int | None) -> ExactSum:
        """`log_likelihood` as a sum that can go on with other sentences."""
        self._require_log_z("no likelihood")
        return ExactSum(self._log_probabilities_of(corpus, Workers(threads))(self._log_potentials).tolist())

    def _log_probabilities_of(self, corpus: Corpus, workers: Workers) -> Callable[[Floats], Floats]:
        """The terms of `log_likelihood` as a function of weights [W]; all other work is done once."""
        require_kind(corpus, Corpus, "corpus", CORPUS)
        gold = encode_labels(self.spec, self.states, corpus)
        tokens = np.flatnonzero(unknown_label_tokens(self.spec, self.states, corpus))
        strange = np.zeros(corpus.num_sentences, bool)
        strange[np.searchsorted(corpus.sentence_off, tokens, side="right") - 1] = True
        clamped, free = self._structure.prepare(corpus, gold), self._structure.prepare(corpus)

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
        return self._rank_risk(corpus, threads).mean

    def _rank_risk(self, corpus: Corpus, threads: int | None) -> RankRiskSum:
        """`rank_risk` as sums that can go on with other sentences."""
        self._require_log_z("no rank risk")
        return self._rank_risk_of(corpus, Workers(threads))(self.weights)

    def _rank_risk_of(self, corpus: Corpus, workers: Workers) -> Callable[[Floats], RankRiskSum]:
        """`rank_risk` as a function of weights [W]; all other work is done once."""
        require_kind(corpus, Corpus, "corpus", CORPUS)
        gold = encode_labels(self.spec, self.states, corpus)
        return rank_risk_of(self._structure.prepare(corpus), self._structure.prepare(corpus, gold), gold, workers)

    def sentence_terms(self, corpus: Corpus, *, threads: int | None = None) -> dict[str, Floats]:
        """The terms [n] of `log_likelihood` and `rank_risk`, of those that the template names: a sum, and a mean.

        corpus: gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        """
        named, terms = {call.name for call in self.spec.evaluate}, dict[str, Floats]()
        if "log_likelihood" in named:
            self._require_log_z("no likelihood")
            terms["log_likelihood"] = self._log_probabilities_of(corpus, Workers(threads))(self._log_potentials)
        if "rank_risk" in named:
            terms["rank_risk"] = self._rank_risk(corpus, threads).risks
        return terms

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
        decode: as in a template, such as `optimal(nodes = 100)`; by default the model's own.
        on_status: called with the `RunStatus` of decoding.
        on_remark: called for each metric that has nothing to count in this corpus; by default that is a `DcrfWarning`.

        Raises DcrfError where gold labels do not fit the model.

        >>> model.evaluate(corpus)["segments(part).f1"]
        1.0
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        model = self if weights is None else self.with_weights(weights, self.record)
        told = None if on_status is None else lambda status, _: on_status(status)
        remarks: list[Diagnostic] = []
        scores = model.evaluate_parts(
            [corpus], threads=threads, decode=decode, on_status=told, on_remark=on_remark or remarks.append
        )
        warn_of(remarks, depth=2)
        return scores

    def evaluate_parts(
        self,
        parts: Iterable[Corpus | Predictor],
        *,
        threads: int | None = None,
        decode: str | None = None,
        on_status: Callable[[RunStatus, Corpus], None] | None = None,
        on_remark: Callable[[Diagnostic], None] | None = None,
        on_part: Callable[[Evaluation, Corpus], None] | None = None,
    ) -> dict[str, float | int]:
        """Scores the model on gold data that comes in parts, of which only one is held at a time.

        parts: corpora, or what `on` makes of them. Those without a token are passed over.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        decode: as in a template, such as `optimal(nodes = 100)`; by default the model's own.
        on_status: called with the `RunStatus` of decoding each part, and the part.
        on_remark: called for each metric that has nothing to count in any part; by default that is a `DcrfWarning`.
        on_part: called with the `Evaluation` of each part, which has its gold and predicted labels, and the part.

        Returns the same scores as `evaluate` on all parts together, to the last digit; but the bound of `rank_risk` is
        closer, as fewer sentences share the room for lists of labellings. Raises DcrfError as `evaluate` does, and
        where no part has a token.

        >>> model.evaluate_parts([corpus.slice(0, 1), corpus.slice(1, 3)]) == model.evaluate(corpus)
        True
        """
        tallies = self.tallies_of_parts(
            parts, threads=threads, decode=decode, on_status=on_status, on_remark=on_remark, on_part=on_part
        )
        return values_of(tallies)

    def tallies_of_parts(
        self,
        parts: Iterable[Corpus | Predictor],
        *,
        threads: int | None = None,
        decode: str | None = None,
        on_status: Callable[[RunStatus, Corpus], None] | None = None,
        on_remark: Callable[[Diagnostic], None] | None = None,
        on_part: Callable[[Evaluation, Corpus], None] | None = None,
    ) -> list[Tally]:
        """What `evaluate_parts` makes its scores of by `metrics.values_of`: counts, which add up with those of others.

        parts, threads, decode, on_status, on_remark, on_part: as there.
        """
        tallies: list[Tally] = []
        remarks: list[Diagnostic] | None = None  # those that hold of every part so far
        for part in parts:
            corpus = part.corpus if isinstance(part, Predictor) else part
            require_kind(corpus, Corpus, "parts", f"parts that are each {CORPUS}")
            if not corpus.num_tokens:
                continue
            prediction = self.predict(part, threads=threads, decode=decode)
            if on_status is not None:
                on_status(self._with_pruning(prediction.status, corpus, Workers(threads)), corpus)
            empty = self.empty_metrics(corpus)
            remarks = empty if remarks is None else [remark for remark in remarks if remark in empty]
            tallies = added(tallies, self._tallies(corpus, prediction, threads))
            if on_part is not None:
                on_part(self.judged(corpus, prediction), corpus)
        if remarks is None:
            raise data_error("empty-file", "there is nothing to score: the data has no token")
        if on_remark is None:
            warn_of(remarks, depth=3)
        else:
            for remark in remarks:
                on_remark(remark)
        return tallies

    def tables(
        self, corpus: Corpus, *, threads: int | None = None, decode: str | None = None
    ) -> dict[str, LabelTables]:
        """The confusion matrix of each label, and the scores of its states and of its segment types.

        corpus: gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        decode: as in a template, such as `optimal(nodes = 100)`; by default the model's own.

        Returns `LabelTables` by label. Raises DcrfError where gold labels do not fit the model.

        >>> model.tables(corpus)["part"].confusion.mistakes
        []
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        prediction = self.predict(corpus, threads=threads, decode=decode)
        return label_tables(self.judged(corpus, prediction), self.spec.evaluate)

    def empty_metrics(self, corpus: Corpus) -> list[Diagnostic]:
        """A warning for each metric of the template that has nothing to count.

        corpus: gold data.
        """
        return empty_metric_warnings(self.spec, corpus, self.states, self.known_values.__getitem__, self._views())

    def judged(self, corpus: Corpus, prediction: Prediction) -> Evaluation:
        """Gold and predicted labels of a corpus side by side, and which of them are right.

        corpus: gold data.
        prediction: what `predict` gives for it.
        """
        predicted = _predicted_codes(corpus, prediction)
        known = self.known_values.__getitem__
        return evaluation_of(self.spec, corpus, predicted, self.states, self._views(), known)

    def _views(self) -> dict[str, View]:
        """The views of the template, for metrics."""
        return {view.name: View(view_label(self.spec, view), partial(self._seen, view)) for view in self.spec.views}

    def _seen(self, view: DeclaredView, texts: Sequence[str]) -> Seen:
        """Texts of the view's label, states or not, and the states of the view."""
        seen = view_map(self.spec, view, texts)
        return Seen(seen.states, seen.of)

    def first_score(self, corpus: Corpus, *, threads: int | None = None) -> FirstScore:
        """The first metric of `evaluate`, in the form in which more is better.

        corpus: gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        """
        name, value = next(iter(self.evaluate(corpus, threads=threads).items()))
        return FirstScore(self.first_metric, float(goodness(name, value)))

    @property
    def first_metric(self) -> str:
        """The name of that metric, as `segments(y).f1`; of a risk, of what it leaves of 1."""
        return first_metric(self.spec.evaluate, {label: self.states[label] for label in self.labels})

    def _with_pruning(self, status: RunStatus, corpus: Corpus, workers: Workers) -> RunStatus:
        """The status of a pruned run, with what pruning leaves out of gold data."""
        if not status.pruning.positions:
            return status
        gold = encode_labels(self.spec, self.states, corpus)
        report = self._structure.prepare(corpus).pruning(self._log_potentials, workers, gold)
        return replace(status, pruning=report)

    def evaluator(
        self, corpus: Corpus, workers: Workers, decode: str | None, stage: str | None = None
    ) -> Callable[[Floats, Voters | None], float]:
        """A function from weights [W] to the first score of `evaluate` on a corpus, negated for risks.

        Given voters it scores the labels that they elect; probabilities go by the weights.

        corpus: gold data.
        workers: the threads to compute with.
        decode: as in a template; None for the rule of `stage`.
        stage: of training; by default the last.

        All work that does not depend on weights is done once.
        """
        first = self.spec.evaluate[0].name if self.spec.evaluate else ""
        if first == "log_likelihood":
            log_probabilities = self._log_probabilities_of(corpus, workers)
            return lambda weights, _: float(log_probabilities(weights).sum())
        if first == "rank_risk":
            rank = self._rank_risk_of(corpus, workers)
            return lambda weights, _: goodness(first, rank(weights).mean.value)
        predictor = self._structure.prepare(corpus)
        election = VotedDecoder(predictor, workers, stage)

        def score(weights: Floats, voters: Voters | None) -> float:
            best = predictor.best(weights, workers, decode, stage) if voters is None else election.decoded(voters)
            prediction = self._prediction(best)
            scores = values_of(self._tallies(corpus, prediction, None, with_probabilities=False))
            return float(goodness(*next(iter(scores.items()))))

        return score

    def _tallies(
        self, corpus: Corpus, prediction: Prediction, threads: int | None, *, with_probabilities: bool = True
    ) -> list[Tally]:
        """What the metrics count. Without probabilities those that need them count nothing."""
        return prediction_tallies(
            self.spec,
            corpus,
            _predicted_codes(corpus, prediction),
            self.states,
            known_values=self.known_values.__getitem__,
            views=self._views(),
            log_likelihood=lambda: self._log_likelihood(corpus, threads) if with_probabilities else 0.0,
            rank_risk=lambda: self._rank_risk(corpus, threads).counts if with_probabilities else (0.0, 0, 0),
        )


def _predicted_codes(corpus: Corpus, prediction: Prediction) -> dict[str, Codes]:
    """The codes of each label, -1 where a sentence has no possible labelling: nothing can be right there."""
    off, codes = corpus.sentence_off, {label: states.copy() for label, states in prediction.codes.items()}
    for s in prediction.status.impossible:
        for states in codes.values():
            states[off[s] : off[s + 1]] = -1
    return codes
