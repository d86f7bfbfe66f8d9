"""The n best labellings and drawn labellings: kernels, models, writers and the command line, against enumeration."""

from __future__ import annotations

import io
import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import reference
from hypothesis import given, settings, strategies as st
from linked import called
from model_cases import columns, trained, twin_of
from strategies import FAMILIES, factor_graphs, random_tables
from template_cases import CASES, Case, iob2, sentences

from dcrfdsl.cli import run
from dcrfdsl.data import repeated, stream_corpus, tagged
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.graph import FactorGraph
from dcrfdsl.graph.elimination import best_order
from dcrfdsl.graph.shape_bank import ShapeBank
from dcrfdsl.kernels.exact.contraction import forward_log, forward_max
from dcrfdsl.kernels.exact.forward_sampling import decision_order, draw_labelling
from dcrfdsl.kernels.exact.linear_sweeps import forward_linear
from dcrfdsl.kernels.runtime.compilation import OK, UNDERFLOW
from dcrfdsl.kernels.sequences.nbest import Candidates, Decisions, search_labellings
from dcrfdsl.kernels.tables.log_tables import exponentiate
from dcrfdsl.semantics.resolve.resolution import load_text

SCORE = 1e-9
SIGMAS = 5
DRAWS = 4000


# one graph, any elimination order -----------------------------------------------------------------------------------


class Compiled:
    """A factor graph's program and its tables; runs the kernels as the engine does."""

    def __init__(self, graph, order=None):
        self.graph = graph
        order = best_order(graph.scopes, graph.cards) if order is None else order
        bank = ShapeBank(1, lambda shape: order)
        bank.add(graph.shape())
        self.shapes, self.programs = bank.shape_arrays(), bank.program_arrays()
        self.patterns, self.steps = bank.pattern_arrays(), (0, len(self.programs.step))
        self.logs = np.zeros(int(self.shapes.arena_end[0]))
        at = 1
        for table in graph.log_tables:
            self.logs[at : at + table.size] = table.ravel()
            at += table.size
        many = len(graph.cards)
        self.step, self.variable = np.empty(many, np.int64), np.empty(many, np.int64)
        called(decision_order)(0, self.shapes, self.programs, self.step, self.variable)

    def nbest(self, count, limit=np.inf):
        """(labellings [R, V], scores [R]) of those that score less than `limit` below the best"""
        logs, labelling, loss = self.logs.copy(), np.zeros((count, len(self.graph.cards)), np.int32), np.zeros(count)
        best = called(forward_max)(*self.steps, self.programs, self.patterns, logs)
        if best == -np.inf:
            return labelling[:0], loss[:0]
        found = called(search_labellings)(
            0, self.shapes, self.programs, logs, Decisions(self.step, self.variable, len(self.graph.cards)), labelling,
            loss, Candidates(np.empty(count), np.empty((count, 3), np.int64)), limit,
        )  # fmt: skip
        return labelling[:found], best - loss[:found]

    def draw(self, count, seed=1):
        """(labellings [count, V], whether log space was needed)"""
        value, scale, random = self.logs.copy(), np.empty(self.steps[1]), np.uint64(seed)
        value[0] = 1.0
        _, fits = called(exponentiate)(0, self.shapes, value)
        state = (
            called(forward_linear)(*self.steps, self.programs, self.patterns, value, scale)[1] if fits else UNDERFLOW
        )
        log_space = state == UNDERFLOW
        if log_space:
            value = self.logs.copy()
            called(forward_log)(*self.steps, self.programs, self.patterns, value, True)
        else:
            assert state == OK
        out, share = np.zeros((count, len(self.graph.cards)), np.int32), np.empty(max(self.graph.cards))
        for row in out:
            random = called(draw_labelling)(
                0, self.shapes, self.programs, value, log_space, self.step, self.variable, share, row, np.uint64(random)
            )
        return out, log_space


def assert_best(total, labellings, scores, count):
    """In order, distinct, truly scored, and none is left out: against the joint table `total`."""
    possible = np.sort(total[np.isfinite(total)])[::-1]
    assert len(scores) == min(count, len(possible))
    np.testing.assert_allclose(scores, possible[: len(scores)], rtol=SCORE, atol=SCORE)
    assert (np.diff(scores) <= 0).all()
    assert len({tuple(row) for row in labellings.tolist()}) == len(labellings)
    np.testing.assert_allclose([total[tuple(row)] for row in labellings], scores, rtol=SCORE, atol=SCORE)


def assert_frequencies(total, labellings):
    """Every labelling is drawn as often as it should be, up to 5 standard errors; an impossible one never."""
    counts = np.zeros(total.shape, int)
    np.add.at(counts, tuple(labellings.T), 1)
    p = np.exp(total - reference.log_sum(total))
    expected = len(labellings) * p
    assert (np.abs(counts - expected) <= SIGMAS * np.sqrt(expected * (1 - p)) + SIGMAS).all()
    assert not counts[np.isneginf(total)].any()
    # all cells together: Pearson's statistic has mean d and variance 2d for d + 1 cells, with the rare ones as one
    often = expected >= SIGMAS
    cells, means = np.append(counts[often], counts[~often].sum()), np.append(expected[often], expected[~often].sum())
    kept = means > SIGMAS
    free = max(1, kept.sum() - 1)
    assert ((cells - means)[kept] ** 2 / means[kept]).sum() <= free + SIGMAS * np.sqrt(2 * free) + SIGMAS


def family(name, scale=1.0, zeros=0.0):
    cards, scopes = FAMILIES[name]
    return FactorGraph(cards, scopes, random_tables(cards, scopes, 1, scale, zeros))


def joint(graph):
    return reference.joint(graph.cards, graph.scopes, graph.log_tables)


@pytest.mark.parametrize("zeros", [0.0, 0.4], ids=["positive", "hard zeros"])
@pytest.mark.parametrize("scale", [0.0, 1.0, 800.0], ids=["all tied", "mild", "beyond doubles"])
@pytest.mark.parametrize("name", FAMILIES)
def test_n_best_of_every_family(name, scale, zeros):
    graph = family(name, scale, zeros)
    for count in (1, 2, 7, 1000):
        assert_best(joint(graph), *Compiled(graph).nbest(count), count)


@pytest.mark.parametrize("zeros", [0.0, 0.4], ids=["positive", "hard zeros"])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_search_ends_where_labellings_score_too_little(name, zeros):
    graph = family(name, 1.0, zeros)
    total = joint(graph)
    for limit in (1e-9, 0.7, 3.0):
        num_better = int((total > total.max() - limit).sum())
        assert_best(total, *Compiled(graph).nbest(1000, limit), min(num_better, 1000))


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(factor_graphs(), st.randoms(use_true_random=False), st.sampled_from([1, 3, 10, 1000]))
def test_n_best_is_exact_for_every_graph_and_every_elimination_order(graph, random, count):
    order = list(range(len(graph.cards)))
    random.shuffle(order)
    assert_best(joint(graph), *Compiled(graph, order).nbest(count), count)


@pytest.mark.parametrize("zeros", [0.0, 0.4], ids=["positive", "hard zeros"])
@pytest.mark.parametrize("name", FAMILIES)
def test_draws_follow_the_distribution(name, zeros):
    graph = family(name, 1.0, zeros)
    drawn, _ = Compiled(graph).draw(DRAWS)
    assert_frequencies(joint(graph), drawn)


@pytest.mark.long
@settings(max_examples=25, deadline=None, derandomize=True)
@given(factor_graphs(), st.randoms(use_true_random=False))
def test_draws_follow_the_distribution_for_every_elimination_order(graph, random):
    total, order = joint(graph), list(range(len(graph.cards)))
    random.shuffle(order)
    if np.isfinite(total).any():
        assert_frequencies(total, Compiled(graph, order).draw(DRAWS)[0])


def test_draws_beyond_the_range_of_doubles():
    """Two states of weight e^-800 each and one of e^-1600: products that linear space cannot hold."""
    one, other = np.array([0.0, -800.0, -800.0]), np.array([[-800.0], [0.0], [-800.0]])
    graph = FactorGraph((3, 1), ((0,), (0, 1)), (one, other))
    drawn, log_space = Compiled(graph).draw(DRAWS)
    assert log_space
    assert_frequencies(joint(graph), drawn)


# models -------------------------------------------------------------------------------------------------------------

MORE = {
    **CASES,
    "pairs only": Case(  # the first sentence has one token, in no factor
        "data conll(word, y)\nlabel y\nclique y[-1], y: word\n", sentences("PQR")
    ),
}


def stacked(codes, row):
    """A labelling as the index of a joint table: axis t·labels + label."""
    return np.stack([own[row] for own in codes.values()], axis=1).ravel()


def joints(model, case, corpus):
    twin = twin_of(model, case)
    for sentence, (start, end) in zip(
        case.sentences, zip(corpus.sentence_off, corpus.sentence_off[1:], strict=False), strict=True
    ):
        yield twin.joint(columns(case, sentence)), slice(start, end)


@pytest.mark.parametrize("name", MORE)
def test_n_best_of_every_template(name):
    case = MORE[name]
    model, corpus = trained(case)
    found = model.nbest(corpus, 12)
    assert found.exact
    first = model.predict(corpus, decode="joint")
    for own, (total, tokens) in zip(found.sentences, joints(model, case, corpus), strict=True):
        labellings = np.array([stacked(own.codes, row) for row in range(len(own))])
        assert_best(total, labellings, own.score, 12)
        np.testing.assert_allclose(
            own.probability, np.exp(own.score - reference.log_sum(total)), rtol=SCORE, atol=SCORE
        )
        for label, codes in own.codes.items():
            assert codes[0].tolist() == first.codes[label][tokens].tolist()


@pytest.mark.parametrize("name", ["chain", "factorial", "segments", "second order", "pairs only", "padded chain"])
def test_draws_of_a_template(name):
    case = MORE[name]
    model, corpus = trained(case)
    drawn = model.sample(corpus, DRAWS, seed=3)
    for total, tokens in joints(model, case, corpus):
        own = {label: codes[:, tokens] for label, codes in drawn.codes.items()}
        assert_frequencies(total, np.array([stacked(own, row) for row in range(DRAWS)]))


def test_draws_depend_on_the_seed_and_not_on_the_threads():
    case = CASES["factorial"]
    model, corpus = trained(case)
    one, same, other = (
        model.sample(corpus, 20, seed=seed, threads=threads).codes for seed, threads in ((1, 1), (1, 3), (2, 1))
    )
    assert all(np.array_equal(one[label], same[label]) for label in one)
    assert any(not np.array_equal(one[label], other[label]) for label in one)


NO_WAY = Case(
    "data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y\n"
    "forbid y is P and y[-1] is P\nforbid y is P and y[-1] is Q\nforbid y is Q and y[-1] is P\n"
    "forbid y is Q and y[-1] is Q\n",
    [[("a", "P")], [("b", "Q")]],
    lambda labelling, t: t == 0,
)


WITH_LATENT = Case(
    "data conll(word, y)\nlabel y\nlatent h in 2\nclique y: word\nclique y[-1], y\nclique y, h\n"
    "train likelihood: seed = 1\n", CASES["chain"].sentences
)  # fmt: skip


LISTED = {**MORE, "latent": WITH_LATENT}


@pytest.mark.parametrize("name", ["chain", "segments", "pairs only", "latent"])
def test_any_number_above_that_of_all_labellings_gives_them_all(name):
    case = LISTED[name]
    model, _ = trained(case)
    corpus = Case(case.text, [sentence[:2] for sentence in case.sentences]).corpus()
    every = model.nbest(corpus, 500)
    for count in (10**18, 10**22, np.int64(2**62)):
        for one, other in zip(model.nbest(corpus, count).sentences, every.sentences, strict=True):
            assert one.score.tolist() == other.score.tolist()
            assert 0 < len(one) < 500


@pytest.mark.parametrize("name", ["chain", "latent"])
@pytest.mark.parametrize("count", [10**15, 10**22])
def test_more_labellings_than_fit_into_memory_are_refused_in_words(name, count):
    case = LISTED[name]
    model, _ = trained(case)
    long = Case(case.text, [[case.sentences[0][0]] * 60]).corpus()
    with pytest.raises(DcrfError, match="so many labellings of each sentence do not fit into memory"):
        model.nbest(long, count)


def test_a_sentence_that_no_labelling_satisfies_has_none():
    model, _ = trained(NO_WAY)
    corpus = Case(NO_WAY.text, [[("a", "P"), ("b", "Q")], [("b", "Q")]]).corpus()
    found = model.nbest(corpus, 3)
    assert [len(own) for own in found.sentences] == [0, 2]
    assert found.status.impossible == (0,)
    drawn = model.sample(corpus, 4)
    assert drawn.status.impossible == (0,)
    assert (drawn.codes["y"][:, :2] == -1).all()
    assert (drawn.codes["y"][:, 2] >= 0).all()


@pytest.mark.parametrize("name", MORE)
def test_clique_marginals_of_every_template(name):
    case = MORE[name]
    text = case.text if "infer " in case.text else case.text + "infer exact\n"
    model, corpus = trained(Case(text, case.sentences, case.allowed))
    labels = list(model.states)
    cliques = {clique.label for clique in model.spec.cliques}
    for (found, status), (total, _) in zip(
        model.events.clique_marginals(corpus), joints(model, case, corpus), strict=True
    ):
        assert status.converged and not status.approximate
        for own in found:
            scope = [position * len(labels) + labels.index(label) for label, position in own.sites]
            np.testing.assert_allclose(own.table, reference.marginal(total, scope), atol=SCORE)
        if total.ndim > 3 * len(labels):  # every clique lies somewhere in a sentence of four tokens
            assert {own.clique for own in found} == cliques


# where exact inference does not fit ---------------------------------------------------------------------------------


def narrow(name):
    """A model of the case that may not build any table."""
    case = CASES[name]
    return trained(Case(case.text + "infer auto(max_table = 1)\n", case.sentences, case.allowed))


@pytest.mark.long
@pytest.mark.parametrize("name", ["chain", "segments", "forbidden moves", "padded chain"])
def test_messages_find_the_n_best_of_a_tree(name):
    (model, corpus), case = narrow(name), CASES[name]
    found = model.nbest(corpus, 12)
    assert not found.exact
    for own, (total, _) in zip(found.sentences, joints(model, case, corpus), strict=True):
        assert_best(total, np.array([stacked(own.codes, row) for row in range(len(own))]), own.score, 12)
        assert np.isnan(own.probability).all()


@pytest.mark.long
@pytest.mark.parametrize("name", ["factorial", "three chains", "second order", "wide offsets"])
def test_messages_on_loops_give_true_scores_in_order(name):
    (model, corpus), case = narrow(name), CASES[name]
    found = model.nbest(corpus, 12)
    for own, (total, _) in zip(found.sentences, joints(model, case, corpus), strict=True):
        labellings = [tuple(stacked(own.codes, row)) for row in range(len(own))]
        np.testing.assert_allclose([total[row] for row in labellings], own.score, rtol=SCORE, atol=SCORE)
        assert len(set(labellings)) == len(labellings) >= 1
        assert (np.diff(own.score) <= 0).all()


@pytest.mark.long
def test_sentences_with_joined_pairs_are_exact_one_by_one(monkeypatch):
    """Where only some of the graphs fit, these get probabilities."""
    from dcrfdsl.inference.decoding import labellings

    case = CASES["skip chain"]
    model, corpus = trained(case)
    every = model.nbest(corpus, 4)
    monkeypatch.setattr(labellings, "MOST_WORK", 10)
    some = model.nbest(corpus, 4)
    assert every.exact
    assert 0 < sum(own.exact for own in some.sentences) < corpus.num_sentences
    for one, other in zip(every.sentences, some.sentences, strict=True):
        if other.exact:
            assert one.probability.tolist() == other.probability.tolist()
        else:
            assert np.isnan(other.probability).all()
        np.testing.assert_allclose(one.score[0], other.score[0])


def test_draws_that_do_not_fit_are_refused_in_words():
    model, corpus = narrow("factorial")
    with pytest.raises(DcrfError, match=r"drawing labellings needs exact inference.*`max_table` allows 1"):
        model.sample(corpus, 2)


# copies of sentences in each format ---------------------------------------------------------------------------------

CONLL = load_text("data conll(word, y)\nlabel y\nclique y: word").require().data
COMMENTED = load_text('data conll(word, y, comment = "#")\nlabel y\nclique y: word').require().data
CONLLU = load_text("data conllu(form, y = upos)\nlabel y\nclique y: form").require().data
JSON = load_text("data jsonl(word, y)\nlabel y\nclique y: word").require().data


def row(number, form, upos="_", misc="_"):
    return "\t".join((str(number), form, "_", upos, *"_" * 5, misc))


COPIED = {
    "conll": (CONLL, "a\nb\n\nc\n", "a Y 1 0.5\nb Y 1 0.5\n\na Y 2 _\nb Y 2 _\n\nc Y 3 0.125\n"),
    "no newline at the end": (CONLL, "c\n\na\nb", "c Y 1 0.5\n\nc Y 2 _\n\na Y 3 0.125\nb Y 3 0.125"),
    "the last twice": (CONLL, "a", "a Y 1 0.5\n\na Y 2 _"),
    "windows": (CONLL, "a\r\n", "a Y 1 0.5\r\n\r\na Y 2 _\r\n"),
    "blank lines once": (CONLL, "\n\na\n\n\n", "\n\na Y 1 0.5\n\na Y 2 _\n\n\n"),
    "a no-break space is a word": (CONLL, "\xa0\n\n", "\xa0 Y 1 0.5\n\n\xa0 Y 2 _\n\n"),
    "comments": (COMMENTED, "# one\na\n\n# two\nb\n", "# one\na Y 1 0.5\n\n# one\na Y 2 _\n\n# two\nb Y 3 0.125\n"),
    "conllu": (
        CONLLU,
        f"# sent_id = 1\n# rank = 9\n{row('1-2', 'ab')}\n{row(1, 'a')}\n{row(2, 'b', misc='X=1')}\n\n",
        "".join(
            f"# sent_id = 1\n# rank = {rank}\n# probability = {p}\n{row('1-2', 'ab')}\n"
            f"{row(1, 'a', 'Y')}\n{row(2, 'b', 'Y', 'X=1')}\n\n"
            for rank, p in ((1, "0.5"), (2, "_"))
        ),
    ),
    "jsonl": (
        JSON,
        '{"word": ["a"]}\n\n{"word": ["b"], "id": 7}\n',
        '{"word": ["a"], "predicted": {"y": ["Y"]}, "rank": 1, "probability": 0.5}\n'
        '{"word": ["a"], "predicted": {"y": ["Y"]}, "rank": 2, "probability": null}\n\n'
        '{"word": ["b"], "id": 7, "predicted": {"y": ["Y"]}, "rank": 3, "probability": 0.125}\n',
    ),
    "jsonl of tokens": (
        JSON,
        '[{"word": "a"}]',
        '[{"word": "a", "predicted": {"y": "Y", "rank": 1, "probability": 0.5}}]\n'
        '[{"word": "a", "predicted": {"y": "Y", "rank": 2, "probability": null}}]',
    ),
}


@pytest.mark.parametrize("case", COPIED)
def test_sentences_are_written_once_for_each_labelling(case):
    """The first sentence comes twice, the second once."""
    data, text, expected = COPIED[case]
    copies, ranks, shares, written = iter([2, 1]), iter([1, 2, 3]), iter([0.5, None, 0.125]), ""
    for chunk in stream_corpus(io.BytesIO(text.encode()), data, optional=["y"]):
        again = repeated(chunk, [next(copies) for _ in range(chunk.corpus.num_sentences)])
        count = again.corpus.num_sentences
        remarks = {"rank": list(islice(ranks, count)), "probability": list(islice(shares, count))}
        written += tagged(again, {"y": ["Y"] * again.corpus.num_tokens}, remarks).decode()
    assert written == expected


# the command line ---------------------------------------------------------------------------------------------------

TEXT = "a P\nb Q\n\nb Q\na P\nc R\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("nbest")
    trained(CASES["chain"])[0].save(where / "a.model")
    trained(Case(CASES["chain"].text + "infer trp\n", CASES["chain"].sentences))[0].save(where / "trp.model")
    trained(NO_WAY)[0].save(where / "none.model")
    narrow("chain")[0].save(where / "narrow.model")
    (where / "a.txt").write_text(TEXT)
    return where


def printed(capsysbinary, *arguments):
    assert run([*map(str, arguments)]) == 0
    out, err = capsysbinary.readouterr()
    return out.decode(), err.decode()


def test_tag_nbest_writes_a_copy_for_each_labelling(folder: Path, capsysbinary):
    plain, _ = printed(capsysbinary, "tag", folder / "a.model", folder / "a.txt")
    text, err = printed(capsysbinary, "tag", folder / "a.model", folder / "a.txt", "--nbest", 3)
    assert err == ""
    blocks = [[line.split() for line in part.splitlines()] for part in text.strip().split("\n\n")]
    assert [{(cells[-2]) for cells in block} for block in blocks] == [{"1"}, {"2"}, {"3"}] * 2
    assert all(len({cells[-1] for cells in block}) == 1 for block in blocks)
    for k in (0, 3):
        assert 1 >= float(blocks[k][0][-1]) >= float(blocks[k + 1][0][-1]) >= float(blocks[k + 2][0][-1]) > 0
    firsts = [cells[:-2] for block in blocks[::3] for cells in block]
    assert firsts == [line.split() for line in plain.splitlines() if line]


def test_tag_json_is_the_contract(folder: Path, capsysbinary):
    text, _ = printed(capsysbinary, "tag", folder / "a.model", folder / "a.txt", "--nbest", 1000, "--json")
    records = [json.loads(line) for line in text.splitlines()]
    assert [r["sentence"] for r in records] == [1] * 9 + [2] * 27  # 3 states at 2 and at 3 tokens
    assert [r["rank"] for r in records] == [*range(1, 10), *range(1, 28)]
    assert {r["line"] for r in records} == {1, 4}
    for sentence in (1, 2):
        own = [r for r in records if r["sentence"] == sentence]
        assert sum(r["probability"] for r in own) == pytest.approx(1.0, abs=1e-9)
        assert len({tuple(r["labels"]["y"]) for r in own}) == len(own)
    assert records[0].keys() == {"file", "line", "sentence", "rank", "probability", "score", "labels"}


def test_tag_json_of_the_one_best(folder: Path, capsysbinary):
    text, _ = printed(capsysbinary, "tag", folder / "a.model", folder / "a.txt", "--marginals", "--json")
    records = [json.loads(line) for line in text.splitlines()]
    assert [len(r["labels"]["y"]) for r in records] == [2, 3]
    for r in records:
        assert r.keys() == {"file", "line", "sentence", "labels", "marginals"}
        for distribution in r["marginals"]["y"]:
            assert sum(distribution.values()) == pytest.approx(1.0)


def test_tag_json_of_cliques(folder: Path, capsysbinary):
    text, _ = printed(capsysbinary, "tag", folder / "a.model", folder / "a.txt", "--clique-marginals", "--json")
    first, second = [json.loads(line)["cliques"] for line in text.splitlines()]
    assert [(own["clique"], own["sites"]) for own in first] == [
        ("y", [["y", 1]]), ("y", [["y", 2]]), ("y[-1], y", [["y", 1], ["y", 2]])
    ]  # fmt: skip
    assert len(second) == 3 + 2
    for own in first + second:
        shares = [share for *_, share in own["states"]]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1.0, abs=1e-3)
        assert all(set(names) <= set("PQR") for *names, _ in own["states"])


def test_tag_nbest_with_marginals_repeats_them(folder: Path, capsysbinary):
    text, _ = printed(capsysbinary, "tag", folder / "a.model", folder / "a.txt", "--nbest", 2, "--marginals")
    first, second, *_ = [part.splitlines() for part in text.split("\n\n")]
    assert [line.split()[-3] for line in first] == [line.split()[-3] for line in second]


def test_tag_nbest_says_where_there_is_no_labelling(folder: Path, capsysbinary):
    text, err = printed(capsysbinary, "tag", folder / "none.model", folder / "a.txt", "--nbest", 2)
    assert "no labelling is possible for 2 sentences, the first at" in err
    assert text == "a P _ 0 0\nb Q _ 0 0\n\nb Q _ 0 0\na P _ 0 0\nc R _ 0 0\n"


def test_tag_nbest_says_that_it_is_exact_whatever_the_template_says(folder: Path, capsysbinary):
    _, err = printed(capsysbinary, "tag", folder / "trp.model", folder / "a.txt", "--nbest", 2)
    assert err == "note: n-best by exact inference, which fits, and not by `trp`\n"
    _, err = printed(capsysbinary, "tag", folder / "trp.model", folder / "a.txt", "--nbest", 2, "--quiet")
    assert err == ""


def test_tag_nbest_says_that_it_is_approximate(folder: Path, capsysbinary):
    text, err = printed(capsysbinary, "tag", folder / "narrow.model", folder / "a.txt", "--nbest", 2)
    assert "exact inference does not fit on 2 sentences: their n-best labellings are approximate" in err
    assert {line.split()[-1] for line in text.splitlines() if line} == {"_"}


def test_iob2_is_kept(folder: Path):
    model, corpus = trained(CASES["segments"])
    legal = iob2("y")
    states = model.states["y"]
    for own in model.nbest(corpus, 50).sentences:
        for codes in own.codes["y"]:
            labelling = {"y": [states[code] for code in codes]}
            assert all(legal(labelling, t) for t in range(len(codes)))
