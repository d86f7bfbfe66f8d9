from .predictor import Predictor as Predictor
from .record import InductionRound as InductionRound, StartRecord as StartRecord, TrainingRecord as TrainingRecord
from .supervised_data import gold_of as gold_of, impossible_gold as impossible_gold
from .trained_model import TrainedModel as TrainedModel, load as load
