"""Segments that are a part of the graph, beside other variables and wide cliques: against enumeration by hand.

The scores are counted from the words and the names of the weights; nothing here uses rows, graphs or kernels. Values
and gradients of all criteria are in `criteria/test_all_criteria`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
import pytest
from segment_cases import BIO, BIOES, drawn_sentences, legal, segment_texts, segments

from dcrfdsl.data import corpus_from_rows, encode_known_labels
from dcrfdsl.model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training import fit

EXACT = 1e-9
LIST = "length, joined(word), first(word[-1]), last(word), any(word), length & first(word), bias"
SECOND = ("P", "Q")


@dataclass(frozen=True)
class JointCase:
    """A label y with segments beside a label z.

    more: statements, each with the keys (clique, feature, states) that it counts at a token.   allowed: a test of a
    labelling.   hidden: states of a latent variable h, if there is one.
    """

    domain: str
    states: tuple[str, ...]
    scheme: str
    limit: int
    more: tuple = ()
    together: bool = False
    allowed: object = staticmethod(lambda words, y, z: True)
    hidden: tuple[str, ...] = ()
    seed: int = 0
    kept: dict = field(default_factory=dict)

    @property
    def text(self):
        lines = [
            "dcrf 1\ndata conll(word, y, z)", f'label y in {self.domain} with missing = "?"', "label z in {P, Q}",
            *(["latent h in 2"] if self.hidden else []), "clique y as words: bias, word", "clique y[-1], y as chain",
            "clique y, z as both", *(text for text, _ in self.more),
            f"segment y up to {self.limit} as spans{' with longer = together' * self.together}: {LIST}",
            "infer exact", "train likelihood: prior = gaussian(variance = 10)",
        ]  # fmt: skip
        return "\n".join(lines) + "\n"

    def sentences(self):
        if "sentences" not in self.kept:
            random = np.random.default_rng(self.seed)
            found = []
            for seed in range(self.seed, self.seed + 40):
                limit = 99 if self.together else self.limit
                for one in drawn_sentences(self.states, seed, count=2, longest=4, scheme=self.scheme, limit=limit):
                    z = random.choice(SECOND, len(one)).tolist()
                    if self.allowed([w for w, _ in one], [y for _, y in one], z):
                        found.append([(w, y, own) for (w, y), own in zip(one, z, strict=True)])
            self.kept["sentences"] = found[:8]
        return self.kept["sentences"]


def move(name, *sites):
    """The keys of a bias over sites of (values, offset) that all lie in the sentence."""

    def keys(t, values):
        if all(0 <= t + offset < len(values["y"]) for _, offset in sites):
            yield name, "bias", tuple(values[of][t + offset] for of, offset in sites)

    return keys


def marked(values, t):
    return values["y"][t][0]


def view_moves(t, values):
    if t:
        yield "marks", "bias", (marked(values, t - 1), marked(values, t))


def padded(t, values):
    """`clique y[-1], y with edges = pad` at t, and behind the last token."""
    y = values["y"]
    yield "edge", "bias", ("START" if t == 0 else y[t - 1], y[t])
    if t == len(y) - 1:
        yield "edge", "bias", (y[t], "STOP")


def wordy(t, values):
    if t:
        yield "wordy", f"word={values['word'][t]}", (values["y"][t - 1], values["y"][t])


def no_quiet_start(words, y, z):
    pairs = zip(y, zip(y[1:], z[1:], strict=True), strict=False)
    return not any(before == "O" and here == "B-Y" and beside == "Q" for before, (here, beside) in pairs)


def three_long(words, y, z):
    """Where R follows another state, two more follow; as everywhere, only where all places lie in the sentence."""
    return not any(y[t - 1] != "R" and y[t] == "R" and (y[t + 1], y[t + 2]) != ("R", "R") for t in range(1, len(y) - 2))


def nothing_at_a(words, y, z):
    return not any(word == "a" and state == "B-Y" for word, state in zip(words, y, strict=True))


def no_end_by_a(gap):
    def allowed(words, y, z):
        return ("B-X", "O", "Q", "a") not in zip(y, y[gap:], z[gap:], words[gap - 1 :], strict=False)

    return allowed


def each_once(words, y, z):
    kinds = [kind for _, _, kind in segments(y, "bio")]
    return len(kinds) == len(set(kinds))


def after_x(t, values):
    yield "after", "bias", ("yes" if "B-X" in values["y"][:t] else "no", values["y"][t])


def again(t, values):
    for i in range(t - 1):
        if values["word"][i] == values["word"][t]:
            yield "again", "bias", (values["y"][i], values["y"][t])


Z_CHAIN = ("clique z[-1], z as zs", move("zs", ("z", -1), ("z", 0)))
CASES = {
    "factorial": JointCase("bio(X, Y)", BIO, "bio", 3, (Z_CHAIN,)),
    "together": JointCase("bio(X, Y)", BIO, "bio", 2, (Z_CHAIN,), together=True, seed=1),
    "bioes across time": JointCase(
        "bioes(X)", BIOES, "bioes", 3,
        (("clique z[-1], y as across", move("across", ("z", -1), ("y", 0))), Z_CHAIN), seed=2,
    ),
    "bioes together": JointCase("bioes(X)", BIOES, "bioes", 2, (Z_CHAIN,), together=True, seed=3),
    "second order of runs": JointCase(
        "{R, S}", ("R", "S"), "", 3,
        (("clique y[-2], y[-1], y as three", move("three", ("y", -2), ("y", -1), ("y", 0))),), seed=4,
    ),
    "runs together": JointCase("{R, S, T}", ("R", "S", "T"), "", 2, (Z_CHAIN,), together=True, seed=5),
    "views": JointCase(
        "bio(X, Y)", BIO, "bio", 3,
        (("view mark = prefix(y, 1)\nclique mark[-1], mark as marks", view_moves), Z_CHAIN), seed=6,
    ),
    "edges": JointCase("bio(X, Y)", BIO, "bio", 3, (("clique y[-1], y as edge with edges = pad", padded),), seed=7),
    "features of moves": JointCase("bio(X, Y)", BIO, "bio", 3, (("clique y[-1], y as wordy: word", wordy),), seed=8),
    "constraint": JointCase(
        "bio(X, Y)", BIO, "bio", 3,
        (("forbid y[-1] is O and y is B-Y and z is Q", lambda t, values: ()), Z_CHAIN), allowed=no_quiet_start, seed=9,
    ),
    "minimum length": JointCase(
        "{R, S}", ("R", "S"), "", 3,
        (("require y[1] is R and y[2] is R when y[-1] is not R and y is R", lambda t, values: ()),), together=True,
        allowed=three_long, seed=17,
    ),
    "observed constraint": JointCase(
        "bio(X, Y)", BIO, "bio", 3, (("forbid y is B-Y and word is a", lambda t, values: ()), Z_CHAIN),
        allowed=nothing_at_a, seed=10,
    ),
    **{f"observed constraint {gap} apart": JointCase(
        "bio(X, Y)", BIO, "bio", 3,
        ((f"forbid y[-{gap}] is B-X and y is O and z is Q and word[-1] is a", lambda t, values: ()), Z_CHAIN),
        allowed=no_end_by_a(gap), seed=14 + gap,
    ) for gap in (1, 2)},
    "once": JointCase(
        "bio(X, Y)", BIO, "bio", 3, (("once y", lambda t, values: ()), Z_CHAIN), allowed=each_once, seed=12,
    ),
    "memory": JointCase(
        "bio(X, Y)", BIO, "bio", 3, (("memory m = m[-1] or y[-1] is B-X\nclique m, y as after", after_x), Z_CHAIN),
        seed=13,
    ),
    "repeated words": JointCase(
        "bio(X, Y)", BIO, "bio", 3,
        (("clique y[i], y[j] where word[i] = word[j] as again with min_gap = 2", again), Z_CHAIN), seed=14,
    ),
    "latent": JointCase(
        "bio(X, Y)", BIO, "bio", 3,
        (("clique h[-1], h as hs", move("hs", ("h", -1), ("h", 0))),
         ("clique h, y as sense", move("sense", ("h", 0), ("y", 0)))), hidden=("0", "1"), seed=11,
    ),
}  # fmt: skip


class JointTwin:
    """A case, fitted, with random weights, and its labellings by hand."""

    def __init__(self, case):
        self.case = case
        resolved = load_text(case.text)
        assert not resolved.diagnostics, resolved.diagnostics
        self.corpus = corpus_from_rows(case.sentences(), resolved.spec.data)
        model = fit(resolved, self.corpus, threads=1)
        weights = np.random.default_rng(case.seed).normal(size=model.num_weights)
        self.model = model.with_weights(weights, model.record)
        self.weight = {(clique, text, states): w for clique, text, states, w in self.model.explanations.iter_weights()}
        assert sum(key[0] == "spans" for key in self.weight) >= 5

    def score(self, words, y, z, h=()):
        case, total = self.case, 0.0
        values = {"word": words, "y": y, "z": z, "h": h}

        def add(*key):
            nonlocal total
            total += self.weight.get(key, 0.0)

        for t, word in enumerate(words):
            add("words", "bias", (y[t],))
            add("words", f"word={word}", (y[t],))
            add("both", "bias", (y[t], z[t]))
            if t:
                add("chain", "bias", (y[t - 1], y[t]))
            for _, keys in case.more:
                for key in keys(t, values):
                    add(*key)
        for start, end, kind in segments(y, case.scheme):
            for text in segment_texts(words, start, end, case.limit):
                add("spans", text, (kind,))
        return total

    def labellings(self, words, known=None):
        """Every possible (y, z) and its score, latent variables summed out."""
        case, size = self.case, len(words)
        for y in itertools.product(case.states, repeat=size):
            if not legal(y, case.scheme):
                continue
            if not case.together and any(end - start > case.limit for start, end, _ in segments(y, case.scheme)):
                continue
            if known is not None and any(k not in ("?", own) for k, own in zip(known, y, strict=True)):
                continue
            for z in itertools.product(SECOND, repeat=size):
                if not case.allowed(words, y, z):
                    continue
                every = itertools.product(case.hidden, repeat=size) if case.hidden else [()]
                yield y, z, np.logaddexp.reduce([self.score(words, y, z, h) for h in every])

    def enumerated(self, sentence, known=None):
        every = list(self.labellings([row[0] for row in sentence], known))
        return every, np.array([score for *_, score in every])


@pytest.fixture(scope="module", params=CASES)
def twin(request):
    return JointTwin(CASES[request.param])


def test_log_likelihood_and_marginals_are_those_of_all_labellings(twin):
    total, token = 0.0, 0
    marginals, _ = twin.model.marginals(twin.corpus)
    for sentence in twin.case.sentences():
        every, scores = twin.enumerated(sentence)
        share = np.exp(scores - np.logaddexp.reduce(scores))
        gold = tuple(zip(*(row[1:] for row in sentence), strict=True))
        total += np.log(sum(p for (y, z, _), p in zip(every, share, strict=True) if (y, z) == gold))
        for t in range(len(sentence)):
            for number, states in ((0, twin.case.states), (1, SECOND)):
                expected = [sum(p for one, p in zip(every, share, strict=True) if one[number][t] == k) for k in states]
                assert np.allclose(marginals["yz"[number]][token], expected, atol=EXACT)
            token += 1
    assert twin.model.scores.log_likelihood(twin.corpus) == pytest.approx(total, abs=EXACT)


def test_the_best_labellings_come_in_order_and_without_repeats(twin):
    found = twin.model.nbest(twin.corpus, 5)
    for sentence, lists in zip(twin.case.sentences(), found.sentences, strict=True):
        _, scores = twin.enumerated(sentence)
        best = np.sort(scores)[::-1][:5]
        assert np.allclose(lists.score, best, atol=EXACT)
        assert np.allclose(lists.probability, np.exp(best - np.logaddexp.reduce(scores)), atol=EXACT)


def test_labels_that_are_not_known_are_summed_out(twin):
    hidden = [
        [(w, "?" if t % 2 else y, z) for t, (w, y, z) in enumerate(sentence)] for sentence in twin.case.sentences()
    ]
    corpus, total = corpus_from_rows(hidden, twin.model.spec.data), 0.0
    for sentence in hidden:
        _, scores = twin.enumerated(sentence)
        with_known = [
            score for _, z, score in twin.labellings([w for w, *_ in sentence], [y for _, y, _ in sentence])
            if z == tuple(row[2] for row in sentence)
        ]  # fmt: skip
        total += np.logaddexp.reduce(with_known) - np.logaddexp.reduce(scores)
    assert twin.model.scores.log_likelihood(corpus) == pytest.approx(total, abs=EXACT)


def test_clique_marginals_are_those_of_the_labels(twin):
    if twin.case.hidden:
        return
    for sentence, (cliques, _) in zip(
        twin.case.sentences(), twin.model.events.clique_marginals(twin.corpus), strict=True
    ):
        every, scores = twin.enumerated(sentence)
        share = np.exp(scores - np.logaddexp.reduce(scores))
        chains = [one for one in cliques if one.clique == "chain"]
        assert len(chains) == len(sentence) - 1
        for one in chains:
            assert [name for name, _ in one.sites] == ["y", "y"]
            expected = np.zeros((len(twin.case.states),) * 2)
            for (y, _, _), p in zip(every, share, strict=True):
                expected[tuple(twin.case.states.index(y[t]) for _, t in one.sites)] += p
            assert np.allclose(one.table, expected, atol=EXACT)


@pytest.mark.parametrize("name", ["factorial", "bioes together"])
def test_a_model_from_its_file_keeps_to_given_labels(name, tmp_path):
    twin = JointTwin(CASES[name])
    twin.model.save(tmp_path / "joint.dcrfm")
    read = TrainedModel.load(tmp_path / "joint.dcrfm")
    assert read.scores.log_likelihood(twin.corpus) == twin.model.scores.log_likelihood(twin.corpus)
    given = corpus_from_rows([[("a", "_", "_"), ("b", "O", "_"), ("c", "_", "Q")]], twin.model.spec.data)
    known = encode_known_labels(read.spec, read.states, given)
    every = [one for one in twin.labellings(["a", "b", "c"], ["?", "O", "?"]) if one[1][2] == "Q"]
    best = max(every, key=lambda one: one[2])
    predicted = read.predict(given, given=known).codes
    assert [twin.case.states[k] for k in predicted["y"]] == list(best[0])
    assert [SECOND[k] for k in predicted["z"]] == list(best[1])


def test_samples_have_the_probabilities_of_labellings():
    twin = JointTwin(CASES["factorial"])
    sentence = next(one for one in twin.case.sentences() if len(one) == 2)
    corpus, count = corpus_from_rows([sentence], twin.model.spec.data), 20_000
    every, scores = twin.enumerated(sentence)
    drawn = twin.model.sample(corpus, count, seed=3)
    y = drawn.codes["y"] if hasattr(drawn, "codes") else None
    assert y is not None
    first = np.bincount(np.asarray(y).reshape(count, -1)[:, 0], minlength=len(BIO)) / count
    share = np.exp(scores - np.logaddexp.reduce(scores))
    expected = [sum(p for (own, _, _), p in zip(every, share, strict=True) if own[0] == k) for k in BIO]
    assert np.abs(first - expected).max() < 5 / np.sqrt(count)


def test_messages_on_a_tree_are_exact():
    """Labels side by side with a chain of segments: no loop, so messages give what enumeration does."""
    twin = JointTwin(JointCase("bio(X, Y)", BIO, "bio", 3, seed=15))
    asked = load_text(twin.case.text.replace("infer exact", "infer bp(tolerance = 1e-12)"))
    model = fit(asked, twin.corpus, threads=1).with_weights(twin.model.weights, twin.model.record)
    total = 0.0
    for sentence in twin.case.sentences():
        every, scores = twin.enumerated(sentence)
        gold = tuple(zip(*(row[1:] for row in sentence), strict=True))
        total += sum(s for y, z, s in every if (y, z) == gold) - np.logaddexp.reduce(scores)
    assert model.scores.log_likelihood(twin.corpus) == pytest.approx(total, abs=1e-6)


HEAD = 'dcrf 1\ndata conll(word, y, z)\nlabel y in bio with missing = "?"\nlabel z in {P, Q}'
TAIL = (
    "clique y[-1], y as chain\nclique y, z as both\nsegment y up to 3 as spans: length\ninfer exact\ntrain likelihood"
)


def test_data_without_a_segment_trains():
    """Then the only state is O, and every move between states of the memory is possible."""
    spec = load_text(f"{HEAD}\n{TAIL}\n")
    corpus = corpus_from_rows([[("a", "O", "P"), ("b", "O", "Q")]], spec.spec.data)
    assert fit(spec, corpus, threads=1).predict(corpus).codes["y"].tolist() == [0, 0]


def test_why_names_all_tokens_of_a_segment_by_its_label():
    twin = JointTwin(CASES["factorial"])
    words, chosen = ["a", "b", "c", "a"], "B-X"  # by enumeration, below
    best = max(twin.labellings(words), key=lambda one: one[2])
    assert best[0][1] == chosen
    found = [
        one
        for state in BIO
        if state != chosen
        for one in twin.model.explain(words, 1, label="y", against=state).contributions
    ]
    assert {name for one in found for name, _ in one.sites} <= {"y", "z"}
    spans = [one for one in found if one.clique == "spans"]
    assert any(len(one.sites) > 1 for one in spans)
    for one in spans:
        if one.feature.startswith("length of segment=") and "&" not in one.feature:
            assert len(one.sites) == int(one.feature.partition("=")[2])


def test_a_label_of_the_sentence_beside_segments():
    text = HEAD.replace("label z in {P, Q}", 'label z in {P, Q} for sentence with missing = "_"')
    spec = load_text(f"{text}\nclique z as moods\n{TAIL}\n")
    rows = [
        [("a", "B-X", "P"), ("b", "I-X", "_"), ("c", "O", "_")], [("c", "O", "Q"), ("a", "B-Y", "_"), ("b", "O", "_")],
        [("a", "B-X", "P"), ("a", "B-X", "_")], [("b", "B-Y", "Q"), ("c", "I-Y", "_"), ("c", "I-Y", "_")],
    ]  # fmt: skip
    corpus = corpus_from_rows(rows, spec.spec.data)
    model = fit(spec, corpus, threads=1)
    model = model.with_weights(np.random.default_rng(0).normal(size=model.num_weights), model.record)
    weight = {(clique, feature, states): w for clique, feature, states, w in model.explanations.iter_weights()}

    def score(y, z):
        keys = [("moods", "bias", (z,)), *(("both", "bias", (own, z)) for own in y)]
        keys += [("chain", "bias", pair) for pair in itertools.pairwise(y)]
        keys += [("spans", f"length of segment={end - start}", (kind,)) for start, end, kind in segments(y, "bio")]
        return sum(weight.get(key, 0.0) for key in keys)

    total = 0.0
    for sentence in rows:
        ys = [y for y in itertools.product(BIO, repeat=len(sentence)) if legal(y, "bio")]
        every = [score(y, z) for y in ys for z in "PQ" if all(b - a <= 3 for a, b, _ in segments(y, "bio"))]
        total += score([y for _, y, _ in sentence], sentence[0][2]) - np.logaddexp.reduce(every)
    assert model.scores.log_likelihood(corpus) == pytest.approx(total, abs=EXACT)
