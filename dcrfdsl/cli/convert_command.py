"""`dcrfdsl convert`: what other tools have, as a template or a model of ours; data as another format.

It only looks what the file is. Not here: reading templates of other tools (`convert`), models (`convert_model`), data
(`convert_data`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import click

from .console import INPUT_ERROR, Quiet, Talk, print_diagnostics, refuse
from .inputs import STDIN, read_text
from .options import Argument, Option, is_stdout
from .output_clashes import Output, refuse_clash

MOST_COUNTED = 1 << 20  # bytes of a data file in which its first line must end


def convert(
    source: Annotated[str, Argument("FILE", help="Template, parameters or data, - is stdin; or a model of CRFsuite.")],
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            dash=True,
            help="Write it to this file (default, or -: stdout; of a model FILE.model).",
        ),
    ] = None,
    tool: Annotated[
        str | None,
        Option(
            "--from",
            metavar="TOOL",
            help="crfpp, wapiti, grmm or sklearn-crfsuite (default: guessed from the file); with --to, the format.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        Option("--to", metavar="FORMAT", help="Convert data, to jsonl or, with columns, 'csv(word, pos)'."),
    ] = None,
    scheme: Annotated[
        str | None,
        Option(
            "--scheme",
            metavar="[COLUMN=]SCHEME",
            help="Mark segments anew as bio, iob1, bioes, bilou or bmes; of the template's labels, else of the last "
            "column. Without --to the format stays.",
        ),
    ] = None,
    template: Annotated[
        str | None,
        Option("--template", metavar="FILE", help="With --to or --scheme: the template of the data."),
    ] = None,
    columns: Annotated[
        str | None,
        Option("--columns", metavar="NAMES", help="Names of the columns of the data: word,pos,chunk."),
    ] = None,
    label: Annotated[
        str | None, Option("--label", metavar="NAME", help="The column that is the label (default: the last).")
    ] = None,
    data: Annotated[
        str | None, Option("--data", metavar="FILE", help="Data of the other tool, to count its columns.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Make a template of what another tool has, a model of one of CRFsuite, or convert data to another format.

    Templates are those of CRF++, Wapiti and GRMM, and parameters of sklearn-crfsuite.

    Lines that cannot be converted are reported and stand in the result as comments; the rest is converted, and the
    exit code is 1. What is converted but counts features differently is a warning or a note.

    With --to the file is data: --from and --to name formats as a `data` statement does, and --template takes the first
    from a template. Without either the ending of the file decides. What the output has no place for is said. --scheme
    marks the segments of columns anew, from whichever of bio, iob1, bioes, bilou and bmes to the one that it names.

    \b
    Example:
      dcrfdsl convert template --columns word,pos,chunk -o chunk.dcrf
      dcrfdsl convert patterns.txt --from wapiti --data train.txt -o chunk.dcrf
      dcrfdsl convert address.crfsuite -o address.model
      dcrfdsl convert train.csv --to jsonl -o train.jsonl
      dcrfdsl convert train.txt --from 'conll(word, chunk)' --to 'csv(word, chunk)' -o train.csv
      dcrfdsl convert iob1.txt --from 'conll(word, ner)' --scheme bioes -o bioes.txt
    """
    given, output = output, None if is_stdout(output) else output
    refuse_clash([Output("-o", output)], (source, template, data))
    of_templates = {"--columns": columns, "--label": label, "--data": data}
    if to is not None or scheme is not None:
        option = "--to" if scheme is None else "--scheme"
        _refuse_idle(
            of_templates, f"templates of other tools, and with `{option}` the file is data", "use `--from` and `--to`"
        )
        from .convert_data import convert_data

        convert_data(source, to, output=output, source=tool, template=template, scheme=scheme, quiet=quiet)
        return
    if template is not None:
        refuse(
            "needs-to",
            "`--template` reads data to be converted, and no format is given",
            "add `--to FORMAT` or `--scheme`",
        )
    from .convert_model import convert_model, is_crfsuite_model

    if is_crfsuite_model(source):
        _refuse_idle(of_templates | {"--from": tool}, f"templates and data, and `{source}` is a model", "leave it out")
        if given is not None and output is None:
            refuse("bad-argument", "a model is not written to stdout", "give the name of a file after `-o`")
        convert_model(source, output, Talk(quiet))
        return
    from ..convert import convert_template

    names = None if columns is None else [name.strip() for name in columns.split(",")]
    counted = None if data is None else _columns_of(data)
    name = "<stdin>" if source == STDIN else source
    made = convert_template(read_text(source), name=name, tool=tool, columns=names, label=label, data_columns=counted)
    if output is None:
        print(made.template, end="")
    else:
        if output.exists():
            refuse("file-exists", f"`{output}` exists already", "choose another name, or remove it first")
        from ..foundation import write_whole

        write_whole(output, (made.template.encode(),))
    print_diagnostics(item for item in made.remarks if item.severity == "error" or not quiet)
    if output is not None:
        from ..foundation import shell_word

        talk = Talk(quiet)
        talk(f"{output} written; next:")
        talk(f"  dcrfdsl check {shell_word(output)}{f' --data {shell_word(data)}' if data else ''}")
    if not made.complete:
        raise click.exceptions.Exit(INPUT_ERROR)


def _refuse_idle(options: Mapping[str, str | None], purpose: str, remedy: str) -> None:
    """DcrfError `idle-option` if one of the options is given."""
    for name, given in options.items():
        if given is not None:
            refuse("idle-option", f"`{name}` is for {purpose}", remedy)


def _columns_of(path: str) -> int:
    """The number of columns of a data file; of labels, where `----` stands behind them."""
    from ..convert import columns_of_data

    with open(path, "rb") as file:
        text = file.read(MOST_COUNTED).decode("utf-8-sig", errors="replace")
    return columns_of_data(text, path)
