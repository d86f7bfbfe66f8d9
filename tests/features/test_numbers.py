"""Numbers in conditions: quantile bins, gaps of positions, missing numbers, and what cannot be learned."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dcrfdsl import DcrfError, Template, fit, load, load_text, to_text
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.features import FeatureExtractor, Lexicons, PartLearner
from dcrfdsl.features.values.number_values import binned, quantile_edges
from dcrfdsl.features.values.text_functions import number_of
from dcrfdsl.semantics.resolve.resolution import Resolved
from dcrfdsl.template import bins, index, length, positions

DATA = "data conll(word, age: float, year, tag)\nlabel tag in {A, B}\n"


def corpus_of(template: Resolved, rows):
    return corpus_from_rows([rows], template.require().data)


def learned(text: str, rows):
    template = load_text(DATA + text)
    return FeatureExtractor.learn(template.require(), corpus_of(template, rows), resources=Lexicons())[0], template


ROWS = [("a", "1", "1990", "A"), ("abcd", "2", "x", "B"), ("ab", "2", "2001", "A"), ("abc", "9", "12", "B")]


@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_bins_hold_about_as_many_tokens_each(count):
    rng = np.random.default_rng(count)
    numbers = rng.permutation(np.arange(1000.0))
    edges = quantile_edges(numbers, np.arange(1000), count)
    sizes = np.unique([name for (name,) in binned(numbers, edges)], return_counts=True)[1]
    assert len(sizes) == count and sizes.max() - sizes.min() <= 1


def test_a_frequent_number_makes_fewer_bins():
    numbers = np.array([0.0, 1.0, 2.0, 3.0])
    codes = np.array([0] * 60 + [1] * 20 + [2] * 10 + [3] * 10 + [-1] * 50)
    assert quantile_edges(numbers, codes, 4) == (1.0, 2.0)
    assert quantile_edges(numbers[:1], np.zeros(9, np.int64), 4) == ()
    assert binned(np.array([5.0, np.nan]), ()) == [("[-inf,inf)",), ()]


@pytest.mark.parametrize(
    ("text", "number"),
    [("3", 3), ("-2.5", -2.5), ("+.5", 0.5), ("1e3", 1000), ("7.", 7), ("", None), ("nan", None), ("inf", None),
     ("1_0", None), ("٣", None), ("1e999", None), (" 1", None), ("0x1", None)],
)  # fmt: skip
def test_texts_that_are_numbers(text, number):
    assert np.isnan(number_of(text)) if number is None else number_of(text) == number


def test_edges_of_the_training_data_hold_for_other_data_also_in_conditions():
    """A bin that no feature reads is learned too: what is tagged must not decide on it."""
    text = 'forbid tag is A and bin(age, 2)[-1] is "[2,inf)"\nclique tag: word'
    template = load_text(DATA + text)
    model = fit(template, corpus_of(template, [(w, a, y, "B") for w, a, y, _ in ROWS]), threads=1)
    other = corpus_of(template, [("a", "100", "1", "A"), ("b", "200", "1", "A"), ("c", "1", "1", "A")])
    extractor = model.extractor
    restored = FeatureExtractor.restore(model.spec, extractor.arrays(), extractor.metadata())
    for one in (extractor, restored):
        (rows,) = one.extract(other)
        assert len(rows.feature) == 1  # of the word `a`


def test_comparisons_in_constraints_and_memories_agree_with_enumeration(tmp_path):
    """Log Z, marginals and the best labelling of a saved model, by trying all labellings of a sentence."""
    text = (
        "memory late = late[-1] or age > 4 and tag[-1] is A\nclique tag: word, length(word) > 2\n"
        'clique tag[-1], tag: age - age[-1] >= 1\nclique late, tag\nforbid tag is A and bin(age, 2) is "[9,inf)"\n'
        "require tag is B when index - index[-2] = 2 and year < 1995"
    )
    template = load_text(DATA + text)
    labels = ("B", "A", "B", "B")
    rows = [(w, a, y, tag) for (w, a, y, _), tag in zip(ROWS, labels, strict=True)]
    model = fit(template, corpus_of(template, rows), threads=1)
    model = model.with_weights(np.random.default_rng(0).normal(0, 1, model.num_weights), model.record)
    model.save(tmp_path / "numbers.model")
    model = load(tmp_path / "numbers.model")
    weights = {key[:3]: key[3] for key in model.explanations.iter_weights()}
    sentence = [("abcd", 5.0, 1990.0), ("a", 1.0, 3.0), ("abcd", 9.0, 1990.0), ("ab", 5.0, 1990.0), ("a", 6.0, 2000.0)]
    scores = {}
    for tags in itertools.product("AB", repeat=len(sentence)):
        late, score, allowed = False, 0.0, True
        for t, (word, age, year) in enumerate(sentence):
            late = t > 0 and (late or (age > 4 and tags[t - 1] == "A"))
            allowed &= not (tags[t] == "A" and age >= 9) and not (t >= 2 and year < 1995 and tags[t] != "B")
            known = word in {w for w, *_ in rows}
            score += weights.get(("tag", f"word={word}", (tags[t],)), 0.0) if known else 0.0
            score += weights.get(("tag", "length(word) > 2", (tags[t],)), 0.0) if len(word) > 2 else 0.0
            score += weights.get(("late, tag", "bias", ("yes" if late else "no", tags[t])), 0.0)
            if t and age - sentence[t - 1][1] >= 1:
                score += weights.get(("tag[-1], tag", "age - age[-1] >= 1", tags[t - 1 : t + 1]), 0.0)
        if allowed:
            scores[tags] = score
    total = np.logaddexp.reduce(list(scores.values()))
    corpus = corpus_of(template, [(w, str(a), str(y), "B") for w, a, y in sentence])
    marginals, _ = model.marginals(corpus)
    for t in range(len(sentence)):
        expected = sum(np.exp(score - total) for tags, score in scores.items() if tags[t] == "A")
        assert marginals["tag"][t, list(model.states["tag"]).index("A")] == pytest.approx(expected, abs=1e-9)
    assert tuple(model.predict(corpus).texts("tag")) == max(scores, key=scores.__getitem__)


def test_a_file_with_other_edges_is_refused():
    extractor, template = learned("clique tag: bin(age, 2)", ROWS)
    metadata = extractor.metadata()
    assert metadata["bins"] == {"bin(age, 2)": [9.0]}
    for wrong in ({}, {"bin(age, 2)": [2.0, 1.0]}, {"bin(age, 3)": [2.0]}, {"bin(age, 2)": [float("nan"), 1.0]}):
        with pytest.raises(Exception, match="edges of bins"):
            FeatureExtractor.restore(template.require(), extractor.arrays(), {**metadata, "bins": wrong})


def test_missing_numbers_pass_no_test_and_have_no_bin():
    extractor, template = learned("clique tag: year < 2000, year != 12, not year >= 2000, bin(year, 1900, 2000)", ROWS)
    (rows,) = extractor.extract(corpus_of(template, ROWS))
    found = [
        {extractor.describe(0, one) for one in rows.feature[a:b]}
        for a, b in zip(rows.row_off, rows.row_off[1:], strict=False)
    ]
    assert found[1] == {"not year >= 2000"}
    assert found[2] == {"year != 12", "bin(year, 1900, 2000)=[2000,inf)"}
    assert found[3] == {"year < 2000", "not year >= 2000", "bin(year, 1900, 2000)=[-inf,1900)"}


def test_constants_are_numbers_also_after_an_equals_sign():
    extractor, _ = learned("let two = 2\nclique tag: age = two, age != two, age > two, age - age[-1] <= two", ROWS)
    assert extractor.sets[0].templates == ("age = 2", "age != 2", "age > 2", "age - age[-1] <= 2")
    assert extractor.sets[0].features_of_template == (1, 1, 1, 1)


@pytest.mark.parametrize(
    ("where", "pairs"),
    [
        ("index[j] - index[i] < 3", {(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)}),
        ("index[i] - index[j] >= -1", {(0, 1), (1, 2), (2, 3)}),
        ("index[j] - index[i] = 2", {(0, 2), (1, 3)}),
        ("index[j] - index[i] > 1.5 and word[i] has /a/", {(0, 2), (0, 3), (1, 3)}),
        ("index[j-1] - index[i] <= 0", {(0, 1), (1, 2), (2, 3)}),
        ("age[j] - age[i] >= 7 and index[j] - index[i] <= 2", {(1, 3), (2, 3)}),
        ("length(word)[i] > length(word)[j] and age[i] < age[j]", {(1, 3)}),
    ],
)
@pytest.mark.parametrize("more", ["", ", max_gap = 9"])
def test_relations_by_differences(where, pairs, more):
    text = f"clique tag[i], tag[j] as near:\n    where {where}\n    with link = all{more}\n    word[i]\nclique tag"
    extractor, template = learned(text, ROWS)
    relation = extractor.relations(extractor.values(corpus_of(template, ROWS)))[0]
    assert set(zip(relation.first.tolist(), relation.second.tolist(), strict=True)) == pairs


def test_quantiles_are_not_learned_from_parts():
    template = load_text(DATA + "clique tag: bin(age, 4)")
    with pytest.raises(DcrfError, match="quantiles of all the data") as raised:
        PartLearner(template.require(), Lexicons(), {})
    assert raised.value.diagnostics[0].help == "give edges, as in `bin(age, 18, 30, 65)`"


def test_the_builder_writes_the_same():
    m = Template()
    word, age, year, _ = m.data("conll", "word", "age:float", "year", "tag")
    tag, adult = m.label("tag", ["A", "B"]), m.let("adult", 18)
    i, j = positions("i", "j")
    m.clique(
        tag, features=[length(word) >= 3, age - age[-1] < -0.5, age == 1, bins(year, 4).window(-1, 1), age > adult]
    )
    m.clique(tag[i], tag[j], where=(index[j] - index[i] != 20) & (age[i] <= age[j]), name="near")
    text = (
        "label tag in {A, B}\nlet adult = 18\n"
        "clique tag: length(word) >= 3, age - age[-1] < -0.5, age = 1, bin(year, 4)[-1..1], age > adult\n"
        "clique tag[i], tag[j] as near:\n    where index[j] - index[i] != 20 and age[i] <= age[j]\n"
    )
    expected = load_text("data conll(word, age: float, year, tag)\n" + text).spec
    assert m.spec() == expected
    assert load_text(to_text(expected)).spec == expected
    for wrong in (lambda: length(word) > "x", lambda: index - 3, lambda: age == 3.5j):
        with pytest.raises(TypeError):
            wrong()
