"""A data set that holds sequences several times, each time with other codes; features are not copied.

Constrained decoding and the probabilities of events ask about one sentence under many restrictions. Not here: what the
codes mean (`graph.label_factors`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...foundation import Ints, Ints32
from ...graph import offsets
from .potentials import BoundData


def repeated_data(data: BoundData, sequence: Ints, codes: Ints32) -> BoundData:
    """The data set of R sequences, `sequence` [R] of those of `data`, which is not packed.

    codes [sets, tokens of the R sequences]: the rows of the last feature sets, which have one code at each token.
    """
    rows, (sets, count) = data.rows, codes.shape
    first_set = len(rows.first_row) - sets
    kept_rows = data.set_off[first_set]
    kept_features = int(rows.row_off[kept_rows])
    token_off = offsets(np.diff(rows.token_off)[sequence])
    of_codes = kept_rows + count * np.arange(sets)[:, None] + token_off[:-1]
    value = rows.value
    if len(value):
        value = np.concatenate([value[:kept_features], np.ones(sets * count)])
    repeated = rows._replace(
        first_row=np.concatenate([rows.first_row[:first_set, sequence], of_codes]),
        row_off=np.concatenate([rows.row_off[:kept_rows], kept_features + np.arange(sets * count + 1, dtype=np.int64)]),
        feature=np.concatenate([rows.feature[:kept_features], codes.ravel().astype(np.int32)]),
        value=value,
        token_off=token_off,
        shape=rows.shape[sequence],
    )
    return replace(data, rows=repeated)
