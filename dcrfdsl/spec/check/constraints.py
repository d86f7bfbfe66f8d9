"""Rules on `forbid` and `require`: what nothing can satisfy, and what is true already.

Every assignment of the sites of a constraint is tried, beside what the scheme of its labels and the other constraints
on these sites allow. Narrow constraints go first, so that of two the wider one is called superfluous. Only labels
with declared states can be judged. Not here: whether the training data obeys (found in training).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from ...errors import DcrfError, Diagnostic
from ..constraints import Sites, allowed_assignments, condition_terms, constraint_sites
from ..expressions import Reference
from ..model import Constraint, Scheme
from ..schemes import legal_moves
from ..spans import Path
from .context import COLUMN, Context, Rule
from .terms import LABEL_KINDS, TermReader

__all__ = ["RULES"]

MOST_ASSIGNMENTS = 2**22  # more than these are not tried

Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class _Judged:
    """A constraint that can be judged: its number, its sites, what it allows by itself."""

    number: int
    sites: Sites
    allowed: Truth

    @property
    def path(self) -> Path:
        return ("constraints", self.number)


def without_label(context: Context) -> Iterator[Diagnostic]:
    """A condition on what is observed alone is true or false of the data, whatever is predicted."""
    for n, constraint in enumerate(context.spec.constraints):
        terms = [*condition_terms(constraint.condition)]
        terms += condition_terms(constraint.when) if constraint.when is not None else ()
        kinds = {entry.kind for term in terms if (entry := context.named(_name(term)))}
        if kinds and kinds.isdisjoint(LABEL_KINDS) and kinds <= {COLUMN, "lexicon"}:
            message = f"this `{constraint.action}` says nothing about a label"
            remedy = "a constraint is on labels: `forbid chunk is B-NP and chunk[-1] is I-NP`"
            at = ("constraints", n, "condition")
            yield context.complaint("no-label-in-constraint", message, at, "reads no label", help=remedy)


def _name(term: object) -> str:
    """The name under a term; a function's first reference."""
    while not isinstance(term, Reference):
        arguments = getattr(term, "arguments", ())
        if not arguments:
            return ""
        term = arguments[0].value
    return term.name


def satisfiable(context: Context) -> Iterator[Diagnostic]:
    """Each constraint by itself, then on top of the schemes and of the constraints before it."""
    judged = sorted(_judged(context), key=lambda one: len(one.sites))
    before: list[_Judged] = []
    for one in judged:
        complaint = _alone(context, one) or _together(context, one, before)
        if complaint is not None:
            yield complaint
        else:
            before.append(one)


def _judged(context: Context) -> Iterator[_Judged]:
    for n, constraint in enumerate(context.spec.constraints):
        if _is_wrong(context, n, constraint):
            continue
        sites = constraint_sites(context.spec, constraint)
        known = {name: states for name, _ in sites if (states := context.states(name))}
        if not sites or len(known) < len({name for name, _ in sites}):
            continue
        if prod(len(known[name]) for name, _ in sites) > MOST_ASSIGNMENTS or len(sites) > 12:
            continue
        try:
            yield _Judged(n, *allowed_assignments(context.spec, constraint, known))
        except DcrfError:
            continue  # it reads what this version does not run, which is said elsewhere
        except Exception as error:
            if type(error).__module__ != "re2":
                raise


def _is_wrong(context: Context, n: int, constraint: Constraint) -> bool:
    """Whether there is a complaint about its terms already: what such a condition allows would be a second one."""
    reader = TermReader(context, labels=True)
    reader.test(constraint.condition, ("constraints", n, "condition"), constraint.action)
    if constraint.when is not None:
        reader.test(constraint.when, ("constraints", n, "when"), "when")
    return bool(reader.problems or reader.unknown)


def _alone(context: Context, one: _Judged) -> Diagnostic | None:
    constraint = context.spec.constraints[one.number]
    if not one.allowed.any():
        what = "is always true" if constraint.action == "forbid" else "can never be true"
        message = f"the condition of this `{constraint.action}` {what}: no labelling is left"
        return context.complaint("contradictory", message, (*one.path, "condition"), what)
    if constraint.action == "require" and constraint.when is not None and one.allowed.all():
        return _implied(context, one, (), "nothing contradicts it")
    if one.allowed.all():
        what = "can never be true" if constraint.action == "forbid" else "is always true"
        return _implied(context, one, (), f"its condition {what}")
    return None


def _together(context: Context, one: _Judged, before: Sequence[_Judged]) -> Diagnostic | None:
    """`one` on top of what holds already on its sites."""
    causes: list[tuple[Path, str]] = []
    possible = np.ones_like(one.allowed)
    for path, words, sites, allowed in (*_schemes(context, one.sites), *_earlier(before)):
        for shifted in _placements(sites, one.sites):
            possible = possible & _spread(allowed, shifted, one.sites)
            if (path, words) not in causes:
                causes.append((path, words))
    if not causes or not possible.any():
        return None
    if not (possible & one.allowed).any():
        message = (
            f"no labelling satisfies this `{context.spec.constraints[one.number].action}` beside what holds already"
        )
        words = "contradicts the others"
        return context.complaint("contradictory", message, one.path, words, others=causes)
    if not (possible & ~one.allowed).any():
        return _implied(context, one, causes, "what holds already allows nothing else")
    return None


def _implied(context: Context, one: _Judged, causes: Sequence[tuple[Path, str]], why: str) -> Diagnostic:
    message = f"this `{context.spec.constraints[one.number].action}` forbids nothing: {why}"
    return context.complaint("already-implied", message, one.path, "forbids nothing", others=causes, severity="warning")


_Held = tuple[Path, str, Sites, Truth]


def _schemes(context: Context, sites: Sites) -> Iterator[_Held]:
    """The legal moves of the labels that a constraint names at neighbouring positions."""
    for n, label in enumerate(context.spec.labels):
        states = context.states(label.name)
        here = {offset for name, offset in sites if name == label.name}
        if isinstance(label.domain, Scheme) and label.constrain and states and any(o + 1 in here for o in here):
            moves = legal_moves(label.domain.name, states)[:-1, :-1]
            words = f"`{label.domain.name}` holds already"
            yield ("labels", n, "domain"), words, ((label.name, 0), (label.name, 1)), moves


def _earlier(before: Sequence[_Judged]) -> Iterator[_Held]:
    for one in before:
        yield one.path, "holds already", one.sites, one.allowed


def _placements(small: Sites, large: Sites) -> list[Sites]:
    """Every shift of `small` that lies within `large`."""
    within = set(large)
    name, offset = small[0]
    shifts = [other - offset for variable, other in large if variable == name]
    moved = [tuple((variable, o + shift) for variable, o in small) for shift in shifts]
    return [sites for sites in moved if within.issuperset(sites)]


def _spread(allowed: Truth, sites: Sites, large: Sites) -> Truth:
    """`allowed` over `sites`, as an array over `large` that broadcasts."""
    axes: Mapping[tuple[str, int], int] = {site: axis for axis, site in enumerate(large)}
    order = sorted(range(len(sites)), key=lambda n: axes[sites[n]])
    turned = np.transpose(allowed, order)
    sizes = dict(zip((axes[sites[n]] for n in order), turned.shape, strict=True))
    return turned.reshape([sizes.get(axis, 1) for axis in range(len(large))])


RULES: tuple[Rule, ...] = (without_label, satisfiable)
