"""Files and processes: reading and extraction, tagging from file to file, cold start, compiling, loading a model."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import resource
import statistics
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import peers
from figures import Figure, Skip, at_least, at_most, seconds_of, times_faster
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from work import (
    CHUNKING,
    FACTORIAL,
    ROOT,
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

from dcrfdsl.cli import COMMANDS, run
from dcrfdsl.cli.command_files import data_statement
from dcrfdsl.data import read_corpus
from dcrfdsl.features.extract import FeatureExtractor
from dcrfdsl.features.values.lexicons import load_lexicons
from dcrfdsl.inference.workers import Workers
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.syntax import resource_path

STARTS = 1 if SMOKE else 7
NUMPY = "import numpy"  # what a start is compared with


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
        "tagging, file to file", tokens / seconds_of(tag, ROUNDS), "tokens/s",
        "ours: load the model, read, extract, decode, write, all cores; CRFsuite: decode alone, the features of every "
        "token at hand as lists of texts",
        at_least(1.3e6), other,
    )  # fmt: skip


def loading() -> Iterator[Figure]:
    """A model of 456,468 weights from its file, checksum included."""
    path = chunker()
    yield Figure(
        "model load", seconds_of(lambda: TrainedModel.load(path), ROUNDS), "s",
        "header, checksum over all bytes, template, tables", at_most(0.1),
    )  # fmt: skip


def cold_start() -> Iterator[Figure]:
    """Commands and the import in fresh processes, kernels and bytecode compiled before: beside `import numpy`."""
    chunking, sentence, model = template(CHUNKING), _sentence(), chunker()
    # Targets: seconds on a machine where `import numpy` takes 0.11.
    starts: dict[str, tuple[Callable[[], object], float]] = {
        "import fit, load": (functools.partial(python, "import dcrfdsl; from dcrfdsl import fit, load"), 0.6),
        "--help": (functools.partial(command, ["--help"]), 0.11),
        "check": (functools.partial(command, ["check", chunking]), 0.25),
        "fmt": (functools.partial(command, ["fmt", "--check", chunking]), 0.15),
        "tag of a sentence": (functools.partial(command, ["tag", model, sentence]), 0.55),
    }
    calls = {words: call for words, (call, _) in starts.items()} | {NUMPY: functools.partial(python, NUMPY)}
    wall, work = _seconds_of_processes(calls, STARTS)
    for words, (_, bound) in starts.items():
        yield Figure(
            f"start: {words}", wall[words] / wall[NUMPY], "× import numpy",
            f"wall time of a process, {wall[words]:.3f} s, by that of `import numpy`, {wall[NUMPY]:.3f} s, which took "
            f"turns with it, medians of {STARTS}; processor time {work[words]:.3f} and {work[NUMPY]:.3f} s",
            at_most(round(bound / 0.11, 2)),
        )  # fmt: skip


def _seconds_of_processes(
    calls: Mapping[str, Callable[[], object]], rounds: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Median wall time and processor time of the processes that each call waits for; the calls take turns, so that all
    meet the same load of the machine. The first round fills caches and does not count.
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(1 + rounds):
        for name, call in calls.items():
            start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            call()
            end, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            taken[name].append((end - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    wall, work = ({name: statistics.median(t[n] for t in times[1:]) for name, times in taken.items()} for n in (0, 1))
    return wall, work


def installed_size() -> Iterator[Figure]:
    """What an install without extras takes on disk, by package: the versions in this environment."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [Requirement(line).name for line in project["dependencies"]]
    ours = (file for part in ("dcrfdsl", "templates") for file in (ROOT / part).rglob("*") if file.suffix != ".nbc")
    sizes = {"dcrfdsl": _mebibytes(ours)}
    while names:
        name = canonicalize_name(names.pop())
        if name in sizes:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            raise Skip(f"{name} is not installed") from None
        sizes[name] = _mebibytes(Path(str(file.locate())) for file in package.files or ())
        wanted = map(Requirement, package.requires or ())
        names += [one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    largest = sorted(sizes.items(), key=lambda item: -item[1])
    yield Figure(
        "install", sum(sizes.values()), "MiB",
        f"files without bytecode, which pip makes and adds a quarter; {', '.join(f'{a} {n:.1f}' for a, n in largest)}",
        at_most(330),
    )  # fmt: skip


def _mebibytes(files: Iterable[Path]) -> float:
    """The size of files on disk, in blocks as `du` counts them, without bytecode."""
    return sum(one.stat().st_blocks for one in files if one.suffix != ".pyc" and one.is_file()) * 512 / 2**20


# ready-made templates, and whether they are compiled with data: the others name their states
READY = {"linear_chain": True, "factorial": True, "second_order": False, "skip_chain": False, "semi_markov": False}


def first_use() -> Iterator[Figure]:
    """Where no kernel is compiled: the first training and `tag` of a chain beyond later ones, and `compile`."""
    small, model = work_folder() / "small.txt", work_folder() / "small.model"
    small.write_text("\n\n".join(conll2000().split("\n\n")[:50]) + "\n\n", encoding="utf-8")
    few = "train.optimizer=lbfgs(max_iterations=2)"
    command(["train", template(CHUNKING), small, "-o", model, "-q", "--set", few], _empty_cache())  # writes bytecode
    numpy = _taken(functools.partial(python, NUMPY))
    firsts: dict[str, tuple[list[str | Path], float]] = {
        "training": (["train", template(CHUNKING), small, "-o", model, "-q", "--set", few], 5.0),
        "tag": (["tag", model, small, "-q"], 2.0),
    }
    for name, (arguments, most) in firsts.items():
        cache = _empty_cache()
        cold, warm = (_taken(functools.partial(command, arguments, cache)) for _ in range(2))
        yield from _first(f"first {name} of a chain", [a - b for a, b in zip(cold, warm, strict=True)], numpy, most)
    if "compile" in COMMANDS and not SMOKE:
        cache, taken = _empty_cache(), list[tuple[float, float]]()
        for name, with_data in READY.items():
            path = resource_path("templates", f"{name}.dcrf")
            taken.append(
                _taken(functools.partial(command, ["compile", path, *([small] if with_data else []), "-q"], cache))
            )
        yield from _first(
            f"compile of {len(READY)} templates", [sum(one) for one in zip(*taken, strict=True)], numpy, 30.0
        )


def _first(name: str, taken: Sequence[float], numpy: Sequence[float], most: float) -> Iterator[Figure]:
    for kind, seconds, peer in zip(("processor", "wall"), taken, numpy, strict=True):
        work = f"once, beside `import numpy`: {seconds / peer:.0f} times as long"
        yield Figure(f"{name}, {kind} time", seconds, "s", work, at_most(most) if kind == "processor" else None, peer)


def _empty_cache() -> dict[str, str]:
    return {"NUMBA_CACHE_DIR": str(work_folder() / f"numba-{os.getpid()}-{time.monotonic_ns()}")}


def _taken(call: Callable[[], object]) -> tuple[float, float]:
    """Processor and wall time of the processes that a call waits for."""
    before, start = os.times(), time.perf_counter()
    call()
    after, wall = os.times(), time.perf_counter() - start
    return after.children_user + after.children_system - before.children_user - before.children_system, wall


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
