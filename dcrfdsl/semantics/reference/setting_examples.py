"""Lines of a template that write out the settings of a method or data format, where its example leaves some out.

A test sees to it that each setting stands in one of the two, and that every line is one that the checker takes. Not
here: the examples of methods, which stand in their classes (`semantics.settings`).
"""

from __future__ import annotations

from collections.abc import Mapping

from ..checks import FORMATS
from ..settings import CASES, CRITERIA, INFERENCE, KERNELS, OPTIMIZERS, PRIORS, SMOOTHINGS

_MESSAGES = "max_iterations = 500, damping = 0.5, seed = 1"
_PIECES = "nota = sampled(0.2), max_cases = 1000, overlap = divide"

# the kind of method, or `data format` -> its name -> lines
SETTING_EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "decoding rule": {
        "certified": "infer trp\ndecode certified(iterations = 500)",
        "optimal": "infer trp\ndecode optimal(iterations = 500, nodes = 5000)",
    },
    INFERENCE.kind: {
        "exact": "infer exact(max_table = 1000000)",
        "trp": f"infer trp(trees = random, tolerance = 1e-4, {_MESSAGES})",
        "bp": f"infer bp(schedule = flood, tolerance = 1e-4, {_MESSAGES})",
        "auto": f"infer auto(max_table = 1000000, trees = random, tolerance = 1e-4, {_MESSAGES})",
        "mean_field": f"infer mean_field(tolerance = 1e-5, {_MESSAGES})\ntrain likelihood: infer = exact",
        "trw": f"infer trw(tolerance = 1e-5, {_MESSAGES})",
        "gbp": "infer gbp(clusters = join, size = 6, max_table = 100000, double_loop = always, tolerance = 1e-5,\n"
        "          max_iterations = 500, damping = 0.5)",
        "ep": "infer ep(family = tree, power = 0.8, tolerance = 1e-5, max_iterations = 500, damping = 0.5)",
        "gibbs": "infer gibbs(samples = 2000, burn_in = 200, thin = 2, seed = 1)\ntrain likelihood: infer = exact",
        "pruned": "view early = chunk in {B-NP, I-NP}\nclique early[-1], early\n"
        "infer pruned(by = early, threshold = 1e-3, keep = 16, states = 4)",
    },
    PRIORS.kind: {
        "gaussian": "train likelihood: prior = gaussian(variance = 1, mean = model)",
        "group_lasso": "train likelihood: prior = group_lasso(strength = 2, groups = features)",
    },
    CRITERIA.kind: {
        "likelihood": "train likelihood: prior = gaussian(variance = 5), keep = 1000",
        "piecewise": f"piece pair over chunk[-1], chunk: chain, words\ntrain piecewise(pair, {_PIECES})",
        "memm": f"train memm(order = reverse, by = slice, {_PIECES})",
        "pseudolikelihood": f"train pseudolikelihood({_PIECES})",
        "pwpl": f"train pwpl({_PIECES})",
        "bidirectional": f"train bidirectional({_PIECES})",
        "perceptron": (
            "train perceptron(epochs = 20, average = no) as last\ntrain perceptron(vote = yes, voters = 50) as elected"
        ),
        "mce": (
            "train mce(loss = fscore(chunk), gamma = 2) as recall\n"
            "train mce(loss = fscore(chunk), segments = literal) as written\n"
            "train mce(loss = label(chunk), psi = 2) as soft\n"
            "train mce(psi = 2, normalise = yes) as mean\n"
            "train mce(measure = ratio, smoothing = logistic) as ratios"
        ),
        "induce": (
            "features form: word, suffix(word, 1..3)\n"
            "clique chunk as here: form\n"
            "train induce(likelihood, group = form, rounds = 5, per_round = 200, iterations = 20, candidates = 10000,\n"
            "             min_count = 2)"
        ),
        "adaboost": "train adaboost(rounds = 100, tolerance = 1e-4, max_step = 0.5, update = steepest, weight = 1)\n"
        "train adaboost(weight = 0.5, divide = yes, bounds = all) as papers",
        "hmsvm": ("train hmsvm(C = 10, loss = hamming, slack = labelling, most = 50, weight = 0.5, tolerance = 1e-3)"),
        "hmm": "train hmm(order = reverse, overlapping = yes, smoothing = 0.1, moves = 1, unseen = once)",
    },
    SMOOTHINGS.kind: {
        "sigmoid": "train mce(smoothing = sigmoid(alpha = 2, beta = 0.5))",
        "logistic": "train mce(smoothing = logistic(alpha = 2, beta = 0.5))",
    },
    KERNELS.kind: {"poly": "train hmsvm: kernel.words = poly(degree = 3, scale = 0.5, constant = 0)"},
    CASES.kind: {
        "all": "train piecewise(nota = all(reach = one))",
        "sampled": "train piecewise(nota = sampled(rate = 0.2, reach = one, seed = 1))",
        "above": "train piecewise(nota = above(threshold = 0.2, after = 20, reach = one))",
    },
    OPTIMIZERS.kind: {
        "auto": (
            "train likelihood:\n"
            "    optimizer = auto(tolerance = 1e-6, max_iterations = 200, memory = 10, epochs = 1, rate = 1, seed = 1)"
        ),
        "lbfgs": "train likelihood: optimizer = lbfgs(tolerance = 1e-6, max_iterations = 200, memory = 10)",
        "owlqn": (
            "train likelihood:\n"
            "    prior = laplace\n"
            "    optimizer = owlqn(tolerance = 1e-6, max_iterations = 200, memory = 10)"
        ),
        "proximal": (
            "train likelihood:\n"
            "    prior = group_lasso\n"
            "    optimizer = proximal(tolerance = 1e-6, max_iterations = 200, memory = 10)"
        ),
        "cg": "train likelihood: optimizer = cg(tolerance = 1e-6, max_iterations = 200)",
        "sgd": "train likelihood: optimizer = sgd(epochs = 10, rate = 0.1, tolerance = 1e-3, seed = 1)",
        "gpd": "train mce(loss = label(chunk)): optimizer = gpd(epochs = 10, rate = 0.1, seed = 1)",
        "quickprop": (
            "train mce(loss = label(chunk)):\n"
            "    optimizer = quickprop(mu = 1.5, online = 5, rate = 1, tolerance = 1e-4, max_iterations = 50, seed = 1)"
        ),
        "iis": "train likelihood: prior = none, optimizer = iis(algorithm = S, tolerance = 1e-4, max_iterations = 50)",
        "working_set": "train hmsvm: optimizer = working_set(sweeps = 5, max_iterations = 100)",
        "bcfw": "train hmsvm: optimizer = bcfw(average = no, max_iterations = 100, seed = 1)",
    },
    FORMATS.kind: {
        "conll": ('data conll(temp: float, y, separator = ",", comment = "#", missing = "?")\nlabel y\nclique y: temp'),
        "jsonl": 'data jsonl(temp: float, y, missing = "")\nlabel y\nclique y: temp',
        "parquet": 'data parquet(temp: float, y, sentence = "id", missing = "")\nlabel y\nclique y: temp',
        "conllu": (
            'data conllu(word = form, head: int, upos, predictions = "misc", missing = "_")\nlabel upos\n'
            "clique upos: word, head"
        ),
        "csv": (
            'data csv(temp: float, y, sentence = "id", separator = ";", quote = "none", decimal = ",", missing = "")\n'
            "label y\nclique y: temp"
        ),
        "tsv": (
            'data tsv(temp: float, y, sentence = "id", separator = "|", quote = "\\"", decimal = ",", missing = "NA")\n'
            "label y\nclique y: temp"
        ),
        "spans": (
            'data spans(word = token, ner = spans("labels"), tokenizer = "whitespace", misaligned = "widen",\n'
            '           overlapping = "longest", offsets = "utf16", style = "spacy", predictions = "apart")\n'
            "label ner in bio(PER, LOC)\nclique ner: word"
        ),
    },
}

# the settings of every stage -> lines; `train` is the example of those that are not named. CLIQUE is `words`.
STAGE_EXAMPLES: Mapping[str, str] = {
    "train": (
        "latent sense in 2\n"
        "clique sense, chunk as senses: bias, word\n"
        "train likelihood:\n"
        "    prior = gaussian(variance = 5), prior.words = laplace(scale = 1)\n"
        "    optimizer = owlqn, infer = exact, decode = marginal\n"
        "    restarts = 3, seed = 1, patience = 5"
    ),
    "importance": (
        "data conll(word, chunk, trust: float)\nlabel chunk in bio(NP)\nclique chunk: word\n"
        "train likelihood: importance = sentences(trust)"
    ),
    "keep": "train likelihood: prior = gaussian(variance = 5), keep = 1000",
    "kernel.CLIQUE": "train hmsvm: kernel.words = rbf(gamma = 0.05)",
}
