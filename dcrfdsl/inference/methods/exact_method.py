"""Exact inference over a data set: contraction programs, and special kernels for chains, automata and candidates.

What exact methods alone give is here too: −Σ_v c_v log p(y*_v | x) with its gradient, and the best labellings that
agree and disagree with spans. Not here: kernels.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from ...foundation import Floats, Ints32, Mask, cached_property, data_error, dataclass, memory_left
from ...graph import automaton_seconds, chain_decodes, other_seconds
from ...kernels import sequences
from ...kernels.exact import blocked_decode, blocked_expectations, exact_tangents
from ...kernels.runtime import IMPOSSIBLE, UNDERFLOW
from ...kernels.tables import Patterns, Potentials, Programs, Ragged, Totals
from ...semantics import AutoSettings, ExactSettings
from .. import bound
from ..base import Decoded, Expectations, StatelessMethod

Kernel = Callable[..., None]
NOTHING = np.zeros(0)
LOG_SPACE = 30  # times as long as in powers, roughly, an automaton's sums take in log space
WORTH_ASKING = 2**28  # bytes of which the system is asked whether it has them


@dataclass(eq=False)
class ExactMethod(StatelessMethod):
    """Variable elimination by contraction programs; exact on any graph whose tables fit.

    Special kernels do chains with one table between neighbours, chains whose constraints leave few labels at each
    position, and models with few states and transitions. The programs take the sequences that these leave.
    """

    data: bound.BoundData
    settings: ExactSettings | AutoSettings
    approximate: bool = False
    alone: ClassVar[bool] = False  # whether an automaton is the only form

    def __post_init__(self) -> None:
        chain = bound.chain_of(self.data.graph, self.data.kinds)
        self.chain = bound.ChainRuns(self.data, chain) if chain is not None else None
        automaton = bound.bound_automaton(self.data, chain=chain is not None, alone=self.alone)
        self.automaton = bound.AutomatonRuns(self.data, automaton) if automaton is not None else None
        self.candidates, self._in_log_space = None, self.alone
        seconds = other_seconds(self.data.graph, chain=chain is not None)
        if automaton is not None:
            self._in_log_space |= LOG_SPACE * automaton_seconds(automaton.graph) < seconds
            seconds = automaton_seconds(automaton.graph) / bound.filled_lanes(self.data)
        if self.data.graph.coded:
            self.candidates = bound.CandidateRuns.of(self.data, seconds)
        if self.automaton is not None and self.candidates is None:
            self.together = bound.TOGETHER
        self._per_thread = threading.local()

    # A chain needs these only if its kernel leaves sequences.

    @cached_property
    def programs(self) -> Programs:
        return self.data.bank.program_arrays()

    @cached_property
    def patterns(self) -> Patterns:
        return self.data.bank.pattern_arrays()

    @cached_property
    def in_blocks(self) -> Mask:
        """Which sequences are so long that they are computed block by block, [S]."""
        return np.diff(self.programs.block_off)[self.data.rows.shape] > 0

    @property
    def _special(self) -> list[bound.AutomatonRuns | bound.ChainRuns]:
        """The kernels that are tried before the programs, in this order."""
        return [runs for runs in (self.automaton, self.chain) if runs is not None]

    @property
    def _sums(self) -> list[Callable[..., list[tuple[int, int]]]]:
        """The same for expectations. What leaves the range of an automaton is summed by it in log space where the
        programs would take longer still.
        """
        sums: list[Callable[..., list[tuple[int, int]]]] = [runs.expectations for runs in self._special]
        if self.automaton is not None and self._in_log_space:
            sums.insert(1, self.automaton.log_expectations)
        return sums

    @property
    def _decoders(self) -> list[bound.AutomatonRuns | bound.ChainRuns]:
        """The same for best labellings, which a chain's table may give sooner than an automaton."""
        chain, runs = self.chain, self.automaton
        if chain is not None and runs is not None and chain_decodes(runs.automaton.graph, self.data.graph):
            return [chain]
        return self._special

    def _arenas(self) -> tuple[Floats, Floats]:
        """Two arenas that belong to the calling thread."""
        if not hasattr(self._per_thread, "arenas"):
            shapes = self.data.shapes
            size = max(int(shapes.arena_end.max(initial=0)), shapes.local_start)
            require_memory(2 * 8 * size)
            self._per_thread.arenas = np.empty(size), np.empty(size)
        arenas: tuple[Floats, Floats] = self._per_thread.arenas
        return arenas

    def _kernels(self, begin: int, end: int, whole: Kernel, in_blocks: Kernel) -> list[Kernel]:
        """Those of the two kernels that a run of sequences needs; a kernel that is never called is not compiled."""
        blocked = self.in_blocks[begin:end]
        return [kernel for kernel, needed in ((whole, not blocked.all()), (in_blocks, blocked.any())) if needed]

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats,
        share: Floats = NOTHING,
    ) -> None:  # fmt: skip
        """As `MarginalInference.expectations`. share [S]: a factor on each sequence's expectations; 1 if empty."""
        d, p, left = self.data, potentials, [(first, last)]
        if self.candidates is not None and not len(share):
            left = self.candidates.expectations(p, first, last, out.results, out.marginals, gradient, expected)
        for sums in self._sums:
            again: list[tuple[int, int]] = []
            for begin, end in left:
                again += sums(p, begin, end, out.log_z, out.status, out.marginals, gradient, expected, share)
            left = again
        for begin, end in left:
            arguments = (
                begin, end, d.problem, self.programs, self.patterns, p, Totals(gradient, expected), out.results,
                Ragged(out.marginals, d.marginal_off), *self._arenas(), share,
            )  # fmt: skip
            for run in self._kernels(begin, end, sequences.exact_expectations, blocked_expectations):
                run(*arguments)
            if (out.status[begin:end] == UNDERFLOW).any():
                sequences.exact_log_expectations(*arguments)

    def decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        d, left = self.data, [(first, last)]
        if self.candidates is not None:
            left = self.candidates.decode(potentials, first, last, out.results, out.labelling)
        for special in self._decoders:
            again: list[tuple[int, int]] = []
            for begin, end in left:
                again += special.decode(potentials, begin, end, out.score, out.status, out.labelling)
            left = again
        for begin, end in left:
            for run in self._kernels(begin, end, sequences.exact_decode, blocked_decode):
                run(
                    begin, end, d.problem, self.programs, self.patterns, potentials, out.score,
                    d.ragged(out.labelling),
                )  # fmt: skip
            out.status[begin:end] = np.where(np.isneginf(out.score[begin:end]), IMPOSSIBLE, 0)


def require_memory(size: float) -> None:
    """DcrfError where the tables of a sequence take more bytes than are left; systems promise more than they have."""
    left = memory_left() if size > WORTH_ASKING else None
    if left is not None and size > left:
        message = (
            f"exact inference needs {size / 1e9:.1f} GB for the tables of a sentence, and {left / 1e9:.1f} are left"
        )
        raise data_error("out-of-memory", message, help="use `infer trp`, or cut long sentences")


class AutomatonMethod(ExactMethod):
    """Exact inference by an automaton alone, where no table of elimination fits. The data has no programs."""

    alone = True

    @cached_property
    def programs(self) -> Programs:
        raise data_error(
            "too-wide",
            "exact inference is possible here by an automaton alone, which does not take sequences as long as these",
            help="cut long sequences, or use `infer trp`",
        )


class ProgramCompetitors:
    """data: bound with contraction programs.   in_blocks [S]: sequences so long that they are computed block by block;
    these have no competitors here.
    """

    def __init__(self, data: bound.BoundData):
        self.data = data
        self._programs, self._patterns = data.bank.program_arrays(), data.bank.pattern_arrays()

    @property
    def in_blocks(self) -> Mask:
        """Which sequences are so long that they are computed block by block, [S]; they have no competitors here."""
        blocks: Mask = np.diff(self._programs.block_off)[self.data.rows.shape] > 0
        return blocks

    def competitors(
        self, potentials: Potentials, first: int, last: int, labelling: Ints32, judging: sequences.LabelledSpans,
        right: sequences.ErrorSums, wrong: sequences.ErrorSums, status: np.ndarray[tuple[int], np.dtype[np.int8]],
    ) -> None:  # fmt: skip
        d = self.data
        sequences.exact_competitors(
            first, last, d.problem, self._programs, self._patterns, potentials, d.ragged(labelling), judging,
            right, wrong, status,
        )  # fmt: skip

    def decode_wrong(
        self, potentials: Potentials, first: int, last: int, wrong: sequences.WrongStates,
        status: np.ndarray[tuple[int], np.dtype[np.int8]], labelling: Ints32,
    ) -> None:  # fmt: skip
        """Writes the best labelling of each sequence that contradicts the known labels, -1 if there is none."""
        d = self.data
        sequences.exact_decode_wrong(
            first, last, d.problem, self._programs, self._patterns, potentials, wrong, status, d.ragged(labelling)
        )


class LabelLogMarginals:
    """data: bound with contraction programs.   labelling [flat, see `BoundData.labelling_off`]: the states y* whose
    marginals count, negative elsewhere.   importance: c, laid out as they are; 1 if empty.
    """

    def __init__(self, data: bound.BoundData, method: ExactMethod, labelling: Ints32, importance: Floats = NOTHING):
        self.data, self._method, self._labelling, self._importance = data, method, labelling, importance

    def add(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        """Writes the risk of each sequence to `out.log_z`; adds the gradient to `gradient` [cells], `expected` [shared
        cells].
        """
        d, p, left = self.data, potentials, [(first, last)]
        if self._method.chain is not None:
            left = self._method.chain.tangents(
                p, first, last, self._labelling, self._importance, out.log_z, out.status, gradient, expected
            )
        for begin, end in left:
            exact_tangents(
                begin, end, d.problem, self._method.programs, self._method.patterns, p, d.ragged(self._labelling),
                self._importance, Totals(gradient, expected), out.results,
            )  # fmt: skip
