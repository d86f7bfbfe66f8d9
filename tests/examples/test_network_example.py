"""`examples/network`: its template, what heads share, marginals by enumeration, measures by hand, and a quick run."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, example_modules

from dcrfdsl.cli import run as dcrfdsl_command

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[torch]'")

FOLDER = ROOT / "examples" / "network"
net, heads, run = example_modules(FOLDER, "net", "heads", "run")

SENTENCES = """
The DT B-NP
old JJ I-NP
miller NN I-NP
sold VBD B-VP
flour NN B-NP
to TO B-PP
the DT B-NP
village NN I-NP
. . O

She PRP B-NP
will MD B-VP
not RB I-VP
come VB I-VP
back RB B-ADVP
, , O
he PRP B-NP
said VBD B-VP
. . O

Rain NN B-NP
fell VBD B-VP
on IN B-PP
the DT B-NP
old JJ I-NP
village NN I-NP
. . O
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("network") / "text.txt"
    file.write_text(SENTENCES, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def sentences(path: Path) -> list[Any]:
    return net.read(path)


@pytest.fixture(scope="module")
def states() -> dict[str, tuple[str, ...]]:
    return run.Layer(heads.TEMPLATE).states


def test_the_template_checks_clean_and_is_in_the_canonical_layout(capsys: pytest.CaptureFixture[str]) -> None:
    assert dcrfdsl_command(["check", str(heads.TEMPLATE), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert dcrfdsl_command(["fmt", "--check", "--quiet", str(heads.TEMPLATE)]) == 0


def test_sentences_are_read_and_bad_ones_refused(path: Path, states: dict[str, Any], tmp_path: Path) -> None:
    assert [len(one.words) for one in net.read(path)] == [9, 9, 7] and len(net.read(path, 2)) == 2
    (bad := tmp_path / "bad.txt").write_text("a DT\n")
    with pytest.raises(ValueError, match=r"bad.txt:1: expected `word pos chunk`"):
        net.read(bad)
    with pytest.raises(ValueError, match="no state 'B-XP' of `chunk`"):
        net.batch_of([net.Sentence(("a",), ("DT",), ("B-XP",))], states)


def names() -> list[str]:
    return [name for name in heads.HEADS if name != "pytorch-crf" or _has_peer()]


def _has_peer() -> bool:
    try:
        import torchcrf  # noqa: F401
    except ImportError:
        return False
    return True


def test_all_heads_have_the_same_network_and_dropout(sentences: list[Any], states: dict[str, Any]) -> None:
    batch, scores = net.batch_of(sentences, states), []
    for name in names():
        trainee = run.Trainee(name, sentences, states, seed=3)
        torch.manual_seed(0)
        scores.append(trainee.net(batch))
    assert all(torch.equal(one[label], scores[0][label]) for one in scores for label in net.LABELS)
    assert [scores[0][label].shape[-1] for label in net.LABELS] == [44, 23]


@pytest.mark.parametrize("name", heads.HEADS)
def test_a_head_learns_and_its_probabilities_are_probabilities(
    name: str, sentences: list[Any], states: dict[str, Any]
) -> None:
    if name == "pytorch-crf":
        pytest.importorskip("torchcrf", reason="needs pytorch-crf")
    trainee, batch = run.Trainee(name, sentences, states, seed=0), net.batch_of(sentences, states)
    before = trainee.head.loss(trainee.net(batch), batch).item()
    seconds = run.train([trainee], sentences, states, 8, 0)
    assert seconds.shape == (8, 1) and (seconds > 0).all()
    assert trainee.head.loss(trainee.net(batch), batch).item() < before
    with torch.no_grad():
        codes, probability = trainee.head.decode(trainee.net(batch), batch)
    assert all(one.shape == batch.kept.shape for one in codes.values())
    assert float(probability[batch.kept].min()) > 0.0 and float(probability.max()) <= 1.0 + 1e-5


def test_marginals_by_pytorch_crf_are_those_of_enumeration(states: dict[str, Any]) -> None:
    pytest.importorskip("torchcrf", reason="needs pytorch-crf")
    torch.manual_seed(0)
    head, count = heads.ChainHead(states), len(states["chunk"])
    torch.nn.init.normal_(head.chain.transitions)
    batch = net.batch_of([net.Sentence(("a", "b"), ("DT", "NN"), ("B-NP", "I-NP"))], states)
    scores = {"chunk": torch.randn(1, 2, count)}
    every = torch.tensor(list(itertools.product(range(count), repeat=2)))
    with torch.no_grad():
        own = head.chain(scores["chunk"].expand(len(every), -1, -1), every, every >= 0, reduction="none").exp()
    assert float(own.sum()) == pytest.approx(1.0, abs=1e-4)
    expected = torch.stack([torch.bincount(every[:, t], own, minlength=count) for t in range(2)])
    for tags in ([0, 1], [5, 22]):
        found = head._marginals(scores, torch.tensor([tags]), batch)[0]
        torch.testing.assert_close(found, expected.to(found.dtype), atol=1e-5, rtol=1e-4)


def test_measures_are_those_by_hand(sentences: list[Any], states: dict[str, Any]) -> None:
    """A head that errs at three words, in one of them by an illegal move."""

    def decode(_: Any, batch: Any) -> Any:
        codes = {label: batch.tags[label].clone() for label in net.LABELS}
        codes["chunk"][0, 4] = states["chunk"].index("I-VP")  # `flour`, after `sold B-VP`: the two become one chunk
        codes["chunk"][1, 5] = states["chunk"].index("I-PP")  # a comma, after `back B-ADVP`
        codes["pos"][2, 0] = states["pos"].index("NNP")
        return heads.Decoded(codes, torch.full(batch.kept.shape, 0.9))

    silent = type("Silent", (), {"eval": lambda self: None, "__call__": lambda self, batch: {}})()
    trained = SimpleNamespace(net=silent, head=SimpleNamespace(decode=decode))
    found = run.measure(trained, sentences, states)
    assert found["legal"] == pytest.approx(2 / 3)
    gold, predicted, right = 5 + 5 + 4, (5 - 1) + (5 + 1) + 4, (5 - 2) + 5 + 4
    assert found["f1"] == pytest.approx(2 * right / (gold + predicted))
    assert found["pos"] == pytest.approx(24 / 25) and found["both"] == pytest.approx(22 / 25)
    assert found["error"] == pytest.approx(abs(23 / 25 - 0.9), abs=1e-6)


def test_a_quick_run_compares_the_heads(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "QUICK", {"sentences": 3, "epochs": 2, "seeds": 2})
    out = tmp_path / "result.json"
    files = ["--train", str(path), "--test", str(path)]
    assert run.main([*files, "--quick", "--heads", ",".join(names()), "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    assert result["complete"] and result["sentences"] == result["test_sentences"] == 3
    assert list(result["runs"]) == names() and all(len(runs) == 2 for runs in result["runs"].values())
    assert [one["legal"] for one in result["runs"]["template"]] == [1.0, 1.0]
    assert all(np.isfinite(list(one.values())).all() for runs in result["runs"].values() for one in runs)
    shown = capsys.readouterr().out
    assert "3 sentences, 2 epochs, seeds: 2; test: 3 sentences" in shown and "template" in shown


def test_heads_and_files_that_there_are_not_are_refused(path: Path, tmp_path: Path) -> None:
    rest = ["--test", str(path), "--out", str(tmp_path / "out.json")]
    with pytest.raises(SystemExit):
        run.main(["--train", str(path), "--heads", "softmax,crf", *rest])
    with pytest.raises(SystemExit, match=r"none\.txt"):
        run.main(["--train", str(tmp_path / "none.txt"), *rest])
