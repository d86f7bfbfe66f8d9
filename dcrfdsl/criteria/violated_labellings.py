"""Finds the labelling of each sequence that violates its margin most: the largest 2 loss(y) + g(y) of wrong ones.

    loss ≡ 1     the best wrong labelling. On chains whose labels are all known, one pass finds it; on other graphs
                 max-marginals; with messages, the approximate search of `competing_labellings`
    hamming      and `cost`: the best labelling of a graph in which wrong states score twice their cost more
                 (`graph.margin_graphs`), by any method; y* itself is no violation. With hidden labels,
                 other right labellings would look like violations; that graph is then searched as for a loss of 1
    segments     so does a graph with variables of its own (`graph.margin_graphs`), exactly

With a slack for each labelling, `NBestSearch` lists all that may violate their margins, exactly.

Source: Altun & Hofmann 2003 §5 (two-best Viterbi); Taskar, Guestrin & Koller 2003 (Hamming). Not here: margins.
"""

from __future__ import annotations

import numpy as np

from ..foundation import Codes, Floats, Ints
from ..inference import METHODS, BoundData, ChainRuns, Decoded, RunStatus, arenas, chain_of, competing_chains
from ..kernels.sequences import NBestLists, exact_better
from ..kernels.tables import Potentials
from .competing_labellings import Search
from .training_problem import ResolvedInference, TrainingProblem


def chain_decoder(problem: TrainingProblem) -> ChainRuns | None:
    """The chain decoder of the training data, packed if possible; None where its graphs are not chains."""
    plain = problem.bind_plain(programs=False)
    return competing_chains(plain.packed(bundled=True)) or competing_chains(plain)


class ChainSearch(Search):
    """Exact search on chains whose labels are all known."""

    def __init__(self, runs: ChainRuns, known: Codes, problem: TrainingProblem):
        super().__init__(runs.data, problem)
        self._runs, self._known = runs, known

    def _decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        self._runs.decode_other(potentials, first, last, self._known, out.labelling)


class CostAugmentedSearch(Search):
    """Search with costs in the scores, by any method; finds y* where nothing violates its margin."""

    def __init__(self, judged: TrainingProblem, problem: TrainingProblem, inference: ResolvedInference):
        """judged: from `LabelCosts.augmented`, with all labels known."""
        data = judged.bind_plain(programs=METHODS[inference.name].programs)
        packed = data.packed(bundled=True)
        chain = chain_of(packed.graph, packed.kinds)
        if chain is None or ChainRuns(packed, chain).fits:
            data = packed
        super().__init__(data, problem)
        self._method = inference.build(data)
        self.approximate = self._method.approximate

    def _decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        self._method.decode(potentials, first, last, out)

    def _ended(self, out: Decoded, first: int, last: int) -> RunStatus:
        return out.summary()


class NBestSearch:
    """Lists the labellings of each sequence that may violate their margins, the worst first, `most` at most, exactly.

    All that score more than a floor are listed, best first; so the search ends where no more violate theirs. They
    include y* where `data` does.
    """

    whole = False
    approximate = False

    def __init__(self, data: BoundData, most: int, problem: TrainingProblem, known: Codes):
        """data: with contraction programs; the variables of the model come first.   known: y*, flat, if floors are
        relative to its score; else empty.
        """
        self.most, self._width, self.is_relative = most, len(problem.graph.cards), len(known) > 0
        self._data, self._workers, self.status = data, problem.workers, RunStatus()
        self._known = known
        self._cells: Floats | None = None
        self._programs, self._patterns = data.bank.program_arrays(), data.bank.pattern_arrays()
        self._labelling = np.zeros((most, int(data.labelling_off[-1])), np.int32)
        self._narrow = np.zeros((most, int(data.rows.token_off[-1]) * self._width), np.int32)
        self._count, self._score = np.zeros(data.num_sequences, np.int64), np.zeros((data.num_sequences, most))

    def list(self, weights: Floats, first: int, last: int, floor: Floats) -> tuple[Codes, Ints]:
        """Labellings [most, flat], best first, and how many each of the sequences has, [last - first].

        floor [S]: what labellings must score.
        """
        d, labelling, count = self._data, self._labelling, self._count
        potentials = d.potentials(weights, self._cells)
        self._cells = potentials.weights
        lists = NBestLists(labelling, d.labelling_off, count, self._score)

        def run(a: int, b: int) -> None:
            exact_better(
                a, b, d.problem, self._programs, self._patterns, potentials, lists, self._known, floor, arenas(d)[0]
            )

        self._workers.map(run, [(first, last)])
        self.status = self.status + RunStatus(graphs=last - first)
        wide = len(d.graph.cards)
        if wide > self._width:
            begin, end = d.rows.token_off[first], d.rows.token_off[last]
            model_labels = labelling.reshape(self.most, -1, wide)[:, begin:end, : self._width]
            self._narrow.reshape(self.most, -1, self._width)[:, begin:end] = model_labels
            labelling = self._narrow
        return labelling, count[first:last]
