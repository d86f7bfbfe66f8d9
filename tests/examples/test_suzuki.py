"""`examples/suzuki2006`: its templates, the arithmetic of its tables, and a run of the whole on made-up sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, example_modules
from scipy import stats

from dcrfdsl import fit, load_template
from dcrfdsl.cli import run as dcrfdsl_command
from dcrfdsl.semantics.resolve.resolution import Resolved
from dcrfdsl.semantics.settings.loss_settings import MceSettings
from dcrfdsl.semantics.settings.prior_settings import GaussianPrior
from dcrfdsl.semantics.settings.settings_reading import stage_chain, stage_settings

FOLDER = ROOT / "examples" / "suzuki2006"
TASKS = ("chunk", "ner")
WORDS = {"the": "B-NP", "dog": "I-NP", "cat": "I-NP", "runs": "B-VP", "sees": "B-VP", ",": "O", "Eva": "B-NP"}


experiment, tables, run, small = example_modules(FOLDER, "experiment", "tables", "run", "small")
POWERS = {name: (own.tried[0], own.tried[-1]) for name, own in experiment.METHODS.items() if own.tried}


def write_corpus(path: Path, sentences: int, seed: int) -> None:
    """Words at random; one in ten has the label of another word, so that no model is always right."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(sentences):
        for word in random.choice(list(WORDS), random.integers(2, 7)).tolist():
            label = WORDS[word if random.random() < 0.9 else str(random.choice(list(WORDS)))]
            lines.append(f"{word} {word[0]} {label}\n")
        lines.append("\n")
    path.write_text("".join(lines))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpora")
    for number, names in enumerate(zip(*experiment.FILES.values(), strict=True)):
        for name in names:
            write_corpus(folder / name, 30, seed=number)
    return folder


def job(method: str, n: int | None = None, map_n: int | None = None, optimizer: str = "", part: str = "test") -> Any:
    return experiment.Job("chunk", method, n, map_n, optimizer, part)


# templates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_templates_check_clean_and_are_in_the_canonical_layout(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FOLDER / f"{task}.dcrf")
    assert dcrfdsl_command(["check", path, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert dcrfdsl_command(["fmt", "--check", "--quiet", path]) == 0


@pytest.mark.parametrize("task", TASKS)
def test_every_method_is_a_stage_that_begins_where_it_says(task: str) -> None:
    spec = load_template(FOLDER / f"{task}.dcrf").require()
    assert {stage.label for stage in spec.stages} == set(experiment.METHODS) == set(tables.NAMES)
    for name, method in experiment.METHODS.items():
        before = {"zero": [], "map": ["map"]}[method.starts]
        assert [stage.label for stage in stage_chain(spec, name)] == [*before, name]


@pytest.mark.parametrize("task", TASKS)
def test_error_rates_are_those_of_the_paper(task: str) -> None:
    spec = load_template(FOLDER / f"{task}.dcrf").require()
    for name in experiment.METHODS:
        own = stage_settings(spec, name).criterion
        if not isinstance(own, MceSettings):
            assert name in tables.AGAINST
            continue
        assert (own.psi, own.gamma, own.smoothing.alpha, own.smoothing.beta) == (np.inf, 1, 1, 0)
        assert own.smoothing.method == ("logistic" if "log" in name else "sigmoid")
        assert own.loss.method == ("fscore" if "_f" in name else "sequence")


# jobs -------------------------------------------------------------------------------------------------------------


def variance(resolved: Resolved, stage: str) -> float:
    prior = stage_settings(resolved.require(), stage).prior
    assert isinstance(prior, GaussianPrior)
    return prior.variance


def test_a_job_sets_c_of_its_stage_and_of_map_before_it(data: Path) -> None:
    lab = experiment.Experiment.of("chunk", data, held_out=10)
    resolved = lab.template(job("mce_f_map", 6, -1))
    assert (variance(resolved, "mce_f_map"), variance(resolved, "map")) == (1e6, 0.1)


def test_c_is_chosen_on_the_last_sentences_which_are_not_trained_on(data: Path) -> None:
    lab = experiment.Experiment.of("chunk", data, sentences=25, held_out=10)
    train, dev = lab.parts(job("map", 0, part="dev"))
    lines = lab.train.token_line.tolist()
    assert (train.num_sentences, dev.num_sentences) == (15, 10)
    assert [*train.token_line.tolist(), *dev.token_line.tolist()] == lines
    assert [part.num_sentences for part in lab.parts(job("map", 0))] == [25, 30]


def test_the_first_c_that_scores_best_is_chosen() -> None:
    tried = [{"n": n, "scores": {"f1": f1}} for n, f1 in ((2, 0.5), (3, 0.7), (4, 0.7))]
    assert run.chosen(tried) == 3
    assert run.chosen([]) is None


def test_a_record_is_of_its_settings_and_data_alone(data: Path) -> None:
    lab, fewer = (experiment.Experiment.of("chunk", data, sentences=n, held_out=10) for n in (None, 25))
    jobs = [job("mce_f", n, part=part) for n in (5, 6) for part in ("dev", "test")]
    jobs += [job("mce_f_map", 5, 0), job("mce_f_map", 5, 1), job("mce_f_map", 5, 0, "quickprop")]
    prints = [own.fingerprint(one) for own in (lab, fewer) for one in jobs]
    assert len(set(prints)) == len(prints)


def test_wrong_labels_and_sentences_are_numbered(data: Path) -> None:
    lab = experiment.Experiment.of("chunk", data, held_out=10)
    model = fit(lab.template(job("map", 0)), lab.train, stage="map", threads=1)
    tokens, sentences = experiment.wrong(model, lab.test, "chunk", 1)
    gold = [line.split() for line in (data / "test.txt").read_text().splitlines()]
    found = iter(model.predict(lab.test, threads=1).texts("chunk"))
    expected, token, sentence = set(), 0, 0
    for cells in gold:
        if not cells:
            sentence += 1
            continue
        if next(found) != cells[2]:
            expected.add((token, sentence))
        token += 1
    assert tokens == sorted(token for token, _ in expected) != []
    assert sentences == sorted({sentence for _, sentence in expected})


# arithmetic -------------------------------------------------------------------------------------------------------


def test_mcnemar_is_a_coin_tossed_for_the_cases_that_one_alone_has_right() -> None:
    # 1 of 6, two-sided: 2 · (C(6,0) + C(6,1)) / 2⁶
    first, second = [1, 2, 3, 4, 5, 9], [7, 9]
    assert tables.mcnemar_p(first, second) == pytest.approx(14 / 64)
    assert tables.mcnemar_p(second, first) == pytest.approx(14 / 64)
    assert tables.mcnemar_p([3, 4], [4, 3]) is None


def record(method: str, wrong_labels: list[int], wrong_sentences: list[int]) -> dict[str, Any]:
    scores = {"f1": 0.9, "sentence": 0.5}
    return {
        **job(method, 5)._asdict(), "scores": scores, "train_scores": scores, "objective": 1.0, "iterations": 7,
        "seconds": 2.0, "cpu_seconds": 3.0, "wrong_labels": wrong_labels, "wrong_sentences": wrong_sentences,
    }  # fmt: skip


def test_rows_are_tested_by_label_and_by_sentence_and_stand_beside_the_papers() -> None:
    records = [record("mce_f_map", [7, 9], [3]), record("map", [1, 2, 3, 4, 5, 9], [1, 2])]
    plain, own = tables.score_rows("chunk", records)
    assert (plain["method"], plain["p"]) == ("map", {})
    assert own["p"] == {"map": {"labels": pytest.approx(14 / 64), "sentences": pytest.approx(1.0)}}
    assert own["paper"] == {"n": 5, "f1": 94.03, "sentence": 60.74}
    assert (own["f1"], own["sentence"]) == (pytest.approx(90), pytest.approx(50))


# the whole --------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_run_fills_every_row_and_is_not_repeated(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "result.json"
    labs = [experiment.Experiment.of(task, data, held_out=10, threads=1) for task in TASKS]
    plans = {
        "chunk": run.Plan(tried=POWERS),
        "ner": run.Plan(tried=POWERS, methods=("map", "mce_f_map")),
    }
    result = run.reproduce(labs, plans, run.Log(out.with_suffix(".jsonl"), experiment.Job), out, talk=False)
    assert result == json.loads(out.read_text()) and result["complete"]
    own = result["tasks"]["chunk"]
    rows = [row["method"] for row in own["rows"]]
    assert sorted(set(rows)) == sorted(tables.NAMES)
    assert rows.count("mce_f_map") == 2, "by two optimizers"
    assert {row["method"] for row in result["tasks"]["ner"]["rows"]} == {"map", "mce_f_map"}
    for found in own["trainings"]:
        wrong = len(found["wrong_sentences"])
        assert found["scores"]["sentence"] == pytest.approx(1 - wrong / own["test_sentences"]), found["method"]
        best = [dev for dev in own["dev"] if dev["method"] == found["method"]]
        assert not best or found["n"] in {dev["n"] for dev in best}
    run.show(result)
    shown = capsys.readouterr().out
    assert "MCE-F, from MAP" in shown and "McNemar" in shown

    def never(*_: Any) -> None:
        raise AssertionError("everything was in the log")

    monkeypatch.setattr(experiment.Experiment, "run", never)
    assert run.reproduce(labs, plans, run.Log(out.with_suffix(".jsonl"), experiment.Job), out, talk=False) == result


def test_ctrl_c_keeps_what_has_finished(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = experiment.Experiment.run

    def stopped(lab: Any, job: Any) -> dict[str, Any]:
        if job.method != "map":
            raise KeyboardInterrupt
        return whole(lab, job)  # type: ignore[no-any-return]

    monkeypatch.setattr(experiment.Experiment, "run", stopped)
    out = tmp_path / "result.json"
    lab = experiment.Experiment.of("chunk", data, held_out=10, threads=1)
    result = run.reproduce(
        [lab], {"chunk": run.Plan(tried=POWERS)}, run.Log(tmp_path / "log.jsonl", experiment.Job), out, talk=False
    )
    assert not result["complete"]
    assert [row["method"] for row in result["tasks"]["chunk"]["rows"]] == ["map"]
    assert json.loads(out.read_text()) == result


def test_a_corpus_must_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--out", str(tmp_path / "result.json")])
    assert "--chunk, --ner or both" in capsys.readouterr().err


# little data ------------------------------------------------------------------------------------------------------


def test_a_sample_is_of_the_training_sentences_and_of_its_seed(data: Path) -> None:
    lab = experiment.Experiment.of("chunk", data)
    first, again, other = (small.sample(lab, 9, seed) for seed in (1, 1, 2))
    texts = [
        [one.train.text_column("word").text(n) for n in range(one.train.num_tokens)] for one in (first, again, other)
    ]
    assert first.train.num_sentences == 9 and first.held_out == 3
    assert texts[0] == texts[1] != texts[2]
    assert first.test is lab.test


def test_differences_are_tested_by_pairs() -> None:
    first, second = [0.80, 0.82, 0.81], [0.83, 0.82, 0.83]
    found = small.difference(first, second)
    gains = 100 * (np.array(second) - np.array(first))
    t = gains.mean() / (gains.std(ddof=1) / np.sqrt(3))
    assert found.mean == pytest.approx(5 / 3) and found.deviation == pytest.approx(gains.std(ddof=1))
    assert found.p == pytest.approx(2 * stats.t.sf(t, 2))
    assert small.difference([0.5, 0.6], [0.5, 0.6]) == (0.0, 0.0, None)


@pytest.mark.long
def test_samples_are_trained_once(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--chunk", str(data), "--sentences", "9", "--samples", "2", "--threads", "1"]
    assert small.main([*options, "--out", str(tmp_path / "small.json")]) == 0
    first = capsys.readouterr().out
    lines = (tmp_path / "small.jsonl").read_text().count("\n")
    assert small.main([*options, "--out", str(tmp_path / "small.json")]) == 0
    assert capsys.readouterr().out == first and "less MAP" in first
    assert (tmp_path / "small.jsonl").read_text().count("\n") == lines
    assert len(json.loads((tmp_path / "small.json").read_text())["tasks"]["chunk"]["records"]) == 2
