"""`SequenceTagger`: every form of X, y and template; parameters; cross-validation; what it says of bad input."""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import sklearn
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

import dcrfdsl
from dcrfdsl import DcrfError, DcrfWarning, Template, corpus_from_rows, fit, load_text
from dcrfdsl.sklearn import InputError, SequenceTagger
from dcrfdsl.template import bias, gaussian

TEXT = """data conll(word, kind, pos, chunk)
label pos
label chunk in {NP, O}
let variance = 10 tune log(0.1, 10)
clique pos: bias, word
clique chunk: bias, kind
clique pos[-1], pos
clique pos, chunk
train likelihood:
    prior = gaussian(variance = variance)
    optimizer = lbfgs(max_iterations = 12)
evaluate joint_accuracy, accuracy(pos)
"""
ONE = """data conll(word, tag)
label tag
clique tag: bias, word
clique tag[-1], tag
train likelihood: optimizer = lbfgs(max_iterations = 12)
"""
FULL = [
    [("the", "w", "D", "NP"), ("dog", "w", "N", "NP"), ("runs", "w", "V", "O")],
    [("3", "n", "D", "NP"), ("runs", "w", "N", "NP")],
    [("runs", "w", "V", "O")],
    [("a", "w", "D", "NP"), ("dog", "w", "N", "NP"), ("sees", "w", "V", "O"), ("3", "n", "D", "NP")],
] * 3
X = [[token[:2] for token in sentence] for sentence in FULL]
Y = [[token[2:] for token in sentence] for sentence in FULL]
WORDS = [[token[0] for token in sentence] for sentence in FULL]
TAGS = [[token[2] for token in sentence] for sentence in FULL]
COLUMNS = ("word", "kind", "pos", "chunk")


def by_label(sentence: list[tuple[str, ...]]) -> dict[str, list[str]]:
    return dict(zip(("pos", "chunk"), map(list, zip(*sentence, strict=True)), strict=True))


def frame(names: tuple[str, ...] = ("sentence", *COLUMNS)) -> pandas.DataFrame:
    rows = [(n, *token) for n, sentence in enumerate(FULL) for token in sentence]
    return pandas.DataFrame(rows, columns=["sentence", *COLUMNS])[list(names)]


def weights(tagger: SequenceTagger) -> list[float]:
    return list(tagger.model_.weights.tolist())


@pytest.fixture(scope="module")
def expected() -> list[float]:
    template = load_text(TEXT)
    return list(fit(template, corpus_from_rows(FULL, template.require().data)).weights.tolist())


@pytest.fixture(scope="module")
def tagger() -> SequenceTagger:
    return trained()


@pytest.fixture(scope="module")
def single() -> SequenceTagger:
    return SequenceTagger(ONE).fit(WORDS, TAGS)


# the forms of X and y -----------------------------------------------------------------------------------------------

FORMS_OF_X: dict[str, Callable[[], Any]] = {
    "tuples": lambda: X,
    "lists": lambda: [[list(token) for token in sentence] for sentence in X],
    "dicts": lambda: [[dict(zip(COLUMNS, token, strict=False)) for token in sentence] for sentence in X],
    "dicts of lists": lambda: [dict(zip(COLUMNS, zip(*sentence, strict=True), strict=False)) for sentence in X],
    "with labels": lambda: FULL,
    "arrays": lambda: [np.array(sentence) for sentence in X],
    "data frames": lambda: [pandas.DataFrame(sentence, columns=["word", "kind"]) for sentence in X],
    "a generator": lambda: (sentence for sentence in X),
    "a series": lambda: pandas.Series(X),
    "a corpus": lambda: corpus_from_rows(FULL, load_text(TEXT).require().data),
}


@pytest.mark.parametrize("form", FORMS_OF_X)
def test_x_has_many_forms(form: str, expected: list[float], tagger: SequenceTagger) -> None:
    other = SequenceTagger(TEXT).fit(FORMS_OF_X[form](), Y)
    assert weights(other) == expected
    assert tagger.predict(FORMS_OF_X[form]()).tolist() == Y


FORMS_OF_Y: dict[str, Callable[[], Any]] = {
    "lists of tuples": lambda: Y,
    "lists of dicts": lambda: [[dict(zip(("pos", "chunk"), token, strict=True)) for token in own] for own in Y],
    "dicts of lists": lambda: [by_label(own) for own in Y],
    "a dict by label": lambda: {label: [by_label(own)[label] for own in Y] for label in ("pos", "chunk")},
    "a generator": lambda: (own for own in Y),
}


@pytest.mark.parametrize("form", FORMS_OF_Y)
def test_y_comes_out_as_it_went_in(form: str, expected: list[float]) -> None:
    y = FORMS_OF_Y[form]()
    other = SequenceTagger(TEXT).fit(X, y)
    assert weights(other) == expected
    found = other.predict(X)
    if form == "a generator":
        assert found.tolist() == Y
    elif isinstance(y, dict):
        assert {label: own.tolist() for label, own in found.items()} == y
        assert other.predict_single(X[0]) == by_label(Y[0])
    else:
        assert found.tolist() == y
        assert other.predict_single(X[0]) == y[0]
    assert other.score(X, FORMS_OF_Y[form]()) == 1.0


def test_texts_are_annotated_as_the_model_does(tmp_path: Path) -> None:
    template = "data spans(word = token, ner = spans)\nlabel ner in bio(X)\nclique ner: bias, word\n"
    path = tmp_path / "a.json"
    path.write_text('[{"text": "a b", "label": [[0, 1, "X"]]}, {"text": "b", "label": [], "answer": "reject"}]')
    tagger = SequenceTagger(template)
    with pytest.warns(DcrfWarning, match="1 text is left out, as `answer` is `reject`"):
        words, labels = tagger.read(path)
    tagger.fit(words, labels)
    texts = ["a b", "", "b a"]
    assert tagger.annotate(texts) == tagger.annotate(pandas.Series(texts)) == tagger.model_.annotate(texts)
    assert [(one.text, one.start) for one in tagger.annotate("b a")] == [("a", 2)]
    with pytest.raises(InputError, match="has tokens, and no running texts"):
        SequenceTagger(ONE).fit(WORDS, TAGS).annotate(["a"])
    with pytest.raises(NotFittedError):
        SequenceTagger(template).annotate(["a"])


def test_a_data_frame_has_a_label_a_row(expected: list[float], single: SequenceTagger) -> None:
    rows = [token for own in Y for token in own]
    labels = frame(("pos", "chunk"))
    answers = [
        SequenceTagger(TEXT).fit(frame()),
        SequenceTagger(TEXT).fit(frame(("sentence", "word", "kind")), labels),
        SequenceTagger(TEXT).fit(frame(("sentence", "word", "kind")), rows),
        SequenceTagger(TEXT).fit(frame(("sentence", "word", "kind")), Y),
    ]
    for other in answers:
        assert weights(other) == expected
        assert other.predict(frame()).tolist() == list(map(list, rows))
        assert other.score(frame()) == 1.0
    marginals = answers[0].predict_marginals(frame())
    assert len(marginals) == len(rows) and set(marginals[0]) == {"pos", "chunk"}
    one = SequenceTagger(ONE, sentence="s").fit(frame().rename(columns={"sentence": "s"}), frame()["pos"])
    assert weights(one) == weights(single)
    assert one.predict(frame().rename(columns={"sentence": "s"})).tolist() == frame()["pos"].tolist()


def test_a_sentence_without_a_token_has_no_labels(expected: list[float]) -> None:
    other = SequenceTagger(TEXT).fit([[], *X, []], [[], *Y, []])
    assert weights(other) == expected
    assert other.predict([[], X[0], []]).tolist() == [[], Y[0], []]
    assert other.predict([[]]).tolist() == [[]] and other.predict([]).tolist() == []
    assert other.predict_marginals([[], X[2]])[0] == []


def test_sentences_of_one_length_are_no_table(single: SequenceTagger) -> None:
    found = single.predict([["the", "dog"], ["a", "dog"]])
    assert found.shape == (2,) and found[0] == ["D", "N"]


def test_values_that_are_lists_themselves() -> None:
    text = "data jsonl(x: vector(2), y)\nlabel y\nclique y: bias, x\n"
    arrays = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.5]])]
    tagger = SequenceTagger(text).fit(arrays, [["A", "B"], ["A"]])
    assert tagger.predict(np.array([arrays[0], arrays[0]])).tolist() == [["A", "B"]] * 2
    assert tagger.predict([[[0.0, 1.0]], [([0.0, 1.0],)]]).tolist() == [["B"], ["B"]]
    bags = SequenceTagger("data jsonl(x: bag, y)\nlabel y\nclique y: bias, x\n")
    assert bags.fit([[["a", "b"], ["c"]]], [["A", "B"]]).predict([["a b", ["c"]]]).tolist() == [["A", "B"]]


def test_tokens_may_be_dictionaries_of_features(tmp_path: Path) -> None:
    text = "data crfsuite(y, attributes: weighted_bag)\nlabel y\nclique y: attributes\nclique y[-1], y\n"
    dicts = [[{"word": "Mill", "length": 4.0, "next": {"word": "Lane"}}, {"word": "Lane"}], [{"word": "Bath"}]]
    tagger = SequenceTagger(text).fit(dicts, [["S", "S"], ["T"]])
    assert tagger.predict(dicts).tolist() == [["S", "S"], ["T"]]
    assert tagger.predict([[["word:Bath"]], [{"attributes": {"word": "Mill"}}]]).tolist() == [["T"], ["S"]]
    features = {feature for _, feature, _, _ in tagger.model_.explanations.iter_weights()}
    assert any("next:word:Lane" in feature for feature in features)
    (tmp_path / "a.txt").write_text("S\tword=Mill\tlength:4\n")
    assert SequenceTagger(text).read(tmp_path / "a.txt") == ([[{"word=Mill": 1.0, "length": 4.0}]], [["S"]])
    with pytest.raises(InputError) as caught:
        tagger.predict([[{"word": "Mill"}, {"word": None}]])
    assert caught.value.diagnostics[0].location == "X[0][1]"


# the model ----------------------------------------------------------------------------------------------------------


def builder() -> Template:
    m = Template("pos")
    word, _ = m.data("conll", "word", "tag")
    tag = m.label("tag")
    m.clique(tag, features=[bias, word])
    m.clique(tag[-1], tag)
    m.train("likelihood", optimizer=dcrfdsl.template.lbfgs(max_iterations=12))
    return m


def path_of(folder: Path) -> Path:
    (folder / "one.dcrf").write_text(ONE)
    return folder / "one.dcrf"


@pytest.mark.parametrize("form", ["path", "str", "text", "model", "spec", "resolved"])
def test_a_template_has_many_forms(form: str, tmp_path: Path, single: SequenceTagger) -> None:
    template: Any = {
        "path": lambda: path_of(tmp_path),
        "str": lambda: str(path_of(tmp_path)),
        "text": lambda: ONE,
        "model": builder,
        "spec": lambda: load_text(ONE).require(),
        "resolved": lambda: load_text(ONE),
    }[form]()
    tagger = SequenceTagger(template).fit(WORDS, TAGS)
    assert weights(tagger) == weights(single)
    stronger = clone(tagger).set_params(train__prior="gaussian(variance = 0.1)").fit(WORDS, TAGS)
    assert np.abs(stronger.model_.weights).max() < np.abs(tagger.model_.weights).max()
    assert pickle.loads(pickle.dumps(stronger)).predict(WORDS).tolist() == stronger.predict(WORDS).tolist()


def test_paths_of_a_template_stay_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "dogs.txt").write_text("dog\n")
    (tmp_path / "a.dcrf").write_text('lexicon dogs = "dogs.txt"\n' + ONE.replace("bias, word", "bias, word in dogs"))
    resolved = dcrfdsl.load_template(tmp_path / "a.dcrf")
    tagger = SequenceTagger(resolved, train__seed=3).fit(WORDS, TAGS)
    assert tagger.model_.record.settings["seed"] == 3


def test_what_the_model_knows(tagger: SequenceTagger, single: SequenceTagger) -> None:
    assert single.classes_.tolist() == ["D", "N", "V"] and single.labels_ == ("tag",)
    assert [own.tolist() for own in tagger.classes_] == [["D", "N", "V"], ["NP", "O"]]
    (token,) = single.predict_marginals_single(["dog"])
    corpus = corpus_from_rows([{"word": ["dog"]}], single.model_.spec.data, optional=["tag"])
    assert list(token.values()) == pytest.approx(single.model_.marginals(corpus)[0]["tag"][0])
    pair = tagger.predict_marginals([[("dog", "w")]])[0][0]
    assert sum(pair["pos"].values()) == pytest.approx(1) and set(pair["chunk"]) == {"NP", "O"}


def test_scores_are_the_metrics_of_the_template(tagger: SequenceTagger, single: SequenceTagger) -> None:
    wrong = [[("N", chunk) for _, chunk in own] for own in Y]
    measured = tagger.evaluate(X, wrong)
    assert tagger.score(X, wrong) == measured["joint_accuracy"] == 0.3
    assert measured["tokens"] == 30
    # without `evaluate` it is the first of the default metrics; a risk is turned round
    assert single.score(WORDS, TAGS) == single.evaluate(WORDS, TAGS)["accuracy(tag)"] == 1.0
    risky = SequenceTagger(ONE + "evaluate rank_risk\n").fit(WORDS, TAGS)
    assert risky.score(WORDS, TAGS) == 1.0 - risky.evaluate(WORDS, TAGS)["rank_risk"]


def test_held_out_data_stops_training() -> None:
    patient = SequenceTagger(ONE.replace("optimizer", "patience = 1\n    optimizer").replace("d: p", "d:\n    p"))
    assert patient.fit(WORDS, TAGS, WORDS, TAGS).model_.record.curve[0].dev is not None


def test_a_sentence_that_no_labelling_fits_is_a_warning() -> None:
    text = ONE + "".join(f'forbid tag is {state} and word is "no"\n' for state in "DNV")
    tagger = SequenceTagger(text).fit(WORDS, TAGS)
    with pytest.warns(DcrfWarning, match=r"X\[2\]; what is predicted there means nothing"):
        tagger.predict([["dog"], [], ["no", "dog"]])
    frame_of_two = pandas.DataFrame({"sentence": [1, 1, 2], "word": ["a", "dog", "no"]})
    with pytest.warns(DcrfWarning, match=r"X\.iloc\[2\]"):
        tagger.predict_marginals(frame_of_two)


# parameters ---------------------------------------------------------------------------------------------------------


def test_settings_are_parameters() -> None:
    tagger = SequenceTagger(TEXT, variance=1, infer="trp")
    assert {"variance": 1, "infer": "trp", "stage": None}.items() <= tagger.get_params().items()
    other = clone(tagger).set_params(variance=np.int64(2), infer__tolerance=1e-4, threads=1)
    assert other.get_params()["threads"] == 1 and tagger.get_params()["variance"] == 1
    spec = other.fit(X, Y).model_.spec
    assert "let variance = 2\n" in dcrfdsl.to_text(spec) and "infer trp: tolerance = 0.0001" in dcrfdsl.to_text(spec)
    assert repr(tagger).replace(TEXT.encode("unicode_escape").decode(), "…").endswith("variance=1)")
    assert "variance" in tagger._repr_html_()
    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9):  # the first to show what was fitted
        assert "model_" in other._repr_html_()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("gaussian(variance = 3)", "prior = gaussian(variance = 3)"),
        (None, "prior = none"),
        (gaussian(variance=0.5), "prior = gaussian(variance = 0.5)"),
    ],
)
def test_a_setting_is_a_text_or_a_value(value: object, written: str) -> None:
    tagger = clone(SequenceTagger(ONE, train__prior=value)).fit(WORDS, TAGS)
    assert written in dcrfdsl.to_text(tagger.model_.spec)


def test_ranges_of_the_template_are_a_grid() -> None:
    assert SequenceTagger(TEXT).param_grid(3) == {"variance": [0.1, 1.0, 10]}
    with pytest.raises(InputError, match="nothing-to-tune"):
        SequenceTagger(TEXT, variance=3).param_grid()


def test_a_file_becomes_lists(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n\n".join("\n".join(map(" ".join, own)) for own in FULL) + "\n")
    read_X, read_y = SequenceTagger(TEXT).read(tmp_path / "a.txt")
    assert read_X == X and read_y == Y
    (tmp_path / "b.txt").write_text("the\ndog\n")
    assert SequenceTagger(ONE).read(tmp_path / "b.txt") == ([["the", "dog"]], None)


def test_it_is_no_classifier_of_rows() -> None:
    tags = get_tags(SequenceTagger(ONE))
    assert tags.estimator_type is None and not tags.input_tags.two_d_array and tags.target_tags.multi_output


# cross-validation ---------------------------------------------------------------------------------------------------


def test_cross_validation(single: SequenceTagger) -> None:
    tagger = SequenceTagger(TEXT)
    assert cross_val_predict(tagger, X, Y, cv=3).tolist() == Y
    assert cross_val_score(tagger, X, Y, cv=3).tolist() == [1.0, 1.0, 1.0]
    scores = cross_validate(tagger, X, Y, cv=3, scoring=SequenceTagger.evaluate)
    assert scores["test_accuracy(pos)"].tolist() == [1.0, 1.0, 1.0]
    groups = {"cv": GroupKFold(3), "groups": frame()["sentence"]}
    found = cross_val_predict(SequenceTagger(ONE), frame(), frame()["pos"], **groups)
    assert found.tolist() == frame()["pos"].tolist()
    both = cross_val_predict(tagger, frame(), frame(("pos", "chunk")), **groups)
    assert both.tolist() == frame(("pos", "chunk")).to_numpy().tolist()


def test_a_search_within_a_pipeline() -> None:
    piped = make_pipeline(FunctionTransformer(), SequenceTagger(TEXT))
    grid = {f"sequencetagger__{name}": values for name, values in SequenceTagger(TEXT).param_grid(2).items()}
    search = GridSearchCV(piped, grid, cv=2).fit(X, Y)
    assert search.best_params_["sequencetagger__variance"] in (0.1, 10)
    assert search.predict(X).tolist() == Y


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_a_search_in_two_processes() -> None:
    grid = {"variance": [0.001, 10.0], "train__optimizer": ["lbfgs(max_iterations = 5)", "lbfgs(max_iterations = 9)"]}
    alone, shared = (GridSearchCV(SequenceTagger(TEXT), grid, cv=3, n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert shared.cv_results_["mean_test_score"].tolist() == alone.cv_results_["mean_test_score"].tolist()
    assert weights(shared.best_estimator_) == weights(alone.best_estimator_)
    with pytest.raises(InputError, match="no constant `varianc`"):  # an error of a worker arrives as it is
        GridSearchCV(SequenceTagger(TEXT), {"varianc": [1, 2]}, cv=2, n_jobs=2, error_score="raise").fit(X, Y)


# what is wrong ------------------------------------------------------------------------------------------------------

short = [own[:-1] for own in TAGS]
BAD: dict[str, tuple[Callable[[SequenceTagger], object], str, str]] = {
    "fewer labels": (lambda t: t.fit(WORDS, TAGS[1:]), "`X` has 12 sentences, `y` has 11", "y"),
    "a label less": (lambda t: t.fit(WORDS, short), "`X[0]` has 3 tokens, `y[0]` has 2 labels", "y[0]"),
    "a number as label": (lambda t: t.fit(WORDS, [["A", 1, "B"], *TAGS[1:]]), "found `1`, expected a text", "y[0][1]"),
    "a number as word": (lambda t: t.fit([*WORDS[:3], ["a", "b", 5, "c"]], TAGS[:4]), "found `5`", "X[3][2]"),
    "no word": (lambda t: t.predict([["a"], [{"word": "a"}, {"kind": "b"}]]), "column `word` missing", "X[1][1]"),
    "too wide": (
        lambda t: t.predict([["a"], ["b", ("c", "d", "e")]]),
        "found `('c', 'd', 'e')`, expected a text",
        "X[1][1]",
    ),
    "one sentence": (lambda t: t.predict(["the", "dog"]), "expected a sentence", "X[0]"),
    "two kinds of y": (lambda t: t.fit(WORDS[:2], [TAGS[0], 5]), "`y[1]` is 5, expected a list of labels", "y[1]"),
    "y by other labels": (lambda t: t.fit(WORDS, {"pos": TAGS}), "`y` has no labels `tag`: found `pos`", "y"),
    "no y": (lambda t: t.fit(WORDS), "without `y`, tokens have all columns", "X[0][0]"),
    "nothing": (lambda t: t.fit([[], []], [[], []]), "there is no sentence with a token", "X"),
    "no such column": (lambda t: t.fit(frame(("sentence", "pos")), frame()["pos"]), "`word` missing", "<frame>:1"),
    "a number in a frame": (lambda t: t.predict(frame().assign(word=[*"ab", *[1] * 28])), "found `1`", "X.iloc[2]"),
    "rows less": (lambda t: t.fit(frame(), frame()["pos"][1:]), "`X` has 30 rows, `y` has 29 labels", "y"),
    "dev without labels": (lambda t: t.fit(WORDS, TAGS, WORDS), "`X_dev` is given without `y_dev`", ""),
    "dev": (lambda t: t.fit(WORDS, TAGS, WORDS, TAGS[1:]), "`X_dev` has 12 sentences, `y_dev` has 11", "y_dev"),
    "no such setting": (lambda t: t.set_params(train__pior=1).fit(WORDS, TAGS), "`pior`", ""),
    "no such constant": (lambda t: t.set_params(variance=1).fit(WORDS, TAGS), "no constant `variance`", ""),
    "a mistake": (lambda t: t.set_params(template="label\n").fit(WORDS, TAGS), "expected", ""),
    "no label": (lambda t: t.set_params(template="data conll(a)\n").fit(WORDS, TAGS), "label", ""),
    "no file": (lambda t: t.set_params(template="no.dcrf").fit(WORDS, TAGS), "no file `no.dcrf`", ""),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_message_with_its_place(case: str, single: SequenceTagger) -> None:
    """As a ValueError, which scikit-learn's users expect, and as a DcrfError."""
    act, words, place = BAD[case]
    with pytest.raises(InputError) as caught:
        act(pickle.loads(pickle.dumps(single)))
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, DcrfError)
    assert words in str(caught.value)
    assert not place or caught.value.diagnostics[0].location == place
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is InputError and again.diagnostics == caught.value.diagnostics


LEAVES = st.none() | st.integers() | st.floats() | st.text(max_size=2) | st.sampled_from([b"a", 1j, "\ud800"])
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from(["word", "kind", "pos", "chunk", "sentence"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(X=ANYTHING | st.lists(ANYTHING, max_size=3), y=ANYTHING | st.lists(ANYTHING, max_size=3))
@settings(max_examples=60)
def test_nothing_else_is_ever_raised(X: Any, y: Any) -> None:
    for act in (lambda: trained().predict(X), lambda: trained().score(X, y), lambda: trained().score(FULL[:2], y)):
        try:
            act()
        except InputError:
            pass
        except TypeError as error:
            assert str(error).startswith(("`X` takes a list", "`y` takes a list"))


@functools.cache
def trained() -> SequenceTagger:
    return SequenceTagger(TEXT).fit(X, Y)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda t: t.fit(WORDS, TAGS, sample_weight=[1] * 12), "takes no `sample_weight`: sentences have no weights"),
        (lambda t: t.score(WORDS, TAGS, sample_weight=[1] * 12), "`score` takes no `sample_weight`"),
        (lambda t: t.fit(WORDS, TAGS, folds=3), "`fit` takes no `folds`"),
        (lambda t: t.predict(5), "`X` takes a list of sentences: found an int"),
        (lambda t: t.predict("the dog"), "`X` takes a list of sentences: found the text 'the dog'"),
        (lambda t: t.predict({"word": ["a"]}), "`X` takes a list of sentences: found a mapping"),
        (lambda t: t.fit(WORDS, 5), "`y` takes a list of labels: found an int"),
        (lambda t: t.set_params(train__prior=[1]).fit(WORDS, TAGS), "the setting `train__prior` takes a text"),
        (lambda t: t.set_params(template=5).fit(WORDS, TAGS), "`template` takes a template"),
    ],
)
def test_bad_arguments_are_type_errors(
    act: Callable[[SequenceTagger], object], words: str, single: SequenceTagger
) -> None:
    with pytest.raises(TypeError) as caught:
        act(pickle.loads(pickle.dumps(single)))
    assert words in str(caught.value)


def test_a_failed_fit_leaves_the_model_as_it_was(single: SequenceTagger) -> None:
    other = pickle.loads(pickle.dumps(single))
    with pytest.raises(InputError):
        other.fit(WORDS, short)
    assert other.predict(WORDS).tolist() == TAGS


def test_an_estimator_that_is_not_trained_says_so() -> None:
    for ask in ("predict", "predict_marginals", "predict_single", "score", "evaluate"):
        with pytest.raises(NotFittedError):
            getattr(SequenceTagger(ONE), ask)(WORDS)


# the library --------------------------------------------------------------------------------------------------------

PROGRAMS = {
    "the room is light and shadows nothing": (
        "import dcrfdsl.sklearn, sys; assert 'sklearn' not in sys.modules; "
        "import sklearn; print(sys.modules['sklearn'].__name__, dcrfdsl.sklearn.__name__, hasattr(sklearn, 'clone'))",
        "sklearn dcrfdsl.sklearn True",
    ),
    "without scikit-learn it is said what to install": (
        "import sys; sys.modules['sklearn'] = None\n"
        "try:\n    import dcrfdsl.sklearn.sequence_estimator\n"
        "except ImportError as error:\n    print(str(error).replace(chr(10), ' '))",
        "error[missing-package]: the estimators need the package `scikit-learn`, which is not installed   "
        "= help: install the extra `sklearn`; in a clone of dcrfdsl: pip install -e '.[sklearn]'",
    ),
    "what scikit-learn itself lacks is not said to be scikit-learn": (
        "import sys; sys.modules['joblib'] = None\n"
        "try:\n    import dcrfdsl.sklearn.sequence_estimator\n"
        "except ImportError as error:\n    print(type(error).__name__, error.name)",
        "ModuleNotFoundError joblib",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_library_is_loaded_when_it_is_needed(name: str) -> None:
    program, shown = PROGRAMS[name]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == shown, done.stderr


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DCRFDSL_THREADS", "1")
    yield
