"""`dcrfdsl check`: every problem of a template at once, then what it will cost."""

from __future__ import annotations

from typing import Annotated

import typer

from .console import INPUT_ERROR, Features, Quiet, SetPaths, StageName, Talk, print_diagnostics
from .inputs import read_features, read_sample, resolved_template

__all__ = ["check"]


def check(
    template: Annotated[str, typer.Argument(metavar="TEMPLATE", help="Template file; - is stdin.")],
    data: Annotated[
        str | None, typer.Option("--data", metavar="FILE", help="Check it against this training data too.")
    ] = None,
    stage: StageName = None,
    set_: SetPaths = None,
    features: Features = None,
    quiet: Quiet = False,
) -> None:
    """Check a template, all its problems at once.

    Ends with a table of what the model will cost; with data, also what only data can tell.

    \b
    Example:
      dcrfdsl check chunk.dcrf
      dcrfdsl check chunk.dcrf --data train.txt
    """
    from ..spec.check import check as checked

    talk = Talk(quiet)
    resolved = resolved_template(template, set_, stage)
    registered = read_features(features)
    corpus = read_sample(data, resolved.spec, talk) if data and resolved.spec.data else None
    diagnostics = checked(resolved, stage=stage, corpus=corpus, registered=registered)
    errors = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
    print_diagnostics(diagnostic for diagnostic in diagnostics if errors or not quiet)
    if errors:
        talk(f"\n{errors} error{'' if errors == 1 else 's'} in {template}")
        raise typer.Exit(INPUT_ERROR)
    for line in resolved.spec.doc:
        print(line)
