"""The sections of a report, and the one block that only a report has. Not here: other blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ...foundation import Block


@dataclass(frozen=True)
class ErrorBrowser:
    """The place of the error browser, which the page's script fills from its data.   num_errors: on this page."""

    name: ClassVar[str] = "browser"
    labels: Sequence[str]
    num_errors: int


@dataclass(frozen=True)
class Section:
    """A section of the page. anchor: its address in the page."""

    anchor: str
    title: str
    blocks: Sequence[Block | ErrorBrowser] = field(default=())
