"""The input of every rule of the checker: the specification, what is known of its names, and how to report a problem.

A rule is a function from a `Context` to diagnostics. It reads and reports, and changes nothing; `Context` only keeps
values for several rules (the states of a label, the kind of a name). Below it are walks over every feature and node,
for rules on one kind of node wherever it occurs (regexes, places). Not here: any rule, the meaning of the nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any, Literal, Protocol, TypeAlias

from ...foundation import Diagnostic, Ints, Span, SpellingGuesses, dataclass, did_you_mean, is_pipe, quoted_names
from ...syntax import (
    KEYWORDS,
    CliqueSpec,
    Constraint,
    Expectation,
    FeatureGroup,
    Label as LabelSpec,
    Latent,
    Memory,
    Statement,
    View,
    nodes as ex,
    other_words,
)
from ..conditions import BOOLEAN
from ..schema import ModelSpec, listed_states, nodes, value_if_nodes

Severity: TypeAlias = Literal["error", "warning", "note"]
Rule: TypeAlias = "Callable[[Context], Iterable[Diagnostic]]"
At: TypeAlias = ex.Node | Span | None  # what a message points at; None points at the file
Others: TypeAlias = Iterable[tuple[At, str]]  # what it points at besides, with a few words each

COLUMN = "column"
OBSERVED_KINDS = (COLUMN, "feature group")
LABEL_KINDS = ("label", "latent variable", "memory", "view")
MAX_BYTES = 64 * 2**20  # the part of a lexicon that training reads


class Data(Protocol):
    """The part of a data set that rules read."""

    @property
    def file(self) -> str: ...

    @property
    def columns(self) -> Mapping[str, Any]: ...

    def lengths(self) -> Ints:
        """Tokens per sentence."""


@dataclass(frozen=True)
class LocatedSpec:
    """A specification with information about its origin.

    `directories` maps the name of a lexicon, or of a variable with a state file, to the directory to which its path is
    relative. `diagnostics` are the problems found so far. `complete` is False if a statement could not be read: names
    that it declares may then seem unknown. `main_file`: the name of its text, if it has one.
    """

    spec: ModelSpec
    diagnostics: tuple[Diagnostic, ...] = ()
    directories: Mapping[str, FilePath] = field(default_factory=dict)
    complete: bool = True
    main_file: str | None = None


@dataclass(frozen=True)
class Declared:
    """The declaration of a name: the word for its kind, its place, and the entry."""

    kind: str
    place: Span
    entry: ex.Node


@dataclass
class Context:
    """`registered` are the names of the user's feature functions; `lost` the statements that could not be read.

    `functions_known` is False if the user's functions become known later: a function may then be one of them.
    `main_file`: as in `LocatedSpec`.
    """

    spec: ModelSpec
    main_file: str | None = None
    stage: str | None = None
    data: Data | None = None
    registered: Collection[str] = ()
    directories: Mapping[str, FilePath] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    functions_known: bool = True
    _states: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    _lines: dict[FilePath, tuple[str, ...] | str] = field(default_factory=dict)
    _known: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    guesses: SpellingGuesses = field(default_factory=SpellingGuesses)
    kept: dict[Any, Any] = field(default_factory=dict)  # results of one rule that others need

    # complaints -----------------------------------------------------------------------------------------------

    def complaint(
        self,
        slug: str,
        message: str,
        at: At,
        words: str = "",
        help: str | None = None,
        others: Others = (),
        severity: Severity = "error",
    ) -> Diagnostic:
        """A diagnostic at a place, with further places and their words; places that no text has are left out."""
        here = ex.label_at(at, words)
        there = tuple(label for other, text in others if (label := ex.label_at(other, text)) is not None)
        return Diagnostic(slug, message, here, there, help, severity, self.main_file if here is None else None)

    def warning(
        self, slug: str, message: str, at: At, words: str = "", help: str | None = None, others: Others = ()
    ) -> Diagnostic:
        """A complaint that does not stop the model from being trained."""
        return self.complaint(slug, message, at, words, help, others, "warning")

    # names ----------------------------------------------------------------------------------------------------

    @cached_property
    def declared(self) -> Mapping[str, tuple[Declared, ...]]:
        """All declarations of each name. A column and a label can share one."""
        by_name: dict[str, list[Declared]] = {}
        for column in self.spec.data.columns if self.spec.data else ():
            by_name.setdefault(column.name, []).append(Declared(COLUMN, column.span, column))
        for name, item in self.spec.named():
            by_name.setdefault(name, []).append(Declared(item.word, item.place_of("name"), item))
        return {name: tuple(entries) for name, entries in by_name.items()}

    def named(self, name: str, *kinds: str) -> Declared | None:
        """The declaration of `name`, if it is of one of `kinds` (any, if there are none), the first kind first."""
        entries = self.declared.get(name, ())
        if not kinds:
            return entries[-1] if entries else None  # a label rather than its column
        return next((entry for kind in kinds for entry in entries if entry.kind == kind), None)

    def names(self, *kinds: str) -> list[str]:
        """The names of these kinds, in the order of their declaration."""
        if kinds not in self._known:
            named = self.declared.items()
            self._known[kinds] = [name for name, entries in named if any(entry.kind in kinds for entry in entries)]
        return self._known[kinds]

    def near(
        self, name: str, kinds: Iterable[str], more: Iterable[str] = ()
    ) -> tuple[str | None, list[tuple[At, str]]]:
        """The name that `name` probably stands for, and the label that shows where it is declared."""
        known = [*self.names(*kinds), *more]
        guess = self.guesses.near(name, known, other_words("columns"))
        entry = self.named(guess, *kinds) if guess else None
        if entry is None:
            return guess, []
        similar = did_you_mean(name, known) == guess
        words = (
            f"{a(entry.kind)} with a similar name is declared here" if similar else f"this {entry.kind} may be meant"
        )
        return guess, [(entry.place, words)]

    def may_be_lost(self, name: str) -> bool:
        """Whether a statement that could not be read may have declared `name`."""
        return name in self._lost_declarations

    def mentioned_in_lost(self, name: str) -> bool:
        """Whether a statement that could not be read speaks of `name`."""
        return name in self._lost_words

    def lost_statement(self, keyword: str) -> bool:
        return any(_keyword(text) == keyword for text in self.lost)

    @property
    def unlabelled(self) -> bool:
        """Whether there is no `label` at all; other problems of predicted variables then follow from that."""
        return not self.spec.labels and not self.lost_statement("label")

    @cached_property
    def meant_as_labels(self) -> Mapping[str, Span]:
        """Columns in the place of a label, with the first such place: their `label` statements are missing."""
        places: dict[str, Span] = {}
        for site in self.sites():
            entry = self.named(site.variable)
            if entry is not None and entry.kind == COLUMN and not self.may_be_lost(site.variable):
                places.setdefault(site.variable, site.place_of("variable"))
        return places

    def sites(self) -> Iterator[ex.Site]:
        """The sites of cliques, then those of pieces."""
        for clique in self.spec.cliques:
            yield from clique.sites
        for piece in self.spec.pieces:
            yield from piece.over

    @cached_property
    def _lost_declarations(self) -> frozenset[str]:
        return frozenset().union(*map(_declared_words, self.lost))

    @cached_property
    def _lost_words(self) -> frozenset[str]:
        return frozenset(word for text in self.lost for word in re.findall(r"\w+", text))

    # states ---------------------------------------------------------------------------------------------------

    def states(self, name: str) -> tuple[str, ...] | None:
        """The declared states of a variable; None if they are learned or cannot be read."""
        passed: list[str] = []
        lender: str | None = name
        while lender is not None and lender not in self._states:
            self._states[lender] = None  # `states(a)` of b and `states(b)` of a have no result
            passed.append(lender)
            entry = self.named(lender, "label", "latent variable", "memory")
            domain = getattr(entry.entry, "domain", None) if entry else None
            lender = domain.variable if isinstance(domain, ex.StatesOf) else None
        for borrower in reversed(passed):  # the states of its lender are known by now
            entry = self.named(borrower, "label", "latent variable", "memory")
            self._states[borrower] = self.declared_states(entry.entry) if entry else None
        return self._states[name]

    def declared_states(self, variable: ex.Node) -> tuple[str, ...] | None:
        """The states that a variable's declaration gives it."""
        if not isinstance(variable, LabelSpec | Latent | Memory):
            return None
        if variable.domain is None:
            return BOOLEAN
        states = self._domain_states(variable.domain, variable.name)
        others = variable.others if isinstance(variable, LabelSpec) else None
        return (*states, others) if states is not None and others is not None and others not in states else states

    def _domain_states(self, domain: ex.Domain, name: str) -> tuple[str, ...] | None:
        match domain:
            case ex.Cardinality(count=count):
                return tuple(str(state) for state in range(min(count, 10_000)))
            case ex.StateFile(path=path):
                return self._file_states(name, path)
            case ex.StatesOf(variable=variable):
                return self.states(variable)
        return listed_states(domain)

    def _file_states(self, name: str, path: str) -> tuple[str, ...] | None:
        lines = self.lines(self.directories[name] / path) if name in self.directories else ()
        if isinstance(lines, str):
            return None
        return tuple(dict.fromkeys(line.strip() for line in lines)) or None

    def lines(self, path: FilePath) -> tuple[str, ...] | str:
        """The non-blank lines of a lexicon or a list of states, or why they cannot be read."""
        if path not in self._lines:
            self._lines[path] = _read_lines(path)
        return self._lines[path]


def a(words: str) -> str:
    """`a label`, `an optimizer`"""
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def listed(names: Iterable[str], joint: str = "and") -> str:
    """`a`, `b` and `c`; for very many names the first, and how many more"""
    quoted = quoted_names(list(names))
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {joint} {quoted[-1]}" if quoted else "none"


def _read_lines(path: FilePath) -> tuple[str, ...] | str:
    if is_pipe(path):
        return f"`{path.name}` is a pipe"
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return f"`{path.name}`: {(error.strerror or str(error)).lower()}"
    except ValueError:
        return "this is no file name"
    if len(raw) > MAX_BYTES:
        return f"it has more than {MAX_BYTES >> 20} MiB"
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "it is not UTF-8"
    return tuple(line for line in text.split("\n") if line.strip())


def _keyword(statement: str) -> str:
    """The keyword that an unreadable statement begins with, or was meant to begin with."""
    word = re.match(r"\w*", statement)
    first_word = word[0].lower() if word is not None else ""
    return (
        first_word
        if first_word in KEYWORDS
        else other_words("statements").get(first_word) or did_you_mean(first_word, KEYWORDS) or first_word
    )


def _declared_words(statement: str) -> set[str]:
    """The names that an unreadable statement may have been meant to declare."""
    words = re.findall(r"[^\W\d]\w*", statement)
    if words[:1] == ["data"]:
        return set(words[2:])
    if _keyword(statement) == "label":  # `label pos, chunk`
        return set(words[1:])
    return {*words[1:2], *(after for before, after in pairwise(words) if before == "as")}


# every node of a specification ----------------------------------------------------------------------------------------


def every_feature(spec: ModelSpec) -> Iterator[tuple[FeatureGroup | CliqueSpec, ex.Feature]]:
    """The entries of all feature lists, of the groups, then of the cliques, each with the statement that has it."""
    holders: tuple[FeatureGroup | CliqueSpec, ...] = (*spec.groups, *spec.cliques)
    for holder in holders:
        for feature in holder.features:
            yield holder, feature


def every_node(spec: ModelSpec) -> Iterator[tuple[Statement, ex.Node]]:
    """Every node in features, conditions, memories and views, outermost first, each with the statement that has it."""
    for holder, feature in every_feature(spec):
        yield from ((holder, node) for node in nodes(feature))
    for clique in spec.cliques:
        if clique.where is not None:
            yield from ((clique, node) for node in nodes(clique.where))
    for constraint in spec.rules:
        yield from ((constraint, node) for node in constraint_nodes(constraint))
    expressions: tuple[Memory | View, ...] = (*spec.memories, *spec.views)
    for derived in expressions:
        yield from ((derived, node) for node in value_if_nodes(derived.value))


def constraint_nodes(constraint: Constraint | Expectation) -> Iterator[ex.Node]:
    """Everything in the conditions of a constraint or an expectation."""
    yield from nodes(constraint.condition)
    if constraint.when is not None:
        yield from nodes(constraint.when)
