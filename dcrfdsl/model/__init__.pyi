from .annotation import Annotation as Annotation
from .calibration import (
    CALIBRATIONS as CALIBRATIONS,
    KINDS as KINDS,
    Confidence as Confidence,
    ModelCalibration as ModelCalibration,
    SegmentConfidence as SegmentConfidence,
    placed_segments as placed_segments,
    probability_notes as probability_notes,
)
from .comparison import compare as compare
from .decisions import (
    ASSUMED as ASSUMED,
    ModelDecisions as ModelDecisions,
    PromisedSets as PromisedSets,
)
from .event_probabilities import EventProbability as EventProbability, ModelEvents as ModelEvents
from .explanation import (
    Contribution as Contribution,
    Explanation as Explanation,
    contribution_words as contribution_words,
    explanation_remarks as explanation_remarks,
    explanation_verdict as explanation_verdict,
    label_asked as label_asked,
)
from .file_format import header_of as header_of, read_model as read_model, write_model as write_model
from .model_explanations import ModelExplanations as ModelExplanations
from .model_scores import ModelScores as ModelScores
from .model_summary import transition_weights as transition_weights
from .predicting_model import unusable_weight as unusable_weight
from .prediction import Prediction as Prediction
from .predictor import Predictor as Predictor, gold_of as gold_of, impossible_gold as impossible_gold
from .record import (
    InductionRound as InductionRound,
    StartRecord as StartRecord,
    Threshold as Threshold,
    TrainingData as TrainingData,
    TrainingRecord as TrainingRecord,
    content_hash as content_hash,
    settings_record as settings_record,
    versions as versions,
)
from .reporting import (
    ComparedCases as ComparedCases,
    ComparedErrors as ComparedErrors,
    ComparedScore as ComparedScore,
    Comparison as Comparison,
    ErrorDifference as ErrorDifference,
    charts_file as charts_file,
    comparison_tables as comparison_tables,
    largest_states as largest_states,
    reliability_chart as reliability_chart,
    sentence_graph as sentence_graph,
)
from .serialization import model_as_bytes as model_as_bytes, model_from_bytes as model_from_bytes
from .suggestions import RULES as RULES, Suggestion as Suggestion
from .trained_model import TrainedModel as TrainedModel, changed_functions as changed_functions, load as load
