"""A `ModelSpec` under construction, by the resolver from files or by the Python builder.

Collects the declarations in order, finds names that are declared twice, and lets an includer replace declarations of a
used file. Not here: the content of a statement (`declarations`), the origin of files (`resolution`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from ...foundation import MOST_SHOWN, Diagnostic, Label, Span
from ..schema import Path, RecordedSpans, expressions as ex, model_spec as model

# The field of each kind of declaration, and the word for it in messages.
_PARTS: Mapping[type[ex.Frozen], tuple[str, str]] = {
    model.Label: ("labels", "label"),
    model.Latent: ("latents", "latent variable"),
    model.Memory: ("memories", "memory"),
    model.View: ("views", "view"),
    model.Lexicon: ("lexicons", "lexicon"),
    model.Let: ("lets", "constant"),
    model.FeatureGroup: ("groups", "feature group"),
    model.CliqueSpec: ("cliques", "clique"),
    model.Piece: ("pieces", "piece"),
    model.Constraint: ("constraints", "constraint"),
    model.Once: ("onces", "constraint"),
    model.Stage: ("stages", "stage"),
}
# These may share a name with a column: a label is a column, the others are never read like one.
_BESIDE_COLUMNS = (model.Label, model.CliqueSpec, model.Piece, model.Constraint, model.Once)
_SINGLE = ("data", "infer", "decode", "evaluate")

Entry = model.Declaration | model.Stage


@dataclass(frozen=True)
class _Owner:
    """The declaration that owns a name: the word for it, its place, its file, its path."""

    word: str
    span: Span | None
    file: tuple[int, ...]
    path: Path


@dataclass
class Draft:
    """Collects declarations; `finish` returns the specification.

    `file` is the current file: `(1, 0)` is the first file that the second used file uses, `()` the main one. A file
    includes those whose numbers begin with its own.
    """

    problems: list[Diagnostic] = field(default_factory=list)
    spans: RecordedSpans = field(default_factory=RecordedSpans)
    directories: dict[str, FilePath] = field(default_factory=dict)
    doc: tuple[str, ...] = ()
    file: tuple[int, ...] = ()
    _parts: dict[str, list[Entry]] = field(default_factory=lambda: {part: [] for part, _ in _PARTS.values()})
    _single: dict[str, object] = field(default_factory=dict)
    _owners: dict[str, _Owner] = field(default_factory=dict)
    _stage_owners: dict[str, _Owner] = field(default_factory=dict)
    _single_owners: dict[str, _Owner] = field(default_factory=dict)
    _clashes: dict[str, Diagnostic] = field(default_factory=dict)  # two used files differ: the includer may settle it

    def path_of_next(self, kind: type[ex.Frozen]) -> Path:
        """The path of the next declaration of `kind`."""
        part, _ = _PARTS[kind]
        return part, len(self._parts[part])

    def add(self, item: Entry, name_span: Span | None = None) -> None:
        """Appends a declaration whose spans are recorded under `path_of_next(type(item))`; reports a taken name.

        A constant of a used file gives way to that of the includer, who also decides if two used files differ.
        """
        part, word = _PARTS[type(item)]
        path = self.path_of_next(type(item))
        name = item.label if isinstance(item, model.Stage) else item.name
        owners = self._stage_owners if isinstance(item, model.Stage) else self._owners
        if name is not None:
            earlier = owners.get(name)
            if (
                earlier is not None
                and isinstance(item, model.Let)
                and earlier.word == word
                and earlier.file != self.file
            ):
                self._settle(f"constant `{name}`", name_span, earlier, f"let {name} = …")
                self._replace(earlier, item, path)
                return
            if earlier is not None:
                self._twice(name, word, name_span, earlier)
                self.spans.drop(path)
                return
            owners[name] = _Owner(word, name_span, self.file, path)
        self._parts[part].append(item)

    def set(self, field_name: str, value: object, span: Span | None = None) -> None:
        """Sets `data`, `infer`, `decode` or `evaluate`. Call `clear` before recording spans under the name."""
        assert field_name in _SINGLE
        self._single[field_name] = value
        self._single_owners[field_name] = _Owner(field_name, span, self.file, (field_name,))

    def clear(self, field_name: str, span: Span | None = None) -> bool:
        """Makes room for a new `data`, `infer` …; False (and a problem) if the same file has declared it before."""
        earlier = self._single_owners.get(field_name)
        if earlier is not None and earlier.file == self.file:
            message = f"`{field_name}` stands twice in this file"
            here, there = _label(span, "said again here"), _labels(earlier.span, "first said here")
            self.problems.append(Diagnostic("declared-twice", message, here, there))
            return False
        if earlier is not None:
            self._settle(f"`{field_name}`", span, earlier, f"{field_name} …")
        self.spans.drop((field_name,))
        return True

    def include(self, spec: model.ModelSpec) -> None:
        """Adds all declarations of a finished specification, without its defaults."""
        for part, _ in _PARTS.values():
            for item in getattr(spec, part):
                self.add(item)
        for field_name in _SINGLE:
            value = getattr(spec, field_name)
            if value != model.ModelSpec.model_fields[field_name].default and self.clear(field_name):
                self.set(field_name, value)

    def replace(self, item: Entry, path: Path) -> None:
        """Replaces the entry at `path` by `item`; the caller records its spans."""
        part, index = path
        assert isinstance(part, str) and isinstance(index, int)
        self._parts[part][index] = item

    def entries(self, part: str) -> list[Entry]:
        return list(self._parts[part])

    def single(self, field_name: str) -> object | None:
        return self._single.get(field_name)

    def finish(self) -> model.ModelSpec:
        """The specification, after a last search for clashes of names that only the whole shows."""
        spec = model.ModelSpec.model_validate({**self._parts, **self._single, "doc": self.doc})
        self.problems.extend(self._clashes.values())
        self._check_columns(spec)
        self._check_constants(spec)
        return spec

    def _check_columns(self, spec: model.ModelSpec) -> None:
        owners: dict[str, _Owner] = {}
        for n, column in enumerate(spec.data.columns if spec.data else ()):
            path: Path = ("data", "columns", n)
            if column.name in owners:
                self._twice(column.name, "column", self.spans.get(path), owners[column.name])
            else:
                owners[column.name] = _Owner("column", self.spans.get(path), self.file, path)
        for name, item in spec.named():
            if name in owners and not isinstance(item, _BESIDE_COLUMNS):
                self._twice(name, _PARTS[type(item)][1], self._owners[name].span, owners[name])

    def _check_constants(self, spec: model.ModelSpec) -> None:
        """A constant must not be defined by itself, directly or indirectly."""
        ends: dict[str, bool] = {}  # whether the chain from a constant ends
        for n, let in enumerate(spec.lets):
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
                here = _label(self.spans.get(("lets", n, "value")), "leads back to itself")
                message = f"constant `{let.name}` has no value: {_way(spec, let.name)}"
                self.problems.append(Diagnostic("let-cycle", message, here))

    def _settle(self, what: str, span: Span | None, earlier: _Owner, remedy: str) -> None:
        """The includer decides between the files that it uses; until then, two that differ are a clash."""
        self._clashes.pop(what, None)
        if earlier.file[: len(self.file)] != self.file:
            here, there = _label(span, "and here"), _labels(earlier.span, "said here")
            message = f"{what} is said by two used files"
            help_text = f"decide with `{remedy}` in the file that uses them"
            self._clashes[what] = Diagnostic("declared-twice", message, here, there, help_text)

    def _replace(self, earlier: _Owner, item: model.Let, noted: Path) -> None:
        self.replace(item, earlier.path)
        self.spans.drop(earlier.path)
        for path, span in self.spans.drop(noted).items():
            self.spans[(*earlier.path, *path[len(noted) :])] = span
        place = self.spans.get((*earlier.path, "name"))
        self._owners[item.name] = _Owner(earlier.word, place, self.file, earlier.path)

    def _twice(self, name: str, word: str, span: Span | None, earlier: _Owner) -> None:
        message = f"`{name}` is declared twice: as a {earlier.word} and as a {word}"
        if earlier.word == word:
            message = f"{word} `{name}` is declared twice"
        remedy = "give one of them another name: `train … as NAME`" if word == "stage" else None
        here, there = _label(span, "declared again here"), _labels(earlier.span, "first declared here")
        self.problems.append(Diagnostic("declared-twice", message, here, there, remedy))


def _way(spec: model.ModelSpec, name: str) -> str:
    """The path from a constant to the first repeated one, as far as a message shows it: `a → b → a`"""
    seen = [name]
    while len(seen) <= MOST_SHOWN and isinstance(value := spec.constant(seen[-1]), ex.Reference):
        seen.append(value.name)
        if value.name in seen[:-1]:
            break
    more = [] if seen[-1] in seen[:-1] else ["…"]
    return " → ".join([*(f"`{name}`" for name in seen), *more])


def _label(span: Span | None, text: str) -> Label | None:
    return None if span is None else Label(span, text)


def _labels(span: Span | None, text: str) -> tuple[Label, ...]:
    return () if span is None else (Label(span, text),)
