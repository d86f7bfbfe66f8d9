"""A corpus in parts on disk: whole sentences, a fixed number of tokens each, so that no step holds all of it.

    files -> groups -> stream of sentences -> parts of about `PART_TOKENS` tokens -> files of columns in the cache

A part ends with the sentence that completes its tokens, and where a group of files ends. So the cut depends on the data
alone, not on memory, threads or machines. Files are grouped in order until a group has `GROUP_BYTES`; groups can be
read by different machines. The folder of a group is named by the content of its files and by how they are read, so it
is used again whatever they are called. Not here: what training reads of a part (`part_learning`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from ...data import BagColumn, Corpus, InternedColumn, NumericColumn, joined_bags, joined_scores, stream_corpus
from ...foundation import READING, Ints, clear_os_errors, data_error, dataclass, is_writable, write_whole
from ...semantics import ModelSpec, json_adapter
from ...syntax import DataSpec
from ..checking import AnyTemplate, as_resolved
from .part_files import PART_VERSION, read_text, write_text
from .part_runners import InTurn, PartRunner, part_runner

PART_TOKENS = 1 << 18
GROUP_BYTES = 1 << 24  # of files that are read one after the other, so that small files do not make small parts
CHUNK_TOKENS = 1 << 15  # read at once
_OURS = re.compile("(text|compiled)-[0-9a-f]{32}")  # folders in the cache: of `read_group`, and of `part_learning`

Columns = Mapping[str, InternedColumn | NumericColumn | BagColumn]


@dataclass(frozen=True)
class Part:
    """A part: the file with its columns, its size, and a hash of its content."""

    path: Path
    num_sentences: int
    num_tokens: int
    sha256: str


@dataclass(frozen=True, eq=False)
class CorpusParts:
    """A corpus in parts on disk. Made by `open_parts`, taken by `fit` in place of a corpus.

    file: the names of its files, for messages.
    cache: the folder of the parts and of what is compiled from them.
    parts: in the order of the data.
    warnings: what the reader found odd.
    memory, cluster: as `open_parts` takes them.

    >>> parts = open_parts("address.txt", "address.dcrf")
    >>> parts.num_sentences, parts.num_tokens, len(parts.parts)
    (3, 16, 1)
    """

    file: str
    cache: Path
    parts: tuple[Part, ...]
    warnings: tuple[str, ...] = ()
    memory: int | str | None = field(default=None, compare=False)
    cluster: Any = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without the client, which stays where it is."""
        return {**vars(self), "cluster": None}

    @property
    def num_tokens(self) -> int:
        """The number of tokens of all parts."""
        return sum(part.num_tokens for part in self.parts)

    @property
    def num_sentences(self) -> int:
        """The number of sentences of all parts."""
        return sum(part.num_sentences for part in self.parts)

    @property
    def sha256(self) -> str:
        """A hash of the content of all parts, in order."""
        return hashlib.sha256("".join(part.sha256 for part in self.parts).encode()).hexdigest()

    def corpus(self, number: int) -> Corpus:
        """A part as a corpus in memory.

        number: of the part, from 0.
        """
        return read_text(self.parts[number].path)

    @property
    def columns(self) -> Columns:
        """The columns of the first part: all parts have the same ones."""
        return self.corpus(0).columns

    def lengths(self) -> Ints:
        """The number of tokens of each sentence, [S] int64. It takes no argument."""
        return np.concatenate([self.corpus(number).lengths() for number in range(len(self.parts))])

    def values_of(self, column: str) -> frozenset[str]:
        """The distinct texts of a column of texts.

        column: its name.
        """
        found: set[str] = set()
        for number in range(len(self.parts)):
            found.update(self.corpus(number).text_column(column).values)
        return frozenset(found)


def open_parts(
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    template: AnyTemplate,
    *,
    cache: str | os.PathLike[str] | None = None,
    memory: int | str | None = None,
    cluster: Any = None,
    part_tokens: int = PART_TOKENS,
) -> CorpusParts:
    """Reads training data into parts on disk, or finds them there.

    data: a file, a folder (all its files, by name), or several of both.
    template: whose `data` statement says how they are read, in any form that `fit` takes.
    cache: the folder for parts. It is made if it is missing, and used again where files and their reading are the same.
        By default a temporary folder, which lasts as long as the object that is returned.
    memory: the most that training on these parts may use in this process, in bytes or as "2GB". Where it does not
        suffice, training ends with an error that says what would.
    cluster: a `distributed.Client` whose workers read the parts and train on them; by default this process does.
    part_tokens: the tokens of a part; another cut gives the same weights up to rounding.

    Memory is that of one part. Raises DcrfError where a file cannot be read as declared, with its line.

    >>> parts = open_parts(["address.txt", "address.txt"], "address.dcrf")
    >>> model = fit("address.dcrf", parts)
    """
    spec = as_resolved(template, "template").require(unchecked=True)
    if spec.data is None:
        message = "the model does not say how its data are read"
        raise data_error("no-data", message, help="give its template a `data` statement")
    files = data_files([data] if isinstance(data, str | os.PathLike) else data)
    folder = Path(tempfile.mkdtemp(prefix="dcrfdsl-parts-")) if cache is None else Path(cache).absolute()
    if not is_writable(folder):
        message = f"the folder for parts, `{folder}`, cannot be written"
        raise data_error("file-error", message, help="name another one: `--cache DIR`, or `cache=`")
    reading = _Reading(spec, spec.data, folder, part_tokens, _groups(files))
    runner: PartRunner = InTurn(1) if cluster is None else part_runner(cluster)
    try:
        found = list(runner.each(read_group, reading, len(reading.groups)))
    except BaseException:
        for one in (*folder.glob("*/"), folder):
            with suppress(OSError):  # it holds something
                one.rmdir()
        raise
    several = f"{files[0]} and {len(files) - 1} more" if len(files) > 1 else str(files[0])
    described = [part for group in found for part in group[0]]
    listed = tuple(Part(folder / one["path"], one["size"][0], one["size"][1], one["sha256"]) for one in described)
    if not listed:
        raise data_error("empty-file", f"`{several}` holds no sentence", file=several)
    warnings = tuple(warning for group in found for warning in group[1])
    parts = CorpusParts(several, folder, listed, warnings, memory, cluster)
    if cache is None:
        weakref.finalize(parts, shutil.rmtree, folder, ignore_errors=True)
    return parts


def remove_parts(folder: Path) -> None:
    """Removes parts and what was compiled from them; the folder too, unless something else is in it."""
    with suppress(OSError):
        for one in list(folder.iterdir()):
            if _OURS.fullmatch(one.name):
                shutil.rmtree(one, ignore_errors=True)
        folder.rmdir()


def data_files(paths: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The files that paths name, those of folders by name; hidden ones are left out. DcrfError if there is none."""
    files: list[Path] = []
    if "" in paths:  # it would be the current folder
        raise data_error("no-file", "the name of a data file is empty", help="name files, or folders of files")
    for path in map(Path, paths):
        if path.is_dir():
            files += files_in(path)
        elif not path.exists() or os.fspath(path) == "-":
            message = f"there is no file or folder `{path}`" if str(path) != "-" else "standard input has no parts"
            raise data_error("no-file", message, help="name files, or folders of files")
        else:
            files.append(path)
    return [file.absolute() for file in files]


def files_in(folder: Path) -> list[Path]:
    """The files of a folder by name; hidden ones are left out. DcrfError if there is none."""
    inside = sorted(one for one in folder.iterdir() if one.is_file() and not one.name.startswith("."))
    if not inside:
        raise data_error("empty-file", f"the folder `{folder}` holds no file", file=str(folder))
    return inside


def _groups(files: Sequence[Path]) -> list[list[Path]]:
    """The files in order, in groups of at least `GROUP_BYTES`, except the last one."""
    groups: list[list[Path]] = [[]]
    size = 0
    for file in files:
        if size >= GROUP_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += file.stat().st_size
    return groups


@dataclass(frozen=True, eq=False)
class _Reading:
    """How the groups of files are read."""

    spec: ModelSpec
    data: DataSpec
    folder: Path
    part_tokens: int
    groups: list[list[Path]]


def read_group(reading: _Reading, number: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Reads a group into parts, unless they are there. The parts with path, size and hash, and warnings."""
    files = reading.groups[number]
    data = json_adapter(DataSpec).dump_json(reading.data).decode()
    how = [PART_VERSION, reading.part_tokens, data, [one.name for one in reading.spec.labels]]
    digest = hashlib.sha256(json.dumps(how).encode())
    for file in files:
        with clear_os_errors(file, READING), open(file, "rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    name = f"text-{digest.hexdigest()[:32]}"
    folder, index = reading.folder / name, reading.folder / name / "index.json"
    if index.exists():
        try:
            known = json.loads(index.read_text(encoding="utf-8"))
            if all((reading.folder / part["path"]).exists() for part in known["parts"]):
                return known["parts"], known["warnings"]
        except (OSError, ValueError, KeyError, TypeError):
            pass  # it is read anew
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[dict[str, Any]] = []
    warnings: list[str] = []
    for corpus in _cut(_stream(reading, files, warnings), reading.part_tokens):
        path = Path(name) / f"part-{len(parts):05}"
        write_text(reading.folder / path, corpus)
        size = [corpus.num_sentences, corpus.num_tokens]
        sha256 = hashlib.sha256(f"{digest.hexdigest()} {len(parts)}".encode()).hexdigest()
        parts.append({"path": str(path), "size": size, "sha256": sha256})
    write_whole(index, [json.dumps({"parts": parts, "warnings": warnings}).encode()])
    return parts, warnings


def _stream(reading: _Reading, files: Sequence[Path], warnings: list[str]) -> Iterator[Corpus]:
    required = [label.name for label in reading.spec.labels]
    for file in files:
        for chunk in stream_corpus(file, reading.data, tokens_per_chunk=CHUNK_TOKENS, required=required, flush=False):
            warnings += chunk.corpus.warnings
            if chunk.corpus.num_tokens:
                yield chunk.corpus


def _cut(stream: Iterator[Corpus], part_tokens: int) -> Iterator[Corpus]:
    """Parts of the sentences of a stream: each ends with the sentence that completes `part_tokens` tokens."""
    waiting: list[Corpus] = []
    tokens = 0
    for chunk in stream:
        first = 0
        while tokens + int(chunk.sentence_off[-1] - chunk.sentence_off[first]) >= part_tokens:
            missing = chunk.sentence_off[first] + part_tokens - tokens
            last = int(np.searchsorted(chunk.sentence_off, missing, side="left"))
            yield joined_corpora([*waiting, chunk.slice(first, last)])
            waiting, tokens, first = [], 0, last
        if first < chunk.num_sentences:
            rest = chunk if first == 0 else chunk.slice(first, chunk.num_sentences)
            waiting.append(rest)
            tokens += rest.num_tokens
    if waiting:
        yield joined_corpora(waiting)


def joined_corpora(corpora: Sequence[Corpus]) -> Corpus:
    """The sentences of several corpora, as if they had been read as one, with the columns that all of them have."""
    if len(corpora) == 1:
        return corpora[0]
    names = [name for name in corpora[0].columns if all(name in corpus.columns for corpus in corpora)]
    lengths = np.concatenate([np.zeros(1, np.int64), *(corpus.lengths() for corpus in corpora)])
    files = dict.fromkeys(corpus.file for corpus in corpora)
    return Corpus(
        " or ".join(files) if len(files) < 4 else f"one of {len(files)} files from {next(iter(files))} on",
        np.cumsum(lengths, dtype=np.int64),
        {name: _joined([corpus.columns[name] for corpus in corpora]) for name in names},
        np.concatenate([corpus.token_line for corpus in corpora]),
    )


def _joined(columns: Sequence[Any]) -> InternedColumn | NumericColumn | BagColumn:
    match columns[0]:
        case NumericColumn():
            return joined_scores(columns)
        case BagColumn():
            return joined_bags(columns)
    code: dict[str, int] = {}  # of each text, in order of first appearance
    codes = []
    for column in columns:
        own = (code.setdefault(text, len(code)) for text in column.values)
        numbers = np.fromiter(own, np.int32, len(column.values))
        codes.append(numbers[column.codes] if len(numbers) else np.zeros(len(column.codes), np.int32))
    return InternedColumn(np.concatenate(codes), list(code))
