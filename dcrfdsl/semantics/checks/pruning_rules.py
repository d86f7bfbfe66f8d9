"""Rules on `infer pruned`: a chain of one label, trained by its likelihood.

Not here: what it is pruned by (`guide_rules`); what the states of the label decide, and constraints
(`inference.bound.lattice_tables`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ...foundation import DcrfError, Diagnostic
from ..schema import Apply, CliqueSpec, Path, shift_of_site
from ..settings import PrunedSettings, inference_settings
from .context import Context, Rule
from .guide_rules import trains_its_guide
from .optimizer_rules import stage_views

MOST_POSITIONS = 4  # that a clique spans


def pruned_chain(context: Context) -> Iterator[Diagnostic]:
    """Where `pruned` runs, there is one label, and each clique lies on at most four neighbours of it."""
    places = list(_pruned_places(context))
    if not places:
        return
    spec, (place, remedy) = context.spec, places[0]
    others = [(place, "the method")]
    variables = [
        (part, n, item.name) for part in ("labels", "latents", "memories") for n, item in enumerate(getattr(spec, part))
    ]
    for part, n, name in variables[1:]:
        message = f"`pruned` needs a chain of one label, and `{name}` is another variable of each position"
        yield context.complaint("cannot-prune", message, (part, n), "another variable", help=remedy, others=others)
    for n, clique in enumerate(spec.cliques):
        found = _obstacle(clique)
        if found is not None:
            at, words, what = found
            message = f"`pruned` needs a chain of one label, and clique `{clique.label}` {what}"
            yield context.complaint("cannot-prune", message, ("cliques", n, *at), words, help=remedy, others=others)


def _pruned_places(context: Context) -> Iterator[tuple[Path, str]]:
    """Where `pruned` is written, and what to write in its place."""
    with suppress(DcrfError):  # `setting_rules` reports it
        if isinstance(inference_settings(context.spec), PrunedSettings):
            yield ("infer", "name"), "write `infer auto`"
    for stage in stage_views(context):
        if isinstance(stage.settings.infer, PrunedSettings):
            yield stage.place("infer"), "write `infer = auto`"


def _obstacle(clique: CliqueSpec) -> tuple[Path, str, str] | None:
    """The place of what lattices cannot hold in a clique, a word on it, and the words of the message."""
    if clique.relational:
        return (), "joins positions", "joins positions by a condition"
    shifts = [shift_of_site(site.place) for site in clique.sites]
    if clique.edges == "pad":
        return (), "padded", "has `edges = pad`"
    if max(shifts) - min(shifts) >= MOST_POSITIONS:
        return (), "too long", f"spans {max(shifts) - min(shifts) + 1} positions, more than {MOST_POSITIONS}"
    if not min(shifts) <= 0 <= max(shifts) or (len(shifts) == 1 and shifts[0]):
        return (), "away from its anchor", "does not reach its own position"
    if len(shifts) > 1:
        for n, feature in enumerate(clique.features):
            if not (isinstance(feature, Apply) and feature.function == "bias"):
                return ("features", n), "a feature", "has features on several labels"
    return None


def pruned_criterion(context: Context) -> Iterator[Diagnostic]:
    """Early updates are those of the likelihood."""
    for stage in stage_views(context):
        with suppress(DcrfError):
            asked = stage.settings.infer or inference_settings(context.spec)
            if not isinstance(asked, PrunedSettings) or trains_its_guide(context, stage, asked):
                continue  # `guide_rules` reports the latter
            if stage.criterion != "likelihood":
                message = f"`pruned` trains `likelihood`, not `{stage.criterion}`"
                place = (*stage.path, "name")
                yield context.complaint(
                    "cannot-prune", message, place, "not with this", help="write `infer = exact` in the stage"
                )


RULES: tuple[Rule, ...] = (pruned_chain, pruned_criterion)
