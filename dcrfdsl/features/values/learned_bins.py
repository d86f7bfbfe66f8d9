"""The `bin` terms of a template whose edges are learned from the training data.

All are learned there, those too that only a condition reads: what is tagged must not decide on them. Not here: the
edges themselves (`number_values`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite
from typing import Any

from ...foundation import IncompatibleState
from ...semantics import Apply, At, Bins, ModelSpec, Reference, every_node, read_bins, rewritten
from ..plan import term_text


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
