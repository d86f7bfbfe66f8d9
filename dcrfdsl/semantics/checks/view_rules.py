"""Rules on views: a view maps the states of one label, and is not a separate variable.

Not here: names and terms inside a view (`name_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...foundation import Diagnostic
from ..schema import Apply, Named, Path, Reference, View, place_offset, place_text, reference_names, value_if_nodes
from .context import Context, Rule, listed


def _read(context: Context, number: int, view: View) -> list[tuple[Path, Reference]]:
    """The variables that a view reads, each with its path."""
    spec = context.spec
    return [
        (path, node)
        for path, node in value_if_nodes(view.value, ("views", number, "value"))
        if isinstance(node, Reference) and (node.name in spec.hidden_names or node.name in spec.views_by_name)
    ]


def one_label(context: Context) -> Iterator[Diagnostic]:
    """`view coarse = prefix(pos, 1)`: one label, at the current position."""
    labels = {label.name for label in context.spec.labels}
    for n, view in enumerate(context.spec.views):
        read = _read(context, n, view)
        names = list(dict.fromkeys(node.name for _, node in read))
        names_of_all = set(reference_names(value_if_nodes(view.value)))
        if not read and (context.unlabelled or not names_of_all.isdisjoint(context.meant_as_labels)):
            continue  # its `label` statement is missing
        if not read:
            message = f"view `{view.name}` reads no label: it has nothing to map"
            yield context.complaint("bad-view", message, ("views", n, "name"), "of which label?")
        elif len(names) > 1 or names[0] not in labels:
            message = f"view `{view.name}` reads {listed(names)}, and a view maps the states of one label"
            yield context.complaint("bad-view", message, read[-1][0], "not one label")
        for path, node in value_if_nodes(view.value, ("views", n, "value")):
            if not isinstance(node, Reference | Apply):
                continue
            if isinstance(node.place, Named) or place_offset(node.place) != 0:
                message = f"view `{view.name}` reads `{place_text(node.place)}`, and a view is of one position"
                remedy = f"read the position itself, and shift the view in the clique: `{view.name}[-1]`"
                yield context.complaint("bad-view", message, (*path, "place"), "another position", help=remedy)


def one_variable_twice(context: Context) -> Iterator[Diagnostic]:
    """A label and a view of it, or two views of it, at one position are the same variable."""
    label_of = {}
    for n, view in enumerate(context.spec.views):
        names = {node.name for _, node in _read(context, n, view)}
        if len(names) == 1:
            label_of[view.name] = names.pop()
    for n, clique in enumerate(context.spec.cliques):
        seen: dict[tuple[str, str], str] = {}
        for s, site in enumerate(clique.sites):
            label = label_of.get(site.variable, site.variable)
            offset = place_offset(site.place)
            key = label, place_text(site.place) if offset is None else str(offset)
            if key in seen and seen[key] != site.variable:
                message = f"`{site.variable}` and `{seen[key]}` are the same variable at one position, `{label}`"
                remedy = f"the clique over `{label}` alone tells all its states apart"
                at = ("cliques", n, "sites", s)
                yield context.complaint("same-site-twice", message, at, "the same variable", help=remedy)
            seen.setdefault(key, site.variable)


RULES: tuple[Rule, ...] = (one_label, one_variable_twice)
