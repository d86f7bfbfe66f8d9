"""A specification with the places of its parts, which its nodes know.

A path follows the fields of the specification: `("cliques", 2, "features", 0)` is the first feature of the third
clique. A part that was not written (a default) has no place; it is then shown at the part around it. Here are
also the problems that only a whole specification shows and that need no rule of the checker: constants in place of
numbers, and the order of stages. Not here: reading a specification, or checking it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field
from pathlib import Path as FilePath
from typing import Any, TypeAlias

from ...foundation import Diagnostic, Label, Span, SpellingGuesses, did_you_mean, quoted_names
from ...syntax import NAMED_STATEMENTS, Expected, Node, Reference, Stage, count, count_or_none, shown
from .model_spec import ModelSpec

Path: TypeAlias = tuple[str | int, ...]


class SpanTable:
    """The places of the parts of a specification, by their paths.   main_file: the name of its text, if it has one."""

    def __init__(self, spec: ModelSpec | None = None, main_file: str | None = None):
        self.spec, self.main_file = spec, main_file

    def __contains__(self, path: Path) -> bool:
        """Whether the very part was written."""
        return self.spec is not None and places_along(self.spec, path)[-1] is not None

    def nearest(self, *path: str | int) -> Span | None:
        """The span of `path`, or of the smallest written part around it; None if no part around it was written."""
        return nearest_place(self.spec, path) if self.spec is not None else None

    def label(self, *path: str | int, text: str = "") -> Label | None:
        """A `Label` at the nearest span, ready to be the `primary` of a diagnostic."""
        span = self.nearest(*path)
        return None if span is None else Label(span, text)


def nearest_place(node: Node, path: Path) -> Span | None:
    """The place of the part of a node at a path, or of the smallest written part around it."""
    return next((span for span in reversed(places_along(node, path)) if span is not None), None)


def places_along(node: Node, path: Path) -> list[Span | None]:
    """The places of a node and of its parts along a path; None for what is not written."""
    part: Any = node
    found: list[Span | None] = [node.span if node.is_written else None]
    for step in path:
        place: Any = None
        if isinstance(part, Node) and isinstance(step, str):
            place, part = part.part_spans.get(step), getattr(part, step, None)
            if isinstance(place, tuple):  # a list of texts: the next step is the number of one
                part = place
        elif isinstance(part, tuple) and isinstance(step, int) and step < len(part):
            part = part[step]
        else:
            part = None
        if isinstance(part, Node):
            place = part.span if part.is_written else place
        found.append(part if isinstance(part, Span) else place if isinstance(place, Span) else None)
    return found


@dataclass(frozen=True)
class LocatedSpec:
    """A specification with information about its origin.

    `spans` finds the place of each part; `directories` maps the name of a lexicon, or of a variable with a state file,
    to the directory to which its path is relative. `diagnostics` are the problems found so far. `complete` is False if
    a statement could not be read: names that it declares may then seem unknown.
    """

    spec: ModelSpec
    spans: SpanTable = dataclass_field(default_factory=SpanTable)
    diagnostics: tuple[Diagnostic, ...] = ()
    directories: Mapping[str, FilePath] = dataclass_field(default_factory=dict)
    complete: bool = True


# Numbers of a specification that may be constants: (field of the specification, field of the statement).
_CONSTANT_COUNTS = (
    ("cliques", "up_to"),
    *dict.fromkeys(
        (kind.section, name)
        for kind in NAMED_STATEMENTS
        for options in kind.with_options.values()
        for name, option in options.items()
        if option.read in (count, count_or_none)
    ),
)


def check_constants(spec: ModelSpec, spans: SpanTable) -> list[Diagnostic]:
    """Problems of options that name a constant which does not exist or is not a whole number of at least 1."""
    problems, guesses = [], SpellingGuesses()
    names = [let.name for let in spec.lets]
    for part, field in _CONSTANT_COUNTS:
        for n, item in enumerate(getattr(spec, part)):
            reference = getattr(item, field)
            if not isinstance(reference, Reference):
                continue
            value = spec.settled(reference)
            label = spans.label(part, n, field, text="expected a whole number, at least 1")
            if spec.constant(reference.name) is None:
                guess = guesses.near(reference.name, names)
                message = f"`{reference.name}` is not a constant, and `{field}` needs a whole number"
                problems.append(
                    Diagnostic("unknown-name", message, label, help=f"did you mean `{guess}`?" if guess else None)
                )
            elif isinstance(count(value), Expected | Reference):
                described = f"the constant `{reference.name}` is `{shown(value)}`"
                message = f"{described}, and `{field}` needs a whole number, at least 1"
                problems.append(Diagnostic("bad-setting", message, label))
    return problems


def unknown_stage(label: str, known: Iterable[str], place: Label | None) -> Diagnostic:
    """The error for an unknown stage. `place`: where it is named."""
    names = list(known)
    guess = did_you_mean(label, names)
    remedy = f"did you mean `{guess}`?" if guess else f"the stages are {', '.join(quoted_names(names))}"
    return Diagnostic("unknown-stage", f"there is no training stage `{label}`", place, help=remedy)


def stage_cycle(stages: Sequence[Stage], circle: Sequence[int], spans: SpanTable) -> Diagnostic:
    """The error for stages that wait for each other. `circle`: their numbers; each stage comes after the next one, and
    the last after the first.

    Points at the first `after` that names a later stage or its own stage, because stages run in the order of the text.
    """
    number = {stages[n].label: n for n in circle}
    first = min(n for n in circle if number[stages[n].after or ""] >= n)
    others = sorted(n for n in circle if n != first)
    places = {n: spans.label(*(_path(n)), text=f"`{stages[n].label}` after `{stages[n].after}`") for n in circle}
    there = tuple(place for n in others if (place := places[n]) is not None)
    names = quoted_names([stages[n].label for n in sorted(circle)])
    message = f"stage {names[0]} comes after itself"
    if others:
        message = f"stages {', '.join(names[:-1])} and {names[-1]} come after each other"
    remedy = f"leave out one `after`, as in `train {stages[first].criterion.name} as {stages[first].label}`"
    return Diagnostic("stage-cycle", message, places[first], there, remedy)


def _path(number: int) -> tuple[str | int, ...]:
    return ("stages", number, "after")
