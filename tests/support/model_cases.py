"""Models of small templates with random weights, their likelihood and their twin; a stored model with its answers.

Not here: objectives as training builds them (`training_cases`).
"""

from __future__ import annotations

import json

import numpy as np
from helpers import SHARED
from template_twin import TemplateTwin

from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.criteria.penalties import Penalty
from dcrfdsl.data.labels import encode_labels
from dcrfdsl.inference import METHODS, Binder, Workers
from dcrfdsl.model.predictor import gold_of as full_gold
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

ONE_ITERATION = "train.optimizer=lbfgs(max_iterations=1)"


def trained(case, seed=0, scale=1.0):
    """A model of the case with random weights, and its corpus."""
    corpus = case.corpus()
    model = case.once("trained", lambda: fit(case.resolved(ONE_ITERATION), corpus, threads=1))
    weights = np.random.default_rng(seed).normal(0, scale, model.num_weights)
    return model.with_weights(weights, model.record), corpus


def objective_of(model, corpus, settings, precision=0.0, threads=1):
    """The likelihood of a model's data under one inference method; gold counts come from differences of scores."""
    from dcrfdsl.graph import learn_parameters

    entry = METHODS[settings.method]
    rows, relations = model.extractor.extract(corpus), model.extractor.relations(model.extractor.values(corpus))
    gold = full_gold(model.spec, model.states, model.extractor, corpus, encode_labels(model.spec, model.states, corpus))
    _, counts = learn_parameters(
        model.spec.cliques, model.graph, rows, [s.num_features for s in model.extractor.sets], gold,
        corpus.sentence_off, relations,
    )  # fmt: skip
    data = Binder(model.graph, model.parameters, programs=entry.programs).bind(rows, corpus.sentence_off, relations)
    penalty = Penalty(np.full(model.num_weights, precision))
    return Likelihood(data, entry.build(data, settings), counts, penalty, Workers(threads))


def twin_of(model, case):
    weights = {(c, text, states): w for c, text, states, w in model.explanations.iter_weights()}
    return TemplateTwin(model.spec, model.states, weights, case.allowed, case.joins, case.views)


def columns(case, sentence):
    """A sentence as columns, and its gold labels with `others` applied."""
    spec = case.resolved().require()
    table = {column.name: [row[i] for row in sentence] for i, column in enumerate(spec.data.columns)}
    for column in spec.data.columns:
        if column.type.name == "float":
            table[column.name] = [float(value) for value in table[column.name]]
    return table


def gold_of(model, table):
    others = {label.name: label.others for label in model.spec.labels}
    return {
        name: [value if value in states else others[name] for value in table[name]]
        for name, states in model.states.items()
    }


# stored answers of a factorial model with given weights -------------------------------------------------------------

TINY = {"acrf_tiny_t3": False, "acrf_tiny_t5": True}
TINY_TEMPLATE = """
data conll(x, z, dash, f:bag)
label x in {{D, N, V}}
label z in {{B, I, O}}
{unaries}
clique x, x[1] as xx with states = all: bias, f
clique z, z[1] as zz with states = all: bias, f
clique x, z as xz with states = all: bias, f
"""


def tiny_model(name):
    """A stored model, its corpus, its weights by (clique, feature, states), all such keys, and the expected answers."""
    answers = json.loads((SHARED / "reference" / "training" / f"{name}.json").read_text())
    cliques = ["x", "z", "xx", "zz", "xz"] if TINY[name] else ["xx", "zz", "xz"]
    unaries = (
        "clique x as x1 with states = all: bias, f\nclique z as z1 with states = all: bias, f" if TINY[name] else ""
    )
    resolved = load_text(TINY_TEMPLATE.format(unaries=unaries))
    rows = []
    for block in (SHARED / "reference" / "training" / "tiny_factorial.txt").read_text().strip().split("\n\n"):
        rows.append([(p[0], p[1], p[2], " ".join(p[3:])) for p in (line.split() for line in block.split("\n"))])
    from dcrfdsl.data import corpus_from_rows

    corpus = corpus_from_rows(rows, resolved.require().data)
    model = fit(resolved, corpus, threads=1)
    weight_of = {}
    for parameter in answers["parameters"]:
        clique = cliques[parameter["t"]]
        states = tuple(answers["assignment_labels"][parameter["t"]][parameter["assn"]])
        weight_of[clique + ("1" if len(clique) == 1 else ""), parameter["feat"] or "bias", states] = parameter["w"]
    order = [(c, text.removeprefix("f="), states) for c, text, states, _ in model.explanations.iter_weights()]
    weights = np.array([weight_of.get(key, 0.0) for key in order])
    assert set(weight_of) <= set(order)
    return model.with_weights(weights, model.record), corpus, weight_of, order, answers
