from .by_sentence import (
    SentenceCounts as SentenceCounts,
    correct_sentences as correct_sentences,
    correct_tokens as correct_tokens,
    sentence_counts as sentence_counts,
)
from .class_scores import (
    NOTHING as NOTHING,
    ClassScores as ClassScores,
    Confusion as Confusion,
    ScoreRow as ScoreRow,
    confusion_of as confusion_of,
    scores_by_type as scores_by_type,
    segments_compared as segments_compared,
)
from .corpus_scores import (
    evaluate_predictions as evaluate_predictions,
    evaluation_of as evaluation_of,
    measure as measure,
    prediction_tallies as prediction_tallies,
)
from .empty_metrics import empty_metric_warnings as empty_metric_warnings
from .evaluation import (
    Evaluation as Evaluation,
    Seen as Seen,
    View as View,
    confusion as confusion,
    encode_gold as encode_gold,
    unseen_values as unseen_values,
)
from .isotonic import isotonic_fit as isotonic_fit
from .label_scores import LabelTables as LabelTables, label_tables as label_tables
from .metric_table import (
    METRICS as METRICS,
    default_metrics as default_metrics,
    first_metric as first_metric,
    goodness as goodness,
)
from .reliability import Reliability as Reliability, reliability_of as reliability_of
from .segment_gaps import (
    AMBIGUOUS as AMBIGUOUS,
    MISSING as MISSING,
    UNSEEN as UNSEEN,
    known_segments as known_segments,
)
from .segment_scores import (
    SegmentCounts as SegmentCounts,
    compared_segments as compared_segments,
)
from .significance import (
    Interval as Interval,
    bootstrap_interval as bootstrap_interval,
    bootstrap_intervals as bootstrap_intervals,
    mcnemar as mcnemar,
    randomisation_test as randomisation_test,
    require_level as require_level,
)
from .tallies import ExactSum as ExactSum, Tally as Tally, added as added, values_of as values_of
