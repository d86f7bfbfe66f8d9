"""How many sweeps messages need in training, learned on the first sentences before `auto` chooses.

The likelihood of these sentences is minimised for a few iterations by `trp`, and the sweeps of all runs are counted.
They depend on the data and the template alone, so that `auto` chooses the same in every run. Not here: the choice
(`inference.methods`), rates (`graph.model_cost`).
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from .. import graph as graphs
from ..inference import METHODS, BoundData, Workers, elimination_costs, exact_pays_on
from ..optimizers import OPTIMIZERS, RunState
from ..semantics import AutoSettings, LbfgsSettings, inference_settings, is_implied, stage_chain, stage_settings
from .likelihood import Likelihood, known_counts
from .penalties import Penalty
from .training_problem import TrainingProblem

TOKENS = 500  # of the sentences, about …
SENTENCES = 5  # … but at least this many
ITERATIONS = 25
FEWEST = 1.5  # sweeps: `auto` chooses without a trial if exact inference pays beside so few, …
TRIED = 100  # … and a run of the trial ends after so many
PRECISION = 0.01  # of the prior in the trial
LATER = 0.65  # of the sweeps that a run takes in a whole training: later steps are smaller, and messages begin nearer


def with_learned_sweeps(problem: TrainingProblem, stage: str | None) -> TrainingProblem:
    """The problem, whose graph says how many sweeps a run by messages takes if the choice of `auto` depends on it.

    They are counted on the first sentences with tokens whose labels are all known.

    A run that does not converge takes all iterations that the settings allow. Single ones are of long first steps, so
    they count by their share. Where the steps themselves fail, all do.   stage: the last one.
    """
    spec, graph = problem.spec, problem.graph
    asked = [inference_settings(spec), *(stage_settings(spec, one.label).infer for one in stage_chain(spec, stage))]
    settings = next((one for one in asked if isinstance(one, AutoSettings)), None)
    if settings is None or any(map(is_implied, graph.variables)):  # those are exact in any case
        return problem
    lengths = np.diff(problem.sentence_off)
    known = np.flatnonzero(problem.gold.complete_sentences(problem.sentence_off) & (lengths > 0))
    numbers = known[: max(SENTENCES, int(np.searchsorted(np.cumsum(lengths[known]), TOKENS)) + 1)]
    data = problem.bind_plain(programs=False)
    sample, chosen = data.only(numbers), np.zeros(data.num_sequences)
    if not _is_open(sample, settings):
        return problem
    chosen[numbers] = 1.0
    trial = settings.model_copy(update={"max_iterations": min(TRIED, settings.max_iterations)})
    start, counts = np.zeros(problem.parameters.num_weights), known_counts(problem, data, chosen)
    method, steps = METHODS["trp"].build(sample, trial), LbfgsSettings(max_iterations=ITERATIONS)
    objective = Likelihood(sample, method, counts, Penalty(start + PRECISION), Workers(1))
    outcome, status = OPTIMIZERS["lbfgs"](objective, start, steps, lambda *_: False, RunState()), objective.total_status
    failed = 1.0 if outcome.stalled else status.not_converged / status.graphs
    sweeps = LATER * status.sweeps / status.graphs + failed * failed * settings.max_iterations
    graph = copy(graph)  # with the costs that it has computed
    graph.sweeps = round(sweeps, 1)
    return replace(problem, graph=graph)


def _is_open(sample: BoundData, settings: AutoSettings) -> bool:
    """Whether the number of sweeps decides by what some graph is inferred."""
    graph, largest = sample.graph, settings.max_table
    costs = [(sample.bank.shapes[g], cost) for g, _, cost in elimination_costs(sample)] if graph.relational else []

    def pays(sweeps: float) -> list[bool]:
        messages = graphs.message_cost(graph)._replace(sweeps=sweeps)
        whole = graphs.exact_pays(graph.exact_cost, largest, messages)
        return [exact_pays_on(shape, cost, largest, sweeps) for shape, cost in costs] if graph.relational else [whole]

    return sample.num_sequences > 0 and pays(FEWEST) != pays(settings.max_iterations)
