"""How a run of inference ended. Methods return it; a run that does not converge raises no error.

Not here: the place of a sentence in its file (callers pass it to `contradiction_message`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, fields, replace

from ..foundation import Floats, Ints, dataclass

_COUNTS = (
    "graphs", "not_converged", "redone", "damped", "searched", "unproven", "bounded", "certified", "gap", "nodes",
    "compared", "sweeps",
)  # fmt: skip
MOST_PLACES = 5  # named in a message


@dataclass(frozen=True)
class PruningReport:
    """What a pruned run left out.

    positions: of all sequences.   possible: labels that they may have, over all positions.   kept: those that survived.
    contexts: runs of labels that the last order summed.   early: sequences whose gold labels were pruned; of the
    `judged` ones, whose gold labels were given, if they were not given to train.   lost: the sum over sequences of a
    bound on the probability of what was left out; 0 where it was not computed.   relaxed: sequences that had no
    labelling left until less was pruned.
    """

    positions: int = 0
    possible: int = 0
    kept: int = 0
    contexts: int = 0
    early: int = 0
    relaxed: int = 0
    judged: int = 0
    lost: float = 0.0

    def __add__(self, other: PruningReport) -> PruningReport:
        return PruningReport(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def since(self, before: PruningReport) -> PruningReport:
        """This sum less the one `before`."""
        return PruningReport(*(getattr(self, one.name) - getattr(before, one.name) for one in fields(self)))

    @property
    def pruned(self) -> int:
        """How many labels were pruned, over all positions."""
        return self.possible - self.kept


@dataclass(frozen=True)
class RunStatus:
    """The outcome for one or more graphs: counts, the most iterations of a graph and the largest residual.

    graphs: how many; one a sentence.
    not_converged: how many of them did not converge.
    iterations: the most of a graph.
    residual: the largest change of a message (normalised to sum 1) in the last round; of a marginal under mean field;
        of a message's logarithm under TRW. Under sampling it is the largest standard error of a marginal.
    redone: how many left the range of linear space and were computed in log space.
    impossible: the numbers of the graphs without any labelling, from 0, each once.
    approximate: whether the method is not exact.
    damped: how many had messages that oscillated and were damped more than the settings say.
    pruning: what `pruned` left out.
    searched: how many were decoded by the search that keeps to `once`; `unproven`: on how many of them it gave up, so
        that a better labelling may exist.
    bounded: how many were decoded with an upper bound on what any labelling scores; `certified`: how many of them are
        proven to have the best labelling, or none; `gap`: the bounds less the scores, summed over the others that have
        a labelling; `nodes`: of the searches, summed.
    sweeps: the iterations of all graphs, summed.
    compared: how many have the likeliest labelling of those that were compared, with latent variables summed out, where
        it is not proven that no other is likelier.
    """

    graphs: int = 0
    not_converged: int = 0
    iterations: int = 0
    residual: float = 0.0
    redone: int = 0
    impossible: tuple[int, ...] = ()
    approximate: bool = False
    damped: int = 0
    pruning: PruningReport = field(default_factory=PruningReport)
    searched: int = 0
    unproven: int = 0
    bounded: int = 0
    certified: int = 0
    gap: float = 0.0
    nodes: int = 0
    compared: int = 0
    sweeps: int = 0

    @property
    def converged(self) -> bool:
        """Whether inference converged on every graph."""
        return self.not_converged == 0

    @property
    def mean_gap(self) -> float:
        """How much more than its labelling's score another one may have: the mean where that is not proven."""
        return self.gap / max(1, self.bounded - self.certified)

    def contradiction(self, place: Callable[[int], str]) -> str | None:
        """A message about the graphs without any labelling, None where there are none.

        place: from the number of a graph to its place in words.
        """
        return contradiction_message([place(number) for number in self.impossible]) if self.impossible else None

    def since(self, before: RunStatus) -> RunStatus:
        """This sum less what was counted `before`; the most iterations and the largest residual are those of both."""
        counted = {name: getattr(self, name) - getattr(before, name) for name in _COUNTS}
        return replace(self, **counted, pruning=self.pruning.since(before.pruning))

    def __add__(self, other: RunStatus) -> RunStatus:
        return RunStatus(
            iterations=max(self.iterations, other.iterations),
            residual=max(self.residual, other.residual),
            impossible=tuple(dict.fromkeys(self.impossible + other.impossible)),
            approximate=self.approximate or other.approximate,
            pruning=self.pruning + other.pruning,
            **{name: getattr(self, name) + getattr(other, name) for name in _COUNTS},
        )


def contradiction_message(places: Sequence[str], *, certain: bool = True, count: int | None = None) -> str:
    """`no labelling satisfies the constraints of the model in 2 sentences, at a.txt:4 and a.txt:9`.

    certain: whether it is proven that no labelling does; otherwise the search found none.   count: of the sentences,
    where `places` has only the first of them, at least `MOST_PLACES`.
    """
    count = len(places) if count is None else count
    shown = [*places[:MOST_PLACES], *([f"{count - MOST_PLACES:,} more"] if count > MOST_PLACES else [])]
    where = " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
    many = f"{count:,} sentences, at" if count > 1 else "the sentence at"
    verdict = "no labelling satisfies" if certain else "no labelling was found that satisfies"
    return f"{verdict} the constraints of the model in {many} {where}"


@dataclass(frozen=True)
class GraphResult:
    """The results for one factor graph; what a task does not compute is None.

    log_z: natural log of the partition function (Bethe's approximation under message passing, a lower bound under mean
        field, an upper bound under TRW).
    marginals: one array [states] a variable.   factor_marginals: one array a factor, in its table's shape.
    assignment: best labelling [V] int64, `score` its log potential.
    """

    status: RunStatus
    log_z: float | None = None
    marginals: tuple[Floats, ...] | None = None
    factor_marginals: tuple[Floats, ...] | None = None
    assignment: Ints | None = None
    score: float | None = None
