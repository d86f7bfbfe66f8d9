"""Tasks of Label Studio: which of their annotations is read, and where predictions go.

A task has annotations, each by one annotator, with results of several kinds. Read is the one that is marked as
`ground_truth`, else the first, of those that nobody cancelled. Not here: spans in other records (`span_records`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .annotation_status import refusal
from .raw_spans import BadRecord, MadeSpan, RawSpan, several, span_of

ANNOTATIONS = "annotations"
_LABELS = ("labels", "hypertextlabels")  # in the value of a result, by the control that made it
_VERSION = "dcrfdsl"


class StudioSpans(NamedTuple):
    """The spans of the annotation that is read.   differ: whether another one, of the same standing, has others."""

    spans: list[RawSpan]
    differ: bool


def is_task(holder: Mapping[str, Any]) -> bool:
    """Whether it is a task of Label Studio."""
    return isinstance(holder.get("data"), Mapping) and "text" not in holder


def studio_refusal(task: Mapping[str, Any]) -> str | None:
    """Why the annotations of a task all count for nothing; None if one counts, or there is none."""
    every = _annotations(task)
    reasons = [refusal(annotation) for annotation in every]
    return None if None in reasons or not reasons else reasons[0]


def studio_spans(task: Mapping[str, Any], key: str | None) -> StudioSpans | None:
    """The spans with that `from_name`; None without an annotation. `BadRecord` if results are none."""
    counting = [annotation for annotation in _annotations(task) if refusal(annotation) is None]
    truths = [annotation for annotation in counting if annotation.get("ground_truth") is True]
    equals = truths or counting
    if not equals:
        return None
    read = [_results_of(annotation, key) for annotation in equals]
    return StudioSpans(read[0], any(_as_set(spans) != _as_set(read[0]) for spans in read[1:]))


def _as_set(spans: Sequence[RawSpan]) -> set[str]:
    return {repr(span[:3]) for span in spans}


def _annotations(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    every = task.get(ANNOTATIONS)
    if not isinstance(every, list):
        return []
    if not all(isinstance(annotation, Mapping) for annotation in every):
        raise BadRecord(f"`{ANNOTATIONS}` is no list of objects, as Label Studio has it")
    return every


def _results_of(annotation: Mapping[str, Any], key: str | None) -> list[RawSpan]:
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


def with_studio_spans(task: Mapping[str, Any], key: str | None, made: Sequence[MadeSpan]) -> dict[str, Any]:
    """The task with these spans among its predictions, in the place of our earlier ones."""
    return {**task, "predictions": _with_result(task.get("predictions"), key or "label", made)}


def _with_result(predictions: Any, name: str, made: Sequence[MadeSpan]) -> list[Any]:
    """The task's predictions with these; `BadRecord` if they are no predictions."""
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


def _results(name: str, made: Sequence[MadeSpan]) -> list[Any]:
    """Results of one control. The probability of a span is its `score`, as Label Studio calls it."""
    return [
        {"from_name": name, "to_name": "text", "type": "labels", "value": several(span._replace(probability=None))}
        | ({} if span.probability is None else {"score": span.probability})
        for span in made
    ]


def studio_task(text: str, tokens: Sequence[Any], spans: Mapping[str, Sequence[MadeSpan]]) -> dict[str, object]:
    """A task with one annotation, which holds the spans of each name."""
    results = [result for name, made in spans.items() for result in _results(name, made)]
    return {"data": {"text": text, "tokens": tokens}, ANNOTATIONS: [{"result": results}]}


def studio_name(task: Mapping[str, Any]) -> str | None:
    """The first `from_name` of the annotation that is read; None if it has none."""
    counting = [annotation for annotation in _annotations(task) if refusal(annotation) is None]
    for annotation in counting:
        results = annotation.get("result")
        for result in results if isinstance(results, list) else ():
            value = result.get("value") if isinstance(result, Mapping) else None
            if isinstance(value, Mapping) and "from_name" in result and any(name in value for name in _LABELS):
                return str(result["from_name"])
    return None
