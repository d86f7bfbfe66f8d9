from . import template as template
from .cli import (
    load_ipython_extension as load_ipython_extension,
    unload_ipython_extension as unload_ipython_extension,
)
from .data import (
    corpus_from_frame as corpus_from_frame,
    corpus_from_rows as corpus_from_rows,
    read_corpus as read_corpus,
)
from .features import RegisteredFeature as RegisteredFeature, feature as feature
from .foundation import DcrfError as DcrfError, DcrfWarning as DcrfWarning
from .inference import InferenceMethod as InferenceMethod
from .model import TrainedModel as TrainedModel, compare as compare, load as load
from .semantics import (
    ModelSpec as ModelSpec,
    Resolved as Resolved,
    load_template as load_template,
    load_text as load_text,
    to_text as to_text,
)
from .syntax import parse as parse
from .template import Template as Template
from .training import (
    Checkpoint as Checkpoint,
    CorpusParts as CorpusParts,
    TrainingLog as TrainingLog,
    check as check,
    cross_validate as cross_validate,
    fit as fit,
    open_parts as open_parts,
    progress_bar as progress_bar,
    scalar_writer as scalar_writer,
    tune as tune,
)

__version__: str
