"""The named positions of a relational clique (`word[i-1]`) as offsets, so that all code for offsets handles them.

An ordinary place is an offset from the anchor. The first named position and its neighbours have offsets around `FAR`,
the second one around 2·`FAR`; no sequence is that long. Not here: which positions are joined (`relation_instances`).
"""

from __future__ import annotations

from typing import Any

from ...semantics import Apply, At, Named, Reference, rewritten

FAR = 1 << 40
NAMES = ("i", "j")


def named_offset(number: int, shift: int) -> int:
    """The offset of named position `number` (0 or 1) plus `shift`."""
    return (number + 1) * FAR + shift


def split_offset(offset: int) -> tuple[int, int]:
    """(0, offset) for an ordinary place, (1 or 2, shift) for one at the first or second named position."""
    which = (offset + FAR // 2) // FAR
    return which, offset - which * FAR


def place_name(offset: int) -> str:
    """`i-1` for a named place, `-1` for an ordinary one."""
    which, shift = split_offset(offset)
    if which == 0:
        return str(shift)
    return NAMES[which - 1] + (f"{shift:+d}" if shift else "")


def with_offsets(node: Any, names: tuple[str, ...]) -> Any:
    """A condition or feature with the positions `names` replaced by offsets."""
    if isinstance(node, Reference | Apply) and isinstance(node.place, Named) and node.place.position in names:
        offset = named_offset(names.index(node.place.position), node.place.shift)
        node = node.model_copy(update={"place": At(offset=offset)})
    return rewritten(node, lambda inner: with_offsets(inner, names))
