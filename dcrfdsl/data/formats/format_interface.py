"""What a format of data consists of, and the decisions that all formats make in the same way.

A format is a file `NAME_format.py` with its reader, its tagger (which writes predictions beside what was read) and its
emitter (which writes a corpus), and with a `DataFormat` that holds these and what a conversion asks. What a template
may say of it, its columns and options, stands in `FORMATS` of `semantics`; `data_format` loads the file by that name,
when it is first asked for.

A file has all declared columns, or all but the optional ones (labels, when tagging). Its first line decides which, and
the other lines must agree. Not here: the formats themselves, values as cells (`written_cells`).
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from importlib import import_module
from io import BufferedIOBase
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

from ...foundation import DcrfError, Diagnostic, Ints, data_error, dataclass, did_you_mean, spelling_remedy
from ...semantics import FORMATS, plain
from ...syntax import Column, ColumnType, DataSpec
from ..column_blocks import Block, open_source
from ..columns import Parsed, Wanted, absent_columns
from ..corpus import Corpus
from ..number_cells import NumberFormat, shown


class LeftOutTexts:
    """Counts what is left out of the gold, or is read in spite of doubts, by reason, with the first line of each."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[int, int]] = {}

    def add(self, reason: str, line: int, what: str = "text") -> None:
        """Counts one more.   what: is left out, in the singular."""
        count, first = self._found.get((what, reason), (0, line))
        self._found[what, reason] = count + 1, first

    def notes(self, file: str) -> Iterator[str]:
        for (what, reason), (count, first) in self._found.items():
            place = f"line {first}" if count == 1 else f"the first in line {first}"
            plural = what if count == 1 else f"{what}s"
            yield f"{file}: {count:,} {plural} {'is' if count == 1 else 'are'} {reason} ({place})"


# readers ----------------------------------------------------------------------------------------------------------


class FileReader:
    """Reads one file; `Reader` reads text, `TableReader` anything else. `DcrfError` for options that it cannot use.

    warnings: so far.   left_out: what of the gold does not count, of which a warning comes at the end.
    """

    def __init__(self, wanted: Wanted):
        self._wanted, self._options = wanted, text_options(wanted.data)
        self.warnings: list[str] = []
        self.left_out = LeftOutTexts()

    def absent_keys(self) -> list[str]:
        """A warning for each column that no token had a value for, in all that was read."""
        return []


class Reader(FileReader):
    """Reads a text block by block, and keeps the decisions of its first line from block to block."""

    bytes_per_token: ClassVar[int]  # an estimate, used to cut blocks of about a wanted number of tokens

    def cut(self, text: bytes) -> int:
        """Number of bytes of `text` up to its last sentence end, by default a blank line; 0 if it has none."""
        return cut_at_blank_line(text)

    def lined(self, block: Block) -> Block:
        """The block with a sentence a line, where the file has no such lines. Called for each block, before `parse`."""
        return block

    def parse(self, block: Block) -> Parsed:
        """The tokens of a block. `DcrfError` with the line of what cannot be read."""
        raise NotImplementedError

    def finish(self) -> None:
        """Called behind the last block. `DcrfError` if the file lacks its end."""


class TableReader(FileReader):
    """Reads a file that is no text."""

    def parts(self, stream: BufferedIOBase, tokens: int) -> Iterator[tuple[Parsed, Block]]:
        """Batches of whole sentences of about so many tokens, each with its rows."""
        raise NotImplementedError


def text_options(data: DataSpec) -> dict[str, str]:
    """The options of the `data` statement as texts; `DcrfError` for one that its format does not have or cannot use."""
    known, options = FORMATS[data.format].options, dict[str, str]()
    for option in data.options:
        name, value = option.name or "", plain(option.value)
        if name not in known:
            guess = did_you_mean(name, known)
            remedy = f"did you mean `{guess}`?" if guess else None
            raise DcrfError(Diagnostic("unknown-setting", f"`{data.format}` has no option `{name}`", help=remedy))
        if not isinstance(value, str) or not known[name].fits(value):
            expected = known[name].expected
            raise DcrfError(Diagnostic("bad-setting", f"`{name}` of `{data.format}`: expected {expected}"))
        options[name] = value
    return options


@dataclass(frozen=True)
class Chunk:
    """Some whole sentences of a file and the bytes they came from. The corpus may be empty (trailing comments).

    places: [S] the line of the block's text that each sentence came from, from 0; None if its line in the file says it.
    """

    corpus: Corpus
    block: Block
    data: DataSpec
    places: Ints | None = None


_BLANK_LINE = re.compile(rb"\n[ \t\r\v\f]*\n")
_TAIL = 1 << 14  # bytes at the end of a block that usually contain a sentence end


def cut_at_blank_line(text: bytes) -> int:
    """End of the last blank line of `text`, 0 if it has none. The first line is not considered."""
    for start in (max(0, len(text) - _TAIL), 0):  # the tail first: searching all of a block is slow
        unix, windows = text.rfind(b"\n\n", start), text.rfind(b"\n\r\n", start)
        if max(unix, windows) >= 0:
            return max(unix + 2 if unix >= 0 else 0, windows + 3 if windows >= 0 else 0)
    return max((match.end() for match in _BLANK_LINE.finditer(text)), default=0)


_REMEMBERED = 200_000  # names of sentences


class SentenceOrder:
    """Checks that the rows of each sentence stand together, where a column tells sentences apart.

    It is told of each sentence in turn, and keeps the names of the last ones, so that memory is bounded: rows that are
    not sorted show soon.   unit: what a number counts, `line` or `row`.
    """

    def __init__(self, file: str, unit: str):
        self._file, self._unit = file, unit
        self._recent: deque[Any] = deque()
        self._seen: set[Any] = set()

    def begin(self, name: Any, number: int) -> None:
        """A sentence begins at a row. `DcrfError` if its name was that of an earlier one, not the one just before."""
        if self._recent and name == self._recent[-1]:
            return
        if name in self._seen:
            message = f"sentence {shown(name)} comes again in {self._unit} {number}, after another sentence"
            remedy = "sort the rows by sentence, or give each sentence a name of its own"
            raise data_error("split-sentence", message, file=self._file, line=number, help=remedy)
        self._seen.add(name)
        self._recent.append(name)
        if len(self._recent) > _REMEMBERED:
            self._seen.discard(self._recent.popleft())


# writers ----------------------------------------------------------------------------------------------------------

Predicted: TypeAlias = Mapping[str, Sequence[str | float | None]]  # name → [N], in written order
Remarks: TypeAlias = Mapping[str, Sequence[str | float | None]]  # name → [S], None if unknown


class Tagger:
    """Writes chunks of one or of several files with predictions for their tokens, and remarks on their sentences."""

    keeps_untagged: ClassVar[bool] = True  # whether a chunk of text without predictions stays as it is

    def write(self, chunk: Chunk, predicted: Predicted, remarks: Remarks) -> bytes:
        """The next bytes of the output."""
        raise NotImplementedError

    def close(self) -> bytes:
        """The last bytes of the output."""
        return b""

    def notes(self) -> Iterator[str]:
        """What the output has no more of the input, for people."""
        return iter(())


class ChunkTagger(Tagger):
    """The tagger of a format whose chunks know nothing of each other. The byte order mark stays in front."""

    def __init__(self, write: Callable[[Chunk, Predicted, Remarks], bytes]):
        self._write = write

    def write(self, chunk: Chunk, predicted: Predicted, remarks: Remarks) -> bytes:
        return chunk.block.bom + self._write(chunk, predicted, remarks)


@dataclass(frozen=True)
class Export:
    """The statement of the output, whose columns are named as those of the source, and the types of these.

    notes: counts what the format changed.
    """

    data: DataSpec
    types: Mapping[str, ColumnType]
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.data.columns

    @property
    def numbers(self) -> NumberFormat:
        return NumberFormat.of(self.data)


class Emitter:
    """Writes corpora as one output. A value that the format cannot hold is a `DcrfError` with its place in the source:
    nothing is changed silently.
    """

    def __init__(self, export: Export):
        self._export = export
        self._begun = False  # whether something was written

    def write(self, corpus: Corpus) -> bytes:
        """The bytes of a chunk."""
        raise NotImplementedError

    def close(self) -> bytes:
        """The last bytes of the output."""
        return b""


# what a conversion asks ---------------------------------------------------------------------------------------------


_MOST_NAMES = 12


@dataclass
class LeftOut:
    """What files have beside the columns that are read: counts of lines and sentences, names of columns or keys."""

    counts: Counter[str] = field(default_factory=Counter)
    names: dict[str, None] = field(default_factory=dict)

    def words(self) -> Iterator[str]:
        for what, count in self.counts.items():
            if count:
                yield f"{what} ({count:,})"
        if self.names:
            names = list(self.names)
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            yield f"columns {', '.join(f'`{name}`' for name in names[:_MOST_NAMES])}{more}"


def header_name(column: Column) -> str:
    """The name of a column in the first row: `pos`, or the text of `column("Part of speech")`."""
    return column.source if column.key is None else column.key


def near_column(name: str, names: Sequence[str]) -> str | None:
    """What to do about a name that a file does not have, by a near one that it has; None without."""
    guess = did_you_mean(name, names)
    near = guess if guess is None or guess.isidentifier() else f'column("{guess}")'
    return None if near is None else f"did you mean `{name} = {near}`?"


def named_columns(
    wanted: Wanted, names: Sequence[str], found: str, sentence: str | None = None, *, line: int | None = None,
    remedy: Callable[[str, Sequence[str]], str | None] = near_column,
) -> tuple[Column, ...]:  # fmt: skip
    """The columns of a file that names them: all, or all but the optional ones. `DcrfError` if it lacks others, the
    column `sentence` among them, or has two of one name.

    names: of the file.   found: who has them, as `the file has`.   line: where.   remedy: of a name that is absent.
    """
    absent = {column.name: header_name(column) for column in wanted.columns if header_name(column) not in names}
    unlabelled = absent.keys() == wanted.optional.intersection(column.name for column in wanted.columns)
    asked = list(absent.values()) if not unlabelled or absent.keys() & wanted.required else []
    asked += [] if sentence is None or sentence in names else [sentence]
    if asked:
        listed = " ".join(f"`{name}`" for name in names[:_MOST_NAMES])
        raise absent_columns(asked, wanted, line, f"{found} {listed}", remedy(asked[0], names))
    there = tuple(column for column in wanted.columns if column.name not in absent)
    used = [*map(header_name, there), *filter(None, [sentence])]
    twice = next((name for name in used if names.count(name) > 1), None)
    if twice is not None:
        message = f"{found} {names.count(twice)} columns `{twice}`, and one is to be read"
        raise data_error("bad-header", message, file=wanted.file, line=line, help="give each column a name of its own")
    return there


PREFIX = "predicted_"  # what the names of new columns begin with, so that no column of the file is lost


_BEGINNING = 1 << 22  # bytes in which the names of columns are looked for


def beginning_of(path: str | Path) -> bytes:
    """The first bytes of a file, without its byte order mark."""
    with open_source(path) as (_, stream):
        return stream.read(_BEGINNING).removeprefix(b"\xef\xbb\xbf")


class Placed(NamedTuple):
    """The columns of an output, and the names of the columns of the source that have no place in it."""

    columns: tuple[Column, ...]
    left_out: tuple[str, ...] = ()


def by_name(columns: Iterable[Column], segments: Collection[str] = ()) -> Placed:
    """Each column under its own name."""
    return Placed(tuple(Column(name=column.name, source=column.name) for column in columns))


# names of columns that mean the words
FORM_NAMES = ("form", "word", "token", "tokens", "words", "text", "w", "x")


# the lines of a sentence --------------------------------------------------------------------------------------------

LineSpan: TypeAlias = tuple[int, int]  # lines of a block: first, last (excluded)
_SPACE = " \t\r\v\f"  # of ASCII: a no-break space is part of a word


class SentenceLines(NamedTuple):
    """Which lines of a block are those of a sentence.

    span: from the lines of the block, the first one behind the sentence before, and the lines of the first and the last
        token, to the lines of the sentence.
    part: adds to lines what has to stand between two sentences.
    by_blank_row: whether a blank row ends a sentence; else a line is one.
    """

    span: Callable[[Sequence[str], int, int, int], LineSpan]
    part: Callable[[list[str]], None]
    by_blank_row: bool = True


def _paragraph(lines: Sequence[str], done: int, first: int, last: int) -> LineSpan:
    """From the first non-blank line to the blank line that ends the sentence."""
    start, end = done, last + 1
    while not lines[start].strip(_SPACE):
        start += 1
    while end < len(lines) and lines[end].strip(_SPACE):
        end += 1
    return start, min(end + 1, len(lines))


def add_blank_line(lines: list[str]) -> None:
    """Adds a blank line after the last sentence of a file, which may lack one."""
    if lines[-1].strip(_SPACE):
        lines.append("")
    if len(lines) > 1 and lines[-2].endswith("\r"):
        lines[-1] = "\r"


PARAGRAPHS = SentenceLines(_paragraph, add_blank_line)
SINGLE_LINES = SentenceLines(lambda lines, done, first, last: (first, last + 1), lambda lines: None, by_blank_row=False)


# the format ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DataFormat:
    """What there is to do with files of a format.

    reader: makes the reader of a file from what is wanted of it.
    tagger: makes the tagger of an output.
    emitter: makes the emitter of an output; None if no data are converted to the format.
    sentences: the lines of a sentence.
    suffixes: ends of file names that mean the format.
    columns_of: the columns of a file, from its path and the `data` statement; None if the format names none.
    placed: the columns of an output for those of the source, and `segments`, the names of those that mark segments.
    place_names: where a column goes in an output, from it and the options, in words; None if columns go by order.
    look: tells `LeftOut` what a chunk has beside the columns of the names given; None if it has nothing.
    gold_kept: the value of the option `predictions` by which an output keeps the gold of its input, if there is one.
    has_numbers: whether predictions may be numbers, and not only texts.
    """

    reader: Callable[[Wanted], Reader | TableReader]
    tagger: Callable[[], Tagger]
    emitter: Callable[[Export], Emitter] | None = None
    sentences: SentenceLines = PARAGRAPHS
    suffixes: tuple[str, ...] = ()
    columns_of: Callable[[str, DataSpec], Sequence[Column]] | None = None
    placed: Callable[[Sequence[Column], Collection[str]], Placed] = by_name
    place_names: Callable[[Column, Mapping[str, str]], Sequence[str]] | None = None
    look: Callable[[LeftOut, Chunk, Collection[str]], None] | None = None
    gold_kept: str | None = None
    has_numbers: bool = False


def header_places(column: Column, options: Mapping[str, str]) -> Sequence[str]:
    """The `place_names` of formats with named columns."""
    return [header_name(column)]


# formats by name ----------------------------------------------------------------------------------------------------

_IN_FILE_OF = {"tsv": "csv", "grmm": "crfsuite"}  # formats that share the file of another one


@cache
def data_format(name: str) -> DataFormat:
    """The format `name`. `DcrfError` if there is none."""
    if name not in FORMATS:
        remedy = spelling_remedy(FORMATS.suggest(name), f"known formats: {', '.join(FORMATS)}")
        raise DcrfError(Diagnostic("unknown-format", f"`{name}` is not a data format", help=remedy))
    found: DataFormat = import_module(f".{_IN_FILE_OF.get(name, name)}_format", __package__).FORMATS[name]
    return found


def written_formats() -> list[str]:
    """The formats that data can be converted to."""
    return [name for name in FORMATS if data_format(name).emitter is not None]


def format_of_suffix(suffix: str) -> str | None:
    """The format that an ending of a file name means, as `.csv`; None if it means none."""
    return next((name for name in FORMATS if suffix in data_format(name).suffixes), None)


def discovered(path: str, data: DataSpec) -> DataSpec:
    """The statement with all columns of the file. `DcrfError` if the format does not name its columns."""
    columns_of = data_format(data.format).columns_of
    if columns_of is None:
        message = f"`{data.format}` does not say how the columns of `{path}` are called"
        remedy = f"name them in order: --from '{data.format}(word, pos)'; or take those of a template: --template"
        raise DcrfError(Diagnostic("missing-column", message, help=remedy))
    if path == "-":
        message = "the names of the columns cannot be looked up in what comes through a pipe"
        raise DcrfError(Diagnostic("missing-column", message, help=f"name them: --from '{data.format}(word, pos)'"))
    return data.model_copy(update={"columns": tuple(columns_of(path, data))})


def check_places(data: DataSpec, source: DataSpec) -> None:
    """`DcrfError` if the output has one place for two columns, or a place that no reader finds again.

    source: what the columns are read from. Labels that are read from one list of spans are written into one.
    """
    names_of = data_format(data.format).place_names
    if names_of is None:
        return
    options, taken = text_options(data), dict[str, str]()
    lists = {f"`{column.name}`": column.key for column in source.columns if column.source == "spans"}
    if "sentence" in options and data.format in ("csv", "tsv"):
        taken[options["sentence"]] = "the number of the sentence"
    for column in data.columns:
        for place in names_of(column, options):
            one_list = f"`{column.name}`" in lists and lists[f"`{column.name}`"] == lists.get(taken.get(place, ""), "")
            if place in taken and not one_list:
                message = f"`{data.format}` has one place `{place}`, and {taken[place]} and `{column.name}` go there"
                raise DcrfError(Diagnostic("declared-twice", message, help="give each a place of its own"))
            taken[place] = f"`{column.name}`"
