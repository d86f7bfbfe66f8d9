from .items import BadItem as BadItem, ItemSequence as ItemSequence
from .model_file import (
    CRFSUITE_VERSION as CRFSUITE_VERSION,
    CrfsuiteModel as CrfsuiteModel,
    ModelFileError as ModelFileError,
    ParsedDump as ParsedDump,
    crfsuite_bytes as crfsuite_bytes,
    read_crfsuite as read_crfsuite,
    read_crfsuite_file as read_crfsuite_file,
    write_crfsuite_file as write_crfsuite_file,
)
from .native_models import (
    crfsuite_items as crfsuite_items,
    crfsuite_model_of as crfsuite_model_of,
    native_model as native_model,
    write_crfsuite_model as write_crfsuite_model,
)
from .tagger import Tagger as Tagger
from .trainer import BaseTrainer as BaseTrainer, CRFSuiteError as CRFSuiteError, Trainer as Trainer
from .trainer_log import LabelScore as LabelScore, TrainLogParser as TrainLogParser
