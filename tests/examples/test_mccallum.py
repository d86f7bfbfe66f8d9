"""`examples/mccallum2004`: its templates, the arithmetic of its table, and a run of the whole on made-up sentences."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, example_modules
from scipy import stats

from dcrfdsl import load_template
from dcrfdsl.cli import run as dcrfdsl_command
from dcrfdsl.syntax import Site
from dcrfdsl.syntax.nodes import At, Here, Reference

FOLDER = ROOT / "examples" / "mccallum2004"
LABELS = {"ner": "ner", "np": "chunk", "pos": "pos"}
TEMPLATES = tuple(LABELS)
TAGGED = {"the": "DT", "a": "DT", "dog": "NN", "man": "NN", "sees": "VBZ", "runs": "VBZ", "Rome": "NNP", "Eva": "NNP"}
ENTITIES = {"Rome": "B-LOC", "Eva": "B-PER"}
PHRASES = {"NN": "I-NP", "DT": "B-NP", "NNP": "B-NP", "VBZ": "B-VP"}


tables, run = example_modules(FOLDER, "tables", "run")


def write_corpus(path: Path, sentences: int, seed: int, third: str = "") -> None:
    """Words at random; one in ten has the tag of another word, so that no model is always right."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(sentences):
        for word in random.choice(list(TAGGED), random.integers(2, 7)).tolist():
            shown = word if random.random() < 0.9 else str(random.choice(list(TAGGED)))
            columns = {"ner": ENTITIES.get(word, "O"), "chunk": PHRASES[TAGGED[word]]}
            lines.append(" ".join([shown, TAGGED[word], *([columns[third]] if third else [])]) + "\n")
        lines.append("\n")
    path.write_text("".join(lines))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpora")
    write_corpus(folder / "esp.train", 20, seed=1, third="ner")
    write_corpus(folder / "esp.testa", 15, seed=2, third="ner")
    write_corpus(folder / "train.txt", 20, seed=4, third="chunk")
    write_corpus(folder / "test.txt", 15, seed=5, third="chunk")
    write_corpus(folder / "wsj.txt", 30, seed=3)
    return folder


# templates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_check_clean_and_are_in_the_canonical_layout(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FOLDER / f"{name}.dcrf")
    assert dcrfdsl_command(["check", path, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert dcrfdsl_command(["fmt", "--check", "--quiet", path]) == 0


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_row_of_the_table_has_a_stage(name: str) -> None:
    stages = {stage.label for stage in load_template(FOLDER / f"{name}.dcrf").require().stages}
    assert stages == {*run.STAGES, "scaled"}
    assert set(run.ROWS) == set(tables.MODELS)


@pytest.mark.parametrize("name", TEMPLATES)
def test_all_features_are_of_moves_the_first_from_start_and_every_move_has_a_bias(name: str) -> None:
    cliques = load_template(FOLDER / f"{name}.dcrf").require().cliques
    label = LABELS[name]
    move = (Site(variable=label, place=At(offset=-1)), Site(variable=label, place=Here()))
    assert {clique.sites for clique in cliques} == {move}
    assert {clique.edges for clique in cliques} == {"pad"}
    alone = Reference(name="bias", place=Here())
    assert [clique.states for clique in cliques if clique.features == (alone,)] == [None], "by default: all states"


# arithmetic -------------------------------------------------------------------------------------------------------

# Seven sentences: the first tagger alone is right in one, the second alone in five, both in one.
FIRST, SECOND = [0, 1, 2, 1, 3, 1, 0], [2, 0, 0, 0, 0, 0, 0]


def test_mcnemar_is_a_coin_tossed_for_the_sentences_that_one_alone_has_right() -> None:
    # 1 of 6, two-sided: 2 · (C(6,0) + C(6,1)) / 2⁶
    assert tables.mcnemar_p(FIRST, SECOND) == pytest.approx(14 / 64)
    assert tables.mcnemar_p(SECOND, FIRST) == pytest.approx(14 / 64)
    assert tables.mcnemar_p([0, 1, 2], [0, 3, 1]) is None, "both are right in the same sentences"


def test_the_paired_test_is_students_on_differences() -> None:
    assert tables.paired_p(FIRST, SECOND) == pytest.approx(stats.ttest_rel(FIRST, SECOND).pvalue, rel=1e-9)
    # differences 1, 2, 3: mean 2, error 1/√3, and of t with two degrees of freedom p = 1 − t/√(t² + 2), t² = 12
    assert tables.paired_p([1, 2, 3], [0, 0, 0]) == pytest.approx(1 - (12 / 14) ** 0.5, rel=1e-9)
    assert tables.paired_p([1, 2], [0, 1]) is None, "no difference varies"


def row(counts: list[list[int]], wrong: list[int]) -> dict[str, Any]:
    return {"train": [99, 100], "counts": counts, "wrong": wrong, "cpu_seconds": 3.0, "iterations": 7}


def test_scores_are_accuracy_and_f1_of_sums_of_counts() -> None:
    assert tables.share([3, 4]) == pytest.approx(0.75)
    assert tables.share([3, 4, 8]) == pytest.approx(2 * (3 / 4) * (3 / 8) / (3 / 4 + 3 / 8))
    assert tables.share([0, 0, 0]) == 0
    assert tables.share(np.array([[1, 2], [2, 2]])).tolist() == [0.5, 1.0]


def test_several_draws_have_students_interval_of_paired_differences() -> None:
    own, other = [80.0, 82.0, 81.5, 79.0], [79.0, 82.5, 80.0, 78.0]
    found, expected = tables.of_draws(own, other), stats.ttest_rel(own, other)
    low, high = expected.confidence_interval(0.95)
    assert found == pytest.approx((np.mean(own) - np.mean(other), low, high, expected.pvalue), rel=1e-9)
    assert tables.of_draws([2.0, 3.0], [1.0, 2.0]) == (1.0, 1.0, 1.0, None)


def test_one_training_has_the_interval_of_drawn_sentences_and_the_papers_test() -> None:
    random = np.random.default_rng(0)
    right = random.integers(0, 11, (2, 400))
    own, other = (row([[int(n), 10] for n in found], [int(10 - n) for n in found]) for found in right)
    found = tables.of_one("pos", own, other)
    gains = 10 * (right[0] - right[1])  # percent of ten tags a sentence
    error = gains.std() / 20
    assert found.mean == pytest.approx(gains.mean())
    assert (found.low, found.high) == pytest.approx((gains.mean() - 1.96 * error, gains.mean() + 1.96 * error), abs=0.3)
    assert found.p == pytest.approx(stats.ttest_rel(own["wrong"], other["wrong"]).pvalue)
    assert tables.of_one("np", own, other).p == pytest.approx(tables.mcnemar_p(own["wrong"], other["wrong"]))
    assert tables.of_one("pos", own, own)[:3] == (0, 0, 0)


def test_rows_stand_beside_the_papers_and_are_compared_with_memm_and_crf_of_the_same_draw() -> None:
    first, second = ([[10 - n, 10] for n in wrong] for wrong in (FIRST, SECOND))
    records = [
        {"draw": 0, "rows": {"few_local": row(second, SECOND)}},
        {"draw": 0, "rows": {"crf": row(first, FIRST)}},
        {"draw": 1, "rows": {"few_local": row(second, SECOND)}},
    ]
    crf, few = tables.table1_rows("pos", records)
    assert crf["model"] == "crf" and crf["train"]["mean"] == pytest.approx(99)
    assert crf["test"] == {"mean": pytest.approx(100 * 62 / 70), "deviation": None}
    assert few["test"] == {"mean": pytest.approx(100 * 68 / 70), "deviation": 0}
    assert crf["against"] == {"memm": None, "crf": None}
    assert few["against"]["memm"] is None
    assert few["against"]["crf"]["mean"] == pytest.approx(100 * 6 / 70)
    assert few["against"]["crf"]["p"] == pytest.approx(stats.ttest_rel(SECOND, FIRST).pvalue)
    assert few["paper"] == {"train": 99.08, "test": 88.8, "minutes": 150}
    assert tables.table1_rows("ner", records)[1]["paper"] is None, "the paper's row of names is a scaled one"


# data -------------------------------------------------------------------------------------------------------------


def text_of(corpus: Any, names: tuple[str, ...]) -> list[list[str]]:
    return [[corpus.text_column(name).text(n) for name in names] for n in range(corpus.num_tokens)]


def test_sentences_for_parts_of_speech_are_drawn_by_seed_and_the_others_are_the_test(data: Path) -> None:
    task = run.pos_task(data / "wsj.txt")
    draws = [task.parts(12, draw, seed) for draw, seed in ((0, 0), (0, 0), (1, 0), (0, 1))]
    lines = [tuple(train.token_line.tolist()) for train, _ in draws]
    assert lines[0] == lines[1] and len(set(lines)) == 3
    text = (data / "wsj.txt").read_text().splitlines()
    for train, test in draws:
        assert (train.num_sentences, test.num_sentences) == (12, 18)
        both = sorted([*train.token_line.tolist(), *test.token_line.tolist()])
        assert both == [n for n, line in enumerate(text, 1) if line]
        assert text_of(test, ("word", "pos")) == [text[line - 1].split() for line in test.token_line.tolist()]


def test_other_tasks_have_a_test_of_their_own_and_may_train_on_all_sentences(data: Path) -> None:
    for task, name in ((run.ner_task(data), "esp.testa"), (run.np_task(data), "test.txt")):
        drawn, test = task.parts(7, 0, 0)
        whole, same = task.parts(0, 0, 0)
        assert drawn.num_sentences == 7 and whole.token_line.tolist() == task.pool.token_line.tolist()
        expected = [line.split() for line in (data / name).read_text().splitlines() if line]
        assert text_of(test, ("word", "pos")) == text_of(same, ("word", "pos")) == [line[:2] for line in expected]
    assert run.ner_task(data, tested=4).parts(7, 0, 0)[1].num_sentences == 4


def test_counts_are_those_of_the_score_and_wrong_tags_by_sentence(data: Path) -> None:
    task = run.np_task(data)
    lab = run.Experiment({"np": task}, threads=1)
    train, test = task.parts(12, 0, 0)
    model = lab.fit(task, train, "memm")
    found = lab.counts(model, task, test, "local")
    tags = model.predict(test, threads=1, decode="local").texts("chunk")
    gold = [phrase if phrase != "B-VP" else "O" for (phrase,) in text_of(test, ("chunk",))]
    expected = [
        sum(tags[n] != gold[n] for n in range(first, last))
        for first, last in itertools.pairwise(test.sentence_off.tolist())
    ]
    assert found["wrong"] == expected and sum(expected) > 0
    scores = model.evaluate(test, threads=1, decode="local")
    assert tables.share(np.sum(found["counts"], axis=0)) == pytest.approx(scores["segments(chunk).f1"])
    assert len(found["counts"]) == test.num_sentences


# the whole --------------------------------------------------------------------------------------------------------


def reproduced(data: Path, out: Path, sizes: dict[str, int], draws: int) -> dict[str, Any]:
    tasks = {"pos": run.pos_task(data / "wsj.txt"), "np": run.np_task(data), "ner": run.ner_task(data)}
    lab = run.Experiment({name: tasks[name] for name in sizes}, threads=1)
    return run.reproduce(lab, sizes, draws, run.Log(out.with_suffix(".jsonl"), run.Job), out, talk=False)


@pytest.mark.long
def test_a_run_fills_every_row(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "result.json"
    result = reproduced(data, out, {"pos": 12, "np": 12, "ner": 0}, 2)
    assert result == json.loads(out.read_text()) and result["complete"]
    assert [task["draws"] for task in result["tasks"].values()] == [2, 2, 1]
    assert [task["train_sentences"] for task in result["tasks"].values()] == [12, 12, 20]
    for task in result["tasks"].values():
        rows = {row["model"]: row for row in task["rows"]}
        assert list(rows) == list(tables.MODELS)
        assert rows["plain"]["iterations"] == rows["memm"]["iterations"] < rows["plain_scaled"]["iterations"]
        assert all(row["against"]["crf"] for name, row in rows.items() if name != "crf")
    run.show(result)
    shown = capsys.readouterr().out
    assert shown.count("CRF-PT, some NOTA, scale") == 3
    assert shown.count("paired t-test over draws") == 2 and shown.count("McNemar") == 1


def test_a_stopped_run_goes_on_where_it_was(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[Any] = []
    stop = 3

    def made_up(lab: Any, job: Any) -> dict[str, Any]:
        if len(trained) == stop:
            raise KeyboardInterrupt
        trained.append(job)
        rows = {name: row([[9, 10], [8, 10]], [1, 2]) for name, spec in run.ROWS.items() if spec.stage == job.stage}
        return {**job._asdict(), "inputs": lab.fingerprint(job), "rows": rows}

    monkeypatch.setattr(run.Experiment, "run", made_up)
    out = tmp_path / "result.json"
    first = reproduced(data, out, {"pos": 12}, 2)
    assert not first["complete"] and len(trained) == 3
    assert [row["model"] for row in first["tasks"]["pos"]["rows"]] == [
        name for name in tables.MODELS if not name.startswith("few")
    ]
    stop = 100
    second = reproduced(data, out, {"pos": 12}, 2)
    assert second["complete"] and len(trained) == len(set(trained)) == 2 * len(run.STAGES)
    assert reproduced(data, out, {"pos": 12}, 2) == second and len(trained) == 8


def test_a_corpus_must_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--out", str(tmp_path / "result.json")])
    assert "--pos, --np or --ner" in capsys.readouterr().err
