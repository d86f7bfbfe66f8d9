"""What a `forbid` or `require` allows: every assignment of the sites that it names, tried.

A condition over labels is evaluated once a combination of states, as boolean arrays with one axis a site that
broadcast against each other, so that a condition over two of three sites is a table over two. Not here: where
instances lie (`graph`), whether a constraint makes sense (`check`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import DcrfError, Diagnostic
from .expressions import (
    And,
    Apply,
    At,
    Condition,
    Equals,
    Has,
    Here,
    InSet,
    Is,
    Matches,
    Not,
    Or,
    Reference,
    Regex,
)
from .model import Constraint, ModelSpec, plain

__all__ = ["TRUE_STATE", "Sites", "allowed_assignments", "compile_regex", "condition_terms", "constraint_sites"]

Sites: TypeAlias = tuple[tuple[str, int], ...]
Truth: TypeAlias = NDArray[np.bool_]

TRUE_STATE = "yes"  # a variable that stands alone as a condition is true in this state


def allowed_assignments(
    spec: ModelSpec, constraint: Constraint, states_of: Mapping[str, Sequence[str]]
) -> tuple[Sites, Truth]:
    """The (variable, offset) sites of a constraint, in order of first mention, and `allowed`, [K1, …, Kn].

    `allowed[x1, …, xn]`: whether the sites may take these states together. `states_of` holds the states of every label
    that the constraint names. `DcrfError` if the condition is not one over labels alone.
    """
    sites = constraint_sites(spec, constraint)
    table = _Table(spec, sites, states_of)
    held = table.truth(constraint.condition)
    allowed = ~held if constraint.action == "forbid" else held
    if constraint.when is not None:
        allowed = allowed | ~table.truth(constraint.when)
    return sites, np.broadcast_to(allowed, table.shape).copy()


def constraint_sites(spec: ModelSpec, constraint: Constraint) -> Sites:
    """The labels that a constraint reads, each with its offset; a window or a named position has no site."""
    variables = {label.name for label in spec.labels} | {latent.name for latent in spec.latents}
    found: dict[tuple[str, int], None] = {}
    for condition in (constraint.condition, constraint.when):
        for term in condition_terms(condition) if condition is not None else ():
            offset = _offset(term)
            if isinstance(term, Reference) and term.name in variables and offset is not None:
                found[term.name, offset] = None
    return tuple(found)


def condition_terms(condition: Condition) -> Iterator[Reference | Apply]:
    """The terms of a condition, from left to right."""
    match condition:
        case Reference() | Apply():
            yield condition
        case Equals():
            yield condition.left
            yield condition.right
        case Not():
            yield from condition_terms(condition.inner)
        case And() | Or():
            for part in condition.parts:
                yield from condition_terms(part)
        case _:
            yield condition.term


def compile_regex(regex: Regex) -> Any:
    """The compiled RE2 pattern; `re2.error` (a `Exception`) if it is none."""
    import re2  # only here: a template without regexes needs no engine

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not regex.ignore_case
    return re2.compile(regex.pattern, options)


def _offset(term: Reference | Apply) -> int | None:
    match term.place:
        case Here():
            return 0
        case At(offset=offset):
            return offset
    return None


@dataclass(frozen=True)
class _Table:
    """Evaluates conditions over the joint states of `sites`; axis n of every array is site n, of size 1 if unread."""

    spec: ModelSpec
    sites: Sites
    states_of: Mapping[str, Sequence[str]]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(self.states_of[name]) for name, _ in self.sites)

    def truth(self, condition: Condition) -> Truth:
        match condition:
            case Reference():
                return self._where(condition, lambda state: state == TRUE_STATE)
            case Is(term=term, state=wanted, negated=negated):
                return self._where(term, lambda state: (state == wanted) != negated)
            case InSet(term=term, states=states, negated=negated):
                members = frozenset(states)
                return self._where(term, lambda state: (state in members) != negated)
            case Matches(term=term, regex=regex):
                return self._where(term, compile_regex(regex).fullmatch)
            case Has(term=term, regex=regex):
                return self._where(term, compile_regex(regex).search)
            case Equals(left=left, right=right, negated=negated):
                return self._equal(left, right) ^ negated
            case Not(inner=inner):
                return ~self.truth(inner)
            case And(parts=parts):
                return self._joined(np.logical_and, parts)
            case Or(parts=parts):
                return self._joined(np.logical_or, parts)
        raise _not_over_labels(condition)

    def _joined(self, operator: Callable[[Truth, Truth], Truth], parts: Sequence[Condition]) -> Truth:
        joined = self.truth(parts[0])
        for part in parts[1:]:
            joined = operator(joined, self.truth(part))
        return joined

    def _where(self, term: Reference | Apply, test: Callable[[str], object]) -> Truth:
        axis = self._axis(term)
        if axis is None:
            raise _not_over_labels(term)
        name, _ = self.sites[axis]
        return self._along(axis, np.array([bool(test(state)) for state in self.states_of[name]], np.bool_))

    def _equal(self, left: Reference | Apply, right: Reference | Apply) -> Truth:
        first, second = self._axis(left), self._axis(right)
        if first is None and second is None:
            raise _not_over_labels(left)
        if first is None or second is None:
            # `chunk = O`: the side that is no variable names a state, or a constant that does
            term, other = (left, right) if second is None else (right, left)
            wanted = self._state(other)
            return self._where(term, lambda state: state == wanted)
        # two variables agree where the texts of their states do; their states need not be the same
        codes: dict[str, int] = {}
        texts = [
            self._along(axis, np.array([codes.setdefault(s, len(codes)) for s in self.states_of[self.sites[axis][0]]]))
            for axis in (first, second)
        ]
        return np.asarray(texts[0] == texts[1])

    def _state(self, term: Reference | Apply) -> str:
        if not isinstance(term, Reference) or self.spec.column(term.name) is not None:
            raise _not_over_labels(term)
        settled = plain(self.spec.settled(term))
        return term.name if settled is None else str(settled)

    def _along(self, axis: int, values: NDArray[Any]) -> NDArray[Any]:
        return values.reshape([-1 if n == axis else 1 for n in range(len(self.sites))])

    def _axis(self, term: Reference | Apply) -> int | None:
        offset = _offset(term)
        site = (term.name, offset) if isinstance(term, Reference) and offset is not None else None
        return next((axis for axis, other in enumerate(self.sites) if other == site), None)


def _not_over_labels(condition: Condition) -> DcrfError:
    what = {"apply": "a function of a column", "in_lexicon": "a lexicon"}.get(condition.kind, "an observed column")
    return DcrfError(
        Diagnostic("not-yet", f"a condition of `forbid` and `require` that reads {what} is not run by this version yet")
    )
