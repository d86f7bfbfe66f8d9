"""Rules on the risks of whole sequences: `train exponential` and `train adaboost`. Not here: `mce` (`loss_rules`)."""

from __future__ import annotations

from collections.abc import Iterator

from ...foundation import Diagnostic
from ..schema import as_call
from ..settings import INFERENCE, AdaboostSettings, ExponentialSettings
from .context import Context, Rule
from .optimizer_rules import StageView, stage_views

EXACT = ("exact", "auto")  # inference methods; whether `auto` chooses `exact` depends on the graph


def all_wrong_labellings(context: Context) -> Iterator[Diagnostic]:
    """Sums over all wrong labellings must be exact, because an approximate log Z may lie below the gold score. So
    training always uses `exact`.
    """
    for stage in stage_views(context):
        if isinstance(stage.settings.criterion, AdaboostSettings | ExponentialSettings):
            yield from takes_exact(context, stage, f"`{stage.criterion}`")


def takes_exact(context: Context, stage: StageView, what: str, otherwise: str = "") -> Iterator[Diagnostic]:
    """A note that a stage trains under `exact` because `what` sums over all wrong labellings.

    `otherwise`: a setting with which it would use the written method.
    """
    written = stage.value("infer")
    call = as_call(context.spec.settled(written)) if written is not None else None
    method = call.name if call is not None else context.spec.infer.name
    at = stage.place("infer") if call is not None else ("infer", "name")
    if method not in INFERENCE or method in EXACT or not INFERENCE[method].gives_log_z:
        return
    message = f"{what} sums over all wrong labellings, so this stage trains under `exact` and not `{method}`"
    remedy = "write `infer = exact` in the stage to say so" + (f", or {otherwise}" if otherwise else "")
    others = [((*stage.path, "name"), "the criterion")]
    yield context.complaint("needs-exact", message, at, "not exact", help=remedy, others=others, severity="note")


def hidden_labels(context: Context) -> Iterator[Diagnostic]:
    """Boosting counts the features of one known labelling."""
    for stage in stage_views(context):
        if not isinstance(stage.settings.criterion, AdaboostSettings):
            continue
        for n, latent in enumerate(context.spec.latents[:1]):
            message = f"`adaboost` needs labels that are all known, and `{latent.name}` is latent"
            remedy = "train by `exponential`, which sums it out"
            there = [(("latents", n, "name"), "declared here")]
            at = (*stage.path, "name")
            yield context.complaint("cannot-sum-out", message, at, "sums nothing out", help=remedy, others=there)


def idle_division(context: Context) -> Iterator[Diagnostic]:
    """`weight = uniform` divides by itself."""
    for stage in stage_views(context):
        criterion, at = stage.settings.criterion, stage.written("divide")
        if isinstance(criterion, AdaboostSettings) and criterion.weight == "uniform" and at is not None:
            message = "`divide` changes nothing without a number as `weight`: `uniform` is divided by itself"
            remedy = "write `weight = 0.5`, for example, or leave out `divide`"
            yield context.complaint("idle-setting", message, at, "no effect", help=remedy, severity="warning")


RULES: tuple[Rule, ...] = (all_wrong_labellings, hidden_labels, idle_division)
