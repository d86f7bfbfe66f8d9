"""What is no argument at all gets one plain message: never an error from inside, never pages of another library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import dcrfdsl
from dcrfdsl import DcrfError, ModelSpec, Template, check, fit, load_text, tune
from dcrfdsl.data import Corpus, corpus_from_frame, corpus_from_rows, read_corpus
from dcrfdsl.syntax import CliqueSpec, FeatureGroup, Latent, Learned, Site
from dcrfdsl.syntax.nodes import Here, Reference

GOOD = (
    "data conll(word, y)\nlabel y in {X, Y}\nclique y: bias, word\nclique y[-1], y\n"
    "train likelihood: optimizer = lbfgs(max_iterations = 3)\n"
)
ROWS = [[("a", "X"), ("b", "Y"), ("c", "X")], [("b", "Y"), ("a", "X")]]


def corpus() -> Corpus:
    data = load_text(GOOD).spec.data
    assert data is not None
    return corpus_from_rows(ROWS, data)


@pytest.fixture(scope="module")
def model() -> dcrfdsl.TrainedModel:
    return fit(load_text(GOOD), corpus(), threads=1)


SPEC = load_text(GOOD).spec
RESOLVED = load_text(GOOD)


def spec(**changes: Any) -> ModelSpec:
    return SPEC.model_copy(update=changes)


def label(**changes: Any) -> ModelSpec:
    return spec(labels=(SPEC.labels[0].model_copy(update=changes),))


def bare(*columns: str) -> Corpus:
    own = corpus()
    return Corpus("bare", own.sentence_off, {name: own.columns[name] for name in columns}, own.token_line)


odd: Any = None
SELF = FeatureGroup(name="g", features=(Reference(name="g", place=Here()),))

# Each of a whole model or none of it; `odd` stands where a type checker would complain.
MISUSES: dict[str, Callable[[dcrfdsl.TrainedModel], object]] = {
    "fit: a text as a path": lambda m: fit("data conll", corpus()),
    "fit: no model": lambda m: fit(odd, corpus()),
    "fit: a number": lambda m: fit(5, corpus()),  # type: ignore[arg-type]
    "fit: a class": lambda m: fit(Template, corpus()),  # type: ignore[arg-type]
    "fit: an empty builder": lambda m: fit(Template(), corpus()),
    "fit: a path as data": lambda m: fit(RESOLVED, "train.txt"),  # type: ignore[arg-type]
    "fit: no data": lambda m: fit(RESOLVED, odd),
    "fit: rows as data": lambda m: fit(RESOLVED, ROWS),  # type: ignore[arg-type]
    "fit: dev is a path": lambda m: fit(RESOLVED, corpus(), dev="dev.txt"),  # type: ignore[arg-type]
    "fit: dev without labels": lambda m: fit(RESOLVED, corpus(), dev=bare("word")),
    "fit: stage is a number": lambda m: fit(RESOLVED, corpus(), stage=1),  # type: ignore[arg-type]
    "fit: no such stage": lambda m: fit(RESOLVED, corpus(), stage="nope"),
    "fit: threads is a text": lambda m: fit(RESOLVED, corpus(), threads="2"),  # type: ignore[arg-type]
    "fit: no threads": lambda m: fit(RESOLVED, corpus(), threads=0),
    "fit: functions in a list": lambda m: fit(RESOLVED, corpus(), registered=[len]),  # type: ignore[arg-type]
    "fit: unmarked function": lambda m: fit(RESOLVED, corpus(), registered={"f": len}),  # type: ignore[dict-item]
    "fit: no callback": lambda m: fit(RESOLVED, corpus(), on_iteration=5),  # type: ignore[arg-type]
    "fit: checkpoint is a path": lambda m: fit(RESOLVED, corpus(), checkpoint="a.ck"),  # type: ignore[arg-type]
    "fit: log is a path": lambda m: fit(RESOLVED, corpus(), log="a.log"),  # type: ignore[arg-type]
    "fit: no columns": lambda m: fit(RESOLVED, bare()),
    "spec: labels is None": lambda m: fit(spec(labels=None), corpus()),
    "spec: labels is a text": lambda m: fit(spec(labels="y"), corpus()),
    "spec: cliques of texts": lambda m: fit(spec(cliques=("y",)), corpus()),
    "spec: infer is a text": lambda m: fit(spec(infer="exact"), corpus()),
    "spec: no sites": lambda m: fit(spec(cliques=(CliqueSpec(sites=()),)), corpus()),
    "spec: a site of nothing": lambda m: fit(
        spec(cliques=(CliqueSpec(sites=(Site(variable="q", place=Here()),)),)), corpus()
    ),
    "spec: a name is a number": lambda m: fit(label(name=3), corpus()),
    "spec: a name of two words": lambda m: fit(label(name="a b"), corpus()),
    "spec: a label twice": lambda m: fit(spec(labels=SPEC.labels * 2), corpus()),
    "spec: empty": lambda m: fit(ModelSpec(), corpus()),
    "spec: without data": lambda m: fit(spec(data=None), corpus()),
    "spec: a latent without states": lambda m: fit(spec(latents=(Latent(name="h", domain=Learned()),)), corpus()),
    "spec: a stage after itself": lambda m: fit(
        spec(stages=(SPEC.stages[0].model_copy(update={"after": "likelihood"}),)), corpus()
    ),
    "spec: a group in itself": lambda m: fit(
        spec(groups=(SELF,), cliques=(SPEC.cliques[0].model_copy(update={"features": SELF.features}),)), corpus()
    ),
    "spec: an object": lambda m: fit(spec(doc=object()), corpus()),
    "predict: a text": lambda m: m.predict("a"),  # type: ignore[arg-type]
    "predict: nothing": lambda m: m.predict(odd),
    "predict: no columns": lambda m: m.predict(bare()),
    "predict: no such way": lambda m: m.predict(corpus(), decode="viterbi"),
    "predict: given is a name": lambda m: m.predict(corpus(), given="y"),  # type: ignore[arg-type]
    "predict: threads below zero": lambda m: m.predict(corpus(), threads=-1),
    "evaluate: a text": lambda m: m.evaluate("test.txt"),  # type: ignore[arg-type]
    "evaluate: no labels": lambda m: m.evaluate(bare("word")),
    "evaluate: too few weights": lambda m: m.evaluate(corpus(), weights=np.zeros(1)),
    "evaluate: weights in words": lambda m: m.evaluate(corpus(), weights="w"),  # type: ignore[arg-type]
    "compare: a list": lambda m: dcrfdsl.compare([m, m], corpus()),  # type: ignore[arg-type]
    "compare: one model": lambda m: dcrfdsl.compare(m, corpus()),  # type: ignore[arg-type]
    "compare: a path as data": lambda m: dcrfdsl.compare({"a": m, "b": m}, "test.txt"),  # type: ignore[arg-type]
    "compare: a path as a model": lambda m: dcrfdsl.compare({"a": m, "b": "m"}, corpus()),  # type: ignore[dict-item]
    "compare: data for one": lambda m: dcrfdsl.compare({"a": m, "b": m}, {"a": corpus()}),
    "marginals: nothing": lambda m: m.marginals(odd),
    "nbest: a text": lambda m: m.nbest(corpus(), "5"),  # type: ignore[arg-type]
    "nbest: none": lambda m: m.nbest(corpus(), 0),
    "sample: less than none": lambda m: m.sample(corpus(), -1),
    "log_likelihood: a text": lambda m: m.scores.log_likelihood("x"),  # type: ignore[arg-type]
    "rank_risk: nothing": lambda m: m.scores.rank_risk(odd),
    "calibrated: a text": lambda m: m.calibration.calibrated("dev"),  # type: ignore[arg-type]
    "at_round: a text": lambda m: m.at_round("x"),  # type: ignore[arg-type]
    "strongest_weights: a text": lambda m: m.explanations.strongest_weights("a"),  # type: ignore[arg-type]
    "load: nothing": lambda m: dcrfdsl.load(odd),
    "load_template: nothing": lambda m: dcrfdsl.load_template(odd),
    "load_text: bytes": lambda m: load_text(b"data"),  # type: ignore[arg-type]
    "load_text: one override": lambda m: load_text(GOOD, overrides="train.seed=3"),
    "load_text: a number": lambda m: load_text(GOOD, overrides=[3]),  # type: ignore[list-item]
    "parse: nothing": lambda m: dcrfdsl.parse(odd),
    "to_text: nothing": lambda m: dcrfdsl.to_text(odd),
    "tune: no dev": lambda m: tune(RESOLVED, corpus(), odd),
    "tune: trials in words": lambda m: tune(RESOLVED, corpus(), corpus(), trials="a"),  # type: ignore[arg-type]
    "tune: no search": lambda m: tune(RESOLVED, corpus(), corpus(), search=odd),
    "check: nothing": lambda m: check(odd),
    "check: data is a number": lambda m: check(RESOLVED, 5),  # type: ignore[arg-type]
    "read_corpus: nothing": lambda m: read_corpus(odd, odd),
    "corpus_from_rows: nothing": lambda m: corpus_from_rows(odd, odd),
    "corpus_from_frame: nothing": lambda m: corpus_from_frame(odd, SPEC.data),  # type: ignore[arg-type]
    "feature: a number": lambda m: dcrfdsl.feature(5),  # type: ignore[call-overload]
    "Template: a number": lambda m: Template(5),  # type: ignore[arg-type]
    "Template: a doc in numbers": lambda m: Template(doc=5),  # type: ignore[arg-type]
    "data: no format": lambda m: Template().data(odd),
    "data: a number": lambda m: Template().data("conll", 5),  # type: ignore[arg-type]
    "data: options of a number": lambda m: Template().data("conll", "w", options=3),  # type: ignore[arg-type]
    "label: no name": lambda m: Template().label(odd),
    "label: half a state": lambda m: Template().label("y", 1.5),  # type: ignore[arg-type]
    "label: states in numbers": lambda m: Template().label("y", [1, 2]),  # type: ignore[list-item]
    "clique: a number": lambda m: Template().clique(5),  # type: ignore[arg-type]
    "clique: features in a text": lambda m: Template().clique("y", features="word"),
    "clique: no such states": lambda m: Template().clique("y", states="foo"),  # type: ignore[arg-type]
    "clique: a gap in words": lambda m: Template().clique("y", min_gap="a"),  # type: ignore[arg-type]
    "features: nothing": lambda m: Template().features("f", odd),
    "lexicon: no path": lambda m: Template().lexicon("l", odd),
    "memory: a number": lambda m: Template().memory("m", 5),  # type: ignore[arg-type]
    "view: nothing": lambda m: Template().view("v", odd),
    "piece: over a number": lambda m: Template().piece("p", over=5, cliques=[]),  # type: ignore[arg-type]
    "piece: cliques of a number": lambda m: Template().piece("p", over="y", cliques=5),  # type: ignore[arg-type]
    "require: a number": lambda m: Template().require(5),  # type: ignore[arg-type]
    "infer: a number": lambda m: Template().infer(5),  # type: ignore[arg-type]
    "train: nothing": lambda m: Template().train(odd),
    "train: priors of a number": lambda m: Template().train("likelihood", priors=5),  # type: ignore[arg-type]
    "evaluate: a number": lambda m: Template().evaluate(5),  # type: ignore[arg-type]
    "let: a number of 400 digits": lambda m: Template().let("v", 10**400),
    "let: a number of 9,999 digits": lambda m: Template().let("v", 10**9_998),
    "let: not a number": lambda m: Template().let("v", np.float32("nan")),
    "slice: beyond the end": lambda m: corpus().slice(5, 9),
    "slice: before the beginning": lambda m: corpus().slice(-1, 2),
    "slice: the last first": lambda m: corpus().slice(2, 1),
    "with_weights: not numbers": lambda m: m.with_weights(np.full(m.num_weights, np.nan), m.record),
    "with_weights: one is infinite": lambda m: m.with_weights(np.full(m.num_weights, np.inf), m.record),
    "let: nothing": lambda m: Template().let("v", odd),
    "use: nothing": lambda m: Template().use(odd),
    "bio: a number": lambda m: dcrfdsl.template.bio(5),  # type: ignore[arg-type]
    "state_file: nothing": lambda m: dcrfdsl.template.state_file(odd),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_is_one_plain_message(name: str, model: dcrfdsl.TrainedModel) -> None:
    with pytest.raises((DcrfError, TypeError, ValueError)) as caught:
        MISUSES[name](model)
    assert not isinstance(caught.value, ValidationError)
    if not isinstance(caught.value, DcrfError):
        assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 250


def test_numbers_of_numpy_are_numbers() -> None:
    for number in (np.int64(4), np.float32(0.5), np.float64(3.5), np.uint8(7)):
        template = Template(doc="A number")
        template.let("v", number)
        assert f"let v = {number.item()}\n" in template.text()
    y = Template().label("y", np.int64(3))
    assert y is not None
    with pytest.raises(DcrfError, match="the number `10000000000000000000…` is too large") as caught:
        dcrfdsl.template.gaussian(variance=10**400)
    assert caught.value.diagnostics[0].slug == "number-too-large"


def test_weights_may_be_the_log_of_nothing(model: dcrfdsl.TrainedModel) -> None:
    assert model.with_weights(np.full(model.num_weights, -np.inf), model.record).weights.max() == -np.inf
