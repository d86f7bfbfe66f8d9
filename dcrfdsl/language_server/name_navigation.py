"""From a name to its declaration and its uses, and its change everywhere: in the template and the files that it uses.

A label and the column that it reads have one name, and so have one entry here. The data has the old name still, so a
column that is found by its name becomes `new = old`. Not here: which words are names (`template_index`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..foundation import dataclass
from ..semantics import entries_named
from ..syntax import RESERVED
from .answers import Edit, Edits, Refused, Spot
from .editor_text import is_name
from .template_index import Declaration, Declared, Names, Placed, Template, Use, absolute


@dataclass(frozen=True)
class FoundName:
    """A name under the cursor. declarations: of that name; empty for a position, which its clique alone knows."""

    name: str
    space: str
    start: int
    end: int
    declarations: Sequence[Declaration]
    placed: Placed


def name_at(template: Template, offset: int, names: Names) -> FoundName | None:
    """The declared name at an offset, or None."""
    placed = template.at(offset)
    if placed is None:
        return None
    inside = offset - placed.start
    written: tuple[Declared | Use, ...] = (*placed.facts.declared, *placed.facts.uses)
    for one in written:
        if one.start <= inside <= one.end:
            start, end = placed.start + one.start, placed.start + one.end
            if one.spaces == ("position",):
                return FoundName(one.name, "position", start, end, (), placed)
            space, found = names.find(one.spaces, one.name)
            return FoundName(one.name, space, start, end, found, placed) if found else None
    return None


def definitions(template: Template, offset: int, names: Names) -> list[Spot]:
    """Where the name at an offset is declared; for the path after `use`, the beginning of that file."""
    found = name_at(template, offset, names)
    if found is None:
        uses = (path for placed, path in template.used_paths if placed.start <= offset <= placed.end)
        return [Spot(absolute(path), 0, 0) for path in uses if path.is_file()]
    if found.space == "position":
        return [Spot(template.path, *place) for place in _positions(found)][:1]
    return [Spot(one.template.path, one.start, one.end) for one in found.declarations]


def references(found: FoundName, names: Names, templates: Sequence[Template], declarations: bool = True) -> list[Spot]:
    """Every place of the name, in the order of files and text. templates: those that may use it."""
    spots: dict[tuple[Path, int], Spot] = {}
    if found.space == "position":
        path = templates[-1].path
        return [Spot(path, *place) for place in _positions(found)]
    for template in templates:
        if declarations:
            for one in template.declarations:
                if (one.declared.space, one.declared.name) == (found.space, found.name):
                    spots[template.path, one.start] = Spot(template.path, one.start, one.end)
        for placed, use in template.uses():
            if use.name == found.name and names.find(use.spaces, use.name)[0] == found.space:
                start = placed.start + use.start
                spots.setdefault((template.path, start), Spot(template.path, start, placed.start + use.end))
    hidden = set() if declarations else {(one.template.path, one.start) for one in found.declarations}
    shown = (spot for place, spot in spots.items() if place not in hidden)
    return sorted(shown, key=lambda spot: (str(spot.path), spot.start))


def _positions(found: FoundName) -> Iterator[tuple[int, int]]:
    """The places of a position's name in its clique."""
    for use in found.placed.facts.uses:
        if use.spaces == ("position",) and use.name == found.name:
            yield found.placed.start + use.start, found.placed.start + use.end


# renaming ---------------------------------------------------------------------------------------------------------


def renameable(template: Template, offset: int, names: Names) -> FoundName:
    """The name at an offset. Raises `Refused` if nothing there can be renamed."""
    found = name_at(template, offset, names)
    if found is None:
        raise Refused("this is no name that the template declares")
    if found.space == "position" and found.name == "all":
        raise Refused("`all` is a word of the language")
    for one in found.declarations:
        if one.declared.fixed:
            raise Refused(f"`{found.name}` keeps its name: {one.declared.fixed}")
    return found


def rename(template: Template, offset: int, new: str, names: Names, templates: Sequence[Template]) -> Edits:
    """The edits that give a name another one everywhere. Raises `Refused` if the new name cannot stand there."""
    found = renameable(template, offset, names)
    _refuse_bad(found, new, names)
    edits: dict[Path, list[Edit]] = {}
    bare = {(one.template.path, one.start) for one in found.declarations if one.declared.source}
    if new == found.name:
        return {}
    for spot in references(found, names, templates):
        text = f"{new} = {found.name}" if (spot.path, spot.start) in bare else new
        edits.setdefault(spot.path, []).append(Edit(spot.start, spot.end, text))
    return edits


def _refuse_bad(found: FoundName, new: str, names: Names) -> None:
    if not is_name(new):
        raise Refused(f"`{new}` is no name: a name has letters, digits and `_`, and begins with a letter or `_`")
    if new in RESERVED:
        raise Refused(f"`{new}` is a word of the language")
    if found.space == "position":
        if any(use.name == new for use in found.placed.facts.uses) or new == "all":
            raise Refused(f"`{new}` already has a meaning in this clique")
        return
    if found.space == "value" and any(one.name == new and one.kind == "feature function" for one in entries_named(new)):
        raise Refused(f"`{new}` is a feature function")
    if found.space == "value" and new in ("yes", "no", "none"):
        raise Refused(f"`{new}` is a value of settings")
    spaces = ("stage",) if found.space == "stage" else ("value", "part")
    taken = [one for space in spaces for one in names.by_name.get((space, new), ())]
    if taken and new != found.name:
        one = taken[-1]
        line = one.template.text.count("\n", 0, one.start) + 1
        raise Refused(f"`{new}` is already declared, as a {one.declared.kind}, in {one.template.path.name}:{line}")
