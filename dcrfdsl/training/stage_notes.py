"""Messages to the user about a stage that has ended. Not here: where they are stored (`model.record`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..criteria import Criterion, weights_by_template
from ..foundation import figure
from ..inference import estimate_words
from ..optimizers import Outcome, ignores_start
from ..semantics import AutoSettings, GroupLassoPrior, inference_settings
from .stage import Stage

NAMED = 8  # templates that a message names
WORSE = 1e-4  # rise of a loss, relative: less is how near to the optimum an optimizer gets
OUTWEIGHED = 0.01  # the same where a prior asks for it: less is what any prior does to what began with a weaker one


def diagnostics_of(stage: Stage, objective: Criterion, outcome: Outcome) -> list[str]:
    """The messages about a stage, a sentence or two each."""
    notes = _of_inference(objective, outcome)
    if stage.settings.patience is not None and stage.dev is None:
        notes.append("`patience` changes nothing without held-out data, which `--dev` gives")
    asked, name = stage.settings.infer or inference_settings(stage.model.spec), stage.settings.criterion.method
    trained_under = objective.inference_description
    if trained_under == "exact" and not isinstance(asked, AutoSettings) and asked.method != "exact":
        notes.append(
            f"`{name}` sums over all wrong labellings here, so it trained under `exact` and not `{asked.method}`"
        )
    notes += [*_of_groups(stage, outcome), *_worse_than_before(stage, objective, outcome)]
    if stage.problem.graph.sweeps and isinstance(asked, AutoSettings) and trained_under.startswith(("exact", "trp")):
        tagging = stage.model.structure.method[0].replace("automaton", "exact")
        alike = "tags so too" if tagging in (trained_under, "auto") else f"tags by `{tagging}`"
        notes.append(f"note: trained under {trained_under}, and {alike}{estimate_words(stage.problem.graph)}")
    return [*notes, *objective.notes_at(outcome.weights)]


def _worse_than_before(stage: Stage, objective: Criterion, outcome: Outcome) -> Iterator[str]:
    """Messages that a stage has ended with a worse loss, or a worse held-out score, than that of the weights with which
    it began. Those of an earlier stage or model alone: all weights at 0 are no model.
    """
    begun = stage.model.weights
    if not begun.any() or ignores_start(objective, stage.settings.optimizer):
        return
    if "gradient" in stage.settings.criterion.offers:
        point = objective.start(begun)
        before, after = objective.value_and_gradient(point)[0], outcome.objective
        forces = (0.0, 0.0)
        if objective.penalty is not None:
            forces = objective.penalty.value(point), objective.penalty.value(outcome.weights)
            before, after = before - forces[0], after - forces[1]
        outweighed = forces[1] < forces[0]
        if after - before > (OUTWEIGHED if outweighed else WORSE) * abs(before):
            why = "the optimizer found no better point"
            if outweighed:
                why = (
                    f"the prior outweighs it, and its penalty fell from {figure(forces[0])} to {figure(forces[1])}; a "
                    "weaker prior keeps the loss"
                )
            yield (
                f"stage `{stage.label}` ends with a worse loss than it began with: {figure(after)} after "
                f"{figure(before)}, since {why}"
            )
    if stage.dev is not None:
        score = stage.model.scores.evaluator(stage.dev, stage.problem.workers, stage.settings.decode, stage.label)
        earlier, later = score(begun, stage.model.voters), score(outcome.weights, outcome.voters)
        if later < earlier:
            yield (
                f"stage `{stage.label}` ends with a worse held-out score than it began with: {later:.4f} after "
                f"{earlier:.4f}; `patience` keeps the best weights on the way, or leave the stage out"
            )


def _of_groups(stage: Stage, outcome: Outcome) -> Sequence[str]:
    """The message on what a prior on groups of weights has left, and on templates that are 0 as a whole."""
    priors = (stage.settings.prior, *stage.settings.clique_priors.values())
    problem = stage.problem
    if problem.extractor is None or not any(isinstance(prior, GroupLassoPrior) for prior in priors):
        return []
    groups = problem.penalty(stage.settings).groups
    templates = weights_by_template(problem.graph, problem.parameters, problem.extractor, outcome.weights)
    empty = [f"`{one.template}` of `{one.clique}`" for one in templates if not one.used]
    left = 0 if groups is None else int(np.count_nonzero(groups.norms(outcome.weights)))
    total = 0 if groups is None else len(groups.strength)
    note = f"note: `group_lasso` left {left:,} of {total:,} groups of weights"
    if not empty:
        return [f"{note}; no template is 0 as a whole"]
    more = f" and {len(empty) - NAMED:,} more" if len(empty) > NAMED else ""
    return [f"{note}; 0 as a whole: {', '.join(empty[:NAMED])}{more}"]


def _of_inference(objective: Criterion, outcome: Outcome) -> list[str]:
    """Messages about inference, with numbers summed over the whole training."""
    status, notes = objective.status_so_far, []
    method = objective.inference_description
    if objective.tightened is not None:
        initial, final = objective.tightened
        notes.append(
            f"the tolerance of `{method}` was tightened from {initial:g} to {final:g} during training, "
            "since the objective was not exact enough for the search"
        )
    if outcome.stalled and status.approximate:
        notes.append(
            f"training ended where no better point could be found; `{method}` may have several fixed points here, and "
            "its objective then jumps. Try `infer exact` if `check` says that it fits, a prior with less variance, or "
            "`infer trw`, whose objective is convex"
        )
    if status.damped:
        notes.append(
            f"the messages of `{method}` oscillated on {status.damped:,} of {status.graphs:,} graphs over all "
            "evaluations and were damped there; `damping = 0.5` does so from the start and may take less time"
        )
    if status.not_converged:
        share = 100.0 * status.not_converged / status.graphs
        notes.append(
            f"`{method}` did not converge on {status.not_converged:,} of {status.graphs:,} graphs ({share:.2g} %) "
            f"over all evaluations; the largest change left was {status.residual:.2g}. "
            "Try `damping = 0.5`, more `max_iterations`, or `infer exact` if `check` says that it fits"
        )
    if status.redone:
        notes.append(f"{status.redone:,} of {status.graphs:,} graphs were computed in log space (extreme potentials)")
    return [*notes, *objective.remarks]
