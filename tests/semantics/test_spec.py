"""What a template means: options, `use`, `--set`, settings of methods, stages, segment schemes; the way back to text.

In the texts below, `<…>` marks the place that a complaint must point at.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import EXAMPLES
from hypothesis import Phase, given, settings, strategies as st
from sampling import some

from dcrfdsl import syntax as model
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics import to_text
from dcrfdsl.semantics.checks import check
from dcrfdsl.semantics.resolve.resolution import Resolved, load_template, load_text
from dcrfdsl.semantics.schema.model_spec import ModelSpec
from dcrfdsl.semantics.schema.segment_schemes import learn_types, legal_moves, scheme_states, violations
from dcrfdsl.semantics.settings.implied_settings import decoding
from dcrfdsl.semantics.settings.infer_settings import ExactSettings, TrpSettings
from dcrfdsl.semantics.settings.optimizer_settings import LbfgsSettings
from dcrfdsl.semantics.settings.prior_settings import GaussianPrior, NoPrior
from dcrfdsl.semantics.settings.settings_reading import inference_settings, stage_chain, stage_settings
from dcrfdsl.syntax import label_at, nodes as ex

NAMES = sorted(path.stem for path in EXAMPLES.glob("*.dcrf"))


def marked(text: str) -> tuple[str, str]:
    """The text without its marks, and what stands between them."""
    found = re.search(r"<([^<>]*)>", text)
    assert found is not None, "a test text marks one place"
    return text.replace(found[0], found[1]), found[1]


def complaint(resolved: Resolved) -> tuple[str, str]:
    """Slug and marked text of the only complaint."""
    (diagnostic,) = resolved.diagnostics
    assert diagnostic.primary is not None
    return diagnostic.slug, diagnostic.primary.span.text


# text -> specification -----------------------------------------------------------------------------------------


READINGS: list[tuple[str, str, Callable[[Any], Any], Any]] = [
    ("column", "data conll(word)", lambda s: s.data.columns[0], model.Column(name="word", source="word")),
    (
        "renamed column",
        "data conllu(word = form)",
        lambda s: s.data.columns[0],
        model.Column(name="word", source="form"),
    ),
    (
        "key of FEATS",
        'data conllu(case = feats("Case"))',
        lambda s: s.data.columns[0],
        model.Column(name="case", source="feats", key="Case"),
    ),
    (
        "joined columns",
        'data conllu(tag = joined("upos feats"))',
        lambda s: s.data.columns[0],
        model.Column(name="tag", source="joined", key="upos feats"),
    ),
    (
        "typed column",
        "data conll(pixels: vector(128))",
        lambda s: s.data.columns[0].type,
        model.ColumnType(name="vector", size=128),
    ),
    (
        "reader option",
        'data conll(word, comment = "#")',
        lambda s: s.data.options,
        (ex.Argument(name="comment", value=ex.Text(value="#")),),
    ),
    ("learned states", "label y", lambda s: s.labels[0].domain, model.Learned()),
    (
        "label options",
        'label y with others = O, missing = "_", ambiguous = "|", constrain = no',
        lambda s: (s.labels[0].others, s.labels[0].missing, s.labels[0].ambiguous, s.labels[0].constrain),
        ("O", "_", "|", False),
    ),
    (
        "scheme",
        "label y in bioes(PER, ORG)",
        lambda s: s.labels[0].domain,
        model.Scheme(name="bioes", types=("PER", "ORG")),
    ),
    (
        "states of a variable",
        "memory m in states(y) = y[-1]",
        lambda s: s.memories[0].domain,
        model.StatesOf(variable="y"),
    ),
    ("zero offset", "features q: word[0]", lambda s: s.groups[0].features[0], ex.Reference(name="word")),
    ("window", "features q: word[-2..2]", lambda s: s.groups[0].features[0].place, ex.Window(first=-2, last=2)),
    (
        "group options",
        "features q with min_count = 3, outside = skip: word",
        lambda s: (s.groups[0].min_count, s.groups[0].outside),
        (3, "skip"),
    ),
    (
        "clique options",
        "clique y[i], y[j] where w[i] = w[j] with link = all, order = any, min_gap = 2, max_gap = 9",
        lambda s: (s.cliques[0].link, s.cliques[0].order, s.cliques[0].min_gap, s.cliques[0].max_gap),
        ("all", "any", 2, 9),
    ),
    ("no upper gap", "clique y[i], y[j] where w[i] = w[j] with max_gap = none", lambda s: s.cliques[0].max_gap, None),
    (
        "count by constant",
        "let n = 4\nfeatures q with min_count = n: word",
        lambda s: s.groups[0].min_count,
        ex.Reference(name="n"),
    ),
    ("whole sequence", "clique y as c\npiece p over y[all]: c", lambda s: s.pieces[0].over[0].place, ex.All),
    (
        "locked member",
        "clique y as c\npiece p over y: locked c[1]",
        lambda s: s.pieces[0].members[0],
        model.Member(clique="c", place=ex.At(offset=1), locked=True),
    ),
    ("defaults", "label y", lambda s: (s.infer.name, s.decode, s.stages), ("auto", None, ())),
    ("doc of a statement", "## the tags\nlabel y", lambda s: s.doc or s.labels[0].doc, ("the tags",)),
]


@pytest.mark.parametrize("text, part, expected", [case[1:] for case in READINGS], ids=[case[0] for case in READINGS])
def test_a_statement_means(text: str, part: Callable[[Any], Any], expected: Any) -> None:
    assert part(load_text(text + "\n").require(unchecked=True)) == expected


COMPLAINTS: list[tuple[str, str, str]] = [
    ("unknown-setting", "features q with <mincount> = 2: word", "did you mean `min_count`?"),
    ("unknown-setting", "latent z in 4 with <others> = O", "takes no option"),
    ("bad-setting", "features q with min_count = <0>: word", "at least 1"),
    ("bad-setting", "features q with min_count = <2.5>: word", "whole number"),
    ("bad-setting", "features q with outside = <skipped>: word", "did you mean `skip`?"),
    ("bad-setting", "label y with constrain = <maybe>", "`yes` or `no`"),
    ("bad-setting", "label y with others = <7>", 'quote a state that is a number: `"7"`'),
    ("declared-twice", "features q with min_count = 2, <min_count> = 3: word", "given twice"),
    ("unknown-name", "features q with min_count = <m>: word", "not a constant"),
    ("bad-setting", "let m = 0.5\nfeatures q with min_count = <m>: word", "the constant `m` is `0.5`"),
    ("let-cycle", "let a = <a>", "leads back to itself"),
    ("declared-twice", "label y\nlabel <y>", "label `y` is declared twice"),
    ("declared-twice", "label y\nlatent <y> in 2", "as a label and as a latent variable"),
    ("declared-twice", "data conll(word, <word>)", "column `word` is declared twice"),
    ("declared-twice", "data conll(word)\nfeatures <word>: bias", "as a column and as a feature group"),
    ("declared-twice", "infer exact\n<infer> trp", "stands twice"),
    ("declared-twice", "train likelihood\ntrain <likelihood>", "`train … as NAME`"),
    ("unknown-name", "label y in <boi>(NP)", "did you mean `bio`?"),
    ("bad-setting", "latent z in <0>", "expected 1 to 10,000"),
    ("bad-argument", "label y in bio(<2>)", "segment types"),
    ("bad-argument", "memory m in <states(a, b)> = y[-1]", "takes one variable"),
    ("unknown-name", "data conll(temp:<flaot>)", "did you mean `float`?"),
    ("bad-argument", "data conll(pixels:<vector>)", "`vector(128)`"),
    ("bad-argument", 'data conllu(case = <head("Case")>)', "column to read from"),
    ("bad-argument", "infer trp(<seed: int>)", "only `data`"),
]


@pytest.mark.parametrize("slug, text, words", COMPLAINTS, ids=[f"{c[0]}: {c[2]}" for c in COMPLAINTS])
def test_a_complaint_points_at_the_mistake(slug: str, text: str, words: str) -> None:
    plain, place = marked(text + "\n")
    resolved = load_text(plain)
    assert complaint(resolved) == (slug, place)
    with pytest.raises(DcrfError, match=re.escape(words)):
        resolved.require(unchecked=True)


def test_all_problems_are_found_at_once() -> None:
    resolved = load_text("label y in boi(NP)\nlabel y\nfeatures q with mincount = 2: word\nclique ((\n")
    assert [d.primary.span.line for d in resolved.diagnostics if d.primary] == [1, 2, 3, 4]
    assert not resolved.complete


def test_parts_of_a_specification_know_their_places() -> None:
    spec = load_text("label y\nclique y as c: bias, lower(word)[-1] & word\n").spec
    (clique,) = spec.cliques
    assert clique.place_of("features", 1).text == clique.features[1].span.text == "lower(word)[-1] & word"
    assert clique.place_of("name").text == "c"
    assert clique.place_of("edges") == clique.span  # not written
    assert clique.features[1].factors[0].place_of("place").text == "-1"
    assert not spec.infer.is_written and label_at(spec.infer) is None


# use --------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., Resolved]:
    """Write the given texts as NAME.dcrf and load `main`."""

    def load(**texts: str) -> Resolved:
        for name, text in texts.items():
            path = tmp_path / f"{name.replace('__', '/')}.dcrf"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        return load_template(tmp_path / "main.dcrf")

    return load


def test_use_merges_and_the_includer_replaces(files: Callable[..., Resolved]) -> None:
    spec = files(
        base="data conll(a, y)\nlabel y\nlet v = 1\ninfer exact\ntrain likelihood: prior = gaussian(variance = v)",
        main='use "base.dcrf"\ndata conll(b, y)\nlet v = 2\ninfer trp\nlabel z\ntrain marginal',
    ).require(unchecked=True)
    assert [label.name for label in spec.labels] == ["y", "z"]
    assert spec.data is not None and [column.name for column in spec.data.columns] == ["b", "y"]
    assert spec.infer.name == "trp"
    assert spec.constant("v") == ex.Number(value=2)
    assert [stage.label for stage in spec.stages] == ["likelihood", "marginal"]


def test_what_the_includer_does_not_say_is_the_used_files(files: Callable[..., Resolved]) -> None:
    spec = files(base="infer exact\ndecode marginal\nevaluate joint_accuracy", main='use "base.dcrf"\nlabel y').require(
        unchecked=True
    )
    assert (spec.infer.name, spec.decode.name, spec.evaluate[0].name) == ("exact", "marginal", "joint_accuracy")


def test_a_name_declared_in_two_files_is_shown_at_both(files: Callable[..., Resolved]) -> None:
    (diagnostic,) = files(base="label y", main='use "base.dcrf"\nlabel y').diagnostics
    assert diagnostic.primary is not None
    assert diagnostic.primary.span.source.name.endswith("main.dcrf")
    assert diagnostic.secondary[0].span.source.name.endswith("base.dcrf")


def test_a_file_used_twice_is_read_once(files: Callable[..., Resolved]) -> None:
    spec = files(
        main='use "left.dcrf"\nuse "right.dcrf"',
        left='use "base.dcrf"\nlabel a',
        right='use "base.dcrf"\nlabel b',
        base="label y",
    ).require(unchecked=True)
    assert [label.name for label in spec.labels] == ["y", "a", "b"]


@pytest.mark.parametrize("what", ["infer exact", "let v = 1"])
def test_two_used_files_that_differ_need_a_decision(files: Callable[..., Resolved], what: str) -> None:
    other = what.replace("exact", "trp").replace("1", "2")
    undecided = files(main='use "left.dcrf"\nuse "right.dcrf"', left=what, right=other)
    assert [d.slug for d in undecided.diagnostics] == ["declared-twice"]
    assert files(main=f'use "left.dcrf"\nuse "right.dcrf"\n{other}').diagnostics == ()


def test_use_cycle(files: Callable[..., Resolved]) -> None:
    resolved = files(main='use "a.dcrf"\nlabel y', a='use "b.dcrf"', b='use "main.dcrf"')
    assert complaint(resolved) == ("use-cycle", '"main.dcrf"')
    assert "`main.dcrf` → `a.dcrf` → `b.dcrf` → `main.dcrf`" in resolved.diagnostics[0].message
    assert [label.name for label in resolved.spec.labels] == ["y"]


def test_a_missing_used_file_is_shown_where_it_is_used(files: Callable[..., Resolved]) -> None:
    assert complaint(files(main='use "nowhere.dcrf"')) == ("no-file", '"nowhere.dcrf"')


def test_paths_are_relative_to_the_declaring_file(files: Callable[..., Resolved], tmp_path: Path) -> None:
    resolved = files(main='use "sub/base.dcrf"\nlabel z in "z.txt"', sub__base='lexicon days = "days.txt"')
    assert resolved.directories["days"] == tmp_path / "sub"
    assert resolved.directories["z"] == tmp_path


UNREADABLE = [
    ("binary", b"label y\n\0\1", "no-text", "binary"),
    ("latin-1", "label y\n# caf\u00e9\n".encode("latin-1"), "no-text", ":2:6"),
]


@pytest.mark.parametrize(
    "content, slug, words", [case[1:] for case in UNREADABLE], ids=[case[0] for case in UNREADABLE]
)
def test_a_file_that_is_no_text(tmp_path: Path, content: bytes, slug: str, words: str) -> None:
    path = tmp_path / "x.dcrf"
    path.write_bytes(content)
    with pytest.raises(DcrfError, match=words) as caught:
        load_template(path)
    assert caught.value.diagnostics[0].slug == slug


def test_no_file_and_a_directory(tmp_path: Path) -> None:
    with pytest.raises(DcrfError, match="there is no file"):
        load_template(tmp_path / "none.dcrf")
    with pytest.raises(DcrfError, match="is a directory"):
        load_template(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_that_is_named_inside_a_template_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p")
    path = tmp_path / "a.dcrf"
    path.write_text('use "p"\ndata tsv(word, y)\nlexicon towns = "p"\nlabel y\nclique y: word, word in towns\n')
    found = load_template(path)
    assert [(d.slug, "is a pipe" in d.message) for d in found.diagnostics] == [("no-file", True)]
    assert "missing-lexicon" in [d.slug for d in check(found)]


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "bom.dcrf"
    path.write_bytes("\ufefflabel y\r\n".encode())
    assert load_template(path).require(unchecked=True).labels[0].name == "y"


# --set ----------------------------------------------------------------------------------------------------------

STAGED = """\
data conll(word, y)
label y
let v = 1 tune log(0.1, 10)
clique y as words: bias
infer trp(tolerance = 1e-2)
train likelihood as first: prior = gaussian(variance = v)
train likelihood as second after first
"""

OVERRIDES: list[tuple[str, Callable[[ModelSpec], Any], Any]] = [
    ("v=5", lambda s: stage_settings(s, "first").prior, GaussianPrior(variance=5)),
    ("v=5", lambda s: s.lets[0].tune, None),
    ("infer.tolerance=1e-4", lambda s: inference_settings(s), TrpSettings(tolerance=1e-4)),
    ("infer.seed=3", lambda s: inference_settings(s), TrpSettings(tolerance=1e-2, seed=3)),
    ("infer=exact", lambda s: inference_settings(s), ExactSettings()),
    ("infer.method=exact(max_table=64)", lambda s: inference_settings(s), ExactSettings(max_table=64)),
    ("decode=marginal", lambda s: decoding(s), "marginal"),
    (
        "train.optimizer=lbfgs(max_iterations=15)",
        lambda s: stage_settings(s).optimizer,
        LbfgsSettings(max_iterations=15),
    ),
    ("train.prior=none", lambda s: stage_settings(s).prior, NoPrior()),
    ("train.prior=none", lambda s: stage_settings(s, "first").prior, GaussianPrior(variance=1)),
    ("first.prior=none", lambda s: stage_settings(s, "first").prior, NoPrior()),
    ("train.prior.words=none", lambda s: stage_settings(s).clique_priors, {"words": NoPrior()}),
    ("train.seed=7", lambda s: stage_settings(s).seed, 7),
]


@pytest.mark.parametrize("override, part, expected", OVERRIDES, ids=[f"{n}-{c[0]}" for n, c in enumerate(OVERRIDES)])
def test_set(override: str, part: Callable[[ModelSpec], Any], expected: Any) -> None:
    assert part(load_text(STAGED, overrides=[override]).require(unchecked=True)) == expected


def test_set_train_means_the_stage_that_runs() -> None:
    spec = load_text(STAGED, overrides=["train.seed=7"], stage="first").require(unchecked=True)
    assert (stage_settings(spec, "first").seed, stage_settings(spec, "second").seed) == (7, 0)


def test_set_train_without_a_stage_changes_the_default_one() -> None:
    assert stage_settings(load_text("label y\n", overrides=["train.seed=7"]).require(unchecked=True)).seed == 7


def test_the_last_set_wins() -> None:
    assert load_text(STAGED, overrides=["v=2", "v=3"]).require(unchecked=True).constant("v") == ex.Number(value=3)


BAD_OVERRIDES: list[tuple[str, str]] = [
    ("<w>=5", "what can be set: `infer`, `infer.KEY`, `decode`, `train.KEY`, `first.KEY`, `second.KEY`, `v`"),
    ("<frist.seed>=5", "did you mean `first`?"),
    ("<infer>", "expected `PATH=VALUE`"),
    ("<v=>", "expected `PATH=VALUE`"),
    ("v=<((>", "cannot read the value"),
    ("v=<1 tune log(1, 2)>", "cannot read the value"),
    ("infer=<3>", "is set to a method"),
]


@pytest.mark.parametrize("override, words", BAD_OVERRIDES)
def test_bad_set(override: str, words: str) -> None:
    plain, place = marked(override)
    resolved = load_text(STAGED, overrides=[plain])
    assert complaint(resolved) == ("bad-override", place)
    with pytest.raises(DcrfError, match=re.escape(words)):
        resolved.require(unchecked=True)


@pytest.mark.parametrize("override", ["v=<9223372036854775807>", "first.seed=<-1e400>", "infer=trp(seed = <1e999>)"])
def test_a_number_that_is_too_large_in_a_set(override: str) -> None:
    plain, place = marked(override)
    assert complaint(load_text(STAGED, overrides=[plain])) == ("number-too-large", place)


def test_minus_infinity_in_a_set() -> None:
    with pytest.raises(DcrfError, match="nothing takes `-inf`"):
        load_text(STAGED, overrides=["first.seed=-inf"]).require(unchecked=True)


# A stage that is set, the one that runs (None: the last), and whether that changes nothing.
IDLE: list[tuple[str, str | None, bool]] = [
    ("train.seed=7", None, False),
    ("second.seed=7", None, False),
    ("first.seed=7", None, False),  # comes before
    ("first.seed=7", "first", False),
    ("second.seed=7", "first", True),
    ("alone.prior.words=none", None, True),
    ("alone.prior.words=none", "alone", False),
    ("second.seed=7", "alone", True),
]


@pytest.mark.parametrize("override, stage, idle", IDLE)
def test_setting_a_stage_that_does_not_run_is_pointed_out(override: str, stage: str | None, idle: bool) -> None:
    text = STAGED.replace("train likelihood as first", "train likelihood as alone\ntrain likelihood as first")
    found = load_text(text, overrides=[override], stage=stage).diagnostics
    assert [(d.slug, d.severity) for d in found] == [("idle-override", "warning")] * idle
    for diagnostic in found:
        assert diagnostic.primary is not None and diagnostic.primary.span.text == override.partition("=")[0]
        assert f"`--stage {override.partition('.')[0]}`" in (diagnostic.help or "")


def test_a_set_value_out_of_range_points_into_the_argument() -> None:
    resolved = load_text(STAGED, overrides=["infer.tolerance=5"])
    with pytest.raises(DcrfError) as caught:
        inference_settings(resolved.require(unchecked=True))
    (label,) = (d.primary for d in caught.value.diagnostics)
    assert label is not None and (label.span.source.text, label.span.text) == ("infer.tolerance=5", "5")


# settings of methods ----------------------------------------------------------------------------------------


BAD_SETTINGS: list[tuple[str, str, str]] = [
    ("unknown-method", "infer <exat>", "did you mean `exact`?"),
    ("unknown-setting", "infer trp(<tolernce> = 1e-3)", "did you mean `tolerance`?"),
    ("unknown-setting", "infer trp(<schedule> = flood)", "it is a setting of `bp`"),
    ("bad-setting", "infer trp(tolerance = <2>)", "expected less than 1"),
    ("bad-setting", "infer trp(damping = <-0.5>)", "expected at least 0"),
    ("bad-setting", "infer trp(max_iterations = <1.5>)", "expected a whole number"),
    ("bad-setting", "infer trp(max_iterations = <1e308>)", "expected a whole number, at least 1, "),
    ("bad-setting", "infer exact(max_table = <-1e308>)", "expected a whole number, at least 1, at most 1,073,741,824"),
    ("bad-setting", 'infer trp(seed = <"7">)', "expected a number"),
    ("bad-setting", "infer trp(seed = <yes>)", "expected a number"),
    ("bad-setting", "infer trp(tolerance = <small>)", "expected a number"),
    ("bad-setting", "infer bp(schedule = <all>)", "`random`, `flood` or `residual`"),
    ("bad-argument", "infer trp(<1e-3>)", "given by name"),
    ("declared-twice", "infer trp(seed = 1): <seed> = 2", "given twice"),
    ("unknown-method", "decode <viterbi>", "did you mean `joint`?"),
    ("unknown-method", "train <likelyhood>", "did you mean `likelihood`?"),
    ("unknown-setting", "train likelihood: <rounds> = 5", "not a setting of `likelihood`"),
    ("unknown-method", "train likelihood: prior = <gausian>(variance = 1)", "did you mean `gaussian`?"),
    ("bad-setting", "train likelihood: prior = gaussian(variance = <-1>)", "expected at least 1e-12"),
    ("bad-setting", "train likelihood: prior = gaussian(variance = <1e-320>)", "expected at least 1e-12"),
    ("bad-setting", "train likelihood: prior = gaussian(variance = <inf>)", "expected at most 1e12"),
    ("bad-setting", "train likelihood: prior = laplace(scale = <1e-320>)", "expected at least 1e-12"),
    ("bad-setting", "train likelihood: prior = group_lasso(strength = <1e308>)", "expected at most 1e12"),
    ("bad-setting", "train likelihood: prior = elastic_net(l1 = <1e308>)", "expected at most 1e12"),
    ("bad-setting", "train likelihood: optimizer = sgd(rate = <inf>)", "expected at most 1e12"),
    ("bad-setting", "train likelihood: optimizer = sgd(rate = <1e-320>)", "expected at least 1e-12"),
    ("bad-setting", "train likelihood: optimizer = gpd(rate = <1e308>)", "expected at most 1e12"),
    ("bad-setting", "train likelihood: optimizer = quickprop(rate = <inf>)", "expected at most 1e12"),
    ("bad-setting", "train likelihood: optimizer = auto(rate = <inf>)", "expected at most 1e12"),
    ("bad-setting", "train adaboost(max_step = <1e308>)", "expected at most 1e6"),
    ("bad-setting", "train mce(psi = <1e308>)", "expected at most 1e6, or `inf`"),
    ("bad-setting", "train mce(smoothing = sigmoid(alpha = <1e308>))", "expected at most 1e6"),
    ("bad-setting", "train hmm(smoothing = <inf>)", "expected at most 1e12"),
    ("bad-setting", "let v = 0\ntrain likelihood: prior = gaussian(variance = <v>)", "(the constant `v`)"),
    ("bad-setting", "train likelihood: prior = <10>", "is not a prior"),
    ("unknown-name", "clique y as chain\ntrain likelihood: <prior.chian> = none", "did you mean `prior.chain`?"),
    ("bad-setting", "train likelihood: restarts = <0>", "expected at least 1"),
    ("bad-setting", "train mce(loss = fscore(chunk), gamma = <1e200>)", "expected at most 1e6"),
    ("unknown-method", "train likelihood: infer = <magic>", "known are"),
]


@pytest.mark.parametrize("slug, text, words", BAD_SETTINGS, ids=[c[1] for c in BAD_SETTINGS])
def test_a_bad_setting_points_at_its_place(slug: str, text: str, words: str) -> None:
    plain, place = marked(text + "\n")
    resolved = load_text(plain)
    spec = resolved.require(unchecked=True)
    with pytest.raises(DcrfError, match=re.escape(words)) as caught:
        inference_settings(spec)
        decoding(spec)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.primary is not None
    assert (diagnostic.slug, diagnostic.primary.span.text) == (slug, place)


def test_settings_of_a_stage_are_all_checked_at_once() -> None:
    spec = load_text("train likelihood: prior = lasso, optimizer = adam, restarts = 0, seed = -1\n").require(
        unchecked=True
    )
    with pytest.raises(DcrfError) as caught:
        stage_settings(spec)
    assert [d.slug for d in caught.value.diagnostics] == ["unknown-method"] * 2 + ["bad-setting"] * 2


def test_defaults_of_training() -> None:
    found = stage_settings(ModelSpec())
    assert (found.criterion.method, found.prior, found.optimizer.method) == (
        "likelihood",
        GaussianPrior(variance=10),
        "auto",
    )
    assert (found.infer, found.restarts, found.seed, found.patience) == (None, 1, 0, None)


def test_settings_in_a_block_and_in_brackets_mean_the_same() -> None:
    block = load_text("infer trp: tolerance = 1e-4, seed = 3\n").require(unchecked=True)
    inside = load_text("infer trp(tolerance = 1e-4, seed = 3)\n").require(unchecked=True)
    assert inference_settings(block) == inference_settings(inside) == TrpSettings(tolerance=1e-4, seed=3)


CHAIN = "train likelihood as a\ntrain likelihood as b after a\ntrain likelihood as c after b\ntrain likelihood as d\n"


@pytest.mark.parametrize("label, chain", [(None, ["d"]), ("c", ["a", "b", "c"]), ("a", ["a"])])
def test_stage_chain(label: str | None, chain: list[str]) -> None:
    assert [stage.label for stage in stage_chain(load_text(CHAIN).require(unchecked=True), label)] == chain


@pytest.mark.parametrize(
    "text, label, slug",
    [
        (CHAIN, "e", "unknown-stage"),
        ("train likelihood after nothing\n", None, "unknown-stage"),
        ("train likelihood as a after b\ntrain likelihood as b after a\n", None, "stage-cycle"),
    ],
)
def test_stages_that_lead_nowhere(text: str, label: str | None, slug: str) -> None:
    with pytest.raises(DcrfError) as caught:
        stage_chain(load_text(text).require(unchecked=True), label)
    assert caught.value.diagnostics[0].slug == slug


# segment schemes --------------------------------------------------------------------------------------------

# A legal labelling is a concatenation of whole segments: that is the definition, written as a regular expression.
SEGMENTS = {
    "bio": "(O |B-X (I-X )*|B-Y (I-Y )*)*",
    "bioes": "(O |S-X |S-Y |B-X (I-X )*E-X |B-Y (I-Y )*E-Y )*",
}


@pytest.mark.parametrize("scheme", SEGMENTS)
def test_legal_moves_are_those_of_whole_segments(scheme: str) -> None:
    states = scheme_states(scheme, ["X", "Y"])
    allowed = legal_moves(scheme, states)
    end = len(states)
    for length in range(4):
        for path in itertools.product(range(end), repeat=length):
            whole = re.fullmatch(SEGMENTS[scheme], "".join(f"{states[x]} " for x in path)) is not None
            assert whole == all(allowed[a, b] for a, b in itertools.pairwise((end, *path, end))), path


def test_states_of_schemes() -> None:
    assert scheme_states("bio", ["NP", "VP"]) == ("B-NP", "I-NP", "B-VP", "I-VP", "O")
    assert scheme_states("bioes", ["NP"]) == ("B-NP", "I-NP", "E-NP", "S-NP", "O")


def test_types_are_learned_in_order_of_appearance() -> None:
    assert learn_types("bio", ["O", "I-VP", "B-NP", "E-NP", "x", "B-"]) == (("VP", "NP"), ("E-NP", "x", "B-"))


def test_violations_are_found_by_token() -> None:
    states = scheme_states("bioes", ["X"])
    sentences = [["B-X", "E-X", "I-X"], ["O", "B-X"], [], ["S-X"], ["B-X", "?", "E-X"]]
    codes = np.array([states.index(s) if s in states else -1 for s in itertools.chain(*sentences)])
    offsets = np.cumsum([0, *map(len, sentences)])
    assert violations(legal_moves("bioes", states), codes, offsets).tolist() == [2, 4]


# specification -> text -> specification ---------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_examples_survive_the_way_to_text_and_back(name: str) -> None:
    spec = load_template(EXAMPLES / f"{name}.dcrf").require(unchecked=True)
    assert load_text(to_text(spec)).require(unchecked=True) == spec


@pytest.mark.parametrize("name", NAMES)
def test_the_canonical_text_is_its_own_canonical_text(name: str) -> None:
    text = to_text(load_template(EXAMPLES / f"{name}.dcrf").require(unchecked=True))
    assert to_text(load_text(text).require(unchecked=True)) == text


def opaque(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The same strategy, printed as one word: Hypothesis prints strategies in its reports, and these trees are deep."""

    @st.composite
    def part(draw: st.DrawFn) -> Any:
        return draw(strategy)

    return part()


def _reads_as_offset(arguments: tuple[ex.Argument, ...]) -> bool:
    """`f(-1)` and `f(-1..1)` are refused by the parser, which takes them for `f[-1]` and `f[-1..1]`."""
    match arguments:
        case (ex.Argument(name=None, value=ex.Number(value=int() as first) | ex.Range(first=first)),):
            return first < 0
    return False


names = st.from_regex(r"[a-z][a-z_0-9]{0,5}x", fullmatch=True)  # no word of the language ends in x
states = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=6)
offsets = st.integers(-3, 3)
places = st.one_of(
    st.just(ex.Here()),
    offsets.filter(bool).map(lambda n: ex.At(offset=n)),
    st.tuples(offsets, offsets).map(lambda ends: ex.Window(first=min(ends), last=max(ends))),
    st.lists(offsets, min_size=2, max_size=3).map(lambda ns: ex.Several(offsets=tuple(ns))),
    st.builds(ex.Named, position=names, shift=offsets),
)
numbers = st.one_of(st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False))
patterns = st.sampled_from(["[A-Z]+", r"\d", "a b", r"x\/y", "[/]", "#", '"', ".*:,"])
regexes = st.builds(ex.Regex, pattern=patterns, ignore_case=st.booleans())
references = st.builds(ex.Reference, name=names, place=places)
bare = st.builds(ex.Reference, name=names)
plain_values = st.one_of(
    bare,
    numbers.map(lambda n: ex.Number(value=n)),
    states.map(lambda s: ex.Text(value=s)),
    st.tuples(offsets, offsets).map(lambda ends: ex.Range(first=min(ends), last=max(ends))),
    regexes,
)
arguments = st.lists(st.builds(ex.Argument, value=plain_values, name=st.none() | names), max_size=3).map(tuple)
applications = arguments.filter(lambda given: not _reads_as_offset(given))
terms = opaque(st.one_of(references, st.builds(ex.Apply, function=names, arguments=applications, place=places)))
values = opaque(st.one_of(plain_values, st.builds(ex.Apply, function=names, arguments=applications)))
tests = opaque(
    st.one_of(
        terms,
        st.builds(ex.Matches, term=terms, regex=regexes),
        st.builds(ex.Has, term=terms, regex=regexes),
        st.builds(ex.Is, term=terms, state=states, negated=st.booleans()),
        st.builds(ex.InLexicon, term=terms, lexicon=names, negated=st.booleans()),
        st.builds(
            ex.InSet, term=terms, states=st.lists(states, min_size=1, max_size=3).map(tuple), negated=st.booleans()
        ),
        st.builds(ex.Equals, left=terms, right=terms, negated=st.booleans()),
    )
)


def _deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(ex.Not, inner=inner), st.builds(ex.And, parts=parts), st.builds(ex.Or, parts=parts))


conditions = opaque(st.recursive(tests, _deeper, max_leaves=4))
crosses = st.builds(ex.Cross, factors=st.lists(conditions, min_size=2, max_size=3).map(tuple))
features = opaque(st.lists(st.one_of(conditions, crosses), min_size=1, max_size=3).map(tuple))
choices = opaque(
    st.one_of(
        st.builds(ex.ValueIf, value=conditions),
        st.builds(ex.ValueIf, value=conditions, condition=conditions, otherwise=conditions),
    )
)
settings_lists = st.lists(
    st.builds(model.Setting, key=st.lists(names, min_size=1, max_size=2).map(tuple), value=values), max_size=3
).map(tuple)
calls = st.builds(model.CallSpec, name=names, arguments=arguments)
blocks = st.builds(model.CallSpec, name=names, arguments=arguments, settings=settings_lists)
docs = st.sampled_from([(), ("one line",), ("two", "lines # here")])
some_states = st.lists(states, min_size=1, max_size=3).map(tuple)
domains = opaque(
    st.one_of(
        st.builds(model.Enumerated, states=some_states),
        st.builds(model.Cardinality, count=st.integers(1, 9)),
        st.builds(model.Scheme, name=st.sampled_from(["bio", "bioes"]), types=st.lists(states, max_size=2).map(tuple)),
        st.builds(model.StateFile, path=states),
        st.builds(model.StatesOf, variable=names),
    )
)
counts = st.integers(1, 9)
sites = st.lists(st.builds(model.Site, variable=names, place=places), min_size=1, max_size=3).map(tuple)
columns = opaque(
    st.one_of(
        st.builds(model.Column, name=names, source=names),
        st.builds(model.Column, name=names, source=st.just("feats"), key=states),
        names.map(lambda n: model.Column(name=n, source=n, type=model.ColumnType(name="vector", size=3))),
    )
)
options = st.builds(ex.Argument, name=names, value=states.map(lambda s: ex.Text(value=s)))


def _name_of(item: Any) -> object:
    return item.label if isinstance(item, model.Stage) else item.name or id(item)


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """At most two, of different names."""
    return st.lists(strategy, max_size=2, unique_by=_name_of).map(tuple)


def prefixed(prefix: str) -> st.SearchStrategy[str]:
    """Names that no other part of the specification uses, so that nothing is declared twice."""
    return names.map(lambda name: f"{prefix.upper()}_{name}")


PARTS: dict[str, st.SearchStrategy[Any]] = {
    "data": st.none()
    | st.builds(
        model.DataSpec,
        format=names,
        columns=st.lists(columns, min_size=1, max_size=3, unique_by=lambda column: column.name).map(tuple),
        options=st.lists(options, max_size=1).map(tuple),
        doc=docs,
    ),
    "labels": several(
        st.builds(
            model.Label,
            name=prefixed("y"),
            domain=st.just(model.Learned()) | domains,
            others=st.none() | states,
            missing=st.none() | states,
            ambiguous=st.none() | states,
            constrain=st.booleans(),
            doc=docs,
        )
    ),
    "latents": several(st.builds(model.Latent, name=prefixed("z"), domain=domains, doc=docs)),
    "memories": several(
        st.builds(
            model.Memory,
            name=prefixed("m"),
            value=choices,
            domain=st.none() | domains,
            initially=st.none() | states,
            doc=docs,
        )
    ),
    "views": several(st.builds(model.View, name=prefixed("v"), value=choices, doc=docs)),
    "lexicons": several(
        st.builds(model.Lexicon, name=prefixed("lex"), path=states, case=st.sampled_from(["exact", "ignore"]), doc=docs)
    ),
    "lets": several(st.builds(model.Let, name=prefixed("let"), value=values, tune=st.none() | calls, doc=docs)),
    "groups": several(
        st.builds(
            model.FeatureGroup,
            name=prefixed("q"),
            features=features,
            min_count=counts,
            outside=st.sampled_from(["boundary", "skip"]),
            doc=docs,
        )
    ),
    "cliques": several(
        st.builds(
            model.CliqueSpec,
            sites=sites,
            where=st.none() | conditions,
            name=st.none() | prefixed("c"),
            states=st.sampled_from([None, "seen", "all"]),
            edges=st.sampled_from(["inside", "pad"]),
            link=st.sampled_from(["next", "all"]),
            order=st.sampled_from(["forward", "any"]),
            min_gap=counts,
            max_gap=st.none() | counts,
            features=st.just(()) | features,
            doc=docs,
        )
    ),
    "pieces": several(
        st.builds(
            model.Piece,
            name=prefixed("p"),
            over=sites,
            members=st.lists(
                st.builds(model.Member, clique=names, place=places, locked=st.booleans()), min_size=1, max_size=2
            ).map(tuple),
            doc=docs,
        )
    ),
    "constraints": several(
        st.builds(
            model.Constraint,
            action=st.just("require"),
            condition=conditions,
            when=st.none() | conditions,
            name=st.none() | prefixed("k"),
            doc=docs,
        )
        | st.builds(
            model.Constraint, action=st.just("forbid"), condition=conditions, name=st.none() | prefixed("k"), doc=docs
        )
    ),
    "infer": blocks,
    "decode": blocks,
    "stages": several(
        st.builds(model.Stage, criterion=blocks, name=st.none() | names, after=st.none() | names, doc=docs)
    ),
    "evaluate": st.lists(calls, max_size=4).map(tuple),
    "doc": docs,
}


@pytest.mark.parametrize("part", some(PARTS, 3))
@settings(max_examples=40, deadline=None, derandomize=True, phases=[Phase.generate, Phase.shrink])
@given(st.data())
def test_any_part_survives_the_way_to_text_and_back(part: str, data: st.DataObject) -> None:
    spec = ModelSpec.model_validate({part: data.draw(PARTS[part])})
    assert load_text(to_text(spec)).require(unchecked=True) == spec


@pytest.mark.long
@settings(max_examples=30, deadline=None, derandomize=True, phases=[Phase.generate, Phase.shrink])
@given(st.builds(ModelSpec, **PARTS))
def test_any_specification_survives_the_way_to_text_and_back(spec: ModelSpec) -> None:
    assert load_text(to_text(spec)).require(unchecked=True) == spec


def test_a_specification_knows_the_schemes_of_its_spans_however_it_is_made() -> None:
    text = "dcrf 1\ndata spans(word = token, part = spans)\nlabel part in bio(TOWN)\nclique part: bias, word\n"
    spec = load_text(text).require()
    assert ModelSpec.model_validate(spec.model_dump()) == spec and spec.data.schemes[0].label == "part"
