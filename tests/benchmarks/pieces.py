"""Piecewise training against likelihood training, on a model of three chains."""

from __future__ import annotations

import time
from collections.abc import Iterator

from figures import Figure, Skip, times_faster
from work import SHARED, SMOKE

from dcrfdsl.cli.command_files import data_statement
from dcrfdsl.data import read_corpus
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

SENTENCES = 100 if SMOKE else 2000
TEMPLATE = """
data conllu(form = form, upos = upos, number = feats("Number"), verbform = feats("VerbForm"))
label upos
label number
label verbform
features token with min_count = 2:
    form[-1..1]
    lower(form)
    prefix(form, 1..3), suffix(form, 1..4)
    shape(form)[-1..1]
clique upos as upos_words: bias, token
clique number as number_words: bias, token
clique verbform as verb_words: bias, token
clique upos[-1], upos as upos_chain
clique number[-1], number as number_chain
clique verbform[-1], verbform as verb_chain
clique upos, number
clique number, verbform
infer trp(tolerance = 1e-3)
train likelihood: optimizer = {optimizer}
train piecewise: optimizer = {optimizer}
train pseudolikelihood: optimizer = {optimizer}
evaluate joint_accuracy, accuracy(upos), accuracy(number), accuracy(verbform)
"""
OPTIMIZERS = ("lbfgs(tolerance = 1e-4, memory = 20)", "auto(tolerance = 1e-4)")
METRICS = ("accuracy", ")")


def piecewise_training() -> Iterator[Figure]:
    """Three chains of morphology trained in pieces, and by the likelihood under TRP: each to ‖g‖/‖g₀‖ ≤ 1e-4."""
    folder = SHARED / "data" / "ud_english_ewt"
    if not folder.exists():
        raise Skip("UD English EWT is not beside the repository, at ../shared/data/ud_english_ewt")
    for optimizer in OPTIMIZERS:
        resolved = load_text(TEMPLATE.format(optimizer=optimizer))
        data = data_statement(resolved.require())
        corpus = read_corpus(folder / "en_ewt-ud-train.conllu", data).slice(0, SENTENCES)
        held_out = read_corpus(folder / "en_ewt-ud-dev.conllu", data)
        seconds, words = {}, {}
        for stage in ("likelihood", "piecewise", "pseudolikelihood"):
            fit(resolved, corpus.slice(0, 100), stage=stage, threads=2)  # compiles
            start = time.perf_counter()
            model = fit(resolved, corpus, stage=stage, threads=2)
            seconds[stage] = time.perf_counter() - start
            record = model.record
            words[stage] = f"{record.iterations} iterations, {record.end}; on the dev set {_scores(model, held_out)}"
        name = optimizer.partition("(")[0]
        wanted = times_faster(5) if name == "lbfgs" else None  # `auto` helps the likelihood more than it helps pieces
        for stage, target in (("piecewise", wanted), ("pseudolikelihood", None)):
            yield Figure(
                f"three chains, {name}, {stage}", seconds[stage], "s",
                f"`fit` on 2 threads, kernels compiled, {SENTENCES} sentences: {words[stage]}. Peer: the likelihood by "
                f"TRP of the same model: {words['likelihood']}",
                target, seconds["likelihood"],
            )  # fmt: skip


def _scores(model: TrainedModel, held_out: Corpus) -> str:
    scores = model.evaluate(held_out)
    return ", ".join(f"{name} {100 * value:.2f}" for name, value in scores.items() if name.endswith(METRICS))
