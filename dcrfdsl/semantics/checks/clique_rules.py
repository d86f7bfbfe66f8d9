"""Rules on the graph: sites of cliques, labels that nothing predicts, places in brackets, feature groups, relations.

Not here: latent variables and memories (`variable_rules`), the cost of inference on the graph (another room adds that
rule), names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...foundation import Diagnostic, did_you_mean, quoted_names
from ...syntax import CliqueSpec, Constraint, FeatureGroup, Memory, View, nodes as ex
from ..conditions import (
    COUNT_LIMIT,
    DEEPEST,
    MOST_FEATURES,
    GroupTree,
    factors_of,
    held_names,
    index_gaps,
    is_offset,
)
from ..schema import (
    FUNCTIONS,
    children,
    conjuncts,
    nodes,
    place_offset,
    place_text,
    plain,
    reads_window,
    reference_names,
    shift_of_site,
    term_places,
    value_if_nodes,
)
from .context import COLUMN, LABEL_KINDS, Context, Others, Rule, a, every_feature, every_node, listed
from .term_reader import is_whole

RELATIONAL_OPTIONS: Mapping[str, Any] = {"link": "next", "order": "forward", "min_gap": 1, "max_gap": None}


def _site_text(site: ex.Site) -> str:
    return site.variable + place_text(site.place)


# sites ----------------------------------------------------------------------------------------------------------


def window_in_site(context: Context) -> Iterator[Diagnostic]:
    """A site is one variable at one position."""
    for clique in context.spec.cliques:
        for site in clique.sites:
            offsets = _several(site.place)
            if offsets is not None:
                sites = ", ".join(site.variable + place_text(ex.At(offset=o)) for o in offsets[:4])
                message = f"`{_site_text(site)}` is several positions, and a site is one"
                more = ", …" if len(offsets) > 4 else ""
                remedy = f"list the sites, `clique {sites}{more}`, or write several cliques"
                yield context.complaint("window-in-site", message, site.place, "several positions", remedy)
    for piece in context.spec.pieces:
        for site in piece.over:
            if _several(site.place) is not None:
                message = f"`{_site_text(site)}` is several positions, and a site is one"
                remedy = f"list the sites, or write `{site.variable}[all]` for every position"
                yield context.complaint("window-in-site", message, site.place, "several positions", remedy)


def _several(place: ex.Place) -> list[int] | None:
    match place:
        case ex.Window(first=first, last=last):
            return list(range(first, min(last, first + 4) + 1))
        case ex.Several(offsets=offsets):
            return list(offsets)
    return None


def same_site_twice(context: Context) -> Iterator[Diagnostic]:
    for clique in context.spec.cliques:
        seen: dict[ex.Site, ex.Site] = {}
        for site in clique.sites:
            here = place_offset(site.place) == 0
            plain = site.model_copy(update={"place": ex.Here()}) if here else site
            if plain in seen:
                message = f"the site `{_site_text(site)}` stands twice in this clique"
                # `clique chunk, chunk` is most likely meant to join neighbours
                remedy = f"the position before is `{site.variable}[-1]`" if here else None
                there = [(seen[plain], "first here")]
                yield context.complaint("same-site-twice", message, site, "again here", remedy, there)
            seen.setdefault(plain, site)


def no_anchor(context: Context) -> Iterator[Diagnostic]:
    """Features are read at the anchor, so one site must be there."""
    for clique in context.spec.cliques:
        offsets = [place_offset(site.place) for site in clique.sites]
        if 0 in offsets or not offsets or any(offset is None for offset in offsets):
            continue
        nearest = min(offsets, key=lambda offset: (abs(offset or 0), offset))
        shifted = ", ".join(
            site.variable + place_text(ex.At(offset=(offset or 0) - (nearest or 0)))
            for site, offset in zip(clique.sites, offsets, strict=True)
        )
        message = f"no site of `{', '.join(_site_text(site) for site in clique.sites)}` is at offset 0"
        remedy = f"shift the sites: `clique {shifted}`"
        yield context.complaint("no-anchor", message, clique.sites[0], "features are read at offset 0", remedy)


def place_without_where(context: Context) -> Iterator[Diagnostic]:
    """`y[i], y[j]` has no meaning without a condition that joins i and j."""
    for clique in context.spec.cliques:
        named = [site for site in clique.sites if isinstance(site.place, ex.Named)]
        if not named or clique.where is not None:
            continue
        texts = [_site_text(site) for site in named]
        what = "are named positions" if len(texts) > 1 else "is a named position"
        message = f"{listed(texts)} {what}, and no `where` says how to find them"
        remedy = "for example `where word[i] = word[j]`; neighbours are written `y[-1], y`"
        yield context.complaint("place-without-where", message, named[0].place, "which position?", remedy)


def relational_options(context: Context) -> Iterator[Diagnostic]:
    for clique in context.spec.cliques:
        if clique.relational:
            continue
        for name, default in RELATIONAL_OPTIONS.items():
            at = clique.place_of(name)
            if getattr(clique, name) != default or at is not clique.span:
                message = f"`{name}` has no meaning here: `{clique.label}` has no named positions to join"
                remedy = f"only a clique with `where` looks for positions; leave `{name}` out"
                yield context.warning("idle-setting", message, at, "has no effect", remedy)


# variables ------------------------------------------------------------------------------------------------------


def label_without_clique(context: Context) -> Iterator[Diagnostic]:
    spec = context.spec
    variables = {site.variable for clique in spec.cliques for site in clique.sites}
    derived: tuple[View | Memory, ...] = (*spec.views, *spec.memories)
    used = reached(variables, {one.name: set(reference_names(value_if_nodes(one.value))) for one in derived})
    labels = {label.name for label in spec.labels}
    columns = [column.name for column in (spec.data.columns if spec.data else ())]
    feature = next((name for name in (*context.names("feature group"), *columns) if name not in labels), "FEATURES")
    for label in spec.labels:
        if label.name not in used and not context.mentioned_in_lost(label.name):
            message = f"label `{label.name}` is in no clique: nothing predicts it"
            remedy = f"for example `clique {label.name}: bias, {feature}`"
            yield context.complaint("label-without-clique", message, label.place_of("name"), "in no clique", remedy)


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
    places = [node.place for _, node in every_node(context.spec) if isinstance(node, ex.Reference | ex.Apply)]
    places += [site.place for site in context.sites()]
    places += [member.place for piece in context.spec.pieces for member in piece.members]
    for place in places:
        if isinstance(place, ex.Window) and place.first > place.last:
            message = f"the window `{place_text(place)}` is empty: it ends before it begins"
            remedy = f"write `[{place.last}..{place.first}]`"
            yield context.complaint("bad-window", message, place, "an empty window", remedy)
        elif isinstance(place, ex.Window) and place.last - place.first >= WIDEST:
            width = place.last - place.first + 1
            message = f"the window `{place_text(place)}` has {width} places, at most {WIDEST} are allowed"
            yield context.complaint("bad-window", message, place, "too wide")
        elif isinstance(place, ex.At | ex.Named) and abs(offset := shift_of_site(place)) > WIDEST:
            message = f"the offset {offset} is too far away, at most {WIDEST} is allowed"
            yield context.complaint("bad-window", message, place, "too far")


def window_in_condition(context: Context) -> Iterator[Diagnostic]:
    """A condition that is true or false of one assignment cannot read several positions at once."""
    within: set[int] = set()  # the windows of `mean(temp[-3..3])`
    for statement, node in every_node(context.spec):
        place = node.place if isinstance(node, ex.Reference | ex.Apply) else None
        within.update(map(id, children(node)) if reads_window(node) else ())
        if id(node) in within:
            continue
        if isinstance(statement, Constraint | Memory) and isinstance(place, ex.Window | ex.Several):
            message = f"`{place_text(place)}` is several positions, and a condition on labels reads one at a time"
            remedy = "join the positions by `and` or `or`"
            yield context.complaint("window-in-condition", message, place, "several positions", remedy)


def unknown_position(context: Context) -> Iterator[Diagnostic]:
    """`word[i]` has a meaning only in a clique with sites `y[i], …`."""
    whole: set[int] = set()  # `word[all]`, what a function of the user's reads of a sentence
    for statement, node in every_node(context.spec):
        place = node.place if isinstance(node, ex.Reference | ex.Apply) else None
        if isinstance(node, ex.Apply) and node.function not in (*FUNCTIONS, *context.names("lexicon")):
            whole.update(id(one.value) for one in node.arguments if is_whole(one.value))
        if not isinstance(place, ex.Named) or id(node) in whole:
            continue
        positions = statement.positions if isinstance(statement, CliqueSpec) else ()
        if place.position in positions:
            continue
        message = f"`{place_text(place)}` is not a position of this clique"
        if not positions:
            message = f"`{place_text(place)}` is a named position, and no site here has one"
        guess = did_you_mean(place.position, positions)
        remedy = "the position itself needs no brackets, the one before is `[-1]`"
        if positions:
            remedy = f"did you mean `[{guess}]`?" if guess else f"its positions are {listed(positions)}"
        yield context.complaint("unknown-position", message, place, "which position?", remedy)


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
    for component in tree.circles:
        chain = tree.circle(component)
        inside = next(one for one in tree.groups[chain[0]].features if chain[1] in held_names(one))
        message = f"feature group `{chain[0]}` contains itself: {_chain(chain)}"
        yield context.complaint("group-cycle", message, inside, "leads back to the group")


def groups_too_deep(context: Context) -> Iterator[Diagnostic]:
    """Groups inside groups inside groups …; reported where the limit is exceeded."""
    tree = _tree(context)
    for group in context.spec.groups:
        for feature in group.features:
            if max((tree.depth.get(name, 0) for name in held_names(feature)), default=0) == DEEPEST:
                chain = _chain([group.name, *tree.way_down(feature, tree.depth)])
                message = f"feature groups are nested more than {DEEPEST} deep: {chain}"
                remedy = "list the features themselves, or fewer groups inside each other"
                yield context.complaint("groups-too-deep", message, feature, f"level {DEEPEST + 1}", remedy)


def too_many_features(context: Context) -> Iterator[Diagnostic]:
    """Windows multiply in a cross, and groups in groups; the result is known before any data is read."""
    tree = _tree(context)
    sizes = [(holder, feature, tree.size(feature)) for holder, feature in every_feature(context.spec)]
    too_large = {
        holder.name for holder, _, number in sizes if isinstance(holder, FeatureGroup) and number > MOST_FEATURES
    }
    told: set[int] = set()
    for holder, feature, number in sizes:
        # a list that contains a list reported as too long is not reported again
        if number <= MOST_FEATURES or not too_large.isdisjoint(held_names(feature)) or id(holder) in told:
            continue
        told.add(id(holder))
        shown = f"{number}" if number < COUNT_LIMIT else f"more than {COUNT_LIMIT:,}"
        message = f"this stands for {shown} features at every position, at most {MOST_FEATURES} are allowed"
        remedy = "a cross of windows has every combination of their places; make them narrower"
        way = tree.way_down(feature, tree.sizes)
        if way:
            message += f": {_chain(way)}"
            remedy = "each group counts as often as it is listed, and each of its places; list it once"
        yield context.complaint("too-many-features", message, feature, "too many", remedy)


# relational cliques ---------------------------------------------------------------------------------------------------


def _relational(context: Context) -> Iterator[tuple[CliqueSpec, ex.Condition]]:
    """The cliques with a `where`, each with it."""
    return ((clique, clique.where) for clique in context.spec.cliques if clique.where is not None)


def two_positions(context: Context) -> Iterator[Diagnostic]:
    """`where` joins two positions, and every site is at one of them."""
    for clique, _ in _relational(context):
        count = len(clique.positions)
        if count != 2:
            have = listed([f"[{name}]" for name in clique.positions]) if count else "no named position"
            message = f"a clique with `where` joins two positions, and its sites have {have}"
            variable = clique.sites[0].variable
            remedy = f"for example `clique {variable}[i], {variable}[j] where …`"
            yield context.complaint("two-positions", message, clique.sites[0], "not two positions", remedy)
            continue
        for site in clique.sites:
            if not isinstance(site.place, ex.Named):
                first, second = clique.positions
                message = f"the site `{_site_text(site)}` stands at neither of the joined positions"
                remedy = f"write `{site.variable}[{first}]` or `{site.variable}[{second}]`"
                yield context.complaint("two-positions", message, site, "at which one?", remedy)


def place_of_each_term(context: Context) -> Iterator[Diagnostic]:
    """There is no anchor: a relational clique reads everything at one of its two positions."""
    for clique, where in _relational(context):
        if len(clique.positions) == 2:
            for part in (*clique.features, where):
                yield from _unplaced(context, clique, part, False)


def _unplaced(context: Context, clique: CliqueSpec, node: ex.Node, inside: bool) -> Iterator[Diagnostic]:
    """inside: in a call whose place is a named position: `lower(word)[i]`."""
    if is_offset(node):
        return  # `offsets` says that it has no place here
    # `word[all]` is what a function of the user's reads of a sentence
    if isinstance(node, ex.Reference | ex.Apply) and not is_whole(node):
        if isinstance(node.place, ex.Named):
            if inside:
                message = f"`{place_text(node.place)}` stands inside a call that has a position of its own"
                yield context.complaint("two-places", message, node.place, "one of them is enough")
            inside = True
        elif isinstance(node, ex.Reference) and not inside and _is_read(context, node.name):
            first, second = clique.positions
            message = f"`{node.name}{place_text(node.place)}` is read at neither of the joined positions"
            remedy = f"write `{node.name}[{first}]` or `{node.name}[{second}]`"
            yield context.complaint("place-in-relation", message, node, "at which one?", remedy)
    for inner in children(node):
        yield from _unplaced(context, clique, inner, inside)


def _is_read(context: Context, name: str) -> bool:
    """Whether a name has a value at each position."""
    signature = FUNCTIONS.get(name)
    position = signature is not None and not signature.parameters and name != "bias"
    return context.named(name, COLUMN, "feature group") is not None or position


def gaps_and_edges(context: Context) -> Iterator[Diagnostic]:
    for clique, _ in _relational(context):
        least, most = (_number(context, value) for value in (clique.min_gap, clique.max_gap))
        if least is not None and most is not None and least > most:
            message, at = f"no two positions are at least {least} and at most {most} apart", clique.place_of("max_gap")
            yield context.complaint("empty-gap", message, at, f"below `min_gap = {least}`")
        if clique.edges == "pad":
            message = "`edges = pad` has no meaning in a clique with `where`: it joins positions of the sequence"
            yield context.warning("idle-setting", message, clique.place_of("edges"), "has no effect")


def no_equality(context: Context) -> Iterator[Diagnostic]:
    """Positions are joined on equal values; without an equality every pair of positions must be tested."""
    for clique, where in _relational(context):
        if len(clique.positions) != 2 or clique.max_gap is not None:
            continue
        if clique.order == "forward" and index_gaps(context.spec, where, clique.positions)[1] is not None:
            continue
        equalities = (part for part in conjuncts(where) if isinstance(part, ex.Equals) and not part.negated)
        named = ({place.position for place in term_places(part) if isinstance(place, ex.Named)} for part in equalities)
        if any(len(positions) == 2 for positions in named):
            continue
        first, second = clique.positions
        message = f"no equality joins `{first}` and `{second}`: every pair of positions of a sentence is tried"
        remedy = f"add one with `and`, as in `word[{first}] = word[{second}]`, or bound the distance by `max_gap`"
        yield context.warning("no-equality", message, where, "joins by trying", remedy)


def _number(context: Context, value: int | ex.Reference | None) -> int | None:
    settled = plain(context.spec.settled(value)) if isinstance(value, ex.Reference) else value
    return settled if isinstance(settled, int) else None


def offsets(context: Context) -> Iterator[Diagnostic]:
    """An offset adds scores of the states of exactly the variables of its clique."""
    for holder, feature in every_feature(context.spec):
        for offset in filter(is_offset, factors_of(feature)):
            column = next(filter(None, map(context.spec.column, reference_names(nodes(offset)))), None)
            name = "" if column is None else column.name
            scored = () if column is None else column.type.of
            write = f"write `clique {_sites_of(scored)}: offset({name})`" if scored else None
            if not isinstance(holder, CliqueSpec) or holder.segmental or holder.relational:
                message = "scores that are given belong to a clique over neighbouring positions"
                yield context.complaint("misplaced-offset", message, offset, "not here", write)
                continue
            sites = tuple(site.variable for site in holder.sites)
            if scored and sites != scored:
                message = f"`{name}` has scores of `{', '.join(scored)}`, and the clique is over `{', '.join(sites)}`"
                there: Others = [(column, "declared here")]
                remedy = f"{write}, or declare `{name}: scores({', '.join(sites)})`"
                yield context.complaint("misplaced-offset", message, offset, "other variables", remedy, there)


def _sites_of(variables: Sequence[str]) -> str:
    """Sites of a clique over the variables: of one that is there twice, the positions before it and its own."""
    left = [variables[n + 1 :].count(variable) for n, variable in enumerate(variables)]
    return ", ".join(f"{one}[-{back}]" if back else one for one, back in zip(variables, left, strict=True))


def scored_variables(context: Context) -> Iterator[Diagnostic]:
    """What `scores(y)` names is a variable, or a view of one."""
    if context.unlabelled:
        return  # there is no label at all, which is reported instead
    for column in () if context.spec.data is None else context.spec.data.columns:
        for n, name in enumerate(column.type.of):
            entry, at = context.named(name), column.type.place_of("of", n)
            if entry is not None and entry.kind not in LABEL_KINDS and not context.may_be_lost(name):
                message = f"`{name}` is {a(entry.kind)}, and `scores` takes variables"
                yield context.complaint("wrong-kind", message, at, "no variable")


RULES: tuple[Rule, ...] = (
    window_in_site, same_site_twice, no_anchor, place_without_where, relational_options, label_without_clique,
    offsets, scored_variables,
)  # fmt: skip


PLACE_RULES: tuple[Rule, ...] = (
    bad_window, window_in_condition, unknown_position, group_cycle, groups_too_deep, too_many_features,
    two_positions, place_of_each_term, no_equality, gaps_and_edges,
)  # fmt: skip
