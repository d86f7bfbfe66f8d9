"""Rules on names: undeclared names, and names declared as something other than their place needs.

An unknown name is one problem however often it occurs in the file, and none if the statement that may have declared it
could not be read. Not here: names that are declared twice (found while resolving), names of methods
(`setting_rules`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...foundation import Diagnostic, quoted_names
from ...syntax import NUMERIC, CliqueSpec, Column, Label, Site, StatesOf
from ..schema import FUNCTIONS
from .context import COLUMN, LABEL_KINDS, Context, Rule, a, every_feature
from .segment_rules import SegmentTermReader
from .term_messages import unknown_state
from .term_reader import TermReader, UnknownName

MORE_PLACES = 3  # further places of an unknown name in a message


def terms(context: Context) -> Iterator[Diagnostic]:
    """Names, functions and kinds of values in features, conditions, memories and views."""
    observed, labelled = TermReader(context), TermReader(context, labels=True)
    viewed = TermReader(context, labels=True, mapped=True)
    of_segments = SegmentTermReader(context)
    for holder, feature in every_feature(context.spec):
        in_segment = isinstance(holder, CliqueSpec) and holder.segmental
        (of_segments if in_segment else observed).feature(feature)
    for clique in context.spec.cliques:
        if clique.where is not None:
            observed.test(clique.where, "where")
    for constraint in context.spec.rules:
        labelled.constraint(constraint)
    for memory in context.spec.memories:
        states = context.states(memory.name)
        test_of = memory.name if memory.domain is None else None
        labelled.value_if(memory.value, states, test_of=test_of)
        if memory.initially is not None and states is not None and memory.initially not in states:
            yield unknown_state(context, memory.initially, memory.place_of("initially"), states, memory.name)
    for view in context.spec.views:
        viewed.value_if(view.value, None)
    readers = (observed, of_segments, labelled, viewed)
    for reader in readers:
        yield from reader.problems
    unknown = [one for reader in readers for one in reader.unknown]
    unknown += [
        UnknownName(site.variable, site.place_of("variable"), LABEL_KINDS)
        for site in context.sites()
        if not context.declared.get(site.variable)
    ]
    unknown += [
        UnknownName(variable.domain.variable, variable.place_of("domain"), LABEL_KINDS[:3])
        for variable in context.spec.variables
        if isinstance(variable.domain, StatesOf) and not context.declared.get(variable.domain.variable)
    ]
    unknown += [
        UnknownName(name, column.type.place_of("of", n), LABEL_KINDS)  # of `scores(y)`
        for column in (() if context.spec.data is None else context.spec.data.columns)
        for n, name in enumerate(column.type.of)
        if not context.declared.get(name)
    ]
    yield from unknown_names(context, unknown)


def unknown_names(context: Context, names: Sequence[UnknownName]) -> Iterator[Diagnostic]:
    """One problem per name, at its first place, with a few of the others."""
    by_name: dict[str, list[UnknownName]] = {}
    for one in names:
        by_name.setdefault(one.name, []).append(one)
    for name, uses in by_name.items():
        if context.may_be_lost(name) or (COLUMN in uses[0].kinds and context.spec.data is None):
            continue  # the columns are lost
        uses.sort(key=lambda use: (use.place.source.name, use.place.start))
        first = uses[0]
        guess, there = context.near(name, first.kinds, first.more)
        if first.more:  # in a feature list
            guess = guess or FUNCTIONS.suggest(name)
        also = [(use.place, "and here") for use in uses[1 : 1 + MORE_PLACES]]
        yield context.complaint(
            "unknown-name",
            f"`{name}` is not {_one_of(first.kinds)}",
            first.place,
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


def sites(context: Context) -> Iterator[Diagnostic]:
    """A site of a clique or piece whose name is not a variable: one problem per name."""
    uses: dict[str, list[Site]] = {}
    for site in context.sites():
        uses.setdefault(site.variable, []).append(site)
    of_cliques = {site.variable for clique in context.spec.cliques for site in clique.sites}
    for name, (first, *others) in uses.items():
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
            f"`{name}` is {a(entry.kind)}, and a {'clique' if name in of_cliques else 'piece'} joins labels",
            first.place_of("variable"),
            a(entry.kind),
            remedy,
            [
                (entry.place, f"declared as {a(entry.kind)} here"),
                *((site.place_of("variable"), "and here") for site in others[:MORE_PLACES]),
            ],
        )


def label_columns(context: Context) -> Iterator[Diagnostic]:
    """Labels are read from the column with their name."""
    data = context.spec.data
    if data is None:
        return
    columns = context.names(COLUMN)
    for label in context.spec.labels:
        if context.spec.column(label.name) is not None:
            yield from _label_of_numbers(context, label)
            continue
        guess, there = context.near(label.name, [COLUMN])
        there = there or [(data.place_of("format"), f"the columns are {', '.join(quoted_names(columns))}")]
        yield context.complaint(
            "label-not-a-column",
            f"label `{label.name}` is not a column of the data",
            label.place_of("name"),
            "no such column",
            f"did you mean `{guess}`?" if guess else f"add `{label.name}` to the `data` statement",
            there if columns else [],
        )


def _label_of_numbers(context: Context, label: Label) -> Iterator[Diagnostic]:
    """States are texts, even if they are written with digits."""
    entry = context.named(label.name, COLUMN)
    if entry is not None and isinstance(entry.entry, Column) and entry.entry.type.name in NUMERIC:
        kind = entry.entry.type.name
        message = f"the states of label `{label.name}` are texts, and its column is declared as `{kind}`"
        remedy = f"declare the column as `{label.name}`, without a type"
        there = [(entry.place, f"declared as `{kind}` here")]
        yield context.complaint("not-a-text", message, label.place_of("name"), "read as texts", remedy, there)


def members(context: Context) -> Iterator[Diagnostic]:
    """The cliques of a piece."""
    for member in (member for piece in context.spec.pieces for member in piece.members):
        if context.named(member.clique, "clique") is None and not context.may_be_lost(member.clique):
            guess, there = context.near(member.clique, ["clique"])
            remedy = f"did you mean `{guess}`?" if guess else "name a clique with `as NAME`"
            message, at = f"there is no clique `{member.clique}`", member.place_of("clique")
            yield context.complaint("unknown-clique", message, at, "no such clique", remedy, there)


RULES: tuple[Rule, ...] = (label_columns, sites, members, terms)
