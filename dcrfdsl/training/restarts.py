"""One stage trained from several starts, of which the best outcome is kept.

In a model with a latent variable, weights of 0 are a saddle point: the states of the variable are equal, and the
gradient keeps them so. Before the first training, unless it starts from weights of such a model, the weights that touch
it are thus drawn from N(0, 0.01²), as often as `restarts` says. Runs may go on side by side in processes of ours; which
is the best does not depend on that. Not here: a single run (`stage`), processes (`foundation.process_pools`).
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterator
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..criteria import Criterion
from ..foundation import Floats, Ints, data_error, new_event, processes
from ..inference import RunStatus
from ..model import TrainedModel, unusable_weight
from ..optimizers import Iteration, Outcome, RunState, outcome_from, outcome_state
from .stage import Observers, Stage

LATENT_DEVIATION = 0.01  # of the weights that touch a latent variable at the start
POLL_SECONDS = 0.1  # between two looks at whether training is to stop

Start = tuple[int, Floats]  # the number of a run, from 1, or 0 for a single run; and the weights with which it begins


def best_of_restarts(stage: Stage, objective: Criterion, state: RunState, jobs: int = 1) -> Outcome:
    """The outcome with the best training objective. No run begins after `should_stop` returned True.

    state: it goes on from what this has saved, if anything.   jobs: runs at once. With more than one, a checkpoint has
    the runs that have ended, and iterations are reported when their run has. DcrfError where a process is lost.
    """
    best: Outcome | None = None
    done = 0
    saved = state.take("restarts")
    if saved is not None:
        done, best = saved["done"], saved["best"] and outcome_from(saved["best"], stage.model.num_weights)
    state.keep("restarts", lambda: {"done": done, "best": None if best is None else outcome_state(best)})
    starts, one_by_one = itertools.islice(_starts(stage), done, None), jobs == 1 or stage.settings.restarts < 2
    outcomes = _in_turn(stage, objective, starts, state) if one_by_one else _at_once(stage, objective, starts, jobs)
    for outcome in outcomes:
        done += 1
        if best is None or outcome.objective < best.objective or math.isnan(best.objective):
            best = outcome
        if one_by_one and stage.is_stopped():
            break
        if not one_by_one and stage.observers.after_iteration is not None:
            stage.observers.after_iteration(stage.is_stopped())
    assert best is not None
    return best


def refuse_not_finite(stage: Stage, outcome: Outcome) -> None:
    """DcrfError where training has led out of the numbers, so that no model is made of it."""
    strange = unusable_weight(outcome.weights)
    if strange is None and math.isfinite(outcome.objective):
        return
    what = f"the objective is {outcome.objective}" if strange is None else f"a weight is {strange}"
    message = f"stage `{stage.label}` has no finite outcome: {what} after {outcome.iterations:,} iterations"
    remedy = (
        "take a smaller `rate` or `max_step` where there is one, or another optimizer; divide large numbers in the "
        "data by a power of ten"
    )
    raise data_error("not-finite", message, help=remedy)


def _in_turn(stage: Stage, objective: Criterion, starts: Iterator[Start], state: RunState) -> Iterator[Outcome]:
    for number, weights in starts:
        yield stage.run(objective, weights, state.below("run"), number)


class _Run(NamedTuple):
    """A run that has ended in another process: its outcome, its iterations, and how inference ended in it."""

    outcome: dict[str, Any]
    curve: list[Iteration]
    status: RunStatus


def _at_once(stage: Stage, objective: Criterion, starts: Iterator[Start], jobs: int) -> Iterator[Outcome]:
    """The outcomes in order; once training is to stop, of the runs that have begun, which stop too."""
    jobs = min(jobs, stage.settings.restarts)
    stop, share = new_event(), max(1, stage.problem.workers.threads // jobs)
    alone = replace(stage, observers=Observers(), curve=[])
    try:
        with processes(jobs, _begin, alone, objective, stop, share) as pool:
            running = deque(pool.submit(_run_here, start) for start in itertools.islice(starts, jobs))
            while running:
                while not running[0].done():
                    wait([running[0]], timeout=POLL_SECONDS)
                    if stage.is_stopped():
                        stop.set()
                run = running.popleft().result()
                objective.earlier_status = (objective.earlier_status or RunStatus()) + run.status
                for step in run.curve:
                    stage.report(step)
                    if stage.observers.log is not None:
                        stage.observers.log.iteration(stage.label, step, RunStatus())
                yield outcome_from(run.outcome, len(run.outcome["weights"]))
                if not stop.is_set() and not stage.is_stopped():
                    running.extend(pool.submit(_run_here, start) for start in itertools.islice(starts, 1))
    except BrokenProcessPool:
        message = "a process that trained from one of the starts has died; most often memory ran out"
        raise data_error("lost-restart", message, help="run fewer at once: `--jobs`") from None


_here: tuple[Stage, Criterion, Any] | None = None  # in a process of ours: what its runs need, and what stops them


def _begin(stage: Stage, objective: Criterion, stop: Any, threads: int) -> None:
    """A process of ours begins."""
    global _here
    stage.problem.workers.threads = threads
    if objective.workers is not None:
        objective.workers.threads = threads
    _here = replace(stage, observers=Observers(should_stop=stop.is_set)), objective, stop


def _run_here(start: Start) -> _Run:
    assert _here is not None
    stage, objective, _ = _here
    stage, before = replace(stage, curve=[]), objective.total_status
    number, weights = start
    outcome = stage.run(objective, weights, RunState(), number)
    return _Run(outcome_state(outcome), stage.curve, objective.total_status.since(before))


def _starts(stage: Stage) -> Iterator[Start]:
    """The start of each run."""
    model, settings = stage.model, stage.settings
    latent = _latent_weights(model)
    if latent is None or model.record.stage or model.weights[latent].any():
        yield 0, model.weights
        return
    generator = np.random.default_rng(settings.seed)
    for number in range(settings.restarts):
        weights = model.weights.copy()
        weights[latent] = generator.normal(0.0, LATENT_DEVIATION, len(latent))
        yield number + 1 if settings.restarts > 1 else 0, weights


def _latent_weights(model: TrainedModel) -> Ints | None:
    """The weights of cliques that touch a latent variable; None where no clique does."""
    graph = model.graph
    touching = [
        model.parameters.of_clique(number)
        for number, template in enumerate(graph.templates[: len(model.spec.cliques)])
        if not set(template.variables).isdisjoint(graph.latents)
    ]
    return np.concatenate(touching) if touching else None
