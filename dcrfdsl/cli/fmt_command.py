"""`dcrfdsl fmt`: templates in the one canonical layout."""

from __future__ import annotations

from typing import Annotated

import click

from .console import INPUT_ERROR, Features, Quiet, Talk, print_diagnostics
from .inputs import STDIN, read_text, read_unused_features
from .options import Argument, Option


def fmt(
    templates: Annotated[list[str], Argument("TEMPLATE...", help="Template files; - is stdin, to stdout.")],
    check: Annotated[bool, Option("--check", help="Change nothing; exit 1 if a file is not in this layout.")] = False,
    features: Features = None,
    quiet: Quiet = False,
) -> None:
    """Write templates in the canonical layout. Comments and meaning stay.

    \b
    Example:
      dcrfdsl fmt chunk.dcrf
      dcrfdsl fmt --check templates/*.dcrf
      dcrfdsl fmt - < chunk.dcrf
    """
    from ..foundation import DcrfError, write_whole
    from ..syntax import format_template, parse

    if templates.count(STDIN) > 1:
        raise click.BadParameter("stdin can be read once")
    talk = Talk(quiet)
    read_unused_features(features, talk, "the layout depends on no function")
    failed = False
    for path in templates:
        try:
            before = read_text(path)
            after = format_template(parse(before, "<stdin>" if path == STDIN else path))
        except DcrfError as error:
            print_diagnostics(error.diagnostics)
            failed = True
            continue
        if check:
            if after != before:
                talk(f"would change {path}")
                failed = True
        elif path == STDIN:
            print(after, end="")
        elif after != before:
            write_whole(path, (after.encode(),))
            talk(f"changed {path}")
    if failed:
        raise click.exceptions.Exit(INPUT_ERROR)
