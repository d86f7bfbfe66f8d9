"""What a terminal shows, where `$ ` alone begins a command.

Pygments takes `#`, `%` and `>` for prompts, too, and colours lines of output that begin with them.
"""

from __future__ import annotations

import re

from pygments.lexers.shell import BashSessionLexer


class ConsoleLexer(BashSessionLexer):
    """Commands after `$ `, which go on after a backslash at the end of a line; all else is output."""

    name = "Console of the documentation"
    aliases = ["console"]
    filenames = []
    mimetypes = []
    _ps1rgx = re.compile(r"^(\$ )(.*\n?)")
    _ps2 = "\0"  # no prompt of lines that go on
