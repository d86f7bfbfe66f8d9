"""An evaluation of the likelihood by Dask workers of this machine, beside the same by the threads of one process.

Both compute the same parts, which were laid out before. Not here: data larger than memory (`large`).
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from figures import Figure, Skip, at_most
from large import TEMPLATE, write_noisy
from work import ROUNDS, SMOKE, conll2000, work_folder

from dcrfdsl.inference import Workers
from dcrfdsl.semantics import stage_settings
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.parts.corpus_parts import open_parts
from dcrfdsl.training.parts.part_runners import cluster_client
from dcrfdsl.training.parts.parted_problem import untrained_on_parts
from dcrfdsl.training.parts.summed_criteria import SummedCriterion

TOKENS = 10_000 if SMOKE else 1_000_000
WORKERS = 2
OVERHEAD = 15.0  # percent, at most


def by_workers() -> Iterator[Figure]:
    """A million tokens by 2 Dask workers on this machine: what an evaluation takes more than by 2 threads."""
    if find_spec("distributed") is None:
        raise Skip("dask is not installed: pip install -e '.[dask]'")
    text = conll2000()
    place = work_folder() / "cluster"
    place.mkdir(exist_ok=True)
    count = write_noisy(text, place / "train.txt", TOKENS)
    resolved = load_text(TEMPLATE.format(5))
    with cluster_client(None, WORKERS, WORKERS) as client:
        criteria: list[SummedCriterion] = []
        for cluster in (None, client):
            parts = open_parts(place / "train.txt", resolved, cache=place / "parts", cluster=cluster)
            spec = resolved.require()
            model, problem = untrained_on_parts(spec, parts, resolved.directories, {}, Workers(WORKERS))
            criteria.append(problem.summed(stage_settings(spec, None)))
        weights = np.random.default_rng(0).normal(scale=0.1, size=model.num_weights)
        seconds: list[list[float]] = [[], []]
        processor: list[list[float]] = [[], []]
        for number in range(1 + ROUNDS):  # the first lays out the parts
            values = []
            for criterion, times, used in zip(criteria, seconds, processor, strict=True):
                before, begun = _processor_time(client), time.perf_counter()
                values.append(criterion.value_and_gradient(weights + 1e-6 * number)[0])
                times.append(time.perf_counter() - begun)
                used.append(_processor_time(client) - before)
            if values[0] != values[1]:
                raise RuntimeError("workers give another value than threads")
        for criterion in criteria:
            criterion.close()
    threads, workers = (statistics.median(times[1:]) for times in seconds)
    of_threads, of_workers = (statistics.median(used[1:]) for used in processor)
    yield Figure(
        f"evaluation by {WORKERS} workers, {count:,} tokens", workers, "s",
        f"value and gradient of {len(weights):,} weights over {len(parts.parts)} parts; wall time; peer: {WORKERS} "
        "threads of this process, in turn",
        None, threads,
    )  # fmt: skip
    yield Figure(
        "overhead of workers", 100.0 * (workers / threads - 1.0), "%", "of the wall time of threads", at_most(OVERHEAD)
    )
    yield Figure("processor time by workers", of_workers, "s", "of all processes; peer: threads", None, of_threads)


def _processor_time(client: Any) -> float:
    """Seconds of this process and of all workers."""
    return float(sum(sum(times[:2]) for times in (os.times(), *client.run(os.times).values())))
