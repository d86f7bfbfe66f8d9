"""`decode fscore(y)`: the highest ratio of expectations of all legal, possible labellings, by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dcrfdsl import corpus_from_rows
from dcrfdsl.export.exportable import refuse_unless_exportable
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.graph import FactorGraph
from dcrfdsl.inference import SegmentReading, SegmentSearch, posterior_chain
from dcrfdsl.model.trained_model import load
from dcrfdsl.semantics import legal_moves
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.schema.segment_schemes import scheme_states
from dcrfdsl.semantics.settings.decoding_settings import decoding_text, read_decoding
from dcrfdsl.training.pipeline import fit

MARKED = ("O", "B-X", "I-X", "I-Y")  # states that no scheme made


def read_segments(states):
    """As conlleval's script does: an open segment is closed where a mark begins another one, or another type comes."""
    found, begun = set(), None
    for t, state in enumerate([*states, "O"]):
        mark, _, kind = state.partition("-")
        before, _, old = states[t - 1].partition("-") if t else ("O", "", "")
        cut = mark in "OBSU" or before in "OESLU" or kind != old
        if begun is not None and cut:
            found.add((begun, t - 1, old))
            begun = None
        if state != "O" and begun is None:
            begun = t
    return found


def random_chain(rng, cards, length, zeros):
    """Factors on one position and on two neighbours; some cut the chain, some have their axes in any order."""
    width, scopes = len(cards), []
    for t in range(length):
        scopes += [(t * width + m,) for m in range(width)]
        near = list(range(t * width, min((t + 2) * width, length * width)))
        scopes += [tuple(rng.permutation(near)[: rng.integers(1, 4)].tolist()) for _ in range(3)]
        scopes += [(t * width, (t + 1) * width)] if t + 1 < length else []
    cards = cards * length
    tables = [2.0 * rng.normal(size=[cards[v] for v in scope]) for scope in scopes]
    for table in tables:
        table[rng.random(table.shape) < zeros] = -np.inf
    return FactorGraph(tuple(cards), tuple(scopes), tuple(tables))


def with_moves(graph, width, variable, legal):
    """The graph with factors that forbid moves of one variable, and what may stand at the ends."""
    with np.errstate(divide="ignore"):
        table = np.log(legal.astype(float))
    chain = list(range(variable, len(graph.cards), width))
    scopes = [(chain[0],), (chain[-1],), *itertools.pairwise(chain)]
    tables = [table[-1, :-1], table[:-1, -1], *[table[:-1, :-1]] * (len(chain) - 1)]
    return FactorGraph(graph.cards, (*graph.scopes, *scopes), (*graph.log_tables, *tables))


def enumerated(graph, width, variable, states):
    """p of each labelling of one variable of each position, [*states]."""
    total = {}
    for assignment in itertools.product(*map(range, graph.cards)):
        weight = math.exp(graph.score(assignment))
        labelling = tuple(states[code] for code in assignment[variable::width])
        total[labelling] = total.get(labelling, 0.0) + weight
    z = sum(total.values())
    return {labelling: weight / z for labelling, weight in total.items()} if z else {}


def is_legal(scheme, labelling):
    """By the definition of each scheme, on texts."""
    for before, here in itertools.pairwise(["O", *labelling, "O"]):
        (a, _, old), (b, _, new) = before.partition("-"), here.partition("-")
        same = old == new
        if scheme == "bio" and b == "I" and not (a in "BI" and same):
            return False
        if scheme == "iob1" and b == "B" and not (a in "BI" and same):
            return False
        if scheme == "bioes" and ((b in "IE") != (a in "BI") or (a in "BI" and not same)):
            return False
    return True


def ratio(segments, p, expected, gamma):
    whole = len(segments) + gamma**2 * expected
    return (1 + gamma**2) * sum(p.get(s, 0.0) for s in segments) / whole if whole else 0.0


@pytest.mark.parametrize("scheme", ["bio", "iob1", "bioes", None])
@pytest.mark.parametrize(("first", "count"), [(0, 12), pytest.param(12, 240, marks=pytest.mark.long)])
def test_it_is_the_best_of_all_labellings(scheme, first, count):
    searched = 0
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        states = MARKED if scheme is None else scheme_states(scheme, ["X", "Y"][: 1 + seed % 2])
        if len(states) > 5:
            states = scheme_states(scheme, ["X"])
        others = [[], [2], []][seed % 3]
        variable, cards = len(others), [*others, len(states)]
        length = int(rng.integers(1, 4 if others else 6))
        graph = random_chain(rng, cards, length, [0.0, 0.3][seed % 2])
        gamma = float([1.0, 1.0, 2.0, 0.5][seed % 4])
        if scheme is not None:  # the moves that the scheme allows are factors of the model
            graph = with_moves(graph, len(cards), variable, legal_moves(scheme, states))
        posterior = enumerated(graph, len(cards), variable, states)
        chain = posterior_chain(graph, len(cards))
        assert (chain is None) == (not posterior)
        if chain is None:
            continue
        found = SegmentSearch.of(*chain, SegmentReading.of(cards, variable, states))
        p, allowed = {}, [one for one in posterior if posterior[one] > 0]
        assert scheme is None or all(is_legal(scheme, one) for one in allowed)
        for labelling, share in posterior.items():
            for segment in read_segments(labelling):
                p[segment] = p.get(segment, 0.0) + share
        assert found.expected == pytest.approx(sum(p.values()), abs=1e-12)
        codes = found.best(gamma, None)
        searched += 1
        labelling = tuple(states[code] for code in codes)
        assert labelling in allowed
        values = {one: ratio(read_segments(one), p, sum(p.values()), gamma) for one in allowed}
        assert values[labelling] == pytest.approx(max(values.values()), abs=1e-12)
        theta = 0.7
        one = tuple(states[code] for code in found.best(gamma, theta))
        gains = {other: sum((1 + gamma**2) * p[s] - theta for s in read_segments(other)) for other in allowed}
        assert gains[one] == pytest.approx(max(gains.values()), abs=1e-12)
    assert searched > 0.55 * count - 2  # more than 500 of all; the others have no labelling


# models ---------------------------------------------------------------------------------------------------------------


DATA = "data conll(word, pos, chunk)\n"
CHAIN = "label chunk in bio(NP, VP)\nclique chunk: bias, word\nclique chunk[-1], chunk\n"
TWO = "label pos in {N, V}\nclique pos: word\nclique pos[-1], pos\nclique pos, chunk\n"
TEMPLATES = {
    "a chain": DATA + CHAIN,
    "two chains": DATA + CHAIN + TWO,
    "messages on two chains": DATA + CHAIN + TWO + "infer trp\n",
    "a latent variable": DATA + CHAIN + "latent kind in 2\nclique kind, chunk: word\nclique kind[-1], kind\n",
    "a constraint": DATA + CHAIN + "require not (chunk is B-VP and chunk[-1] is I-NP)\n",
    "a memory": DATA + CHAIN + "once chunk\n",
    "learned states": "data conll(word, pos, chunk)\nlabel chunk\nclique chunk: word\nclique chunk[-1], chunk\n",
}
ROWS = {
    "word": list("abcabac"), "pos": list("NVNNVVN"), "chunk": ["B-NP", "I-NP", "O", "B-VP", "I-VP", "O", "B-NP"],
}  # fmt: skip


def model_of(text, seed=0):
    """A model with weights that are not learned, and sentences of 3 and 4 tokens."""
    rows = [{name: values[at:end] for name, values in ROWS.items()} for at, end in [(0, 3), (3, 7)]]
    spec = load_text(f"{text}train likelihood\n")
    corpus = corpus_from_rows(rows, spec.require().data)
    model = fit(spec, corpus, threads=1, unchecked=True)
    model.weights[:] = np.random.default_rng(seed).normal(size=len(model.weights)) * 1.5
    return model, corpus


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_model_labels_by_it(name):
    model, corpus = model_of(TEMPLATES[name])
    states, scheme = model.states["chunk"], None if name == "learned states" else "bio"
    prediction = model.predict(corpus, decode="fscore(chunk)")
    assert not prediction.status.impossible
    lists, off = model.nbest(corpus, 100_000), corpus.sentence_off
    for s, found in enumerate(lists.sentences):
        posterior, p = {}, {}
        for codes, share in zip(found.codes["chunk"], found.probability, strict=True):
            labelling = tuple(states[code] for code in codes)
            posterior[labelling] = posterior.get(labelling, 0.0) + share
        for labelling, share in posterior.items():
            for segment in read_segments(labelling):
                p[segment] = p.get(segment, 0.0) + share
        if not np.isfinite(found.probability).all():
            continue  # messages: only scores are known
        allowed = [one for one in posterior if scheme is None or is_legal(scheme, one)]
        values = {one: ratio(read_segments(one), p, sum(p.values()), 1.0) for one in allowed}
        ours = tuple(prediction.texts("chunk")[off[s] : off[s + 1]])
        assert values[ours] == pytest.approx(max(values.values()), abs=1e-9)
        # the other labels are the best ones beside these
        same = [r for r, codes in enumerate(found.codes["chunk"]) if tuple(states[c] for c in codes) == ours]
        assert prediction.scores[s] == pytest.approx(max(found.score[same]), abs=1e-9)


def test_labels_that_are_given_stay():
    model, _ = model_of(TEMPLATES["two chains"])
    for state in ("I-NP", "B-VP"):
        found = model.tag(list(ROWS["word"][:4]), given={"chunk": [None, None, state, None]}, decode="fscore(chunk)")
        assert found["chunk"][2] == state


REFUSED = {
    "next position": DATA + CHAIN + "clique chunk[-2], chunk[-1], chunk\n",
    "`where`": DATA + CHAIN + "clique chunk[i], chunk[j] where word[i] = word[j]: bias\n",
    "joint states": DATA + CHAIN + "latent kind in 100\nclique kind, chunk: word\n",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_has_no_chain_is_refused_before_training(words):
    with pytest.raises(DcrfError, match=words):
        model_of(REFUSED[words] + "decode fscore(chunk)\n")
    model, corpus = model_of(REFUSED[words])
    with pytest.raises(DcrfError, match=words) as error:
        model.predict(corpus, decode="fscore(chunk)")
    assert error.value.diagnostics[0].slug == "no-expected-f"


def test_the_rule_travels(tmp_path):
    model, corpus = model_of(TEMPLATES["two chains"] + "decode fscore(chunk, overall = 0.8)\n")
    assert model.decode == "fscore(chunk, overall = 0.8)"
    model.save(tmp_path / "m.model")
    again = load(tmp_path / "m.model")
    assert again.predict(corpus).texts("chunk") == model.predict(corpus).texts("chunk")
    with pytest.raises(DcrfError, match="weighs whole segments"):
        refuse_unless_exportable(model)
    for text in ("fscore(chunk)", "fscore(chunk, gamma = 2.0, overall = 0.25)"):
        assert decoding_text(read_decoding(text)) == text
    for text, words in [
        ("fscore", "nothing is no value for `label`"), ("fscore(chunk, gamma = x)", "no value for `gamma`"),
        ("fscore(chunk, 2)", "not a setting"), ("fscore(chunk, overall = 2)", "no value for `overall`"),
    ]:  # fmt: skip
        with pytest.raises(DcrfError, match=words):
            read_decoding(text)
    with pytest.raises(DcrfError, match="`pos` is no label with segments"):
        model.predict(corpus, decode="fscore(pos)")
