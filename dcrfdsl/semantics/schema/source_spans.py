"""The places of the parts of a `ModelSpec`: from a path in the specification to a span of a source text.

A path follows the fields of the specification: `("cliques", 2, "features", 0)` is the first feature of the third
clique. A part that was not written (a default) has no span; `nearest` then returns that of the enclosing part. Not
here: the problems at a place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ...foundation import Label, Span

Path: TypeAlias = tuple[str | int, ...]


class RecordedSpans(dict[Path, Span]):
    """Spans under construction, with an index: those under a path of one or two parts are found without a full scan."""

    def __init__(self) -> None:
        super().__init__()
        self._under: dict[Path, list[Path]] = {}

    def __setitem__(self, path: Path, span: Span) -> None:
        if path not in self:
            self._under.setdefault(path[:1], []).append(path)
            if len(path) > 1:
                self._under.setdefault(path[:2], []).append(path)
        super().__setitem__(path, span)

    def drop(self, path: Path) -> dict[Path, Span]:
        """Removes everything under `path`, which has one or two parts."""
        return {noted: self.pop(noted) for noted in self._under.pop(path, ()) if noted in self}


class SpanTable(Mapping[Path, Span]):
    """A read-only mapping from path to span, with look-up of the nearest enclosing part."""

    def __init__(self, spans: Mapping[Path, Span] | None = None):
        self._spans = dict(spans or {})

    def __getitem__(self, path: Path) -> Span:
        return self._spans[path]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)

    def nearest(self, *path: str | int) -> Span | None:
        """The span of `path`, or of the smallest written part around it; None if no part around it was written."""
        return next((self._spans[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self._spans), None)

    def label(self, *path: str | int, text: str = "") -> Label | None:
        """A `Label` at the nearest span, ready to be the `primary` of a diagnostic."""
        span = self.nearest(*path)
        return None if span is None else Label(span, text)
