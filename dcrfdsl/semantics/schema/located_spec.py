"""A specification with the places that its parts were written at. Not here: reading it, or asking the checker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import Diagnostic
from .model_spec import ModelSpec
from .source_spans import SpanTable

__all__ = ["LocatedSpec"]


@dataclass(frozen=True)
class LocatedSpec:
    """A specification with what is known about where it came from.

    `spans` tells where each part was written; `directories` maps the name of a lexicon, or of a variable whose states
    lie in a file, to the directory that its path is relative to. `diagnostics` are the problems found so far.
    `complete` is False if a statement could not be read at all: names that it declares may then seem unknown.
    """

    spec: ModelSpec
    spans: SpanTable = field(default_factory=SpanTable)
    diagnostics: tuple[Diagnostic, ...] = ()
    directories: Mapping[str, Path] = field(default_factory=dict)
    complete: bool = True

    def path_of(self, name: str, path: str) -> Path:
        """Where the file of lexicon or variable `name`, written as `path`, lies."""
        return self.directories.get(name, Path(".")) / path
