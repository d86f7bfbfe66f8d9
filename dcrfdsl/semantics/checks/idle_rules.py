"""Rules on what changes nothing: groups and constants that nothing uses, a clique that stands twice.

What a used file declares and nothing uses is no mistake: a file of groups is a library. Not here: settings without
effect, which belong to their statements; latent variables and memories (`hidden_rules`); states (`occurrence_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...errors import Diagnostic
from ..schema import CliqueSpec, Frozen, ModelSpec, Path
from .context import Context, Rule

__all__ = ["RULES"]

_KINDS = {"groups": "feature group", "lets": "constant"}
_IDLE = {
    "groups": ("idle-group", "no feature list has it", "list it, as in `clique {label}: {name}`, or remove it"),
    "lets": ("idle-constant", "nothing names it", "use it, as in `prior = gaussian(variance = {name})`, or remove it"),
}


def unused(context: Context) -> Iterator[Diagnostic]:
    """Groups and constants that nothing uses. What only they use follows from them, and is not complained of."""
    spec = context.spec
    if not spec.cliques:
        return  # a part of a template; of a whole one, `label_without_clique` says so
    used = _used(spec)
    idle = [item for part in _KINDS for item in getattr(spec, part) if item.name not in used]
    used |= {text for item in idle for text in _texts(item, but="name")}
    label = spec.labels[0].name if spec.labels else "LABEL"
    for part, kind in _KINDS.items():
        slug, words, remedy = _IDLE[part]
        for n, item in enumerate(getattr(spec, part)):
            at: Path = (part, n, "name")
            if item.name in used or not _is_own(context, at) or context.mentioned_in_lost(item.name):
                continue
            message = f"nothing uses the {kind} `{item.name}`: it changes nothing"
            help = remedy.format(name=item.name, label=label)
            yield context.complaint(slug, message, at, words, help=help, severity="warning")


def _used(spec: ModelSpec) -> set[str]:
    """Every text that stands somewhere in the specification, and in what that uses of groups and constants."""
    inner = {item.name: item for part in _KINDS for item in getattr(spec, part)}
    fields = (getattr(spec, name) for name in type(spec).model_fields if name not in (*_KINDS, "doc"))
    reached = {text for field in fields for text in _texts(field)}
    open_ = [name for name in inner if name in reached]
    while open_:
        found = set(_texts(inner[open_.pop()], but="name")) - reached
        reached |= found
        open_ += [name for name in found if name in inner]
    return reached


def _texts(part: Any, *, but: str = "") -> Iterator[str]:
    """Every text inside a part of a specification but its comments, from a list of its own: parts may be deep."""
    left = [getattr(part, name) for name in type(part).model_fields if name != but] if but else [part]
    while left:
        node = left.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, tuple):
            left.extend(node)
        elif isinstance(node, Frozen):
            left.extend(getattr(node, name) for name in type(node).model_fields if name not in ("doc", "kind"))


def _is_own(context: Context, at: Path) -> bool:
    """Whether the main file says it, which is read after those that it uses."""
    span = context.spans.nearest(*at)
    return span is None or span.source.name == context.main_file


def same_cliques(context: Context) -> Iterator[Diagnostic]:
    """Two cliques that are one, or that have one name because neither has a name of its own."""
    by_content: dict[object, int] = {}
    by_label: dict[str, int] = {}
    for n, clique in enumerate(context.spec.cliques):
        earlier = by_content.setdefault(_content(clique), n)
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


def _content(clique: CliqueSpec) -> object:
    """What makes a clique what it is: all but its name and comment, in whatever order its sites and features stand."""
    fixed = clique.model_copy(update={"name": None, "doc": (), "sites": (), "features": ()})
    sites: object = clique.sites if clique.relational else frozenset(clique.sites)
    return fixed, sites, frozenset(clique.features)


RULES: tuple[Rule, ...] = (unused, same_cliques)
