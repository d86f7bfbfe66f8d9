"""Rules on relational cliques: two named positions, joined by observations there.

Not here: positions without a site (`position_rules`), named sites without `where` (`clique_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...foundation import Diagnostic
from ..conditions import index_gaps
from ..schema import (
    FUNCTIONS,
    Apply,
    CliqueSpec,
    Equals,
    Named,
    Node,
    Path,
    Reference,
    conjuncts,
    nodes,
    place_text,
    plain,
    term_places,
)
from .context import COLUMN, KINDS, Context, Rule, listed
from .own_function_rules import is_whole


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
            yield context.complaint("two-positions", message, (*path, "sites", 0), "not two positions", help=remedy)
            continue
        for s, site in enumerate(clique.sites):
            if not isinstance(site.place, Named):
                first, second = clique.positions
                message = (
                    f"the site `{site.variable}{place_text(site.place)}` stands at neither of the joined positions"
                )
                remedy = f"write `{site.variable}[{first}]` or `{site.variable}[{second}]`"
                yield context.complaint("two-positions", message, (*path, "sites", s), "at which one?", help=remedy)


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
            yield context.complaint("place-in-relation", message, at, "at which one?", help=remedy)


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
            yield context.complaint("idle-setting", message, (*path, "edges"), "has no effect", severity="warning")


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
        yield context.complaint(
            "no-equality", message, (*path, "where"), "joins by trying", help=remedy, severity="warning"
        )


def _positions_of(part: Node) -> set[str]:
    """The named positions that a condition reads."""
    return {place.position for place in term_places(part) if isinstance(place, Named)}


def _number(context: Context, value: int | Reference | None) -> int | None:
    settled = plain(context.spec.settled(value)) if isinstance(value, Reference) else value
    return settled if isinstance(settled, int) else None


RULES: tuple[Rule, ...] = (two_positions, place_of_each_term, no_equality, gaps_and_edges)
