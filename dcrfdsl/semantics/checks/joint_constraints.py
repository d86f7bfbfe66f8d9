"""The joint effect of constraints: one table for all constraints over the same sites.

So a constraint is compared with one table for each shape of sites within its own, and not with every earlier
constraint. Not here: the problems that are reported (`constraint_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from ...foundation import LazyModule
from ..conditions import Sites
from ..schema import Path

if TYPE_CHECKING:
    import numpy as np

    from ...foundation import Mask
else:
    np = LazyModule("numpy")

MOST_PATHS = 8  # constraints remembered for one shape of sites


@dataclass
class _Shape:
    """`allowed` over `sites` by all constraints on them; the first of these constraints, with their order."""

    sites: Sites
    allowed: Mask
    paths: list[tuple[int, Path]]


@dataclass
class EarlierConstraints:
    """The constraints so far, by the shape of their sites: offsets from the first position."""

    count: int = 0
    _shapes: dict[Sites, _Shape] = field(default_factory=dict)
    _by_name: dict[str, list[_Shape]] = field(default_factory=dict)

    def add(self, sites: Sites, allowed: Mask, path: Path) -> None:
        turn, self.count = self.count, self.count + 1
        start = min(offset for _, offset in sites)
        moved: Sites = tuple((name, offset - start) for name, offset in sites)
        key = tuple(sorted(moved))
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _Shape(key, spread(allowed, moved, key), [(turn, path)])
            self._by_name.setdefault(key[0][0], []).append(shape)
            return
        shape.allowed = shape.allowed & spread(allowed, moved, key)
        if len(shape.paths) < MOST_PATHS:
            shape.paths.append((turn, path))

    def within(self, sites: Sites) -> Iterator[tuple[Sites, Mask, list[tuple[int, Path]]]]:
        """The constraints on `sites` or some of them, at every placement."""
        near = [shape for name in dict.fromkeys(name for name, _ in sites) for shape in self._by_name.get(name, ())]
        if 2 ** len(sites) <= len(near):
            in_order = sorted(sites)
            for size in range(1, len(sites) + 1):
                for some in combinations(in_order, size):
                    start = min(offset for _, offset in some)
                    shape = self._shapes.get(tuple((name, offset - start) for name, offset in some))
                    if shape is not None:
                        yield some, shape.allowed, shape.paths
            return
        for shape in near:
            for placed in placements(shape.sites, sites):
                yield placed, shape.allowed, shape.paths


def placements(small: Sites, large: Sites) -> list[Sites]:
    """Every shift of `small` that lies within `large`."""
    within = set(large)
    name, offset = small[0]
    shifts = [other - offset for variable, other in large if variable == name]
    moved = [tuple((variable, o + shift) for variable, o in small) for shift in shifts]
    return [sites for sites in moved if within.issuperset(sites)]


def spread(allowed: Mask, sites: Sites, large: Sites) -> Mask:
    """`allowed` over `sites`, as an array over `large` that broadcasts."""
    axes: Mapping[tuple[str, int], int] = {site: axis for axis, site in enumerate(large)}
    order = sorted(range(len(sites)), key=lambda n: axes[sites[n]])
    turned = np.transpose(allowed, order)
    sizes = dict(zip((axes[sites[n]] for n in order), turned.shape, strict=True))
    return turned.reshape([sizes.get(axis, 1) for axis in range(len(large))])
