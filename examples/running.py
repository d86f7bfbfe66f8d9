"""What the examples share: options of a run, the log of finished trainings, sentences of a corpus, cells of tables.

An example is a folder whose `run.py` is started by itself. Not here: what an example trains and what it compares.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

from dcrfdsl import DcrfError
from dcrfdsl.data import Corpus, InternedColumn
from dcrfdsl.foundation import Ints

Record = dict[str, Any]
J = TypeVar("J", bound=tuple[Any, ...])
J_contra = TypeVar("J_contra", contravariant=True)
T = TypeVar("T")

say = Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print


# options and ends ---------------------------------------------------------------------------------------------------


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """A parser that is described by the first paragraph of a docstring."""
    return argparse.ArgumentParser(description=" ".join((doc or "").split("\n\n")[0].split()))


def add_options(parser: argparse.ArgumentParser, *, quick: str, beside: str = "", seed: str = "") -> None:
    """The options of every run. quick, seed: their help; without that of `seed` there is none.

    beside: the files that are written beside that of `--out`.
    """
    parser.add_argument("--quick", action="store_true", help=quick)
    also = f"also {beside}" if beside else None
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.json", help=also)
    parser.add_argument("--threads", type=int, metavar="N", help="default: DCRFDSL_THREADS, else all cores")
    if seed:
        parser.add_argument("--seed", type=int, default=0, help=seed)


@contextmanager
def refusals(*kinds: type[Exception]) -> Iterator[None]:
    """What is wrong with files or a template, and errors of these `kinds`, end the program by their message."""
    refused: tuple[type[Exception], ...] = (DcrfError, OSError, *kinds)
    try:
        yield
    except refused as error:
        raise SystemExit(str(error)) from None


def exit_status(result: Mapping[str, Any]) -> int:
    """130 if Ctrl-C has ended the run."""
    return 0 if result["complete"] else 130


def write(result: Mapping[str, Any], out: Path) -> None:
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def say_differences(texts: Iterable[str]) -> None:
    say("\nWhat differs from the paper:")
    for text in dict.fromkeys(texts):
        say(f"* {text}")


# trainings ----------------------------------------------------------------------------------------------------------


class Laboratory(Protocol[J_contra]):
    """Runs the trainings of an example. A fingerprint is of all that the outcome of one depends on."""

    def fingerprint(self, job: J_contra) -> str: ...

    def run(self, job: J_contra) -> Record: ...


class Log(Generic[J]):
    """The trainings that have finished, one JSON object a line, by job and fingerprint. `job` is the class of jobs."""

    def __init__(self, path: Path, job: type[J]):
        self.path, self.job = path, job
        self.records: dict[tuple[J, str], Record] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:
                    continue  # the line that was being written when the run was stopped
                self._keep(record)

    def add(self, record: Record) -> None:
        # A broken last line must not take the new one with it.
        broken = self.path.exists() and self.path.read_bytes()[-1:] not in (b"", b"\n")
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * broken + json.dumps(record) + "\n")
        self._keep(record)

    def record(self, lab: Laboratory[J], job: J, line: Callable[[Record], str] | None = None) -> Record:
        """The record of a job, which is run if the log has none; `line` says what has come of it."""
        known = (job, lab.fingerprint(job))
        if known not in self.records:
            self.add(lab.run(job))
            if line is not None:
                say(f"{job}: {line(self.records[known])}")
        return self.records[known]

    def say_stopped(self) -> None:
        say(f"stopped; the same command goes on with what {self.path} does not have yet")

    def _keep(self, record: Record) -> None:
        fields: tuple[str, ...] = self.job._fields  # type: ignore[attr-defined]
        self.records[self.job(*(_frozen(record[name]) for name in fields)), record["inputs"]] = record


def _frozen(value: Any) -> Any:
    """JSON has lists where jobs have tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def fingerprint(text: str, corpora: Iterable[Corpus]) -> str:
    """Of a text and of all that corpora hold."""
    digest = hashlib.sha256(text.encode())
    for corpus in corpora:
        digest.update(corpus.sentence_off.tobytes())
        for name in corpus.columns:
            column = corpus.text_column(name)
            digest.update("\0".join(column.values).encode())
            digest.update(column.codes.tobytes())
    return digest.hexdigest()[:16]


class Timed(NamedTuple):
    """In seconds of wall clock, and of all threads' processor time."""

    seconds: float
    cpu_seconds: float


def timed(function: Callable[[], T]) -> tuple[T, Timed]:
    """What a function gives, and how long it takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = function()
    return found, Timed(time.perf_counter() - wall, time.process_time() - cpu)


# data and tables ----------------------------------------------------------------------------------------------------


def sentences_of(corpus: Corpus, sentences: Ints) -> Corpus:
    """Some sentences of a corpus, in the order given, with their values only."""
    lengths = corpus.lengths()[sentences]
    off = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    tokens = np.repeat(corpus.sentence_off[sentences] - off[:-1], lengths) + np.arange(off[-1])
    columns = {
        name: InternedColumn(corpus.text_column(name).codes[tokens], corpus.text_column(name).values)
        for name in corpus.columns
    }
    # `slice` interns the columns anew.
    return Corpus(corpus.file, off, columns, corpus.token_line[tokens], corpus.warnings).slice(0, len(sentences))


def tags_of_words(text: str) -> str:
    """A lexicon as a template reads it: lines of a word, a TAB and its tags as one text, `plan<TAB>NN|VB`.

    text: lines of a word and its tags, split by spaces; of a word that comes twice the first line counts.
    """
    rows = [line.split() for line in text.split("\n")]
    table = {row[0]: "|".join(row[1:]) for row in reversed(rows) if len(row) > 1}
    return "".join(f"{word}\t{tags}\n" for word, tags in table.items())


def empty_table(first: str, *others: str, left: Collection[str] = (), **options: Any) -> Table:
    """A table without rows: its first column and those in `left` begin at the left, the others end at the right."""
    table = Table(box=None, pad_edge=False, header_style="bold", **options)
    table.add_column(first)
    for heading in others:
        table.add_column(heading, justify="left" if heading in left else "right")
    return table


def chance(p: float | None) -> str:
    """The p of a test."""
    if p is None:
        return ""
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"
