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

from dcrfdsl import fit, load_template
from dcrfdsl.cli import run as dcrfdsl_command
from dcrfdsl.syntax import Site
from dcrfdsl.syntax.nodes import At, Here, Reference

FOLDER = ROOT / "examples" / "mccallum2004"
TEMPLATES = ("ner", "pos")
TAGGED = {"the": "DT", "a": "DT", "dog": "NN", "man": "NN", "sees": "VBZ", "runs": "VBZ", "Rome": "NNP", "Eva": "NNP"}
ENTITIES = {"Rome": "B-LOC", "Eva": "B-PER"}


tables, run = example_modules(FOLDER, "tables", "run")


def write_corpus(path: Path, sentences: int, seed: int, entities: bool) -> None:
    """Words at random; one in ten has the tag of another word, so that no model is always right."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(sentences):
        for word in random.choice(list(TAGGED), random.integers(2, 7)).tolist():
            shown = word if random.random() < 0.9 else str(random.choice(list(TAGGED)))
            entity = f" {ENTITIES.get(word, 'O')}" if entities else ""
            lines.append(f"{shown} {TAGGED[word]}{entity}\n")
        lines.append("\n")
    path.write_text("".join(lines))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpora")
    write_corpus(folder / "esp.train", 20, seed=1, entities=True)
    write_corpus(folder / "esp.testa", 15, seed=2, entities=True)
    write_corpus(folder / "wsj.txt", 30, seed=3, entities=False)
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
    assert stages == {row.stage for row in run.ROWS.values()}
    assert set(run.ROWS) == set(tables.MODELS)


@pytest.mark.parametrize("name", TEMPLATES)
def test_all_features_are_of_moves_the_first_from_start_and_every_move_has_a_bias(name: str) -> None:
    cliques = load_template(FOLDER / f"{name}.dcrf").require().cliques
    move = (Site(variable=name, place=At(offset=-1)), Site(variable=name, place=Here()))
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


def record(test: float, wrong: list[int]) -> dict[str, Any]:
    return {"train": 0.99, "test": test, "seconds": 2.0, "cpu_seconds": 3.0, "iterations": 7, "wrong": wrong}


def test_rows_stand_beside_the_papers_and_are_tested_against_memm_and_crf() -> None:
    records = {"few_local": record(0.9, SECOND), "crf": record(0.8, FIRST)}
    crf, few = tables.table1_rows("pos", records)
    assert (crf["model"], crf["train"], crf["test"]) == ("crf", pytest.approx(99), pytest.approx(80))
    assert crf["p"] == {"memm": None, "crf": None}
    assert few["p"] == {"memm": None, "crf": pytest.approx(stats.ttest_rel(SECOND, FIRST).pvalue)}
    assert few["paper"] == {"train": 99.08, "test": 88.8, "minutes": 150}
    assert tables.table1_rows("ner", records)[1]["p"]["crf"] == pytest.approx(14 / 64)
    assert tables.table1_rows("ner", records)[1]["paper"] is None, "the paper's row of names is a scaled one"


# data -------------------------------------------------------------------------------------------------------------


def test_sentences_for_parts_of_speech_are_drawn_by_seed_and_the_others_are_the_test(data: Path) -> None:
    tasks = [run.pos_task(data / "wsj.txt", seed, sentences=12) for seed in (0, 0, 1)]
    lines = [tuple(task.train.token_line.tolist()) for task in tasks]
    assert lines[0] == lines[1] != lines[2]
    text = (data / "wsj.txt").read_text().splitlines()
    for task in tasks:
        assert (task.train.num_sentences, task.test.num_sentences) == (12, 18)
        both = sorted([*task.train.token_line.tolist(), *task.test.token_line.tolist()])
        assert both == [n for n, line in enumerate(text, 1) if line]
        for n, line in enumerate(task.test.token_line.tolist()):
            assert [task.test.text_column(name).text(n) for name in ("word", "pos")] == text[line - 1].split()


def test_wrong_tags_are_counted_by_sentence(data: Path) -> None:
    task = run.pos_task(data / "wsj.txt", 0, sentences=12)
    model = fit(task.resolved, task.train, stage="memm", threads=1)
    wrong = run.wrong_tags(model, task.test, "pos", "local", 1)
    found = model.predict(task.test, threads=1, decode="local").texts("pos")
    gold = [task.test.text_column("pos").text(n) for n in range(task.test.num_tokens)]
    expected = [
        sum(found[n] != gold[n] for n in range(first, last))
        for first, last in itertools.pairwise(task.test.sentence_off.tolist())
    ]
    assert wrong == expected and sum(wrong) > 0


# the whole --------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_run_fills_every_row(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "result.json"
    tasks = [run.pos_task(data / "wsj.txt", 0, 12), run.ner_task(data, 15)]
    result = run.reproduce(tasks, out, threads=1, talk=False)
    assert result == json.loads(out.read_text()) and result["complete"]
    assert result["tasks"]["ner"]["train_sentences"] == 15
    for task in tasks:
        own = result["tasks"][task.name]
        rows = {row["model"]: row for row in own["rows"]}
        assert list(rows) == list(tables.MODELS)
        assert rows["plain"]["iterations"] == rows["memm"]["iterations"] < rows["plain_scaled"]["iterations"]
        for name, found in own["records"].items():
            assert len(found["wrong"]) == task.test.num_sentences
            if task.name == "pos":
                assert found["test"] == pytest.approx(1 - sum(found["wrong"]) / task.test.num_tokens), name
    run.show(result)
    shown = capsys.readouterr().out
    assert shown.count("CRF-PT, NOTA, scale") == 2 and "McNemar" in shown and "paired t-test" in shown


def test_ctrl_c_keeps_the_task_that_is_complete(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {name: record(0.9, [0, 1]) for name in tables.MODELS}
    done = iter([rows])

    def stopped(*_: Any) -> dict[str, dict[str, Any]]:
        for found in done:
            return found
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_task", stopped)
    tasks = [run.pos_task(data / "wsj.txt", 0, 12), run.ner_task(data)]
    result = run.reproduce(tasks, tmp_path / "result.json", talk=False)
    assert not result["complete"] and list(result["tasks"]) == ["pos"]
    assert json.loads((tmp_path / "result.json").read_text()) == result


def test_a_corpus_must_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--out", str(tmp_path / "result.json")])
    assert "--ner, --pos or both" in capsys.readouterr().err
