"""Decoding of a data set where `once` is kept by a search: of the sequences whose best labelling breaks it.

Not here: the search of one sequence (`single_run_search`), labellings without the rule (`run`, `labellings`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...foundation import Floats, Ints32
from ...graph import ModelGraph
from ...kernels.tables import Potentials
from ...semantics import SingleRuns
from ..bound import BoundData
from ..marginals import sequence_graph
from ..run_status import RunStatus
from ..workers import Workers
from .labellings import Labellings, NBest
from .single_run_search import Found, RunRules, SingleRunSearch


class SingleRunDecoder:
    """Keeps to the rules of `once` on any data of one model, whose graph does not have them."""

    def __init__(self, graph: ModelGraph, runs: Sequence[SingleRuns]):
        self._runs, self._graph = tuple(runs), graph
        self._rules = RunRules(runs, graph.cards)

    @property
    def statement(self) -> str:
        """The first of the rules, for messages."""
        return f"`once {self._runs[0].once.label}`"

    def repairs(
        self, data: BoundData, potentials: Potentials, labelling: Ints32, scores: Floats, status: RunStatus,
        workers: Workers,
    ) -> tuple[Ints32, Floats, RunStatus]:  # fmt: skip
        """The best labellings that keep to the rules, from the best ones without them.

        labelling: flat, see `BoundData.labelling_off`.   scores [S]: nan where there is no labelling.   The status
        counts what was searched; sentences for which nothing was found are impossible, with a labelling of -1.
        """
        broken = [s for s in self._breaking(data, labelling) if not np.isnan(scores[s])]
        if status.approximate:  # what keeps to the rules need not be the best
            broken, status = list(range(data.num_sequences)), replace(status, approximate=False, not_converged=0)
        if not broken:
            return labelling, scores, status
        labelling, scores, off = labelling.copy(), scores.copy(), data.labelling_off
        found = self._search(data, potentials, broken, 1, workers)
        for s, best in zip(broken, found, strict=True):
            labelling[off[s] : off[s + 1]] = best.states[0] if len(best.states) else -1
            scores[s] = best.score[0] if len(best.states) else np.nan
        return labelling, scores, _with(status, broken, found)

    def best(self, data: BoundData, potentials: Potentials, count: int, workers: Workers) -> NBest:
        """The `count` best labellings of each sequence that keep to the rules; their probabilities are not known."""
        every = list(range(data.num_sequences))
        found = self._search(data, potentials, every, count, workers)
        names, width = self._graph.variables[: self._graph.num_labels], len(self._graph.variables)
        sentences = []
        for best, length in zip(found, np.diff(data.rows.token_off).tolist(), strict=True):
            states = best.states.reshape(len(best.states), length, width).astype(np.int32)
            codes = {name: np.ascontiguousarray(states[:, :, m]) for m, name in enumerate(names)}
            sentences.append(Labellings(codes, best.score, np.full(len(best.score), np.nan), best.proven))
        return NBest(tuple(sentences), _with(RunStatus(data.num_sequences), every, found))

    def _breaking(self, data: BoundData, labelling: Ints32) -> list[int]:
        """The sequences whose labelling breaks a rule."""
        off, table = data.rows.token_off, labelling.reshape(-1, len(self._graph.variables))
        tokens = np.concatenate([runs.again(table[:, runs.label], off) for runs in self._runs])
        return [int(s) for s in np.unique(np.searchsorted(off, tokens, side="right") - 1)]

    def _search(
        self, data: BoundData, potentials: Potentials, sequences: Sequence[int], count: int, workers: Workers
    ) -> list[Found]:
        found: dict[int, Found] = {}
        rules = self._rules.at_new_weights()
        shared = data.shapes.local_start

        def run(first: int, last: int) -> None:
            for number in range(first, last):
                sequence = sequences[number]
                shape = data.bank.shapes[int(data.rows.shape[sequence])]
                places = [at if at < shared else -1 for at in shape.tables]
                graph = sequence_graph(data, potentials, sequence)
                found[number] = SingleRunSearch(graph, rules, places).best(count)

        workers.map(run, [(number, number + 1) for number in range(len(sequences))])
        return [found[number] for number in range(len(sequences))]


def _with(status: RunStatus, sequences: Sequence[int], found: Sequence[Found]) -> RunStatus:
    none = tuple(s for s, best in zip(sequences, found, strict=True) if not len(best.states))
    return replace(
        status,
        impossible=tuple(sorted({*status.impossible, *none})),
        searched=status.searched + len(found),
        unproven=status.unproven + sum(not best.proven for best in found),
    )
