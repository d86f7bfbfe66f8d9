"""Places in brackets: as they are written, and as offsets.

Not here: which places may stand where (`checks`), windows spread out (`features`).
"""

from __future__ import annotations

from ...syntax import At, Here, Named, Place, Several, Window


def place_text(place: Place) -> str:
    """A place as it is written, `[-1]`; "" for the current position."""
    match place:
        case Here() | At(offset=0):
            return ""
        case At(offset=offset):
            return f"[{offset}]"
        case Window(first=first, last=last):
            return f"[{first}..{last}]"
        case Several(offsets=offsets):
            return f"[{', '.join(str(offset) for offset in offsets)}]"
        case Named(position=position, shift=0):
            return f"[{position}]"
        case Named(position=position, shift=shift):
            return f"[{position}{shift:+d}]"
    raise AssertionError(place)


def place_offset(place: Place) -> int | None:
    """The one offset that a place stands for; None if it is a window or a named position."""
    return place.offset if isinstance(place, At) else 0 if isinstance(place, Here) else None


def shift_of_site(place: Place) -> int:
    """The offset of a clique's site from its anchor, or from its named position."""
    return place.shift if isinstance(place, Named) else place_offset(place) or 0
