"""Predictions written next to their lines: the whole input stays in place.

`conll` gets more columns, separated by a TAB if the first token of the chunk has one, else by a space. `conllu` gets
`name=value` in MISC. `jsonl` gets an object `predicted` (`{"word": […], "predicted": {"chunk": […]}}`; if a sentence is
a list of tokens, each token gets its own). Earlier predictions in `conllu` and `jsonl` are replaced. In `crfsuite` and
`grmm` a predicted label takes the place of its label, so that the output can be read again; a number is one more
feature `name:number` in `crfsuite`, and `name=number` in `grmm`.

A remark on a whole sentence (the rank of a labelling, its probability) is one more column in `conll`, with the same
text at every token, because a separate line could be read as a token; so in `crfsuite` and `grmm`. In `conllu` it is a
comment, in `jsonl` a key of the sentence's object (or of `predicted`, at each token of a list).
Not here: the predictions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import Table, data_error, json_text, shortened
from .conll import conll_options
from .conllu import MISC
from .featured_lines import LABEL_END
from .readers import Chunk
from .weighted_bags import escaped

__all__ = ["WRITERS", "Predictions", "Remarks", "tagged"]

Predictions: TypeAlias = Mapping[str, Sequence[str] | Sequence[float] | NDArray[Any]]  # name → [N], in written order
Remarks: TypeAlias = Mapping[str, Sequence[str | float | None]]  # name → [S], None if unknown
_Columns: TypeAlias = Mapping[str, Sequence[str | float | None]]

_SPACE = " \t\r\v\f"
_UNKNOWN = "_"


def tagged(chunk: Chunk, predictions: Predictions, remarks: Remarks | None = None) -> bytes:
    """The bytes of `chunk` with the `predictions` for its N tokens: one text or number (a marginal) each.

    remarks: one value for each of its S sentences.
    """
    columns: dict[str, Sequence[str | float | None]] = {
        name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in predictions.items()
    }
    num_tokens, num_sentences = chunk.corpus.num_tokens, chunk.corpus.num_sentences
    for name, values in columns.items():
        if len(values) != num_tokens:
            raise ValueError(f"{len(values)} predictions of {name!r} for {num_tokens} tokens")
    for name, said in (remarks or {}).items():
        if len(said) != num_sentences:
            raise ValueError(f"{len(said)} remarks {name!r} on {num_sentences} sentences")
    if not columns and not remarks:
        return chunk.block.bom + chunk.block.text
    return chunk.block.bom + WRITERS[chunk.data.format](chunk, columns, remarks or {})


def _tag_crfsuite(chunk: Chunk, predicted: _Columns, remarks: Remarks) -> bytes:
    label = chunk.data.columns[0].name
    lines = _lines(chunk)
    more = {**predicted, **_at_each_token(chunk, remarks)}
    labels = _texts(more.pop(label)) if label in more else None
    for n, line in enumerate(_token_lines(chunk)):
        cells = lines[line].removesuffix("\r").split("\t")
        if labels is not None:
            cells[0] = escaped(labels[n])
        cells += [_attribute(name, values[n]) for name, values in more.items()]
        lines[line] = "\t".join(cells) + _ending(lines[line])
    return "\n".join(lines).encode()


def _attribute(name: str, value: str | float | None) -> str:
    return escaped(f"{name}={_text(value)}") if isinstance(value, str | None) else f"{escaped(name)}:{_text(value)}"


def _tag_grmm(chunk: Chunk, predicted: _Columns, remarks: Remarks) -> bytes:
    names = [column.name for column in chunk.data.columns[:-1]]
    lines = _lines(chunk)
    more = {**predicted, **_at_each_token(chunk, remarks)}
    labels = {name: _texts(more.pop(name)) for name in names if name in more}
    for n, line in enumerate(_token_lines(chunk)):
        cells = lines[line].split()
        end = cells.index(LABEL_END) if LABEL_END in cells else -1
        old = dict(zip(names, cells[: max(end, 0)], strict=False))
        new = [labels[name][n] if name in labels else old.get(name, _UNKNOWN) for name in names]
        said = [f"{name}={_text(values[n])}" for name, values in more.items()]
        lines[line] = " ".join([*new, LABEL_END, *cells[end + 1 :], *said]) + _ending(lines[line])
    return "\n".join(lines).encode()


def _at_each_token(chunk: Chunk, remarks: Remarks) -> dict[str, list[str | float | None]]:
    lengths = chunk.corpus.lengths().tolist()
    return {
        name: [value for value, length in zip(values, lengths, strict=True) for _ in range(length)]
        for name, values in remarks.items()
    }


def _tag_conll(chunk: Chunk, predicted: _Columns, remarks: Remarks) -> bytes:
    from ..kernels.extraction import append_to_lines

    columns = [*predicted.values(), *_at_each_token(chunk, remarks).values()]
    text, token_lines = chunk.block.text, chunk.corpus.token_line - chunk.block.first_line
    if not len(token_lines):
        return text
    separator, first = conll_options(chunk.data).get("separator"), int(token_lines[0])
    between = separator or ("\t" if b"\t" in text.split(b"\n", first + 1)[first] else " ")
    codes, cells = np.zeros(len(token_lines), np.int64), [""]
    for values in columns:
        index = {value: number for number, value in enumerate(dict.fromkeys(values))}
        text_number = np.fromiter(map(index.__getitem__, values), np.int64, len(token_lines))
        ends = [between + _text(value) for value in index]
        used, codes = np.unique(codes * len(ends) + text_number, return_inverse=True)
        cells = [cells[pair // len(ends)] + ends[pair % len(ends)] for pair in used.tolist()]
    encoded = [cell.encode() for cell in cells]
    cell_off = np.cumsum([0, *map(len, encoded)])
    joined, raw = np.frombuffer(b"".join(encoded), np.uint8), np.frombuffer(text, np.uint8)
    return append_to_lines(raw, token_lines, codes, joined, cell_off, separator is None).tobytes()


def _tag_conllu(chunk: Chunk, columns: _Columns, remarks: Remarks) -> bytes:
    lines = _lines(chunk)
    named = [[f"{name}={_misc_text(text)}" for text in _texts(values)] for name, values in columns.items()]
    ours = tuple(f"{name}=" for name in columns)
    for n, items in zip(_token_lines(chunk), zip(*named, strict=True), strict=True):
        cells = lines[n].removesuffix("\r").split("\t")
        kept = [item for item in cells[MISC].split("|") if item != "_" and not item.startswith(ours)]
        cells[MISC] = "|".join((*kept, *items))
        lines[n] = "\t".join(cells) + _ending(lines[n])
    if remarks:
        _add_comments(chunk, {name: _texts(values) for name, values in remarks.items()}, lines)
    return "\n".join(lines).encode()


def _add_comments(chunk: Chunk, remarks: Mapping[str, Sequence[str]], lines: list[str]) -> None:
    """Adds a comment `# name = value` for each remark, after the sentence's own comments."""
    ours = tuple(f"# {name} =" for name in remarks)
    token_lines, starts = _token_lines(chunk), chunk.corpus.sentence_off[:-1].tolist()
    for s in range(len(starts) - 1, -1, -1):  # backwards: earlier lines keep their numbers
        first = token_lines[starts[s]]
        while first and lines[first - 1].strip(_SPACE) and not lines[first - 1].startswith("#"):
            first -= 1  # a multiword token's range comes before its first token
        top = first
        while top and lines[top - 1].startswith("#"):
            top -= 1
        kept = [line for line in lines[top:first] if not line.startswith(ours)]
        said = [f"# {name} = {values[s]}{_ending(lines[first])}" for name, values in remarks.items()]
        lines[top:first] = [*kept, *said]


def _tag_jsonl(chunk: Chunk, columns: _Columns, remarks: Remarks) -> bytes:
    lines = _lines(chunk)
    token_lines = chunk.corpus.token_line - chunk.block.first_line
    sentence_of = np.repeat(np.arange(chunk.corpus.num_sentences), chunk.corpus.lengths())
    for n, line in enumerate(lines):
        if not line or line.isspace():
            continue
        start, end = np.searchsorted(token_lines, (n, n + 1))
        predicted = {name: values[start:end] for name, values in columns.items()}
        # a line without a token is not a sentence of the corpus
        said = {name: values[sentence_of[start]] for name, values in remarks.items()} if start < end else {}
        try:
            written = json_text(_with_predicted(_DECODER.decode(line), predicted, said), ensure_ascii=False)
        except (_NoNumber, RecursionError) as error:
            message = str(error) if isinstance(error, _NoNumber) else "JSON nested too deeply"
            at = n + chunk.block.first_line
            raise data_error("bad-json", message, file=chunk.corpus.file, line=at) from None
        lines[n] = written + _ending(line)
    return "\n".join(lines).encode()


class _NoNumber(Exception):
    """A number outside the columns that Python reads and JSON cannot represent."""


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _NoNumber(f"`{shortened(text)}` cannot be written again: it is no number of JSON, or too large for one")
    return number


_DECODER = json.JSONDecoder(parse_float=_number, parse_constant=_number)


def _with_predicted(
    sentence: Any, predicted: Mapping[str, Sequence[str | float | None]], remarks: Mapping[str, str | float | None]
) -> Any:
    if isinstance(sentence, Mapping):
        return {**sentence, "predicted": predicted, **remarks}
    tokens = []
    for t, token in enumerate(sentence):
        labels = {name: values[t] for name, values in predicted.items()} | dict(remarks)
        tokens.append(
            {**token, "predicted": labels} if isinstance(token, Mapping) else [*_values(token), *labels.values()]
        )
    return tokens


def _values(token: Any) -> Sequence[Any]:
    """The values of a token that is a list; a single text is a token of one column."""
    return [token] if isinstance(token, str) else token


def _lines(chunk: Chunk) -> list[str]:
    return chunk.block.text.decode().split("\n")


def _ending(line: str) -> str:
    """The rest of the line's end after splitting at line feeds."""
    return "\r" if line.endswith("\r") else ""


def _token_lines(chunk: Chunk) -> list[int]:
    """The line of each token in the block, from 0."""
    lines: list[int] = (chunk.corpus.token_line - chunk.block.first_line).tolist()
    return lines


def _texts(values: Sequence[str | float | None]) -> list[str]:
    return [_text(value) for value in values]


def _text(value: str | float | None) -> str:
    if value is None:
        return _UNKNOWN
    return value if isinstance(value, str) else format(value, ".6g")


# `|` separates the items of MISC; the escapes are those of CoNLL-U's own SpacesAfter.
_MISC_ESCAPES = str.maketrans({"\\": r"\\", "|": r"\p", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def _misc_text(text: str) -> str:
    return text.translate(_MISC_ESCAPES)


WRITERS: Table[Callable[[Chunk, _Columns, Remarks], bytes]] = Table(
    "output format",
    {"conll": _tag_conll, "conllu": _tag_conllu, "jsonl": _tag_jsonl, "crfsuite": _tag_crfsuite, "grmm": _tag_grmm},
)
