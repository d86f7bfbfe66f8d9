"""Predictions in CoNLL-U: in the columns and the keys that the labels are read from, or in MISC.

`upos` goes to UPOS, the parts of `joined("upos feats")` to UPOS and FEATS, `feats("Case")` to that key of FEATS and
`misc("ner")` to that of MISC. A key stays where it stands, and as it is written if its value is the predicted one; `_`
removes it. A new key of FEATS stands in the order of the format (sorted without regard to case), one of MISC at the
end. What has no column of its own (marginals, a label that the data does not declare, an ID) becomes `name=value` in
MISC, in place of an earlier prediction of the name. With the option `predictions = "misc"` every label does. All other
cells and lines stay: comments, ranges of multiword tokens, empty nodes. Not here: whether a predicted tree is one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from ..semantics import Column
from .conllu import CONLLU_COLUMNS, JOINED, KEYED_CELLS, split_joined
from .formats import text_options
from .readers import Chunk
from .written_lines import Predicted, Remarks, ending_of, lines_of, texts_of, token_lines

_SPACE = " \t\r\v\f"
_ABSENT = "_"
_ID, _FEATS, _MISC = map(CONLLU_COLUMNS.index, ("id", "feats", "misc"))
# `|` separates the items of MISC; the escapes are those of CoNLL-U's own SpacesAfter.
_CELL_ESCAPES = str.maketrans({"\t": r"\t", "\n": r"\n", "\r": r"\r"})
_ITEM_ESCAPES = {**_CELL_ESCAPES, **str.maketrans({"\\": r"\\", "|": r"\p"})}

_Put = Callable[[list[str], str], None]  # writes a text into the ten cells of a token


def tag_conllu(chunk: Chunk, predicted: Predicted, remarks: Remarks) -> bytes:
    """The chunk with the predictions for its tokens, and a comment for each remark on a sentence."""
    lines = lines_of(chunk)
    puts = _places(chunk, predicted)
    for n, texts in zip(token_lines(chunk), zip(*map(texts_of, predicted.values()), strict=True), strict=True):
        cells = lines[n].removesuffix("\r").split("\t")
        for put, text in zip(puts, texts, strict=True):
            put(cells, text)
        lines[n] = "\t".join(cells) + ending_of(lines[n])
    if remarks:
        _add_comments(chunk, {name: texts_of(values) for name, values in remarks.items()}, lines)
    return "\n".join(lines).encode()


def item_escaped(text: str) -> str:
    """A value as it stands in MISC."""
    return text.translate(_ITEM_ESCAPES)


def _places(chunk: Chunk, predicted: Predicted) -> list[_Put]:
    """Where each prediction goes."""
    own = text_options(chunk.data).get("predictions") != "misc"
    columns = {column.name: column for column in chunk.data.columns} if own else {}
    return [_place(name, columns.get(name)) for name in predicted]


def _place(name: str, column: Column | None) -> _Put:
    if column is not None and column.source == JOINED:
        cells_of = functools.cache(functools.partial(_joined_cells, column))  # few values come again and again
        return lambda cells, text: _put_cells(cells, cells_of(text))
    number = _ID if column is None else CONLLU_COLUMNS.index(column.source)
    if column is None or number == _ID:
        return lambda cells, text: _put_key(cells, _MISC, name, text)
    if column.key is not None:
        key = column.key
        return lambda cells, text: _put_key(cells, number, key, text)
    return lambda cells, text: _put_cell(cells, number, text)


def _put_cell(cells: list[str], number: int, text: str) -> None:
    cells[number] = text.translate(_CELL_ESCAPES) or _ABSENT


def _joined_cells(column: Column, text: str) -> list[tuple[int, str]]:
    """The cells that the parts of a value of `joined(…)` go to."""
    parts = split_joined(column, text).items()
    return [(CONLLU_COLUMNS.index(source), part.translate(_CELL_ESCAPES) or _ABSENT) for source, part in parts]


def _put_cells(cells: list[str], parts: Sequence[tuple[int, str]]) -> None:
    for number, part in parts:
        cells[number] = part


def _put_key(cells: list[str], number: int, key: str, text: str) -> None:
    """Replaces a key of FEATS or MISC where it stands; one that comes again is removed: the first one counts."""
    items = [] if cells[number] == _ABSENT else cells[number].split("|")
    there = [n for n, item in enumerate(items) if item.partition("=")[0] == key]
    read, escaped, place = _KEYED[number]
    if (read(items[there[0]].partition("=")[2]) if there else _ABSENT) == text:
        return
    kept = [item for n, item in enumerate(items) if n not in there]
    if text not in (_ABSENT, ""):
        kept.insert(there[0] if there else place(kept, key), f"{key}={escaped(text)}")
    cells[number] = "|".join(kept) or _ABSENT


def _sorted_place(items: Sequence[str], key: str) -> int:
    """Where a new key of FEATS stands."""
    return next((n for n, item in enumerate(items) if item.partition("=")[0].lower() > key.lower()), len(items))


def _last_place(items: Sequence[str], key: str) -> int:
    return len(items)


def _cell_escaped(text: str) -> str:
    return text.translate(_CELL_ESCAPES)


# for each cell with keys: how a value is read, how it is written, and where a new key stands
_KEYED: Mapping[int, tuple[Callable[[str], str], Callable[[str], str], Callable[[Sequence[str], str], int]]] = {
    _FEATS: (KEYED_CELLS["feats"], _cell_escaped, _sorted_place),
    _MISC: (KEYED_CELLS["misc"], item_escaped, _last_place),
}


def _add_comments(chunk: Chunk, remarks: Mapping[str, Sequence[str]], lines: list[str]) -> None:
    """Adds a comment `# name = value` for each remark, after the sentence's own comments."""
    ours = tuple(f"# {name} =" for name in remarks)
    rows, starts = token_lines(chunk), chunk.corpus.sentence_off[:-1].tolist()
    for s in range(len(starts) - 1, -1, -1):  # backwards: earlier lines keep their numbers
        first = rows[starts[s]]
        while first and lines[first - 1].strip(_SPACE) and not lines[first - 1].startswith("#"):
            first -= 1  # a multiword token's range comes before its first token
        top = first
        while top and lines[top - 1].startswith("#"):
            top -= 1
        kept = [line for line in lines[top:first] if not line.startswith(ours)]
        said = [f"# {name} = {values[s]}{ending_of(lines[first])}" for name, values in remarks.items()]
        lines[top:first] = [*kept, *said]
