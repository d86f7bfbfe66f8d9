from .empty_metrics import empty_metric_warnings as empty_metric_warnings
from .evaluation import (
    METRICS as METRICS,
    Evaluation as Evaluation,
    confusion as confusion,
    default_metrics as default_metrics,
    encode_gold as encode_gold,
    evaluate_predictions as evaluate_predictions,
    goodness as goodness,
    measure as measure,
    unseen_values as unseen_values,
)
from .segment_scores import (
    AMBIGUOUS as AMBIGUOUS,
    MISSING as MISSING,
    UNSEEN as UNSEEN,
    SegmentCounts as SegmentCounts,
    segment_counts as segment_counts,
    segments_by_type as segments_by_type,
)
