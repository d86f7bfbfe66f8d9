"""Rules on the graph: sites of cliques, labels that nothing predicts, places in brackets, feature groups, relations.

Not here: latent variables and memories (`variable_rules`), the cost of inference on the graph (another room adds that
rule), names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...foundation import Diagnostic, did_you_mean, quoted_names
from ...syntax import Apply, At, CliqueSpec, Equals, Here, Named, Node, Place, Reference, Several, Site, Window
from ..conditions import COUNT_LIMIT, DEEPEST, MOST_FEATURES, GroupTree, held_names, index_gaps
from ..schema import (
    FUNCTIONS,
    Path,
    conjuncts,
    nodes,
    place_offset,
    place_text,
    plain,
    reference_names,
    term_places,
    value_if_nodes,
)
from .context import COLUMN, KINDS, Context, Rule, every_feature, every_node, listed
from .term_reader import is_whole

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
                yield context.complaint("window-in-site", message, at, "several positions", remedy)
    for n, piece in enumerate(context.spec.pieces):
        for s, site in enumerate(piece.over):
            if _several(site.place) is not None:
                message = f"`{_site_text(site)}` is several positions, and a site is one"
                remedy = f"list the sites, or write `{site.variable}[all]` for every position"
                at = ("pieces", n, "over", s, "place")
                yield context.complaint("window-in-site", message, at, "several positions", remedy)


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
                yield context.complaint("same-site-twice", message, at, "again here", _unlike(site), there)
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
            f"shift the sites: `clique {shifted}`",
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
        yield context.complaint("place-without-where", message, at, "which position?", remedy)


def relational_options(context: Context) -> Iterator[Diagnostic]:
    for path, clique in _cliques(context):
        if clique.relational:
            continue
        for name, default in RELATIONAL_OPTIONS.items():
            if getattr(clique, name) != default or (*path, name) in context.spans:
                message = f"`{name}` has no meaning here: `{clique.label}` has no named positions to join"
                remedy = f"only a clique with `where` looks for positions; leave `{name}` out"
                yield context.warning("idle-setting", message, (*path, name), "has no effect", remedy)


# variables ------------------------------------------------------------------------------------------------------


def label_without_clique(context: Context) -> Iterator[Diagnostic]:
    spec = context.spec
    used, feature = _variables_of_cliques(context), _some_feature(context)
    for n, label in enumerate(spec.labels):
        if label.name not in used and not context.mentioned_in_lost(label.name):
            message = f"label `{label.name}` is in no clique: nothing predicts it"
            remedy = f"for example `clique {label.name}: bias, {feature}`"
            at = ("labels", n, "name")
            yield context.complaint("label-without-clique", message, at, "in no clique", remedy)


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


# places in brackets ---------------------------------------------------------------------------------------------------


WIDEST = 1000  # a larger window is a slip of the pen


def bad_window(context: Context) -> Iterator[Diagnostic]:
    places: list[tuple[Path, Place]] = [
        (path, node.place) for path, node in every_node(context.spec) if isinstance(node, Reference | Apply)
    ]
    for n, clique in enumerate(context.spec.cliques):
        places += [(("cliques", n, "sites", s), site.place) for s, site in enumerate(clique.sites)]
    for n, piece in enumerate(context.spec.pieces):
        places += [(("pieces", n, "over", s), site.place) for s, site in enumerate(piece.over)]
        places += [(("pieces", n, "members", m), member.place) for m, member in enumerate(piece.members)]
    for path, place in places:
        at = (*path, "place")
        if isinstance(place, Window) and place.first > place.last:
            message = f"the window `{place_text(place)}` is empty: it ends before it begins"
            remedy = f"write `[{place.last}..{place.first}]`"
            yield context.complaint("bad-window", message, at, "an empty window", remedy)
        elif isinstance(place, Window) and place.last - place.first >= WIDEST:
            width = place.last - place.first + 1
            message = f"the window `{place_text(place)}` has {width} places, at most {WIDEST} are allowed"
            yield context.complaint("bad-window", message, at, "too wide")
        elif isinstance(place, At | Named) and abs(offset := _offset(place)) > WIDEST:
            message = f"the offset {offset} is too far away, at most {WIDEST} is allowed"
            yield context.complaint("bad-window", message, at, "too far")


def _offset(place: At | Named) -> int:
    return place.offset if isinstance(place, At) else place.shift


def window_in_condition(context: Context) -> Iterator[Diagnostic]:
    """A condition that is true or false of one assignment cannot read several positions at once."""
    for n, constraint in enumerate(context.spec.constraints):
        for part, condition in (("condition", constraint.condition), ("when", constraint.when)):
            if condition is not None:
                yield from _windows(context, nodes(condition, ("constraints", n, part)))
    for n, memory in enumerate(context.spec.memories):
        yield from _windows(context, value_if_nodes(memory.value, ("memories", n, "value")))


def _windows(context: Context, nodes_with_paths: Iterable[tuple[Path, Node]]) -> Iterator[Diagnostic]:
    for at, node in nodes_with_paths:
        if isinstance(node, Reference | Apply) and isinstance(node.place, Window | Several):
            message = f"`{place_text(node.place)}` is several positions, and a condition on labels reads one at a time"
            remedy = "join the positions by `and` or `or`"
            yield context.complaint("window-in-condition", message, (*at, "place"), "several positions", remedy)


def unknown_position(context: Context) -> Iterator[Diagnostic]:
    """`word[i]` has a meaning only in a clique with sites `y[i], …`."""
    whole: set[Path] = set()  # `word[all]`, what a function of the user's reads of a sentence
    for path, node in every_node(context.spec):
        place = node.place if isinstance(node, Reference | Apply) else None
        if isinstance(node, Apply) and node.function not in FUNCTIONS and not context.named(node.function, "lexicon"):
            inside = ((*path, "arguments", n, "value") for n, one in enumerate(node.arguments) if is_whole(one.value))
            whole.update(inside)
        if not isinstance(place, Named) or path in whole:
            continue
        positions = _positions(context, path)
        if place.position in positions:
            continue
        message = f"`{place_text(place)}` is not a position of this clique"
        if not positions:
            message = f"`{place_text(place)}` is a named position, and no site here has one"
        guess = did_you_mean(place.position, positions)
        remedy = "the position itself needs no brackets, the one before is `[-1]`"
        if positions:
            remedy = f"did you mean `[{guess}]`?" if guess else f"its positions are {listed(positions)}"
        yield context.complaint("unknown-position", message, (*path, "place"), "which position?", remedy)


def _positions(context: Context, path: Path) -> list[str]:
    """Names of positions that are known at `path`."""
    part, number = path[:2]
    if part != "cliques" or not isinstance(number, int):
        return []
    places = [site.place for site in context.spec.cliques[number].sites]
    return list(dict.fromkeys(place.position for place in places if isinstance(place, Named)))


# feature groups -------------------------------------------------------------------------------------------------------


SHOWN = 8  # groups of a chain in a message


def _tree(context: Context) -> GroupTree:
    tree = context.kept.get(GroupTree)
    if not isinstance(tree, GroupTree):
        tree = context.kept[GroupTree] = GroupTree.of(context.spec)
    return tree


def _chain(names: Sequence[str]) -> str:
    """`a` → `b` → … → `z`"""
    middle = (
        quoted_names(names[:SHOWN])
        if len(names) <= SHOWN
        else [*quoted_names(names[: SHOWN - 2]), "…", f"`{names[-1]}`"]
    )
    return " → ".join(middle)


def group_cycle(context: Context) -> Iterator[Diagnostic]:
    """A feature group inside itself, directly or indirectly; reported at the first group of each cycle."""
    tree = _tree(context)
    number = {group.name: n for n, group in enumerate(context.spec.groups)}
    for component in tree.circles:
        chain = tree.circle(component)
        n, inner = number[chain[0]], chain[1]
        f = next(f for f, feature in enumerate(context.spec.groups[n].features) if inner in held_names(feature))
        message = f"feature group `{chain[0]}` contains itself: {_chain(chain)}"
        yield context.complaint("group-cycle", message, ("groups", n, "features", f), "leads back to the group")


def groups_too_deep(context: Context) -> Iterator[Diagnostic]:
    """Groups inside groups inside groups …; reported where the limit is exceeded."""
    tree = _tree(context)
    for path, feature in every_feature(context.spec):
        if path[0] != "groups" or max((tree.depth.get(name, 0) for name in held_names(feature)), default=0) != DEEPEST:
            continue
        group = context.spec.groups[int(path[1])].name
        chain = _chain([group, *tree.way_down(feature, tree.depth)])
        message = f"feature groups are nested more than {DEEPEST} deep: {chain}"
        remedy = "list the features themselves, or fewer groups inside each other"
        yield context.complaint("groups-too-deep", message, path, f"level {DEEPEST + 1}", remedy)


def too_many_features(context: Context) -> Iterator[Diagnostic]:
    """Windows multiply in a cross, and groups in groups; the result is known before any data is read."""
    tree = _tree(context)
    sizes = [(path, feature, tree.size(feature)) for path, feature in every_feature(context.spec)]
    too_large: set[str] = {
        context.spec.groups[int(path[1])].name
        for path, _, number in sizes
        if path[0] == "groups" and number > MOST_FEATURES
    }
    told: set[tuple[str | int, ...]] = set()
    for path, feature, number in sizes:
        # a list that contains a list reported as too long is not reported again
        if number <= MOST_FEATURES or not too_large.isdisjoint(held_names(feature)) or path[:2] in told:
            continue
        told.add(path[:2])
        shown = f"{number}" if number < COUNT_LIMIT else f"more than {COUNT_LIMIT:,}"
        message = f"this stands for {shown} features at every position, at most {MOST_FEATURES} are allowed"
        remedy = "a cross of windows has every combination of their places; make them narrower"
        way = tree.way_down(feature, tree.sizes)
        if way:
            message += f": {_chain(way)}"
            remedy = "each group counts as often as it is listed, and each of its places; list it once"
        yield context.complaint("too-many-features", message, path, "too many", remedy)


# relational cliques ---------------------------------------------------------------------------------------------------


def _relational(context: Context) -> Iterator[tuple[Path, CliqueSpec]]:
    for n, clique in enumerate(context.spec.cliques):
        if clique.where is not None:
            yield ("cliques", n), clique


def two_positions(context: Context) -> Iterator[Diagnostic]:
    """`where` joins two positions, and every site is at one of them."""
    for path, clique in _relational(context):
        count = len(clique.positions)
        if count != 2:
            have = listed([f"[{name}]" for name in clique.positions]) if count else "no named position"
            message = f"a clique with `where` joins two positions, and its sites have {have}"
            variable = clique.sites[0].variable
            remedy = f"for example `clique {variable}[i], {variable}[j] where …`"
            yield context.complaint("two-positions", message, (*path, "sites", 0), "not two positions", remedy)
            continue
        for s, site in enumerate(clique.sites):
            if not isinstance(site.place, Named):
                first, second = clique.positions
                message = (
                    f"the site `{site.variable}{place_text(site.place)}` stands at neither of the joined positions"
                )
                remedy = f"write `{site.variable}[{first}]` or `{site.variable}[{second}]`"
                yield context.complaint("two-positions", message, (*path, "sites", s), "at which one?", remedy)


def place_of_each_term(context: Context) -> Iterator[Diagnostic]:
    """There is no anchor: a relational clique reads everything at one of its two positions."""
    for path, clique in _relational(context):
        if len(clique.positions) != 2:
            continue
        parts: list[tuple[Path, Node]] = [
            ((*path, "features", f), feature) for f, feature in enumerate(clique.features)
        ]
        if clique.where is not None:
            parts.append(((*path, "where"), clique.where))
        for at, part in parts:
            yield from _unplaced(context, clique, at, part)


def _unplaced(context: Context, clique: CliqueSpec, path: Path, part: Node) -> Iterator[Diagnostic]:
    named: set[Path] = set()  # calls whose place is a named position: `lower(word)[i]`
    for at, node in nodes(part, path):
        inside = any(at[:length] in named for length in range(len(path), len(at) + 1))
        if not isinstance(node, Reference | Apply):
            continue
        if is_whole(node):
            continue  # the whole sentence, for a function of the user's
        if isinstance(node.place, Named):
            if inside:
                message = f"`{place_text(node.place)}` stands inside a call that has a position of its own"
                yield context.complaint("two-places", message, (*at, "place"), "one of them is enough")
            named.add(at)
        elif isinstance(node, Reference) and not inside and _is_read(context, node.name):
            first, second = clique.positions
            message = f"`{node.name}{place_text(node.place)}` is read at neither of the joined positions"
            remedy = f"write `{node.name}[{first}]` or `{node.name}[{second}]`"
            yield context.complaint("place-in-relation", message, at, "at which one?", remedy)


def _is_read(context: Context, name: str) -> bool:
    """Whether a name has a value at each position."""
    signature = FUNCTIONS.get(name)
    position = signature is not None and not signature.parameters and name != "bias"
    return context.named(name, COLUMN, KINDS["groups"]) is not None or position


def gaps_and_edges(context: Context) -> Iterator[Diagnostic]:
    for path, clique in _relational(context):
        least, most = (_number(context, value) for value in (clique.min_gap, clique.max_gap))
        if least is not None and most is not None and least > most:
            message = f"no two positions are at least {least} and at most {most} apart"
            yield context.complaint("empty-gap", message, (*path, "max_gap"), f"below `min_gap = {least}`")
        if clique.edges == "pad":
            message = "`edges = pad` has no meaning in a clique with `where`: it joins positions of the sequence"
            yield context.warning("idle-setting", message, (*path, "edges"), "has no effect")


def no_equality(context: Context) -> Iterator[Diagnostic]:
    """Positions are joined on equal values; without an equality every pair of positions must be tested."""
    for path, clique in _relational(context):
        if clique.where is None or len(clique.positions) != 2 or clique.max_gap is not None:
            continue
        parts = conjuncts(clique.where)
        if clique.order == "forward" and index_gaps(context.spec, clique.where, clique.positions)[1] is not None:
            continue
        if any(isinstance(part, Equals) and not part.negated and len(_positions_of(part)) == 2 for part in parts):
            continue
        first, second = clique.positions
        message = f"no equality joins `{first}` and `{second}`: every pair of positions of a sentence is tried"
        remedy = f"add one with `and`, as in `word[{first}] = word[{second}]`, or bound the distance by `max_gap`"
        yield context.warning("no-equality", message, (*path, "where"), "joins by trying", remedy)


def _positions_of(part: Node) -> set[str]:
    """The named positions that a condition reads."""
    return {place.position for place in term_places(part) if isinstance(place, Named)}


def _number(context: Context, value: int | Reference | None) -> int | None:
    settled = plain(context.spec.settled(value)) if isinstance(value, Reference) else value
    return settled if isinstance(settled, int) else None


RULES: tuple[Rule, ...] = (
    window_in_site, same_site_twice, no_anchor, place_without_where, relational_options, label_without_clique,
)  # fmt: skip


PLACE_RULES: tuple[Rule, ...] = (
    bad_window, window_in_condition, unknown_position, group_cycle, groups_too_deep, too_many_features,
    two_positions, place_of_each_term, no_equality, gaps_and_edges,
)  # fmt: skip
