"""The condition that a text outside of a template states, such as `y[3] is B-LOC and y[4] is I-LOC`.

The grammar of the language reads it, as the condition of a `require`. Problems point into the text as it was given.
Not here: what the condition means there (`model.label_events`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ...foundation import DcrfError, Diagnostic, Label, Source, Span
from ...syntax import ast, parse_partial
from ..schema import Condition, Path
from .conversion import Converter

_PREFIX = "require "
_EXAMPLE = "for example `y[3] is B-LOC and y[4] is I-LOC`, with positions from 1"


@dataclass(frozen=True)
class EventText:
    """A condition that was read from `source`.   spans: the places of its parts, by their paths."""

    source: Source
    condition: Condition
    spans: Mapping[Path, Span]

    def problem(self, slug: str, message: str, at: Path, words: str = "", help: str | None = None) -> DcrfError:
        """The error about the part at a path, or about the nearest part around it."""
        while at and at not in self.spans:
            at = at[:-1]
        return DcrfError(Diagnostic(slug, message, Label(self.spans[at], words), help=help))


def read_event(text: str, name: str = "event") -> EventText:
    """The condition of a text. DcrfError with every mistake in it.   name: stands in messages for that of a file."""
    text = text.strip()
    source = Source(name, text)

    def relocated(span: Span) -> Span:
        start, end = (min(len(text), max(0, at - len(_PREFIX))) for at in (span.start, span.end))
        return Span(source, start, end)

    if "\n" in text or "\r" in text or not text:
        raise _no_event(source, "has several lines" if text else "is empty")
    template, problems = parse_partial(f"{_PREFIX}{text}\n", name)
    if problems:
        raise DcrfError([_moved(problem, relocated) for problem in problems])
    match template.statements:
        case (ast.Require(when=None, name=None, condition=condition),):
            found: list[Diagnostic] = []
            spans: dict[Path, Span] = {}
            converted = Converter(spans, found, relocate=relocated).condition(condition, ())
            if found:
                raise DcrfError(found)
            return EventText(source, converted, spans)
    raise _no_event(source, "is not one condition")


def _no_event(source: Source, why: str) -> DcrfError:
    label = Label(Span(source, 0, len(source.text)))
    return DcrfError(Diagnostic("bad-event", f"the event {why}", label, help=_EXAMPLE))


def _moved(problem: Diagnostic, relocated: Callable[[Span], Span]) -> Diagnostic:
    """A problem of the parsed text as one of the event."""

    def moved(label: Label) -> Label:
        return replace(label, span=relocated(label.span))

    primary = None if problem.primary is None else moved(problem.primary)
    return replace(problem, primary=primary, secondary=tuple(map(moved, problem.secondary)))
