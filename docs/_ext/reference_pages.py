"""Writes the generated part of the reference before Sphinx reads the pages."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def _write(app: Sphinx) -> None:
    """Writes every page whose text has changed."""


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
