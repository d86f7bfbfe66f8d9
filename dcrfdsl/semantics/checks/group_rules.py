"""Rules on feature groups that contain each other: cycles, deep nesting, lists that grow too long.

Not here: names inside a group (`name_rules`), places in brackets (`position_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...foundation import Diagnostic, quoted_names
from ..conditions import COUNT_LIMIT, DEEPEST, MOST_FEATURES, GroupTree, held_names
from .context import Context, Rule
from .walk import every_feature

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
        yield context.complaint("groups-too-deep", message, path, f"level {DEEPEST + 1}", help=remedy)


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
        yield context.complaint("too-many-features", message, path, "too many", help=remedy)


RULES: tuple[Rule, ...] = (group_cycle, groups_too_deep, too_many_features)
