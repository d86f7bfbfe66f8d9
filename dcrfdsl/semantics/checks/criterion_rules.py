"""Rules on the settings of single criteria: costs, `mce`, `hmsvm`, `hmm`, `exponential`, `adaboost` and the voted
perceptron.

Not here: unknown settings and optimizers (`setting_rules`), what a hidden Markov model is
(`semantics.conditions.markov_structure`), counting votes (`inference`), facts that need data or graph
(`criteria`, `training`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from ...foundation import DcrfError, Diagnostic
from ...syntax import Apply, CliqueSpec, Here, Reference
from .. import settings
from ..conditions import obstacles
from ..schema import nodes, shift_of_site
from .checked_stages import EXACT, StageView, running_statements, stage_views, stages_of
from .context import LABEL_KINDS, At, Context, Rule, listed
from .training_rules import needs_segments, not_measurable


def mce_labels(context: Context) -> Iterator[Diagnostic]:
    """A loss names labels; one that counts segments names labels with segments."""
    for stage, criterion in stages_of(context, settings.MceSettings):
        at = stage.place("loss")
        if isinstance(criterion.loss, settings.LabelLoss | settings.MeasureLoss) and not criterion.loss.labels:
            method = criterion.loss.method
            known = context.names("label")
            message = f"`{method}` does not say what it measures"
            remedy = f"write `{method}({next(iter(known))})`" if known else None
            yield context.complaint("bad-argument", message, at, "of which label?", remedy)
            continue
        for loss, name, where in _names_in(stage, "loss", settings.LOSSES):
            if context.named(name, "label") is None:
                yield from not_measurable(context, loss, name, "label", where)
            elif issubclass(settings.LOSSES[loss], settings.MeasureLoss):
                yield from needs_segments(context, name, where, loss)


def _names_in(stage: StageView, key: str, losses: Collection[str]) -> Iterator[tuple[str, str, At]]:
    """Each name in the written loss or cost: what it is an argument of, the name and its place."""
    written = stage.written(key)
    for node in nodes(written) if written is not None else ():
        if isinstance(node, Apply) and node.function in losses:
            for argument in node.arguments:
                if isinstance(argument.value, Reference):
                    yield node.function, argument.value.name, argument.value


def mce_settings(context: Context) -> Iterator[Diagnostic]:
    """Settings that exclude each other."""
    for stage, criterion in stages_of(context, settings.MceSettings):
        loss = criterion.loss.method
        of_spans = math.isfinite(criterion.psi) and not isinstance(criterion.loss, settings.SequenceLoss)
        if of_spans and not _is_chain(context):
            message = (
                f"`loss = {loss}` with `psi = {criterion.psi:g}` sums over the states of a span, which one label with "
                "cliques of neighbours has"
            )
            remedy = "write `psi = inf`, or `loss = sequence`"
            yield context.complaint("loss-settings", message, stage.place("psi"), "not on this graph", remedy)
        if of_spans and criterion.normalise:
            message = f"`normalise` is of wrong labellings of a sentence, and `loss = {loss}` compares spans"
            at = stage.place("normalise")
            yield context.complaint("loss-settings", message, at, "not with this loss", "leave it out")
        if isinstance(criterion.loss, settings.MeasureLoss) and criterion.smoothing.method != "sigmoid":
            message = f"`{loss}` counts from 0 to 1, and `{criterion.smoothing.method}` has no upper end"
            at = stage.place("smoothing")
            yield context.complaint("loss-settings", message, at, "not with this loss", "write `sigmoid`")
        if stage.written("segments") is not None and not isinstance(criterion.loss, settings.MeasureLoss):
            message = f"`segments` says when a segment is right, and `loss = {loss}` counts none"
            remedy = "leave it out, or write `loss = fscore(…)`"
            at = stage.place("segments")
            yield context.warning("idle-setting", message, at, "no effect", remedy)
        if criterion.measure == "difference" and not isinstance(criterion.loss, settings.SequenceLoss):
            message = f"`measure = difference` is of probabilities of whole sentences, and `{loss}` is not"
            remedy = "write `measure = softmax`, or `loss = sequence`"
            yield context.complaint("loss-settings", message, stage.place("measure"), "not with this loss", remedy)
        if math.isfinite(criterion.psi):
            yield from takes_exact(context, stage, f"`psi = {criterion.psi:g}`", "`psi = inf`")
        elif criterion.measure == "difference":
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
    for stage, criterion in stages_of(context, settings.MceSettings):
        if stage.optimizer not in ("sgd", "gpd"):
            continue
        method, _ = stage.inference
        if math.isfinite(criterion.psi) and isinstance(criterion.loss, settings.SequenceLoss):
            why, remedy = f"`psi = {criterion.psi:g}`", "`psi = inf`"
        elif criterion.measure == "difference":
            why, remedy = "`measure = difference`", "`measure = softmax`"
        elif method in settings.INFERENCE and method not in EXACT:
            why, remedy = f"`{method}`", "`infer = exact` in the stage"
        elif isinstance(criterion.loss, settings.SequenceLoss) and context.spec.latents:
            why, remedy = "latent variables", "`loss = label(…)`"
        else:
            continue
        message = f"`{stage.optimizer}` takes a step after each sentence, and `mce` with {why} has no such steps"
        remedy = f"write {remedy}, or train by {listed([*settings.SMOOTH, 'quickprop'])}"
        at = stage.place("optimizer")
        yield context.complaint("cannot-train", message, at, "not by this", remedy, stage.of_criterion)


def unread_labels(context: Context) -> Iterator[Diagnostic]:
    """A loss that names some labels asks nothing of the gold values of the others."""
    for stage in stage_views(context):
        criterion = stage.settings.criterion
        if not isinstance(criterion, settings.MceSettings | settings.HmsvmSettings):
            continue
        parts = settings.cost_parts(criterion.loss) or (criterion.loss,)
        each = [getattr(part, "labels", ()) for part in parts]
        named = tuple(name for names in each for name in names)
        if not all(each) or any(context.named(name, "label") is None for name in named):
            continue
        for label in context.spec.labels:
            if label.name not in named and not _stays(stage, label.name):
                message, remedy = _unread(context, stage, named, label.name)
                at = stage.place("loss")
                yield context.warning("unread-label", message, at, "not in this loss", remedy)


def _unread(context: Context, stage: StageView, named: tuple[str, ...], label: str) -> tuple[str, str]:
    """What follows for a label that a loss of `named` labels leaves out, and what to do."""
    criterion = stage.settings.criterion
    if isinstance(criterion, settings.HmsvmSettings):
        remedy = "write `loss = hamming` or `loss = zero_one`, which count every label"
        return f"`loss = {criterion.loss.method}` asks no margin of `{label}`, whose weights may stay 0", remedy
    remedy = f"name it in the loss, as in `label({', '.join([*named, label])})`"
    cliques = [clique for clique in context.spec.cliques if _is_of(clique, label)]
    if any(_is_of(clique, name) for clique in cliques for name in named):
        return f"no loss reads `{label}`: its gold values do not count in this stage", remedy
    if cliques and stage.after is not None:
        keeping = [f"prior.{clique.name or 'NAME'} = none" for clique in cliques]
        remedy += f", or keep the weights of its cliques by {listed(dict.fromkeys(keeping))}"
    return f"no loss reads `{label}`: only the prior moves the weights of its cliques, towards 0", remedy


def _is_of(clique: CliqueSpec, label: str) -> bool:
    return any(site.variable == label for site in clique.sites)


def _stays(stage: StageView, label: str) -> bool:
    """Whether a later stage of `mce` leaves the weights of a label's cliques as they are: none of them has a prior."""
    if stage.after is None or isinstance(stage.settings.criterion, settings.HmsvmSettings):
        return False
    priors, general = stage.settings.clique_priors, stage.settings.prior
    cliques = [clique for clique in stage.context.spec.cliques if _is_of(clique, label)]
    return all(isinstance(priors.get(clique.label, general), settings.NoPrior) for clique in cliques)


# costs of wrong labels, and `hmsvm` -----------------------------------------------------------------------------------


def _costs(context: Context) -> Iterator[tuple[StageView, str, settings.CostSettings]]:
    """The costs of running stages, sums taken apart, and the setting that names them."""
    for stage, margins in stages_of(context, settings.HmsvmSettings):
        yield from ((stage, "loss", part) for part in settings.cost_parts(margins.loss))
    for stage, likelihood in stages_of(context, settings.LikelihoodSettings):
        yield from ((stage, "cost", part) for part in settings.cost_parts(likelihood.cost))


def cost_labels(context: Context) -> Iterator[Diagnostic]:
    """Costs name labels only; `segments` names some, with segments."""
    for stage, key, cost in _costs(context):
        labels: tuple[str, ...] = getattr(cost, "labels", ())
        if isinstance(cost, settings.SegmentsLoss) and not labels:
            known = context.names("label")
            remedy = f"write `segments({next(iter(known))})`" if known else None
            message = "`segments` does not say what it measures"
            yield context.complaint("bad-argument", message, stage.place(key), "of which label?", remedy)
        for name in labels:
            where = next((at for _, one, at in _names_in(stage, key, settings.COSTS) if one == name), stage.place(key))
            if context.named(name, "label") is None:
                yield from not_measurable(context, cost.method, name, "label", where)
            elif isinstance(cost, settings.SegmentsLoss):
                yield from needs_segments(context, name, where, f"{key} = {cost.method}", "hamming({})")


def sums_of_costs(context: Context) -> Iterator[Diagnostic]:
    """A sum has parts."""
    for stage in stage_views(context):
        criterion = stage.settings.criterion
        for key in ("loss", "cost"):
            if isinstance(cost := getattr(criterion, key, None), settings.SumLoss) and not cost.costs:
                known = next(iter(context.names("label")), "LABEL")
                remedy = f"name the costs that it adds, as in `sum(hamming({known}), …)`"
                yield context.complaint("bad-argument", "`sum` adds nothing", stage.place(key), "no costs", remedy)


def pair_costs(context: Context) -> Iterator[Diagnostic]:
    """`cost` names one label, and pairs of its states."""
    for stage, key, cost in _costs(context):
        if not isinstance(cost, settings.CostLoss):
            continue
        at = stage.place(key)
        if len(cost.labels) != 1:
            message = "`cost` takes one label, then texts of a gold state, a predicted state and a number"
            remedy = f'for example `cost({next(iter(context.names("label")), "LABEL")}, "A B 2")`'
            yield context.complaint("bad-argument", message, at, help=remedy)
            continue
        declared = context.states(cost.labels[0])
        found = {state for text in cost.costs for state in text.split()[:2]} - {"*"}
        try:
            settings.state_costs(cost, declared if declared is not None else sorted(found))
        except ValueError as error:
            message = f'`"{error}"` is no pair of states of `{cost.labels[0]}` and what it costs'
            remedy = 'write `"GOLD PREDICTED NUMBER"`, the number from 0 to 1e6, with `*` for any state'
            yield context.complaint("bad-argument", message, at, f"in this {key}", remedy)


def exact_decoding(context: Context) -> Iterator[Diagnostic]:
    """`slack = labelling` lists labellings, and costs of segments follow these, by exact inference. Iterative scaling
    has no scores without weights, as costs are.
    """
    segmental: dict[int, list[str]] = {}  # the settings that cost segments, by stage
    for one, key, cost in _costs(context):
        if isinstance(cost, settings.SegmentsLoss) and key not in segmental.setdefault(id(one), []):
            segmental[id(one)].append(key)
    for stage in stage_views(context):
        criterion = stage.settings.criterion
        method, at = stage.inference
        asked = []
        if isinstance(criterion, settings.HmsvmSettings) and criterion.slack == "labelling":
            asked.append(("slack", "`slack = labelling` lists the best labellings", "`slack = sequence`"))
        for key in segmental.get(id(stage), ()):
            asked.append((key, f"`{key} = segments` follows segments from end to end", f"`{key} = hamming`"))
        for key, what, remedy in asked if method in settings.INFERENCE and method not in EXACT else ():
            message = f"{what}, which `exact` does and `{method}` does not"
            others = [(stage.place(key), "asked for here")]
            remedy = f"write `infer = exact` in the stage, or {remedy}"
            yield context.complaint("needs-exact", message, at, "not exact", remedy, others)
        if stage.optimizer == "iis" and isinstance(criterion, settings.LikelihoodSettings) and criterion.cost:
            message = "`iis` scales features that have weights, and costs are scores without one"
            others = [(stage.place("cost"), "the cost")]
            at = stage.place("optimizer")
            yield context.complaint("cannot-scale", message, at, "not with costs", "train by `lbfgs`", others)


def slacks(context: Context) -> Iterator[Diagnostic]:
    """With `slack = sequence` the criterion of the list of labellings are idle."""
    for stage, criterion in stages_of(context, settings.HmsvmSettings):
        for key in ("most", "weight") if criterion.slack == "sequence" else ():
            at = stage.written(key)
            if at is not None:
                message = f"`{key}` changes nothing without `slack = labelling`"
                yield context.warning("idle-setting", message, at, "no effect")


def kernels(context: Context) -> Iterator[Diagnostic]:
    """A kernel compares positions by the features of a clique of one label there."""
    for stage, _ in stages_of(context, settings.HmsvmSettings):
        for name in stage.settings.clique_kernels:
            at = stage.place("kernel", name)
            clique = next(candidate for candidate in context.spec.cliques if candidate.label == name)
            there = [(clique, "this clique")]
            obstacle = _no_kernel(context, clique)
            if obstacle is not None:
                message = f"`{name}` can have no kernel: {obstacle}"
                remedy = "give the kernel to a clique of one label, with features"
                yield context.complaint("cannot-compare", message, at, "no kernel", remedy, there)


def _no_kernel(context: Context, clique: CliqueSpec) -> str | None:
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
    machines = (stage for stage, _ in stages_of(context, settings.HmsvmSettings))
    compared = {stage.stage.label for stage in machines if stage.settings.clique_kernels}
    hidden = bool(context.spec.latents) or any(label.missing for label in context.spec.labels)
    for stage in running_statements(context):
        after, at = stage.after, stage.place_of("after")
        if after in compared:
            begins = f"`{stage.label}` cannot begin with the weights of `{after}`"
            message = f"{begins}, which belong to positions of a kernel"
            yield context.complaint("cannot-compare", message, at, "weights of positions", "leave out `after`")
        elif after is not None and stage.criterion.name == "hmsvm" and not hidden:
            message = f"`after {after}` changes nothing: `hmsvm` begins at 0, whatever was trained before"
            yield context.warning("idle-setting", message, at, "no effect", "leave it out")


# `hmm` ----------------------------------------------------------------------------------------------------------------


def countable(context: Context) -> Iterator[Diagnostic]:
    """Every clique must be one that `hmm` can count."""
    sites = [site.variable for clique in context.spec.cliques for site in clique.sites]
    if any((entry := context.named(name)) is None or entry.kind not in LABEL_KINDS for name in sites):
        return  # `name_rules` reports it
    for stage, criterion in stages_of(context, settings.HmmSettings):
        for found in obstacles(context.spec, criterion.order):
            others = stage.of_criterion
            yield context.complaint("cannot-count", found.message, found.place, found.words, found.remedy, others)


# `perceptron` ---------------------------------------------------------------------------------------------------------


def voting(context: Context) -> Iterator[Diagnostic]:
    """`vote` keeps all weights, and needs a whole labelling to vote on."""
    for stage, criterion in stages_of(context, settings.PerceptronSettings):
        voters = stage.written("voters")
        if criterion.vote:
            yield from _voted(stage)
        elif voters is not None:
            yield context.warning("idle-setting", "`voters` changes nothing without `vote = yes`", voters, "no effect")


def _voted(stage: StageView) -> Iterator[Diagnostic]:
    context, vote = stage.context, (stage.place("vote"), "all weights are kept here")
    at = stage.written("average")
    if at is not None:
        message = "`average` changes nothing beside `vote = yes`, which keeps all weights, and their mean"
        yield context.warning("idle-setting", message, at, "no effect", "remove one of them", [vote])
    at = stage.written("patience")
    if at is not None:
        message = "`patience` keeps the weights of one iteration, and `vote = yes` those of all"
        yield context.complaint("vote-settings", message, at, "not with `vote`", "set `epochs`", [vote])
    try:
        decode = settings.decoding(context.spec, stage.stage.label)
    except DcrfError:  # `setting_rules` reports it
        return
    if decode != "joint":
        message = f"`vote = yes` is a vote on whole labellings, which `decode {decode}` does not find"
        rule = context.spec.decode
        place = stage.written("decode") or (rule.place_of("name") if rule is not None else None)
        remedy = "write `decode joint`, or `average = yes` in the place of `vote`"
        yield context.complaint("vote-settings", message, place, "not with `vote`", remedy, [vote])


# `exponential` and `adaboost` -----------------------------------------------------------------------------------------


def all_wrong_labellings(context: Context) -> Iterator[Diagnostic]:
    """Sums over all wrong labellings must be exact, because an approximate log Z may lie below the gold score. So
    training always uses `exact`.
    """
    for stage, _ in stages_of(context, settings.AdaboostSettings, settings.ExponentialSettings):
        yield from takes_exact(context, stage, f"`{stage.criterion}`")


def takes_exact(context: Context, stage: StageView, what: str, otherwise: str = "") -> Iterator[Diagnostic]:
    """A note that a stage trains under `exact` because `what` sums over all wrong labellings.

    `otherwise`: a setting with which it would use the written method.
    """
    method, at = stage.inference
    if method not in settings.INFERENCE or method in EXACT or not settings.INFERENCE[method].gives_log_z:
        return
    message = f"{what} sums over all wrong labellings, so this stage trains under `exact` and not `{method}`"
    remedy = "write `infer = exact` in the stage to say so" + (f", or {otherwise}" if otherwise else "")
    yield context.complaint("needs-exact", message, at, "not exact", remedy, stage.of_criterion, "note")


def hidden_labels(context: Context) -> Iterator[Diagnostic]:
    """Boosting counts the features of one known labelling."""
    for stage, _ in stages_of(context, settings.AdaboostSettings):
        for latent in context.spec.latents[:1]:
            message = f"`adaboost` needs labels that are all known, and `{latent.name}` is latent"
            remedy = "train by `exponential`, which sums it out"
            there = [(latent.place_of("name"), "declared here")]
            yield context.complaint("cannot-sum-out", message, stage.name, "sums nothing out", remedy, there)


def idle_division(context: Context) -> Iterator[Diagnostic]:
    """`weight = uniform` divides among the wrong labellings already, so `divide` adds nothing."""
    for stage, criterion in stages_of(context, settings.AdaboostSettings):
        at = stage.written("divide")
        if criterion.weight == "uniform" and at is not None:
            message = "`divide` changes nothing without a number as `weight`: `uniform` is divided by itself"
            remedy = "write `weight = 0.5`, for example, or leave out `divide`"
            yield context.warning("idle-setting", message, at, "no effect", remedy)


RULES: tuple[Rule, ...] = (mce_labels, mce_settings, single_sentences, unread_labels)


MARGIN_RULES: tuple[Rule, ...] = (
    cost_labels, sums_of_costs, pair_costs, exact_decoding, slacks, kernels, what_follows, countable,
)  # fmt: skip


RISK_RULES: tuple[Rule, ...] = (voting, all_wrong_labellings, hidden_labels, idle_division)
