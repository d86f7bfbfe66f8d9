"""Rules on `train hmsvm`: the labels of its loss, combinations of settings, cliques that can have a kernel.

Not here: unknown settings (`setting_rules`), facts that need data or graph (`criteria.margin`, `training`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...foundation import Diagnostic
from ..schema import Apply, CliqueSpec, Here, Reference, as_call, nodes
from ..settings import INFERENCE, MARGIN_LOSSES, CostLoss, HmsvmSettings, SegmentsLoss, state_costs
from .checked_stages import running_stages
from .context import Context, Rule
from .optimizer_rules import EXACT, StageView, stage_views
from .training_rules import needs_segments, not_measurable


def _margins(context: Context) -> Iterator[tuple[StageView, HmsvmSettings]]:
    for stage in stage_views(context):
        if isinstance(stage.settings.criterion, HmsvmSettings):
            yield stage, stage.settings.criterion


def loss_labels(context: Context) -> Iterator[Diagnostic]:
    """The losses `hamming`, `cost` and `segments` name labels only; `segments` names some, with segments."""
    for stage, settings in _margins(context):
        if isinstance(settings.loss, SegmentsLoss) and not settings.loss.labels:
            known = context.names("label")
            remedy = f"write `segments({next(iter(known))})`" if known else None
            message = "`segments` does not say what it measures"
            yield context.complaint("bad-argument", message, stage.place("loss"), "of which label?", help=remedy)
            continue
        for setting in stage.stage.criterion.settings:
            if setting.key != ("loss",):
                continue
            for at, node in nodes(setting.value, stage.place("loss")):
                if not isinstance(node, Apply) or node.function not in MARGIN_LOSSES:
                    continue
                for n, argument in enumerate(node.arguments):
                    name = argument.value
                    if not isinstance(name, Reference):
                        continue
                    where = (*at, "arguments", n, "value")
                    if context.named(name.name, "label") is None:
                        yield from not_measurable(context, node.function, name.name, "label", where)
                    elif node.function == SegmentsLoss.method:
                        yield from needs_segments(context, name.name, where, f"loss = {node.function}", "hamming")


def pair_costs(context: Context) -> Iterator[Diagnostic]:
    """The loss `cost` names one label, and pairs of its states."""
    for stage, settings in _margins(context):
        if not isinstance(settings.loss, CostLoss):
            continue
        at = stage.place("loss")
        if len(settings.loss.labels) != 1:
            message = "`cost` takes one label, then texts of a gold state, a predicted state and a number"
            remedy = f'for example `cost({next(iter(context.names("label")), "LABEL")}, "A B 2")`'
            yield context.complaint("bad-argument", message, at, help=remedy)
            continue
        declared = context.states(settings.loss.labels[0])
        found = {state for text in settings.loss.costs for state in text.split()[:2]} - {"*"}
        try:
            state_costs(settings.loss, declared if declared is not None else sorted(found))
        except ValueError as error:
            message = f'`"{error}"` is no pair of states of `{settings.loss.labels[0]}` and what it costs'
            remedy = 'write `"GOLD PREDICTED NUMBER"`, the number from 0 to 1e6, with `*` for any state'
            yield context.complaint("bad-argument", message, at, "in this loss", help=remedy)


def exact_decoding(context: Context) -> Iterator[Diagnostic]:
    """`slack = labelling` lists labellings, and `loss = segments` follows segments, by exact inference."""
    for stage, settings in _margins(context):
        written = stage.value("infer")
        call = as_call(context.spec.settled(written)) if written is not None else context.spec.infer
        if call is None or call.name not in INFERENCE or call.name in EXACT:
            continue
        at = stage.place("infer") if written is not None else ("infer", "name")
        for key, asked, what, remedy in (
            ("slack", settings.slack == "labelling", "`slack = labelling` lists the best labellings",
             "`slack = sequence`"),
            ("loss", isinstance(settings.loss, SegmentsLoss), "`loss = segments` follows segments from end to end",
             "`loss = hamming`"),
        ):  # fmt: skip
            if asked:
                message = f"{what}, which `exact` does and `{call.name}` does not"
                others = [(stage.place(key), "asked for here")]
                yield context.complaint(
                    "needs-exact", message, at, "not exact", help=f"write `infer = exact` in the stage, or {remedy}",
                    others=others,
                )  # fmt: skip


def slacks(context: Context) -> Iterator[Diagnostic]:
    """With `slack = sequence` the settings of the list of labellings are idle."""
    for stage, settings in _margins(context):
        if settings.slack == "sequence":
            for key in ("most", "weight"):
                if stage.written(key) is not None:
                    message = f"`{key}` changes nothing without `slack = labelling`"
                    at = stage.place(key)
                    yield context.complaint("idle-setting", message, at, "no effect", severity="warning")


def kernels(context: Context) -> Iterator[Diagnostic]:
    """A kernel compares positions by the features of a clique of one label there."""
    for stage, _ in _margins(context):
        for name in stage.settings.clique_kernels:
            at = stage.place("kernel", name)
            number, clique = next(
                (c, candidate) for c, candidate in enumerate(context.spec.cliques) if candidate.label == name
            )
            there = [(("cliques", number), "this clique")]
            obstacle = _obstacle(context, clique)
            if obstacle is not None:
                message = f"`{name}` can have no kernel: {obstacle}"
                remedy = "give the kernel to a clique of one label, with features"
                yield context.complaint("cannot-compare", message, at, "no kernel", help=remedy, others=there)


def _obstacle(context: Context, clique: CliqueSpec) -> str | None:
    """Why positions cannot be compared by the features of a clique."""
    if clique.relational or len(clique.sites) != 1:
        return "it is not of one label at one position"
    if context.named(clique.sites[0].variable, "view") is not None:
        return "it is declared by a view"
    if all(
        isinstance(feature, Reference) and feature.name == "bias" and feature.place == Here()
        for feature in clique.features
    ):
        return "it has no features"
    return None


def what_follows(context: Context) -> Iterator[Diagnostic]:
    """An earlier stage has no effect on `hmsvm`, whose dual starts at 0. No stage can continue from the weights of the
    positions of a kernel.
    """
    running = {context.spec.stages[n].label: n for n in running_stages(context) if context.spec.stages}
    compared = {stage.stage.label for stage, _ in _margins(context) if stage.settings.clique_kernels}
    hidden = bool(context.spec.latents) or any(label.missing for label in context.spec.labels)
    for label, number in running.items():
        after = context.spec.stages[number].after
        at = ("stages", number, "after")
        if after in compared:
            message = f"`{label}` cannot begin with the weights of `{after}`, which belong to positions of a kernel"
            remedy = "leave out `after`"
            yield context.complaint("cannot-compare", message, at, "weights of positions", help=remedy)
        elif after is not None and context.spec.stages[number].criterion.name == "hmsvm" and not hidden:
            message = f"`after {after}` changes nothing: `hmsvm` begins at 0, whatever was trained before"
            yield context.complaint("idle-setting", message, at, "no effect", help="leave it out", severity="warning")


RULES: tuple[Rule, ...] = (loss_labels, pair_costs, exact_decoding, slacks, kernels, what_follows)
