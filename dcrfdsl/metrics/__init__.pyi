from .class_scores import (
    NOTHING as NOTHING,
    ClassScores as ClassScores,
    Confusion as Confusion,
    LabelTables as LabelTables,
    ScoreRow as ScoreRow,
    confusion_of as confusion_of,
    label_errors as label_errors,
    label_tables as label_tables,
    labels_of_runs as labels_of_runs,
    scores_by_type as scores_by_type,
    segments_compared as segments_compared,
)
from .corpus_scores import (
    empty_metric_warnings as empty_metric_warnings,
    evaluation_of as evaluation_of,
    metric_tallies as metric_tallies,
    prediction_tallies as prediction_tallies,
)
from .evaluation import (
    Evaluation as Evaluation,
    Seen as Seen,
    View as View,
    confusion as confusion,
    encode_gold as encode_gold,
    unseen_values as unseen_values,
)
from .metric_table import (
    METRICS as METRICS,
    SentenceCounts as SentenceCounts,
    correct_sentences as correct_sentences,
    correct_tokens as correct_tokens,
    default_metrics as default_metrics,
    first_metric as first_metric,
    goodness as goodness,
    sentence_counts as sentence_counts,
)
from .reliability import (
    Reliability as Reliability,
    best_temperature as best_temperature,
    isotonic_fit as isotonic_fit,
    reliability_of as reliability_of,
)
from .segment_scores import (
    AMBIGUOUS as AMBIGUOUS,
    MISSING as MISSING,
    UNSEEN as UNSEEN,
    SegmentCounts as SegmentCounts,
    compared_segments as compared_segments,
    known_segments as known_segments,
    same_tokens as same_tokens,
    shares_a_token as shares_a_token,
)
from .selection import (
    RiskCoverage as RiskCoverage,
    best_cut as best_cut,
    conformal_bound as conformal_bound,
    least_count as least_count,
)
from .significance import (
    Interval as Interval,
    bootstrap_interval as bootstrap_interval,
    bootstrap_intervals as bootstrap_intervals,
    holm as holm,
    mcnemar as mcnemar,
    randomisation_test as randomisation_test,
    require_level as require_level,
)
from .tallies import ExactSum as ExactSum, Tally as Tally, added as added, values_of as values_of
