"""`tune`: which values are tried, which model is kept, what is said; and `train --tune`."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from template_cases import CHAIN, sentences

import dcrfdsl
from dcrfdsl import DcrfWarning, RegisteredFeature
from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import Resolved, load_text
from dcrfdsl.semantics.resolve.tuned_constants import tuned_ranges
from dcrfdsl.semantics.schema.search_ranges import Interval
from dcrfdsl.syntax.nodes import Number
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.tuning import SEARCHES, Trial, TrialData, tune

Captured = pytest.CaptureFixture[str]
TRAIN = "train likelihood: prior = gaussian(variance = v), optimizer = lbfgs(max_iterations = 15)\n"
GROUPED = CHAIN.replace("label y\n", "label y\nfeatures near with min_count = least: word[-1..1]\n").replace(
    "bias, word[-1..1]", "bias, near"
)
VARIANCE = f"{CHAIN}let v = 10 tune log(0.01, 100)\n{TRAIN}"


def data(resolved: Resolved, seed: int, count: int = 8) -> Corpus:
    return corpus_from_rows(sentences("PQR", count=count, seed=seed), resolved.require().data)


def tuned(text: str, *overrides: str, **how: Any) -> TrainedModel:
    resolved = load_text(text, overrides=overrides)
    return tune(resolved, data(resolved, 0), data(resolved, 1), threads=1, **how)


def tried(model: TrainedModel) -> list[dict[str, Any]]:
    return [trial["values"] for trial in model.record.tuning["trials"]]


# which values -------------------------------------------------------------------------------------------------------

LEAST = f"let v = 1\n{TRAIN}"
GRIDS: dict[str, tuple[str, int, list[dict[str, Any]]]] = {
    "log": (VARIANCE, 5, [{"v": v} for v in (0.01, 0.1, 1, 10, 100)]),
    "linear": (VARIANCE.replace("log(0.01, 100)", "linear(1, 2)"), 3, [{"v": v} for v in (1, 1.5, 2)]),
    "among": (VARIANCE.replace("log(0.01, 100)", "among(5, 1, 20)"), 9, [{"v": v} for v in (5, 1, 20)]),
    "whole numbers where no others are taken": (
        f"{GROUPED}let least = 1 tune linear(1, 3)\n{LEAST}", 9, [{"least": n} for n in (1, 2, 3)],
    ),
    "two constants": (
        f"{GROUPED}let least = 1 tune among(1, 2)\nlet v = 10 tune log(0.1, 10)\n{TRAIN}",
        6,
        [{"least": n, "v": v} for n in (1, 2) for v in (0.1, 1, 10)],
    ),
    "both ends at least": (VARIANCE, 1, [{"v": 0.01}, {"v": 100}]),
    "methods": (
        f"{CHAIN}let p = none tune among(none, gaussian(variance = 3))\ntrain likelihood: prior = p\n",
        9,
        [{"p": "none"}, {"p": "gaussian(variance = 3)"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GRIDS)
def test_a_grid_tries_evenly_spread_values(case: str) -> None:
    text, trials, expected = GRIDS[case]
    assert tried(tuned(text, trials=trials)) == [
        {name: value if isinstance(value, str) else pytest.approx(value, rel=1e-3) for name, value in values.items()}
        for values in expected
    ]


def proposed(search: str, ranges: dict[str, Any], own: float, trials: int, seed: int) -> list[float]:
    """What a search of the constant `v` tries where every score is 0."""
    proposals = SEARCHES[search](ranges, {"v": Number(value=own)}, trials, seed)
    found, values = [], next(proposals)
    while True:
        found.append(values["v"].value)  # type: ignore[union-attr]
        try:
            values = proposals.send(0.0)
        except StopIteration:
            return found


@pytest.mark.long
def test_random_values_begin_with_the_template_and_spread_over_the_logarithms() -> None:
    found = proposed("random", {"v": Interval(0.01, 100, log=True)}, 10, 2000, 0)
    assert found[0] == 10
    assert len(set(found)) == len(found) == 2000
    drawn = np.log10(found[1:])
    assert drawn.min() >= -2 and drawn.max() <= 2
    # a fourth in each decade: 500 ± 4 standard deviations of 19.4
    assert np.histogram(drawn, bins=[-2, -1, 0, 1, 2])[0] == pytest.approx(500, abs=78)


def test_random_values_depend_on_the_seed_alone() -> None:
    ranges = {"v": Interval(0, 1)}
    assert (
        proposed("random", ranges, 5, 4, 1)
        == proposed("random", ranges, 5, 4, 1)
        != proposed("random", ranges, 5, 4, 2)
    )


def test_a_random_search_of_few_values_ends_when_all_were_tried() -> None:
    assert sorted(proposed("random", {"v": Interval(1, 4, whole=True)}, 2, 50, 0)) == [1, 2, 3, 4]


def test_optuna_searches_if_it_is_installed() -> None:
    pytest.importorskip("optuna")
    found = proposed("optuna", {"v": Interval(0.01, 100, log=True)}, 10, 6, 0)
    assert found[0] == 10 and len(found) == 6
    assert all(0.01 <= value <= 100 for value in found)


def test_optuna_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(DcrfError) as caught:
        tuned(VARIANCE, search="optuna")
    assert caught.value.diagnostics[0].slug == "missing-package"


# which model --------------------------------------------------------------------------------------------------------


def test_the_best_trial_is_the_model_that_its_values_give_alone() -> None:
    model = tuned(VARIANCE, trials=5)
    path = model.record.tuning
    best = max(path["trials"], key=lambda trial: trial["dev"])  # the first of equal ones
    assert path["chosen"] == best["number"] and path["values"] == best["values"]
    assert len({trial["dev"] for trial in path["trials"]}) > 1  # the values make a difference
    alone = load_text(VARIANCE, overrides=[f"v={best['values']['v']}"])
    again = fit(alone, data(alone, 0), threads=1)
    assert np.array_equal(again.weights, model.weights)
    assert next(iter(again.evaluate(data(alone, 1)).values())) == best["dev"]


def test_the_model_keeps_the_chosen_values(tmp_path: Path) -> None:
    model = tuned(VARIANCE, trials=5)
    model.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    (value,) = model.record.tuning["values"].values()
    assert loaded.record.tuning == model.record.tuning
    assert loaded.spec.lets[0].value == Number(value=value)
    assert loaded.record.settings["prior"]["variance"] == value


def test_a_constant_that_is_set_is_not_searched() -> None:
    text = f"{GROUPED}let least = 1 tune among(1, 2)\nlet v = 10 tune log(0.1, 10)\n{TRAIN}"
    model = tuned(text, "v=7")
    assert tried(model) == [{"least": 1}, {"least": 2}]
    assert model.record.settings["prior"]["variance"] == 7


def test_the_same_values_are_not_trained_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def repeating(*_: Any) -> Any:
        for value in (1, 2, 1, 1):
            yield {"v": Number(value=value)}

    monkeypatch.setitem(SEARCHES._entries, "grid", repeating)
    assert tried(tuned(VARIANCE)) == [{"v": 1}, {"v": 2}]


def test_patience_is_kept_within_a_trial() -> None:
    text = VARIANCE.replace("max_iterations = 15)", "max_iterations = 40), patience = 1")
    resolved = load_text(text, overrides=["v=1"])
    model = tuned(text, trials=3)
    assert all(step.dev is not None for step in model.record.curve)
    assert max(step.dev or 0 for step in model.record.curve) == pytest.approx(
        next(iter(model.evaluate(data(resolved, 1)).values()))
    )


@pytest.mark.parametrize("during", [1, 2, 3])
def test_an_interrupt_keeps_the_best_trial_so_far(during: int) -> None:
    """It comes in the first, second or third trial; the one under way counts only if it is the first."""
    done: list[Trial] = []
    polled: dict[int, int] = {}  # how often, by trial

    def should_stop() -> bool:
        polled[len(done)] = polled.get(len(done), 0) + 1
        return len(done) >= during - 1 and polled[len(done)] >= 2

    model = tuned(VARIANCE, trials=5, on_trial=done.append, should_stop=should_stop)
    assert [trial["complete"] for trial in model.record.tuning["trials"]] == [True] * (during - 1) + [False]
    finished = done[: during - 1] or done
    assert model.record.tuning["chosen"] == max(finished, key=lambda trial: trial.dev).number
    assert model.predict(data(load_text(VARIANCE), 1)).codes["y"].size


# several at once ----------------------------------------------------------------------------------------------------


def without_times(model: TrainedModel) -> list[dict[str, Any]]:
    return [{name: value for name, value in trial.items() if name != "seconds"} for trial in trials_of(model)]


def trials_of(model: TrainedModel) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = model.record.tuning["trials"]
    return found


@pytest.mark.parametrize("search", ["grid", "random"])
def test_trials_at_once_give_the_same_search(search: str) -> None:
    """By processes, and by an executor of the caller's, the same bits as one after another."""
    alone = tuned(VARIANCE, search=search, trials=5)
    reported: list[int] = []
    together = tuned(VARIANCE, search=search, trials=5, jobs=3, on_trial=lambda trial: reported.append(trial.number))
    with ThreadPoolExecutor(2) as executor:
        in_threads = tuned(VARIANCE, search=search, trials=5, jobs=executor)
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as executor:
        elsewhere = tuned(VARIANCE, search=search, trials=5, jobs=executor)  # all that goes there is pickled
    assert reported == [1, 2, 3, 4, 5]
    for model in (together, in_threads, elsewhere):
        assert np.array_equal(model.weights, alone.weights)
        assert without_times(model) == without_times(alone)
        assert model.record.tuning["chosen"] == alone.record.tuning["chosen"]
        assert model.record.objective == alone.record.objective


def test_warnings_of_trials_are_shown_by_the_caller() -> None:
    resolved = load_text(VARIANCE + "evaluate accuracy(y), oov_accuracy(y, word)\n")
    known = data(resolved, 0)
    for jobs in (1, 2):
        with pytest.warns(DcrfWarning, match="training has shown every value of `word`"):
            tune(resolved, known, known, trials=2, jobs=jobs)


def test_a_stop_ends_the_trials_that_run_at_once() -> None:
    """The first trial is short, and the others would take for ever; the best that has ended is kept."""
    text = VARIANCE.replace("lbfgs(max_iterations = 15)", "gpd(epochs = n)").replace(
        "let v = 10 tune log(0.01, 100)", "let v = 10\nlet n = 1 tune among(1, 10000000, 10000001, 10000002)"
    )
    ended: list[Trial] = []
    model = tuned(text, jobs=2, on_trial=ended.append, should_stop=lambda: bool(ended))
    complete = [trial["complete"] for trial in trials_of(model)]
    assert complete == [True, False] or complete == [True, False, False]  # at most two ran as it ended
    assert model.record.tuning["values"] == {"n": 1}
    assert not multiprocessing.active_children()


def test_an_error_of_a_trial_is_raised_here_and_no_process_is_left() -> None:
    def late() -> bool:
        raise RuntimeError("later")

    with pytest.raises(RuntimeError, match="later"):
        tuned(VARIANCE, jobs=2, trials=4, should_stop=late)
    assert not multiprocessing.active_children()
    resolved = load_text(VARIANCE)
    bare = corpus_from_rows([{"word": ["a"]}], resolved.require().data, optional=["y"])
    with pytest.raises(DcrfError, match="`y` has no gold values"):
        tune(resolved, data(resolved, 0), bare, jobs=2, trials=2)


def test_a_process_that_dies_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrialData, "run", lambda *_, **__: os._exit(9))
    with pytest.raises(DcrfError) as caught:
        tuned(VARIANCE, jobs=2, trials=4)
    assert caught.value.diagnostics[0].slug == "lost-trial"


def test_a_feature_function_needs_no_pickle_in_a_forked_process() -> None:
    text = f"data conll(word, y)\nlabel y\nclique y: mine(word)\nlet v = 10 tune log(0.01, 100)\n{TRAIN}"
    registered = {"mine": RegisteredFeature("mine", lambda word: word.lower())}
    resolved = load_text(text)
    if sys.platform != "linux":
        pytest.skip("only Linux forks")
    models = [
        tune(resolved, data(resolved, 0), data(resolved, 1), trials=3, jobs=jobs, registered=registered)
        for jobs in (1, 2)
    ]
    assert np.array_equal(models[0].weights, models[1].weights)


FAR = "data conll(x: float, y)\nlabel y in {A, B}\nclique y: bias, x\nlet rate = 1e-12 tune among(RATES)\n"


def far(rates: str, jobs: int) -> TrainedModel:
    text = FAR.replace("RATES", rates) + "train likelihood: prior = none, optimizer = sgd(rate = rate, epochs = 2)\n"
    resolved = load_text(text)
    corpus = corpus_from_rows([[(1e155, "A"), (2.0, "B")], [(3.0, "A"), (1e155, "B")]], resolved.require().data)
    dev = corpus_from_rows([[(1.0, "A"), (2.0, "B")]], resolved.require().data)
    return tune(resolved, corpus, dev, threads=1, jobs=jobs)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_trial_that_leaves_the_numbers_has_no_score_and_ends_no_search(jobs: int) -> None:
    path = far("1e12, 1e-12, 1e11", jobs).record.tuning
    assert [np.isnan(trial["dev"]) for trial in path["trials"]] == [True, False, True]
    assert path["chosen"] == 2 and path["metric"]
    with pytest.raises(DcrfError, match="no finite outcome"):
        far("1e12, 1e11", jobs)


# mistakes -----------------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[], object], str, str]] = {
    "no tuned constant": (lambda: tuned(CHAIN), "nothing-to-tune", "no constant"),
    "every constant is set": (lambda: tuned(VARIANCE, "v=1"), "nothing-to-tune", "no constant"),
    "no such search": (lambda: tuned(VARIANCE, search="gird"), "unknown-method", "`gird`"),
    "no range": (lambda: tuned(VARIANCE.replace("(0.01, 100)", "(100, 0.01)")), "bad-argument", "`log(100, 0.01)`"),
    "jobs of a search that looks at scores": (
        lambda: tuned(VARIANCE, search="optuna", jobs=2), "idle-option", "`optuna` chooses each trial",
    ),
    "a value that is none of the setting": (
        lambda: tuned(VARIANCE.replace("log(0.01, 100)", "linear(-1, 1)")), "bad-setting", "`variance`",
    ),
    "a choice that is none of the setting": (
        lambda: tuned(VARIANCE.replace("log(0.01, 100)", "among(1, many)")), "bad-setting", "`many`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_searched_is_refused(case: str) -> None:
    search, slug, words = REFUSED[case]
    with pytest.raises(DcrfError) as caught:
        search()
    (found,) = caught.value.diagnostics
    assert found.slug == slug
    assert words in found.message


def test_a_range_of_a_setting_of_real_numbers_stays_real() -> None:
    assert tuned_ranges(load_text(VARIANCE)) == {"v": Interval(0.01, 100, log=True)}


# the command --------------------------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DCRFDSL_THREADS", "1")
    (tmp_path / "a.dcrf").write_text(VARIANCE)
    for name, seed in (("train.txt", 0), ("dev.txt", 1)):
        rows = sentences("PQR", count=8, seed=seed)
        (tmp_path / name).write_text("\n".join("".join(f"{' '.join(row)}\n" for row in own) for own in rows))
    return tmp_path


def command(*more: str) -> Sequence[str]:
    return ["train", "a.dcrf", "train.txt", "-o", "a.model", *more]


def test_the_command_shows_the_path_and_writes_the_best(here: Path, capsys: Captured) -> None:
    assert run(command("--tune", "--dev", "dev.txt", "--trials", "3")) == 0
    out, err = capsys.readouterr()
    assert not out
    path = dcrfdsl.load("a.model").record.tuning
    assert [trial["values"]["v"] for trial in path["trials"]] == [0.01, 1, 100]
    rows = [line.split() for line in err.splitlines()]
    for trial in path["trials"]:
        mark = ["*"] if trial["number"] == path["chosen"] else []
        row = [*mark, str(trial["number"]), f"{trial['values']['v']:g}", f"{100 * trial['dev']:.2f}"]
        assert row in [found[: len(row)] for found in rows]
    assert "on which nothing was trained" in err


def test_the_command_prints_trials_as_json(here: Path, capsys: Captured) -> None:
    assert (
        run(command("--tune", "--dev", "dev.txt", "--trials", "2", "--search", "random", "--seed", "4", "--json")) == 0
    )
    *trials, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert [trial["trial"] for trial in trials] == [1, 2]
    assert trials[0].keys() == {"trial", "values", "dev", "metric", "seconds"}
    assert last["tuned"] == max(trials, key=lambda trial: trial["dev"])["values"]


def test_the_command_runs_trials_at_once(here: Path, capsys: Captured) -> None:
    assert run(command("--tune", "--dev", "dev.txt", "--trials", "3")) == 0
    alone = dcrfdsl.load("a.model")
    assert run(command("--tune", "--dev", "dev.txt", "--trials", "3", "--jobs", "2")) == 0
    together = dcrfdsl.load("a.model")
    assert np.array_equal(alone.weights, together.weights)
    assert without_times(alone) == without_times(together)


USAGE: dict[str, tuple[Sequence[str], int, str]] = {
    "no held-out data": (["--tune"], 1, "error[no-dev-data]: `--tune` needs held-out data"),
    "nothing to tune": (["--tune", "--dev", "dev.txt", "--set", "v=1"], 1, "error[nothing-to-tune]"),
    "no such search": (["--tune", "--dev", "dev.txt", "--search", "gird"], 1, "did you mean `grid`?"),
    "an idle option": (["--trials", "3"], 2, "`--trials` is an option of `--tune`"),
    "idle jobs": (["--jobs", "3"], 2, "`--jobs` is an option of `--tune`"),
}


@pytest.mark.parametrize("case", USAGE)
def test_a_wrong_command_says_what_is_missing(case: str, here: Path, capsys: Captured) -> None:
    more, code, words = USAGE[case]
    assert run(command(*more)) == code
    assert words in capsys.readouterr().err
    assert not Path("a.model").exists()
