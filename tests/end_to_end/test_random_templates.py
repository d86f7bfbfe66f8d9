"""Random templates × random observations: the engine against enumeration in texts, from the template's text on.

Of each case one iteration is trained, so that the engine learns states and weights; then random weights are put in, and
everything that it says of the sentences is compared with the twin. `DCRFDSL_RANDOM_TEMPLATES=1000` draws more of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import reference
from model_cases import columns
from random_templates import FAMILIES, RandomCase, draw
from template_cases import CASES
from template_twin import Enumerated, TemplateTwin

from dcrfdsl.criteria.criterion import Clamped
from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.criteria.penalties import Penalty
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.data.labels import encode_known_labels
from dcrfdsl.graph import clamp_rows, clamped_graph
from dcrfdsl.inference import METHODS, Binder, Expectations, Workers
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import BpSettings, ExactSettings, TrpSettings
from dcrfdsl.semantics.settings.method_settings import MethodSettings
from dcrfdsl.syntax.nodes import Reference
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.untrained_model import UntrainedModel, assemble

COUNT = int(os.environ.get("DCRFDSL_RANDOM_TEMPLATES", "90"))
EXACT = 1e-9
MESSAGES = 1e-6
NUMERIC = 2e-6  # central differences
SCALES = (0.3, 1.0, 3.0)  # of the random weights
BEST = 8
DRAWS = 3000
SIGMAS = 4.5


@dataclass(frozen=True, eq=False)
class Trial:
    """A case with its model and, of each sentence, all that enumeration says."""

    number: int
    case: RandomCase
    corpus: Corpus
    model: TrainedModel
    twin: TemplateTwin
    sentences: list[Enumerated]

    @property
    def weights(self) -> np.ndarray:
        return self.twin.weights

    def tokens(self, sentence: int) -> slice:
        return slice(*self.corpus.sentence_off[sentence : sentence + 2].tolist())


def numbered(number: int) -> Any:
    """One case of each family runs every time."""
    marks = () if number < len(FAMILIES) else pytest.mark.long
    return pytest.param(number, id=f"{number} {list(FAMILIES)[number % len(FAMILIES)]}", marks=marks)


@pytest.fixture(scope="module", params=map(numbered, range(COUNT)))
def own(request: pytest.FixtureRequest) -> Trial:
    return trial(request.param)


def trial(number: int) -> Trial:
    case = draw(number)
    corpus = case.corpus()
    model = fit(case.resolved(), corpus, threads=1)
    weights = np.random.default_rng(number).normal(0, SCALES[number % len(SCALES)], model.num_weights)
    model = model.with_weights(weights, model.record)
    twin = TemplateTwin(
        model.spec, model.states, {(c, text, states): w for c, text, states, w in model.explanations.iter_weights()}
    )
    assert len(twin.weights) == model.num_weights, "two weights have the same name"
    return Trial(number, case, corpus, model, twin, [twin.enumerate(table) for table in case.tables])


def bound(own: Trial, settings: MethodSettings):
    """The data of a trial with an inference method, and all it expects."""
    problem = assembled(own)
    entry = METHODS[settings.method]
    data = Binder(own.model.graph, own.model.parameters, programs=entry.programs).bind(
        problem.rows, own.corpus.sentence_off, problem.relations
    )
    return problem, data, entry.build(data, settings)


@lru_cache(maxsize=1)
def assembled(own: Trial) -> UntrainedModel:
    return assemble(own.model.spec, own.corpus, {}, {})


@lru_cache(maxsize=2)
def expectations(own: Trial, settings: MethodSettings) -> Expectations:
    _, data, method = bound(own, settings)
    out = Expectations.empty(data, marginals=True, approximate=method.approximate)
    method.expectations(data.potentials(own.weights), 0, data.num_sequences, out, np.zeros(0), np.zeros(len(data.hard)))
    return out


def objective(own: Trial) -> Likelihood:
    """The likelihood of the data without a prior."""
    problem, data, method = bound(own, ExactSettings())
    _, counts = problem.learn_parameters()
    off, clamped = own.corpus.sentence_off, None
    partly = ~problem.gold.complete_sentences(off)
    if partly.any():
        graph, rows = own.model.graph, problem.rows
        binder = Binder(clamped_graph(graph, problem.gold, len(rows)), own.model.parameters, programs=True)
        known = binder.bind((*rows, *clamp_rows(graph, problem.gold)), off, problem.relations)
        clamped = Clamped(known, METHODS["exact"].build(known, ExactSettings()), partly)
    return Likelihood(data, method, counts, Penalty.none(len(own.weights)), Workers(1), clamped)


def test_log_z_and_marginals(own):
    found = expectations(own, ExactSettings())
    flat, at = found.marginals, 0
    for log_z, enumerated in zip(found.log_z, own.sentences, strict=True):
        total = enumerated.joint(own.weights)
        assert log_z == pytest.approx(reference.log_sum(total), rel=EXACT, abs=EXACT)
        for v, card in enumerate(total.shape):
            expected = reference.marginal(total, (v,))
            if flat[at : at + card].any():  # a variable in no clique has none
                np.testing.assert_allclose(flat[at : at + card], expected, atol=EXACT)
            at += card
    marginals, status = own.model.marginals(own.corpus)
    assert status.converged and not status.impossible
    for s, enumerated in enumerate(own.sentences):
        total = enumerated.joint(own.weights)
        for m, name in enumerate(own.model.states):
            for t, table in enumerate(marginals[name][own.tokens(s)]):
                expected = reference.marginal(total, (t * len(own.model.states) + m,))
                np.testing.assert_allclose(table, expected, atol=EXACT)


def test_clique_marginals(own):
    names = list(own.model.states)
    for (found, status), enumerated in zip(own.model.events.clique_marginals(own.corpus), own.sentences, strict=True):
        total = enumerated.joint(own.weights)
        assert status.converged and not status.approximate
        expected = sum(map(len, instances(own, enumerated)))
        assert len(found) == expected
        for clique in found:
            scope = [t * len(names) + names.index(name) for name, t in clique.sites]
            np.testing.assert_allclose(clique.table, reference.marginal(total, scope), atol=EXACT)


def instances(own: Trial, enumerated: Enumerated):
    """Of each clique of the template the anchors at which it lies in a sentence."""
    table = own.case.tables[[e is enumerated for e in own.sentences].index(True)]
    for n, clique in enumerate(own.model.spec.cliques):
        anchors = own.twin.firing(n, table, enumerated.length)
        offsets = [getattr(site.place, "offset", 0) for site in clique.sites]
        inside = any if clique.edges == "pad" else all
        yield [a for a in anchors if clique.relational or inside(0 <= a + o < enumerated.length for o in offsets)]


def test_value_and_gradient(own):
    value, gradient = objective(own).value_and_gradient(own.weights)
    pairs = list(zip(own.sentences, own.case.known, strict=True))
    loss = sum(e.loss(own.weights, known) for e, known in pairs)
    assert value == pytest.approx(loss, rel=EXACT, abs=EXACT)
    assert own.model.scores.log_likelihood(own.corpus) == pytest.approx(-loss, rel=EXACT, abs=EXACT)
    numeric = sum(e.gradient(own.weights, known) for e, known in pairs)
    np.testing.assert_allclose(gradient, numeric, atol=NUMERIC)


def test_best_labellings(own):
    """Latent variables and memories are summed out; of labellings that tie any is the best.

    Where latent variables cannot be summed out first, labellings are proposed: their scores are true, and whether there
    may be better ones is said.
    """
    labels = list(own.model.labels)
    prediction = own.model.predict(own.corpus, decode="joint")
    found = own.model.nbest(own.corpus, BEST)
    assert found.exact or own.model.spec.latents
    for s, (enumerated, best) in enumerate(zip(own.sentences, found.sentences, strict=True)):
        scores = enumerated.labellings(own.weights, labels)
        likeliest = sorted(scores.values(), reverse=True)[:BEST]
        predicted = np.stack([prediction.codes[label][own.tokens(s)] for label in labels], axis=1).ravel()
        assert tuple(predicted.tolist()) in scores
        if not prediction.status.approximate:
            assert scores[tuple(predicted.tolist())] == pytest.approx(likeliest[0], rel=EXACT, abs=EXACT)
        rows = np.stack([best.codes[label] for label in labels], axis=2).reshape(len(best), -1).tolist()
        assert len({tuple(row) for row in rows}) == len(rows) >= 1
        np.testing.assert_allclose([scores[tuple(row)] for row in rows], best.score, rtol=EXACT, atol=EXACT)
        log_z = reference.log_sum(np.array(list(scores.values())))
        np.testing.assert_allclose(best.probability, np.exp(best.score - log_z), rtol=EXACT, atol=EXACT)
        assert (np.diff(best.score) <= 0).all()
        if best.exact:
            np.testing.assert_allclose(best.score, likeliest, rtol=EXACT, atol=EXACT)


def test_likeliest_states(own):
    """`decode marginal`: at each position the state of the largest marginal, the first where some tie."""
    prediction = own.model.predict(own.corpus, decode="marginal")
    for s, enumerated in enumerate(own.sentences):
        total = enumerated.joint(own.weights)
        for m, label in enumerate(own.model.labels):
            for t, code in enumerate(prediction.codes[label][own.tokens(s)].tolist()):
                p = reference.marginal(total, (t * len(own.model.states) + m,))
                assert p[code] == pytest.approx(p.max(), abs=EXACT)


def test_answers_keep_to_given_labels(own):
    """About half of the gold labels are given; every answer is then that of the labellings that agree."""
    rng, labels = np.random.default_rng(own.number), list(own.model.labels)
    rows, known = [], []
    for sentence, cells in zip(own.case.rows, own.case.known, strict=True):
        kept = rng.random((len(sentence), len(labels))) < 0.5
        observed = len(sentence[0]) - len(labels)
        rows.append(
            [
                (*row[:observed], *(text if keep else "_" for text, keep in zip(row[observed:], keeps, strict=True)))
                for row, keeps in zip(sentence, kept, strict=True)
            ]
        )
        known.append(
            {
                label: [
                    s if keep else own.model.states[label] for s, keep in zip(cells[label], kept[:, m], strict=True)
                ]
                for m, label in enumerate(labels)
            }
        )
    corpus = corpus_from_rows(rows, own.model.spec.data)
    given = encode_known_labels(own.model.spec, own.model.states, corpus)
    marginals, status = own.model.marginals(corpus, given=given)
    found = own.model.nbest(corpus, 1, given=given)
    assert not status.impossible
    assert found.exact or own.model.spec.latents
    for s, enumerated in enumerate(own.sentences):
        some = enumerated.only(known[s])
        total = some.joint(own.weights)
        for m, name in enumerate(own.model.states):
            for t, table in enumerate(marginals[name][own.tokens(s)]):
                expected = reference.marginal(total, (t * len(own.model.states) + m,))
                np.testing.assert_allclose(table, expected, atol=EXACT)
        scores = some.labellings(own.weights, labels)
        best = found.sentences[s]
        row = np.stack([best.codes[label][0] for label in labels], axis=1).ravel()
        np.testing.assert_allclose(best.score, [scores[tuple(row.tolist())]], rtol=EXACT, atol=EXACT)
        if best.exact:
            np.testing.assert_allclose(best.score, [max(scores.values())], rtol=EXACT, atol=EXACT)


def test_draws(own):
    labels = list(own.model.labels)
    drawn = own.model.sample(own.corpus, DRAWS, seed=own.number)
    for s, enumerated in enumerate(own.sentences):
        scores = enumerated.labellings(own.weights, labels)
        p = np.exp(np.array(list(scores.values())) - reference.log_sum(np.array(list(scores.values()))))
        rows = np.stack([drawn.codes[label][:, own.tokens(s)] for label in labels], axis=2).reshape(DRAWS, -1)
        position = {row: n for n, row in enumerate(scores)}
        counts = np.bincount([position[tuple(row)] for row in rows.tolist()], minlength=len(p))  # none is impossible
        assert_frequencies(counts, p)


def assert_frequencies(counts: np.ndarray, p: np.ndarray) -> None:
    """Each as often as it should be, up to some standard errors; and all together, by Pearson's statistic."""
    expected = counts.sum() * p
    assert (np.abs(counts - expected) <= SIGMAS * np.sqrt(expected * (1 - p)) + SIGMAS).all()
    often = expected >= 5
    cells, means = np.append(counts[often], counts[~often].sum()), np.append(expected[often], expected[~often].sum())
    kept = means >= 5
    if kept.sum() > 1:
        free = int(kept.sum()) - 1
        largest = free * (1 - 2 / (9 * free) + SIGMAS * np.sqrt(2 / (9 * free))) ** 3  # Wilson and Hilferty 1931
        assert ((cells - means)[kept] ** 2 / means[kept]).sum() <= largest


@pytest.mark.parametrize("settings", [TrpSettings(tolerance=1e-12), BpSettings(tolerance=1e-12)], ids=["trp", "bp"])
def test_messages_on_trees(own, settings):
    exact, found = expectations(own, ExactSettings()), expectations(own, settings)
    _, data, _ = bound(own, settings)
    off = data.marginal_off
    for s, shape in enumerate(data.rows.shape.tolist()):
        if is_forest(data.bank.shapes[shape].scopes):
            assert found.log_z[s] == pytest.approx(exact.log_z[s], rel=MESSAGES, abs=MESSAGES)
            inside = np.zeros(len(exact.marginals), bool)
            inside[off[s] : off[s + 1]] = True
            inside &= exact.marginals > 0  # of a variable in no clique there are none
            np.testing.assert_allclose(found.marginals[inside], exact.marginals[inside], atol=MESSAGES)


def is_forest(scopes) -> bool:
    """Whether the graph of factors and variables has no cycle: every edge joins two components."""
    component: dict[object, object] = {}

    def top(node: object) -> object:
        while component.setdefault(node, node) != node:
            node = component[node]
        return node

    for f, scope in enumerate(scopes):
        for v in scope:
            if top(("factor", f)) == top(v):
                return False
            component[top(v)] = top(("factor", f))
    return True


def test_weights_are_those_of_the_data(own):
    """`seen`: what a gold instance shows; what is not known of it counts with every state that it may have."""
    listed = set(own.twin.number)
    shown, possible = set(), set()
    for enumerated, table, known in zip(own.sentences, own.case.tables, own.case.known, strict=True):
        firing = [own.twin.firing(n, table, enumerated.length) for n in range(len(own.model.spec.cliques))]
        agree = enumerated.agreeing(known)
        for labelling, agrees in zip(own.twin.possible(table), agree, strict=True):
            keys = {key for key, _ in own.twin.fired(labelling, firing, enumerated.length)}
            possible |= keys
            if agrees:
                shown |= keys
    for clique in own.model.spec.cliques:
        only_bias = not clique.features or clique.features == (Reference(name="bias"),)
        everything = (clique.states or ("all" if only_bias else "seen")) == "all"
        mine = {key for key in listed if key[0] == clique.label}
        needed = {key for key in (possible if everything else shown) if key[0] == clique.label}
        assert needed <= mine
        if everything:
            assignments = [{key[2] for key in mine if key[1] == text} for text in {key[1] for key in mine}]
            assert all(one == assignments[0] for one in assignments)
        elif not own.case.partly_known and not own.model.spec.latents:
            assert needed == mine


# cases that chance found --------------------------------------------------------------------------------------------


def test_no_padded_clique_lies_where_none_of_its_sites_does():
    """Of `y[-2], y` in a sentence of one position: not where one site is before it and the other after it."""
    text = (
        "data conll(word, y)\nlabel y in {P, Q}\nclique y: word\nclique y[-2], y as far with edges = pad\ninfer exact\n"
    )
    resolved = load_text(text)
    corpus = corpus_from_rows([[("a", "P")], [("a", "P"), ("b", "Q")]], resolved.require().data)
    model = fit(resolved, corpus)
    found = [
        [own.sites for own in cliques if own.clique == "far"] for cliques, _ in model.events.clique_marginals(corpus)
    ]
    assert sorted(found[0]) == [(("y", 0),)] * 2
    assert sorted(found[1]) == [(("y", 0),)] * 2 + [(("y", 1),)] * 2
    assert ("far", "bias", ("START", "STOP")) not in [weight[:3] for weight in model.explanations.iter_weights()]


# the twin itself ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_the_twin_reads_conditions_as_they_were_read_by_hand(name):
    """Constraints, joined pairs and views of the fixed cases, which state their meaning beside their text."""
    case = CASES[name]
    spec = case.resolved().require()
    tables = [columns(case, sentence) for sentence in case.sentences]
    states = {label.name: tuple(dict.fromkeys(s for t in tables for s in t[label.name])) for label in spec.labels}
    by_itself = TemplateTwin(spec, states, {})
    by_hand = TemplateTwin(spec, states, {}, case.allowed, case.joins, case.views)
    assert by_itself.views == dict(by_hand.views)
    for table in tables:
        length = len(table["word"])
        for number in range(len(spec.cliques)):
            assert by_itself.firing(number, table, length) == by_hand.firing(number, table, length)
        assert list(by_itself.possible(table)) == list(by_hand.possible(table))


@pytest.mark.long
def test_the_cases_have_what_they_should():
    """Among the drawn cases are all families, and every hard part often enough."""
    cases = [draw(number) for number in range(COUNT)]
    assert {case.family for case in cases} == set(FAMILIES)
    words = ("latent", "memory", "view", "forbid", "require", "where", "edges = pad", "= all", "missing", "ambiguous",
             "bio(X)", "bioes(X)")  # fmt: skip
    counts = {word: sum(word in case.text for case in cases) for word in words}
    assert min(counts.values()) >= COUNT // 30, counts
    assert sum(case.partly_known for case in cases) >= COUNT // 6
