"""How good a model is on gold data, of any length. Got as `model.scores`.

The rank risk is the share of wrong labellings that score as high as the gold one,

    R = mean over sentences of |{y ≠ y_i: g(y) ≥ g(y_i)}| / (|Y_i| − 1)        (Altun 2003 eq. 6, w_i = 1 / (|Y_i| − 1))

The count comes from an n-best list. If the list ends before a labelling scores below the gold one, it gives a lower
bound. Not here: the metrics (`metrics`), predictions (`predicting_model`), n-best lists (`label_decoders`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from .. import metrics
from ..criteria import ExpectedShare, SharePenalty, TrainingProblem, counting_problem
from ..data import Corpus, InternedColumn, encode_labels, unknown_by_label
from ..features import view_label, view_map
from ..foundation import CORPUS, Codes, Diagnostic, Floats, data_error, dataclass, require_kind, warn_of
from ..graph import Gold
from ..inference import Labellings, RunStatus, Workers
from ..optimizers import Voters
from ..semantics import inference_settings, stage_chain, stage_settings
from ..syntax import View as DeclaredView
from .label_decoders import VotedDecoder, decoder_of, nbest_labellings
from .predicting_model import PredictingModel
from .prediction import Prediction
from .predictor import Predictor

MOST, FEWEST, CODES = 1000, 10, 2**25  # limits of the labellings of a sentence, and a goal for the codes of all lists
CLOSE = 1e-9  # relative difference of the scores of one labelling that were summed in different orders


class FirstScore(NamedTuple):
    """A metric by its name, and its value; less a risk from 1, so that more is better."""

    metric: str
    value: float


@dataclass(frozen=True, eq=False)
class ModelScores:
    """How good a model is on gold data. Got as `model.scores`; `model.evaluate` gives the template's metrics at once.

    model: which is scored.
    """

    model: PredictingModel

    def log_likelihood(self, corpus: Corpus, *, threads: int | None = None) -> float:
        """The log-likelihood Σ log p(y | x) of the gold labels in nats, unknown ones summed out.

        corpus: gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        Bethe's approximation where messages pass on loops; too high where `pruned` stands in for exact inference that
        does not fit, as it leaves labellings out of log Z. Leaves out sentences whose gold labels include a value that
        is no state, or agree with no possible labelling.
        Raises DcrfError under a method that gives no log Z.

        >>> model.scores.log_likelihood(corpus) < 0
        True
        """
        return float(metrics.ExactSum(self._log_probabilities(corpus, threads).tolist()))

    def _log_probabilities(self, corpus: Corpus, threads: int | None) -> Floats:
        """The terms of `log_likelihood`, [n]."""
        self.require_log_z("no likelihood")
        return self.gold_log_probabilities(corpus, Workers(threads))(self.model.probability_weights)

    def gold_log_probabilities(self, corpus: Corpus, workers: Workers) -> Callable[[Floats], Floats]:
        """The terms of `log_likelihood` as a function of weights [W]; all other work is done once."""
        require_kind(corpus, Corpus, "corpus", CORPUS)
        gold = encode_labels(self.model.spec, self.model.states, corpus)
        _, tokens = np.nonzero(unknown_by_label(self.model.spec, self.model.states, corpus))
        strange = np.zeros(corpus.num_sentences, bool)
        strange[np.searchsorted(corpus.sentence_off, tokens, side="right") - 1] = True
        clamped, free = Predictor.of(self.model.structure, corpus, gold), Predictor.of(self.model.structure, corpus)

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

        >>> model.scores.rank_risk(corpus)
        RankRisk(value=0.0, at_least=0)
        """
        return self._rank_risk(corpus, threads).mean

    def _rank_risk(self, corpus: Corpus, threads: int | None) -> RankRiskSum:
        """`rank_risk` as sums that can go on with other sentences."""
        self.require_log_z("no rank risk")
        return rank_risk_of(self.model, corpus, Workers(threads))(self.model.weights)

    def sentence_terms(self, corpus: Corpus, *, threads: int | None = None) -> dict[str, Floats]:
        """The terms [n] of `log_likelihood` and `rank_risk`, of those that the template names: a sum, and a mean.

        corpus: gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        """
        named, terms = {call.name for call in self.model.spec.evaluate}, dict[str, Floats]()
        if "log_likelihood" in named:
            terms["log_likelihood"] = self._log_probabilities(corpus, threads)
        if "rank_risk" in named:
            terms["rank_risk"] = self._rank_risk(corpus, threads).risks
        return terms

    def require_log_z(self, without: str) -> None:
        method = inference_settings(self.model.spec)
        if not method.gives_log_z:
            raise data_error("no-log-z", f"`{method.method}` gives no log Z, and so {without}", help="use `infer trp`")

    def evaluate_parts(
        self,
        parts: Iterable[Corpus | Predictor],
        *,
        threads: int | None = None,
        decode: str | None = None,
        on_status: Callable[[RunStatus, Corpus], None] | None = None,
        on_remark: Callable[[Diagnostic], None] | None = None,
        on_part: Callable[[metrics.Evaluation, Corpus], None] | None = None,
    ) -> dict[str, float | int]:
        """Scores the model on gold data that comes in parts, of which only one is held at a time.

        parts: corpora, or what `prepare` makes of them. Those without a token are passed over.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        decode: as in a template, such as `optimal(nodes = 100)`; by default the model's own.
        on_status: called with the `RunStatus` of decoding each part, and the part.
        on_remark: called for each metric that has nothing to count in any part; by default that is a `DcrfWarning`.
        on_part: called with the `Evaluation` of each part, which has its gold and predicted labels, and the part.

        Returns the same scores as `evaluate` on all parts together, to the last digit; but the bound of `rank_risk` is
        closer, as fewer sentences share the room for lists of labellings. Raises DcrfError as `evaluate` does, and
        where no part has a token.

        >>> model.scores.evaluate_parts([corpus.slice(0, 1), corpus.slice(1, 3)]) == model.evaluate(corpus)
        True
        """
        tallies = self.tallies_of_parts(
            parts, threads=threads, decode=decode, on_status=on_status, on_remark=on_remark, on_part=on_part
        )
        return metrics.values_of(tallies)

    def tallies_of_parts(
        self,
        parts: Iterable[Corpus | Predictor],
        *,
        threads: int | None = None,
        decode: str | None = None,
        on_status: Callable[[RunStatus, Corpus], None] | None = None,
        on_remark: Callable[[Diagnostic], None] | None = None,
        on_part: Callable[[metrics.Evaluation, Corpus], None] | None = None,
    ) -> list[metrics.Tally]:
        """What `evaluate_parts` makes its scores of by `metrics.values_of`: counts, which add up with those of others.

        parts, threads, decode, on_status, on_remark, on_part: as there.
        """
        tallies: list[metrics.Tally] = []
        remarks: list[Diagnostic] | None = None  # those that hold of every part so far
        for part in parts:
            corpus = part.corpus if isinstance(part, Predictor) else part
            require_kind(corpus, Corpus, "parts", f"parts that are each {CORPUS}")
            if not corpus.num_tokens:
                continue
            prediction = self.model.predict(part, threads=threads, decode=decode)
            if on_status is not None:
                status = prediction.status
                if status.pruning.positions:  # with what pruning leaves out of gold data
                    gold = encode_labels(self.model.spec, self.model.states, corpus)
                    predictor, weights = Predictor.of(self.model.structure, corpus), self.model.probability_weights
                    of_gold = predictor.pruning(weights, Workers(threads), gold)
                    status = replace(status, pruning=of_gold)
                on_status(status, corpus)
            empty = self.empty_metrics(corpus)
            remarks = empty if remarks is None else [remark for remark in remarks if remark in empty]
            tallies = metrics.added(tallies, self.tallies(corpus, prediction, threads))
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
    ) -> dict[str, metrics.LabelTables]:
        """The confusion matrix of each label, and the scores of its states and of its segment types.

        corpus: gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        decode: as in a template, such as `optimal(nodes = 100)`; by default the model's own.

        Returns `LabelTables` by label. Raises DcrfError where gold labels do not fit the model.

        >>> model.scores.tables(corpus)["part"].confusion.mistakes
        []
        """
        require_kind(corpus, Corpus, "corpus", CORPUS)
        prediction = self.model.predict(corpus, threads=threads, decode=decode)
        return metrics.label_tables(self.judged(corpus, prediction), self.model.spec.evaluate)

    def empty_metrics(self, corpus: Corpus) -> list[Diagnostic]:
        """A warning for each metric of the template that has nothing to count.

        corpus: gold data.
        """
        if not all(isinstance(corpus.columns.get(label), InternedColumn) for label in self.model.labels):
            return []  # measuring reports this itself
        return metrics.empty_metric_warnings(self._evaluation(corpus, {}), self.model.spec.evaluate, corpus.file)

    def judged(self, corpus: Corpus, prediction: Prediction) -> metrics.Evaluation:
        """Gold and predicted labels of a corpus side by side, and which of them are right.

        corpus: gold data.
        prediction: what `predict` gives for it.
        """
        codes = {label: states.copy() for label, states in prediction.codes.items()}
        for s in prediction.status.impossible:  # nothing can be right there
            for states in codes.values():
                states[corpus.sentence_off[s] : corpus.sentence_off[s + 1]] = -1
        return self._evaluation(corpus, codes)

    def _evaluation(self, corpus: Corpus, predicted: Mapping[str, Codes]) -> metrics.Evaluation:
        spec, known = self.model.spec, self.model.known_values.__getitem__
        views = {view.name: metrics.View(view_label(spec, view), partial(self._seen, view)) for view in spec.views}
        return metrics.evaluation_of(spec, corpus, predicted, self.model.states, views, known)

    def _seen(self, view: DeclaredView, texts: Sequence[str]) -> metrics.Seen:
        """Texts of the view's label, states or not, and the states of the view."""
        seen = view_map(self.model.spec, view, texts)
        return metrics.Seen(seen.states, seen.of)

    def expected_shares(self, corpus: Corpus, *, threads: int | None = None) -> list[ExpectedShare]:
        """What the model gives of each share that its template expects, on any data; its labels are not read.

        corpus: the data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

        >>> model.scores.expected_shares(corpus)  # a template without `expect`
        []
        """
        inside = self.model.structure
        if not inside.spec.expectations:
            return []
        rows, relations = inside.features(corpus)
        problem = TrainingProblem(
            inside.spec, inside.graph, inside.parameters, rows, relations, corpus.sentence_off,
            Gold(np.zeros((0, 0), np.int32), ()), np.zeros(0), Workers(threads), extractor=inside.extractor,
            states=tuple(inside.states[name] for name in inside.graph.variables),
        )  # fmt: skip
        stage = stage_settings(inside.spec, stage_chain(inside.spec, None)[-1].label)
        return SharePenalty.of(counting_problem(problem, corpus, rows, relations), stage).found(self.model.weights)

    def first_score(self, corpus: Corpus, *, threads: int | None = None) -> FirstScore:
        """The first metric of `evaluate`, in the form in which more is better.

        corpus: gold data.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
        """
        name, value = next(iter(self.evaluate_parts([corpus], threads=threads).items()))
        return FirstScore(self.first_metric, float(metrics.goodness(name, value)))

    @property
    def first_metric(self) -> str:
        """The name of that metric, as `segments(y).f1`; of a risk, of what it leaves of 1."""
        return metrics.first_metric(
            self.model.spec.evaluate, {label: self.model.states[label] for label in self.model.labels}
        )

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
        first = self.model.spec.evaluate[0].name if self.model.spec.evaluate else ""
        if first == "log_likelihood":
            log_probabilities = self.gold_log_probabilities(corpus, workers)
            return lambda weights, _: float(log_probabilities(weights).sum())
        if first == "rank_risk":
            rank = rank_risk_of(self.model, corpus, workers)
            return lambda weights, _: metrics.goodness(first, rank(weights).mean.value)
        predictor = Predictor.of(self.model.structure, corpus)
        by_rule, by_votes = decoder_of(predictor, decode, stage), VotedDecoder(predictor, workers, stage)

        def score(weights: Floats, voters: Voters | None) -> float:
            prediction = by_rule(weights, workers, 1.0) if voters is None else by_votes.decoded(voters)
            scores = metrics.values_of(self.tallies(corpus, prediction, None, with_probabilities=False))
            return float(metrics.goodness(*next(iter(scores.items()))))

        return score

    def tallies(
        self, corpus: Corpus, prediction: Prediction, threads: int | None, *, with_probabilities: bool = True
    ) -> list[metrics.Tally]:
        """What the metrics count. Without probabilities those that need them count nothing."""
        evaluation = replace(
            self.judged(corpus, prediction),
            log_likelihood=(
                lambda: (
                    metrics.ExactSum(self._log_probabilities(corpus, threads).tolist()) if with_probabilities else 0.0
                )
            ),
            rank_risk=lambda: self._rank_risk(corpus, threads).counts if with_probabilities else (0.0, 0, 0),
        )
        return metrics.prediction_tallies(self.model.spec, evaluation)


class RankRisk(NamedTuple):
    """value: in 0–1.   at_least: the number of sentences for which only a lower bound is known."""

    value: float
    at_least: int


class RankRiskSum(NamedTuple):
    """risks [n]: of the sentences that are judged.   at_least: for how many only a lower bound is known."""

    risks: Floats
    at_least: int

    @property
    def counts(self) -> tuple[metrics.ExactSum, int, int]:
        """Their sum, their number, and `at_least`: what parts of some data add up."""
        return metrics.ExactSum(self.risks.tolist()), len(self.risks), self.at_least

    @property
    def mean(self) -> RankRisk:
        total, sentences, at_least = self.counts
        return RankRisk(float(total) / sentences if sentences else 0.0, at_least)


def rank_risk_of(model: PredictingModel, corpus: Corpus, workers: Workers) -> Callable[[Floats], RankRiskSum]:
    """The risk on a corpus as a function of weights [W]; all other work is done once.

    Leaves out sentences with a label that is not a single known state, and those whose gold labelling is impossible.
    """
    require_kind(corpus, Corpus, "corpus", CORPUS)
    gold = encode_labels(model.spec, model.states, corpus)
    free, clamped = Predictor.of(model.structure, corpus), Predictor.of(model.structure, corpus, gold)
    labels, off = range(len(gold.codes)), corpus.sentence_off
    unknown = np.concatenate([[0], np.cumsum(gold.partial)])
    complete = (unknown[off[1:]] == unknown[off[:-1]]) & (np.diff(off) > 0)
    count = int(np.clip(CODES // max(1, gold.codes.size), FEWEST, MOST))

    def risk(weights: Floats) -> RankRiskSum:
        nothing = np.zeros_like(weights)
        right = clamped.log_z(weights, workers)
        logs = free.log_z(nothing, workers) - clamped.log_z(nothing, workers)
        # log (e^x − 1) for x = 0 or x ≥ log 2; -inf if x is 0 up to rounding
        log_wrong = np.array([x + np.log(-np.expm1(-x)) if x > 0.5 else -np.inf for x in logs.tolist()])
        chosen = np.flatnonzero(complete & np.isfinite(right))
        lists = nbest_labellings(free, weights, workers, count).sentences
        risks, at_least = np.zeros(len(chosen)), 0
        for n, s in enumerate(chosen.tolist()):
            codes = {name: gold.codes[m, off[s] : off[s + 1]] for m, name in zip(labels, lists[s].codes, strict=True)}
            above, is_all = _above(lists[s], codes, float(right[s]), count)
            if above > 0 and np.isfinite(log_wrong[s]):
                risks[n] = min(1.0, float(np.exp(np.log(above) - log_wrong[s])))
            at_least += not is_all
        return RankRiskSum(risks, at_least)

    return risk


def _above(nbest: Labellings, gold: dict[str, Codes], right: float, count: int) -> tuple[int, bool]:
    """The number of listed labellings other than gold that score as high, and whether no unlisted one can."""
    high = nbest.score >= right - CLOSE * max(1.0, abs(right))
    is_gold = np.ones(len(nbest), np.bool_)
    for name, codes in nbest.codes.items():
        is_gold &= (codes == gold[name]).all(axis=1)
    is_all = nbest.exact and (len(nbest) < count or not high.all())
    return int((high & ~is_gold).sum()), is_all
