"""Which columns a file has, and where they go in another format, if nobody says so.

A file that names its columns itself (CSV, TSV, Parquet, JSON lines, CoNLL-U, spans) need not be declared to be
converted. Where an output has columns of its own, names decide: `word` is FORM in CoNLL-U and the token of `spans`. Not
here: the values (`emitters`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ..foundation import DcrfError, Diagnostic, Table, data_error
from ..semantics import Column, ColumnType, DataSpec
from .column_blocks import Block, open_source
from .conllu import CONLLU_COLUMNS, JOINED, KEYED_CELLS, joined_columns
from .delimited import dialect_of, header_name
from .delimited_rows import RowTable
from .formats import text_options
from .json_arrays import ArrayLines
from .jsonl import decoded
from .parquet import clear_parquet_errors, columns_of_schema, pyarrow_parquet
from .raw_spans import BadRecord
from .span_records import STYLES, key_of_spans

SUFFIXES: Mapping[str, str] = {
    ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet", ".conllu": "conllu", ".jsonl": "jsonl",
    ".ndjson": "jsonl", ".conll": "conll", ".txt": "conll", ".crfsuite": "crfsuite",
}  # fmt: skip
_BEGINNING = 1 << 22  # bytes in which the names of columns are looked for
_LINES = 1_000  # in which a line with spans is looked for


def discovered(path: str, data: DataSpec) -> DataSpec:
    """The statement with all columns of the file. `DcrfError` if the format does not name its columns."""
    if data.format not in DISCOVERERS:
        message = f"`{data.format}` does not say how the columns of `{path}` are called"
        remedy = f"name them in order: --from '{data.format}(word, pos)'; or take those of a template: --template"
        raise DcrfError(Diagnostic("missing-column", message, help=remedy))
    if path == "-":
        message = "the names of the columns cannot be looked up in what comes through a pipe"
        raise DcrfError(Diagnostic("missing-column", message, help=f"name them: --from '{data.format}(word, pos)'"))
    return data.model_copy(update={"columns": tuple(DISCOVERERS[data.format](path, data))})


def _delimited(path: str, data: DataSpec) -> Sequence[Column]:
    table = RowTable(_beginning(path), dialect_of(data))
    header = next((row for row in range(len(table)) if not table.blank[row]), None)
    names = table.cells(header) if header is not None and table.stray() is None else []
    sentence = text_options(data).get("sentence")
    return [Column(name=name, source="column", key=name) for name in names if name != sentence]


def _conllu(path: str, data: DataSpec) -> Sequence[Column]:
    return [Column(name=name, source=name) for name in CONLLU_COLUMNS]


def _jsonl(path: str, data: DataSpec) -> Sequence[Column]:
    for number, line in enumerate(_beginning(path).decode(errors="replace").split("\n"), 1):
        if not line or line.isspace():
            continue
        sentence = decoded(line, number, path, "a sentence a line, as JSON")
        if isinstance(sentence, list) and sentence and all(isinstance(token, dict) for token in sentence):
            sentence = {key: [token.get(key) for token in sentence] for key in sentence[0]}
        if isinstance(sentence, dict):
            lists = {key: value for key, value in sentence.items() if isinstance(value, list)}
            if any(lists.values()):
                length = len(max(lists.values(), key=len))
                columns = {key: value for key, value in lists.items() if len(value) == length}
                return [Column(name=key, source=key, type=_type(values)) for key, values in columns.items()]
        elif sentence:
            message = "the tokens of this file have no names for their values"
            raise data_error("missing-column", message, file=path, line=number, help="--from 'jsonl(word, pos)'")
    return []


def _type(values: Sequence[Any]) -> ColumnType:
    """The type that the values of the first sentence have."""
    if all(isinstance(value, list) for value in values):
        flat = [item for value in values for item in value]
        if flat and all(_is_number(item) for item in flat) and len({len(value) for value in values}) == 1:
            return ColumnType(name="vector", size=len(values[0]))
        return ColumnType(name="bag")
    if all(isinstance(value, dict) for value in values):
        return ColumnType(name="weighted_bag")
    if all(_is_number(value) for value in values):
        return ColumnType(name="int" if all(isinstance(value, int) for value in values) else "float")
    return ColumnType()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _parquet(path: str, data: DataSpec) -> Sequence[Column]:
    with open_source(path) as (file, stream), clear_parquet_errors(file):
        schema = pyarrow_parquet().ParquetFile(stream).schema_arrow
        return columns_of_schema(schema, text_options(data).get("sentence"))


def _spans(path: str, data: DataSpec) -> Sequence[Column]:
    key: str | None = None
    array, beginning = ArrayLines(path), _beginning(path)
    lines = array.lined(Block(beginning[: array.cut(beginning) or None], 1)).text
    for number, line in enumerate(islice(lines.decode(errors="replace").split("\n"), _LINES), 1):
        if line and not line.isspace() and key is None:
            try:
                key = key_of_spans(decoded(line, number, path, "a text a line, as JSON"))
            except BadRecord:
                continue
            except DcrfError:
                if number == 1:
                    raise
                break  # the line is cut off
    token = Column(name="token", source="token")
    return [token] if key is None else [token, Column(name=key, source="spans")]


def _crfsuite(path: str, data: DataSpec) -> Sequence[Column]:
    attributes = Column(name="attributes", source="attributes", type=ColumnType(name="weighted_bag"))
    return [Column(name="label", source="label"), attributes]


DISCOVERERS: Mapping[str, Callable[[str, DataSpec], Sequence[Column]]] = {
    "csv": _delimited,
    "tsv": _delimited,
    "conllu": _conllu,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "spans": _spans,
    "crfsuite": _crfsuite,
}


def _beginning(path: str | Path) -> bytes:
    with open_source(path) as (_, stream):
        return stream.read(_BEGINNING).removeprefix(b"\xef\xbb\xbf")


# columns of the output --------------------------------------------------------------------------------------------


def columns_in(
    format: str, columns: Sequence[Column], segments: Collection[str]
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The columns of the output for those of the source, and the names of those that have no place in it.

    segments: names of columns of segment marks, which are spans in `spans`.
    """
    return _PLACES[format](columns, segments) if format in _PLACES else (tuple(map(_by_name, columns)), ())


def _by_name(column: Column) -> Column:
    return Column(name=column.name, source=column.name)


_FORM = ("form", "word", "token", "tokens", "words", "text", "w", "x")
_CONLLU_NAMES: Mapping[str, str] = {
    **{name: name for name in CONLLU_COLUMNS},
    **dict.fromkeys(_FORM, "form"),
    **dict.fromkeys(("pos", "tag", "postag", "pos_tag"), "upos"),
}


_NO_KEY = "|=\t\n\r\0"  # of FEATS and MISC


def _in_conllu(columns: Sequence[Column], segments: Collection[str]) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    placed: list[Column] = []
    taken: set[str] = set()
    left: list[str] = []
    for column in columns:
        wish = _CONLLU_NAMES.get(column.name.lower())
        if column.source in ("feats", "misc", JOINED) and column.key is not None:
            taken.update(joined_columns(column))
            placed.append(column)
        elif column.source in CONLLU_COLUMNS and column.key is None and column.source not in taken:
            taken.add(column.source)
            placed.append(Column(name=column.name, source=column.source))
        elif wish is not None and wish not in taken and column.source not in CONLLU_COLUMNS:
            taken.add(wish)
            placed.append(Column(name=column.name, source=wish))
        elif not column.name or any(char in column.name for char in _NO_KEY):
            left.append(column.name)
        else:
            placed.append(Column(name=column.name, source="misc", key=column.name))
    return tuple(placed), tuple(left)


def _in_spans(columns: Sequence[Column], segments: Collection[str]) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    texts = [column for column in columns if column.type.name == "str" and column.name not in segments]
    named = [column for column in texts if column.source == "token" or column.name.lower() in _FORM]
    token = next(iter([*named, *texts]), None)
    marked = [column for column in columns if column.name in segments]
    if token is None or not marked:
        message = "`spans` needs to know which column has the tokens, and which ones mark segments"
        raise DcrfError(
            Diagnostic("missing-column", message, help="name them: --to 'spans(word = token, ner = spans)'")
        )
    placed = [Column(name=token.name, source="token")]
    for column in marked:
        key = column.key if column.source == "spans" else (column.name if len(marked) > 1 else None)
        placed.append(Column(name=column.name, source="spans", key=key))
    space = next((column for column in columns if column.source == "space"), None)
    if space is not None:
        placed.append(Column(name=space.name, source="space"))
    kept = {column.name for column in placed}
    return tuple(placed), tuple(column.name for column in columns if column.name not in kept)


def _in_crfsuite(columns: Sequence[Column], segments: Collection[str]) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The label first: a column of marks, or the last column of texts; the others are attributes."""
    texts = [column for column in columns if column.type.name == "str"]
    label = next((column for column in texts if column.name in segments), texts[-1] if texts else None)
    if label is None:
        message = "data of CRFsuite has a label at each token, and no column holds texts"
        raise DcrfError(Diagnostic("missing-column", message, help="name the columns: --to 'crfsuite(label, word)'"))
    return tuple(map(_by_name, [label, *(column for column in columns if column is not label)])), ()


_PLACES: Table[Callable[[Sequence[Column], Collection[str]], tuple[tuple[Column, ...], tuple[str, ...]]]] = Table(
    "output with columns of its own", {"conllu": _in_conllu, "spans": _in_spans, "crfsuite": _in_crfsuite}
)


# places of the output ---------------------------------------------------------------------------------------------


def check_places(data: DataSpec, source: DataSpec) -> None:
    """`DcrfError` if the output has one place for two columns, or a place that no reader finds again.

    source: what the columns are read from. Labels that are read from one list of spans are written into one.
    """
    of_format = _PLACE_NAMES.get(data.format)
    if of_format is None:
        return
    options, taken = text_options(data), dict[str, str]()
    lists = {f"`{column.name}`": column.key for column in source.columns if column.source == "spans"}
    if "sentence" in options and data.format in ("csv", "tsv"):
        taken[options["sentence"]] = "the number of the sentence"
    for column in data.columns:
        if column.source in KEYED_CELLS and column.key is not None and set(column.key) & set(_NO_KEY):
            message = f"`{column.key}` cannot be a key of {column.source.upper()}: `|` and `=` separate keys and values"
            remedy = f'name another key: `{column.name} = {column.source}("{column.name}")`'
            raise DcrfError(Diagnostic("unwritable-cell", message, help=remedy))
        for place in of_format(column, options):
            one_list = f"`{column.name}`" in lists and lists[f"`{column.name}`"] == lists.get(taken.get(place, ""), "")
            if place in taken and not one_list:
                message = f"`{data.format}` has one place `{place}`, and {taken[place]} and `{column.name}` go there"
                raise DcrfError(Diagnostic("declared-twice", message, help="give each a place of its own"))
            taken[place] = f"`{column.name}`"


def _conllu_places(column: Column, options: Mapping[str, str]) -> Sequence[str]:
    if column.source == JOINED:
        return joined_columns(column)
    return [column.source if column.key is None else f"{column.source}({column.key})"]


def _spans_places(column: Column, options: Mapping[str, str]) -> Sequence[str]:
    if column.source != "spans":
        return [column.source]
    key = column.key or STYLES[options.get("style", "doccano")].key
    return [{"text": "token", "tokens": "token"}.get(key, f"spans({key})")]


def _header_place(column: Column, options: Mapping[str, str]) -> Sequence[str]:
    return [header_name(column)]


_PLACE_NAMES: Mapping[str, Callable[[Column, Mapping[str, str]], Sequence[str]]] = {
    "csv": _header_place,
    "tsv": _header_place,
    "parquet": _header_place,
    "jsonl": lambda column, options: [column.source],
    "conllu": _conllu_places,
    "spans": _spans_places,
}
