"""The hash function of CRFsuite's dictionaries, for many keys at once.

Bob Jenkins' `lookup3` (2006, public domain), `hashlittle` with the initial value 0: a key is taken as little-endian
32-bit words, three at a time, padded with zeros. Not here: the hash tables (`cqdb`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..foundation import Ints

_BLOCK = 12  # bytes: three words
_START = 0xDEADBEEF
# (changed, other, bits): what each step of a round does to the words a, b, c, numbered 0, 1, 2.
_MIX = ((0, 2, 4), (1, 0, 6), (2, 1, 8), (0, 2, 16), (1, 0, 19), (2, 1, 4))
_FINAL = ((2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24))

Words = NDArray[np.uint32]


def lookup3(keys: NDArray[np.uint8], lengths: Ints) -> Words:
    """The hash of each key: uint32 [n].

    keys: [lengths.sum()] the bytes of all keys, one after the other; none is empty.
    lengths: [n] the number of bytes of each key.
    """
    blocks = -(-lengths // _BLOCK)  #                 [n]  blocks of a key, the last one padded
    first = np.cumsum(blocks) - blocks  #             [n]  the first block of a key
    words = _padded(keys, lengths, first, int(blocks.sum())).view("<u4").reshape(-1, 3)
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
    _finish(state)
    return state[2]


def _padded(keys: NDArray[np.uint8], lengths: Ints, first: Ints, num_blocks: int) -> NDArray[np.uint8]:
    """[12 · num_blocks] the keys, each padded with zeros to whole blocks."""
    room = np.zeros(_BLOCK * num_blocks, np.uint8)
    edges = np.zeros(len(room) + 1, np.int8)  # +1 where a key begins, −1 where it ends; 0 where one follows another
    edges[_BLOCK * first] += 1
    edges[_BLOCK * first + lengths] -= 1
    room[np.cumsum(edges[:-1], dtype=np.int8).view(np.bool_)] = keys
    return room


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


def _finish(state: Sequence[Words]) -> None:
    """The last round, in place: x ^= y, x −= rotated y."""
    for changed, other, bits in _FINAL:
        state[changed][...] ^= state[other]
        state[changed][...] -= _rotated(state[other], bits)


def _rotated(words: Words, bits: int) -> Words:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
