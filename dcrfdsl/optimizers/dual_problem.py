"""The parts that methods on the dual of a margin problem share: the current cuts, their weights, and the gap.

    primal  P(w) = ½ ‖w‖² + Σ_i U_i max(0, max_n ℓ_n − ⟨w, d_n⟩)        dual  D(α) = Σ_n α_n ℓ_n − ½ ‖w‖²
    gap     P − D = Σ_i [U_i max(0, max_n slope_n) − Σ_n α_n slope_n],    slope_n = ℓ_n − ⟨w, d_n⟩

over all labellings, of which the objective finds the one with the largest slope. Each pass searches for cuts in runs of
sequences, each run at the weights after the steps on earlier runs. So the gap of a pass is an estimate, except for a
pass that takes its steps at the end; only such a pass ends training. Converged: the gap of such a pass is at most the
tolerance times the primal, and the best values of unknown labels are those that the problem was solved for. Not here:
steps (`working_set`, `bcfw`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..foundation import Floats, check_offsets, check_within, recalled
from ..kernels.optimization import Cuts, combine_cuts, empty_cuts, is_repeated, join_cuts, primal_and_gap
from .objective import Iteration, MarginProblem, Outcome, Watch
from .run_state import NotNow, RunState

ROUNDS = 20  # the most completions of unknown labels

Step = Callable[["Dual", Cuts, int, int], None]


class Measured(NamedTuple):
    """The primal and the duality gap, of a pass or of a run of sequences (then the primal is without ½ ‖w‖²)."""

    primal: float
    gap: float


AfterPass = Callable[["Dual", Measured], None]


class Dual:
    """Cuts with their multipliers α. `scores`: the weights w [W]; `point` describes the difference between the two."""

    def __init__(self, objective: MarginProblem):
        self.objective = objective
        self.forget()

    @property
    def point(self) -> Floats:
        """Σ α d [W]: w itself; for cliques with an observation kernel their dual coefficients."""
        return self.combined(self.cuts.alpha)

    def combined(self, alpha: Floats) -> Floats:
        """Σ α d [W] for other multipliers [cuts]."""
        point: Floats = combine_cuts(self.cuts, alpha, np.zeros(self.objective.num_weights))
        return point

    def forget(self) -> None:
        """Restarts at 0."""
        self.cuts = empty_cuts(len(self.objective.limit))
        self.scores = np.zeros(self.objective.num_weights)

    def find_cuts(self, first: int, last: int) -> tuple[Cuts, Measured]:
        """The cuts of a run together with new ones, and its part of the primal, without ½ ‖w‖², and of the gap."""
        objective = self.objective
        old, new = slice_cuts(self.cuts, first, last), objective.find_cuts(self.scores, first, last)
        joined: Cuts = join_cuts(old, np.ones(len(old.loss), np.bool_), new, ~is_repeated(old, new))
        loss, gap = primal_and_gap(joined, objective.limit[first:last], objective.each_counts, self.scores)
        return joined, Measured(loss, max(gap, 0.0))  # below 0 by rounding alone

    def measure(self) -> Measured:
        """Primal and gap at the current weights; no steps."""
        parts = [self.find_cuts(first, last)[1] for first, last in self.objective.runs]
        return Measured(self.half_norm() + sum(one.primal for one in parts), sum(one.gap for one in parts))

    def half_norm(self) -> float:
        return 0.5 * float(self.point @ self.scores)

    def one_pass(self, order: Sequence[int], step: Step, at_the_end: bool) -> Measured:
        """Searches all runs for cuts and takes steps, after each run or all at the end."""
        runs, parts = self.objective.runs, {}
        half_norm = self.half_norm()
        loss, gap = 0.0, 0.0
        for number in order:
            first, last = runs[number]
            parts[number], measured = self.find_cuts(first, last)
            loss, gap = loss + measured.primal, gap + measured.gap
            if not at_the_end:
                step(self, parts[number], first, last)
        for number in order if at_the_end else ():
            step(self, parts[number], *runs[number])
        self.cuts = concatenate_cuts([parts[n] for n in range(len(runs))])
        return Measured(half_norm + loss, gap)


def slice_cuts(cuts: Cuts, first: int, last: int) -> Cuts:
    """The cuts of blocks `first` to `last` - 1."""
    a, b = int(cuts.block_off[first]), int(cuts.block_off[last])
    begin, end = int(cuts.off[a]), int(cuts.off[b])
    started, ended = int(cuts.other_off[a]), int(cuts.other_off[b])
    return Cuts(
        cuts.block_off[first : last + 1] - a, cuts.off[a : b + 1] - begin, cuts.weight[begin:end],
        cuts.value[begin:end], cuts.other_off[a : b + 1] - started, cuts.other[started:ended], cuts.loss[a:b],
        cuts.norm[a:b], cuts.alpha[a:b],
    )  # fmt: skip


def concatenate_cuts(parts: Sequence[Cuts]) -> Cuts:
    """The cuts of consecutive blocks."""

    def joined(name: str) -> Any:
        if not name.endswith("off"):
            return np.concatenate([getattr(part, name) for part in parts])
        ends = np.cumsum([0, *(int(getattr(part, name)[-1]) for part in parts)])
        shifted = [getattr(part, name)[1:] + end for part, end in zip(parts, ends, strict=False)]
        return np.concatenate([np.zeros(1, np.int64), *shifted])

    return Cuts(*map(joined, Cuts._fields))


def _recalled_cuts(saved: Sequence[Any], blocks: int, num_weights: int) -> Cuts:
    """The cuts of a checkpoint. `IncompatibleState` if they do not fit together, or not this problem."""
    named = dict(zip(Cuts._fields, saved, strict=True))
    count, entries, others = (named[name].size for name in ("loss", "weight", "other"))
    cuts = Cuts(
        recalled(named, "block_off", blocks + 1, dtype=np.int64), recalled(named, "off", count + 1, dtype=np.int64),
        recalled(named, "weight", entries, dtype=np.int32), recalled(named, "value", entries),
        recalled(named, "other_off", count + 1, dtype=np.int64), recalled(named, "other", others, dtype=np.int64),
        *(recalled(named, name, count) for name in ("loss", "norm", "alpha")),
    )  # fmt: skip
    check_offsets(cuts.block_off, count, "block_off")
    check_offsets(cuts.off, entries, "off")
    check_offsets(cuts.other_off, others, "other_off")
    check_within(cuts.weight, 0, num_weights, "weight")
    return cuts


def run_passes(
    objective: MarginProblem,
    start: Floats,
    max_iterations: int,
    watch: Watch,
    state: RunState,
    step: Step,
    after_pass: AfterPass,
    order_of: Callable[[], Sequence[int]] | None = None,
) -> tuple[Dual, Outcome]:
    """Passes until the gap is below the objective's tolerance, relative to the primal, or `watch` stops them.

    start [W]: completes unknown labels and has no other use: the dual begins at 0. Labels are completed again at the
    weights of the solution, and the dual restarts, until the labels stay the same.   after_pass: is called with the
    result of a pass before it is reported.   order_of: the order in which a pass visits the runs.
    """
    begun = time.perf_counter()
    dual, passes, rounds, completed = Dual(objective), 0, 1, start
    count, measured, reason = len(objective.runs), Measured(np.inf, np.inf), ""
    is_close = at_the_end = is_below = False
    saved = state.take("dual")
    if saved is not None:
        dual.cuts = _recalled_cuts(saved["cuts"], len(objective.limit), objective.num_weights)
        dual.scores, completed = recalled(saved, "scores", objective.num_weights), saved["completed"]
        completed = recalled(saved, "completed", len(start) if np.size(completed) == len(start) else len(dual.scores))
        passes, rounds = saved["passes"], saved["rounds"]
        is_close, begun = saved["is_close"], begun - saved["seconds"]
    objective.complete(completed)

    def remember() -> dict[str, Any]:
        if at_the_end and is_below:
            raise NotNow  # training ends here, or begins again with other labels
        return {
            "cuts": list(dual.cuts), "scores": dual.scores, "passes": passes, "rounds": rounds, "completed": completed,
            "is_close": is_below and not at_the_end, "seconds": time.perf_counter() - begun,
        }  # fmt: skip

    state.keep("dual", remember)
    while passes < max_iterations:
        at_the_end = is_close or count == 1
        order = order_of() if order_of is not None else range(count)
        point = dual.point if at_the_end else None
        measured = dual.one_pass(order, step, at_the_end)
        is_below = np.isfinite(measured.gap) and measured.gap <= objective.tolerance * measured.primal
        passes += 1
        if not (at_the_end and is_below):
            after_pass(dual, measured)
        now = dual.point if point is None or not is_below else point
        seconds = time.perf_counter() - begun
        stop = watch(Iteration(passes, measured.primal, None, seconds, gap=measured.gap), now)
        if at_the_end and is_below:
            changes = objective.complete(now)
            if changes and rounds < ROUNDS and not stop:
                rounds, completed = rounds + 1, now
                dual.forget()
                is_close = False
                continue
            seconds = time.perf_counter() - begun
            reason = f"the duality gap is below its tolerance ({measured.gap:.2g} of {measured.primal:.6g})"
            if changes:
                why = "stopped on request" if stop else f"{ROUNDS} rounds done"
                reason = f"{why}; {reason}, but the best labels for what is not known are others now"
            return dual, Outcome(now, measured.primal, passes, passes, not changes, seconds, reason, gap=measured.gap)
        if stop:
            reason = "stopped on request"
            break
        if not np.isfinite(measured.primal):
            reason = "the objective is not finite"
            break
        is_close = is_below and not at_the_end
    reason = reason or f"{passes} passes done"
    point = dual.point
    measured = dual.measure()
    seconds = time.perf_counter() - begun
    return dual, Outcome(point, measured.primal, passes, passes + 1, False, seconds, reason, gap=measured.gap)
