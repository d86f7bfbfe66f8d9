"""Sparse feature rows: the features that fire at each position. The product of `features`, the input of training.

There is one `FeatureRows` per feature set (the distinct feature list of one or more cliques). Row r lists the ids of
the features that fire there; ids count from 0 in the alphabet of their feature set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..foundation import Floats, Ints, Ints32, Offsets


class FeatureRows(NamedTuple):
    """CSR rows over positions. Position t of sentence s (t runs from -pad_left to T-1+pad_right) has the row

    `sentence_off[s] + s * (pad_left + pad_right) + pad_left + t`; without padding this is the number of the token. The
    rows of a relational clique are its pairs; those of sentence s begin at `pair_off[s]`.
    """

    row_off: Offsets  # [R+1]  offsets into `feature`
    feature: Ints32  #  [nnz]  feature id
    value: Floats  #    [nnz], or [0] if every value is 1
    pad_left: int = 0
    pad_right: int = 0
    pair_off: Offsets | None = None  # [S+1]

    def summed(self, sentence_off: Offsets) -> FeatureRows:
        """The rows in which the first position of a sentence has the features of all of them, and the others none.

        Without padding and pairs. A feature that fires at several positions is there several times.
        """
        off = np.asarray(sentence_off, np.int64)
        row_off = np.repeat(self.row_off[off[1:]], np.diff(off))
        first = off[:-1][np.diff(off) > 0]
        row_off[first] = self.row_off[first]
        return self._replace(row_off=np.append(row_off, self.row_off[-1]))

    def first_row(self, sentence_off: Offsets) -> Ints:
        """The row of anchor 0 of each sentence, [S]."""
        if self.pair_off is not None:
            return self.pair_off[:-1]
        if not self.pad_left and not self.pad_right:
            return sentence_off[:-1]
        sentences = np.arange(len(sentence_off) - 1)
        return sentence_off[:-1] + sentences * (self.pad_left + self.pad_right) + self.pad_left
