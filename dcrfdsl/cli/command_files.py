"""The files that a command line names: templates, data and feature functions that are read, and outputs.

`-` is stdin everywhere. An output must not replace what the command reads, nor another output; two names are of one
file where the system says so: links count as what they lead to. `prefetched` reads ahead in a thread. Not here: what is
done with any of them.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import NamedTuple, NoReturn, TypeVar

import click

from .. import data as data_room, features, model as models, semantics, syntax, training
from ..foundation import (
    LONGEST_TEMPLATE,
    DcrfError,
    DcrfWarning,
    read_template,
    read_waiting,
    shell_word,
    template_text,
)
from .console import Talk, print_diagnostics, refuse

STDIN = "-"
TOKENS_AT_ONCE = 2_000  # where one sentence is wanted


def named(path: str) -> str:
    """What messages call an input."""
    return "<stdin>" if path == STDIN else path


def read_text(path: str) -> str:
    """The text of a template file, or of stdin."""
    if path != STDIN:
        return read_template(path)
    read, parts, left = read_waiting(sys.stdin.buffer), list[bytes](), LONGEST_TEMPLATE + 1
    while left and (part := read(left)):
        parts.append(part)
        left -= len(part)
    return template_text(b"".join(parts), named(STDIN))


def resolved_template(
    path: str, overrides: Sequence[str] | None, stage: str | None, data: str | None = None
) -> semantics.Resolved:
    """The model of a template file, or of the text on stdin, with the problems found so far.

    data: the data file on the same command line. Raises `DcrfError` if the two were exchanged.
    """
    if path == STDIN:
        return semantics.load_text(read_text(path), named(STDIN), overrides or (), stage)
    try:
        resolved = semantics.load_template(path, overrides or (), stage)
    except DcrfError:
        _refuse_exchanged(path, data)
        raise
    if any(problem.slug in ("no-template", "file-too-large") for problem in resolved.diagnostics):
        _refuse_exchanged(path, data)
    return resolved


def _refuse_exchanged(template: str, data: str | None) -> None:
    """Raises `DcrfError` if the data file is a template."""
    if data is None or not os.path.isfile(data) or not os.path.isfile(template):
        return
    if os.path.getsize(data) > syntax.MAX_CHARACTERS:
        return
    try:
        tree, problems = syntax.parse_partial(read_template(data), data)
    except DcrfError:
        return
    if len(tree.statements) > len(problems):
        message = f"`{data}` is the template, and `{template}` is none: they were given in the wrong order"
        refuse("exchanged-arguments", message, f"write `{shell_word(data)} {shell_word(template)}`")


def read_features(paths: Iterable[str] | None) -> dict[str, features.RegisteredFeature]:
    """The `@dcrfdsl.feature` functions of the user's Python files, by name."""
    if not paths:
        return {}
    files = [features.load_feature_file(Path(path)) for path in paths]
    # a key per file, so that one name in two files is an error instead of the last one winning
    return features.registered_features(
        {f"{i}.{name}": item for i, file in enumerate(files) for name, item in file.items()}
    )


def load_model(
    path: str, registered: Mapping[str, features.RegisteredFeature], rounds: int | None = None
) -> models.TrainedModel:
    """The model in a file, with the user's functions by name; says where one is not what it was at training.

    rounds: of boosting, after which it is wanted.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DcrfWarning)  # it is printed as other messages are
        model = models.TrainedModel.load(path, registered=registered)
    print_diagnostics(models.changed_functions(model, path))
    return model if rounds is None else model.at_round(rounds)


def read_unused_features(paths: Iterable[str] | None, talk: Talk, why: str) -> None:
    """Accepts `--features` where it has no effect, so that every command has the option. The files must be readable."""
    if read_features(paths):
        talk(f"note: {why}; --features is not used")


def data_statement(spec: semantics.ModelSpec) -> syntax.DataSpec:
    """The `data` statement of the model. Raises `DcrfError` for a model built in Python without one."""
    if spec.data is None:
        refuse("no-data", "the model does not say how its data are read", "give its template a `data` statement")
    return spec.data


def data_files(paths: Sequence[str]) -> list[str]:
    """The data files of a command line, of a folder its files by name. `-` is stdin, which can be read once."""
    if paths.count(STDIN) > 1:
        raise click.BadParameter("`-` (stdin) can be given once only")
    files: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            files += map(str, training.files_in(Path(path)))
        else:
            files.append(path)
    return files


def read_gold(path: str, spec: semantics.ModelSpec, talk: Talk, *, trains: bool = False) -> data_room.Corpus:
    """Data with the columns of all labels. Prints the warnings of the reader.

    trains: whether models are trained on it, so that what training alone reads has to be there.
    """
    return _read(path, spec, talk, required=[label.name for label in spec.labels], trains=trains)


def stream_gold(path: str, spec: semantics.ModelSpec, talk: Talk) -> Iterator[data_room.Corpus]:
    """The same data in parts of whole sentences, of which one is held at a time."""
    required = [label.name for label in spec.labels]
    spare = semantics.spare_columns(spec)
    for chunk in data_room.stream_corpus(path, data_statement(spec), required=required, spare=spare, flush=False):
        for warning in chunk.corpus.warnings:
            talk(f"warning: {warning}")
        yield chunk.corpus


def read_sentence(
    path: str, spec: semantics.ModelSpec, number: int, *, required: Sequence[str] = ()
) -> data_room.Corpus:
    """A sentence of a file, read no further than needed.   number: from 1.   required: labels that it must have."""
    before = 0
    optional = [label.name for label in spec.labels if label.name not in required]
    chunks = data_room.stream_corpus(
        path, data_statement(spec), tokens_per_chunk=TOKENS_AT_ONCE, required=required, optional=optional,
        spare=semantics.spare_columns(spec),
    )  # fmt: skip
    for chunk in chunks:
        if number <= before + chunk.corpus.num_sentences:
            return chunk.corpus.slice(number - 1 - before, number - before)
        before += chunk.corpus.num_sentences
    refuse_sentence(path, before, number)


def refuse_sentence(path: str, count: int, number: int) -> NoReturn:
    """Refuses a number, from 1, that none of the `count` sentences of the data has."""
    sentences = f"{count:,} sentence{'s' * (count != 1)}"
    refuse("no-such-sentence", f"`{named(path)}` has {sentences}, there is no number {number:,}")


def read_sample(path: str, spec: semantics.ModelSpec, talk: Talk) -> data_room.Corpus:
    """Data to check a template against, of a folder all its files. Columns of labels may be absent; the checker reports
    that.
    """
    names = [label.name for label in spec.labels]
    return joined([_read(file, spec, talk, optional=names, trains=True) for file in data_files([path])])


def joined(corpora: Sequence[data_room.Corpus]) -> data_room.Corpus:
    """The data of several files as one."""
    if len(corpora) == 1:
        return corpora[0]
    return training.joined_corpora(corpora)


def _read(
    path: str, spec: semantics.ModelSpec, talk: Talk, *, required: Sequence[str] = (), optional: Sequence[str] = (),
    trains: bool = False,
) -> data_room.Corpus:  # fmt: skip
    spare = () if trains else semantics.spare_columns(spec)
    corpus = data_room.read_corpus(path, data_statement(spec), required=required, optional=optional, spare=spare)
    for warning in corpus.warnings:
        talk(f"warning: {warning}")
    return corpus


# outputs -------------------------------------------------------------------------------------------------------------


class Output(NamedTuple):
    """What a command writes.   option: that names it.   path: None where the option is not given.

    beside: whether the command makes up the name itself, from the one that is given.
    """

    option: str
    path: str | Path | None
    beside: bool = False


def refuse_clash(outputs: Iterable[Output], inputs: Iterable[str | Path | None]) -> None:
    """`DcrfError` if an output is one of the inputs or in a folder among them, `BadParameter` if two outputs are one
    file. An input None is one that is not given, `-` is stdin.
    """
    written = [output for output in outputs if output.path is not None]
    for one, other in combinations(written, 2):
        if _is_same(one.path, other.path) or _resolved(one.path) == _resolved(other.path):
            raise click.BadParameter(f"`{one.option}` and `{other.option}` name one file twice: `{one.path}`")
    present = [output for output in written if os.path.exists(os.fspath(output.path or ""))]
    if not present:
        return
    for path in _files(inputs):
        for output in present:
            if _is_same(output.path, path):
                remedy = f"name another file after `{output.option}`"
                if output.beside:
                    remedy += f": the command writes `{output.path}` beside it"
                refuse("output-is-input", f"`{output.path}` is an input of this command", remedy)


def refuse_foreign(checkpoint: Path) -> None:
    """Raises `DcrfError` if a file that is no checkpoint stands where one is to be."""
    if not os.path.lexists(checkpoint):
        return
    if not training.is_checkpoint(checkpoint):
        message = f"`{checkpoint}` is no checkpoint, and training would write its own there"
        refuse("file-exists", message, "move it away, or name another model after `-o`")


def files_of_template(resolved: semantics.Resolved) -> list[Path]:
    """The files that a template reads besides itself and the data: used templates, lexicons, files of states."""
    spec, directories = resolved.spec, resolved.directories
    named = [(lexicon.name, lexicon.path) for lexicon in spec.lexicons]
    named += [(one.name, one.domain.path) for one in spec.variables if isinstance(one.domain, syntax.StateFile)]
    return [*resolved.used, *(directories[name] / path for name, path in named if name in directories)]


def _files(inputs: Iterable[str | Path | None]) -> Iterator[str | Path]:
    """The inputs that are there; of a folder the folder itself and its files."""
    for path in inputs:
        if path is None or os.fspath(path) in ("", STDIN):
            continue
        yield path
        if os.path.isdir(path):
            with os.scandir(path) as inside:
                yield from (entry.path for entry in inside if entry.is_file())


def _is_same(one: str | Path | None, other: str | Path | None) -> bool:
    try:
        return one is not None and other is not None and os.path.samefile(one, other)
    except (OSError, ValueError):  # one of them is not there, or has an impossible name: who opens it says so
        return False


def _resolved(path: str | Path | None) -> str:
    return os.path.realpath(os.fspath(path or ""))


# reading ahead -------------------------------------------------------------------------------------------------------


_Item = TypeVar("_Item")
_WORKERS: list[Thread] = []  # whose callers have left before the end


def is_prefetching() -> bool:
    """Whether a thread still prepares an item that nobody waits for."""
    return any(worker.is_alive() for worker in _WORKERS)


def prefetched(items: Iterator[_Item]) -> Iterator[_Item]:
    """The same items, each made by another thread while the caller works on the one before it."""
    made: Queue[_Item | BaseException | None] = Queue(maxsize=1)
    left = Event()

    def make() -> None:
        try:
            for item in items:
                made.put(item)
                if left.is_set():
                    return
            made.put(None)
        except BaseException as error:  # raised in place of the item
            made.put(error)

    worker = Thread(target=make, daemon=True)
    worker.start()
    try:
        while (item := made.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()
        with suppress(Empty):
            made.get_nowait()  # unblocks the other thread, so that it ends
        _WORKERS[:] = [one for one in (*_WORKERS, worker) if one.is_alive()]
