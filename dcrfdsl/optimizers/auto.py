"""The default optimizer: it runs the solver that the objective names. `SOLVERS` is the table of solvers.

The usual solver is `quasi_newton`. For a penalty with corners it is OWL-QN, where whole groups have corners `proximal`,
otherwise L-BFGS after a start on batches, which provides a point and its curvature. An objective with a closed form is
solved by counting. To add a solver: a function here or in a file of its own, a line in the table, and for what it needs
of the objective a member in `objective`.

The start is a few passes of AdaGrad over batches. L-BFGS spends half of its passes over the data on finding the scale
of weights. Steps on batches find it in a few passes, since each pass makes many of them; afterwards they are slow. The
squares of a batch's gradients, summed over a pass, estimate the curvature of the likelihood in each weight (near the
optimum the two agree: Fisher's information), which L-BFGS needs as much as the point. Source: Duchi, Hazan, Singer,
"Adaptive subgradient methods" (2011).

Measured on CoNLL-2000 chunking (456,468 weights), in evaluations until 5 %, 1 %, 0.1 %, 0.01 % above the optimum:
L-BFGS alone 80, 104, 141, 177; after 3 passes over 64 batches, with the curvature, 30, 50, 85, 121. From 32 to 256
batches, from 2 to 8 passes, and rates of 0.5 and 0.8 differ by less than 5. The curvature helps more than the point (8
passes without it: 79 evaluations to 1 %). Stochastic average gradients over 256 batches did not pay: 13 passes took the
objective from 4495 to 4136, where L-BFGS reaches 3840.

Converged: by the rule of the solver; the start on batches never converges. L-BFGS stops by the same rule as without the
start, at the same optimum. From the weights of an earlier model, from which long steps would lead away, one pass
without steps gives the curvature alone. It runs without the start if the objective has no batches: for few sentences,
and for labels that are latent or partly known, whose objective is not convex, so that another start could lead to
another optimum.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ..foundation import Floats, Table, give_back_memory, recalled
from ..kernels.optimization import adaptive_steps, dot
from ..semantics import AutoOptimizer, OwlqnSettings, ProximalSettings, WorkingSetSettings
from .boosting_rounds import minimise_boosting
from .lbfgs import descend
from .objective import Batches, Iteration, Objective, Outcome, Watch, require_part
from .owlqn import minimise_owlqn
from .perceptron_steps import minimise_mixed_perceptron, minimise_perceptron
from .progress import Progress, norm_of
from .proximal import minimise_proximal
from .run_state import RunState, generator_from, generator_state
from .stored_pairs import pairs_kept
from .working_set import minimise_working_set

# a closed form --------------------------------------------------------------------------------------------------------


def minimise_closed_form(
    objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch, state: RunState
) -> Outcome:
    """Returns the solution of the objective after one evaluation, whatever the start [W]."""
    begun = time.perf_counter()
    weights = require_part(objective.solution, "a solution by counting").copy()
    value, _ = objective.value_and_gradient(weights)
    seconds = time.perf_counter() - begun
    watch(Iteration(1, value, None, seconds), weights)
    return Outcome(weights, value, 1, 1, True, seconds, "counted")


# the start on batches -------------------------------------------------------------------------------------------------


Pass = Callable[[float, float, Floats], bool]  # after a pass: objective, norm of its gradient, weights; True to stop
FLOOR = 2.0  # precisions that are added to the curvature, which changes as the fit becomes closer
HIGH = 0.9  # this quantile of all curvatures is added instead if it is larger, as with a weak prior


def start_on_batches(
    batches: Batches, weights: Floats, epochs: int, rate: float, seed: int, after_pass: Pass, state: RunState
) -> Floats | None:
    """Changes `weights` [W] in place; returns an estimate [W] of their curvature; None if stopped or if it may be 0.

    rate: the approximate length of a weight's first step.   seed: of the order of batches in each pass. `after_pass`
    gets the objective and the norm of its gradient, summed over the batches of the pass while the weights moved.
    """
    generator = np.random.default_rng(seed)
    (squares, before, seen), done = np.zeros((3, len(weights))), 0
    saved = state.take("batches")
    if saved is not None:
        weights[:], squares, before = (recalled(saved, name, len(weights)) for name in ("weights", "squares", "before"))
        done, generator = saved["passes"], generator_from(saved["generator"])
    state.keep("batches", lambda: {
        "weights": weights, "squares": squares, "before": before, "passes": done,
        "generator": generator_state(generator),
    })  # fmt: skip
    batches.begin(weights)
    while done < epochs:
        done += 1
        before[:] = squares
        seen.fill(0.0)
        objective = 0.0
        for number in generator.permutation(batches.count).tolist():
            value, touched, gradient = batches.gradient(number)
            objective += value
            adaptive_steps(touched, gradient, batches.share, rate, weights, squares, seen)
            batches.moved(number)
        pull_of_all = batches.precision * weights
        seen += pull_of_all
        objective += 0.5 * dot(pull_of_all, weights)
        if after_pass(objective, norm_of(seen), weights):
            return None
    curvature = squares - before
    least = np.maximum(FLOOR * batches.precision, np.quantile(curvature, HIGH))
    return curvature + least if least.min() > 0.0 else None


# the table of solvers -------------------------------------------------------------------------------------------------


def minimise_auto(
    objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch, state: RunState
) -> Outcome:
    """Minimises from `start` [W] by the solver that the objective names."""
    return SOLVERS[objective.solver](objective, start, settings, watch, state)


def _quasi_newton(
    objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch, state: RunState
) -> Outcome:
    """Minimises from `start` [W]. Each pass over batches counts as an iteration and as an evaluation."""
    if objective.groups is not None:
        of_groups = ProximalSettings(tolerance=settings.tolerance, max_iterations=settings.max_iterations)
        return minimise_proximal(objective, start, of_groups, watch, state)
    if objective.l1 is not None:
        of_corners = OwlqnSettings(tolerance=settings.tolerance, max_iterations=settings.max_iterations)
        return minimise_owlqn(objective, start, of_corners, watch, state)
    progress = Progress(objective, start, settings, watch, state)
    descent, metric = state.take("descent"), None
    if descent is not None and descent["metric"] is not None:
        metric = recalled(descent, "metric", len(start))
    if descent is None and settings.epochs > 0 and progress.norm > 0.0:
        batches = objective.batches()
        if batches is not None and objective.reference is None:
            metric = _start(progress, batches, settings, state)
        elif batches is not None:  # a pass without steps: the curvature alone
            progress.evaluations += 1
            point = progress.weights.copy()
            metric = start_on_batches(batches, point, 1, 0.0, settings.seed, lambda *_: False, RunState())
        if metric is not None:
            np.reciprocal(metric, out=metric)
        if progress.reason:
            return progress.outcome()
        del batches
    state.keep("descent", lambda: {"metric": metric})
    give_back_memory()  # of the batches
    descend(progress, pairs_kept(settings.memory, objective.seconds, len(start)), metric, state)
    return progress.outcome()


def _start(progress: Progress, batches: Batches, settings: AutoOptimizer, state: RunState) -> Floats | None:
    """Moves `progress` to the end point of passes over batches, if that is lower; returns the curvature [W] there."""
    stopped = False

    def after_pass(seen: float, norm: float, weights: Floats) -> bool:
        nonlocal stopped
        progress.evaluations += 1
        stopped = progress.report(seen, norm, weights)
        return stopped or progress.iterations >= progress.settings.max_iterations

    weights = progress.weights.copy()
    give_back_memory()  # of what the batches are cut by
    curvature = start_on_batches(batches, weights, settings.epochs, settings.rate, settings.seed, after_pass, state)
    state.drop("batches")
    value, gradient = progress.evaluate(weights)
    if value < progress.value:
        progress.move(weights, value, gradient)
    else:
        curvature = None
    if stopped:
        progress.reason = "stopped on request"
    return curvature


SOLVERS: Table[Callable[[Objective, Floats, AutoOptimizer, Watch, RunState], Outcome]] = Table(
    "solver",
    {
        "quasi_newton": _quasi_newton,
        "working_set": lambda objective, start, settings, watch, state: minimise_working_set(
            objective, start, WorkingSetSettings(max_iterations=settings.max_iterations), watch, state
        ),
        "perceptron": minimise_perceptron,
        "mixed_perceptron": minimise_mixed_perceptron,
        "boosting": minimise_boosting,
        "counting": minimise_closed_form,
    },
)
