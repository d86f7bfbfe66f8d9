"""Bounds on the lengths of runs and segments, against enumeration in texts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
import pytest
import reference
from template_twin import SEGMENTS, TemplateTwin

from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.criteria.penalties import Penalty
from dcrfdsl.data import corpus_from_rows, encode_known_labels
from dcrfdsl.foundation import DcrfError
from dcrfdsl.inference import METHODS, Binder, Workers
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.training import size_limits
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.untrained_model import assemble

BEST = 8
WORDS = "clique {0} as words_{0} with states = all: bias, word\n"
CHAIN = WORDS.format("y") + "clique y[-1], y as moves\n"
LAYERS = CHAIN + WORDS.format("z") + "clique z[-1], z as other_moves\nclique y, z as both\n"


@dataclass(frozen=True)
class Case:
    """labels: the domain of each.   text: the other statements.

    rules: (label, state or type or None, least, most, whether ends may be cut), as the statements say.
    """

    labels: dict[str, str]
    text: str
    rules: tuple
    longest: int = 6
    kept: dict = field(default_factory=dict)

    @property
    def template(self):
        declared = "".join(f'label {name} in {domain} with missing = "?"\n' for name, domain in self.labels.items())
        return f"data conll(word, {', '.join(self.labels)})\n{declared}{self.text}infer exact\n"


AB, ABC = {"y": "{A, B}"}, {"y": "{A, B, C}"}
CASES = {
    "least": Case(AB, CHAIN + "runs of y from 3\n", (("y", None, 3, 99, True),)),
    "least, whole": Case(AB, CHAIN + "runs of y from 2 with ends = whole\n", (("y", None, 2, 99, False),)),
    "both": Case(AB, CHAIN + "runs of y from 2 up to 3\n", (("y", None, 2, 3, True),)),
    "both, whole": Case(AB, CHAIN + "runs of y from 2 up to 3 with ends = whole\n", (("y", None, 2, 3, False),)),
    "most": Case(AB, CHAIN + "runs of y up to 2\n", (("y", None, 1, 2, True),)),
    "one state": Case(ABC, CHAIN + "runs of y is B from 2 up to 2\n", (("y", "B", 2, 2, True),), 4),
    "state by state": Case(
        ABC, "let two = 2\n" + CHAIN + "runs of y from two with ends = whole\nruns of y is B up to 1\n",
        (("y", None, 2, 99, False), ("y", "B", 1, 1, True)), 5,
    ),
    "second order": Case(
        AB, CHAIN + "clique y[-2], y[-1], y as three\nruns of y from 2 up to 3\n", (("y", None, 2, 3, True),),
    ),
    "features of moves": Case(
        AB, WORDS.format("y") + "clique y[-1], y as moves: bias, word\nruns of y from 2 up to 4\n",
        (("y", None, 2, 4, True),),
    ),
    "edges": Case(
        AB, WORDS.format("y") + "clique y[-1], y as moves with edges = pad\nruns of y from 2\n",
        (("y", None, 2, 99, True),),
    ),
    "far": Case(AB, CHAIN + "clique y[-2], y as far\nruns of y from 3\n", (("y", None, 3, 99, True),)),
    "rule": Case(
        AB, CHAIN + "memory seen = seen[-1] or y[-1] is B\nclique seen, y as after\nruns of y is B from 2\n",
        (("y", "B", 2, 99, True),),
    ),
    "layers": Case(
        {"y": "{A, B}", "z": "{P, Q}"}, LAYERS + "runs of y from 2\nruns of z up to 2\n",
        (("y", None, 2, 99, True), ("z", None, 1, 2, True)), 4,
    ),
    "across layers": Case(
        {"y": "{A, B}", "z": "bio(X)"}, LAYERS + "clique y[-1], z as across\nruns of y from 2\nruns of z from 2\n",
        (("y", None, 2, 99, True), ("z", None, 2, 99, False)), 3,
    ),
    "latent": Case(
        AB, CHAIN + "latent h in 2\nclique h, y as sense with states = all\nclique h[-1], h as hidden\n"
        "runs of y from 2 up to 3\n", (("y", None, 2, 3, True),), 4,
    ),
    "bio": Case({"y": "bio(X, Y)"}, CHAIN + "runs of y is X from 2\nruns of y is Y up to 1\n",
                (("y", "X", 2, 99, False), ("y", "Y", 1, 1, False)), 4),
    "bio, cut": Case({"y": "bio(X)"}, CHAIN + "runs of y from 3 with ends = cut\n", (("y", None, 3, 99, True),), 5),
    "bioes": Case({"y": "bioes(X)"}, CHAIN + "runs of y from 2 up to 3\n", (("y", None, 2, 3, False),), 5),
    "bmes, cut": Case({"y": "bmes(X)"}, CHAIN + "runs of y from 2 up to 2 with ends = cut\n",
                      (("y", None, 2, 2, True),), 4),
    "once": Case({"y": "bio(X)"}, CHAIN + "once y\nruns of y from 2\n", (("y", None, 2, 99, False), ("y", "once"))),
    "segments": Case({"y": "bio(X)"}, CHAIN + "segment y from 2 up to 3 as spans: length\n",
                     (("y", None, 2, 3, False),), 5),
    "segments, longer": Case(
        AB, CHAIN + "segment y from 2 up to 2 as spans with longer = together: length\n", (("y", None, 2, 99, False),),
    ),
    "segments and runs": Case(
        {"y": "bio(X)", "z": "{P, Q}"}, LAYERS + "segment y from 2 up to 3 as spans: length\nruns of z from 2\n",
        (("y", None, 2, 3, False), ("z", None, 2, 99, True)), 3,
    ),
}  # fmt: skip


def pieces(states, scheme):
    """(name, first, last) of each run, or of each segment of a legal labelling."""
    if not scheme:
        at = [0, *(t for t in range(1, len(states)) if states[t] != states[t - 1]), len(states)]
        return [(states[a], a, b - 1) for a, b in itertools.pairwise(at)]
    begins = [t for t, state in enumerate(states) if state[0] in "BSU"]
    out = []
    for t in begins:
        last = t
        while last + 1 < len(states) and states[last + 1][0] in "IEM" and states[last][0] not in "SEU":
            last += 1
        out.append((states[t].partition("-")[2], t, last))
    return out


def keeps(case, spec):
    """Whether a labelling keeps to the rules, asked at its first position."""
    domains = {one.name: one.domain for one in spec.labels}

    def answer(labelling, t):
        if t:
            return True
        for name, domain in domains.items():
            if domain.kind == "scheme" and not SEGMENTS[domain.name](labelling[name]):
                return False
        for name, *rule in case.rules:
            states, scheme = labelling[name], domains[name].kind == "scheme"
            found = pieces(states, scheme)
            if rule == ["once"]:
                if len({kind for kind, *_ in found}) < len(found):
                    return False
                continue
            state, least, most, cut = rule
            own = {other[1] for other in case.rules if other[0] == name and len(other) > 2 and other[1]}
            for kind, first, last in found:
                if kind != state and (state is not None or kind in own):
                    continue
                exempt = cut and (first == 0 or last == len(states) - 1)
                if last - first + 1 > most or (last - first + 1 < least and not exempt):
                    return False
        return True

    return answer


class Own:
    """A case with random weights, and what enumeration says of each sentence."""

    def __init__(self, name, seed=0):
        self.case = case = CASES[name]
        resolved = load_text(case.template)
        assert not resolved.diagnostics, resolved.diagnostics
        rng, spec = np.random.default_rng(seed), resolved.spec
        labels = tuple(case.labels)
        self.rows = list(self._drawn(rng, spec, labels))
        self.corpus = corpus_from_rows(self.rows, spec.data)
        model = fit(resolved, self.corpus, threads=1)
        self.model: TrainedModel = model.with_weights(rng.normal(0, 1.5, model.num_weights), model.record)
        variables = [*labels, *(one.name for one in (*spec.latents, *spec.memories))]
        states = {name: model.states[name] for name in variables}
        weights = {(c, feature, sites): w for c, feature, sites, w in self.model.explanations.iter_weights()}
        if any(clique.segmental for clique in spec.cliques):  # the twin knows no segments: their weights are 0
            model = self.model
            off = [w * (c != "spans") for (c, *_), w in weights.items()]
            self.model = model.with_weights(np.array(off), model.record)
            weights = dict(zip(weights, off, strict=True))
            spec = spec.model_copy(update={"cliques": tuple(c for c in spec.cliques if not c.segmental)})
        self.twin = TemplateTwin(spec, states, weights, allowed=keeps(case, spec))
        tables = [{"word": [row[0] for row in sentence]} for sentence in self.rows]
        self.sentences = [self.twin.enumerate(table) for table in tables]
        self.known = [
            {name: [row[1 + m] for row in sentence] for m, name in enumerate(labels)} for sentence in self.rows
        ]

    def _drawn(self, rng, spec, labels):
        """Sentences with labels that keep to the rules: the longest one has all states that are declared."""
        states = {one.name: self._states(one.domain) for one in spec.labels}
        possible = keeps(self.case, spec)
        for length in (self.case.longest, self.case.longest, 3, 2, 1):
            for _ in range(3000):
                drawn = {name: rng.choice(states[name], length).tolist() for name in labels}
                if possible(drawn, 0):
                    yield [(str(rng.choice(list("ab"))), *(drawn[name][t] for name in labels)) for t in range(length)]
                    break

    @staticmethod
    def _states(domain):
        if domain.kind != "scheme":
            return list(domain.states)
        marks = {"bio": "BI", "bioes": "BIES", "bmes": "BMES"}[domain.name]
        return [f"{mark}-{kind}" for kind in domain.types for mark in marks] + ["O"]

    def tokens(self, s):
        return slice(*self.corpus.sentence_off[s : s + 2].tolist())


@pytest.fixture(scope="module", params=CASES)
def own(request):
    return Own(request.param)


@pytest.mark.parametrize("form", ["exact", "automaton"])
def test_value_and_gradient(own, form):
    problem = assemble(own.model.spec, own.corpus, {}, {})
    if own.model.graph.num_latents or (form == "automaton" and "moves: bias, word" in own.case.text):
        pytest.skip("latent: a difference of two; features of moves have no automaton")
    data = Binder(own.model.graph, own.model.parameters, programs=form == "exact").bind(
        problem.rows, own.corpus.sentence_off, {}
    )
    method, counts = METHODS[form].build(data, ExactSettings()), problem.learn_parameters()[1]
    objective = Likelihood(data, method, counts, Penalty.none(own.model.num_weights), Workers(1), None)
    value, gradient = objective.value_and_gradient(own.model.weights)
    pairs = list(zip(own.sentences, own.known, strict=True))
    weights = own.twin.weights
    assert value == pytest.approx(sum(e.loss(weights, known) for e, known in pairs), abs=1e-9)
    numeric = sum(e.gradient(weights, known) for e, known in pairs)
    spans = [c != "spans" for c, *_ in own.model.explanations.iter_weights()]
    np.testing.assert_allclose(gradient[spans], numeric[spans], atol=2e-6)


def test_marginals_and_probabilities(own):
    marginals, _ = own.model.marginals(own.corpus)
    total = 0.0
    for s, (enumerated, known) in enumerate(zip(own.sentences, own.known, strict=True)):
        joint, width = enumerated.joint(own.twin.weights), len(own.twin.states)
        total -= enumerated.loss(own.twin.weights, known)
        for m, name in enumerate(own.model.labels):
            for t, table in enumerate(marginals[name][own.tokens(s)]):
                np.testing.assert_allclose(table, reference.marginal(joint, (t * width + m,)), atol=1e-9)
    assert own.model.scores.log_likelihood(own.corpus) == pytest.approx(total, abs=1e-9)


def test_best_labellings_and_samples(own):
    labels = list(own.model.labels)
    prediction, found = own.model.predict(own.corpus), own.model.nbest(own.corpus, BEST)
    for s, (enumerated, best) in enumerate(zip(own.sentences, found.sentences, strict=True)):
        scores = enumerated.labellings(own.twin.weights, labels)
        likeliest = sorted(scores.values(), reverse=True)[:BEST]
        if own.model.graph.num_latents == 0:
            np.testing.assert_allclose(best.score, likeliest, atol=1e-9)
        rows = np.stack([best.codes[label] for label in labels], axis=2).reshape(len(best), -1).tolist()
        assert len({tuple(row) for row in rows}) == len(rows)
        assert all(tuple(row) in scores for row in rows)
        row = np.stack([prediction.codes[label][own.tokens(s)] for label in labels], axis=1).ravel()
        assert scores[tuple(row.tolist())] == pytest.approx(likeliest[0], abs=1e-9)


def test_unknown_labels_are_summed_out(own):
    rows = [
        [(row[0], *("?" if t % 2 else state for state in row[1:])) for t, row in enumerate(one)] for one in own.rows
    ]
    corpus = corpus_from_rows(rows, own.model.spec.data)
    total = 0.0
    for enumerated, known in zip(own.sentences, own.known, strict=True):
        every = {name: own.model.states[name] for name in known}
        some = {name: [every[name] if t % 2 else one for t, one in enumerate(of)] for name, of in known.items()}
        total -= enumerated.loss(own.twin.weights, some)
    assert own.model.scores.log_likelihood(corpus) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("name", ["both", "layers", "bioes", "segments and runs"])
def test_a_saved_model_keeps_to_given_labels(name, tmp_path):
    own = Own(name)
    own.model.save(tmp_path / "m.model")
    again = TrainedModel.load(tmp_path / "m.model")
    assert again.spec == own.model.spec
    assert dict(again.states) == dict(own.model.states)
    rows = [
        [(row[0], *(state if t == 0 else "_" for state in row[1:])) for t, row in enumerate(one)] for one in own.rows
    ]
    corpus = corpus_from_rows(rows, again.spec.data)
    predicted = again.predict(corpus, given=encode_known_labels(again.spec, again.states, corpus))
    for s, (enumerated, known) in enumerate(zip(own.sentences, own.known, strict=True)):
        first = {label: [of[0], *[again.states[label]] * (len(of) - 1)] for label, of in known.items()}
        scores = enumerated.only(first).labellings(own.twin.weights, list(again.labels))
        row = np.stack([predicted.codes[label][own.tokens(s)] for label in again.labels], axis=1).ravel()
        assert scores[tuple(row.tolist())] == pytest.approx(max(scores.values()), abs=1e-9)


BROKEN = {
    "from 2": ("AABAA", "in 1 of 3 runs (line 1); the first is of `B` and has 1 token", "from 1"),
    "up to 2": ("AAAB", "in 1 of 2 runs (line 1); the first is of `A` and has 3 tokens", "up to 3"),
    "from 2 with ends = whole": ("ABB", "in 1 of 2 runs (line 1); the first is of `A` and has 1 token", "from 1"),
}


@pytest.mark.parametrize("bounds", BROKEN)
def test_gold_runs_out_of_bounds_name_their_lines(bounds):
    states, message, remedy = BROKEN[bounds]
    resolved = load_text(f"data conll(word, y)\nlabel y\nclique y: word\nruns of y {bounds}\n")
    with pytest.raises(DcrfError, match="broken-constraint") as raised:
        fit(resolved, corpus_from_rows([[("a", state) for state in states]], resolved.spec.data))
    assert message in str(raised.value)
    assert f"write `{remedy}`" in str(raised.value)


def test_gold_segments_that_are_too_short_name_their_lines():
    resolved = load_text("data conll(word, y)\nlabel y in bio\nclique y: word\nsegment y from 2 up to 3: length\n")
    with pytest.raises(DcrfError, match="segment-too-short") as raised:
        fit(resolved, corpus_from_rows([[("a", "B-X"), ("a", "O"), ("a", "B-X"), ("a", "I-X")]], resolved.spec.data))
    assert "1 of 2 segments of `y` are shorter than 2 tokens (line 1); the shortest has 1" in str(raised.value)


def test_bounds_that_take_too_much_are_refused_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(size_limits, "memory_left", lambda: 2**30)
    states = ", ".join(f"S{n}" for n in range(10))
    resolved = load_text(f"data conll(word, y)\nlabel y in {{{states}}}\nclique y: word\nruns of y from 900\n")
    with pytest.raises(DcrfError, match="too-large") as raised:
        fit(resolved, corpus_from_rows([[("a", "S0")]], resolved.spec.data))
    assert "9,000 × 9,000 states" in str(raised.value)


def test_a_sentence_without_a_labelling_is_told():
    own = Own("least, whole")
    short = corpus_from_rows([[("a", "A")]], own.model.spec.data)
    assert own.model.predict(short).status.impossible == (0,)


@pytest.mark.long
@pytest.mark.parametrize("method", ["trp", "bp", "exact"])
def test_on_loops_every_labelling_keeps_to_the_bounds(method):
    skip = "clique y[i], y[j] where word[i] = word[j] as skip with max_gap = 4\n"
    text = f"data conll(word, y)\nlabel y in {{A, B, C}}\n{CHAIN}{skip}runs of y from 3 up to 5\ninfer {method}\n"
    rng, resolved = np.random.default_rng(0), load_text(text)
    gold = [[(str(rng.choice(list("abcd"))), "ABC"[t // 4]) for t in range(12)] for _ in range(3)]
    model = fit(resolved, corpus_from_rows(gold, resolved.spec.data), threads=1)
    new = corpus_from_rows([[(str(rng.choice(list("abcde"))), "A") for _ in range(25)] for _ in range(6)],
                           resolved.spec.data)  # fmt: skip
    for seed in range(3):
        weights = np.random.default_rng(seed).normal(size=model.num_weights)
        found = model.with_weights(weights, model.record).predict(new).texts("y")
        assert_bounded(found, new.sentence_off, 3, 5)


def assert_bounded(states, sentence_off, least, most):
    for first, end in itertools.pairwise(sentence_off.tolist()):
        runs = pieces(states[first:end], "")
        assert all(b - a < most for _, a, b in runs)
        assert all(b - a + 1 >= least for _, a, b in runs[1:-1])


@pytest.mark.long
def test_a_sequence_of_thirty_thousand_positions():
    rng, names, rows = np.random.default_rng(0), list("ABCDE"), []
    while len(rows) < 30_000:
        state = int(rng.integers(5))
        drawn = rng.normal(state, 1.5, int(rng.integers(20, 60))).round(2)
        rows += [(str(x), names[state]) for x in drawn] if not rows or rows[-1][1] != names[state] else []
    resolved = load_text(
        "data conll(x: float, y)\nlabel y in {A, B, C, D, E}\nclique y: bias, x[-1..1]\nclique y[-1], y\n"
        "runs of y from 20\ninfer exact\ntrain likelihood: optimizer = lbfgs(max_iterations = 4)\n"
    )
    corpus = corpus_from_rows([rows[:30_000]], resolved.spec.data)
    model = fit(resolved, corpus)
    for weights in (model.weights, 5 * np.random.default_rng(1).normal(size=model.num_weights)):
        predicted = model.with_weights(weights, model.record)
        assert_bounded(predicted.predict(corpus).texts("y"), corpus.sentence_off, 20, 30_000)
        for draw in range(2):
            drawn = predicted.sample(corpus, 2, seed=1).codes["y"][draw]
            assert_bounded([names[k] for k in drawn], corpus.sentence_off, 20, 30_000)
