"""One error where a library that a room of ours needs is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .diagnostics import DcrfError, Diagnostic


class MissingPackage(DcrfError, ImportError):
    """A `DcrfError` that is also an ImportError: a library is not installed."""


@contextmanager
def needed(package: str, what: str | None = None, extra: str | None = None) -> Iterator[None]:
    """Around the import of a library: `MissingPackage` if it is not there.

    what: that it is needed, in words.   extra: of ours, that brings it; by default of the same name.
    """
    try:
        yield
    except ImportError as error:
        if error.name != package:  # it is there, but old or damaged, as its own error says
            raise
        message = f"{what or f'this needs the package `{package}`'}, which is not installed"
        extra = extra or package
        remedy = f"install the extra `{extra}`; in a clone of dcrfdsl: pip install -e '.[{extra}]'"
        raise MissingPackage(Diagnostic("missing-package", message, help=remedy)) from None
