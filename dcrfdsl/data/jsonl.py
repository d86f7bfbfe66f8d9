"""The format `jsonl`: one sentence per line, as JSON: `{"word": ["The", "dog"], "pos": ["DT", "NN"]}`, or a list of
tokens, `[{"word": "The", "pos": "DT"}, {"word": "dog", "pos": "NN"}]`.

Keys that no column names are ignored, but those by which annotation tools reject a sentence (`annotation_status`).
Blank lines are skipped. Not here: the meaning of the values (`records`).
"""

from __future__ import annotations

import json
from operator import attrgetter
from typing import Any, ClassVar

from ..foundation import DcrfError, Diagnostic, data_error
from .annotation_status import LeftOutTexts, refusal
from .column_blocks import Block
from .columns import Parsed
from .formats import Wanted, text_options
from .records import Records
from .vector_columns import shown

_REMEDY = "one sentence a line, as a JSON object of lists or a JSON list of objects"


class JsonlReader:
    bytes_per_token: ClassVar[int] = 32

    def __init__(self, wanted: Wanted):
        text_options(wanted.data)
        for column in wanted.columns:
            if column.key is not None:
                message = f"`{column.name}` asks for a key of `{column.source}`; `jsonl` has no keys"
                raise DcrfError(Diagnostic("unknown-column", message))
        self._file = wanted.file
        self._keys = frozenset(column.source for column in wanted.columns)
        self._gold = wanted.gold
        self._records = Records(wanted, key=attrgetter("source"), unit="line")
        self.left_out = LeftOutTexts()
        self.warnings: list[str] = []

    def cut(self, text: bytes) -> int:
        return text.rfind(b"\n") + 1

    def parse(self, block: Block) -> Parsed:
        for number, line in enumerate(block.text.decode().split("\n"), block.first_line):
            if line and not line.isspace():
                sentence = decoded(line, number, self._file, _REMEDY)
                reason = refusal(sentence, self._keys) if self._gold else None
                if reason is None:
                    self._records.add(sentence, number)
                else:
                    self.left_out.add(f"left out, as {reason}", number, "sentence")
        return self._records.take()


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
