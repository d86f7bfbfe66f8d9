"""Expectations as supervision: a penalty on how far the model's share of a condition is from what is known of it.

    r_e(λ) = Σ_t p(C_t | x) / N_e             over the N_e places of a data set that count for expectation e
    P(λ) = Σ_e s_e N_e KL(q_e ‖ r_e),         q_e: the share between `least` and `most` that is nearest to r_e
    ∂P/∂λ_k = Σ_e s_e (r_e − q_e) / (r_e (1 − r_e)) Cov(Σ_t C_t, F_k)

KL is that of two outcomes, whether C holds. Between the bounds P is 0, and it has a slope of 0 at them. r depends on
all sentences, whose labels are free; so an evaluation finds the shares first, and, unless P is 0, the covariances. They
are the change of ⟨F⟩ in one direction d of weights that count places, [⟨F⟩(ε d) − ⟨F⟩(−ε d)] / 2ε, with an error of ε²:
two more passes for any number of expectations. Source: Mann & McCallum 2008, §3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..data import Corpus
from ..features import FeatureRows, Pairs
from ..foundation import Floats, Ints, data_error
from ..graph import counting_graph, counting_parameters, instances_of, views_seen
from ..inference import Expectations, RunStatus, iterative_methods
from ..semantics import ModelSpec, ShareTable, TrainSettings, share_bounds, share_table
from ..syntax import statement_text
from .criterion import Criterion, SummedCriterion
from .importance import NumberColumns
from .run_sums import GradientAccumulator
from .training_problem import TrainingProblem

STEP = 1e-3  # ε of the largest change of a weight, times the places of a sentence, of which cumulants are powers
FEWEST = 10  # places: ε is no larger where sentences are shorter
TOLERANCE = 1e-9  # of messages; their error is divided by ε


class ExpectedShare(NamedTuple):
    """A share that a template expects, as its statement says, and what the model gives on some data.

    statement: the text of the statement.
    share: the mean probability of its condition.
    places: how many places of the data count for it.
    """

    statement: str
    share: float
    places: int

    @property
    def words(self) -> str:
        """All of it."""
        return f"`{self.statement}`: the share is {self.share:.4f} over {self.places:,} place{'s' * (self.places != 1)}"


def share_tables(spec: ModelSpec, states: Mapping[str, Sequence[str]]) -> tuple[ShareTable, ...]:
    """What each `expect` statement counts.   states: of every variable."""
    return tuple(share_table(spec, one, states, views_seen(spec, states)) for one in spec.expectations)


def with_counted_places(problem: TrainingProblem, tables: tuple[ShareTable, ...], first_set: int) -> TrainingProblem:
    """`problem` with a weight for each assignment that counts, after the others.   first_set: of the rows of tables."""
    return replace(
        problem, shares=tables, parameters=counting_parameters(problem.parameters, tables),
        graph=counting_graph(problem.graph, tables, len(problem.parameters.cliques), first_set),
    )  # fmt: skip


def counting_problem(
    problem: TrainingProblem, corpus: Corpus, rows: tuple[FeatureRows, ...], relations: Mapping[int, Pairs]
) -> TrainingProblem:
    """`problem` on data whose shares are expected."""
    assert problem.extractor is not None
    tables = share_tables(problem.spec, dict(zip(problem.graph.variables, problem.states, strict=True)))
    counted = problem.extractor.code_rows(problem.extractor.values(corpus), [table.observed for table in tables])
    own = replace(
        problem, relations=relations, sentence_off=corpus.sentence_off, rows=(*rows, *counted),
        numbers=NumberColumns(corpus.file, corpus.token_line, {}),
    )  # fmt: skip
    return with_counted_places(own, tables, len(rows))


class Counts(Protocol):
    """Expected counts of some data.   places [E]: N.   longest: the most places of a sentence that count.

    status: how inference ended, summed over all passes.
    """

    places: Ints
    longest: int
    status: RunStatus

    def expected(self, weights: Floats, added: Floats) -> Floats:
        """Those of all weights, then of assignments that count, whose weights are `added`."""

    def close(self) -> None:
        """Frees what is kept outside memory."""


class ShareCounts:
    """Expected counts of data in memory.   problem: of `with_counted_places`."""

    def __init__(self, problem: TrainingProblem, settings: TrainSettings):
        inference = problem.inference(settings)
        if hasattr(inference.settings, "tolerance"):
            sharper = inference.settings.model_copy(update={"tolerance": TOLERANCE})
            inference = replace(inference, settings=sharper)
        of_sentences = [_places(problem, number) for number in range(len(problem.shares))]
        self.places = np.array([one.sum() for one in of_sentences])
        self.longest = max(int(one.max(initial=0)) for one in of_sentences)
        self._data = problem.bind_for(inference.name)
        self._method = inference.build(self._data)
        for one in iterative_methods(self._method):
            one.remember()
        self._sums = GradientAccumulator(self._data, problem.workers, self._method.together)
        self.status = RunStatus()

    def expected(self, weights: Floats, added: Floats) -> Floats:
        """As `Counts` says, [W + C]."""
        out = Expectations.empty(self._data, approximate=self._method.approximate)
        potentials = self._data.potentials(np.concatenate([weights, added]))
        expected = self._sums.expectations(self._method, potentials, out)
        self.status = self.status + out.summary()
        return expected

    def close(self) -> None:
        """Nothing is kept outside memory."""


class SharePenalty:
    """P alone. Where no place counts, the share is 0.   places [E]: N."""

    def __init__(self, spec: ModelSpec, tables: Sequence[ShareTable], counts: Counts):
        self.texts, self.places = [statement_text(table.statement) for table in tables], counts.places
        bounds = np.array([share_bounds(spec, table.statement) for table in tables])
        self._least, self._most, self._strength = bounds.T
        sizes = [int(table.holds.sum()) for table in tables]
        self._of_weight = np.repeat(np.arange(len(sizes)), sizes)
        self._step, self._counts = STEP / max(FEWEST, counts.longest), counts

    @classmethod
    def of(cls, problem: TrainingProblem, settings: TrainSettings) -> SharePenalty:
        """On the data of a `counting_problem`.   settings: of the stage."""
        return cls(problem.spec, problem.shares, ShareCounts(problem, settings))

    @property
    def status(self) -> RunStatus:
        return self._counts.status

    def shares(self, weights: Floats) -> Floats:
        """r of each expectation, [E]."""
        counts = self._expected(weights, np.zeros(len(self.places)))[len(weights) :]
        shares: Floats = np.bincount(self._of_weight, counts, len(self.places)) / np.maximum(self.places, 1)
        return shares

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """P in nats and its gradient [W]; inf where a share that costs something is no number between 0 and 1."""
        r = self.shares(weights)
        q = np.clip(r, self._least, self._most)
        missed = np.flatnonzero(q != r)
        if not len(missed):
            return 0.0, np.zeros(len(weights))
        if not ((r[missed] > 0.0) & (r[missed] < 1.0)).all():
            return np.inf, np.zeros(len(weights))
        direction, value = np.zeros(len(r)), 0.0
        for e in missed.tolist():
            direction[e] = self._strength[e] * (r[e] - q[e]) / (r[e] * (1.0 - r[e]))
            both = ((q[e], r[e]), (1.0 - q[e], 1.0 - r[e]))
            value += self._strength[e] * self.places[e] * sum(a * np.log(a / b) for a, b in both if a > 0.0)
        step = self._step / float(np.abs(direction).max())
        up, down = (self._expected(weights, sign * step * direction) for sign in (1.0, -1.0))
        return float(value), (up - down)[: len(weights)] / (2.0 * step)

    def _expected(self, weights: Floats, added: Floats) -> Floats:
        """Expected counts of all weights, where `added` [E] is the weight of each place that counts."""
        return self._counts.expected(weights, added[self._of_weight])

    def close(self) -> None:
        """Frees what is kept of the data outside memory."""
        self._counts.close()

    def refuse_idle(self, file: str) -> None:
        """DcrfError where no place counts."""
        if not self.places.all():
            statement = self.texts[int(np.argmin(self.places))]
            message = f"no place in `{file}` counts for `{statement}`"
            raise data_error("cannot-expect", message, help="correct its condition after `when`, or leave it out")

    def found(self, weights: Floats) -> list[ExpectedShare]:
        """What the model gives at these weights [W]."""
        return list(map(ExpectedShare, self.texts, self.shares(weights).tolist(), self.places.tolist()))


def _places(problem: TrainingProblem, number: int) -> Ints:
    """How many places of each sentence count for an expectation, [S]."""
    first, off = len(problem.shares) - number, problem.sentence_off
    sentence, anchor = instances_of(problem.graph.templates[-first], off)
    counted = problem.shares[number].counted[problem.rows[-first].feature[off[sentence] + anchor]]
    return np.bincount(sentence[counted], minlength=len(off) - 1)


class ExpectedLikelihood(SummedCriterion):
    """A likelihood and the penalty of expected shares. Not convex."""

    def __init__(self, likelihood: Criterion, shares: SharePenalty):
        self.terms, self._shares = (likelihood,), shares
        self.num_weights, self.penalty, self.workers = likelihood.num_weights, likelihood.penalty, likelihood.workers
        self.inference_description, self.clamped = likelihood.inference_description, likelihood.clamped

    @property
    def total_status(self) -> RunStatus:
        return super().total_status + self._shares.status

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The sum of both values, and of both gradients [W]."""
        value, gradient = self.terms[0].value_and_gradient(weights)
        penalty, slope = self._shares.value_and_gradient(weights)
        return value + penalty, gradient + slope

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.terms[0].remarks

    def remembered(self) -> dict[str, Any]:
        return {**super().remembered(), "likelihood": self.terms[0].remembered()}

    def recall(self, saved: Mapping[str, Any]) -> None:
        super().recall(saved)
        self.terms[0].recall(saved["likelihood"])

    def close(self) -> None:
        self.terms[0].close()
        self._shares.close()

    def notes_at(self, weights: Floats) -> tuple[str, ...]:
        return tuple(f"note: {one.words}" for one in self._shares.found(weights))


def with_expected_shares(likelihood: Criterion, problem: TrainingProblem, settings: TrainSettings) -> Criterion:
    """A likelihood with the penalty of the shares that training expects, if any. DcrfError where no place counts."""
    if problem.counting is None:
        return likelihood
    penalty = SharePenalty.of(problem.counting, settings)
    penalty.refuse_idle(problem.counting.numbers.file)
    return ExpectedLikelihood(likelihood, penalty)
