"""`unroll` of a model: the graph of the template that it was trained from, on data that needs no labels; as UAI too."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from dcrfdsl import TrainedModel, read_corpus
from dcrfdsl.cli import run, unroll_command
from dcrfdsl.foundation import DcrfError
from dcrfdsl.graph import FactorGraph, uai_text

Captured = pytest.CaptureFixture[str]
TEMPLATE = """data conll(word, tag)
label tag in {A, B}
clique tag: bias, word
clique tag[-1], tag as moves
clique tag[i], tag[j] where word[i] = word[j] as again with min_gap = 2: bias
train likelihood
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.dcrf").write_text(TEMPLATE)
    (tmp_path / "t.txt").write_text("a A\nb B\n\na A\nb B\na A\nb B\n")
    (tmp_path / "bare.txt").write_text("a\nb\n\na\nb\na\nb\n")
    assert run(["train", "t.dcrf", "t.txt", "-o", "t.model", "-q"]) == 0
    return tmp_path


@pytest.mark.parametrize("sentence", ["1", "2"])
def test_a_model_has_the_graph_of_its_template(sentence: str, here: Path, capsys: Captured) -> None:
    drawn = []
    for arguments in (["t.dcrf", "t.txt"], ["t.model", "t.txt"], ["t.model", "bare.txt"]):
        assert run(["unroll", *arguments, "-n", sentence, "--format", "text"]) == 0
        drawn.append(capsys.readouterr().out)
    assert drawn[0] == drawn[1] == drawn[2].replace("bare.txt", "t.txt")
    assert f"sentence {sentence} of" in drawn[0] and ("again" in drawn[0]) == (sentence == "2")


def test_what_only_a_template_takes_is_refused(here: Path, capsys: Captured) -> None:
    assert run(["unroll", "t.model", "t.txt", "--set", "train.seed=1"]) == 2
    assert "--set changes a template" in capsys.readouterr().err
    assert run(["unroll", "t.model", "t.txt", "-n", "3"]) == 1
    assert "there is no number 3" in capsys.readouterr().err


# as UAI ---------------------------------------------------------------------------------------------------------------

Table = tuple[list[int], dict[tuple[int, ...], float]]  # the scope, and the potential of each assignment
GRAPHS = {
    "chain": TEMPLATE.replace("clique tag[i]", "# clique tag[i]"),
    "pairs that each sentence joins": TEMPLATE,
    "latent": "data conll(word, tag)\nlabel tag in {A, B}\nlatent z in 2\nclique z, tag: bias\nclique z[-1], z: bias\n"
    "clique z: word\n",
    "hard constraints": "data conll(word, tag)\nlabel tag in bio\nclique tag: bias, word\nclique tag[-1], tag: bias\n",
}


def read_markov(text: str) -> tuple[list[int], list[Table]]:
    """The states of each variable, and the factors, by a reader that knows nothing of the package."""
    words = iter(text.split())
    assert next(words) == "MARKOV"
    cards = [int(next(words)) for _ in range(int(next(words)))]
    scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
    factors = []
    for scope in scopes:
        assignments = list(itertools.product(*(range(cards[v]) for v in scope)))
        assert int(next(words)) == len(assignments)
        factors.append((scope, {assignment: float(next(words)) for assignment in assignments}))
    assert next(words, None) is None
    return cards, factors


def weights_of(cards: list[int], factors: list[Table]) -> dict[tuple[int, ...], float]:
    """The product of all potentials of each assignment of all variables."""
    return {
        y: math.prod(table[tuple(y[v] for v in scope)] for scope, table in factors)
        for y in itertools.product(*map(range, cards))
    }


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_in_uai_has_the_distribution_of_the_model(name: str, here: Path, capsys: Captured) -> None:
    (here / "u.dcrf").write_text(GRAPHS[name] + "infer exact\n" + "train likelihood\n" * ("train" not in GRAPHS[name]))
    text = "a A\nb B\na A\n\na A\nb A\n"
    (here / "u.txt").write_text(text.replace("A", "B-X").replace(" B\n", " I-X\n") if "bio" in GRAPHS[name] else text)
    assert run(["train", "u.dcrf", "u.txt", "-o", "u.model", "-q"]) == 0
    assert run(["unroll", "u.model", "u.txt", "-o", "u.uai", "-q"]) == 0
    weights = weights_of(*read_markov((here / "u.uai").read_text()))
    total = sum(weights.values())
    capsys.readouterr()
    assert run(["infer", "u.uai", "--task", "pr", "--method", "exact"]) == 0
    assert capsys.readouterr().out == f"log Z {math.log(total):.10g}\n"
    model = TrainedModel.load("u.model")
    assert model.spec.data is not None
    marginals = model.marginals(read_corpus("u.txt", model.spec.data).slice(0, 1))[0]["tag"]
    width = len(next(iter(weights))) // 3  # variables of a position; the label comes first
    found = np.zeros_like(marginals)
    for y, weight in weights.items():
        for place in range(3):
            found[place, y[place * width]] += weight / total
    np.testing.assert_allclose(marginals, found, atol=1e-12)


def test_the_potentials_of_a_template_are_1(here: Path, capsys: Captured) -> None:
    assert run(["unroll", "t.dcrf", "t.txt", "--format", "uai"]) == 0
    cards, factors = read_markov(capsys.readouterr().out)
    assert cards == [2, 2] and {p for _, table in factors for p in table.values()} == {1.0}


def test_a_calibrated_model_is_written_as_its_probabilities_are(here: Path, capsys: Captured) -> None:
    (here / "odd.txt").write_text("a A\nb B\n\na A\nb B\na A\nb A\n")
    assert run(["calibrate", "t.model", "odd.txt", "--test", "odd.txt", "-o", "c.model", "-q"]) == 0
    model = TrainedModel.load("c.model")
    assert model.temperature != 1.0 and model.spec.data is not None
    assert run(["unroll", "c.model", "bare.txt", "-o", "c.uai", "-q"]) == 0
    weights = weights_of(*read_markov((here / "c.uai").read_text()))
    first = model.marginals(read_corpus("t.txt", model.spec.data).slice(0, 1))[0]["tag"][0]
    np.testing.assert_allclose(first[0], sum(w for y, w in weights.items() if y[0] == 0) / sum(weights.values()))


def test_what_has_no_tables_of_finite_numbers_is_refused(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unroll_command, "MOST_ENTRIES", 7)
    assert run(["unroll", "t.model", "t.txt", "--format", "uai"]) == 1
    assert "cannot be written as UAI: its tables have 8 entries, at most 7" in capsys.readouterr().err
    with pytest.raises(DcrfError, match="log potential of size 800"):
        uai_text(FactorGraph((2,), ((0,),), (np.array([0.0, -800.0]),)))
    assert uai_text(FactorGraph((2,), ((0,),), (np.array([0.0, -np.inf]),), 1.0)).split()[-3:] == [
        "0.0",
        "1",
        f"{math.e}",
    ]
