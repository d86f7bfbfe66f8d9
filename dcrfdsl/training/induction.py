"""Feature induction: the crosses of features that would raise the likelihood most, each with a weight of its own.

Each round trains for a few iterations, then adds the best new features. It considers pairs of features of one feature
set that fire together; either may be a cross of an earlier round. It holds the distribution p(y | x) at the present
weights. For each cross and each assignment of a clique, it computes the gain of the best value of a new weight
(`kernels.extraction.gains`). The best crosses become features, with weights of 0 to be trained. Sources: Lafferty,
McCallum, Pereira (2001), §6; McCallum (2003), §4. Not here: how conjunctions are looked up in new text
(`features.feature_rows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..criteria import PRIORS, TrainingProblem
from ..features import Conjunctions, FeatureExtractor, conjoined, expand_features
from ..foundation import Floats, Ints, Ints32, Mask, data_error, dataclass
from ..graph import AddedWeights, Parameters, instances_of, known_assignments
from ..inference import METHODS, Binder, BoundData, assignment_marginals, run_inference
from ..kernels.extraction import WeightPenalty, cross_gains, crosses, distinct_rows, rows_of_features
from ..model import InductionRound
from ..optimizers import RunState
from ..semantics import AutoOptimizer, InduceSettings, TrainSettings
from ..syntax import At, Here, Reference, Several, Window
from .stage import Stage


@dataclass(frozen=True, eq=False)
class _Gains:
    """Gains of new weights of a clique, [G] each. Each weight belongs to a cross of two features and an assignment."""

    clique: int
    often: Ints  # the member that fires more often
    seldom: Ints  # the other one
    assignment: Ints
    count: Floats
    gain: Floats
    fires: Floats  # equal for crosses that fire at the same instances


def induce_round(
    problem: TrainingProblem, extractor: FeatureExtractor, settings: TrainSettings
) -> tuple[TrainingProblem, FeatureExtractor, InductionRound]:
    """One round at `problem.weights`: the data and the extractor with the best new features, and a summary."""
    criterion = settings.criterion
    assert isinstance(criterion, InduceSettings)
    marginals = Marginals(problem, settings)
    gains, num_candidates = [], 0
    for feature_set in range(len(extractor.conjunctions)):
        cliques = [  # not relational ones, whose marginals are not computed
            clique
            for clique, own in enumerate(extractor.set_of_clique)
            if own == feature_set and not problem.graph.templates[clique].relational
        ]
        crossable = _crossable(problem, extractor, feature_set, cliques, criterion.group)
        if not cliques or not crossable.any():
            continue
        rows = problem.rows[feature_set]
        row_off, feature = distinct_rows(rows.row_off, rows.feature, crossable)
        fire_off, fire_row = rows_of_features(row_off, feature, len(crossable))
        often, seldom, count = crosses(row_off, feature, fire_off, fire_row, criterion.min_count)
        kept = np.sort(np.argsort(-count, kind="stable")[: criterion.candidates])
        num_candidates += len(kept)
        candidates = often[kept], seldom[kept], fire_off, fire_row
        gains += [_gains_of(problem, settings, c, marginals.of_clique(c), candidates) for c in cliques]
    best = _best(gains, extractor, problem, criterion.per_round)
    if not best:
        return problem, extractor, InductionRound(num_candidates, 0, 0)
    return _grown(problem, extractor, best, num_candidates)


_PLACES = (Here, At, Window, Several)


def _crossable(
    problem: TrainingProblem, extractor: FeatureExtractor, feature_set: int, cliques: Sequence[int], group: str | None
) -> Mask:
    """Which features of a set may be members of a cross, conjunctions included."""
    listed = None
    if group is not None:
        features = [
            feature
            for c in cliques
            for feature in problem.spec.cliques[c].features
            if isinstance(feature, Reference) and feature.name == group and isinstance(feature.place, _PLACES)
        ]
        listed = expand_features(problem.spec, features)[0]
    conjunctions = np.ones(len(extractor.conjunctions[feature_set].members), np.bool_)
    return np.concatenate([extractor.indicators(feature_set, listed), conjunctions])


class Marginals:
    """p(assignment | x) at every instance of a clique, at `problem.weights`."""

    def __init__(self, problem: TrainingProblem, settings: TrainSettings):
        self.problem = problem
        self.inference = problem.inference(settings)
        self._of_variables: Floats | None = None

    def _bound(self, *, programs: bool) -> BoundData:
        binder = Binder(self.problem.graph, self.problem.parameters, programs=programs)
        return binder.bind(self.problem.rows, self.problem.sentence_off, self.problem.relations)

    def of_clique(self, clique: int) -> Floats:
        """[instances, assignments]"""
        template = self.problem.graph.templates[clique]
        if len(template.variables) > 1 or template.pad or template.offsets != (0,):
            data = self._bound(programs=False)
            return assignment_marginals(data, data.potentials(self.problem.weights), self.inference.settings, clique)
        (variable,), cards = template.variables, self.problem.graph.cards
        start = sum(cards[:variable])
        of_states = self._variables()[:, start : start + cards[variable]]
        if not template.views or template.views[0] is None:
            return np.ascontiguousarray(of_states)
        of_views = np.zeros((len(of_states), template.num_assignments))
        np.add.at(of_views.T, template.views[0].of, of_states.T)
        return of_views

    def _variables(self) -> Floats:
        """p(y_t = state | x) of all variables side by side, [N, states]."""
        if self._of_variables is None:
            data = self._bound(programs=METHODS[self.inference.name].programs)
            method, potentials = self.inference.build(data), data.potentials(self.problem.weights)
            out = run_inference(data, method, potentials, self.problem.workers, marginals=True)
            self._of_variables = out.marginals.reshape(-1, sum(self.problem.graph.cards))
        return self._of_variables


def _gains_of(
    problem: TrainingProblem,
    settings: TrainSettings,
    clique: int,
    marginal: Floats,
    candidates: tuple[Ints32, Ints32, Ints, Ints32],
) -> _Gains:
    """The gain of every cross with every assignment of a clique that may have a weight. candidates: the members of each
    cross, and the rows where each feature fires.
    """
    often, seldom, fire_off, fire_row = candidates
    template, spec = problem.graph.templates[clique], problem.spec.cliques[clique]
    off, rows = problem.sentence_off, problem.rows[template.feature_set]
    sentence, anchor = instances_of(template, off)
    gold = known_assignments(template, problem.gold, off, sentence, anchor)
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
        WeightPenalty(terms.precision, terms.l1, terms.power, terms.exponent),
    )  # fmt: skip
    members = often[cross].astype(np.int64), seldom[cross].astype(np.int64)
    return _Gains(clique, *members, assignment.astype(np.int64), count, gain, fires)


@dataclass(frozen=True)
class _New:
    """A new weight. members: of its feature, a cross; an existing feature with the same atoms takes its place."""

    clique: int
    feature_set: int
    members: tuple[int, int]
    atoms: frozenset[int]
    assignment: int
    count: float
    gain: float


def _best(gains: Sequence[_Gains], extractor: FeatureExtractor, problem: TrainingProblem, number: int) -> list[_New]:
    """The `number` weights with the largest gains that the model does not have; in a tie, the first ones.

    Of crosses that fire at the same instances, only the first one enters.
    """
    if not gains:
        return []
    gain = np.concatenate([part.gain for part in gains])
    which = np.repeat(np.arange(len(gains)), [len(part.gain) for part in gains])
    starts = np.cumsum([0, *(len(part.gain) for part in gains)])
    existing = _weights_of_conjunctions(extractor, problem.parameters)
    features = _features_by_atoms(extractor.conjunctions)
    best: dict[tuple[int, int, float], _New] = {}
    for at in np.argsort(-gain, kind="stable").tolist():
        if len(best) == number or gain[at] <= 0.0:
            break
        part, i = gains[which[at]], at - int(starts[which[at]])
        feature_set = extractor.set_of_clique[part.clique]
        members = int(part.often[i]), int(part.seldom[i])
        conjunctions = extractor.conjunctions[feature_set]
        atoms = conjunctions.atoms(members[0]) | conjunctions.atoms(members[1])
        feature, assignment = features[feature_set].get(atoms), int(part.assignment[i])
        if feature is None or (part.clique, feature, assignment) not in existing:
            new = _New(part.clique, feature_set, members, atoms, assignment, float(part.count[i]), float(gain[at]))
            best.setdefault((part.clique, assignment, float(part.fires[i])), new)
    return list(best.values())


def _weights_of_conjunctions(extractor: FeatureExtractor, parameters: Parameters) -> set[tuple[int, int, int]]:
    """(clique, feature, assignment) of every weight of a conjunction."""
    weights: set[tuple[int, int, int]] = set()
    for clique, of_clique in enumerate(parameters.cliques):
        if (feature_set := extractor.set_of_clique[clique]) >= 0:
            first = extractor.conjunctions[feature_set].first
            runs = of_clique.run_off[first:]
            features = first + np.repeat(np.arange(len(runs) - 1), np.diff(runs))
            assignments = of_clique.entry[runs[0] :].tolist()
            weights.update((clique, f, a) for f, a in zip(features.tolist(), assignments, strict=True))
    return weights


def _features_by_atoms(sets: Sequence[Conjunctions]) -> list[dict[frozenset[int], int]]:
    """The number of each conjunction by its atoms, a table for each feature set."""
    return [{part.atoms(f): f for f in range(part.first, part.num_features)} for part in sets]


def _grown(
    problem: TrainingProblem, extractor: FeatureExtractor, best: Sequence[_New], num_candidates: int
) -> tuple[TrainingProblem, FeatureExtractor, InductionRound]:
    """The data and the extractor with the new weights, which are 0, and a summary of the round."""
    sets, rows = list(extractor.conjunctions), list(problem.rows)
    numbers = _features_by_atoms(sets)
    made = 0
    for feature_set, conjunctions in enumerate(sets):
        missing = [new for new in best if new.feature_set == feature_set and new.atoms not in numbers[feature_set]]
        members = {new.atoms: new.members for new in reversed(missing)}
        if not members:
            continue
        atoms = list(dict.fromkeys(new.atoms for new in missing))
        fresh = np.array([members[each] for each in atoms], np.int32)
        numbers[feature_set] |= {each: conjunctions.num_features + n for n, each in enumerate(atoms)}
        sets[feature_set] = conjunctions.extended(fresh)
        rows[feature_set] = conjoined(rows[feature_set], Conjunctions(conjunctions.num_features, fresh))
        made += len(atoms)
    added, counts = {}, []
    for clique, feature_set in enumerate(extractor.set_of_clique):
        if feature_set < 0:
            continue
        of_clique = [new for new in best if new.clique == clique]
        feature = np.array([numbers[feature_set][new.atoms] for new in of_clique], np.int64)
        assignment = np.array([new.assignment for new in of_clique], np.int64)
        added[clique] = AddedWeights(feature, assignment, sets[feature_set].num_features)
        counts += [new.count for new in of_clique]
    parameters, kept, placed = problem.parameters.extended(added)
    grown_extractor = replace(extractor, conjunctions=tuple(sets))
    grown = replace(
        problem,
        extractor=grown_extractor,
        parameters=parameters,
        rows=tuple(rows),
        counts=_moved(problem.counts, kept, parameters.num_weights),
        weights=_moved(problem.weights, kept, parameters.num_weights),
        start=None if problem.start is None else _moved(problem.start, kept, parameters.num_weights),
    )
    grown.counts[placed] = counts
    summary = InductionRound(num_candidates, made, len(best), best[0].gain, best[-1].gain)
    return grown, grown_extractor, summary


def _moved(values: Floats, places: Ints, size: int) -> Floats:
    out = np.zeros(size)
    out[places] = values
    return out


def with_induced_features(stage: Stage, criterion: InduceSettings) -> tuple[Stage, list[InductionRound]]:
    """The stage with the features that the rounds add, and a summary of each round. Iterations count on.

    DcrfError where a label is not known.
    """
    if (stage.problem.gold.codes < 0).any():
        message = "`induce` compares with the counts of gold labels, and some labels are missing, ambiguous or latent"
        raise data_error("cannot-sum-out", message, help="train by `likelihood`, which sums them out")
    problem, extractor = stage.problem, stage.model.extractor
    rounds: list[InductionRound] = []
    limits: dict[str, int] = {"max_iterations": criterion.iterations}
    for _ in range(criterion.rounds):
        optimizer = stage.settings.optimizer.model_copy(update=limits)
        settings = stage.settings.model_copy(update={"optimizer": optimizer, "patience": None})
        short = replace(stage, problem=problem, settings=settings, dev=None, earlier=stage.last)
        outcome = short.run(short.objective(), problem.weights, RunState())
        problem = replace(problem, weights=outcome.weights)
        if stage.is_stopped():
            break
        problem, extractor, done = induce_round(problem, extractor, stage.settings)
        if not done.weights:
            break
        rounds.append(done)
        if isinstance(optimizer, AutoOptimizer):
            limits["epochs"] = 0  # long steps on batches would lead away from the optimum of the last round
    model = replace(
        stage.model, extractor=extractor, parameters=problem.parameters, weights=problem.weights, voters=None
    )
    return replace(stage, model=model, problem=problem), rounds
