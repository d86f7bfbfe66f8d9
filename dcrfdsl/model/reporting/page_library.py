"""Whether the library that fills in pages is there, which comes with the extra `report`. Not here: pages."""

from __future__ import annotations

from ...foundation import DcrfError, Diagnostic


def require_jinja() -> None:
    """Raises DcrfError if the library that fills in the page is not there."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        message = "a report needs the package `jinja2`, which is not installed"
        raise DcrfError(Diagnostic("missing-package", message, help="pip install 'dcrfdsl[report]'")) from None
