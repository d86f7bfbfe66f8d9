"""The hidden Markov model: joint maximum likelihood by counting. Its log probabilities are ordinary weights.

    p(y, x) = Π_v p(y_v | earlier neighbours) Π_q p(q(x, t) | y_t)         (Altun 2003, Table 1; Lafferty 2001, §5)

Each conditional is (count + s) / (total + s · outcomes) over the possible assignments, with the smoothing s > 0. A
feature emits one of its values, or nothing: where the text is not in the training data, or where a test fails. Let c,
n⁰ and n count, at label y, a value, nothing, and all positions. Then

    weight of (value, y) = log (c + s) / (n⁰ + s),    bias of y += log p(nothing | y) = log (n⁰ + s) / (n + s (V + 1)),

and scores are log p(y, x). Values that were never seen with y, or never at all, have the probabilities that smoothing
gives them; the former need no weight where n⁰ = 0. With `unseen = once`, n⁰ and n also count the values that training
shows once, as if each had been new there. What narrower cliques add is subtracted from the weights of a wider clique
that covers them. Not here: which templates are such models (`semantics.conditions.markov_structure`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..features import ExpandedFeature
from ..foundation import DcrfError, Diagnostic, Floats, Ints, Ints32, Mask
from ..graph import CliqueTemplate, instances_of, known_assignments
from ..semantics import HmmSettings, TrainSettings, last_site, obstacles, scope
from .criterion import Criterion
from .training_problem import TrainingProblem


class Hmm(Criterion):
    """−log p(y, x) of the training data, and the weights that counting gives.

    solution [W]: log probabilities.   counts [W]: of the gold labels.
    """

    solver = "counting"

    def __init__(self, solution: Floats, counts: Floats):
        self.solution, self.counts, self.num_weights = solution, counts, len(solution)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """−Σ log p(y, x) in nats if the weights are log probabilities; the gradient [W] ignores that constraint."""
        return -float(weights @ self.counts), -self.counts


def build_hmm(problem: TrainingProblem, settings: TrainSettings[HmmSettings]) -> Hmm:
    """Counts the training data. DcrfError where template or features are no such model, or a label is not known."""
    criterion = settings.criterion
    problems = [Diagnostic("cannot-count", o.message, help=o.remedy) for o in obstacles(problem.spec, criterion.order)]
    if problems:
        raise DcrfError(problems)
    if (problem.gold.codes < 0).any():
        raise _error("`hmm` counts gold labels, and some are missing or ambiguous", "train by `likelihood`")
    counter = _Counter(problem, criterion)
    for label in problem.spec.labels:
        counter.distribution(label.name)
    for number, template in enumerate(problem.graph.templates[: len(problem.spec.cliques)]):
        if template.feature_set >= 0:
            counter.emissions(number, template)
    return Hmm(counter.weights, problem.counts)


class _PlacedClique(NamedTuple):
    """A clique with its instances: the assignment of each [I], and the position of the label at `site`, [I]."""

    number: int
    template: CliqueTemplate
    site: int
    assignment: Ints
    place: Ints


class _Counter:
    """Fills `weights` [W], clique by clique."""

    def __init__(self, problem: TrainingProblem, settings: HmmSettings):
        self.problem, self.settings = problem, settings
        self.weights = np.zeros(problem.parameters.num_weights)

    # p(y | earlier neighbours) ----------------------------------------------------------------------------------

    def distribution(self, label: str) -> None:
        """Sets the biases of the cliques that predict a label, from the narrowest to the widest."""
        spec, order = self.problem.spec, self.settings.order
        numbers = [
            n for n, clique in enumerate(spec.cliques) if clique.sites[last_site(spec, clique, order)].variable == label
        ]
        numbers.sort(key=lambda n: len(scope(spec, spec.cliques[n], order)))
        placed = [self._placed(number) for number in numbers]
        tables: list[Floats] = []
        for n, wide in enumerate(placed):
            wider = np.concatenate([np.zeros(0, np.int64), *(other.place for other in placed[n + 1 :])])
            alone = ~np.isin(wide.place, wider)
            table = np.zeros(wide.template.num_assignments)
            bias = self.problem.parameters.cliques[wide.number].bias
            if alone.any() and len(bias):
                table[bias] = self._conditional(wide, alone)[bias]
                for narrow, known in zip(placed[:n], tables, strict=True):
                    table[bias] -= _seen_in(narrow, known, wide, bias)
            start = self.problem.parameters.bias_start(wide.number)
            self.weights[start : start + len(bias)] += table[bias]
            tables.append(table)

    def _placed(self, number: int) -> _PlacedClique:
        spec, off, gold = self.problem.spec, self.problem.sentence_off, self.problem.gold
        template = self.problem.graph.templates[number]
        sentence, anchor = instances_of(template, off)
        site = last_site(spec, spec.cliques[number], self.settings.order)
        margin = 1 + 2 * max(abs(o) for t in self.problem.graph.templates for o in t.offsets)
        place = off[sentence] + (2 * sentence + 1) * margin + anchor + template.offsets[site]
        states = template.cards[0] if template.allowed is None else int(np.count_nonzero(template.allowed))
        if len(template.cards) == 1 and len(self.problem.parameters.cliques[number].bias) < states:
            # a state without a bias would have the score 0
            message = f"`hmm` gives every state a probability, and some of `{template.name}` are not in the data"
            raise _error(message, f"write `clique {template.name} with states = all: …`")
        assignment = known_assignments(template, gold, off, sentence, anchor)
        return _PlacedClique(number, template, site, assignment, place.astype(np.int64))

    def _conditional(self, clique: _PlacedClique, chosen: Mask) -> Floats:
        """log p(label | the others) of each assignment, from the `chosen` instances; impossible ones have no mass.

        Assignments that only a constraint over other sites forbids (a scheme: a first state) keep their share.
        """
        size, cards = clique.template.num_assignments, clique.template.full_cards
        smoothing = self.settings.smoothing if self.settings.moves is None else self.settings.moves
        possible = np.zeros(size, np.bool_)
        possible[self.problem.parameters.cliques[clique.number].bias] = True
        counts = np.bincount(clique.assignment[chosen], minlength=size) + smoothing
        mass = np.where(possible, counts, 0.0).reshape(cards)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares: Floats = np.log(mass / mass.sum(axis=clique.site, keepdims=True)).ravel()
        return shares

    # p(feature | y) ------------------------------------------------------------------------------------------------

    def emissions(self, number: int, template: CliqueTemplate) -> None:
        """Sets the weights of a clique's features, and adds to its biases what these features contribute."""
        problem = self.problem
        assert problem.extractor is not None
        listed, listed_as = problem.extractor.listed(template.feature_set)
        rows, off = problem.rows[template.feature_set], problem.sentence_off
        sentence, anchor = instances_of(template, off)
        state = np.zeros(len(rows.row_off) - 1, np.int64)
        state[rows.first_row(off)[sentence] + anchor] = known_assignments(template, problem.gold, off, sentence, anchor)
        fired = np.repeat(np.arange(len(state)), np.diff(rows.row_off))  # the row of each entry
        which = np.append(listed_as, -1)[np.minimum(rows.feature, len(listed_as))]
        for chosen in self._emitting(listed, template.name):
            emitting = fired[which == chosen]
            if len(np.unique(emitting)) < len(emitting):
                message = f"`hmm` counts one value a position, and `{listed[chosen].name}` has several"
                raise _error(message, "list features that have one value, or train by `likelihood`")
            values = np.flatnonzero(listed_as == chosen)
            value = rows.feature[which == chosen]
            once = (np.bincount(value, minlength=len(listed_as)) == 1)[value]
            self._emission(number, template, values, state, state[emitting], state[emitting[once]])

    def _emitting(self, listed: Sequence[ExpandedFeature], clique: str) -> list[int]:
        """The indices of the features that a clique emits."""
        if self.settings.overlapping:
            return list(range(len(listed)))
        here = [n for n, feature in enumerate(listed) if all(factor.offset == 0 for factor in feature.factors)]
        if not here:
            message = f"`hmm` emits the first feature of `{clique}` that is read at the label's position: there is none"
            raise _error(message, "list one, or write `overlapping = yes`")
        return here[:1]

    def _emission(
        self, number: int, template: CliqueTemplate, values: Ints, state: Ints, emitting: Ints, once: Ints
    ) -> None:
        """Sets the weights of one feature, whose `values` are numbers of features.

        state: of each position.   emitting: the states where it has a value.   once: those where it has a value that
        occurs nowhere else.
        """
        parameters, smoothing = self.problem.parameters, self.settings.smoothing
        clique_weights, size = parameters.cliques[number], template.num_assignments
        total = np.bincount(state, minlength=size)
        silent = total - np.bincount(emitting, minlength=size)
        if self.settings.unseen == "once":
            new = np.bincount(once, minlength=size)
            total, silent = total + new, silent + new
        entries = np.concatenate(
            [np.zeros(0, np.int64), *(np.arange(*clique_weights.run_off[v : v + 2]) for v in values)]
        )
        if silent.any() and len(entries) < len(values) * len(clique_weights.bias):
            message = (
                f"a feature of `{template.name}` has no value at some positions, or values that count as new; then "
                "`hmm` needs a weight of each value for each state"
            )
            raise _error(message, f"write `clique {template.name} with states = all: …`, or list another feature")
        weight, label = parameters.entry_start(number) + entries, clique_weights.entry[entries]
        self.weights[weight] = np.log((self.problem.counts[weight] + smoothing) / (silent[label] + smoothing))
        nothing = np.log((silent + smoothing) / (total + smoothing * (len(values) + 1)))
        start = parameters.bias_start(number)
        self.weights[start : start + len(clique_weights.bias)] += nothing[clique_weights.bias]


def _seen_in(narrow: _PlacedClique, table: Floats, wide: _PlacedClique, assignments: Ints32 | Ints) -> Floats:
    """What the narrow clique adds to these `assignments` of the wide one; 0 where it has no such states."""
    states = np.unravel_index(assignments, wide.template.full_cards)
    of = dict(zip(_sites(wide), states, strict=True))
    narrow_states = [of[site] for site in _sites(narrow)]
    cards = narrow.template.full_cards
    lies = np.all([one < card for one, card in zip(narrow_states, cards, strict=True)], axis=0)
    index = np.ravel_multi_index(tuple(np.where(lies, one, 0) for one in narrow_states), cards)
    return np.where(lies, table[index], 0.0)


def _sites(clique: _PlacedClique) -> list[tuple[int, int]]:
    """The variable of each site, and its position relative to the predicted label."""
    origin = clique.template.offsets[clique.site]
    return [(v, o - origin) for v, o in zip(clique.template.variables, clique.template.offsets, strict=True)]


def _error(message: str, remedy: str) -> DcrfError:
    return DcrfError(Diagnostic("cannot-count", message, help=remedy))
