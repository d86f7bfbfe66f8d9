from .from_native import (
    crfsuite_items as crfsuite_items,
    crfsuite_model_of as crfsuite_model_of,
    write_crfsuite_model as write_crfsuite_model,
)
from .items import BadItem as BadItem, ItemSequence as ItemSequence
from .log_parser import LabelScore as LabelScore, TrainLogParser as TrainLogParser
from .model_file import (
    CRFSUITE_VERSION as CRFSUITE_VERSION,
    CrfsuiteModel as CrfsuiteModel,
    ModelFileError as ModelFileError,
    crfsuite_bytes as crfsuite_bytes,
    read_crfsuite as read_crfsuite,
    read_crfsuite_file as read_crfsuite_file,
    write_crfsuite_file as write_crfsuite_file,
)
from .parsed_dump import ParsedDump as ParsedDump
from .tagger import Tagger as Tagger
from .to_native import native_model as native_model
from .trainer import BaseTrainer as BaseTrainer, CRFSuiteError as CRFSuiteError, Trainer as Trainer
