"""Rules on the graph: sites of cliques, labels that nothing predicts.

Not here: latent variables and memories (`hidden_rules`), places in brackets of features and conditions
(`position_rules`), the cost of inference on the graph (another room adds that rule), names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...foundation import Diagnostic
from ..schema import (
    At,
    CliqueSpec,
    Here,
    Named,
    Path,
    Place,
    Several,
    Site,
    Window,
    place_offset,
    place_text,
    reference_names,
    value_if_nodes,
)
from .context import Context, Rule, listed

RELATIONAL_OPTIONS: Mapping[str, Any] = {"link": "next", "order": "forward", "min_gap": 1, "max_gap": None}


def _cliques(context: Context) -> Iterator[tuple[Path, CliqueSpec]]:
    for n, clique in enumerate(context.spec.cliques):
        yield ("cliques", n), clique


def _site_text(site: Site) -> str:
    return site.variable + place_text(site.place)


# sites ----------------------------------------------------------------------------------------------------------


def window_in_site(context: Context) -> Iterator[Diagnostic]:
    """A site is one variable at one position."""
    for path, clique in _cliques(context):
        for s, site in enumerate(clique.sites):
            offsets = _several(site.place)
            if offsets is not None:
                sites = ", ".join(_site_text(Site(variable=site.variable, place=At(offset=o))) for o in offsets[:4])
                message = f"`{_site_text(site)}` is several positions, and a site is one"
                more = ", …" if len(offsets) > 4 else ""
                remedy = f"list the sites, `clique {sites}{more}`, or write several cliques"
                at = (*path, "sites", s, "place")
                yield context.complaint("window-in-site", message, at, "several positions", help=remedy)
    for n, piece in enumerate(context.spec.pieces):
        for s, site in enumerate(piece.over):
            if _several(site.place) is not None:
                message = f"`{_site_text(site)}` is several positions, and a site is one"
                remedy = f"list the sites, or write `{site.variable}[all]` for every position"
                at = ("pieces", n, "over", s, "place")
                yield context.complaint("window-in-site", message, at, "several positions", help=remedy)


def _several(place: Place) -> list[int] | None:
    match place:
        case Window(first=first, last=last):
            return list(range(first, min(last, first + 4) + 1))
        case Several(offsets=offsets):
            return list(offsets)
    return None


def same_site_twice(context: Context) -> Iterator[Diagnostic]:
    for path, clique in _cliques(context):
        seen: dict[Site, int] = {}
        for s, site in enumerate(clique.sites):
            plain = site.model_copy(update={"place": Here()}) if place_offset(site.place) == 0 else site
            if plain in seen:
                message = f"the site `{_site_text(site)}` stands twice in this clique"
                there = [((*path, "sites", seen[plain]), "first here")]
                at = (*path, "sites", s)
                yield context.complaint("same-site-twice", message, at, "again here", help=_unlike(site), others=there)
            seen.setdefault(plain, s)


def _unlike(site: Site) -> str | None:
    """`clique chunk, chunk` is most likely meant to join neighbours."""
    return f"the position before is `{site.variable}[-1]`" if place_offset(site.place) == 0 else None


def no_anchor(context: Context) -> Iterator[Diagnostic]:
    """Features are read at the anchor, so one site must be there."""
    for path, clique in _cliques(context):
        offsets = [place_offset(site.place) for site in clique.sites]
        if 0 in offsets or not offsets or any(offset is None for offset in offsets):
            continue
        nearest = min(offsets, key=lambda offset: (abs(offset or 0), offset))
        shifted = ", ".join(
            site.variable + place_text(At(offset=(offset or 0) - (nearest or 0)))
            for site, offset in zip(clique.sites, offsets, strict=True)
        )
        message = f"no site of `{', '.join(_site_text(site) for site in clique.sites)}` is at offset 0"
        yield context.complaint(
            "no-anchor",
            message,
            (*path, "sites", 0),
            "features are read at offset 0",
            help=f"shift the sites: `clique {shifted}`",
        )


def place_without_where(context: Context) -> Iterator[Diagnostic]:
    """`y[i], y[j]` has no meaning without a condition that joins i and j."""
    for path, clique in _cliques(context):
        named = [(s, site) for s, site in enumerate(clique.sites) if isinstance(site.place, Named)]
        if not named or clique.where is not None:
            continue
        texts = [_site_text(site) for _, site in named]
        what = "are named positions" if len(texts) > 1 else "is a named position"
        message = f"{listed(texts)} {what}, and no `where` says how to find them"
        remedy = "for example `where word[i] = word[j]`; neighbours are written `y[-1], y`"
        at = (*path, "sites", named[0][0], "place")
        yield context.complaint("place-without-where", message, at, "which position?", help=remedy)


def relational_options(context: Context) -> Iterator[Diagnostic]:
    for path, clique in _cliques(context):
        if clique.relational:
            continue
        for name, default in RELATIONAL_OPTIONS.items():
            if getattr(clique, name) != default or (*path, name) in context.spans:
                message = f"`{name}` has no meaning here: `{clique.label}` has no named positions to join"
                remedy = f"only a clique with `where` looks for positions; leave `{name}` out"
                yield context.complaint(
                    "idle-setting", message, (*path, name), "has no effect", help=remedy, severity="warning"
                )


# variables ------------------------------------------------------------------------------------------------------


def label_without_clique(context: Context) -> Iterator[Diagnostic]:
    spec = context.spec
    used, feature = _variables_of_cliques(context), _some_feature(context)
    for n, label in enumerate(spec.labels):
        if label.name not in used and not context.mentioned_in_lost(label.name):
            message = f"label `{label.name}` is in no clique: nothing predicts it"
            remedy = f"for example `clique {label.name}: bias, {feature}`"
            at = ("labels", n, "name")
            yield context.complaint("label-without-clique", message, at, "in no clique", help=remedy)


def _some_feature(context: Context) -> str:
    labels = {label.name for label in context.spec.labels}
    columns = [column.name for column in (context.spec.data.columns if context.spec.data else ())]
    return next((name for name in (*context.names("feature group"), *columns) if name not in labels), "FEATURES")


def _variables_of_cliques(context: Context) -> set[str]:
    """Variables in a clique, directly or through a view or memories."""
    spec = context.spec
    variables = {site.variable for clique in spec.cliques for site in clique.sites}
    derived = [(view.name, view.value) for view in spec.views]
    derived += [(memory.name, memory.value) for memory in spec.memories]
    read = {name: set(reference_names(value_if_nodes(value))) for name, value in derived}
    return reached(variables, read)


def reached(start: Iterable[str], leads_to: Mapping[str, Iterable[str]]) -> set[str]:
    """All names that can be reached from the names of `start`, including these."""
    seen = set(start)
    waiting = list(seen)
    while waiting:
        new = set(leads_to.get(waiting.pop(), ())) - seen
        seen |= new
        waiting.extend(new)
    return seen


RULES: tuple[Rule, ...] = (
    window_in_site,
    same_site_twice,
    no_anchor,
    place_without_where,
    relational_options,
    label_without_clique,
)
