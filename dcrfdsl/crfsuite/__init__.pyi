from .items import ItemSequence as ItemSequence
from .model_file import (
    CrfsuiteModel as CrfsuiteModel,
    ModelFileError as ModelFileError,
    crfsuite_bytes as crfsuite_bytes,
    read_crfsuite as read_crfsuite,
    read_crfsuite_file as read_crfsuite_file,
    write_crfsuite_file as write_crfsuite_file,
)
from .parsed_dump import ParsedDump as ParsedDump
from .tagger import Tagger as Tagger
