"""The tagger: the labels and probabilities of python-crfsuite on the same file, its errors, and threads."""

from __future__ import annotations

import copy
import io
import itertools
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dcrfdsl.crfsuite import CrfsuiteModel, ItemSequence, ModelFileError, Tagger, crfsuite_bytes
from dcrfdsl.crfsuite.scoring import Scorer

pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is in the extra `test`")
from crfsuite_cases import KINDS, nested_items, string_items, trained_file  # noqa: E402

UNSEEN = [
    [], [[]], [{}], [["w=unseen"]], [{"word": "unseen", "w=walk": 3}], [{b"word": b"walk"}, ("w=walk", "w=walk")],
    [{"word\0x": "walk", "wo": {"rd": "walk"}}, {"word": "walk\0x", "next:near": ["walk"]}],
    [{"size": np.float32(0.25), "next": {"up": np.True_, "near": {"walk"}}}, frozenset(["w=é"]), "w"],
    [{"size": 10**2, "a:b": 1e-3, "next": [], "word": "a\nb"}, {"word": "日本"}] * 40,
]  # fmt: skip


def both(path: Path, sequences: list[Any], **params: Any) -> tuple[Any, Tagger]:
    """The model that python-crfsuite trains, in both taggers. From its file: from memory, theirs outlives the bytes."""
    trained_file(path / "m", sequences, **params)
    theirs, ours = pycrfsuite.Tagger(), Tagger()
    theirs.open(str(path / "m"))
    ours.open(path / "m")
    return theirs, ours


@pytest.mark.parametrize("kind", KINDS)
def test_labels_and_probabilities_are_those_of_crfsuite(tmp_path: Path, kind: str) -> None:
    theirs, ours = both(tmp_path, KINDS[kind](3))
    chance = random.Random(1)
    assert ours.labels() == theirs.labels()
    for items in (*(items for items, _ in KINDS[kind](4, 30)), *UNSEEN):
        assert ours.tag(items) == theirs.tag(items) == ours.tag(ItemSequence(items)) == ours.tag()
        assert ours.tag_all([items, [], items]) == [theirs.tag(items), [], theirs.tag(items)]
        labels = [chance.choice(ours.labels()) for _ in items]
        assert ours.probability(labels) == pytest.approx(theirs.probability(labels), rel=1e-9)
        assert ours.probability(ours.tag()) == pytest.approx(theirs.probability(ours.tag()), rel=1e-9)
        theirs.set(items)  # its marginals are those of another sequence once `tag` has run
        for position, label in itertools.product(range(len(items)), ours.labels()):
            assert ours.marginal(label, position) == pytest.approx(theirs.marginal(label, position), rel=1e-9)


def test_equal_scores_give_the_same_labels(tmp_path: Path) -> None:
    """Ties are common in small models, and a sum in another order breaks them another way."""
    theirs, ours = both(tmp_path, string_items(5, 60), max_iterations=1)
    for items, _ in string_items(6, 300):
        assert ours.tag(items) == theirs.tag(items)


def test_a_model_too_large_for_a_table_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = both(tmp_path, nested_items(3))[1]
    monkeypatch.setattr("dcrfdsl.crfsuite.scoring._MOST_CELLS", 0)
    theirs, sparse = both(tmp_path, nested_items(3))
    for items in (*(items for items, _ in nested_items(4, 30)), *UNSEEN):
        assert sparse.tag(items) == theirs.tag(items) == plain.tag(items)
        assert sparse.probability(sparse.tag()) == plain.probability(sparse.tag())


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 4), st.sampled_from([1.0, 30.0, 900.0]))
def test_sums_and_best_labellings_are_those_of_enumeration(seed: int, length: int, num: int, spread: float) -> None:
    chance = np.random.default_rng(seed)
    left, right = np.divmod(np.arange(num * num, dtype=np.int32), num)
    moves, none = chance.normal(size=num * num) * spread, np.zeros(0, np.int32)
    scorer = Scorer(CrfsuiteModel(list("abcd"[:num]), [], none, none, np.zeros(0), left, right, moves))
    cells = np.zeros((length, scorer.moves.width))
    cells[:, :num] = chance.normal(size=(length, num)) * spread
    paths = list(itertools.product(range(num), repeat=length))
    of_path = np.array([scorer.path_score(cells, list(path)) for path in paths])
    by_hand = [
        sum(cells[t, y] for t, y in enumerate(path)) + sum(moves[i * num + j] for i, j in itertools.pairwise(path))
        for path in paths
    ]
    assert of_path == pytest.approx(np.array(by_hand), rel=1e-12, abs=1e-9)
    log_z, marginals = scorer.sums_of(cells)
    shares = np.exp(of_path - of_path.max())
    assert log_z == pytest.approx(np.log(shares.sum()) + of_path.max(), rel=1e-12, abs=1e-9)
    expected = np.zeros((length, num))
    for path, share in zip(paths, shares / shares.sum(), strict=True):
        expected[np.arange(length), path] += share
    assert marginals == pytest.approx(expected, abs=1e-9)
    assert scorer.best_labels(np.array([0, length]), cells).tolist() == list(paths[of_path.argmax()])


@pytest.mark.parametrize("cells", [1 << 23, 0])
def test_values_that_are_no_numbers_have_no_labels(tmp_path: Path, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcrfdsl.crfsuite.scoring._MOST_CELLS", cells)
    _, tagger = both(tmp_path, nested_items(3))
    known = next(iter(tagger.info().attributes))
    for value in (float("nan"), float("inf"), -float("inf"), np.float32("nan")):
        for items in ([{}, {known: value}], ItemSequence([{}, {known: value}])):
            with pytest.raises(ValueError, match=re.escape(f"{known!r} is no finite number: {value}")):
                tagger.tag(items)
    with pytest.raises(ValueError, match="nested too deeply"):
        deep: dict[str, Any] = {}
        deep["a"] = deep
        tagger.tag([deep])


def test_a_tagger_is_pickled_with_its_model_and_its_sequence(tmp_path: Path) -> None:
    _, tagger = both(tmp_path, nested_items(3))
    items = [items for items, _ in nested_items(4, 5)]
    tagger.set(items[0])
    for again in (pickle.loads(pickle.dumps(tagger)), copy.deepcopy(tagger)):
        assert again.tag() == tagger.tag() and again.marginal(tagger.labels()[0], 0) == tagger.marginal(
            tagger.labels()[0], 0
        )
        assert [again.tag(one) for one in items] == [tagger.tag(one) for one in items]
        ours, theirs = again.info(), tagger.info()
        assert ours.header == theirs.header and ours.state_features == theirs.state_features
        assert ours.labels == theirs.labels and ours.transitions == theirs.transitions
        tagger.set(items[0])
    with pytest.raises(ValueError, match="not opened"):
        pickle.loads(pickle.dumps(Tagger())).labels()


CALLS: dict[str, Callable[[Any], Any]] = {
    "labels": lambda tagger: tagger.labels(),
    "tag": lambda tagger: tagger.tag([["a"]]),
    "tag the current one": lambda tagger: tagger.tag(),
    "set": lambda tagger: tagger.set([["a"]]),
    "probability": lambda tagger: tagger.probability(["O"]),
    "marginal": lambda tagger: tagger.marginal("O", 0),
    "info": lambda tagger: tagger.info(),
    "dump": lambda tagger: tagger.dump("never"),
    "close": lambda tagger: tagger.close(),
    "too many labels": lambda tagger: (tagger.tag([["a"]]), tagger.probability(["O", "O"])),
    "an unknown label": lambda tagger: (tagger.tag([["a"]]), tagger.probability(["no"])),
    "a marginal of an unknown label": lambda tagger: (tagger.tag([["a"]]), tagger.marginal("no", 0)),
    "a label of bytes": lambda tagger: (tagger.tag([["a"]]), tagger.marginal("B-é".encode(), 0) > 0),
    "no label": lambda tagger: (tagger.tag([["a"]]), tagger.marginal(3, 0)),
    "a position before": lambda tagger: (tagger.tag([["a"]]), tagger.marginal("O", -1)),
    "a position after": lambda tagger: (tagger.tag([["a"]]), tagger.marginal("O", 1)),
    "an empty sequence": lambda tagger: (tagger.tag([]), tagger.probability([]), tagger.marginal("O", 0)),
    "a missing file": lambda tagger: tagger.open("/no/such/file"),
    "another file": lambda tagger: tagger.open(__file__),
    "a directory": lambda tagger: tagger.open("/"),
    "other bytes": lambda tagger: tagger.open_inmemory(b"nothing of the kind"),
    "a header alone": lambda tagger: tagger.open_inmemory(b"lCRF"),
    "a text": lambda tagger: tagger.open_inmemory("lCRF"),
}


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
@pytest.mark.parametrize("call", CALLS)
def test_errors_are_of_the_same_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, is_open: bool) -> None:
    monkeypatch.chdir(tmp_path)  # `dump` writes a file
    content = trained_file(tmp_path / "m", string_items(1))

    def outcome(tagger: Any) -> object:
        if is_open:
            tagger.open_inmemory(content)  # and `content` lives on: their tagger reads from it
        try:
            found = CALLS[call](tagger)
        except Exception as error:
            return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins" and kind is not Exception)
        return None if call == "info" else found

    assert outcome(Tagger()) == outcome(pycrfsuite.Tagger())


def test_a_damaged_model_leaves_the_tagger_closed(tmp_path: Path) -> None:
    tagger = Tagger()
    content = trained_file(tmp_path / "m", string_items(1))
    (tmp_path / "cut").write_bytes(content[:-9])
    tagger.open(str(tmp_path / "m"))
    with pytest.raises(ModelFileError, match="truncated-model"):
        tagger.open(str(tmp_path / "cut"))
    with pytest.raises(ValueError, match="not opened"):
        tagger.tag([["a"]])


def test_a_tagger_closes_itself(tmp_path: Path) -> None:
    trained_file(tmp_path / "m", string_items(1))
    with Tagger().open(tmp_path / "m") as tagger:
        assert tagger.tag([["w=é"]])
    with pytest.raises(ValueError, match="not opened"):
        tagger.labels()


def test_info_equals_that_of_crfsuite(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    theirs, ours = both(tmp_path, nested_items(2))
    mine, other = ours.info(), theirs.info()
    for part in ("header", "labels", "attributes"):
        assert getattr(mine, part) == getattr(other, part)
    for part in ("transitions", "state_features"):
        weights = getattr(mine, part)
        assert {key: round(weight, 6) for key, weight in weights.items()} == getattr(other, part)
    theirs.dump(str(tmp_path / "theirs"))
    ours.dump(str(tmp_path / "ours"))
    assert (tmp_path / "ours").read_text() == (tmp_path / "theirs").read_text()
    with redirect_stdout(io.StringIO()) as printed:
        ours.dump()
    assert printed.getvalue() == (tmp_path / "theirs").read_text()


def test_names_with_line_ends_are_shown(tmp_path: Path) -> None:
    pair = np.array([0, 1], np.int32)
    model = CrfsuiteModel(
        ["a", "b"], ["one\ntwo", b"\xff"], pair, pair[::-1], np.array([1e-8, 2.0]), pair[:1], pair[1:], np.array([3.0])
    )  # fmt: skip
    tagger = Tagger()
    tagger.open_inmemory(crfsuite_bytes(model))
    info = tagger.info()
    assert info.state_features == {("one\ntwo", "b"): 1e-8, ("\\xff", "a"): 2.0}
    assert info.transitions == {("a", "b"): 3.0}
    assert tagger.tag([[b"\xff"], {"one\ntwo": 1e9}]) == ["a", "b"]


def test_a_label_that_is_no_text_is_an_error() -> None:
    none = np.zeros(0, np.int32)
    content = crfsuite_bytes(CrfsuiteModel([b"\xff"], [], none, none, np.zeros(0), none, none, np.zeros(0)))
    with pytest.raises(ModelFileError, match="not-utf8"):
        Tagger().open_inmemory(content)


def test_threads_share_a_tagger(tmp_path: Path) -> None:
    tagger = Tagger()
    tagger.open_inmemory(trained_file(tmp_path / "m", nested_items(2)))
    inputs = [items for items, _ in nested_items(7, 200)]

    def answer(items: list[Any]) -> tuple[list[str], float]:
        labels = tagger.tag(items)
        return labels, tagger.probability(labels)

    expected = [answer(items) for items in inputs]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(answer, inputs)) == expected
        tagger.set(inputs[0])
        assert pool.submit(lambda: len(tagger.tag())).result() > 0


def test_the_module_loads_no_engine() -> None:
    code = (
        "import sys, dcrfdsl.crfsuite as c; c.Tagger; print(sorted({'numba', 'scipy', 'pydantic'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_many_sequences_at_once_have_the_labels_of_each(tmp_path: Path) -> None:
    theirs, ours = both(tmp_path, nested_items(3))
    several = [items for items, _ in nested_items(4, 30)]
    expected = [theirs.tag(items) for items in several]
    ours.set(several[3])
    assert ours.tag_all(several * 50) == expected * 50 and ours.tag_all([several[0]] * 3000) == expected[:1] * 3000
    assert ours.tag_all(map(ItemSequence, several)) == ours.tag_all(map(iter, several)) == expected
    assert ours.tag_all([]) == [] and ours.tag_all([[], several[0]]) == [[], expected[0]]
    assert ours.tag() == expected[3]  # the current sequence stays
    known = next(iter(ours.info().attributes))
    with pytest.raises(ValueError, match="is no finite number: nan") as error:
        ours.tag_all([*several[:5], [{}, {known: float("nan")}]])
    assert error.value.item == 1  # of its own sequence
    with pytest.raises(TypeError):
        ours.tag_all([several[0], [{1: "a"}]])
    with pytest.raises(ValueError, match="not opened"):
        Tagger().tag_all([several[0]])
