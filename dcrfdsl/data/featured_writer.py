"""Predictions in the formats `crfsuite` and `grmm`: a label in its place, and what is no label as one more feature.

A number is the feature `name:number` in `crfsuite`, and `name=number` in `grmm`. Not here: reading (`featured_lines`).
"""

from __future__ import annotations

from ..foundation import parts_of
from .featured_lines import LABEL_END, WEIGHT
from .readers import Chunk
from .weighted_bags import escaped
from .written_lines import (
    UNKNOWN,
    Predicted,
    Remarks,
    at_each_token,
    ending_of,
    lines_of,
    text_of,
    texts_of,
    token_lines,
)  # fmt: skip


def tag_crfsuite(chunk: Chunk, predicted: Predicted, remarks: Remarks) -> bytes:
    label = chunk.data.columns[0].name
    lines = lines_of(chunk)
    more = {**predicted, **at_each_token(chunk, remarks)}
    labels = texts_of(more.pop(label)) if label in more else None
    for n, line in enumerate(token_lines(chunk)):
        cells = lines[line].removesuffix("\r").split("\t")
        if labels is not None:
            cells[0] = _label(labels[n])
        cells += [_attribute(name, values[n]) for name, values in more.items()]
        lines[line] = "\t".join(cells) + ending_of(lines[line])
    return "\n".join(lines).encode()


def _label(text: str) -> str:
    """A label as it is read again: a backslash before it says that it is no weight of the sentence."""
    return f"\\{text}" if text == WEIGHT else escaped(text)


def _attribute(name: str, value: str | float | None) -> str:
    return escaped(f"{name}={text_of(value)}") if isinstance(value, str | None) else f"{escaped(name)}:{text_of(value)}"


def tag_grmm(chunk: Chunk, predicted: Predicted, remarks: Remarks) -> bytes:
    names = [column.name for column in chunk.data.columns[:-1]]
    lines = lines_of(chunk)
    more = {**predicted, **at_each_token(chunk, remarks)}
    labels = {name: texts_of(more.pop(name)) for name in names if name in more}
    for n, line in enumerate(token_lines(chunk)):
        cells = parts_of(lines[line])
        end = cells.index(LABEL_END) if LABEL_END in cells else -1
        old = dict(zip(names, cells[: max(end, 0)], strict=False))
        new = [labels[name][n] if name in labels else old.get(name, UNKNOWN) for name in names]
        said = [f"{name}={text_of(values[n])}" for name, values in more.items()]
        lines[line] = " ".join([*new, LABEL_END, *cells[end + 1 :], *said]) + ending_of(lines[line])
    return "\n".join(lines).encode()
