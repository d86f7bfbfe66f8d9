"""Which columns a file has, and where they go in another format, if nobody says so.

A file that names its columns itself (CSV, TSV, Parquet, JSON lines, CoNLL-U, spans) need not be declared to be
converted. Where an output has columns of its own, names decide: `word` is FORM in CoNLL-U and the token of `spans`. Not
here: the values, and what a format has beside them (`formats`).
"""

from __future__ import annotations

from ..foundation import DcrfError, Diagnostic
from ..syntax import DataSpec
from .formats import data_format, text_options


def discovered(path: str, data: DataSpec) -> DataSpec:
    """The statement with all columns of the file. `DcrfError` if the format does not name its columns."""
    columns_of = data_format(data.format).columns_of
    if columns_of is None:
        message = f"`{data.format}` does not say how the columns of `{path}` are called"
        remedy = f"name them in order: --from '{data.format}(word, pos)'; or take those of a template: --template"
        raise DcrfError(Diagnostic("missing-column", message, help=remedy))
    if path == "-":
        message = "the names of the columns cannot be looked up in what comes through a pipe"
        raise DcrfError(Diagnostic("missing-column", message, help=f"name them: --from '{data.format}(word, pos)'"))
    return data.model_copy(update={"columns": tuple(columns_of(path, data))})


def check_places(data: DataSpec, source: DataSpec) -> None:
    """`DcrfError` if the output has one place for two columns, or a place that no reader finds again.

    source: what the columns are read from. Labels that are read from one list of spans are written into one.
    """
    names_of = data_format(data.format).place_names
    if names_of is None:
        return
    options, taken = text_options(data), dict[str, str]()
    lists = {f"`{column.name}`": column.key for column in source.columns if column.source == "spans"}
    if "sentence" in options and data.format in ("csv", "tsv"):
        taken[options["sentence"]] = "the number of the sentence"
    for column in data.columns:
        for place in names_of(column, options):
            one_list = f"`{column.name}`" in lists and lists[f"`{column.name}`"] == lists.get(taken.get(place, ""), "")
            if place in taken and not one_list:
                message = f"`{data.format}` has one place `{place}`, and {taken[place]} and `{column.name}` go there"
                raise DcrfError(Diagnostic("declared-twice", message, help="give each a place of its own"))
            taken[place] = f"`{column.name}`"
