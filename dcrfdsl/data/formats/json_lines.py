"""Lines of JSON: read, changed and written again; files that are one JSON array; the status of an annotation.

A file that is one array of records is read as if each record were a line: what annotation tools export. The array may
be laid out in any way, on one line or over many. It is cut into records while it is read, so that memory stays bounded;
a place in a message is a line and a column of the file. A file that begins otherwise is left as it is.

Whether what a record of an annotation tool says counts as gold, is told by the fields in which such tools keep its
status:

| tool | field | counts for nothing |
|---|---|---|
| Prodigy | `answer` of a text, or of a span | `reject`, `ignore` |
| Label Studio | `was_cancelled` of an annotation | true |
| Label Studio | `last_action` of an annotation | `rejected`, `skipped` |
| Argilla | `status` of a record | `discarded`, `draft`, `pending` |

Not here: what a record means (`records`, `span_records`), which of several annotations is read (`span_records`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from ...foundation import DcrfError, data_error, json_text, shortened
from ...semantics import missing_mark
from ..column_blocks import Block
from ..number_cells import shown
from .format_interface import Chunk
from .written_cells import ending_of

_REFUSED: Mapping[str, tuple[Any, ...]] = {
    "answer": ("reject", "ignore"),
    "was_cancelled": (True,),
    "last_action": ("rejected", "skipped"),
    "status": ("discarded", "draft", "pending"),
}
STATUS_KEYS = tuple(_REFUSED)


def refusal(item: Any, columns: Collection[str] = ()) -> str | None:
    """Why a record, an annotation or a span counts for nothing, in words; None if it counts.

    columns: the keys that are data, and no status.
    """
    if not isinstance(item, Mapping):
        return None
    for key, values in _REFUSED.items():
        value = item.get(key)
        if key in columns or not isinstance(value, bool | str):
            continue
        said = value.lower() if isinstance(value, str) else value
        if said in values:
            return f"`{key}` is `{'true' if said is True else said}`"
    return None


def error_words(error: json.JSONDecodeError) -> str:
    """What Python says of broken JSON, to stand before ` at column 5`."""
    return f"{error.msg[:1].lower()}{error.msg[1:]}".removesuffix(" starting at")


def decoded(line: str, number: int, file: str, remedy: str) -> Any:
    """The value of a line of JSON; `DcrfError` with line and column if it is none, or one that is ambiguous."""
    try:
        return _DECODER.decode(line)
    except json.JSONDecodeError as error:
        message = f"not JSON: {error_words(error)} at column {error.colno}"
        raise data_error("bad-json", message, file=file, line=number, column=error.colno, help=remedy) from None
    except _Refused as error:
        raise data_error("bad-json", str(error), file=file, line=number, help=remedy) from None
    except ValueError:  # the only other error of Python's decoder
        raise data_error("bad-json", "a number of thousands of digits", file=file, line=number) from None
    except RecursionError:
        raise data_error("bad-json", "JSON nested too deeply", file=file, line=number, help=remedy) from None


class _Refused(Exception):
    """JSON that Python's decoder would accept although it is ambiguous."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    by_key = dict(pairs)
    if len(by_key) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for n, key in enumerate(keys) if key in keys[:n])
        raise _Refused(f"the key {shown(twice)} comes twice in one object")
    return by_key


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


class _NoNumber(Exception):
    """A number outside the columns that Python reads and JSON cannot represent."""


def changed_json(chunk: Chunk, n: int, line: str, change: Callable[[Any], Any]) -> str:
    """Line `n` of the chunk, which is JSON, with its value changed. `DcrfError` if it cannot be written again.

    Where numbers may be missing, `NaN`, which is no JSON, is written as null; where there are columns of scores,
    `-Infinity` is written as the text "-inf".
    """
    decoder = _decoder(missing_mark(chunk.data) is not None, any(column.type.of for column in chunk.data.columns))
    try:
        written = json_text(change(decoder.decode(line)), ensure_ascii=False)
    except (_NoNumber, RecursionError) as error:
        message = str(error) if isinstance(error, _NoNumber) else "JSON nested too deeply"
        at = chunk.block.line_of(n)
        raise data_error("bad-json", message, file=chunk.corpus.file, line=at) from None
    return written + ending_of(line)


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _NoNumber(f"`{shortened(text)}` cannot be written again: it is no number of JSON, or too large for one")
    return number


@cache
def _decoder(has_gaps: bool, has_scores: bool) -> json.JSONDecoder:
    written: dict[str, str | None] = {"NaN": None} if has_gaps else {}
    written |= {"-Infinity": IMPOSSIBLE} if has_scores else {}
    return json.JSONDecoder(
        parse_float=_number, parse_constant=lambda text: written[text] if text in written else _number(text)
    )


IMPOSSIBLE = "-inf"  # JSON has no infinity


def scores_as_json(scores: list[float] | Mapping[str, float]) -> Any:
    """The scores of a token as lists or objects of JSON, with the text "-inf" in place of −∞."""
    if isinstance(scores, Mapping):
        return {name: IMPOSSIBLE if score == -math.inf else score for name, score in scores.items()}
    return [IMPOSSIBLE if score == -math.inf else score for score in scores]


_SPACE = re.compile(r"[ \t\r\n]*")
_OPENS = re.compile(rb"\s*(?:\[\s*([^\s])?)?")
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str)  # only ends are wanted: no number is too long
_RECORDS = b"{[]"  # what follows the bracket of an array of records; a pair `["text", {…}]` is a line


class _Scan(NamedTuple):
    """The records that were found, as (start, end), the end of the last one, and what comes after it."""

    records: list[tuple[int, int]]
    end: int
    expects: str


class _Broken(Exception):
    """No array of records from character `at` on; `runs_out`: more of it may come."""

    def __init__(self, at: int, message: str, runs_out: bool):
        super().__init__(message)
        self.at, self.runs_out = at, runs_out


class ArrayLines:
    """Cuts a file into blocks. The first characters decide whether it is one array."""

    def __init__(self, file: str):
        self._file = file
        self._is_array: bool | None = None
        # what comes next (`open`, `first`, `record`, `more` or `end`), and in which column of the file, from 0
        self._expects, self._column = "open", 0
        self._ahead: _Scan | None = None  # what `cut` found in the next block
        self._line = 1  # of the end of the last block

    def cut(self, text: bytes) -> int:
        """Number of bytes of `text` up to its last record end; 0 if it has none."""
        if self._is_array is None:
            opens = _OPENS.match(text)
            assert opens is not None
            if opens.end() == len(text) and not opens[1]:
                return 0  # that cannot be told yet
            self._is_array = bool(opens[1]) and opens[1] in _RECORDS
        if not self._is_array:
            return text.rfind(b"\n") + 1
        scan = self._scan(text)
        if isinstance(scan, _Broken):
            return 0 if scan.runs_out else len(text)
        self._ahead = scan
        return scan.end

    def lined(self, block: Block) -> Block:
        """The block with a record a line, and the line of the file at which each begins. `DcrfError` if it has none."""
        if not self._is_array:
            return block
        text = block.text
        scan: _Scan | _Broken | None = self._ahead
        if not isinstance(scan, _Scan) or scan.end != len(text):
            scan = self._scan(text, whole=True)
        if isinstance(scan, _Broken):
            raise self._error(block, scan.at, str(scan))
        self._ahead = None
        lines, records, line, done = [], [], block.first_line, 0
        for start, end in scan.records:
            line += text.count(b"\n", done, start)
            done = start
            lines.append(line)
            records.append(text[start:end].translate(_AS_SPACE))  # in JSON they only stand between values
        newline = text.rfind(b"\n")
        self._expects = scan.expects
        self._column = (self._column if newline < 0 else 0) + len(text[newline + 1 :].decode())
        self._line = block.first_line + text.count(b"\n")
        return block._replace(text=b"".join(record + b"\n" for record in records), lines=lines)

    def finish(self) -> None:
        """`DcrfError` if the array has no end."""
        if self._is_array and self._expects != "end":
            message = "the file stops before the end of its JSON array: there is no `]`"
            raise self._error(Block(b"", self._line), 0, message)

    def _scan(self, text: bytes, whole: bool = False) -> _Scan | _Broken:
        """The records of a text that begins where the last block ended. whole: nothing comes after it."""
        chars = text.decode("latin-1")  # a character a byte: the structure of JSON is ASCII
        records: list[tuple[int, int]] = []
        at, end, expects = 0, 0, self._expects
        settled = expects
        try:
            while (at := _after_space(chars, at)) < len(chars):
                at, expects = _step(expects, chars, at, records)
                if expects in ("more", "end"):
                    end, settled = at, expects
        except _Broken as broken:
            if broken.runs_out and not whole and records:
                return _Scan(records, end, settled)
            return broken
        if whole or expects == "end":
            return _Scan(records, len(chars), expects)
        return _Scan(records, end, settled)

    def _error(self, block: Block, at: int, message: str) -> DcrfError:
        before = block.text[:at]
        newline = before.rfind(b"\n")
        column = len(before[newline + 1 :].decode(errors="replace")) + (self._column if newline < 0 else 0) + 1
        line = block.first_line + before.count(b"\n")
        return data_error(
            "bad-json", f"not JSON: {message} at column {column}", file=self._file, line=line, column=column,
            help="an array of records is `[{…}, {…}]`, with a comma between two of them",
        )  # fmt: skip


_AS_SPACE = bytes.maketrans(b"\r\n", b"  ")


def _after_space(chars: str, at: int) -> int:
    found = _SPACE.match(chars, at)
    assert found is not None
    return found.end()


def _step(expects: str, chars: str, at: int, records: list[tuple[int, int]]) -> tuple[int, str]:
    """Reads what comes next: where it ends, and what comes then."""
    match expects:
        case "open":
            return at + 1, "first"
        case "first" if chars[at] == "]":
            return at + 1, "end"
        case "more":
            if chars[at] not in ",]":
                raise _Broken(at, "expecting ',' or ']'", False)
            return at + 1, "record" if chars[at] == "," else "end"
        case "end":
            raise _Broken(at, "there is text behind the end of the array", False)
    try:
        _, end = _SCANNER.raw_decode(chars, at)
    except json.JSONDecodeError as error:
        near_end = len(chars) - error.pos < _LONGEST_WORD or error.msg.startswith("Unterminated string")
        raise _Broken(error.pos, error_words(error), near_end) from None
    except RecursionError:
        raise _Broken(at, "values nested too deeply", False) from None
    records.append((at, end))
    return end, "more"


_LONGEST_WORD = 12  # a cut number, `-Infinity` or `\u12` is shorter


def json_values(block: Block, file: str, remedy: str) -> Iterator[tuple[int, int, Any]]:
    """Of each line that is not blank: its number in the block, from 0, the line of the file, and the value.

    remedy: where it is no JSON, see `decoded`.
    """
    for n, line in enumerate(block.text.decode().split("\n")):
        if line and not line.isspace():
            number = block.line_of(n)
            yield n, number, decoded(line, number, file, remedy)
