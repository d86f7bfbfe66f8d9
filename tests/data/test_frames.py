"""Data frames of pandas, polars and Arrow: the same corpus from each, predictions as frames, and what is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from dcrfdsl import DcrfError, TrainedModel, corpus_from_frame, corpus_from_rows, fit, load_text
from dcrfdsl.data import Corpus
from dcrfdsl.sklearn import CRF, InputError, SequenceTagger

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
narwhals = pytest.importorskip("narwhals")

TEMPLATE = "data conll(word, size: float, y)\nlabel y\nclique y: bias, word, size > 1\nclique y[-1], y\n"
DATA = load_text(TEMPLATE + "train likelihood\n").require().data
MISSING = load_text(TEMPLATE.replace("y)\nlabel", 'y, missing = "?")\nlabel')).require().data
Columns = dict[str, list[Any]]
MADE: Mapping[str, Callable[[Columns], Any]] = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "pyarrow": pyarrow.table,
    "narwhals": lambda columns: narwhals.from_native(polars.DataFrame(columns)),
}


def drawn(seed: int) -> Columns:
    """A frame with a row a token, of sentences of one to five."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 6, 8)
    rows = int(lengths.sum())
    return {
        "sentence": [f"s{n}" for n, length in enumerate(lengths) for _ in range(length)],
        "word": random.choice(["a", "dog", "ünï", "x y", ""], rows).tolist(),
        "size": random.integers(0, 9, rows).astype(float).tolist(),
        "y": random.choice(["A", "B"], rows).tolist(),
    }


def by_sentence(columns: Columns) -> Columns:
    """The same with a row a sentence."""
    keys = list(dict.fromkeys(columns["sentence"]))
    own = {key: [n for n, one in enumerate(columns["sentence"]) if one == key] for key in keys}
    return {name: [[columns[name][n] for n in own[key]] for key in keys] for name in columns if name != "sentence"}


def assert_same(corpus: Corpus, other: Corpus) -> None:
    assert corpus.sentence_off.tolist() == other.sentence_off.tolist()
    for name in ("word", "y"):
        assert corpus.text_column(name).values == other.text_column(name).values
        np.testing.assert_array_equal(corpus.columns[name].codes, other.columns[name].codes)
    assert [*corpus.columns] == [*other.columns]


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    columns = drawn(0)
    resolved = load_text(TEMPLATE + "train likelihood: optimizer = lbfgs(max_iterations = 5)\n")
    return fit(resolved, corpus_from_frame(pandas.DataFrame(columns), resolved.require().data), threads=1)


@pytest.mark.parametrize("kind", MADE)
def test_frames_give_what_rows_give(kind: str) -> None:
    for seed in range(5):
        columns = drawn(seed)
        lists = by_sentence(columns)
        rows = corpus_from_rows([dict(zip(lists, one, strict=True)) for one in zip(*lists.values(), strict=True)], DATA)
        tokens, sentences = (corpus_from_frame(MADE[kind](one), DATA) for one in (columns, lists))
        assert_same(tokens, rows)
        assert_same(sentences, rows)
        assert tokens.token_line.tolist() == list(range(1, len(columns["y"]) + 1))
        assert sentences.token_line.tolist() == rows.token_line.tolist()


def dictionary(columns: Columns) -> Any:
    return pyarrow.table({k: pyarrow.array(v).dictionary_encode() if k != "size" else v for k, v in columns.items()})


def chunked(columns: Columns) -> Any:
    table = pyarrow.table(columns)
    return pyarrow.concat_tables([table.slice(0, 3), table.slice(3, 1), table.slice(4)])


def words_as(kind: Any) -> Callable[[Columns], Any]:
    return lambda columns: pyarrow.table({**columns, "word": pyarrow.array(columns["word"], kind)})


def cast(names: Sequence[str], kind: Any) -> Callable[[Columns], Any]:
    return lambda columns: polars.DataFrame(columns).with_columns(polars.col(names).cast(kind))


def of_type(**kinds: str) -> Callable[[Columns], Any]:
    return lambda columns: pandas.DataFrame(columns).astype(kinds)


STORED: Mapping[str, Callable[[Columns], Any]] = {
    "dictionaries of Arrow": dictionary,
    "chunks of Arrow": chunked,
    "views of Arrow": words_as(pyarrow.string_view()),
    "large texts of Arrow": words_as(pyarrow.large_string()),
    "categoricals of polars": cast(["word", "y"], polars.Categorical),
    "enums of polars": cast(["y"], polars.Enum(["B", "A"])),
    "float32 of polars": cast(["size"], polars.Float32),
    "categories of pandas": of_type(word="category", y="category", sentence="category"),
    "Int64 of pandas": of_type(size="Int64"),
    "types of Arrow in pandas": lambda c: pandas.DataFrame(c).convert_dtypes(dtype_backend="pyarrow"),
    "an index of pandas": lambda c: pandas.DataFrame(c, index=[7] * len(c["y"])),
}


@pytest.mark.parametrize("name", STORED)
def test_how_a_frame_stores_its_columns_does_not_count(name: str) -> None:
    columns = drawn(3)
    assert_same(corpus_from_frame(STORED[name](columns), DATA), corpus_from_frame(pandas.DataFrame(columns), DATA))


@pytest.mark.parametrize("kind", MADE)
def test_numbers_that_are_not_there_are_missing(kind: str) -> None:
    columns: Columns = {"sentence": [1, 1, 2], "word": ["a", "b", "c"], "size": [1.5, None, 2.0], "y": ["A", "B", "A"]}
    sizes = corpus_from_frame(MADE[kind](columns), MISSING).columns["size"].values
    np.testing.assert_array_equal(sizes, [1.5, np.nan, 2.0])
    whole = corpus_from_frame(MADE[kind]({**columns, "size": [1, None, 2]}), MISSING).columns["size"].values
    np.testing.assert_array_equal(whole, [1.0, np.nan, 2.0])


BAD = {
    "a text is none": ({"word": ["a", "b", None]}, "`word`", "<frame>:3"),
    "a number is none": ({"size": [1.0, None, 2.0]}, "`size`", "<frame>:2"),
    "no sentence": ({"sentence": [1, 1, None]}, "row 3 belongs to no sentence", "<frame>:3"),
    "a sentence again": ({"sentence": [1, 2, 1]}, "comes again in row 3", "<frame>:3"),
    "a list among texts": ({"word": [["a"], ["b"], ["c"]]}, "`word`", "<frame>:1"),
}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_has_its_row_and_column(name: str, kind: str) -> None:
    changed, says, place = BAD[name]
    columns = {"sentence": [1, 1, 1], "word": ["a", "b", "c"], "size": [1.0, 2.0, 3.0], "y": ["A", "B", "A"], **changed}
    with pytest.raises(DcrfError) as refused:
        corpus_from_frame(MADE[kind](columns), DATA)
    (problem,) = refused.value.diagnostics
    assert says in problem.message and problem.location == place


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_rows_of_sentences_that_do_not_fit(kind: str) -> None:
    lists: Columns = {"word": [["a"], ["b", "c"]], "size": [[1.0], [2.0, 3.0]], "y": [["A"], ["B"]]}
    with pytest.raises(DcrfError, match="columns of unequal length") as refused:
        corpus_from_frame(MADE[kind](lists), DATA)
    assert refused.value.diagnostics[0].location == "<frame>:2"
    with pytest.raises(DcrfError, match="column `y` has no list in row 2"):
        corpus_from_frame(MADE[kind]({**lists, "y": [["A"], None]}), DATA)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("nothing", [None, float("nan"), pandas.NA])
def test_a_text_that_is_not_there_is_to_be_filled_in(kind: str, nothing: Any) -> None:
    words = ["a", nothing] if kind == "pandas" else ["a", None]
    with pytest.raises(DcrfError) as refused:
        corpus_from_frame(MADE[kind]({"sentence": [1, 1], "word": words, "size": [1.0, 2.0], "y": ["A", "B"]}), DATA)
    (problem,) = refused.value.diagnostics
    assert problem.location == "<frame>:2" and problem.help is not None and "fill in what is missing" in problem.help


def test_two_columns_of_one_name_are_refused() -> None:
    rows = [1, "a", "b", 1.0, "A"]
    names = ["sentence", "word", "word", "size", "y"]
    for frame in (
        pandas.DataFrame([rows], columns=names),
        pyarrow.Table.from_arrays([pyarrow.array([one]) for one in rows], names=names),
    ):
        with pytest.raises(DcrfError, match="the frame has 2 columns `word`") as refused:
            corpus_from_frame(frame, DATA)
        assert refused.value.diagnostics[0].location == "<frame>"


def test_maps_of_arrow_are_bags() -> None:
    data = load_text("data conll(a: weighted_bag, y)\nlabel y\nclique y: a\n").require().data
    maps = pyarrow.array([[("x", 2.0)], []], pyarrow.map_(pyarrow.string(), pyarrow.float64()))
    corpus = corpus_from_frame(pyarrow.table({"sentence": [1, 1], "a": maps, "y": ["A", "B"]}), data)
    assert [dict(corpus.columns["a"].items(n)) for n in range(2)] == [{"x": 2.0}, {}]


def test_lazy_frames_and_other_things_are_refused() -> None:
    lazy = polars.LazyFrame(drawn(0))
    for act in (lambda: corpus_from_frame(lazy, DATA), lambda: SequenceTagger(TEMPLATE).fit(lazy)):
        with pytest.raises(TypeError, match=r"`frame\.collect\(\)`"):
            act()
    for other in ({"word": ["a"]}, [1], None, "frame", pyarrow.array([1])):
        with pytest.raises(TypeError, match="`frame` takes a data frame"):
            corpus_from_frame(other, DATA)


def test_without_narwhals_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(DcrfError, match="install the extra `frames`"):
        corpus_from_frame(pandas.DataFrame(drawn(0)), DATA)


# predictions as frames ------------------------------------------------------------------------------------------------


def listed(frame: Any) -> Columns:
    opened = narwhals.from_native(frame)
    return {name: opened[name].to_list() for name in opened.columns}


@pytest.mark.parametrize("kind", MADE)
def test_predictions_stand_beside_what_came_in(kind: str, model: TrainedModel) -> None:
    columns = drawn(4)
    frame = MADE[kind]({**columns, "more": list(range(len(columns["y"])))})
    prediction = model.predict(corpus_from_frame(frame, model.spec.data), threads=1)
    made = prediction.to_frame()
    assert type(made) is type(frame if kind != "narwhals" else frame.to_native())
    found = listed(made)
    assert found["predicted_y"] == prediction.texts("y")
    assert {name: found[name] for name in columns} == columns and [*found][-2:] == ["more", "predicted_y"]
    for other, module in (("pandas", pandas), ("polars", polars), ("pyarrow", pyarrow)):
        asked = prediction.to_frame(other)
        assert type(asked) is (module.Table if other == "pyarrow" else module.DataFrame)
        assert listed(asked)["predicted_y"] == prediction.texts("y")
    again = model.predict(corpus_from_frame(made, model.spec.data), threads=1).to_frame()
    assert listed(again) == found  # the column is written anew


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_predictions_of_sentences_are_lists(kind: str, model: TrainedModel) -> None:
    lists = by_sentence(drawn(5))
    lists["word"].insert(2, [])
    lists["size"].insert(2, [])
    del lists["y"]
    corpus = corpus_from_frame(MADE[kind](lists), model.spec.data, optional=["y"])
    prediction = model.predict(corpus, threads=1)
    found = listed(prediction.to_frame())["predicted_y"]
    assert [len(one) for one in found] == [len(one) for one in lists["word"]]
    assert [label for one in found for label in one] == prediction.texts("y")


def test_pandas_keeps_its_index(model: TrainedModel) -> None:
    columns = drawn(6)
    frame = pandas.DataFrame(columns, index=[f"i{n}" for n in range(len(columns["y"]))])
    made = model.predict(corpus_from_frame(frame, model.spec.data), threads=1).to_frame()
    assert made.index.tolist() == frame.index.tolist() and "predicted_y" not in frame
    assert not made["predicted_y"].isna().any()


def test_a_corpus_from_elsewhere_needs_a_kind(model: TrainedModel) -> None:
    corpus = corpus_from_rows([[("a", 1.0, "A"), ("dog", 2.0, "B")], [("x", 0.0, "A")]], model.spec.data)
    prediction = model.predict(corpus, threads=1)
    assert listed(prediction.to_frame("polars")) == {
        "sentence": [1, 1, 2], "word": ["a", "dog", "x"], "size": [1.0, 2.0, 0.0], "y": ["A", "B", "A"],
        "predicted_y": prediction.texts("y"),
    }  # fmt: skip
    with pytest.raises(ValueError, match="name the kind, pandas, polars, pyarrow"):
        prediction.to_frame()
    with pytest.raises(ValueError, match="found 'dask'"):
        prediction.to_frame("dask")
    part = corpus_from_frame(polars.DataFrame(drawn(7)), model.spec.data).slice(0, 2)
    with pytest.raises(ValueError, match="name the kind"):  # whose rows are not those of the frame
        model.predict(part, threads=1).to_frame()


# scikit-learn ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_estimators_take_any_frame(kind: str) -> None:
    columns = drawn(8)
    own, text = MADE[kind](columns), TEMPLATE + "train likelihood: optimizer = lbfgs(max_iterations = 5)\n"
    same = SequenceTagger(text).fit(pandas.DataFrame(columns))
    y = own["y"], own.select(["y"]), columns["y"]
    for tagger in (SequenceTagger(text).fit(own), *(SequenceTagger(text).fit(own.drop(["y"]), labels) for labels in y)):
        np.testing.assert_array_equal(tagger.model_.weights, same.model_.weights)
        assert tagger.predict(own).tolist() == same.predict(pandas.DataFrame(columns)).tolist()
        assert tagger.score(own) == same.score(pandas.DataFrame(columns))
    lists = by_sentence(columns)
    tagger = SequenceTagger(text).fit(MADE[kind](lists))
    np.testing.assert_array_equal(tagger.model_.weights, same.model_.weights)
    sentences = [list(zip(*one, strict=True)) for one in zip(lists["word"], lists["size"], strict=True)]
    expected = SequenceTagger(text).fit(sentences, lists["y"]).predict(sentences)
    assert list(tagger.predict(MADE[kind](lists))) == list(expected)
    crf = CRF(max_iterations=5).fit(own.drop(["y"]), own["y"])
    assert crf.predict(own.drop(["y"])).shape == (len(columns["y"]),)


def test_an_estimator_names_the_row(model: TrainedModel) -> None:
    columns = {**drawn(9)}
    columns["word"][3] = None
    for kind, place in (("pandas", "X.iloc[3]"), ("polars", "X[3]"), ("pyarrow", "X[3]")):
        with pytest.raises(InputError) as refused:
            SequenceTagger(TEMPLATE).fit(MADE[kind](columns))
        assert refused.value.diagnostics[0].location == place
