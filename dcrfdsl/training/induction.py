"""Feature induction: which crosses of features would raise the likelihood most, each with one weight of its own.

A round looks at pairs of features of one feature set that fire together (a member may be a cross of an earlier round),
holds the distribution p(y | x) of the weights at hand, and asks of each cross and each assignment of a clique what the
best value of its weight would gain (`kernels.extraction.gains`). The best ones become features with weight 0, to be
trained. Sources: Lafferty, McCallum, Pereira (2001), §6; McCallum (2003), §4. Not here: training between rounds
(`training`), how conjunctions are looked up in new text (`features.alphabet.conjunctions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..criteria import PRIORS, Supervision
from ..errors import DcrfError, Diagnostic
from ..features import Conjunctions, FeatureExtractor, conjoined, expand_features
from ..graph import AddedWeights, instances_of, known_assignments
from ..inference import METHODS, Binder, BoundData, assignment_marginals, run_inference
from ..kernels.extraction import cross_gains, crosses, distinct_rows, rows_of_features
from ..model import InductionRound
from ..semantics import At, Here, InduceSettings, Reference, Several, TrainSettings, Window

__all__ = ["Marginals", "induce_round", "require_known_labels"]


@dataclass(frozen=True, eq=False)
class _Gains:
    """Gains of new weights of a clique, [G] each: features of its set, or crosses of two that are no feature yet."""

    clique: int
    often: Ints
    seldom: Ints
    assignment: Ints
    count: Floats
    gain: Floats
    fires: Floats  # a number for each set of instances at which a cross fires


def require_known_labels(given: Supervision) -> None:
    """DcrfError where a label is not known: gains compare with counts."""
    if (given.gold.codes < 0).any():
        message = "`induce` compares with the counts of gold labels, and some labels are missing, ambiguous or latent"
        raise DcrfError(Diagnostic("cannot-induce", message, help="train by `likelihood`, which sums them out"))


def induce_round(
    given: Supervision, extractor: FeatureExtractor, settings: TrainSettings
) -> tuple[Supervision, FeatureExtractor, InductionRound]:
    """One round from `given.weights`: the same problem with the best new features, and what was done."""
    own = settings.criterion
    assert isinstance(own, InduceSettings)
    weights = Marginals(given, settings)
    gains, looked_at = [], 0
    for feature_set in range(len(extractor.conjunctions)):
        cliques = [c for c, s in enumerate(extractor.set_of_clique) if s == feature_set and _takes_part(given, c)]
        crossable = _crossable(given, extractor, feature_set, cliques, own.group)
        if not cliques or not crossable.any():
            continue
        rows = given.rows[feature_set]
        row_off, feature = distinct_rows(rows.row_off, rows.feature, crossable)
        fire_off, fire_row = rows_of_features(row_off, feature, len(crossable))
        often, seldom, count = crosses(row_off, feature, fire_off, fire_row, own.min_count)
        kept = np.sort(np.argsort(-count, kind="stable")[: own.candidates])
        looked_at += len(kept)
        found = often[kept], seldom[kept], fire_off, fire_row
        gains += [_gains_of(given, settings, c, weights.of_clique(c), *found) for c in cliques]
    best = _best(gains, extractor, given, own.per_round)
    if not best:
        return given, extractor, InductionRound(looked_at, 0, 0)
    return _grown(given, extractor, best, looked_at)


# candidates ---------------------------------------------------------------------------------------------------------


def _takes_part(given: Supervision, clique: int) -> bool:
    """Pairs of positions that the data joins have no marginals of their own here."""
    return not given.graph.templates[clique].relational


def _crossable(
    given: Supervision, extractor: FeatureExtractor, feature_set: int, cliques: Sequence[int], group: str | None
) -> NDArray[np.bool_]:
    """Which features of a set may be members of a cross, conjunctions included."""
    spec = given.spec
    listed = None
    if group is not None:
        features = [
            feature
            for c in cliques
            for feature in spec.cliques[c].features
            if isinstance(feature, Reference) and feature.name == group and isinstance(feature.place, _PLACES)
        ]
        listed = expand_features(spec, features)[0]
    conjunctions = extractor.conjunctions[feature_set]
    base = extractor.indicators(feature_set, listed)
    return np.concatenate([base, np.ones(len(conjunctions.members), np.bool_)])


_PLACES = (Here, At, Window, Several)


class Marginals:
    """p(assignment | x) at every instance of a clique, under the weights of the problem."""

    def __init__(self, given: Supervision, settings: TrainSettings):
        self.given = given
        self.inference = given.inference(settings)
        self._of_variables: Floats | None = None

    def _bound(self, *, programs: bool) -> BoundData:
        binder = Binder(self.given.graph, self.given.parameters, programs=programs)
        return binder.bind(self.given.rows, self.given.sentence_off, self.given.relations)

    def of_clique(self, clique: int) -> Floats:
        """[instances, assignments]"""
        template = self.given.graph.templates[clique]
        if len(template.variables) > 1 or template.pad or template.offsets != (0,):
            data = self._bound(programs=False)
            return assignment_marginals(data, data.potentials(self.given.weights), self.inference.settings, clique)
        (variable,), cards = template.variables, self.given.graph.cards
        start = sum(cards[:variable])
        own = self._variables()[:, start : start + cards[variable]]
        if not template.views or template.views[0] is None:
            return np.ascontiguousarray(own)
        seen = np.zeros((len(own), template.num_assignments))
        np.add.at(seen.T, template.views[0].of, own.T)
        return seen

    def _variables(self) -> Floats:
        """p(y_t = state | x) of all variables side by side, [N, states]."""
        if self._of_variables is None:
            data = self._bound(programs=METHODS[self.inference.name].programs)
            method, potentials = self.inference.build(data), data.potentials(self.given.weights)
            out = run_inference(data, method, potentials, self.given.workers, marginals=True)
            self._of_variables = out.marginals.reshape(-1, sum(self.given.graph.cards))
        return self._of_variables


def _gains_of(
    given: Supervision,
    settings: TrainSettings,
    clique: int,
    marginal: Floats,
    often: NDArray[np.int32],
    seldom: NDArray[np.int32],
    fire_off: Ints,
    fire_row: NDArray[np.int32],
) -> _Gains:
    """The gain of every cross with every assignment of a clique that may have a weight."""
    template, spec = given.graph.templates[clique], given.spec.cliques[clique]
    off, rows = given.sentence_off, given.rows[template.feature_set]
    sentence, anchor = instances_of(template, off)
    gold = known_assignments(template, given.gold, off, sentence, anchor)
    instance = np.full(len(rows.row_off) - 1, -1, np.int64)
    instance[rows.first_row(off)[sentence] + anchor] = np.arange(len(sentence))
    possible = np.zeros(template.num_assignments, np.bool_)
    if spec.states == "all":
        possible[marginal.max(axis=0, initial=0.0) > 0.0] = True
    prior = settings.clique_priors.get(spec.label, settings.prior)
    terms = PRIORS[prior.method](prior)
    mark = np.random.default_rng(0).random(len(sentence))
    cross, assignment, count, gain, fires = cross_gains(
        often, seldom, fire_off, fire_row, instance, gold, mark, marginal, possible,
        terms.precision, terms.l1, terms.power, terms.exponent,
    )  # fmt: skip
    members = often[cross].astype(np.int64), seldom[cross].astype(np.int64)
    return _Gains(clique, *members, assignment.astype(np.int64), count, gain, fires)


# the best -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _New:
    """A new weight: the members of its feature, which exists already where there is one of the same atoms."""

    clique: int
    feature_set: int
    members: tuple[int, int]
    atoms: frozenset[int]
    assignment: int
    count: float
    gain: float


def _best(gains: Sequence[_Gains], extractor: FeatureExtractor, given: Supervision, number: int) -> list[_New]:
    """The `number` weights of most gain, none that the model has; the first ones of equal gains.

    Of crosses that fire at the same instances only the first one enters.
    """
    if not gains:
        return []
    gain = np.concatenate([own.gain for own in gains])
    which = np.repeat(np.arange(len(gains)), [len(own.gain) for own in gains])
    starts = np.cumsum([0, *(len(own.gain) for own in gains)])
    known = set()
    for c, own_weights in enumerate(given.parameters.cliques):
        if (first := _first(extractor, c)) is not None:
            runs = own_weights.run_off[first:]
            feature_of = first + np.repeat(np.arange(len(runs) - 1), np.diff(runs))
            known |= {
                (c, f, a) for f, a in zip(feature_of.tolist(), own_weights.entry[runs[0] :].tolist(), strict=True)
            }
    features = _features_by_atoms(extractor.conjunctions)
    found: dict[tuple[int, int, float], _New] = {}
    for at in np.argsort(-gain, kind="stable").tolist():
        if len(found) == number or gain[at] <= 0.0:
            break
        own, i = gains[which[at]], at - int(starts[which[at]])
        feature_set = extractor.set_of_clique[own.clique]
        members = int(own.often[i]), int(own.seldom[i])
        conjunctions = extractor.conjunctions[feature_set]
        atoms = conjunctions.atoms(members[0]) | conjunctions.atoms(members[1])
        feature, assignment = features[feature_set].get(atoms), int(own.assignment[i])
        if feature is None or (own.clique, feature, assignment) not in known:
            new = _New(own.clique, feature_set, members, atoms, assignment, float(own.count[i]), float(gain[at]))
            found.setdefault((own.clique, assignment, float(own.fires[i])), new)
    return list(found.values())


def _first(extractor: FeatureExtractor, clique: int) -> int | None:
    """The number of the first conjunction among the features of a clique; None if it has no features."""
    feature_set = extractor.set_of_clique[clique]
    return extractor.conjunctions[feature_set].first if feature_set >= 0 else None


def _features_by_atoms(sets: Sequence[Conjunctions]) -> list[dict[frozenset[int], int]]:
    return [{own.atoms(f): f for f in range(own.first, own.num_features)} for own in sets]


def _grown(
    given: Supervision, extractor: FeatureExtractor, best: Sequence[_New], looked_at: int
) -> tuple[Supervision, FeatureExtractor, InductionRound]:
    """The problem and the extractor with these weights; the new ones are 0."""
    sets, rows = list(extractor.conjunctions), list(given.rows)
    numbers = _features_by_atoms(sets)
    before = sum(len(own.members) for own in sets)
    for feature_set, own in enumerate(sets):
        mine = [new for new in best if new.feature_set == feature_set and new.atoms not in numbers[feature_set]]
        members = {new.atoms: new.members for new in reversed(mine)}
        if not members:
            continue
        fresh = np.array([members[atoms] for atoms in dict.fromkeys(new.atoms for new in mine)], np.int32)
        numbers[feature_set] |= {
            atoms: own.num_features + n for n, atoms in enumerate(dict.fromkeys(new.atoms for new in mine))
        }
        sets[feature_set] = own.extended(fresh)
        rows[feature_set] = conjoined(rows[feature_set], Conjunctions(own.num_features, fresh))
    added, counts = {}, []
    for clique, feature_set in enumerate(extractor.set_of_clique):
        if feature_set < 0:
            continue
        mine = [new for new in best if new.clique == clique]
        feature = np.array([numbers[feature_set][new.atoms] for new in mine], np.int64)
        assignment = np.array([new.assignment for new in mine], np.int64)
        added[clique] = AddedWeights(feature, assignment, sets[feature_set].num_features)
        counts += [new.count for new in mine]
    parameters, kept, placed = given.parameters.extended(added)
    grown = replace(
        given,
        parameters=parameters,
        rows=tuple(rows),
        counts=_moved(given.counts, kept, parameters.num_weights),
        weights=_moved(given.weights, kept, parameters.num_weights),
    )
    grown.counts[placed] = counts
    made = sum(len(own.members) for own in sets) - before
    summary = InductionRound(looked_at, made, len(best), best[0].gain, best[-1].gain)
    return grown, extractor.with_conjunctions(sets), summary


def _moved(values: Floats, places: Ints, size: int) -> Floats:
    out = np.zeros(size)
    out[places] = values
    return out
