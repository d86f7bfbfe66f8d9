"""Training as a whole: time to an objective, the full factorial model, peak memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import peers
from figures import Figure, Skip, at_most, times_faster
from work import (
    CHUNKING,
    FACTORIAL,
    SMOKE,
    command,
    corpus_of,
    resolved_of,
    spanish_pieces,
    template,
    training_file,
    work_folder,
)

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.semantics.resolve.resolution import load_template, load_text
from dcrfdsl.training.pipeline import Iteration, fit

FOLDER = Path(__file__).parent
OPTIMUM = 3395.5  # of the chunking model on the whole data
BOUNDS = (3565.0, 1.001 * OPTIMUM)
PEER_ITERATIONS = 30 if SMOKE else 220


def time_to_objective() -> Iterator[Figure]:
    """Chunking from file contents to an objective, against CRFsuite: 5 % and 0.1 % above the optimum."""
    try:
        theirs: peers.Descent | str = peers.crfsuite_descent(CHUNKING, "chunk", PEER_ITERATIONS)
    except Skip as reason:
        theirs = str(reason)
    bounds = BOUNDS
    if SMOKE:  # a slice has another optimum
        bounds = (1e4, 1e3)
    ours = [_descent(min(bounds)) for _ in range(1 if SMOKE else 4)][-3:]  # the first compiles
    for bound, words in zip(bounds, ("objective ≤ 3565", "objective within 0.1 %"), strict=True):
        yield Figure(
            words, float(np.median([one.reaches(bound) for one in ours])), "s",
            "ours: features, weights and training in `fit` on 2 threads, the corpus in memory, kernels compiled, the "
            "median of three; CRFsuite: the seconds of its iterations alone, one training",
            times_faster(12), theirs if isinstance(theirs, str) else theirs.reaches(bound),
        )  # fmt: skip


def _descent(bound: float) -> peers.Descent:
    corpus, seconds, values = corpus_of(CHUNKING), list[float](), list[float]()
    start = time.perf_counter()

    def note(step: Iteration) -> None:
        seconds.append(time.perf_counter() - start)
        values.append(step.objective)

    fit(
        resolved_of(CHUNKING), corpus, threads=2, on_iteration=note,
        should_stop=lambda: bool(values) and values[-1] <= bound,
    )  # fmt: skip
    return peers.Descent(np.array(seconds), np.array(values))


def full_factorial() -> Iterator[Figure]:
    """The factorial model of Sutton 2004, Table 1, trained to convergence, exact and by TRP. Minutes: only by name."""
    for method in ("exact", "trp"):
        resolved, corpus = load_template(template(FACTORIAL), overrides=(f"infer={method}",)), corpus_of(FACTORIAL)
        fit(resolved, corpus.slice(0, 100), threads=2)  # compiles
        start = time.perf_counter()
        record = fit(resolved, corpus, threads=2).record
        yield Figure(
            f"full factorial training, {method}", time.perf_counter() - start, "s",
            f"features to convergence on 2 threads: {record.iterations} iterations, {record.evaluations} evaluations, "
            f"{record.end}",
            at_most(120),
        )  # fmt: skip


TAGS_ENTITIES = """
data conll(word, tag, entity)
label tag
label entity
features q:
    word
    word matches /[A-Z][a-z]+/, word matches /[A-Z]/, word matches /[A-Z]+/, word matches /.*[0-9].*/
    prefix(word, 3), suffix(word, 1..3)
clique tag: bias, q[-1..1]
clique entity: bias, q[-2..2]
clique tag[-1], tag
clique entity[-1], entity
clique tag, entity
infer {method}
train likelihood: prior = gaussian(variance = 10)
"""


def tags_and_entities() -> Iterator[Figure]:
    """45 tags, 9 entity labels, 14,041 sentences: to convergence, exactly and by TRP. Minutes: only by name."""
    sentences = spanish_pieces(20, 45, 100 if SMOKE else 14041)
    exact: float | None = None
    for method, bound in (("exact", 180), ("trp", 360)):
        resolved = load_text(TAGS_ENTITIES.format(method=method))
        corpus = corpus_from_rows(sentences, resolved.require().data)
        fit(resolved, corpus.slice(0, 50), threads=2)  # compiles
        start, begun = time.perf_counter(), time.process_time()
        record = fit(resolved, corpus, threads=2).record
        wall = time.perf_counter() - start
        yield Figure(
            f"45 tags, 9 entity labels, {method}", wall, "s",
            f"features to convergence on 2 threads, {corpus.num_tokens:,} tokens: {record.iterations} iterations, "
            f"{record.evaluations} evaluations, {record.end}; processor time {time.process_time() - begun:.0f} s"
            + ("" if exact is None else "; peer: exact"),
            at_most(bound), exact,
        )  # fmt: skip
        exact = wall


# memory ------------------------------------------------------------------------------------------------------------

PEER_MEMORY = """
import sys
from peers import crfsuite_trainer
from dcrfdsl.cli.report import peak_mb
trainer = crfsuite_trainer(sys.argv[1], "chunk", 3)
trainer.train(sys.argv[2])
print(peak_mb())
"""


def peak_memory() -> Iterator[Figure]:
    """Most memory that training of the chunking model takes, beside what `check --data` says."""
    model = work_folder() / "memory.model"
    train: list[str | Path] = ["train", template(CHUNKING), training_file(), "-o", model, "--json"]
    command([*train, "--set", "train.optimizer=auto(max_iterations=12)"])  # compiles
    summary = json.loads(command(train).splitlines()[-1])
    line = [sys.executable, "-c", PEER_MEMORY, CHUNKING, str(work_folder() / "memory")]
    done = subprocess.run(line, capture_output=True, text=True, cwd=FOLDER)
    other = float(done.stdout) if done.returncode == 0 else (done.stderr.strip().splitlines() or ["failed"])[-1]
    yield Figure(
        "peak memory of training", summary["peak_mb"], "MB",
        "ours: `dcrfdsl train` to convergence, the program included; CRFsuite: a Python process that extracts the same "
        "features by our extractor and trains with python-crfsuite",
        at_most(320), other,
    )  # fmt: skip
    printed = command(["check", template(CHUNKING), "--data", training_file()])
    match = re.search(r"about ([\d,]+) MB", printed)
    if match is None:
        raise RuntimeError("`check --data` says nothing about memory")
    predicted = float(match[1].replace(",", ""))
    yield Figure(
        "peak as `check --data` predicts it", predicted, "MB",
        "the line `memory` of `check --data`; it is to be within 30 % of the peak above", None, summary["peak_mb"],
    )  # fmt: skip
