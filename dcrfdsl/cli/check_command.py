"""`dcrfdsl check`: every problem of a template at once, then the cost of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import click

from .console import INPUT_ERROR, Features, Quiet, SetPaths, StageName, Talk, print_diagnostics, refuse
from .inputs import read_features, read_sample, resolved_template
from .options import Argument, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..foundation import Diagnostic
    from ..semantics import ModelSpec

__all__ = ["check"]


def check(
    template: Annotated[str | None, Argument("TEMPLATE", help="Template file; - is stdin.")] = None,
    data: Annotated[
        str | None, Option("--data", metavar="FILE", help="Check it against this training data too.")
    ] = None,
    explain: Annotated[
        str | None, Option("--explain", metavar="SLUG", help="Explain a kind of message, error[SLUG].")
    ] = None,
    expand: Annotated[
        bool, Option("--expand", help="Print the template with the pieces that `memm` and its like stand for.")
    ] = False,
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
      dcrfdsl check --explain unknown-name
      dcrfdsl check memm.dcrf --expand
    """
    from ..semantics import check as checked

    if explain is not None:
        _explain(explain)
        return
    if template is None:
        raise click.BadParameter("give a TEMPLATE to check, or --explain SLUG")
    talk = Talk(quiet)
    resolved = resolved_template(template, set_, stage, data)
    registered = read_features(features)
    corpus = read_sample(data, resolved.spec, talk) if data and resolved.spec.data else None
    _report(checked(resolved, stage=stage, corpus=corpus, registered=registered), template, quiet)
    if expand:
        _expand(resolved.spec, stage)
        return
    for line in resolved.spec.doc:
        print(line)
    from .cost_table import declared_costs, trained_costs

    if corpus is None:
        costs = declared_costs(resolved, stage)
    else:
        costs, remarks = trained_costs(resolved, corpus, registered, stage)
        _report(remarks, template, quiet)
    if not quiet:
        if resolved.spec.doc:
            print()
        costs.print()
        _print_pieces(resolved.spec, stage)


def _report(diagnostics: Sequence[Diagnostic], template: str, quiet: bool) -> None:
    """Prints diagnostics, and ends the command if one of them is an error."""
    errors = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
    print_diagnostics(diagnostic for diagnostic in diagnostics if errors or not quiet)
    if errors:
        Talk(quiet)(f"\n{errors} error{'' if errors == 1 else 's'} in {template}")
        raise click.exceptions.Exit(INPUT_ERROR)


def _expand(spec: ModelSpec, stage: str | None) -> None:
    from ..semantics import expanded, to_text

    print(to_text(expanded(spec, stage)), end="")


def _print_pieces(spec: ModelSpec, stage: str | None) -> None:
    """Prints the pieces that training normalises separately, and the cliques that count in several of them."""
    from ..semantics import last_pieces, times_trained

    pieces = last_pieces(spec, stage)
    if not pieces:
        return
    several = [f"`{name}` {count} times" for name, count in times_trained(pieces).items() if count > 1]
    print(f"\npieces     {', '.join(piece.name for piece in pieces)}")
    if several:
        print(f"overlap    trained {', '.join(several)}; `overlap = divide` would count each once")


def _explain(slug: str) -> None:
    from ..foundation import did_you_mean
    from ..semantics import EXPLANATIONS, entries_named
    from .explain_command import described

    if slug not in EXPLANATIONS:
        guess = did_you_mean(slug, EXPLANATIONS)
        refuse("unknown-slug", f"`{slug}` is no kind of message", f"did you mean `{guess}`?" if guess else None)
    print("\n\n".join(described(entry) for entry in entries_named(slug) if entry.kind == "message"))
