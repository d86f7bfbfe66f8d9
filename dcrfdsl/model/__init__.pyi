from .predictor import Answers as Answers
from .record import InductionRound as InductionRound, TrainingRecord as TrainingRecord
from .supervised_data import gold_of as gold_of, no_labelling as no_labelling
from .trained_model import TrainedModel as TrainedModel, load as load
