"""The rule that decodes labels: the stage names it, else the `decode` statement, else it follows from the criterion.

Locally normalised training of a directed model maximises the product of its pieces' distributions. The normalisers
cancel part of each score, so the labelling with the highest score means little; decoding maximises the product that was
trained (McCallum & Sutton 2004 §3, "standard MEMM inference"). Pseudolikelihood estimates the model whose conditionals
it multiplies (Besag 1975), and that model is decoded jointly. Not here: decoding itself; whether pieces of learned
sizes fit (`criteria.pieces.piece_likelihood`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple, TypeAlias

from ...foundation import DcrfError
from ..conditions import view_label
from ..schema import At, Here, ModelSpec, Piece, Site, SpanTable
from .method_settings import MethodSettings
from .piece_shorthands import pieces_of
from .settings_reading import decode_statement, stage_settings
from .training_settings import BidirectionalSettings, MemmSettings, PiecewiseSettings

JOINT, LOCAL = "joint", "local"
Parent: TypeAlias = tuple[str, int | None]  # a variable that a piece conditions on, and its offset if it is fixed


class DecodeRule(NamedTuple):
    """A decoding rule. name: the rule.   trained: the criterion that it follows from; None where the stage or the
    statement names the rule, and for the default `joint`.
    """

    name: str
    trained: str | None = None


def decoding(spec: ModelSpec, label: str | None = None, *, spans: SpanTable | None = None) -> str:
    """The decoding rule after stage `label` (None: the last)."""
    return decode_rule(spec, label, spans=spans).name


def decode_rule(spec: ModelSpec, label: str | None = None, *, spans: SpanTable | None = None) -> DecodeRule:
    """The decoding rule after stage `label` (None: the last), and its origin."""
    settings = stage_settings(spec, label, spans=spans)
    written = settings.decode or decode_statement(spec, spans=spans)
    if written is not None:
        return DecodeRule(written)
    criterion = settings.criterion
    if _is_local(spec, criterion):
        return DecodeRule(LOCAL, criterion.method)
    return DecodeRule(JOINT) if criterion.decode is None else DecodeRule(criterion.decode, criterion.method)


def _is_local(spec: ModelSpec, criterion: MethodSettings) -> bool:
    """Whether a criterion trains the product of its pieces' distributions."""
    if isinstance(criterion, MemmSettings | BidirectionalSettings):
        return True
    return isinstance(criterion, PiecewiseSettings) and bool(criterion.pieces) and _has_pieces_in_order(spec, criterion)


def _has_pieces_in_order(spec: ModelSpec, criterion: PiecewiseSettings) -> bool:
    """Whether the pieces are those of a directed model, or of two that read in opposite directions.

    Together they hold every clique. Each is over variables of one position. Those of a direction have each variable in
    exactly one of them, and all condition on earlier variables only, or all on later ones.
    """
    try:
        pieces = pieces_of(spec, criterion)
    except (DcrfError, KeyError):  # an unknown piece, which the checker reports
        return False
    if {member.clique for piece in pieces for member in piece.members} != {clique.label for clique in spec.cliques}:
        return False
    if not all(isinstance(site.place, Here) for piece in pieces for site in piece.over):
        return False
    variables = {item.name for part in (spec.labels, spec.latents) for item in part}
    parents = [list(_parents(spec, piece, variables)) for piece in pieces]
    if any(offset is None for piece_parents in parents for _, offset in piece_parents):
        return False
    offsets = [{offset for _, offset in piece_parents if offset} for piece_parents in parents]
    directions = [[n for n, own in enumerate(offsets) if any(sign * o > 0 for o in own)] for sign in (-1, 1)]
    if not all(directions):
        directions = [list(range(len(pieces)))]
    elif sorted(directions[0] + directions[1]) != list(range(len(pieces))):  # some have both, or none
        return False
    return any(parents) and all(_is_ordered(pieces, parents, own, variables) for own in directions)


def _is_ordered(
    pieces: Sequence[Piece], parents: Sequence[Sequence[Parent]], chosen: Sequence[int], variables: AbstractSet[str]
) -> bool:
    """Whether the chosen pieces have each variable once, and condition on each other in no circle."""
    piece_of = {site.variable: number for number in chosen for site in pieces[number].over}
    if sum(len(pieces[number].over) for number in chosen) != len(piece_of) or piece_of.keys() != variables:
        return False
    before = {
        number: {piece_of[name] for name, offset in parents[number] if offset == 0 and name in piece_of}
        for number in chosen
    }
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return False
    return True


def _parents(spec: ModelSpec, piece: Piece, variables: AbstractSet[str]) -> Iterator[Parent]:
    """The variables that a piece conditions on, with their offsets; None for an offset that the data decides.

    A memory follows from earlier variables, so a memory at the piece's position or earlier counts as earlier.
    """
    over = {site.variable for site in piece.over}
    by_label = {clique.label: clique for clique in spec.cliques}
    views = {view.name: view_label(spec, view) for view in spec.views}
    for member in piece.members:
        clique = by_label[member.clique]
        for site in clique.sites:
            name = views.get(site.variable) or site.variable
            if clique.positions:
                yield name, None
                continue
            offset = _offset(site) + (member.place.offset if isinstance(member.place, At) else 0)
            if name not in variables:
                yield name, None if offset > 0 else -1
            elif offset or name not in over:
                yield name, offset


def _offset(site: Site) -> int:
    return site.place.offset if isinstance(site.place, At) else 0
