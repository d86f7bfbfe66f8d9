"""`auto`: which method it takes, by what the graphs cost; on joined positions, for each sentence by its own graph."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from template_cases import CASES, sentences as random_sentences

from dcrfdsl import load
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.graph.elimination import OrderCost
from dcrfdsl.graph.model_cost import MessageCost, exact_pays, exact_seconds
from dcrfdsl.inference import Binder, PerSentenceMethod, choose_method
from dcrfdsl.inference.methods.exact_method import ExactMethod
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import AutoSettings, ExactSettings
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
        (1e3, 10, 0.0, 0.0, True),  # there are no messages to send
        (1e6, 10, 1e3, 10, False),  # a millisecond, against some ten microseconds
        (1e6, 10, 1e8, 10, True),  # … and against many milliseconds
        (1e3, 10**9, 1e8, 10, False),  # fits no memory
    ],
)
def test_the_rule_compares_seconds(work, largest, sweep, messages, pays):
    cost = OrderCost(work, largest, 2, 0)
    assert exact_pays(cost, 2**24, MessageCost(sweep, messages)) == pays
    if largest < 2**24 and messages:
        assert pays == (exact_seconds(cost) <= 2.0 * MessageCost(sweep, messages).seconds)


def test_messages_over_three_variables_cost_more() -> None:
    """Their tables are summed entry by entry: as many multiply-adds take much longer than in products of matrices."""
    work, largest, sweep = 3e6, 8000, 1e5
    cost = OrderCost(work, largest, 3, 0)
    assert not exact_pays(cost, 2**24, MessageCost(sweep, 5.0))
    assert exact_pays(cost, 2**24, MessageCost(sweep, 5.0, sweep))
    assert MessageCost(sweep, 5.0, sweep).seconds > 10 * MessageCost(sweep, 5.0).seconds


def test_what_messages_cost_follows_from_the_tables():
    """Two chains of 4 and 3 states with a tie: 16 + 9 + 12 entries, each read once for each of its two variables."""
    cost = MessageCost.of([((4,), 1.0), ((4, 4), 1.0), ((3, 3), 1.0), ((4, 3), 1.0)], 2, None, joined=False)
    assert cost[:3] == (2 * (16 + 9 + 12), 6, 0)
    assert cost.share == pytest.approx(2 / 3)  # of three ties two are in a tree
    triple = MessageCost.of([((4, 4, 4), 0.5), ((4, 4), 1.0)], 1, None, joined=False)
    assert triple[:3] == (0.5 * 3 * 64 + 2 * 16, 0.5 * 3 + 2, 0.5 * 3 * 64)


def test_sweeps_that_were_learned_decide():
    """What data joins to loops needs more sweeps by default; learned ones count in either case."""
    pairs = [((3, 3), 1.0)] * 6

    def sweeps(learned, *, joined):
        return MessageCost.of(pairs, 4, learned, joined=joined).sweeps

    assert sweeps(None, joined=False) < sweeps(None, joined=True)
    assert sweeps(17.0, joined=False) == sweeps(17.0, joined=True) == 17.0


FAILING = 1000.0  # sweeps of messages that do not converge

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
    rows, relations = model.extractor.extract(corpus), model.extractor.relations(model.extractor.values(corpus))
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
    ("make", "states", "tokens", "sweeps", "words"),
    [
        (every_pair_joined, 2, 12, FAILING, "exact"),
        (every_pair_joined, 3, 12, FAILING, "exact"),
        (every_pair_joined, 5, 12, FAILING, "trp"),  # a table of 5¹² entries does not fit
        (two_speakers, 41, 211, FAILING, "exact"),
        (two_speakers, 41, 211, 4.0, "trp"),  # 41³ multiply-adds a turn
        (two_speakers, 3, 211, 4.0, "exact"),
        (two_speakers, 300, 40, 40.0, "trp"),  # 300³ multiply-adds a turn
    ],
)
def test_it_takes_exact_inference_on_small_graphs_where_messages_fail(make, states, tokens, sweeps, words):
    text, rows = make(states, tokens)
    resolved = load_text(text)
    corpus = corpus_from_rows(rows, resolved.require().data)
    problem = assemble(resolved.require(), corpus, resolved.directories, {})
    parameters, _ = problem.learn_parameters()
    graph = replace(problem.graph, sweeps=sweeps)
    data = Binder(graph, parameters, programs=False).bind(problem.rows, corpus.sentence_off, problem.relations)
    assert PerSentenceMethod.of(data, AutoSettings()).description() == words


def test_twelve_labels_that_are_all_tied_are_exact_too():
    names = [f"y{n}" for n in range(12)]
    labels = "".join(f"label {name} in {{A, B, C}}\n" for name in names)
    pairs = "".join(f"clique {a}, {b}\n" for a, b in itertools.combinations(names, 2))
    resolved = load_text(f"data conll(word, {', '.join(names)})\n{labels}clique y0: word\n{pairs}")
    corpus = corpus_from_rows([[("a", *"ABCABCABCABC")]], resolved.require().data)
    problem = assemble(resolved.require(), corpus, resolved.directories, {})
    graph = replace(problem.graph, sweeps=FAILING)
    assert choose_method(graph, problem.learn_parameters()[0], AutoSettings())[0] == "exact"


# sweeps that are learned ----------------------------------------------------------------------------------------------


def attracting(states, seed=0):
    """Twelve nodes of a sentence, all joined, whose labels are nearly alike: messages run away from the exact sums."""
    text, _ = every_pair_joined(states, 12)
    draw = np.random.default_rng(seed)
    rows = []
    for _ in range(12):
        usual = draw.integers(states)
        labels = [usual if draw.random() < 0.9 else draw.integers(states) for _ in range(12)]
        rows.append([("g", f"s{label}") for label in labels])
    return text, rows


def second_order(states=12, sentences=12):
    """A chain with edges that skip a position, whose labels hardly depend on each other."""
    listed = ", ".join(f"s{n}" for n in range(states))
    text = f"data conll(word, y)\nlabel y in {{{listed}}}\nclique y: word\n"
    text += "clique y[-1], y with states = all\nclique y[-2], y with states = all\nclique y[-3], y with states = all\n"
    draw = np.random.default_rng(1)
    labels = draw.integers(states, size=(sentences, 8)).tolist()
    return text, [[(f"w{label}", f"s{label}") for label in row] for row in labels]


def trained(text, rows, *overrides, threads=1, **options):
    resolved = load_text(text, overrides=["train.optimizer=lbfgs(max_iterations=2)", *overrides])
    corpus = corpus_from_rows(rows, resolved.require().data)
    return fit(resolved, corpus, threads=threads, **options), corpus


def test_it_learns_that_messages_fail():
    model, _ = trained(*attracting(2))
    assert model.record.sweeps >= FAILING
    assert model.record.inference == "exact"


def test_it_learns_that_few_sweeps_are_enough():
    """Exact inference sums over four positions: 12⁴ entries a step, where a sweep sends messages over 3 · 144."""
    model, _ = trained(*second_order())
    assert 1.0 < model.record.sweeps < 20.0
    assert model.record.inference == "trp"


def test_nothing_is_tried_where_the_number_of_sweeps_does_not_matter():
    for text, rows in [(chain(5), [[("a", "s0", "s0", "s0"), ("b", "s1", "s0", "s0")]]), every_pair_joined(5, 14)]:
        assert trained(text, rows)[0].record.sweeps is None
    assert trained(*attracting(2), "infer=exact")[0].record.sweeps is None
    unknown = [[(word, "_") for word, _ in row] for row in attracting(2)[1]]
    assert trained(attracting(2)[0].replace("s1}", 's1} with missing = "_"'), unknown)[0].record.sweeps is None


def test_the_choice_does_not_depend_on_threads():
    one, two, three = (trained(*second_order(), threads=threads)[0] for threads in (1, 2, 3))
    assert one.record.sweeps == two.record.sweeps == three.record.sweeps
    assert one.weights.tobytes() == two.weights.tobytes() == three.weights.tobytes()


def test_a_model_tags_by_the_choice_of_its_training(tmp_path):
    for make, method in ((attracting(2), "exact"), (second_order(), "trp")):
        model, corpus = trained(*make)
        model.save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.record.sweeps == model.record.sweeps == again.graph.sweeps
        assert again.marginals(corpus)[1].approximate == (method == "trp")
        assert any(method in note and "sweeps" in note for note in model.record.notes)


@pytest.mark.parametrize("moves", ["if part[-1] is not O", "if word[-1] has /,$/"], ids=["labels", "the data"])
def test_a_memory_over_many_parts_is_an_automaton(moves):
    """Its table of 29³ entries takes many times as long (row `memory_commas` of the benchmarks)."""
    draw = np.random.default_rng(0)
    parts = ["O", *(f"P{n}" for n in range(28))]
    rows = [[(str(draw.choice(["a", "b,"])), str(draw.choice(parts))) for _ in range(8)] for _ in range(200)]
    spec = load_text(
        "data conll(word, part)\nlabel part\n"
        f"memory last in states(part) = part[-1] {moves} else last[-1] initially O\n"
        "clique part: bias, word\nclique part[-1], part\nclique part, last\n"
    ).require()
    corpus = corpus_from_rows(rows, spec.data)
    problem = assemble(spec, corpus, {}, {})
    parameters, _ = problem.learn_parameters()
    data = Binder(problem.graph, parameters, programs=True).bind(problem.rows, corpus.sentence_off, {})
    assert ExactMethod(data, ExactSettings()).automaton is not None
