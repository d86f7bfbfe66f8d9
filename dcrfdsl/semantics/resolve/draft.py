"""A `ModelSpec` under construction, by the resolver from files or by the Python builder.

Collects the declarations in order, finds names that are declared twice, and lets an includer replace declarations of a
used file. Not here: the content of a statement (`syntax.statements`), the origin of files (`resolution`).
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path as FilePath
from typing import Any

from ...foundation import MOST_SHOWN, Diagnostic, Label, Span, SpellingGuesses, dataclass
from ...syntax import (
    NAMED_STATEMENTS,
    DataSpec,
    Declaration,
    Expected,
    Statement,
    amount,
    count,
    count_or_none,
    nodes as ex,
    shown,
    statements,
)
from ..schema import SCHEMES, ModelSpec

# The statements of which a specification has a list: labels, cliques, stages …
_LISTED = tuple(kind for kind in statements.STATEMENTS if kind.word)
_SINGLE = ("data", "infer", "decode", "evaluate")

Entry = Declaration | statements.Stage


@dataclass(frozen=True)
class _Owner:
    """The declaration that owns a name: the word for it, its place, its file, its place in the list of its kind."""

    word: str
    span: Span | None
    file: tuple[int, ...]
    number: int = 0


@dataclass
class Draft:
    """Collects declarations; `finish` returns the specification.

    `file` is the current file: `(1, 0)` is the first file that the second used file uses, `()` the main one. A file
    includes those whose numbers begin with its own.
    """

    problems: list[Diagnostic] = field(default_factory=list)
    directories: dict[str, FilePath] = field(default_factory=dict)
    doc: tuple[str, ...] = ()
    file: tuple[int, ...] = ()
    _parts: dict[str, list[Entry]] = field(default_factory=lambda: {kind.section: [] for kind in _LISTED})
    _single: dict[str, Any] = field(default_factory=dict)
    _owners: dict[str, _Owner] = field(default_factory=dict)
    _stage_owners: dict[str, _Owner] = field(default_factory=dict)
    _single_owners: dict[str, _Owner] = field(default_factory=dict)
    _clashes: dict[str, Diagnostic] = field(default_factory=dict)  # two used files differ: the includer may settle it

    def declare(self, statement: Statement, directory: FilePath) -> None:
        """Takes a statement of a file; its paths are relative to `directory`."""
        match statement:
            case DataSpec():
                self._declare_single("data", statement, statement)
            case statements.Method():
                self._declare_single(statement.step, statement.call, statement)
            case statements.Evaluate():
                self._declare_single("evaluate", statement.metrics, statement)
            case _:
                self.problems.extend(statement.problems)
                domain = getattr(statement, "domain", None)
                if isinstance(statement, statements.Lexicon) or isinstance(domain, ex.StateFile):
                    self.directories[getattr(statement, "name")] = directory  # noqa: B009
                if isinstance(domain, ex.Scheme) and domain.name not in SCHEMES:
                    self.problems.append(_unknown_scheme(domain))
                    statement = statement.model_copy(update={"domain": ex.Learned().at(domain.span)})
                self.add(statement)  # type: ignore[arg-type]

    def _declare_single(self, field_name: str, value: object, statement: Statement) -> None:
        keyword = statement.place_of("keyword")
        if self.clear(field_name, keyword):
            self.problems.extend(statement.problems)
            self.set(field_name, value, keyword)

    def add(self, item: Entry) -> None:
        """Appends a declaration; reports a taken name.

        A constant of a used file gives way to that of the includer, who also decides if two used files differ.
        """
        name = item.label if isinstance(item, statements.Stage) else item.name
        owners = self._stage_owners if isinstance(item, statements.Stage) else self._owners
        entries = self._parts[item.section]
        if name is not None:
            # A stage without a name has that of its criterion.
            where = item.criterion if isinstance(item, statements.Stage) and item.name is None else item
            span, earlier = where.place_of("name"), owners.get(name)
            if (
                earlier is not None
                and isinstance(item, statements.Let)
                and earlier.word == item.word
                and earlier.file != self.file
            ):
                self._settle(f"constant `{name}`", span, earlier, f"let {name} = …")
                entries[earlier.number] = item
                self._owners[name] = _Owner(item.word, span, self.file, earlier.number)
                return
            if earlier is not None:
                self._twice(name, item.word, span, earlier)
                return
            owners[name] = _Owner(item.word, span, self.file, len(entries))
        entries.append(item)

    def set(self, field_name: str, value: object, span: Span | None = None) -> None:
        """Sets `data`, `infer`, `decode` or `evaluate`."""
        assert field_name in _SINGLE
        self._single[field_name] = value
        self._single_owners[field_name] = _Owner(field_name, span, self.file)

    def clear(self, field_name: str, span: Span | None = None) -> bool:
        """Makes room for a new `data`, `infer` …; False (and a problem) if the same file has declared it before."""
        earlier = self._single_owners.get(field_name)
        if earlier is not None and earlier.file == self.file:
            message = f"`{field_name}` stands twice in this file"
            here, there = ex.label_at(span, "said again here"), _labels(earlier.span, "first said here")
            self.problems.append(Diagnostic("declared-twice", message, here, there))
            return False
        if earlier is not None:
            self._settle(f"`{field_name}`", span, earlier, f"{field_name} …")
        return True

    def include(self, spec: ModelSpec) -> None:
        """Adds all declarations of a finished specification, without its defaults."""
        for kind in _LISTED:
            for item in getattr(spec, kind.section):
                self.add(item)
        for field_name in _SINGLE:
            value = getattr(spec, field_name)
            if value != ex.default_of(ModelSpec, field_name) and self.clear(field_name):
                self.set(field_name, value)

    def replace(self, number: int, item: Entry) -> None:
        """Replaces an entry by another of the same kind."""
        self._parts[item.section][number] = item

    def entries(self, part: str) -> list[Entry]:
        return list(self._parts[part])

    def single(self, field_name: str) -> Any:
        return self._single.get(field_name)

    def finish(self) -> ModelSpec:
        """The specification, after a last search for clashes of names that only the whole shows."""
        parts: dict[str, Any] = {part: tuple(items) for part, items in self._parts.items()}
        spec = ModelSpec(**parts, **self._single, doc=self.doc)
        self.problems.extend(self._clashes.values())
        self._check_columns(spec)
        self._check_constants(spec)
        self.problems.extend(check_constants(spec))
        return spec

    def _check_columns(self, spec: ModelSpec) -> None:
        owners: dict[str, _Owner] = {}
        for column in spec.data.columns if spec.data else ():
            if column.name in owners:
                self._twice(column.name, "column", column.span, owners[column.name])
            else:
                owners[column.name] = _Owner("column", column.span, self.file)
        for name, item in spec.named():
            # a label is a column, and what is in parts of a model is never read like one
            if name in owners and not isinstance(item, statements.Label) and item.space != "part":
                self._twice(name, item.word, self._owners[name].span, owners[name])

    def _check_constants(self, spec: ModelSpec) -> None:
        """A constant must not be defined by itself, directly or indirectly."""
        ends: dict[str, bool] = {}  # whether the chain from a constant ends
        for let in spec.lets:
            seen = {let.name: None}
            value = let.value
            while isinstance(value, ex.Reference) and (constant := spec.constant(value.name)) is not None:
                if value.name in seen or value.name in ends:
                    break
                seen[value.name] = None
                value = constant
            closes = isinstance(value, ex.Reference) and value.name in seen
            ends |= dict.fromkeys(seen, not closes and ends.get(getattr(value, "name", ""), True))
            if not ends[let.name]:
                message = f"constant `{let.name}` has no value: {_way(spec, let.name)}"
                self.problems.append(Diagnostic("let-cycle", message, ex.label_at(let.value, "leads back to itself")))

    def _settle(self, what: str, span: Span | None, earlier: _Owner, remedy: str) -> None:
        """The includer decides between the files that it uses; until then, two that differ are a clash."""
        self._clashes.pop(what, None)
        if earlier.file[: len(self.file)] != self.file:
            here, there = ex.label_at(span, "and here"), _labels(earlier.span, "said here")
            message = f"{what} is said by two used files"
            help_text = f"decide with `{remedy}` in the file that uses them"
            self._clashes[what] = Diagnostic("declared-twice", message, here, there, help_text)

    def _twice(self, name: str, word: str, span: Span | None, earlier: _Owner) -> None:
        message = f"`{name}` is declared twice: as a {earlier.word} and as a {word}"
        if earlier.word == word:
            message = f"{word} `{name}` is declared twice"
        remedy = "give one of them another name: `train … as NAME`" if word == "stage" else None
        here, there = ex.label_at(span, "declared again here"), _labels(earlier.span, "first declared here")
        self.problems.append(Diagnostic("declared-twice", message, here, there, remedy))


def _way(spec: ModelSpec, name: str) -> str:
    """The path from a constant to the first repeated one, as far as a message shows it: `a → b → a`"""
    seen = [name]
    while len(seen) <= MOST_SHOWN and isinstance(value := spec.constant(seen[-1]), ex.Reference):
        seen.append(value.name)
        if value.name in seen[:-1]:
            break
    more = [] if seen[-1] in seen[:-1] else ["…"]
    return " → ".join([*(f"`{name}`" for name in seen), *more])


def _labels(span: Span | None, text: str) -> tuple[Label, ...]:
    label = ex.label_at(span, text)
    return () if label is None else (label,)


# Numbers of a specification that may be constants: (field of the specification, field of the statement).
_WHOLE = "a whole number, at least 1"
_KINDS = {count: _WHOLE, count_or_none: _WHOLE, amount: "a number"}
_CONSTANT_NUMBERS = {
    **dict.fromkeys((("cliques", "least"), ("cliques", "up_to"), ("runs", "least"), ("runs", "most")), (count, _WHOLE)),
    **{
        (kind.section, name): (read, _KINDS[read])
        for kind in NAMED_STATEMENTS
        for options in kind.with_options.values()
        for name, read in options.items()
        if read in _KINDS
    },
}


def check_constants(spec: ModelSpec) -> list[Diagnostic]:
    """Problems of options that name a constant which does not exist or is not such a number as they take."""
    problems, guesses = [], SpellingGuesses()
    names = [let.name for let in spec.lets]
    for (part, field_name), (read, words) in _CONSTANT_NUMBERS.items():
        for item in getattr(spec, part):
            reference = getattr(item, field_name)
            if not isinstance(reference, ex.Reference):
                continue
            value = spec.settled(reference)
            label = ex.label_at(item.place_of(field_name), f"expected {words}")
            if spec.constant(reference.name) is None:
                guess = guesses.near(reference.name, names)
                message = f"`{reference.name}` is not a constant, and `{field_name}` needs {words.partition(',')[0]}"
                help_text = f"did you mean `{guess}`?" if guess else None
                problems.append(Diagnostic("unknown-name", message, label, help=help_text))
            elif isinstance(read(value), Expected | ex.Reference):
                described = f"the constant `{reference.name}` is `{shown(value)}`"
                message = f"{described}, and `{field_name}` needs {words}"
                problems.append(Diagnostic("bad-setting", message, label))
    return problems


def _unknown_scheme(scheme: ex.Scheme) -> Diagnostic:
    guess = SCHEMES.suggest(scheme.name)
    known = ", ".join(f"`{name}(…)`" for name in SCHEMES)
    remedy = f"did you mean `{guess}`?" if guess else f"states are `{{A, B}}`, a number, a file, {known} or `states(y)`"
    label = Label(scheme.place_of("name"), "unknown scheme")
    return Diagnostic("unknown-name", f"`{scheme.name}` is not a segment scheme", label, help=remedy)
