"""Models that an earlier stage prunes: its weights are part of the model, and tag as they trained."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pruned_cases import sentences

from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.export import lighter
from dcrfdsl.foundation.errors import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.template import Template
from dcrfdsl.training.pipeline import fit

HEAD = """dcrf 1
data conll(word, y)
label y
features words: word, word[-1]
view vowel = y in {a, e}
clique y as single: words
clique vowel[-1], vowel
clique y[-1], y as pairs
clique y[-2], y[-1], y with states = seen
piece alone over y: single
"""
COARSE = f"""{HEAD}infer pruned(by = coarse, threshold = 0.1, keep = 3)
train piecewise(alone) as coarse: infer = exact
train likelihood as fine after coarse
evaluate accuracy(y)
"""
NESTED = COARSE.replace(
    "infer = exact\n", "infer = exact\ntrain likelihood as middle after coarse: infer = pruned(by = coarse)\n"
)
NESTED = NESTED.replace("as fine after coarse", "as fine after middle").replace(
    "infer pruned(by = coarse", "infer pruned(by = middle"
)
VIEW = COARSE.replace("by = coarse", "by = vowel")


def trained(text: str, **more: object) -> tuple[TrainedModel, object]:
    resolved = load_text(text)
    corpus = corpus_from_rows(sentences("abcde", 40), resolved.require().data)
    return fit(resolved, corpus, **more), corpus


@pytest.mark.parametrize("text", [COARSE, NESTED, VIEW], ids=["stage", "nested", "view"])
def test_a_pruned_model_is_read_from_a_file_a_pickle_and_a_copy(text: str, tmp_path: Path) -> None:
    model, corpus = trained(text)
    assert tuple(model.guides) == {COARSE: ("coarse",), NESTED: ("middle", "coarse"), VIEW: ()}[text]
    model.save(tmp_path / "model")
    labels, (table, status) = model.predict(corpus).texts("y"), model.marginals(corpus)
    assert status.pruning.pruned and status.approximate
    for other in (TrainedModel.load(tmp_path / "model"), copy.copy(model), copy.deepcopy(model)):
        assert other.predict(corpus).texts("y") == labels
        np.testing.assert_array_equal(other.marginals(corpus)[0]["y"], table["y"])
        assert [other.tag(s) for s in corpus_words(corpus)] == split(labels, corpus)


def corpus_words(corpus) -> list[list[str]]:
    column = corpus.text_column("word")
    return split([column.values[code] for code in column.codes.tolist()], corpus)


def split(items, corpus) -> list[list[str]]:
    items, off = list(items), corpus.sentence_off.tolist()
    return [items[start:end] for start, end in pairwise(off)]


def test_the_stage_and_not_the_last_weights_say_what_survives() -> None:
    model, corpus = trained(COARSE)
    _, status = model.marginals(corpus)
    open_guide = replace(model, guides={"coarse": np.zeros_like(model.weights)})
    _, free = open_guide.marginals(corpus)
    assert free.pruning.kept > status.pruning.kept
    sharp = replace(model, guides={"coarse": 50 * model.guides["coarse"]})
    assert sharp.marginals(corpus)[1].pruning.kept < status.pruning.kept
    # the coarse stage by itself: p(y_t) of independent positions
    alone, _ = trained(
        COARSE.replace("infer pruned(by = coarse, threshold = 0.1, keep = 3)", "infer exact"), stage="coarse"
    )
    np.testing.assert_allclose(alone.weights, model.guides["coarse"])
    beliefs = alone.marginals(corpus)[0]["y"]
    ranks = np.sort(beliefs, axis=1)[:, ::-1]
    assert status.pruning.kept == int(((ranks[:, :3] >= 0.1).sum(axis=1).clip(1)).sum())


def test_a_stage_before_the_one_that_prunes_tags_by_itself() -> None:
    model, corpus = trained(COARSE, stage="coarse", dev=None)
    assert tuple(model.guides) == ("coarse",) and model.record.stage == "coarse"
    longer = COARSE.replace(
        "train piecewise(alone) as coarse",
        "train piecewise(alone) as first: infer = exact\ntrain piecewise(alone) as coarse after first",
    )
    early, corpus = trained(longer, stage="first")
    assert not early.guides and early.predict(corpus).status.pruning.pruned


def test_a_coarse_stage_makes_no_table_that_only_the_last_one_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcrfdsl.inference.bound.binding.MOST_SHARED", 10)  # of single labels alone there are 6
    resolved = load_text(COARSE)
    dev = corpus_from_rows(sentences("abcde", 10, seed=2), resolved.require().data)
    model, corpus = trained(COARSE, dev=dev)
    assert model.predict(corpus).status.pruning.pruned


def test_scores_on_dev_and_remarks_of_eval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    resolved = load_text(COARSE)
    dev = corpus_from_rows(sentences("abcde", 10, seed=2), resolved.require().data)
    model, _ = trained(COARSE, dev=dev)
    seen = []
    model.evaluate(dev, on_status=seen.append)
    report = seen[0].pruning
    assert report.early > 0 and report.judged == 10 and 0.0 < report.lost <= 10.0
    model.save(tmp_path / "model")
    lines = "\n\n".join("\n".join(" ".join(token) for token in s) for s in sentences("abcde", 10, seed=2))
    (tmp_path / "dev").write_text(lines + "\n", encoding="utf-8")
    assert run(["eval", str(tmp_path / "model"), str(tmp_path / "dev")]) == 0
    assert f"gold labels were pruned in {report.early} of 10 sentences" in capsys.readouterr().err


def test_labels_that_are_given_survive() -> None:
    model, _ = trained(COARSE)
    for label in "abcde":
        assert model.tag(["u", "v", "w"], given=[None, label, None])[1] == label


def test_export_refuses_it_and_lighter_weights_keep_the_guide() -> None:
    model, corpus = trained(COARSE)
    from dcrfdsl.export.exportable import refuse_unless_exportable

    with pytest.raises(DcrfError, match="`infer pruned` is not exact"):
        refuse_unless_exportable(model)
    light = lighter(model, bits=16).model
    assert np.array_equal(light.guides["coarse"], model.guides["coarse"].astype(np.float16).astype(float))
    assert (light.predict(corpus).codes["y"] == model.predict(corpus).codes["y"]).mean() > 0.9


def test_a_file_without_the_weights_of_the_stage_is_refused(tmp_path: Path) -> None:
    model, _ = trained(COARSE)
    replace(model, guides={}).save(tmp_path / "model")
    with pytest.raises(DcrfError, match="pruning stages"):
        TrainedModel.load(tmp_path / "model")


def test_formatted_built_and_written_it_is_the_same_template(tmp_path: Path) -> None:
    path = tmp_path / "coarse.dcrf"
    path.write_text(COARSE, encoding="utf-8")
    assert run(["fmt", "--check", str(path)]) == 0 and run(["check", str(path)]) == 0


def test_python_builds_it() -> None:
    model = Template()
    word, _ = model.data("conll", "word", "y")
    y = model.label("y")
    model.clique(y, features=[word])
    model.clique(y[-1], y)
    model.infer("pruned", by="coarse", keep=3)
    model.train("likelihood", name="coarse", infer="exact")
    model.train("likelihood", name="fine", after="coarse")
    text = """data conll(word, y)
label y
clique y: word
clique y[-1], y
infer pruned: by = coarse, keep = 3
train likelihood as coarse: infer = exact
train likelihood as fine after coarse
"""
    assert model.spec() == load_text(text).require() and load_text(model.text()).require() == model.spec()


def test_check_names_what_prunes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.dcrf").write_text(COARSE, encoding="utf-8")
    lines = "\n\n".join("\n".join(" ".join(token) for token in s) for s in sentences("abcde", 30))
    (tmp_path / "data").write_text(lines + "\n", encoding="utf-8")
    assert run(["check", str(tmp_path / "t.dcrf"), "--data", str(tmp_path / "data")]) == 0
    assert "`pruned`, by the marginals of `coarse`" in capsys.readouterr().out
