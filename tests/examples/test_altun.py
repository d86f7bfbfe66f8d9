"""`examples/altun2003`: its templates, its folds, the arithmetic of its table, and a run on made-up sentences."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, example_modules
from sampling import some
from scipy import stats

from dcrfdsl import fit, load_template
from dcrfdsl.cli import run as dcrfdsl_command
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.settings.settings_reading import stage_settings

FOLDER = ROOT / "examples" / "altun2003"
TASKS = ("ner", "pos")
experiment, tables, run = example_modules(FOLDER, "experiment", "tables", "run")
METHODS = experiment.METHODS
FEW = {"crf": {"prior": ("gaussian(variance=1)", "gaussian(variance=10)")}, "perceptron": {"epochs": ("3",)}}
WORDS = {"the": "DT", "dog": "NN", "cat": "NN", "runs": "VB", "sees": "VB", ",": "PU", "Eva": "NP"}


def template(task: str, method: str) -> Path:
    return FOLDER / f"{task}{METHODS[method].template}.dcrf"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `esp.train` and `wsj.txt`: words at random; one in ten has the label of another word."""
    folder, random = tmp_path_factory.mktemp("corpora"), np.random.default_rng(0)
    sentences = []
    for _ in range(40):
        sentence = []
        for word in random.choice(list(WORDS), random.integers(1, 7)).tolist():
            shown = word if random.random() < 0.9 else str(random.choice(list(WORDS)))
            sentence.append((word, WORDS[shown]))
        sentences.append(sentence)
    (folder / "wsj.txt").write_text("\n".join("".join(f"{w} {y}\n" for w, y in s) for s in sentences))
    (folder / "esp.train").write_text("\n".join("".join(f"{w} {w[0]} B-{y}\n" for w, y in s) for s in sentences))
    return folder


def lab_of(task: str, corpus: Path, sentences: int = 30, **settings: Any) -> Any:
    path = corpus if task == "ner" else corpus / "wsj.txt"
    return experiment.Experiment.of(task, path, sentences, **{"folds": 3, "threads": 1, **settings})


def job(method: str, *settings: tuple[str, str], fold: int = 0, part: str = "test", seed: int = 0) -> Any:
    return experiment.Job("pos", method, seed, fold, settings, part)


# templates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.dcrf")), ids=lambda path: path.stem)
def test_templates_are_in_the_canonical_layout(path: Path) -> None:
    assert dcrfdsl_command(["fmt", "--check", "--quiet", str(path)]) == 0


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("method", METHODS)
def test_every_row_is_a_stage_that_checks_clean(task: str, method: str) -> None:
    for settings in experiment.combinations(METHODS[method].tried):
        overrides = [f"{method}.{name}={value}" for name, value in settings]
        found = check(load_template(template(task, method), overrides, method), stage=method)
        slugs = [diagnostic.slug for diagnostic in found]
        assert slugs == []


@pytest.mark.parametrize("task", TASKS)
def test_rows_are_those_of_the_paper_and_three_more(task: str) -> None:
    assert set(METHODS) == set(tables.NAMES) == {*tables.PAPER[task], "svm_hamming", "boost_steepest", "perceptron"}


def test_the_features_are_the_same_for_all_rows() -> None:
    for task in TASKS:
        groups = {load_template(template(task, method)).require().groups for method in METHODS}
        assert len(groups) == 1


@pytest.mark.parametrize("task", TASKS)
def test_only_the_marginal_risk_is_decoded_label_by_label(task: str) -> None:
    spec = load_template(template(task, "crf")).require()
    decoded = {stage.label: stage_settings(spec, stage.label).decode for stage in spec.stages}
    assert set(decoded.items()) <= {("mrf", "marginal"), *((name, None) for name in METHODS if name != "mrf")}


# folds ------------------------------------------------------------------------------------------------------------


def test_every_sentence_is_tested_once_by_a_training_without_it(corpus: Path) -> None:
    lab = lab_of("pos", corpus, sentences=31)
    tested = []
    for fold in range(3):
        train, scored = lab.sentences_of(job("crf", fold=fold))
        assert sorted([*train, *scored]) == list(range(31))
        tested += scored.tolist()
    assert sorted(tested) == list(range(31))


def test_settings_are_chosen_on_training_sentences_alone(corpus: Path) -> None:
    lab = lab_of("pos", corpus)
    for fold in range(3):
        whole, tested = lab.sentences_of(job("crf", fold=fold))
        train, held_out = lab.sentences_of(job("crf", fold=fold, part="dev"))
        assert sorted([*train, *held_out]) == whole.tolist()
        assert not {*train, *held_out} & {*tested}
        assert len(held_out) == len(whole) / experiment.HELD_OUT


def test_sentences_are_drawn_by_the_seed_and_stay_whole(corpus: Path) -> None:
    lines = (corpus / "wsj.txt").read_text().split("\n\n")
    whole = [[tuple(line.split()) for line in text.splitlines()] for text in lines]
    draws = []
    for seed in (0, 1):
        drawn = lab_of("pos", corpus, seed=seed).corpus
        words, labels = (drawn.text_column(name) for name in ("word", "pos"))
        rows = [(words.text(n), labels.text(n)) for n in range(drawn.num_tokens)]
        off = drawn.sentence_off.tolist()
        draws.append([rows[a:b] for a, b in itertools.pairwise(off)])
        assert all(sentence in whole for sentence in draws[-1])
    assert len(draws[0]) == 30 and draws[0] != draws[1]


# jobs -------------------------------------------------------------------------------------------------------------


def test_settings_are_tried_in_every_combination() -> None:
    found = list(experiment.combinations({"weight": ("1", "2"), "C": ("3",)}))
    assert found == [(("weight", "1"), ("C", "3")), (("weight", "2"), ("C", "3"))]
    assert list(experiment.combinations({})) == [()]


def test_a_record_is_of_its_settings_and_data_alone(corpus: Path) -> None:
    jobs = [
        job("crf", ("prior", f"gaussian(variance={v})"), fold=fold, part=part)
        for v in (1, 10)
        for fold in (0, 1)
        for part in ("dev", "test")
    ]
    jobs.append(job("perceptron"))
    prints = [lab_of("pos", corpus, seed=seed).fingerprint(one) for one in jobs for seed in (0, 1)]
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize("method", some(METHODS, 2))
def test_a_record_says_how_many_labels_of_each_sentence_are_wrong(method: str, corpus: Path) -> None:
    lab = lab_of("pos", corpus)
    own = job(method, *([("rounds", "20")] if method.startswith("boost") else []))
    record = lab.run(own)
    train, scored = lab.parts(own)
    model = fit(lab.template(own), train, stage=method, threads=1)
    found, gold = model.predict(scored, threads=1).texts("pos"), scored.text_column("pos")
    wrong = [text != gold.text(n) for n, text in enumerate(found)]
    off = scored.sentence_off.tolist()
    assert record["wrong"] == [sum(wrong[a:b]) for a, b in itertools.pairwise(off)]
    assert record["accuracy"] == pytest.approx(1 - np.mean(wrong))
    assert record["accuracy"] > 0.5 and record["sentences"] == list(range(0, 30, 3))


def test_the_first_settings_that_score_best_are_chosen() -> None:
    jobs = [job("crf", ("prior", text)) for text in "abc"]
    scores = dict(zip(jobs, (0.5, 0.7, 0.7), strict=True))
    assert run.chosen(jobs, lambda one: {"accuracy": scores[one]}) == jobs[1]


# arithmetic -------------------------------------------------------------------------------------------------------


def record(method: str, seed: int, fold: int, wrong: list[int], accuracy: float) -> dict[str, Any]:
    return {
        **job(method, fold=fold, seed=seed)._asdict(), "accuracy": accuracy, "train_accuracy": 1.0, "wrong": wrong,
        "sentences": [fold + 2 * n for n in range(len(wrong))], "nonzero": 10 * fold, "weights": 100,
        "cpu_seconds": 2.0 * fold, "converged": fold == 0,
    }  # fmt: skip


def test_rows_have_means_over_draws_intervals_and_tests() -> None:
    scores = {"svm": [(0.9, 0.7), (0.6, 0.8), (0.7, 0.9)], "crf": [(0.8, 0.6), (0.5, 0.7), (0.6, 0.5)]}
    wrong = {"svm": [1, 0], "crf": [2, 3]}
    records = [
        record(method, seed, fold, [own + seed for own in wrong[method]], accuracy)
        for method, draws in scores.items()
        for seed, folds in enumerate(draws)
        for fold, accuracy in enumerate(folds)
    ]
    plain, own = tables.rows_of("ner", records)
    assert (plain["method"], plain["more"], plain["p_sentences"], own["method"]) == ("crf", None, None, "svm")
    means, others = np.array([80.0, 70.0, 80.0]), np.array([70.0, 60.0, 55.0])
    for found, values in ((own["accuracy"], means), (own["more"], means - others)):
        expected = stats.ttest_1samp(values, 0)
        assert found["mean"] == pytest.approx(values.mean()) and found["p"] == pytest.approx(expected.pvalue)
        assert found["mean"] + found["half"] == pytest.approx(expected.confidence_interval(0.95).high)
    assert (own["nonzero"], own["cpu_seconds"], own["converged"], own["paper"]) == (5, 1.0, 3, 94.92)
    # each of the 12 sentences has one or three wrong labels less
    assert own["p_sentences"] == pytest.approx(stats.ttest_1samp([-1, -3] * 6, 0).pvalue)


def test_one_draw_has_no_interval() -> None:
    (row,) = tables.rows_of("ner", [record("crf", 0, fold, [1], 0.5) for fold in range(2)])
    assert row["accuracy"] == {"mean": 50.0, "half": None, "p": None}


def test_boosting_is_scored_by_its_weights_of_that_round_and_its_risk_is_that_of_the_paper(corpus: Path) -> None:
    """Σ over wrong labellings of exp(F(y) − F(y*)) is 1 / p(y*) − 1 of each sentence."""
    lab = lab_of("pos", corpus)
    own = job("boost", ("rounds", "150"))
    found, (train, scored) = lab.run(own), lab.parts(own)
    model = fit(lab.template(own), train, stage="boost", threads=1)
    rounds = [point[0] for point in found["curve"]]
    assert rounds == [100, len(model.record.path)]
    for number, log10_risk, wrong, accuracy in found["curve"]:
        then = model.at_round(number)
        risk = 0.0
        for n in range(train.num_sentences):
            sentence = train.slice(n, n + 1)
            risk += math.expm1(-then.scores.log_likelihood(sentence, threads=1))
        assert log10_risk == pytest.approx(math.log10(risk), abs=1e-6)
        gold = scored.text_column("pos")
        texts = then.predict(scored, threads=1).texts("pos")
        assert accuracy == pytest.approx(np.mean([text == gold.text(n) for n, text in enumerate(texts)]))
        if found["proved"] is not None and number >= found["proved"]:
            assert wrong == 0


def test_rounds_are_those_that_all_trainings_have() -> None:
    curves = ([[100, 2.0, 3, 0.5], [150, 1.0, 0, 0.6]], [[100, 4.0, 0, 0.7], [200, 0.0, 0, 0.9]])
    rows = tables.boosting_rows([{"method": "boost", "curve": curve} for curve in curves], "boost")
    assert [(row["rounds"], row["log10_risk"], row["wrong"], row["right"], row["trainings"]) for row in rows] == [
        (100, 3.0, 1.5, 1, 2)
    ]
    assert rows[0]["accuracy"] == pytest.approx(60)


def test_a_test_needs_the_same_sentences_and_some_difference() -> None:
    assert tables.paired_p({1: 2, 2: 3}, {1: 1, 2: 2}) is None
    assert tables.paired_p({1: 2}, {1: 1}) is None
    with pytest.raises(ValueError, match="different sentences"):
        tables.paired_p({1: 2, 2: 0}, {1: 2, 3: 0})


# the whole --------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_run_fills_the_table_and_is_not_repeated(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, plan = tmp_path / "result.json", run.Plan(30, 3, FEW, 2)
    labs = {task: [lab_of(task, corpus, seed=seed) for seed in (0, 1)] for task in TASKS}
    result = run.reproduce(labs, plan, run.Log(out.with_suffix(".jsonl"), experiment.Job), out, talk=False)
    assert json.loads(out.read_text()) == json.loads(json.dumps(result)) and result["complete"]
    for task in TASKS:
        own = result["tasks"][task]
        assert [row["method"] for row in own["rows"]] == ["crf", "perceptron"]
        trained = [(one["method"], one["seed"], one["fold"]) for one in own["trainings"]]
        assert trained == [(method, seed, fold) for seed in (0, 1) for method in FEW for fold in range(3)]
    run.show(result)
    shown = capsys.readouterr().out
    assert "94.55" in shown and "87.12" in shown and "epochs = 3: 6" in shown and "2 draws of 30" in shown

    def never(*_: Any) -> None:
        raise AssertionError("everything was in the log")

    monkeypatch.setattr(experiment.Experiment, "run", never)
    assert run.reproduce(labs, plan, run.Log(out.with_suffix(".jsonl"), experiment.Job), out, talk=False) == result


@pytest.mark.long
def test_ctrl_c_keeps_what_has_finished(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = experiment.Experiment.run

    def stopped(lab: Any, one: Any) -> dict[str, Any]:
        if one.method != "crf":
            raise KeyboardInterrupt
        return whole(lab, one)  # type: ignore[no-any-return]

    monkeypatch.setattr(experiment.Experiment, "run", stopped)
    out = tmp_path / "result.json"
    log = run.Log(out.with_suffix(".jsonl"), experiment.Job)
    result = run.reproduce({"pos": [lab_of("pos", corpus)]}, run.Plan(30, 3, FEW, 1), log, out, talk=False)
    assert not result["complete"]
    assert [row["method"] for row in result["tasks"]["pos"]["rows"]] == ["crf"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--ner, --pos or both"),
        (["--pos", "x", "--folds", "1"], "at least 2"),
        (["--pos", "x", "--folds", "0"], "at least 2"),
        (["--pos", "x", "--seeds", "0"], "at least 1"),
    ],
)
def test_options_that_leave_nothing_to_do_are_refused(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run.main([*options, "--out", str(tmp_path / "result.json")])
    assert said in capsys.readouterr().err
