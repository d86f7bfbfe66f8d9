"""The base class of training criteria: an objective over a data set, with what training asks of it.

Also here: data clamped to its known labels, which a criterion has for the sentences with an unknown one. Not here: any
criterion, their table (`criteria_table`), what optimizers ask of one (`optimizers.objective`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np

from ..foundation import Floats, Mask, chosen_ranges, dataclass
from ..inference import BoundData, Expectations, IterativeMethod, MarginalInference, PruningReport, RunStatus, Workers
from ..optimizers import Objective, WeightGroups, WeightUnits
from .penalties import Penalty
from .run_sums import slices


@dataclass(frozen=True, eq=False)
class Clamped:
    """A data set clamped to its known labels. partly [S]: the sentences with an unknown label; only these are run."""

    data: BoundData
    method: MarginalInference
    partly: Mask

    def runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The runs of partly known sentences from `first` to `last`."""
        return iter(chosen_ranges(self.partly[first:last], first))

    def contradictions(self) -> tuple[int, ...]:
        """Sentences in which no labelling agrees with both the known labels and the hard constraints."""
        out = Expectations.empty(self.data)
        potentials = self.data.potentials(np.zeros(self.data.num_weights))
        nothing, cells = np.zeros(0), np.zeros(len(self.data.hard))
        for begin, end in self.runs(0, self.data.num_sequences):
            self.method.expectations(potentials, begin, end, out, nothing, cells)
        return out.summary().impossible


Result = TypeVar("Result")
FIRST_STEP = 0.1  # the largest change of a weight in a first step from 0


class Criterion(Objective):
    """Base class of criteria. The value of a likelihood is in nats; other criteria have units of their own.

    num_weights: W of the model.   inference_description: for the record; empty where nothing is inferred.
    penalty: on the weights; None where the criterion takes no prior.   clamped: the sentences with an unknown label;
    None where there are none.   workers: the threads that share the weights; None for the calling thread alone.
    pause: the number of iterations after which `advance` changes the objective; None if it never does.
    curvature: the sum of squares of each weight's feature in the data, [W], which is above the curvature of a
    likelihood in this weight; None where it is not known.
    """

    num_weights: int
    inference_description: str = ""
    penalty: Penalty | None = None
    clamped: Clamped | None = None
    workers: Workers | None = None
    pause: int | None = None
    curvature: Callable[[], Floats] | None = None

    # what training asks for -----------------------------------------------------------------------------------------

    def start(self, weights: Floats) -> Floats:
        """The point at which the search begins, for the weights [W] with which the stage begins."""
        return weights

    def weights_of(self, point: Floats) -> Floats:
        """The weights [W] that a point of the search stands for."""
        return point

    def advance(self, weights: Floats) -> None:
        """Changes the objective during training, at the weights [W] reached so far; see `pause`."""

    def contradictions(self) -> tuple[int, ...]:
        """Sentences in which no labelling agrees with both the known labels and the hard constraints."""
        return () if self.clamped is None else self.clamped.contradictions()

    def close(self) -> None:
        """Frees what is kept outside memory; nothing is asked of the criterion afterwards."""

    # checkpoints ----------------------------------------------------------------------------------------------------

    earlier_status: RunStatus | None = None  # of the evaluations before the checkpoint from which training goes on

    def remembered(self) -> dict[str, Any]:
        """What later evaluations depend on beside the weights, and how inference ended, as plain values."""
        status = asdict(self.status_so_far)
        return {"status": status}

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Goes on from what was `remembered`."""
        status = dict(saved["status"])
        pruning = PruningReport(**status.pop("pruning"))
        status["impossible"] = tuple(status["impossible"])
        self.earlier_status = RunStatus(**status, pruning=pruning)

    @property
    def status_so_far(self) -> RunStatus:
        """How inference ended, summed over all evaluations of the training."""
        return self.total_status if self.earlier_status is None else self.earlier_status + self.total_status

    @property
    def total_status(self) -> RunStatus:
        """How inference ended, summed over all evaluations of this object."""
        return RunStatus()

    @property
    def tightened(self) -> tuple[float, float] | None:
        """The tolerance of inference that was reduced during training, before and now; None if none was."""
        sharper = [one for one in self.iterative if one.tolerance < one.initial_tolerance]
        return (sharper[0].initial_tolerance, sharper[0].tolerance) if sharper else None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know about the optimum that was found."""
        return ()

    def notes_at(self, weights: Floats) -> tuple[str, ...]:
        """What a user should know about the weights [W] with which training has ended."""
        return ()

    def downhill_from_zero(self, gradient: Floats) -> Floats:
        """The weights [W] a small step down this gradient [W] from 0, in units of the features."""
        units = self.units or WeightUnits(np.ones(len(gradient)))
        changed = units.gradient(gradient)
        return units.weights(0.0 - FIRST_STEP / max(1.0, float(np.abs(changed).max(initial=0.0))) * changed)

    # what optimizers ask for ----------------------------------------------------------------------------------------

    @property
    def iterative(self) -> list[IterativeMethod]:
        """Inference that begins where it ended in an earlier evaluation."""
        return []

    def begin_inference(self, anew: str = "") -> bool:
        return sum(method.begin_inference(anew) for method in self.iterative) > 0  # all of them

    def tighten_tolerance(self) -> bool:
        return sum(method.tighten_tolerance() for method in self.iterative) > 0

    def distance(self, gradient: Floats) -> float | None:
        if self.curvature is None:
            return None
        curvature = self.curvature()
        moves = curvature > 0.0
        with np.errstate(over="ignore"):
            return float(0.5 * np.sum(gradient[moves] ** 2 / curvature[moves]))

    @property
    def l1(self) -> Floats | None:
        return None if self.penalty is None else self.penalty.l1

    @property
    def groups(self) -> WeightGroups | None:
        return None if self.penalty is None else self.penalty.groups

    def spread(self, task: Callable[[int, int], Result], num_weights: int) -> list[Result]:
        return [task(0, num_weights)] if self.workers is None else self.workers.map(task, slices(num_weights))


class SummedCriterion(Criterion):
    """Base class of sums of criteria: what is asked about inference is answered by the terms."""

    terms: Sequence[Criterion]

    @property
    def total_status(self) -> RunStatus:
        return sum((term.total_status for term in self.terms), start=RunStatus())

    @property
    def iterative(self) -> list[IterativeMethod]:
        return [method for term in self.terms for method in term.iterative]

    def tighten_tolerance(self) -> bool:
        return sum(term.tighten_tolerance() for term in self.terms) > 0

    def contradictions(self) -> tuple[int, ...]:
        return tuple(sorted({s for term in self.terms for s in term.contradictions()}))
