"""`auto`: which method it takes, by what the graphs cost; on joined positions, for each sentence by its own graph."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from template_cases import CASES, sentences as random_sentences

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.graph.elimination import OrderCost
from dcrfdsl.graph.model_cost import MessageCost, exact_pays, exact_seconds, message_seconds, sweeps_to_converge
from dcrfdsl.inference import Binder, PerSentenceMethod, choose_method
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import AutoSettings
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.untrained_model import assemble

HEADER = "data conll(word, x, y, z)\n"


def chain(states):
    listed = ", ".join(f"s{n}" for n in range(states))
    return f"{HEADER}label x in {{{listed}}}\nclique x: word\nclique x[-1], x\n"


def product(*counts):
    """Chains whose variables at a position are all in one clique with those at the last one."""
    names = "xyz"[: len(counts)]
    labels = "".join(
        f"label {name} in {{{', '.join(f's{n}' for n in range(count))}}}\n"
        for name, count in zip(names, counts, strict=True)
    )
    chains = "".join(f"clique {name}[-1], {name}\n" for name in names)
    pairs = "".join(f"clique {a}, {b}\n" for a in names for b in names if a < b)
    return f"{HEADER}{labels}clique x: word\n{chains}{pairs}"


def model_on(text):
    rows = [("a", "s0", "s0", "s0"), ("b", "s1", "s1", "s1")]
    resolved = load_text(text)
    corpus = corpus_from_rows([rows], resolved.require().data)
    return fit(load_text(text, overrides=["train.optimizer=lbfgs(max_iterations=1)"]), corpus, threads=1)


@pytest.mark.parametrize(
    ("text", "max_table", "method"),
    [
        (chain(2), 2**24, "exact"),
        (chain(50), 2**24, "exact"),
        (chain(50), 49, "trp"),  # a table of 50 entries is not allowed
        (product(3, 3), 2**24, "exact"),
        (product(45, 3), 2**24, "exact"),
        (
            product(20, 20, 20),
            2**24,
            "trp",
        ),  # some 3 million multiply-adds a token, against messages over 2,400 entries
    ],
)
def test_it_takes_what_costs_less_and_fits(text, max_table, method):
    model = model_on(text)
    assert choose_method(model.graph, model.parameters, AutoSettings(max_table=max_table))[0] == method


@pytest.mark.parametrize(
    ("work", "largest", "sweep", "messages", "pays"),
    [
        (1e3, 10, 0.0, 0.0, True),  # a microsecond: worth it whatever messages take
        (1e6, 10, 1e3, 10, False),  # a millisecond, against some ten microseconds
        (1e6, 10, 1e8, 10, True),  # … and against many milliseconds
        (1e3, 10**9, 1e8, 10, False),  # fits no memory
    ],
)
def test_the_rule_compares_seconds(work, largest, sweep, messages, pays):
    assert exact_pays(OrderCost(work, largest, 2, 0), 2**24, MessageCost(sweep, messages)) == pays
    if largest < 2**24 and work > 1e4:
        assert pays == (exact_seconds(work) <= 2.0 * message_seconds(sweep, messages))


def test_messages_over_three_variables_cost_more() -> None:
    """Their tables are summed entry by entry: as many multiply-adds take much longer than in products of matrices."""
    work, largest, sweep = 3e5, 8000, 1e5
    assert not exact_pays(OrderCost(work, largest, 3, 0), 2**24, MessageCost(sweep, 5.0))
    assert exact_pays(OrderCost(work, largest, 3, 0), 2**24, MessageCost(sweep, 5.0, sweep))
    assert message_seconds(sweep, 5.0, sweep) > 10 * message_seconds(sweep, 5.0)


def test_graphs_with_many_loops_take_many_sweeps():
    """A tree needs one each way; where half of all pairs are joined, some runs do not converge at all."""
    chain, factorial = sweeps_to_converge(1, 1, joined=False), sweeps_to_converge(3, 6, joined=False)
    dialogue, everything = sweeps_to_converge(200, 410, joined=True), sweeps_to_converge(12, 66, joined=True)
    assert chain == factorial < dialogue < everything
    assert sweeps_to_converge(200, 199, joined=True) == chain


# joined positions -------------------------------------------------------------------------------------------------

TEXT = (
    "data conll(word, y)\nlabel y in {P, Q, R}\nclique y: word\nclique y[-1], y\n"
    "clique y[i], y[j] where word[i] = word[j] as same with link = all\n"
)
# All words equal: every pair is joined, and the largest table of exact inference has a variable for each position.
WIDE = [[("a", "PQR"[t % 3]) for t in range(6)], [("b", "RPQ"[t % 3]) for t in range(7)]]
NARROW = random_sentences("PQR", count=6, words="abcdefgh", longest=5, seed=4)
MIXED = [*NARROW[:3], WIDE[0], *NARROW[3:], WIDE[1]]
SMALL = "infer=auto(max_table=81, tolerance=1e-9)"


def model_of(*overrides):
    """The model of the mixed sentences with fixed weights, whatever it infers by."""
    resolved = load_text(TEXT, overrides=["train.optimizer=lbfgs(max_iterations=3)", *overrides])
    corpus = corpus_from_rows(MIXED, resolved.require().data)
    model = fit(resolved, corpus, threads=1)
    weights = np.random.default_rng(1).normal(0, 0.5, model.num_weights)
    return model.with_weights(weights, model.record), corpus


def test_each_sentence_has_the_answer_of_its_own_method():
    (auto, corpus), (exact, _), (trp, _) = (
        model_of(SMALL),
        model_of("infer=exact"),
        model_of("infer=trp(tolerance=1e-9)"),
    )
    marginals = [model.marginals(corpus)[0]["y"] for model in (auto, exact, trp)]
    codes = [model.predict(corpus).codes["y"] for model in (auto, exact, trp)]
    off = corpus.sentence_off
    for s, sentence in enumerate(MIXED):
        own = slice(off[s], off[s + 1])
        wide = sentence in WIDE
        np.testing.assert_allclose(marginals[0][own], marginals[2 if wide else 1][own], atol=1e-12)
        assert codes[0][own].tolist() == codes[2 if wide else 1][own].tolist()
        if wide:  # else the comparison would say nothing
            assert np.abs(marginals[1][own] - marginals[2][own]).max() > 1e-6
    status = auto.marginals(corpus)[1]
    assert status.approximate and status.converged and status.graphs == len(MIXED)


def test_what_a_sentence_gets_does_not_depend_on_its_neighbours():
    model, corpus = model_of(SMALL)
    together = model.marginals(corpus)[0]["y"]
    alone = [model.marginals(corpus.slice(s, s + 1))[0]["y"] for s in range(corpus.num_sentences)]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-12)


def test_exact_everywhere_is_exact():
    (auto, corpus), (exact, _) = model_of("infer=auto"), model_of("infer=exact")
    marginals, status = auto.marginals(corpus)
    np.testing.assert_allclose(marginals["y"], exact.marginals(corpus)[0]["y"], atol=1e-12)
    assert not status.approximate
    assert auto.scores.log_likelihood(corpus) == pytest.approx(exact.scores.log_likelihood(corpus), rel=1e-12)


@pytest.mark.parametrize("name", ["skip chain", "all repeated words", "arcs"])
def test_training_is_that_of_exact_inference_where_all_graphs_are_narrow(name):
    case = CASES[name]
    auto, exact = (fit(case.resolved(f"infer={method}"), case.corpus(), threads=2) for method in ("auto", "exact"))
    assert auto.record.objective == pytest.approx(exact.record.objective, rel=1e-9)


def test_the_method_says_how_many_sentences_are_exact():
    model, corpus = model_of(SMALL)
    rows, relations = model.extractor.extract(corpus), model.extractor.relations(corpus)
    data = Binder(model.graph, model.parameters, programs=False).bind(rows, corpus.sentence_off, relations)
    words = {
        81: "exact on 6 of 8 sentences, trp on the others",
        2**24: "exact",
        1: "exact on 1 of 8 sentences, trp on the others",  # one of a single token
    }
    for max_table, expected in words.items():
        assert PerSentenceMethod.of(data, AutoSettings(max_table=max_table)).description() == expected


def every_pair_joined(states, tokens):
    listed = ", ".join(f"s{n}" for n in range(states))
    text = f"data conll(group, y)\nlabel y in {{{listed}}}\nclique y: bias\n"
    text += "clique y[i], y[j] where group[i] = group[j] as all with link = all\n"
    return text, [[("g", f"s{t % states}") for t in range(tokens)]]


def two_speakers(acts, turns):
    """A chain with an edge to the speaker's own last turn, about one more edge a turn."""
    listed = ", ".join(f"s{n}" for n in range(acts))
    text = f"data conll(speaker, y)\nlabel y in {{{listed}}}\nclique y: bias\nclique y[-1], y\n"
    text += "clique y[i], y[j] where speaker[i] = speaker[j] as own with link = next\n"
    draw = np.random.default_rng(2)
    return text, [[("AB"[draw.integers(2)], f"s{t % acts}") for t in range(turns)]]


@pytest.mark.parametrize(
    ("make", "states", "tokens", "words"),
    [
        (every_pair_joined, 2, 12, "exact"),
        (every_pair_joined, 3, 12, "exact"),
        (every_pair_joined, 4, 12, "exact"),
        (every_pair_joined, 5, 12, "trp"),  # a table of 5¹² entries does not fit
        (two_speakers, 41, 211, "exact"),
        (two_speakers, 300, 40, "trp"),  # 300³ multiply-adds a turn
    ],
)
def test_it_takes_exact_inference_on_small_graphs_with_many_loops(make, states, tokens, words):
    text, rows = make(states, tokens)
    resolved = load_text(text)
    corpus = corpus_from_rows(rows, resolved.require().data)
    problem = assemble(resolved.require(), corpus, resolved.directories, {})
    parameters, _ = problem.learn_parameters()
    data = Binder(problem.graph, parameters, programs=False).bind(problem.rows, corpus.sentence_off, problem.relations)
    assert PerSentenceMethod.of(data, AutoSettings()).description() == words


def test_twelve_labels_that_are_all_tied_are_exact_too():
    names = [f"y{n}" for n in range(12)]
    labels = "".join(f"label {name} in {{A, B, C}}\n" for name in names)
    pairs = "".join(f"clique {a}, {b}\n" for a, b in itertools.combinations(names, 2))
    resolved = load_text(f"data conll(word, {', '.join(names)})\n{labels}clique y0: word\n{pairs}")
    corpus = corpus_from_rows([[("a", *"ABCABCABCABC")]], resolved.require().data)
    problem = assemble(resolved.require(), corpus, resolved.directories, {})
    assert choose_method(problem.graph, problem.learn_parameters()[0], AutoSettings())[0] == "exact"
