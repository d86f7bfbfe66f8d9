"""Rules on names: undeclared names, and names declared as something other than their place needs.

An unknown name is one problem however often it occurs in the file, and none if the statement that may have declared it
could not be read. Not here: names that are declared twice (found while resolving), names of methods
(`setting_rules`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...foundation import Diagnostic, quoted_names
from ...syntax import NUMERIC, Column, Member, StatesOf
from ..schema import FUNCTIONS, Path
from .context import COLUMN, LABEL_KINDS, Context, Rule, a, every_feature
from .term_reader import SegmentTermReader, TermReader, UnknownName, unknown_state

MORE_PLACES = 3  # further places of an unknown name in a message


def terms(context: Context) -> Iterator[Diagnostic]:
    """Names, functions and kinds of values in features, conditions, memories and views."""
    observed, labelled = TermReader(context), TermReader(context, labels=True)
    viewed = TermReader(context, labels=True, mapped=True)
    of_segments = SegmentTermReader(context)
    for path, feature in every_feature(context.spec):
        in_segment = path[0] == "cliques" and context.spec.cliques[int(path[1])].segmental
        (of_segments if in_segment else observed).feature(feature, path)
    for n, clique in enumerate(context.spec.cliques):
        if clique.where is not None:
            observed.test(clique.where, ("cliques", n, "where"), "where")
    for n, constraint in enumerate(context.spec.constraints):
        labelled.test(constraint.condition, ("constraints", n, "condition"), constraint.action)
        if constraint.when is not None:
            labelled.test(constraint.when, ("constraints", n, "when"), "when")
    for n, memory in enumerate(context.spec.memories):
        states = context.states(memory.name)
        test_of = memory.name if memory.domain is None else None
        labelled.value_if(memory.value, ("memories", n, "value"), states, test_of=test_of)
        if memory.initially is not None and states is not None and memory.initially not in states:
            yield unknown_state(context, memory.initially, ("memories", n, "initially"), states, memory.name)
    for n, view in enumerate(context.spec.views):
        viewed.value_if(view.value, ("views", n, "value"), None)
    for reader in (observed, of_segments, labelled, viewed):
        yield from reader.problems
    unknown = [
        *observed.unknown,
        *of_segments.unknown,
        *labelled.unknown,
        *viewed.unknown,
        *_variables(context),
        *_states_of(context),
    ]
    yield from unknown_names(context, unknown)


def _variables(context: Context) -> Iterator[UnknownName]:
    """Sites of cliques and pieces with unknown names."""
    for part, field, items in (("cliques", "sites", context.spec.cliques), ("pieces", "over", context.spec.pieces)):
        for n, item in enumerate(items):
            for s, site in enumerate(getattr(item, field)):
                if not context.declared.get(site.variable):
                    yield UnknownName(site.variable, (part, n, field, s, "variable"), LABEL_KINDS)


def _states_of(context: Context) -> Iterator[UnknownName]:
    for path, variable in context.variables():
        if isinstance(variable.domain, StatesOf) and not context.declared.get(variable.domain.variable):
            yield UnknownName(variable.domain.variable, (*path, "domain"), LABEL_KINDS[:3])


def unknown_names(context: Context, names: Sequence[UnknownName]) -> Iterator[Diagnostic]:
    """One problem per name, at its first place, with a few of the others."""
    by_name: dict[str, list[UnknownName]] = {}
    for one in names:
        by_name.setdefault(one.name, []).append(one)
    for name, uses in by_name.items():
        if context.may_be_lost(name) or (COLUMN in uses[0].kinds and _columns_are_lost(context)):
            continue
        uses.sort(key=lambda use: _start(context, use.path))
        first = uses[0]
        guess, there = context.near(name, first.kinds, first.more)
        if first.more:  # in a feature list
            guess = guess or FUNCTIONS.suggest(name)
        also = [(use.path, "and here") for use in uses[1 : 1 + MORE_PLACES]]
        yield context.complaint(
            "unknown-name",
            f"`{name}` is not {_one_of(first.kinds)}",
            first.path,
            "unknown name",
            f"did you mean `{guess}`?" if guess else _known(context, first.kinds),
            [*there, *also],
        )


def _one_of(kinds: Sequence[str]) -> str:
    """`a column, feature group, label or view`"""
    # latent variables and memories are labels to most people, and a list of six kinds is too long
    shown = [kind for kind in kinds if len(kinds) <= 4 or kind not in ("latent variable", "memory")]
    return a(shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}")


def _known(context: Context, kinds: Iterable[str]) -> str | None:
    names = context.names(*kinds)
    return f"declared are {', '.join(f'`{name}`' for name in names)}" if 0 < len(names) <= 12 else None


def _columns_are_lost(context: Context) -> bool:
    return context.spec.data is None


def _start(context: Context, path: Path) -> tuple[str, int]:
    span = context.spans.nearest(*path)
    return ("", 0) if span is None else (span.source.name, span.start)


def sites(context: Context) -> Iterator[Diagnostic]:
    """A site of a clique or piece whose name is not a variable: one problem per name."""
    uses: dict[str, list[tuple[str, Path]]] = {}
    for part, field, items in (("cliques", "sites", context.spec.cliques), ("pieces", "over", context.spec.pieces)):
        for n, item in enumerate(items):
            for s, site in enumerate(getattr(item, field)):
                uses.setdefault(site.variable, []).append((part, (part, n, field, s, "variable")))
    for name, ((part, first), *others) in uses.items():
        entry = context.named(name)
        if entry is None or entry.kind in LABEL_KINDS or context.may_be_lost(name):
            continue
        if entry.kind == COLUMN and context.unlabelled:
            continue  # there is no `label` at all, which is reported instead
        remedy = None
        if entry.kind == COLUMN:
            remedy = f"predict it with `label {name}`, or read it as a feature after the `:`"
        yield context.complaint(
            "wrong-kind",
            f"`{name}` is {a(entry.kind)}, and a {part[:-1]} joins labels",
            first,
            a(entry.kind),
            remedy,
            [
                (entry.path, f"declared as {a(entry.kind)} here"),
                *((path, "and here") for _, path in others[:MORE_PLACES]),
            ],
        )


def label_columns(context: Context) -> Iterator[Diagnostic]:
    """Labels are read from the column with their name."""
    if context.spec.data is None:
        return
    columns, known = context.names(COLUMN), context.spec.column
    for n, label in enumerate(context.spec.labels):
        if known(label.name) is not None:
            yield from _label_of_numbers(context, label.name, ("labels", n, "name"))
            continue
        guess, there = context.near(label.name, [COLUMN])
        there = there or [(("data", "format"), f"the columns are {', '.join(quoted_names(columns))}")]
        yield context.complaint(
            "label-not-a-column",
            f"label `{label.name}` is not a column of the data",
            ("labels", n, "name"),
            "no such column",
            f"did you mean `{guess}`?" if guess else f"add `{label.name}` to the `data` statement",
            there if columns else [],
        )


def _label_of_numbers(context: Context, name: str, path: Path) -> Iterator[Diagnostic]:
    """States are texts, even if they are written with digits."""
    entry = context.named(name, COLUMN)
    if entry is not None and isinstance(entry.entry, Column) and entry.entry.type.name in NUMERIC:
        kind = entry.entry.type.name
        message = f"the states of label `{name}` are texts, and its column is declared as `{kind}`"
        remedy = f"declare the column as `{name}`, without a type"
        there = [(entry.path, f"declared as `{kind}` here")]
        yield context.complaint("not-a-text", message, path, "read as texts", remedy, there)


def members(context: Context) -> Iterator[Diagnostic]:
    """The cliques of a piece."""
    for n, piece in enumerate(context.spec.pieces):
        for m, member in enumerate(piece.members):
            if context.named(member.clique, "clique") is None and not context.may_be_lost(member.clique):
                yield _unknown_clique(context, member, ("pieces", n, "members", m, "clique"))


def _unknown_clique(context: Context, member: Member, path: Path) -> Diagnostic:
    guess, there = context.near(member.clique, ["clique"])
    remedy = f"did you mean `{guess}`?" if guess else "name a clique with `as NAME`"
    message = f"there is no clique `{member.clique}`"
    return context.complaint("unknown-clique", message, path, "no such clique", remedy, there)


RULES: tuple[Rule, ...] = (label_columns, sites, members, terms)
