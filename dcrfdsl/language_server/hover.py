"""What stands under the cursor, in words: a declared name with its documentation, a word of the language, a call.

    hover(template, offset, workspace, costs)
    signature(template, offset)                -> how what is called is written, and which of its arguments stands there
    inlay_hints(template, start, end, costs)   -> states and weights of each clique, at the end of its first line

What is said of a word is what `dcrfdsl explain` says. Not here: the numbers of hints, which data tells (`data_costs`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..semantics import ReferenceEntry
from ..syntax import CLAUSE_WORDS, CliqueSpec
from . import cursor_context as cursor
from .answers import HoverText, InlayText, SignatureText
from .data_costs import CostReport
from .editor_text import Word
from .name_navigation import name_at
from .template_index import Declaration, Names, Placed, Template, Workspace, states_of

SHOWN_STATES = 24
# behind the kinds that fit the place of a word
OTHER_KINDS = (
    "feature function", "function of a segment", "test", "column type", "decoding rule", "metric", "domain",
)  # fmt: skip


def hover(template: Template, offset: int, workspace: Workspace, costs: CostReport) -> HoverText | None:
    """The text for the name or word at an offset; None where nothing is known of it."""
    placed = template.at(offset)
    if placed is None:
        return None
    names = workspace.names(template)
    found = name_at(template, offset, names)
    if found is not None and found.declarations:
        text = "\n\n".join(_of_name(found.declarations, names, template, costs))
        return HoverText(text, found.start, found.end)
    inside = offset - placed.start
    words = (one for one in placed.facts.words if one.kind in ("name", "mark", "state"))
    word = next((one for one in words if one.start <= inside <= one.end), None)
    if word is None:
        return None
    markdown = _of_word(placed, word, workspace)
    return HoverText(markdown, placed.start + word.start, placed.start + word.end) if markdown else None


# declared names ---------------------------------------------------------------------------------------------------


def _of_name(declarations: Sequence[Declaration], names: Names, template: Template, costs: CostReport) -> Iterator[str]:
    best = declarations[-1]
    name, kind = best.declared.name, best.declared.kind
    where = "" if best.template is template else f" · {best.template.path.name}"
    yield f"**{name}** · {kind}{where}"
    yield f"```dcrf\n{best.placed.facts.text}\n```"
    for declaration in declarations:
        if declaration.placed.doc:
            yield declaration.placed.doc
    states = states_of(name, names, costs.states)
    if states:
        shown = ", ".join(f"`{state}`" for state in states[:SHOWN_STATES])
        more = len(states) - SHOWN_STATES
        yield f"{len(states)} states: {shown}{f' and {more} more' if more > 0 else ''}"
    cost = costs.cliques.get(name) if kind == "clique" else None
    if cost is not None:
        yield f"{cost.words()}, by `{costs.data_name}`"


# words of the language --------------------------------------------------------------------------------------------


def _of_word(placed: Placed, word: Word, workspace: Workspace) -> str | None:
    if word.start == 0:
        return _entry(word.text, "statement")
    if word.kind == "mark":
        return _entry(word.text, "test")
    context = cursor.context_at(placed.facts.text, word.start)
    for setting in cursor.settings_here(context):
        if setting.name.partition(".")[0] == word.text and re.match(r"\s*(?:\.|=(?!=))", placed.facts.text[word.end :]):
            return cursor.setting_markdown(setting)
    if word.text in workspace.registered:
        return f"**{word.text}** · a feature function of your own"
    entry = _called(placed, word) or cursor.entry_named(word.text, (*cursor.kinds_here(context), *OTHER_KINDS))
    if entry is not None:
        return cursor.entry_markdown(entry)
    key = context.call.key if context.call else context.key
    for setting in cursor.settings_here(context):
        if setting.name == key and word.text in cursor.values_of(setting):
            return cursor.setting_markdown(setting)
    # a word of a clause: `up to`, `except`, `for sentence` …
    of_clause = word.text in CLAUSE_WORDS or context.clause == "for"
    return _entry(placed.facts.keyword, "statement") if of_clause else None


def _called(placed: Placed, word: Word) -> ReferenceEntry | None:
    """What a word with a bracket after it calls."""
    if placed.facts.text[word.end : word.end + 1] != "(":
        return None
    inside = cursor.context_at(placed.facts.text, word.end + 1)
    return cursor.entry_of(word.text, cursor.callee_kinds(inside, len(inside.calls) - 1)) if inside.calls else None


def _entry(word: str, kind: str) -> str | None:
    entry = cursor.entry_named(word, (kind,))
    return None if entry is None else cursor.entry_markdown(entry)


# signatures -----------------------------------------------------------------------------------------------------------


def signature(template: Template, offset: int) -> SignatureText | None:
    """The signature of the innermost call that is open at an offset, or None."""
    placed = template.at(offset)
    if placed is None:
        return None
    context = cursor.context_at(template.text[placed.start : max(placed.end, offset)], offset - placed.start)
    if context.inside == "comment":
        return None
    for depth, call in reversed([*enumerate(context.calls)]):
        entry = cursor.entry_of(call.callee, cursor.callee_kinds(context, depth)) if call.callee else None
        if entry is not None:
            return _text(entry, call)
    return None


def _text(entry: ReferenceEntry, call: cursor.OpenCall) -> SignatureText:
    parts: list[str] = []
    places: list[tuple[int, int, str]] = []
    place = len(entry.name) + 1
    for setting in entry.settings:
        default = setting.default
        text = setting.name if default in ("required", "") else f"{setting.name} = {default}"
        parts.append(text)
        places.append((place, place + len(text), f"{setting.meaning} ({setting.facts})"))
        place += len(text) + 2
    label = f"{entry.name}({', '.join(parts)})"
    names = [one.name for one in entry.settings]
    active = names.index(call.key) if call.key in names else call.argument
    return SignatureText(label, entry.summary, tuple(places), active if active < len(names) else None)


# hints ----------------------------------------------------------------------------------------------------------------


def inlay_hints(template: Template, start: int, end: int, costs: CostReport) -> Iterator[InlayText]:
    """The hints between two offsets."""
    for placed in template.statements:
        clique = placed.facts.statement
        cost = costs.cliques.get(clique.label) if isinstance(clique, CliqueSpec) else None
        at = placed.start + len(placed.facts.text.partition("\n")[0].rstrip("\r"))
        if cost is not None and start <= at <= end:
            words = f"{cost.states} states, {cost.weights:,} weight{'' if cost.weights == 1 else 's'}"
            yield InlayText(at, words, f"{cost.words()}, by {costs.data_name}")
