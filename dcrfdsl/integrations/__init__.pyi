from .jax_functions import TemplateFunctions as TemplateFunctions
from .logit_decoder import Decoder as Decoder
from .matplotlib_axes import (
    learning_curve as learning_curve,
    posteriors as posteriors,
    reliability as reliability,
    risk_coverage as risk_coverage,
    transitions as transitions,
    unrolled as unrolled,
)
from .scored_batches import ScoredBatch as ScoredBatch, ScoredTemplate as ScoredTemplate
from .spacy_component import SpacyTagger as SpacyTagger, make_tagger as make_tagger
from .spacy_documents import corpus_from_docs as corpus_from_docs
from .torch_layer import Layer as Layer, SequenceDistribution as SequenceDistribution
from .transformers_pipeline import SegmentPipeline as SegmentPipeline
