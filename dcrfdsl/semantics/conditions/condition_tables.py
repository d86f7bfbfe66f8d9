"""Conditions over variables and data as tables: one axis for each site and for each observation.

All combinations of states and observations are evaluated at once, by arrays with named axes that broadcast against each
other. Any part that reads only the data, however long, is a single observation (`Observed`): its value at the anchor is
one axis, so tables stay small. Outside the sequence a test is false, and `not` of it true. The table of a `forbid` or
`require` has every assignment of the sites that it names, for every value of its observations. Not here: memories
(`memories`), evaluating tests on data (`features`), the places of instances (`graph`), whether a constraint is
meaningful (`checks`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ...foundation import DcrfError, Diagnostic, Mask, dataclass, np
from ...syntax import CliqueSpec, Constraint, Expectation, View, nodes as ex
from .. import schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

Sites: TypeAlias = tuple[tuple[str, int], ...]  # (variable, offset)
Views: TypeAlias = Mapping[
    str, tuple[str, tuple[str, ...]]
]  # the label of a view, and the text that it maps each state of the label to

BOOLEAN = FALSE_STATE, TRUE_STATE = "no", "yes"  # a variable used as a condition is true in TRUE_STATE
MOST_ENTRIES = 2**22  # entries of one table, for all values of its observations
MOST_AXES = 30  # NumPy has at least 32, and the state of a memory takes one more


@dataclass(frozen=True)
class Observed:
    """An observation at the anchor of a table: a test, or a term whose text is compared with `states`.

    Codes of a test (`states` empty): 0 false, 1 true. Codes of a text: s if it equals `states[s]`, else `len(states)`.
    """

    term: ex.Condition
    states: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.states) + 1 if self.states else 2


@dataclass(frozen=True, eq=False)
class HardTable:
    """Which states `sites` may take together, for each joint code of `observed` (the first Observed slowest).

    `position` None: the table applies wherever all sites lie in the sequence; k: only at anchor k, counted from 0.
    """

    sites: Sites
    observed: tuple[Observed, ...]  # empty: one table for all anchors
    allowed: Mask  #                  [codes, K1, …, Kn]; [1, K1, …, Kn] without observations
    position: int | None = None
    name: str = "constraint"
    cost: float | None = None  # what a place costs where it does not hold; None: it is impossible


# names and places -------------------------------------------------------------------------------------------------


def view_label(spec: schema.ModelSpec, view: View) -> str | None:
    """The label that a view maps; None if it names no label, or several."""
    kept, is_declared = spec.label_of_view, spec.views_by_name.get(view.name) is view
    if is_declared and view.name in kept:
        return kept[view.name]
    labels = {name for name in schema.reference_names(schema.value_if_nodes(view.value)) if name in spec.labels_by_name}
    label = labels.pop() if len(labels) == 1 else None
    if is_declared:
        kept[view.name] = label
    return label


def site_of(spec: schema.ModelSpec, term: ex.Reference | ex.Apply) -> tuple[str, int] | None:
    """The site that a term names: a variable, or a view of one, at a fixed offset. None if it is anything else."""
    offset = schema.place_offset(term.place)
    if not isinstance(term, ex.Reference) or offset is None:
        return None
    view = spec.views_by_name.get(term.name)
    label = term.name if view is None else view_label(spec, view)
    return (label, offset) if label in spec.hidden_names else None


def is_word(spec: schema.ModelSpec, term: ex.Condition) -> bool:
    """Whether a term is the name of a state, or of a constant that is one: no column, variable, view or function has
    this name.
    """
    if not isinstance(term, ex.Reference) or term.place != ex.Here() or spec.column(term.name) is not None:
        return False
    signature = schema.FUNCTIONS.get(term.name)
    named = term.name in spec.hidden_names or term.name in spec.views_by_name
    return not named and (signature is None or bool(signature.parameters))


def compile_regex(regex: ex.Regex) -> Any:
    """The compiled RE2 pattern. Raises `re2.error` if the pattern is invalid."""
    import re2  # on use: a template without regexes does not need it

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not regex.ignore_case
    return re2.compile(regex.pattern, options)


# arrays with named axes -------------------------------------------------------------------------------------------

Axis: TypeAlias = "Observed | tuple[str, int]"


class AxisArray(NamedTuple):
    """An array with named axes: sites and observations, in the order in which they were first read."""

    axes: tuple[Axis, ...]
    values: NDArray[Any]


def combined(function: Callable[..., NDArray[Any]], *parts: AxisArray) -> AxisArray:
    """`function` of the arrays, broadcast over the union of their axes. Raises DcrfError if the result is too large."""
    axes = tuple(dict.fromkeys(axis for part in parts for axis in part.axes))
    sizes = {axis: size for part in parts for axis, size in zip(part.axes, part.values.shape, strict=True)}
    _refuse_if_large([sizes[axis] for axis in axes])
    return AxisArray(axes, np.asarray(function(*(_spread(part, axes) for part in parts))))


def as_table(table: AxisArray, sites: Sites, sizes: Sequence[int]) -> tuple[tuple[Observed, ...], NDArray[Any]]:
    """`table` as an array [codes, sizes…], and the observations whose joint value is the code.

    `sizes`: the number of states of each of `sites`. Raises DcrfError if the array is too large.
    """
    observed = tuple(axis for axis in table.axes if isinstance(axis, Observed))
    shape = [*(one.count for one in observed), *sizes]
    _refuse_if_large(shape)
    full = np.broadcast_to(_spread(table, (*observed, *sites)), shape)
    return observed, full.reshape([-1, *sizes]).copy()


def _spread(part: AxisArray, axes: Sequence[Axis]) -> NDArray[Any]:
    """The array over `axes`, with size 1 along those that `part` does not have."""
    order = sorted(range(len(part.axes)), key=lambda n: axes.index(part.axes[n]))
    sizes = {part.axes[n]: part.values.shape[n] for n in order}
    return np.transpose(part.values, order).reshape([sizes.get(axis, 1) for axis in axes])


def _refuse_if_large(sizes: Sequence[int]) -> None:
    entries = prod(sizes)
    if entries > MOST_ENTRIES:
        reason = f"it makes a table of {entries:,} entries, and at most {MOST_ENTRIES:,} are tried"
    elif len(sizes) > MOST_AXES:
        reason = f"it reads {len(sizes)} states and tests, and at most {MOST_AXES} are combined"
    else:
        return
    remedy = "write several conditions that read fewer variables and columns each"
    raise DcrfError(Diagnostic("reads-too-much", f"the condition reads too much at once: {reason}", help=remedy))


# conditions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConditionReader:
    """Turns conditions into tables. `states_of`: the states of each variable that they name.

    `first`: the first offset that lies in the sequence, None if all do. Raises `DcrfError` if a condition cannot be a
    table: functions of variables, windows, comparisons without a variable.
    """

    spec: schema.ModelSpec
    states_of: Mapping[str, Sequence[str]]
    views: Views
    first: int | None = None

    def truth(self, condition: ex.Condition) -> AxisArray:
        if self.is_observed(condition):
            return AxisArray((Observed(condition, ()),), np.array([False, True]))
        match condition:
            case ex.Reference():
                return self._where(condition, lambda state: state == TRUE_STATE)
            case ex.Is(term=term, state=wanted, negated=negated):
                return self._equals_word(term, wanted, negated)
            case ex.InSet(term=term, states=states, negated=negated):
                listed = frozenset(states)
                return self._where(term, lambda state: (state in listed) != negated)
            case ex.Matches(term=term, regex=regex):
                return self._where(term, compile_regex(regex).fullmatch)
            case ex.Has(term=term, regex=regex):
                return self._where(term, compile_regex(regex).search)
            case ex.Equals():
                return self._equal(condition)
            case ex.Not(inner=inner):
                return combined(np.logical_not, self.truth(inner))
            case ex.And(parts=parts):
                return self._joined(np.logical_and, condition, parts)
            case ex.Or(parts=parts):
                return self._joined(np.logical_or, condition, parts)
        raise _unreadable(condition)

    def is_observed(self, condition: ex.Condition) -> bool:
        """Whether a condition or term reads the data alone."""
        read = [term for term in schema.terms(condition) if not is_word(self.spec, term)]
        return bool(read) and not any(self._names_variable(term) for term in read)

    def texts(self, term: ex.Reference | ex.Apply) -> AxisArray | None:
        """The states of a variable, or the texts that a view maps them to, along its axis; None if its offset lies
        outside the sequence.
        """
        site = site_of(self.spec, term)
        if site is None or not isinstance(term, ex.Reference):
            raise _unreadable(term)
        if self.first is not None and site[1] < self.first:
            return None
        seen = self.views[term.name][1] if term.name in self.views else self.states_of[site[0]]
        return AxisArray((site,), np.array(seen, object))

    def word(self, term: ex.Reference) -> str:
        """The state that a bare word names, directly or as the name of a constant."""
        settled = schema.plain(self.spec.settled(term))
        return term.name if settled is None else str(settled)

    def _names_variable(self, term: ex.Reference | ex.Apply) -> bool:
        spec = self.spec
        return any(
            name in spec.hidden_names or name in spec.views_by_name
            for name in schema.reference_names(schema.nodes(term))
        )

    def _joined(self, operator: np.ufunc, condition: ex.And | ex.Or, parts: Sequence[ex.Condition]) -> AxisArray:
        """The parts joined by `operator`; those that read only the data become one observation."""
        classified_parts = [(part, self.is_observed(part)) for part in parts]
        observed = tuple(part for part, is_observed in classified_parts if is_observed)
        mixed: Iterable[ex.Condition] = (part for part, is_observed in classified_parts if not is_observed)
        together = observed if len(observed) < 2 else (condition.model_copy(update={"parts": observed}),)
        joined, *rest = (self.truth(part) for part in (*together, *mixed))
        for part in rest:
            joined = combined(operator, joined, part)
        return joined

    def _where(self, term: ex.Reference | ex.Apply, test: Callable[[str], object]) -> AxisArray:
        texts = self.texts(term)
        if texts is None:
            return _false()
        return AxisArray(texts.axes, np.array([bool(test(text)) for text in texts.values], np.bool_))

    def _equals_word(self, term: ex.Reference | ex.Apply, wanted: str, negated: bool) -> AxisArray:
        """`_where` for a single state, vectorised: a variable may have ten thousand."""
        texts = self.texts(term)
        if texts is None:
            return _false()
        equal = np.asarray(texts.values == wanted, np.bool_)
        return AxisArray(texts.axes, ~equal if negated else equal)

    def _equal(self, condition: ex.Equals) -> AxisArray:
        sides, negated = (condition.left, condition.right), condition.negated
        words = [term for term in sides if is_word(self.spec, term)]
        variables = [term for term in sides if term not in words and not self.is_observed(term)]
        if not variables:
            raise _unreadable(condition)
        texts = [self.texts(term) for term in variables]
        first, last = texts[0], texts[-1]
        if first is None or last is None:
            return _false()
        if len(variables) == 2:
            equal = combined(np.equal, first, last)
        elif words:
            wanted = self.word(words[0])  # type: ignore[arg-type]  # a word is a Reference
            equal = AxisArray(first.axes, first.values == wanted)
        else:
            return self._equals_text(first, next(term for term in sides if term not in variables), negated)
        return combined(np.logical_not, equal) if negated else equal

    def _equals_text(self, variable: AxisArray, term: ex.Reference | ex.Apply, negated: bool) -> AxisArray:
        states = tuple(dict.fromkeys(variable.values))
        codes = AxisArray(variable.axes, np.array([states.index(text) for text in variable.values]))
        text = Observed(term, states)
        read = AxisArray((text,), np.arange(text.count))
        if not negated:
            return combined(np.equal, codes, read)
        unequal = combined(np.not_equal, codes, read)
        if all(schema.place_offset(place) == 0 for place in schema.term_places(term)):
            return unequal
        # outside the sequence `!=` is false too; a term is inside where it either equals itself or does not
        inside = ex.Or(parts=(ex.Equals(left=term, right=term), ex.Equals(left=term, right=term, negated=True)))
        return combined(np.logical_and, unequal, self.truth(inside))


def _false() -> AxisArray:
    return AxisArray((), np.array(False))


def _unreadable(condition: ex.Condition) -> DcrfError:
    slug, message, remedy = _UNREADABLE.get(condition.kind, _UNREADABLE["reference"])
    return DcrfError(Diagnostic(slug, message, help=remedy))


_UNREADABLE: Mapping[str, tuple[str, str, str]] = {
    "apply": ("label-as-argument", "a function in a condition reads a label", "declare a `view` of it and test that"),
    "compares": ("label-as-argument", "a comparison of numbers reads a label", "list its states, as in `y in {1, 2}`"),
    "in_lexicon": ("label-as-argument", "a condition looks up a label", "list its states, as in `chunk in {A, B}`"),
    "reference": (
        "window-in-condition",
        "a condition over labels reads one label at one position at a time",
        "join tests of the positions by `and` or `or`",
    ),
}


# constraints ----------------------------------------------------------------------------------------------------------


NO_VIEWS: Views = MappingProxyType({})


def constraint_table(
    spec: schema.ModelSpec, constraint: Constraint, states_of: Mapping[str, Sequence[str]], views: Views = NO_VIEWS
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
    cost = None if constraint.cost is None else settled_number(spec, constraint.cost)
    return HardTable(sites, observed, table, name=constraint.name or "constraint", cost=cost)


def settled_number(spec: schema.ModelSpec, written: float | ex.Reference) -> float:
    """A number, or that of a constant."""
    settled = spec.settled(written) if isinstance(written, ex.Reference) else ex.Number(value=written)
    return float(settled.value) if isinstance(settled, ex.Number) else 0.0  # the checker wants a number


def constraint_sites(spec: schema.ModelSpec, constraint: Constraint | Expectation) -> Sites:
    """The variables that a rule reads, each with its offset; a window or a named position has no site."""
    sites: dict[tuple[str, int], None] = {}
    for condition in (constraint.condition, constraint.when):
        for term in schema.terms(condition) if condition is not None else ():
            site = site_of(spec, term)
            if site is not None:
                sites[site] = None
    return tuple(sites)


# expected shares ------------------------------------------------------------------------------------------------------


class ShareTable(NamedTuple):
    """What an `expect` asks for, by the joint code of `observed`. holds [codes, K1, …, Kn]: where its condition does
    and the place counts.   counted [codes]: where `when` holds, so that the place counts.
    """

    statement: Expectation
    sites: Sites
    observed: tuple[Observed, ...]
    holds: Mask
    counted: Mask


def share_table(
    spec: schema.ModelSpec, statement: Expectation, states_of: Mapping[str, Sequence[str]], views: Views = NO_VIEWS
) -> ShareTable:
    """The table of an expectation. states_of, views, errors: as in `constraint_table`."""
    sites, reader = constraint_sites(spec, statement), ConditionReader(spec, states_of, views)
    when = AxisArray((), np.array(True)) if statement.when is None else reader.truth(statement.when)
    holds = combined(np.logical_and, reader.truth(statement.condition), when)
    counts = combined(lambda _, counted: counted, holds, when)
    sizes = [len(states_of[name]) for name, _ in sites]
    observed, table = as_table(holds, sites, sizes)
    _, counted = as_table(counts, sites, sizes)
    return ShareTable(statement, sites, observed, table, counted.reshape(len(counted), -1)[:, 0])


def share_bounds(spec: schema.ModelSpec, statement: Expectation) -> tuple[float, float, float]:
    """The least and the largest share that cost nothing, and the strength, with constants settled."""
    bounds = (statement.least, statement.most) if statement.share is None else (statement.share, statement.share)
    least, most, strength = (settled_number(spec, one) for one in (*bounds, statement.strength))
    return least, most, strength


# labels of whole sentences --------------------------------------------------------------------------------------------


def sentence_labels(spec: schema.ModelSpec) -> frozenset[str]:
    """The labels that are declared `for sentence`, and their views."""
    labels = {label.name for label in spec.labels if label.per == "sentence"}
    return frozenset(labels | {view.name for view in spec.views if labels and view_label(spec, view) in labels})


def is_of_sentence(spec: schema.ModelSpec, clique: CliqueSpec) -> bool:
    """Whether a clique is over labels of the sentence alone: it lies once in it, and reads all of its positions."""
    return sentence_labels(spec).issuperset(site.variable for site in clique.sites)


# distances ------------------------------------------------------------------------------------------------------------


TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def index_gaps(spec: schema.ModelSpec, where: ex.Condition, positions: Sequence[str]) -> tuple[int | None, int | None]:
    """The least and the largest j − i that `where` allows by comparisons of `index`, None for no bound.

    positions: the names of i and j.
    """
    least: int | None = None
    most: int | None = None
    for part in schema.conjuncts(where):
        bound = _bound(spec, part, positions)
        if bound is None:
            continue
        sign, number = bound
        if sign in ("<", "<=", "="):
            high = math.ceil(number) - 1 if sign == "<" else math.floor(number)
            most = high if most is None else min(most, high)
        if sign in (">", ">=", "="):
            low = math.floor(number) + 1 if sign == ">" else math.ceil(number)
            least = low if least is None else max(least, low)
    return least, most


def _bound(spec: schema.ModelSpec, part: ex.Condition, positions: Sequence[str]) -> tuple[str, float] | None:
    """`j − i sign number`, if a part of the condition says that."""
    if not isinstance(part, ex.Compares) or not isinstance(part.left, ex.Difference) or spec.column("index"):
        return None
    number = spec.settled(part.right) if isinstance(part.right, ex.Reference) else part.right
    places = [
        side.place
        for side in (part.left.left, part.left.right)
        if isinstance(side, ex.Reference) and side.name == "index" and isinstance(side.place, ex.Named)
    ]
    if not isinstance(number, ex.Number) or len(places) != 2 or len(positions) != 2 or part.sign == "!=":
        return None
    first, second = places
    bound = number.value - first.shift + second.shift
    if [first.position, second.position] == [positions[1], positions[0]]:
        return part.sign, bound
    if [first.position, second.position] == list(positions):
        return TURNED.get(part.sign, part.sign), -bound
    return None
