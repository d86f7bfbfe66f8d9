"""Rules on `train mce`: the labels of a loss, and the combinations of its settings; labels that a loss leaves out.

Not here: unknown settings (`setting_rules`), optimizers (`optimizer_rules`), facts that need data or graph
(`criteria.mce`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...foundation import Diagnostic
from ..schema import Apply, CliqueSpec, Path, Reference, as_call, nodes, shift_of_site
from ..settings import (
    INFERENCE,
    LOSSES,
    SMOOTH,
    HmsvmSettings,
    LabelLoss,
    MceSettings,
    MeasureLoss,
    NoPrior,
    SequenceLoss,
)
from .context import Context, Rule, listed
from .optimizer_rules import StageView, stage_views
from .risk_rules import EXACT, takes_exact
from .training_rules import needs_segments, not_measurable


def _mce(context: Context) -> Iterator[tuple[StageView, MceSettings]]:
    for stage in stage_views(context):
        if isinstance(stage.settings.criterion, MceSettings):
            yield stage, stage.settings.criterion


def loss_labels(context: Context) -> Iterator[Diagnostic]:
    """A loss names labels; one that counts segments names labels with segments."""
    for stage, settings in _mce(context):
        at = stage.place("loss")
        if isinstance(settings.loss, LabelLoss | MeasureLoss) and not settings.loss.labels:
            method = settings.loss.method
            known = context.names("label")
            message = f"`{method}` does not say what it measures"
            remedy = f"write `{method}({next(iter(known))})`" if known else None
            yield context.complaint("bad-argument", message, at, "of which label?", help=remedy)
            continue
        yield from _named(context, stage, at)


def _named(context: Context, stage: StageView, path: Path) -> Iterator[Diagnostic]:
    """Each name in the written loss."""
    for setting in stage.stage.criterion.settings:
        if setting.key != ("loss",):
            continue
        for at, node in nodes(setting.value, path):
            if not isinstance(node, Apply) or node.function not in LOSSES:
                continue
            for n, argument in enumerate(node.arguments):
                if not isinstance(argument.value, Reference):
                    continue
                where = (*at, "arguments", n, "value")
                if context.named(argument.value.name, "label") is None:
                    yield from not_measurable(context, node.function, argument.value.name, "label", where)
                elif issubclass(LOSSES[node.function], MeasureLoss):
                    yield from needs_segments(context, argument.value.name, where, node.function)


def together(context: Context) -> Iterator[Diagnostic]:
    """Settings that exclude each other."""
    for stage, settings in _mce(context):
        loss = settings.loss.method
        of_spans = math.isfinite(settings.psi) and not isinstance(settings.loss, SequenceLoss)
        if of_spans and not _is_chain(context):
            message = (
                f"`loss = {loss}` with `psi = {settings.psi:g}` sums over the states of a span, which one label with "
                "cliques of neighbours has"
            )
            remedy = "write `psi = inf`, or `loss = sequence`"
            yield context.complaint("loss-settings", message, stage.place("psi"), "not on this graph", help=remedy)
        if of_spans and settings.normalise:
            message = f"`normalise` is of wrong labellings of a sentence, and `loss = {loss}` compares spans"
            at = stage.place("normalise")
            yield context.complaint("loss-settings", message, at, "not with this loss", help="leave it out")
        if isinstance(settings.loss, MeasureLoss) and settings.smoothing.method != "sigmoid":
            message = f"`{loss}` counts from 0 to 1, and `{settings.smoothing.method}` has no upper end"
            at = stage.place("smoothing")
            yield context.complaint("loss-settings", message, at, "not with this loss", help="write `sigmoid`")
        if stage.written("segments") is not None and not isinstance(settings.loss, MeasureLoss):
            message = f"`segments` says when a segment is right, and `loss = {loss}` counts none"
            remedy = "leave it out, or write `loss = fscore(…)`"
            at = stage.place("segments")
            yield context.complaint("idle-setting", message, at, "no effect", help=remedy, severity="warning")
        if settings.measure == "difference" and not isinstance(settings.loss, SequenceLoss):
            message = f"`measure = difference` is of probabilities of whole sentences, and `{loss}` is not"
            remedy = "write `measure = softmax`, or `loss = sequence`"
            yield context.complaint("loss-settings", message, stage.place("measure"), "not with this loss", help=remedy)
        if math.isfinite(settings.psi):
            yield from takes_exact(context, stage, f"`psi = {settings.psi:g}`", "`psi = inf`")
        elif settings.measure == "difference":
            yield from takes_exact(context, stage, "`measure = difference`", "`measure = softmax`")


def _is_chain(context: Context) -> bool:
    """Whether the specification is one label with cliques of neighbours. Constraints may still join more."""
    spec = context.spec
    if len(spec.labels) != 1 or spec.latents or spec.memories or spec.views:
        return False
    if any(clique.relational or clique.segmental for clique in spec.cliques):
        return False
    shifts = [[shift_of_site(site.place) for site in clique.sites] for clique in spec.cliques]
    return all(max(own) - min(own) <= 1 for own in shifts)


def single_sentences(context: Context) -> Iterator[Diagnostic]:
    """Steps after single sentences need errors that one exact pass counts; elsewhere each step would decode anew."""
    for stage, settings in _mce(context):
        if stage.optimizer not in ("sgd", "gpd"):
            continue
        written = stage.value("infer")
        call = as_call(context.spec.settled(written)) if written is not None else None
        method = call.name if call is not None else context.spec.infer.name
        if math.isfinite(settings.psi) and isinstance(settings.loss, SequenceLoss):
            why, remedy = f"`psi = {settings.psi:g}`", "`psi = inf`"
        elif settings.measure == "difference":
            why, remedy = "`measure = difference`", "`measure = softmax`"
        elif method in INFERENCE and method not in EXACT:
            why, remedy = f"`{method}`", "`infer = exact` in the stage"
        elif isinstance(settings.loss, SequenceLoss) and context.spec.latents:
            why, remedy = "latent variables", "`loss = label(…)`"
        else:
            continue
        message = f"`{stage.optimizer}` takes a step after each sentence, and `mce` with {why} has no such steps"
        remedy = f"write {remedy}, or train by {listed([*SMOOTH, 'quickprop'])}"
        others = [((*stage.path, "name"), "the criterion")]
        yield context.complaint(
            "cannot-train", message, stage.place("optimizer"), "not by this", help=remedy, others=others
        )


def unread_labels(context: Context) -> Iterator[Diagnostic]:
    """A loss that names some labels asks nothing of the gold values of the others."""
    for stage in stage_views(context):
        criterion = stage.settings.criterion
        if not isinstance(criterion, MceSettings | HmsvmSettings):
            continue
        named = getattr(criterion.loss, criterion.loss.names, ()) if criterion.loss.names else ()
        if not named or any(context.named(name, "label") is None for name in named):
            continue
        for label in context.spec.labels:
            if label.name not in named and not _stays(stage, label.name):
                message, remedy = _unread(context, stage, named, label.name)
                at = stage.place("loss")
                yield context.complaint(
                    "unread-label", message, at, "not in this loss", help=remedy, severity="warning"
                )


def _unread(context: Context, stage: StageView, named: tuple[str, ...], label: str) -> tuple[str, str]:
    """What comes of it that a loss of `named` labels leaves a label out, and what to do."""
    criterion = stage.settings.criterion
    if isinstance(criterion, HmsvmSettings):
        remedy = "write `loss = hamming` or `loss = zero_one`, which count every label"
        return f"`loss = {criterion.loss.method}` asks no margin of `{label}`, whose weights may stay 0", remedy
    remedy = f"name it in the loss, as in `label({', '.join([*named, label])})`"
    cliques = [clique for clique in context.spec.cliques if _is_of(clique, label)]
    if any(_is_of(clique, name) for clique in cliques for name in named):
        return f"no loss reads `{label}`: its gold values do not count in this stage", remedy
    if cliques and _follows(stage):
        keeping = [f"prior.{clique.name or 'NAME'} = none" for clique in cliques]
        remedy += f", or keep the weights of its cliques by {listed(dict.fromkeys(keeping))}"
    return f"no loss reads `{label}`: only the prior moves the weights of its cliques, towards 0", remedy


def _follows(stage: StageView) -> bool:
    """Whether it begins with the weights of another stage."""
    stages = stage.context.spec.stages
    return bool(stages) and stages[stage.number].after is not None


def _is_of(clique: CliqueSpec, label: str) -> bool:
    return any(site.variable == label for site in clique.sites)


def _stays(stage: StageView, label: str) -> bool:
    """Whether a later stage of `mce` leaves the weights of a label's cliques as they are: none of them has a prior."""
    if not _follows(stage) or isinstance(stage.settings.criterion, HmsvmSettings):
        return False
    priors, general = stage.settings.clique_priors, stage.settings.prior
    cliques = [clique for clique in stage.context.spec.cliques if _is_of(clique, label)]
    return all(isinstance(priors.get(clique.label, general), NoPrior) for clique in cliques)


RULES: tuple[Rule, ...] = (loss_labels, together, single_sentences, unread_labels)
