"""A text and its labelled spans in one JSON value, as annotation tools write them, and spans written back alike.

| style | a line |
|---|---|
| doccano | `{"text": …, "label": [[0, 4, "PER"]]}`; also `labels`, and objects with `start_offset` and `end_offset` |
| spacy | `{"text": …, "entities": [[0, 4, "PER"]]}`, or `[text, {"entities": …}]` |
| prodigy | `{"text": …, "spans": [{"start": 0, "end": 4, "label": "PER"}]}` |
| label_studio | `{"data": {"text": …}, "annotations": [{"result": [{"value": {"start", "end", "labels"}, …}]}]}` |

The first span of a file decides how spans are written; a file without spans gets those of the named style, or those
that go with an empty list `spans`. Not here: what the offsets mean (`span_tokens`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..foundation import Table

__all__ = [
    "STYLES",
    "BadRecord",
    "RawSpan",
    "SpanStyle",
    "spans_of",
    "studio_task",
    "style_of_record",
    "text_of_record",
    "tokens_of_record",
    "with_spans",
]

KEYS = ("label", "labels", "entities", "spans")  # where spans are looked for
_STUDIO = "annotations"


class BadRecord(Exception):
    """A JSON value that is no text with spans."""


class RawSpan(NamedTuple):
    """Offsets and label as the file has them; `quote` is the text that the file repeats, if it does."""

    start: Any
    end: Any
    label: Any
    quote: str | None = None


@dataclass(frozen=True)
class SpanStyle:
    """How a file writes spans.   key: where; make: one span from offsets, label and its text."""

    key: str
    make: Callable[[int, int, str, str], Any]


def _triple(start: int, end: int, label: str, quote: str) -> Any:
    return [start, end, label]


def _plain(start: int, end: int, label: str, quote: str) -> Any:
    return {"start": start, "end": end, "label": label}


def _offsets(start: int, end: int, label: str, quote: str) -> Any:
    return {"label": label, "start_offset": start, "end_offset": end}


def _several(start: int, end: int, label: str, quote: str) -> Any:
    return {"start": start, "end": end, "text": quote, "labels": [label]}


STYLES: Table[SpanStyle] = Table(
    "style of spans",
    {
        "doccano": SpanStyle("label", _triple),
        "spacy": SpanStyle("entities", _triple),
        "prodigy": SpanStyle("spans", _plain),
        "label_studio": SpanStyle(_STUDIO, _several),
    },
)


def text_of_record(record: Any) -> str:
    """The text; `BadRecord` if there is none."""
    text: Any = None
    if isinstance(record, list) and len(record) == 2 and isinstance(record[1], Mapping):
        text = record[0]
    elif isinstance(record, Mapping):
        text = record.get("text", record["data"].get("text") if isinstance(record.get("data"), Mapping) else None)
    if not isinstance(text, str):
        raise BadRecord("expected an object whose `text` is a text")
    return text


def tokens_of_record(record: Any) -> list[Any]:
    """The list `tokens`; `BadRecord` if there is none."""
    holder = _holder(record)
    tokens = (holder["data"] if _is_task(holder) else holder).get("tokens")
    if not isinstance(tokens, list):
        raise BadRecord('there is no list `tokens`, which `tokenizer = "given"` reads')
    return tokens


def spans_of(record: Any, key: str | None) -> tuple[list[RawSpan], SpanStyle | None] | None:
    """The spans under a key (of Label Studio: with that `from_name`) and how they are written; None without the key."""
    holder = _holder(record)
    if _is_task(holder):
        return _studio_spans(holder, key)
    found = [name for name in (KEYS if key is None else (key,)) if holder.get(name) is not None]
    if not found:
        return None
    listed = holder[found[0]]
    if not isinstance(listed, list):
        raise BadRecord(f"`{found[0]}` is no list of spans")
    read = [_span(item) for item in listed]
    return [span for span, _ in read], SpanStyle(found[0], read[0][1]) if read else None


def with_spans(record: Any, key: str | None, style: SpanStyle, spans: Sequence[tuple[int, int, str, str]]) -> Any:
    """The record with these spans (offsets, label and text of each) in the place of its own."""
    holder = _holder(record)
    if style is STYLES["label_studio"] and not _is_task(holder):  # what Label Studio makes of such an object itself
        holder = {"data": {"text": record[0], **holder} if isinstance(record, list) else holder}
    if _is_task(holder):
        values = [_several(*span) for span in spans]
        return {**holder, "predictions": _with_result(holder.get("predictions"), key or "label", values)}
    made = [style.make(*span) for span in spans]
    there = [name for name in KEYS if name in holder]
    into = key or (style.key if style.key in holder or not there or style.key not in KEYS else there[0])
    changed = {**holder, into: made}
    return [record[0], changed] if isinstance(record, list) else changed


def style_of_record(record: Any, key: str | None, named: str) -> SpanStyle:
    """The style for a record without a span: the named one; for an empty list `spans` that of Prodigy."""
    empty = next((name for name in KEYS if name in _holder(record)), None)
    plain = named == "doccano" and (key or empty) == STYLES["prodigy"].key
    return STYLES["prodigy" if plain else named]


def _is_task(holder: Mapping[str, Any]) -> bool:
    """Whether it is a task of Label Studio."""
    return isinstance(holder.get("data"), Mapping) and "text" not in holder


def _holder(record: Any) -> Mapping[str, Any]:
    holder = record[1] if isinstance(record, list) and len(record) == 2 else record
    return holder if isinstance(holder, Mapping) else {}


def _span(item: Any) -> tuple[RawSpan, Callable[[int, int, str, str], Any]]:
    if isinstance(item, list) and len(item) == 3:
        return RawSpan(item[0], item[1], item[2]), _triple
    if isinstance(item, Mapping):
        quote = item.get("text") if isinstance(item.get("text"), str) else None
        if "start_offset" in item and "end_offset" in item:
            return RawSpan(item["start_offset"], item["end_offset"], item.get("label"), quote), _offsets
        if "start" in item and "end" in item:
            if isinstance(item.get("labels"), list) and len(item["labels"]) == 1:
                return RawSpan(item["start"], item["end"], item["labels"][0], quote), _several
            return RawSpan(item["start"], item["end"], item.get("label"), quote), _plain
    raise BadRecord('expected a span, as `[0, 4, "PER"]` or `{"start": 0, "end": 4, "label": "PER"}`')


# Label Studio ---------------------------------------------------------------------------------------------------------


def _studio_spans(task: Mapping[str, Any], key: str | None) -> tuple[list[RawSpan], SpanStyle | None] | None:
    """The spans of the first annotation; results of other kinds (choices, relations) are left alone."""
    annotations = task.get(_STUDIO)
    if not isinstance(annotations, list) or not annotations:
        return None
    results = annotations[0].get("result") if isinstance(annotations[0], Mapping) else None
    if not isinstance(results, list):
        raise BadRecord("an annotation without a list `result`")
    spans = []
    for result in results:
        value = result.get("value") if isinstance(result, Mapping) else None
        if not isinstance(value, Mapping) or "labels" not in value or key not in (None, result.get("from_name")):
            continue
        spans.append(_span(value)[0])
    return spans, STYLES["label_studio"]


def _with_result(predictions: Any, name: str, made: Sequence[Any]) -> list[Any]:
    """The task's predictions with these in the place of our earlier ones; `BadRecord` if they are no predictions."""
    old = [] if predictions is None else predictions
    if not isinstance(old, list) or not all(isinstance(item, Mapping) for item in old):
        raise BadRecord("`predictions` is no list of objects, as Label Studio has it")
    none: dict[str, Any] = {"result": []}
    earlier = next((item for item in old if item.get("model_version") == _VERSION), none)
    results = earlier.get("result", [])
    if not isinstance(results, list) or not all(isinstance(result, Mapping) for result in results):
        raise BadRecord(f"the prediction of `{_VERSION}` has no list `result` of objects")
    kept = [result for result in results if result.get("from_name") != name]
    new = {"model_version": _VERSION, "result": [*kept, *_results(name, made)]}
    return [*(item for item in old if item is not earlier), new]


def _results(name: str, made: Sequence[Any]) -> list[Any]:
    return [{"from_name": name, "to_name": "text", "type": "labels", "value": value} for value in made]


def studio_task(text: str, tokens: Sequence[Any], spans: Mapping[str, Sequence[Any]]) -> dict[str, object]:
    """A task with one annotation, which holds the spans of each name, made by the style."""
    results = [result for name, made in spans.items() for result in _results(name, made)]
    return {"data": {"text": text, "tokens": tokens}, _STUDIO: [{"result": results}]}


_VERSION = "dcrfdsl"


def key_of_spans(record: Any) -> str | None:
    """Where a record has its spans: a key, or the `from_name` of Label Studio; None if it has none."""
    holder = _holder(record)
    if _is_task(holder):
        found = _studio_spans(holder, None)
        results = holder[_STUDIO][0]["result"] if found is not None and found[0] else []
        named = (result for result in results if isinstance(result, Mapping) and "from_name" in result)
        return next((str(result["from_name"]) for result in named), None)
    return next((name for name in KEYS if isinstance(holder.get(name), list)), None)
