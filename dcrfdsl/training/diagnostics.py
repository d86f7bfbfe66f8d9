"""What a user should know about a training that has ended, in words. Not here: what is done about it."""

from __future__ import annotations

from collections.abc import Sequence

from ..criteria import Criterion, Hmsvm
from ..data import Corpus
from ..optimizers import Outcome
from ..semantics import AutoSettings, ModelSpec, TrainSettings, inference_settings

__all__ = ["exact_instead", "idle_patience", "notes_on"]


def idle_patience(settings: TrainSettings, dev: Corpus | None) -> Sequence[str]:
    idle = settings.patience is not None and dev is None
    return ["`patience` changes nothing without held-out data, which `--dev` gives"] if idle else []


def exact_instead(spec: ModelSpec, settings: TrainSettings, objective: Criterion) -> Sequence[str]:
    """That a stage trained under `exact`, where it was to go by another method."""
    asked, name = settings.infer or inference_settings(spec), settings.criterion.method
    if objective.words != "exact" or isinstance(asked, AutoSettings) or asked.method == "exact":
        return []
    return [f"`{name}` sums over all wrong labellings here, so it trained under `exact` and not `{asked.method}`"]


def notes_on(objective: Criterion, outcome: Outcome) -> Sequence[str]:
    """What a user should know about inference during training, said once with its numbers."""
    status, notes = objective.total_status, []
    method = objective.words
    if objective.tightened is not None:
        method, begun, ended = objective.tightened
        notes.append(
            f"the tolerance of `{method}` was tightened from {begun:g} to {ended:g} during training, "
            "since the objective was not exact enough for the line search"
        )
    if outcome.stalled and status.approximate:
        notes.append(
            f"training ended where no better point could be found; `{method}` may have several fixed points here, and "
            "its objective then jumps. Try `infer exact` if `check` says that it fits, or a prior with less variance"
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
    if isinstance(objective, Hmsvm):
        notes.extend(objective.remarks)
    return notes
