"""`once` against enumeration in texts, where it is a part of the graph and where decoding searches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference
from template_twin import TemplateTwin

from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.criteria.penalties import Penalty
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.labels import encode_known_labels
from dcrfdsl.foundation import DcrfError
from dcrfdsl.inference import METHODS, Binder, Workers
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.checks import check
from dcrfdsl.semantics.conditions import implied_memories
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.untrained_model import assemble

BEST = 6
CHAIN = """
data conll(word, part)
label part in {domain}
clique part with states = all: bias, word
clique part[-1], part
once part{free}
"""
COUPLED = """
data conll(word, pos, part)
label pos in {N, V}
label part in {A, B, O}
clique part with states = all: bias, word
clique pos with states = all: bias, word
clique pos, part
clique part[-1], part
clique pos[-1], pos
once part except {O} as single
once pos except {V}
"""
CASES = {
    "bio": (CHAIN.format(domain="bio(A, B)", free=""), [["B-A", "I-A", "O", "B-B"], ["B-B", "B-A"], ["O"]]),
    "bio, one free": (CHAIN.format(domain="bio(A, B)", free=" except {B}"), [["B-B", "B-B", "B-A"], ["O"]]),
    "bioes": (CHAIN.format(domain="bioes(A, B)", free=""), [["B-A", "E-A", "S-B"], ["O", "S-B", "S-A"], ["S-A"]]),
    "free moves": (
        CHAIN.format(domain="bio(A) with constrain = no", free=""), [["I-A", "I-A", "O", "O"], ["B-A", "I-A"], ["O"]],
    ),
    "states": (CHAIN.format(domain="{A, B, O}", free=" except {O}"), [["A", "A", "O", "B"], ["O", "B", "O"], ["A"]]),
    "coupled": (COUPLED, [[("N", "A"), ("V", "A"), ("V", "O")], [("V", "B"), ("N", "A")], [("V", "O")]]),
}  # fmt: skip


def beginnings(states, *, scheme):
    """What begins in a sentence, as conlleval reads segments; without a scheme, runs."""
    before, out = "O" if scheme else None, []
    for state in states:
        if not scheme:
            out += [state] if state != before else []
        elif state != "O":
            goes_on = state[0] in "IE" and before[0] in "BI" and before[2:] == state[2:]
            out += [] if goes_on else [state[2:]]
        before = state
    return out


def allowed(spec):
    """Whether a labelling keeps to the rules, at its first position; and to the scheme of its label."""

    def keeps(labelling, t):
        if t:
            return True
        for label in spec.labels:
            scheme = label.domain.kind == "scheme"
            if scheme and label.constrain and not legal(labelling[label.name], label.domain.name):
                return False
            free = {name for once in spec.onces if once.label == label.name for name in once.free}
            bound = any(once.label == label.name for once in spec.onces)
            begun = [one for one in beginnings(labelling[label.name], scheme=scheme) if one not in free]
            if bound and len(set(begun)) < len(begun):
                return False
        return True

    return keeps


def legal(states, scheme):
    for before, after in itertools.pairwise(["O", *states, "O"]):
        if after[0] in "IE" and (before[0] not in "BI" or before[2:] != after[2:]):
            return False
        if scheme == "bioes" and before[0] in "BI" and after[0] not in "IE":
            return False
    return True


class Own:
    """A case with random weights, and what enumeration says of each sentence."""

    def __init__(self, name, seed=0):
        text, gold = CASES[name]
        rng = np.random.default_rng(seed)
        self.rows = [
            [("abc"[rng.integers(3)], *(states if isinstance(states, tuple) else (states,))) for states in sentence]
            for sentence in [*gold, gold[0]]
        ]
        resolved = load_text(text)
        self.corpus = corpus_from_rows(self.rows, resolved.spec.data)
        model = fit(resolved, self.corpus, threads=1)
        self.model: TrainedModel = model.with_weights(rng.normal(0, 2.0, model.num_weights), model.record)
        spec, states = model.spec, {name: model.states[name] for name in model.labels}
        weights = {(c, feature, sites): w for c, feature, sites, w in self.model.explanations.iter_weights()}
        self.twin = TemplateTwin(spec, states, weights, allowed=allowed(spec))
        tables = [{"word": [row[0] for row in sentence]} for sentence in self.rows]
        self.sentences = [self.twin.enumerate(table) for table in tables]
        self.known = [
            {name: [row[1 + m] for row in sentence] for m, name in enumerate(model.labels)} for sentence in self.rows
        ]

    def tokens(self, s):
        return slice(*self.corpus.sentence_off[s : s + 2].tolist())

    def check_best(self, corpus, sentences, given=None):
        labels = list(self.model.labels)
        prediction, found = self.model.predict(corpus, given=given), self.model.nbest(corpus, BEST, given=given)
        assert found.exact
        for s, (enumerated, best) in enumerate(zip(sentences, found.sentences, strict=True)):
            scores = enumerated.labellings(self.twin.weights, labels)
            likeliest = sorted(scores.values(), reverse=True)[:BEST]
            np.testing.assert_allclose(best.score, likeliest, atol=1e-9)
            rows = np.stack([best.codes[label] for label in labels], axis=2).reshape(len(best), -1).tolist()
            np.testing.assert_allclose([scores[tuple(row)] for row in rows], best.score, atol=1e-9)
            assert len({tuple(row) for row in rows}) == len(rows)
            row = np.stack([prediction.codes[label][self.tokens(s)] for label in labels], axis=1).ravel()
            assert scores[tuple(row.tolist())] == pytest.approx(likeliest[0], abs=1e-9)
            assert prediction.scores[s] == pytest.approx(likeliest[0], abs=1e-9)
        return found


@pytest.fixture(params=CASES)
def case(request):
    return request.param


@pytest.fixture
def by_search(monkeypatch):
    monkeypatch.setattr(implied_memories, "MOST_JOINT", 0)


def test_value_gradient_and_marginals(case):
    own = Own(case)
    problem = assemble(own.model.spec, own.corpus, {}, {})
    entry, off = METHODS["exact"], own.corpus.sentence_off
    data = Binder(own.model.graph, own.model.parameters, programs=True).bind(problem.rows, off, {})
    counts = problem.learn_parameters()[1]
    method = entry.build(data, ExactSettings())
    weights = own.twin.weights
    value, gradient = Likelihood(data, method, counts, Penalty.none(len(weights)), Workers(1), None).value_and_gradient(
        own.model.weights
    )
    pairs = list(zip(own.sentences, own.known, strict=True))
    assert value == pytest.approx(sum(e.loss(weights, known) for e, known in pairs), abs=1e-9)
    numeric = sum(e.gradient(weights, known) for e, known in pairs)
    np.testing.assert_allclose(gradient, numeric, atol=2e-6)
    marginals, _ = own.model.marginals(own.corpus)
    assert list(marginals) == list(own.model.labels)
    for s, enumerated in enumerate(own.sentences):
        total = enumerated.joint(weights)
        for m, name in enumerate(own.model.labels):
            for t, table in enumerate(marginals[name][own.tokens(s)]):
                expected = reference.marginal(total, (t * len(own.model.labels) + m,))
                np.testing.assert_allclose(table, expected, atol=1e-9)


def test_best_labellings(case):
    own = Own(case)
    found = own.check_best(own.corpus, own.sentences)
    log_z = [reference.log_sum(e.scores(own.twin.weights)) for e in own.sentences]
    for best, z in zip(found.sentences, log_z, strict=True):
        np.testing.assert_allclose(best.probability, np.exp(best.score - z), atol=1e-9)


def test_best_labellings_by_search(case, by_search):
    for seed in range(3):
        own = Own(case, seed)
        assert own.model.keeps_once_by_search
        assert own.model.graph.variables == own.model.labels
        own.check_best(own.corpus, own.sentences)


@pytest.mark.parametrize("searched", [False, True])
def test_given_labels_are_kept(case, searched, monkeypatch):
    if searched:
        monkeypatch.setattr(implied_memories, "MOST_JOINT", 0)
    own, labels = Own(case), 0
    rows, some = [], []
    for sentence, enumerated, known in zip(own.rows, own.sentences, own.known, strict=True):
        labels = len(own.model.labels)
        rows.append([(*row[:-1], row[-1] if t == 0 else "_") for t, row in enumerate(sentence)])
        rows[-1] = [(row[0], *("_" for _ in range(labels - 1)), row[-1]) for row in rows[-1]]
        last = own.model.labels[-1]
        every = own.model.states[last]
        some.append(enumerated.only({last: [known[last][0], *([every] * (len(sentence) - 1))]}))
    corpus = corpus_from_rows(rows, own.model.spec.data)
    given = encode_known_labels(own.model.spec, own.model.states, corpus)
    own.check_best(corpus, some, given)


@pytest.mark.parametrize("searched", [False, True])
def test_given_labels_that_break_the_rule(searched, monkeypatch):
    if searched:
        monkeypatch.setattr(implied_memories, "MOST_JOINT", 0)
    own = Own("bio")
    corpus = corpus_from_rows([[("a", "B-A"), ("b", "O"), ("a", "B-A")], [("a", "_")]], own.model.spec.data)
    given = encode_known_labels(own.model.spec, own.model.states, corpus)
    assert own.model.predict(corpus, given=given).status.impossible == (0,)
    assert [len(best) for best in own.model.nbest(corpus, 2, given=given).sentences] == [0, 2]


def test_a_saved_model_tags_with_once_too(tmp_path):
    own = Own("bio")
    own.model.save(tmp_path / "m.model")
    again = TrainedModel.load(tmp_path / "m.model")
    assert again.spec == own.model.spec
    assert dict(again.states) == dict(own.model.states)
    np.testing.assert_array_equal(again.predict(own.corpus).codes["part"], own.model.predict(own.corpus).codes["part"])


def test_what_does_not_keep_to_it_is_refused(by_search):
    own = Own("states")
    for call in (
        lambda: own.model.predict(own.corpus, decode="marginal"),
        lambda: own.model.sample(own.corpus, 2),
        lambda: fit(load_text(CASES["states"][0] + "decode marginal\n"), own.corpus),
        lambda: fit(load_text(CASES["states"][0] + "clique part[i], part[j] where word[i] = word[j]\n"), own.corpus),
        lambda: fit(load_text(CASES["states"][0] + "clique part[-2], part\n"), own.corpus),
    ):
        with pytest.raises(DcrfError, match="once"):
            call()


@pytest.mark.parametrize("free, expected", [("", ["bad-window", "once-not-exact"]), (" except {A, B}", ["bad-window"])])
def test_a_window_of_any_width_is_refused_at_once(free, expected):
    text = f"data tsv(word, part)\nlabel part in bio(A, B)\nclique part[4294967296], part\nonce part{free}\n"
    found = check(load_text(text))
    assert [one.slug for one in found if one.severity == "error"] == expected


JOINED, WHOLE = (
    "clique part[i], part[j] where word[i] = word[j] as far\n",
    "label s in {S, T} for sentence\nclique s: bias\n",
)
TYPES = ", ".join(f"T{n}" for n in range(12))
REFUSED = [
    ("{A, B}", "once part except {A}", WHOLE + JOINED, "`clique far` does", "leave out the clique, or the `once`"),
    (f"bio({TYPES})", "once part", WHOLE, "too many types for the graph: 12, and at most 7 fit; ", "at most 7 types: "),
    (f"bio({TYPES})", "once part", "clique part[-4], part\n", "does not fit into the graph", "leave out the `once`"),
]


@pytest.mark.parametrize("domain, once, more, why, remedy", REFUSED)
def test_what_cannot_keep_to_it_is_said_truly(domain, once, more, why, remedy):
    text = f"data conll(word, part, s)\nlabel part in {domain}\nclique part: word\n{more}{once}\n"
    (found,) = [one for one in check(load_text(text)) if one.severity == "error"]
    assert found.slug == "once-not-exact"
    assert why in found.message and remedy in (found.help or "")


def test_as_many_types_as_the_message_says_fit():
    domain, once, more, _, _ = REFUSED[1]
    text = f"data conll(word, part, s)\nlabel part in {domain}\nclique part: word\n{more}{once}"
    for free, errors in ((5, 0), (4, 1)):
        names = ", ".join(f"T{n}" for n in range(free))
        found = check(load_text(f"{text} except {{{names}}}\n"))
        assert sum(one.severity == "error" for one in found) == errors


def test_gold_labels_that_break_it_are_named():
    text, _ = CASES["bio"]
    rows = [[("a", "B-A"), ("b", "O"), ("c", "B-A")], [("a", "B-B")]]
    with pytest.raises(DcrfError) as raised:
        fit(load_text(text), corpus_from_rows(rows, load_text(text).spec.data))
    (found,) = raised.value.diagnostics
    assert found.slug == "broken-constraint"
    assert "1 of 2 sentences: `A` begins again" in found.message
    assert "except {A}" in found.help


@pytest.mark.parametrize("criterion", ["hmm", "pseudolikelihood"])
def test_training_that_does_without_it_gives_the_same_labels_by_search(criterion, monkeypatch):
    text, gold = CASES["bio"]
    text += f"train {criterion}\ndecode joint\n"
    rng, data = np.random.default_rng(4), load_text(text).spec.data
    train = corpus_from_rows([[("abc"[rng.integers(3)], state) for state in states] for states in gold * 3], data)
    test = corpus_from_rows([[(word, "O") for word in rng.choice(list("abc"), 6)] for _ in range(20)], data)
    inside = fit(load_text(text), train)
    monkeypatch.setattr(implied_memories, "MOST_JOINT", 0)
    searched = fit(load_text(text), train)
    np.testing.assert_allclose(inside.weights, searched.weights, atol=1e-6)
    np.testing.assert_allclose(inside.predict(test).scores, searched.predict(test).scores, atol=1e-5)
