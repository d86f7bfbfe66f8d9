"""`tag --json` under `decode certified` and `optimal`: score, bound and proof of each sentence."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dcrfdsl.cli import run
from dcrfdsl.cli.schema_command import json_schema
from dcrfdsl.data import read_corpus
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

Captured = pytest.CaptureFixture[str]
TEMPLATE = """
data conll(word, y, z)
label y in {A, B, C}
label z in {D, E}
clique y: bias, word
clique z: bias, word
clique y[-1], y
clique z[-1], z
clique y, z
forbid y is A and word is never
require y is A when word is never
infer trp
decode optimal(nodes = 200)
train likelihood: prior = gaussian(variance = 1)
"""
WORDS = [["a", "b", "c"], ["b", "a"], ["a", "never"], ["c", "c", "b", "a"]]
TRAINING = "a A D\nb B E\nc C D\n\nb A E\na C D\n\nc B D\nc B E\nb A E\na C D\n\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("proofs")
    (where / "train.txt").write_text(TRAINING)
    (where / "in.txt").write_text("".join("".join(f"{word}\n" for word in words) + "\n" for words in WORDS))
    spec = load_text(TEMPLATE).spec
    fit(spec, read_corpus(where / "train.txt", spec.data), threads=1).save(where / "a.model")  # type: ignore[arg-type]
    return where


def records(folder: Path, capsys: Captured, *options: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(["tag", str(folder / "a.model"), str(folder / "in.txt"), "--json", *options]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for record in found:
        Draft202012Validator(json_schema("tag")).validate(record)
    return found


def best_score(model: TrainedModel, words: list[str]) -> float:
    """The most that any labelling scores: the score of each is that of a decoding which keeps to it."""
    scores = []
    for y in itertools.product("ABC", repeat=len(words)):
        for z in itertools.product("DE", repeat=len(words)):
            ranked = model.nbest(words, 1, given={"y": list(y), "z": list(z)})
            scores += [one.score for one in ranked]
    return max(scores, default=float("-inf"))


def test_each_sentence_has_its_score_its_bound_and_whether_it_is_proven(folder: Path, capsys: Captured) -> None:
    model = TrainedModel.load(folder / "a.model")
    found = records(folder, capsys)
    assert [record["sentence"] for record in found] == [1, 2, 3, 4]
    for record, words in zip(found, WORDS, strict=True):
        assert record["proven"] is True
        if "never" in words:
            assert record["score"] is None and record["bound"] is None
            assert record["labels"]["y"] == ["_"] * len(words)
        else:
            assert record["bound"] == record["score"]
            if len(words) < 4:
                assert record["score"] == pytest.approx(best_score(model, words), abs=1e-9)


def test_a_bound_above_the_score_is_no_proof(folder: Path, capsys: Captured) -> None:
    best = records(folder, capsys)
    for record, other in zip(records(folder, capsys, "--decode", "certified(iterations = 1)"), best, strict=True):
        if record["score"] is not None:
            assert record["proven"] == (record["bound"] == record["score"])
            assert record["bound"] >= other["score"] - 1e-9 >= record["score"] - 2e-9


def test_records_of_other_decoding_rules_have_no_certificates(folder: Path, capsys: Captured) -> None:
    for options in (["--decode", "joint"], ["--decode", "marginal"], ["--nbest", "2"]):
        assert all("bound" not in record and "proven" not in record for record in records(folder, capsys, *options))


def test_they_are_the_same_for_parts_tagged_apart_and_go_with_confidences(folder: Path, capsys: Captured) -> None:
    once = records(folder, capsys)
    assert records(folder, capsys, "--jobs", "2") == once
    more = records(folder, capsys, "--confidence")
    assert [one["score"] for one in more] == [one["score"] for one in once]
    assert all({"probability", "bound", "proven"} <= set(one) for one in more)
