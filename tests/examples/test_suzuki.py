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
from dcrfdsl.semantics.settings.optimizer_settings import QuickpropSettings
from dcrfdsl.semantics.settings.prior_settings import GaussianPrior
from dcrfdsl.semantics.settings.settings_reading import stage_chain, stage_settings

FOLDER = ROOT / "examples" / "suzuki2006"
TASKS = ("chunk", "ner")
WORDS = {"the": "B-NP", "dog": "I-NP", "cat": "I-NP", "runs": "B-VP", "sees": "B-VP", ",": "O", "Eva": "B-NP"}


TEMPLATES = ("chunk", "chunk_neighbours", "chunk_states", "chunk_edges", "ner")
experiment, tables, run, small, ablation = example_modules(FOLDER, "experiment", "tables", "run", "small", "ablation")
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


def job(
    method: str, n: int | None = None, map_n: int | None = None, optimizer: str = "", part: str = "test", cut: int = 0
) -> Any:
    return experiment.Job("chunk", method, n, map_n, optimizer, part, cut)


# templates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_check_clean_and_are_in_the_canonical_layout(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FOLDER / f"{name}.dcrf")
    assert dcrfdsl_command(["check", path, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert dcrfdsl_command(["fmt", "--check", "--quiet", path]) == 0


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_method_is_a_stage_that_trains_alone(name: str) -> None:
    spec = load_template(FOLDER / f"{name}.dcrf").require()
    stages = {own.stage for own in experiment.METHODS.values()}
    assert {stage.label for stage in spec.stages} == stages and set(experiment.METHODS) == set(tables.NAMES)
    for stage in stages:
        assert [own.label for own in stage_chain(spec, stage)] == [stage]


@pytest.mark.parametrize("task", TASKS)
def test_error_rates_are_those_of_the_paper(task: str) -> None:
    spec = load_template(FOLDER / f"{task}.dcrf").require()
    for name, method in experiment.METHODS.items():
        settings = stage_settings(spec, method.stage)
        own = settings.criterion
        if not isinstance(own, MceSettings):
            assert name in tables.AGAINST
            continue
        assert (own.psi, own.gamma, own.smoothing.alpha, own.smoothing.beta) == (np.inf, 1, 1, 0)
        assert own.smoothing.method == ("logistic" if "log" in name else "sigmoid")
        assert own.loss.method == ("fscore" if "_f" in name else "sequence")
        assert isinstance(settings.optimizer, QuickpropSettings) and settings.optimizer.online == 10


def test_chunks_have_all_pairs_within_five(tmp_path: Path) -> None:
    """At the middle of five tokens each feature fires once: 5 words and 5 tags, and 10 pairs of each."""
    lines = [f"w{n} p{n} O\n" for n in range(5)]
    for name in ("train.txt", "test.txt"):
        (tmp_path / name).write_text("".join(lines) + "\n")
    counts = {}
    for features in ("", "neighbours"):
        lab = experiment.Experiment.of("chunk", tmp_path, held_out=0)
        model = fit(lab.template(job("map", 0)._replace(features=features)), lab.train, stage="map", threads=1)
        shown = {feature for clique, feature, _, _ in model.explanations.iter_weights() if clique == "words"}
        counts[features] = sum("w2" in feature for feature in shown)
    # w2 alone at five offsets; it is in a pair of each two of the offsets -2..2, on either side
    assert counts == {"": 5 + 20, "neighbours": 5 + 8}


# jobs -------------------------------------------------------------------------------------------------------------


def variance(resolved: Resolved, stage: str) -> float:
    prior = stage_settings(resolved.require(), stage).prior
    assert isinstance(prior, GaussianPrior)
    return prior.variance


def test_a_job_sets_c_of_its_stage_and_starts_from_map_with_its_own(data: Path) -> None:
    lab = experiment.Experiment.of("chunk", data, held_out=10)
    own = job("mce_f_map", 6, -1)._replace(change=("mce_f.psi=1",), features="neighbours")
    before = own.begins_at()
    assert before == job("map", -1)._replace(features="neighbours")
    assert variance(lab.template(own), "mce_f") == 1e6 and variance(lab.template(before), "map") == 0.1
    assert job("mce_f", 6).begins_at() is None


def test_what_starts_from_map_has_its_weights_where_no_step_is_taken(data: Path) -> None:
    lab = experiment.Experiment.of("chunk", data, held_out=10, threads=1)
    still = job("mce_f_map", 6, 0)._replace(change=(ablation.UNMOVED,))
    records = [lab.run(one) for one in (job("map", 0), still)]
    assert records[0]["wrong_labels"] == records[1]["wrong_labels"] != []
    (started,) = lab.starts.values()
    model = fit(lab.template(still), lab.train, stage="mce_f", start=started, threads=1)
    np.testing.assert_allclose(model.weights, started.weights, atol=1e-9)


def test_c_is_chosen_on_the_last_sentences_which_are_not_trained_on(data: Path) -> None:
    lab = experiment.Experiment.of("chunk", data, sentences=25, held_out=10)
    train, dev = lab.parts(job("map", 0, part="dev"))
    lines = lab.train.token_line.tolist()
    assert (train.num_sentences, dev.num_sentences) == (15, 10)
    assert [*train.token_line.tolist(), *dev.token_line.tolist()] == lines
    assert [part.num_sentences for part in lab.parts(job("map", 0))] == [25, 30]


def test_a_cut_is_of_its_seed_and_leaves_the_others(data: Path) -> None:
    lab = experiment.Experiment.of("chunk", data, held_out=10)
    cuts = [[part.token_line.tolist() for part in lab.parts(job("map", 0, part="dev", cut=n))] for n in (1, 1, 2)]
    assert cuts[0] == cuts[1] != cuts[2]
    for train, held_out in cuts:
        assert sorted([*train, *held_out]) == lab.train.token_line.tolist()


def test_the_first_c_that_scores_best_is_chosen() -> None:
    tried = [{"n": n, "scores": {"f1": f1}} for n, f1 in ((2, 0.5), (3, 0.7), (4, 0.7))]
    assert run.chosen(tried) == 3
    assert run.chosen([]) is None


def test_a_record_is_of_its_settings_and_data_alone(data: Path) -> None:
    lab, fewer = (experiment.Experiment.of("chunk", data, sentences=n, held_out=10) for n in (None, 25))
    jobs = [job("mce_f", n, part=part) for n in (5, 6) for part in ("dev", "test")]
    jobs += [job("mce_f_map", 5, 0), job("mce_f_map", 5, 1), job("mce_f_map", 5, 0, "lbfgs")]
    jobs += [job("mce_f", 5, part="dev", cut=n) for n in (1, 2)]
    jobs += [job("mce_f", 5)._replace(change=("mce_f.psi=1",)), job("mce_f", 5)._replace(features="edges")]
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


def test_cuts_are_compared_by_pairs() -> None:
    def scored(n: int, f1: float) -> dict[str, Any]:
        scores = {"f1": f1, "sentence": f1 / 2}
        return {"n": n, "scores": scores, "test_scores": scores, "train_scores": scores}

    plain, own = tables.cut_rows(
        [{"map": scored(0, 0.80 + n / 100), "mce_f_map": scored(5, 0.82 + n * n / 100)} for n in range(3)]
    )
    assert (plain["method"], plain["more"], plain["f1"]["mean"]) == ("map", {}, pytest.approx(81))
    gains = np.array([2.0, 2.0, 4.0])
    test = stats.ttest_1samp(gains, 0)
    assert own["more"]["f1"]["mean"] == pytest.approx(gains.mean())
    assert own["more"]["f1"]["p"] == pytest.approx(test.pvalue)
    low, high = test.confidence_interval(0.95)
    assert 2 * own["more"]["f1"]["half"] == pytest.approx(high - low)
    assert own["more"]["sentence"]["mean"] == pytest.approx(gains.mean() / 2) and own["n"] == [5, 5, 5]


# the whole --------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_run_fills_every_row_and_is_not_repeated(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "result.json"
    labs = [experiment.Experiment.of(task, data, held_out=10, threads=1) for task in TASKS]
    plans = {
        "chunk": run.Plan(tried=POWERS, seeds=2),
        "ner": run.Plan(tried=POWERS, methods=("map", "mce_f_map"), seeds=0),
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
    assert [list(cut) for cut in own["cuts"]] == [list(tables.COMPARED)] * 2
    assert [row["method"] for row in own["cut_rows"]] == list(tables.COMPARED)
    assert result["tasks"]["ner"]["cuts"] == []
    run.show(result)
    shown = capsys.readouterr().out
    assert "MCE-F, from MAP" in shown and "McNemar" in shown and "2 random cuts of 10" in shown

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


# ablation ---------------------------------------------------------------------------------------------------------


def test_setups_differ_and_change_what_they_say(data: Path) -> None:
    lab = experiment.Experiment.of("chunk", data, held_out=10)
    jobs = [setup.job() for setup in ablation.SETUPS]
    assert len({lab.fingerprint(own) for own in jobs}) == len(jobs)
    assert len({setup.what for setup in ablation.SETUPS}) == len(jobs)


def test_errors_left_are_the_ratio_of_the_paper_at_the_weights_of_map(data: Path, tmp_path: Path) -> None:
    """The smooth ratio lies near the counted one where ℓ is steep; its slope is a finite difference of it."""
    lab = experiment.Experiment.of("chunk", data, held_out=10, threads=1)
    found = ablation.errors_left(lab, run.Log(tmp_path / "log.jsonl", experiment.Job), 1)
    steep = ablation.Setup("", 1, None, change=("mce_f.prior=none", ablation.UNMOVED, ablation.smoothing(1e4)))
    record = lab.run(steep.job())
    f1 = record["train_scores"]["f1"]
    assert record["objective"] == pytest.approx((1 - f1) / f1, rel=1e-6)
    assert found["counted"] == pytest.approx(record["objective"], rel=1e-6)
    assert found["slope"] > 0 and found["smooth"] > 0


@pytest.mark.long
def test_an_ablation_is_trained_once(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "SETUPS", ablation.SETUPS[:9])
    monkeypatch.setattr(ablation, "HELD_OUT", 10)
    options = ["--chunk", str(data), "--threads", "1", "--out", str(tmp_path / "ablation.json")]
    assert ablation.main(options) == 0
    first = capsys.readouterr().out
    lines = (tmp_path / "ablation.jsonl").read_text()
    assert ablation.main(options) == 0
    assert capsys.readouterr().out.splitlines()[-20:] == first.splitlines()[-20:]
    assert (tmp_path / "ablation.jsonl").read_text() == lines
    result = json.loads((tmp_path / "ablation.json").read_text())
    assert len(result["setups"]) == 9 and len(result["left"]) == len(ablation.LEFT)
