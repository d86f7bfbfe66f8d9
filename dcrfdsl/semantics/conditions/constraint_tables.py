"""The table of a `forbid` or `require`: every assignment of the sites that it names, for every value of its
observations.

Not here: how a condition becomes a table (`condition_tables`), the places of instances (`graph`), whether a constraint
is meaningful (`checks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from ...foundation import DcrfError, Diagnostic, LazyModule
from ..schema import Constraint, ModelSpec, terms
from .condition_tables import (
    TRUE_STATE as TRUE_STATE,
    ConditionReader,
    HardTable as HardTable,
    Observed as Observed,
    Sites as Sites,
    Views,
    as_table,
    combined,
    compile_regex as compile_regex,
    site_of,
)

if TYPE_CHECKING:
    import numpy as np
else:
    np = LazyModule("numpy")

NO_VIEWS: Views = MappingProxyType({})


def constraint_table(
    spec: ModelSpec, constraint: Constraint, states_of: Mapping[str, Sequence[str]], views: Views = NO_VIEWS
) -> HardTable:
    """The sites of a constraint in order of first mention, its observations, and the assignments that it allows.

    `states_of`: the states of every label, latent variable and memory that it names. `views`: for each view its label
    and the text that it maps each state to; a condition that reads a view has a site of the label. Raises `DcrfError`
    if the condition names no such variable or cannot be a table, or if the table would be too large.
    """
    sites = constraint_sites(spec, constraint)
    if not sites:
        message = f"this `{constraint.action}` says nothing about a label"
        raise DcrfError(Diagnostic("no-label-in-constraint", message, help="name a label in it, or remove it"))
    reader = ConditionReader(spec, states_of, views)
    allowed = reader.truth(constraint.condition)
    if constraint.action == "forbid":
        allowed = combined(np.logical_not, allowed)
    if constraint.when is not None:
        allowed = combined(lambda held, when: held | ~when, allowed, reader.truth(constraint.when))
    observed, table = as_table(allowed, sites, [len(states_of[name]) for name, _ in sites])
    return HardTable(sites, observed, table, name=constraint.name or "constraint")


def constraint_sites(spec: ModelSpec, constraint: Constraint) -> Sites:
    """The variables that a constraint reads, each with its offset; a window or a named position has no site."""
    sites: dict[tuple[str, int], None] = {}
    for condition in (constraint.condition, constraint.when):
        for term in terms(condition) if condition is not None else ():
            site = site_of(spec, term)
            if site is not None:
                sites[site] = None
    return tuple(sites)
