"""Training on expected shares: what comes of them, data without labels, what is refused, record and commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training import open_parts
from dcrfdsl.training.checkpoints import Checkpoint
from dcrfdsl.training.pipeline import fit

BASE = 'data conll(word, y)\nlabel y in {A, B} with missing = "?"\nclique y: word, bias\nclique y[-1], y\n'
HARD = "expect y is A with share = 0.2, strength = 1000\n"
LABELLED = [[("a", "A"), ("b", "B")], [("b", "B"), ("a", "A"), ("c", "?")]]
WORDS = [[("d",), ("d",), ("a",)], [("b",), ("d",), ("e",)]]


def corpora(text: str = BASE) -> tuple:
    spec = load_text(text).require()
    bare = load_text("data conll(word)\n").spec.data
    return spec, corpus_from_rows(LABELLED, spec.data), corpus_from_rows(WORDS, bare)


@pytest.mark.parametrize("where", ["training data", "unlabelled data"])
def test_a_strong_expectation_is_met_and_told(where: str, tmp_path: Path) -> None:
    spec, corpus, words = corpora(BASE + HARD)
    unlabelled = words if where == "unlabelled data" else None
    model = fit(spec, corpus, unlabelled=unlabelled)
    (found,) = model.scores.expected_shares(unlabelled or corpus)
    assert found.share == pytest.approx(0.2, abs=2e-3)
    assert found.places == (unlabelled or corpus).num_tokens
    marginals, _ = model.marginals(unlabelled or corpus)
    assert marginals["y"][:, model.states["y"].index("A")].mean() == pytest.approx(found.share)
    assert any(note == f"note: {found.words}" for note in model.record.notes)
    model.save(tmp_path / "m")
    again = TrainedModel.load(tmp_path / "m")
    assert again.spec == spec and again.scores.expected_shares(corpus) == model.scores.expected_shares(corpus)


def test_features_of_unlabelled_data_have_weights_with_every_state_and_labels_in_it_are_not_read() -> None:
    spec, corpus, words = corpora(BASE + "expect y is A when word is d with share = 0.9, strength = 100\n")
    model = fit(spec, corpus, unlabelled=words)
    weights = {(text, states): w for _, text, states, w in model.explanations.iter_weights()}
    assert weights["word=d", ("A",)] > 0.5 > -0.5 > weights["word=d", ("B",)]
    assert weights["word=e", ("A",)] == pytest.approx(0.0, abs=0.5)
    labelled = corpus_from_rows([[(*row, "B") for row in sentence] for sentence in WORDS], spec.data)
    np.testing.assert_array_equal(fit(spec, corpus, unlabelled=labelled).weights, model.weights)
    for threads in (1, 3):
        np.testing.assert_array_equal(fit(spec, corpus, unlabelled=words, threads=threads).weights, model.weights)


def test_a_share_that_the_model_gives_anyway_changes_nothing() -> None:
    spec, corpus, _ = corpora()
    plain = fit(spec, corpus)
    free = fit(load_text(BASE + "expect y is A with least = 0.001, most = 0.999\n").require(), corpus)
    np.testing.assert_allclose(free.weights, plain.weights, atol=1e-4)


def test_what_cannot_be_expected_of_data_is_refused(tmp_path: Path) -> None:
    spec, corpus, words = corpora()
    with pytest.raises(DcrfError, match=r"cannot-expect.*changes nothing"):
        fit(spec, corpus, unlabelled=words)
    spec, corpus, words = corpora(BASE + "expect y is A when word is z with share = 0.5\n")
    with pytest.raises(DcrfError, match=r"cannot-expect.*no place in"):
        fit(spec, corpus)
    (tmp_path / "data").write_text("a A\nb B\n")
    parts = open_parts([tmp_path / "data"], load_text(BASE + HARD), cache=tmp_path / "parts")
    with pytest.raises(DcrfError, match=r"no-sum-over-parts.*unlabelled"):
        fit(load_text(BASE + HARD), parts, unlabelled=words)
    with pytest.raises(TypeError, match="unlabelled"):
        fit(spec, corpus, unlabelled="words.txt")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "more",
    [
        "", "expect y is B when word is c or word is d with most = 0.3\n", "latent h in 2\nclique y, h: word\n",
        "forbid y is B and word is d\nview same = y is A\nclique same[-1], y\n",
    ],
    ids=["chain", "two", "latent", "rule"],
)  # fmt: skip
def test_data_in_parts_has_the_shares_of_the_whole(more: str, tmp_path: Path) -> None:
    resolved = load_text(BASE + more + HARD + "train likelihood: optimizer = lbfgs(tolerance = 1e-8)\n")
    rows = [*LABELLED, *([(w, "?") for (w,) in one] for one in WORDS)]
    (tmp_path / "data").write_text("\n".join("".join(f"{w} {y}\n" for w, y in one) for one in rows))
    corpus = corpus_from_rows(rows, resolved.require().data)
    parts = open_parts(tmp_path / "data", resolved, cache=tmp_path / "parts", part_tokens=2)
    assert len(parts.parts) > 2
    whole, found = fit(resolved, corpus), fit(resolved, parts)
    assert found.record.objective == pytest.approx(whole.record.objective, rel=1e-7)
    np.testing.assert_allclose(found.weights, whole.weights, atol=1e-3)
    assert [one.share for one in found.scores.expected_shares(corpus)] == pytest.approx(
        [one.share for one in whole.scores.expected_shares(corpus)], abs=1e-4
    )
    assert [one.partition(": the")[0] for one in found.record.notes] == [
        one.partition(": the")[0] for one in whole.record.notes
    ]


def test_a_resumed_training_wants_the_same_unlabelled_data(tmp_path: Path) -> None:
    spec, corpus, words = corpora(BASE + HARD)
    path, steps = tmp_path / "checkpoint", []

    def stop() -> bool:
        return len(steps) == 3

    whole = fit(spec, corpus, unlabelled=words)
    saved = Checkpoint(path, seconds=0.0, keep=True)
    fit(spec, corpus, unlabelled=words, checkpoint=saved, on_iteration=steps.append, should_stop=stop)
    again = Checkpoint(path, resume=True, keep=True)
    with pytest.raises(DcrfError, match="unlabelled data"):
        fit(spec, corpus, unlabelled=words.slice(0, 1), checkpoint=again)
    resumed = fit(spec, corpus, unlabelled=words, checkpoint=again)
    np.testing.assert_allclose(resumed.weights, whole.weights, atol=1e-6)


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.dcrf").write_text(BASE + HARD)
    Path("train.txt").write_text("\n".join("".join(f"{w} {y}\n" for w, y in one) for one in LABELLED))
    Path("words.txt").write_text("d\nd\na\n\nb\nd\ne\n")
    assert run(["train", "t.dcrf", "train.txt", "-o", "m", "--unlabelled", "words.txt"]) == 0
    assert "the share is 0.2" in capsys.readouterr().err
    assert run(["eval", "m", "train.txt"]) == 0
    assert "note: `expect y is A with share = 0.2" in capsys.readouterr().err
    assert run(["train", "t.dcrf", "train.txt", "-o", "m", "--tune", "--dev", "train.txt", "--unlabelled", "words.txt"])
    assert "idle-option" in capsys.readouterr().err
