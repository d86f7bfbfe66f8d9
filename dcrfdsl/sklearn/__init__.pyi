from .input_errors import InputError as InputError
from .sequence_tagger import SequenceTagger as SequenceTagger
