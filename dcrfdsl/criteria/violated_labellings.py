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

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from ..foundation import Codes, Floats, Ints
from ..inference import LONGEST, METHODS, BoundData, ChainRuns, Decoded, RunStatus, arenas, chain_of
from ..kernels.sequences import NBestLists, exact_better
from ..semantics import ExactSettings
from .competing_labellings import ConstrainedCompetitorSearch, WrongLabellingDecoder
from .training_problem import ResolvedInference, TrainingProblem


class Search(Protocol):
    """Finds labellings of all variables, see `BoundData.labelling_off`; -1 in sequences that have none."""

    whole: bool  # whether the data set can only be searched as a whole
    approximate: bool

    @property
    def status(self) -> RunStatus:
        """How inference ended, over all calls."""

    def find(self, weights: Floats, first: int, last: int, labelling: Codes) -> None:
        """Writes the labellings of sequences `first` to `last` - 1 at `weights` [W] into `labelling`."""


def chain_decoder(problem: TrainingProblem) -> ChainRuns | None:
    """The chain decoder of the training data, packed if possible; None where its graphs are not chains."""
    for data in (problem.bind(programs=False), problem.bind_plain(programs=False)):
        chain = chain_of(data.graph, data.kinds)
        if chain is None or int(np.diff(data.rows.token_off).max(initial=0)) > LONGEST:
            return None
        runs = ChainRuns(data, chain)
        if runs.scores:
            return runs
    return None


class _Decoding:
    """Base of searches that decode sequence by sequence, in threads."""

    whole = False
    approximate = False

    def __init__(self, data: BoundData, problem: TrainingProblem):
        self._data, self._workers, self.status = data, problem.workers, RunStatus()
        self._cells: Floats | None = None
        self._width = self._wide = 0  # of a position: variables of the model, and of the graph that is decoded

    def _decode_wide(self, judged: TrainingProblem, problem: TrainingProblem) -> None:
        """Says that the graph of `judged` has further variables, after those of the model."""
        self._width, self._wide = len(problem.graph.cards), len(judged.graph.cards)
        if self._wide > self._width:
            self._labelling = np.zeros(int(problem.sentence_off[-1]) * self._wide, np.int32)

    def _decode(self, first: int, last: int, labelling: Codes, decode: Callable[[int, int, Codes], None]) -> None:
        """Runs `decode` on parts of these sequences, and leaves out what the model does not have."""
        if self._wide == self._width:
            self._workers.map(lambda a, b: decode(a, b, labelling), self._parts(first, last))
            return
        self._workers.map(lambda a, b: decode(a, b, self._labelling), self._parts(first, last))
        tokens = self._data.rows.token_off
        of_model = self._labelling.reshape(-1, self._wide)[tokens[first] : tokens[last], : self._width]
        labelling.reshape(-1, self._width)[tokens[first] : tokens[last]] = of_model

    def _parts(self, first: int, last: int) -> list[tuple[int, int]]:
        tokens = self._data.rows.token_off
        cut = int(np.searchsorted(tokens, (tokens[first] + tokens[last]) // 2))
        return [(first, cut), (cut, last)] if first < cut < last else [(first, last)]


class ChainSearch(_Decoding):
    """Exact search on chains whose labels are all known."""

    def __init__(self, runs: ChainRuns, known: Codes, problem: TrainingProblem):
        super().__init__(runs.data, problem)
        self._runs, self._known = runs, known

    def find(self, weights: Floats, first: int, last: int, labelling: Codes) -> None:
        """See `Search`."""
        potentials = self._data.potentials(weights, self._cells)
        self._cells = potentials.weights if self._data.packing is not None else None
        self._workers.map(
            lambda a, b: self._runs.decode_other(potentials, a, b, self._known, labelling), self._parts(first, last)
        )
        self.status = self.status + RunStatus(graphs=last - first)


class WrongLabellingSearch(_Decoding):
    """Exact search on any graph that `exact` can handle."""

    def __init__(
        self,
        judged: TrainingProblem,
        problem: TrainingProblem,
        loss_variables: Sequence[int],
        settings: ExactSettings,
    ):
        """judged: `problem`, or `MarginLoss.augmented` of it."""
        self._decoder = WrongLabellingDecoder(judged, loss_variables, settings)
        super().__init__(self._decoder.data, problem)
        self._decode_wide(judged, problem)

    def find(self, weights: Floats, first: int, last: int, labelling: Codes) -> None:
        """See `Search`."""
        data = self._data
        potentials = data.potentials(weights, self._cells)
        self._cells = potentials.weights if data.packing is not None else None
        self._decode(first, last, labelling, lambda a, b, into: self._decoder.decode(potentials, a, b, into))
        self.status = self.status + RunStatus(graphs=last - first)


class CostAugmentedSearch(_Decoding):
    """Search with costs in the scores, by any method; finds y* where nothing violates its margin."""

    def __init__(self, judged: TrainingProblem, problem: TrainingProblem, inference: ResolvedInference):
        """judged: from `MarginLoss.augmented`, with all labels known."""
        data = judged.bind_plain(programs=METHODS[inference.name].programs)
        packed = data.packed(bundled=True)
        chain = chain_of(packed.graph, packed.kinds)
        if chain is None or ChainRuns(packed, chain).scores:
            data = packed
        super().__init__(data, problem)
        self._decode_wide(judged, problem)
        self._method = inference.build(self._data)
        self.approximate = self._method.approximate

    def find(self, weights: Floats, first: int, last: int, labelling: Codes) -> None:
        """See `Search`."""
        out = Decoded.empty(self._data, approximate=self.approximate, labelling=labelling)
        potentials = self._data.potentials(weights, self._cells)
        self._cells = potentials.weights if self._data.packing is not None else None
        self._decode(
            first,
            last,
            labelling,
            lambda a, b, into: self._method.decode(potentials, a, b, replace(out, labelling=into)),
        )
        self.status = self.status + out.summary()


class ConstrainedSearch:
    """Approximate search for the best wrong labelling, by messages."""

    whole = True
    approximate = True

    def __init__(self, competitors: ConstrainedCompetitorSearch):
        self._competitors = competitors

    @property
    def status(self) -> RunStatus:
        """How decoding ended, over all calls."""
        return self._competitors.status

    def find(self, weights: Floats, first: int, last: int, labelling: Codes) -> None:
        """See `Search`. Always searches all sequences."""
        best = self._competitors.best_wrong(weights)
        labelling[:] = best.T.ravel()


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
        self.most, self._width = most, len(problem.graph.cards)
        self._data, self._workers, self.status = data, problem.workers, RunStatus()
        self._known = known
        self._cells: Floats | None = None
        self._programs, self._patterns = data.bank.program_arrays(), data.bank.pattern_arrays()
        self._labelling = np.zeros((most, int(data.labelling_off[-1])), np.int32)
        self._narrow = np.zeros((most, int(data.rows.token_off[-1]) * self._width), np.int32)
        self._count, self._score = np.zeros(data.num_sequences, np.int64), np.zeros((data.num_sequences, most))

    @property
    def is_relative(self) -> bool:
        """Whether floors are relative to the score of y*."""
        return len(self._known) > 0

    def list(self, weights: Floats, first: int, last: int, floor: Floats) -> tuple[Codes, Ints]:
        """Labellings [most, flat], best first, and how many each of the sequences has, [last - first].

        floor [S]: what labellings must score.
        """
        d, labelling, count = self._data, self._labelling, self._count
        potentials = d.potentials(weights, self._cells)
        self._cells = potentials.weights if d.packing is not None else None
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
            return self._narrow, count[first:last]
        return labelling, count[first:last]
