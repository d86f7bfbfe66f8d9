"""How good predictions are: `evaluate_predictions` on a corpus, `measure` on codes, by the names of `evaluate`."""

from ..data.segment_types import has_segments
from .empty_metrics import nothing_measured
from .evaluation import (
    METRICS,
    Evaluation,
    Gold,
    Values,
    confusion,
    default_metrics,
    encode_gold,
    evaluate_predictions,
    goodness,
    measure,
    unseen_values,
)
from .segment_scores import AMBIGUOUS, MISSING, UNSEEN, SegmentCounts, segment_counts, segments_by_type

__all__ = [
    "AMBIGUOUS", "METRICS", "MISSING", "UNSEEN", "Evaluation", "Gold", "SegmentCounts", "Values", "confusion",
    "default_metrics", "encode_gold", "evaluate_predictions", "goodness", "has_segments", "measure",
    "nothing_measured", "segment_counts", "segments_by_type", "unseen_values",
]  # fmt: skip
