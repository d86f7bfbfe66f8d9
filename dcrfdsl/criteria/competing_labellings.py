"""The best wrong labelling of each sentence: one that contradicts a known label of the variables that the loss covers.

`exact` finds it by max-marginals; on sequences so long that they are computed in blocks, it decodes a graph that
excludes the right labellings (`graph.margin_graphs`). Other methods decode the free graph; where the result
is right, they decode again with the likeliest wrong state of some variable clamped.
Sources: Suzuki 2006 §3.3; for loops, Yanover & Weiss 2003. Not here: the criteria that compare scores with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np

from ..foundation import Codes, Floats, Ints, Ints32, Mask
from ..graph import ANY_STATE, graph_excluding_gold, known_label_rows, only_state
from ..inference import (
    METHODS,
    Binder,
    BoundData,
    ConstrainedDecoder,
    Decoded,
    ProgramCompetitors,
    RunStatus,
    SequenceMethod,
    StateConstraints,
    largest_table,
    run_inference,
)
from ..kernels.runtime import IMPOSSIBLE
from ..kernels.sequences import WrongStates
from ..kernels.tables import Potentials
from ..semantics import ExactSettings
from .judged_spans import goes_on
from .training_problem import ResolvedInference, TrainingProblem


def data_excluding_gold(problem: TrainingProblem, loss_variables: Sequence[int]) -> BoundData:
    """The training data without its right labellings, packed, with contraction programs."""
    return unpacked_data_excluding_gold(problem, loss_variables).packed(bundled=True)


def unpacked_data_excluding_gold(problem: TrainingProblem, loss_variables: Sequence[int]) -> BoundData:
    """As `data_excluding_gold`, but not packed."""
    graph = graph_excluding_gold(problem.graph, problem.gold, loss_variables, len(problem.rows))
    rows = (*problem.rows, *known_label_rows(problem.graph, problem.gold, loss_variables))
    binder = Binder(graph, problem.parameters, programs=True)
    return binder.bind(rows, problem.sentence_off, problem.relations)


class CompetitorSearch(Protocol):
    """Finds the best wrong labelling of each sentence."""

    @property
    def status(self) -> RunStatus:
        """How decoding ended, over all calls."""

    def best_wrong(self, weights: Floats) -> Ints32:
        """Codes of every variable of the model at `weights` [W], [variables, N]; -1 where a sentence has none."""


def wrong_states(problem: TrainingProblem, loss_variables: Sequence[int]) -> WrongStates:
    """The states of these variables that contradict their known labels."""
    cards, gold = problem.graph.cards, problem.gold
    code = np.full((gold.codes.shape[1], len(cards)), -1, np.int32)
    off, tables, at = np.zeros(len(cards), np.int64), [np.zeros(0, np.bool_)], 0
    for variable in loss_variables:
        allowed = gold.allowed(variable, cards[variable])
        code[:, variable], off[variable] = gold.runs(variable, cards[variable]), at
        tables.append(allowed.ravel())
        at += allowed.size
    return WrongStates(code.ravel(), off, np.concatenate(tables))


class WrongLabellingDecoder:
    """Finds the best wrong labelling of each sentence exactly. data: the data set that its potentials are those of."""

    def __init__(self, problem: TrainingProblem, loss_variables: Sequence[int], settings: ExactSettings):
        self.data = problem.bind(programs=True)
        self._width = len(problem.graph.cards)
        self._runs = ProgramCompetitors(self.data)
        self._wrong = wrong_states(problem, loss_variables)
        self._method: SequenceMethod | None = None
        self._wide = np.zeros(0, np.int32)
        if self._runs.in_blocks.any():
            self.data = data_excluding_gold(problem, loss_variables)
            self._method = METHODS["exact"].build(self.data, settings)
            self._wide = np.zeros(int(self.data.labelling_off[-1]), np.int32)

    def decode(self, potentials: Potentials, first: int, last: int, labelling: Codes) -> None:
        """Writes the labellings of sequences `first` to `last` - 1, flat; -1 where there is none."""
        out = Decoded.empty(self.data, labelling=self._wide)
        if self._method is None:
            self._runs.decode_wrong(potentials, first, last, self._wrong, out.status, labelling)
            return
        self._method.decode(potentials, first, last, out)
        tokens = self.data.rows.token_off
        wide = self._wide.reshape(-1, len(self.data.graph.cards))[tokens[first] : tokens[last], : self._width]
        narrow = labelling.reshape(-1, self._width)
        narrow[tokens[first] : tokens[last]] = wide
        for s in (first + np.flatnonzero(out.status[first:last] == IMPOSSIBLE)).tolist():
            narrow[tokens[s] : tokens[s + 1]] = -1


class ExactCompetitorSearch:
    """Exact search, on every graph that `exact` can handle."""

    def __init__(self, decoder: WrongLabellingDecoder, problem: TrainingProblem):
        self._decoder, self._width, self._workers = decoder, len(problem.graph.cards), problem.workers
        self._labelling = np.zeros(len(problem.labelling), np.int32)
        self.status = RunStatus()

    def best_wrong(self, weights: Floats) -> Codes:
        """See `CompetitorSearch.best_wrong`."""
        data = self._decoder.data
        self._workers.map(partial(self._decoder.decode, data.potentials(weights)), data.runs, self._labelling)
        self.status = self.status + RunStatus(graphs=data.num_sequences)
        return self._labelling.reshape(-1, self._width).T.copy()


class ConstrainedCompetitorSearch:
    """Approximate search by constrained decoding, with any method."""

    def __init__(
        self,
        decoder: ConstrainedDecoder,
        problem: TrainingProblem,
        loss_variables: Sequence[int],
        inference: ResolvedInference,
    ):
        self._decoder, self._problem, self._loss_variables = decoder, problem, tuple(loss_variables)
        self._data = problem.bind(programs=METHODS[inference.name].programs)
        self._method = inference.build(self._data)
        # a sentence without any known label is never wrong
        cards = problem.graph.cards
        restricts = [~self._allowed(variable, cards[variable]).all(axis=1) for variable in self._loss_variables]
        num_restricted = np.concatenate([[0], np.cumsum(np.any(restricts, axis=0))])
        self._can_be_wrong = num_restricted[problem.sentence_off[1:]] > num_restricted[problem.sentence_off[:-1]]

    @property
    def status(self) -> RunStatus:
        """How decoding ended, over all calls."""
        return self._decoder.status

    def best_wrong(self, weights: Floats) -> Codes:
        """See `CompetitorSearch.best_wrong`."""
        off = self._problem.sentence_off
        count, labels = len(off) - 1, self._problem.graph.num_labels
        free = np.full((labels, int(off[-1])), ANY_STATE, np.int32)
        codes = self._decode(weights, StateConstraints(np.arange(count), free))
        same = np.ones(count, np.bool_)
        wrong = self._problem.gold.contradicts(codes[:labels], self._problem.graph.cards[:labels])
        for variable in self._loss_variables:
            same[np.searchsorted(off, np.flatnonzero(wrong[variable]), side="right") - 1] = False
        again = np.flatnonzero(same & self._can_be_wrong)
        codes[:, np.repeat(~self._can_be_wrong, np.diff(off))] = -1
        if not len(again):
            return codes
        constraints = self._likeliest_others(weights, again)
        others = self._decode(weights, constraints)
        at = 0
        for s in again.tolist():
            length = int(off[s + 1] - off[s])
            codes[:, off[s] : off[s + 1]] = others[:, at : at + length]
            at += length
        return codes

    def _allowed(self, variable: int, card: int) -> Mask:
        """The states that the known labels allow a variable at each position, [N, card]."""
        gold = self._problem.gold
        return gold.allowed(variable, card)[gold.runs(variable, card)]

    def _decode(self, weights: Floats, constraints: StateConstraints) -> Codes:
        result = self._decoder.decode(weights, constraints)
        return result.labelling.reshape(-1, len(self._problem.graph.cards)).T.copy()

    def _likeliest_others(self, weights: Floats, sentences: Ints) -> StateConstraints:
        """For each of these sentences, a constraint to the wrong state with the largest marginal."""
        data, method, problem = self._data, self._method, self._problem
        out = run_inference(data, method, data.potentials(weights), problem.workers, marginals=True)
        cards = problem.graph.cards
        marginals = out.marginals.reshape(-1, sum(cards))
        starts = np.cumsum([0, *cards])
        best = np.full((len(self._loss_variables), len(marginals)), -1.0)
        state = np.zeros(best.shape, np.int32)
        for n, variable in enumerate(self._loss_variables):
            state_marginals = marginals[:, starts[variable] : starts[variable + 1]].copy()
            state_marginals[self._allowed(variable, cards[variable])] = -1.0
            best[n], state[n] = state_marginals.max(axis=1), state_marginals.argmax(axis=1)
        off, blocks = problem.sentence_off, []
        for s in sentences.tolist():
            part = best[:, off[s] : off[s + 1]]
            n, t = divmod(int(part.argmax()), part.shape[1])
            codes = np.full((problem.graph.num_labels, part.shape[1]), ANY_STATE, np.int32)
            codes[self._loss_variables[n], t] = only_state(state[n, off[s] + t])
            blocks.append(codes)
        return StateConstraints(sentences, np.concatenate(blocks, axis=1))


def competitor_search(
    problem: TrainingProblem, inference: ResolvedInference, loss_variables: Sequence[int]
) -> CompetitorSearch:
    """The search for the best wrong labellings by the inference of a stage."""
    if inference.name == "exact":
        exact = ExactSettings(max_table=largest_table(inference.settings))
        return ExactCompetitorSearch(WrongLabellingDecoder(problem, loss_variables, exact), problem)
    return ConstrainedCompetitorSearch(
        constrained_decoder_of(problem, inference, loss_variables), problem, loss_variables, inference
    )


def constrained_decoder_of(
    problem: TrainingProblem, inference: ResolvedInference, loss_variables: Sequence[int]
) -> ConstrainedDecoder:
    """The constrained decoder of the training data, which may ask whether segments of `loss_variables` go on."""
    sets = []
    for variable in range(problem.graph.num_labels):
        goes = (
            goes_on(problem.states[variable])
            if variable in loss_variables
            else np.zeros((0, problem.graph.cards[variable]), np.bool_)
        )
        sets.append(np.concatenate([goes, ~goes]))
    return ConstrainedDecoder(
        problem.graph, problem.parameters, problem.rows, problem.sentence_off, problem.relations,
        sets, inference.name, inference.settings, problem.workers,
    )  # fmt: skip
