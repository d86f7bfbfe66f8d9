"""Commands for whoever writes templates: `dcrfdsl new`, `fmt` and `lsp`.

Not here: `check` (`check_command`), the layout (`syntax`), what an editor is answered (`language_server`).
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import click

from .. import language_server, syntax
from ..foundation import DcrfError, did_you_mean, shell_word, spelling_remedy, write_whole
from .command_files import STDIN, named, read_text, read_unused_features
from .console import INPUT_ERROR, Talk, print_diagnostics, refuse
from .options import Argument, Features, Option, Quiet, is_stdout

READY = Path(__file__).with_name("ready_templates.md")


def new(
    template: Annotated[str | None, Argument("[NAME]")] = None,
    output: Annotated[Path | None, Option("FILE", short="-o", dash=True)] = None,
    data: Annotated[str | None, Option("DATA", name="--for")] = None,
    source: Annotated[str | None, Option("FORMAT", name="--from")] = None,
    labels: Annotated[str | None, Option("NAMES")] = None,
    compares: Annotated[bool, Option(name="--try")] = False,
    quiet: Quiet = False,
) -> None:
    """List ready templates, copy one, or make one for your data."""
    if data is not None:
        if template is not None:
            refuse("idle-option", f"`--for` makes a template, and `{template}` is a ready one", "leave one out")
        from .first_template import make_first_template

        make_first_template(data, source, labels, output, compares=compares, talk=Talk(quiet))
        return
    for option, given in (("--from", source), ("--labels", labels), ("--try", compares)):
        if given:
            refuse("idle-option", f"`{option}` is of no use without `--for DATA`", "name the data, or leave it out")
    ready = {path.stem: path for path in sorted(syntax.resource_path("templates").glob("*.dcrf"))}
    if template is None:
        width = max(map(len, ready), default=0)
        for what, group in re.findall(r"^\* (.+): (.+)$", READY.read_text(encoding="utf-8"), re.MULTILINE):
            print(f"{what}:")
            for name in group.split(", "):
                comes = " Comes with data." if _data(ready[name]) else ""
                print(f"  {name:<{width}}  {_first_sentence(ready[name])}{comes}")
        return
    name = template.removesuffix(".dcrf")
    if name not in ready:
        remedy = spelling_remedy(did_you_mean(name, ready), "`dcrfdsl new` lists them")
        refuse("unknown-template", f"there is no ready-made template `{template}`", remedy)
    text = ready[name].read_text(encoding="utf-8")
    lists, samples = _lists(text, name), _data(ready[name])
    talk = Talk(quiet)
    if output is None or is_stdout(output):
        print(text, end="")
        for what, files in (("it reads", lists), ("data to try it on are", samples)):
            if files:
                names = " and ".join(f"`{own}`" for own in files)
                talk(f"{what} {names}; `dcrfdsl new {name} -o FILE` writes them too, beside FILE")
        return
    beside = {output.parent / own: ready[name].parent / own for own in (*lists, *samples)}
    for path in (output, *beside):
        if path.exists():
            other = "name" if path == output else "folder"
            refuse("file-exists", f"`{path}` exists already", f"choose another {other}, or remove it first")
    for path, shipped in beside.items():
        write_whole(path, (shipped.read_bytes(),))
    write_whole(output, (text.encode(),))
    also = f"; {'data to try it on are' if samples else 'it reads'} {' and '.join(map(str, beside))}, written too"
    talk(f"{output} written{also if beside else ''}; next:")
    talk(f"  dcrfdsl check {shell_word(output)}")
    if samples:
        train, model = output.parent / samples[0], output.with_suffix(".model")
        talk(f"  dcrfdsl train {shell_word(output)} {shell_word(train)} -o {shell_word(model)}")


def _lists(text: str, name: str) -> list[str]:
    if "\nlexicon " not in text:  # most have none, and the parser takes a while to load
        return []
    return [one.path for one in syntax.parse(text, name).statements if isinstance(one, syntax.Lexicon)]


def _data(template: Path) -> list[str]:
    """The names of the files that a template comes with, to train it and to test it."""
    return [path.name for path in (template.with_suffix(".txt"), template.with_suffix(".test.txt")) if path.exists()]


def _first_sentence(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    text = " ".join(line.lstrip("#").strip() for line in lines if line.startswith("##"))
    return re.split(r"(?<=[.]) ", text, maxsplit=1)[0]


def fmt(
    templates: Annotated[list[str], Argument("TEMPLATE...")],
    check: bool = False,
    features: Features = None,
    quiet: Quiet = False,
) -> None:
    """Write templates in the canonical layout. Comments and meaning stay."""
    if templates.count(STDIN) > 1:
        raise click.BadParameter("stdin can be read once")
    talk = Talk(quiet)
    read_unused_features(features, talk, "the layout depends on no function")
    failed = False
    for path in templates:
        try:
            before = read_text(path)
            after = syntax.format_template(syntax.parse(before, named(path)))
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


def lsp() -> None:
    """Serve an editor: problems as you type, completion, layout."""
    if find_spec("pygls") is None:
        remedy = "install the extra `lsp`; in a clone of dcrfdsl: pip install -e '.[lsp]'"
        refuse("missing-package", "the language server needs the package `pygls`", remedy)
    language_server.serve()
