"""What labels with distributions count for: expectations under the product q of the distributions of a sentence.

    L(λ) = Σ_i [log Z(x_i) − E_q λ·F(y, x_i)],      q(y) ∝ Π_t q_t(y_t) over the labellings that constraints allow

This is the cross-entropy of q and p but for what no weight changes: the entropy of q, and the mean of scores without
weights. Where each q_t is sure of one state it is the likelihood. E_q F does not depend on the weights: it is found
once, by inference on the graph without weights, and then stands in the place of the counts of known labels. A sentence
has distributions or labels that are summed out, not both: the mean of logs of sums has no short form. Not here: the
distributions (`data.label_columns`), the objectives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn

import numpy as np

from ..foundation import Codes, Floats, Ints, Mask, chosen_ranges, data_error, dataclass
from ..graph import weighed_graph, weighed_rows
from ..inference import (
    METHODS,
    Binder,
    BoundData,
    Expectations,
    MarginalInference,
    SequenceMethod,
    run_inference,
)
from ..kernels.tables import add_bias_gradient
from .run_sums import GradientAccumulator
from .training_problem import ResolvedInference, TrainingProblem


@dataclass(frozen=True, eq=False)
class SoftLabels:
    """The sentences with distributions.   data, method: their product.   sentences: [S].

    counts [W]: E_q F of all of them.   impossible: sentences of which the constraints leave nothing.   changed:
    distributions of whose states they exclude some.
    """

    data: BoundData
    method: MarginalInference
    sentences: Mask
    counts: Floats
    impossible: tuple[int, ...]
    changed: int

    def runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The runs of sentences with distributions from `first` to `last`."""
        return iter(chosen_ranges(self.sentences[first:last], first))

    def counts_of(self, first: int, last: int) -> Floats:
        """E_q F of the sentences from `first` to `last` that have distributions, [W]."""
        data, out = self.data, Expectations.empty(self.data, approximate=self.method.approximate)
        counts, cells = np.zeros(data.num_weights), np.zeros(len(data.hard))
        potentials = data.potentials_at(counts, (counts,))
        for begin, end in self.runs(first, last):
            self.method.expectations(potentials, begin, end, out, counts, cells)
        add_bias_gradient(data.bindings, cells, counts)
        return counts

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know."""
        what = (
            f"constraints exclude states of {self.changed:,} distributions of labels, whose probability went to others"
        )
        return (what,) if self.changed else ()


def soft_labels(
    problem: TrainingProblem, inference: ResolvedInference, build: Callable[[BoundData], MarginalInference]
) -> SoftLabels | None:
    """The sentences with distributions; None if there are none.   build: the method.

    DcrfError where a sentence has a label that is not known as well, or the method needs one known state of each label.
    """
    gold, off, graph = problem.gold, problem.sentence_off, problem.graph
    if not gold.soft:
        return None
    refuse_mixture(problem, graph.num_labels)
    if METHODS[inference.name].thin:
        message = f"`{inference.name}` needs one state of every token in training, and some labels have distributions"
        raise data_error("soft-labels", message, help="train with `infer = exact`")
    weighed, programs = weighed_graph(graph, len(problem.rows)), METHODS[inference.name].programs
    data = Binder(weighed, problem.parameters, programs=programs).bind(
        weighed_rows(graph, gold, problem.rows), off, problem.relations
    )
    method, sentences = build(data), gold.soft_sentences(off)
    out = Expectations.empty(data, marginals=True, approximate=method.approximate)
    potentials, sums = data.potentials(np.zeros(data.num_weights)), GradientAccumulator(data, problem.workers)

    def run(first: int, last: int, gradient: Floats, expected: Floats) -> None:
        for begin, end in chosen_ranges(sentences[first:last], first):
            method.expectations(potentials, begin, end, out, gradient, expected)

    counts, changed = sums.map(run), 0
    first, marginals = np.cumsum([0, *graph.cards]), out.marginals.reshape(-1, sum(graph.cards))
    for variable, soft in gold.soft.items():
        own = marginals[soft.tokens, first[variable] : first[variable + 1]]
        changed += int(((soft.share > 0.0) & (own == 0.0)).any(axis=1).sum())
    return SoftLabels(data, method, sentences, counts, out.summary().impossible, changed)


def refuse_mixture(problem: TrainingProblem, variables: int) -> None:
    """DcrfError where a sentence with a distribution has one of the first `variables` that is not known."""
    gold, off, graph = problem.gold, problem.sentence_off, problem.graph
    unknown = gold.codes[:variables] < 0
    for variable, soft in gold.soft.items():
        unknown[variable, soft.tokens] = False
    mixed: Ints = np.flatnonzero(unknown.any(axis=0) & np.repeat(gold.soft_sentences(off), np.diff(off)))
    if len(mixed):
        token = int(mixed[0])
        name = graph.variables[int(np.flatnonzero(unknown[:, token])[0])]
        message = f"`{name}` is not known at a token of a sentence in which labels have distributions"
        remedy = "give a distribution there too, or none in this sentence; `train marginal` takes both"
        refuse_token(problem, token, "soft-labels", message, remedy)


def soft_layers(
    problem: TrainingProblem, data: BoundData, method: SequenceMethod, states: Codes, importance: Floats
) -> Iterator[tuple[Codes, Floats]]:
    """Known states of labels, -1 elsewhere, and their factors, [variables, N] each: Σ over all layers of factor · log p
    is the mean over the distributions, without the states that constraints exclude at their places.

    method: exact, for `data`.   states: with negative codes where a label is not known, or has a distribution.
    importance: of each label; 1 if empty. DcrfError where nothing is left of a distribution.
    """
    gold, cards = problem.gold, problem.graph.cards
    yield np.where(states < 0, -1, states), importance
    if not gold.soft:
        return
    first = np.cumsum([0, *cards])
    potentials = data.potentials(np.zeros(data.num_weights))
    marginals = run_inference(data, method, potentials, problem.workers, marginals=True).marginals
    shares, factor = {}, importance if importance.size else np.ones(states.shape)
    for variable, soft in gold.soft.items():
        own = marginals.reshape(-1, sum(cards))[soft.tokens, first[variable] : first[variable + 1]]
        share = np.where(own > 0.0, soft.share, 0.0)
        total = share.sum(axis=1)
        if not total.all():
            refuse_impossible(problem, int(soft.tokens[np.argmin(total)]))
        shares[variable] = share / total[:, None] * factor[variable, soft.tokens][:, None]
    for state in range(max(cards[variable] for variable in shares)):
        layer, layer_factor = np.full_like(states, -1), np.zeros(states.shape)
        for variable, share in shares.items():
            if state < cards[variable]:
                kept = share[:, state] > 0.0
                tokens = gold.soft[variable].tokens[kept]
                layer[variable, tokens], layer_factor[variable, tokens] = state, share[kept, state]
        yield layer, layer_factor


def refuse_impossible(problem: TrainingProblem, token: int) -> NoReturn:
    """DcrfError about a token at or after which constraints leave nothing of the distributions of a sentence."""
    message = "the constraints exclude all states to which the distributions of labels give a probability"
    refuse_token(problem, token, "broken-constraint", message, "correct the data, or relax the `forbid` or `require`")


def refuse_token(problem: TrainingProblem, token: int, slug: str, message: str, remedy: str) -> NoReturn:
    """DcrfError about a token, with its line."""
    line = problem.numbers.token_line[token : token + 1].tolist()
    raise data_error(
        slug, message, file=problem.numbers.file or "the data", line=line[0] if line else None, help=remedy
    )
