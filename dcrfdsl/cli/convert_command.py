"""`dcrfdsl convert`: what other tools have, as a template or a model of ours; data as another format.

Data are converted in bounded memory. Source and target are said in the language of the `data` statement:
`conll(word, pos)`, `csv(word = Token, sentence = "id")`. Not here: reading templates of other tools (`convert`), models
of CRFsuite (`crfsuite`), formats (`data.formats`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import click

from .. import convert as convert_room, crfsuite, data as data_room, semantics, syntax
from ..foundation import DcrfError, did_you_mean, shell_word, spelling_remedy, write_whole
from .command_files import Output, named, read_text, refuse_clash
from .console import INPUT_ERROR, Talk, print_diagnostics, refuse
from .options import Argument, Option, Quiet, is_stdout

MOST_COUNTED = 1 << 20  # bytes of a data file in which its first line must end


def convert(
    source: Annotated[str, Argument("FILE")],
    output: Annotated[Path | None, Option("FILE", short="-o", dash=True)] = None,
    tool: Annotated[str | None, Option("TOOL", name="--from")] = None,
    to: Annotated[str | None, Option("FORMAT")] = None,
    scheme: Annotated[str | None, Option("[COLUMN=]SCHEME")] = None,
    template: Annotated[str | None, Option("FILE")] = None,
    columns: Annotated[str | None, Option("NAMES")] = None,
    label: Annotated[str | None, Option("NAME")] = None,
    data: Annotated[str | None, Option("FILE")] = None,
    quiet: Quiet = False,
) -> None:
    """Convert templates and models of other tools, or data."""
    given, output = output, None if is_stdout(output) else output
    refuse_clash([Output("-o", output)], (source, template, data))
    of_templates = {"--columns": columns, "--label": label, "--data": data}
    if to is not None or scheme is not None:
        option = "--to" if scheme is None else "--scheme"
        purpose = f"templates of other tools, and with `{option}` the file is data"
        _refuse_idle(of_templates, purpose, "use `--from` and `--to`")
        convert_data(source, to, output=output, source=tool, template=template, scheme=scheme, quiet=quiet)
        return
    if template is not None:
        message = "`--template` reads data to be converted, and no format is given"
        refuse("needs-to", message, "add `--to FORMAT` or `--scheme`")
    if is_crfsuite_model(source):
        _refuse_idle(of_templates | {"--from": tool}, f"templates and data, and `{source}` is a model", "leave it out")
        if given is not None and output is None:
            refuse("bad-argument", "a model is not written to stdout", "give the name of a file after `-o`")
        convert_model(source, output, Talk(quiet))
        return
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    counted = None if data is None else _columns_of(data)
    name = named(source)
    made = convert_room.convert_template(
        read_text(source), name=name, tool=tool, columns=names, label=label, data_columns=counted
    )
    if output is None:
        print(made.template, end="")
    else:
        refuse_existing(output)
        write_whole(output, (made.template.encode(),))
    print_diagnostics(item for item in made.remarks if item.severity == "error" or not quiet)
    if output is not None:
        talk = Talk(quiet)
        talk(f"{output} written; next:")
        talk(f"  dcrfdsl check {shell_word(output)}{f' --data {shell_word(data)}' if data else ''}")
    if not made.complete:
        raise click.exceptions.Exit(INPUT_ERROR)


def refuse_existing(output: str | Path) -> None:
    if os.path.exists(output):
        refuse("file-exists", f"`{output}` exists already", "choose another name, or remove it first")


def _refuse_idle(options: Mapping[str, str | None], purpose: str, remedy: str) -> None:
    for name, given in options.items():
        if given is not None:
            refuse("idle-option", f"`{name}` is for {purpose}", remedy)


def _columns_of(path: str) -> int:
    """The number of columns of a data file; of labels, where `----` stands behind them."""
    with open(path, "rb") as file:
        text = file.read(MOST_COUNTED).decode("utf-8-sig", errors="replace")
    return convert_room.columns_of_data(text, path)


# data ----------------------------------------------------------------------------------------------------------------


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

    if is_crfsuite_model(data):
        option = "--scheme" if to is None else "--to"
        refuse("idle-option", f"`{option}` is for data, and `{data}` is a model of CRFsuite", f"leave `{option}` out")
    talk = Talk(quiet)
    read, segments = _source(data, source, template)
    target = read if to is None else said_format(to, "--to")
    conversion = _Conversion(data, read, target, segments, _marked_anew(scheme, read, segments), talk)
    if output is None:
        for part in conversion.parts():
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()  # before the notes
    else:
        refuse_clash([Output("-o", output)], (data, template))
        refuse_existing(output)
        write_whole(output, conversion.parts())
        sizes = _counted(conversion.sentences, "sentence"), _counted(conversion.tokens, "token")
        talk(f"{output} written: {', '.join(sizes)}")
    for note in conversion.notes():
        talk(note)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _source(path: str, source: str | None, template: str | None) -> tuple[syntax.DataSpec, Collection[str]]:
    """How the file is read, and which of its columns mark segments."""
    if source is not None and template is not None:
        refuse("bad-argument", "`--from` and `--template` both say how the data are read", "leave out one")
    if template is not None:
        from .command_files import resolved_template

        spec = resolved_template(template, None, None).require()
        if spec.data is None:
            message = f"`{template}` has no `data` statement, so that it tells no format"
            refuse("no-data", message, "name it: --from FORMAT")
        marked = [label.name for label in spec.labels if isinstance(label.domain, syntax.Scheme)]
        return spec.data, {*marked, *(column.name for column in spec.data.columns if column.source == "spans")}
    if source is not None:
        data = said_format(source, "--from")
    elif (name := data_room.format_of_suffix(Path(path).suffix.lower())) is not None:
        data = syntax.DataSpec(format=name, columns=())
    else:
        remedy = "say it: --from 'conll(word, pos)', --from csv, or --template FILE"
        refuse("unknown-format", f"the name of `{path}` does not tell its format", remedy)
    data = data if data.columns else data_room.discovered(path, data)
    return data, [column.name for column in data.columns if column.source == "spans"]


def _marked_anew(scheme: str | None, read: syntax.DataSpec, segments: Collection[str]) -> dict[str, str]:
    """The new scheme of each column whose segments are marked anew."""
    if scheme is None:
        return {}
    column, named, name = scheme.rpartition("=")
    if name not in semantics.SCHEMES:
        remedy = spelling_remedy(
            semantics.SCHEMES.suggest(name), f"known: {', '.join(f'`{one}`' for one in semantics.SCHEMES)}"
        )
        refuse("bad-argument", f"`{name}` is no {semantics.SCHEMES.kind}", remedy)
    columns = [one.name for one in read.columns]
    if named and column not in columns:
        remedy = spelling_remedy(did_you_mean(column, columns), f"the columns are {', '.join(columns)}")
        refuse("missing-column", f"`--scheme` names the column `{column}`, which the data lack", remedy)
    return dict.fromkeys([column] if named else [one for one in columns if one in segments] or columns[-1:], name)


def said_format(text: str, option: str) -> syntax.DataSpec:
    """The format that is named after an option, with its columns and options, if any."""
    resolved = semantics.load_text(f"data {text}\n", option)
    errors = [problem for problem in resolved.diagnostics if problem.severity == "error"]
    if errors or resolved.spec.data is None:
        raise DcrfError(errors) if errors else AssertionError(text)
    data, reads = resolved.spec.data, option == "--from"
    known = list(semantics.FORMATS) if reads else data_room.written_formats()
    if data.format not in known:
        guess = semantics.FORMATS.suggest(data.format) or data_room.format_of_suffix(f".{data.format}")
        remedy = f"did you mean `{guess}`?" if guess in known else f"known formats: {', '.join(known)}"
        refuse("unknown-format", f"`{data.format}` is no {'data' if reads else 'output'} format", remedy)
    return data


class _Conversion:
    """One file on its way; counts what is written and what is left out."""

    def __init__(
        self, path: str, read: syntax.DataSpec, target: syntax.DataSpec, segments: Collection[str],
        schemes: Mapping[str, str], talk: Talk,
    ):  # fmt: skip
        self._path, self._read, self._target, self._segments, self._talk = path, read, target, segments, talk
        self._schemes = schemes
        self._left = data_room.LeftOut()
        self._emitter: data_room.Emitter | None = None
        self._kept: Sequence[str] = ()
        self._changed: dict[str, int] = {}
        self.sentences = self.tokens = 0

    def parts(self) -> Iterator[bytes]:
        """The bytes of the output, chunk after chunk."""
        waiting: list[data_room.Chunk] = []  # before the first token
        labels = frozenset(self._segments) if self._read.format == "spans" else frozenset()
        for chunk in data_room.stream_corpus(
            self._path, self._read, tokens_per_chunk=_TOKENS_AT_ONCE, optional=labels, flush=False
        ):
            for warning in chunk.corpus.warnings:
                self._talk(f"warning: {warning}")
            for column, scheme in self._schemes.items() if chunk.corpus.num_tokens else ():
                chunk = replace(chunk, corpus=data_room.remarked(chunk.corpus, column, scheme))
            if self._emitter is None and chunk.corpus.num_tokens:
                self._emitter = self._begun(chunk)
            waiting.append(chunk)
            if self._emitter is None:
                continue
            for seen in waiting:
                self._look(seen)
            waiting = []
            if chunk.corpus.num_tokens:
                self.sentences += chunk.corpus.num_sentences
                self.tokens += chunk.corpus.num_tokens
                yield self._emitter.write(chunk.corpus)
        if self._emitter is None:  # there is no token: what a file of the format has beside its tokens
            self._emitter = self._begun(waiting[-1])
            for seen in waiting:
                self._look(seen)
            yield self._emitter.write(waiting[-1].corpus)
        yield self._emitter.close()

    def _begun(self, chunk: data_room.Chunk) -> data_room.Emitter:
        there = [column for column in self._read.columns if column.name in chunk.corpus.columns]
        types = {column.name: column.type for column in there}
        if self._target.columns:
            columns: Sequence[syntax.Column] = self._target.columns
            unknown = next((column.name for column in columns if column.name not in types), None)
            if unknown is not None:
                remedy = spelling_remedy(did_you_mean(unknown, types), f"its columns are {', '.join(types)}")
                refuse("missing-column", f"`--to` names the column `{unknown}`, which the source lacks", remedy)
            kept = {column.name for column in columns}
            places = tuple(column.name for column in there if column.name not in kept)
        else:
            columns, places = data_room.data_format(self._target.format).placed(there, self._segments)
        self._kept = [column.name for column in columns]
        self._left.names.update(dict.fromkeys(places))
        data = self._target.model_copy(update={"columns": tuple(columns)})
        data_room.check_places(data, self._read)
        export = data_room.Export(data, types)
        self._changed = export.notes
        emitter = data_room.data_format(self._target.format).emitter
        assert emitter is not None  # as `_statement` has checked
        return emitter(export)

    def _look(self, chunk: data_room.Chunk) -> None:
        if (look := data_room.data_format(chunk.data.format).look) is not None:
            look(self._left, chunk, self._kept)

    def notes(self) -> Iterator[str]:
        """What the output does not hold, for the end."""
        left = "; ".join(self._left.words())
        if left:
            yield f"note: left out, as `{self._target.format}` here has no place for it: {left}"
        for what, count in self._changed.items():
            yield f"note: {what} ({count:,})"


# models of CRFsuite --------------------------------------------------------------------------------------------------


MAGIC = b"lCRF"


def is_crfsuite_model(path: str) -> bool:
    """Whether a file begins as a CRFsuite model does; pipes are never read."""
    if not Path(path).is_file():
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:  # who reads it says so
        return False


def convert_model(path: str, output: Path | None, talk: Talk) -> None:
    """Writes the CRFsuite model at `path` as a model file, by default beside it with the ending `.model`.

    DcrfError if it is no such model, a damaged one, or cannot be written.
    """
    from . import report

    target = Path(path).with_suffix(".model") if output is None else output
    refuse_clash([Output("-o", target)], (path,))
    refuse_existing(target)
    read = crfsuite.read_crfsuite_file(path)
    model = crfsuite.native_model(read, path)
    model.save(target)
    talk(f"{len(read.labels):,} labels, {len(read.attributes):,} attributes, {model.num_weights:,} weights")
    if left_out := sum(isinstance(name, bytes) for name in read.attributes):
        talk(f"warning: {left_out:,} attributes are not UTF-8, so that no text has them; they are left out")
    name = shell_word(target)
    talk(f"{target} written ({report.file_size(target)}); next:")
    talk(f"  dcrfdsl tag {name} FILE")
    talk(f"  dcrfdsl show {name} --template > chain.dcrf")
