"""The condition that a text outside of a template states, such as `y[3] is B-LOC and y[4] is I-LOC`.

The grammar of the language reads it, as the condition of a `require`. Problems point into the text as it was given.
Not here: what the condition means there (`model.label_events`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...foundation import DcrfError, Diagnostic, Label, Source, Span
from ...syntax import Condition, Constraint, Node, parse_partial, relocated

_PREFIX = "require "
_EXAMPLE = "for example `y[3] is B-LOC and y[4] is I-LOC`, with positions from 1"


def event_problem(place: Node | Span, slug: str, message: str, words: str = "", help: str | None = None) -> DcrfError:
    """The error about a part of an event."""
    span = place if isinstance(place, Span) else place.span
    return DcrfError(Diagnostic(slug, message, Label(span, words), help=help))


def read_event(text: str, name: str = "event") -> Condition:
    """The condition of a text, in which its parts have their places. DcrfError with every mistake in it.

    name: stands in messages for that of a file.
    """
    text = text.strip()
    source = Source(name, text)

    def into_event(span: Span) -> Span:
        start, end = (min(len(text), max(0, at - len(_PREFIX))) for at in (span.start, span.end))
        return Span(source, start, end)

    if "\n" in text or "\r" in text or not text:
        raise _no_event(source, "has several lines" if text else "is empty")
    template, problems = parse_partial(f"{_PREFIX}{text}\n", name)
    if problems:
        raise DcrfError([_moved(problem, into_event) for problem in problems])
    match template.statements:
        case (Constraint(action="require", when=None, name=None, condition=condition),):
            placed: Condition = relocated(condition, into_event)
            return placed
    raise _no_event(source, "is not one condition")


def _no_event(source: Source, why: str) -> DcrfError:
    label = Label(Span(source, 0, len(source.text)))
    return DcrfError(Diagnostic("bad-event", f"the event {why}", label, help=_EXAMPLE))


def _moved(problem: Diagnostic, into_event: Callable[[Span], Span]) -> Diagnostic:
    """A problem of the parsed text as one of the event."""

    def moved(label: Label) -> Label:
        return replace(label, span=into_event(label.span))

    primary = None if problem.primary is None else moved(problem.primary)
    return replace(problem, primary=primary, secondary=tuple(map(moved, problem.secondary)))
