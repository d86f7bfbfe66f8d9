"""`examples/sutton2004`: its templates, the arithmetic of its tables, and a run of the whole on made-up sentences."""

from __future__ import annotations

import itertools
import json
import math
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, example_modules
from scipy import stats

from dcrfdsl import load_template
from dcrfdsl.cli import run as dcrfdsl_command

FOLDER = ROOT / "examples" / "sutton2004"
TEMPLATES = ("factorial", "pos_chain", "np_chain")
WORDS = {"DT": ["the", "a"], "NN": ["dog", "House", "cat"], "VBZ": ["sees", "likes"], "CD": ["7", "1984"]}
PATTERNS = (("DT", "NN", "VBZ", "DT", "NN"), ("NN", "VBZ", "CD", "NN"), ("DT", "NN", "VBZ"), ("VBZ", "DT", "CD", "NN"))


tables, figure, experiment, run = example_modules(FOLDER, "tables", "figure", "experiment", "run")


def write_corpus(path: Path, sentences: int, seed: int) -> None:
    """Noun phrases of a number or an article and a noun; some words at random, so that no model is always right."""
    random = np.random.default_rng(seed)
    lines = []
    for number in range(sentences):
        inside = False
        for tag in PATTERNS[number % len(PATTERNS)]:
            chunk = "B-VP" if tag == "VBZ" else "I-NP" if inside else "B-NP"
            inside = tag != "VBZ"
            words = WORDS[tag] if random.random() < 0.8 else list(itertools.chain(*WORDS.values()))
            lines.append(f"{random.choice(words)} {tag} {chunk}\n")
        lines.append("\n")
    path.write_text("".join(lines))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conll")
    write_corpus(folder / "train.txt", 12, seed=1)
    write_corpus(folder / "test.txt", 8, seed=2)
    return folder


# templates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_check_clean(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert dcrfdsl_command(["check", str(FOLDER / f"{name}.dcrf"), "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.dcrf")), ids=lambda path: path.stem)
def test_templates_are_in_the_canonical_layout(path: Path) -> None:
    assert dcrfdsl_command(["fmt", "--check", "--quiet", str(path)]) == 0


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_share_the_prior_and_the_features_of_table_2(name: str) -> None:
    spec, other = (load_template(FOLDER / f"{each}.dcrf").require() for each in (name, "factorial"))
    assert spec.groups == other.groups and spec.stages == other.stages


@pytest.mark.parametrize("name", TEMPLATES)
def test_all_cliques_read_observations_unless_edges_have_biases_alone(name: str) -> None:
    plain, observed = (experiment._template(name, (), experiment.Lists(), edges).require() for edges in (False, True))
    assert observed == load_template(FOLDER / f"{name}.dcrf").require()
    for before, after in zip(plain.cliques, observed.cliques, strict=True):
        single = len(after.sites) == 1
        assert (after == before) == single
        assert [feature.name for feature in after.features][:2] == ["bias", "q"]
        assert single or not before.features
    assert observed.groups == plain.groups and observed.stages == plain.stages


# arithmetic -------------------------------------------------------------------------------------------------------


def record(model: str, setting: str, size: int, subset: int, f1: float, seconds: float = 1.0) -> dict[str, Any]:
    job = {"model": model, "setting": setting, "size": size, "subset": subset}
    times = {"seconds": seconds, "cpu_seconds": 2 * seconds}
    return {**job, **times, "scores": {"f1": f1}, "iterations": 10 + subset, "evaluations": 12 + subset}


def test_table_1_has_mean_deviation_range_and_students_t_of_two_samples() -> None:
    first, second = [0.81, 0.83, 0.80, 0.84, 0.825], [0.85, 0.86, 0.83, 0.88, 0.845]
    records = [record("crf+crf", "table1", 223, n, f1) for n, f1 in enumerate(first)]
    records += [record("fcrf", "table1", 223, n, f1) for n, f1 in enumerate(second)]
    row = next(row for row in tables.table1_rows(records) if row["measure"] == "f1")
    for model, values in (("crf+crf", first), ("fcrf", second)):
        percent = 100 * np.array(values)
        expected = [percent.mean(), percent.std(ddof=1), percent.min(), percent.max(), 5]
        assert list(row[model].values()) == pytest.approx(expected, rel=1e-12)
    assert row["p"] == pytest.approx(stats.ttest_ind(first, second).pvalue, rel=1e-9)
    paired = stats.ttest_rel(100 * np.array(second), 100 * np.array(first))
    assert row["p_paired"] == pytest.approx(paired.pvalue, rel=1e-9)
    bounds = paired.confidence_interval(0.95)
    assert [*row["gain"].values()] == pytest.approx([100 * (np.mean(second) - np.mean(first)), *bounds], rel=1e-9)
    assert tables.gain([1.0], [3.0]) == (2.0, None, None) and tables.gain([], []) is None
    assert row["brill+crf"] is None
    assert row["paper"] == {"crf+crf": 83.84, "brill+crf": 86.02, "fcrf": 86.03}


def test_table_3_pairs_the_subsets_of_each_setting_with_those_of_exact() -> None:
    own, exact = [10.0, 12.5, 9.0], [15.0, 16.0, 15.5]
    records = [record("fcrf", "tree", 447, n, 0.8 + 0.01 * n, s) for n, s in enumerate(own)]
    records += [record("fcrf", "exact", 447, n, 0.8 + 0.01 * n, exact[n]) for n in (2, 0, 1)]
    rows = {row["setting"]: row for row in tables.table3_rows(records)}
    assert list(rows) == ["tree", "exact"]
    assert rows["tree"]["p_seconds"] == pytest.approx(stats.ttest_rel(own, exact).pvalue, rel=1e-9)
    assert rows["tree"]["p_f1"] is None, "no difference has a deviation of zero"
    assert rows["exact"]["p_seconds"] is None
    assert rows["tree"]["p_cpu_seconds"] == pytest.approx(rows["tree"]["p_seconds"])
    assert rows["tree"]["seconds"]["mean"] == pytest.approx(np.mean(own))
    assert rows["tree"]["cpu_seconds"]["deviation"] == pytest.approx(2 * np.std(own, ddof=1))
    assert rows["tree"]["iterations"]["mean"] == 11 and rows["tree"]["evaluations"]["mean"] == 13


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], None), ([2.0], (2.0, None, 2.0, 2.0, 1)), ([1.0, 3.0], (2.0, math.sqrt(2), 1.0, 3.0, 2))],
)
def test_few_values_have_no_deviation(values: list[float], expected: tuple[float, ...] | None) -> None:
    assert tables.summary(values) == expected
    assert tables.two_sample_p(values, [1.0]) is None


@pytest.mark.parametrize(("first", "second"), [([0.1, 0.2, 0.4], [0.3, 0.3, 0.3]), ([5.0, 6.0], [1.0, 2.0, 9.0])])
def test_p_of_two_samples_of_other_sizes_or_without_spread(first: list[float], second: list[float]) -> None:
    with warnings.catch_warnings(action="ignore"):  # scipy distrusts a sample that is constant
        expected = stats.ttest_ind(first, second).pvalue
    assert tables.two_sample_p(first, second) == pytest.approx(expected, rel=1e-9)
    assert tables.two_sample_p([0.3, 0.3], [0.3, 0.3]) is None


# data -------------------------------------------------------------------------------------------------------------


def test_a_subset_is_drawn_by_seed_and_number_without_replacement(data: Path) -> None:
    train = experiment.Experiment.of(data).train
    lines = [tuple(experiment.drawn(train, 5, subset, seed).token_line) for subset, seed in [(0, 0), (1, 0), (0, 1)]]
    assert len(set(lines)) == 3
    assert all(np.all(np.diff(each) > 0) for each in lines)
    again = experiment.drawn(train, 5, 0, 0)
    assert tuple(again.token_line) == lines[0] and again.num_sentences == 5
    text = (data / "train.txt").read_text().splitlines()
    for n, line in enumerate(again.token_line.tolist()):
        assert [again.text_column(name).text(n) for name in ("word", "pos", "chunk")] == text[line - 1].split()
    whole = experiment.drawn(train, 12, 0, 0)
    assert whole.token_line.tolist() == train.token_line.tolist()


@pytest.mark.parametrize("brill", [False, True])
def test_lists_join_the_features_of_every_template(brill: bool, tmp_path: Path) -> None:
    (tmp_path / "names").mkdir()
    (tmp_path / "names" / "places.txt").write_text("New York\nRome\n")
    (tmp_path / "tagged.txt").write_text("the DT\n\nRome NNP\nthe DT\n")
    (tmp_path / "tagged.conllu").write_text(
        "# text\n1\tset\tset\tNOUN\tNN\t_\t0\t_\t_\t_\n2-3\tx\t_\t_\t_\t_\t_\t_\t_\t_\n"
    )
    tagged = [tmp_path / "tagged.txt", tmp_path / "tagged.conllu"]
    (tmp_path / "lexicon").write_text("the DT\nset NN VBN VB\n\n# #\n")
    lists = experiment.read_lists(tmp_path / "names", tmp_path / "lexicon" if brill else None, tagged, tmp_path)
    entries = {path.stem: path.read_text().split("\n")[:-1] for path in tmp_path.glob("*.txt") if path not in tagged}
    by_tag = [["the"], ["set"], ["Rome"]]
    if brill:
        by_tag = [["#"], *by_tag, ["set"], ["set"]]  # # DT NN NNP VB VBN
    assert entries == {"places": ["New York", "Rome"]} | {f"tag{n}": words for n, words in enumerate(by_tag)}
    assert lists.lexicon == brill
    lab = experiment.Experiment(None, None, lists=lists)
    for name in TEMPLATES:
        plain = load_template(FOLDER / f"{name}.dcrf").require()
        spec = lab.template(name, "exact").require()
        assert len(spec.groups[0].features) == len(plain.groups[0].features) + len(entries)
        assert spec.cliques == plain.cliques


# the whole --------------------------------------------------------------------------------------------------------

PLAN = run.Plan(sizes=(6,), subsets=2, timed_size=6, timed_subsets=1)


def test_the_full_plan_is_the_papers() -> None:
    jobs = run.FULL.table1(8936)
    counts = {size: sum(job.size == size for job in jobs if job.model == "fcrf") for size in {job.size for job in jobs}}
    assert counts == {223: 5, 447: 5, 670: 5, 894: 5, 2234: 5, 8936: 1}
    assert {job.size for job in jobs} == set(tables.PAPER_TABLE1["f1"])
    assert sorted(job.setting for job in run.FULL.table3()) == sorted(5 * list(tables.PAPER_TABLE3))


def reproduced(data: Path, out: Path, talk: bool = False) -> dict[str, Any]:
    lab = experiment.Experiment.of(data, overrides=("train.optimizer=lbfgs(max_iterations=4)",), threads=1)
    return run.reproduce(lab, PLAN, run.Log(out.with_suffix(".jsonl"), experiment.Job), out, ("1", "3"), talk)


@pytest.mark.long
def test_a_stopped_run_goes_on_where_it_was(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result.json"
    trained: list[Any] = []
    most = 5
    train = experiment.Experiment.run

    def counted(lab: Any, job: Any) -> dict[str, Any]:
        if len(trained) == most:
            raise KeyboardInterrupt
        trained.append(job)
        return train(lab, job)

    monkeypatch.setattr(experiment.Experiment, "run", counted)
    monkeypatch.setattr(experiment, "WARM_UP", 1)
    first = reproduced(data, out)
    assert not first["complete"] and len(trained) == 5
    log = out.with_suffix(".jsonl")
    log.write_text(log.read_text() + '{"model": "fcrf", "set')  # stopped in the middle of a line
    most = 100
    second = reproduced(data, out)
    # Table 1: three models on two subsets; Table 3: five settings
    assert second["complete"] and len(trained) == len(set(trained)) == 6 + 5
    third = reproduced(data, out)
    assert len(trained) == 11 and third == second == json.loads(out.read_text())

    row = next(row for row in second["table1"] if (row["measure"], row["size"]) == ("joint", 6))
    assert row["fcrf"]["size"] == row["crf+crf"]["size"] == 2 and row["brill+crf"] is None
    assert [row["setting"] for row in second["table3"]] == list(tables.METHODS)
    assert all(record["iterations"] <= 8 for record in second["trainings"])
    run.show(second, ("1", "3"))
    assert capsys.readouterr().out.count("joint accuracy") == 1
    ElementTree.fromstring(out.with_suffix(".svg").read_text())


def texts(corpus: Any, name: str) -> list[str]:
    return [corpus.text_column(name).text(n) for n in range(corpus.num_tokens)]


def test_the_second_crf_sees_the_tags_of_the_first_in_training_and_test(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}
    fit = experiment.Experiment.fit

    def watched(lab: Any, name: str, setting: str, corpus: Any, overrides: Any) -> Any:
        seen[name] = corpus
        return fit(lab, name, setting, corpus, overrides)

    monkeypatch.setattr(experiment.Experiment, "fit", watched)
    lab = experiment.Experiment.of(data, overrides=("train.optimizer=lbfgs(max_iterations=1)",), threads=1)
    first, second = experiment.MODELS["crf+crf"].train(lab, "exact", lab.train, ())
    scores = experiment.MODELS["crf+crf"].score(lab, [first, second])

    tags = first.predict(lab.train, threads=1).texts("pos")
    assert tags != texts(lab.train, "pos"), "or nothing could be told from this"
    assert texts(seen["np_chain"], "pos") == tags
    assert texts(seen["pos_chain"], "pos") == texts(lab.train, "pos")

    guesses = first.predict(lab.test, threads=1)
    chunks = second.predict(experiment.retagged(lab.test, guesses), threads=1).texts("chunk")
    assert chunks != second.predict(lab.test, threads=1).texts("chunk"), "or nothing could be told from this"
    known = [chunk if chunk in ("B-NP", "I-NP") else "O" for chunk in texts(lab.test, "chunk")]
    right_tag = np.array(guesses.texts("pos")) == np.array(texts(lab.test, "pos"))
    right_chunk = np.array(chunks) == np.array(known)
    expected = (right_tag.mean(), right_chunk.mean(), (right_tag & right_chunk).mean())
    assert (scores["pos"], scores["np"], scores["joint"]) == pytest.approx(expected)


def test_the_figure_draws_every_mean_and_range() -> None:
    records = [record("fcrf", "table1", size, n, f1) for size in (223, 447) for n, f1 in enumerate((0.8, 0.9))]
    drawing = ElementTree.fromstring(figure.figure3(tables.table1_rows(records)))
    dots = drawing.findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(dots) == 2
    assert "nothing is trained yet" in figure.figure3([])
