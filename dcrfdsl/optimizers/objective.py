"""What an optimizer sees of a criterion, and what it reports. Optimizers never import criteria.

`Objective` has everything that any method asks for. What not every objective offers has a default that says so (None,
nothing, no): a method asks for it by name, never by the type of the objective.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from ..arrays import Floats, Ints, Ints32
from ..kernels.optimization import Cuts, Metric
from .voters import Voters

__all__ = [
    "Batches", "BoostingProblem", "BoostingRound", "CountRanges", "Iteration", "MarginProblem", "Objective", "Outcome",
    "PerceptronSchedule", "Scaling", "Watch", "require_part",
]  # fmt: skip

Result = TypeVar("Result")


class Objective(ABC):
    """A function of weights [W] to minimise.

    solver: what minimises it where no optimizer is named, by its name in `auto.SOLVERS`.   is_steep: whether it falls
    by orders of magnitude, so that its gradient at the start does not say what is small.
    solution [W]: of an objective that counting solves, its optimum, whatever training begins with.
    apart: of a sum of objectives of different weights, the numbers of each one's weights [w] and it as a function of
    these alone. Weights that are in none of them change nothing.
    """

    solver: str = "quasi_newton"
    is_steep: bool = False
    solution: Floats | None = None
    apart: Sequence[tuple[Ints, Objective]] = ()

    @abstractmethod
    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """Value and gradient [W] at `weights` [W]; the gradient may be kept by the caller."""

    def sharpen(self) -> bool:
        """Computes values more exactly from now on; False if they are as exact as they get."""
        return False

    def gap(self, gradient: Floats) -> float | None:
        """How far the value is above the least one, at most, where the gradient [W] is this; None where unknown."""
        return None

    @property
    def l1(self) -> Floats | None:
        """Strengths [W] of a part Σ l1 |λ|, None where there is none.

        The gradient of that part is the one of one side: l1 sign(λ), 0 in the corner.
        """
        return None

    def spread(self, task: Callable[[int, int], Result], num_weights: int) -> list[Result]:
        """`task(first, last)` for stretches that make up all weights, in order; the cut depends on the model only."""
        return [task(0, num_weights)]

    def batches(self, size: int | None = None) -> Batches | None:
        """Of `size` sequences each; without it of as many as help a start.

        None where there is no way to have them, or where none are asked for by size and they would not help.
        """
        return None

    def scaling(self) -> Scaling | None:
        """What iterative scaling needs, None where it has no meaning; DcrfError where the data or the penalty does not
        allow it.
        """
        return None

    def perceptron_schedule(self) -> PerceptronSchedule | None:
        """How a perceptron is to be trained, where this is its loss and comes in batches of one sequence."""
        return None

    def margin_problem(self) -> MarginProblem | None:
        """What methods on the dual need, where this is the primal of a margin problem."""
        return None

    def boosting(self) -> BoostingProblem | None:
        """What rounds of boosting need, where this is an exponential risk of known labels."""
        return None


def require_part(part: Result | None, what: str) -> Result:
    """A part of an objective that a method cannot do without. The checker refuses such pairs, so TypeError."""
    if part is None:
        raise TypeError(f"the optimizer needs {what}, and the objective has none")
    return part


class Batches(Protocol):
    """An objective as a sum over `count` batches and a penalty ½ Σ precision λ²."""

    precision: Floats  # [W]
    share: Floats  # [W] of the precision, for each batch that touches the weight

    @property
    def count(self) -> int: ...

    def begin(self, weights: Floats) -> None:
        """Gradients are taken at `weights` [W] from now on; the caller changes them in place and says so by `moved`."""

    def gradient(self, number: int) -> tuple[float, Ints32, Floats]:
        """Value of a batch without penalty, the weights that it touches, and its gradient in them."""

    def moved(self, number: int) -> None:
        """The weights that batch `number` touches were changed."""


class PerceptronSchedule(NamedTuple):
    """How a sum over sequences of how far the best labelling scores above the gold one is to be trained.

    epochs: passes.   average: whether the mean of the weights after each sequence is wanted, or the last ones.   vote:
    whether all of them are.   voters: how many of these at most, None for no limit.   seed: of the order of sequences.
    """

    epochs: int
    average: bool
    vote: bool
    voters: int | None
    seed: int


class MarginProblem(Protocol):
    """½ ‖w‖² + Σ_i U_i max(0, max_n ℓ_n − ⟨w, d_n⟩) over the wrong labellings n of each sequence i, by its cuts.

    limit [S]: U.   each_counts: whether every violation of a sequence counts, and not the largest alone.   metric: the
    inner product.   runs: of sequences, in which cuts are looked for at once.   tolerance: of the gap, by the primal.
    """

    limit: Floats
    each_counts: bool
    metric: Metric
    runs: Sequence[tuple[int, int]]
    tolerance: float
    num_weights: int

    def find_cuts(self, scores: Floats, first: int, last: int) -> Cuts:
        """The most violated cuts of a run at w = `scores` [W], with norms and multipliers of 0."""

    def metric_times(self, point: Floats) -> Floats:
        """The weights [W] that a sum of differences [W] stands for."""

    def complete(self, weights: Floats) -> bool:
        """Takes what is best at `weights` [W] for labels that are not known; whether that changed anything."""


class BoostingProblem(Protocol):
    """An exponential risk that is never below 0, and how it is to be boosted.

    ranges: L and U, between which wrong labellings count more than the gold one of each feature, in groups of sequences
    where they are the same.   rounds, tolerance, max_step, update: see `semantics.settings.risk_settings`.
    most_weights: that can count in a sequence.
    """

    rounds: int
    tolerance: float
    max_step: float
    update: str
    most_weights: int

    @property
    def ranges(self) -> CountRanges: ...

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """Of each group at the last point: the value of its sequences, and the part of the gradient, [G] each."""

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """See `Objective.value_and_gradient`."""

    def mass(self, weight: int) -> float:
        """The part of the last value that comes from sequences in which this weight can count."""


class CountRanges(Protocol):
    """off [W+1]: the groups of each weight; those in which it cannot count are none.   low, high [G]: L and U."""

    @property
    def off(self) -> Ints: ...

    @property
    def low(self) -> Floats: ...

    @property
    def high(self) -> Floats: ...


class BoostingRound(NamedTuple):
    """A round: the weight that moved (-1: all did) and by how much (at most), the share of the risk that it promised to
    leave at most, and the risk after it.
    """

    weight: int
    step: float
    bound: float
    risk: float


class Scaling(Protocol):
    """What iterative scaling needs of a likelihood of features that are not negative."""

    @property
    def counts(self) -> Floats:
        """Ê f [W], 0 for features that the gold labels never show."""

    @property
    def totals(self) -> Floats:
        """T(x) of each sequence, the largest sum over all labellings of the features that gold labels show."""

    def expectations_by_total(self, weights: Floats, totals: Floats) -> list[tuple[Ints, Floats]]:
        """For each of `totals`, E f over the sequences of that total: the weights where it is above 0, and it there."""


class Iteration(NamedTuple):
    """One step of training. `seconds` is wall time since the first evaluation began; `dev` a score in 0–1, if any.

    `start` says which of several random starts it belongs to, from 1; 0 where there is one alone.   gradient_norm: of
    methods that step after single sequences, of the sum of their gradients, each where the steps before it led; None
    where there is no gradient.   gap: of the duality, where a dual is solved.
    """

    iteration: int
    objective: float
    gradient_norm: float | None
    seconds: float
    dev: float | None = None
    start: int = 0
    gap: float | None = None


Watch = Callable[[Iteration, Floats], bool]  # called after each iteration with the weights; True asks to stop


@dataclass(frozen=True)
class Outcome:
    """Where an optimizer ended. `reason` says in words why it stopped; `stalled`: no better point could be found.

    gap: how far the objective is above the least one, at most; None where that is not known.   voters: where all
    weights on the way were asked for.   path: of boosting.
    """

    weights: Floats
    objective: float
    iterations: int
    evaluations: int
    converged: bool
    seconds: float
    reason: str
    stalled: bool = False
    gradient_norm: float | None = None
    gap: float | None = None
    voters: Voters | None = None
    path: tuple[BoostingRound, ...] = ()
