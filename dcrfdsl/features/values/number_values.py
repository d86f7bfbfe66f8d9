"""Numbers of texts, and what `bin`, `standardize`, `scale` and statistics of windows mean on arrays.

Edges that are quantiles, means and spreads are all learned from training data, also where only a condition reads them:
what is tagged must not decide on them. Not here: which term is read, and where (`distinct_values`, `joint_tests`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...data import Corpus
from ...foundation import Codes, Floats, IncompatibleState, data_error
from ...semantics import Bins, ModelSpec, bin_names, every_node, gives_number, read_bins, reads_window, rewritten
from ...syntax import Apply, At, Reference, Window
from ..plan import term_text
from .row_blocks import cut
from .text_functions import number_of
from .window_statistics import in_windows, joined_moments


def numbers_of(texts: Sequence[tuple[str, ...]]) -> Floats:
    """The number of each value, [V], each with one text at most."""
    return np.array([number_of(several[0]) if several else np.nan for several in texts], np.float64)


# bins -------------------------------------------------------------------------------------------------------------


def quantile_edges(numbers: Floats, codes: Codes, count: int) -> tuple[float, ...]:
    """The edges of `count` bins that hold about as many tokens each; fewer where one number is that frequent.

    numbers: of the distinct values, [V].   codes: the value of each token, [N], negative for none.

    An edge is the smallest number above a quantile, so that a frequent number stays with those below it.
    """
    tokens = np.bincount(codes[codes >= 0], minlength=len(numbers)).astype(np.float64)
    seen = (tokens > 0) & ~np.isnan(numbers)
    distinct, place = np.unique(numbers[seen], return_inverse=True)
    if len(distinct) < 2:
        return ()
    below = np.cumsum(np.bincount(place, tokens[seen]))  # tokens with at most this number
    wanted = below[-1] * np.arange(1, count) / count
    above = np.unique(np.searchsorted(below, wanted)) + 1
    return tuple(distinct[above[above < len(distinct)]].tolist())


def binned(numbers: Floats, edges: Sequence[float]) -> list[tuple[str, ...]]:
    """The name of the bin of each number, [V]; none for NaN."""
    names = [(name,) for name in bin_names(edges)]
    bins = np.searchsorted(np.asarray(edges, np.float64), numbers, side="right")
    return [() if missing else names[n] for n, missing in zip(bins.tolist(), np.isnan(numbers).tolist(), strict=True)]


# scales ---------------------------------------------------------------------------------------------------------------


class NumberMoments(NamedTuple):
    """What tokens with a number show of it.   moments: n, mean, mean, Σ (x - mean)², [4].   largest: of all |x|."""

    moments: Floats
    largest: float

    @classmethod
    def of(cls, numbers: Floats, codes: Codes) -> NumberMoments:
        """numbers: of the distinct values, [V].   codes: the value of each token, [N], negative for none."""
        tokens = np.bincount(codes[codes >= 0], minlength=len(numbers)) * ~np.isnan(numbers)
        known, n = np.where(tokens > 0, numbers, 0.0), max(tokens.sum(), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = tokens @ known / n
            squares = tokens @ (known - mean) ** 2
        return cls(np.array([tokens.sum(), mean, mean, squares]), float(np.abs(known).max(initial=0.0)))

    def joined(self, other: NumberMoments) -> NumberMoments:
        return NumberMoments(joined_moments(self.moments, other.moments), max(self.largest, other.largest))

    def scale(self, term: Apply) -> tuple[float, float]:
        """What a number is less, and divided by, in `standardize` or `scale`; a constant is divided by 1."""
        n, mean, _, squares = self.moments.tolist()
        spread = math.sqrt(squares / max(n, 1.0))
        shift, unit = (mean, spread) if term.function == "standardize" else (0.0, self.largest)
        if not math.isfinite(shift) or not math.isfinite(unit):
            message = f"the numbers of `{term_text(term)}` are too large to be brought to scale"
            raise data_error("bad-value", message, help="divide the numbers of the column by a power of ten")
        return shift, unit or 1.0


# windows --------------------------------------------------------------------------------------------------------------


def statistic(term: Apply, numbers: Floats, corpus: Corpus) -> Floats:
    """What `mean(temp[-3..3])` is at each token, [N], of the numbers [N] in the window; NaN for none."""
    window = getattr(term.arguments[0].value, "place", None)
    assert isinstance(window, Window)  # the checker wants one
    found = np.empty(len(numbers))
    for block in cut(corpus, 0, 0):
        lengths = np.diff(block.sentence_off)
        longest = int(lengths.max(initial=0))
        first, last = max(window.first, -longest), min(window.last, longest)
        gap = max(-first, last, 0)
        at = np.arange(block.end - block.first) + gap * np.repeat(np.arange(len(lengths)), lengths)
        apart = np.full(len(at) + gap * len(lengths), np.nan)  # with a gap behind each sentence
        apart[at] = numbers[block.first : block.end]
        found[block.first : block.end] = in_windows(term.function, apart, first, last)[at]
    return found


# what is learned ------------------------------------------------------------------------------------------------------


def learned_terms(spec: ModelSpec) -> Iterator[Apply]:
    """Each `bin(term, 4)`, `standardize(term)` and `scale(term)` of features and conditions once, without its place."""
    seen: set[str] = set()
    for _, node in every_node(spec):
        if not isinstance(node, Apply) or not (node.function == "bin" or gives_number(node, "number")):
            continue
        bins, term = read_bins(node, spec.settled) if node.function == "bin" else Bins(0), _unplaced(node)
        if isinstance(bins, Bins) and bins.count is not None and term_text(term) not in seen:
            seen.add(term_text(term))
            yield term


def _unplaced(node: Any) -> Any:
    """A term with every place at the position itself, but for windows of statistics."""
    if isinstance(node, Reference | Apply):
        node = node.model_copy(update={"place": At(offset=0)})
    return node if reads_window(node) else rewritten(node, _unplaced)


def checked_learned(spec: ModelSpec, stored: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, ...]]:
    """What a model file says was learned; `IncompatibleState` unless it is what its template needs."""
    needed = {term_text(term): term for term in learned_terms(spec)}
    fits = set(stored) == set(needed) and all(all(map(math.isfinite, found)) for found in stored.values())
    for name, found in stored.items() if fits else ():
        is_bin = needed[name].function == "bin"
        fits &= all(a < b for a, b in pairwise(found)) if is_bin else len(found) == 2 and found[1] > 0
    if not fits:
        raise IncompatibleState("the stored edges of bins, or means and spreads, are not those of the template")
    return {name: tuple(found) for name, found in stored.items()}
