"""What stands under the cursor, in words: a declared name with its documentation, a word of the language, a call.

    hover(template, offset, workspace, costs)
    signature(template, offset)                -> how what is called is written, and which of its arguments stands there
    inlay_hints(template, start, end, costs)   -> states and weights of each clique, at the end of its first line

What is said of a word is what `dcrfdsl explain` says. Not here: the numbers of hints, which data tells (`data_costs`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..semantics import ReferenceEntry, entries_named
from ..syntax import CLAUSE_WORDS, CliqueSpec
from .answers import HoverText, InlayText, SignatureText
from .cursor_context import (
    CursorContext,
    OpenCall,
    callee_kinds,
    context_at,
    entry_markdown,
    entry_of,
    facts_of_setting,
    kinds_here,
    setting_markdown,
    settings_here,
    values_of,
)
from .data_costs import CostReport
from .editor_text import Word
from .name_navigation import name_at
from .template_index import Declaration, Names, Placed, Template, Workspace, states_of

SHOWN_STATES = 24
STATEMENT_KINDS = ("statement",)
TESTS = ("test",)


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
    word = _word_at(placed, offset - placed.start)
    if word is None:
        return None
    markdown = _of_word(placed, word, workspace)
    return HoverText(markdown, placed.start + word.start, placed.start + word.end) if markdown else None


def _word_at(placed: Placed, offset: int) -> Word | None:
    for word in placed.facts.words:
        if word.start <= offset <= word.end and word.kind in ("name", "mark", "state"):
            return word
    return None


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
    cost = costs.of_clique(name) if kind == "clique" else None
    if cost is not None:
        yield f"{cost.words()}, by `{costs.data_name}`"


# words of the language --------------------------------------------------------------------------------------------


def _of_word(placed: Placed, word: Word, workspace: Workspace) -> str | None:
    if word.start == 0:
        return _entry(word.text, STATEMENT_KINDS)
    if word.kind == "mark":
        return _entry(word.text, TESTS)
    context = context_at(placed.facts.text, word.start)
    for setting in settings_here(context):
        if setting.name.partition(".")[0] == word.text and _is_key(placed, word):
            return setting_markdown(setting)
    if word.text in workspace.registered:
        return f"**{word.text}** · a feature function of your own"
    called = _called(context, placed, word)
    entry = called or _entry_here(word.text, context)
    if entry is not None:
        return entry_markdown(entry)
    key = context.call.key if context.call else context.key
    for setting in settings_here(context):
        if setting.name == key and word.text in values_of(setting):
            return setting_markdown(setting)
    # a word of a clause: `up to`, `except`, `for sentence` …
    of_clause = word.text in CLAUSE_WORDS or context.clause == "for"
    return _entry(placed.facts.keyword, STATEMENT_KINDS) if of_clause else None


def _is_key(placed: Placed, word: Word) -> bool:
    rest = placed.facts.text[word.end :].lstrip()
    return rest.startswith(("=", ".")) and not rest.startswith("==")


def _called(context: CursorContext, placed: Placed, word: Word) -> ReferenceEntry | None:
    """What a word with a bracket after it calls."""
    if placed.facts.text[word.end : word.end + 1] != "(":
        return None
    inside = context_at(placed.facts.text, word.end + 1)
    return entry_of(word.text, callee_kinds(inside, len(inside.calls) - 1)) if inside.calls else None


def _entry_here(word: str, context: CursorContext) -> ReferenceEntry | None:
    found = [entry for entry in entries_named(word) if entry.name == word and entry.kind != "message"]
    kinds = (
        *kinds_here(context),
        "feature function",
        "function of a segment",
        "test",
        "column type",
        "decoding rule",
        "metric",
        "domain",
    )
    for kind in kinds:
        for entry in found:
            if entry.kind == kind:
                return entry
    return None


def _entry(word: str, kinds: Sequence[str]) -> str | None:
    for entry in entries_named(word):
        if entry.kind in kinds and entry.name == word:
            return entry_markdown(entry)
    return None


# signatures -----------------------------------------------------------------------------------------------------------


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


# hints ----------------------------------------------------------------------------------------------------------------


def inlay_hints(template: Template, start: int, end: int, costs: CostReport) -> tuple[InlayText, ...]:
    """The hints between two offsets."""
    return tuple(hint for hint in _hints(template, costs) if start <= hint.at <= end)


def _hints(template: Template, costs: CostReport) -> Iterator[InlayText]:
    for placed in template.statements:
        label = clique_label(placed)
        cost = costs.of_clique(label) if label else None
        if cost is not None:
            line = placed.facts.text.partition("\n")[0].rstrip("\r")
            words = f"{cost.states} states, {cost.weights:,} weight{'' if cost.weights == 1 else 's'}"
            yield InlayText(placed.start + len(line), words, f"{cost.words()}, by {costs.data_name}")


def clique_label(placed: Placed) -> str:
    """The name of a clique, or its sites as the specification has them; "" for other statements."""
    statement = placed.facts.statement
    return statement.label if isinstance(statement, CliqueSpec) else ""
