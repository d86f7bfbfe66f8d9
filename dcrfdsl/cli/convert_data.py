"""`dcrfdsl convert DATA --to FORMAT`: data from one format to another, in bounded memory.

Source and target are said in the language of the `data` statement: `conll(word, pos)`, `csv(word = Token, sentence =
"id")`. Not here: the command itself, which also converts templates and models.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..foundation import DcrfError, did_you_mean
from .console import Talk, refuse
from .output_clashes import Output, refuse_clash

if TYPE_CHECKING:
    from ..data import Chunk, Emitter
    from ..semantics import Column, DataSpec, ModelSpec

_TOKENS_AT_ONCE = 50_000


def convert_data(
    data: str,
    to: str | None,
    *,
    output: str | Path | None = None,
    source: str | None = None,
    template: str | None = None,
    scheme: str | None = None,
    quiet: bool = False,
) -> None:
    """Writes the data file `data` (`-` is stdin) in another format, to `output` or to stdout.

    to: the format, alone or with columns and options as in a `data` statement: `jsonl`, `conllu(word = form, upos)`.
        None: that of the source.
    source: the same for the file that is read; a format alone takes the columns that the file names itself.
    template: a template whose `data` statement tells the same, and whose labels mark segments.
    scheme: `bioes` or `ner=bioes`, in which the segments of columns are marked anew.

    Without `source` and `template` the ending of the name decides. What the output has no place for is said on stderr;
    a value that it cannot hold is a `DcrfError`, and no file is written.
    """
    from .convert_model import is_crfsuite_model

    if is_crfsuite_model(data):
        option = "--scheme" if to is None else "--to"
        refuse("idle-option", f"`{option}` is for data, and `{data}` is a model of CRFsuite", f"leave `{option}` out")
    talk = Talk(quiet)
    read, segments = _source(data, source, template)
    target = read if to is None else _statement(to, "--to")
    conversion = _Conversion(data, read, target, segments, _marked_anew(scheme, read, segments), talk)
    if output is None:
        for part in conversion.parts():
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()  # before the notes
    else:
        refuse_clash([Output("-o", output)], (data, template))
        if os.path.exists(output):
            refuse("file-exists", f"`{output}` exists already", "choose another name, or remove it first")
        from ..foundation import write_whole

        write_whole(output, conversion.parts())
        sizes = _counted(conversion.sentences, "sentence"), _counted(conversion.tokens, "token")
        talk(f"{output} written: {', '.join(sizes)}")
    for note in conversion.notes():
        talk(note)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _source(path: str, source: str | None, template: str | None) -> tuple[DataSpec, Collection[str]]:
    """How the file is read, and which of its columns mark segments."""
    from ..data import SUFFIXES, discovered
    from ..semantics import DataSpec, Scheme

    if source is not None and template is not None:
        refuse("bad-argument", "`--from` and `--template` both say how the data are read", "leave out one")
    if template is not None:
        spec = _template(template)
        assert spec.data is not None
        marked = [label.name for label in spec.labels if isinstance(label.domain, Scheme)]
        return spec.data, {*marked, *(column.name for column in spec.data.columns if column.source == "spans")}
    if source is not None:
        data = _statement(source, "--from")
    elif (suffix := Path(path).suffix.lower()) in SUFFIXES:
        data = DataSpec(format=SUFFIXES[suffix], columns=())
    else:
        refuse(
            "unknown-format", f"the name of `{path}` does not tell its format",
            "say it: --from 'conll(word, pos)', --from csv, or --template FILE",
        )  # fmt: skip
    data = data if data.columns else discovered(path, data)
    return data, [column.name for column in data.columns if column.source == "spans"]


def _marked_anew(scheme: str | None, read: DataSpec, segments: Collection[str]) -> dict[str, str]:
    """The new scheme of each column whose segments are marked anew."""
    from ..semantics import SCHEMES

    if scheme is None:
        return {}
    column, named, name = scheme.rpartition("=")
    if name not in SCHEMES:
        guess = SCHEMES.suggest(name)
        known = ", ".join(f"`{one}`" for one in SCHEMES)
        refuse(
            "bad-argument", f"`{name}` is no {SCHEMES.kind}", f"did you mean `{guess}`?" if guess else f"known: {known}"
        )
    columns = [one.name for one in read.columns]
    if named and column not in columns:
        guess = did_you_mean(column, columns)
        remedy = f"did you mean `{guess}`?" if guess else f"the columns are {', '.join(columns)}"
        refuse("missing-column", f"`--scheme` names the column `{column}`, which the data lack", remedy)
    return dict.fromkeys([column] if named else [one for one in columns if one in segments] or columns[-1:], name)


def _template(path: str) -> ModelSpec:
    from .inputs import resolved_template

    resolved = resolved_template(path, None, None)
    spec = resolved.require()
    if spec.data is None:
        refuse("no-data", f"`{path}` has no `data` statement, so that it tells no format", "name it: --from FORMAT")
    return spec


def _statement(text: str, option: str) -> DataSpec:
    """The `data` statement of an option."""
    from ..data import EMITTERS, READERS
    from ..semantics import load_text

    resolved = load_text(f"data {text}\n", option)
    errors = [problem for problem in resolved.diagnostics if problem.severity == "error"]
    if errors or resolved.spec.data is None:
        raise DcrfError(errors) if errors else AssertionError(text)
    data, known = resolved.spec.data, READERS if option == "--from" else EMITTERS
    if data.format not in known:
        guess = known.suggest(data.format)
        remedy = f"did you mean `{guess}`?" if guess else f"known formats: {', '.join(known)}"
        refuse("unknown-format", f"`{data.format}` is no {known.kind}", remedy)
    return data


class _Conversion:
    """One file on its way; counts what is written and what is left out."""

    def __init__(
        self,
        path: str,
        read: DataSpec,
        target: DataSpec,
        segments: Collection[str],
        schemes: Mapping[str, str],
        talk: Talk,
    ):
        from ..data import LeftOut

        self._path, self._read, self._target, self._segments, self._talk = path, read, target, segments, talk
        self._schemes = schemes
        self._left = LeftOut()
        self._emitter: Emitter | None = None
        self._kept: Sequence[str] = ()
        self._changed: dict[str, int] = {}
        self.sentences = self.tokens = 0

    def parts(self) -> Iterator[bytes]:
        """The bytes of the output, chunk after chunk."""
        from ..data import remarked, stream_corpus

        waiting: list[Chunk] = []  # before the first token
        labels = frozenset(self._segments) if self._read.format == "spans" else frozenset()
        for chunk in stream_corpus(
            self._path, self._read, tokens_per_chunk=_TOKENS_AT_ONCE, optional=labels, flush=False
        ):
            for warning in chunk.corpus.warnings:
                self._talk(f"warning: {warning}")
            for column, scheme in self._schemes.items() if chunk.corpus.num_tokens else ():
                chunk = replace(chunk, corpus=remarked(chunk.corpus, column, scheme))
            if self._emitter is None and chunk.corpus.num_tokens:
                self._emitter = self._begun(chunk)
            waiting.append(chunk)
            if self._emitter is None:
                continue
            for seen in waiting:
                self._left.look(seen, self._kept)
            waiting = []
            if chunk.corpus.num_tokens:
                self.sentences += chunk.corpus.num_sentences
                self.tokens += chunk.corpus.num_tokens
                yield self._emitter.write(chunk.corpus)
        if self._emitter is None:  # there is no token: what a file of the format has beside its tokens
            self._emitter = self._begun(waiting[-1])
            for seen in waiting:
                self._left.look(seen, self._kept)
            yield self._emitter.write(waiting[-1].corpus)
        yield self._emitter.close()

    def _begun(self, chunk: Chunk) -> Emitter:
        from ..data import EMITTERS, Export, check_places, columns_in

        there = [column for column in self._read.columns if column.name in chunk.corpus.columns]
        types = {column.name: column.type for column in there}
        if self._target.columns:
            columns: Sequence[Column] = self._target.columns
            self._check_names(columns, types)
            kept = {column.name for column in columns}
            places = tuple(column.name for column in there if column.name not in kept)
        else:
            columns, places = columns_in(self._target.format, there, self._segments)
        self._kept = [column.name for column in columns]
        self._left.names.update(dict.fromkeys(places))
        data = self._target.model_copy(update={"columns": tuple(columns)})
        check_places(data, self._read)
        export = Export(data, types)
        self._changed = export.notes
        return EMITTERS[self._target.format](export)

    def _check_names(self, columns: Sequence[Column], known: Collection[str]) -> None:
        for column in columns:
            if column.name not in known:
                guess = did_you_mean(column.name, known)
                remedy = f"did you mean `{guess}`?" if guess else f"its columns are {', '.join(known)}"
                refuse("missing-column", f"`--to` names the column `{column.name}`, which the source lacks", remedy)

    def notes(self) -> Iterator[str]:
        """What the output does not hold, for the end."""
        left = "; ".join(self._left.words())
        if left:
            yield f"note: left out, as `{self._target.format}` here has no place for it: {left}"
        for what, count in self._changed.items():
            yield f"note: {what} ({count:,})"
