"""`dcrfdsl compile`: makes the kernels that a model or a training needs, for later processes, images and machines.

It trains and tags a few sentences, of the data given or made up, as other commands do: that compiles what they need.
Not here: where kernels lie (`kernels.runtime.kernel_cache`), folders of kernels that ship
(`kernels.runtime.kernel_packs`).
"""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import click

from .. import data as data_room, features as feature_room, model as models, optimizers, semantics, syntax, training
from ..foundation import DcrfError, DcrfWarning, json_text, shell_word
from .command_files import data_statement, load_model, read_features, read_gold, read_sample, resolved_template
from .console import Talk, refuse
from .options import Argument, Features, Json, Option, Quiet, SetPaths, StageName, with_options

TOKENS = 200_000  # of the data, beside the longest sentence and those with states that no earlier one has
FEW = 300  # tokens of another training: with few weights, an optimizer may keep them in another way
ITERATIONS = 8  # of a stage: enough for all that an optimizer does
STEEP = 1e3  # times the weights: sums of potentials then leave the range of numbers, as they seldom do

_V2 = "+cx16,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2,+ssse3"
_V3 = f"{_V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
LEVELS = {  # LLVM's names of the levels of x86-64, and what they have beyond `generic`
    "generic": "",
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": f"{_V3},+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl",
}


@dataclass(frozen=True, kw_only=True)
class CompileOptions:
    source: Annotated[str, Argument("MODEL|TEMPLATE")]
    data: Annotated[str | None, Argument("[DATA]")] = None
    to: Annotated[Path | None, Option("DIR")] = None
    cpu: Annotated[Literal["generic", "x86-64-v2", "x86-64-v3", "x86-64-v4"] | None, Option("LEVEL")] = None
    stage: StageName = None
    set_: SetPaths = None
    features: Features = None
    as_json: Json = False
    quiet: Quiet = False


@with_options(CompileOptions)
def compile_kernels(options: CompileOptions) -> None:
    """Compile ahead what a model or a training needs."""
    if options.cpu is None:
        _compile(options)
        return
    from llvmlite.binding import get_host_cpu_features

    have = get_host_cpu_features()
    if lacks := [name[1:] for name in LEVELS[options.cpu].split(",") if name and not have.get(name[1:])]:
        raise click.BadParameter(f"kernels run here as they are made, and this CPU lacks {', '.join(lacks)}")
    changed = {"NUMBA_CPU_NAME": options.cpu, "NUMBA_CPU_FEATURES": LEVELS[options.cpu]}
    before = dict(os.environ)
    os.environ |= changed  # Numba reads it as it is loaded, so this takes a process of its own
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            pool.submit(_compile, options).result()
    finally:
        for name in changed:
            os.environ.pop(name)
        os.environ |= before


def _compile(options: CompileOptions) -> None:
    from .. import __version__
    from ..kernels.runtime import kernel_list, require_pack_folder, write_pack
    from .report import bytes_text, duration

    if options.to is not None:
        require_pack_folder(options.to)
    talk, start, registered = Talk(options.quiet), time.perf_counter(), read_features(options.features)
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", DcrfWarning)  # of a few sentences
        path = Path(options.data or Path(folder, "made-up"))
        if models.header_of(options.source) is None:
            model, corpus = _trained(options, registered, path, talk)
        else:
            if options.set_ or options.stage:
                raise click.BadParameter("a model has its settings: `--set` and `--stage` are of templates")
            model = load_model(options.source, registered)
            given = options.data is not None
            corpus = read_sample(str(path), model.spec, talk) if given else made_up(model.spec, model.states, path)
        for what in _used(model, corpus, path):
            talk(f"note: {what}")
    kernels = kernel_list() if options.to is None else write_pack(options.to, __version__)
    seconds, size = time.perf_counter() - start, sum(path.stat().st_size for path in kernels.files)
    folders = ", ".join(dict.fromkeys(str(path.parent) for path in kernels.files)) or "no folder that can be written"
    if options.as_json:
        found = {"folder": folders, "kernels": len(kernels.files), "compiled": kernels.compiled}
        print(json_text({**found, "bytes": size, "seconds": seconds}))
        return
    print(f"{len(kernels.files)} kernels, {bytes_text(size)}, in {folders}")
    talk(f"{kernels.compiled} of them were compiled now, in {duration(seconds)}")
    if options.to is not None:
        talk(f"next: DCRFDSL_KERNELS={shell_word(options.to.absolute())} makes a process look there first")


def _trained(
    options: CompileOptions, registered: Mapping[str, feature_room.RegisteredFeature], path: Path, talk: Talk
) -> tuple[models.TrainedModel, data_room.Corpus]:
    """The model after a few iterations of each stage, and what it was trained on."""
    resolved = resolved_template(options.source, options.set_, options.stage, options.data)
    semantics.check_or_raise(resolved, stage=options.stage, registered=registered)
    spec = resolved.require()
    labels = [label.name for label in spec.labels]
    if options.data is None:
        corpus = made_up(spec, data_room.declared_states(spec, resolved.directories), path)
    else:
        corpus = _sample(read_gold(options.data, spec, talk, trains=True), labels, TOKENS)
    count = 0

    def heed(step: optimizers.Iteration) -> None:
        nonlocal count
        count += 1

    def begin(stage: str) -> None:
        nonlocal count
        count = 0

    observers = training.Observers(heed, lambda: count >= ITERATIONS, begin)
    request = training.TrainingRequest(options.stage, registered=registered, observers=observers)
    usual = optimizers.keep_halves_from(sys.maxsize)
    try:
        semantics.check_or_raise(resolved, stage=options.stage, registered=registered, corpus=corpus)
        training.train_model(resolved, _sample(corpus, labels, FEW), request)
        optimizers.keep_halves_from(0)
        return training.train_model(resolved, corpus, request), corpus
    except DcrfError as error:
        if options.data is None:
            message = f"no data are given, and made-up ones do not fit: {error.diagnostics[0].message}"
            refuse("no-data", message, GIVE_DATA)
        raise
    finally:
        optimizers.keep_halves_from(usual)


def _sample(corpus: data_room.Corpus, labels: Iterable[str], tokens: int) -> data_room.Corpus:
    """The first `tokens` and the sentences with a state that no earlier one has; of many tokens the longest one too."""
    import numpy as np

    chosen = {0, *np.flatnonzero(corpus.sentence_off[1:] <= tokens).tolist()}
    if tokens == TOKENS:  # whether there are long ones decides on how short ones are labelled
        chosen.add(int(np.argmax(corpus.lengths())))
    for column in (corpus.columns.get(label) for label in labels):
        if isinstance(column, data_room.InternedColumn):
            chosen |= {corpus.sentence_of(token) for token in np.unique(column.codes, return_index=True)[1].tolist()}
    return corpus if len(chosen) == corpus.num_sentences else corpus.take(sorted(chosen))


def _used(model: models.TrainedModel, corpus: data_room.Corpus, path: Path) -> Iterator[str]:
    """Does with a model what commands do; says what it refuses."""
    from .tag_command import answered_by_threads
    from .tagging import TagOptions

    def tag() -> None:
        """Tags the first part of the file."""
        tagged = data_room.TaggedOutput(data_statement(model.spec))
        for chunk, answer in answered_by_threads(model, TagOptions(model="", files=[str(path)])):
            tagged.write(chunk, {**answer.columns, **answer.numbers}, answer.remarks)
            break

    corpus = _sample(corpus, model.labels, TOKENS)
    few = _sample(corpus, (), FEW)
    steep = model.with_weights(STEEP * model.weights, model.record)
    uses: dict[str, Callable[[], object]] = {
        "labels": lambda: (model.predict(corpus), model.predict(few, threads=1)),
        "columns of labels": tag if path.exists() else str,
        "probabilities": lambda: (model.marginals(corpus), model.calibration.confidences(few), model.marginals(few)),
        "several labellings": lambda: model.nbest(few, 3),
        "given labels": lambda: model.predict(
            model.prepare(few, data_room.encode_known_labels(model.spec, model.states, few))
        ),
        "scores": lambda: model.evaluate(few),
        "sums beyond the range of numbers": lambda: (steep.predict(few), steep.marginals(few)),
    }
    for name, use in uses.items():
        try:
            use()
        except DcrfError as error:
            yield f"{name}: {error.diagnostics[0].message}"


# sentences that fit a template: their values mean nothing, and cover what data are made of ----------------------------


LENGTHS = (*(1 + n % 40 for n in range(99)), 700)  # of the sentences, in tokens: enough for batches, and a long one
WORDS = 3_000  # different values of a column of texts

GIVE_DATA = "give some: `dcrfdsl compile TEMPLATE DATA`"

States = Mapping[str, Sequence[str] | None]


def made_up(spec: semantics.ModelSpec, states: States, path: Path) -> data_room.Corpus:
    """The sentences. They are written to a file and read from it, where their format can be written.

    states: of the variables. Raises DcrfError if those of a label are unknown.
    """
    data, chance = data_statement(spec), random.Random(0)
    labels = {label.name: label for label in spec.labels}
    if unknown := [name for name in labels if not states.get(name)]:
        message = f"only data tell the states of `{unknown[0]}`, and how many there are makes a difference to kernels"
        refuse("no-data", message, GIVE_DATA)
    rows = [
        {
            one.name: _labels(labels[one.name], states, chance, length)
            if one.name in labels
            else [_value(one, states, chance, length) for _ in range(length)]
            for one in data.columns
        }
        for length in LENGTHS
    ]
    corpus, emitter = data_room.corpus_from_rows(rows, data), data_room.data_format(data.format).emitter
    with suppress(DcrfError):  # what the format cannot hold
        if emitter is not None:
            written = emitter(data_room.Export(data, {one.name: one.type for one in data.columns}))
            path.write_bytes(written.write(corpus) + written.close())
            corpus = data_room.read_corpus(str(path), data, required=list(labels))
    return corpus


def _labels(label: syntax.Label, states: States, chance: random.Random, length: int) -> list[str]:
    """The states of a sentence, some of them missing where they may be."""
    every = states[label.name] or ()
    marks = {state[:2].rstrip("-") for state in every}
    alone = "I" if getattr(label.domain, "name", "") == "iob1" else next((one for one in "SUB" if one in marks), None)
    possible = [state for state in every if alone is None or state[:1] in (alone, "O")] or every
    if label.per == "sentence":
        return [chance.choice(possible)] * length
    hidden = [] if label.missing is None else [label.missing]
    return [chance.choice(hidden if hidden and chance.random() < 0.1 else possible) for _ in range(length)]


def _value(column: syntax.Column, states: States, chance: random.Random, length: int) -> Any:
    """A value of a column that is no label."""

    def text() -> str:
        return f"w{int(WORDS * chance.random() ** 3)}"  # some often, many once

    match column.type.name:
        case "float":
            return chance.random()
        case "int":
            return chance.randint(1, length)
        case "bag":
            return [text(), text()]
        case "weighted_bag":
            return {text(): 1.0, text(): 0.5}
        case "vector" | "scores":  # a distribution, as some columns of scores must be
            size = column.type.size or math.prod(len(states.get(one) or ()) for one in column.type.of)
            parts = [chance.random() for _ in range(size)]
            return [part / sum(parts) for part in parts]
        case _:
            return text()
