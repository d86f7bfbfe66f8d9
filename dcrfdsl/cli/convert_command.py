"""`dcrfdsl convert`: what other tools have, as a template or a model of ours. It only looks what the file is.

Not here: reading templates of other tools (`convert`), models and data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .console import INPUT_ERROR, Quiet, Talk, print_diagnostics, refuse
from .inputs import STDIN, read_text

__all__ = ["convert"]

MOST_COUNTED = 1 << 20  # bytes of a data file in which its first line must end


def convert(
    source: Annotated[str, typer.Argument(metavar="FILE", help="Template or parameters of another tool; - is stdin.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to this file (default: stdout).")
    ] = None,
    tool: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TOOL", help="crfpp, wapiti, grmm or sklearn-crfsuite (default: guessed from the file)."
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="NAMES", help="Names of the columns of the data: word,pos,chunk."),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="NAME", help="The column that is the label (default: the last).")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="FILE", help="Data of the other tool, to count its columns.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Make a template of what another tool has: CRF++, Wapiti, GRMM or sklearn-crfsuite.

    Lines that cannot be converted are reported and stand in the result as comments; the rest is converted, and the
    exit code is 1. What is converted but counts features differently is a warning or a note.

    \b
    Example:
      dcrfdsl convert template --columns word,pos,chunk -o chunk.dcrf
      dcrfdsl convert patterns.txt --from wapiti --data train.txt -o chunk.dcrf
    """
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
        from ..files import write_whole

        write_whole(output, (made.template.encode(),))
    print_diagnostics(item for item in made.remarks if item.severity == "error" or not quiet)
    if output is not None:
        talk = Talk(quiet)
        talk(f"{output} written; next:")
        talk(f"  dcrfdsl check {output}{f' --data {data}' if data else ''}")
    if not made.complete:
        raise typer.Exit(INPUT_ERROR)


def _columns_of(path: str) -> int:
    """The number of columns of a data file; of labels, where `----` stands behind them."""
    from ..convert import columns_of_data

    with open(path, "rb") as file:
        text = file.read(MOST_COUNTED).decode("utf-8-sig", errors="replace")
    return columns_of_data(text, path)
