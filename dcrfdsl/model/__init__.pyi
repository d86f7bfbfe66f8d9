from .annotating_model import Annotation as Annotation
from .calibrated_model import CALIBRATIONS as CALIBRATIONS
from .comparison import (
    ComparedCases as ComparedCases,
    ComparedScore as ComparedScore,
    Comparison as Comparison,
    compare as compare,
)
from .confidences import KINDS as KINDS, Confidence as Confidence, SegmentConfidence as SegmentConfidence
from .event_model import EventProbability as EventProbability
from .explanation import Contribution as Contribution, Explanation as Explanation
from .explanation_words import (
    contribution_words as contribution_words,
    explanation_remarks as explanation_remarks,
    explanation_verdict as explanation_verdict,
)
from .file_format import header_of as header_of, read_model as read_model, write_model as write_model
from .prediction import Prediction as Prediction
from .predictor import Predictor as Predictor
from .probability_words import probability_notes as probability_notes
from .record import (
    InductionRound as InductionRound,
    StartRecord as StartRecord,
    TrainingData as TrainingData,
    TrainingRecord as TrainingRecord,
    content_hash as content_hash,
    settings_record as settings_record,
    versions as versions,
)
from .reporting import sentence_graph as sentence_graph
from .serialization import (
    parts_as_bytes as parts_as_bytes,
    parts_from_bytes as parts_from_bytes,
    unusable_weight as unusable_weight,
)
from .supervised_data import gold_of as gold_of, impossible_gold as impossible_gold
from .trained_model import TrainedModel as TrainedModel, changed_functions as changed_functions, load as load
