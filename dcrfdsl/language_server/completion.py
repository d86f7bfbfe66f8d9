"""What may be written at the cursor: statements, names in scope, settings with their defaults, values, states.

    propose(template, offset, workspace, learned)   -> what may stand there, and the word that it replaces

Which lists apply follows from the context of the cursor alone, so unfinished text is the usual case. Not here: what
stands around the cursor (`cursor_context`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise, product
from pathlib import Path
from typing import TypeAlias

from ..foundation import dataclass
from ..semantics import FORMATS, METRICS, ReferenceEntry, SettingEntry
from ..syntax import SHAPES
from . import cursor_context as cursor
from .answers import Proposal
from .editor_text import STATE, is_name
from .template_index import Declaration, Names, Placed, Template, Workspace, states_of

MOST_FILES = 200
RANK_NAMES, RANK_WORDS, RANK_CLAUSES = 0, 1, 2


@dataclass(frozen=True)
class CursorPlace:
    """All that the lists depend on."""

    template: Template
    placed: Placed
    context: cursor.CursorContext
    names: Names
    workspace: Workspace
    learned: Mapping[str, Sequence[str]]


Proposer: TypeAlias = Callable[[CursorPlace], Iterator[Proposal]]


def of_entries(entries: Iterable[ReferenceEntry], rank: int = RANK_WORDS) -> Iterator[Proposal]:
    for entry in entries:
        if is_name(entry.name) and not entry.name.isupper():
            yield Proposal(entry.name, entry.kind, entry.usage, cursor.entry_markdown(entry), rank=rank)


def of_names(place: CursorPlace, *kinds: str) -> Iterator[Proposal]:
    own = place.placed
    for declaration in place.names.of_kind(*kinds):
        if declaration.placed is own and declaration.declared.kind != "column":
            continue  # not inside its own declaration
        yield named(declaration)


def named(declaration: Declaration) -> Proposal:
    first = declaration.placed.facts.text.partition("\n")[0].strip()
    kind = declaration.declared.kind
    return Proposal(declaration.declared.name, kind, first, declaration.placed.doc, rank=RANK_NAMES)


def of_settings(settings: Iterable[SettingEntry]) -> Iterator[Proposal]:
    for setting in settings:
        default = setting.default if setting.default not in ("", "required") else "…"
        yield Proposal(
            setting.name, "setting", f"= {default}", cursor.setting_markdown(setting), f"{setting.name} = ", RANK_WORDS
        )


def of_states(place: CursorPlace, label: str) -> Iterator[Proposal]:
    for state in states_of(label, place.names, place.learned):
        written = state if STATE.fullmatch(state) and state != "not" else f'"{state}"'
        yield Proposal(written, "state", f"of {label}", rank=RANK_NAMES)


def of_words(words: Iterable[str], detail: str = "") -> Iterator[Proposal]:
    for word in words:
        yield Proposal(word, "word", detail, rank=RANK_CLAUSES)


def files(place: CursorPlace) -> Iterator[Proposal]:
    """Files beside the template, for `use`, lexicons and state files."""
    if place.context.keyword not in ("use", "lexicon", "label", "latent", "memory"):
        return
    text = place.placed.facts.text[place.context.start + 1 :]
    written = text.partition('"')[0].partition("\n")[0]
    prefix = written.rpartition("/")[0]
    suffix = ".dcrf" if place.context.keyword == "use" else ""
    for name in _listed(place.template.path.parent / prefix, suffix):
        yield Proposal(f"{prefix}/{name}" if prefix else name, "file")


def _listed(folder: Path, suffix: str) -> list[str]:
    try:
        found = sorted(path.name + "/" * path.is_dir() for path in folder.iterdir() if not path.name.startswith("."))
    except (OSError, ValueError):
        return []
    return [name for name in found if name.endswith((suffix, "/"))][:MOST_FILES]


# which lists apply ----------------------------------------------------------------------------------------------------


OBSERVED = ("column", "label", "latent variable", "memory", "view", "feature group")
VARIABLES = ("label", "latent variable", "memory", "view")
AFTER_TERM = ("is", "in", "matches", "has", "and", "or", "&")
BEFORE_OPERAND = frozenset(
    {"", ":", ",", "&", "(", "and", "or", "not", "where", "when", "=", "!=", "<", "<=", ">", ">=", "if", "else",
     "forbid", "require", "expect", "-"}
)  # fmt: skip


def _clauses_of(keyword: str) -> Iterator[str]:
    """The words that may follow the head of a statement, up to a `=`, behind which it depends on the value."""
    for part in SHAPES[keyword]:
        if part.before and (part.form != "with" or keyword in cursor.WITH_OPTIONS):
            yield part.before
        if part.before == "=":
            return


CLAUSES_OF: Mapping[str, tuple[str, ...]] = {keyword: tuple(_clauses_of(keyword)) for keyword in SHAPES}


@dataclass(frozen=True)
class Proposals:
    """The items, for what stands from `start` to `end` (offsets in the text)."""

    items: tuple[Proposal, ...]
    start: int
    end: int


def propose(template: Template, offset: int, workspace: Workspace, learned: Mapping[str, Sequence[str]]) -> Proposals:
    """learned: the states of labels as the data teaches them, by label."""
    line = template.text.rfind("\n", 0, offset) + 1
    word = template.text[line:offset]
    placed = template.at(offset)
    if placed is None or placed.start >= line:
        if word.strip() == word and (word == "" or word.isalnum()) and (placed is None or placed.start == line):
            return Proposals(tuple(of_entries(cursor.entries_of("statement"))), line, offset)
        if placed is None:
            return Proposals((), offset, offset)
    # The cursor may stand below the last line of the statement, where its block goes on.
    text = template.text[placed.start : max(placed.end, offset)]
    context = cursor.context_at(text, offset - placed.start)
    place = CursorPlace(template, placed, context, workspace.names(template), workspace, learned)
    items: dict[str, Proposal] = {}
    for item in _items(place):
        items.setdefault(item.label, item)
    start = placed.start + context.start
    ordered = sorted(items.values(), key=lambda item: item.rank)
    return Proposals(tuple(ordered), start + (context.inside == "text"), offset)


def _items(place: CursorPlace) -> Iterator[Proposal]:
    context = place.context
    if context.inside == "comment":
        return
    if context.inside == "text":
        yield from files(place)
    elif context.last == "as" and context.clause == "as":
        return
    elif context.call is not None:
        yield from _in_brackets(place)
    elif context.key:
        yield from _setting_values(place, context.key)
    else:
        yield from CLAUSES.get((place.context.keyword, context.clause), _in_head)(place)


# expressions ------------------------------------------------------------------------------------------------------


def _expression(place: CursorPlace) -> Iterator[Proposal]:
    """Features and conditions: a term, a test of the one before, or what follows a test."""
    context = place.context
    last = context.last
    if last == "is" or (last == "not" and len(context.before) > 1 and context.before[-2].text == "is"):
        yield from of_states(place, _tested(place, 2 if last == "not" else 1))
        yield from of_words(("not",) if last == "is" else ())
    elif last == "in":
        yield from of_names(place, "lexicon")
    elif last in BEFORE_OPERAND or context.new_item:
        yield from _terms(place)
    else:
        yield from of_words(AFTER_TERM if last != "not" else ("in",))
        if not context.calls and context.clause != ":":
            yield from of_words(_clauses_left(place))


def _terms(place: CursorPlace) -> Iterator[Proposal]:
    for declaration in place.names.of_kind(*OBSERVED):
        kind = declaration.declared.kind
        in_scope = declaration.placed is not place.placed or kind == "memory"
        if in_scope and (kind != "feature group" or place.context.clause == ":"):
            yield named(declaration)
    yield from of_entries(cursor.entries_of("feature function"))
    for name in place.workspace.registered:
        yield Proposal(name, "feature function", "a function of your own", rank=RANK_WORDS)
    yield from of_words(("not",))
    before = place.template.text[: place.placed.start + place.context.start].rpartition("\n")[2]
    if place.context.keyword == "clique" and place.context.clause == ":" and not before.strip():
        yield from of_words(("where", "with"))


def _tested(place: CursorPlace, back: int) -> str:
    """The name that is tested by `is`, which is the word number `back` from the cursor: `chunk[-1] is`."""
    words = place.context.before[:-back]
    depth = 0
    for word in reversed(words):
        depth += (word.text == "]") - (word.text == "[")
        if depth == 0 and word.kind == "name":
            return word.text
    return ""


def _clauses_left(place: CursorPlace) -> list[str]:
    written = {word.text for word in place.context.before}
    return [clause for clause in CLAUSES_OF.get(place.context.keyword, ()) if clause.partition(" ")[0] not in written]


# brackets ---------------------------------------------------------------------------------------------------------


def _in_brackets(place: CursorPlace) -> Iterator[Proposal]:
    context = place.context
    call = context.call
    assert call is not None
    if call.opener == "{":
        yield from of_states(place, _in_braces(place))
    elif call.opener == "[":
        yield from _positions(place)
    elif call.callee == "scores":
        yield from of_names(place, *VARIABLES)
    elif call.callee == "offset" and not call.argument:
        yield from of_names(place, "column")
    elif call.callee == "offset" and not call.key:
        yield from of_settings(one for one in cursor.settings_here(context) if one.name == "scale")
    elif place.context.keyword == "data" and not (call.key and call.key != ":"):
        if call.key == ":":
            yield from of_entries(cursor.entries_of("column type"))
        else:
            yield from of_settings(cursor.settings_here(context))
            data_format = FORMATS.get(call.callee)
            yield from of_words((data_format.sources or ()) if data_format else (), "a column of the format")
    elif call.key:
        yield from _setting_values(place, call.key)
    elif place.context.keyword == "evaluate":
        yield from of_names(place, "label")
        yield from of_words(("runs",) if call.argument and call.callee in ("segments", "by_type") else ())
        metric = METRICS.get(call.callee) if call.argument else None
        yield from of_words(f"{option} =" for option in metric.options) if metric else ()
    elif context.clause == "in":
        yield from of_names(place, "label", "latent variable") if call.callee == "states" else ()
    else:
        of_call = cursor.settings_here(context)
        if place.context.keyword not in ("train", "infer", "decode", "let") and context.clause != "with":
            yield from _expression(place)
            yield from of_settings(one for one in of_call if one.type == "`yes` or `no`")
            if any("lexicon" in one.name for one in of_call) and call.argument:
                yield from of_names(place, "lexicon")
        else:
            yield from of_settings(one for one in of_call if one.name not in ("label", "labels", "pieces", "columns"))
            yield from _named_by(place, of_call)


def _named_by(place: CursorPlace, settings: Sequence[SettingEntry]) -> Iterator[Proposal]:
    """What the unnamed arguments of a method are the names of."""
    kinds = {"label": ("label",), "labels": ("label",), "columns": ("column", "label"), "pieces": ("piece",)}
    for setting in settings:
        yield from of_names(place, *kinds.get(setting.name, ()))
        if setting.name == "criteria":
            yield from of_entries(cursor.entries_of("training criterion"))


def _in_braces(place: CursorPlace) -> str:
    """The label whose states stand in the braces."""
    before = place.context.before
    opened = max((n for n, word in enumerate(before) if word.text == "{"), default=0)
    if place.context.keyword == "once":
        return before[1].text if len(before) > 1 else ""
    back = len(before) - opened + 1
    if opened and before[opened - 1].text == "in" and place.context.clause != "in":
        negated = opened > 1 and before[opened - 2].text == "not"
        return _tested(place, back + negated)
    return ""


def _positions(place: CursorPlace) -> Iterator[Proposal]:
    words = place.placed.facts.words
    opened = pairwise(words)
    for name in dict.fromkeys(word.text for before, word in opened if before.text == "[" and word.kind == "name"):
        yield Proposal(name, "position")
    if place.context.keyword == "piece":
        yield from of_words(("all",))


# settings ---------------------------------------------------------------------------------------------------------


def _setting_values(place: CursorPlace, key: str) -> Iterator[Proposal]:
    first = key.partition(".")[0]
    settings = [one for one in cursor.settings_here(place.context) if one.name.partition(".")[0] == first]
    if first == "others" and len(place.context.before) > 1:
        yield from of_states(place, place.context.before[1].text)
        return
    kinds = cursor.kinds_here(place.context)
    methods = {proposal.label: proposal for proposal in of_entries(cursor.entries_of(*kinds))} if kinds else {}
    for setting in settings:
        for value in cursor.values_of(setting):
            detail = f"of {setting.name}{', the default' if value == setting.default else ''}"
            yield methods.get(value) or Proposal(value, "value", detail, setting.meaning, rank=RANK_WORDS)
        if not cursor.values_of(setting):
            yield from of_names(place, *NAMED_VALUES.get(first, ("constant",)))
            if setting.default and is_name(setting.default) and setting.default not in ("none", "required"):
                yield Proposal(setting.default, "value", "the default", setting.meaning, rank=RANK_WORDS)
            elif setting.default and setting.default[0].isdigit():
                yield Proposal(setting.default, "value", f"the default; {setting.facts}", setting.meaning)


NAMED_VALUES: Mapping[str, tuple[str, ...]] = {"mean": ("clique",), "by": ("stage", "view")}


# statements -------------------------------------------------------------------------------------------------------


def _in_head(place: CursorPlace) -> Iterator[Proposal]:
    """The first line of a statement, outside its brackets: a method, a name, or the next clause."""
    context = place.context
    if len(context.before) == 1 or context.last == ",":
        yield from HEADS.get(place.context.keyword, lambda place: iter(()))(place)
    else:
        yield from of_words(_clauses_left(place))


def _kinds(*kinds: str) -> Proposer:
    return lambda place: of_entries(cursor.entries_of(*kinds))


def _names_of(*kinds: str) -> Proposer:
    def listed(place: CursorPlace) -> Iterator[Proposal]:
        if place.context.last in (place.context.clause, ",", place.context.keyword, "locked") or place.context.new_item:
            yield from of_names(place, *kinds)
        else:
            yield from of_words(_clauses_left(place))

    return listed


def _after(word: str, propose_value: Proposer) -> Proposer:
    """A value after a word, and behind it the next clauses."""
    return lambda place: propose_value(place) if place.context.last == word else of_words(_clauses_left(place))


def _options(place: CursorPlace) -> Iterator[Proposal]:
    if place.context.last in ("with", ",") or place.context.new_item:
        written = {word.text for word in place.context.before}
        yield from of_settings(one for one in cursor.settings_here(place.context) if one.name not in written)
    else:
        yield from of_words(_clauses_left(place))


def _block_settings(place: CursorPlace) -> Iterator[Proposal]:
    if place.context.new_item or place.context.last in (":", ","):
        for setting in cursor.settings_here(place.context):
            first, dot, _ = setting.name.partition(".")  # `prior.CLIQUE`
            cliques = [one.declared.name for one in place.names.of_kind("clique")]
            names = [f"{first}.{clique}" for clique in cliques] if dot else [setting.name]
            yield from of_settings(replace(setting, name=name) for name in names)


HEADS: Mapping[str, Proposer] = {
    "data": _kinds("data format"), "infer": _kinds("inference method"), "decode": _kinds("decoding rule"),
    "train": _kinds("training criterion"), "evaluate": _kinds("metric"),
    "label": lambda place: of_names(place, "column"),
    "clique": _names_of(*VARIABLES), "segment": _names_of("label", "view"), "once": _names_of("label"),
    "runs": lambda place: of_words(("of",)),
    "forbid": _expression, "require": _expression, "expect": _expression,
}  # fmt: skip

# the name of a part of a statement -> what stands there
BY_PART: Mapping[str, Proposer] = {
    "domain": _after("in", _kinds("domain")), "with": _options, "features": _expression, "settings": _block_settings,
    "condition": _expression, "when": _expression, "where": _expression,
}  # fmt: skip

CLAUSES: Mapping[tuple[str, str], Proposer] = {
    **{
        (keyword, part.before or (":" if part.form == "list" else "head")): BY_PART[part.name]
        for keyword, parts in SHAPES.items()
        for part in parts
        if part.name in BY_PART
    },
    **{(keyword, "="): _expression for keyword in ("memory", "view")},
    ("label", "for"): _after("for", lambda place: of_words(("sentence",))),
    ("piece", ":"): lambda place: chain(of_names(place, "clique"), of_words(("locked",))),
    ("piece", "over"): _names_of("label", "latent variable"),
    ("train", "after"): _names_of("stage"),
    ("evaluate", ":"): _kinds("metric"),
    ("let", "="): lambda place: of_names(place, "constant") if place.context.last == "=" else of_words(("tune",)),
    ("let", "tune"): _kinds("search range"),
    ("memory", "initially"): lambda place: of_states(place, place.context.before[1].text),
    ("segment", "up"): lambda place: of_words(("to",)),
    ("runs", "of"): _after("of", _names_of("label")),
    ("runs", "is"): lambda place: of_states(place, place.context.before[2].text),
    ("runs", "up"): lambda place: of_words(("to",)),
    **dict.fromkeys(product(("segment", "runs"), ("from", "to")), _names_of("constant")),
}
