"""The best wrong labelling of each sentence: one that contradicts a known label of the variables that the loss covers.

`exact` finds it by max-marginals; on sequences so long that they are computed in blocks, it decodes a graph that
excludes the right labellings (`graph.margin_graphs`). Other methods decode the free graph; where the result
is right, they decode again with the likeliest wrong state of some variable clamped.
Sources: Suzuki 2006 §3.3; for loops, Yanover & Weiss 2003. Not here: the criteria that compare scores with them.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from ..foundation import Codes, Floats, Ints, Mask
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
from .judged_spans import segment_marks
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


class Search(ABC):
    """Finds labellings of all variables, sequence by sequence and in threads; -1 in sequences that have none.

    whole: whether the data set can only be searched as a whole.   status: how inference ended, over all calls.
    """

    whole = False
    approximate = False

    def __init__(self, data: BoundData, problem: TrainingProblem):
        """data: that is decoded; its graph may have further variables after those of the model."""
        self.data, self._workers, self.status = data, problem.workers, RunStatus()
        self.width, self._wide = len(problem.graph.cards), len(data.graph.cards)
        tokens = int(problem.sentence_off[-1])
        self._size = tokens * self.width
        self._labelling = np.zeros(tokens * self._wide if self._wide > self.width else 0, np.int32)
        self._cells: Floats | None = None

    @abstractmethod
    def _decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        """Writes the labellings of a run, of all variables of `data`."""

    def _ended(self, out: Decoded, first: int, last: int) -> RunStatus:
        return RunStatus(graphs=last - first)

    def potentials(self, weights: Floats) -> Potentials:
        """At `weights` [W], in the memory of the last ones."""
        potentials = self.data.potentials(weights, self._cells)
        self._cells = potentials.weights
        return potentials

    def find(self, weights: Floats, first: int, last: int, labelling: Codes) -> None:
        """Writes the labellings of sequences `first` to `last` - 1 at `weights` [W], see `BoundData.labelling_off`."""
        potentials, tokens = self.potentials(weights), self.data.rows.token_off
        into = labelling if self._wide == self.width else self._labelling
        out = Decoded.empty(self.data, approximate=self.approximate, labelling=into)
        goals = np.linspace(tokens[first], tokens[last], max(2, self._workers.threads) + 1)
        cuts = sorted({first, *np.searchsorted(tokens, goals[1:-1]).tolist(), last})
        self._workers.map(lambda a, b: self._decode(potentials, a, b, out), list(itertools.pairwise(cuts)))
        if into is not labelling:
            of_model = into.reshape(-1, self._wide)[tokens[first] : tokens[last], : self.width]
            labelling.reshape(-1, self.width)[tokens[first] : tokens[last]] = of_model
        self.status = self.status + self._ended(out, first, last)

    def best(self, weights: Floats) -> Codes:
        """The labellings of the whole data set by the variables of the model, [variables, N]."""
        labelling = np.zeros(self._size, np.int32)
        self.find(weights, 0, self.data.num_sequences, labelling)
        return labelling.reshape(-1, self.width).T.copy()


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


class WrongLabellingSearch(Search):
    """Finds the best wrong labellings exactly, on every graph that `exact` can handle."""

    def __init__(
        self, judged: TrainingProblem, problem: TrainingProblem, loss_variables: Sequence[int],
        inference: ResolvedInference,
    ):  # fmt: skip
        """judged: `problem`, or `LabelCosts.augmented` of it."""
        data = judged.bind(programs=True)
        self._runs, self._wrong = ProgramCompetitors(data), wrong_states(judged, loss_variables)
        self._method: SequenceMethod | None = None
        if self._runs.in_blocks.any():
            data = data_excluding_gold(judged, loss_variables)
            self._method = METHODS["exact"].build(data, ExactSettings(max_table=largest_table(inference.settings)))
        super().__init__(data, problem)

    def _decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        if self._method is None:
            self._runs.decode_wrong(potentials, first, last, self._wrong, out.status, out.labelling)
            return
        self._method.decode(potentials, first, last, out)
        off = self.data.labelling_off
        for s in (first + np.flatnonzero(out.status[first:last] == IMPOSSIBLE)).tolist():
            out.labelling[off[s] : off[s + 1]] = -1


class ConstrainedSearch:
    """What `Search` does by constrained decoding, with any method: approximately, and of all sequences at once."""

    whole = True
    approximate = True

    def __init__(self, problem: TrainingProblem, loss_variables: Sequence[int], inference: ResolvedInference):
        self._decoder = constrained_decoder_of(problem, inference, loss_variables)
        self._problem, self._loss_variables = problem, tuple(loss_variables)
        self._data = problem.bind(programs=METHODS[inference.name].programs)
        self._method = inference.build(self._data)
        # a sentence without any known label is never wrong
        cards = problem.graph.cards
        restricts = [~self._allowed(variable, cards[variable]).all(axis=1) for variable in self._loss_variables]
        num_restricted = np.concatenate([[0], np.cumsum(np.any(restricts, axis=0))])
        self._can_be_wrong = num_restricted[problem.sentence_off[1:]] > num_restricted[problem.sentence_off[:-1]]

    @property
    def status(self) -> RunStatus:
        return self._decoder.status

    def find(self, weights: Floats, first: int, last: int, labelling: Codes) -> None:
        labelling[:] = self.best(weights).T.ravel()

    def best(self, weights: Floats) -> Codes:
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


def wrong_labelling_search(
    problem: TrainingProblem, inference: ResolvedInference, loss_variables: Sequence[int]
) -> Search | ConstrainedSearch:
    """The search for the best wrong labellings by the inference of a stage."""
    if inference.name == "exact":
        return WrongLabellingSearch(problem, problem, loss_variables, inference)
    return ConstrainedSearch(problem, loss_variables, inference)


def constrained_decoder_of(
    problem: TrainingProblem, inference: ResolvedInference, loss_variables: Sequence[int]
) -> ConstrainedDecoder:
    """The constrained decoder of the training data, which may ask whether segments of `loss_variables` go on."""
    sets = [np.zeros((0, card), np.bool_) for card in problem.graph.cards[: problem.graph.num_labels]]
    for variable in loss_variables:
        goes = segment_marks(problem.states[variable]).goes_on
        sets[variable] = np.concatenate([goes, ~goes])
    return ConstrainedDecoder(
        problem.graph, problem.parameters, problem.rows, problem.sentence_off, problem.relations,
        sets, inference.name, inference.settings, problem.workers,
    )  # fmt: skip
