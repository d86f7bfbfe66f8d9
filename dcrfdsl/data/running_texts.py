"""Running texts that a program holds, cut into tokens and read as a corpus. Not here: files of them (`spans`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..foundation import DcrfError, Diagnostic, Ints, data_error, require_kind
from ..syntax import DataSpec
from .columns import CorpusBuilder, Wanted
from .corpus import Corpus
from .formats import TOKENIZERS, BadRecord, BadSpan, Offsets2, SpanOptions, SpansReader, text_of_record

TEXTS = "<texts>"  # in messages, in place of a file


def corpus_of_texts(texts: Sequence[Any], data: DataSpec, labels: Collection[str]) -> tuple[Corpus, Ints]:
    """The texts that have tokens, as a corpus, and the number of each, [S], from 0.

    texts: each a text, or a record as a line of a file has it.   labels: columns that are not read.

    Lines are numbers of texts, from 1. TypeError for what is no text, `DcrfError` for a record that cannot be read.
    """
    for n, text in enumerate(texts):
        require_kind(text, (str, Mapping), f"texts[{n}]", "a text, or a dict with the key `text`")
    wanted = Wanted(TEXTS, data, optional=frozenset(labels), gold=False)
    parsed = SpansReader(wanted).gathered((n, n + 1, _record_of(text)) for n, text in enumerate(texts))
    builder = CorpusBuilder(TEXTS, data)
    builder.add(parsed)
    assert parsed.places is not None
    return builder.corpus(), parsed.places


def tokens_of_text(text: Any, data: DataSpec) -> Offsets2:
    """First and last character (excluded) of each token of a text, or of a record. `DcrfError` for what is no text."""
    require_kind(text, (str, Mapping), "text", "a text, or a dict with the key `text`")
    record = _record_of(text)
    try:
        return SpanOptions.of(data).tokens(record, text_of_record(record))
    except BadRecord as bad:
        raise data_error("bad-sentence", str(bad), file=TEXTS, help='as `{"text": "…"}`') from None
    except BadSpan as bad:
        raise data_error(bad.slug, str(bad), file=TEXTS, help=bad.help) from None


def tokenize(text: str, tokenizer: str = "words") -> Offsets2:
    """The tokens of a text: the first character of each, from 0, and the last one, excluded.

    text: any; white space is part of no token.
    tokenizer: as `data spans(…)` names it: `words`, `whitespace` or `characters`.

    Raises DcrfError for another tokenizer, TypeError for what is no text. `TrainedModel.tokenize` cuts as its data are.

    >>> from dcrfdsl.data import tokenize
    >>> text = "It's 3.5 km"
    >>> [text[start:end] for start, end in tokenize(text)]
    ['It', "'", 's', '3', '.', '5', 'km']
    >>> tokenize(text, "whitespace")
    [(0, 4), (5, 8), (9, 11)]
    """
    require_kind(text, str, "text", "a text")
    if tokenizer not in TOKENIZERS:
        known = ", ".join(f"`{name}`" for name in TOKENIZERS)
        raise DcrfError(Diagnostic("bad-argument", f"`{tokenizer}` is no tokenizer", help=f"known: {known}"))
    return TOKENIZERS[tokenizer](text)


def text_within(text: Any) -> str:
    """The text itself, of a record too."""
    return text if isinstance(text, str) else text_of_record(text)


def _record_of(text: Any) -> Any:
    return {"text": text} if isinstance(text, str) else text
