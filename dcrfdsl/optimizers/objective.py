"""The interface between criteria and optimizers, which never import criteria, and the results of optimizers.

`Objective` has every member that some method needs. Members that not every objective offers have a default that says
so (None, empty, False). Methods ask for a member by its name and never test the type of an objective.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from ..foundation import Floats, Ints, Ints32, dataclass
from ..kernels.optimization import Cuts, Metric
from .corners import WeightGroups
from .voters import Voters
from .weight_units import WeightUnits

Result = TypeVar("Result")


class Objective(ABC):
    """A function of weights [W] to minimise.

    solver: the name in `auto.SOLVERS` of the default optimizer.   is_steep: whether it falls by orders of magnitude, so
    that its gradient at the start is no measure of what is small.
    solution [W]: the optimum of an objective with a closed form, which does not depend on the start.
    reference [W]: the point whose gradient tolerances are relative to, where the start is near an optimum already; None
    for the start.
    voters: of a perceptron whose weights all vote, those until the last call of `watch`; set by its optimizer.
    units: those of the weights of numbers; None where all features are about as large as indicators.
    apart: the terms of a sum of objectives with disjoint weights: for each the numbers of its weights [w], and the term
    as an objective of these alone. Weights in no term have no effect.
    schedule: of the training of a perceptron, if this is its loss, with batches of one sequence.
    seconds: of an evaluation on one core, at least, by the cost of the graphs and not by a clock; 0 where not known.
    """

    solver: str = "quasi_newton"
    is_steep: bool = False
    solution: Floats | None = None
    reference: Floats | None = None
    voters: Voters | None = None
    units: WeightUnits | None = None
    apart: Sequence[tuple[Ints, Objective]] = ()
    schedule: PerceptronSchedule | None = None
    seconds: float = 0.0

    @abstractmethod
    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """Value and gradient [W] at `weights` [W]; the gradient may be kept by the caller."""

    def begin_inference(self, anew: str = "") -> bool:
        """Says where later evaluations begin, as `inference.IterativeMethod.begin_inference`; False if that changes
        nothing.
        """
        return False

    def tighten_tolerance(self) -> bool:
        """Computes values more exactly from now on; False if they are as exact as they get."""
        return False

    def gap(self, gradient: Floats) -> float | None:
        """An upper bound of the value's distance from the minimum, from the gradient [W]; None if unknown."""
        return None

    def distance(self, gradient: Floats) -> float | None:
        """An estimate of the value's distance from the minimum, from the gradient [W] in units of each weight's own
        curvature: it is no bound, but small near an optimum. None if the curvature is unknown.
        """
        return None

    @property
    def l1(self) -> Floats | None:
        """Strengths [W] of a penalty term Σ l1 |λ|, None if there is no such term.

        `value_and_gradient` includes it, with the gradient l1 sign(λ), which is 0 at λ = 0.
        """
        return None

    @property
    def groups(self) -> WeightGroups | None:
        """Groups of a penalty term Σ strength ‖λ_g‖, None if there is no such term.

        `value_and_gradient` includes it, with the gradient strength λ_g / ‖λ_g‖, which is 0 at λ_g = 0.
        """
        return None

    def spread(self, task: Callable[[int, int], Result], num_weights: int) -> list[Result]:
        """`task(first, last)` for ranges that cover all weights, in order; the ranges depend only on the model."""
        return [task(0, num_weights)]

    def batches(self, size: int | None = None) -> Batches | None:
        """Batches of `size` sequences each; without `size`, of a size that suits the start of `auto`.

        None if the objective has no batches, or, without `size`, if they would not help.
        """
        return None

    def scaling(self) -> Scaling | None:
        """The interface for iterative scaling, None if it does not apply; DcrfError if the data or the penalty does not
        allow it.
        """
        return None

    def parted_passes(self) -> PartedPasses | None:
        """The passes of a perceptron over data in parts, if this is its loss on such data; else None."""
        return None

    def margin_problem(self) -> MarginProblem | None:
        """The interface for methods on the dual, if this is the primal of a margin problem; else None."""
        return None

    def boosting(self) -> BoostingProblem | None:
        """The interface for boosting, if this is an exponential risk of known labels; else None."""
        return None


def require_part(part: Result | None, what: str) -> Result:
    """`part`; TypeError if it is None. The checker refuses methods with objectives that lack a part they need."""
    if part is None:
        raise TypeError(f"the optimizer needs {what}, and the objective has none")
    return part


class Batches(Protocol):
    """An objective as a sum over `count` batches and a penalty ½ Σ precision λ²."""

    precision: Floats  # [W]
    share: Floats  # [W] of the precision, in each batch that touches the weight

    @property
    def count(self) -> int: ...

    def begin(self, weights: Floats) -> None:
        """From now on gradients are taken at `weights` [W]; after changing them in place the caller calls `moved`."""

    def gradient(self, number: int) -> tuple[float, Ints32, Floats]:
        """Value of a batch without penalty, the numbers of the weights that it touches, and its gradient in these."""

    def moved(self, number: int) -> None:
        """Tells that weights that batch `number` touches were changed."""


class PerceptronSchedule(NamedTuple):
    """The training schedule of a perceptron. Its loss sums, over sequences, the margin of the best labelling over gold.

    epochs: passes.   average: whether the result is the mean of the weights after each sequence, or the last weights.
    vote: whether to keep all of them.   voters: the most that are kept, None: no limit.   seed: of the order of
    sequences.
    """

    epochs: int
    average: bool
    vote: bool
    voters: int | None
    seed: int


class PassOfPart(NamedTuple):
    """A pass of a perceptron over some parts, each from the same weights λ: sums over these.

    change [W]: of the weights of each part at its end less λ.   weighted [W]: of the weights after each sequence less
    λ.   loss: while the weights moved.   mistakes, sequences, parts: how many.
    """

    change: Floats
    weighted: Floats
    loss: float
    mistakes: int
    sequences: int
    parts: int


class PartedPasses(Protocol):
    """A perceptron's loss over data in parts."""

    def one_pass(self, weights: Floats, number: int) -> PassOfPart:
        """Pass `number` (from 0) over every part, from `weights` [W]."""


class MarginProblem(Protocol):
    """½ ‖w‖² + Σ_i U_i max(0, max_n ℓ_n − ⟨w, d_n⟩) over the wrong labellings n of each sequence i, by its cuts.

    limit [S]: U.   each_counts: whether every violation of a sequence counts, or only the largest.   metric: the inner
    product.   runs: of sequences, each searched for cuts at once.   tolerance: of the gap, relative to the primal.
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
        """Completes unknown labels by the best ones at `weights` [W]; returns whether any changed."""


class BoostingProblem(Protocol):
    """An exponential risk, never below 0, and the settings of its boosting.

    ranges: for each feature, bounds L and U on how much more often a wrong labelling counts it than the gold one;
    sequences with equal bounds are a group.   rounds, tolerance, max_step, update: see
    `semantics.settings.training_settings`.   most_weights: the largest number of weights that can count in a sequence.
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
        """The value and the part of the gradient of each group at the last point, [G] each."""

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """See `Objective.value_and_gradient`."""

    def mass(self, weight: int) -> float:
        """The part of the last value that comes from sequences in which this weight can count."""


class CountRanges(Protocol):
    """off [W+1]: the groups of each weight, without those in which it cannot count.   low, high [G]: L and U."""

    @property
    def off(self) -> Ints: ...

    @property
    def low(self) -> Floats: ...

    @property
    def high(self) -> Floats: ...


class BoostingRound(NamedTuple):
    """A round: the weight that moved (-1: all), its step (the largest one), the upper bound on the remaining share of
    the risk, and the risk after the round.
    """

    weight: int
    step: float
    bound: float
    risk: float


class Scaling(Protocol):
    """The interface of a likelihood with non-negative features for iterative scaling.

    counts [W]: Ê f, 0 for features that the gold labels never show.   totals [S]: T(x) of each sequence, the largest
    sum, over its labellings, of the features that gold labels show.
    """

    counts: Floats
    totals: Floats

    def expectations_by_total(self, weights: Floats, totals: Floats) -> list[tuple[Ints, Floats]]:
        """For each of `totals`: the weights with E f > 0 over the sequences of that total, and E f of these."""


class Iteration(NamedTuple):
    """One iteration of training. `seconds` is wall time since the first evaluation began; `dev` a score in 0–1, if any.

    start: the number of the random start, from 1; 0 if there is only one.   gradient_norm: for methods that step after
    single sequences, of the sum of their gradients, each taken before its own step; None if there is no gradient.
    gap: the duality gap, if a dual is solved.   metric: what `dev` is, as `segments(y).f1`; empty without `dev`, and in
    older model files.
    """

    iteration: int
    objective: float
    gradient_norm: float | None
    seconds: float
    dev: float | None = None
    start: int = 0
    gap: float | None = None
    metric: str = ""


Watch = Callable[[Iteration, Floats], bool]  # called after each iteration with the weights; True stops


@dataclass(frozen=True)
class Outcome:
    """The result of an optimizer. `reason` says in words why it stopped; `stalled`: it could find no better point.

    gap: an upper bound of the objective's distance from its minimum; None if unknown.   voters: all weights on the way,
    if they were asked for.   path: the rounds of boosting.
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
