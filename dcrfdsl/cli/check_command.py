"""`dcrfdsl check`: every problem of a template at once, then the cost of the model, or one pass of the compiler.

What `--print` shows is a text that depends on the template alone: no addresses, no times, no order of a hash. Not here:
the formats of messages for programs (`diagnostic_formats`), drawings of sentences (`unroll_command`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from .. import data as data_room, features as feature_room, graph, semantics, syntax
from ..foundation import DcrfError, Diagnostic, dataclass, did_you_mean, printable
from .command_files import STDIN, named, read_features, read_sample, read_text, resolved_template
from .console import INPUT_ERROR, Talk, os_error, print_diagnostics, refuse
from .options import Argument, Features, Option, Quiet, SetPaths, StageName, with_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cost_table import ClassCounts


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    templates: Annotated[list[str] | None, Argument("[TEMPLATE]...")] = None
    data: Annotated[str | None, Option("FILE")] = None
    explain: Annotated[str | None, Option("SLUG")] = None
    expand: bool = False
    print: Annotated[Literal["ast", "spec", "expanded", "graph"] | None, Option("ast|spec|expanded|graph")] = None
    format: Annotated[Literal["text", "json", "sarif", "github"], Option("text|json|sarif|github")] = "text"
    stage: StageName = None
    set_: SetPaths = None
    features: Features = None
    quiet: Quiet = False


@with_options(CheckOptions)
def check(options: CheckOptions) -> None:
    """Check templates: all problems at once, and what a model costs."""
    if options.explain is not None:
        _explain(options.explain)
        return
    if not options.templates:
        raise click.BadParameter("give a TEMPLATE to check, or --explain SLUG")
    _refuse_idle(options, options.templates)
    registered = read_features(options.features)
    if options.print == "ast":
        template = options.templates[0]
        print(syntax.tree_text(syntax.parse(read_text(template), named(template))), end="")
    elif options.format == "text":
        _check_in_words(options, options.templates, registered)
    else:
        _check_for_programs(options, options.templates, registered)


def _refuse_idle(options: CheckOptions, templates: Sequence[str]) -> None:
    printing = "--expand" if options.expand else None if options.print is None else "--print"
    if options.expand and options.print is not None:
        raise click.BadParameter("--expand and --print both print a template; give one of them")
    if printing and options.format != "text":
        raise click.BadParameter(f"{printing} prints a template, and --format {options.format} messages; give one")
    if printing and len(templates) > 1:
        raise click.BadParameter(f"{printing} takes one TEMPLATE")
    if templates.count(STDIN) > 1:
        raise click.BadParameter("stdin can be read once")


# for people ---------------------------------------------------------------------------------------------------------


def _check_in_words(
    options: CheckOptions, templates: Sequence[str], registered: Mapping[str, feature_room.RegisteredFeature]
) -> None:
    """Prints messages and costs, a template after the other. Fails in the end if one of them has errors."""
    failed = False
    for n, template in enumerate(templates):
        if len(templates) > 1 and not options.quiet:
            print(f"{'' if n == 0 else chr(10)}{printable(named(template))}", flush=True)
        try:
            _check_one(options, template, registered)
        except click.exceptions.Exit:
            failed = True
        except (DcrfError, OSError) as error:
            if len(templates) == 1:
                raise
            print_diagnostics(_diagnostics_of(error))
            failed = True
    if failed:
        raise click.exceptions.Exit(INPUT_ERROR)


def _check_one(options: CheckOptions, template: str, registered: Mapping[str, feature_room.RegisteredFeature]) -> None:
    quiet, stage = options.quiet, options.stage
    resolved = resolved_template(template, options.set_, stage, options.data)
    corpus = _sample(options, resolved, Talk(quiet))
    _report(semantics.check(resolved, stage=stage, corpus=corpus, registered=registered), template, quiet)
    if options.expand:
        print(semantics.to_text(semantics.expanded(resolved.spec, stage)), end="")
        return
    if options.print is not None:
        print(PASSES[options.print](resolved, stage, Path() if template == STDIN else Path(template).parent), end="")
        return
    for line in resolved.spec.doc:
        print(line)
    if corpus is None:
        from .cost_table import declared_costs

        costs = declared_costs(resolved, stage)
    else:
        from .cost_table import trained_costs

        costs, remarks, _ = trained_costs(
            resolved, corpus, registered, stage, lambda one: _report([one], template, quiet)
        )
        _report(remarks, template, quiet)
    if not quiet:
        if resolved.spec.doc:
            print()
        costs.print()
        _print_pieces(resolved.spec, stage)


def _sample(options: CheckOptions, resolved: semantics.Resolved, talk: Talk) -> data_room.Corpus | None:
    return read_sample(options.data, resolved.spec, talk) if options.data and resolved.spec.data else None


def _report(diagnostics: Sequence[Diagnostic], template: str, quiet: bool) -> None:
    """Prints diagnostics, and ends the command if one of them is an error."""
    errors = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
    print_diagnostics(diagnostic for diagnostic in diagnostics if errors or not quiet)
    if errors:
        Talk(quiet)(f"\n{errors} error{'' if errors == 1 else 's'} in {named(template)}")
        raise click.exceptions.Exit(INPUT_ERROR)


# for programs ---------------------------------------------------------------------------------------------------------


def _check_for_programs(
    options: CheckOptions, templates: Sequence[str], registered: Mapping[str, feature_room.RegisteredFeature]
) -> None:
    from .diagnostic_formats import FORMATS

    found = [_problems(options, name, registered) for name in templates]
    diagnostics = list(dict.fromkeys(one for problems, _ in found for one in problems))
    counts = {name: classes for name, (_, classes) in zip(templates, found, strict=True) if classes}
    errors = any(one.severity == "error" for one in diagnostics)
    if options.quiet:
        diagnostics = [one for one in diagnostics if one.severity == "error"]
    print(FORMATS[options.format](templates, diagnostics, counts), end="")
    if errors:
        raise click.exceptions.Exit(INPUT_ERROR)


def _problems(
    options: CheckOptions, template: str, registered: Mapping[str, feature_room.RegisteredFeature]
) -> tuple[Sequence[Diagnostic], Mapping[str, ClassCounts]]:
    """All problems of a template, those of its file and data, too, and the counts of its classes in the data."""
    found: list[Diagnostic] = []
    classes: Mapping[str, ClassCounts] = {}
    try:
        resolved = resolved_template(template, options.set_, options.stage, options.data)
        corpus = _sample(options, resolved, Talk(quiet=True))
        found += semantics.check(resolved, stage=options.stage, corpus=corpus, registered=registered)
        if corpus is not None:
            found += [Diagnostic("data-warning", text, severity="warning") for text in corpus.warnings]
            if not any(one.severity == "error" for one in found):
                from .cost_table import trained_costs

                trained = trained_costs(resolved, corpus, registered, options.stage)
                found += trained.warnings
                classes = trained.classes
    except (DcrfError, OSError) as error:
        found += _diagnostics_of(error)
    return found, classes


def _diagnostics_of(error: DcrfError | OSError) -> Sequence[Diagnostic]:
    """What is wrong with an input that cannot be used. Raises what is no fault of the input again."""
    if isinstance(error, DcrfError):
        return error.diagnostics
    if not error.filename:
        raise error
    return [replace(os_error(error), location=str(error.filename))]


# what is printed of a template ----------------------------------------------------------------------------------------


def _print_pieces(spec: semantics.ModelSpec, stage: str | None) -> None:
    """Prints the pieces that training normalises separately, and the cliques that count in several of them."""
    pieces = semantics.last_pieces(spec, stage)
    if not pieces:
        return
    several = [f"`{name}` {count} times" for name, count in semantics.times_trained(pieces).items() if count > 1]
    print(f"\npieces     {', '.join(piece.name for piece in pieces)}")
    if several:
        print(f"overlap    trained {', '.join(several)}; `overlap = divide` would count each once")


def _explain(slug: str) -> None:
    from .explain_command import described

    if slug not in semantics.EXPLANATIONS:
        guess = did_you_mean(slug, semantics.EXPLANATIONS)
        refuse("unknown-slug", f"`{slug}` is no kind of message", f"did you mean `{guess}`?" if guess else None)
    print("\n\n".join(described(entry) for entry in semantics.entries_named(slug) if entry.kind == "message"))


# passes of the compiler ----------------------------------------------------------------------------------------------


def _written_out(resolved: semantics.Resolved, stage: str | None, folder: Path) -> str:
    """The template without `use`, shorthands and windows, and with its defaults."""
    spec = semantics.expanded(_with_paths(resolved, folder), stage)
    return semantics.to_text(semantics.with_defaults(semantics.without_windows(spec), stage), every_option=True)


def _with_paths(resolved: semantics.Resolved, folder: Path) -> semantics.ModelSpec:
    """The specification with the paths of files that `use` brought from another folder as seen from `folder`."""

    def moved(name: str, path: str) -> str:
        there = resolved.directories.get(name, folder)
        apart = not os.path.isabs(path) and there.resolve() != folder.resolve()
        return Path(os.path.relpath(there / path, folder)).as_posix() if apart else path

    def with_states(item: Any) -> Any:
        if not isinstance(item.domain, syntax.StateFile):
            return item
        domain = item.domain.model_copy(update={"path": moved(item.name, item.domain.path)})
        return item.model_copy(update={"domain": domain})

    spec = resolved.spec
    lexicons = [one.model_copy(update={"path": moved(one.name, one.path)}) for one in spec.lexicons]
    variables = {part: tuple(map(with_states, getattr(spec, part))) for part in ("labels", "latents", "memories")}
    return spec.model_copy(update={"lexicons": tuple(lexicons), **variables})


def _cliques(resolved: semantics.Resolved, stage: str | None, folder: Path) -> str:
    return graph.clique_listing(
        semantics.expanded(resolved.spec, stage), data_room.declared_states(resolved.spec, resolved.directories)
    )


# By their names on the command line: functions of a template that the checker accepts, of the stage that runs, and of
# the folder that paths are relative to. The tree, `ast`, is that of a text.
PASSES: Mapping[str, Callable[[semantics.Resolved, str | None, Path], str]] = {
    # as JSON, which `dcrfdsl schema model` describes
    "spec": lambda found, *_: json.dumps(found.spec.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n",
    "expanded": _written_out,
    "graph": _cliques,
}
