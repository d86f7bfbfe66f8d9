"""The interface of inference over a data set: protocols of the methods, and the results of a run.

Not here: the methods (`methods`), threads (`workers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..foundation import Floats, Ints, Ints32, Mask, dataclass, recalled
from ..graph import REMEMBERED_BYTES, offsets
from ..kernels.lattice import COLUMNS, EARLY, EDGES, LABELS, POSITIONS, POSSIBLE, RELAXED
from ..kernels.runtime import IMPOSSIBLE
from ..kernels.tables import Potentials, Results, WarmStart
from .bound import BoundData
from .run_status import PruningReport, RunStatus

NOTHING = np.zeros(0)


@dataclass(eq=False, kw_only=True)
class Outcome:
    """How inference ended on all S sequences of a data set; each sequence writes at its own index.

    status [S]: a code of `kernels.runtime`.   iterations [S]: negative where the method did not converge.   `RunStatus`
    describes the others.   pruning [S, 6]: of a pruned run, see `kernels.lattice`.
    """

    status: NDArray[np.int8]
    redone: Mask
    iterations: Ints
    residual: Floats
    damped: Mask
    approximate: bool = False
    pruning: Ints | None = None

    def _results(self, values: Floats) -> Results:
        return Results(values, self.status, self.redone, self.iterations, self.residual, self.damped)

    def summary(self) -> RunStatus:
        status = self._summary_of_one() if len(self.status) == 1 else self._summary()
        return status if self.pruning is None else replace(status, pruning=self._pruning_report(self.pruning))

    def _summary(self) -> RunStatus:
        rested = self.iterations > 0
        worked = self.status == 0
        return RunStatus(
            graphs=len(self.status),
            not_converged=int((~rested & worked & (self.iterations < 0)).sum()),
            iterations=int(np.abs(self.iterations).max(initial=0)),
            sweeps=int(np.abs(self.iterations).sum()),
            residual=float(self.residual.max(initial=0.0)),
            redone=int(self.redone.sum()),
            damped=int(self.damped.sum()),
            impossible=tuple(np.flatnonzero(self.status == IMPOSSIBLE).tolist()),
            approximate=self.approximate,
        )

    def _pruning_report(self, counts: Ints) -> PruningReport:
        sums = counts.sum(axis=0).tolist()
        early, relaxed = (counts[:, [EARLY, RELAXED]] > 0).sum(axis=0).tolist()
        return PruningReport(sums[POSITIONS], sums[POSSIBLE], sums[LABELS], sums[EDGES], early, relaxed)

    def _summary_of_one(self) -> RunStatus:
        """The summary of a single sequence, without arrays of length 1, which would cost more than the sentence."""
        code, count = int(self.status[0]), int(self.iterations[0])
        return RunStatus(
            graphs=1,
            not_converged=int(code == 0 and count < 0),
            iterations=abs(count),
            sweeps=abs(count),
            residual=max(0.0, float(self.residual[0])) if not np.isnan(self.residual[0]) else float("nan"),
            redone=int(self.redone[0]),
            damped=int(self.damped[0]),
            impossible=(0,) if code == IMPOSSIBLE else (),
            approximate=self.approximate,
        )


def _nothing_yet(data: BoundData, approximate: bool) -> dict[str, Any]:
    """The fields of an `Outcome` before a run."""
    n = data.num_sequences
    return {
        "status": np.zeros(n, np.int8), "redone": np.zeros(n, np.bool_), "iterations": np.ones(n, np.int64),
        "residual": np.zeros(n), "damped": np.zeros(n, np.bool_), "approximate": approximate,
        "pruning": None if data.contexts is None else np.zeros((n, COLUMNS), np.int64),
    }  # fmt: skip


@dataclass(eq=False, kw_only=True)
class Expectations(Outcome):
    """The sums of a run. log_z [S]: natural logs, -inf where no labelling is possible.   marginals: flat, see
    `BoundData.marginal_off`; or empty.
    """

    log_z: Floats
    marginals: Floats

    @classmethod
    def empty(cls, data: BoundData, *, marginals: bool = False, approximate: bool = False) -> Expectations:
        """Room for the sums of a data set, and for marginals if these are wanted."""
        room = np.zeros(int(data.marginal_off[-1])) if marginals else NOTHING
        return cls(log_z=np.zeros(data.num_sequences), marginals=room, **_nothing_yet(data, approximate))

    @property
    def results(self) -> Results:
        """The arrays that kernels write to."""
        return self._results(self.log_z)


@dataclass(eq=False, kw_only=True)
class Decoded(Outcome):
    """The labelling found for each sequence. labelling: flat, see `BoundData.labelling_off`; -1 where there is none.
    score [S]: Σ log φ by exact methods, -inf where no labelling is possible; of no meaning otherwise.
    """

    labelling: Ints32
    score: Floats

    @classmethod
    def empty(cls, data: BoundData, *, approximate: bool = False, labelling: Ints32 | None = None) -> Decoded:
        """Room for the labellings of a data set. labelling: written to, if it is given."""
        if labelling is None:
            labelling = np.zeros(int(data.labelling_off[-1]), np.int32)
        return cls(labelling=labelling, score=np.zeros(data.num_sequences), **_nothing_yet(data, approximate))

    @classmethod
    def within(cls, out: Expectations, labelling: Ints32) -> Decoded:
        """Labellings whose scores and status are written to the arrays of a sum."""
        of_run = {one.name: getattr(out, one.name) for one in fields(Outcome)}
        return cls(labelling=labelling, score=out.log_z, **of_run)

    @property
    def results(self) -> Results:
        """The arrays that kernels write to, scores in place of log Z."""
        return self._results(self.score)


class MarginalInference(Protocol):
    """Inference as training needs it, on sequences `first` to `last` - 1 of the data that the method was built for."""

    @property
    def approximate(self) -> bool:
        """Whether some answer may not be exact."""

    @property
    def together(self) -> int:
        """Sequences that advance together: a run of fewer takes as long as one of so many."""

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        """Writes log Z and status to `out`; adds expected counts to `gradient` [W] and `expected` [shared cells].

        An empty `gradient` asks for neither. Marginals are written if `out` has room for them.
        """


class StatelessMethod:
    """Methods without iteration: nothing is kept from call to call, and no answer gets more exact."""

    together = 1


class IterativeMethod:
    """What methods that iterate until they converge have in common: a tolerance, which begins as that of `settings`
    and may be tightened, and what each sequence keeps from call to call.

    settled: what calls start from, as `kept` and `is_kept` were then; None where each starts from the one before.
    room [S]: how many numbers each sequence keeps.
    """

    together: ClassVar[int] = 1
    room: Ints
    sharpest: ClassVar[float]  # the tolerance beyond which answers do not get more exact

    def __init__(self, data: BoundData, tolerance: float):
        self.edges, self.tolerance, self.initial_tolerance = data.bank.edge_arrays(), tolerance, tolerance
        self.kept, self.kept_off = np.zeros(0, np.float32), np.zeros(1, np.int64)
        self.is_kept = np.zeros(data.num_sequences, np.bool_)
        self.settled: tuple[NDArray[np.float32], Mask] | None = None
        self.anew = ""

    def remember(self) -> None:
        """Lets each call start from the state in which the last one ended, if memory allows."""
        self.settled = None
        if not len(self.kept) and 4 * int(self.room.sum()) <= REMEMBERED_BYTES:
            self.kept_off = offsets(self.room)
            self.kept = np.zeros(int(self.kept_off[-1]), np.float32)

    def begin_inference(self, anew: str = "") -> bool:
        """Says where all calls start until this or `remember` is called: in the state in which the last one ended; or
        `anew`, "once" or "always", and as exact as they get. False if they always do so already.
        """
        if self.anew == "always":
            return False
        self.anew = anew
        self.tolerance = self.present_tolerance if anew == "always" else self.tolerance
        if not anew:
            self.settled = self.settled or (self.kept.copy(), self.is_kept.copy())
            self.settled[0][:], self.settled[1][:] = self.kept, self.is_kept
        return True

    @property
    def present_tolerance(self) -> float:
        """That of the next call."""
        return min(self.sharpest, self.tolerance) if self.anew else self.tolerance

    def start(self, first: int, last: int) -> WarmStart:
        """What sequences `first` to `last` - 1 start from; they leave there what they end with."""
        if self.anew:
            self.is_kept[first:last] = False
        elif self.settled is not None and len(self.kept):
            begin, end = self.kept_off[[first, last]]
            self.kept[begin:end], self.is_kept[first:last] = self.settled[0][begin:end], self.settled[1][first:last]
        return WarmStart(self.kept, self.kept_off, self.is_kept)

    def memory(self) -> dict[str, Any]:
        """What later results depend on beside the weights, as plain values and arrays, for checkpoints."""
        messages, is_kept = self.settled or (self.kept, self.is_kept)
        is_kept = is_kept.astype("uint8")
        return {"tolerance": self.tolerance, "anew": self.anew, "messages": messages, "is_kept": is_kept}

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Goes on from what `memory` returned."""
        self.kept[:] = recalled(saved, "messages", len(self.kept), dtype=self.kept.dtype)
        self.is_kept[:] = recalled(saved, "is_kept", len(self.is_kept), dtype=np.uint8).astype(bool)
        self.begin_inference()
        self.tolerance, self.anew = saved["tolerance"], saved["anew"]

    def tighten_tolerance(self) -> bool:
        """Tightens convergence tenfold for the calls that follow; False if the answers cannot get more exact."""
        if self.tolerance <= self.sharpest:
            return False
        self.tolerance = max(self.sharpest, 0.1 * self.tolerance)
        return True


def iterative_methods(method: Any) -> list[IterativeMethod]:
    """The iterative methods that a method consists of: itself, what it wraps, or those of its parts; none if exact."""
    parts = getattr(method, "methods", None) or [getattr(method, "method", None)]
    own = [method] if isinstance(method, IterativeMethod) else []
    return own + [one for part in parts if part is not None for one in iterative_methods(part)]


class Decoder(Protocol):
    """Finds labellings of the sequences `first` to `last` - 1 of the data that it was built for."""

    @property
    def approximate(self) -> bool:
        """Whether some labelling may not be the best."""

    def decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        """Writes the best labelling found, and its score, to `out`."""


class SequenceMethod(MarginalInference, Decoder, Protocol):
    """A method that decodes as well."""
