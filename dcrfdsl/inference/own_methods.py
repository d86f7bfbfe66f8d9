"""Inference methods that users write in Python: scopes and log tables in, log Z and marginals out.

    class Enumeration(dcrfdsl.InferenceMethod):
        method = "enumeration"

        def marginals(self, graph):
            ...

A template then says `infer enumeration`, and training, tagging and every other use of inference call the method. It
gets one graph a sentence, with all its tables written out, so it is slow; what it is for is to try a method before
anybody writes kernels for it. Not here: methods of the package (`methods`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..foundation import DcrfError, Floats, data_error, dataclass
from ..graph import FactorGraph
from ..kernels.runtime import IMPOSSIBLE
from ..kernels.tables import Potentials, local_gradient
from ..semantics import INFERENCE, MethodSettings
from .base import Decoded, Expectations, StatelessMethod
from .bound import BoundData
from .methods import METHODS, MethodEntry
from .sequence_graphs import sequence_graph

NEAR_ONE = 1e-6  # how far the sum of probabilities may be from 1


class InferenceMethod(MethodSettings):
    """Base of an inference method of your own, which templates then name: a slow, plain way in.

    A class below it has the attribute `method`, the name in `infer NAME`, and the method `marginals`; `labelling` where
    it knows a better way to decode than the one here. It declares its settings as fields, `rounds: int = 10`. From its
    definition on, the name is known to this process; commands run its file by `--features FILE.py`.

    method: its name in templates.
    approximate: whether some answer may not be exact; then it is said where answers are shown.
    gives_log_z: whether it estimates log Z, without which nothing can be trained; without it, `marginals` gives nan.

    This one is right where no factor has two variables, and wrong elsewhere:

        class Independent(dcrfdsl.InferenceMethod):
            method = "independent"

            def marginals(self, graph):
                sums = [np.exp(table).sum() for table in graph.log_tables]
                beliefs = [np.exp(table) / total for table, total in zip(graph.log_tables, sums)]
                return float(np.log(sums).sum()), beliefs
    """

    approximate: ClassVar[bool] = True

    @classmethod
    def __pydantic_init_subclass__(cls, **how: Any) -> None:
        super().__pydantic_init_subclass__(**how)
        if name := vars(cls).get("method"):
            if name in INFERENCE and not issubclass(INFERENCE[name], InferenceMethod):
                raise data_error("feature-name-taken", f"`{name}` is a built-in inference method", help="rename yours")
            INFERENCE.add(name, cls)
            METHODS.add(name, MethodEntry((cls,), OwnMethod))

    def marginals(self, graph: FactorGraph) -> tuple[float, Sequence[Floats]]:
        """log Z of a graph, and the probabilities of each factor's assignments.

        graph: has `cards`, the number of states of each variable; `scopes`, the variables of each factor; and
            `log_tables`, an array for each factor with an axis for each of its variables. -inf forbids an assignment.
            Every variable is in some scope.

        Returns log Z, -inf where no labelling is possible, and arrays of the shapes of the tables, each of which sums
        to 1; none where no labelling is possible.
        """
        raise NotImplementedError(f"`{type(self).__name__}` has no method `marginals`")

    def labelling(self, graph: FactorGraph) -> Sequence[int] | NDArray[np.integer[Any]] | None:
        """The best labelling of a graph, a state for each variable; None where there is none.

        graph: as for `marginals`.

        Here the most probable state of each variable. Where these together break a hard constraint, the variables are
        fixed one after the other, each to the most probable state beside those before it.
        """
        log_z, tables = self.marginals(graph)
        if log_z == -np.inf:
            return None
        states = [int(of_variable.argmax()) for of_variable in by_variable(graph, tables)]
        if graph.score(np.array(states)) > -np.inf:
            return states
        fixed: dict[int, int] = {}
        for variable in range(len(graph.cards)):
            rest = _with_unary(graph.with_evidence(fixed))
            log_z, tables = self.marginals(rest)
            if log_z == -np.inf:
                return None
            fixed[variable] = int(by_variable(rest, tables)[variable].argmax())
        return list(fixed.values())


def by_variable(graph: FactorGraph, tables: Sequence[Floats]) -> list[Floats]:
    """The probabilities of each variable's states, summed out of the smallest table that it is in."""
    found: list[Floats | None] = [None] * len(graph.cards)
    for scope, table in sorted(zip(graph.scopes, tables, strict=True), key=lambda one: one[1].size):
        for axis, variable in enumerate(scope):
            if found[variable] is None:
                found[variable] = table.sum(axis=tuple(other for other in range(len(scope)) if other != axis))
    return [np.zeros(card) if states is None else states for states, card in zip(found, graph.cards, strict=True)]


def _with_unary(graph: FactorGraph) -> FactorGraph:
    """The graph with a table of zeros for each variable that is in no factor."""
    free = sorted(set(range(len(graph.cards))) - {variable for scope in graph.scopes for variable in scope})
    scopes = (*graph.scopes, *((variable,) for variable in free))
    return FactorGraph(
        graph.cards, scopes, (*graph.log_tables, *(np.zeros(graph.cards[v]) for v in free)), graph.constant
    )


@dataclass(eq=False)
class OwnMethod(StatelessMethod):
    """A method of the user's on a data set: a graph for each sequence, one after the other."""

    data: BoundData
    settings: InferenceMethod

    @property
    def approximate(self) -> bool:
        return self.settings.approximate

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        d = self.data
        shared = d.shapes.local_start
        belief = np.zeros(int(d.shapes.local_end[d.rows.shape[first:last]].max(initial=shared)))
        for sequence in range(first, last):
            graph = _with_unary(sequence_graph(d, potentials, sequence))
            log_z, tables = self._asked(graph)
            out.log_z[sequence] = log_z
            out.status[sequence] = IMPOSSIBLE if log_z == -np.inf else 0
            if log_z == -np.inf:
                continue
            number = int(d.rows.shape[sequence])
            shape = d.bank.shapes[number]
            if len(out.marginals):
                at = int(d.marginal_off[sequence])
                for place, states in zip(shape.state_places().tolist(), by_variable(graph, tables), strict=True):
                    out.marginals[at + place : at + place + len(states)] = states
            if len(gradient):
                belief[shared:] = 0.0
                for place, table in zip(shape.tables, tables, strict=False):  # the last ones are in no factor
                    belief[place : place + table.size] += table.ravel()
                local_gradient(sequence, d.shapes, d.kinds, d.bindings, d.rows, belief, expected, gradient)
        if len(gradient):
            expected[:shared] += belief[:shared]

    def decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        for sequence in range(first, last):
            graph = _with_unary(sequence_graph(self.data, potentials, sequence))
            states = self._call(self.settings.labelling, graph)
            score = -np.inf if states is None else graph.score(_checked_states(self.settings.method, graph, states))
            begin, end = self.data.labelling_off[sequence : sequence + 2]
            out.labelling[begin:end] = -1 if score == -np.inf else states
            out.score[sequence] = score
            out.status[sequence] = IMPOSSIBLE if score == -np.inf else 0

    def _asked(self, graph: FactorGraph) -> tuple[float, Sequence[Floats]]:
        """What the user's method answers; DcrfError where that is no answer."""
        log_z, tables = self._call(self.settings.marginals, graph)
        if log_z == -np.inf:
            return log_z, ()
        if np.isinf(log_z) or (np.isnan(log_z) and self.settings.gives_log_z):
            raise _bad(self.settings.method, f"log Z = {log_z}", "a finite number, or -inf where nothing is possible")
        if len(tables) != len(graph.scopes):
            raise _bad(self.settings.method, f"{len(tables)} tables", f"{len(graph.scopes)}, one for each factor")
        for scope, table, given in zip(graph.scopes, tables, graph.log_tables, strict=True):
            if np.shape(table) != given.shape:
                raise _bad(self.settings.method, f"a table of shape {np.shape(table)}", f"{given.shape} over {scope}")
            if not (np.min(table) >= -NEAR_ONE and abs(np.sum(table) - 1.0) <= NEAR_ONE):
                raise _bad(self.settings.method, f"a table over {scope} that sums to {np.sum(table):.6g}", "1")
        return float(log_z), [np.asarray(table, np.float64) for table in tables]

    def _call(self, function: Any, graph: FactorGraph) -> Any:
        """The answer of the user's code, whose errors are said in words."""
        try:
            return function(graph)
        except DcrfError:
            raise
        except Exception as error:
            raise data_error(
                "feature-function-failed", f"`infer {self.settings.method}` raises {type(error).__name__}: {error}",
                help=f"correct `{type(self.settings).__name__}.{function.__name__}`",
            ) from error  # fmt: skip


def _checked_states(name: str, graph: FactorGraph, states: Any) -> NDArray[np.integer[Any]]:
    """A labelling as an array; DcrfError if it has not one state for each variable."""
    found: NDArray[np.integer[Any]] = np.asarray(states)
    if found.shape != (len(graph.cards),) or not ((found >= 0) & (found < np.array(graph.cards))).all():
        raise _bad(name, f"the labelling {found.tolist()}", f"a state for each of {len(graph.cards)} variables")
    return found


def _bad(name: str, found: str, expected: str) -> DcrfError:
    return data_error("bad-result", f"`infer {name}` returns {found}, expected {expected}")
