"""Small models with a `segment` statement, and the scores of labellings by hand: from the words, by the weights' names.

Nothing here uses rows, graphs or kernels of the package; only the weights are its own, each with the name of its
clique, feature and states.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from dcrfdsl.criteria import TrainingProblem
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.graph import assignment_states
from dcrfdsl.inference import METHODS, Binder, Expectations, Workers
from dcrfdsl.semantics import load_text
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.training.untrained_model import assemble

HEAD = "dcrf 1\ndata conll(word, y)\n"
TAIL = "\ninfer exact\ntrain likelihood: prior = gaussian(variance = 10)\n"
CHAIN = "clique y as words: bias, word\nclique y[-1], y as chain"
LIST = "length, joined(word), first(word[-1]), last(word), any(word), length & first(word), bias"


@dataclass(frozen=True)
class SegmentCase:
    """A template, its sentences of (word, state), and what decides which labellings are possible.

    scheme: `bio`, `bioes` or none.   limit: tokens of a segment.   together: whether longer ones are possible.
    """

    label: str
    statements: str
    sentences: list
    scheme: str
    limit: int
    together: bool = False
    forbidden: tuple[tuple[str, str], ...] = ()
    kept: dict = field(default_factory=dict)

    @property
    def text(self):
        return f"{HEAD}label y {self.label}\n{self.statements}{TAIL}"


def drawn_sentences(states, seed, *, count=6, longest=5, scheme="", limit=9):
    """Random words and legal states without segments longer than the limit."""
    random = np.random.default_rng(seed)
    out = []
    while len(out) < count:
        length = int(random.integers(1, longest + 1))
        labels = [states[n] for n in random.integers(len(states), size=length)]
        if legal(labels, scheme) and all(end - start <= limit for start, end, _ in segments(labels, scheme)):
            out.append([(str(random.choice(list("abc"))), state) for state in labels])
    return out


def legal(labels, scheme):
    """Whether a labelling is one of the scheme."""
    before = "O"
    for state in [*labels, "O"]:
        mark, _, kind = state.partition("-")
        old, _, old_kind = before.partition("-")
        if not scheme:
            pass
        elif scheme == "bio":
            if mark == "I" and not (old in "BI" and kind == old_kind):
                return False
        elif mark in "IE":
            if not (old in "BI" and kind == old_kind):
                return False
        elif old in "BI":
            return False
        before = state
    return True


def segments(labels, scheme):
    """(start, end, type) of the segments of a legal labelling; of one without a scheme, its runs."""
    found = []
    for t, state in enumerate(labels):
        mark, _, kind = state.partition("-")
        if not scheme:
            if t and labels[t - 1] == state:
                found[-1] = (found[-1][0], t + 1, state)
            else:
                found.append((t, t + 1, state))
        elif mark in "BS":
            found.append((t, t + 1, kind))
        elif mark in "IE":
            found[-1] = (found[-1][0], t + 1, kind)
    return found


def segment_texts(words, start, end, limit):
    """The names of the features of a segment by the list `LIST`."""
    if end - start > limit:
        return [f"length of segment={limit + 1} and more", "bias"]
    size, own = f"length of segment={end - start}", words[start:end]
    texts = [size, "bias", f"joined(word)={' '.join(own)}", f"last(word)={own[-1]}", f"{size} & first(word)={own[0]}"]
    texts += [f"any(word)={word}" for word in sorted(set(own))]
    return texts + ([f"first(word)[-1]={words[start - 1]}"] if start else [])


class Twin:
    """A case learned by the package, with weights drawn, and the same distribution by enumeration."""

    def __init__(self, case, seed=0):
        self.case = case
        resolved = load_text(case.text)
        assert not resolved.diagnostics, resolved.diagnostics
        self.spec = resolved.spec
        self.corpus = corpus_from_rows(case.sentences, self.spec.data)
        self.problem = assemble(self.spec, self.corpus, resolved.directories, {})
        self.parameters, self.counts = self.problem.learn_parameters()
        self.states = self.problem.states["y"]
        self.weights = np.random.default_rng(seed).normal(size=self.parameters.num_weights)
        graph, extractor = self.problem.graph, self.problem.extractor
        self.names = defaultdict(list)
        for weight, clique, feature, assignment in self.parameters.walk():
            template = graph.templates[clique]
            text = "bias" if feature < 0 else extractor.describe(template.feature_set, feature)
            self.names[template.name, text, assignment_states(template, assignment, [self.states])].append(weight)
        assert all(len(found) == 1 for found in self.names.values())

    def counts_of(self, words, labels):
        """The counts of all weights at a labelling, by hand."""
        case, found = self.case, Counter()

        def add(clique, text, *states):
            for weight in self.names.get((clique, text, states), ()):
                found[weight] += 1

        for t, (word, state) in enumerate(zip(words, labels, strict=True)):
            add("words", "bias", state)
            add("words", f"word={word}", state)
            if t:
                add("chain", "bias", labels[t - 1], state)
                add("chain", f"word={word}", labels[t - 1], state)
        for start, end, kind in segments(labels, case.scheme):
            for text in segment_texts(words, start, end, case.limit):
                add("spans", text, kind)
        out = np.zeros(self.parameters.num_weights)
        out[list(found)] = list(found.values())
        return out

    def labellings(self, words, known=None):
        """Every possible labelling, with its score and counts."""
        case = self.case
        for labels in itertools.product(self.states, repeat=len(words)):
            if not legal(labels, case.scheme):
                continue
            long = any(end - start > case.limit for start, end, _ in segments(labels, case.scheme))
            pairs = set(itertools.pairwise(labels))
            if (long and not case.together) or pairs & set(case.forbidden):
                continue
            if known is not None and any(k is not None and k != label for k, label in zip(known, labels, strict=True)):
                continue
            counts = self.counts_of(words, labels)
            yield labels, float(counts @ self.weights), counts

    def bound(self):
        binder = Binder(self.problem.graph, self.parameters, programs=True)
        return binder.bind(self.problem.rows, self.corpus.sentence_off, {})

    def method(self, data):
        return METHODS["exact"].build(data, ExactSettings())

    def expectations(self, data):
        """log Z, expected counts, and the marginals of the label and of the memory of its segments by the package."""
        method, out = self.method(data), Expectations.empty(data, marginals=True)
        gradient, expected = np.zeros(data.num_weights), np.zeros(len(data.hard))
        potentials = data.potentials(self.weights)
        method.expectations(potentials, 0, data.num_sequences, out, gradient, expected)
        for cell, weight in zip(data.bindings.bias_cell, data.bindings.bias_weight, strict=True):
            gradient[weight] += expected[cell]
        return out, gradient, *data.by_variable(out.marginals)

    def training_problem(self):
        p = self.problem
        return TrainingProblem(
            self.spec, p.graph, self.parameters, p.rows, p.relations, self.corpus.sentence_off, p.gold, self.counts,
            Workers(1), weights=self.weights, states=tuple(p.states[name] for name in p.graph.variables),
            extractor=p.extractor,
        )  # fmt: skip


BIO = ("B-X", "I-X", "B-Y", "I-Y", "O")
BIOES = ("B-X", "I-X", "E-X", "S-X", "O")


def _case(label, states, segment, scheme, limit, seed, *, chain=CHAIN, together=False, more="", forbidden=(), **drawn):
    drawn = {"limit": 99 if together else limit, **drawn}
    return SegmentCase(
        label, f"{chain}\nsegment y up to {limit} as spans{segment}: {LIST}\n{more}",
        drawn_sentences(states, seed, scheme=scheme, **drawn), scheme, limit, together, forbidden,
    )  # fmt: skip


CASES = {
    "bio": _case("in bio(X, Y)", BIO, "", "bio", 3, 1),
    "bio all": _case("in bio(X, Y)", BIO, " with states = all", "bio", 2, 2),
    "bio together": _case("in bio(X, Y)", BIO, " with longer = together", "bio", 2, 3, together=True),
    "bioes": _case("in bioes(X)", BIOES, "", "bioes", 3, 4),
    "bioes together": _case("in bioes(X)", BIOES, " with longer = together", "bioes", 2, 5, together=True, longest=6),
    "runs": _case("in {P, Q}", ("P", "Q"), "", "", 3, 6),
    "runs together": _case("in {P, Q, R}", ("P", "Q", "R"), " with longer = together", "", 2, 7, together=True),
    "features of moves": _case("in bio(X, Y)", BIO, "", "bio", 3, 8, chain=CHAIN + ": bias, word"),
    "constraint": _case(
        "in bio(X, Y)", BIO, "", "bio", 3, 9, more="forbid y[-1] is O and y is B-Y", forbidden=(("O", "B-Y"),), count=0,
    ),
}  # fmt: skip
CASES["constraint"].sentences.extend(
    [[("a", "B-X"), ("b", "I-X"), ("c", "O")], [("b", "B-Y"), ("a", "B-X"), ("c", "O")]]
)
