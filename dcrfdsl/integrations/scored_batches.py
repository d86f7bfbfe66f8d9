"""Batches of given scores, bound to a template: sums over labellings, and their derivatives in scores and weights.

    ScoredTemplate   a template that reads scores alone      batch(lengths)
    ScoredBatch      sentences of these lengths, log Z       values, derivatives, curvature
    LabelledBatch    log p of labels of these sentences      values, derivatives, curvature

To the engine a score is a weight: each token of a batch has a feature of its own, whose weights for the assignments
of a clique are the scores there. So whatever method or criterion a template names gives derivatives in scores as it
does in weights. Weights and scores are in a list of arrays, the first of them the weights of the template, then for
each table of scores [N, assignments], N being the tokens of the batch.

Not here: the libraries that call it (`torch_layer`, `jax_functions`), and what a model already does with scores
that are read from a file, as to find the best labels.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..criteria import CRITERIA, TrainingProblem
from ..data import Corpus, NumericColumn, corpus_from_rows, declared_states
from ..features import FeatureRows, expand
from ..foundation import Floats, Ints, Ints32, cached_property, data_error, dataclass, quoted_names
from ..graph import CliqueTemplate, CliqueWeights, Gold, ModelGraph, Parameters
from ..inference import METHODS, Binder, BoundData, Expectations, Workers, choose_method, score_sequences
from ..kernels.lattice import score_contexts
from ..kernels.optimization import count_labellings, subtract_labellings
from ..kernels.tables import Potentials, add_bias_gradient
from ..model import Prediction, TrainedModel, TrainingRecord
from ..semantics import ModelSpec, TrainSettings, check_or_raise, inference_settings, load_text, stage_settings
from ..training import AnyTemplate, as_resolved, assemble

Arrays = list[Floats]  # the weights, then the scores of each table
WITHOUT_LOSS = ("hmm", "adaboost", "induce", "rescale")
IN_PIECES = ("piecewise", "memm", "pseudolikelihood", "pwpl", "bidirectional")  # of cliques that have weights
MOST_BATCHES = 32  # that are kept bound, by their lengths
MOST_RUNS = 8  # that threads share; the same for any number of them, and so are the sums
WORK_OF_RUN = 2**21  # entries of tables, about: in a run of fewer a thread would gain less than its start costs
NOTHING = np.zeros(0)
LEAST_ROOM = 256  # tokens that are bound at least
# The first derivative by values at ±h and ±2h: f' = Σ c f(x + k h) / h, with an error of h⁴ f⁗'/30.
STEPS = {1: 2 / 3, -1: -2 / 3, 2: -1 / 12, -2: 1 / 12}
STEP = 1e-3  # in units of the largest entry of a direction, so that the error is about 1e-12


def best_codes(prediction: Prediction, lengths: Ints) -> dict[str, Ints]:
    """The best codes by label, [N] each; -1 in sentences that have no labelling.   lengths: [B]."""
    none = np.repeat(np.isin(np.arange(len(lengths)), prediction.status.impossible), lengths)
    return {label: np.where(none, -1, codes) for label, codes in prediction.codes.items()}


@dataclass(frozen=True)
class ScoreInput:
    """A column of scores.   variables: whose states it scores.   shape: how many states each has."""

    name: str
    variables: tuple[str, ...]
    shape: tuple[int, ...]


class ScoredTemplate:
    """A template that reads nothing but scores, compiled.

    inputs: its columns of scores by name.   tables: for each table of scores of the graph, the columns that it is the
    sum of; none for a rule with a price.   prices: of such a table, the score of each assignment at every token, else
    None.   states: of every variable.   num_weights: of the weights of the template's own.
    """

    def __init__(self, template: AnyTemplate, threads: int | None = None):
        """template: as `fit` takes it. DcrfError where it is wrong, or reads something else than scores."""
        self.resolved, self.workers = as_resolved(template, "template"), Workers(threads)
        check_or_raise(self.resolved)
        self.spec: ModelSpec = self.resolved.require(unchecked=True)
        _refuse_data(self.spec, self.resolved.directories)
        assert self.spec.data is not None
        begun = assemble(self.spec, corpus_from_rows([], self.spec.data), self.resolved.directories, {})
        self.graph, self.states, self.extractor = begun.graph, dict(begun.states), begun.extractor
        self.parameters, _ = begun.learn_parameters()
        for one in self.graph.coded:
            if one.observed or (one.given is not None and any(term.when for term in one.given.terms)):
                message = f"a layer reads scores alone, and `{one.name}` reads other data"
                raise data_error("not-scores", message, help="leave it out, or train by `fit`")
            if one.given is not None and any(term.scale != 1.0 for term in one.given.terms):
                message = f"a layer adds scores as they are, and `{one.name}` has a `scale`"
                raise data_error("not-scores", message, help="multiply in the net, which can learn the factor")
        self._given = self.graph.coded
        self.tables = [
            () if one.given is None else tuple(term.column for term in one.given.terms) for one in self._given
        ]
        self.prices = [
            None if one.coded is None else np.asarray(one.coded[0], np.float64).ravel() for one in self._given
        ]
        columns = {column.name: column.type.of for column in self.spec.data.columns if column.type.of}
        sizes = {view.name: view.states for one in self._given for view in one.seen_as if view is not None}
        states = {**self.states, **sizes}
        self.inputs = {
            name: ScoreInput(name, columns[name], tuple(len(states[one]) for one in columns[name]))
            for name in dict.fromkeys(itertools.chain.from_iterable(self.tables))
        }
        self.method, self.settings = choose_method(self.graph, self.parameters, inference_settings(self.spec))
        self.spare = deque[Floats](maxlen=MOST_RUNS)  # memory that `lent_room` lends
        self._binders: dict[tuple[int, bool], Binder] = {}
        self._batches: dict[tuple[bytes, bool], ScoredBatch] = {}
        if not self.inputs:
            message = "a layer is given scores, and the template has no `offset(COLUMN)`"
            raise data_error("not-scores", message, help="declare a column of them, as in `logits: scores(LABEL)`")

    def __getstate__(self) -> dict[str, Any]:
        """All but what is bound, which a copy binds anew."""
        return {**self.__dict__, "_batches": {}, "_binders": {}, "spare": deque(maxlen=MOST_RUNS)}

    @property
    def num_weights(self) -> int:
        return self.parameters.num_weights

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the graph's variables."""
        return self.graph.variables[: self.graph.num_labels]

    @cached_property
    def weights_by_clique(self) -> dict[str, int]:
        """How many weights of its own each clique has, by name, in their order."""
        names = [self.graph.templates[clique].name for clique in self.parameters.origins()[0].tolist()]
        return dict(Counter(names))

    def model(self, weights: Floats) -> TrainedModel:
        """The model with these weights of its own, which reads scores from data."""
        return self._unweighted.with_weights(weights.copy(), self._unweighted.record)

    @cached_property
    def _unweighted(self) -> TrainedModel:
        record = TrainingRecord(reason="weights of a layer in a network")
        nothing = np.zeros(self.num_weights)
        return TrainedModel(self.spec, self.states, self.extractor, {}, self.graph, self.parameters, nothing, record)

    def corpus(self, lengths: Ints, scores: Mapping[str, Floats]) -> Corpus:
        """Sentences of these lengths with these scores by column, [N, states]."""
        off = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        columns = {name: NumericColumn(values) for name, values in scores.items()}
        return Corpus("the batch", off, columns, np.repeat(np.arange(1, len(lengths) + 1), lengths))

    def batch(self, lengths: Ints, *, opened: bool = False) -> ScoredBatch:
        """A batch of sentences of these lengths, [B] int64, which is bound when it is first asked for.

        opened: with one more table for each variable, of zeros, whose derivatives are its marginals. Where an entry is
        -inf, the state is impossible.
        """
        key = lengths.tobytes(), opened
        batch = self._batches.pop(key, None) or ScoredBatch(self, lengths, opened)
        while len(self._batches) >= MOST_BATCHES:
            self._batches.pop(next(iter(self._batches)), None)  # which another thread may have done
        self._batches[key] = batch  # the last one now
        return batch

    def given_templates(self, *, opened: bool) -> list[CliqueTemplate]:
        """The templates of the tables of scores; with `opened` also of one over each variable."""
        first_set = len(self.graph.coded)
        extra = [
            CliqueTemplate(f"open {name}", -1, (m,), (0,), (card,), feature_set=first_set + m)
            for m, (name, card) in enumerate(zip(self.graph.variables, self.graph.cards, strict=True))
        ]
        own = [replace(one, given=None, coded=None) for one in self._given]
        return [*own, *extra] if opened else own

    def binder(self, room: int, *, opened: bool) -> Binder:
        """Binds batches of up to `room` tokens. It is made once."""
        if (room, opened) not in self._binders:
            graph, parameters = self.weighed(room, opened=opened)
            self._binders[room, opened] = Binder(graph, parameters, programs=METHODS[self.method].programs)
        return self._binders[room, opened]

    def weighed(self, room: int, *, opened: bool = False) -> tuple[ModelGraph, Parameters]:
        """The graph and its parameters where scores of `room` tokens are weights, after those of the template."""
        first = len(self.spec.cliques)
        given = [replace(one, clique=first + n) for n, one in enumerate(self.given_templates(opened=opened))]
        plain = [template for template in self.graph.templates if not template.num_codes]
        numbered = [
            CliqueWeights(
                np.zeros(0, np.int32), np.arange(room + 1, dtype=np.int64) * one.num_assignments,
                np.tile(np.arange(one.num_assignments, dtype=np.int32), room),
            )
            for one in given
        ]  # fmt: skip
        graph = replace(self.graph, templates=(*plain, *given))
        return graph, Parameters((*self.parameters.cliques, *numbered))


def all_equal(mass: Floats) -> bool:
    """Whether all sentences have the same mass."""
    return len(mass) > 0 and bool((mass == mass[0]).all())


class EngineArrays(list[Floats]):
    """`Arrays` that are views of the weights of the engine."""

    def __init__(self, arrays: Iterable[Floats], weights: Floats):
        super().__init__(arrays)
        self.weights = weights


class BatchFunction(ABC):
    """A function of weights and scores that has a value for each sentence, and its derivatives. It is deterministic.

    sentence_of: the number of each token's sentence, [N].
    """

    sentence_of: Ints

    @abstractmethod
    def room(self) -> Arrays:
        """Zeros, to be written to: arrays that need not be copied for the engine."""

    @abstractmethod
    def lent_room(self) -> AbstractContextManager[Arrays]:
        """The same, with any numbers in it, for as long as the context lasts. New memory costs as much as the sums."""

    def values(self, arrays: Arrays) -> Floats:
        """The value of each sentence, [B]; -inf where no labelling is possible."""
        return self.evaluated(arrays, derivatives=False)[0]

    def derivatives(self, arrays: Arrays) -> tuple[Floats, Arrays]:
        """The values [B], and the derivatives of their sum."""
        return self.evaluated(arrays, derivatives=True)

    @abstractmethod
    def evaluated(self, arrays: Arrays, *, derivatives: bool) -> tuple[Floats, Arrays]:
        """The values [B] and, where they are wanted, the derivatives of their sum."""

    @abstractmethod
    def weights_times(self, mass: Floats, arrays: Arrays) -> Floats:
        """The derivatives of Σ mass value, for masses [B], in the template's own weights."""

    @abstractmethod
    def curvature(self, arrays: Arrays, direction: Arrays, mass: Floats) -> tuple[Floats, Arrays]:
        """The derivative along `direction` of the values [B], and of the derivatives of Σ mass value."""

    def times(self, counts: Arrays, mass: Floats, arrays: Arrays) -> Arrays:
        """The derivatives of Σ mass value at `arrays`, not read if all masses are equal.   counts: with a mass of 1."""
        if all_equal(mass):
            return [mass[0] * one for one in counts]
        return [self.weights_times(mass, arrays), *(table * mass[self.sentence_of, None] for table in counts[1:])]


class ScoredBatch(BatchFunction):
    """log Z of sentences of some lengths, bound to a template."""

    def __init__(self, template: ScoredTemplate, lengths: Ints, opened: bool):
        self.template, self.lengths = template, lengths
        self.sentence_off = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        self.num_tokens = int(self.sentence_off[-1])
        self.sentence_of = np.repeat(np.arange(len(lengths)), lengths)
        self.sizes = [one.num_assignments for one in template.given_templates(opened=opened)]
        self._room = max(LEAST_ROOM, 1 << max(0, self.num_tokens - 1).bit_length())
        self._binder = template.binder(self._room, opened=opened)
        rows = self.rows()
        self.data: BoundData = self._binder.bind(rows, self.sentence_off, {})
        self.method = METHODS[template.method].build(self.data, template.settings)
        entries = self.num_tokens * sum(one.num_assignments for one in template.graph.templates)
        self._runs = self.data.chunks(min(MOST_RUNS, max(1, entries // WORK_OF_RUN)))

    def rows(self) -> tuple[FeatureRows, ...]:
        """A feature at each token, with its number, for each table."""
        off, numbers = np.arange(self.num_tokens + 1, dtype=np.int64), np.arange(self.num_tokens, dtype=np.int32)
        return tuple(FeatureRows(off, numbers, np.zeros(0)) for _ in self.sizes)

    # weights of the engine ----------------------------------------------------------------------------------------

    def room(self) -> EngineArrays:
        return self._parted(np.zeros(self.data.num_weights))

    @contextmanager
    def lent_room(self) -> Iterator[EngineArrays]:
        spare, size = self.template.spare, self.data.num_weights
        memory = spare.pop() if spare else NOTHING
        if len(memory) < size:
            memory = np.zeros(size)
        yield self._parted(memory[:size])
        spare.append(memory)

    def _weights(self, arrays: Arrays) -> Floats:
        """All of them as the engine has them: the scores of each table have room for more tokens."""
        if not isinstance(arrays, EngineArrays):
            room = self.room()
            for own, one in zip(room, arrays, strict=True):
                own[...] = one
            arrays = room
        return arrays.weights

    def _parted(self, weights: Floats) -> EngineArrays:
        """The weights of the engine, or their derivatives, as arrays."""
        at = self.template.num_weights
        arrays = [weights[:at]]
        for size in self.sizes:
            arrays.append(weights[at : at + self.num_tokens * size].reshape(-1, size))
            at += self._room * size
        return EngineArrays(arrays, weights)

    # sums over labellings -----------------------------------------------------------------------------------------

    def evaluated(self, arrays: Arrays, *, derivatives: bool) -> tuple[Floats, Arrays]:
        return self.summed(self.potentials(arrays), derivatives=derivatives)

    def potentials(self, arrays: Arrays) -> Potentials:
        """The potentials of the engine at these arrays."""
        return self.data.potentials(self._weights(arrays))

    def summed(
        self, potentials: Potentials, *, derivatives: bool, less: Ints32 | None = None, score: Floats = NOTHING
    ) -> tuple[Floats, Arrays]:
        """log Z [B] and, where they are wanted, expected counts.

        less: a labelling, whose counts are subtracted, and whose scores are written to `score` [B].
        """
        data, method, workers, runs = self.data, self.method, self.template.workers, self._runs
        out = Expectations.empty(data, approximate=method.approximate)
        # The weights of the template are biases, whose cells each run adds up by itself; scores are apart by token.
        gradient = np.zeros(data.num_weights if derivatives else 0)
        expected = np.zeros((len(runs), len(data.hard)))
        number = {first: n for n, (first, _) in enumerate(runs)}

        def run(first: int, last: int) -> None:
            if less is not None:
                subtract_labellings(
                    first, last, data.problem, potentials, data.ragged(less), score, expected[number[first]], gradient
                )
                if data.contexts is not None:
                    score_contexts(first, last, data.contexts, data.rows.token_off, less, potentials.log_base, score)
            method.expectations(potentials, first, last, out, gradient, expected[number[first]])

        workers.map(run, runs)
        if not derivatives:
            return out.log_z, []
        add_bias_gradient(data.bindings, expected.sum(axis=0), gradient)
        return out.log_z, self._parted(gradient)

    def weights_times(self, mass: Floats, arrays: Arrays) -> Floats:
        """Expected counts of the template's own weights, each sentence's times its mass [B]."""
        found: Floats = mass @ self.expected_weights(arrays)
        return found

    def expected_weights(self, arrays: Arrays) -> Floats:
        """The expected counts of the template's own weights in each sentence, [B, weights]."""
        data = self.data
        potentials, out = self.potentials(arrays), Expectations.empty(data)
        found = np.zeros((len(self.lengths), self.template.num_weights))
        nothing = np.zeros(data.num_weights)

        def run(first: int, last: int) -> None:
            for s in range(first, last):
                expected = np.zeros(len(data.hard))
                self.method.expectations(potentials, s, s + 1, out, nothing, expected)
                add_bias_gradient(data.bindings, expected, found[s])

        run(0, len(self.lengths))
        return found

    def curvature(self, arrays: Arrays, direction: Arrays, mass: Floats) -> tuple[Floats, Arrays]:
        """The derivative along `direction` of log Z [B], and of the expected counts with this mass [B].

        By differences of exact expectations at four points, with an error of about 1e-12 of the largest entry.
        """
        largest = max((float(np.abs(one).max(initial=0.0)) for one in direction), default=0.0)
        if not largest:
            return np.zeros(len(self.lengths)), [np.zeros_like(one) for one in arrays]
        step = STEP / largest
        slope, change = np.zeros(len(self.lengths)), [np.zeros_like(one) for one in arrays]
        for times, factor in STEPS.items():
            moved = [one + times * step * way for one, way in zip(arrays, direction, strict=True)]
            log_z, counts = self.derivatives(moved)
            slope += factor / step * np.where(np.isfinite(log_z), log_z, 0.0)
            for total, one in zip(change, self.times(counts, mass, moved), strict=True):
                total += factor / step * one
        return slope, change

    def expected_scores(self, arrays: Arrays, by: Arrays) -> Floats:
        """E Σ by · counts, [B]: the expected score of a labelling under the weights and scores `by`."""
        _, counts = self.derivatives(arrays)
        total: Floats = self.expected_weights(arrays) @ by[0]
        for table, of in zip(counts[1:], by[1:], strict=True):
            product = np.where(table > 0.0, table * np.where(table > 0.0, of, 0.0), 0.0).sum(axis=1)
            np.add.at(total, self.sentence_of, product)
        return total

    # labellings ---------------------------------------------------------------------------------------------------

    @property
    def has_hidden_variables(self) -> bool:
        """Whether labels alone do not tell the state of every variable at every token."""
        graph = self.template.graph
        return len(graph.cards) > graph.num_labels or bool(graph.of_sentence)

    def labelling(self, codes: Sequence[Ints]) -> Ints32:
        """Labels as the engine has them, from the codes of each variable, [N] each."""
        return np.ascontiguousarray(codes[0] if len(codes) == 1 else np.stack(codes, axis=-1).ravel(), np.int32)

    def scores_of(self, potentials: Potentials, labelling: Ints32) -> Floats:
        """The score of a labelling of each sentence, [B]; -inf where it is impossible."""
        return score_sequences(self.data, labelling, potentials, self.template.workers)

    def counts_of(self, labelling: Ints32, mass: Floats) -> Arrays:
        """The derivatives of Σ mass score of a labelling: its counts, each sentence's times its mass [B]."""
        data = self.data
        gradient, expected = np.zeros(data.num_weights), np.zeros(len(data.hard))
        belief = np.zeros(int(data.shapes.local_end.max(initial=0)))
        count_labellings(
            0, len(self.lengths), *data.problem, labelling[None, :], data.labelling_off, mass[None, :], belief,
            expected, gradient,
        )  # fmt: skip
        add_bias_gradient(data.bindings, expected, gradient)
        return self._parted(gradient)

    def restrictions(self, codes: Sequence[Ints]) -> Arrays:
        """A table for each variable: 0 where its state agrees with codes of labels, [N] each, and -inf elsewhere."""
        graph = self.template.graph
        tables = [np.zeros((self.num_tokens, card)) for card in graph.cards]
        first = np.zeros(self.num_tokens, np.bool_)
        first[self.sentence_off[:-1][self.lengths > 0]] = True
        for number, one in enumerate(codes):  # labels are the first variables
            # One of the whole sentence is a variable of the first token alone.
            known = np.flatnonzero((one >= 0) & first if number in graph.of_sentence else one >= 0)
            tables[number][known] = -np.inf
            tables[number][known, one[known]] = 0.0
        return tables

    # criteria -----------------------------------------------------------------------------------------------------

    def criterion(self, arrays: Arrays, gold: Gold, criterion: str) -> tuple[float, Arrays]:
        """Value and derivatives of a criterion, as a template names it, such as `hmsvm(loss = hamming(tag))`.

        DcrfError where the template does not allow it, or it is no sum over sentences.
        """
        template = self.template
        settings = _criterion_settings(template, criterion)
        graph, parameters = template.weighed(self._room)
        problem = TrainingProblem(
            template.spec, graph, parameters, self.rows(), {}, self.sentence_off, gold,
            np.zeros(parameters.num_weights), template.workers,
            states=tuple(template.states[name] for name in graph.variables), extractor=template.extractor,
        )  # fmt: skip
        if gold.complete_sentences(self.sentence_off).any():
            complete = gold.complete_sentences(self.sentence_off).astype(np.float64)
            counts = self.counts_of(np.maximum(problem.labelling, 0).astype(np.int32), complete)
            problem = replace(problem, counts=self._weights(counts))
        objective = CRITERIA[settings.criterion.method](problem, settings)
        weights = self._weights(arrays)
        value, gradient = objective.value_and_gradient(weights)
        if settings.criterion.method == "hmsvm":  # whose penalty is a part of its value
            value, gradient = value - 0.5 * float(weights @ weights), gradient - weights
        return value, self._parted(gradient)


class LabelledBatch(BatchFunction):
    """log p of the labels of a batch: the log of the sum over all labellings that agree with them, less log Z."""

    def __init__(self, free: ScoredBatch, codes: Sequence[Ints]):
        """codes: of each label, [N]; -1 where it is not known, which is summed out."""
        self.free, self.sentence_of = free, free.sentence_of
        self.labelling: Ints32 | None = None
        if not free.has_hidden_variables and all((one >= 0).all() for one in codes):
            self.labelling = free.labelling(codes)
        else:
            self.agreeing = free.template.batch(free.lengths, opened=True)
            self.restrictions = self.agreeing.restrictions(codes)

    def room(self) -> Arrays:
        return self.free.room()

    def lent_room(self) -> AbstractContextManager[Arrays]:
        return self.free.lent_room()

    def evaluated(self, arrays: Arrays, *, derivatives: bool) -> tuple[Floats, Arrays]:
        """log p [B], and the derivatives of its sum: counts among those that agree, less those among all."""
        potentials, scores = self.free.potentials(arrays), np.zeros(len(self.free.lengths))
        if self.labelling is not None and derivatives:
            log_z, apart = self.free.summed(potentials, derivatives=True, less=self.labelling, score=scores)
            for one in apart:
                np.negative(one, out=one)
        else:
            log_z, among_all = self.free.summed(potentials, derivatives=derivatives)
            if self.labelling is not None:
                scores, apart = self.free.scores_of(potentials, self.labelling), []
            else:
                agreeing = self.agreeing.potentials([*arrays, *self.restrictions])
                scores, counts = self.agreeing.summed(agreeing, derivatives=derivatives)
                apart = [one - other for one, other in zip(counts, among_all, strict=False)]
        # Where no labelling agrees, log Z may be -inf too.
        return np.subtract(scores, log_z, out=np.full(len(scores), -np.inf), where=scores != -np.inf), apart

    def weights_times(self, mass: Floats, arrays: Arrays) -> Floats:
        """Those of the template's own weights, each sentence's times its mass [B]."""
        if self.labelling is not None:
            counts = self.free.counts_of(self.labelling, mass)[0]
        else:
            counts = self.agreeing.weights_times(mass, [*arrays, *self.restrictions])
        found: Floats = counts - self.free.weights_times(mass, arrays)
        return found

    def curvature(self, arrays: Arrays, direction: Arrays, mass: Floats) -> tuple[Floats, Arrays]:
        """As that of log Z; the score of one labelling is linear."""
        slope, change = self.free.curvature(arrays, direction, mass)
        if self.labelling is not None:
            potentials = self.free.potentials([np.nan_to_num(one) for one in direction])
            return self.free.scores_of(potentials, self.labelling) - slope, [-one for one in change]
        still = [np.zeros_like(one) for one in self.restrictions]
        own, counts = self.agreeing.curvature([*arrays, *self.restrictions], [*direction, *still], mass)
        return own - slope, [one - other for one, other in zip(counts, change, strict=False)]


def _criterion_settings(template: ScoredTemplate, criterion: str) -> TrainSettings:
    """The settings of a stage that trains by this criterion, without a penalty."""
    stages = load_text(f"train {criterion} as loss: prior = none\n", "criterion").require(unchecked=True).stages
    method = stages[0].criterion.name
    if method in WITHOUT_LOSS:
        message = f"`{method}` is no sum over sentences of a function of scores, so a layer has no such loss"
        raise data_error("no-loss", message, help="take `likelihood`, `perceptron`, `hmsvm`, `marginal` or `mce`")
    if method in IN_PIECES:
        message = f"`{method}` trains in pieces, of which scores of a net are no part, so a layer has no such loss"
        raise data_error("no-loss", message, help="take `likelihood`; `fit` trains in pieces, with scores in its data")
    resolved = replace(template.resolved, spec=template.spec.model_copy(update={"stages": stages}))
    check_or_raise(resolved)
    return stage_settings(resolved.require(unchecked=True), stages[0].label)


def _refuse_data(spec: ModelSpec, directories: Mapping[str, Path]) -> None:
    """DcrfError where a template reads data that is no score, or learns its states."""
    learned = [name for name, states in declared_states(spec, directories).items() if states is None]
    if learned:
        message = f"a layer has no data to learn the states of {', '.join(quoted_names(learned))} from"
        raise data_error("not-scores", message, help=f"declare them, as in `label {learned[0]} in bio(PER, LOC)`")
    expansion = expand(spec)
    for number, clique in zip(expansion.set_of_clique, spec.cliques, strict=True):
        what = f"`{clique.word} {clique.label}` has features of data" if number >= 0 else None
        if clique.relational:
            what = f"`clique {clique.label}` joins positions by data"
        if what is not None:
            message = f"a layer reads scores alone, and {what}"
            raise data_error("not-scores", message, help="let the net score what it sees, and write `offset(SCORES)`")
