"""Rules on pieces: their variables, the ties of their cliques to them, and the limits of training in pieces.

Not here: unknown names (`name_rules`, `training_rules`), sizes, which follow from the data
(`criteria.piece_likelihood`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ...foundation import Diagnostic
from ...syntax import At, CliqueSpec, Member, Named, Piece, Reference, Site
from ..conditions import view_label
from ..schema import as_call, place_offset, place_text
from .checked_stages import running_statements
from .clique_rules import WIDEST
from .context import Context, Rule, listed

DIRECTED = ("memm", "bidirectional")
ONE_BY_ONE = (*DIRECTED, "pseudolikelihood", "pwpl")
PIECEWISE = (*ONE_BY_ONE, "piecewise")
NO_PIECES = "`local` decodes by the pieces that a model is trained in, and there are none"
ALL, ANY = "all", "any"
LATENT = "piece-conditions-on-latent"


def sites(context: Context) -> Iterator[Diagnostic]:
    """A piece is over labels and latent variables, each once, at single positions or at all."""
    for piece in context.spec.pieces:
        if not piece.over or not piece.members:
            lacks = "holds no clique" if piece.over else "is over no variable"
            remedy = "write `piece NAME over SITES: CLIQUES`"
            yield context.complaint("piece-over", f"piece `{piece.name}` {lacks}", piece, lacks, remedy)
        seen: dict[str, Site] = {}
        for site in piece.over:
            shown = site.variable + place_text(site.place)
            if _follows(context, site):
                message = f"a piece cannot be over `{site.variable}`, which follows from the labels"
                remedy = "name the labels that it is made of"
                yield context.complaint("piece-over", message, site.place_of("variable"), "not chosen freely", remedy)
            elif isinstance(site.place, Named) and not _is_everywhere(site):
                message = f"`{shown}` is no position of a piece"
                remedy = f"write an offset, as in `{site.variable}[1]`, or `{site.variable}[all]` for every position"
                yield context.complaint("piece-over", message, site, "neither an offset nor `all`", remedy)
            elif shown in seen:
                message = f"piece `{piece.name}` is over `{shown}` twice"
                remedy, there = "name each variable of a piece once", [(seen[shown], "first here")]
                yield context.complaint("piece-over", message, site, "again here", remedy, there)
            seen.setdefault(shown, site)
        single = next((site for site in piece.over if not _is_everywhere(site)), None)
        if single is not None and any(map(_is_everywhere, piece.over)):
            message = f"`{single.variable}` stands at one position beside variables at every position"
            yield context.complaint("piece-over", message, single, "one position", f"write `{single.variable}[all]`")


def _follows(context: Context, site: Site) -> bool:
    is_free = context.named(site.variable, "label", "latent variable") is not None
    return not is_free and context.named(site.variable, "memory", "view") is not None


def _is_everywhere(site: Site) -> bool:
    return isinstance(site.place, Named) and site.place.position == ALL and not site.place.shift


def _sound(context: Context) -> Iterator[Piece]:
    """The pieces whose variables are known, so that more can be checked."""
    for piece in context.spec.pieces:
        known = (context.named(site.variable, "label", "latent variable") for site in piece.over)
        offsets = [place_offset(site.place) for site in piece.over]
        single = all(offset is not None and abs(offset) <= WIDEST for offset in offsets)
        if piece.over and all(known) and (single or all(map(_is_everywhere, piece.over))):
            yield piece


def members_apart(context: Context) -> Iterator[Diagnostic]:
    """Each clique of a piece touches a variable of the piece and occurs once; a joined clique cannot be shifted."""
    cliques = {clique.label: clique for clique in context.spec.cliques}
    for piece in _sound(context):
        seen: dict[tuple[str, int], Member] = {}
        over = _places(piece)
        for member in piece.members:
            if member.clique not in cliques:
                continue
            clique, shift = cliques[member.clique], place_offset(member.place)
            if shift is None:
                message = f"`{member.clique}{place_text(member.place)}` is no clique at one position"
                remedy = f"an index moves a clique by so many positions, as in `{member.clique}[1]`"
                yield context.complaint("piece-member", message, member, "not a number", remedy)
            elif clique.positions and isinstance(member.place, At):
                message = f"`{member.clique}` lies where the data joins positions, and cannot be moved"
                yield context.complaint("piece-member", message, member, "has no anchor", "remove the index")
            elif isinstance(member.place, At) and any(map(_is_everywhere, piece.over)):
                message = f"the piece holds `{member.clique}` at every position, and cannot move it"
                yield context.complaint("piece-member", message, member, "is everywhere", "remove the index")
            elif not _touched(context, clique, shift).intersection(over):
                message = f"`{member.clique}` touches nothing that piece `{piece.name}` is over"
                remedy = _nearer(context, piece, member.clique, clique)
                yield context.complaint("piece-member", message, member, "normalised over nothing of it", remedy)
            elif (member.clique, shift) in seen:
                message = f"piece `{piece.name}` holds `{_at(member.clique, shift)}` twice"
                there = [(seen[member.clique, shift], "first here")]
                remedy = "name each clique of a piece once, locked or not"
                yield context.complaint("piece-member", message, member, "again here", remedy, there)
            seen.setdefault((member.clique, shift or 0), member)


def _labelled(context: Context, clique: CliqueSpec) -> list[tuple[str, int]]:
    """The label and the offset of each site; for a view, the label that it maps."""
    labels = []
    for site in clique.sites:
        view = context.spec.views_by_name.get(site.variable)
        label = site.variable if view is None else view_label(context.spec, view) or site.variable
        labels.append((label, place_offset(site.place) or 0))
    return labels


_Spot: TypeAlias = tuple[str, int | str]  # a variable at an offset, at every position ("all") or at some ("any")


def _spots(site: Site) -> tuple[_Spot, _Spot]:
    """The spots of a site of a piece: as an ordinary clique touches it, and as a clique joined by the data does."""
    return (site.variable, ALL if _is_everywhere(site) else place_offset(site.place) or 0), (site.variable, ANY)


def _places(piece: Piece) -> set[_Spot]:
    return {spot for site in piece.over for spot in _spots(site)}


def _touched(context: Context, clique: CliqueSpec, shift: int) -> set[_Spot]:
    """The places that a clique touches after a shift; a clique that data joins may be anywhere."""
    labelled = _labelled(context, clique)
    spots: set[_Spot] = {(name, ALL) for name, _ in labelled}
    return spots | {(name, ANY if clique.positions else offset + shift) for name, offset in labelled}


def _nearer(context: Context, piece: Piece, label: str, clique: CliqueSpec) -> str:
    """The remedy for a clique that touches nothing of a piece: the shift that would help, if there is one."""
    labels = _labelled(context, clique)
    over = listed(_shown(site) for site in piece.over)
    shifts = {
        (place_offset(site.place) or 0) - offset
        for site in piece.over
        for name, offset in labels
        if name == site.variable and not clique.positions
    }
    if shifts:
        nearest = sorted(shifts, key=lambda shift: (abs(shift), -shift))[:2]
        return f"write {listed((_at(label, shift) for shift in nearest), 'or')}, or remove it; the piece is over {over}"
    names = listed(dict.fromkeys(name for name, _ in labels))
    more = listed(dict.fromkeys(name for name, _ in labels), "or")
    return (
        f"it touches {names} alone, and the piece is over {over}, so no index helps: remove it, or make the piece over "
        f"{more} as well"
    )


def idle(context: Context) -> Iterator[Diagnostic]:
    """Variables that no clique of a piece touches, and pieces that train nothing."""
    cliques = {clique.label: clique for clique in context.spec.cliques}
    for piece in _sound(context):
        held = [(cliques[m.clique], place_offset(m.place)) for m in piece.members if m.clique in cliques]
        if len(held) < len(piece.members):
            continue
        spots = set().union(*(_touched(context, clique, shift or 0) for clique, shift in held))
        idle = [site for site in piece.over if spots.isdisjoint(_spots(site))]
        for site in idle if len(idle) < len(piece.over) else ():
            message = f"no clique of piece `{piece.name}` touches `{_shown(site)}`"
            remedy = "take it out of the piece, or hold a clique over it"
            yield context.warning("piece-over", message, site, "adds the same to every loss", remedy)
        if piece.members and all(member.locked for member in piece.members):
            message = f"piece `{piece.name}` trains nothing: all its cliques are locked"
            remedy = "remove `locked` from the cliques that it trains"
            yield context.warning("piece-locked", message, piece.place_of("name"), "nothing to train", remedy)


def too_long(context: Context) -> Iterator[Diagnostic]:
    """With data: a piece must fit into some sentence."""
    if context.data is None:
        return
    longest = max(context.data.lengths().tolist(), default=0)
    for piece in _sound(context):
        offsets = [place_offset(site.place) or 0 for site in piece.over]
        span = max(offsets) - min(offsets) + 1
        if span > longest:
            message = f"no sentence has an instance of piece `{piece.name}`"
            words = f"spans {span} positions, and the longest sentence of the data has {longest}"
            remedy = "make it over positions less far apart"
            at = piece.over[offsets.index(max(offsets))]
            yield context.warning("piece-without-instance", message, at, words, remedy)


def named_twice(context: Context) -> Iterator[Diagnostic]:
    """A stage names each piece once; `nota` needs pieces whose joint states can be enumerated."""
    everywhere = {piece.name for piece in context.spec.pieces if any(map(_is_everywhere, piece.over))}
    for stage in running_statements(context):
        call = stage.criterion
        if call.name != "piecewise":
            continue
        has_nota = ("nota",) in {setting.key for setting in call.settings} or "nota" in {a.name for a in call.arguments}
        first: dict[str, Reference] = {}
        for named in (a.value for a in call.arguments if a.name is None and isinstance(a.value, Reference)):
            name = named.name
            if name in first:
                message = f"piece `{name}` is named twice, and would count twice"
                there = [(first[name], "first here")]
                yield context.complaint("piece-twice", message, named, "again here", "name it once", there)
            first.setdefault(name, named)
            if name in everywhere and has_nota:
                message = f"`nota` is not for piece `{name}`, which is over whole sequences"
                remedy = "make it over single positions, or leave out `nota`"
                yield context.complaint("nota-everywhere", message, named, "too many joint states", remedy)


def _shown(site: Site) -> str:
    if _is_everywhere(site):
        return f"{site.variable}[all]"
    return _at(site.variable, place_offset(site.place) or 0)


def latents_apart(context: Context) -> Iterator[Diagnostic]:
    """Unknown variables cannot be conditioned on: a piece is over every latent variable that it touches."""
    latents = {latent.name for latent in context.spec.latents}
    cliques: dict[str, list[CliqueSpec]] = {}
    for clique in context.spec.cliques:
        if any(site.variable in latents for site in clique.sites):
            cliques.setdefault(clique.label, []).append(clique)
    for piece in context.spec.pieces:
        over = {(site.variable, place_offset(site.place)) for site in piece.over}
        everywhere = {site.variable for site in piece.over if _is_everywhere(site)}
        for member in piece.members:
            for clique in cliques.get(member.clique, ()):
                shift = place_offset(member.place) or 0
                for site in clique.sites:
                    place = (site.variable, (place_offset(site.place) or 0) + shift)
                    if site.variable in latents and place not in over and site.variable not in everywhere:
                        message = f"piece `{piece.name}` would condition on `{site.variable}`, which is never known"
                        remedy = f"make it over `{_at(*place)}` as well"
                        yield context.complaint(LATENT, message, member, "touches it", remedy)


def _at(name: str, offset: int) -> str:
    return f"{name}[{offset}]" if offset else name


def shorthands(context: Context) -> Iterator[Diagnostic]:
    """Models that `memm` and similar criteria cannot be applied to."""
    latents = {latent.name for latent in context.spec.latents}
    for stage in running_statements(context):
        name, at = stage.criterion.name, stage.criterion.place_of("name")
        joined = [clique.label for clique in context.spec.cliques if clique.positions]
        if name in DIRECTED and joined:
            message = f"`{name}` needs an order of the variables, and the data decides which `{joined[0]}` joins"
            remedy = "take `pseudolikelihood` or `piecewise`, which need none"
            yield context.complaint("no-order", message, at, "needs an order", remedy)
        if name == "pwpl" and joined:
            message = f"`pwpl` takes the variables of a clique one by one, and no position of `{joined[0]}` is fixed"
            remedy = "take `pseudolikelihood` or `piecewise`"
            yield context.complaint("no-order", message, at, "the data joins them", remedy)
        several = [c for c in context.spec.cliques if len(c.sites) > 1 and latents & {s.variable for s in c.sites}]
        if name in ONE_BY_ONE and several:
            hidden = next(site.variable for site in several[0].sites if site.variable in latents)
            message = f"`{name}` would condition on `{hidden}`, which is never known"
            remedy = f"name pieces that are over it, as in `piece NAME over y, {hidden}: …`, or take `piecewise`"
            yield context.complaint(LATENT, message, at, "takes variables one by one", remedy)


def local_decoding(context: Context) -> Iterator[Diagnostic]:
    """`decode local` uses the pieces of a stage that runs."""
    if any(stage.criterion.name in PIECEWISE for stage in running_statements(context)):
        return
    remedy = "train by `memm`, or by `piecewise` with pieces, or write `decode joint`"
    if context.spec.decode is not None and context.spec.decode.name == "local":
        yield context.complaint("no-pieces", NO_PIECES, context.spec.decode, "by which pieces?", remedy)
    for setting in (setting for stage in running_statements(context) for setting in stage.criterion.settings):
        method = as_call(context.spec.settled(setting.value))
        if setting.key == ("decode",) and method is not None and method.name == "local":
            yield context.complaint("no-pieces", NO_PIECES, setting.value, "by which pieces?", remedy)


RULES: tuple[Rule, ...] = (
    sites, members_apart, idle, latents_apart, too_long, named_twice, shorthands, local_decoding,
)  # fmt: skip
