"""What `tag --confidence` adds to its output: how sure the model is of tokens, segments, layers and sentences.

Not here: the probabilities (`model.calibration`), the output around them (`tagging`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..model import Confidence, SegmentConfidence

_NONE = "_"


class ConfidenceColumns:
    """The confidences of all sentences of a part of the input, as columns, remarks and JSON."""

    def __init__(self, every: Sequence[Confidence], labels: Mapping[str, bool]):
        """labels: of each label whether it has segments."""
        self._every, self._labels = every, labels

    def columns(self) -> dict[str, list[str]]:
        """A text for each token: of each label `LABEL_confidence`; of one with segments `LABEL_segment_confidence`."""
        return {name: list(map(_text, column)) for name, column in self._of_tokens().items()}

    def numbers(self) -> dict[str, list[float | None]]:
        """The same as numbers, for formats that have them."""
        return {name: list(map(_number, column)) for name, column in self._of_tokens().items()}

    def _of_tokens(self) -> dict[str, list[float]]:
        out: dict[str, list[float]] = {}
        for label, has_segments in self._labels.items():
            out[f"{label}_confidence"] = [p for one in self._every for p in one.tokens[label].tolist()]
            if has_segments:
                out[f"{label}_segment_confidence"] = [p for one in self._every for p in _of_segments(one, label)]
        return out

    def remarks(self) -> dict[str, list[float | str | None]]:
        """A number for each sentence: `probability`, and with several labels `LABEL_probability`."""
        out: dict[str, list[float | str | None]] = {"probability": [_number(one.sentence) for one in self._every]}
        if len(self._labels) > 1:
            for label in self._labels:
                out[f"{label}_probability"] = [_number(one.layers[label]) for one in self._every]
        return out

    def records(self) -> Mapping[str, Sequence[Any]]:
        """The same as JSON values of each sentence."""
        return {
            "probability": [one.sentence for one in self._every],
            "layers": [dict(one.layers) for one in self._every],
            "tokens": [{label: p.tolist() for label, p in one.tokens.items()} for one in self._every],
            "segments": [[_record(segment) for segment in one.segments] for one in self._every],
        }


def _of_segments(sure: Confidence, label: str) -> list[float]:
    """Of each token the probability of its segment, NaN outside."""
    numbers = [math.nan] * len(sure.tokens[label])
    for segment in sure.segments:
        if segment.label == label:
            numbers[segment.first : segment.last + 1] = [segment.probability] * (segment.last + 1 - segment.first)
    return numbers


def _record(segment: SegmentConfidence) -> dict[str, Any]:
    return {**segment._asdict(), "first": segment.first + 1, "last": segment.last + 1}


def _text(probability: float) -> str:
    return _NONE if math.isnan(probability) else f"{probability:.4f}"


def _number(probability: float) -> float | None:
    return None if math.isnan(probability) else probability
