from .crf_estimator import CRF as CRF
from .input_errors import InputError as InputError
from .sequence_tagger import SequenceTagger as SequenceTagger
