"""Predictions written beside the lines they were made for: everything of the input stays, in place.

`conll` gets more columns, split by a TAB where the first token of the chunk has one, else by a space. `conllu` gets
`name=value` in MISC. `jsonl` gets an object `predicted` (`{"word": […], "predicted": {"chunk": […]}}`; in a sentence
that is a list of tokens, each object token gets its own). What `conllu` and `jsonl` predicted before is replaced.
Not here: what is predicted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..registry import Table
from .conll import conll_options
from .conllu import MISC
from .readers import Chunk

__all__ = ["WRITERS", "Predictions", "tagged"]

Predictions: TypeAlias = Mapping[str, Sequence[str] | Sequence[float] | NDArray[Any]]  # name → [N], in written order
_Columns: TypeAlias = Mapping[str, Sequence[str | float]]

_SPACE = " \t\r\v\f"


def tagged(chunk: Chunk, predictions: Predictions) -> bytes:
    """The bytes of `chunk` with the `predictions` for its N tokens: a text or a number (a marginal) each."""
    columns = {
        name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in predictions.items()
    }
    num_tokens = chunk.corpus.num_tokens
    for name, values in columns.items():
        if len(values) != num_tokens:
            raise ValueError(f"{len(values)} predictions of {name!r} for {num_tokens} tokens")
    lines = chunk.block.text.decode().split("\n")
    if columns:
        WRITERS[chunk.data.format](chunk, columns, lines)
    return chunk.block.bom + "\n".join(lines).encode()


def _tag_conll(chunk: Chunk, columns: _Columns, lines: list[str]) -> None:
    token_lines = _token_lines(chunk)
    if not token_lines:
        return
    separator = conll_options(chunk.data).get("separator")
    between = separator or ("\t" if "\t" in lines[token_lines[0]] else " ")
    trailing = "\r" if separator else _SPACE
    cells = [[between + text for text in _texts(values)] for values in columns.values()]
    for n, cells_here in zip(token_lines, map("".join, zip(*cells, strict=True)), strict=True):
        line = lines[n]
        body = line.rstrip(trailing)
        lines[n] = body + cells_here if len(body) == len(line) else body + cells_here + _ending(line)


def _tag_conllu(chunk: Chunk, columns: _Columns, lines: list[str]) -> None:
    named = [[f"{name}={_misc_text(text)}" for text in _texts(values)] for name, values in columns.items()]
    ours = tuple(f"{name}=" for name in columns)
    for n, items in zip(_token_lines(chunk), zip(*named, strict=True), strict=True):
        cells = lines[n].removesuffix("\r").split("\t")
        kept = [item for item in cells[MISC].split("|") if item != "_" and not item.startswith(ours)]
        cells[MISC] = "|".join((*kept, *items))
        lines[n] = "\t".join(cells) + _ending(lines[n])


def _tag_jsonl(chunk: Chunk, columns: _Columns, lines: list[str]) -> None:
    token_lines = chunk.corpus.token_line - chunk.block.first_line
    for n, line in enumerate(lines):
        if not line or line.isspace():
            continue
        start, end = np.searchsorted(token_lines, (n, n + 1))
        predicted = {name: values[start:end] for name, values in columns.items()}
        lines[n] = json.dumps(_with_predicted(json.loads(line), predicted), ensure_ascii=False) + _ending(line)


def _with_predicted(sentence: Any, predicted: Mapping[str, Sequence[str | float]]) -> Any:
    if isinstance(sentence, Mapping):
        return {**sentence, "predicted": predicted}
    tokens = []
    for t, token in enumerate(sentence):
        own = {name: values[t] for name, values in predicted.items()}
        tokens.append({**token, "predicted": own} if isinstance(token, Mapping) else [*_values(token), *own.values()])
    return tokens


def _values(token: Any) -> Sequence[Any]:
    """The values of a token that is a list; a lone text is a token of one column."""
    return [token] if isinstance(token, str) else token


def _ending(line: str) -> str:
    """What of the line's end is left after splitting at line feeds."""
    return "\r" if line.endswith("\r") else ""


def _token_lines(chunk: Chunk) -> list[int]:
    """Line of the block, from 0, of each token."""
    lines: list[int] = (chunk.corpus.token_line - chunk.block.first_line).tolist()
    return lines


def _texts(values: Sequence[str | float]) -> list[str]:
    return [value if isinstance(value, str) else format(value, ".6g") for value in values]


# In MISC `|` parts the items; the escapes are the ones that CoNLL-U's own SpacesAfter uses.
_MISC_ESCAPES = str.maketrans({"\\": r"\\", "|": r"\p", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def _misc_text(text: str) -> str:
    return text.translate(_MISC_ESCAPES)


WRITERS: Table[Callable[[Chunk, _Columns, list[str]], None]] = Table(
    "output format", {"conll": _tag_conll, "conllu": _tag_conllu, "jsonl": _tag_jsonl}
)
