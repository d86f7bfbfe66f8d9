"""Margin training against likelihood training on the same chain, and the cost of a pass of other criteria."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from figures import Figure, seconds_of, times_faster
from work import ROUNDS, corpus_of, criterion_of, resolved_of, test_file

from dcrfdsl.cli.command_files import data_statement
from dcrfdsl.criteria.margin_objective import Hmsvm
from dcrfdsl.data import read_corpus
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.settings.settings_reading import stage_settings
from dcrfdsl.semantics.settings.training_settings import TrainSettings
from dcrfdsl.training.pipeline import fit

THREADS = 2
TEMPLATE = """
data conll(word, pos, chunk)
label chunk
features window:
    word[-2..2]
    word[-2] & word[-1], word[-1] & word, word & word[1], word[1] & word[2]
    pos[-2..2]
    pos[-2] & pos[-1], pos[-1] & pos, pos & pos[1], pos[1] & pos[2]
clique chunk as words: bias, window
clique chunk[-1], chunk as chain
infer exact
train likelihood: prior = gaussian(variance = 10)
train hmsvm:
    C = 1
    tolerance = 1e-4
    optimizer = working_set
train exponential: prior = gaussian(variance = 10)
train marginal: prior = gaussian(variance = 10)
evaluate segments(chunk)
"""
CRF, MARGINS = "likelihood", "hmsvm"
PASSES = {
    "exponential": ("pass of exponential", "value and gradient of `train exponential`"),
    "marginal": ("pass of marginal", "value and gradient of `train marginal`"),
    MARGINS: ("search of hmsvm", "the best labelling but the known one of each sentence, and how its features differ"),
}
TARGETS = {"exponential": times_faster(1 / 6), "marginal": times_faster(1 / 1.5)}


def margin_training() -> Iterator[Figure]:
    """A chunker trained by margins (hmsvm) and as a CRF: seconds and test F1; passes of the risks of Altun 2003."""
    models, seconds = {}, {}
    for stage in (CRF, MARGINS):
        models[stage], seconds[stage] = _trained(stage)
    test = read_corpus(test_file(), data_statement(resolved_of(TEMPLATE).require()))
    scores = {stage: 100 * next(iter(model.evaluate(test).values())) for stage, model in models.items()}
    words = {stage: f"{_how(models[stage])}, test F1 {scores[stage]:.2f}" for stage in models}
    yield Figure(
        f"chunking by margins, {THREADS} threads", seconds[MARGINS], "s",
        f"`fit` of `hmsvm`, C = 1, by a working set, the corpus in memory, kernels compiled: {words[MARGINS]}. Peer: "
        f"our own CRF with the same features, gaussian(variance = 10), `auto`: {words[CRF]}",
        None, seconds[CRF],
    )  # fmt: skip
    yield Figure(
        "test F1, margins less CRF", scores[MARGINS] - scores[CRF], "points",
        f"the models above: {scores[MARGINS]:.2f} and {scores[CRF]:.2f}",
    )  # fmt: skip
    yield from _passes(models[CRF])


def _trained(stage: str) -> tuple[TrainedModel, float]:
    resolved, corpus = resolved_of(TEMPLATE), corpus_of(TEMPLATE)
    fit(resolved, corpus.slice(0, 100), stage=stage, threads=THREADS)  # compiles
    start = time.perf_counter()
    model = fit(resolved, corpus, stage=stage, threads=THREADS)
    return model, time.perf_counter() - start


def _how(model: TrainedModel) -> str:
    record = model.record
    return f"{record.iterations} iterations, {record.evaluations} passes, {record.end}"


def _passes(model: TrainedModel) -> Iterator[Figure]:
    """One pass of each criterion at the weights of the CRF; the peer is one of the likelihood."""
    weights, corpus = model.weights, corpus_of(TEMPLATE)

    def pass_of(stage: str) -> Callable[[], object]:
        criterion = criterion_of(TEMPLATE, corpus, _settings(stage), threads=THREADS)
        if isinstance(criterion, Hmsvm):
            return lambda: [criterion.find_cuts(weights, first, last) for first, last in criterion.runs]
        return lambda: criterion.value_and_gradient(weights)

    likelihood = seconds_of(pass_of(CRF), ROUNDS)
    for stage, (name, work) in PASSES.items():
        seconds = seconds_of(pass_of(stage), ROUNDS)
        yield Figure(
            f"{name}, {THREADS} threads", seconds, "s",
            f"{work}, all sentences at the weights of the CRF: {seconds / likelihood:.2f} passes of the likelihood, "
            "which is the peer",
            TARGETS.get(stage), likelihood,
        )  # fmt: skip


def _settings(stage: str) -> TrainSettings:
    return stage_settings(resolved_of(TEMPLATE).require(), stage)
