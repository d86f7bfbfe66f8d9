"""How what is called at the cursor is written, and which of its arguments stands there.

Not here: the words themselves (`reference_words`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..semantics import ReferenceEntry
from .answers import SignatureText
from .cursor_context import OpenCall, context_at
from .reference_words import callee_kinds, entry_of, facts_of_setting
from .template_index import Template


def signature(template: Template, offset: int) -> SignatureText | None:
    """The signature of the innermost call that is open at an offset, or None."""
    placed = template.at(offset)
    if placed is None:
        return None
    context = context_at(template.text[placed.start : max(placed.end, offset)], offset - placed.start)
    if context.inside == "comment":
        return None
    for depth in range(len(context.calls) - 1, -1, -1):
        call = context.calls[depth]
        entry = entry_of(call.callee, callee_kinds(context, depth)) if call.opener == "(" and call.callee else None
        if entry is not None:
            return _text(entry, call)
    return None


def _text(entry: ReferenceEntry, call: OpenCall) -> SignatureText:
    parts: list[str] = []
    places: list[tuple[int, int, str]] = []
    place = len(entry.name) + 1
    for setting in entry.settings:
        default = setting.default
        text = setting.name if default in ("required", "") else f"{setting.name} = {default}"
        parts.append(text)
        places.append((place, place + len(text), f"{setting.meaning} ({facts_of_setting(setting)})"))
        place += len(text) + 2
    label = f"{entry.name}({', '.join(parts)})"
    return SignatureText(label, entry.summary, tuple(places), _active([one.name for one in entry.settings], call))


def _active(names: Sequence[str], call: OpenCall) -> int | None:
    if call.key in names:
        return names.index(call.key)
    return call.argument if call.argument < len(names) else None
