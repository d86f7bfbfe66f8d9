"""One span as it is written in JSON, read and made: `[0, 4, "PER"]`, or an object with offsets and a label.

Not here: where a record has its spans (`span_records`), what the offsets mean (`span_tokens`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias


class BadRecord(Exception):
    """A JSON value that is no text with spans."""


class RawSpan(NamedTuple):
    """Offsets and label as the file has them; `quote` is the text that the file repeats, if it does."""

    start: Any
    end: Any
    label: Any
    quote: str | None = None


class MadeSpan(NamedTuple):
    """A predicted span: its offsets as the file counts them, its text, and its probability if that was asked for."""

    start: int
    end: int
    label: str
    quote: str
    probability: float | None = None


Make: TypeAlias = Callable[[MadeSpan], Any]


def triple(span: MadeSpan) -> Any:
    """`[0, 4, "PER"]`, which has no place for a probability."""
    return list(span[:3])


def plain(span: MadeSpan) -> Any:
    """As Prodigy writes it."""
    return {"start": span.start, "end": span.end, "label": span.label, **_probability(span)}


def offsets(span: MadeSpan) -> Any:
    """As doccano writes entities that have ids."""
    return {"label": span.label, "start_offset": span.start, "end_offset": span.end, **_probability(span)}


def several(span: MadeSpan) -> Any:
    """As Label Studio writes it."""
    return {"start": span.start, "end": span.end, "text": span.quote, "labels": [span.label], **_probability(span)}


def _probability(span: MadeSpan) -> dict[str, float]:
    return {} if span.probability is None else {"probability": span.probability}


def span_of(item: Any) -> tuple[RawSpan, Make]:
    """The span and how it is written; `BadRecord` if it is none."""
    if isinstance(item, list) and len(item) == 3:
        return RawSpan(item[0], item[1], item[2]), triple
    if isinstance(item, Mapping):
        quote = item.get("text") if isinstance(item.get("text"), str) else None
        if "start_offset" in item and "end_offset" in item:
            return RawSpan(item["start_offset"], item["end_offset"], item.get("label"), quote), offsets
        if "start" in item and "end" in item:
            if isinstance(item.get("labels"), list) and len(item["labels"]) == 1:
                return RawSpan(item["start"], item["end"], item["labels"][0], quote), several
            return RawSpan(item["start"], item["end"], item.get("label"), quote), plain
    raise BadRecord('expected a span, as `[0, 4, "PER"]` or `{"start": 0, "end": 4, "label": "PER"}`')
