"""`CRF`: what python-crfsuite trains and tags, as sklearn-crfsuite shows it; forms of X; what it says of bad input."""

from __future__ import annotations

import inspect
import pickle
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict

from dcrfdsl import DcrfError, DcrfWarning
from dcrfdsl.crfsuite import ItemSequence
from dcrfdsl.sklearn import CRF, InputError

WORDS = ("the", "dog", "runs", "a", "cat", "sees", "3", "mice", "é:b", "back\\slash")
TAGS = ("D", "N", "V", "D", "N", "V", "D", "N", "B-é", "X")


def drawn(count: int, seed: int) -> tuple[list[list[Any]], list[list[str]]]:
    """Sequences of nested and ragged items, and their labels, a tenth of which are wrong."""
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        ids = random.integers(0, len(WORDS), random.integers(1, 6)).tolist()
        items: list[Any] = [
            {
                "w": WORDS[n],
                "len": len(WORDS[n]) / 4,
                "odd": bool(n % 2),
                "near": {"w": WORDS[ids[t - 1]] if t else "^"},
            }
            if n % 3
            else [f"w={WORDS[n]}", "third"]
            for t, n in enumerate(ids)
        ]
        X.append(items)
        y.append([TAGS[n] if random.random() < 0.9 else "N" for n in ids])
    return X, y


X, Y = drawn(25, 0)
X_TEST, Y_TEST = drawn(10, 1)
CASES: dict[str, dict[str, Any]] = {
    "l1 and l2": {"c1": 0.1, "c2": 0.1, "epsilon": 1e-9, "delta": 1e-12},
    "all": {"all_possible_states": True, "all_possible_transitions": True, "c2": 0.5, "epsilon": 1e-9},
    "rare ones left out": {"min_freq": 2, "c2": 1.0, "epsilon": 1e-9},
}


@pytest.fixture(scope="module")
def crf() -> CRF:
    return CRF(**CASES["l1 and l2"]).fit(X, Y)


@pytest.mark.parametrize("case", CASES)
def test_weights_are_those_of_python_crfsuite(case: str, tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    names = {
        "all_possible_states": "feature.possible_states",
        "all_possible_transitions": "feature.possible_transitions",
        "min_freq": "feature.minfreq",
    }
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({names.get(name, name): value for name, value in CASES[case].items()})
    for items, labels in zip(X, Y, strict=True):
        trainer.append(items, labels)
    trainer.train(str(tmp_path / "peer.crfsuite"))
    peer = pycrfsuite.Tagger()
    peer.open(str(tmp_path / "peer.crfsuite"))
    info = peer.info()

    crf = CRF(**CASES[case]).fit(X, Y)
    ours, theirs = (float(log.last_iteration["loss"]) for log in (crf.training_log_, trainer.logparser))
    assert ours == pytest.approx(theirs, rel=1e-3)
    assert crf.classes_ == peer.labels()
    assert crf.predict(X_TEST).tolist() == [peer.tag(items) for items in X_TEST]
    for items, marginals in zip(X_TEST, crf.predict_marginals(X_TEST), strict=True):
        peer.set(items)
        for n, token in enumerate(marginals):
            assert list(token) == peer.labels()
            assert list(token.values()) == pytest.approx([peer.marginal(label, n) for label in token], abs=2e-2)
    if case == "all":  # L1 may leave a weight out that is nearly 0
        assert set(crf.transition_features_) == set(info.transitions)
        assert set(crf.state_features_) == set(info.state_features)
        assert crf.attributes_ == sorted(info.attributes, key=lambda name: int(info.attributes[name]))
        assert crf.num_attributes_ == len(crf.attributes_)
    (tmp_path / "ours.crfsuite").write_bytes(crf.model_)
    assert crf.size_ == len(crf.model_)
    peer.open(str(tmp_path / "ours.crfsuite"))
    assert [peer.tag(items) for items in X_TEST] == crf.predict(X_TEST).tolist()


PARAMETERS = """algorithm min_freq all_possible_states all_possible_transitions c1 c2 max_iterations num_memories
    epsilon period delta linesearch max_linesearch calibration_eta calibration_rate calibration_samples
    calibration_candidates calibration_max_trials pa_type c error_sensitive averaging variance gamma verbose
    model_filename keep_tempfiles trainer_cls"""


def test_parameters_are_those_of_sklearn_crfsuite() -> None:
    """In its order, of version 0.5, so that positional arguments mean the same."""
    ours = inspect.signature(CRF).parameters
    assert list(ours) == PARAMETERS.split()
    given = {name: own.default for name, own in ours.items() if own.default is not None}
    assert given == {"verbose": False, "keep_tempfiles": False}


# the forms of X ---------------------------------------------------------------------------------------------------

FORMS: dict[str, Callable[[], Any]] = {
    "a generator": lambda: (items for items in X),
    "generators": lambda: [iter(items) for items in X],
    "item sequences": lambda: [ItemSequence(items) for items in X],
    "tuples": lambda: tuple(map(tuple, X)),
}


@pytest.mark.parametrize("form", FORMS)
def test_x_has_many_forms(form: str, crf: CRF) -> None:
    assert crf.predict(FORMS[form]()).tolist() == crf.predict(X).tolist()
    short = {"c2": 0.1, "max_iterations": 3}
    assert CRF(**short).fit(FORMS[form](), iter(Y)).model_ == CRF(**short).fit(X, Y).model_


def test_a_data_frame_has_an_item_a_row() -> None:
    rows = [(n, f"w{len(own)}", t, label) for n, own in enumerate(Y[:20]) for t, label in enumerate(own)]
    frame = pandas.DataFrame(rows, columns=["sentence", "word", "at", "y"])
    frame.loc[frame["at"] == 0, "at"] = np.nan  # an empty cell is no feature
    features = frame.drop(columns="y")
    crf = CRF(max_iterations=5).fit(features, frame["y"])
    as_dicts: list[list[dict[str, Any]]] = [[] for _ in range(20)]
    for n, word, at, _ in rows:
        as_dicts[n].append({"word": word} | ({"at": float(at)} if at else {}))
    assert CRF(max_iterations=5).fit(as_dicts, Y[:20]).model_ == crf.model_
    assert crf.predict(features).tolist() == [label for own in crf.predict(as_dicts) for label in own]
    assert crf.score(features, frame["y"]) == crf.score(as_dicts, Y[:20])
    found = cross_val_predict(CRF(max_iterations=5), features, frame["y"], cv=GroupKFold(2), groups=frame["sentence"])
    assert found.shape == (len(frame),)


def test_sequences_without_items_have_no_labels(crf: CRF) -> None:
    assert crf.predict([[], X[0]]).tolist() == [[], crf.predict_single(X[0])]
    assert crf.predict_marginals_single([]) == [] and crf.predict([]).tolist() == []


def test_sequences_of_one_length_are_no_table(crf: CRF) -> None:
    assert crf.predict([X[0][:1], X[1][:1]]).shape == (2,)


# an estimator -----------------------------------------------------------------------------------------------------


def test_it_is_cloned_shown_and_pickled(crf: CRF) -> None:
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict(X_TEST).tolist() == crf.predict(X_TEST).tolist()
    assert again.training_log_.last_iteration == crf.training_log_.last_iteration
    assert repr(clone(CRF(c1=0.1, c2=0.5))) == "CRF(c1=0.1, c2=0.5)"
    assert "CRF" in CRF()._repr_html_()
    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9):  # the first to show what is default and fitted
        assert "state_features_" in crf._repr_html_() and "c1" in CRF()._repr_html_()
    found, gold = ([label for own in labels for label in own] for labels in (crf.predict(X_TEST), Y_TEST))
    assert crf.score(X_TEST, Y_TEST) == np.mean(np.array(found) == np.array(gold))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_a_search_in_two_processes() -> None:
    grid = {"c1": [0.0, 1.0]}
    crf = CRF(max_iterations=5)
    alone, shared = (GridSearchCV(crf, grid, cv=2, n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert shared.cv_results_["mean_test_score"].tolist() == alone.cv_results_["mean_test_score"].tolist()
    assert shared.best_params_ == alone.best_params_
    found = cross_val_predict(crf, X, Y, cv=3)
    assert list(map(len, found)) == list(map(len, Y))


def test_a_model_file_is_written_and_read(crf: CRF, tmp_path: Path) -> None:
    path = tmp_path / "a.crfsuite"
    assert clone(crf).set_params(model_filename=path).fit(X, Y).model_ == crf.model_ == path.read_bytes()
    reader = CRF(model_filename=str(path))
    assert reader.predict(X_TEST).tolist() == crf.predict(X_TEST).tolist()
    assert pickle.loads(pickle.dumps(reader)).classes_ == crf.classes_
    other = clone(crf).set_params(model_filename=tmp_path / "b.crfsuite").fit(X, [["N"] * len(own) for own in Y])
    assert reader.set_params(model_filename=other.model_filename).classes_ == other.classes_ == ["N"]
    path.write_bytes(b"lCRF, cut")
    with pytest.raises(ValueError, match=r"cut|damaged|model"):
        CRF(model_filename=path).predict(X_TEST)


def test_held_out_data_are_scored() -> None:
    log = CRF(max_iterations=5).fit(X, Y, X_TEST, Y_TEST).training_log_
    assert 0.0 <= log.last_iteration["item_accuracy_float"] <= 1.0


def test_without_a_model_there_are_no_attributes() -> None:
    for name in ("classes_", "tagger_", "attributes_", "state_features_", "transition_features_", "size_"):
        assert not hasattr(CRF(), name)
    for ask in ("predict", "predict_single", "predict_marginals", "predict_marginals_single"):
        with pytest.raises(NotFittedError, match="call `fit` first"):
            getattr(CRF(), ask)(X)


# what is wrong ------------------------------------------------------------------------------------------------------

BAD: dict[str, tuple[Callable[[], object], str, str]] = {
    "fewer labels": (lambda: CRF().fit(X, Y[1:]), "`X` has 25 sentences, `y` has 24", "y"),
    "a label less": (lambda: CRF().fit([["a"], ["b"]], [["A"], []]), "expected an item", "X[0][0]"),
    "a label more": (lambda: CRF().fit([[["a"]]], [["A", "B"]]), "`X[0]` has 1 token, `y[0]` has 2 labels", "y[0]"),
    "a number as label": (lambda: CRF().fit([[["a"]], [["b"]]], [["A"], [1]]), "found 1, expected a text", "y[1][0]"),
    "a text as sequence": (lambda: CRF().fit(["the dog"], [["A"]]), "expected a list of items", "X[0]"),
    "a number as item": (lambda: CRF().fit([[{"a": 1}, 5]], [["A", "B"]]), "int", "X[0][1]"),
    "None as value": (lambda: CRF().fit([[{"a": 1}, {"a": None}]], [["A", "B"]]), "NoneType", "X[0][1]"),
    "a label with NUL": (lambda: CRF().fit([[["a"], ["b"]]], [["A", "A\0x"]]), "'A\\x00x' has a NUL", "y[0][1]"),
    "no y": (lambda: CRF().fit(X), "`X` is given without `y`", ""),
    "dev without labels": (lambda: CRF().fit(X, Y, X), "`X_dev` is given without `y_dev`", ""),
    "no sentence column": (lambda: CRF().fit(pandas.DataFrame({"a": [1]}), ["A"]), "no column `sentence`", ""),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_message_with_its_place(case: str) -> None:
    act, words, place = BAD[case]
    with pytest.raises(InputError) as caught:
        act()
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, DcrfError)
    assert words in str(caught.value)
    assert not place or caught.value.diagnostics[0].location == place


class Numberless:
    def __float__(self) -> float:
        raise RuntimeError("there is none")


IN_ITSELF: dict[str, Any] = {}
IN_ITSELF["me"] = IN_ITSELF
VALUES: dict[str, tuple[Any, str]] = {
    "NaN": (float("nan"), "attribute 'len' is no finite number: nan"),
    "infinite": (-np.inf, "attribute 'len' is no finite number: -inf"),
    "NaN of 32 bits": (np.float32("nan"), "attribute 'len' is no finite number: nan"),
    "half a surrogate": ("\ud800", "a text holds half a surrogate pair, '\\ud800', which has no encoding"),
    "too large": (10**400, "int too large to convert to float"),
    "in itself": (IN_ITSELF, "an item is nested too deeply, or holds itself"),
    "raises": (Numberless(), "a value cannot become a number: RuntimeError: there is none"),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_value_that_is_no_number_is_refused_by_every_door(case: str, crf: CRF) -> None:
    value, words = VALUES[case]
    bad = [X[0], [*X[1], {"w": "a", "len": value}]]
    gold = [Y[0], [*Y[1], "N"]]
    doors: dict[str, Callable[[], object]] = {
        "fit": lambda: CRF().fit(bad, gold), "dev": lambda: CRF().fit(X, Y, bad, gold),
        "predict": lambda: crf.predict(bad), "marginals": lambda: crf.predict_marginals(bad),
        "score": lambda: crf.score(bad, gold),
    }  # fmt: skip
    for name, door in doors.items():
        with pytest.raises(InputError) as caught:
            door()
        assert words in str(caught.value)
        assert caught.value.diagnostics[0].location == f"X{'_dev' if name == 'dev' else ''}[1][{len(X[1])}]"
    with pytest.raises(InputError, match=re.escape(words)):
        crf.predict_single(bad[1])


def test_an_infinite_cell_is_reported_with_its_row(crf: CRF) -> None:
    frame = pandas.DataFrame({"sentence": [1, 1, 2, 2], "len": [1.0, 2.0, 3.0, np.inf]})
    for act in (lambda: crf.predict(frame), lambda: CRF().fit(frame, ["D", "N", "D", "N"])):
        with pytest.raises(InputError) as caught:
            act()
        assert caught.value.diagnostics[0].location == "X.iloc[3]"


def test_a_sum_that_is_too_large_is_refused(crf: CRF) -> None:
    """All its values are finite; the labels would be the first one everywhere, with probabilities NaN."""
    for items in ([{"len": 1e308}] * 20, [{}, {"len": 1.7e308, "near": {"w": "a"}}] * 40):
        for ask in (crf.predict, crf.predict_marginals):
            with pytest.raises(InputError, match=r"too large.*\n *--> X\[1\]\[\d+\]"):
                ask([X[0], items])
    twice = {"u": {"v": 1e308}, "u:v": 1e308}
    with pytest.raises(InputError, match="'u:v' of an item add up to no finite number"):
        CRF().fit([[twice]], [["A"]])


def test_attributes_that_sum_below_zero_are_said() -> None:
    """As CRFsuite, which gives them no weight; by counting in Python."""
    random = np.random.default_rng(3)
    X = [
        [{"bias": 1.0, "lon": random.normal(-1.5, 0.3), "lat": random.normal(0.2, 1.0)} for _ in range(9)] for _ in "ab"
    ]
    y = [["a"] * 4 + ["b"] * 5] * 2
    sums: dict[tuple[str, str], float] = {}
    for items, labels in zip(X, y, strict=True):
        for item, label in zip(items, labels, strict=True):
            for name, value in item.items():
                sums[name, label] = sums.get((name, label), 0.0) + value
    negative = {name for (name, _), total in sums.items() if total < 0.0}
    assert "lon" in negative and "bias" not in negative
    for settings in ({}, {"all_possible_states": True}, {"min_freq": 2.0}):
        with pytest.warns(DcrfWarning, match="sum below zero with a label") as caught:
            crf = CRF(max_iterations=5, **settings).fit(X, y)
        assert {name for name in ("bias", "lon", "lat") if f"`{name}`" in str(caught[0].message)} == negative
        assert not {pair for pair, total in sums.items() if total < 0.0} & set(crf.state_features_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = CRF(min_freq=-1e9, max_iterations=5).fit(X, y)
        CRF(max_iterations=5).fit([[{"a": 1.0}, {"a": 0.0, "b": False}]], [["A", "B"]])
    assert set(kept.state_features_) == set(sums)


@pytest.mark.parametrize(
    "parameter",
    [{"algorithm": "sgd"}, {"c1": -1.0}, {"c2": "x"}, {"linesearch": "none"}, {"pa_type": 1}, {"max_iterations": -1}],
)
def test_a_parameter_that_is_no_good_is_said(parameter: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(parameter)).removeprefix("pa_")):
        CRF(**parameter).fit(X, Y)


def test_nothing_to_train_on_is_said(tmp_path: Path) -> None:
    for items in ([], [[]]):
        with pytest.raises(InputError, match="there is no sequence with an item to train on") as caught:
            CRF().fit(items, items)
        assert "Trainer" not in str(caught.value)
    with pytest.raises(InputError, match="no directory"):
        CRF(model_filename=tmp_path / "none" / "a.crfsuite").fit(X, Y)


def test_sentences_have_no_weights() -> None:
    with pytest.raises(TypeError, match="takes no `sample_weight`: sentences have no weights"):
        CRF().fit(X, Y, sample_weight=[1.0] * len(X))
