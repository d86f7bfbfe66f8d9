"""Changes of form that keep the meaning: a shorthand written out as pieces, features taken into a group.

Not here: remedies of problems (`fix_actions`), the layout (`syntax.format`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ..semantics import CRITERIA, PIECES, Resolved, check, expanded, statement_text
from ..syntax import CliqueSpec, Feature, FeatureGroup, Reference, Stage
from .answers import CodeAction, Edit
from .template_index import Names, Placed, Template

EXPAND = "refactor.rewrite"
EXTRACT = "refactor.extract"


def refactorings(
    template: Template, start: int, end: int, names: Names, resolved: Resolved | None
) -> Iterator[CodeAction]:
    """The changes that are possible for a selection, or at a cursor if `start` is `end`.

    resolved: the model of this text; None while it is not known.
    """
    placed = template.at(start)
    if placed is None:
        return
    yield from _extract(template, placed, start, end, names)
    yield from _expand(template, placed, resolved)


# a group of features ----------------------------------------------------------------------------------------------


def _extract(template: Template, placed: Placed, start: int, end: int, names: Names) -> Iterator[CodeAction]:
    """The selected features of a clique, or all of them if nothing is selected, as a group above it."""
    statement = placed.facts.statement
    if not isinstance(statement, CliqueSpec | FeatureGroup) or not statement.features:
        return
    if isinstance(statement, CliqueSpec) and (statement.segmental or statement.relational):
        return  # their features read segments or positions, which a group does not know
    first, last = start - placed.start, end - placed.start
    places = _items(placed)
    if len(places) != len(statement.features):
        return
    chosen = [n for n, (at, until) in enumerate(places) if until > first and at < last]
    if start == end:
        on_list = places[0][0] <= first <= places[-1][1] and len(places) > 1
        chosen = list(range(len(places))) if on_list else []
    features = [statement.features[n] for n in chosen]
    if not chosen or _is_bias(features):
        return
    if len(chosen) == len(statement.features) and isinstance(statement, FeatureGroup):
        return
    text = placed.facts.text
    spans = places[chosen[0]][0], places[chosen[-1]][1]
    if "#" in text[spans[0] : spans[1]]:
        return
    name = _free_name(names)
    listed = ", ".join(re.sub(r"\s*\n\s*", " ", text[slice(*places[n])]) for n in chosen)
    place = template.text.rfind("\n", 0, placed.start) + 1
    place = _above_comments(template.text, place)
    edits = (
        Edit(place, place, f"features {name}: {listed}\n"),
        Edit(placed.start + spans[0], placed.start + spans[1], name),
    )
    yield CodeAction(f"Extract the feature group `{name}`", {template.path: edits}, kind=EXTRACT)


def _above_comments(text: str, place: int) -> int:
    while place > 0:
        line = text.rfind("\n", 0, place - 1) + 1
        if not text[line:place].startswith("#"):
            break
        place = line
    return place


def _is_bias(features: list[Feature]) -> bool:
    """`bias` stands in cliques alone."""
    return any(isinstance(one, Reference) and one.name == "bias" for one in features)


def _items(placed: Placed) -> list[tuple[int, int]]:
    """The places of the items of a list, brackets included, which the tree leaves out."""
    found: list[tuple[int, int]] = []
    depth, listed, fresh = 0, False, True
    words = [word for word in placed.facts.words if word.kind != "comment"]
    for before, word in pairwise(words):
        depth += (before.text in "([{") - (before.text in ")]}")
        if depth == 0 and before.text == ":" and not listed:
            listed = True
        elif depth == 0 and "\n" in placed.facts.text[before.end : word.start]:
            fresh = True
        if not listed or (depth == 0 and word.text == ","):
            fresh = True
        elif fresh:
            found.append((word.start, word.end))
            fresh = False
        else:
            found[-1] = found[-1][0], word.end
    return [place for place in found if not re.match(r"(?:where|with)\b", placed.facts.text[place[0] :])]


def _free_name(names: Names) -> str:
    number = 1
    while any(names.by_name.get((space, f"group{number}")) for space in ("value", "part")):
        number += 1
    return f"group{number}"


# a shorthand ------------------------------------------------------------------------------------------------------


def _expand(template: Template, placed: Placed, resolved: Resolved | None) -> Iterator[CodeAction]:
    """`memm` and its like as the pieces that they stand for; as `dcrfdsl check --expand`, in place."""
    statement = placed.facts.statement
    if not isinstance(statement, Stage) or statement.criterion.name not in PIECES or _names_pieces(statement):
        return
    label = statement.label
    if resolved is None or any(one.severity == "error" for one in check(resolved, stage=label, registered=None)):
        return
    spec = expanded(resolved.spec, label)
    known = {piece.name for piece in resolved.spec.pieces}
    pieces = [statement_text(piece) for piece in spec.pieces if piece.name not in known]
    stage = next((one for one in spec.stages if one.label == label), None)
    members = {member.clique for piece in spec.pieces for member in piece.members}
    named = {clique.name for clique in resolved.spec.cliques}
    if stage is None or not pieces or not members <= named:
        return  # a piece names its cliques, so they need names
    text = "\n".join([*pieces, statement_text(stage)])
    edit = Edit(placed.start, placed.end, text)
    yield CodeAction(f"Write out the pieces of `{statement.criterion.name}`", {template.path: (edit,)}, kind=EXPAND)


def _names_pieces(statement: Stage) -> bool:
    """`piecewise(a, b)` has its pieces already."""
    criterion = CRITERIA[statement.criterion.name]
    unnamed = (one.name is None for one in statement.criterion.arguments)
    return criterion.names == "pieces" and any(unnamed)
