"""Files and processes: reading and extraction, tagging from file to file, cold start, compiling, loading a model."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import peers
from figures import Figure, Skip, at_least, at_most, seconds_of, times_faster
from work import (
    CHUNKING,
    FACTORIAL,
    ROUNDS,
    SMOKE,
    command,
    conll2000,
    corpus_of,
    python,
    repeated_file,
    resolved_of,
    template,
    training_file,
    work_folder,
)

from dcrfdsl.cli import run
from dcrfdsl.cli.command_files import data_statement
from dcrfdsl.data import read_corpus
from dcrfdsl.features.extract import FeatureExtractor
from dcrfdsl.features.values.lexicons import load_lexicons
from dcrfdsl.inference.workers import Workers
from dcrfdsl.model.trained_model import TrainedModel

STARTS = 1 if SMOKE else 11
EMPTY, NUMPY = "pass", "import numpy"  # what a start is compared with


def chunker() -> Path:
    """A model file of the chunking template, trained for a few iterations."""
    path = work_folder() / "chunker.model"
    if not path.exists():
        command(
            ["train", template(CHUNKING), training_file(), "-o", path, "-q", "--set",
             "train.optimizer=lbfgs(max_iterations=15)"]
        )  # fmt: skip
    return path


def _sentence() -> Path:
    path = work_folder() / "sentence.txt"
    path.write_text(conll2000("test").partition("\n\n")[0] + "\n\n", encoding="utf-8")
    return path


def reading() -> Iterator[Figure]:
    """From a file to integer feature rows: the 19 templates of the chunking model, in training."""
    resolved = resolved_of(CHUNKING)
    spec, path, tokens = resolved.require(), training_file(), corpus_of(CHUNKING).num_tokens
    data = data_statement(spec)
    lexicons = load_lexicons(spec, resolved.directories)
    corpus, spread = corpus_of(CHUNKING), Workers().map
    parts = {
        "reading": lambda: read_corpus(path, data),
        "extraction, learning": lambda: FeatureExtractor.learn(spec, corpus, resources=lexicons, spread=spread),
        "reading + extraction": lambda: FeatureExtractor.learn(
            spec, read_corpus(path, data), resources=lexicons, spread=spread
        ),
    }
    for name, work in parts.items():
        whole = name == "reading + extraction"
        loop = tokens / seconds_of(lambda: peers.plain_extraction(path), 1) if whole else None
        yield Figure(
            name, tokens / seconds_of(work, ROUNDS), "tokens/s",
            "every column interned; every key of every template counted, the alphabet locked, and all rows written, by "
            "all cores; the other side: a loop in plain Python that numbers the same keys",
            times_faster(25) if whole else None, loop,
        )  # fmt: skip


def tagging() -> Iterator[Figure]:
    """`dcrfdsl tag FILE > OUT` in a running process, against CRFsuite's tagger without extraction."""
    model, path, out = chunker(), repeated_file(1 if SMOKE else 4), work_folder() / "tagged.txt"
    tokens = corpus_of(CHUNKING).num_tokens * (1 if SMOKE else 4)

    def tag() -> None:
        with open(out, "w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
            if run(["tag", str(model), str(path), "--quiet"]):
                raise RuntimeError("`dcrfdsl tag` failed")

    try:
        other: float | str = peers.crfsuite_tagging(CHUNKING, "chunk")
    except Skip as reason:
        other = str(reason)
    yield Figure(
        "tagging, file to file", tokens / seconds_of(tag, min(3, ROUNDS)), "tokens/s",
        "ours: load the model, read, extract, decode, write, all cores; CRFsuite: decode alone, the features of every "
        "token at hand as lists of texts",
        at_least(1e6), other,
    )  # fmt: skip


def loading() -> Iterator[Figure]:
    """A model of 456,468 weights from its file, checksum included."""
    path = chunker()
    yield Figure(
        "model load", seconds_of(lambda: TrainedModel.load(path), ROUNDS), "s",
        "header, checksum over all bytes, template, tables", at_most(0.1),
    )  # fmt: skip


def cold_start() -> Iterator[Figure]:
    """Commands in fresh processes, kernels and bytecode compiled before, as on the second day after an install."""
    chunking, sentence, model = template(CHUNKING), _sentence(), chunker()
    starts: dict[str, tuple[list[str | Path], float]] = {
        "--help": (["--help"], 0.4),
        "check": (["check", chunking], 0.35),
        "fmt": (["fmt", "--check", chunking], 0.2),
        "tag of a sentence": (["tag", model, sentence], 0.7),
    }
    calls: dict[str, Callable[[], object]] = {
        words: functools.partial(command, arguments) for words, (arguments, _) in starts.items()
    }
    calls |= {code: functools.partial(python, code) for code in (EMPTY, NUMPY)}
    seconds = _processor_seconds(calls, STARTS)
    for words, (_, bound) in starts.items():
        yield Figure(
            f"cold start: {words}", seconds[words], "s",
            f"processor time of a process, beside `import numpy`; {seconds[words] / seconds[EMPTY]:.0f} times that of "
            "an empty program",
            at_most(bound), seconds[NUMPY],
        )  # fmt: skip


def _processor_seconds(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median processor time of the processes that each call waits for; the calls take turns, so that all meet the same
    load of the machine. The first round fills caches and does not count.
    """
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(1 + rounds):
        for name, call in calls.items():
            before = os.times()
            call()
            after = os.times()
            taken[name].append(
                after.children_user + after.children_system - before.children_user - before.children_system
            )
    return {name: statistics.median(times[1:]) for name, times in taken.items()}


def _seconds(arguments: Sequence[str | Path], rounds: int, environment: Mapping[str, str] | None = None) -> float:
    return seconds_of(lambda: command(arguments, environment), rounds)


def demonstration() -> Iterator[Figure]:
    """`dcrfdsl demo` from a finished install to the final table, with no kernel compiled and with all of them."""
    if importlib.util.find_spec("turkish_treebanks") is None:
        raise Skip("needs the extra `demo`")
    arguments: list[str | Path] = ["demo", "-q", *(["--sentences", "3"] if SMOKE else [])]
    cache = {"NUMBA_CACHE_DIR": str(work_folder() / f"numba-{os.getpid()}-{time.monotonic_ns()}")}
    runs = (("kernels not yet compiled", at_most(60)), ("kernels compiled", None))
    for name, target in runs[1:] if SMOKE else runs:
        start = time.perf_counter()
        command(arguments, None if SMOKE else cache)
        yield Figure(f"demo, {name}", time.perf_counter() - start, "s", "the whole process, once", target)


def compiling() -> Iterator[Figure]:
    """What the first use after an install waits for: to train and tag chains, alone and coupled."""
    small = work_folder() / "small.txt"
    small.write_text("\n\n".join(conll2000().split("\n\n")[:50]) + "\n\n", encoding="utf-8")
    model, few = work_folder() / "small.model", "train.optimizer=lbfgs(max_iterations=2)"
    commands: list[list[str | Path]] = []
    models = ((CHUNKING, "exact"), (FACTORIAL, "exact"), (FACTORIAL, "trp(tolerance = 1e-3)"))
    for name, method in models[: 1 if SMOKE else None]:
        commands.append(["train", template(name), small, "-o", model, "-q", "--set", few, "--set", f"infer={method}"])
        commands.append(["tag", model, small, "-q"])
    cache = {"NUMBA_CACHE_DIR": str(work_folder() / f"numba-{os.getpid()}-{time.monotonic_ns()}")}

    def all_commands() -> float:
        start = time.perf_counter()
        for arguments in commands:
            command(arguments, cache)
        return time.perf_counter() - start

    cold = all_commands()
    warm = statistics.median(all_commands() for _ in range(min(3, ROUNDS)))
    yield Figure(
        "compiling", cold - warm, "s",
        f"{len(commands)} commands (exact inference, messages) with no kernel compiled, less the same with all of them",
        at_most(20),
    )  # fmt: skip
