"""`dcrfdsl lsp`: the language server, which an editor starts and talks to."""

from __future__ import annotations

from importlib.util import find_spec

from .console import refuse


def lsp() -> None:
    """Serve an editor over stdin and stdout: problems as you type, completion, hover, rename, layout.

    An editor starts it; it is of no use by hand. It needs the package pygls: pip install 'dcrfdsl[lsp]'.

    \b
    Example:
      dcrfdsl lsp
    """
    if find_spec("pygls") is None:
        refuse("missing-package", "the language server needs the package `pygls`", "pip install 'dcrfdsl[lsp]'")
    from ..language_server import serve

    serve()
