"""A text and its labelled spans in one JSON value, as annotation tools write them, and spans written back alike.

| style | a line |
|---|---|
| doccano | `{"text": …, "label": [[0, 4, "PER"]]}`; also `labels`, and objects with `start_offset` and `end_offset` |
| spacy | `{"text": …, "entities": [[0, 4, "PER"]]}`, or `[text, {"entities": …}]` |
| prodigy | `{"text": …, "spans": [{"start": 0, "end": 4, "label": "PER"}]}` |
| label_studio | `{"data": {"text": …}, "annotations": [{"result": [{"value": {"start", "end", "labels"}, …}]}]}` |

The first span of a file decides how spans are written; a file without spans gets those of the named style, or those
that go with an empty list `spans`. A task of Label Studio has annotations, each by one annotator, with results of
several kinds. Read is the one that is marked as `ground_truth`, else the first, of those that nobody cancelled. Not
here: what the offsets mean (`span_tokens`), which annotations count (`json_lines`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...foundation import Table, dataclass
from .json_lines import refusal


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


ANNOTATIONS = "annotations"
_LABELS = ("labels", "hypertextlabels")  # in the value of a result, by the control that made it
_VERSION = "dcrfdsl"


def is_task(holder: Mapping[str, Any]) -> bool:
    return isinstance(holder.get("data"), Mapping) and "text" not in holder


def _studio_spans(task: Mapping[str, Any], key: str | None) -> ReadSpans | None:
    """The spans with that `from_name`; None without an annotation. `BadRecord` if results are none."""
    counting = _counting(task)
    equals = [annotation for annotation in counting if annotation.get("ground_truth") is True] or counting
    if not equals:
        return None
    read = [_spans_of_results(annotation, key) for annotation in equals]
    different = {frozenset(repr(span[:3]) for span in spans) for spans in read}
    return ReadSpans(read[0], STYLES["label_studio"], [], len(different) > 1)


def _annotations(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    every = task.get(ANNOTATIONS)
    if not isinstance(every, list):
        return []
    if not all(isinstance(annotation, Mapping) for annotation in every):
        raise BadRecord(f"`{ANNOTATIONS}` is no list of objects, as Label Studio has it")
    return every


def _counting(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [annotation for annotation in _annotations(task) if refusal(annotation) is None]


def _spans_of_results(annotation: Mapping[str, Any], key: str | None) -> list[RawSpan]:
    """The spans of an annotation; results of other kinds (choices, relations) are left alone."""
    results = annotation.get("result")
    if not isinstance(results, list):
        raise BadRecord("an annotation without a list `result`")
    spans = []
    for result in results:
        value = result.get("value") if isinstance(result, Mapping) else None
        if not isinstance(value, Mapping) or key not in (None, result.get("from_name")):
            continue
        labels = next((value[name] for name in _LABELS if name in value), None)
        if labels is None:
            continue
        if not isinstance(labels, list):
            raise BadRecord("the labels of a result are no list")
        offsets = value.get("globalOffsets")  # of a page; `start` and `end` are paths in it
        place = offsets if isinstance(offsets, Mapping) and not isinstance(value.get("start"), int) else value
        for label in labels or [None]:
            spans.append(span_of({**value, **place, "labels": [label]})[0])
    return spans


def _with_result(predictions: Any, name: str, made: Sequence[MadeSpan]) -> list[Any]:
    """A task's predictions with these spans, in the place of our earlier ones; `BadRecord` if they are none."""
    old = [] if predictions is None else predictions
    if not isinstance(old, list) or not all(isinstance(item, Mapping) for item in old):
        raise BadRecord("`predictions` is no list of objects, as Label Studio has it")
    none: dict[str, Any] = {"result": []}
    earlier = next((item for item in old if item.get("model_version") == _VERSION), none)
    results = earlier.get("result", [])
    if not isinstance(results, list) or not all(isinstance(result, Mapping) for result in results):
        raise BadRecord(f"the prediction of `{_VERSION}` has no list `result` of objects")
    kept = [result for result in results if result.get("from_name") != name]
    new = {"model_version": _VERSION, "result": [*kept, *_made_results(name, made)]}
    return [*(item for item in old if item is not earlier), new]


def _made_results(name: str, made: Sequence[MadeSpan]) -> list[Any]:
    """Results of one control. The probability of a span is its `score`, as Label Studio calls it."""
    return [
        {"from_name": name, "to_name": "text", "type": "labels", "value": several(span._replace(probability=None))}
        | ({} if span.probability is None else {"score": span.probability})
        for span in made
    ]


def studio_task(text: str, tokens: Sequence[Any], spans: Mapping[str, Sequence[MadeSpan]]) -> dict[str, object]:
    """A task with one annotation, which holds the spans of each name."""
    results = [result for name, made in spans.items() for result in _made_results(name, made)]
    return {"data": {"text": text, "tokens": tokens}, ANNOTATIONS: [{"result": results}]}


def as_task(record: Any) -> Mapping[str, Any]:
    """The record as a task: one that is none as Label Studio itself makes it one."""
    holder = _holder(record)
    return holder if is_task(holder) else {"data": {"text": text_of_record(record), **holder}}


def studio_name(task: Mapping[str, Any]) -> str | None:
    """The first `from_name` of the annotation that is read; None if it has none."""
    for annotation in _counting(task):
        results = annotation.get("result")
        for result in results if isinstance(results, list) else ():
            value = result.get("value") if isinstance(result, Mapping) else None
            if isinstance(value, Mapping) and "from_name" in result and any(name in value for name in _LABELS):
                return str(result["from_name"])
    return None


KEYS = ("label", "labels", "entities", "spans")  # where spans are looked for


@dataclass(frozen=True)
class SpanStyle:
    """How a file writes spans.   key: where; make: one span from offsets, label and its text."""

    key: str
    make: Make


STYLES: Table[SpanStyle] = Table(
    "style of spans",
    {
        "doccano": SpanStyle("label", triple),
        "spacy": SpanStyle("entities", triple),
        "prodigy": SpanStyle("spans", plain),
        "label_studio": SpanStyle(ANNOTATIONS, several),
    },
)


class ReadSpans(NamedTuple):
    """What a record says of the spans of one label.

    style: how the first one is written, None without any.   refused: why spans of it are left out, one text for each.
    differ: whether annotators differ.
    """

    spans: list[RawSpan]
    style: SpanStyle | None
    refused: list[str]
    differ: bool = False


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
    tokens = (holder["data"] if is_task(holder) else holder).get("tokens")
    if not isinstance(tokens, list):
        raise BadRecord('there is no list `tokens`, which `tokenizer = "given"` reads')
    return tokens


def refusal_of_record(record: Any) -> str | None:
    """Why the annotation of a record counts for nothing, in words; None if it counts, or there is none."""
    holder = _holder(record)
    reasons = [refusal(annotation) for annotation in _annotations(holder)] if is_task(holder) else []
    return refusal(holder) or (reasons[0] if reasons and None not in reasons else None)


def has_annotation(record: Any) -> bool:
    """False for a task of Label Studio that nobody has annotated; other records may have no list of spans."""
    holder = _holder(record)
    return not is_task(holder) or _studio_spans(holder, None) is not None


def spans_of(record: Any, key: str | None) -> ReadSpans | None:
    """The spans under a key (of Label Studio: with that `from_name`) and how they are written; None without the key."""
    holder = _holder(record)
    if is_task(holder):
        return _studio_spans(holder, key)
    name = next((name for name in (KEYS if key is None else (key,)) if holder.get(name) is not None), None)
    if name is None:
        return None
    counting, refused, style = [], list[str](), None
    for item in _listed(holder, name):
        spans = [span_of(one) for one in _one_label_each(item)]
        style = style or SpanStyle(name, spans[0][1])
        reason = refusal(item)
        if reason is None:
            counting += [span for span, _ in spans]
        else:
            refused.append(reason)
    return ReadSpans(counting, style, refused)


class ProdigyDoubts:
    """What makes annotations of Prodigy doubtful as gold, text after text of one file."""

    def __init__(self) -> None:
        self._spans_of: dict[tuple[int, str | None], int] = {}  # by the text's number and the key: the spans, as a hash

    def of(self, record: Any, key: str | None, spans: Sequence[RawSpan]) -> Iterator[str]:
        """What to say of a text with these spans."""
        holder = _holder(record)
        if holder.get("_is_binary") is True:
            yield "read as if no span were missing, though `_is_binary` says that the question was about one"
        number = holder.get("_input_hash")
        if isinstance(number, int):
            of_text = hash(frozenset(repr(span[:3]) for span in spans))
            if self._spans_of.setdefault((number, key), of_text) != of_text:
                yield "annotated once more, with other spans than before (`_input_hash`), and read too"


def _listed(holder: Mapping[str, Any], name: str) -> list[Any]:
    listed = holder[name]
    if not isinstance(listed, list):
        raise BadRecord(f"`{name}` is no list of spans")
    return listed


def _one_label_each(item: Any) -> list[Any]:
    """A span, or one for each of its several `labels`."""
    labels = item.get("labels") if isinstance(item, Mapping) else None
    return [{**item, "labels": [label]} for label in labels] if isinstance(labels, list) and labels else [item]


def with_spans(record: Any, key: str | None, style: SpanStyle, spans: Sequence[MadeSpan]) -> tuple[Any, int]:
    """The record with these spans in the place of its own. A span that it has already keeps its other keys, such as an
    id; relations of those that are gone go too, and are counted.
    """
    holder = _holder(record)
    if style is STYLES["label_studio"]:
        holder = as_task(record)
    if is_task(holder):
        return {**holder, "predictions": _with_result(holder.get("predictions"), key or "label", spans)}, 0
    there = [name for name in KEYS if name in holder]
    into = key or (style.key if style.key in holder or not there or style.key not in KEYS else there[0])
    own = next((name for name in ((key,) if key else KEYS) if holder.get(name) is not None), None)
    old = {} if own is None else _by_span(_listed(holder, own))
    made, kept = [], []
    for span in spans:
        item = next(iter(old.get((span.start, span.end, span.label), ())), None)
        if isinstance(item, Mapping) and style.make is not triple:
            kept.append(item)
            made.append(_again(item, span))
        else:
            made.append(style.make(span))
    gone = [item for items in old.values() for item in items if not any(item is one for one in kept)]
    changed = {**holder, into: made}
    relations = holder.get("relations")
    if isinstance(relations, list) and gone:
        changed["relations"] = [one for one in relations if not any(_points_at(one, item) for item in gone)]
    lost = len(relations) - len(changed["relations"]) if isinstance(relations, list) else 0
    return [record[0], changed] if isinstance(record, list) else changed, lost


def _by_span(items: Sequence[Any]) -> dict[tuple[Any, Any, Any], list[Any]]:
    """The spans of a record that count, by offsets and label."""
    found: dict[tuple[Any, Any, Any], list[Any]] = {}
    for item in items:
        start, end, label, _ = span_of(item)[0]
        if all(isinstance(offset, int) for offset in (start, end)) and isinstance(label, str):
            found.setdefault((start, end, label), []).append(item)
    return found


def _again(item: Mapping[str, Any], span: MadeSpan) -> dict[str, Any]:
    """A span that the record has already, with the probability that it has now."""
    earlier = ("probability",) if refusal(item) is None else ("probability", "answer")  # nobody rejected this one
    now = {key: value for key, value in item.items() if key not in earlier}
    return now if span.probability is None else {**now, "probability": span.probability}


def _points_at(relation: Any, item: Any) -> bool:
    """Whether a relation has a span as one of its ends: by id as in doccano, or by its offsets as in Prodigy."""
    if not isinstance(relation, Mapping) or not isinstance(item, Mapping):
        return False
    if item.get("id") is not None and item["id"] in (relation.get("from_id"), relation.get("to_id")):
        return True
    ends = [relation.get(end) for end in ("head_span", "child_span")]
    return any(
        isinstance(end, Mapping) and all(end.get(name) == item.get(name) for name in ("start", "end", "label"))
        for end in ends
    )


def style_of_record(record: Any, key: str | None, named: str) -> SpanStyle:
    """The style for a record without a span: the named one; for an empty list `spans` that of Prodigy."""
    empty = next((name for name in KEYS if name in _holder(record)), None)
    is_plain = named == "doccano" and (key or empty) == STYLES["prodigy"].key
    return STYLES["prodigy" if is_plain else named]


def _holder(record: Any) -> Mapping[str, Any]:
    holder = record[1] if isinstance(record, list) and len(record) == 2 else record
    return holder if isinstance(holder, Mapping) else {}


def key_of_spans(record: Any) -> str | None:
    """Where a record has its spans: a key, or the `from_name` of Label Studio; None if it has none."""
    holder = _holder(record)
    if is_task(holder):
        return studio_name(holder)
    return next((name for name in KEYS if isinstance(holder.get(name), list)), None)
