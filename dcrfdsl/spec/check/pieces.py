"""Rules on pieces: what they are over, that their cliques touch it, and what training in pieces cannot do.

Not here: whether their names are known (`names`, `training`), sizes, which follow from the data (`criteria.piecewise`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import Diagnostic
from ..convert import as_call
from ..expressions import At, Named
from ..model import CliqueSpec, Member, Piece, Site
from .context import Context, Rule, listed
from .graph import site_offset
from .stages import running_stages

__all__ = ["RULES"]

DIRECTED = ("memm", "bidirectional")
ONE_BY_ONE = (*DIRECTED, "pseudolikelihood", "pwpl")
PIECEWISE = (*ONE_BY_ONE, "piecewise")
NO_PIECES = "`local` decodes by the pieces that a model is trained in, and there are none"
ALL = "all"
LATENT = "piece-conditions-on-latent"


def over_hidden(context: Context) -> Iterator[Diagnostic]:
    """A piece is over labels and latent variables, at single positions or at every one."""
    for n, piece in enumerate(context.spec.pieces):
        for s, site in enumerate(piece.over):
            found = context.named(site.variable, "memory", "view")
            if found is not None and not context.named(site.variable, "label", "latent"):
                message = f"a piece cannot be over `{site.variable}`, which follows from the labels"
                remedy = "name the labels that it is made of"
                yield context.complaint(
                    "piece-over", message, ("pieces", n, "over", s, "variable"), "not chosen freely", help=remedy
                )
        everywhere = [_is_everywhere(site) for site in piece.over]
        if any(everywhere) and not all(everywhere):
            s = everywhere.index(False)
            name = piece.over[s].variable
            message = f"`{name}` stands at one position beside variables at every position"
            yield context.complaint(
                "piece-over", message, ("pieces", n, "over", s), "one position", help=f"write `{name}[all]`"
            )


def _is_everywhere(site: Site) -> bool:
    return isinstance(site.place, Named) and site.place.position == ALL


def members_apart(context: Context) -> Iterator[Diagnostic]:
    """Each clique of a piece touches a variable that the piece is over; joined ones have no anchor to move."""
    for n, piece in enumerate(context.spec.pieces):
        for m, member in enumerate(piece.members):
            clique = next((c for c in context.spec.cliques if c.label == member.clique), None)
            if clique is None:
                continue
            at = ("pieces", n, "members", m)
            moved = isinstance(member.place, At)
            if clique.positions and moved:
                message = f"`{member.clique}` lies where the data joins positions, and cannot be moved"
                yield context.complaint("piece-member", message, at, "has no anchor", help="remove the index")
            elif moved and any(map(_is_everywhere, piece.over)):
                message = f"the piece holds `{member.clique}` at every position, and cannot move it"
                yield context.complaint("piece-member", message, at, "is everywhere", help="remove the index")
            elif not _touches(context, piece, member, clique):
                over = listed(_shown(site) for site in piece.over)
                message = f"`{member.clique}` touches nothing that piece `{piece.name}` is over"
                remedy = f"move it with an index such as `{member.clique}[1]`, or remove it; the piece is over {over}"
                yield context.complaint("piece-member", message, at, "normalised over nothing of it", help=remedy)


def _touches(context: Context, piece: Piece, member: Member, clique: CliqueSpec) -> bool:
    anywhere = bool(clique.positions)
    shift = site_offset(member.place) or 0
    sites = {(_label(context, site.variable), (site_offset(site.place) or 0) + shift) for site in clique.sites}
    names = {name for name, _ in sites}
    for site in piece.over:
        if site.variable in names and (anywhere or _is_everywhere(site)):
            return True
        if (site.variable, site_offset(site.place)) in sites:
            return True
    return False


def _label(context: Context, name: str) -> str:
    """The label that a site of this name is about: a view reads one label, whose name stands in its condition."""
    if not context.named(name, "view"):
        return name
    view = next(view for view in context.spec.views if view.name == name)
    words = view.model_dump_json()
    return next((label.name for label in context.spec.labels if f'"{label.name}"' in words), name)


def _shown(site: Site) -> str:
    if _is_everywhere(site):
        return f"{site.variable}[all]"
    offset = site_offset(site.place)
    return f"{site.variable}[{offset}]" if offset else site.variable


def latents_apart(context: Context) -> Iterator[Diagnostic]:
    """What is never known cannot be conditioned on: a piece is over every latent variable that it touches."""
    latents = {latent.name for latent in context.spec.latents}
    for n, piece in enumerate(context.spec.pieces):
        over = {(site.variable, site_offset(site.place)) for site in piece.over}
        everywhere = {site.variable for site in piece.over if _is_everywhere(site)}
        for m, member in enumerate(piece.members):
            for clique in (c for c in context.spec.cliques if c.label == member.clique):
                shift = site_offset(member.place) or 0
                for site in clique.sites:
                    place = (site.variable, (site_offset(site.place) or 0) + shift)
                    if site.variable in latents and place not in over and site.variable not in everywhere:
                        message = f"piece `{piece.name}` would condition on `{site.variable}`, which is never known"
                        remedy = f"make it over `{_at(*place)}` as well"
                        at = ("pieces", n, "members", m)
                        yield context.complaint(LATENT, message, at, "touches it", help=remedy)


def _at(name: str, offset: int) -> str:
    return f"{name}[{offset}]" if offset else name


def shorthands(context: Context) -> Iterator[Diagnostic]:
    """What `memm` and its like cannot be made of."""
    latents = {latent.name for latent in context.spec.latents}
    for n in running_stages(context):
        for stage in context.spec.stages[n : n + 1]:
            name, at = stage.criterion.name, ("stages", n, "criterion", "name")
            joined = [clique.label for clique in context.spec.cliques if clique.positions]
            if name in DIRECTED and joined:
                message = f"`{name}` needs an order of the variables, and the data decides which `{joined[0]}` joins"
                remedy = "take `pseudolikelihood` or `piecewise`, which need none"
                yield context.complaint("no-order", message, at, "needs an order", help=remedy)
            several = [c for c in context.spec.cliques if len(c.sites) > 1 and latents & {s.variable for s in c.sites}]
            if name in ONE_BY_ONE and several:
                hidden = next(site.variable for site in several[0].sites if site.variable in latents)
                message = f"`{name}` would condition on `{hidden}`, which is never known"
                remedy = f"name pieces that are over it, as in `piece NAME over y, {hidden}: …`, or take `piecewise`"
                yield context.complaint(LATENT, message, at, "takes variables one by one", help=remedy)


def local_decoding(context: Context) -> Iterator[Diagnostic]:
    """`decode local` goes by the pieces of a stage that runs."""
    running = [context.spec.stages[n] for n in running_stages(context) if n < len(context.spec.stages)]
    if any(stage.criterion.name in PIECEWISE for stage in running):
        return
    remedy = "train by `memm`, or by `piecewise` with pieces, or write `decode joint`"
    if context.spec.decode.name == "local":
        yield context.complaint("no-pieces", NO_PIECES, ("decode",), "by which pieces?", help=remedy)
    for n in running_stages(context):
        for stage in context.spec.stages[n : n + 1]:
            for s, setting in enumerate(stage.criterion.settings):
                method = as_call(context.spec.settled(setting.value))
                if setting.key == ("decode",) and method is not None and method.name == "local":
                    at = ("stages", n, "criterion", "settings", s, "value")
                    yield context.complaint("no-pieces", NO_PIECES, at, "by which pieces?", help=remedy)


RULES: tuple[Rule, ...] = (over_hidden, members_apart, latents_apart, shorthands, local_decoding)
