"""A specification with the places of its parts. Not here: reading it, or checking it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...foundation import Diagnostic
from .model_spec import ModelSpec
from .source_spans import SpanTable


@dataclass(frozen=True)
class LocatedSpec:
    """A specification with information about its origin.

    `spans` has the place of each part; `directories` maps the name of a lexicon, or of a variable with a state file, to
    the directory to which its path is relative. `diagnostics` are the problems found so far. `complete` is False if a
    statement could not be read: names that it declares may then seem unknown.
    """

    spec: ModelSpec
    spans: SpanTable = field(default_factory=SpanTable)
    diagnostics: tuple[Diagnostic, ...] = ()
    directories: Mapping[str, Path] = field(default_factory=dict)
    complete: bool = True
