"""Kernels that read and write column files: bytes to cells, cells to codes, and codes back into lines.

`lines_and_cells` finds the lines of a text and the cells of each line, `intern_cells` numbers the distinct cells of a
column by an open-addressing hash table (FNV-1a, linear probing), `append_to_lines` writes cells at the ends of lines.
Each call sees one block of a file and keeps no state; `data.column_blocks` joins the blocks. Not here: the meaning of
lines and cells, and their validation.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...foundation import Ints, Ints32
from ..runtime import inner, kernel

Bytes = NDArray[np.uint8]

ANY_SPACE = 0  # the separator that stands for runs of white space
BLANK, COMMENT = 0, -1  # the number of cells of a line of only white space, of a comment line

_NEWLINE, _RETURN = 10, 13
_FNV_OFFSET, _FNV_PRIME, _FNV_MASK = 2166136261, 16777619, 0xFFFFFFFF  # 32 bits: products fit an int64


class Cells(NamedTuple):
    """L lines and their C cells. Cell c is the bytes `start[c]` to `end[c]`; cells follow each other line by line."""

    line_start: Ints  # [L]  first byte of the line
    line_cells: Ints  # [L]  number of cells, BLANK or COMMENT
    start: Ints  #      [C]
    end: Ints  #        [C]


@inner
def _is_space(byte: int) -> bool:
    """ASCII white space only: a no-break space is part of a word."""
    return byte == 32 or 9 <= byte <= 13


@inner
def _starts_with(text: Bytes, at: np.int64, prefix: Bytes) -> bool:
    if len(prefix) == 0 or at + len(prefix) > len(text):
        return False
    for k in range(len(prefix)):  # noqa: SIM110 (a loop that numba compiles)
        if text[at + k] != prefix[k]:
            return False
    return True


@kernel
def lines_and_cells(text: Bytes, separator: int, comment: Bytes) -> tuple[Ints, Ints, Ints, Ints]:
    """Finds the lines of `text` and their cells; returns the fields of `Cells`.

    `separator` is a byte or `ANY_SPACE`; lines that start with the bytes `comment` ([0]: none) hold no cells.
    A carriage return before the end of a line belongs to the end.
    """
    size = len(text)
    most_lines = 1
    for byte in text:
        if byte == _NEWLINE:
            most_lines += 1
    # White space needs a byte between two cells; a separator may stand beside another, with an empty cell between.
    most_cells = size // 2 + 1 if separator == ANY_SPACE else size + 1
    line_start, line_cells = np.empty(most_lines, np.int64), np.empty(most_lines, np.int64)
    start, end = np.empty(most_cells, np.int64), np.empty(most_cells, np.int64)
    lines = cells = at = 0
    while at < size:
        line_start[lines] = at
        before = cells
        if _starts_with(text, np.int64(at), comment):
            while at < size and text[at] != _NEWLINE:
                at += 1
            line_cells[lines] = COMMENT
        elif separator == ANY_SPACE:
            inside = False
            while at < size and text[at] != _NEWLINE:
                space = _is_space(text[at])
                if inside and space:
                    end[cells] = at
                    cells += 1
                elif not inside and not space:
                    start[cells] = at
                inside = not space
                at += 1
            if inside:
                end[cells] = at
                cells += 1
            line_cells[lines] = cells - before
        else:
            blank = True
            start[cells] = at
            while at < size and text[at] != _NEWLINE:
                blank = blank and _is_space(text[at])
                if text[at] == separator:
                    end[cells] = at
                    cells += 1
                    start[cells] = at + 1
                at += 1
            end[cells] = at - 1 if at > start[cells] and text[at - 1] == _RETURN else at
            cells = before if blank else cells + 1
            line_cells[lines] = cells - before
        lines += 1
        at += 1
    return line_start[:lines], line_cells[:lines], start[:cells], end[:cells]


@kernel
def intern_cells(text: Bytes, start: Ints, end: Ints) -> tuple[Ints32, Ints]:
    """Numbers the distinct cells of `text` in order of first appearance.

    `start`, `end` int64 [n]. Returns codes int32 [n] and first int64 [V], the first cell of each distinct value.
    """
    num_cells = len(start)
    size = 1024  # grows with the distinct cells: a table for all cells falls out of the cache
    mask = size - 1
    slot_code = np.full(size, -1, np.int32)
    codes, first, hashed = np.empty(num_cells, np.int32), np.empty(num_cells, np.int64), np.empty(num_cells, np.int64)
    distinct = 0
    for n in range(num_cells):
        if 2 * distinct >= size:
            size *= 4
            mask = size - 1
            slot_code = np.full(size, -1, np.int32)
            for code in range(distinct):
                slot = (hashed[code] ^ (hashed[code] >> 16)) & mask
                while slot_code[slot] >= 0:
                    slot = (slot + 1) & mask
                slot_code[slot] = code
        length = end[n] - start[n]
        key = np.int64(_FNV_OFFSET)
        for at in range(start[n], end[n]):
            key = ((key ^ np.int64(text[at])) * _FNV_PRIME) & _FNV_MASK
        slot = (key ^ (key >> 16)) & mask
        while True:
            code = slot_code[slot]
            if code < 0:
                code = distinct
                slot_code[slot] = code
                first[code] = n
                hashed[code] = key
                distinct += 1
                break
            other = first[code]
            same = hashed[code] == key and end[other] - start[other] == length
            k = 0
            while same and k < length:
                same = text[start[other] + k] == text[start[n] + k]
                k += 1
            if same:
                break
            slot = (slot + 1) & mask
        codes[n] = code
    return codes, first[:distinct].copy()


@kernel
def append_to_lines(text: Bytes, lines: Ints, codes: Ints, cells: Bytes, cell_off: Ints, any_space: bool) -> Bytes:
    """`text` with cell `codes[k]` (bytes `cell_off[code]` to `cell_off[code + 1]` of `cells`) after line `lines[k]`.

    `lines` ascend. Carriage returns at the end of a line, and white space if `any_space`, are removed; if the line
    ended in a carriage return, one follows the cell.
    """
    length = len(text)
    for k in range(len(lines)):
        length += cell_off[codes[k] + 1] - cell_off[codes[k]]
    out = np.empty(length, np.uint8)
    at = to = line = 0
    for k in range(len(lines)):
        while line < lines[k]:
            out[to] = text[at]
            line += text[at] == _NEWLINE
            at += 1
            to += 1
        end = at
        while end < len(text) and text[end] != _NEWLINE:
            end += 1
        body = end
        while body > at and (text[body - 1] == _RETURN or (any_space and _is_space(text[body - 1]))):
            body -= 1
        while at < body:
            out[to] = text[at]
            at += 1
            to += 1
        for i in range(cell_off[codes[k]], cell_off[codes[k] + 1]):
            out[to] = cells[i]
            to += 1
        if body < end and text[end - 1] == _RETURN:
            out[to] = _RETURN
            to += 1
        at = end
    while at < len(text):
        out[to] = text[at]
        at += 1
        to += 1
    return out[:to]
