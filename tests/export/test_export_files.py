"""The files of exported taggers: what is refused, what lighter weights cost, damaged files, and the command."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_cases import drawn
from sampling import some
from test_programs import GOLD, MODELS, trained

from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.export import ExportedTagger, export_tagger, lighter
from dcrfdsl.export.standalone.tagger_model import Tagger
from dcrfdsl.export.standalone.tagger_tokens import TaggerError
from dcrfdsl.features import feature, registered_features
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

Captured = pytest.CaptureFixture[str]


def vowels(word: str) -> str:
    return "".join(letter for letter in word if letter in "aeiou")


VOWELS = registered_features({"vowels": feature(vowels)})
EXACT, LIKELIHOOD = "infer exact\n", "train likelihood: optimizer = lbfgs(max_iterations = 2)\n"
CHAIN = "label y\nclique y: word\nclique y[-1], y\n"
REFUSED = {
    "own function": ("label y\nclique y: vowels(word)\n" + EXACT + LIKELIHOOD, "functions of yours, `vowels`"),
    "pairs": (
        CHAIN + "clique y[i], y[j] where word[i] = word[j] as same\ninfer exact\n" + LIKELIHOOD,
        "`clique same` joins positions by `where`",
    ),
    "messages": (CHAIN + "infer trp\n" + LIKELIHOOD, "`infer trp` is not exact inference"),
    "bounds": (CHAIN + "infer trw\n" + LIKELIHOOD, "`infer trw` is not exact inference"),
    "local": (CHAIN + EXACT + "train memm: optimizer = lbfgs(max_iterations = 2)\ndecode local\n", "`decode local`"),
    "votes": (CHAIN + EXACT + "train perceptron as p: vote = yes, epochs = 2\n", "`train p` lets "),
    "latent": (
        CHAIN + "latent h in 2\nclique h[-1], h\nclique h, y: word\n" + EXACT + LIKELIHOOD,
        "`latent h` cannot be summed out before the labels",
    ),
    "kernel": (
        CHAIN.replace("y: word", "y as image with states = all: size")
        + EXACT + "train hmsvm as curved: C = 1, loss = hamming(y), kernel.image = rbf(gamma = 0.1)\n",
        "`train curved` compares `clique image` with ",
    ),
    "bytes": (r"label y" "\n" r"clique y: word has /b|x\B/" "\n" + EXACT + LIKELIHOOD, r"`/b|x\B/` has no equal"),
}  # fmt: skip


@pytest.mark.parametrize("case", some(REFUSED, 3))
def test_what_cannot_be_exported_is_named(case: str, tmp_path: Path) -> None:
    body, says = REFUSED[case]
    resolved = load_text(f"data conll(word, pos, size: float, y)\n{body}")
    rows = [[(word, pos, str(n), y) for n, (word, pos, y, _) in enumerate(sentence)] for sentence in GOLD]
    corpus = corpus_from_rows(rows, resolved.require().data)
    model = fit(resolved, corpus, threads=1, registered=VOWELS, unchecked=True)
    with pytest.raises(DcrfError) as refused:
        export_tagger(model, tmp_path / "tagger.py")
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.slug == "cannot-export" and says in diagnostic.message and diagnostic.help
    assert not list(tmp_path.iterdir())


def test_the_command_names_functions_that_it_does_not_have(tmp_path: Path, capfd: Captured) -> None:
    resolved = load_text(f"data conll(word, pos, y, z)\n{REFUSED['own function'][0]}")
    fit(resolved, corpus_from_rows(GOLD, resolved.require().data), threads=1, registered=VOWELS).save(tmp_path / "a")
    assert run(["export", str(tmp_path / "a"), "-o", str(tmp_path / "t.py")]) == 1
    assert "its features call functions of yours: `vowels`" in capfd.readouterr().err


def test_a_model_file_with_functions_is_written_where_their_file_is_given(tmp_path: Path, capfd: Captured) -> None:
    resolved = load_text(f"data conll(word, pos, y, z)\n{REFUSED['own function'][0]}")
    model = fit(resolved, corpus_from_rows(GOLD, resolved.require().data), threads=1, registered=VOWELS)
    model.save(tmp_path / "a")
    code = "import dcrfdsl\n\n@dcrfdsl.feature\ndef vowels(word: str) -> str:\n"
    (tmp_path / "own.py").write_text(code + '    return "".join(letter for letter in word if letter in "aeiou")\n')
    command = ["export", str(tmp_path / "a"), "-o", str(tmp_path / "b"), "--format", "model"]
    assert run(command) == 1
    said = capfd.readouterr().err
    assert "functions that are not loaded: `vowels`" in said and "--features FILE.py" in said
    assert run([*command, "--features", str(tmp_path / "own.py")]) == 0
    again = TrainedModel.load(tmp_path / "b", registered=VOWELS)
    np.testing.assert_array_equal(again.weights, model.weights)


# lighter weights ------------------------------------------------------------------------------------------------------


def differences(model: TrainedModel, written: ExportedTagger, case) -> float:
    """The largest difference of the probabilities of a model and an exported tagger."""
    expected, _ = model.marginals(case.corpus)
    found = [table["y"] for table in Tagger(written.arrays).marginals_all(case.sentences)]
    return float(np.abs(np.concatenate(found) - expected["y"]).max())


@pytest.mark.long
@pytest.mark.parametrize("bits", [32, 16])
def test_fewer_bits_and_fewer_weights(bits: int, tmp_path: Path) -> None:
    """The tagger is exactly that of the rounded and pruned weights, and smaller."""
    case = drawn(0, tmp_path)
    whole = export_tagger(case.model, tmp_path / "whole.py")
    written = export_tagger(case.model, tmp_path / "small.py", bits=bits, share=0.3)
    assert differences(written.model, written, case) < 1e-9 < differences(case.model, written, case)
    assert written.bytes < whole.bytes and written.num_weights < 0.8 * whole.num_weights
    kept = written.model.weights[written.model.weights != 0]
    assert np.array_equal(kept, kept.astype(f"f{bits // 8}").astype(float))


def test_biases_stay_and_shares_count_all_weights() -> None:
    model = trained(MODELS["chain"])
    first, weights = model.parameters.num_bias, model.weights
    for given in ({"share": 0.5}, {"threshold": float(np.median(np.abs(weights[first:])))}):
        found = lighter(model, **given)
        assert np.array_equal(found.model.weights[:first], weights[:first])
        left = np.flatnonzero(found.model.weights[first:])
        assert len(left) == pytest.approx(0.5 * len(weights[first:]), abs=2)
        assert np.abs(weights[first:][left]).min() >= found.threshold
    assert not lighter(model, share=1.0).model.weights[first:].any()
    assert lighter(model, threshold=math.inf).pruned == np.count_nonzero(weights[first:])


def test_a_model_without_weights_of_features(tmp_path: Path) -> None:
    case = drawn(0, tmp_path)
    written = export_tagger(case.model, tmp_path / "t.py", share=1.0)
    assert written.num_weights == 0
    assert differences(written.model, written, case) < 1e-9


def test_weights_that_16_bits_cannot_hold(tmp_path: Path) -> None:
    model = trained(MODELS["chain"])
    large = model.with_weights(1e6 * model.weights, model.record)
    with pytest.raises(DcrfError, match="16 bits hold at most 65,504"):
        export_tagger(large, tmp_path / "t.py", bits=16)
    export_tagger(large, tmp_path / "t.py", bits=32)
    small = model.with_weights(1e-9 * model.weights, model.record)
    with pytest.raises(DcrfError, match=r"16 bits keep all their digits from 6\.1e-05 on"):
        lighter(small, bits=16)
    assert lighter(small, bits=32).model.tag({"word": ["a", "b"], "pos": ["N", "V"]}) == ["A", "B"]


@pytest.mark.parametrize("given", [{"bits": 16}, {"share": 0.5}, {"threshold": 0.1}])
def test_the_weights_of_voters_do_not_get_lighter(given: dict[str, Any]) -> None:
    """Their votes decide the labels, and not the weights that would be rounded and left out."""
    resolved = load_text(f"data conll(word, y)\n{CHAIN}{EXACT}train perceptron: vote = yes, epochs = 2\n")
    model = fit(resolved, corpus_from_rows([[("a", "A"), ("b", "B")]], resolved.require().data))
    with pytest.raises(DcrfError, match="many weight vectors vote on labels"):
        lighter(model, **given)
    assert lighter(model).model.voters is model.voters


# damaged files --------------------------------------------------------------------------------------------------------


def test_a_damaged_file_is_one_error(tmp_path: Path) -> None:
    """Each change is found, or does no harm."""
    case = drawn(2, tmp_path)
    whole = export_tagger(case.model, tmp_path / "t.py").arrays.read_bytes()
    draw = random.Random(1)
    broken = tmp_path / "broken.npz"
    for n in range(60):
        content = bytearray(whole)
        if n % 3 == 0:
            del content[draw.randrange(len(content)) :]
        else:
            for _ in range(draw.choice([1, 4, 40])):
                content[draw.randrange(len(content))] = draw.randrange(256)
        broken.write_bytes(bytes(content))
        try:
            Tagger(broken).tag(case.sentences[2])
        except TaggerError as error:
            assert "\n" not in str(error)


def test_a_file_that_is_not_there_or_too_new(tmp_path: Path) -> None:
    with pytest.raises(TaggerError, match="there is no model file"):
        Tagger(tmp_path / "nothing.npz")
    description = np.frombuffer(json.dumps({"format": 99}).encode(), np.uint8)
    np.savez(tmp_path / "new.npz", description=description)
    with pytest.raises(TaggerError, match="another version"):
        Tagger(tmp_path / "new.npz")
    drawn(2, tmp_path).model.save(tmp_path / "a.model")
    with pytest.raises(TaggerError, match=r"a\.model` is damaged, or no file of a tagger, which ends in `\.npz`$"):
        Tagger(tmp_path / "a.model")


# the command ----------------------------------------------------------------------------------------------------------


def test_the_command_says_what_was_written_and_what_it_cost(tmp_path: Path, capfd: Captured) -> None:
    trained(MODELS["chain"]).save(tmp_path / "a.model")
    dev = tmp_path / "dev.txt"
    dev.write_text("\n\n".join("\n".join(" ".join(token[:3]) for token in sentence) for sentence in GOLD) + "\n")
    model, folder = str(tmp_path / "a.model"), tmp_path / "folder"
    assert run(["export", model, "-o", str(folder)]) == 0
    assert {path.name for path in folder.iterdir()} == {"tagger.py", "tagger.npz"}
    assert f"wrote {folder / 'tagger.py'}" in capfd.readouterr().err
    light = ["--bits", "16", "--prune", "60%", "--dev", str(dev)]
    assert run(["export", model, "-o", str(tmp_path / "t.py"), *light]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["before", "accuracy(y)", "weights", "size"]
    assert run(["export", model, "-o", str(tmp_path / "t.py"), *light, "--json"]) == 0
    record = json.loads(capfd.readouterr().out)
    assert record["scores"]["accuracy(y)"]["before"] == 1.0
    assert record["weights"]["after"] < record["weights"]["before"]


def test_a_smaller_model_file_tags_by_the_lighter_weights(tmp_path: Path, capfd: Captured) -> None:
    model = trained(MODELS["chain"])
    large, small = tmp_path / "a.model", tmp_path / "b.model"
    model.save(large)
    assert run(["export", str(large), "-o", str(small), "--format", "model", "--bits", "16", "--json"]) == 0
    record = json.loads(capfd.readouterr().out)
    assert record["files"] == [str(small)]
    assert record["bytes"] == {"before": large.stat().st_size, "after": small.stat().st_size}
    assert record["weights"]["after"] == record["weights"]["before"] == model.num_weights
    again = TrainedModel.load(small)
    np.testing.assert_array_equal(again.weights, model.weights.astype(np.float16))
    assert run(["export", str(large), "-o", str(small), "--format", "model", "--prune", "100%"]) == 0
    assert "wrote" in capfd.readouterr().err
    assert run(["export", str(small), "-o", str(small), "--format", "model", "--prune", "10%", "--json"]) == 0
    counts = json.loads(capfd.readouterr().out)["weights"]
    assert counts["before"] == counts["after"] == model.parameters.num_bias  # those of 0 are not counted
    assert not TrainedModel.load(small).weights[model.parameters.num_bias :].any()


def test_a_model_that_no_program_can_be_made_of_has_a_smaller_file(tmp_path: Path) -> None:
    spec = load_text("data conll(word, y)\n" + REFUSED["messages"][0])
    corpus = corpus_from_rows([[("a", "A"), ("b", "B"), ("a", "A")]], spec.require().data)
    fit(spec, corpus, threads=1).save(tmp_path / "a.model")
    assert run(["export", str(tmp_path / "a.model"), "-o", str(tmp_path / "b.model"), "--format", "model"]) == 0
    assert run(["export", str(tmp_path / "a.model"), "-o", str(tmp_path / "t.py")]) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--bits", "8"], "64, 32 or 16"),
        (["--prune", "-1"], "such as 30%"),
        (["--prune", "120%"], "such as 30%"),
        (["--prune", "nan"], "such as 30%"),
        (["--format", "onyx"], "the formats are python, javascript, page, onnx, model, crfsuite"),
        (["--format", "crfsuite", "--bits", "16"], "is for programs and `--format model`"),
    ],
)
def test_options_that_do_not_fit(options: list[str], says: str, tmp_path: Path, capfd: Captured) -> None:
    trained(MODELS["chain"]).save(tmp_path / "a.model")
    assert run(["export", str(tmp_path / "a.model"), "-o", str(tmp_path / "t.py"), *options]) != 0
    assert says in " ".join(capfd.readouterr().err.split())


def test_a_target_that_is_neither_program_nor_folder(tmp_path: Path) -> None:
    with pytest.raises(DcrfError, match=r"neither a `\.py` file nor a folder"):
        export_tagger(trained(MODELS["chain"]), tmp_path / "tagger.txt")


def test_a_model_of_crfsuite(tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trained("label y\nclique y: word\nclique y[-1], y\n").save(tmp_path / "a.model")
    target = str(tmp_path / "a.crfsuite")
    assert run(["export", str(tmp_path / "a.model"), "-o", target, "--format", "crfsuite"]) == 0
    tagger = pycrfsuite.Tagger()
    tagger.open(target)
    assert set(tagger.labels()) == {"A", "B"}


def test_what_the_format_of_crfsuite_has_no_use_for_is_refused(tmp_path: Path, capfd: Captured) -> None:
    for option in (["--bits", "16"], ["--prune", "0.1"], ["--dev", "dev.txt"], ["--json"]):
        assert run(["export", "a.model", "-o", str(tmp_path / "a.crfsuite"), "--format", "crfsuite", *option]) == 1
        assert f"error[idle-option]: `{option[0]}` is for programs and `--format model`" in capfd.readouterr().err


def test_a_format_that_the_program_does_not_read_is_said(tmp_path: Path, capfd: Captured) -> None:
    spec = load_text("data csv(word, y)\nlabel y\nclique y: word\ntrain likelihood")
    fit(spec, corpus_from_rows([[("a", "A"), ("b", "B")]], spec.require().data), threads=1).save(tmp_path / "a.model")
    assert run(["export", str(tmp_path / "a.model"), "-o", str(tmp_path / "t.py")]) == 0
    assert "reads `conll` and `jsonl`, not `csv`" in capfd.readouterr().err
