"""CQDB, the dictionaries inside CRFsuite's model files: strings with the numbers 0 to n − 1, found either way.

A dictionary is a chunk of the file. Its offsets count from its own beginning; numbers are 32-bit and little-endian:

    "CQDB", size of the chunk, flags, byte order, length and offset of the backward array    6 words
    offset, number of buckets                                                                256 tables
    number, length of the string with its final NUL, string                                  each string
    hash, offset of the string (0: empty)                                                    buckets, by table
    offset of the string                                                                     the backward array

A string is in table `hash mod 256`, from bucket `hash div 256` on. Strings are bytes: those that are no UTF-8 stay
`bytes`. The hash is Bob Jenkins' `lookup3` (2006, public domain), `hashlittle` with the initial value 0, for many keys
at once: a key is taken as little-endian 32-bit words, three at a time, padded with zeros. Source:
`lib/cqdb/src/cqdb.c` of CRFsuite 0.12. Not here: the other chunks (`model_file`).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..foundation import Ints


class Damage(Exception):
    """A part of the file contradicts another, in the words of a message."""


# hashes ---------------------------------------------------------------------------------------------------------------


_BLOCK = 12  # bytes: three words
_START = 0xDEADBEEF
# (changed, other, bits): what each step of a round does to the words a, b, c, numbered 0, 1, 2.
_MIX = ((0, 2, 4), (1, 0, 6), (2, 1, 8), (0, 2, 16), (1, 0, 19), (2, 1, 4))
_FINAL = ((2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24))

Words: TypeAlias = NDArray[np.uint32]


def lookup3(keys: NDArray[np.uint8], lengths: Ints) -> Words:
    """The hash of each key: uint32 [n].

    keys: [lengths.sum()] the bytes of all keys, one after the other; none is empty.
    lengths: [n] the number of bytes of each key.
    """
    blocks = -(-lengths // _BLOCK)  #                 [n]  blocks of a key, the last one padded
    first = np.cumsum(blocks) - blocks  #             [n]  the first block of a key
    room = np.zeros(_BLOCK * int(blocks.sum()), np.uint8)
    room[_covered(_BLOCK * first, lengths, len(room))] = keys
    words = room.view("<u4").reshape(-1, 3)
    state = [(np.uint32(_START) + lengths.astype(np.uint32)) for _ in range(3)]
    active: Ints = np.flatnonzero(blocks > 1)
    for step in range(1, int(blocks.max(initial=1))):
        part = [word[active] for word in state]
        _add(part, words[first[active] + step - 1])
        _mix(part)
        for word, mixed in zip(state, part, strict=True):
            word[active] = mixed
        active = active[blocks[active] > step + 1]
    _add(state, words[first + blocks - 1])
    for changed, other, bits in _FINAL:  # the last round: x ^= y, x −= rotated y
        state[changed] ^= state[other]
        state[changed] -= _rotated(state[other], bits)
    return state[2]


def _covered(starts: Ints, lengths: Ints, size: int) -> NDArray[np.bool_]:
    """[size] which places belong to one of the ranges, which do not overlap."""
    edges = np.zeros(size + 1, np.int8)  # +1 where a range begins, −1 where it ends; 0 where one follows another
    edges[starts] += 1
    edges[starts + lengths] -= 1
    return np.cumsum(edges[:-1], dtype=np.int8).view(np.bool_)


def _add(state: Sequence[Words], block: Words) -> None:
    """Adds the three words of a block [n, 3]."""
    for place, word in enumerate(state):
        word += block[:, place]


def _mix(state: Sequence[Words]) -> None:
    """One reversible round, in place: x −= y, x ^= rotated y, y += z, where z is the third word."""
    for changed, other, bits in _MIX:
        state[changed][...] -= state[other]
        state[changed][...] ^= _rotated(state[other], bits)
        state[other][...] += state[3 - changed - other]


def _rotated(words: Words, bits: int) -> Words:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))


Key: TypeAlias = str | bytes

_MAGIC = b"CQDB"
_BYTE_ORDER = 0x62445371
_TABLES = 256
_HEADER, _TABLE, _RECORD, _BUCKET = 24, 8, 8, 8  # bytes
_RECORDS_AT = _HEADER + _TABLE * _TABLES
_MOST_CHECKED = 1 << 14  # bytes of a string; a dictionary with longer ones is read without a look at the hashes

Bytes: TypeAlias = NDArray[np.uint8]


# reading ----------------------------------------------------------------------------------------------------------


def read_cqdb(content: Bytes, start: int, num: int, what: str) -> list[Key]:
    """The `num` strings of the dictionary at byte `start` of a file, in order of their numbers.

    Memory and time are proportional to the length of the file, whatever it says. `Damage` if a part of the dictionary
    contradicts another; `what` is its name in the message.
    """
    if not 0 <= start <= len(content) - _RECORDS_AT:
        raise Damage(f"the {what} begin at byte {start:,}, where a dictionary has no room")
    chunk = content[start:]
    magic, size, _, order, backward_num, backward_at = struct.unpack("<4s5I", chunk[:_HEADER].tobytes())
    if magic != _MAGIC or order != _BYTE_ORDER:
        raise Damage(f"there is no dictionary of {what} at byte {start:,}")
    if not _RECORDS_AT <= size <= len(chunk):
        raise Damage(f"the dictionary of {what} is said to have {size:,} of the remaining {len(chunk):,} bytes")
    chunk = chunk[:size]
    if num > backward_num or backward_at + 4 * num > size:
        raise Damage(f"there is no room for {num:,} {what} in their dictionary")
    offsets = words_at(chunk, backward_at, num).astype(np.int64)
    lengths, order_in_file = _records(chunk, offsets, what)
    keys = _key_bytes(chunk, offsets[order_in_file] + _RECORD, lengths[order_in_file])
    _check_tables(chunk, offsets[order_in_file], lengths[order_in_file], keys, what)
    strings = _strings(keys, num, what)
    if (order_in_file[1:] < order_in_file[:-1]).any():
        by_number = np.argsort(order_in_file).tolist()
        strings = [strings[place] for place in by_number]
    if len(set(strings)) < num:
        raise Damage(f"two of the {what} are the same")
    return strings


def words_at(content: Bytes, start: int, num: int) -> Words:
    """`num` words from byte `start` on, which need not be a multiple of 4."""
    words: Words = np.frombuffer(content[start : start + 4 * num].tobytes(), "<u4")
    return words


def _scattered_words(chunk: Bytes, offsets: Ints) -> Words:
    """[n, 2] the two words at each of the offsets, which are within the chunk."""
    gathered = chunk[offsets[:, None] + np.arange(8)]
    return np.ascontiguousarray(gathered).view("<u4")


def _records(chunk: Bytes, offsets: Ints, what: str) -> tuple[Ints, Ints]:
    """The lengths of the strings [n], with the final NUL, and the numbers [n] in order of their places."""
    if len(offsets) and (offsets.min() < _RECORDS_AT or offsets.max() > len(chunk) - _RECORD):
        raise Damage(f"one of the {what} lies outside of their dictionary")
    numbers, lengths = _scattered_words(chunk, offsets).astype(np.int64).T
    if (numbers != np.arange(len(offsets))).any():
        raise Damage(f"the dictionary of {what} does not lead back from a string to its number")
    order = np.argsort(offsets, kind="stable")
    ends = (offsets + _RECORD + lengths)[order]
    limits = np.append(offsets[order][1:], len(chunk))
    if (lengths == 0).any() or (ends[: len(offsets)] > limits[: len(offsets)]).any():
        raise Damage(f"one of the {what} is longer than its place")
    return lengths, order


def _key_bytes(chunk: Bytes, starts: Ints, lengths: Ints) -> Bytes:
    """The bytes of all strings, final NULs included, which follow each other without overlap."""
    if not len(starts):
        return np.zeros(0, np.uint8)
    first, last = int(starts[0]), int(starts[-1] + lengths[-1])
    return chunk[first:last][_covered(starts - first, lengths, last - first)]


def _check_tables(chunk: Bytes, offsets: Ints, lengths: Ints, keys: Bytes, what: str) -> None:
    """`Damage` unless the buckets have each string once, in its own table and with its own hash.

    offsets, lengths: [n] in order of place; keys: their bytes, in the same order.
    """
    tables = words_at(chunk, _HEADER, 2 * _TABLES).reshape(_TABLES, 2).astype(np.int64)
    num_buckets = np.where(tables[:, 0] > 0, tables[:, 1], 0)
    past_the_end = (tables[:, 0] + _BUCKET * num_buckets > len(chunk)) & (num_buckets > 0)
    if past_the_end.any() or num_buckets.sum() > len(chunk) // _BUCKET:
        raise Damage(f"a hash table of the {what} lies outside of their dictionary")
    table = np.repeat(np.arange(_TABLES), num_buckets)
    within = np.arange(len(table)) - (np.cumsum(num_buckets) - num_buckets)[table]
    hashes, places = _scattered_words(chunk, tables[table, 0] + _BUCKET * within).T
    used = np.flatnonzero(places)
    used = used[np.argsort(places[used], kind="stable")]
    if len(used) != len(offsets) or (places[used] != offsets).any():
        raise Damage(f"the hash tables of the {what} do not have each of them once")
    if lengths.max(initial=1) <= _MOST_CHECKED:
        expected = lookup3(keys, lengths)
        if (hashes[used] != expected).any() or (table[used] != expected % _TABLES).any():
            raise Damage(f"the hash of one of the {what} is not that of its text")


def _strings(keys: Bytes, num: int, what: str) -> list[Key]:
    """The strings [num] of their bytes, which a NUL ends each."""
    raw = keys.tobytes()
    if raw.count(b"\0") != num or (num and raw[-1]):
        raise Damage(f"one of the {what} has a NUL within, or none at its end")
    try:
        return [*raw.decode().split("\0")[:num]]
    except UnicodeDecodeError:
        return [_text(part) for part in raw.split(b"\0")[:num]]


def _text(raw: bytes) -> Key:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


# writing ----------------------------------------------------------------------------------------------------------


def cqdb_bytes(strings: Sequence[Key]) -> bytes:
    """The dictionary of distinct strings [n], none of which has a NUL."""
    raw = [text.encode() if isinstance(text, str) else text for text in strings]
    lengths = np.fromiter((len(key) + 1 for key in raw), np.int64, len(raw))
    records = b"".join([struct.pack("<2I", number, len(key) + 1) + key + b"\0" for number, key in enumerate(raw)])
    offsets = _RECORDS_AT + np.cumsum(_RECORD + lengths) - (_RECORD + lengths)
    keys = np.frombuffer(b"".join([key + b"\0" for key in raw]), np.uint8)
    buckets, counts = _buckets(lookup3(keys, lengths), offsets)
    ends = _RECORDS_AT + len(records) + _BUCKET * np.cumsum(counts)
    tables = np.stack([np.where(counts > 0, ends - _BUCKET * counts, 0), counts], axis=1)
    backward_at = int(ends[-1]) if raw else 0
    size = int(ends[-1]) + 4 * len(raw)
    header = struct.pack("<4s5I", _MAGIC, size, 0, _BYTE_ORDER, len(raw), backward_at)
    return b"".join((header, tables.astype("<u4").tobytes(), records, buckets, offsets.astype("<u4").tobytes()))


def _buckets(hashes: Words, offsets: Ints) -> tuple[bytes, Ints]:
    """The buckets of all tables, and how many each table has [256]: two for each of its strings.

    A string takes the first bucket that is free from its own on, and in the order of their numbers, so that the file is
    the same as CRFsuite's byte by byte.
    """
    counts = 2 * np.bincount(hashes % _TABLES, minlength=_TABLES)
    starts = (np.cumsum(counts) - counts).tolist()
    table = (hashes % _TABLES).astype(np.int64)
    wanted = ((hashes >> np.uint32(8)) % np.maximum(counts, 1)[table]).tolist()
    taken = bytearray(int(counts.sum()))
    places = []
    for which, place in zip(table.tolist(), wanted, strict=True):
        start, num = starts[which], int(counts[which])
        while taken[start + place]:
            place = place + 1 if place + 1 < num else 0
        taken[start + place] = 1
        places.append(start + place)
    buckets = np.zeros((int(counts.sum()), 2), "<u4")
    buckets[places, 0], buckets[places, 1] = hashes, offsets
    return buckets.tobytes(), counts
