"""Numbers of texts, and bins: what `bin` means on arrays.

Edges of bins that are quantiles are all learned from the training data, also where only a condition reads them: what
is tagged must not decide on them. Not here: which term is read, and where (`distinct_values`, `joint_tests`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from ...foundation import Codes, Floats, IncompatibleState
from ...semantics import Bins, ModelSpec, bin_names, every_node, read_bins, rewritten
from ...syntax import Apply, At, Reference
from ..plan import term_text
from .text_functions import number_of


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


# edges that are learned -----------------------------------------------------------------------------------------------


def quantile_bins(spec: ModelSpec) -> Iterator[Apply]:
    """Each `bin(term, 4)` in features and conditions, once, at the position itself."""
    seen: set[str] = set()
    for _, node in every_node(spec):
        if not isinstance(node, Apply) or node.function != "bin":
            continue
        bins, term = read_bins(node, spec.settled), _unplaced(node)
        if isinstance(bins, Bins) and bins.count is not None and term_text(term) not in seen:
            seen.add(term_text(term))
            yield term


def _unplaced(node: Any) -> Any:
    """A term with every place at the position itself."""
    if isinstance(node, Reference | Apply):
        node = node.model_copy(update={"place": At(offset=0)})
    return rewritten(node, _unplaced)


def checked_bins(spec: ModelSpec, stored: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, ...]]:
    """The edges of a model file; `IncompatibleState` unless they are those that its template needs."""
    needed = {term_text(term) for term in quantile_bins(spec)}
    ascending = all(all(map(isfinite, edges)) and all(a < b for a, b in pairwise(edges)) for edges in stored.values())
    if set(stored) != needed or not ascending:
        raise IncompatibleState("the stored edges of bins are not those of the template")
    return {name: tuple(edges) for name, edges in stored.items()}
