"""Models that `train hmm` can express: each label given its earlier neighbours, and observations given the label alone.

A clique belongs to the last of its labels, by position and, within a position, by declaration; with `order = reverse`
to the first. The cliques of a label give its distribution: at each position, the widest one that fits there. The scopes
of narrower cliques must lie within those of wider ones; they apply at the first positions, where the wider ones do not
fit. Cliques of one site may list features, which the label emits. Not here: counting, facts that need data (both in
`criteria.hidden_markov`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

from ...foundation import Span
from ...syntax import NUMERIC, CliqueSpec, Cross, Feature, FeatureGroup, Latent, Memory, Reference, View
from ..schema import ModelSpec, gives_number, shift_of_site
from .given_scores import has_offset

Order = Literal["declared", "reverse"]


class Obstacle(NamedTuple):
    """Why a specification is no hidden Markov model: the place, the message, the words at the place, and the remedy."""

    place: Span
    message: str
    words: str
    remedy: str


def last_site(spec: ModelSpec, clique: CliqueSpec, order: Order) -> int:
    """The number of the site whose conditional distribution a clique gives."""
    names = [label.name for label in spec.labels]
    keys = [(shift_of_site(site.place), names.index(site.variable)) for site in clique.sites]
    return keys.index(max(keys) if order == "declared" else min(keys))


def scope(spec: ModelSpec, clique: CliqueSpec, order: Order) -> frozenset[tuple[str, int]]:
    """The labels of a clique, each with its position relative to `last_site`."""
    origin = shift_of_site(clique.sites[last_site(spec, clique, order)].place)
    return frozenset((site.variable, shift_of_site(site.place) - origin) for site in clique.sites)


def obstacles(spec: ModelSpec, order: Order) -> Iterator[Obstacle]:
    """Everything that keeps a specification from being a hidden Markov model."""
    hidden = list(_hidden(spec))
    yield from hidden
    labels = {label.name for label in spec.labels}
    are_plain = not hidden
    for clique in spec.cliques:
        if clique.relational:
            are_plain = False
            message = f"`hmm` counts neighbours, and `{clique.label}` joins positions that the data chooses"
            yield Obstacle(clique.span, message, "joined by the data", "leave the clique out, or train by `likelihood`")
        elif any(site.variable not in labels for site in clique.sites):
            are_plain = False
            if not hidden:
                message = f"`hmm` counts labels, and `{clique.label}` reads another variable"
                yield Obstacle(clique.span, message, "no label", "name labels in its cliques, or train by `likelihood`")
        else:
            yield from _features(spec, clique)
    if are_plain:
        yield from _distributions(spec, order)


def _hidden(spec: ModelSpec) -> Iterator[Obstacle]:
    items: tuple[Latent | Memory | View, ...] = (*spec.latents, *spec.memories, *spec.views)
    for item in items:
        message = f"`hmm` counts labels, and `{item.name}` is a {item.word}"
        yield Obstacle(item.place_of("name"), message, f"a {item.word}", "train by `likelihood`, or leave it out")


def _features(spec: ModelSpec, clique: CliqueSpec) -> Iterator[Obstacle]:
    for given in filter(has_offset, clique.features):
        message = f"`hmm` counts probabilities, and `{clique.label}` adds scores that are given"
        yield Obstacle(given.span, message, "no count", "train by `likelihood`, or leave it out")
        return
    listed = [feature for feature in clique.features if feature != Reference(name="bias")]
    if len(clique.sites) > 1:
        if listed:
            label = clique.sites[-1].variable
            message = f"in an `hmm` a label emits what is observed, and `{clique.label}` is of several"
            remedy = f"list its features in a clique of one label, as in `clique {label}: bias, …`"
            yield Obstacle(listed[0].span, message, "features of several labels", remedy)
        elif clique.states == "seen":
            message = "`hmm` gives every move a probability, and `states = seen` leaves out what was not seen"
            at = clique.place_of("states")
            yield Obstacle(at, message, "leaves out moves", "leave `states` out, or write `all`")
        return
    if listed and len(listed) == len(clique.features):
        message = f"`hmm` needs a bias in `{clique.label}`, for the probability of what training has not seen"
        named = f" as {clique.name}" if clique.name else ""
        remedy = f"add it, as in `clique {clique.sites_text}{named}: bias, …`"
        yield Obstacle(listed[0].span, message, "no bias", remedy)
    for feature in clique.features:
        name = _number(spec, feature, frozenset())
        if name is not None:
            message = f"`hmm` counts values, and `{name}` is a number"
            yield Obstacle(feature.span, message, "a number", "test it, or train by `likelihood`")


def _number(spec: ModelSpec, feature: Feature, groups: frozenset[str]) -> str | None:
    """The first numeric column, or function, that a feature uses as its value; None if there is none."""
    if isinstance(feature, Cross):
        return next((name for part in feature.factors if (name := _number(spec, part, groups))), None)
    if not isinstance(feature, Reference):
        return feature.function if gives_number(feature) else None
    column = spec.column(feature.name)
    if column is not None:
        return column.name if column.type.name in NUMERIC else None
    declared = spec.declaration(feature.name)
    if isinstance(declared, FeatureGroup) and declared.name not in groups:
        inside = groups | {declared.name}
        return next((name for part in declared.features if (name := _number(spec, part, inside))), None)
    return None


def _distributions(spec: ModelSpec, order: Order) -> Iterator[Obstacle]:
    """Each label needs cliques with nested scopes, one of which fits at every position."""
    for label in spec.labels:
        cliques = [one for one in spec.cliques if one.sites[last_site(spec, one, order)].variable == label.name]
        if not cliques:
            message = f"`hmm` has no distribution of `{label.name}`: other labels stand last in all of its cliques"
            remedy = f"add `clique {label.name}`"
            yield Obstacle(label.place_of("name"), message, "given what?", remedy)
            continue
        cliques.sort(key=lambda one: len(one.sites))
        for narrow, wide in pairwise(cliques):
            if not scope(spec, narrow, order) <= scope(spec, wide, order):
                message = (
                    f"in an `hmm` each label has one distribution, and `{label.name}` has those of "
                    f"`{narrow.label}` and `{wide.label}`"
                )
                remedy = f"join them to one clique, `clique {_joined(spec, narrow, wide, order)}`"
                yield Obstacle(wide.span, message, "another one", remedy)
                break
        least = cliques[0]
        if len(least.sites) > 1 and least.edges == "inside" and _spans(least):
            message = f"`{least.label}` does not lie at the ends of a sequence, so `hmm` has no distribution there"
            remedy = f"write `edges = pad`, or add `clique {label.name}`"
            yield Obstacle(least.span, message, "not at the ends", remedy)


def _joined(spec: ModelSpec, one: CliqueSpec, other: CliqueSpec, order: Order) -> str:
    names = [label.name for label in spec.labels]
    sites = sorted(scope(spec, one, order) | scope(spec, other, order), key=lambda s: (s[1], names.index(s[0])))
    return ", ".join(name + (f"[{offset}]" if offset else "") for name, offset in sites)


def _spans(clique: CliqueSpec) -> bool:
    return len({shift_of_site(site.place) for site in clique.sites}) > 1
