"""What terms give on distinct values: texts, truth values, numbers or weighted texts.

Weighted texts are the values of a `weighted_bag` column, and of functions of its names. A function is called once for
each distinct name; what it gives has the weight of the name, and equal results of one token add up. A test is true of a
token if a name of weight other than 0 passes. Not here: evaluation, ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...data import BagColumn, Corpus
from ...foundation import Codes, Floats, Mask, Offsets, data_error, dataclass
from ...kernels.extraction import merge_items


@dataclass(frozen=True)
class Bags:
    """Token n has the texts `texts[codes[i]]` with the weights `weights[i]`, for i from `off[n]` to `off[n + 1]`."""

    off: Offsets  #     [N+1]
    codes: Codes  #     [M]
    weights: Floats  #  [M], or [0] if all are 1
    texts: Sequence[str]

    def mapped(self, function: Callable[[str], Sequence[str]]) -> Bags:
        """The texts that a function gives for these, with the weights of these."""
        numbers: dict[str, int] = {}
        results = [[numbers.setdefault(out, len(numbers)) for out in function(text)] for text in self.texts]
        list_off = np.cumsum([0, *map(len, results)])
        list_codes = np.array([number for result in results for number in result], np.int32)
        lengths = np.diff(list_off)[self.codes]
        item_off = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        at = np.repeat(list_off[self.codes] - item_off[:-1], lengths) + np.arange(item_off[-1])
        weights = np.repeat(self.weights, lengths) if len(self.weights) else self.weights
        off, codes, weights = merge_items(item_off[self.off], list_codes[at], weights, len(numbers))
        return Bags(off, codes, np.empty(0) if (weights == 1.0).all() else weights, list(numbers))

    def any(self, test: Callable[[str], object]) -> Mask:
        """[N] whether one of the texts of each token passes."""
        passed = np.array([bool(test(text)) for text in self.texts], np.bool_)[self.codes]
        if len(self.weights):
            passed &= self.weights != 0
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(passed)])
        found: Mask = before[self.off[1:]] > before[self.off[:-1]]
        return found


def checked_bag(name: str, column: BagColumn, corpus: Corpus) -> Bags:
    """The values of a column, which a program may have made; kernels do not check bounds."""
    off, codes, weights = column.off, column.codes, column.weights
    whole = len(off) == corpus.num_tokens + 1 and off[0] == 0 and off[-1] == len(codes)
    if not whole or (np.diff(off) < 0).any() or codes.min(initial=0) < 0 or codes.max(initial=-1) >= len(column.names):
        message = f"column `{name}` is no bag: its offsets or codes do not fit its items and names"
        raise data_error("bad-value", message, file=corpus.file)
    if len(weights) not in (0, len(codes)) or not np.isfinite(weights).all():
        message = f"column `{name}` has weights that are not finite, or not one an item"
        raise data_error("bad-value", message, file=corpus.file)
    return Bags(
        np.ascontiguousarray(off, np.int64),
        np.ascontiguousarray(codes, np.int32),
        np.ascontiguousarray(weights, np.float64),
        column.names,
    )


@dataclass(frozen=True)
class Source:
    """Token n has the value `values[codes[n]]`; the code -1 means none."""

    codes: Codes  #          [N]
    values: Sequence[Any]  # [V]  texts, numbers, or truth values


@dataclass(frozen=True)
class Texts:
    """No, one or several texts per distinct value, without repetitions."""

    of: list[tuple[str, ...]]  # [V]


@dataclass(frozen=True)
class Truths:
    of: Mask  # [V]


@dataclass(frozen=True)
class Numbers:
    """One number per distinct value; NaN for none."""

    of: Floats  # [V]


Values: TypeAlias = Texts | Truths | Numbers | Bags
