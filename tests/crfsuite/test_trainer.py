"""The trainer: the log, the features, the steps and the models of python-crfsuite on the same data."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dcrfdsl.crfsuite as ours
from dcrfdsl.crfsuite import Tagger, Trainer, read_crfsuite_file
from dcrfdsl.crfsuite.quasi_newton import LINE_SEARCHES, Failure, Ray
from dcrfdsl.foundation.errors.diagnostics import DcrfError

peer = pytest.importorskip("pycrfsuite", reason="python-crfsuite is in the extra `test`")
from crfsuite_cases import KINDS, Labelled, string_items, weighted_items  # noqa: E402

POSSIBLE = {"feature.possible_states": True, "feature.possible_transitions": True}
_NUMBER = re.compile(r"-?\d+\.\d+")


def lines_of(
    module: Any, algorithm: str, data: Sequence[Labelled], params: dict[str, Any], path: str | Path, holdout: int = -1
) -> list[str]:
    """What a trainer says while it trains; sequence n belongs to group n modulo 3."""

    class Listener(module.BaseTrainer):  # type: ignore[misc]
        def message(self, message: str) -> None:
            said.append(message)

    said: list[str] = []
    trainer = Listener(algorithm, params)
    for n, (items, labels) in enumerate(data):
        trainer.append(items, labels, n % 3)
    trainer.train(str(path), holdout)
    return "".join(said).splitlines()


def assert_same_lines(found: list[str], expected: list[str]) -> None:
    """The same lines; fractions may differ by rounding, and times by anything."""
    words, numbers = zip(*(_words_and_numbers(lines) for lines in (found, expected)), strict=True)
    assert words[0] == words[1]
    np.testing.assert_allclose(numbers[0], numbers[1], atol=2e-6, rtol=1e-5)


def _words_and_numbers(lines: list[str]) -> tuple[list[str], list[float]]:
    timeless = [re.sub(r"(econds required.*:) [\d.]+", r"\1", line) for line in lines]
    numbers = [float(number) for line in timeless for number in _NUMBER.findall(line)]
    return [_NUMBER.sub("#", line) for line in timeless], numbers


# lbfgs ----------------------------------------------------------------------------------------------------------------

SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "little penalty": {"c2": 1e-3, "max_iterations": 30},
    "corners": {"c1": 0.7, "c2": 0.05},
    "corners alone": {"c1": 1.0, "c2": 0.0, "max_iterations": 25},
    "strong corners": {"c1": 4},
    "minfreq": {"feature.minfreq": 2, "max_iterations": 12},
    "a fractional minfreq": {"feature.minfreq": 0.75},
    "no feature is left": {"feature.minfreq": 1e6},
    "possible states": {"feature.possible_states": True},
    "possible transitions": {"feature.possible_transitions": True},
    "possible but too rare": {**POSSIBLE, "feature.minfreq": 1},
    "backtracking": {"linesearch": "Backtracking", "c2": 0.1},
    "strong backtracking": {"linesearch": "StrongBacktracking", "c2": 0.1, "max_iterations": 20},
    "delta": {"period": 2, "delta": 0.01},
    "no period": {"period": 0, "epsilon": 1e-3},
    "epsilon": {"epsilon": 0.1},
    "few memories": {"num_memories": 1, "max_iterations": 15},
    "few trials": {"max_linesearch": 1},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_lbfgs_says_and_stores_what_crfsuite_does(kind: str, name: str, tmp_path: Path) -> None:
    # closer to the optimum than this, steps follow the rounding of the objective
    data, params = KINDS[kind](3), {"epsilon": 1e-4} | SETTINGS[name]
    found = lines_of(ours, "lbfgs", data, params, tmp_path / "ours")
    assert_same_lines(found, lines_of(peer, "lbfgs", data, params, tmp_path / "theirs"))
    mine, theirs = read_crfsuite_file(tmp_path / "ours"), read_crfsuite_file(tmp_path / "theirs")
    assert (mine.labels, mine.attributes) == (theirs.labels, theirs.attributes)
    for field in ("state_attributes", "state_labels", "transition_from", "transition_to"):
        np.testing.assert_array_equal(getattr(mine, field), getattr(theirs, field))
    for field in ("state_weights", "transition_weights"):
        np.testing.assert_allclose(getattr(mine, field), getattr(theirs, field), atol=1e-5)


@pytest.mark.parametrize("kind", ["nested", "weighted"])  # the best labels of lists of texts are too often ties
def test_holdout_data_are_left_out_and_measured_on(kind: str, tmp_path: Path) -> None:
    data = KINDS[kind](4, 30)
    data.append((data[0][0], ["never seen elsewhere"] * len(data[0][0])))  # group 0
    params = {"c1": 0.1, "c2": 0.1, "max_iterations": 8}
    lines = [lines_of(module, "lbfgs", data, params, tmp_path / "m", 0) for module in (ours, peer)]
    assert "Holdout group: 1" in lines[0] and "    never seen elsewhere: (" in "\n".join(lines[0])
    assert_same_lines(*lines)


@pytest.mark.parametrize("kind", KINDS)
def test_python_crfsuite_opens_the_model_and_agrees(kind: str, tmp_path: Path) -> None:
    data = KINDS[kind](5)
    lines_of(ours, "lbfgs", data, {"c2": 0.05}, tmp_path / "m")
    theirs, mine = peer.Tagger(), Tagger()
    theirs.open(str(tmp_path / "m"))
    mine.open(tmp_path / "m")
    for items, labels in data:
        assert theirs.tag(items) == mine.tag(items)
        assert theirs.probability(labels) == pytest.approx(mine.probability(labels), abs=1e-9)


ODD: dict[str, list[Labelled]] = {
    "one label": [([["a"], ["b"]], ["x", "x"])],
    "no attribute": [([[], []], ["x", "y"])],
    "an empty sequence": [([], []), ([["a"], ["b"]], ["x", "y"]), ([], [])],
    "single items": [([["a"]], ["x"]), ([["b"]], ["y"])],
    "an attribute twice": [([["a", "a", "b"], ["b"]], ["x", "y"])],
    "values that cancel": [([{"a": 1.0, "b": 2.0}, {"a": -1.0}], ["x", "x"]), ([["b"]], ["y"])],
    "a value of 0": [([{"a": 0, "b": 1}], ["x"]), ([{"a": 1}], ["y"])],
    "bytes": [([[b"\xff"], ["b"]], ["x", b"y\xfe"]), ([["b"], [b"\xc3\xa9"]], ["é", "x"])],  # type: ignore[list-item]
    "a NUL": [([["a\0b"], ["a\0c"]], ["x\0y", "x\0z"])],
    "a text for labels": [([["a"], ["b"]], "xy")],  # type: ignore[list-item]
    "tuples": [((["a"], {"b": 2}), ("x", "y"))],  # type: ignore[list-item]
    "large values": [([{"a": 100}, {"b": -30}], ["x", "y"]), ([{"a": 1}, {"b": 1}], ["y", "x"])],
}


@pytest.mark.parametrize("name", ODD)
def test_odd_data(name: str, tmp_path: Path) -> None:
    lines = [lines_of(module, "lbfgs", ODD[name], {"max_iterations": 9}, tmp_path / "m") for module in (ours, peer)]
    assert_same_lines(*lines)


ITEMS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("abcd"), st.sampled_from([1.0, 0.5, 2.0, -1.0, 0.0]), max_size=3),
        st.sampled_from(["x", "y", "z"]),
    ),
    max_size=5,
)


@settings(max_examples=20, deadline=None)
@given(st.lists(ITEMS, min_size=1, max_size=6), st.sampled_from([0.0, 1.0, 1.5]), st.booleans(), st.booleans())
def test_features_are_those_of_crfsuite(
    tmp_path_factory: pytest.TempPathFactory, data: list[Any], minfreq: float, states: bool, transitions: bool
) -> None:
    labelled = [([item for item, _ in one], [label for _, label in one]) for one in data]
    labelled.append(([["a"]], ["x"]))
    params = {
        "feature.minfreq": minfreq, "feature.possible_states": states, "feature.possible_transitions": transitions,
        "max_iterations": 4,
    }  # fmt: skip
    path = tmp_path_factory.getbasetemp() / "m"
    lines = [lines_of(module, "lbfgs", labelled, params, path) for module in (ours, peer)]
    telling = re.compile(r"Number of features: |Loss: |L-BFGS terminated with error")
    # how many weights are not 0 may depend on rounding, where labels are symmetric
    assert_same_lines(*([line for line in one if telling.match(line)] for one in lines))


# line searches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LINE_SEARCHES)
@pytest.mark.parametrize("first", [1e-4, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("curve", ["bowl", "quartic", "wavy", "flat"])
def test_a_line_search_ends_where_its_condition_holds(name: str, first: float, curve: str) -> None:
    functions = {
        "bowl": (lambda t: (t - 2.0) ** 2, lambda t: 2.0 * (t - 2.0)),
        "quartic": (lambda t: (t - 0.3) ** 4 - t, lambda t: 4.0 * (t - 0.3) ** 3 - 1.0),
        "wavy": (lambda t: t * t - 4.0 * t + math.sin(3.0 * t), lambda t: 2.0 * t - 4.0 + 3.0 * math.cos(3.0 * t)),
        "flat": (lambda t: -t / (t * t + 2.0), lambda t: (t * t - 2.0) / (t * t + 2.0) ** 2),
    }
    value, slope = functions[curve]

    def evaluate(point: Any) -> tuple[float, Any]:
        return value(float(point[0])), np.array([slope(float(point[0]))])

    ray = Ray(evaluate, np.zeros(1), np.ones(1), value(0.0), slope(0.0), 60)
    found = LINE_SEARCHES[name](ray, first)
    at = found.step
    assert found.value == value(at) <= value(0.0) + 1e-4 * at * slope(0.0)
    assert slope(at) >= 0.9 * slope(0.0)
    if name != "Backtracking":
        assert abs(slope(at)) <= 0.9 * abs(slope(0.0))


def test_a_line_search_does_not_climb() -> None:
    ray = Ray(lambda point: (float(point[0]), np.ones(1)), np.zeros(1), np.ones(1), 0.0, 1.0, 20)
    for search in LINE_SEARCHES.values():
        with pytest.raises(Failure):
            search(ray, 1.0)


# the other algorithms -------------------------------------------------------------------------------------------------

ONLINE: dict[str, tuple[str, dict[str, Any]]] = {
    "ap": ("ap", {"max_iterations": 5}),
    "ap: epsilon": ("averaged-perceptron", {"epsilon": 0.5}),
    "pa": ("pa", {"max_iterations": 5, "feature.possible_transitions": True}),
    "pa: hard": ("pa", {"type": 0, "max_iterations": 5}),
    "pa: squared": ("pa", {"type": 2, "c": 0.3, "max_iterations": 5, "error_sensitive": False}),
    "pa: no mean": ("pa", {"averaging": False, "max_iterations": 5}),
    "arow": ("arow", {"max_iterations": 5}),
    "arow: settings": ("arow", {"max_iterations": 5, "gamma": 0.2, "variance": 0.7, "feature.minfreq": 2}),
    "l2sgd": ("l2sgd", {"max_iterations": 12, "period": 3, "feature.possible_states": True}),
    "l2sgd: settings": ("l2sgd", {
        "c2": 0.01, "period": 2, "delta": 0.1, "calibration.eta": 0.3, "calibration.rate": 3,
        "calibration.candidates": 3, "calibration.max_trials": 9,
    }),
}  # fmt: skip


@pytest.mark.long  # two kernels for them alone
@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("kind", KINDS)
def test_on_equal_sequences_other_algorithms_say_what_crfsuite_does(kind: str, name: str, tmp_path: Path) -> None:
    algorithm, params = ONLINE[name]
    data = [KINDS[kind](5)[2]] * 4  # so that their order does not matter
    found = lines_of(ours, algorithm, data, params, tmp_path / "ours")
    assert_same_lines(found, lines_of(peer, algorithm, data, params, tmp_path / "theirs"))
    mine, theirs = read_crfsuite_file(tmp_path / "ours"), read_crfsuite_file(tmp_path / "theirs")
    assert mine.attributes == theirs.attributes
    np.testing.assert_allclose(mine.state_weights, theirs.state_weights, atol=1e-6, rtol=1e-6)
    np.testing.assert_allclose(mine.transition_weights, theirs.transition_weights, atol=1e-6, rtol=1e-6)


def regular_items(seed: int, num: int) -> list[Labelled]:
    """Sequences whose labels can be told from the words."""
    chance = np.random.default_rng(seed)
    lengths = chance.integers(1, 8, num).tolist()
    words = [chance.integers(0, 6, length).tolist() for length in lengths]
    return [([{"w": f"w{word}"} for word in one], [f"L{word % 3}" for word in one]) for one in words]


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_every_algorithm_learns_what_can_be_learned(algorithm: str, tmp_path: Path) -> None:
    lines_of(ours, algorithm, regular_items(1, 30), {"max_iterations": 20}, tmp_path / "m")
    tagger = Tagger()
    tagger.open(tmp_path / "m")
    assert all(tagger.tag(items) == labels for items, labels in regular_items(2, 10))


# the trainer as an object ---------------------------------------------------------------------------------------------


def test_parameters_are_those_of_crfsuite() -> None:
    for algorithm in ("lbfgs", "l2sgd", "ap", "pa", "arow", "LBFGS", "averaged-perceptron"):
        mine, theirs = ours.Trainer(algorithm), peer.Trainer(algorithm)
        assert mine.params() == theirs.params()
        assert mine.get_params() == theirs.get_params()
        assert all(mine.help(name) for name in mine.params())


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("c1", 1, 1.0), ("c1", "0.25", 0.25), ("max_iterations", "12", 12), ("feature.possible_states", 1, True),
        ("feature.possible_states", False, False), ("linesearch", "Backtracking", "Backtracking"),
        ("c2", np.float32(0.5), 0.5), ("feature.minfreq", "3", 3.0),
    ],
)  # fmt: skip
def test_a_value_is_a_number_or_its_text(name: str, value: object, read: object) -> None:
    for module in (ours, peer):
        trainer = module.Trainer(verbose=False)
        trainer.set(name, value)
        assert (trainer.get(name), type(trainer.get(name))) == (read, type(read))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("nothing", 1, "Parameter not found: nothing = 1"),
        ("c1", "much", "`c1` cannot be 'much'"),
        ("c2", None, "`c2` cannot be None"),
        ("c2", -1, "at least 0"),
        ("c2", float("nan"), "expected a number"),
        ("max_iterations", 1.5, "a whole number"),
        ("num_memories", 0, "at least 1"),
        ("linesearch", "Backtrack", "expected MoreThuente, Backtracking or StrongBacktracking"),
    ],
)
def test_a_parameter_or_value_that_is_none_is_refused(name: str, value: object, words: str) -> None:
    trainer = Trainer(verbose=False)
    with pytest.raises(ValueError, match=re.escape(words)):
        trainer.set(name, value)
    assert trainer.get_params() == Trainer(verbose=False).get_params()


def test_errors_are_those_of_pycrfsuite() -> None:
    for module in (ours, peer):
        trainer = module.Trainer(verbose=False)
        with pytest.raises(ValueError, match=re.escape("The numbers of items and labels differ: |x| = 1, |y| = 2")):
            trainer.append([["a"]], ["x", "y"])
        with pytest.raises(TypeError):
            trainer.append([["a"]], [1])
        for call in (trainer.get, trainer.help):
            with pytest.raises(ValueError, match="Parameter not found"):
                call("nothing")
        for arguments in (("nothing",), ("lbfgs", "crf2d")):
            with pytest.raises(ValueError, match="Bad arguments"):
                trainer.select(*arguments)


def test_what_cannot_be_trained_or_written_is_said(tmp_path: Path) -> None:
    trainer = Trainer(verbose=False)
    with pytest.raises(ValueError, match="The data is empty"):
        trainer.train(tmp_path / "m")
    with pytest.raises(ValueError, match="attribute 'a' is no finite number"):
        trainer.append([{"a": math.inf}], ["x"])
    trainer.append([["a"], ["b"]], ["x", "y"])
    with pytest.raises(ValueError, match="no item to train on"):
        trainer.train("", holdout=0)
    heard: list[str] = []
    trainer.message = heard.append
    with pytest.raises(DcrfError):
        trainer.train(tmp_path / "no folder" / "m")
    assert heard == []  # it has not trained for nothing
    trainer.select("l2sgd")
    trainer.set("c2", 0)
    with pytest.raises(ValueError, match="`c2` must be above 0"):
        trainer.train("")
    trainer.clear()
    with pytest.raises(ValueError, match="The data is empty"):
        trainer.train("")


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_data_that_no_model_gets_wrong(algorithm: str, tmp_path: Path) -> None:
    """One label: its probability is 1, and the loss 0."""
    trainer = Trainer(algorithm, verbose=False)
    trainer.append([["a"], ["b"]], ["x", "x"])
    trainer.train(tmp_path / "m")
    tagger = Tagger()
    tagger.open(str(tmp_path / "m"))
    assert tagger.tag([["a"], ["c"]]) == ["x", "x"]


def test_a_new_choice_of_algorithm_keeps_the_data_and_resets_the_parameters() -> None:
    trainer = Trainer("lbfgs", {"c1": 1}, verbose=False)
    trainer.append([["a"], ["b"]], ["x", "y"])
    trainer.select("lbfgs")
    trainer.train("")
    assert trainer.get("c1") == 0.0
    assert trainer.logparser is not None and trainer.logparser.featgen_num_features == 3


def test_the_parser_reads_what_that_of_pycrfsuite_reads(tmp_path: Path) -> None:
    for algorithm in ("lbfgs", "ap", "arow"):
        messages: list[str] = []
        trainer = Trainer(algorithm, {"max_iterations": 3})
        trainer.message = messages.append  # type: ignore[method-assign]
        for n, (items, labels) in enumerate(string_items(6)):
            trainer.append(items, labels, n % 2)
        trainer.train(tmp_path / "m", 1)
        mine, theirs = ours.TrainLogParser(), peer._logparser.TrainLogParser()
        for message in messages:
            assert mine.feed(message) == theirs.feed(message)
            assert mine.last_log == theirs.last_log
        assert mine.__dict__ == theirs.__dict__
        assert mine.last_iteration is not None and mine.last_iteration["scores"]


def test_events_call_methods_and_print_the_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def heard(module: Any) -> tuple[list[Any], str]:
        class Listener(module.Trainer):  # type: ignore[misc]
            def __init__(self) -> None:  # python-crfsuite does without the call of its own
                self.calls: list[Any] = []
                self.verbose = True

            def on_iteration(self, log: str, info: dict[str, Any]) -> None:
                self.calls.append(info["num"])
                super().on_iteration(log, info)

            def on_optimization_end(self, log: str) -> None:
                self.calls.append(self.logparser.last_iteration["loss"])

        trainer = Listener()
        trainer.append([["a"], ["b"]], ["x", "y"])
        trainer.train(str(tmp_path / "m"))
        return trainer.calls, re.sub(r"(econds required.*:) [\d.]+", r"\1", capsys.readouterr().out)

    assert heard(ours) == heard(peer)


def test_an_error_in_a_message_stops_the_training() -> None:
    class Impatient(Trainer):
        def on_iteration(self, log: str, info: dict[str, Any]) -> None:
            raise InterruptedError("enough")

    trainer = Impatient()
    trainer.append([["a"], ["b"]], ["x", "y"])
    with pytest.raises(InterruptedError, match="enough"):
        trainer.train("")


def test_training_is_deterministic(tmp_path: Path) -> None:
    for algorithm in ("lbfgs", "l2sgd", "pa"):
        files = []
        for _ in range(2):
            lines_of(ours, algorithm, weighted_items(7), {"max_iterations": 5}, tmp_path / "m")
            files.append((tmp_path / "m").read_bytes())
        assert files[0] == files[1]
