"""Priors as penalties on the weights, added to what a criterion minimises.

    P(λ) = Σ_k  ½ precision_k λ_k²  +  l1_k |λ_k|  +  power_k |λ_k|^φ_k / φ_k  −  pull_k λ_k

and Σ_g strength_g ‖λ_g‖ over groups of weights, and a constant. A Gaussian around μ is the quadratic term with
pull_k = precision_k μ_k. One around the weights of another clique is ½ precision_k (λ_k − λ_p(k))², where p(k) is the
counterpart of k; both are trained. Quadratic terms are by far the most used: kernels take `precision` as it is, and
`Penalty.add_rest` adds the others. Sources: gaussian Sutton 2004 §3.3, lphi Suzuki 2006 eq. 2, group_lasso Yuan & Lin
2006. To add a prior: write settings in `semantics.settings.prior_settings`, and add a line to `PRIORS`.

Two weights are counterparts if they are of the same feature and the same states: features are matched by their texts,
states by their names, site by site. A group is the weights of a feature template of a clique, or of a feature; the
biases of a clique are one group in both ways, and induced features are one template together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..features import FeatureExtractor
from ..foundation import DcrfError, Diagnostic, Floats, Ints, Mask, Table, dataclass, typed_entry
from ..graph import CliqueTemplate, ModelGraph, Parameters
from ..optimizers import WeightGroups
from ..semantics import (
    ElasticNetPrior,
    GaussianPrior,
    GroupLassoPrior,
    LaplacePrior,
    LphiPrior,
    NoPrior,
    Prior,
    TrainSettings,
)
from ..syntax import CliqueSpec


class Terms(NamedTuple):
    """What a prior adds for one weight λ: ½ precision λ² + l1 |λ| + power |λ|^exponent / exponent.

    centred: 1 if the quadratic term is around the weight with which training started, 0 if it is around 0.
    """

    precision: float = 0.0
    l1: float = 0.0
    power: float = 0.0
    exponent: float = 2.0
    centred: float = 0.0


def _lphi(settings: LphiPrior) -> Terms:
    """|λ|^φ / φC; as an L1 or quadratic term, which are faster, where it is one."""
    strength = 1.0 / settings.C
    match settings.shape:
        case "corner":
            return Terms(l1=strength)
        case "quadratic":
            return Terms(precision=strength)
        case _:
            return Terms(power=strength, exponent=settings.phi)


PRIORS: Table[Callable[[Prior], Terms]] = Table(
    "prior",
    {
        "none": typed_entry(NoPrior, lambda prior: Terms()),
        "gaussian": typed_entry(
            GaussianPrior, lambda prior: Terms(precision=1.0 / prior.variance, centred=float(prior.mean == "model"))
        ),
        "laplace": typed_entry(LaplacePrior, lambda prior: Terms(l1=1.0 / prior.scale)),
        "lphi": typed_entry(LphiPrior, _lphi),
        "elastic_net": typed_entry(ElasticNetPrior, lambda prior: Terms(precision=2.0 * prior.l2, l1=prior.l1)),
        "group_lasso": typed_entry(GroupLassoPrior, lambda prior: Terms()),  # see `_groups`
    },
)


class Ties(NamedTuple):
    """Weights that are drawn towards others, [n] each: their numbers, those of the others, and the precision.

    moves [n]: 1 where the other weight is drawn back, 0 where it is not trained.
    """

    weight: Ints
    other: Ints
    precision: Floats
    moves: Floats


@dataclass(frozen=True, eq=False)
class Penalty:
    """The terms of all W weights.

    l1: None where no penalty has a corner.   power, exponent: None where all are 0.   pull: None where all penalties
    are least at 0; `constant` then makes P(μ) = 0.   ties: of cliques to others;
    their squares λ_k² are part of `precision`.   groups: None where no penalty is on whole groups of weights.
    """

    precision: Floats
    l1: Floats | None = None
    power: Floats | None = None
    exponent: Floats | None = None
    pull: Floats | None = None
    constant: float = 0.0
    ties: Ties | None = None
    groups: WeightGroups | None = None

    @classmethod
    def none(cls, num_weights: int) -> Penalty:
        return cls(np.zeros(num_weights))

    @property
    def is_quadratic(self) -> bool:
        """Whether it is ½ Σ precision λ² alone."""
        return all(term is None for term in (self.l1, self.power, self.pull, self.ties, self.groups))

    def masked(self, mask: Floats) -> Penalty:
        """The same with the terms of each weight times its `mask` [W]: a counterpart with 0 stays where it is."""
        ties = self.ties
        if ties is not None:
            precision, moves = ties.precision * mask[ties.weight], ties.moves * mask[ties.other]
            ties = ties._replace(precision=precision, moves=moves)
        return Penalty(
            self.precision * mask,
            None if self.l1 is None else self.l1 * mask,
            None if self.power is None else self.power * mask,
            self.exponent,
            *_pulls(self.precision * mask, None if self.pull is None else self.pull * mask),
            ties=ties,
            groups=self.groups and self.groups._replace(number=np.where(mask > 0.0, self.groups.number, -1)),
        )

    def add(self, weights: Floats, gradient: Floats) -> float:
        """P(λ); adds a subgradient to `gradient` [W]: ∂P/∂λ, and 0 in the corners."""
        pull = self.precision * weights
        gradient += pull
        return 0.5 * float(np.sum(pull * weights)) + self.add_rest(weights, gradient)

    def value(self, weights: Floats) -> float:
        """P(λ)."""
        return self.add(weights, np.zeros(len(weights)))

    def add_rest(self, weights: Floats, gradient: Floats) -> float:
        """The same for the terms that are not quadratic."""
        value = 0.0
        if self.l1 is not None:
            gradient += self.l1 * np.sign(weights)
            value += float(np.sum(self.l1 * np.abs(weights)))
        if self.power is not None and self.exponent is not None:
            pull = self.power * np.abs(weights) ** (self.exponent - 1.0)
            gradient += pull * np.sign(weights)
            value += float(np.sum(pull * np.abs(weights) / self.exponent))
        if self.pull is not None:
            gradient -= self.pull
            value += self.constant - float(np.sum(self.pull * weights))
        if self.ties is not None:  # the term less ½ precision λ_k²
            weight, other, precision, moves = self.ties
            mean = weights[other]
            value += float(np.sum(precision * (0.5 * mean - weights[weight]) * mean))
            gradient -= np.bincount(weight, precision * mean, len(weights))
            gradient += np.bincount(other, moves * precision * (mean - weights[weight]), len(weights))
        if self.groups is not None:
            gradient += self.groups.slope(weights)
            value += self.groups.value(weights)
        return value

    def gap(self, gradient: Floats, trained: Mask | None = None) -> float | None:
        """Bound on how far a convex loss with this penalty is above its least value, where a subgradient is `gradient`.

        The quadratic terms curve it by `precision` in each weight: ½ Σ_k g_k² / precision_k. None where one is 0.
        trained [W]: the weights that the loss is a function of; by default all.
        """
        if self.ties is not None:
            return None
        if trained is not None:
            gradient, precision = gradient[trained], self.precision[trained]
        else:
            precision = self.precision
        with np.errstate(over="ignore"):  # the bound is then inf, which is one
            return float(0.5 * np.sum(gradient**2 / precision)) if precision.all() else None


def _pulls(precision: Floats, pull: Floats | None) -> tuple[Floats | None, float]:
    """The linear term and the constant of Gaussians with these precisions [W] around pull / precision."""
    if pull is None or not pull.any():
        return None, 0.0
    pulled = pull != 0.0
    return pull, 0.5 * float(np.sum(pull[pulled] ** 2 / precision[pulled]))


def weight_penalty(
    settings: TrainSettings, cliques: Sequence[CliqueSpec], graph: ModelGraph, parameters: Parameters,
    states: Sequence[Sequence[str]], extractor: FeatureExtractor | None, start: Floats | None = None,
) -> Penalty:  # fmt: skip
    """The penalty of a stage; `prior.NAME` replaces the general prior for the clique of that name.

    states: of each variable.   start [W]: the weights of the model that training started from, if there is one.
    DcrfError if a prior is around them and there is none.
    """
    general = np.array(PRIORS[settings.prior.method](settings.prior), np.float64)
    columns = [np.full(parameters.num_weights, term) for term in general]
    for number, clique in enumerate(cliques):
        prior = settings.clique_priors.get(clique.label)
        if prior is not None:
            for column, term in zip(columns, PRIORS[prior.method](prior), strict=True):
                column[parameters.of_clique(number)] = term
    precision, l1, power, exponent, centred = columns  # those that are 0 throughout take no memory during training
    has_powers = bool(power.any())
    if centred.any() and start is None:
        message = "a prior has `mean = model`, and training starts from no model"
        remedy = "name one: `dcrfdsl train … --from MODEL`, or `fit(…, start=model)`; or write `mean = zero`"
        raise DcrfError(Diagnostic("prior-without-model", message, help=remedy))
    pull = precision * centred * start if start is not None and centred.any() else None
    pull, constant = _pulls(precision, pull)
    return Penalty(
        precision,
        l1 if l1.any() else None,
        power if has_powers else None,
        exponent if has_powers else None,
        pull,
        constant,
        _ties(settings, cliques, precision, graph, parameters, states, extractor),
        _groups(settings, cliques, graph, parameters, extractor),
    )


# which weights of two cliques are counterparts ------------------------------------------------------------------------


def _ties(
    settings: TrainSettings, cliques: Sequence[CliqueSpec], precision: Floats, graph: ModelGraph,
    parameters: Parameters, states: Sequence[Sequence[str]], extractor: FeatureExtractor | None,
) -> Ties | None:  # fmt: skip
    """The ties of all cliques whose prior is around another clique; None without any."""
    number = {clique.label: n for n, clique in enumerate(cliques)}
    found = []
    for label, prior in settings.clique_priors.items():
        if isinstance(prior, GaussianPrior) and prior.tied_to is not None:
            assert extractor is not None
            found.append(_counterparts(graph, parameters, states, extractor, number[label], number[prior.tied_to]))
    if not found:
        return None
    weight, other = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Ties(weight, other, precision[weight], np.ones(len(weight)))


def _counterparts(
    graph: ModelGraph, parameters: Parameters, states: Sequence[Sequence[str]], extractor: FeatureExtractor,
    clique: int, other: int,
) -> tuple[Ints, Ints]:  # fmt: skip
    """The weights of `clique` that have a counterpart in `other`, and these counterparts, [n] each.

    Both cliques have as many sites.
    """
    here, there = graph.templates[clique], graph.templates[other]
    cliques, features, assignments = parameters.origins()
    own, others = (np.flatnonzero(cliques == number) for number in (clique, other))
    texts, known_texts = (
        extractor.told_apart(one.feature_set) if one.feature_set >= 0 else () for one in (here, there)
    )
    ids = {text: n for n, text in enumerate(known_texts)}
    feature = np.array([*(ids.get(text, -2) for text in texts), -1], np.int64)[
        features[own]
    ]  # the bias, -1, comes last
    assignment = _assignment_map(_states_of_sites(here, states), _states_of_sites(there, states))[assignments[own]]
    size = there.num_assignments
    wanted = np.where((feature > -2) & (assignment >= 0), (feature + 1) * size + assignment, -1)
    known = (features[others] + 1) * size + assignments[others]
    _, place, mine = np.intersect1d(known, wanted, return_indices=True)
    order = np.argsort(mine)
    return own[mine[order]], others[place[order]]


def _states_of_sites(template: CliqueTemplate, states: Sequence[Sequence[str]]) -> list[Sequence[object]]:
    """The states that weights tell apart at each site: those of the variable or of a view; padding as numbers."""
    views = template.views or (None,) * len(template.variables)
    sites: list[Sequence[object]] = []
    for variable, view in zip(template.variables, views, strict=True):
        names: Sequence[str] = states[variable] if view is None else view.states
        sites.append((*names, -1, +1) if template.pad else tuple(names))
    return sites


def _assignment_map(here: Sequence[Sequence[object]], there: Sequence[Sequence[object]]) -> Ints:
    """The assignment of the other clique for each one of this, -1 where a state is not there."""
    numbers = np.zeros(1, np.int64)
    for before, now in zip(here, there, strict=True):
        index = {state: n for n, state in enumerate(now)}
        moved = np.array([index.get(state, -1) for state in before], np.int64)
        joined = numbers[:, None] * len(now) + moved
        numbers = np.where((numbers[:, None] < 0) | (moved < 0), -1, joined).ravel()
    return numbers


# which weights are one group ------------------------------------------------------------------------------------------

INDUCED = "induced features"
BIAS = "bias"


def _groups(
    settings: TrainSettings, cliques: Sequence[CliqueSpec], graph: ModelGraph, parameters: Parameters,
    extractor: FeatureExtractor | None,
) -> WeightGroups | None:  # fmt: skip
    """The groups of all cliques whose prior is on groups, with strength · √size; None without any."""
    of_clique, features, _ = parameters.origins()
    groups, strengths, count = np.full(parameters.num_weights, -1, np.int64), [], 0
    for number, clique in enumerate(cliques):
        prior = settings.clique_priors.get(clique.label, settings.prior)
        if isinstance(prior, GroupLassoPrior):
            assert extractor is not None
            own = np.flatnonzero(of_clique == number)
            parts = features[own] + 1  # 0: the biases
            if prior.groups == "templates" and len(own):  # a piece may be without the clique
                parts = _templates(graph, extractor, number)[parts]
            _, which, sizes = np.unique(parts, return_inverse=True, return_counts=True)
            groups[own] = which + count
            count += len(sizes)
            strengths.append(prior.strength * np.sqrt(sizes))
    return WeightGroups(groups, np.concatenate(strengths)) if strengths else None


class TemplateWeights(NamedTuple):
    """The weights of a template of a clique: its name, how many there are, and how many are not 0."""

    clique: str
    template: str
    weights: int
    used: int


def weights_by_template(
    graph: ModelGraph, parameters: Parameters, extractor: FeatureExtractor, weights: Floats
) -> list[TemplateWeights]:
    """Every template of every clique that has weights, in the order of the model; biases stand first."""
    cliques, features, _ = parameters.origins()
    found = []
    for clique in range(len(parameters.cliques)):
        template = graph.templates[clique]
        own = np.flatnonzero(cliques == clique)
        parts = _templates(graph, extractor, clique)[features[own] + 1]
        names = [BIAS, *(extractor.sets[template.feature_set].templates if template.feature_set >= 0 else ()), INDUCED]
        counts = np.bincount(parts, minlength=len(names))
        used = np.bincount(parts, weights[own] != 0.0, len(names)).astype(np.int64)
        found += [
            TemplateWeights(template.name, name, int(count), int(left))
            for name, count, left in zip(names, counts, used, strict=True)
            if count
        ]
    return found


def _templates(graph: ModelGraph, extractor: FeatureExtractor, clique: int) -> Ints:
    """For the bias and each feature of a clique: 0, or 1 + the number of its template."""
    feature_set = next(template.feature_set for template in graph.templates if template.clique == clique)
    if feature_set < 0:
        return np.zeros(1, np.int64)
    return np.append(0, 1 + extractor.template_of_feature(feature_set))
