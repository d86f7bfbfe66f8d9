"""Rules on parts without effect: groups and constants that nothing uses, repeated cliques.

An unused declaration of a used file is not a mistake: a file of groups is a library. Not here: settings without effect,
which belong to their statements; latent variables and memories (`hidden_rules`); states (`occurrence_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...foundation import Diagnostic
from ..schema import CliqueSpec, Frozen, ModelSpec, Path, shown
from .checked_stages import running_stages
from .context import Context, Rule

_KINDS = {"groups": "feature group", "lets": "constant"}
_IDLE = {
    "groups": ("idle-group", "no feature list has it", "list it, as in `clique {label}: {name}`, or remove it"),
    "lets": ("idle-constant", "nothing names it", "use it, as in `prior = gaussian(variance = {name})`, or remove it"),
}


def unused(context: Context) -> Iterator[Diagnostic]:
    """Groups and constants that nothing uses. Those that only they use are not reported."""
    spec = context.spec
    if not spec.cliques:
        return  # a part of a template; `label_without_clique` reports a whole one
    used = _used(spec)
    idle = [item for part in _KINDS for item in getattr(spec, part) if item.name not in used]
    used |= {text for item in idle for text in _texts(item, but="name")}
    label = spec.labels[0].name if spec.labels else "LABEL"
    for part, kind in _KINDS.items():
        slug, words, remedy = _IDLE[part]
        for n, item in enumerate(getattr(spec, part)):
            at: Path = (part, n, "name")
            if item.name in used or not _is_in_main_file(context, at) or context.mentioned_in_lost(item.name):
                continue
            message = f"nothing uses the {kind} `{item.name}`: it changes nothing"
            help = remedy.format(name=item.name, label=label)
            yield context.complaint(slug, message, at, words, help=help, severity="warning")


def _used(spec: ModelSpec) -> set[str]:
    """Every text in the specification, and in the groups and constants that it uses."""
    inner = {item.name: item for part in _KINDS for item in getattr(spec, part)}
    fields = (getattr(spec, name) for name in type(spec).model_fields if name not in (*_KINDS, "doc"))
    reached = {text for field in fields for text in _texts(field)}
    open_ = [name for name in inner if name in reached]
    while open_:
        names = set(_texts(inner[open_.pop()], but="name")) - reached
        reached |= names
        open_ += [name for name in names if name in inner]
    return reached


def _texts(part: Any, *, but: str = "") -> Iterator[str]:
    """Every text inside a part of a specification except comments. Iterative, because parts may be deep."""
    left = [getattr(part, name) for name in type(part).model_fields if name != but] if but else [part]
    while left:
        node = left.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, tuple):
            left.extend(node)
        elif isinstance(node, Frozen):
            left.extend(getattr(node, name) for name in type(node).model_fields if name not in ("doc", "kind", "per"))


def _is_in_main_file(context: Context, at: Path) -> bool:
    """Whether the main file declares the part at a path, and not a file that it uses."""
    span = context.spans.nearest(*at)
    return span is None or span.source.name == context.main_file


def same_cliques(context: Context) -> Iterator[Diagnostic]:
    """Two cliques that are equal, or that share a name because neither has an explicit one.

    Equal cliques in different pieces have weights that do not add up: each has functions of its own.
    """
    by_content: dict[object, int] = {}
    by_label: dict[str, int] = {}
    pieces = _pieces(context)
    for n, clique in enumerate(context.spec.cliques):
        earlier = by_content.setdefault((_content(clique), pieces.get(clique.name)), n)
        namesake = by_label.setdefault(clique.label, n)
        if earlier != n:
            message = f"clique `{clique.label}` stands twice: the weights of the two only add up"
            words, remedy, other = "said again", "remove one of them", earlier
        elif namesake != n:
            message = f"two cliques are called `{clique.label}`: neither a prior nor `show` can tell them apart"
            words, other = "of the same name", namesake
            remedy = "name them with `as NAME`, or join their features in one list"
        else:
            continue
        there = [(("cliques", other), "the other one")]
        at = ("cliques", n, "sites", 0)
        yield context.complaint("same-clique", message, at, words, help=remedy, others=there, severity="warning")


def _pieces(context: Context) -> dict[str | None, frozenset[str]]:
    """Of each clique that pieces of a running `piecewise` hold, by its name, those pieces."""
    holders: dict[str | None, set[str]] = {}
    trained = [stage for n in running_stages(context) for stage in context.spec.stages[n : n + 1]]
    used = {shown(one.value) for stage in trained for one in stage.criterion.arguments}
    for piece in context.spec.pieces:
        for member in piece.members if piece.name in used else ():
            holders.setdefault(member.clique, set()).add(piece.name)
    return {clique: frozenset(names) for clique, names in holders.items()}


def _content(clique: CliqueSpec) -> object:
    """The identity of a clique: all but its name and comment, in any order of its sites and features."""
    fixed = clique.model_copy(update={"name": None, "doc": (), "sites": (), "features": ()})
    sites: object = clique.sites if clique.relational else frozenset(clique.sites)
    return fixed, sites, frozenset(clique.features)


RULES: tuple[Rule, ...] = (unused, same_cliques)
