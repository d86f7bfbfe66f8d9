"""Small models with a label of the whole sentence, and every labelling scored by hand, by the weights' names.

Nothing here uses rows, graphs or kernels of the package; only the weights are its own, each with the name of its
clique, feature and states.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from dcrfdsl.criteria import TrainingProblem
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.graph import assignment_states
from dcrfdsl.inference import METHODS, Binder, Expectations, Workers
from dcrfdsl.semantics import load_text
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.training.untrained_model import assemble

INTENTS, STATES = ("BUY", "GO", "SAY"), ("P", "Q", "R")
HEAD = 'dcrf 1\ndata conll(word, intent, y)\nlabel intent in {BUY, GO, SAY} for sentence with missing = "?"\n'
LABEL = 'label y in {P, Q, R} with missing = "?"\n'
ALONE = "clique intent as bag with states = all: bias, word, word[-1] & word\n"
CLIQUES = {
    "words": "clique y as words: bias, word\n",
    "chain": "clique y[-1], y as chain: bias, word\n",
    "tie": "clique intent, y as tie: bias, word\n",
    "move": "clique y, intent, y[-1] as move\n",
    "rule": "forbid y is R and intent is GO\n",
    "kinds": "view kind = BUY if intent is BUY else OTHER\nclique kind, y[1] as kinds\n",
}
# by name: the statements besides the label and the cliques over the sentence alone
MODELS = {
    "alone": (),
    "apart": ("words", "chain"),
    "star": ("words", "tie"),
    "chain": ("words", "chain", "tie"),
    "rule": ("words", "chain", "tie", "rule"),
    "three": ("words", "move"),
    "view": ("words", "chain", "kinds"),
}


def drawn_sentences(seed, has_tokens, *, count=7, longest=4):
    """Random sentences of (word, intent, y), with repeated words, that break no rule."""
    random = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        intent, length = str(random.choice(INTENTS)), int(random.integers(1, longest + 1))
        states = STATES[:2] if intent == "GO" else STATES
        out.append([(str(random.choice(list("ab"))), intent, str(random.choice(states))) for _ in range(length)])
    return out if has_tokens else [[(word, intent) for word, intent, _ in sentence] for sentence in out]


class Twin:
    """A model learned by the package, with weights drawn, and the same distribution by enumeration."""

    def __init__(self, name, *, infer="exact", sentences=None, seed=0, large=1.0):
        self.parts = MODELS[name]
        self.tokens = bool(self.parts)
        head = HEAD + LABEL if self.tokens else HEAD.replace(", y)", ")")
        body = "".join(CLIQUES[part] for part in self.parts)
        self.text = f"{head}{ALONE}{body}infer {infer}\ntrain likelihood: prior = gaussian(variance = 10)\n"
        resolved = load_text(self.text)
        assert not [one for one in resolved.diagnostics if one.severity == "error"], resolved.diagnostics
        self.spec = resolved.spec
        self.sentences = drawn_sentences(seed + 1, self.tokens) if sentences is None else sentences
        self.corpus = corpus_from_rows(self.sentences, self.spec.data)
        self.problem = assemble(self.spec, self.corpus, resolved.directories, {})
        self.parameters, self.counts = self.problem.learn_parameters()
        self.weights = large * np.random.default_rng(seed).normal(size=self.parameters.num_weights)
        self.names = {}
        graph, extractor = self.problem.graph, self.problem.extractor
        states = [self.problem.states[name] for name in graph.variables]
        for weight, clique, feature, assignment in self.parameters.walk():
            template = graph.templates[clique]
            text = "bias" if feature < 0 else extractor.describe(template.feature_set, feature)
            key = template.name, text, assignment_states(template, assignment, states)
            assert key not in self.names
            self.names[key] = weight

    def score(self, words, intent, labels):
        """The counts of all weights at a labelling, by hand."""
        found = Counter()

        def add(clique, text, *states):
            if (clique, text, states) in self.names:
                found[self.names[clique, text, states]] += 1

        add("bag", "bias", intent)
        for t, word in enumerate(words):
            add("bag", f"word={word}", intent)
            add("bag", f"word[-1]={words[t - 1] if t else '⟨-1⟩'} & word={word}", intent)
        for t, state in enumerate(labels):
            for text in ("bias", f"word={words[t]}"):
                if "words" in self.parts:
                    add("words", text, state)
                if "chain" in self.parts and t:
                    add("chain", text, labels[t - 1], state)
                if "tie" in self.parts:
                    add("tie", text, intent, state)
            if "move" in self.parts and t:
                add("move", "bias", state, intent, labels[t - 1])
            if "kinds" in self.parts and t + 1 < len(labels):
                add("kinds", "bias", "BUY" if intent == "BUY" else "OTHER", labels[t + 1])
        out = np.zeros(self.parameters.num_weights)
        out[list(found)] = list(found.values())
        return out

    def labellings(self, words, known=None):
        """(intent, labels, score, counts) of every possible labelling that agrees with what is known."""
        for intent in INTENTS:
            for labels in itertools.product(STATES, repeat=len(words) if self.tokens else 0):
                if "rule" in self.parts and intent == "GO" and "R" in labels:
                    continue
                told = known or ("?", ["?"] * len(labels))
                if all(k in ("?", has) for k, has in zip((told[0], *told[1]), (intent, *labels), strict=True)):
                    counts = self.score(words, intent, labels)
                    yield intent, labels, float(counts @ self.weights), counts

    def gold(self, sentence):
        """What the data says of a sentence."""
        said = {row[1] for row in sentence} - {"?"}
        return (said.pop() if said else "?"), [row[2] for row in sentence] if self.tokens else []

    def words(self, sentence):
        return [row[0] for row in sentence]

    def expectations(self, method="exact", settings=None):
        """log Z, expected counts and the marginals of each variable by the package."""
        entry = METHODS[method]
        data = Binder(self.problem.graph, self.parameters, programs=entry.programs).bind(
            self.problem.rows, self.corpus.sentence_off, {}
        )
        built, out = entry.build(data, settings or ExactSettings()), Expectations.empty(data, marginals=True)
        gradient = np.zeros(0 if method == "gibbs" else data.num_weights)
        expected = np.zeros(len(data.hard))
        built.expectations(data.potentials(self.weights), 0, data.num_sequences, out, gradient, expected)
        for cell, weight in (
            zip(data.bindings.bias_cell, data.bindings.bias_weight, strict=True) if len(gradient) else ()
        ):
            gradient[weight] += expected[cell]
        return out.log_z, gradient, data.by_variable(out.marginals)

    def training_problem(self):
        p = self.problem
        return TrainingProblem(
            self.spec, p.graph, self.parameters, p.rows, p.relations, self.corpus.sentence_off, p.gold, self.counts,
            Workers(1), weights=self.weights, states=tuple(p.states[name] for name in p.graph.variables),
            extractor=p.extractor,
        )  # fmt: skip
