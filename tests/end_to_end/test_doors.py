"""Every door of Python goes through the checker, and each thing is said once.

Doors: `fit`, `tune`, `require`, the builder, `check`, model files, and the command.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import dcrfdsl
from dcrfdsl import DcrfError, DcrfWarning, Template, check, fit, load_text, tune
from dcrfdsl.cli import run
from dcrfdsl.data import Corpus, corpus_from_rows, read_corpus

HEAD = "data conll(word, y)\nlabel y in {X, Y}\n"
GOOD = HEAD + "clique y: bias, word\nclique y[-1], y\ntrain likelihood: optimizer = lbfgs(max_iterations = 3)\n"
ROWS = [[("a", "X"), ("b", "Y"), ("c", "X")], [("b", "Y"), ("a", "X")]]

# A template that the checker refuses, and the slug of its complaint.
REFUSED = {
    "the gold label as a feature": (HEAD + "clique y: y, word\n", "label-as-feature"),
    "a counted loss with its ψ": (
        "data conll(word, y)\nlabel y in bio(X)\nclique y[-2], y: word\ntrain mce: loss = fscore(y), psi = 2\n",
        "loss-settings",
    ),
    "an empty window": (HEAD + "clique y: word[2..-2]\n", "bad-window"),
    "a state that does not exist": (HEAD + "clique y: word\nforbid y is Z\n", "unknown-state"),
    "laplace by lbfgs": (
        HEAD + "clique y: word\ntrain likelihood: prior = laplace(scale = 1), optimizer = lbfgs\n", "prior-not-treated",
    ),
    "an unknown piece": (HEAD + "clique y: word\ntrain piecewise(foo)\n", "unknown-piece"),
    "an unknown variable": (HEAD + "clique y: word\nclique z: word\n", "unknown-name"),
    "no clique": (HEAD, "label-without-clique"),
}  # fmt: skip


def rows(text: str) -> Corpus:
    data = load_text(text).spec.data
    assert data is not None
    return corpus_from_rows(ROWS if "bio" not in text else [[("a", "B-X"), ("b", "O")]], data)


def slugs(caught: pytest.ExceptionInfo[DcrfError]) -> list[str]:
    return [diagnostic.slug for diagnostic in caught.value.diagnostics if diagnostic.severity == "error"]


@pytest.mark.parametrize("name", REFUSED)
def test_no_door_lets_in_what_the_checker_refuses(name: str) -> None:
    text, slug = REFUSED[name]
    resolved, corpus = load_text(text), rows(text)
    doors: list[Callable[[], object]] = [
        lambda: fit(resolved, corpus, threads=1),
        lambda: fit(resolved.spec, corpus, threads=1),
        lambda: tune(resolved, corpus, corpus, threads=1),
        resolved.require,
    ]
    for door in doors:
        with pytest.raises(DcrfError) as caught:
            door()
        assert slug in slugs(caught)
    assert slug in [found.slug for found in check(resolved)]
    assert slug in [found.slug for found in check(resolved.spec, corpus)]


def test_a_bare_specification_is_complained_of_with_places_in_its_text() -> None:
    text, _ = REFUSED["the gold label as a feature"]
    with pytest.raises(DcrfError) as caught:
        fit(load_text(text).spec, rows(text))
    (found,) = caught.value.diagnostics
    assert found.primary is not None and found.primary.span.text == "y" and str(found.primary.span) == "<model>:6:11"


def test_set_and_use_go_through_the_checker(tmp_path: Path) -> None:
    resolved = load_text(GOOD, overrides=["train.prior=laplace(scale = 1)", "train.optimizer=lbfgs"])
    with pytest.raises(DcrfError) as caught:
        resolved.require()
    assert slugs(caught) == ["prior-not-treated"]
    (tmp_path / "part.dcrf").write_text(HEAD + "clique y: y\n", encoding="utf-8")
    model = Template(directory=tmp_path)
    model.use("part.dcrf")
    with pytest.raises(DcrfError) as caught:
        model.spec()
    assert slugs(caught) == ["label-as-feature"]
    assert "clique y: y" in model.text()  # so that one can look at it


def test_the_builder_goes_through_the_checker() -> None:
    model = Template("odd")
    word, y = model.data("conll", "word", "y")
    model.clique(model.label("y", ["X", "Y"]), features=[word, y])
    for door in (model.spec, lambda: fit(model, rows(GOOD))):
        with pytest.raises(DcrfError, match="<odd>") as caught:
            door()
        assert slugs(caught) == ["label-as-feature"]
    assert [found.slug for found in check(model)] == ["label-as-feature"]


def test_who_contradicts_the_checker_says_so() -> None:
    text, _ = REFUSED["a state that does not exist"]
    assert fit(load_text(text), rows(text), threads=1, unchecked=True).record.notes == ()
    assert load_text(text).require(unchecked=True).constraints


def test_functions_of_the_user_are_told_to_fit_alone() -> None:
    @dcrfdsl.feature
    def vowels(word: str) -> str:
        return "".join(letter for letter in word if letter in "aeiou")

    resolved = load_text(HEAD + "clique y: vowels(word)\n")
    data = resolved.require().data
    assert data is not None
    corpus = corpus_from_rows(ROWS, data)
    assert check(resolved, corpus, registered={"vowels": vowels}) == ()
    assert [found.slug for found in check(resolved)] == ["unknown-function"]
    assert fit(resolved, corpus, threads=1, registered={"vowels": vowels}).num_weights
    with pytest.raises(DcrfError, match="`vowels` is not a feature function"):
        fit(resolved, corpus, threads=1)


def test_check_takes_a_path_and_data_from_a_file_and_looks_at_the_gold_labels(tmp_path: Path) -> None:
    path, data = tmp_path / "a.dcrf", tmp_path / "a.txt"
    path.write_text(HEAD + "clique y: word\n", encoding="utf-8")
    data.write_text("a X\nb Z\n", encoding="utf-8")
    found = check(path, data)
    assert [(one.slug, one.severity) for one in found] == [("unseen-state", "warning"), ("unknown-label", "error")]
    with pytest.raises(DcrfError, match="there is no file"):
        check(tmp_path / "none.dcrf")


# warnings ---------------------------------------------------------------------------------------------------------

WARNED = {
    "types as states": ("label y in {NP, VP} with others = O\nclique y: word\n", "unseen-state"),
    "a state that does not occur": ("label y in {X, Y, Z}\nclique y: word\n", "unseen-state"),
    "one state": ("label y in {O} with others = O\nclique y: word\n", "one-state"),
    "a group that nothing lists": ("label y\nfeatures f: word\nclique y: word\n", "idle-group"),
    "a constant that nothing names": ("label y\nlet v = 3\nclique y: word\n", "idle-constant"),
    "a clique twice": ("label y\nclique y: word\nclique y[-1], y as a\nclique y[-1], y as b\n", "same-clique"),
    "two of one name": ("label y\nclique y: word\nclique y: bias\n", "same-clique"),
}


@pytest.mark.parametrize("name", WARNED)
def test_fit_warns_once_and_keeps_it_in_the_record(name: str) -> None:
    text, slug = WARNED[name]
    resolved = load_text("data conll(word, y)\n" + text + "train likelihood: optimizer = lbfgs(max_iterations = 1)\n")
    assert resolved.spec.data is not None
    corpus = corpus_from_rows(ROWS, resolved.spec.data)
    with pytest.warns(DcrfWarning, match=rf"\[{slug}\]") as caught:
        model = fit(resolved, corpus, threads=1)
    assert [Path(one.filename).name for one in caught] == ["test_doors.py"]
    assert [str(one.message) for one in caught] == [note for note in model.record.notes if note.endswith("]")]
    assert slug in [found.slug for found in check(resolved, corpus)]


USED = {
    "by a clique": "features f: word\nclique y: f\n",
    "by a group": "features f: word\nfeatures g: f[-1..1]\nclique y: g\n",
    "crossed": "features f: word\nclique y: f & f[-1]\n",
    "a constant as min_count": "let n = 2\nfeatures f with min_count = n: word\nclique y: f\n",
    "a constant of a constant": (
        "let a = 2\nlet b = a\nclique y: word\ntrain likelihood: prior = gaussian(variance = b)\n"
    ),
    "a constant as an argument": "let n = 2\nclique y: prefix(word, n)\n",
    "a constant as a state": "let c = X\nclique y: word\nforbid y[-1] = c and y = c\n",
    "cliques of other options": "clique y[-1], y as a\nclique y[-1], y with edges = pad as b\n",
}


@pytest.mark.parametrize("name", USED)
def test_what_is_used_is_not_called_idle(name: str) -> None:
    text = HEAD + USED[name]
    assert [found.slug for found in check(load_text(text)) if found.slug.startswith(("idle", "same"))] == []


def test_groups_of_a_used_file_may_stay_idle(tmp_path: Path) -> None:
    (tmp_path / "library.dcrf").write_text("let v = 1\nfeatures f: word\nfeatures g: word[-1]\n", encoding="utf-8")
    (tmp_path / "main.dcrf").write_text('use "library.dcrf"\n' + HEAD + "clique y: f\n", encoding="utf-8")
    assert check(tmp_path / "main.dcrf") == ()


def test_the_idle_parts_of_a_long_template_are_found_in_a_moment() -> None:
    groups = "".join(f"features g{n}: g{n - 1}\n" if n else "features g0: word\n" for n in range(40))
    found = check(load_text(HEAD + groups + "clique y: word\n"))
    assert [one.slug for one in found] == ["idle-group"] and "`g39`" in found[0].message


def test_the_command_says_a_warning_once_and_keeps_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template, data, model = tmp_path / "a.dcrf", tmp_path / "a.txt", tmp_path / "a.model"
    template.write_text("data conll(word, y)\nlabel y in {NP, VP} with others = O\nclique y: word\n", encoding="utf-8")
    data.write_text("a B-NP\nb B-VP\n\nc O\n", encoding="utf-8")
    assert run(["train", str(template), str(data), "-o", str(model)]) == 0
    said = capsys.readouterr().err
    assert said.count("is one that it lists") == 1 and "Warning" not in said
    assert [note for note in dcrfdsl.load(model).record.notes if "is one that it lists" in note]
    assert run(["check", str(template), "--data", str(data)]) == 0
    assert "[unseen-state]" in capsys.readouterr().err


@pytest.fixture(scope="module")
def model() -> dcrfdsl.TrainedModel:
    return fit(load_text(GOOD), rows(GOOD), threads=1)


def corpus() -> Corpus:
    return rows(GOOD)


NOTHING = {
    "accuracy(y)": ("a ?\nb ?\n", "known value"),
    "joint_accuracy": ("a ?\nb ?\n", "known value"),
    "oov_accuracy(y, word)": ("a X\nb Y\n", "every value"),
    "segments(z)": ("a X\nb Y\n", "no segment"),
}


@pytest.mark.parametrize("metric", NOTHING)
def test_a_metric_of_nothing_is_said(metric: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, words = NOTHING[metric]
    text = 'data conll(word, y, z)\nlabel y in {X, Y} with missing = "?"\nlabel z in bio(P)\n'
    text += "clique y: word\nclique z: word\n"
    resolved = load_text(f"{text}evaluate {metric}\ntrain likelihood: optimizer = lbfgs(max_iterations = 1)\n")
    assert resolved.spec.data is not None
    train = corpus_from_rows([[("a", "X", "B-P"), ("b", "Y", "O")]], resolved.spec.data)
    test = tmp_path / "test.txt"
    test.write_text("".join(f"{line} O\n" for line in lines.splitlines()), encoding="utf-8")
    trained, data = fit(resolved, train, threads=1), read_corpus(test, resolved.spec.data)
    with pytest.warns(DcrfWarning, match=words):
        trained.evaluate(data, threads=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained.evaluate(train, threads=1) if "oov" not in metric else None
    with pytest.warns(DcrfWarning, match=words):
        assert any("[metric-of-nothing]" in note for note in fit(resolved, train, dev=data, threads=1).record.notes)
    trained.save(tmp_path / "m")
    assert run(["eval", str(tmp_path / "m"), str(test)]) == 0
    assert capsys.readouterr().err.count("[metric-of-nothing]") == 1


def test_a_clique_that_there_is_not_is_an_error(model: dcrfdsl.TrainedModel) -> None:
    assert model.explanations.strongest_weights(3, clique="y*")
    with pytest.raises(DcrfError, match=r"no clique `y\[-2\], y`(.|\n)*did you mean"):
        model.explanations.strongest_weights(3, clique="y[-2], y")
    with pytest.raises(DcrfError, match="no clique `z\\*`"):
        model.explanations.strongest_weights(3, clique="z*")


def test_a_template_inside_a_model_file_is_checked(tmp_path: Path, model: dcrfdsl.TrainedModel) -> None:
    text, _ = REFUSED["a state that does not exist"]
    path = tmp_path / "odd.model"
    fit(load_text(text), rows(text), threads=1, unchecked=True).save(path)
    with pytest.raises(DcrfError) as caught:
        dcrfdsl.load(path)
    assert slugs(caught) == ["unknown-state"] and caught.value.diagnostics[0].location == str(path)
    assert dcrfdsl.TrainedModel.load(path, unchecked=True).num_weights
    model.save(path)
    assert fit(dcrfdsl.load(path).spec, corpus(), threads=1).num_weights == model.num_weights


def test_check_sees_gold_labels_that_break_a_constraint() -> None:
    template = "dcrf 1\ndata conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y\nforbid y is B and word is b\n"
    resolved = dcrfdsl.load_text(template)
    corpus = dcrfdsl.corpus_from_rows([[("a", "A"), ("b", "B")], [("b", "A")]], resolved.require().data)
    assert [d.slug for d in dcrfdsl.check(resolved, corpus)] == ["broken-constraint"]
    with pytest.raises(dcrfdsl.DcrfError, match="broken-constraint"):
        dcrfdsl.fit(resolved, corpus)
