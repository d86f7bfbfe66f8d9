"""CRFsuite as an independent implementation: the same features give the same objective at its own weights."""

from __future__ import annotations

import numpy as np
import pytest
from model_cases import objective_of

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.training.pipeline import fit

pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is in the extra `bench`")

TEMPLATE = """
data conll(word, y)
label y
clique y with states = seen: word[-1..1], word[-1] & word
clique y[-1], y with states = seen
infer exact
train likelihood: prior = gaussian(variance = 5), optimizer = lbfgs(max_iterations = 1)
"""


def random_sentences():
    generator = np.random.default_rng(4)
    out = []
    for _ in range(40):
        words = [f"w{generator.integers(12)}" for _ in range(generator.integers(1, 12))]
        out.append([(word, f"L{(int(word[1:]) + generator.integers(3)) % 5}") for word in words])
    return out


def attributes(sentence, t):
    def word(o):
        if t + o < 0:
            return f"⟨{t + o}⟩"
        return f"⟨+{t + o - len(sentence) + 1}⟩" if t + o >= len(sentence) else sentence[t + o][0]

    return [f"word[-1]={word(-1)}", f"word={word(0)}", f"word[1]={word(1)}", f"word[-1]={word(-1)} & word={word(0)}"]


def test_objectives_agree_at_crfsuites_own_weights(tmp_path):
    data = random_sentences()
    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence in data:
        trainer.append([attributes(sentence, t) for t in range(len(sentence))], [label for _, label in sentence])
    trainer.select("lbfgs")
    trainer.set_params({"c1": 0, "c2": 0.1, "max_iterations": 30, "epsilon": 1e-12, "delta": 1e-12})
    trainer.train(str(tmp_path / "peer"))
    theirs = trainer.logparser.last_iteration["loss"]
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "peer"))
    info = tagger.info()

    resolved = load_text(TEMPLATE)
    corpus = corpus_from_rows(data, resolved.require().data)
    model = fit(resolved, corpus)
    weights = np.zeros(model.num_weights)
    used = 0
    for number, (_, text, states, _) in enumerate(model.explanations.iter_weights()):
        found = info.transitions.get(states) if len(states) == 2 else info.state_features.get((text, states[0]))
        weights[number] = found or 0.0
        used += found is not None
    assert used == len(info.transitions) + len(info.state_features)
    ours, _ = objective_of(model, corpus, ExactSettings(), precision=0.2).value_and_gradient(weights)
    # CRFsuite prints six decimals of its loss; its weights are stored as doubles
    assert ours == pytest.approx(theirs, abs=1e-6)
