"""ONNX graphs of chains over scores give what the models give; what cannot be one is said.

Every graph is run on a batch of sentences of several lengths, with garbage behind their ends, by ONNX Runtime.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from offset_cases import CASES, OffsetCase

from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.export import export_onnx
from dcrfdsl.foundation import DcrfError
from dcrfdsl.model.record import Calibration
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
pytest.importorskip("onnx", reason="needs the extra `onnx`")

LENGTHS = (1, 2, 3, 4, 1, 0, 7, 5)
T = 8
OWN = CASES["alone"]
WORDLESS = {
    **{name: CASES[name] for name in ("alone", "moves", "factorial", "memory", "view", "bio", "once", "second order")},
    **{name: CASES[name] for name in ("chain", "padded")},
    "a price": OWN._replace(text=OWN.text + "forbid y[-1] is P and y is Q with cost = 1.5\n"),
    "a rule": OWN._replace(text=OWN.text + "forbid y[-2] is P and y[-1] is Q and y is P\n"),
    "both ends": OWN._replace(text=OWN.text + "clique y[-2], y[-1], y as wide with edges = pad\n"),
    "a gap": OWN._replace(text=OWN.text + "clique y[-2], y as gap with edges = pad\n"),
    "third order": OWN._replace(text=OWN.text + "clique y[-3], y[-1], y as far\n"),
    "two columns": OWN._replace(
        text=OWN.text.replace("offset(s)", "offset(s), offset(r, scale = 0.5)"), scores={"s": ("y",), "r": ("y",)}
    ),
    "moves alone": OWN._replace(
        text=OWN.text.replace("offset(s)", "bias").replace("y[-1], y: bias", "y[-1], y with states = all: offset(m)"),
        scores={"m": ("y", "y")},
    ),
    "marginal": OWN._replace(text=OWN.text + "decode marginal\n"),
}


def model_of(case: OffsetCase, seed: int = 2, temperature: float = 1.0) -> TrainedModel:
    """A model of a template, none of whose features reads words, with random weights."""
    text, rows = case.with_offsets(case.given(1))
    text = text.replace("bias, word", "bias").replace(", offset(r) & word is a", "")
    resolved = load_text(f"{text}infer exact\ntrain likelihood: optimizer = lbfgs(max_iterations = 1)\n")
    model = fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)
    weights = np.random.default_rng(seed).normal(0.0, 0.8, model.num_weights)
    record = replace(model.record, calibration=Calibration(temperature, 0.0, 0.0, 1))
    return model.with_weights(weights, model.record if temperature == 1.0 else record)


def scores_of(
    case: OffsetCase, model: TrainedModel, kind: str, seed: int, impossible: float
) -> dict[str, NDArray[Any]]:
    """A batch of scores by column, garbage behind the ends of sentences."""
    random, batch = np.random.default_rng(seed), {}
    columns = [column.name for column in model.spec.data.columns if column.type.of]
    for name in columns:
        shape = [len(case.states[variable]) for variable in case.scores[name]]
        scores = random.normal(0.0, 1.5, (len(LENGTHS), T, *shape))
        scores[random.random(scores.shape) < impossible] = -np.inf
        for own, length in zip(scores, LENGTHS, strict=True):
            own[length:] = random.choice([np.nan, np.inf, -np.inf, 1e9], own[length:].shape)
        batch[name] = scores.astype(kind)
    return batch


def outputs(path: Path, scores: Mapping[str, Any], lengths: Sequence[int] = LENGTHS) -> dict[str, NDArray[Any]]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, {**scores, "lengths": np.array(lengths, np.int64)}), strict=True))


def compare(case: OffsetCase, model: TrainedModel, folder: Path, bits: int, seed: int, impossible: float) -> int:
    """Asserts that a graph gives what its model gives. Returns the number of sentences without a labelling."""
    scores = scores_of(case, model, f"f{bits // 8}", seed, impossible)
    found = outputs(export_onnx(model, folder / "chain.onnx", bits=bits, marginals=True), scores)
    sentences = [
        {"word": ["a"] * length}
        | {name: list(own[s, :length].reshape(length, -1).astype(float)) for name, own in scores.items()}
        for s, length in enumerate(LENGTHS)
        if length
    ]  # fmt: skip
    corpus = corpus_from_rows(sentences, model.spec.data, optional=model.labels)
    predicted, (marginals, status) = model.predict(corpus), model.marginals(corpus)
    tolerance = {64: 1e-9, 32: 1e-5}[bits]
    impossible_ones = {*predicted.status.impossible} | {*status.impossible}
    kept = [s for s, length in enumerate(LENGTHS) if length]
    for label in model.labels:
        suffix = f"_{label}" if len(model.labels) > 1 else ""
        codes, p = found[f"labels{suffix}"], found[f"marginals{suffix}"]
        assert codes.dtype == np.int64 and p.dtype == scores[next(iter(scores))].dtype
        behind = np.arange(T) >= np.array(LENGTHS)[:, None]
        assert (codes[behind] == -1).all() and (p[behind] == 0).all()
        for n, s in enumerate(kept):
            tokens, own = slice(*corpus.sentence_off[n : n + 2].tolist()), (s, slice(LENGTHS[s]))
            if n in impossible_ones:
                assert (codes[s] == -1).all() and np.isnan(p[own]).all()
                continue
            np.testing.assert_array_equal(codes[own], predicted.codes[label][tokens])
            np.testing.assert_allclose(p[own], marginals[label][tokens], rtol=0, atol=tolerance)
    if model.decode == "marginal":
        assert "score" not in found
    else:
        wanted = np.where([n in impossible_ones for n in range(len(kept))], -np.inf, predicted.scores)
        np.testing.assert_allclose(found["score"][kept], wanted, rtol=tolerance, atol=tolerance)
    return len(impossible_ones)


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("name", WORDLESS)
def test_a_graph_labels_as_its_model(name: str, bits: int, tmp_path: Path) -> None:
    compare(WORDLESS[name], model_of(WORDLESS[name]), tmp_path, bits, seed=4, impossible=0.0)


def test_impossible_states_and_sentences(tmp_path: Path) -> None:
    without = sum(
        compare(WORDLESS[name], model_of(WORDLESS[name]), tmp_path, 64, seed, impossible=0.25)
        for name in ("alone", "bio", "moves", "memory", "marginal")
        for seed in range(3)
    )
    assert without > 5


def test_a_temperature_is_of_probabilities_alone(tmp_path: Path) -> None:
    for name in ("alone", "moves", "second order"):
        compare(WORDLESS[name], model_of(WORDLESS[name], temperature=0.6), tmp_path, 64, seed=5, impossible=0.1)


def test_log_z_and_score_give_the_probability_of_the_labels(tmp_path: Path) -> None:
    """By enumeration of all labellings of a short sentence."""
    model, scores = model_of(OWN), np.random.default_rng(0).normal(size=(1, 3, 2))
    found = outputs(export_onnx(model, tmp_path / "a.onnx", marginals=True), {"s": scores}, [3])
    moves = model.weights.reshape(2, 2)  # the only weights
    sums = {
        (a, b, c): scores[0, 0, a] + scores[0, 1, b] + scores[0, 2, c] + moves[a, b] + moves[b, c]
        for a in range(2) for b in range(2) for c in range(2)
    }  # fmt: skip
    best = max(sums, key=sums.__getitem__)
    assert tuple(found["labels"][0]) == best
    np.testing.assert_allclose(found["score"], sums[best])
    np.testing.assert_allclose(found["log_z"], np.log(np.exp([*sums.values()]).sum()))


def test_the_graph_says_what_it_is(tmp_path: Path) -> None:
    import onnx

    case = WORDLESS["factorial"]
    graph = onnx.load(export_onnx(model_of(case), tmp_path / "a.onnx"))
    onnx.checker.check_model(graph, full_check=True)
    known = {one.key: json.loads(one.value) for one in graph.metadata_props}
    assert known["states"] == {"y": ["P", "Q"], "z": ["R", "S"]}
    assert known["scores"] == {"s": ["P", "Q"], "m": ["P R", "P S", "Q R", "Q S"]}
    assert [one.name for one in graph.graph.input] == ["s", "m", "lengths"]
    assert [one.name for one in graph.graph.output] == ["labels_y", "labels_z", "score"]
    assert graph.opset_import[0].version == 17 and {node.domain for node in graph.graph.node} == {""}
    assert "label z in {R, S}" in graph.graph.doc_string


def test_sentences_without_a_token(tmp_path: Path) -> None:
    path = export_onnx(model_of(OWN), tmp_path / "a.onnx", marginals=True)
    found = outputs(path, {"s": np.zeros((2, 3, 2))}, [0, 0])
    assert (found["labels"] == -1).all() and (found["score"] == 0).all() and (found["log_z"] == 0).all()


REFUSED = {
    "words": (CASES["chain"], "`clique words` has features of the data"),
    "a test": (
        OWN._replace(text=OWN.text.replace("offset(s)", "offset(s) & word is a")), "`given y` tests the data",
    ),
    "a rule of words": (OWN._replace(text=OWN.text + "require y is P when word[-1] is c\n"), "tests the data"),
    "no scores": (OWN._replace(text=OWN.text.replace("offset(s)", "bias")), "it adds no scores"),
    "latent": (CASES["latent"], "`latent h`"),
    "a name": (
        OWN._replace(text=OWN.text.replace("offset(s)", "offset(labels)"), scores={"labels": ("y",)}), "`labels`",
    ),
    "messages": (OWN, "`infer trp` is not exact inference"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_a_graph_is_said(name: str, tmp_path: Path) -> None:
    case, says = REFUSED[name]
    text, rows = case.with_offsets(case.given(1))
    text = text.replace("sense: bias, word", "sense: bias") + ("decode marginal\n" if name == "latent" else "")
    method = "trp" if name == "messages" else "exact"
    resolved = load_text(f"{text}infer {method}\ntrain likelihood: optimizer = lbfgs(max_iterations = 1)\n")
    model = fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)
    with pytest.raises(DcrfError, match="cannot be") as refused:
        export_onnx(model, tmp_path / "a.onnx")
    (one,) = refused.value.diagnostics
    assert one.slug == "cannot-export" and says in one.message and one.help
    assert not list(tmp_path.iterdir())


def test_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model, target = model_of(OWN), str(tmp_path / "a.onnx")
    model.save(tmp_path / "a.model")
    command = ["export", str(tmp_path / "a.model"), "-o"]
    assert run([*command, target, "--marginals", "--bits", "32"]) == 0
    assert capfd.readouterr().err.startswith(f"wrote {target} (")
    found = outputs(Path(target), {"s": np.zeros((1, 2, 2), np.float32)}, [2])
    assert {*found} == {"labels", "score", "marginals", "log_z"}
    assert run([*command, str(tmp_path / "b"), "--format", "onnx"]) == 0
    for wrong, says in (
        ([target, "--bits", "16"], "64 or 32"), ([target, "--prune", "30%"], "`--prune` is for"),
        ([target, "--json"], "`--json` is for"), ([str(tmp_path / "x.py"), "--marginals"], "`--marginals` is for"),
    ):  # fmt: skip
        capfd.readouterr()
        assert run([*command, *wrong]) != 0
        assert says in capfd.readouterr().err
