"""The program of exported taggers, which `tagger_files` writes out as one file. Its modules need numpy alone."""

from .tagger_lines import FORMATS as FORMATS
from .tagger_model import FORMAT as FORMAT
from .tagger_texts import is_weighted as is_weighted
from .tagger_tokens import CHECKS as CHECKS
