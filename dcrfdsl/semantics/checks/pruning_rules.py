"""Rules on `infer pruned`: a chain of one label, trained by its likelihood, and the stage or view that `by` names.

Not here: what the states of the label decide, and constraints (`inference.bound.lattice_tables`), the marginals that
prune (`inference.stage_guides`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from ...foundation import DcrfError, Diagnostic, did_you_mean, spelling_remedy
from ...syntax import Apply, CallSpec, CliqueSpec, Value
from ..schema import shift_of_site
from ..settings import DEFAULT_STAGE, InduceSettings, PrunedSettings, inference_settings, stage_chain
from .checked_stages import StageView, stage_views
from .context import At, Context, Rule, a, listed

MOST_POSITIONS = 4  # that a clique spans


def pruned_chain(context: Context) -> Iterator[Diagnostic]:
    """Where `pruned` runs, there is one label, and each clique lies on at most four neighbours of it."""
    places = list(_pruned_places(context))
    if not places:
        return
    place, remedy = places[0]
    others = [(place, "the method")]
    for variable in context.spec.variables[1:]:
        message = f"`pruned` needs a chain of one label, and `{variable.name}` is another variable of each position"
        yield context.complaint("cannot-prune", message, variable, "another variable", remedy, others)
    for clique in context.spec.cliques:
        found = _obstacle(clique)
        if found is not None:
            at, words, what = found
            message = f"`pruned` needs a chain of one label, and clique `{clique.label}` {what}"
            yield context.complaint("cannot-prune", message, at, words, remedy, others)


def _pruned_places(context: Context) -> Iterator[tuple[At, str]]:
    """Where `pruned` is written, and what to write in its place."""
    with suppress(DcrfError):  # `setting_rules` reports it
        if isinstance(inference_settings(context.spec), PrunedSettings):
            yield context.spec.infer.place_of("name"), "write `infer auto`"
    for stage in stage_views(context):
        if isinstance(stage.settings.infer, PrunedSettings):
            yield stage.place("infer"), "write `infer = auto`"


def _obstacle(clique: CliqueSpec) -> tuple[At, str, str] | None:
    """What lattices cannot hold in a clique, a word on it, and the words of the message."""
    if clique.relational:
        return clique, "joins positions", "joins positions by a condition"
    shifts = [shift_of_site(site.place) for site in clique.sites]
    if clique.edges == "pad":
        return clique, "padded", "has `edges = pad`"
    if max(shifts) - min(shifts) >= MOST_POSITIONS:
        return clique, "too long", f"spans {max(shifts) - min(shifts) + 1} positions, more than {MOST_POSITIONS}"
    if not min(shifts) <= 0 <= max(shifts) or (len(shifts) == 1 and shifts[0]):
        return clique, "away from its anchor", "does not reach its own position"
    if len(shifts) > 1:
        for feature in clique.features:
            if not (isinstance(feature, Apply) and feature.function == "bias"):
                return feature, "a feature", "has features on several labels"
    return None


def pruned_criterion(context: Context) -> Iterator[Diagnostic]:
    """Early updates are those of the likelihood."""
    for stage in stage_views(context):
        with suppress(DcrfError):
            asked = stage.settings.infer or inference_settings(context.spec)
            if not isinstance(asked, PrunedSettings) or trains_its_guide(context, stage, asked):
                continue  # `guide_order` reports the latter
            if stage.criterion != "likelihood":
                message = f"`pruned` trains `likelihood`, not `{stage.criterion}`"
                remedy = "write `infer = exact` in the stage"
                yield context.complaint("cannot-prune", message, stage.name, "not with this", remedy)


# what prunes ----------------------------------------------------------------------------------------------------------


SLUG = "cannot-guide"


class _Use(NamedTuple):
    """Where `by` is written. stage: whose inference it is; None for the `infer` statement."""

    settings: PrunedSettings
    place: At
    stage: StageView | None

    @property
    def by(self) -> str:
        assert self.settings.by is not None
        return self.settings.by


def _uses(context: Context) -> Iterator[_Use]:
    with suppress(DcrfError):  # `setting_rules` reports it
        settings = inference_settings(context.spec)
        if isinstance(settings, PrunedSettings) and settings.by is not None:
            infer = context.spec.infer
            yield _Use(settings, _value_of_by(infer) or infer.place_of("name"), None)
    for stage in stage_views(context):
        own = stage.settings.infer
        if isinstance(own, PrunedSettings) and own.by is not None:
            yield _Use(own, _value_of_by(stage.written("infer")) or stage.place("infer"), stage)


def _value_of_by(call: CallSpec | Value | None) -> Value | None:
    values = [one.value for one in call.arguments if one.name == "by"] if isinstance(call, CallSpec | Apply) else []
    if isinstance(call, CallSpec):
        values += [one.value for one in call.settings if one.key == ("by",)]
    return next(iter(values), None)


def _stages(context: Context) -> list[str]:
    return [stage.label for stage in context.spec.stages or (DEFAULT_STAGE,)]


def _chain(context: Context, stage: str) -> list[str]:
    """The stages that run for `stage`, itself last; it alone where the chain is in disorder."""
    with suppress(DcrfError):
        return [entry.label for entry in stage_chain(context.spec, stage)]
    return [stage]


def trains_its_guide(context: Context, stage: StageView, settings: PrunedSettings) -> bool:
    """Whether a stage would be pruned by one that is trained no earlier than it: by itself, or by what follows."""
    by = settings.by
    views = context.names("view")
    return by is not None and by not in views and by in _stages(context) and stage.stage.label in _chain(context, by)


def guide_names(context: Context) -> Iterator[Diagnostic]:
    """`by` names a stage or a view, and not both."""
    stages, views = _stages(context), context.names("view")
    for use in _uses(context):
        if use.by in stages and use.by in views:
            message = f"`by = {use.by}` may mean the training stage or the view of that name"
            view = context.named(use.by, "view")
            others = [] if view is None else [(view.place, "the view")]
            yield context.complaint(SLUG, message, use.place, "which one?", "rename one of them", others)
        elif use.by not in stages and use.by not in views and not context.may_be_lost(use.by):
            yield _unknown(context, use, [*stages, *views])


def _unknown(context: Context, use: _Use, known: list[str]) -> Diagnostic:
    other = context.named(use.by)
    if other is not None:
        message = f"`by` takes a training stage or a view, and `{use.by}` is {a(other.kind)}"
        remedy = "name a stage, as in `train likelihood as coarse`, or a view of the label"
        return context.complaint(SLUG, message, use.place, "neither", remedy, [(other.place, "declared here")])
    remedy = spelling_remedy(did_you_mean(use.by, known), f"known are {listed(known)}")
    message = f"there is no training stage or view `{use.by}` to prune by"
    return context.complaint(SLUG, message, use.place, "unknown", remedy)


def guide_order(context: Context) -> Iterator[Diagnostic]:
    """The stage that prunes is trained before the ones that it prunes, and before tagging."""
    running = list(stage_views(context))
    labels = [view.stage.label for view in running]
    for use in _uses(context):
        if use.by not in _stages(context) or use.by in context.names("view"):
            continue
        governed = [use.stage] if use.stage is not None else [view for view in running if view.settings.infer is None]
        for view in governed:
            label = view.stage.label
            if trains_its_guide(context, view, use.settings):
                what = "its own marginals" if label == use.by else f"`{use.by}`, which is trained after it"
                message = f"the stage `{label}` would be pruned by {what}"
                remedy = f"write `infer = exact` in the stage `{label}`"
                others = [] if use.stage is not None else [(use.place, "prunes every stage without `infer`")]
                place = use.place if use.stage is not None else view.name
                yield context.complaint(SLUG, message, place, "trains too early", remedy, others)
            elif use.by not in labels:
                yield _not_before(context, use, f"`{label}`", view)
        if not governed and use.by not in labels and not set(labels) & set(_chain(context, use.by)):
            yield _not_before(context, use, "tagging", None)
        yield from _grown(context, use, running)


def _not_before(context: Context, use: _Use, what: str, view: StageView | None) -> Diagnostic:
    message = f"the stage `{use.by}` prunes, and does not run before {what}"
    number = context.spec.stage_numbers.get(use.by)
    others = [] if number is None else [(context.spec.stages[number].place_of("name"), "this stage")]
    last = view.stage.label if view is not None else _stages(context)[-1]
    remedy = f"write `after {use.by}` in the statement of `{last}`"
    return context.complaint(SLUG, message, use.place, "not trained by then", remedy, others)


def _grown(context: Context, use: _Use, running: list[StageView]) -> Iterator[Diagnostic]:
    """A stage that changes which weights there are, from the one that prunes on."""
    labels = [view.stage.label for view in running]
    if use.by not in labels:
        return
    for view in running[labels.index(use.by) :]:
        grows = isinstance(view.settings.criterion, InduceSettings) and view.stage.label != use.by
        if grows or view.settings.clique_kernels:
            message = f"the stage `{view.stage.label}` changes the features that the pruning stage `{use.by}` has"
            remedy = f"train `{use.by}` after it, without kernels"
            yield context.complaint(SLUG, message, view.name, "other features", remedy, [(use.place, "prunes")])


def guide_views(context: Context) -> Iterator[Diagnostic]:
    """A view that prunes has a clique of its own on neighbours: else it tells no more than single labels do."""
    for use in _uses(context):
        view = context.named(use.by, "view")
        if view is None or use.by in _stages(context):
            continue
        if not any(_sees_neighbours(clique, use.by) for clique in context.spec.cliques):
            message = (
                f"no clique sees two neighbours through the view `{use.by}`, so it tells no more than single labels"
            )
            remedy = f"add `clique {use.by}[-1], {use.by}`, or leave out `by`"
            yield context.complaint(SLUG, message, use.place, "tells nothing", remedy, [(view.place, "the view")])


def _sees_neighbours(clique: CliqueSpec, view: str) -> bool:
    if clique.relational or any(site.variable != view for site in clique.sites):
        return False
    shifts = {shift_of_site(site.place) for site in clique.sites}
    return len(shifts) == len(clique.sites) > 1 and max(shifts) - min(shifts) == 1


RULES: tuple[Rule, ...] = (pruned_chain, pruned_criterion, guide_names, guide_order, guide_views)
