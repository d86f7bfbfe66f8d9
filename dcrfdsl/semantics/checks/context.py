"""The input of every rule of the checker: the specification, the places of its parts, and how to report a problem.

A rule is a function from a `Context` to diagnostics. It reads and reports, and changes nothing; `Context` only keeps
values for several rules (the states of a label, the kind of a name). Below it are walks over every feature and node,
for rules on one kind of node wherever it occurs (regexes, places). Not here: any rule, the meaning of the nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from ...foundation import Diagnostic, Label, Span, SpellingGuesses, did_you_mean, is_pipe, quoted_names
from ...syntax import (
    KEYWORDS,
    NAMED_STATEMENTS,
    SYNONYMS as WORDS_FOR,
    Cardinality,
    Constraint,
    Domain,
    Enumerated,
    Feature,
    Label as LabelSpec,
    Latent,
    Memory,
    Node,
    Scheme,
    StateFile,
    StatesOf,
)
from ..conditions import BOOLEAN
from ..schema import SCHEMES, ModelSpec, Path, SpanTable, nodes, scheme_states, value_if_nodes

if TYPE_CHECKING:
    from ...foundation import Ints

Severity: TypeAlias = Literal["error", "warning", "note"]
Rule: TypeAlias = "Callable[[Context], Iterable[Diagnostic]]"

# The parts of a specification with named entries, and the word for them in messages.
KINDS: Mapping[str, str] = {kind.section: kind.word for kind in NAMED_STATEMENTS}
COLUMN = "column"
OBSERVED_KINDS = (COLUMN, "feature group")
LABEL_KINDS = ("label", "latent variable", "memory", "view")
MAX_BYTES = 64 * 2**20  # the part of a lexicon that training reads

# Terms of other tools and corpora for things that templates usually name; used only if the right side is declared.
SYNONYMS: Mapping[str, str] = {
    "token": "word", "form": "word", "text": "word", "surface": "word", "word": "form", "tag": "pos", "postag": "pos",
    "upos": "pos", "xpos": "pos", "pos": "upos", "np": "chunk", "iob": "chunk", "bio": "chunk", "entity": "ner",
    "ne": "ner",
}  # fmt: skip


class Data(Protocol):
    """The part of a data set that rules read."""

    @property
    def file(self) -> str: ...

    @property
    def columns(self) -> Mapping[str, Any]: ...

    def lengths(self) -> Ints:
        """Tokens per sentence."""


@dataclass(frozen=True)
class Declared:
    """The declaration of a name: the word for its kind, the path of the entry, and the entry."""

    kind: str
    path: Path
    entry: Node


@dataclass
class Context:
    """`registered` are the names of the user's feature functions; `lost` the statements that could not be read.

    `functions_known` is False if the user's functions become known later: a function may then be one of them.
    """

    spec: ModelSpec
    spans: SpanTable = field(default_factory=SpanTable)
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
        path: Path | Span,
        words: str = "",
        help: str | None = None,
        others: Iterable[tuple[Path, str]] = (),
        severity: Severity = "error",
    ) -> Diagnostic:
        """A diagnostic at `path`, with further places and their words; places that were not written are left out."""
        here = Label(path, words) if isinstance(path, Span) else self.spans.label(*path, text=words)
        there = [label for other, text in others if (label := self.spans.label(*other, text=text)) is not None]
        location = self.main_file if here is None else None
        return Diagnostic(slug, message, here, tuple(there), help, severity, location)

    def warning(
        self,
        slug: str,
        message: str,
        path: Path | Span,
        words: str = "",
        help: str | None = None,
        others: Iterable[tuple[Path, str]] = (),
    ) -> Diagnostic:
        """A complaint that does not stop the model from being trained."""
        return self.complaint(slug, message, path, words, help, others, "warning")

    @property
    def main_file(self) -> str | None:
        """The main file, if the model was read from one."""
        return self.spans.main_file

    # names ----------------------------------------------------------------------------------------------------

    @cached_property
    def declared(self) -> Mapping[str, tuple[Declared, ...]]:
        """All declarations of each name. A column and a label can share one."""
        by_name: dict[str, list[Declared]] = {}
        for n, column in enumerate(self.spec.data.columns if self.spec.data else ()):
            by_name.setdefault(column.name, []).append(Declared(COLUMN, ("data", "columns", n), column))
        for part, kind in KINDS.items():
            for n, item in enumerate(getattr(self.spec, part)):
                if item.name is not None:
                    by_name.setdefault(item.name, []).append(Declared(kind, (part, n, "name"), item))
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
    ) -> tuple[str | None, list[tuple[Path, str]]]:
        """The name that `name` probably stands for, and the label that shows where it is declared."""
        known: list[str] = self.names(*kinds)
        if more := list(more):
            known = [*known, *more]
        guess = self.guesses.near(name, known, SYNONYMS)
        entry = self.named(guess, *kinds) if guess else None
        if entry is None:
            return guess, []
        similar = did_you_mean(name, known) == guess
        words = (
            f"{a(entry.kind)} with a similar name is declared here" if similar else f"this {entry.kind} may be meant"
        )
        return guess, [(entry.path, words)]

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
    def meant_as_labels(self) -> Mapping[str, Path]:
        """Columns in the place of a label, with the first such place: their `label` statements are missing."""
        places: dict[str, Path] = {}
        for part, of in (("cliques", "sites"), ("pieces", "over")):
            for n, item in enumerate(getattr(self.spec, part)):
                for s, site in enumerate(getattr(item, of)):
                    entry = self.named(site.variable)
                    if entry is not None and entry.kind == COLUMN and not self.may_be_lost(site.variable):
                        places.setdefault(site.variable, (part, n, of, s, "variable"))
        return places

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
            lender = domain.variable if isinstance(domain, StatesOf) else None
        for borrower in reversed(passed):  # the states of its lender are known by now
            entry = self.named(borrower, "label", "latent variable", "memory")
            self._states[borrower] = self.declared_states(entry.entry) if entry else None
        return self._states[name]

    def declared_states(self, variable: Node) -> tuple[str, ...] | None:
        """The states that a variable's declaration gives it."""
        if not isinstance(variable, LabelSpec | Latent | Memory):
            return None
        if variable.domain is None:
            return BOOLEAN
        states = self._domain_states(variable.domain, variable.name)
        others = variable.others if isinstance(variable, LabelSpec) else None
        return (*states, others) if states is not None and others is not None and others not in states else states

    def _domain_states(self, domain: Domain, name: str) -> tuple[str, ...] | None:
        match domain:
            case Enumerated(states=states):
                return tuple(dict.fromkeys(states))
            case Cardinality(count=count):
                return tuple(str(state) for state in range(min(count, 10_000)))
            case Scheme(name=scheme, types=types) if types and scheme in SCHEMES:
                return scheme_states(scheme, types)
            case StateFile(path=path):
                return self._file_states(name, path)
            case StatesOf(variable=variable):
                return self.states(variable)
        return None

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

    def variables(self) -> Iterator[tuple[Path, LabelSpec | Latent | Memory]]:
        """Every variable with a domain, with its path."""
        for part in ("labels", "latents", "memories"):
            for n, item in enumerate(getattr(self.spec, part)):
                yield (part, n), item


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
        else WORDS_FOR.get(first_word) or did_you_mean(first_word, KEYWORDS) or first_word
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


def every_feature(spec: ModelSpec) -> Iterator[tuple[Path, Feature]]:
    """The entries of all feature lists: of the groups, then of the cliques."""
    lists = [(("groups", n), group.features) for n, group in enumerate(spec.groups)]
    lists += [(("cliques", n), clique.features) for n, clique in enumerate(spec.cliques)]
    for path, features in lists:
        for f, feature in enumerate(features):
            yield (*path, "features", f), feature


def every_node(spec: ModelSpec) -> Iterator[tuple[Path, Node]]:
    """Every node in features, conditions, memories and views, outermost first."""
    for path, feature in every_feature(spec):
        yield from nodes(feature, path)
    for n, clique in enumerate(spec.cliques):
        if clique.where is not None:
            yield from nodes(clique.where, ("cliques", n, "where"))
    for n, constraint in enumerate(spec.constraints):
        yield from constraint_nodes(constraint, ("constraints", n))
    for n, memory in enumerate(spec.memories):
        yield from value_if_nodes(memory.value, ("memories", n, "value"))
    for n, view in enumerate(spec.views):
        yield from value_if_nodes(view.value, ("views", n, "value"))


def constraint_nodes(constraint: Constraint, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """Everything in the conditions of a constraint."""
    yield from nodes(constraint.condition, (*path, "condition"))
    if constraint.when is not None:
        yield from nodes(constraint.when, (*path, "when"))
