"""The cliques of a specification unrolled over a few positions, as text: which variables stand in one factor.

It needs no data, so that states may be unknown; anchors are those of `CliqueTemplate`. Not here: the graph of a
sentence (`drawing`), what is computed on it (`unroll`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..semantics import ModelSpec, longest_segment, place_text, shift_of_site
from ..syntax import CliqueSpec, Reference, Site, statement_text
from .templates import CliqueTemplate

FEWEST = 4  # positions
OUTSIDE = {-1: "START", 1: "STOP"}


def clique_listing(spec: ModelSpec, states: Mapping[str, Sequence[str] | None]) -> str:
    """The variables of a position, and the instances of each clique.   states: by variable, None if data tell them."""
    offsets = [[shift_of_site(site.place) for site in clique.sites] for clique in spec.cliques if not clique.relational]
    length = max([FEWEST, *(max(of_sites) - min(of_sites) + 1 for of_sites in offsets)])
    lines = [f"variables of each of the positions 1 to {length}"]
    for kind, items in (("label", spec.labels), ("latent", spec.latents), ("memory", spec.memories)):
        for item in items:
            known = states.get(item.name)
            count = "states of the data" if known is None else f"{len(known):,} state{'s' * (len(known) != 1)}"
            lines.append(f"  {kind} {item.name}: {count}")
    for number, clique in enumerate(spec.cliques):
        title = f"clique {clique.name}: " if clique.name else "clique "
        instances = _instances(spec, number, clique, length)
        lines += ["", title + _listed(clique.sites), *(f"  {text}" for text in instances)]
    constraints = [statement_text(one) for one in (*spec.constraints, *spec.onces, *spec.runs)]
    if constraints:
        lines += ["", "at each position", *(f"  {line}" for text in constraints for line in text.splitlines())]
    for piece in spec.pieces:
        members = ", ".join("locked " * one.locked + one.clique + place_text(one.place) for one in piece.members)
        lines += ["", f"piece {piece.name} over {_listed(piece.over)}", f"  {members}"]
    return "\n".join(lines) + "\n"


def _listed(sites: Sequence[Site]) -> str:
    return ", ".join(site.variable + place_text(site.place) for site in sites)


def _instances(spec: ModelSpec, number: int, clique: CliqueSpec, length: int) -> Iterator[str]:
    if clique.segmental:
        yield from _segments(clique.sites[0].variable, longest_segment(spec, clique), clique, length)
    elif clique.relational:
        yield f"wherever the data join {_joined(clique)}"
    else:
        offsets = tuple(shift_of_site(site.place) for site in clique.sites)
        one = (1,) * len(offsets)
        template = CliqueTemplate(clique.label, number, one, offsets, one, pad=clique.edges == "pad")
        for anchor in template.anchors(length):
            pattern = template.pattern(anchor, length)
            if 0 in pattern:
                sites = zip(clique.sites, offsets, pattern, strict=True)
                yield ", ".join(
                    f"{site.variable}[{anchor + offset + 1}]" if not outside else OUTSIDE[outside]
                    for site, offset, outside in sites
                )


def _joined(clique: CliqueSpec) -> str:
    """`positions i and j, at most 200 apart`"""
    gaps = [
        f"{words} {bound.name if isinstance(bound, Reference) else bound}"
        for words, bound in (("at least", clique.min_gap), ("at most", clique.max_gap))
        if bound is not None and bound != 1
    ]
    apart = f", {' and '.join(gaps)} apart" if gaps else ""
    return f"positions {' and '.join(clique.positions)}{apart}" if clique.positions else "a pair of positions"


def _segments(variable: str, longest: int, clique: CliqueSpec, length: int) -> Iterator[str]:
    """The candidates at each position, from the shortest on."""
    for first in range(1, length + 1):
        longer = range(first + 1, min(length, first + longest - 1) + 1)
        yield " | ".join([f"{variable}[{first}]", *(f"{variable}[{first}..{end}]" for end in longer)])
    if clique.longer == "together":
        yield f"segments of more than {longest:,} tokens, which have one length together"
