"""The current point of an optimizer, the report of its path, and the stopping rule.

Converged: ‖g‖ / ‖g₀‖ is below the tolerance *and* the objective fell by less than half the tolerance, relatively, over
the last ten iterations *and* what is known of its distance from the least value agrees (`is_near_least`; where it does
not, iterations go on, by slopes where values differ by rounding alone): the gradient alone can be small while the
objective still creeps (on CoNLL-2000 chunking L-BFGS stops 0.12 nats above an optimum of 3395.53, both rules together
0.03). g₀ is the gradient at the start, or at the objective's `reference` if it has one; for a steep objective, at the
last point where it had fallen to a tenth. g is the subgradient of least norm where the objective has corners.

If no better point is found, there are three ways to have converged. ‖g‖ / ‖g₀‖ is below the tolerance; or
‖g‖ max(1, ‖λ‖) is less than the rounding of the objective (if that is convex, no point as near as 0 is lower by more);
or the objective knows that it is almost at its least value (`CERTAIN`). At a kink none of these holds, however short
steps become. A gradient of zero at the start is an optimum of a convex objective; otherwise it may be a saddle or a
plateau, which is why the reason names the start. An infinite value or NaN has not converged. Not here: any method.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..foundation import Floats, recalled
from ..kernels.optimization import dot
from ..semantics import StoppingSettings
from .corners import Corners
from .objective import Iteration, Objective, Outcome, Watch
from .run_state import RunState

# whether a point may be the optimum -----------------------------------------------------------------------------------


PART = 0.01  # of the objective, by the estimate


def is_near_least(objective: Objective, gradient: Floats, value: float, first: float) -> bool:
    """Whether the objective may be near its least value at a point with this gradient [W] and value.

    gradient: in corners the subgradient of least norm.   first: an early value of the training.
    """
    gap = objective.gap(gradient)
    if gap is not None:
        return bool(gap <= abs(value))
    distance = objective.distance(gradient)
    return distance is None or bool(distance <= PART * max(abs(value), abs(first)))


WINDOW = 10  # iterations over which the objective must have come to rest
CONTINUED = 3  # the same where an earlier training goes on, at as slow a fall an iteration
PROOF = 50  # iterations at rest in which the bound must fall
FALL = 0.1  # of a steep objective: after such a fall its gradient is measured anew
CERTAIN = 1e-10  # of the objective: if it is known to be this close to its least value, it is optimal
DIFFERENT = 1e-6  # relative changes of the objective that no error of messages explains, where they are exact
ROUNDING = 1e-12  # relative changes of the objective that may be errors of summation; slopes are trusted there


def norm_of(vector: Floats) -> float:
    return float(np.sqrt(dot(vector, vector)))


class _Stop(Exception):
    """Raised to leave the loop of `Progress.run`."""


class Progress:
    """The current point, and the report of the path to it. It goes on from what `state` has saved, if anything.

    corners: the part of the objective that has corners, for methods that make use of it.
    """

    def __init__(
        self, objective: Objective, start: Floats, settings: StoppingSettings, watch: Watch, state: RunState,
        corners: Corners | None = None,
    ):  # fmt: skip
        self.objective, self.settings, self.watch, self._corners = objective, settings, watch, corners
        self.begun = time.perf_counter()
        self.evaluations = self.iterations = 0
        self.converged = self.stalled = False
        self.is_flat = False  # the current step is expected to change the objective by rounding errors only
        self.goes_by_slopes = False  # where it is flat: the objective is at rest, and its bound is not small yet
        self.reason = ""
        self._anew_from: int | None = None  # the iteration since which each evaluation begins inference from nothing
        self._least_bound: float | None = None  # since then
        self._least_at = 0  # its iteration
        self.values: list[float] = []  # objective after each iteration
        saved = state.take("progress")
        self._goes_on = saved is not None
        if saved is not None:
            self._recall(saved, len(start))
        else:
            self.weights = start if objective.reference is None else objective.reference
            self.evaluate_again()
            self.start_norm = self.norm
            if objective.reference is not None:
                self.weights = start
                self.evaluate_again()
            self._fell_to = self.value
        state.keep("progress", self._remember)

    def _remember(self) -> dict[str, Any]:
        return {
            "weights": self.weights, "value": self.value, "gradient": self.gradient, "norm": self.norm,
            "start_norm": self.start_norm, "fell_to": self._fell_to, "values": self.values,
            "evaluations": self.evaluations, "iterations": self.iterations, "by_slopes": self.goes_by_slopes,
            "least_bound": self._least_bound, "least_at": self._least_at, "anew_from": self._anew_from,
            "seconds": time.perf_counter() - self.begun,
        }  # fmt: skip

    def _recall(self, saved: Mapping[str, Any], size: int) -> None:
        self.weights, self.gradient = recalled(saved, "weights", size), recalled(saved, "gradient", size)
        self.value = saved["value"]
        self.norm, self.start_norm, self._fell_to = saved["norm"], saved["start_norm"], saved["fell_to"]
        self.values, self.goes_by_slopes = list(saved["values"]), saved["by_slopes"]
        self._least_bound, self._least_at = saved["least_bound"], saved["least_at"]
        self.evaluations, self.iterations = saved["evaluations"], saved["iterations"]
        self._anew_from = saved.get("anew_from")
        self.begun -= saved["seconds"]

    def evaluate(self, weights: Floats) -> tuple[float, Floats]:
        """Value and gradient; the value is inf if either is not finite, so that no search goes there."""
        self.evaluations, self._latest = self.evaluations + 1, weights
        value, gradient = self.objective.value_and_gradient(weights)
        return (value if np.isfinite(value) and np.isfinite(norm_of(gradient)) else np.inf), gradient

    def evaluate_again(self) -> None:
        """Value and gradient of the current point: it is new, or the objective has become more exact."""
        self.move(self.weights, *self.evaluate(self.weights))

    def move(self, weights: Floats, value: float, gradient: Floats) -> None:
        """Goes to a point. Later evaluations begin inference from where it ended there, if it was evaluated last."""
        if weights is self._latest:
            self.objective.begin_inference()
        self.weights, self.value, self.gradient = weights, value, gradient
        self.norm = norm_of(self.steepest(weights, gradient))

    def sharpen(self) -> bool:
        """Evaluates the current point more exactly, from now on; False if the objective is as exact as it gets."""
        if not self.objective.tighten_tolerance():
            return False
        self.evaluate_again()
        return bool(np.isfinite(self.value))

    def steepest(self, weights: Floats, gradient: Floats) -> Floats:
        """The direction [W] of steepest rise: its norm is zero at an optimum, and measures the distance from one.

        It is the gradient; in corners the subgradient of least norm, which is 0 if the objective rises on both sides.
        """
        return gradient if self._corners is None else self._corners.least(weights, gradient)

    def run(self, iterate: Callable[[], bool], forget: Callable[[], bool]) -> None:
        """Calls `iterate` until a rule stops it; the state is then that of the outcome.

        iterate: makes one iteration and ends with `accept`; False if it finds no better point.   forget: discards what
        was learned on the way, which may be the cause of a failure; False if there was nothing.
        """
        if not np.isfinite(self.value):
            self.reason = "the objective or its gradient is not finite at the start"
            return
        if self.norm == 0.0:
            self.converged, self.reason = True, "the gradient is zero at the start"
            return
        self._descend(iterate, forget)
        while self._goes_on_anew():
            forget()
            self._descend(iterate, forget)

    def _descend(self, iterate: Callable[[], bool], forget: Callable[[], bool]) -> None:
        """`run` until a rule stops it."""
        try:
            if self._goes_on and self.values:
                self._stop_if_converged()
            while self.iterations < self.settings.max_iterations:
                self.is_flat, gradient = False, self.gradient
                if iterate() or self.gradient is not gradient:  # the second: it has become more exact on the way
                    continue
                if self._is_level():
                    self.converged, self.reason = True, "no step changes the objective by more than rounding does"
                    return
                if self.sharpen():
                    continue
                if forget():
                    continue  # once more downhill
                self.stalled, self.reason = True, "no step lowers the objective any further"
                return
            self.reason = f"{self.settings.max_iterations} iterations done"
        except _Stop:
            pass

    def _goes_on_anew(self) -> bool:
        """Whether a search that has ended goes on, as the objective at its end depends on where inference begins.

        Iterative inference may have several fixed points. Evaluations follow the one at the point before, but what the
        outcome says must hold where inference begins from nothing, as in tagging. If it does not, all further ones do.
        """
        if not (self.converged or self.stalled) or not self.objective.begin_inference("once"):
            return False
        followed = self.value
        self.evaluate_again()
        differs = not abs(self.value - followed) <= DIFFERENT * abs(followed)
        is_small = self.norm <= self.settings.tolerance * self.start_norm
        if (self.converged and is_small) or (self.stalled and not differs):
            return False
        self.converged = self.stalled = self.goes_by_slopes = False
        self.values.clear()
        if differs and self.objective.begin_inference("always"):
            self._anew_from = self.iterations
        else:
            self.sharpen()
        return True

    def accept(self, weights: Floats, value: float, gradient: Floats) -> None:
        """After an iteration: remembers the point, reports it, and stops if the rule says so."""
        self.move(weights, value, gradient)
        self.values.append(value)
        if self.objective.is_steep and value < FALL * self._fell_to:
            self.start_norm, self._fell_to = self.norm, value
        stop = self.report(value, self.norm, weights)
        self._stop_if_converged()
        if stop:
            self.reason = "stopped on request"
            raise _Stop

    def _stop_if_converged(self) -> None:
        if self.norm <= self.settings.tolerance * self.start_norm and self._rests():
            if self._is_near():
                self.converged, self.reason = True, "the gradient is below its tolerance"
                raise _Stop
            self._prove()

    def _prove(self) -> None:
        """Goes on at a point where the objective rests, as long as the bound of its distance falls."""
        self.goes_by_slopes = True
        bound = self._gap()
        bound = self.objective.distance(self.steepest(self.weights, self.gradient)) if bound is None else bound
        if bound is not None and (self._least_bound is None or bound < self._least_bound):
            self._least_bound, self._least_at = bound, self.iterations
        elif self.iterations - self._least_at >= PROOF:
            self.stalled, self.reason = True, "the objective is at rest, and the bound of its distance no longer falls"
            raise _Stop

    def _is_level(self) -> bool:
        """Whether a point without a better neighbour is an optimum and not a kink: its gradient is small as well."""
        if self.norm <= self.settings.tolerance * self.start_norm and self._is_near():
            return True
        gap = self._gap()
        if gap is not None and gap <= CERTAIN * abs(self.value):
            return True
        reach = max(1.0, norm_of(self.weights))
        return bool(self.norm * reach <= ROUNDING * abs(self.value))

    def _gap(self) -> float | None:
        """An upper bound of the objective's distance from its least value; None if it is unknown."""
        return self.objective.gap(self.steepest(self.weights, self.gradient))

    def _is_near(self) -> bool:
        """Whether nothing that is known of the distance from the least value speaks against convergence."""
        first = self.values[0] if self.values else self.value
        return is_near_least(self.objective, self.steepest(self.weights, self.gradient), self.value, first)

    def _rests(self) -> bool:
        """Whether the objective has stopped falling; a gradient far below the tolerance is enough by itself."""
        if self.norm <= 0.01 * self.settings.tolerance * self.start_norm:
            return True
        window = WINDOW if self.objective.reference is None else CONTINUED
        fall = self.values[-1 - window] - self.value if len(self.values) > window else np.inf
        return bool(fall <= 0.5 * self.settings.tolerance * abs(self.value) * window / WINDOW)

    def report(self, value: float, norm: float, weights: Floats) -> bool:
        """Counts and reports an iteration; True if it should be the last."""
        self.iterations += 1
        seconds = time.perf_counter() - self.begun
        return self.watch(Iteration(self.iterations, value, norm, seconds), weights)

    def outcome(self) -> Outcome:
        seconds, reason = time.perf_counter() - self.begun, self.reason
        if self._anew_from is not None:
            reason += f"; messages have several fixed points, and since iteration {self._anew_from} all begin anew"
        return Outcome(
            self.weights, self.value, self.iterations, self.evaluations, self.converged, seconds, reason,
            self.stalled, self.norm, self._gap(),
        )  # fmt: skip
