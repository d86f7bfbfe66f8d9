"""Attributes of items, straight from what `marshal` writes of lists of dictionaries: names to numbers, in their order.

`marshal` (version 4) walks Python's objects in C. Bytes of its stream: a type, with bit 128 if later references count
the object, then what is in it; `r` and a number stand for an object that came before. No text is joined to find a name:

    hash(ab) = hash(a) · B^|b| + hash(b)        modulo 2^31, of bytes in UTF-8

makes the hash of `prefix:key:value` of those of its parts. Names of equal hash are compared byte by byte. What an item
means is in `crfsuite.items`; whatever is unusual about one (sets, bytes, large numbers, a NUL) ends the work.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...foundation import Codes, Floats, Ints, Ints32, Offsets
from ..runtime import inlined, kernel

Bytes = NDArray[np.uint8]

_BASE, _MASK, _WORD = 1327217885, (1 << 31) - 1, (1 << 32) - 1
_DEEPEST = 24  # levels of lists and dictionaries
_REFERENCE, _END, _COLON, _COUNTED = ord("r"), ord("0"), ord(":"), 128
_SHORT_TEXTS, _TEXTS = (ord("z"), ord("Z")), (ord("a"), ord("A"), ord("u"), ord("t"))
_DICT, _LIST, _TUPLE, _SHORT_TUPLE = ord("{"), ord("["), ord("("), ord(")")
_TRUE, _FALSE, _INT, _FLOAT = ord("T"), ord("F"), ord("i"), ord("g")
_OF_FALSE = 0xFF00000000FF, ord("F") << 40 | ord("r")  # a reference and False, in eight bytes, and which bits these are


class NameIndex(NamedTuple):
    """A hash table of A names."""

    words: Ints  #    eight bytes of the names, one after the other, from each byte on
    off: Offsets  #   [A+1]
    hashed: Ints  #   [A]
    slots: Codes  #   [power of 2, more than A]  a name's place, -1 for none


def words_of(content: bytes) -> Ints:
    """Eight bytes as a number from each byte on, and from the end; after that, zeros."""
    return np.ndarray(len(content) + 1, "<i8", content + bytes(8), 0, (1,))


@kernel
def index_names(words: Ints, off: Offsets) -> tuple[Ints, Codes]:
    """Hashes and slots of distinct names, none of which has a NUL, as in `NameIndex`."""
    num = len(off) - 1
    size = 4
    while size < 3 * num:
        size *= 2
    hashed, slots = np.empty(num, np.int64), np.full(size, -1, np.int32)
    for n in range(num):
        hashed[n] = _hash(words, off[n], off[n + 1])[0]
        slot = _slot(hashed[n]) & (size - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = n
    return hashed, slots


@inlined
def _hash(words, start, end):
    """(hash, B^length) of bytes; (-1, 1) if CRFsuite does not store them as they are: a NUL, half a surrogate pair."""
    found, power, before = np.int64(0), np.int64(1), np.int64(0)
    for at in range(start, end):
        byte = _read(words, at) & 255
        if byte == 0 or (before == 0xED and byte >= 0xA0):
            return np.int64(-1), np.int64(1)
        found = (found * _BASE + byte) & _MASK
        power = (power * _BASE) & _MASK
        before = byte
    return found, power


@inlined
def _read(words, at):
    """words[at], not from the end, which indexing would have to ask first."""
    return words[np.uint64(at)]


@inlined
def _slot(hashed):
    return hashed ^ (hashed >> 15)


@inlined
def _are_equal(words, at, others, there, length):
    """Whether as many bytes are the same."""
    while length >= 8:
        if _read(words, at) != _read(others, there):
            return False
        at, there, length = at + 8, there + 8, length - 8
    return length == 0 or (_read(words, at) ^ _read(others, there)) << (64 - 8 * length) == 0


@inlined
def _find(hashed, length, words, parts, num_parts, index):
    """The place of the name of this hash and length, whose parts (start, end) have a colon between them, or -1."""
    mask = len(index.slots) - 1
    slot = _slot(hashed) & mask
    while index.slots[slot] >= 0:
        n = np.int64(index.slots[slot])
        if index.hashed[n] == hashed and index.off[n + 1] - index.off[n] == length:
            at, part = index.off[n], 0
            while part < num_parts and (part == 0 or _read(index.words, at - 1) & 255 == _COLON):
                size = parts[part, 1] - parts[part, 0]
                if not _are_equal(index.words, at, words, parts[part, 0], size):
                    break
                at += size + 1
                part += 1
            if part == num_parts:
                return n
        slot = (slot + 1) & mask
    return np.int64(-1)


class _Memory(NamedTuple):
    """What a walk fills, and where it keeps what it has met."""

    counted: Ints32  #     [C, 5]  objects that references name: where; hash, power, start and end of a text
    sequence_off: Offsets
    item_off: Offsets
    found: Codes
    values: Floats
    levels: Ints  #        [D, 4]  elements to come (-1: a dictionary); where to go on after what is read again, or -1;
    #                              hash and length of the names' common beginning
    parts: Ints  #         [D, 2]  of the name at hand: one for each level within the item, and more
    real: Floats  #        [1]


@kernel
def number_items(words: Ints, index: NameIndex) -> tuple[bool, Offsets, Offsets, Codes, Floats]:
    """The known attributes of a list of S sequences of N items: whether all of it is usual (if not, the rest means
    nothing), offsets of items [S+1], offsets of attributes [N+1], places of names [M], values [M].
    """
    most = len(words) // 2 + 2  # no object takes less than two bytes; more items and attributes than this end the work
    memory = _Memory(
        np.empty((most, 5), np.int32), np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int32),
        np.empty(most, np.float64), np.zeros((_DEEPEST, 4), np.int64), np.empty((_DEEPEST, 2), np.int64), np.empty(1),
    )  # fmt: skip
    num_sequences, num_items, num = _walk(words, index, memory) if len(words) <= _MASK else (-1, 0, 0)
    sequence_off, item_off = memory.sequence_off[: max(num_sequences, 0) + 1], memory.item_off[: num_items + 1]
    return num_sequences >= 0, sequence_off, item_off, memory.found[:num], memory.values[:num]


@inlined
def _object(words, at, is_new, counted, num_counted):
    """The object at a place: where it is, what follows a reference to it, hash, power, start and end of a text, and how
    many objects are counted. Its hash is -1 if it is no usual text.
    """
    head = _read(words, at)
    if head & 255 == _REFERENCE:
        which = min((head >> 8) & _WORD, num_counted)
        text = counted[which]
        where, of_part, power = np.int64(text[0]), np.int64(text[1]), np.int64(text[2])
        return where, at + 5, of_part, power, np.int64(text[3]), np.int64(text[4]), num_counted
    code, start, end = head & 127, np.int64(0), np.int64(-1)
    of_part, power = np.int64(-1), np.int64(1)
    if code == _SHORT_TEXTS[0] or code == _SHORT_TEXTS[1]:
        start = at + 2
        end = start + ((head >> 8) & 255)
    elif code == _TEXTS[0] or code == _TEXTS[1] or code == _TEXTS[2] or code == _TEXTS[3]:
        start = at + 5
        end = start + ((head >> 8) & _WORD)
    if end >= start:
        of_part, power = _hash(words, start, end)
    if is_new and head & _COUNTED:
        text = counted[num_counted]
        text[0], text[1], text[2], text[3], text[4] = at, of_part, power, start, end
        num_counted += 1
        counted[num_counted, 0] = 0  # what a wrong reference would be to: the list of all
        counted[num_counted, 1] = -1
    return at, np.int64(-1), of_part, power, start, end, num_counted


@inlined
def _walk(words, index, memory):
    """Fills the memory; the numbers of sequences, items and attributes, -1 if something is not usual."""
    counted, sequence_off, item_off = memory.counted, memory.sequence_off, memory.item_off
    levels, parts, found, values, real = memory.levels, memory.parts, memory.found, memory.values, memory.real
    bits = real.view(np.int64)
    sequence_off[0] = item_off[0] = 0
    num_counted = num_sequences = num_items = num = np.int64(0)
    counted[0, 0], counted[0, 1] = 0, -1
    num_again = 0  # levels that are read again
    at, depth = np.int64(0), -1  # levels: the list of sequences, a sequence, an item, what is nested in it
    while True:
        head, has_key = _read(words, at), depth >= 0 and levels[depth, 0] < 0
        if has_key and head & _OF_FALSE[0] == _OF_FALSE[1]:  # the most frequent pair, which adds nothing
            at += 6
            continue
        if depth >= 0 and (levels[depth, 0] == 0 or (has_key and head & 255 == _END)):
            at += has_key
            if levels[depth, 1] >= 0:
                at = levels[depth, 1]
                num_again -= 1
            if depth == 0:
                return num_sequences, num_items, num
            if depth == 1:
                num_sequences += 1
                sequence_off[num_sequences] = num_items
            elif depth == 2:
                num_items += 1
                if num_items == len(item_off):
                    return -1, 0, 0
                item_off[num_items] = num
            depth -= 1
            continue
        hashed = length = np.int64(0)
        num_parts = max(depth - 2, 0)
        if depth > 2:
            hashed, length = levels[depth, 2], levels[depth, 3]
        if has_key:
            _, after, of_part, power, start, end, num_counted = _object(words, at, num_again == 0, counted, num_counted)
            if of_part < 0:
                return -1, 0, 0
            at = after if after >= 0 else end
            if _read(words, at) & 255 == _FALSE:
                at += 1
                continue
            hashed, length = (hashed * power + of_part) & _MASK, length + end - start
            parts[num_parts, 0], parts[num_parts, 1] = start, end
            num_parts += 1
        elif depth >= 0:
            levels[depth, 0] -= 1
        amount = 1.0
        if has_key and _read(words, at) & 255 == _TRUE:
            at += 1
        else:
            here, after, of_part, power, start, end, num_counted = _object(
                words, at, num_again == 0, counted, num_counted
            )
            code = _read(words, here) & 127
            if of_part >= 0 and depth >= 2:
                if has_key:
                    hashed, length = (hashed * _BASE + _COLON) & _MASK, length + 1
                hashed, length = (hashed * power + of_part) & _MASK, length + end - start
                parts[num_parts, 0], parts[num_parts, 1] = start, end
                num_parts += 1
            elif has_key and code == _INT:
                end = here + 5
                amount = float(np.int32(_read(words, here + 1) & _WORD))
            elif has_key and code == _FLOAT:
                end = here + 9
                bits[0] = _read(words, here + 1)
                amount = real[0]
            else:  # a level
                depth += 1
                if depth == _DEEPEST or (depth > 2 and not has_key):
                    return -1, 0, 0
                if code == _DICT and depth >= 2:
                    levels[depth, 0], at = -1, here + 1
                elif code == _LIST or (code == _TUPLE and depth <= 2):
                    levels[depth, 0], at = (_read(words, here) >> 8) & _WORD, here + 5
                elif code == _SHORT_TUPLE and depth <= 2:
                    levels[depth, 0], at = (_read(words, here) >> 8) & 255, here + 2
                else:
                    return -1, 0, 0
                levels[depth, 1] = after
                num_again += after >= 0
                levels[depth, 2], levels[depth, 3] = (hashed * _BASE + _COLON) & _MASK, length + 1
                continue
            at = after if after >= 0 else end
            if amount == 0.0:
                continue
        place = _find(hashed, length, words, parts, num_parts, index)
        if place >= 0:
            if num == len(found):
                return -1, 0, 0
            found[num], values[num] = place, amount
            num += 1
