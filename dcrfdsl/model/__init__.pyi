from .file_format import read_model as read_model, write_model as write_model
from .predictor import Predictor as Predictor
from .record import (
    InductionRound as InductionRound,
    StartRecord as StartRecord,
    TrainingData as TrainingData,
    TrainingRecord as TrainingRecord,
    content_hash as content_hash,
)
from .supervised_data import gold_of as gold_of, impossible_gold as impossible_gold
from .trained_model import TrainedModel as TrainedModel, load as load
