"""Lines in and out: sentences of a column file or of JSON lines, and the same lines with labels.

A column file has a token a line and a blank line after each sentence; labels become further columns. A line of JSON is
a sentence; labels become its key `predicted`. Not here: tagging.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeAlias

from .tagger_texts import SPACE, parts_of
from .tagger_tokens import Column, TaggerError, columns_of

PAUSE = 0.01  # seconds until a pipe that does not block is tried again
BLOCK = 1 << 20  # bytes that are read at once
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLANK_LINE = re.compile(rb"\n[ \t\r\v\f]*\n")


@dataclass
class Block:
    """Whole sentences of a file. lines: all its lines, split at line feeds.   first: the number of the first one.

    sentences: columns of each.   places: of each token of each sentence its line, from 0.   mark: the byte order mark,
    in the first block of a file that has one.
    """

    lines: list[str]
    first: int
    sentences: list[dict[str, list[Any]]] = field(default_factory=list)
    places: list[list[int]] = field(default_factory=list)
    mark: str = ""


def blocks_of(stream: BinaryIO, form: Format, file: str) -> Iterator[Block]:
    """The blocks of a file. What another program has written so far is a block: it may be waiting for the answer."""
    rest, first = b"", 1
    read = getattr(stream, "raw", stream).read  # returns what is there, and None where a pipe does not block
    while (more := read(max(BLOCK, len(rest)))) != b"":
        if more is None:
            time.sleep(PAUSE)
            continue
        if b"\0" in more:  # before a sentence ends: `/dev/zero` has no end
            line = first + (rest + more).count(b"\n", 0, len(rest) + more.find(b"\0"))
            raise TaggerError(f"{file}:{line}: byte 0x00, so that this is no text")
        rest += more
        end = form.end(rest)
        if end:
            yield _block(rest[:end], form, first, file)
            first += rest.count(b"\n", 0, end)
            rest = rest[end:]
    if rest:
        yield _block(rest, form, first, file)


def _block(text: bytes, form: Format, first: int, file: str) -> Block:
    marked = first == 1 and text.startswith(BYTE_ORDER_MARK)
    text = text.removeprefix(BYTE_ORDER_MARK) if marked else text
    try:
        block = form.read(text.decode().split("\n"), first)
        block.mark = BYTE_ORDER_MARK.decode() if marked else ""
        return block
    except UnicodeDecodeError as error:
        line = first + text.count(b"\n", 0, error.start)
        raise TaggerError(f"{file}:{line}: byte 0x{text[error.start]:02x} is not UTF-8") from None
    except TaggerError as error:
        raise TaggerError(f"{file}:{error}") from None


# columns ------------------------------------------------------------------------------------------------------------


@dataclass
class ColumnFormat:
    """A token a line.

    separator: between columns; None for any white space.   comment: how a line begins that holds none.
    """

    columns: Sequence[Column]
    labels: Sequence[str]
    separator: str | None
    comment: str | None
    needs_labels: bool = False
    layout: Sequence[Column] | None = None  # as the first line decides

    def end(self, text: bytes) -> int:
        """Where the last sentence that is surely complete ends; 0 if none does."""
        last = max(text.rfind(b"\n\n") + 2, text.rfind(b"\n\r\n") + 3)
        return last if last >= 3 else max((match.end() for match in BLANK_LINE.finditer(text)), default=0)

    def read(self, lines: list[str], first: int) -> Block:
        block = Block(lines, first)
        cells: list[list[str]] = []
        places: list[int] = []
        for n, line in enumerate(lines):
            if self.comment and line.startswith(self.comment):
                continue
            if line.strip(SPACE):
                cells.append(self._cells(line, n + first))
                places.append(n)
            if cells and (not line.strip(SPACE) or n == len(lines) - 1):
                assert self.layout is not None
                turned = [list(values) for values in zip(*cells, strict=True)]
                by_name = {column.name: values for column, values in zip(self.layout, turned, strict=True)}
                block.sentences.append(self._checked(by_name, places[0] + first))
                block.places.append(places)
                cells, places = [], []
        return block

    def _cells(self, line: str, number: int) -> list[str]:
        cells = parts_of(line) if self.separator is None else line.removesuffix("\r").split(self.separator)
        if self.layout is None:
            unlabelled = [column for column in self.columns if column.name not in self.labels]
            choices = [self.columns] if self.needs_labels else [self.columns, unlabelled]
            self.layout = next((choice for choice in choices if len(choice) == len(cells)), None)
            if self.layout is None:
                expected = " or ".join(f"{len(one)} (`{' '.join(c.name for c in one)}`)" for one in choices if one)
                raise TaggerError(f"{number}: {_columns(len(cells))}, expected {expected}")
        if len(cells) != len(self.layout):
            names = " ".join(column.name for column in self.layout)
            raise TaggerError(f"{number}: {_columns(len(cells))}, expected {len(self.layout)} (`{names}`)")
        return cells

    def _checked(self, by_name: dict[str, list[str]], number: int) -> dict[str, list[Any]]:
        try:
            return columns_of(
                {c.source: by_name[c.name] for c in self.columns if c.name in by_name}, self.columns, self.labels
            )
        except TaggerError as error:
            raise TaggerError(f"{number}: {error}") from None

    def written(self, block: Block, labels: Sequence[Mapping[str, Sequence[Any]]]) -> str:
        """The text of a block with the columns `labels` of each sentence."""
        lines = list(block.lines)
        first = next((places[0] for places in block.places), 0)
        between = self.separator or ("\t" if "\t" in lines[first] else " ")
        for places, columns in zip(block.places, labels, strict=True):
            for n, cells in zip(places, zip(*columns.values(), strict=True), strict=True):
                line = lines[n]
                body = line.rstrip(SPACE if self.separator is None else "\r")
                ending = "\r" if line.endswith("\r") else ""
                lines[n] = body + "".join(between + cell for cell in cells) + ending
        return "\n".join(lines)


def _columns(count: int) -> str:
    return f"{count} column{'s' if count != 1 else ''}"


# JSON lines ---------------------------------------------------------------------------------------------------------


def _json_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise TaggerError(f"`{text}` is no number of JSON, or too large for one")
    return number


@dataclass
class JsonFormat:
    """A sentence a line: an object of lists, or a list of tokens."""

    columns: Sequence[Column]
    labels: Sequence[str]

    def _decoded(self, line: str, impossible: float | str = -math.inf) -> Any:
        gaps = any(column.missing is not None for column in self.columns)
        has_scores = any(column.type == "scores" for column in self.columns)
        return _decoded(line, gaps=gaps, impossible=impossible if has_scores else None)

    def end(self, text: bytes) -> int:
        return text.rfind(b"\n") + 1

    def read(self, lines: list[str], first: int) -> Block:
        block = Block(lines, first)
        for n, line in enumerate(lines):
            if not line or line.isspace():
                continue
            try:
                columns = columns_of(self._decoded(line), self.columns, self.labels)
            except TaggerError as error:
                raise TaggerError(f"{n + first}: {error}") from None
            length = len(next(iter(columns.values()), ()))
            if length:
                block.sentences.append(columns)
                block.places.append([n] * length)
        return block

    def written(self, block: Block, labels: Sequence[Mapping[str, Sequence[Any]]]) -> str:
        lines = list(block.lines)
        of_line = {places[0]: columns for places, columns in zip(block.places, labels, strict=True)}
        names: Sequence[str] = list(labels[0]) if labels else []
        for n, line in enumerate(lines):
            if line and not line.isspace():
                predicted = of_line.get(n, {name: [] for name in names})
                sentence = json.dumps(_with_labels(self._decoded(line, "-inf"), predicted), ensure_ascii=False)
                lines[n] = sentence + ("\r" if line.endswith("\r") else "")
        return "\n".join(lines)


def _decoded(line: str, *, gaps: bool, impossible: float | str | None) -> Any:
    """The value of a line. gaps: whether `NaN` is a missing number.   impossible: what `-Infinity` is, if a score."""

    def constant(text: str) -> float | str | None:
        if impossible is not None and text == "-Infinity":
            return impossible
        return None if gaps and text == "NaN" else _json_number(text)

    try:
        return json.loads(line, parse_float=_json_number, parse_constant=constant)
    except RecursionError:
        raise TaggerError("JSON nested too deeply") from None
    except ValueError as error:
        if isinstance(error, TaggerError):
            raise
        raise TaggerError(f"not JSON: {error}") from None


def _with_labels(sentence: Any, predicted: Mapping[str, Sequence[Any]]) -> Any:
    if isinstance(sentence, dict):
        return {**sentence, "predicted": predicted}
    tokens = []
    for t, token in enumerate(sentence):
        labels = {name: values[t] for name, values in predicted.items()}
        row = [token] if isinstance(token, str) else token
        tokens.append({**token, "predicted": labels} if isinstance(token, dict) else [*row, *labels.values()])
    return tokens


Format: TypeAlias = ColumnFormat | JsonFormat
# A format of the `data` statement: its options, columns and labels, and whether labels must be there → how it is read.
FORMATS: Mapping[str, Callable[[Mapping[str, Any], Sequence[Column], Sequence[str], bool], Format]] = {
    "conll": lambda data, columns, labels, needs: ColumnFormat(
        columns, labels, data.get("separator"), data.get("comment"), needs
    ),
    "jsonl": lambda data, columns, labels, needs: JsonFormat(columns, labels),
}
