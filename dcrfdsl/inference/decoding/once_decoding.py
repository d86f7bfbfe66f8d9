"""Decoding where `once` is kept by a search, without memories in the graph.

Only sequences whose best labelling breaks the rule are searched.

A best-first search (A*) from left to right over pairs of a position's states and the set of types that came by. Its
bound on what is still to come is that of the model without the rule, where each beginning of a type A costs λ_A ≥ 0 and
each type that has not come by gets λ_A back once: no labelling that keeps to the rule scores more. λ minimises the
bound of the whole sequence by subgradient steps (Lagrangian relaxation), which often proves a labelling best before the
search. Labellings leave the search best first, so the first one is proven best. Where the search takes more than
`MOST_STEPS` steps, a beam finds labellings that keep to the rule too and are not proven.

Positions are taken with all their variables at once, so that factors may reach to neighbours only. Source: Held & Karp
1971 for λ; Hart, Nilsson & Raphael 1968. Not here: what is bound (`semantics.conditions`), labellings without the rule
(`run`, `labellings`).
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...foundation import Floats, Ints, Ints32, cached_property, dataclass
from ...graph import FactorGraph, ModelGraph
from ...kernels.tables import Potentials
from ...semantics import OnceConstraint
from ..bound import BoundData
from ..run_status import RunStatus
from ..sequence_graphs import sequence_graph
from ..workers import Workers
from .labellings import Labellings, NBest

MOST_STEPS = 5_000  # of the search of a sentence for each labelling that is asked for: a second or two
BEAM = 256  # partial labellings that the beam keeps
ROUNDS = 100  # of subgradient steps
CLOSE = 1e-9  # relative: a labelling whose score is so near its bound is best


@dataclass(frozen=True, eq=False)
class Found:
    """Labellings of a sequence, best first. states [R, T · variables].   score [R]: Σ log φ.   proven: whether these
    are the best, and all if there are fewer than were asked for.
    """

    states: Ints
    score: Floats
    proven: bool


@dataclass(frozen=True)
class _Partial:
    """A labelling up to a position: its last joint state, the types that came by as bits, and what it goes on from."""

    at: int
    state: int
    used: int
    score: float
    before: _Partial | None


class OnceRules:
    """What moves between joint states of neighbouring positions begin. The same for all sequences of a model.

    digits [variables, C]: the state of each variable in each joint state.   begun: for each rule, the type that a move
    begins, numbered through all rules, or -1, [C + 1, C]; the last row is that of the start.   bits [C + 1][C]: the
    types that a move begins, as bits.
    """

    def __init__(self, runs: Sequence[OnceConstraint], cards: Sequence[int]):
        self.digits = np.stack(np.unravel_index(np.arange(math.prod(cards)), tuple(cards)))
        self.begun: list[Ints] = []
        self.types = 0
        for rule in runs:
            digits = self.digits[rule.label]
            before = np.append(digits, len(rule.kind))
            begins = rule.begins[before[:, None], digits[None, :]]
            self.begun.append(np.where(begins, rule.kind[digits] + self.types, -1))
            self.types += len(rule.types)
        sets = np.zeros(self.begun[0].shape, object)
        for begun in self.begun:
            sets |= np.array([0, *(1 << kind for kind in range(self.types))], object)[begun + 1]
        self.bits: list[list[int]] = sets.tolist()

    def spread(self, scope: Sequence[int], table: Floats) -> Floats:
        """The table of a factor over the joint states of two neighbours, [C, C]."""
        width, count = self.digits.shape
        index = tuple(self.digits[v][:, None] if v < width else self.digits[v - width][None, :] for v in scope)
        return np.ascontiguousarray(np.broadcast_to(table[index], (count, count)))


Bound = Callable[[Floats, int, int, int], Floats]
Spread = dict[tuple[int, tuple[int, ...]], Floats]


class OnceSearch:
    """A sequence with its potentials. Factors lie on one position or on two neighbours."""

    def __init__(self, graph: FactorGraph, rules: OnceRules, places: Sequence[int], spread: Spread):
        """places: of each factor's table, where sequences share it, else -1.   spread: those of neighbours."""
        width, count = rules.digits.shape
        self._rules, self._length = rules, len(graph.cards) // width
        self._here = np.full((self._length, count), graph.constant / self._length)
        pairs: list[list[Floats]] = [[] for _ in range(self._length - 1)]
        for scope, table, at in zip(graph.scopes, graph.log_tables, places, strict=True):
            first, last = min(scope) // width, max(scope) // width
            if first == last:
                self._here[first] += table[tuple(rules.digits[v % width] for v in scope)]
            else:
                here = tuple(v - first * width for v in scope)
                known = spread.get((at, here)) if at >= 0 else None
                pairs[first].append(rules.spread(here, table) if known is None else known)
                if at >= 0:
                    spread[at, here] = pairs[first][-1]
        nothing = np.zeros((count, count))
        self._pairs = [sum(parts[1:], parts[0]) if parts else nothing for parts in pairs]

    # bounds -------------------------------------------------------------------------------------------------------

    def _costs(self, price: Floats) -> Floats:
        """λ of what each move begins, [C + 1, C]."""
        padded = np.append(price, 0.0)  # the last one is read for -1
        costs: Floats = np.sum([padded[begun] for begun in self._rules.begun], axis=0)
        return costs

    def _to_come(self, costs: Floats) -> tuple[Floats, Ints]:
        """The best score of what follows each joint state, less the cost of what begins, and the state that follows."""
        rest = np.zeros_like(self._here)
        follows = np.zeros(self._here.shape, np.int64)
        for t in range(self._length - 2, -1, -1):
            scores = self._pairs[t] - costs[:-1] + (self._here[t + 1] + rest[t + 1])
            follows[t] = scores.argmax(axis=1)
            rest[t] = np.take_along_axis(scores, follows[t][:, None], axis=1)[:, 0]
        return rest, follows

    def _path(self, costs: Floats, rest: Floats, follows: Ints) -> Ints:
        """The best labelling under the relaxed rule, as joint states [T]."""
        states = np.zeros(self._length, np.int64)
        states[0] = (self._here[0] + rest[0] - costs[-1]).argmax()
        for t in range(self._length - 1):
            states[t + 1] = follows[t, states[t]]
        return states

    def _beginnings(self, states: Ints) -> Ints:
        """How often each type begins, [types]."""
        before = np.append(-1, states[:-1])  # the last row is that of the start
        begun = np.concatenate([each[before, states] for each in self._rules.begun])
        return np.bincount(begun[begun >= 0], minlength=self._rules.types)

    def _score(self, states: Ints) -> float:
        score = self._here[np.arange(self._length), states].sum()
        return float(score + sum(pair[a, b] for pair, a, b in zip(self._pairs, states[:-1], states[1:], strict=True)))

    @cached_property
    def _relaxed(self) -> tuple[Floats, Floats, Ints | None, bool]:
        """The best λ, what is to come at it, the best labelling met that keeps to the rule, and whether it is proven.

        The search needs the first two.
        """
        price = np.zeros(self._rules.types)
        best_price, best_rest, bound = price, self._here, math.inf
        kept, least = None, -math.inf
        for number in range(ROUNDS):
            costs = self._costs(price)
            rest, follows = self._to_come(costs)
            states = self._path(costs, rest, follows)
            counts, score = self._beginnings(states), self._score(states)
            if not math.isfinite(score):
                return price, rest, None, True  # no labelling at all
            value = score - float(price @ (counts - 1))
            if value < bound:
                best_price, best_rest, bound = price, rest, value
            if counts.max(initial=0) <= 1 and score > least:
                kept, least = states, score
            if bound - least <= CLOSE * max(1.0, abs(bound)):
                return best_price, best_rest, kept, True
            step = np.where((price > 0.0) | (counts > 1), counts - 1, 0)
            length = float(step @ step)
            if length == 0.0:
                break
            gap = value - least if math.isfinite(least) else 1.0 + 0.1 * abs(value)
            price = np.maximum(0.0, price + 0.9 ** (number // 8) * gap / length * step)
        return best_price, best_rest, kept, False

    # search -------------------------------------------------------------------------------------------------------

    def best(self, count: int, steps: int = MOST_STEPS) -> Found:
        """The `count` best labellings that keep to the rule. steps: at most so many for each."""
        price, rest, kept, proven = self._relaxed
        if proven and (count == 1 or kept is None):
            return self._found([] if kept is None else [kept], proven=True)
        found, left, least = list[Ints](), steps * count, -math.inf
        if kept is not None and count == 1:
            least = self._score(kept)
            least -= CLOSE * max(1.0, abs(least))
        bound = self._bound(price, rest)
        taken: dict[tuple[int, int, int], int] = {}
        queue: list[tuple[float, int, _Partial]] = []
        number = itertools.count()

        def push(before: _Partial | None) -> None:
            for one, value in self._after(before, bound):
                if value >= least:
                    heapq.heappush(queue, (-value, next(number), one))

        push(None)
        while queue and len(found) < count and left:
            one = heapq.heappop(queue)[2]
            key = one.at, one.state, one.used
            if taken.get(key, 0) >= count:
                continue  # as many labellings go on from here better
            taken[key] = taken.get(key, 0) + 1
            left -= 1
            if one.at == self._length - 1:
                found.append(_states(one))
            else:
                push(one)
        if len(found) == count or not queue:
            return self._found(found, proven=True)
        others = [_states(one) for one in self._beam(max(BEAM, count), bound)]
        others += [kept] if kept is not None else []
        return self._found([*found, *others], proven=False, most=count)

    def _bound(self, price: Floats, rest: Floats) -> Bound:
        """From the scores of what goes on from a partial labelling to bounds on those of its completions."""
        costs, prices = self._costs(price), list(map(float, price))

        @functools.cache
        def given_back(used: int) -> float:
            """λ of the types that have not come by."""
            return sum(value for kind, value in enumerate(prices) if not used >> kind & 1)

        def bound(scores: Floats, at: int, row: int, used: int) -> Floats:
            bounds: Floats = scores + rest[at]
            return bounds if at == self._length - 1 else bounds + given_back(used) - costs[row]

        return bound

    def _after(self, one: _Partial | None, bound: Bound) -> Iterator[tuple[_Partial, float]]:
        """What goes on from a partial labelling and keeps to the rule, each with the bound of its completions."""
        at, row, used, score = (0, -1, 0, 0.0) if one is None else (one.at + 1, one.state, one.used, one.score)
        scores = score + self._here[at]
        if one is not None:
            scores = scores + self._pairs[at - 1][row]
        bits, values = self._rules.bits[row], scores.tolist()
        for state, most in enumerate(bound(scores, at, row, used).tolist()):
            if not bits[state] & used and most > -math.inf:
                yield _Partial(at, state, used | bits[state], values[state], one), most

    def _beam(self, width: int, bound: Bound) -> list[_Partial]:
        """Whole labellings that keep to the rule, the likeliest that a beam leaves."""
        layer: list[_Partial | None] = [None]
        for _ in range(self._length):
            best: dict[tuple[int, int], tuple[float, _Partial]] = {}
            for before in layer:
                for one, value in self._after(before, bound):
                    key = one.state, one.used
                    if key not in best or best[key][0] < value:
                        best[key] = value, one
            layer = [one for _, one in heapq.nlargest(width, best.values(), key=lambda pair: pair[0])]
        return [one for one in layer if one is not None]

    def _found(self, labellings: Sequence[Ints], *, proven: bool, most: int | None = None) -> Found:
        """Each labelling once, best first."""
        distinct = {states.tobytes(): states for states in labellings}
        scored = sorted(((self._score(states), states) for states in distinct.values()), key=lambda pair: -pair[0])
        scored = scored[:most]
        digits = self._rules.digits
        table = np.array([digits[:, states].T.ravel() for _, states in scored], np.int64)
        table = table.reshape(len(scored), self._length * len(digits))
        return Found(table, np.array([score for score, _ in scored]), proven)


def _states(last: _Partial) -> Ints:
    states, one = [], last
    while one.before is not None:
        states.append(one.state)
        one = one.before
    return np.array([one.state, *states[::-1]], np.int64)


class OnceDecoder:
    """Keeps to the rules of `once` on any data of one model, whose graph does not have them."""

    def __init__(self, graph: ModelGraph, runs: Sequence[OnceConstraint]):
        self._runs, self._graph = tuple(runs), graph
        self._rules = OnceRules(runs, graph.cards)

    @property
    def statement(self) -> str:
        """The first of the rules, for messages."""
        return f"`once {self._runs[0].once.label}`"

    def repairs(
        self, data: BoundData, potentials: Potentials, labelling: Ints32, scores: Floats, status: RunStatus,
        workers: Workers,
    ) -> tuple[Ints32, Floats, RunStatus]:  # fmt: skip
        """The best labellings that keep to the rules, from the best ones without them.

        labelling: flat, see `BoundData.labelling_off`.   scores [S]: nan where there is no labelling.   The status
        counts what was searched; sentences for which nothing was found are impossible, with a labelling of -1.
        """
        broken = [s for s in self._breaking(data, labelling) if not np.isnan(scores[s])]
        if status.approximate:  # what keeps to the rules need not be the best
            broken, status = list(range(data.num_sequences)), replace(status, approximate=False, not_converged=0)
        if not broken:
            return labelling, scores, status
        labelling, scores, off = labelling.copy(), scores.copy(), data.labelling_off
        found = self._search(data, potentials, broken, 1, workers)
        for s, best in zip(broken, found, strict=True):
            labelling[off[s] : off[s + 1]] = best.states[0] if len(best.states) else -1
            scores[s] = best.score[0] if len(best.states) else np.nan
        return labelling, scores, _with(status, broken, found)

    def best(self, data: BoundData, potentials: Potentials, count: int, workers: Workers) -> NBest:
        """The `count` best labellings of each sequence that keep to the rules; their probabilities are not known."""
        every = list(range(data.num_sequences))
        found = self._search(data, potentials, every, count, workers)
        names, width = self._graph.variables[: self._graph.num_labels], len(self._graph.variables)
        sentences = []
        for best, length in zip(found, np.diff(data.rows.token_off).tolist(), strict=True):
            states = best.states.reshape(len(best.states), length, width).astype(np.int32)
            codes = {name: np.ascontiguousarray(states[:, :, m]) for m, name in enumerate(names)}
            sentences.append(Labellings(codes, best.score, np.full(len(best.score), np.nan), best.proven))
        return NBest(tuple(sentences), _with(RunStatus(data.num_sequences), every, found))

    def _breaking(self, data: BoundData, labelling: Ints32) -> list[int]:
        """The sequences whose labelling breaks a rule."""
        off, table = data.rows.token_off, labelling.reshape(-1, len(self._graph.variables))
        tokens = np.concatenate([runs.again(table[:, runs.label], off) for runs in self._runs])
        return [int(s) for s in np.unique(np.searchsorted(off, tokens, side="right") - 1)]

    def _search(
        self, data: BoundData, potentials: Potentials, sequences: Sequence[int], count: int, workers: Workers
    ) -> list[Found]:
        shared, spread = data.shapes.local_start, Spread()

        def search(number: int, _: int) -> Found:
            shape = data.bank.shapes[int(data.rows.shape[sequences[number]])]
            places = [at if at < shared else -1 for at in shape.tables]
            graph = sequence_graph(data, potentials, sequences[number])
            return OnceSearch(graph, self._rules, places, spread).best(count)

        return workers.map(search, list(itertools.pairwise(range(len(sequences) + 1))))


def _with(status: RunStatus, sequences: Sequence[int], found: Sequence[Found]) -> RunStatus:
    none = tuple(s for s, best in zip(sequences, found, strict=True) if not len(best.states))
    return replace(
        status,
        impossible=tuple(sorted({*status.impossible, *none})),
        searched=status.searched + len(found),
        unproven=status.unproven + sum(not best.proven for best in found),
    )
