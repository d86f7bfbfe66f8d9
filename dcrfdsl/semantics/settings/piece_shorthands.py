"""The pieces that criteria stand for: `memm`, `pseudolikelihood`, `pwpl`, `bidirectional`, `piecewise`.

Each is a rule that builds pieces from the cliques of a specification (McCallum & Sutton 2004 §2), so that one engine
serves all and `check --expand` can print the expansion. Variables are ordered by position, and within a position by
declaration. Not here: the computations on pieces.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set

from ...syntax import Argument, At, CallSpec, CliqueSpec, Here, Member, Named, Piece, Place, Reference, Site
from ..conditions import view_label
from ..schema import ModelSpec, shift_of_site
from .settings_reading import stage_chain, stage_settings
from .training_settings import MemmSettings, PieceSettings, PiecewiseSettings


def _place(offset: int) -> Place:
    return At(offset=offset) if offset else Here()


_EVERYWHERE = Named(position="all", shift=0)


def _hidden(spec: ModelSpec) -> tuple[str, ...]:
    """The variables that a piece can be normalised over, in order of declaration."""
    return tuple(item.name for part in (spec.labels, spec.latents) for item in part)


def _label_of(spec: ModelSpec, name: str) -> str:
    """The label of a site with this name: itself, or the label that a view maps."""
    view = spec.views_by_name.get(name)
    return name if view is None else view_label(spec, view) or name


def by_clique(spec: ModelSpec) -> tuple[Piece, ...]:
    """`piecewise`: one piece per clique, over all its variables; if the data joins them, over every position."""
    return tuple(
        Piece(
            name=f"piece_{number}",
            over=tuple(
                dict.fromkeys(
                    Site(variable=_label_of(spec, site.variable), place=_EVERYWHERE if clique.positions else site.place)
                    for site in clique.sites
                )
            ),
            members=(Member(clique=clique.label, place=Here()),),
        )
        for number, clique in enumerate(spec.cliques, 1)
    )


def by_site(spec: ModelSpec) -> tuple[Piece, ...]:
    """`pwpl`: for each clique and each of its variables, that variable given the others."""
    return tuple(
        Piece(
            name=f"piece_{number}_{turn}",
            over=(Site(variable=_label_of(spec, site.variable), place=site.place),),
            members=(Member(clique=clique.label, place=Here()),),
        )
        for number, clique in enumerate(spec.cliques, 1)
        for turn, site in enumerate(clique.sites, 1)
    )


def by_variable(spec: ModelSpec) -> tuple[Piece, ...]:
    """`pseudolikelihood`: one piece per variable, with every instance of a clique that touches it."""
    members: dict[str, list[tuple[str, int]]] = {name: [] for name in _hidden(spec)}
    for clique in spec.cliques:
        for site in clique.sites:
            touching = members.get(_label_of(spec, site.variable))
            if touching is not None:
                touching.append((clique.label, 0 if clique.positions else -shift_of_site(site.place)))
    return tuple(_over_one(f"only_{name}", name, touching) for name, touching in members.items() if touching)


def directed(spec: ModelSpec, direction: int, *, by_slice: bool = False) -> tuple[Piece, ...]:
    """`memm`: each clique in the piece of its last variable, given the earlier ones; for a direction of -1, as of
    `memm(order = reverse)`, in that of its first variable, given the later ones.
    """
    hidden = {name: number for number, name in enumerate(_hidden(spec))}
    ending: dict[str, list[tuple[str, int]]] = {name: [] for name in hidden}
    for clique in spec.cliques:
        variable, offset = _last(spec, clique, hidden, direction)
        ending[variable].append((clique.label, -offset))
    word = "next" if direction > 0 else "before"
    if by_slice:
        members = [member for piece_members in ending.values() for member in piece_members]
        over = tuple(Site(variable=name, place=Here()) for name in hidden)
        return (Piece(name=word, over=over, members=_members(members)),)
    return tuple(
        _over_one(f"{word}_{name}", name, piece_members) for name, piece_members in ending.items() if piece_members
    )


def _last(spec: ModelSpec, clique: CliqueSpec, hidden: Mapping[str, int], direction: int) -> tuple[str, int]:
    """The variable of a clique that comes last in this direction, and its offset; memories are never last."""
    sites = [(shift_of_site(site.place), hidden[label], label) for site in clique.sites
             if (label := _label_of(spec, site.variable)) in hidden]  # fmt: skip
    offset, _, label = max(sites) if direction > 0 else min(sites)
    return label, offset


def _over_one(name: str, variable: str, members: Iterable[tuple[str, int]]) -> Piece:
    return Piece(name=name, over=(Site(variable=variable, place=Here()),), members=_members(members))


def _members(members: Iterable[tuple[str, int]]) -> tuple[Member, ...]:
    return tuple(Member(clique=label, place=_place(shift)) for label, shift in dict.fromkeys(members))


# what a criterion stands for ------------------------------------------------------------------------------------------


def _named(spec: ModelSpec, settings: PieceSettings) -> tuple[Piece, ...]:
    assert isinstance(settings, PiecewiseSettings)
    if not settings.pieces:
        return by_clique(spec)
    by_name = {piece.name: piece for piece in spec.pieces}
    return tuple(by_name[name] for name in settings.pieces)


def _memm(spec: ModelSpec, settings: PieceSettings) -> tuple[Piece, ...]:
    assert isinstance(settings, MemmSettings)
    return directed(spec, 1 if settings.order == "declared" else -1, by_slice=settings.by == "slice")


PIECES: Mapping[str, Callable[[ModelSpec, PieceSettings], tuple[Piece, ...]]] = {
    "piecewise": _named,
    "memm": _memm,
    "pseudolikelihood": lambda spec, _: by_variable(spec),
    "pwpl": lambda spec, _: by_site(spec),
    "bidirectional": lambda spec, _: (*directed(spec, 1), *directed(spec, -1)),
}


def pieces_of(spec: ModelSpec, settings: PieceSettings) -> tuple[Piece, ...]:
    """The pieces of a criterion."""
    return PIECES[settings.method](spec, settings)


def last_pieces(spec: ModelSpec, stage: str | None = None) -> tuple[Piece, ...]:
    """The pieces of the last stage with pieces in the chain that ends in `stage` (None: the last stage)."""
    for entry in reversed(stage_chain(spec, stage)):
        criterion = stage_settings(spec, entry.label).criterion
        if isinstance(criterion, PieceSettings):
            return pieces_of(spec, criterion)
    return ()


def times_trained(pieces: Iterable[Piece]) -> dict[str, int]:
    """How often the pieces train each clique; a single piece may contain a clique several times."""
    counts: Counter[str] = Counter()
    for piece in pieces:
        counts.update(member.clique for member in piece.members if not member.locked)
    return dict(counts)


def expanded(spec: ModelSpec, stage: str | None = None) -> ModelSpec:
    """The same model with shorthands expanded: it declares their pieces and trains `piecewise`."""
    chain = {entry.label for entry in stage_chain(spec, stage)}
    if any(isinstance(stage_settings(spec, label).criterion, PieceSettings) for label in chain):
        spec = _with_named_cliques(spec)
    pieces, stages = {piece.name: piece for piece in spec.pieces}, []
    others = _taken(spec) - set(pieces)
    for entry in spec.stages:
        criterion = stage_settings(spec, entry.label).criterion if entry.label in chain else None
        if isinstance(criterion, PieceSettings):
            pieces_of_stage = [_with_free_name(others, pieces, piece) for piece in pieces_of(spec, criterion)]
            pieces |= {piece.name: piece for piece in pieces_of_stage}
            kept = tuple(a for a in entry.criterion.arguments if a.name is not None and a.name not in _SHORT)
            names = tuple(Argument(value=Reference(name=piece.name, place=Here())) for piece in pieces_of_stage)
            settings = tuple(s for s in entry.criterion.settings if s.key[0] not in _SHORT)
            call = CallSpec(name="piecewise", arguments=(*names, *kept), settings=settings)
            entry = entry.model_copy(update={"criterion": call, "name": entry.label})
        stages.append(entry)
    return spec.model_copy(update={"pieces": tuple(pieces.values()), "stages": tuple(stages)})


def _with_named_cliques(spec: ModelSpec) -> ModelSpec:
    """The same model with a name for each clique, by which pieces can hold it."""
    taken = _taken(spec)
    cliques = []
    for number, clique in enumerate(spec.cliques, 1):
        name = clique.name or f"clique_{number}"
        while clique.name is None and name in taken:
            name += "_"
        taken.add(name)
        cliques.append(clique if clique.name else clique.model_copy(update={"name": name}))
    return spec.model_copy(update={"cliques": tuple(cliques)})


def _with_free_name(others: Set[str], pieces: Mapping[str, Piece], piece: Piece) -> Piece:
    """The piece, by another name where the template has its name for something else.

    others: the names of all that is no piece.
    """
    name = piece.name
    while name in others or pieces.get(name, piece).model_copy(update={"name": "", "doc": ()}) != piece.model_copy(
        update={"name": ""}
    ):
        name += "_"
    return pieces.get(name, piece.model_copy(update={"name": name}))


def _taken(spec: ModelSpec) -> set[str]:
    """The names that the template declares."""
    return {name for name, _ in spec.named()} | {column.name for column in (spec.data.columns if spec.data else ())}


_SHORT = ("order", "by")  # settings that the pieces express
