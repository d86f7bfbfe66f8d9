"""The format `spans`: JSON, each value a running text with labelled spans of characters (`span_records`).

A line is one sequence, or a record of the one array that the file is (`json_lines`). The option `tokenizer` cuts its
text into tokens, and a column with the source `spans` holds at each token the mark of its segment, in the scheme of the
label of that name (`bio` without one). Other sources: `token`, its offsets `start` and `end`, and `space` (`yes` if
white space or nothing stands before it). Where labels are read, texts are left out whose annotation somebody rejected
(`json_lines`). A label that declares its types, and reads the rest as `O`, takes the spans of its types alone.

Predicted spans take the place of those of a line, in their style. With `predictions = "apart"` they stand in an object
`predicted`, beside the spans of the file; so does what is no segment (marginals, ranks), with the offsets of its
`tokens`. Label Studio has a place for predictions, and they go there. A column of numbers `LABEL_segment_confidence` is
the probability of each span of LABEL, and goes with it; spans that are lists have no place for it, and stand as objects
in `predicted` too. Offsets are counted as the file's are. If the first file is a JSON array, so is the output. Not
here: how spans meet tokens (`span_tokens`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise
from operator import ne
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from ...foundation import DcrfError, Diagnostic, Offsets, data_error, dataclass, json_text
from ...semantics import SCHEMES, split_mark
from ...syntax import Column, DataSpec
from ..column_blocks import Block
from ..columns import Parsed, Wanted, absent_columns, interned
from ..corpus import Corpus, token_error
from ..number_cells import shown
from ..segment_marks import as_iob1, marks_of_segment
from . import format_interface as formats, span_records as records, span_tokens
from .json_lines import ArrayLines, changed_json, decoded, json_values
from .written_cells import cell_texts, lines_of, token_lines

SPANS = "spans"  # the source of columns that hold segments
_GIVEN = "given"
_REMEDY = 'one text a line, as `{"text": "…", "label": [[0, 4, "PER"]]}`'
_MOST_WARNINGS = 5
_DIFFER = "read with the first of several annotations that differ"


@dataclass(frozen=True)
class SpanOptions:
    tokenizer: str
    utf16: bool
    misaligned: str
    overlapping: str
    style: str
    apart: bool

    @classmethod
    def of(cls, data: DataSpec) -> SpanOptions:
        given = formats.text_options(data)
        return cls(
            given.get("tokenizer", "words"),
            given.get("offsets") == "utf16",
            given.get("misaligned", "error"),
            given.get("overlapping", "error"),
            given.get("style", "doccano"),
            given.get("predictions") == "apart",
        )

    def tokens(self, record: Any, text: str) -> span_tokens.Offsets2:
        """The tokens of a record. `BadRecord` or `BadSpan` if those that it gives cannot be used."""
        if self.tokenizer == _GIVEN:
            return span_tokens.given_tokens(records.tokens_of_record(record), text, self.utf16)
        return span_tokens.TOKENIZERS[self.tokenizer](text)


class SpansReader(formats.Reader):
    bytes_per_token: ClassVar[int] = 10

    def __init__(self, wanted: Wanted):
        super().__init__(wanted)
        self._how = SpanOptions.of(wanted.data)
        self._schemes = {one.label: (one.scheme, one.types) for one in wanted.data.schemes}
        self._spare = wanted.optional - wanted.required
        self._columns: tuple[Column, ...] | None = None  # decided by the first line with a token
        if not wanted.gold:
            self._columns = wanted.without(self._spare)
        self._doubts, self._array = records.ProdigyDoubts(), ArrayLines(wanted.file)

    def cut(self, text: bytes) -> int:
        return self._array.cut(text)

    def lined(self, block: Block) -> Block:
        return self._array.lined(block)

    def finish(self) -> None:
        self._array.finish()

    def parse(self, block: Block) -> Parsed:
        return self.gathered(json_values(block, self._wanted.file, _REMEDY))

    def gathered(self, values: Iterable[tuple[int, int, Any]]) -> Parsed:
        """The sequences of records, each with its place in a block and its line in the file."""
        texts: dict[str, list[str]] = {}
        sequences = []  # length, number, place
        for place, number, record in values:
            try:
                cells, length = self._sequence(record, number)
            except records.BadRecord as bad:
                raise self._error("bad-sentence", str(bad), number, _REMEDY) from None
            except span_tokens.BadSpan as bad:
                raise self._error(bad.slug, str(bad), number, bad.help) from None
            if length:
                for name, column in cells.items():
                    texts.setdefault(name, []).extend(column)
                sequences.append((length, number, place))
        columns = {name: interned(column, len(column)) for name, column in texts.items()}
        lengths, numbers, places = np.array(sequences, np.int64).reshape(-1, 3).T.copy()
        return Parsed(columns, lengths, np.repeat(numbers, lengths), places)

    def _sequence(self, record: Any, number: int) -> tuple[Mapping[str, list[str]], int]:
        """The columns of one line, and its number of tokens; none if it is left out."""
        text = records.text_of_record(record)
        if self._is_left_out(record, number):
            return {}, 0
        try:
            text.encode()
        except UnicodeEncodeError:
            raise self._error("bad-value", "the text holds half a surrogate pair, which is no text", number) from None
        tokens = self._how.tokens(record, text)
        if not tokens:
            return {}, 0
        columns, found = {}, dict[str | None, records.ReadSpans]()
        for column in self._layout(record, number):
            if column.source != SPANS:
                columns[column.name] = _OF_TOKENS[column.source](tokens, text)
                continue
            if column.key not in found:
                found[column.key] = self._found(record, column.key, number)
            columns[column.name] = self._marks(column, found[column.key].spans, tokens, text, number)
        return columns, len(tokens)

    def _found(self, record: Any, key: str | None, number: int) -> records.ReadSpans:
        """The spans of a record that has some under this key."""
        found = records.spans_of(record, key)
        assert found is not None
        for reason in found.refused:
            self.left_out.add(f"left out, as {reason}", number, "span")
        if found.differ:
            self.left_out.add(_DIFFER, number)
        for doubt in self._doubts.of(record, key, found.spans):
            self.left_out.add(doubt, number)
        return found

    def _is_left_out(self, record: Any, number: int) -> bool:
        """Whether the labels of the file are read, and the annotation of this text counts for nothing."""
        marked = any(column.source == SPANS for column in self._columns or self._wanted.columns)
        if not marked or not self._wanted.gold:
            return False
        reason = records.refusal_of_record(record)
        if reason is None and not records.has_annotation(record) and not (self._columns is None and self._spare):
            reason = "nobody has annotated it"
        if reason is not None:
            self.left_out.add(f"left out, as {reason}", number)
        return reason is not None

    def _layout(self, record: Any, number: int) -> tuple[Column, ...]:
        """The columns of the file: all, or all but the labels, as the first line decides."""
        wanted = self._wanted
        marked = (column for column in self._columns or wanted.columns if column.source == SPANS)
        absent = [column for column in marked if records.spans_of(record, column.key) is None]
        if self._columns is None:
            names = {column.name for column in absent}
            if absent and (names != wanted.optional or names & wanted.required):
                raise absent_columns([column.name for column in absent], wanted, number, "this line has no spans")
            self._columns = tuple(column for column in wanted.columns if column not in absent)
        elif absent:
            raise absent_columns([absent[0].name], wanted, number, "the first line has spans, this one not")
        elif wanted.gold and len(self._columns) < len(wanted.columns):
            unread = [column.key for column in wanted.columns if column not in self._columns]
            if any(found.spans for key in unread if (found := records.spans_of(record, key)) is not None):
                self.left_out.add("read without labels, as the first one has none", number)
        return self._columns

    def _marks(
        self, column: Column, found: Sequence[records.RawSpan], tokens: span_tokens.Offsets2, text: str, number: int
    ) -> list[str]:
        options, needed = self._how, column.name not in self._spare

        def complain(bad: span_tokens.BadSpan) -> None:
            self._warn(f"{self._wanted.file}:{number}: {bad}")

        misaligned, overlapping = options.misaligned, options.overlapping
        if not needed:  # gold that is not asked for forbids no tagging
            misaligned = "skip" if misaligned == "error" else misaligned
            overlapping = "longest"
        scheme, types = self._schemes.get(column.name, ("bio", None))
        spans = []
        for raw in found:
            try:
                span = span_tokens.to_characters(raw, text, options.utf16)
                if types is None or span[2] in types:
                    spans.append(span)
            except span_tokens.BadSpan as bad:
                if needed:
                    raise
                complain(bad)
        return span_tokens.marks_of(spans, tokens, text, scheme, span_tokens.Fitting(misaligned, overlapping, complain))

    def _warn(self, message: str) -> None:
        if len(self.warnings) < _MOST_WARNINGS:
            self.warnings.append(message)
        elif len(self.warnings) == _MOST_WARNINGS:
            self.warnings.append(f"{self._wanted.file}: there are more spans that do not fit (not listed)")

    def _error(self, slug: str, message: str, number: int, remedy: str | None = None) -> DcrfError:
        return data_error(slug, message, file=self._wanted.file, line=number, help=remedy)


_OF_TOKENS = {
    "token": lambda tokens, text: [text[start:end] for start, end in tokens],
    "start": lambda tokens, text: [str(start) for start, _ in tokens],
    "end": lambda tokens, text: [str(end) for _, end in tokens],
    "space": lambda tokens, text: ["yes" if s == 0 or text[s - 1].isspace() else "no" for s, _ in tokens],
}


SEGMENT_CONFIDENCE = "{}_segment_confidence"  # the column of a label
_STUDIO = records.STYLES["label_studio"].key
_FILLED = r'"(?:{})"\s*:\s*\[\s*[\[{{]'  # a key with a list that is not empty


# A predicted segment of a sentence: its first and last token, counted in the sentence, its type and its probability.
_Segment: TypeAlias = tuple[int, int, str, float | None]


class _Answer(NamedTuple):
    """What is predicted for a sentence: by column, and by name for the sentence as a whole.

    weighed: the columns whose segments have probabilities.
    """

    segments: Mapping[str, Sequence[_Segment]]
    weighed: Collection[str]
    values: Mapping[str, Sequence[Any]]
    said: Mapping[str, Any]


class SpansTagger(formats.Tagger):
    """Writes chunks one after another; the first span that it sees decides the style, in its whole chunk."""

    keeps_untagged = False

    def __init__(self) -> None:
        self._styles: dict[str, records.SpanStyle] = {}  # by the name of the column
        self._is_array: bool | None = None  # decided by the first chunk with text
        self._begun = False
        self._relations = 0

    def write(self, chunk: formats.Chunk, predicted: formats.Predicted, remarks: formats.Remarks) -> bytes:
        if self._is_array is None and chunk.block.text:
            self._is_array = chunk.block.lines is not None
        lines = self._changed_lines(chunk, predicted, remarks) if predicted or remarks else lines_of(chunk)
        written = b"".join(self._items(lines)) if self._is_array else "\n".join(lines).encode()
        return chunk.block.bom + written

    def _items(self, lines: Sequence[str]) -> Iterator[bytes]:
        for line in lines:
            if line and not line.isspace():
                yield (",\n" if self._begun else "[\n").encode() + line.rstrip().encode()
                self._begun = True

    def close(self) -> bytes:
        if not self._is_array:
            return b""
        return b"\n]\n" if self._begun else b"[]\n"

    def notes(self) -> Iterator[str]:
        if self._relations:
            plural = "s" * (self._relations != 1)
            yield f"{self._relations:,} relation{plural} left out, as they point at spans that are not predicted"

    def _changed_lines(self, chunk: formats.Chunk, predicted: formats.Predicted, remarks: formats.Remarks) -> list[str]:
        options, lines = SpanOptions.of(chunk.data), lines_of(chunk)
        keys = {column.name: column.key for column in chunk.data.columns if column.source == SPANS}
        rows, off = token_lines(chunk), chunk.corpus.sentence_off
        sentence_at = {rows[start]: s for s, start in enumerate(off[:-1].tolist())}
        self._look(lines, keys)
        segments = {name: _segments_of(name, predicted, off) for name in keys if name in predicted}
        apart = {SEGMENT_CONFIDENCE.format(name) for name in segments} | set(segments)
        columns = {name: column for name, column in predicted.items() if name not in apart}
        for n, line in enumerate(lines):
            if not line or line.isspace():
                continue
            s = sentence_at.get(n)
            here = slice(0, 0) if s is None else slice(int(off[s]), int(off[s + 1]))
            answer = _Answer(
                {name: [] if s is None else of_sentences[s] for name, of_sentences in segments.items()},
                [name for name in segments if SEGMENT_CONFIDENCE.format(name) in predicted],
                {name: list(column[here]) for name, column in columns.items()},
                {} if s is None else {name: column[s] for name, column in remarks.items()},
            )
            changed = partial(self._changed, answer=answer, length=here.stop - here.start, keys=keys, options=options)
            try:
                lines[n] = changed_json(chunk, n, line, changed)
            except records.BadRecord as bad:
                at = chunk.block.line_of(n)
                raise data_error("bad-sentence", str(bad), file=chunk.corpus.file, line=at) from None
        return lines

    def _changed(
        self, record: Any, *, answer: _Answer, length: int, keys: Mapping[str, str | None], options: SpanOptions
    ) -> Any:
        text = records.text_of_record(record)
        tokens = options.tokens(record, text)
        if len(tokens) != length:
            return record  # it was left out
        units = span_tokens.to_units(text) if options.utf16 else None
        counted = tokens if units is None else [(units[start], units[end]) for start, end in tokens]
        apart: dict[str, Any] = dict(answer.said)
        for name, column in answer.values.items():
            apart[name] = column
            apart["tokens"] = [list(token) for token in counted]
        of_key: dict[str | None, list[records.MadeSpan]] = {}
        styles = {name: self._style(name, record, keys[name], options) for name in answer.segments}
        for name, found in answer.segments.items():
            made = []
            for first, last, label, probability in found:
                quote = text[tokens[first][0] : tokens[last][1]]
                made.append(records.MadeSpan(counted[first][0], counted[last][1], label, quote, probability))
            of_key.setdefault(keys[name], []).extend(made)
            is_list = styles[name].make is records.triple and name in answer.weighed
            if options.apart or is_list:
                apart[name] = [(records.plain if is_list else styles[name].make)(span) for span in made]
        for key, made in () if options.apart else of_key.items():
            style = next(styles[name] for name in answer.segments if keys[name] == key)
            record, lost = records.with_spans(
                record, key, style, sorted(made, key=lambda span: (span.start, -span.end))
            )
            self._relations += lost
        if not apart:
            return record
        if isinstance(record, list):
            return [record[0], {**record[1], "predicted": apart}]
        return {**record, "predicted": apart}

    def _style(self, name: str, record: Any, key: str | None, options: SpanOptions) -> records.SpanStyle:
        if name in self._styles:
            return self._styles[name]
        records.spans_of(record, key)  # an error if they are none
        return records.style_of_record(record, key, options.style)

    def _look(self, lines: Sequence[str], keys: Mapping[str, str | None]) -> None:
        """Finds the first span of each column: the lines before it are written as it is."""
        for name, key in keys.items():
            if name in self._styles:
                continue
            listed = re.compile(
                _FILLED.format("|".join(map(re.escape, [key, _STUDIO] if key else [*records.KEYS, _STUDIO])))
            )
            for line in filter(listed.search, lines):  # most lines need not be decoded twice
                try:
                    found = records.spans_of(json.loads(line), key)
                except (ValueError, RecursionError, records.BadRecord):
                    continue  # the message about it names its line
                if found is not None and found.style is not None:
                    self._styles[name] = found.style
                    break


def _segments_of(name: str, predicted: formats.Predicted, off: Offsets) -> list[list[_Segment]]:
    """The segments of a column in each sentence, with their probabilities where those are known."""
    sure = predicted.get(SEGMENT_CONFIDENCE.format(name))
    sentences = span_tokens.segments_in(list(map(str, predicted[name])), off)
    return [
        [(first, last, label, _probability_of(sure, start + first)) for first, last, label in segments]
        for start, segments in zip(off[:-1].tolist(), sentences, strict=True)
    ]


def _probability_of(sure: Sequence[Any] | None, token: int) -> float | None:
    value = None if sure is None else sure[token]
    return value if isinstance(value, float) and np.isfinite(value) else None


_ABSENT = "_"


class SpansEmitter(formats.Emitter):
    """A text a line: the tokens joined by spaces, their offsets, and the segments of each column of marks as spans."""

    def __init__(self, export: formats.Export):
        super().__init__(export)
        self._options = SpanOptions.of(export.data)
        self._token = next(column for column in export.columns if column.source == "token")
        self._space = next((column for column in export.columns if column.source == "space"), None)
        self._spans = [column for column in export.columns if column.source == SPANS]
        self._style, self._studio = records.STYLES[self._options.style], self._options.style == "label_studio"
        self._key = "label" if self._studio else self._style.key

    def write(self, corpus: Corpus) -> bytes:
        texts, tokens = self._texts(corpus)
        marked = {column.name: self._segments(column, corpus) for column in self._spans}
        off, lines = corpus.sentence_off.tolist(), []
        for s, text in enumerate(texts):
            units = span_tokens.to_units(text) if self._options.utf16 else None
            counted, own = units or range(len(text) + 1), tokens[off[s] : off[s + 1]]
            places = [[counted[start], counted[end]] for start, end in own]
            of_key: dict[str, list[records.MadeSpan]] = {}
            for column in self._spans:
                of_key.setdefault(column.key or self._key, []).extend(
                    records.MadeSpan(places[a][0], places[b][1], label, text[own[a][0] : own[b][1]])
                    for a, b, label in marked[column.name][s]
                )
            for made in of_key.values():
                made.sort(key=lambda span: (span.start, -span.end))
            record: Any = {"text": text, "tokens": places}
            if self._studio:
                record = records.studio_task(text, places, of_key)
            else:
                record |= {key: [self._style.make(span) for span in made] for key, made in of_key.items()}
            lines.append(json_text(record, ensure_ascii=False))
        return "".join(f"{line}\n" for line in lines).encode()

    def _texts(self, corpus: Corpus) -> tuple[list[str], list[tuple[int, int]]]:
        """The text of each sentence, and the offsets of all tokens in theirs."""
        words = cell_texts(corpus, self._token.name, self._export)
        apart = [True] * corpus.num_tokens
        if self._space is not None:
            column = cell_texts(corpus, self._space.name, self._export)
            apart = [column.values[code] != "no" for code in column.codes.tolist()]
        texts, tokens = [], []
        off = corpus.sentence_off.tolist()
        for first, last in pairwise(off):
            parts: list[str] = []
            at = 0
            for n in range(first, last):
                word = words.text(n)
                if not word:
                    message = f"column `{self._token.name}` has an empty token, which no text can show"
                    raise token_error(corpus, n, "unwritable-cell", message)
                if n > first and apart[n]:
                    parts.append(" ")
                    at += 1
                parts.append(word)
                tokens.append((at, at + len(word)))
                at += len(word)
            texts.append("".join(parts))
        return texts, tokens

    def _segments(self, column: Column, corpus: Corpus) -> list[list[tuple[int, int, str]]]:
        """The segments of each sentence, by their tokens; counts the marks that would be read back as others."""
        texts = cell_texts(corpus, column.name, self._export)
        marks = [texts.values[code] for code in texts.codes.tolist()]
        for token, mark in enumerate(marks):
            if split_mark(mark) is None and mark != _ABSENT:
                message = f"column `{column.name}` has {shown(mark)}, which marks no segment"
                remedy = "columns of marks (`B-X`, `I-X`, `O`) are spans; leave out the others"
                raise token_error(corpus, token, "not-a-segment", message, remedy)
        segments = span_tokens.segments_in(marks, corpus.sentence_off)
        letters = {mark[0] for mark in texts.values if mark[1:2] == "-"}
        with_ends = [name for name, scheme in SCHEMES.items() if letters & set(scheme.marks[2:])]
        schemes = with_ends or ("bio", "iob1")
        changed = min(sum(map(ne, marks, _marks_again(segments, corpus, scheme))) for scheme in schemes)
        if changed:
            self._export.notes[f"tokens whose `{column.name}` breaks its scheme, read as conlleval does"] += changed
        return segments


def _marks_again(segments: list[list[tuple[int, int, str]]], corpus: Corpus, scheme: str) -> list[str]:
    marks = ["O"] * corpus.num_tokens
    for (start, end), of_sentence in zip(pairwise(corpus.sentence_off.tolist()), segments, strict=True):
        for first, last, label in of_sentence:
            marks[start + first : start + last + 1] = marks_of_segment(scheme, label, last - first + 1)
        if scheme == "iob1":
            marks[start:end] = as_iob1(marks[start:end])
    return marks


def _look(left: formats.LeftOut, chunk: formats.Chunk, kept: Collection[str]) -> None:
    options = SpanOptions.of(chunk.data)
    used = [column.key for column in chunk.data.columns if column.source == SPANS and column.name in kept]
    read = {"text", "tokens", "data", "annotations", *filter(None, used), *(records.KEYS if None in used else ())}
    for _, _, record in json_values(chunk.block, chunk.corpus.file, ""):
        text = records.text_of_record(record)
        tokens = [text[start:end] for start, end in options.tokens(record, text)]
        left.counts["texts without a token"] += not tokens
        left.counts["white space, or characters of no token, in texts"] += text != " ".join(tokens)
        holder = record[1] if isinstance(record, list) else record
        left.names.update((key, None) for key in holder if key not in read)


_LINES = 1_000  # in which a line with spans is looked for


def _columns_of_first_spans(path: str, data: DataSpec) -> Sequence[Column]:
    key: str | None = None
    array, beginning = ArrayLines(path), formats.beginning_of(path)
    lines = array.lined(Block(beginning[: array.cut(beginning) or None], 1)).text
    for number, line in enumerate(islice(lines.decode(errors="replace").split("\n"), _LINES), 1):
        if line and not line.isspace() and key is None:
            try:
                key = records.key_of_spans(decoded(line, number, path, "a text a line, as JSON"))
            except records.BadRecord:
                continue
            except DcrfError:
                if number == 1:
                    raise
                break  # the line is cut off
    token = Column(name="token", source="token")
    return [token] if key is None else [token, Column(name=key, source="spans")]


def _placed(columns: Sequence[Column], segments: Collection[str]) -> formats.Placed:
    texts = [column for column in columns if column.type.name == "str" and column.name not in segments]
    named = [column for column in texts if column.source == "token" or column.name.lower() in formats.FORM_NAMES]
    token = next(iter([*named, *texts]), None)
    marked = [column for column in columns if column.name in segments]
    if token is None or not marked:
        message = "`spans` needs to know which column has the tokens, and which ones mark segments"
        remedy = "name them: --to 'spans(word = token, ner = spans)'"
        raise DcrfError(Diagnostic("missing-column", message, help=remedy))
    placed = [Column(name=token.name, source="token")]
    for column in marked:
        key = column.key if column.source == "spans" else (column.name if len(marked) > 1 else None)
        placed.append(Column(name=column.name, source="spans", key=key))
    space = next((column for column in columns if column.source == "space"), None)
    if space is not None:
        placed.append(Column(name=space.name, source="space"))
    kept = {column.name for column in placed}
    return formats.Placed(tuple(placed), tuple(column.name for column in columns if column.name not in kept))


def _place_names(column: Column, options: Mapping[str, str]) -> Sequence[str]:
    if column.source != "spans":
        return [column.source]
    key = column.key or records.STYLES[options.get("style", "doccano")].key
    return [{"text": "token", "tokens": "token"}.get(key, f"spans({key})")]


FORMATS = {
    "spans": formats.DataFormat(
        SpansReader, SpansTagger, SpansEmitter, formats.SINGLE_LINES, columns_of=_columns_of_first_spans,
        placed=_placed, place_names=_place_names, look=_look, gold_kept="apart", has_numbers=True,
    ),
}  # fmt: skip
