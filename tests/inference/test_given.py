"""`tag --given`: every answer keeps to the labels that the input gives. Enumeration of all labellings says which."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from template_twin import TemplateTwin

from dcrfdsl.cli import run
from dcrfdsl.data import read_corpus
from dcrfdsl.data.labels import encode_known_labels
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

Bytes = pytest.CaptureFixture[bytes]

TEMPLATE = """
data conll(word, y, z)
label y in {A, B, C} with missing = "?", ambiguous = "|"
label z in bio(X)
clique y: bias, word
clique y[-1], y
clique z: bias, word
clique z[-1], z
clique y, z
infer exact
"""
TRAINING = "a A B-X\nb B I-X\nc C O\n\nb A O\na C B-X\n\nc B O\nc B B-X\na A I-X\n"
LATENT = TEMPLATE.replace("clique y, z\n", "latent h in 2\nclique y, h: bias, word\nclique h[-1], h\n")
STATES = {"y": ("A", "B", "C"), "z": ("B-X", "I-X", "O")}
WORDS = {"word": ["a", "b", "c"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("given")
    (where / "train.txt").write_text(TRAINING)
    for name, text in {"two": TEMPLATE, "latent": LATENT, "loopy": TEMPLATE.replace("exact", "bp")}.items():
        spec = load_text(text).spec
        fit(spec, read_corpus(where / "train.txt", spec.data), threads=1).save(where / f"{name}.model")  # type: ignore[arg-type]
    return where


def tag(folder: Path, capsysbinary: Bytes, text: str, *options: str, model: str = "two") -> tuple[str, str]:
    """What `tag --given` prints on stdout and stderr for the text."""
    (folder / "in.txt").write_text(text)
    assert run(["tag", str(folder / f"{model}.model"), str(folder / "in.txt"), "--given", *options]) == 0
    out, err = capsysbinary.readouterr()
    return out.decode(), err.decode()


def rows(cells: str) -> str:
    """`_/O A/_ C/B-X` beside the words a b c, as lines of conll."""
    return "".join(
        f"{word} {cell.replace('/', ' ')}\n" for word, cell in zip(WORDS["word"], cells.split(), strict=True)
    )


# Of each token what is given of y and z, and what that allows.
CASES: dict[str, tuple[str, dict[tuple[str, int], Sequence[str]]]] = {
    "nothing": ("_/_ _/_ _/_", {}),
    "one label of one token": ("_/_ C/_ _/_", {("y", 1): "C"}),
    "one label throughout": ("C/_ A/_ B/_", {("y", 0): "C", ("y", 1): "A", ("y", 2): "B"}),
    "a state that the scheme ties": ("_/_ _/_ _/I-X", {("z", 2): ("I-X",)}),
    "the mark of the label": ("?/_ ?/O A/_", {("z", 1): ("O",), ("y", 2): "A"}),
    "sets": ("B|C/_ C|B/_ A|C/O", {("y", 0): "BC", ("y", 1): "BC", ("y", 2): "AC", ("z", 2): ("O",)}),
    "a set that allows all": ("C|B|A/_ _/B-X _/_", {("z", 1): ("B-X",)}),
    "everything": (
        "C/O C/O C/B-X",
        {("y", t): "C" for t in range(3)} | {("z", 0): ("O",), ("z", 1): ("O",), ("z", 2): ("B-X",)},
    ),
}
each_case = pytest.mark.parametrize("name", CASES)


def joint(folder: Path, name: str) -> np.ndarray:
    """log potential of every labelling of `a b c` that agrees with the case; axis 2·t for y, 2·t + 1 for z."""
    model = TrainedModel.load(folder / "two.model")
    weights = {(clique, text, states): weight for clique, text, states, weight in model.explanations.iter_weights()}
    wanted = CASES[name][1]

    def allowed(labelling: Any, t: int) -> bool:
        z = labelling["z"]
        legal = z[t] != "I-X" or (t > 0 and z[t - 1] != "O")
        return legal and all(labelling[label][t] in wanted.get((label, t), STATES[label]) for label in STATES)

    return TemplateTwin(model.spec, STATES, weights, allowed).joint(WORDS)


def labelling(index: Sequence[int]) -> dict[str, list[str]]:
    return {label: [STATES[label][x] for x in index[m::2]] for m, label in enumerate(STATES)}


@each_case
def test_the_labelling_is_the_best_of_those_that_keep_to_what_is_given(
    name: str, folder: Path, capsysbinary: Bytes
) -> None:
    text = rows(CASES[name][0])
    out, err = tag(folder, capsysbinary, text)
    expected = labelling(reference.best(joint(folder, name))[0])
    appended = [f" {y} {z}" for y, z in zip(expected["y"], expected["z"], strict=True)]
    assert (out.splitlines(), err) == (list(map("".join, zip(text.splitlines(), appended, strict=True))), "")


@each_case
def test_marginals_are_those_under_what_is_given(name: str, folder: Path, capsysbinary: Bytes) -> None:
    out, _ = tag(folder, capsysbinary, rows(CASES[name][0]), "--marginals", "--json")
    found, total = json.loads(out)["marginals"], joint(folder, name)
    for (m, label), t in itertools.product(enumerate(STATES), range(3)):
        assert list(found[label][t]) == list(STATES[label])
        assert list(found[label][t].values()) == pytest.approx(reference.marginal(total, (2 * t + m,)), abs=1e-9)


@each_case
def test_the_best_labellings_keep_to_what_is_given(name: str, folder: Path, capsysbinary: Bytes) -> None:
    out, _ = tag(folder, capsysbinary, rows(CASES[name][0]), "--nbest", "5", "--json")
    found, total = [json.loads(line) for line in out.splitlines()], joint(folder, name)
    best = np.argsort(-total, axis=None, kind="stable")[: min(5, int(np.isfinite(total).sum()))]
    assert [own["rank"] for own in found] == list(range(1, len(best) + 1))
    assert [own["labels"] for own in found] == [labelling(np.unravel_index(k, total.shape)) for k in best]
    shares = np.exp(total.ravel()[best] - reference.log_sum(total))
    assert [own["probability"] for own in found] == pytest.approx(shares, abs=1e-9)


@each_case
def test_clique_marginals_are_those_under_what_is_given(name: str, folder: Path, capsysbinary: Bytes) -> None:
    out, _ = tag(folder, capsysbinary, rows(CASES[name][0]), "--clique-marginals", "--json")
    found, total = json.loads(out)["cliques"], joint(folder, name)
    assert len(found) == 3 * 3 + 2 * 2  # y, z and (y, z) at each token, two chains between them
    for own in found:
        expected = reference.marginal(total, [2 * (t - 1) + list(STATES).index(label) for label, t in own["sites"]])
        table = np.zeros(expected.shape)
        for *states, share in own["states"]:
            table[tuple(STATES[label].index(x) for (label, _), x in zip(own["sites"], states, strict=True))] = share
        assert table == pytest.approx(expected, abs=1e-4)  # what is rarer than 0.00005 is not listed


@each_case
def test_what_is_given_is_kept_by_an_approximate_method_too(name: str, folder: Path, capsysbinary: Bytes) -> None:
    out, _ = tag(folder, capsysbinary, rows(CASES[name][0]), "--json", model="loopy")
    found = json.loads(out)["labels"]
    for (label, t), states in CASES[name][1].items():
        assert found[label][t] in states


# sentences without any labelling ------------------------------------------------------------------------------------

# The second sentence breaks the scheme; the columns are word, y, z and the predictions.
BROKEN = "a A B-X\n\nb _ O\nc C I-X\n\nc B O\n"
BROKEN_OUT = "a A B-X A B-X\n\nb _ O _ _\nc C I-X _ _\n\nc B O B O\n"


@pytest.mark.parametrize("model", ["two", "latent", "loopy"])
def test_a_sentence_without_any_labelling_is_reported_with_its_line(
    model: str, folder: Path, capsysbinary: Bytes
) -> None:
    out, err = tag(folder, capsysbinary, BROKEN, model=model)
    assert out == BROKEN_OUT
    assert "warning: no labelling that keeps to the given labels " in err
    assert f"for the sentence at {folder / 'in.txt'}:3; written with `_` for each label\n" in err


def test_every_such_sentence_is_counted(folder: Path, capsysbinary: Bytes) -> None:
    _, err = tag(folder, capsysbinary, BROKEN + "\n" + BROKEN)
    assert f"for 2 sentences, the first at {folder / 'in.txt'}:3;" in err


def test_such_a_sentence_has_rank_0_and_no_marginals(folder: Path, capsysbinary: Bytes) -> None:
    out, err = tag(folder, capsysbinary, BROKEN, "--nbest", "1", "--marginals")
    assert [line.split()[3:] for line in out.splitlines() if line[:1] in ("b", "c")] == [
        ["_", "_", "_", "_", "0", "0"], ["_", "_", "_", "_", "0", "0"], ["B", "O", "B:1.0000", "O:1.0000", "1", "1"],
    ]  # fmt: skip
    assert "written with rank 0 and `_` for each label" in err
    out, _ = tag(folder, capsysbinary, BROKEN, "--marginals", "--clique-marginals", "--json")
    first, second, _ = map(json.loads, out.splitlines())
    assert second["labels"] == {"y": ["_", "_"], "z": ["_", "_"]}
    assert second["marginals"] == {"y": [None, None], "z": [None, None]}
    assert (second["cliques"], bool(first["cliques"])) == ([], True)


# latent variables ---------------------------------------------------------------------------------------------------


def test_hidden_variables_appear_in_cliques_alone(folder: Path, capsysbinary: Bytes) -> None:
    text = rows("_/O A/_ _/_")
    out, _ = tag(folder, capsysbinary, text, "--marginals", model="latent")
    assert [len(line.split()) for line in out.splitlines()] == [3 + 2 + 2] * 3
    out, _ = tag(folder, capsysbinary, text, "--marginals", "--clique-marginals", "--json", model="latent")
    record = json.loads(out)
    assert (list(record["labels"]), list(record["marginals"])) == (["y", "z"], ["y", "z"])
    hidden = [own for own in record["cliques"] if any(name == "h" for name, _ in own["sites"])]
    assert [own["clique"] for own in hidden] == ["y, h"] * 3 + ["h[-1], h"] * 2
    assert {names[-1] for own in hidden for *names, _ in own["states"]} == {"0", "1"}
    second = next(own for own in hidden if own["sites"] == [["y", 2], ["h", 2]])
    assert {y for y, _, _ in second["states"]} == {"A"}  # as given
    out, _ = tag(folder, capsysbinary, text, "--nbest", "2", "--json", model="latent")
    assert [list(json.loads(line)["labels"]) for line in out.splitlines()] == [["y", "z"]] * 2


# input that cannot be used ------------------------------------------------------------------------------------------

REFUSED = {
    # input: slug, line, words
    "a\nb\n": ("missing-column", 1, ["columns `y`, `z` missing"]),
    "a A O\nb D O\n": ("unknown-label", 2, ["`D`", "line 2", "write `_` where `y` is not given"]),
    "a A|D O\n": ("unknown-label", 1, ["`D`"]),
    "a A O\na _ _\nb A| O\n": ("empty-member", 3, ["`A|`"]),
    "a A B-Y\n": ("unknown-label", 1, ["`B-Y`", "did you mean `B-X`?"]),
}


@pytest.mark.parametrize("text", REFUSED)
def test_labels_that_cannot_be_read_are_one_message(text: str, folder: Path, capsysbinary: Bytes) -> None:
    slug, line, words = REFUSED[text]
    (folder / "in.txt").write_text(text)
    assert run(["tag", str(folder / "two.model"), str(folder / "in.txt"), "--given"]) == 1
    out, err = (part.decode() for part in capsysbinary.readouterr())
    assert (out, err.count("error[")) == ("", 1)
    assert err.startswith(f"error[{slug}]: ")
    assert f"{folder / 'in.txt'}:{line}\n" in err
    assert all(word in err for word in words)


def test_without_given_gold_is_ignored(folder: Path, capsysbinary: Bytes) -> None:
    (folder / "in.txt").write_text("a nonsense A|\nb _ I-X\n")
    assert run(["tag", str(folder / "two.model"), str(folder / "in.txt")]) == 0
    with_gold = [line.split()[-2:] for line in capsysbinary.readouterr().out.decode().splitlines()]
    (folder / "in.txt").write_text("a\nb\n")
    assert run(["tag", str(folder / "two.model"), str(folder / "in.txt")]) == 0
    assert [line.split()[-2:] for line in capsysbinary.readouterr().out.decode().splitlines()] == with_gold


# from Python --------------------------------------------------------------------------------------------------------


def test_samples_keep_to_what_is_given(folder: Path) -> None:
    model = TrainedModel.load(folder / "two.model")
    (folder / "in.txt").write_text(rows("B|C/_ A/_ _/_"))
    corpus = read_corpus(folder / "in.txt", model.spec.data)  # type: ignore[arg-type]
    given = encode_known_labels(model.spec, model.states, corpus)
    drawn = model.sample(corpus, 200, seed=3, given=given).codes["y"]
    assert [{STATES["y"][code] for code in column} for column in drawn.T.tolist()] == [set("BC"), {"A"}, set("ABC")]
