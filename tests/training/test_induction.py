"""Feature induction: crosses by a plain twin, gains against the likelihood itself, models that need crosses."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from template_cases import CASES, Case
from training_cases import problem_of

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.criteria.training_problem import TrainingProblem
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.features.extract import FeatureExtractor
from dcrfdsl.features.feature_rows import Conjunctions, FeatureRows, conjoined, restored_conjunctions
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.graph.known_labels import instances_of
from dcrfdsl.inference import Workers
from dcrfdsl.kernels.extraction.gains import WeightPenalty, cross_gains, crosses, distinct_rows, rows_of_features
from dcrfdsl.model.file_format import read_model, write_model
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.optimizers.objective import Iteration
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.settings_reading import stage_settings
from dcrfdsl.semantics.settings.training_settings import TrainSettings
from dcrfdsl.training.induction import Marginals, induce_round
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.untrained_model import assemble

Floats = NDArray[np.float64]


# crosses ------------------------------------------------------------------------------------------------------------


def random_rows(seed: int, rows: int = 60, features: int = 9) -> list[list[int]]:
    """Rows of a few features; 0 fires often, feature 1 wherever feature 2 does."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(rows):
        row = [f for f in range(features) if generator.random() < 1.0 / (1.0 + f)]
        if 2 in row and 1 not in row:
            row.append(1)
        if generator.random() < 0.2:
            row.append(3)  # perhaps for the second time, as a bag of words has it
        found.append([int(f) for f in generator.permutation(row)])
    return found


def as_rows(rows: list[list[int]]) -> FeatureRows:
    off = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return FeatureRows(off, np.array([f for row in rows for f in row], np.int32), np.empty(0))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("least", [1, 2, 6])
def test_crosses_fire_together_often_enough_and_less_often_than_their_members(seed: int, least: int) -> None:
    rows = random_rows(seed)
    crossable = np.array([f != 4 for f in range(9)])
    times = {f: sum(f in row for row in rows) for f in range(9)}
    expected = {}
    for a, b in itertools.combinations([f for f in range(9) if f != 4], 2):
        together = sum(a in row and b in row for row in rows)
        if least <= together < min(times[a], times[b]):
            expected[a, b] = together
    plain = as_rows(rows)
    row_off, feature = distinct_rows(plain.row_off, plain.feature, crossable)
    fires = rows_of_features(row_off, feature, 9)
    often, seldom, count = crosses(row_off, feature, *fires, least)
    found = {(min(a, b), max(a, b)): n for a, b, n in zip(often.tolist(), seldom.tolist(), count.tolist(), strict=True)}
    assert found == expected
    assert len(found) == len(often)  # each pair once
    assert all(times[a] >= times[b] for a, b in zip(often.tolist(), seldom.tolist(), strict=True))
    assert (1, 2) not in found  # 1 and 2 say no more than 2 alone


@pytest.mark.parametrize("seed", range(5))
def test_a_conjunction_fires_where_all_its_atoms_do(seed: int) -> None:
    """Feature 9 = 0 & 1, 10 = 9 & 3, 11 = 5 & 2, 12 = 11 & 10."""
    own = Conjunctions(9, np.array([[0, 1], [9, 3], [5, 2], [11, 10]], np.int32))
    atoms = {9: {0, 1}, 10: {0, 1, 3}, 11: {2, 5}, 12: {0, 1, 2, 3, 5}}
    assert {f: set(own.atoms(f)) for f in atoms} == atoms
    rows = random_rows(seed)
    found = conjoined(as_rows(rows), own)
    for r, row in enumerate(rows):
        fired = found.feature[found.row_off[r] : found.row_off[r + 1]].tolist()
        assert fired[: len(row)] == row
        assert sorted(fired[len(row) :]) == [f for f, needed in atoms.items() if needed <= set(row)]


def test_numbers_keep_their_values_and_a_conjunction_counts_one() -> None:
    rows = FeatureRows(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), np.array([0.5, 2.0, 3.0]))
    found = conjoined(rows, Conjunctions(2, np.array([[0, 1]], np.int32)))
    assert found.feature.tolist() == [0, 1, 2, 1]
    assert found.value.tolist() == [0.5, 2.0, 1.0, 3.0]


# gains --------------------------------------------------------------------------------------------------------------

PENALTIES = {"none": (0.0, 0.0, 0.0, 2.0), "gaussian": (0.3, 0.0, 0.0, 2.0), "laplace": (0.0, 0.8, 0.0, 2.0),
             "elastic net": (0.2, 0.4, 0.0, 2.0), "lphi": (0.0, 0.0, 0.5, 1.5)}  # fmt: skip


def best_gain(p: Floats, count: float, penalty: tuple[float, float, float, float]) -> float:
    """By search over both signs of δ, of the formula as it is written."""
    precision, l1, power, exponent = penalty

    def loss(delta: float) -> float:
        price = 0.5 * precision * delta**2 + l1 * abs(delta) + power * abs(delta) ** exponent / exponent
        return price - delta * count + float(np.log(1.0 + p * (np.exp(delta) - 1.0)).sum())

    sides = [minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-10}) for bounds in
             ((-20.0, 0.0), (0.0, 20.0))]  # fmt: skip
    return max(0.0, *(-float(side.fun) for side in sides))


@pytest.mark.parametrize("name", PENALTIES)
def test_gains_are_the_maxima_of_their_formula(name: str) -> None:
    """One cross of features 0 and 1, which fires at all even instances."""
    generator = np.random.default_rng(3)
    size, instances = 3, 40
    rows = [[0, 1] if i % 2 == 0 else [0] if i % 3 else [1] for i in range(instances)]
    plain = as_rows(rows)
    fires = rows_of_features(plain.row_off, plain.feature, 2)
    gold = generator.integers(0, size - 1, instances)  # the last state is never gold
    marginal = generator.dirichlet(np.ones(size), instances)
    instance = np.arange(instances)
    one = (np.array([0], np.int32), np.array([1], np.int32))
    for possible in (False, True):
        allowed = np.full(size, possible)
        mark = np.arange(float(instances))
        found_gains = cross_gains(
            *one, *fires, instance, gold, mark, marginal, allowed, WeightPenalty(*PENALTIES[name])
        )
        cross, assignment, count, gain, total = found_gains
        assert set(total.tolist()) == {float(sum(range(0, instances, 2)))}
        assert assignment.tolist() == list(range(size if possible else size - 1))
        assert cross.tolist() == [0] * len(gain)
        for a, n, found in zip(assignment.tolist(), count.tolist(), gain.tolist(), strict=True):
            assert n == np.sum(gold[::2] == a)
            # without a penalty a state that is never gold gains most at minus infinity, and the search ends at ±20
            assert found == pytest.approx(best_gain(marginal[::2, a], n, PENALTIES[name]), abs=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_marginals_sum_to_what_the_likelihood_expects(name: str) -> None:
    """The gradient of the likelihood without a penalty is E f − Ê f, by other kernels."""
    given, settings = problem_of(CASES[name], "likelihood", "train.prior=none", "infer=exact")
    weights = np.random.default_rng(1).normal(0.0, 0.5, given.parameters.num_weights)
    given = replace(given, weights=weights)
    expected = CRITERIA["likelihood"](given, settings).value_and_gradient(weights)[1] + given.counts
    marginals = Marginals(given, settings)
    for clique, own in enumerate(given.parameters.cliques):
        template = given.graph.templates[clique]
        if template.relational:
            continue
        found = marginals.of_clique(clique)
        sentence, anchor = instances_of(template, given.sentence_off)
        assert found.shape == (len(sentence), template.num_assignments)
        assert found.sum(axis=1) == pytest.approx(1.0)
        bias = given.parameters.bias_start(clique)
        assert expected[bias : bias + len(own.bias)] == pytest.approx(found.sum(axis=0)[own.bias], abs=1e-8)
        if template.feature_set < 0:
            continue
        rows = given.rows[template.feature_set]
        sums = np.zeros((len(own.run_off) - 1, template.num_assignments))
        for i, r in enumerate((rows.first_row(given.sentence_off)[sentence] + anchor).tolist()):
            for j in range(rows.row_off[r], rows.row_off[r + 1]):
                sums[rows.feature[j]] += found[i] * (rows.value[j] if len(rows.value) else 1.0)
        features = np.repeat(np.arange(len(sums)), np.diff(own.run_off))
        start = given.parameters.entry_start(clique)
        assert expected[start : start + len(own.entry)] == pytest.approx(sums[features, own.entry], abs=1e-8)


# a round ------------------------------------------------------------------------------------------------------------

COLUMNS = "data conll(a, b, c, y)\nlabel y\nfeatures bits: a, b, c\n"
ALONE = f"{COLUMNS}clique y: bias, bits\n"
CHAINED = f"{COLUMNS}clique y: bias, bits\nclique y[-1], y: bias, bits\n"


def bits(count: int, seed: int, rule: str, likely: float = 0.5) -> list[Any]:
    """Sentences of three bits a token and a label: `xor` of two bits, `parity` of three, or `noise`."""
    generator = np.random.default_rng(seed)
    rules = {
        "xor": lambda bit: str(bit[0] ^ bit[1]),
        "parity": lambda bit: str(bit[0] ^ bit[1] ^ bit[2]),
        "noise": lambda bit: str(int(generator.random() < (0.2 + 0.6 * (bit[0] & bit[2])))),
    }
    sentences = []
    for _ in range(count):
        tokens = (generator.random((int(generator.integers(1, 6)), 3)) < likely).astype(int).tolist()
        sentences.append([(*map(str, bit), rules[rule](bit)) for bit in tokens])
    return sentences


def problem(text: str, train: str, seed: int = 0) -> tuple[TrainingProblem, FeatureExtractor, TrainSettings]:
    """A problem at weights that are not zero."""
    case = Case(f"{text}infer exact\ntrain induce(likelihood):\n    {train}\n", bits(40, seed, "noise"))
    spec, corpus = case.resolved().require(), case.corpus()
    parts = assemble(spec, corpus, {}, {})
    parameters, counts = parts.learn_parameters()
    weights = np.random.default_rng(seed).normal(0.0, 0.3, parameters.num_weights)
    given = TrainingProblem(
        spec, parts.graph, parameters, parts.rows, parts.relations, corpus.sentence_off, parts.gold, counts,
        Workers(1), weights=weights,
    )  # fmt: skip
    return given, parts.extractor, stage_settings(spec)


@pytest.mark.parametrize("prior", ["gaussian(variance = 2)", "none", "elastic_net(l1 = 0.1, l2 = 0.2)"])
def test_without_transitions_the_gain_is_the_fall_of_the_objective(prior: str) -> None:
    """Positions are independent then, so one new weight changes log Z by just the sum of the formula."""
    given, extractor, settings = problem(ALONE, f"per_round = 1\n    min_count = 2\n    prior = {prior}")
    grown, _, done = induce_round(given, extractor, settings)
    assert (done.weights, done.conjunctions) == (1, 1)
    objective = CRITERIA["induce"](grown, settings)
    before = objective.value_and_gradient(grown.weights)[0]
    assert before == pytest.approx(CRITERIA["induce"](given, settings).value_and_gradient(given.weights)[0], abs=1e-9)
    falls = []
    for k in np.flatnonzero(grown.weights == 0.0).tolist():

        def along(delta: float, k: int = k) -> float:
            weights = grown.weights.copy()
            weights[k] = delta
            return objective.value_and_gradient(weights)[0]

        ends = [minimize_scalar(along, bounds=bounds, method="bounded", options={"xatol": 1e-9}) for bounds in
                ((-15.0, 0.0), (0.0, 15.0))]  # fmt: skip
        falls.append(before - min(float(end.fun) for end in ends))
    assert falls == [pytest.approx(done.best, abs=1e-5)]


@pytest.mark.parametrize("text", [ALONE, CHAINED], ids=["alone", "chained"])
def test_new_weights_come_with_their_counts_and_old_ones_stay(text: str) -> None:
    given, extractor, settings = problem(text, "per_round = 12\n    min_count = 2")
    grown, more, done = induce_round(given, extractor, settings)
    assert grown.parameters.num_weights == given.parameters.num_weights + 12 == len(grown.weights)
    assert sorted(grown.weights[grown.weights != 0.0]) == sorted(given.weights)
    # Ê f − E f is what the objective's slope says, at each of the new weights too
    settings = settings.model_copy(update={"prior": settings.prior.model_copy(update={"variance": 1e12})})
    gradient = CRITERIA["induce"](grown, settings).value_and_gradient(grown.weights)[1]
    before = CRITERIA["induce"](given, settings).value_and_gradient(given.weights)[1]
    assert sorted(gradient[grown.weights != 0.0]) == pytest.approx(sorted(before), abs=1e-9)
    counted = np.zeros(grown.parameters.num_weights)
    for weight, clique, feature, assignment in grown.parameters.walk():
        template, rows = grown.graph.templates[clique], None
        sentence, anchor = instances_of(template, grown.sentence_off)
        codes = [grown.gold.codes[0][grown.sentence_off[sentence] + anchor + o] for o in template.offsets]
        shown = np.ravel_multi_index(tuple(codes), template.cards)
        fires = np.ones(len(sentence), bool)
        if feature >= 0:
            rows = grown.rows[template.feature_set]
            at = rows.first_row(grown.sentence_off)[sentence] + anchor
            fires = np.array([feature in rows.feature[rows.row_off[r] : rows.row_off[r + 1]] for r in at.tolist()])
        counted[weight] = np.sum(fires & (shown == assignment))
    assert grown.counts == pytest.approx(counted)
    assert sum(len(own.members) for own in more.conjunctions) == done.conjunctions
    assert done.best >= done.least > 0.0


def test_rounds_never_add_what_is_there() -> None:
    given, extractor, settings = problem(CHAINED, "per_round = 30\n    min_count = 1")
    for _ in range(4):
        given, extractor, _ = induce_round(given, extractor, settings)
    pairs = [(clique, feature, assignment) for _, clique, feature, assignment in given.parameters.walk()]
    assert len(set(pairs)) == len(pairs)
    for own in extractor.conjunctions:
        atoms = [own.atoms(f) for f in range(own.num_features)]
        assert len(set(atoms)) == len(atoms)


def test_of_crosses_that_fire_at_the_same_places_one_enters_whatever_they_gain() -> None:
    """At weights of zero all crosses with equal counts gain the same; what tells them apart is where they fire."""
    text = ALONE.replace("bias, bits", "bias, bits, lower(a)[1], b[-1]")
    given, extractor, settings = problem(text, "per_round = 100000\n    min_count = 3")
    given = replace(given, weights=np.zeros_like(given.weights))
    rows, gold = given.rows[0], given.gold.codes[0]
    where: dict[int, set[int]] = {}
    for r in range(len(gold)):
        for f in rows.feature[rows.row_off[r] : rows.row_off[r + 1]].tolist():
            where.setdefault(f, set()).add(r)
    expected = set()
    for a, b in itertools.combinations(where.values(), 2):
        both = frozenset(a & b)
        if 3 <= len(both) < min(len(a), len(b)):
            counts = {y: sum(gold[r] == y for r in both) for y in (0, 1)}
            # equal counts of both labels gain nothing where both are equally likely
            expected |= {(both, y) for y, n in counts.items() if n > 0 and counts[0] != counts[1]}
    grown, _, done = induce_round(given, extractor, settings)
    first = extractor.conjunctions[0].first
    fires: dict[int, set[int]] = {}
    own = grown.rows[0]
    for r in range(len(gold)):
        for f in own.feature[own.row_off[r] : own.row_off[r + 1]].tolist():
            fires.setdefault(f, set()).add(r)
    found = [(frozenset(fires[f]), y) for _, _, f, y in grown.parameters.walk() if f >= first]
    assert len(found) == done.weights == len(set(found))
    assert set(found) == expected


# whole trainings ----------------------------------------------------------------------------------------------------


def trained(rule: str, train: str, text: str = CHAINED, likely: float = 0.5, **how: Any) -> TrainedModel:
    resolved = load_text(f"{text}train {train}\n")
    return fit(resolved, corpus_from_rows(bits(60, 0, rule, likely), resolved.require().data), threads=1, **how)


def accuracy(model: TrainedModel, rule: str, likely: float = 0.5) -> float:
    """On other sentences."""
    return float(model.evaluate(corpus_from_rows(bits(60, 1, rule, likely), model.spec.data))["accuracy(y)"])


def induced(model: TrainedModel) -> set[frozenset[str]]:
    return {frozenset(text.split(" & ")) for _, text, _, _ in model.explanations.iter_weights() if " & " in text}


def test_exclusive_or_needs_a_cross() -> None:
    plain, grown = trained("xor", "likelihood", ALONE), trained("xor", "induce(likelihood): rounds = 1", ALONE)
    assert accuracy(plain, "xor") < 0.8
    assert accuracy(grown, "xor") == 1.0
    assert {frozenset({f"a={a}", f"b={b}"}) for a in "01" for b in "01"} <= induced(grown)
    assert grown.record.objective < plain.record.objective


def test_crosses_of_crosses_come_in_later_rounds() -> None:
    """Of three bits, of which each is 1 with probability 0.3: then crosses of two tell something of their parity."""
    one, three = (trained("parity", f"induce: rounds = {n}, min_count = 1", ALONE, 0.3) for n in (1, 3))
    assert max(map(len, induced(one))) == 2
    assert max(map(len, induced(three))) == 3
    assert accuracy(three, "parity", 0.3) > accuracy(one, "parity", 0.3)
    assert accuracy(three, "parity", 0.3) == 1.0


def test_a_model_file_knows_its_crosses(tmp_path: Path) -> None:
    model = trained("xor", "induce(likelihood): rounds = 2")
    model.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    other = corpus_from_rows(bits(30, 5, "xor"), model.spec.data)
    assert loaded.predict(other).texts("y") == model.predict(other).texts("y")
    assert loaded.record.rounds == model.record.rounds != ()
    assert list(loaded.explanations.iter_weights()) == list(model.explanations.iter_weights())


def test_a_group_alone_is_crossed() -> None:
    text = COLUMNS.replace("features bits: a, b, c", "features two: a, b") + "clique y: bias, two, c, a[-1]\n"
    crossed = induced(trained("parity", "induce(likelihood): rounds = 3, group = two, min_count = 1", text, 0.3))
    assert crossed
    assert all(atom[0] in "ab" and "[" not in atom for atoms in crossed for atom in atoms)


def test_numbers_are_not_crossed() -> None:
    text = "data conll(a, b, c:float, y)\nlabel y\nclique y: bias, a, b, c\n"
    assert all("c" not in atoms for atoms in induced(trained("xor", "induce: rounds = 2", text)))


def test_later_stages_train_the_induced_weights() -> None:
    text = f"{ALONE}train induce(likelihood) as grow: rounds = 1\n"
    resolved = load_text(f"{text}train pwpl after grow\n")
    model = fit(resolved, corpus_from_rows(bits(60, 0, "xor"), resolved.require().data), threads=1)
    assert accuracy(model, "xor") == 1.0
    assert model.record.before[0]["rounds"] and not model.record.rounds


def test_iterations_are_counted_through() -> None:
    seen: list[Iteration] = []
    settings = "induce(likelihood):\n    rounds = 2\n    iterations = 3\n    optimizer = lbfgs(max_iterations = 5)"
    model = trained("parity", settings, likely=0.3, on_iteration=seen.append)
    assert [step.iteration for step in seen] == list(range(1, 3 + 3 + 5 + 1))
    assert [step.seconds for step in seen] == sorted(step.seconds for step in seen)
    assert model.record.iterations == len(seen) == len(model.record.curve)
    assert [done.weights > 0 for done in model.record.rounds] == [True, True]


def test_rounds_go_on_from_where_the_last_one_came_to() -> None:
    """Without long steps on batches, with which `auto` begins where there are 64 sentences or more."""
    text = f"{CHAINED}train induce(likelihood): rounds = 3, iterations = 6, per_round = 20\n"
    resolved = load_text(text)
    corpus = corpus_from_rows(bits(80, 0, "noise"), resolved.require().data)
    curve = fit(resolved, corpus, threads=1).record.curve
    assert all(b.objective < a.objective for a, b in itertools.pairwise(curve[3:18]))


def test_patience_names_the_iteration_that_is_kept() -> None:
    settings = "induce(likelihood):\n    rounds = 2\n    iterations = 3\n    prior = none\n    patience = 2"
    resolved = load_text(f"{CHAINED}train {settings}\n")
    data = [corpus_from_rows(bits(60, seed, "noise"), resolved.require().data) for seed in (0, 1)]
    record = fit(resolved, data[0], dev=data[1], threads=1).record
    scored = [step for step in record.curve if step.dev is not None]
    assert scored[0].iteration == 7
    best = max(scored, key=lambda step: step.dev or 0.0)
    assert f"weights of iteration {best.iteration} kept" in record.reason


def test_rounds_end_where_nothing_is_left_to_cross() -> None:
    model = trained("xor", "induce(likelihood): rounds = 9, per_round = 1000", ALONE)
    assert 0 < len(model.record.rounds) < 9


def test_an_interrupt_within_the_rounds_leaves_a_model() -> None:
    seen: list[Iteration] = []
    model = trained(
        "parity", "induce(likelihood): rounds = 5, iterations = 2", likely=0.3,
        on_iteration=seen.append, should_stop=lambda: len(seen) >= 3,
    )  # fmt: skip
    assert len(model.record.rounds) == 1
    assert len(seen) == 4  # the one that was under way, and one of the last part
    assert model.predict(corpus_from_rows(bits(3, 1, "xor"), model.spec.data)).codes["y"].size


@pytest.mark.long
def test_the_same_data_give_the_same_model_with_any_number_of_threads() -> None:
    def weights(threads: int) -> Floats:
        resolved = load_text(f"{CHAINED}train induce(likelihood): rounds = 2\n")
        corpus = corpus_from_rows(bits(60, 0, "noise"), resolved.require().data)
        return fit(resolved, corpus, threads=threads).weights

    assert np.array_equal(weights(1), weights(2))


# mistakes -----------------------------------------------------------------------------------------------------------


def test_labels_that_are_not_known_are_refused() -> None:
    text = ALONE.replace("label y", 'label y with missing = "_"')
    resolved = load_text(f"{text}train induce(likelihood)\n")
    rows = [*bits(9, 0, "xor"), [("0", "0", "1", "_")]]
    with pytest.raises(DcrfError, match="compares with the counts of gold labels"):
        fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)


REFUSED = {
    "induce(memm)": ("bad-argument", "`memm`"),
    "induce(likelihood, group = a)": ("unknown-name", "`a`"),  # a column
    "induce(likelihood, group = other)": ("unknown-name", "`other`"),  # in no clique
    "induce(likelihood, group = bit)": ("unknown-name", "`bit`"),
    "induce(likelihood, rounds = 0)": ("bad-setting", "`rounds`"),
    "induce(likelihood, round = 3)": ("unknown-setting", "`round`"),
    "induce(likelihood, optimizer = sgd)": ("cannot-train", "`sgd`"),
}


@pytest.mark.parametrize("train", REFUSED)
def test_the_checker_says_what_is_wrong(train: str) -> None:
    slug, words = REFUSED[train]
    text = f"{COLUMNS}features other: a\nclique y: bias, bits\ntrain {train}\n"
    (found,) = [d for d in check(load_text(text)) if d.severity == "error"]
    assert found.slug == slug
    assert words in found.message


@pytest.mark.parametrize("member", [-1, 10**6])
def test_a_damaged_file_is_told(member: int, tmp_path: Path) -> None:
    model = trained("xor", "induce(likelihood): rounds = 1", ALONE)
    model.save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    (name,) = [name for name in arrays if "conjunctions" in name]
    arrays[name] = arrays[name].copy()
    arrays[name][0, 1] = member
    write_model(tmp_path / "model", arrays, header)
    with pytest.raises(DcrfError, match="conjunctions"):
        TrainedModel.load(tmp_path / "model")


def test_a_conjunction_of_itself_is_damage() -> None:
    with pytest.raises(DcrfError):
        restored_conjunctions([4], {"conjunctions.0": np.array([[4, 1]], np.int32)})
