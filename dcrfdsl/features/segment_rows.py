"""The features of whole segments: a row for each candidate, which is any range of up to `limit` tokens of a sentence.

A candidate is looked at as a token of a corpus of candidates, so that functions, tests, lexicons and crosses mean the
same there. Its columns are what `first`, `last`, `any` and `joined` read of the tokens of the candidate, and its
length. The alphabet is learned from the segments of the training data. Not here: which candidates are segments
(`graph`).
Source: Sarawagi & Cohen (2004), §2: features g(s, x) of a segment s = (start, end, label).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import NamedTuple

import numpy as np

from ..data import Corpus, InternedColumn
from ..foundation import Ints, data_error, dataclass
from ..semantics import longest_segment
from ..syntax import Apply, Reference
from .atoms import CorpusAtoms, Vocabulary
from .feature_alphabet import Alphabet
from .feature_rows import FeatureRows
from .plan import FeatureSetPlan, segment_place
from .row_assembly import Spread, extracted_rows, learned_rows
from .values import Bags, CorpusValues, Source, Texts, Values

NONE = -1
MOST_CANDIDATES = 2**27  # of a corpus: its rows take 8 bytes each, and their features more


class Candidates(NamedTuple):
    """Ranges of tokens. A `start` of -1 stands for all segments longer than the limit; its length is limit + 1.

    start, length: [C].
    """

    start: Ints
    length: Ints


def candidate_row(start: Ints, length: Ints, limit: int) -> Ints:
    """The row of each candidate, [C]: `limit` rows for each token where one may start, then that of longer ones."""
    return start * limit + length - 1


@dataclass
class SegmentValues(CorpusValues):
    """Evaluates on candidates. `corpus` is the corpus of candidates, `base` that of their tokens."""

    base: Corpus = field(kw_only=True)
    candidates: Candidates = field(kw_only=True)
    limit: int = field(kw_only=True)

    def _read(self, leaf: Reference | Apply) -> Source:
        if isinstance(leaf, Reference):  # the length is the only leaf that is no call
            texts = [*map(str, range(1, self.limit + 1)), f"{self.limit + 1} and more"]
            return Source((self.candidates.length - 1).astype(np.int32), texts)
        name, offset = segment_place(leaf)
        column = self.base.columns.get(name)
        if column is None:
            raise data_error("missing-column", f"the data has no column `{name}`", file=self.base.file)
        if not isinstance(column, InternedColumn):
            message = f"column `{name}` holds {column.holds}, and `{leaf.function}` reads texts"
            raise data_error("column-type", message, file=self.base.file)
        return _SOURCES[leaf.function](self, column, offset)

    def _of(self, term: Apply, source: Source) -> Values:
        if term.function == "any" and isinstance(term.arguments[0].value, Reference):
            return self._any_values(term)
        if term.function in _SOURCES and term.arguments:
            return Texts(list(zip(source.values)))
        return super()._of(term, source)

    def _of_reference(self, term: Reference, source: Source) -> Values:
        return Texts(list(zip(source.values)))  # the length

    def ends(self, column: InternedColumn, offset: int, *, last: bool) -> Source:
        """The value at the first or last token, moved by `offset`; none outside the sentence."""
        start, length = self.candidates
        token = start + offset + (length - 1 if last else 0)
        off, inside = self.base.sentence_off, start >= 0
        sentence = np.searchsorted(off, np.maximum(start, 0), side="right") - 1
        inside &= (token >= off[sentence]) & (token < off[np.minimum(sentence + 1, len(off) - 1)])
        codes = np.full(len(start), NONE, np.int32)
        codes[inside] = column.codes[token[inside]]
        return Source(codes, column.values)

    def joined(self, column: InternedColumn) -> Source:
        """The values of all tokens, joined by blanks; each distinct text is made once."""
        start, length = self.candidates
        codes, texts = np.full(len(start), NONE, np.int32), list[str]()
        values, tokens = column.values, column.codes.astype(np.int64)
        names = np.array(values, np.object_)
        text = tokens.copy()  # of each token, the number of the text of `size` values that begins there
        for size in range(1, self.limit + 1):
            if size > 1:
                text = text[: max(0, len(tokens) - size + 1)] * len(values) + tokens[size - 1 :]
                text = np.unique(text, return_inverse=True)[1]
            chosen = np.flatnonzero((length == size) & (start >= 0))
            _, earliest, which = np.unique(text[start[chosen]], return_index=True, return_inverse=True)
            codes[chosen], first = len(texts) + which, start[chosen[earliest]]
            parts = [names[column.codes[first + place]].tolist() for place in range(size)]
            texts += map(" ".join, zip(*parts, strict=True))
        return Source(codes, texts)

    def each(self, column: InternedColumn, offset: int) -> Source:
        """Every candidate is a value of its own, as every token is in a bag."""
        count = len(self.candidates.start)
        return Source(np.arange(count, dtype=np.int32), range(count))

    def _any_values(self, term: Apply) -> Bags:
        name, _ = segment_place(term)
        column = self.base.text_column(name)
        start, length = self.candidates
        many = np.where(start >= 0, length, 0)
        off = np.concatenate([np.zeros(1, np.int64), np.cumsum(many)])
        token = np.arange(off[-1]) + np.repeat(start - off[:-1], many)
        which, size = np.repeat(np.arange(len(start)), many), max(1, len(column.values))
        pairs = np.unique(which * size + column.codes[token])
        counts = np.bincount(pairs // size, minlength=len(start))
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return Bags(ends, (pairs % size).astype(np.int32), np.empty(0), column.values)


_SOURCES: Mapping[str, Callable[[SegmentValues, InternedColumn, int], Source]] = {
    "first": lambda values, column, offset: values.ends(column, offset, last=False),
    "last": lambda values, column, offset: values.ends(column, offset, last=True),
    "joined": lambda values, column, offset: values.joined(column),
    "any": SegmentValues.each,
}


@dataclass(frozen=True)
class SegmentReader:
    """The rows of the feature set of a `segment` statement on a corpus whose tokens `values` reads."""

    values: CorpusValues
    plan: FeatureSetPlan

    @property
    def limit(self) -> int:
        spec = self.values.spec
        return longest_segment(spec, spec.cliques[self.plan.segment])

    def learn(self, gold: Candidates, vocabularies: dict[str, Vocabulary], spread: Spread) -> Alphabet:
        """The alphabet of the segments of the training data."""
        atoms = CorpusAtoms(self._on(gold, [len(gold.start)]), vocabularies, learning=True)
        alphabet, _ = learned_rows(self.plan, atoms, spread)
        return alphabet

    def rows(self, alphabet: Alphabet, vocabularies: dict[str, Vocabulary]) -> FeatureRows:
        """The rows of all candidates, see `candidate_row`; those that would leave their sentence are empty."""
        off, limit = self.values.corpus.sentence_off, self.limit
        tokens = self.values.corpus.num_tokens
        if tokens * limit > MOST_CANDIDATES:
            many = f"{tokens:,} tokens have {tokens * limit:,} runs of up to {limit}"
            message = f"{many}; {MOST_CANDIDATES:,} are possible"
            raise data_error("too-many-features", message, help="lower `up to`, or train on less data")
        room = np.minimum(np.repeat(off[1:], np.diff(off)) - np.arange(tokens), limit)
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(room)])
        start = np.repeat(np.arange(tokens), room)
        length = np.arange(len(start)) - ends[start] + 1
        every = Candidates(np.append(start, NONE), np.append(length, limit + 1))
        sizes = [*np.diff(ends[off]).tolist(), 1]
        rows = extracted_rows(self.plan, alphabet, CorpusAtoms(self._on(every, sizes), vocabularies, learning=False))
        counts = np.zeros(tokens * limit + 1, np.int64)
        counts[candidate_row(start, length, limit)] = np.diff(rows.row_off)[:-1]
        counts[-1] = rows.row_off[-1] - rows.row_off[-2]
        row_off = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return rows._replace(row_off=row_off, pair_off=np.asarray(off * limit, np.int64))

    def _on(self, candidates: Candidates, sizes: list[int]) -> SegmentValues:
        known, base = self.values, self.values.corpus
        off = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        lines = np.append(base.token_line, 0)[candidates.start]
        corpus = Corpus(base.file, off, {}, lines)
        return SegmentValues(
            known.spec, corpus, known.lexicons, known.registered, known.kinds,
            base=base, candidates=Candidates(*(np.asarray(part, np.int64) for part in candidates)), limit=self.limit,
        )  # fmt: skip
