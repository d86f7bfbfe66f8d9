"""The format `fasta`: a line `>name`, below it a sequence, a character a token, and below that a line for each label.

    >P12345 | TM          Without labels, as in data to be tagged, the lines of a record are one sequence.
    MKTAYIAKQR            The first record decides whether the file has labels. Blank lines are skipped.
    iiiiMMMMoo

Predictions are further lines of the record, apart by blanks where texts are longer; a remark stands behind the name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import ClassVar

import numpy as np

from ...foundation import DcrfError, data_error
from ...syntax import Column
from ..column_blocks import Block
from ..columns import Parsed, Wanted, interned
from . import format_interface as formats
from .written_cells import lines_of, text_of


class FastaReader(formats.Reader):
    bytes_per_token: ClassVar[int] = 3

    def __init__(self, wanted: Wanted):
        super().__init__(wanted)
        self._columns: tuple[Column, ...] | None = None  # decided by the first record

    def cut(self, text: bytes) -> int:
        return text.rfind(b"\n>") + 1

    def parse(self, block: Block) -> Parsed:
        records: dict[int, list[str]] = {}
        last: list[str] | None = None
        for number, line in enumerate(block.text.decode().split("\n"), block.first_line):
            if line.startswith(">"):
                last = records[number] = []
            elif line.strip() and last is None:
                raise self._refused(number, "a sequence without a name", "write a line `>NAME` above it")
            elif line.strip() and last is not None:
                last.append(line.strip())
        found = {number: self._sequences(number, lines) for number, lines in records.items() if lines}
        lengths = np.array([len(sequences[0]) for sequences in found.values()], np.int64)
        columns = {
            column.name: interned(chain.from_iterable(one[n] for one in found.values()), int(lengths.sum()))
            for n, column in enumerate(self._columns or ())
        }
        return Parsed(columns, lengths, np.repeat(np.array([*found], np.int64), lengths))

    def _sequences(self, number: int, lines: list[str]) -> list[str]:
        wanted = self._wanted
        if self._columns is None:
            bare = wanted.without_optional
            labelled = len(lines) == len(wanted.columns) and len({*map(len, lines)}) == 1
            needed = wanted.required.difference(column.name for column in bare)
            self._columns = wanted.columns if labelled or needed else bare
            if labelled and not needed and bare != wanted.columns and all(map(str.isupper, lines)):
                self.warnings.append(
                    f"{wanted.file}: line {number}: the lines of this record have one length, so the last of them are "
                    "read as labels; write a sequence without labels in one line"
                )
        if len(self._columns) == 1:
            return ["".join(lines)]
        if len(lines) != len(self._columns) or len({*map(len, lines)}) > 1:
            names = " ".join(column.name for column in self._columns)
            what = f"lines of {', '.join(str(len(one)) for one in lines)} characters, expected `{names}`, of one length"
            raise self._refused(number, what, "write the sequence in one line, and its labels in lines below")
        return lines

    def _refused(self, number: int, what: str, remedy: str) -> DcrfError:
        return data_error("column-count", f"the record has {what}", file=self._wanted.file, line=number, help=remedy)


def _tag_fasta(chunk: formats.Chunk, predicted: formats.Predicted, remarks: formats.Remarks) -> bytes:
    lines, off = lines_of(chunk), chunk.corpus.sentence_off.tolist()
    end = len(lines)
    for n in reversed(range(chunk.corpus.num_sentences)):
        head = int(chunk.corpus.token_line[off[n]]) - chunk.block.first_line
        while not lines[end - 1].strip() or any(line.startswith(">") for line in lines[head + 1 : end]):
            end -= 1
        texts = [[text_of(value) for value in values[off[n] : off[n + 1]]] for values in predicted.values()]
        lines[end:end] = [("" if max(map(len, one)) == 1 else " ").join(one) for one in texts]
        lines[head] = " ".join([lines[head], *(f"{name}={text_of(values[n])}" for name, values in remarks.items())])
        end = head
    return "\n".join(lines).encode()


def _record(lines: Sequence[str], done: int, first: int, last: int) -> formats.LineSpan:
    """From the head of a record, where all its tokens are, to that of the next one."""
    return first, next((n for n in range(first + 1, len(lines)) if lines[n].startswith(">")), len(lines))


FORMATS = {
    "fasta": formats.DataFormat(
        FastaReader, partial(formats.ChunkTagger, _tag_fasta), suffixes=(".fasta", ".fa", ".faa", ".3line"),
        sentences=formats.SentenceLines(_record, formats.SINGLE_LINES.part, by_blank_row=False),
    ),
}  # fmt: skip
