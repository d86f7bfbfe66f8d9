"""Labels with distributions, against the same labellings written out: each a sentence that counts by its probability.

    loss(q) = Σ_y q(y) loss(y),      q the product of the cells over the labellings that constraints allow

This holds for every criterion here, as their losses are linear in the labelling. The loss of a known labelling is
tested elsewhere; here stands the likelihood beside an enumeration of its own, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import reference
from numpy.typing import NDArray
from template_cases import Case
from training_cases import problem_of

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.criteria.criterion import Criterion
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.untrained_model import number_columns

Floats = NDArray[np.float64]
Labelling = Sequence[tuple[str, ...]]  # the states of each token's labels
HEAD = "data conll(word, trust: float, {names})\n"
BIO = ("B-X", "I-X", "O")


class Family(NamedTuple):
    """text: what follows the labels.   states: of the labels.   allowed: what hard constraints leave.

    domain: as declared, where it is not the list of states.   free: whether no constraint joins positions.
    """

    text: str
    states: tuple[tuple[str, ...], ...]
    allowed: Callable[[Sequence[str], Labelling], bool] = lambda words, labelling: True
    domain: str = ""
    free: bool = True


def is_bio(words: Sequence[str], labelling: Labelling) -> bool:
    before = ["O", *(token[0] for token in labelling)]
    return all(state != "I-X" or last != "O" for last, (state, *_) in zip(before, labelling, strict=False))


def short(words: Sequence[str], labelling: Labelling) -> bool:
    marks = "".join(token[0][0] for token in labelling)
    return is_bio(words, labelling) and "BII" not in marks


def no_pq(words: Sequence[str], labelling: Labelling) -> bool:
    pairs = itertools.pairwise(token[0] for token in labelling)
    return all(pair != ("P", "Q") or word != "c" for pair, word in zip(pairs, words[1:], strict=True))


PQR = ("P", "Q", "R")
CHAIN = "clique a as words with states = all: bias, word\nclique a[-1], a as moves\n"
FAMILIES = {
    "chain": Family(CHAIN, (PQR,)),
    "padded": Family(CHAIN.replace("as moves", "as moves with edges = pad"), (PQR,)),
    "second order": Family(CHAIN + "clique a[-2], a[-1], a as wide\n", (PQR,)),
    "crossed": Family(CHAIN + "clique a[-1], a as seen with states = all: word\n", (PQR,)),
    "factorial": Family(
        CHAIN + "clique b as other with states = all: word\nclique b[-1], b\nclique a, b as both\n",
        (PQR, ("S", "T")),
    ),
    "skip": Family(CHAIN + "clique a[i], a[j] where word[i] = word[j] as again with min_gap = 2\n", (PQR,)),
    "view": Family(CHAIN + "view v = a is P\nclique v[-1], v as coarse\n", (PQR,)),
    "memory": Family(
        CHAIN + "memory m in states(a) = a[-1] if a[-1] is not P else m[-1] initially P\nclique a, m as kept\n", (PQR,)
    ),
    "offset": Family(CHAIN + "clique a as given with states = all: offset(s)\n", (PQR,)),
    "bio": Family(CHAIN, (BIO,), is_bio, "bio(X)", free=False),
    "rule": Family(CHAIN + "forbid a[-1] is P and a is Q when word is c\n", (PQR,), no_pq, free=False),
    "segments": Family(
        CHAIN + "segment a up to 2 as spans with states = all: bias, length, joined(word)\n", (BIO,), short, "bio(X)",
        free=False,
    ),
}  # fmt: skip
WORDS = ["abac", "b", "cb", "acb"]
NO = "prior = none"
TRAINED = {
    "likelihood": f"likelihood: {NO}",
    "by messages": f"likelihood: {NO}, infer = bp(tolerance = 1e-13, max_iterations = 1000)",
    "marginal": f"marginal: {NO}",
    "pseudolikelihood": f"pseudolikelihood: {NO}",
    "piecewise": f"piecewise: {NO}",
    "pwpl": f"pwpl: {NO}",
    "memm": f"memm: {NO}",
}
PIECES = ("pseudolikelihood", "piecewise", "pwpl", "memm")
PAIRS = [
    (name, train)
    for name, family in FAMILIES.items()
    for train in TRAINED
    if not (train in PIECES and (not family.free or name == "memory"))  # pieces leave out what their own constraints do
    and not (train == "by messages" and name not in ("chain", "factorial", "bio", "second order"))
    and not (train == "marginal" and not family.free)  # means of single labels: below
    and not (name == "skip" and train in ("memm", "pwpl", "piecewise"))  # whose pieces need an order, or are too large
]
Cell = dict[str, float]  # states with their probabilities


def drawn(family: Family, seed: int = 0) -> list[list[list[Cell]]]:
    """Random cells of each label of each token: sure of a state, of two or of all."""
    generator, sentences = np.random.default_rng(seed), []
    for words in WORDS:
        sentence = []
        for t in range(len(words)):
            token = []
            for states in family.states:
                count = int(generator.choice([1, 2, len(states)]))
                chosen = generator.choice(
                    len(states) - (t == 0 and "I-X" in states), min(count, 2 if t == 0 else 3), False
                )
                names = [one for one in states if not (t == 0 and one == "I-X")]
                share = generator.dirichlet(np.ones(len(chosen)))
                token.append({names[k] if t == 0 else states[k]: float(p) for k, p in zip(chosen, share, strict=True)})
            sentence.append(token)
        sentences.append(sentence)
    return sentences


def written(cell: Cell) -> str:
    return next(iter(cell)) if len(cell) == 1 else "|".join(f"{state}:{share!r}" for state, share in cell.items())


def labellings(family: Family, words: str, cells: list[list[Cell]]) -> list[tuple[Labelling, float]]:
    """What the cells and the constraints allow, with its probability."""
    found = []
    for labelling in itertools.product(*(itertools.product(*token) for token in cells)):
        if family.allowed(words, labelling):
            pairs = (pair for token, own in zip(cells, labelling, strict=True) for pair in zip(token, own, strict=True))
            found.append((labelling, math.prod(cell[state] for cell, state in pairs)))
    total = sum(share for _, share in found)
    return [(labelling, share / total) for labelling, share in found]


def scores(words: str) -> list[str]:
    return [f"{(ord(word) + t) % 5 - 2},{t * 0.7:.1f},{-0.3 * t:.1f}" for t, word in enumerate(words)]


def case_of(name: str, rows: list[list[tuple[Any, ...]]]) -> Case:
    """The case of a family.   rows: word, importance and cells of each token."""
    family, labels = FAMILIES[name], "ab"[: len(FAMILIES[name].states)]
    head = HEAD.format(names=("s: scores(a), " if name == "offset" else "") + ", ".join(labels))
    for label, states in zip(labels, family.states, strict=True):
        domain = family.domain or "{" + ", ".join(states) + "}"
        head += f'label {label} in {domain} with soft = ":", missing = "?"\n'
    if name == "offset":
        rows = [
            [
                (word, trust, score, *cells)
                for (word, trust, *cells), score in zip(one, scores("".join(r[0] for r in one)), strict=True)
            ]
            for one in rows
        ]
    return Case(head + family.text + "infer exact\n", rows)


def soft_case(name: str, seed: int = 0) -> tuple[Case, list[list[list[Cell]]]]:
    cells = drawn(FAMILIES[name], seed)
    rows = [
        [(word, "1.0", *map(written, token)) for word, token in zip(words, own, strict=True)]
        for words, own in zip(WORDS, cells, strict=True)
    ]
    return case_of(name, rows), cells


def spelled_out(name: str, seed: int = 0) -> Case:
    """Every labelling as a sentence, whose `trust` is its probability."""
    rows = []
    for words, own in zip(WORDS, drawn(FAMILIES[name], seed), strict=True):
        for labelling, share in labellings(FAMILIES[name], words, own):
            rows.append([(word, repr(share), *states) for word, states in zip(words, labelling, strict=True)])
    return case_of(name, rows)


class Built(NamedTuple):
    """An objective.   order: its weights by the keys of all, sorted: features are numbered by how often they occur."""

    objective: Criterion
    order: list[int]

    def at(self, weights: Floats) -> tuple[float, Floats]:
        """Value and gradient, weights in the order of the keys."""
        own = np.empty(len(weights))
        own[self.order] = weights
        value, gradient = self.objective.value_and_gradient(own)
        return value, gradient[self.order]


def keyed(case: Case, train: str) -> Built:
    model = fit(load_text(f"{case.text}train likelihood: optimizer = lbfgs(max_iterations = 1)\n"), case.corpus())
    keys = [key[:3] for key in model.explanations.iter_weights()]
    return Built(built(case, train), sorted(range(len(keys)), key=keys.__getitem__))


def built(case: Case, train: str) -> Criterion:
    problem, settings = problem_of(case, train)
    problem = replace(problem, numbers=number_columns(case.corpus()))
    return CRITERIA[settings.criterion.method](problem, settings)


def agree(own: Built, other: Built, apart: bool = False) -> None:
    """apart: whether the values differ by what no weight changes."""
    assert len(own.order) == len(other.order)
    nothing = np.zeros(len(own.order))
    between = own.at(nothing)[0] - other.at(nothing)[0] if apart else 0.0
    for seed in (1, 2):
        weights = np.random.default_rng(seed).normal(0.0, 0.8, len(own.order))
        value, gradient = own.at(weights)
        expected, slopes = other.at(weights)
        value -= between
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(gradient, slopes, atol=1e-8)


@pytest.mark.parametrize(("name", "train"), PAIRS, ids=[" ".join(pair) for pair in PAIRS])
def test_the_loss_is_the_mean_over_labellings(name: str, train: str) -> None:
    case, other = soft_case(name)[0], spelled_out(name)
    if name == "segments":  # whose features come from known labels: these count nothing
        known = [[(word, "0.0", *cells) for word, _, *cells in one] for one in other.sentences]
        case = replace(case, sentences=case.sentences + known)
    text = f"{TRAINED[train]}, importance = trust"
    agree(keyed(case, text), keyed(other, text), apart=(name, train) == ("offset", "likelihood"))


@pytest.mark.parametrize("train", ["likelihood", "pseudolikelihood", "marginal"])
def test_importance_multiplies_the_mean(train: str) -> None:
    case, _ = soft_case("factorial")
    text = f"{TRAINED[train]}, importance = trust"

    def trusted(*trusts: float) -> Criterion:
        rows = [
            [(row[0], repr(trust), *row[2:]) for row in one] for one, trust in zip(case.sentences, trusts, strict=True)
        ]
        return built(replace(case, sentences=rows), text)

    whole = trusted(0.5, 2.0, 0.25, 1.5)
    weights = np.random.default_rng(3).normal(0.0, 0.8, whole.num_weights)
    value, gradient = whole.value_and_gradient(weights)
    parts = [trusted(*row).value_and_gradient(weights) for row in np.diag([0.5, 2.0, 0.25, 1.5]).tolist()]
    assert value == pytest.approx(sum(part for part, _ in parts))
    np.testing.assert_allclose(gradient, sum(slopes for _, slopes in parts), atol=1e-9)


@pytest.mark.parametrize("name", ["bio", "rule", "segments"])
def test_marginals_are_those_of_single_labels(name: str) -> None:
    """Each state of each cell as a sentence in which nothing else is known; what constraints exclude has no part."""
    family, (case, cells) = FAMILIES[name], soft_case(name)
    rows = []
    for words, own in zip(WORDS, cells, strict=True):
        every = [
            y
            for y in itertools.product(*(itertools.product(*family.states) for _ in words))
            if family.allowed(words, y)
        ]
        for t, token in enumerate(own):
            left = {s: p for s, p in token[0].items() if any(y[t][0] == s for y in every)}
            for state, share in left.items():
                known = ["?"] * len(words)
                known[t] = state
                trust = repr(share / sum(left.values()))
                rows.append([(word, trust, cell) for word, cell in zip(words, known, strict=True)])
    agree(keyed(case, TRAINED["marginal"]), keyed(case_of(name, rows), f"{TRAINED['marginal']}, importance = trust"))


def test_pieces_leave_out_what_their_constraints_exclude() -> None:
    """The pseudolikelihood of `bio`: every label given its neighbours, in the mean over what the three may be."""
    case, cells = soft_case("bio")
    objective = built(case, TRAINED["pseudolikelihood"])
    model = fit(load_text(f"{case.text}train likelihood: optimizer = lbfgs(max_iterations = 1)\n"), case.corpus())
    weights = np.random.default_rng(1).normal(0.0, 0.8, objective.num_weights)
    weight = {key[:3]: w for key, w in zip(model.explanations.iter_weights(), weights, strict=True)}
    total = 0.0
    for words, own in zip(WORDS, cells, strict=True):
        for t, word in enumerate(words):
            near = range(max(0, t - 1), min(len(words), t + 2))

            def local(y: dict[int, str], t: int = t, word: str = word, words: str = words) -> float:
                score = sum(weight.get(("words", one, (y[t],)), 0.0) for one in ("bias", f"word={word}"))
                for last in (t, t + 1):
                    if last - 1 in y and last in y:
                        pair = (y[last - 1], y[last])
                        legal = pair[1] != "I-X" or pair[0] != "O"
                        score += weight.get(("moves", "bias", pair), 0.0) if legal else -np.inf
                return score if not (t == 0 and y[0] == "I-X") else -np.inf

            mass = losses = 0.0
            for states in itertools.product(*(own[at][0] for at in near)):
                y = dict(zip(near, states, strict=True))
                share = math.prod(own[at][0][y[at]] for at in near)
                if np.isfinite(local(y)):
                    mass += share
                    log_z = reference.log_sum(np.array([local({**y, t: s}) for s in BIO]))
                    losses += share * (log_z - local(y))
            total += losses / mass
    value, gradient = objective.value_and_gradient(weights)
    assert value == pytest.approx(total, rel=1e-9)
    slopes = reference.finite_difference(lambda w: objective.value_and_gradient(w)[0], weights)
    np.testing.assert_allclose(gradient, slopes, atol=1e-6)


@pytest.mark.parametrize("train", ["likelihood", "pseudolikelihood"])
@pytest.mark.parametrize("name", ["chain", "factorial", "bio"])
def test_batches_add_up_to_the_whole(name: str, train: str) -> None:
    if (name, train) == ("bio", "pseudolikelihood"):
        pytest.skip("its pieces are tested above")
    case, _ = soft_case(name)
    known = [[(word, "1.0", *("O" if name == "bio" else s[0] for s in FAMILIES[name].states)) for word in "abc"]]
    whole = built(replace(case, sentences=case.sentences + known), TRAINED[train])
    weights = np.random.default_rng(1).normal(0.0, 0.8, whole.num_weights)
    value, gradient = whole.value_and_gradient(weights)
    batches = whole.batches(2)  # type: ignore[attr-defined]
    batches.begin(weights)
    found, slopes = 0.0, np.zeros(len(weights))
    for number in range(batches.count):
        part, touched, own = batches.gradient(number)
        found, slopes[touched] = found + part, slopes[touched] + own
    assert found == pytest.approx(value)
    np.testing.assert_allclose(slopes, gradient, atol=1e-9)


def test_training_reaches_the_distribution() -> None:
    """A model that can say everything says what the cells say: the loss is the entropy of q, and the gradient 0."""
    text = 'data conll(word, y)\nlabel y in {A, B, C} with soft = ":"\nclique y: word\ntrain likelihood: prior = none\n'
    rows = [[("a", "A:0.5|B:0.3|C:0.2")], [("b", "B:0.1|C:0.9")], [("c", "B")]]
    resolved = load_text(text)
    model = fit(resolved, corpus_from_rows(rows, resolved.require().data))
    tables, _ = model.marginals(corpus_from_rows([[("a", "A")], [("b", "A")]], resolved.require().data))
    np.testing.assert_allclose(tables["y"], [[0.5, 0.3, 0.2], [0.0, 0.1, 0.9]], atol=2e-3)


def test_a_column_of_probabilities_is_what_cells_say() -> None:
    """`soft = COLUMN` holds where the label itself is missing."""
    body = "clique y: bias, word\nclique y[-1], y\n"
    cells = [["A:0.5|B:0.5", "B"], ["A", "B:0.25|A:0.75", "A:0.1|B:0.9"]]
    share = [[[0.5, 0.5], [0.3, 0.3]], [[9.0, 9.0], [0.75, 0.25], [0.1, 0.9]]]  # read only where the label is missing
    words = ["ab", "bab"]
    own = Case(f'data conll(word, y)\nlabel y in {{A, B}} with soft = ":"\n{body}', [
        list(zip(one, two, strict=True)) for one, two in zip(words, cells, strict=True)
    ])  # fmt: skip
    rows = [
        [(word, p, "_" if ":" in cell else cell) for word, p, cell in zip(*one, strict=True)]
        for one in zip(words, share, cells, strict=True)
    ]
    head = 'data conll(word, p: scores(y), y)\nlabel y in {A, B} with soft = p, missing = "_"\n'
    named = [[(w, dict(zip("BA", reversed(p), strict=True)), y) for w, p, y in one] for one in rows]
    for given in (rows, named):
        agree(keyed(own, "likelihood: prior = none"), keyed(Case(head + body, given), "likelihood: prior = none"))


def refusal(text: str, *cells: str) -> DcrfError:
    resolved = load_text(text)
    rows = [[("a", "A")], [("a", cell) for cell in cells]]
    with pytest.raises(DcrfError) as raised:
        fit(resolved, corpus_from_rows(rows, resolved.require().data))
    return raised.value


SOFT = 'data conll(word, y)\nlabel y in {A, B} with soft = ":", missing = "?"\nclique y: bias, word\nclique y[-1], y\n'
WRONG = {
    "a sum": (["A:0.5|B:0.6"], "bad-distribution", "sum to 1.1"),
    "zero": (["A:0|B:0"], "bad-distribution", "sum to 0"),
    "negative": (["A:1.2|B:-0.2"], "bad-distribution", "-0.2"),
    "nan": (["A:nan|B:1"], "bad-distribution", "nan"),
    "infinite": (["A:inf|B:1"], "bad-distribution", "inf"),
    "no number": (["A:x|B:1"], "bad-distribution", "a weight of `A` that is no number in `A:x|B:1`"),
    "negative before no number": (["A:-0.2|B:x"], "bad-distribution", "the weight -0.2 of `A`"),
    "no weight": (["A:0.5|B"], "bad-distribution", "a weight of `B` that is no number"),
    "a stranger": (["A:0.5|C:0.5"], "unknown-label", "`C`"),
    "an empty member": (["A:0.5|B:0.5|"], "empty-member", "`|` in it"),
    "beside a gap": (["A:0.5|B:0.5", "?"], "soft-labels", "not known"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_cell_that_is_no_distribution_is_one_error(name: str) -> None:
    cells, slug, words = WRONG[name]
    error = refusal(f"{SOFT}train likelihood\n", *cells)
    (one,) = error.diagnostics
    assert one.slug == slug and words in one.message and one.location is not None and one.location.endswith(":2")


def test_weights_that_miss_one_by_little_are_divided() -> None:
    case = Case(SOFT, [[("a", "A:0.6|B:0.4")]])
    other = Case(SOFT, [[("a", "A:0.6003|B:0.4002")]])
    agree(keyed(case, "likelihood: prior = none"), keyed(other, "likelihood: prior = none"))


@pytest.mark.parametrize("train", ["likelihood", "marginal", "pseudolikelihood"])
def test_constraints_that_leave_nothing_are_an_error(train: str) -> None:
    rule = "forbid y is B when word is a\nforbid y is A when word is a\n" if train == "marginal" else ""
    text = (
        f"{SOFT}{rule or 'forbid y is A when word[-1] is a' + chr(10) + 'forbid y is B when word[-1] is a' + chr(10)}"
    )
    error = refusal(f"{text}infer exact\ntrain {train}\n", "A:0.5|B:0.5", "A:0.5|B:0.5")
    assert {one.slug for one in error.diagnostics} == {"broken-constraint"}


def test_states_that_constraints_exclude_are_told() -> None:
    resolved = load_text(f"{SOFT}forbid y is B when word is b\ntrain likelihood\n")
    rows = [[("a", "A"), ("b", "A:0.5|B:0.5")], [("b", "A:0.25|B:0.75"), ("a", "B:0.5|A:0.5")]]
    model = fit(resolved, corpus_from_rows(rows, resolved.require().data))
    assert any("states of 2 distributions" in note for note in model.record.notes)


def test_gold_is_the_likeliest_state() -> None:
    resolved = load_text(f"{SOFT}train likelihood: prior = gaussian(variance = 10)\n")
    corpus = corpus_from_rows([[("a", "A"), ("b", "B:0.9|A:0.1"), ("b", "B:0.8|A:0.2")]], resolved.require().data)
    model = fit(resolved, corpus)
    found = model.evaluate(corpus)
    assert found["accuracy(y)"] == 1.0 and found["likeliest(y)"] == 2
